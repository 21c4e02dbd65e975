//! The systems of `docs/systems.md`: each is a stand-in that answers as the system's sources say,
//! and that is asked by the commands of the page.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use plimsoll_core::{Avma, Counts, Tally};
use plimsoll_profile::write;
use plimsoll_profile::{
    Filter, Frames, Granularity, MappedObject, Measure, Names, ProfileBuilder, View,
};

use crate::fake::{Fake, whole};
use crate::{ends, given_time, plimsoll, says, watched};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Profiler {
    Active,
    /// `prof_active:false`
    Inactive,
    /// `prof:false`
    Off,
    /// The program is built without it.
    Absent,
}
use Profiler::{Absent, Active, Inactive, Off};

/// A status, headers and a body.
type Answer = (&'static str, &'static str, &'static str);

struct System {
    /// For `--from`.
    name: &'static str,
    /// Its method, port and path.
    profile: (&'static str, u16, &'static str),
    headers: &'static str,
    /// The profile, where so many objects have leaked.
    body: fn(u64) -> Vec<u8>,
    /// The headers of text that it answers with in place of a profile.
    text: &'static str,
    /// The answer at any other path.
    elsewhere: Answer,
    /// The port and path of the metrics, and a series of the counter, without its value.
    metrics: Option<(u16, &'static str, &'static str)>,
    /// A profiler that is not active in each line: which one, the status and the body that it
    /// answers with, or `-` for a profile without objects; plimsoll's exit status, and all that it
    /// says.
    inactive: &'static str,
}

/// A line of [`System::inactive`].
struct Row {
    profiler: Profiler,
    answer: Option<(&'static str, String)>,
    status: i32,
    said: Vec<&'static str>,
}

impl Row {
    fn of(line: &'static str) -> Row {
        let mut cells = line.split(" | ");
        let mut cell = || cells.next().unwrap();
        let profiler = match cell() {
            "inactive" => Inactive,
            "off" => Off,
            "absent" => Absent,
            other => panic!("no profiler is {other}"),
        };
        let answer = match cell() {
            "-" => None,
            status => Some((status, cell().replace("\\n", "\n"))),
        };
        let status = cell().parse().unwrap();
        let said = cells.collect();
        Row {
            profiler,
            answer,
            status,
            said,
        }
    }
}

const TEXT: &str = "content-type: text/plain; charset=utf-8\r\n";
const JSON: &str = "content-type: application/json\r\n";
const BYTES: &str = "content-type: application/octet-stream\r\n";
const DATABEND: System = System {
    name: "databend",
    profile: ("GET", 8080, "/debug/mem/pprof/profile"),
    headers: "content-type: application/octet-stream\r\n\
              Content-Disposition: attachment; filename=\"/tmp/heap_dump_Xb1.prof\"\r\n",
    body: jemalloc,
    text: TEXT,
    // poem's.
    elsewhere: ("404 Not Found", TEXT, "not found"),
    metrics: Some((
        7070,
        "/metrics",
        "databend_query_start_total{handler=\"HTTPQuery\",kind=\"Query\",tenant=\"default\"}",
    )),
    inactive: "\
inactive | - | 0 | no live objects | without prof_active:false
off | 500 Internal Server Error | UnknownException. Code: 1067, Text = opt.prof is not ON,\\n    \
    please start the application with proper MALLOC env.\\n    e.g.  MALLOC_CONF=prof:true . | \
    5 | opt.prof is not ON | MALLOC_CONF=prof:true
absent | 404 Not Found | not found | 5 | 404 Not Found: `not found` | feature `memory-profiling`",
};

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
        headers: BYTES,
        body: jemalloc,
        text: TEXT,
        elsewhere: ("404 Not Found", "", ""),
        metrics: Some((
            4000,
            "/metrics",
            "greptime_servers_http_requests_total{code=\"200\",db=\"greptime-public\",\
             method=\"POST\",path=\"/v1/sql\"}",
        )),
        inactive: "\
inactive | - | 0 | no live objects | /debug/prof/mem/activate
off | 400 Bad Request | {\"error\":\"Memory profiling is not enabled\"} | \
    5 | 400 Bad Request | Memory profiling is not enabled | MALLOC_CONF
absent | 501 Not Implemented | The 'mem-prof' feature is disabled | \
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
        headers: "Content-Type: text/html; charset=ISO-8859-1\r\n",
        body: jemalloc,
        text: "",
        elsewhere: ("404 Not Found", "", "Not Found"),
        metrics: Some((8040, "/metrics", "starrocks_be_query_scan_rows")),
        inactive: "\
inactive | - | 0 | no live objects | HeapProf.getInstance().enable_prof()
off | 200 OK | dump jemalloc prof file failed | \
    5 | dump jemalloc prof file failed | prof_active:true` in JEMALLOC_CONF
absent | 200 OK | Heap profiling is not available with address sanitizer builds. | \
    5 | not available with address sanitizer",
    },
    System {
        name: "tikv",
        profile: ("GET", 20180, "/debug/pprof/heap"),
        headers: "X-Content-Type-Options: nosniff\r\n\
                  Content-Disposition: attachment; filename=\"profile\"\r\n\
                  content-type: application/octet-stream\r\n",
        body: jemalloc,
        text: "",
        elsewhere: ("404 Not Found", "", "path not found"),
        metrics: Some((
            20180,
            "/metrics",
            "tikv_grpc_msg_duration_seconds_count{priority=\"medium\",type=\"kv_get\"}",
        )),
        inactive: "\
inactive | - | 0 | no live objects | memory.enable-heap-profiling
off | 500 Internal Server Error | dump_prof: jemalloc error failed to dump the profile to \
    \"/tmp/.tmpX\": `name` or `mib` specifies an unknown/invalid value. | \
    5 | failed to dump the profile | MALLOC_CONF=prof:true
absent | 500 Internal Server Error | dump_prof: mem-profiling was not enabled | \
    5 | mem-profiling was not enabled | feature `mem-profiling`",
    },
];

/// environmentd, without its metrics.
const MATERIALIZE: System = System {
    name: "materialize",
    profile: ("GET", 6878, "/prof/heap"),
    headers: BYTES,
    body: pprof,
    text: TEXT,
    elsewhere: ("404 Not Found", "", ""),
    metrics: None,
    inactive: "\
inactive | 403 Forbidden | heap profiling not activated | \
    5 | 403 Forbidden | curl -d action=activate
absent | 400 Bad Request | This software was compiled without heap profiling support. | \
    5 | 400 Bad Request | built without heap profiling",
};

const EXE: &str = "/opt/server/bin/server";
const START: u64 = 0x5555_5555_0000;
/// The return addresses of a stack that leaks and of a cache, in the program, leaf first.
const STACKS: [[u64; 3]; 2] = [[0x1010, 0x1020, 0x1030], [0x2010, 0x2020, 0x1030]];
/// How many of its objects are sampled, of one KiB each.
const CACHE: u64 = 500;

/// jemalloc's text, with samples each 512 KiB. Without objects if nothing leaked.
fn jemalloc(leaked: u64) -> Vec<u8> {
    let mut stacks = String::new();
    let mut all = 0;
    for (stack, objects) in STACKS.iter().zip([leaked, CACHE]) {
        if leaked > 0 {
            let addresses = stack.map(|address| format!(" {:#x}", START + address));
            let bytes = objects * 1_024;
            all += objects;
            stacks += &format!("@{}\n  t*: {objects}: {bytes} [0: 0]\n", addresses.concat());
            stacks += &format!("  t7: {objects}: {bytes} [0: 0]\n");
        }
    }
    let bytes = all * 1_024;
    let end = START + 0x8_000;
    format!(
        "heap_v2/524288\n  t*: {all}: {bytes} [0: 0]\n  t7: {all}: {bytes} [0: 0]\n{stacks}\n\
         MAPPED_LIBRARIES:\n{START:x}-{end:x} r-xp 00000000 08:01 1234 {EXE}\n"
    )
    .into_bytes()
}

/// pprof's format, compressed: bytes alone, and addresses without names.
fn pprof(leaked: u64) -> Vec<u8> {
    let mut builder = ProfileBuilder::new(&[Measure::InuseSpace]);
    builder.profile.mappings.push(MappedObject {
        start: START,
        end: START + 0x8_000,
        path: EXE.to_owned(),
        ..MappedObject::default()
    });
    for (stack, objects) in STACKS.iter().zip([leaked, CACHE]) {
        let stack = stack.map(|address| builder.address(Avma(START + address)).unwrap());
        let bytes = objects * 524_800;
        let (objects, alloc) = (0, Tally::default());
        let inuse = Tally { objects, bytes };
        builder.stack(stack, Counts { inuse, alloc });
    }
    let (profile, filter, mut names) = (builder.profile, Filter::default(), Names::default());
    let all = Frames::All;
    let view = View::new(&profile, Granularity::Functions, all, &filter, &mut names);
    let mut packed = Vec::new();
    write::pprof(&mut packed, None, &view, &[]).unwrap();
    packed
}

impl System {
    fn rows(&self) -> impl Iterator<Item = Row> {
        self.inactive.lines().map(Row::of)
    }

    /// Starts the system: one server for each of its ports.
    fn start(&'static self, profiler: Profiler) -> BTreeMap<u16, Fake> {
        let looks = Arc::new(AtomicU32::new(0));
        let start = Instant::now();
        let metrics = self.metrics.map(|(port, ..)| port);
        let ports = [Some(self.profile.1), metrics].into_iter().flatten();
        let server = |port| {
            let looks = Arc::clone(&looks);
            let answer = move |head: &str, stream: &mut TcpStream| {
                let answer = self.answer(profiler, port, head, &looks, start);
                let _ = stream.write_all(&answer);
            };
            (port, Fake::new(answer))
        };
        ports.map(server).collect()
    }

    fn answer(
        &self,
        profiler: Profiler,
        port: u16,
        head: &str,
        looks: &AtomicU32,
        start: Instant,
    ) -> Vec<u8> {
        let mut words = head.split(' ');
        let method = words.next().unwrap();
        let path = words.next().unwrap().split('?').next().unwrap();
        let answer = |(status, headers, body): Answer| whole(status, headers, body.as_bytes());
        if let Some((at, place, series)) = self.metrics
            && (method, port, path) == ("GET", at, place)
        {
            let looks = looks.fetch_add(1, Ordering::Relaxed) + 1;
            let name = series.split('{').next().unwrap();
            let page = format!(
                "# HELP {name} So many.\n# TYPE {name} counter\n{series} {}\nup 1\n# EOF\n",
                used(looks)
            );
            return whole(
                "200 OK",
                "content-type: text/plain; version=0.0.4\r\n",
                page.as_bytes(),
            );
        }
        if (method, port, path) != self.profile {
            return match path == self.profile.2 && !self.elsewhere.2.contains("path") {
                true => answer(("405 Method Not Allowed", "", "")),
                false => answer(self.elsewhere),
            };
        }
        let row = self.rows().find(|row| row.profiler == profiler);
        if let Some((status, body)) = row.and_then(|row| row.answer) {
            let headers = if body.starts_with('{') {
                JSON
            } else {
                self.text
            };
            return whole(status, headers, body.as_bytes());
        }
        let leaked = match (profiler, self.metrics) {
            (Inactive, _) => 0,
            (_, Some(_)) => used(looks.load(Ordering::Relaxed)),
            (_, None) => 100 + u64::try_from(start.elapsed().as_millis()).unwrap(),
        };
        whole("200 OK", self.headers, &(self.body)(leaked))
    }
}

/// The counter after so many looks at it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test's counter"
)]
fn used(looks: u32) -> u64 {
    (100.0 * 1.06_f64.powi(looks.try_into().unwrap())) as u64
}

/// The commands of the page that begin with that.
fn commands(beginning: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/systems.md")).unwrap();
    let beginning = format!("$ cargo plimsoll {beginning}");
    let lines = page.lines().filter(|line| line.starts_with(&beginning));
    lines
        .map(|line| line["$ cargo plimsoll ".len()..].to_owned())
        .collect()
}

#[test]
fn the_commands_of_the_page_find_a_leak() {
    let commands = commands("watch ");
    assert_eq!(commands.len(), SYSTEMS.len());
    thread::scope(|scope| {
        for (command, system) in commands.into_iter().zip(&SYSTEMS) {
            scope.spawn(move || {
                let servers = system.start(Active);
                let mut short = command.replace('\'', "");
                for (port, server) in &servers {
                    short = short.replace(&format!("localhost:{port}"), &server.address);
                }
                assert!(!short.contains("localhost"), "{command}");
                let arguments: Vec<&str> = short.split(' ').collect();
                assert_eq!(arguments[1..3], ["--from", system.name], "{command}");
                let unit = match system.metrics {
                    Some((.., series)) => series.split('{').next().unwrap(),
                    None => "hour",
                };
                let expected = ["1 stack keeps growing", &format!(" per {unit}")];
                assert!(short.contains("--for 1h"), "{command}");
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
        for row in system.rows() {
            let servers = system.start(row.profiler);
            let address = &servers[&system.profile.1].address;
            let show = ["show", "--from", system.name, address];
            says(&mut plimsoll(&show), row.status, &row.said);
        }
    }
}

/// Nothing was measured, so nothing is within.
#[test]
fn no_objects_are_inconclusive() {
    let system = SYSTEMS
        .iter()
        .find(|system| system.name == "starrocks")
        .unwrap();
    let servers = system.start(Inactive);
    let address = &servers[&8040].address;
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--from", "starrocks", address];
    let told = watched(2, "50ms", folder.path(), &arguments);
    let expected = [
        "no live objects: start the backend",
        "inconclusive: ",
        "nothing was measured",
    ];
    ends(told, 3, &expected);
}

#[test]
fn a_picture_is_no_profile() {
    let picture = "<?xml version=\"1.0\"?>\n<!DOCTYPE svg>\n<svg version=\"1.1\"></svg>";
    let server = Fake::with("200 OK", "content-type: image/svg+xml\r\n", picture);
    let address = format!("{}/debug/pprof/heap?jeprof=true", server.address);
    let show = ["show", "--from", "tikv", &address];
    says(
        &mut plimsoll(&show),
        5,
        &["found a picture", "`jeprof=true`"],
    );
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
    let moved = String::from_utf8(jemalloc(7))
        .unwrap()
        .replace("55555555", "66666666");
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
