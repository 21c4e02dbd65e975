//! Services on the local network (`mdns-sd`): jobs that are registered while they run, and a
//! browser that finds the jobs of others. All of it stays on the loopback interface.
//!
//! Kept by a daemon that registers: the records of every service, after it was unregistered.
//! When probing has shown that a name is free, its records move to `DnsRegistry::active`, and
//! nothing takes them out (`Zeroconf::unregister_service` sends them with a lifetime of zero).
//!
//! Kept by a daemon that browses: the name of every instance that it has resolved
//! (`Zeroconf::resolved`), and an empty list under that name (`DnsCache::txt`), after the
//! instance has said goodbye or its records have expired (`DnsCache::evict_expired_services`).
//!
//! Kept after a daemon was dropped: all of it, with its thread and its sockets. Only
//! `ServiceDaemon::shutdown` ends the thread.
//!
//! Kept by any daemon: every call of `enable_interface` and `disable_interface`
//! (`Zeroconf::if_selections`); and the channel of every monitor that was dropped, until the next
//! event of the daemon (`Zeroconf::monitors`).

use std::collections::VecDeque;
use std::thread::sleep;
use std::time::Duration;

use anyhow::ensure;
use mdns_sd::{
    DaemonStatus, IfKind, Receiver, ServiceDaemon, ServiceEvent, ServiceInfo, UnregisterStatus,
};
use plimsoll::{Inconclusive, Scenario};

const JOBS: &str = "_job._tcp.local.";

/// A daemon that reaches this machine alone. Daemons with the same port hear each other.
pub fn daemon(port: u16) -> ServiceDaemon {
    let daemon = ServiceDaemon::new_with_port(port).expect("a daemon");
    let only_loopback = daemon
        .disable_interface(IfKind::All)
        .and_then(|()| daemon.enable_interface(IfKind::LoopbackV4));
    only_loopback.expect("a daemon that runs");
    daemon
}

/// Each job has a name and a host of its own, as in a container.
fn job(i: u64) -> ServiceInfo {
    let name = format!("job-{i}");
    let host = format!("host-{i}.local.");
    let properties = [("path", "/")];
    ServiceInfo::new(JOBS, &name, &host, "127.0.0.1", 5000, &properties[..]).expect("a service")
}

/// Jobs that run, by the names of their services.
pub struct Jobs {
    daemon: ServiceDaemon,
    running: VecDeque<String>,
}

pub fn jobs(port: u16) -> Jobs {
    let daemon = daemon(port);
    // It does not hear itself, so an iteration is cheap.
    daemon
        .set_multicast_loop_v4(false)
        .expect("a daemon that runs");
    Jobs {
        daemon,
        running: VecDeque::new(),
    }
}

/// A job starts, and the one that started 1.2 s ago ends. Probing takes a second.
fn start(jobs: &mut Jobs, job: ServiceInfo) -> anyhow::Result<()> {
    jobs.running.push_back(job.get_fullname().to_owned());
    jobs.daemon.register(job)?;
    sleep(Duration::from_millis(15));
    if jobs.running.len() > 80
        && let Some(ended) = jobs.running.pop_front()
    {
        let status = jobs.daemon.unregister(&ended)?.recv()?;
        ensure!(matches!(status, UnregisterStatus::OK));
    }
    Ok(())
}

pub fn start_probed(jobs: &mut Jobs, i: u64) -> anyhow::Result<()> {
    start(jobs, job(i))
}

pub fn start_unprobed(jobs: &mut Jobs, i: u64) -> anyhow::Result<()> {
    let mut job = job(i);
    job.set_requires_probe(false);
    start(jobs, job)
}

/// A browser, and the daemon of another machine.
pub struct Network {
    port: u16,
    other: ServiceDaemon,
    browser: ServiceDaemon,
    found: Receiver<ServiceEvent>,
}

fn browser(port: u16) -> (ServiceDaemon, Receiver<ServiceEvent>) {
    let browser = daemon(port);
    let found = browser.browse(JOBS).expect("a browser that runs");
    (browser, found)
}

pub fn network(port: u16) -> Network {
    let (browser, found) = browser(port);
    Network {
        port,
        other: daemon(port),
        browser,
        found,
    }
}

/// A job comes, is found, and goes. A second later, the browser says that it is gone.
pub fn find(network: &mut Network, i: u64) -> anyhow::Result<()> {
    let mut job = job(i);
    job.set_requires_probe(false);
    let name = job.get_fullname().to_owned();
    network.other.register(job)?;
    loop {
        match network.found.recv_timeout(Duration::from_secs(10))? {
            ServiceEvent::ServiceResolved(found) if found.get_fullname() == name => break,
            _ => {}
        }
    }
    let status = network.other.unregister(&name)?.recv()?;
    ensure!(matches!(status, UnregisterStatus::OK));
    sleep(Duration::from_millis(8));
    Ok(())
}

pub fn find_and_renew(network: &mut Network, i: u64) -> anyhow::Result<()> {
    find(network, i)?;
    if i % 256 == 255 {
        let ended = network.browser.shutdown()?.recv()?;
        ensure!(ended == DaemonStatus::Shutdown);
        (network.browser, network.found) = browser(network.port);
    }
    Ok(())
}

/// The interface is switched off and on again, as when a laptop sleeps.
pub fn switch(daemon: &mut ServiceDaemon, _i: u64) -> anyhow::Result<()> {
    daemon.disable_interface(IfKind::LoopbackV4)?;
    daemon.enable_interface(IfKind::LoopbackV4)?;
    daemon.status()?.recv()?;
    Ok(())
}

/// A daemon for one question.
fn question(port: u16) -> anyhow::Result<ServiceDaemon> {
    let daemon = daemon(port);
    let found = daemon.browse(JOBS)?;
    let first = found.recv_timeout(Duration::from_secs(10))?;
    ensure!(matches!(first, ServiceEvent::SearchStarted(_)));
    Ok(daemon)
}

pub fn ask_and_drop(port: &mut u16, _i: u64) -> anyhow::Result<()> {
    drop(question(*port)?);
    Ok(())
}

pub fn ask_and_shut_down(port: &mut u16, _i: u64) -> anyhow::Result<()> {
    let ended = question(*port)?.shutdown()?.recv()?;
    ensure!(ended == DaemonStatus::Shutdown);
    Ok(())
}

/// A scenario that needs some seconds, because probing and saying goodbye take a second each.
/// What a daemon keeps for a second swells with its pace, so the least of it may stay unclear.
fn long(scenario: Scenario) -> Scenario {
    let scenario = scenario.budget(Duration::from_secs(60));
    scenario
        .max_iterations(2_048)
        .inconclusive(Inconclusive::Warn)
}

pub fn scenarios() -> Vec<Scenario> {
    let registered = Scenario::with_state("mdns_jobs", || jobs(15_411), start_probed);
    let unprobed = Scenario::with_state("mdns_jobs_unprobed", || jobs(15_412), start_unprobed);
    let found = Scenario::with_state("mdns_found", || network(15_413), find);
    let renewed = Scenario::with_state("mdns_found_renewed", || network(15_414), find_and_renew);
    vec![
        Scenario::with_state("mdns_daemons", || 15_416, ask_and_drop).max_iterations(512),
        Scenario::with_state("mdns_daemons_shut_down", || 15_417, ask_and_shut_down),
        long(registered),
        long(unprobed),
        long(found),
        long(renewed),
        Scenario::with_state("mdns_interfaces", || daemon(15_415), switch).max_iterations(4_096),
    ]
}
