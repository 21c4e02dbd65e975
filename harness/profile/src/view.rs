use std::collections::HashMap;

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use plimsoll_core::fold::{FrameKind, Left, Namer, Normalization, left};
use plimsoll_core::{Avma, Frame, SourceFrame};
use regex::Regex;

use crate::profile::{Location, LocationId, Profile, Values};

/// What one name in the output stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// A function.
    #[default]
    Functions,
    /// A line of a function.
    Lines,
    /// A file.
    Files,
    /// A return address.
    Addresses,
}

/// Which frames of a stack are shown, and under which names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// The frames of a baseline: without the allocator and the standard library, by names that
    /// stay the same in the next build.
    #[default]
    Folded,
    /// All recorded frames, by their full names.
    All,
}

/// Which stacks are shown. A pattern matches a frame by its name, by its file and line, or by
/// its address.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Keep only stacks that contain a matching frame.
    pub focus: Option<Regex>,
    /// Drop stacks that contain a matching frame.
    pub ignore: Option<Regex>,
    /// Remove matching frames from stacks.
    pub hide: Option<Regex>,
}

/// A table of names, each stored once. Two profiles that are compared share one.
#[derive(Debug, Default)]
pub struct Names(IndexSet<Box<str>, RandomState>);

/// The number of a name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(crate) u32);

impl Names {
    /// Returns the name with a number.
    pub fn get(&self, id: NameId) -> &str {
        &self.0[id.0 as usize]
    }

    /// Returns all names, in the order of their numbers.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Returns the number of a name, and adds the name if it is new.
    pub(crate) fn id(&mut self, name: &str) -> NameId {
        let known = self.0.get_index_of(name);
        let id = known.unwrap_or_else(|| self.0.insert_full(name.into()).0);
        NameId(u32::try_from(id).unwrap_or(u32::MAX))
    }
}

/// A profile as it is shown: the names of every location, and which stacks are wanted.
#[derive(Debug)]
pub struct View<'a> {
    profile: &'a Profile,
    frames: Frames,
    /// The names of all locations, one location after the other, each leaf first.
    names: Vec<(NameId, FrameKind)>,
    /// For each location, the index in `names` at which its names end.
    ends: Vec<usize>,
    fits: Vec<Fits>,
    /// The hidden frames: the number of a location, and the frame's index in it.
    hidden: Vec<(LocationId, usize)>,
    has_focus: bool,
    /// The names shown in place of stacks of which nothing is left: `[empty]` if the stack has
    /// no frames, and `[allocator]` if it has only the allocator's.
    nothing: [NameId; 2],
}

/// Which patterns a location matches.
#[derive(Clone, Copy, Debug, Default)]
struct Fits {
    focus: bool,
    ignore: bool,
}

/// The name of a location that has neither an address nor frames.
const UNKNOWN: &str = "[unknown]";

