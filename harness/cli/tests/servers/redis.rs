//! redis, whose jemalloc writes a dump after each mebibyte that it allocates.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::{own_port, plimsoll, said};

/// Commands that are sent at once, half of them to each side.
const BATCH: usize = 500;
const BATCHES: usize = 160;
/// More keys than this are waited for to expire.
const MOST_KEYS: usize = 2_000;

struct Redis {
    child: Child,
    connection: TcpStream,
    received: String,
}

impl Redis {
    /// `None` if there is no redis on this machine.
    fn start(folder: &Path) -> Option<Redis> {
        let port = own_port(4);
        let prefix = folder.join("jeprof");
        let conf = format!(
            "prof:true,lg_prof_sample:12,lg_prof_interval:20,prof_prefix:{}",
            prefix.display()
        );
        let mut child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ])
            .current_dir(folder)
            .env("MALLOC_CONF", conf)
            .stdout(Stdio::null())
            .spawn()
            .ok()?;
        let connection = loop {
            assert!(child.try_wait().unwrap().is_none(), "redis has ended");
            match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                Ok(connection) => break connection,
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        };
        let received = String::new();
        Some(Redis {
            child,
            connection,
            received,
        })
    }

    /// Sends commands, and returns the last line of the answers: each of them is one line.
    fn ask(&mut self, commands: &[String]) -> String {
        let text: String = commands
            .iter()
            .map(|command| format!("{command}\r\n"))
            .collect();
        self.connection.write_all(text.as_bytes()).unwrap();
        let mut bytes = [0; 1 << 16];
        while self.received.matches("\r\n").count() < commands.len() {
            let read = self.connection.read(&mut bytes).unwrap();
            assert!(read > 0, "redis has ended");
            self.received += std::str::from_utf8(&bytes[..read]).unwrap();
        }
        let answers = std::mem::take(&mut self.received);
        assert!(!answers.contains('-'), "{answers}");
        answers
            .trim_end()
            .rsplit("\r\n")
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    fn keys(&mut self) -> usize {
        self.ask(&["DBSIZE".to_owned()])
            .trim_start_matches(':')
            .parse()
            .unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A list that is only pushed to is named, and keys that expire are not.
#[test]
fn a_list_grows_and_keys_expire() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut redis) = Redis::start(folder.path()) else {
        let why = "redis-server is missing; .ci/install installs it";
        let _ = writeln!(io::stderr(), "!!! SKIPPED: {why}");
        return;
    };
    let mut number = 0;
    for _ in 0..BATCHES {
        let pairs = (0..BATCH / 2).flat_map(|_| {
            number += 1;
            let value = "x".repeat(100);
            [
                format!("RPUSH events event:{number}"),
                format!("SET session:{number} {value} PX 20"),
            ]
        });
        let commands: Vec<String> = pairs.collect();
        redis.ask(&commands);
        if redis.keys() > MOST_KEYS {
            while redis.keys() > MOST_KEYS / 2 {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
    drop(redis);
    let dumps = fs::read_dir(folder.path()).unwrap().count();
    assert!(dumps > 16, "{dumps} dumps");
    let path = folder.path().to_str().unwrap();
    let (text, status) = said(&mut plimsoll(&["compare", path, "--json"]));
    assert_eq!(status, 0, "{text}");
    let (start, end) = (text.find('{').unwrap(), text.rfind("\n}").unwrap());
    let json: Value = serde_json::from_str(&text[start..end + 2]).unwrap();
    let stacks = json["stacks"].as_array().unwrap().iter();
    let goes_on = stacks.filter(|stack| stack["goes_on"] == "yes");
    let names: Vec<String> = goes_on.map(|stack| stack["stack"].to_string()).collect();
    let is_list = |stack: &String| stack.contains("pushGenericCommand");
    assert!(!names.is_empty() && names.iter().all(is_list), "{names:#?}");
}
