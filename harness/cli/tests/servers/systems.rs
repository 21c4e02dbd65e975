//! The systems of `docs/systems.md`: each is a stand-in that answers as the system's sources say,
//! and that is asked by the commands of the page.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use crate::fake::{Fake, whole};
use crate::{given_time, plimsoll, says, watched};

/// A command of the page in each line, in their order: `--from`; the method, port and path of the
/// profile; the port and path of the metrics, and a series of the counter, without its value.
const SYSTEMS: &str = r#"
databend GET 8080 /debug/mem/pprof/profile 7070 /metrics databend_query_start_total{handler="HTTPQuery",kind="Query",tenant="default"}
databend GET 28002 /debug/mem/pprof/profile 28002 /v1/metrics metasrv_meta_network_req_success_total
greptimedb POST 4000 /debug/prof/mem 4000 /metrics greptime_servers_http_requests_total{code="200",db="greptime-public",method="POST",path="/v1/sql"}
materialize GET 6878 /prof/heap 6878 /metrics mz_query_total{session_type="user",statement_type="select"}
materialize GET 6878 /heap - - -
starrocks GET 8040 /pprof/heap 8040 /metrics starrocks_be_query_scan_rows
tikv GET 20180 /debug/pprof/heap 20180 /metrics tikv_grpc_msg_duration_seconds_count{priority="medium",type="kv_get"}"#;

