//! Modules (`wasmi`) that are compiled, run and dropped.
//!
//! Kept: the code of every module. It belongs to the engine, whose map of code is only
//! appended to (`CodeMap::alloc_funcs`).

use anyhow::ensure;
use plimsoll::Scenario;
use wasmi::{Engine, Linker, Module, Store};

/// `(module (func (export "run") (param i32) (result i32) local.get 0 i32.const 1 i32.add))`
const MODULE: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x06\x01\x60\x01\x7f\x01\x7f\
    \x03\x02\x01\0\
    \x07\x07\x01\x03run\0\0\
    \x0a\x09\x01\x07\0\x20\0\x41\x01\x6a\x0b";

fn run(engine: &mut Engine, _i: u64) -> anyhow::Result<()> {
    let module = Module::new(engine, MODULE)?;
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate_and_start(&mut store, &module)?;
    let run = instance.get_typed_func::<i32, i32>(&store, "run")?;
    ensure!(run.call(&mut store, 1)? == 2);
    Ok(())
}

fn run_renewed(engine: &mut Engine, i: u64) -> anyhow::Result<()> {
    if i.is_multiple_of(100) {
        *engine = Engine::default();
    }
    run(engine, i)
}

/// One engine for all modules.
fn wasmi_modules() -> Scenario {
    Scenario::with_state("wasmi_modules", Engine::default, run)
}

/// A new engine after every hundred modules.
fn wasmi_modules_engine_renewed() -> Scenario {
    Scenario::with_state("wasmi_modules_engine_renewed", Engine::default, run_renewed)
}

pub fn scenarios() -> [Scenario; 2] {
    [wasmi_modules(), wasmi_modules_engine_renewed()]
}
