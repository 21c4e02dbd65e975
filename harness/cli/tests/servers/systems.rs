//! The systems of `docs/systems.md`: each is a stand-in that answers as the system's sources say,
//! and that is asked by the commands of the page.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use crate::fake::{Fake, whole};
use crate::{ends, given_time, plimsoll, says, watched};

struct System {
    /// For `--from`.
    name: &'static str,
    /// Its method, port and path.
    profile: (&'static str, u16, &'static str),
    /// The port and path of the metrics, and a series of the counter, without its value.
    metrics: Option<(u16, &'static str, &'static str)>,
    /// A profiler that is not active in each line: the status and the body that it answers with,
    /// plimsoll's exit status, and all that it says.
    inactive: &'static str,
}

/// In the order of the commands on the page.
const SYSTEMS: [System; 7] = [
    DATABEND,
    System {
        profile: ("GET", 28002, "/debug/mem/pprof/profile"),
        metrics: Some((
            28002,
            "/v1/metrics",
            "metasrv_meta_network_req_success_total",
        )),
        ..DATABEND
    },
    System {
        name: "greptimedb",
        profile: ("POST", 4000, "/debug/prof/mem"),
        metrics: Some((
            4000,
            "/metrics",
            "greptime_servers_http_requests_total{code=\"200\",db=\"greptime-public\",\
             method=\"POST\",path=\"/v1/sql\"}",
        )),
        inactive: "\
200 OK | no objects | 0 | no live objects | /debug/prof/mem/activate
400 Bad Request | {\"error\":\"Memory profiling is not enabled\"} | \
    5 | 400 Bad Request | Memory profiling is not enabled | MALLOC_CONF
501 Not Implemented | The 'mem-prof' feature is disabled | \
    5 | 501 Not Implemented | feature `mem-prof`",
    },
    System {
        metrics: Some((
            6878,
            "/metrics",
            "mz_query_total{session_type=\"user\",statement_type=\"select\"}",
        )),
        ..MATERIALIZE
    },
    // clusterd
    System {
        profile: ("GET", 6878, "/heap"),
        ..MATERIALIZE
    },
    System {
        name: "starrocks",
        profile: ("GET", 8040, "/pprof/heap"),
        metrics: Some((8040, "/metrics", "starrocks_be_query_scan_rows")),
        inactive: "\
200 OK | no objects | 0 | no live objects | HeapProf.getInstance().enable_prof()
200 OK |  | 5 | found nothing | JEMALLOC_CONF
200 OK | dump jemalloc prof file failed | \
    5 | dump jemalloc prof file failed | prof_active:true` in JEMALLOC_CONF
200 OK | Heap profiling is not available with address sanitizer builds. | \
    5 | not available with address sanitizer",
    },
    System {
        name: "tikv",
        profile: ("GET", 20180, "/debug/pprof/heap"),
        metrics: Some((
            20180,
            "/metrics",
            "tikv_grpc_msg_duration_seconds_count{priority=\"medium\",type=\"kv_get\"}",
        )),
        inactive: "\
200 OK | no objects | 0 | no live objects | memory.enable-heap-profiling
500 Internal Server Error | dump_prof: jemalloc error failed to dump the profile to \
    \"/tmp/.tmpX\": `name` or `mib` specifies an unknown/invalid value. | \
    5 | failed to dump the profile | MALLOC_CONF=prof:true
500 Internal Server Error | dump_prof: mem-profiling was not enabled | \
    5 | mem-profiling was not enabled | feature `mem-profiling`",
    },
];

const DATABEND: System = System {
    name: "databend",
    profile: ("GET", 8080, "/debug/mem/pprof/profile"),
    metrics: Some((
        7070,
        "/metrics",
        "databend_query_start_total{handler=\"HTTPQuery\",kind=\"Query\",tenant=\"default\"}",
    )),
    inactive: "\
200 OK | no objects | 0 | no live objects | without prof_active:false
500 Internal Server Error | UnknownException. Code: 1067, Text = opt.prof is not ON,\\n    \
    please start the application with proper MALLOC env.\\n    e.g.  MALLOC_CONF=prof:true . | \
    5 | opt.prof is not ON | MALLOC_CONF=prof:true
404 Not Found | not found | 5 | 404 Not Found: `not found` | feature `memory-profiling`",
};

/// environmentd, without its metrics.
const MATERIALIZE: System = System {
    name: "materialize",
    profile: ("GET", 6878, "/prof/heap"),
    metrics: None,
    inactive: "\
403 Forbidden | heap profiling not activated | 5 | 403 Forbidden | curl -d action=activate
400 Bad Request | This software was compiled without heap profiling support. | \
    5 | 400 Bad Request | built without heap profiling",
};

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

impl System {
    fn start(&'static self) -> Fake {
        let (looks, start) = (AtomicU32::new(0), Instant::now());
        Fake::new(move |head, stream| {
            let mut words = head.split([' ', '?']);
            let asked = [words.next().unwrap(), words.next().unwrap()];
            let (method, _, path) = self.profile;
            let body = match self.metrics {
                Some((_, place, series)) if asked == ["GET", place] => {
                    let looks = looks.fetch_add(1, Ordering::Relaxed) + 1;
                    let name = series.split('{').next().unwrap();
                    format!("# TYPE {name} counter\n{series} {}\nup 1\n", used(looks))
                }
                _ if asked != [method, path] => {
                    let _ = stream.write_all(&whole("404 Not Found", "", b""));
                    return;
                }
                Some(_) => jemalloc(used(looks.load(Ordering::Relaxed))),
                None => jemalloc(100 + u64::try_from(start.elapsed().as_millis()).unwrap()),
            };
            let _ = stream.write_all(&whole("200 OK", "", body.as_bytes()));
        })
    }
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
    assert_eq!(commands.len(), SYSTEMS.len());
    thread::scope(|scope| {
        for (command, system) in commands.into_iter().zip(&SYSTEMS) {
            scope.spawn(move || {
                let server = system.start();
                let (name, port) = (system.name, system.profile.1);
                let begin = format!("watch --from {name} localhost:{port} ");
                assert!(command.starts_with(&begin), "{command}");
                let metrics = system.metrics.map(|(port, ..)| port);
                let mut short = command.replace('\'', "");
                for port in [Some(port), metrics].into_iter().flatten() {
                    short = short.replace(&format!("localhost:{port}"), &server.address);
                }
                assert!(!short.contains("localhost"), "{command}");
                assert!(short.contains("--for 1h"), "{command}");
                let unit = match system.metrics {
                    Some((.., series)) => series.split('{').next().unwrap(),
                    None => "hour",
                };
                let expected = ["1 stack keeps growing", &format!(" per {unit}")];
                let told = given_time(["3s", "15s", "60s"], 1, |time| {
                    let short = short.replace("--for 1h", &format!("--for {time}"));
                    plimsoll(&short.split(' ').collect::<Vec<_>>())
                });
                ends(told, 1, &expected);
            });
        }
    });
}

#[test]
fn a_profiler_that_is_not_active() {
    for system in &SYSTEMS {
        for row in system.inactive.lines() {
            let mut cells = row.split(" | ");
            let [status, body, exit] = [(); 3].map(|()| cells.next().unwrap());
            let server = match body {
                "no objects" => Fake::with(status, "", NO_OBJECTS),
                body => Fake::with(status, "", body.replace("\\n", "\n")),
            };
            let show = ["show", "--from", system.name, &server.address];
            let said: Vec<&str> = cells.collect();
            says(&mut plimsoll(&show), exit.parse().unwrap(), &said);
        }
    }
}

/// Nothing was measured, so nothing is within.
#[test]
fn no_objects_are_inconclusive() {
    let server = Fake::with("200 OK", "", NO_OBJECTS);
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--from", "starrocks", &server.address];
    let told = watched(2, "50ms", folder.path(), &arguments);
    let expected = [
        "no live objects: start the backend",
        "inconclusive: ",
        "nothing was measured",
    ];
    ends(told, 3, &expected);
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
        let kind = if *minute == 50 {
            "auto.heap"
        } else {
            "manual.heap"
        };
        fs::write(name(*minute, kind), jemalloc(1_000 * minute)).unwrap();
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
    let moved = jemalloc(7).replace("55555555", "66666666");
    fs::write(name(59, "auto.heap"), moved).unwrap();
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
    says(
        &mut compare(),
        0,
        &["over 4 dumps", "13 dumps are left out"],
    );
}