/// A profiler that is not active in each line: `--from`, the status and the body that it answers
/// with, plimsoll's exit status, and all that it says.
const INACTIVE: &str = r#"
databend | 200 OK | no objects | 0 | no live objects | without prof_active:false
databend | 500 Internal Server Error | UnknownException. Code: 1067, Text = opt.prof is not ON,\n    please start the application with proper MALLOC env.\n    e.g.  MALLOC_CONF=prof:true . | 5 | opt.prof is not ON | MALLOC_CONF=prof:true
databend | 404 Not Found | not found | 5 | 404 Not Found: `not found` | feature `memory-profiling`
greptimedb | 200 OK | no objects | 0 | no live objects | /debug/prof/mem/activate
greptimedb | 400 Bad Request | {"error":"Memory profiling is not enabled"} | 5 | 400 Bad Request | Memory profiling is not enabled | MALLOC_CONF
greptimedb | 501 Not Implemented | The 'mem-prof' feature is disabled | 5 | 501 Not Implemented | feature `mem-prof`
materialize | 403 Forbidden | heap profiling not activated | 5 | 403 Forbidden | curl -d action=activate
materialize | 400 Bad Request | This software was compiled without heap profiling support. | 5 | 400 Bad Request | built without heap profiling
starrocks | 200 OK | no objects | 0 | no live objects | HeapProf.getInstance().enable_prof()
starrocks | 200 OK |  | 5 | found nothing | JEMALLOC_CONF
starrocks | 200 OK | dump jemalloc prof file failed | 5 | dump jemalloc prof file failed | prof_active:true` in JEMALLOC_CONF
starrocks | 200 OK | Heap profiling is not available with address sanitizer builds. | 5 | not available with address sanitizer
tikv | 200 OK | no objects | 0 | no live objects | memory.enable-heap-profiling
tikv | 500 Internal Server Error | dump_prof: jemalloc error failed to dump the profile to "/tmp/.tmpX": `name` or `mib` specifies an unknown/invalid value. | 5 | failed to dump the profile | MALLOC_CONF=prof:true
tikv | 500 Internal Server Error | dump_prof: mem-profiling was not enabled | 5 | mem-profiling was not enabled | feature `mem-profiling`"#;

/// jemalloc's text of a profiler that is not active.
const NO_OBJECTS: &str = "heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n";

/// The program of a stack that leaks, and of a cache. Samples are each 512 KiB, of one KiB.
pub(crate) fn jemalloc(leaked: u64) -> String {
    let mut stacks = String::new();
    for (objects, stack) in [
        (leaked, "0x555555551010 0x555555551030"),
        (500, "0x555555552010 0x555555551030"),
    ] {
        let bytes = objects * 1_024;
        stacks += &format!("@ {stack}\n  t*: {objects}: {bytes} [0: 0]\n");
    }
    let (all, bytes) = (leaked + 500, (leaked + 500) * 1_024);
    format!(
        "heap_v2/524288\n  t*: {all}: {bytes} [0: 0]\n{stacks}\nMAPPED_LIBRARIES:\n\
         555555550000-555555558000 r-xp 00000000 08:01 1234 /opt/server/bin/server\n"
    )
}

/// The same for another process.
pub(crate) fn moved(dump: &str) -> String {
    dump.replace("55555555", "66666666")
}

/// A stand-in for the system in that line.
fn start([_, method, _, path, _, metrics, series]: [&'static str; 7]) -> Fake {
    let (looks, start) = (AtomicU32::new(0), Instant::now());
    Fake::new(move |head, stream| {
        let mut words = head.split([' ', '?']);
        let asked = [words.next().unwrap(), words.next().unwrap()];
        let (status, body) = if asked == ["GET", metrics] {
            let (name, looks) = (name_of(series), looks.fetch_add(1, Ordering::Relaxed) + 1);
            let page = format!("# TYPE {name} counter\n{series} {}\nup 1\n", used(looks));
            ("200 OK", page)
        } else if asked != [method, path] {
            ("404 Not Found", String::new())
        } else if metrics == "-" {
            let passed = u64::try_from(start.elapsed().as_millis()).unwrap();
            ("200 OK", jemalloc(100 + passed))
        } else {
            ("200 OK", jemalloc(used(looks.load(Ordering::Relaxed))))
        };
        let _ = stream.write_all(&whole(status, "", body.as_bytes()));
    })
}

/// The counter's name of a series.
fn name_of(series: &str) -> &str {
    series.split('{').next().unwrap()
}

/// The counter after so many looks at it.
pub(crate) fn used(looks: u32) -> u64 {
    (0..looks).fold(100, |used, _| used + used / 16)
}

/// The commands of the page that begin with that.
fn commands(beginning: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/systems.md")).unwrap();
    let commands = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ cargo plimsoll "));
    let commands = commands.filter(|command| command.starts_with(beginning));
    commands.map(str::to_owned).collect()
}

#[test]
fn the_commands_of_the_page_find_a_leak() {
    let commands = commands("watch ");
    let systems: Vec<&str> = SYSTEMS.trim().lines().collect();
    assert_eq!(commands.len(), systems.len());
    thread::scope(|scope| {
        for (command, system) in commands.into_iter().zip(systems) {
            scope.spawn(move || {
                let words: Vec<&str> = system.split(' ').collect();
                let system = words.try_into().unwrap();
                let ([name, _, port, _, metrics, _, series], server) = (system, start(system));
                let begin = format!("watch --from {name} localhost:{port} ");
                assert!(command.starts_with(&begin), "{command}");
                let mut short = command.replace('\'', "");
                for port in [port, metrics] {
                    short = short.replace(&format!("localhost:{port}"), &server.address);
                }
                assert!(!short.contains("localhost"), "{command}");
                assert!(short.contains("--for 1h"), "{command}");
                let unit = match name_of(series) {
                    "-" => "hour",
                    name => name,
                };
                let expected = ["1 stack keeps growing", &format!(" per {unit}")];
                let told = given_time(["3s", "15s", "60s"], 1, |time| {
                    let short = short.replace("--for 1h", &format!("--for {time}"));
                    plimsoll(&short.split(' ').collect::<Vec<_>>())
                });
                told.has(1, &expected);
            });
        }
    });
}

#[test]
fn a_profiler_that_is_not_active() {
    for row in INACTIVE.trim().lines() {
        let mut cells = row.split(" | ");
        let [system, status, body, exit] = [(); 4].map(|()| cells.next().unwrap());
        let server = match body {
            "no objects" => Fake::with(status, "", NO_OBJECTS),
            body => Fake::with(status, "", body.replace("\\n", "\n")),
        };
        let show = ["show", "--from", system, &server.address];
        let said: Vec<&str> = cells.collect();
        says(&mut plimsoll(&show), exit.parse().unwrap(), &said);
    }
}

/// Nothing was measured, so nothing is within.
#[test]
fn no_objects_are_inconclusive() {
    let server = Fake::with("200 OK", "", NO_OBJECTS);
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--from", "starrocks", &server.address];
    let told = watched(3, "50ms", folder.path(), &arguments);
    let expected = [
        "no live objects: start the backend",
        "inconclusive: ",
        "nothing was measured",
    ];
    told.has(3, &expected);
}

/// The folder of a node, with dumps on request, and what the dashboard makes of one.
#[test]
fn risingwave() {
    let folder = tempfile::tempdir().unwrap();
    let dumps = folder.path().join("dumps");
    fs::create_dir(&dumps).unwrap();
    let name = |minute: u64, kind: &str| dumps.join(format!("2026-08-21-23-{minute:02}-05.{kind}"));
    // After ten dumps, one each minute, there is none for half an hour.
    let minutes: Vec<u64> = (10..20).chain([50, 55]).collect();
    for minute in &minutes {
        let who = if *minute == 50 { "auto" } else { "manual" };
        let path = name(*minute, &format!("{who}.heap"));
        fs::write(path, jemalloc(1_000 * minute)).unwrap();
    }
    fs::write(name(10, "manual.heap.collapsed"), "main;leak 1").unwrap();

    let [command] = commands("compare ").try_into().unwrap();
    let arguments: Vec<&str> = command.split(' ').collect();
    let compare = || {
        let mut compare = plimsoll(&arguments);
        compare.current_dir(folder.path());
        compare
    };
    // 1,000 samples each minute, of 512.5 KiB.
    let expected = [
        "over 12 dumps",
        "1 keeps growing",
        "+29.3 GiB",
        "per hour",
        "linear",
    ];
    says(&mut compare(), 0, &expected);

    // The node was started again.
    fs::write(name(59, "auto.heap"), moved(&jemalloc(7))).unwrap();
    let several = [
        "found those of 2",
        "23-10-05.manual.heap, ",
        "23-59-05.auto.heap",
        "--series",
    ];
    says(&mut compare(), 2, &several);

    // jemalloc's own names say more.
    for sequence in 0..4 {
        let own = dumps.join(format!("compute-node.7.{sequence}.i{sequence}.heap"));
        fs::write(own, jemalloc(1_000 * (sequence + 1))).unwrap();
    }
    let left_out = ["over 4 dumps", "13 dumps are left out"];
    says(&mut compare(), 0, &left_out);
}
