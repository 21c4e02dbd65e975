//! What people do to the crate from one commit to the next.
//!
//! An edit says what is there afterwards, not what changes, so that those of a
//! side branch can be made again on the other line: that is a merge.

use super::helpers::{HELPERS, MODULES};
use super::random::Random;
use super::store::{HelperState, Part, Store};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Add {
        helper: usize,
        module: usize,
    },
    Rewrite {
        helper: usize,
        body: usize,
    },
    Document {
        helper: usize,
        doc: usize,
    },
    RenameLocal {
        helper: usize,
        local: usize,
    },
    Move {
        helper: usize,
        module: usize,
    },
    Call {
        helper: usize,
    },
    Method {
        part: Part,
        method: usize,
    },
    Bound {
        part: Part,
        bound: u64,
    },
    DocumentPart {
        part: Part,
        doc: usize,
    },
    RenameLocalOf {
        part: Part,
        local: usize,
    },
    /// A part gets another module: every frame in it has another name.
    RenameModule {
        part: Part,
    },
    RenameScenario,
    Leak {
        part: Part,
        every: u64,
    },
}

impl Edit {
    pub(crate) fn make(&self, store: &mut Store) {
        match *self {
            Edit::Add { helper, module } => {
                let state = HelperState {
                    helper,
                    module: MODULES[module],
                    body: 0,
                    doc: 0,
                    local: 0,
                    called: false,
                };
                store.helpers.push(state);
            }
            Edit::Method { part, method } => {
                let methods = &mut store.part(part).methods;
                if !methods.contains(&method) {
                    methods.push(method);
                }
            }
            Edit::Bound { part, bound } => store.part(part).bound = bound,
            Edit::DocumentPart { part, doc } => store.part(part).doc = doc,
            Edit::RenameLocalOf { part, local } => store.part(part).local = local,
            Edit::RenameModule { part } => store.part(part).module = 1,
            Edit::RenameScenario => store.renamed = true,
            Edit::Leak { part, every } => store.part(part).leak = Some(every),
            Edit::Rewrite { helper, .. }
            | Edit::Document { helper, .. }
            | Edit::RenameLocal { helper, .. }
            | Edit::Move { helper, .. }
            | Edit::Call { helper } => {
                if let Some(state) = store.helper(helper) {
                    self.make_to(state);
                }
            }
        }
    }

    fn make_to(&self, state: &mut HelperState) {
        match *self {
            Edit::Rewrite { body, .. } => state.body = body,
            Edit::Document { doc, .. } => state.doc = doc,
            Edit::RenameLocal { local, .. } => state.local = local,
            Edit::Move { module, .. } => state.module = MODULES[module],
            Edit::Call { .. } => state.called = true,
            _ => {}
        }
    }

    /// A commit's subject.
    pub(crate) fn subject(&self) -> String {
        let name = |helper: usize| HELPERS[helper].name;
        let first = |part: Part| part.modules()[0];
        match *self {
            Edit::Add { helper, module } => format!("{}: add {}", MODULES[module], name(helper)),
            Edit::Rewrite { helper, .. } => format!("{}: say it more plainly", name(helper)),
            Edit::Document { helper, .. } => format!("{}: say what it is", name(helper)),
            Edit::RenameLocal { helper, .. } => format!("{}: a better name", name(helper)),
            Edit::Move { helper, module } => {
                format!("{}: belongs to {}", name(helper), MODULES[module])
            }
            Edit::Call { helper } => format!("describe: count {}", name(helper)),
            Edit::Method { part, .. } => format!("{}: what others ask for", first(part)),
            Edit::Bound { part, bound } => format!("{}: room for {bound}", first(part)),
            Edit::DocumentPart { part, .. } => format!("{}: say what it is", first(part)),
            Edit::RenameLocalOf { part, .. } => format!("{}: a better name", first(part)),
            Edit::RenameModule { part } => {
                let [before, after] = part.modules();
                format!("{before}: call it {after}")
            }
            Edit::RenameScenario => "leaks: say what the scenario does".to_owned(),
            Edit::Leak { part, .. } => format!("{}: {}", first(part), part.leaks_by()),
        }
    }

    /// Any that changes the sources; `fresh` has the helpers that nobody added yet.
    pub(crate) fn pick(random: &mut Random, store: &Store, fresh: &mut Vec<usize>) -> Edit {
        loop {
            let edit = Edit::any(random, store, fresh);
            let mut after = store.clone();
            edit.make(&mut after);
            let sources = |store: &Store| store.files(None, 0, "");
            if sources(&after) != sources(store) {
                if let Edit::Add { helper, .. } = edit {
                    fresh.retain(|one| *one != helper);
                }
                return edit;
            }
        }
    }

    fn any(random: &mut Random, store: &Store, fresh: &[usize]) -> Edit {
        let part = *random.pick(&Part::ALL);
        if !fresh.is_empty() && random.chance(25) {
            let (helper, module) = (*random.pick(fresh), random.below(MODULES.len()));
            return Edit::Add { helper, module };
        }
        if store.helpers.is_empty() || random.chance(35) {
            return match random.below(4) {
                0 => {
                    let there = &store.parts[&part].methods;
                    let mut missing = (0..part.methods().len()).filter(|m| !there.contains(m));
                    match missing.next() {
                        Some(method) => Edit::Method { part, method },
                        None => Edit::any(random, store, fresh),
                    }
                }
                1 => {
                    let bound = *random.pick(&[64, 80, 96, 128, 160, 192]);
                    Edit::Bound { part, bound }
                }
                2 => {
                    let doc = random.below(3);
                    Edit::DocumentPart { part, doc }
                }
                _ => {
                    let local = random.below(3);
                    Edit::RenameLocalOf { part, local }
                }
            };
        }
        let helper = random.pick(&store.helpers).helper;
        match random.below(5) {
            0 => {
                let body = random.below(2);
                Edit::Rewrite { helper, body }
            }
            1 => {
                let doc = random.below(2);
                Edit::Document { helper, doc }
            }
            2 => {
                let local = random.below(3);
                Edit::RenameLocal { helper, local }
            }
            3 => {
                let module = random.below(MODULES.len());
                Edit::Move { helper, module }
            }
            _ => Edit::Call { helper },
        }
    }
}
