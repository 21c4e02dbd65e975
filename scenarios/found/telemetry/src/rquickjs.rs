//! Scripts in JavaScript (`rquickjs`) that run on one context again and again.
//!
//! Kept: every module that was declared or evaluated, also under the same name. QuickJS has a
//! list of the modules of a context (`JSContext::loaded_modules`), and frees them with the
//! context. Scripts, functions, and scripts that fail are freed.

use plimsoll::Scenario;
use rquickjs::loader::{BuiltinLoader, BuiltinResolver};
use rquickjs::{
    CatchResultExt, Context, Ctx, Function, Module, Persistent, Promise, Result, Runtime,
};

const MODULE: &str = "\
const table = [1, 2, 3];
export function run(x) { return x + table.length; }
";

const SCRIPT: &str = "\
(() => {
    const table = [1, 2, 3];
    table.self = table;
    return x => x + table.length;
})()
";

pub struct Js {
    runtime: Runtime,
    context: Context,
}

pub fn setup() -> Js {
    let runtime = Runtime::new().expect("there is memory");
    let resolver = BuiltinResolver::default().with_module("library");
    let loader = BuiltinLoader::default().with_module("library", MODULE);
    runtime.set_loader(resolver, loader);
    Js {
        context: Context::full(&runtime).expect("there is memory"),
        runtime,
    }
}

fn check(run: &Function<'_>) -> Result<()> {
    assert_eq!(run.call::<_, u32>((1,))?, 4);
    Ok(())
}

fn run_module(ctx: &Ctx<'_>) -> Result<()> {
    let (module, evaluated) = Module::declare(ctx.clone(), "job", MODULE)?.eval()?;
    evaluated.finish::<()>()?;
    check(&module.get("run")?)
}

/// A job whose source is a module.
pub fn module(js: &mut Js, _i: u64) -> Result<()> {
    js.context.with(|ctx| run_module(&ctx))
}

pub fn module_renewed(js: &mut Js, i: u64) -> Result<()> {
    if i.is_multiple_of(100) {
        js.context = Context::full(&js.runtime)?;
    }
    module(js, i)
}

/// A job whose source is a script, which returns a function. The function outlives its `Ctx`.
pub fn script(js: &mut Js, _i: u64) -> Result<()> {
    let run = js.context.with(|ctx| {
        let run: Function = ctx.eval(SCRIPT)?;
        Result::Ok(Persistent::save(&ctx, run))
    })?;
    js.context.with(|ctx| check(&run.restore(&ctx)?))
}

/// A module that is loaded once, and asked for again.
pub fn import(js: &mut Js, _i: u64) -> Result<()> {
    js.context.with(|ctx| {
        let answer: Promise = ctx.eval("import('library').then(it => it.run(1))")?;
        assert_eq!(answer.finish::<u32>()?, 4);
        Ok(())
    })
}

/// Scripts and modules that throw, or that cannot be parsed.
pub fn failing(js: &mut Js, i: u64) {
    js.context.with(|ctx| {
        let script = format!("(() => {{ throw new Error('no {i}') }})()");
        assert!(ctx.eval::<(), _>(script).catch(&ctx).is_err());
        let module = format!("export const = {i};");
        assert!(
            Module::declare(ctx.clone(), "broken", module)
                .catch(&ctx)
                .is_err()
        );
        let module = format!("import 'no-{i}';");
        assert!(
            Module::declare(ctx.clone(), "broken", module)
                .catch(&ctx)
                .is_err()
        );
    });
}

/// A promise that is never fulfilled.
pub fn waiting(js: &mut Js, _i: u64) -> Result<()> {
    js.context.with(|ctx| {
        let _promise: Promise = ctx.eval("new Promise(() => {}).then(() => 1)")?;
        Ok(())
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // One context for all modules.
        Scenario::with_state("rquickjs_modules", setup, module),
        // A new context after every hundred modules.
        Scenario::with_state("rquickjs_modules_context_renewed", setup, module_renewed),
        // The same work, as scripts.
        Scenario::with_state("rquickjs_scripts", setup, script),
        Scenario::with_state("rquickjs_imports", setup, import),
        Scenario::with_state("rquickjs_failing", setup, failing),
        Scenario::with_state("rquickjs_waiting", setup, waiting),
    ]
}