impl<'a> View<'a> {
    /// Works out the names of every location, once each, and adds them to `names`.
    pub fn new(
        profile: &'a Profile,
        granularity: Granularity,
        frames: Frames,
        filter: &Filter,
        names: &mut Names,
    ) -> View<'a> {
        // A user who asks for addresses wants to see what was recorded.
        let frames = match granularity {
            Granularity::Addresses => Frames::All,
            _ => frames,
        };
        let mut namer = Cached::new(profile, frames);
        let mut view = View {
            profile,
            frames,
            names: Vec::new(),
            ends: Vec::with_capacity(profile.locations.len()),
            fits: Vec::with_capacity(profile.locations.len()),
            hidden: Vec::new(),
            has_focus: filter.focus.is_some(),
            nothing: ["[empty]", "[allocator]"].map(|name| names.id(name)),
        };
        for (id, location) in (0..).map(LocationId).zip(&profile.locations) {
            let unnamed = location.frames.is_empty();
            let unnamed = unnamed.then(|| without_name(location.address));
            let mut fits = Fits::default();
            let sources = location.frames.iter().chain(&unnamed);
            for (frame_place, source) in sources.enumerate() {
                let once;
                let (frame, kind) = match unnamed {
                    // No other location has this address, so there is nothing to cache.
                    Some(_) => {
                        once = namer.work_out(source);
                        &once
                    }
                    None => namer.name(&location.frames[frame_place]),
                };
                let fit = |pattern: &Option<Regex>| {
                    let pattern = pattern.as_ref();
                    pattern.is_some_and(|pattern| fits_frame(pattern, source, frame, location))
                };
                // jeprof removes `malloc` from stacks before it matches patterns, but not
                // Rust's own allocation functions.
                let is_asked = self::is_asked(frames, *kind, source);
                fits.focus |= is_asked && fit(&filter.focus);
                fits.ignore |= is_asked && fit(&filter.ignore);
                if fit(&filter.hide) {
                    view.hidden.push((id, frame_place));
                    continue;
                }
                let name = match shown(granularity, frame, location.address) {
                    Some(name) => names.id(&name),
                    None => names.id(&frame.function),
                };
                view.names.push((name, *kind));
            }
            view.ends.push(view.names.len());
            view.fits.push(fits);
        }
        view
    }

    /// Returns the profile that is shown.
    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    /// Returns the estimates of a stack. `stack` is its index in the profile.
    pub fn values(&self, stack: usize) -> Values {
        self.profile.values_of(stack)
    }

    /// Tells whether the filter's `focus` and `ignore` keep a stack.
    pub(crate) fn wants(&self, stack: &[LocationId]) -> bool {
        let mut fits = Fits::default();
        for location in stack {
            let fit = self.fits[location.0 as usize];
            fits.focus |= fit.focus;
            fits.ignore |= fit.ignore;
        }
        !fits.ignore && (fits.focus || !self.has_focus)
    }

    /// Tells whether a frame of a location is hidden. A location without frames counts as
    /// having one, of unknown name.
    pub(crate) fn hides(&self, location: LocationId, frame: usize) -> bool {
        self.hidden.binary_search(&(location, frame)).is_ok()
    }

    /// Tells whether a stack has a hidden frame.
    fn hides_of(&self, stack: &[LocationId]) -> bool {
        let has = |id: &LocationId| {
            let after = self.hidden.partition_point(|(hidden, _)| hidden < id);
            let next = self.hidden.get(after);
            next.is_some_and(|(hidden, _)| hidden == id)
        };
        !self.hidden.is_empty() && stack.iter().any(has)
    }

    /// Returns the indices of all wanted stacks. As in jeprof and pprof, a stack is left out
    /// if all its frames are hidden.
    pub fn stacks(&self) -> impl Iterator<Item = usize> {
        let stacks = self.profile.stacks().enumerate();
        let wanted = stacks.filter(|(number, (stack, _))| {
            let is_hidden = || self.hides_of(stack) && self.left(*number) == Left::Nothing;
            self.wants(stack) && !is_hidden()
        });
        wanted.map(|(number, _)| number)
    }

    /// Returns the names of a stack, root first. They are worked out at each call, because
    /// there may be millions of stacks.
    pub fn root_first(&self, stack: usize) -> impl Iterator<Item = NameId> + Clone {
        let shown = self.shown(stack);
        let callers = shown.callers.iter().rev();
        let callers = callers.flat_map(|id| self.names_of(*id).iter().rev());
        self.distinct(callers.chain(shown.leaf.iter().rev()))
            .chain(shown.only)
    }

    /// Returns the names of a stack, leaf first. See [`View::root_first`].
    pub fn leaf_first(&self, stack: usize) -> impl Iterator<Item = NameId> + Clone {
        let shown = self.shown(stack);
        let callers = shown.callers.iter();
        let callers = callers.flat_map(|id| self.names_of(*id));
        self.distinct(shown.leaf.iter().chain(callers))
            .chain(shown.only)
    }

    /// Returns all frames of a stack that are not hidden, leaf first.
    fn frames_of(&self, stack: usize) -> impl Iterator<Item = (NameId, FrameKind)> + Clone {
        let locations = self.profile.stack(stack).iter();
        locations.flat_map(|location| self.names_of(*location).iter().copied())
    }

    fn names_of(&self, location: LocationId) -> &[(NameId, FrameKind)] {
        let place = location.0 as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[start..self.ends[place]]
    }

    fn left(&self, stack: usize) -> Left {
        let mut kinds = self.frames_of(stack).map(|(_, kind)| kind);
        match self.frames {
            Frames::Folded => left(kinds),
            Frames::All => kinds.next().map_or(Left::Nothing, |_| Left::From(0)),
        }
    }

    fn shown(&self, stack: usize) -> Shown<'_> {
        let only = |name| Shown {
            leaf: &[],
            callers: &[],
            only: Some(name),
        };
        match self.left(stack) {
            Left::From(mut cut) => {
                let mut callers = self.profile.stack(stack);
                while let Some((leaf, rest)) = callers.split_first() {
                    let names = self.names_of(*leaf);
                    callers = rest;
                    if let Some(leaf) = names.get(cut..) {
                        return Shown {
                            leaf,
                            callers,
                            only: None,
                        };
                    }
                    cut -= names.len();
                }
                only(self.nothing[0])
            }
            Left::One(place) => match self.frames_of(stack).nth(place) {
                Some((name, _)) => only(name),
                None => only(self.nothing[0]),
            },
            Left::Nothing => {
                let has_frames = self.frames_of(stack).next().is_some();
                only(self.nothing[usize::from(has_frames)])
            }
        }
    }

    /// Removes frames that are not shown, and repetitions of a name that directly follow it.
    /// If all frames are shown, removes nothing.
    fn distinct<'n>(
        &self,
        frames: impl Iterator<Item = &'n (NameId, FrameKind)> + Clone,
    ) -> impl Iterator<Item = NameId> + Clone {
        let is_all = self.frames == Frames::All;
        let mut last = None;
        let is_left = move |(name, kind): &&(NameId, FrameKind)| {
            is_all || kind.is_shown() && last.replace(*name) != Some(*name)
        };
        frames.filter(is_left).map(|(name, _)| *name)
    }
}

