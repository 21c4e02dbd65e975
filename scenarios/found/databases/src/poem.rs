//! A site (`poem`) with sessions in memory, whose visitors log in and do not come back.
//!
//! Kept: the session of every visitor, if the cookie has no `max_age`, as in
//! `CookieConfig::default()`. A browser forgets such a cookie when it closes.
//! `MemoryStorage::update_session` queues only sessions that have a `max_age` for removal.

use std::time::Duration;

use anyhow::Context;
use plimsoll::Scenario;
use poem::endpoint::{BoxEndpoint, make};
use poem::http::StatusCode;
use poem::http::header::{COOKIE, SET_COOKIE};
use poem::session::{CookieConfig, MemoryStorage, ServerSession, Session};
use poem::{Endpoint, EndpointExt, Error, Request};
use tokio::runtime::Runtime;

struct Site {
    runtime: Runtime,
    pages: BoxEndpoint<'static>,
}

fn setup(cookies: CookieConfig) -> Site {
    // Its clock stands still, and moves on when every task sleeps.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread");
    // The storage starts a task that removes expired sessions every second.
    let storage = runtime.block_on(async { MemoryStorage::new() });
    let pages = make(page).with(ServerSession::new(cookies, storage));
    Site {
        runtime,
        pages: pages.map_to_response().boxed(),
    }
}

fn until_the_browser_closes() -> Site {
    setup(CookieConfig::default())
}

fn for_a_moment() -> Site {
    setup(CookieConfig::default().max_age(Duration::from_nanos(1)))
}

async fn page(request: Request) -> poem::Result<&'static str> {
    let session = request.extensions().get::<Session>();
    let session = session.expect("every request has a session");
    match request.uri().path() {
        "/login" => session.set("user", "ada"),
        "/renew" => session.renew(),
        "/logout" => session.purge(),
        path => return Err(Error::from_string(path, StatusCode::NOT_FOUND)),
    }
    Ok("ok")
}

/// Asks for a page, and returns the cookie that it sets.
fn ask(site: &Site, path: &str, cookie: Option<&str>) -> poem::Result<Option<String>> {
    let mut request = Request::builder().uri(path.parse().expect("a path"));
    if let Some(cookie) = cookie {
        request = request.header(COOKIE, cookie);
    }
    let response = site.runtime.block_on(async {
        // Lets the storage's task run, which a request that never waits would not.
        tokio::task::yield_now().await;
        site.pages.call(request.finish()).await
    })?;
    let cookie = response.headers().get(SET_COOKIE).map(|cookie| {
        let cookie = cookie.to_str().expect("a cookie is ASCII");
        let (pair, _) = cookie.split_once(';').expect("a cookie has a path");
        pair.to_owned()
    });
    Ok(cookie)
}

fn login(site: &Site) -> anyhow::Result<String> {
    ask(site, "/login", None)?.context("a new session has a cookie")
}

fn logout(site: &Site) -> anyhow::Result<()> {
    let cookie = login(site)?;
    let cookie = ask(site, "/renew", Some(&cookie))?.context("so has a renewed one")?;
    ask(site, "/logout", Some(&cookie))?;
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("poem_sessions", until_the_browser_closes, |site, _| {
            login(site).map(drop)
        }),
        // Every iteration takes a second of the clock, in which the storage removes the session.
        Scenario::with_state("poem_sessions_max_age", for_a_moment, |site, _| {
            let pause = async { tokio::time::sleep(Duration::from_secs(1)).await };
            site.runtime.block_on(pause);
            login(site).map(drop)
        }),
        Scenario::with_state(
            "poem_sessions_logout",
            until_the_browser_closes,
            |site, _| logout(site),
        ),
        Scenario::with_state("poem_missing", until_the_browser_closes, |site, _| {
            ask(site, "/missing", None).expect_err("there is no such page");
        }),
    ]
}
