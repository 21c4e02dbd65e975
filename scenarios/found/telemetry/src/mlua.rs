//! Scripts in Lua (`mlua`, with its own Lua 5.4) that end as they should not.
//!
//! Nothing is kept: keys of the registry that are dropped, scripts that fail or cannot be parsed,
//! coroutines that nobody resumes, calls whose future is dropped while it waits, and userdata
//! that a script keeps after its scope. What a dropped key points to goes when a key is
//! made next, or with `expire_registry_values`.

use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use mlua::{Function, Lua, Result, Table, Thread, UserData, UserDataMethods, Value};
use plimsoll::Scenario;

/// What a script borrows from its request.
struct Request<'r>(&'r u64);

impl UserData for Request<'_> {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("id", |_, request, ()| Ok(*request.0));
    }
}

pub fn setup() -> Lua {
    let lua = Lua::new();
    let wait = lua.create_async_function(|_, ()| pending::<Result<()>>());
    let fail = lua.create_function(|_, ()| Err::<(), _>(mlua::Error::runtime("no")));
    for (name, function) in [("wait", wait), ("fail", fail)] {
        let function = function.expect("there is memory");
        lua.globals().set(name, function).expect("there is memory");
    }
    lua
}

/// A key that is dropped without being removed.
pub fn key(lua: &mut Lua, i: u64) -> Result<()> {
    let table: Table = lua.load("return { 1, 2, 3 }").eval()?;
    table.set("i", i)?;
    let key = lua.create_registry_value(table)?;
    let table: Table = lua.registry_value(&key)?;
    assert_eq!(table.get::<u64>("i")?, i);
    Ok(())
}

/// Scripts of which each has another source, and each fails.
pub fn failing(lua: &mut Lua, i: u64) {
    let sources = [
        format!("local t = {{}} return t.no.x{i}"),
        format!("fail({i})"),
        format!("error({{ code = {i} }})"),
        format!("return ) {i}"),
    ];
    for source in sources {
        assert!(lua.load(source).eval::<Value>().is_err());
    }
}

/// A coroutine that yields once, and is not resumed.
pub fn coroutine(lua: &mut Lua, i: u64) -> Result<()> {
    let body: Function = lua.load("function(i) coroutine.yield(i) end").eval()?;
    let thread: Thread = lua.create_thread(body)?;
    assert_eq!(thread.resume::<u64>(i)?, i);
    Ok(())
}

/// A call that waits for ever, in a task that is aborted.
pub fn aborted(lua: &mut Lua, i: u64) -> Result<()> {
    let body: Function = lua
        .load("function(i) local t = { i } wait() return t end")
        .eval()?;
    let call = pin!(body.call_async::<Value>(i));
    let polled = call.poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Pending), "it should wait");
    Ok(())
}

/// Userdata that the script keeps when its scope has ended.
pub fn scope(lua: &mut Lua, i: u64) -> Result<()> {
    lua.scope(|scope| {
        let request = scope.create_userdata(Request(&i))?;
        lua.globals().set("last", &request)?;
        assert_eq!(lua.load("return last:id()").eval::<u64>()?, i);
        Ok(())
    })?;
    assert!(lua.load("return last:id()").eval::<u64>().is_err());
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("mlua_keys", setup, key),
        Scenario::with_state("mlua_failing", setup, failing),
        Scenario::with_state("mlua_coroutines", setup, coroutine),
        Scenario::with_state("mlua_aborted", setup, aborted),
        Scenario::with_state("mlua_scopes", setup, scope),
    ]
}