/// The part of a stack that is shown.
struct Shown<'v> {
    /// The frames that are left of the first location that is not cut off completely.
    leaf: &'v [(NameId, FrameKind)],
    /// The locations that called it.
    callers: &'v [LocationId],
    /// One name that stands for the whole stack.
    only: Option<NameId>,
}

/// A cache of frame names. There are far fewer different frames than locations.
struct Cached<'a> {
    namer: Option<Namer>,
    named: HashMap<&'a SourceFrame, (Frame, FrameKind), RandomState>,
}

impl<'a> Cached<'a> {
    fn new(profile: &'a Profile, frames: Frames) -> Self {
        let all = profile.locations.iter();
        let all = all.flat_map(|location| &location.frames);
        Cached {
            namer: (frames == Frames::Folded).then(|| Namer::new(all, Normalization::default())),
            named: HashMap::default(),
        }
    }

    fn name(&mut self, source: &'a SourceFrame) -> &(Frame, FrameKind) {
        if !self.named.contains_key(source) {
            self.named.insert(source, self.work_out(source));
        }
        &self.named[source]
    }

    fn work_out(&self, source: &SourceFrame) -> (Frame, FrameKind) {
        let Some(namer) = &self.namer else {
            let frame = Frame {
                function: source.function.clone(),
                file: source.file.clone(),
                line: source.line,
            };
            return (frame, FrameKind::OTHER);
        };
        let (mut frame, kind) = namer.name(source);
        // A baseline names only the module of such a frame, because addresses change from
        // build to build. Here, the address is all that distinguishes the functions of the
        // module.
        if is_place(source) {
            frame.function.clone_from(&source.function);
        }
        (frame, kind)
    }
}

/// Tells whether the patterns `focus` and `ignore` apply to a frame. Frames of C's allocator
/// are on every stack. Where they are not shown, the patterns do not apply to them.
fn is_asked(frames: Frames, kind: FrameKind, source: &SourceFrame) -> bool {
    frames == Frames::All || !kind.is_allocator() || source.function.contains("::")
}

/// Returns a frame for a location without names: its address is the name.
fn without_name(address: Option<Avma>) -> SourceFrame {
    let name = address.map(|address| address.to_string());
    SourceFrame::named(name.unwrap_or_else(|| UNKNOWN.to_owned()))
}

/// Tells whether a frame's name is only an address: `module+0x1234` or `0x1234`.
fn is_place(source: &SourceFrame) -> bool {
    let function = &source.function;
    let after_module = function.rsplit_once("+0x").map(|(_, digits)| digits);
    let digits = after_module.or_else(|| function.strip_prefix("0x"));
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    source.file.is_none() && digits.is_some_and(is_number)
}

/// Returns the name to show for a frame. Absent if it is the name of its function.
fn shown(granularity: Granularity, frame: &Frame, address: Option<Avma>) -> Option<String> {
    let at = || match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" {file}:{line}"),
        (Some(file), None) => format!(" {file}"),
        _ => String::new(),
    };
    match granularity {
        Granularity::Functions => None,
        Granularity::Lines => Some(format!("{}{}", frame.function, at())),
        Granularity::Files => frame.file.clone(),
        Granularity::Addresses => {
            let address = address?;
            let function = &frame.function;
            Some(match address.to_string() {
                plain if plain == *function => plain,
                plain => format!("{plain} {function}{}", at()),
            })
        }
    }
}

/// Tells whether a pattern matches a frame. As in jeprof, it is matched with the function,
/// with the file and line, and with the address in sixteen digits.
fn fits_frame(pattern: &Regex, source: &SourceFrame, frame: &Frame, location: &Location) -> bool {
    let place = || match (&source.file, source.line) {
        (Some(file), Some(line)) => pattern.is_match(&format!("{file}:{line}")),
        (Some(file), None) => pattern.is_match(file),
        _ => false,
    };
    let address = || {
        let address = location.address;
        address.is_some_and(|address| pattern.is_match(&format!("{:#018x}", address.0)))
    };
    pattern.is_match(&source.function) || pattern.is_match(&frame.function) || place() || address()
}
