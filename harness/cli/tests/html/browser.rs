//! A Chromium without a window, driven over two pipes: messages are JSON with a
//! zero byte behind each, and no socket is involved.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What hangs for that long, hangs: on a busy machine, a page takes seconds.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    events: VecDeque<Value>,
    last: u64,
    session: String,
    _dir: tempfile::TempDir,
}

/// The Chromium of `PLIMSOLL_CHROMIUM`, or one that the path leads to.
fn find() -> Option<String> {
    const FIRST: &str = "for name in \"$PLIMSOLL_CHROMIUM\" chromium chromium-browser google-chrome; \
        do command -v \"$name\" && break; done";
    let found = Command::new("sh").args(["-c", FIRST]).output().ok()?;
    let found = String::from_utf8(found.stdout).ok()?;
    found.lines().next().map(str::to_owned)
}

impl Browser {
    /// Starts one with an empty page; `None`, said aloud, where there is none.
    pub(crate) fn start() -> Option<Browser> {
        let Some(program) = find() else {
            let why = "no chromium, chromium-browser or google-chrome on PATH, and \
                       PLIMSOLL_CHROMIUM names none";
            // Past the harness, which would keep what a passing test prints.
            let _ = writeln!(std::io::stderr(), "SKIPPED: the page in a browser: {why}");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let profile = format!("--user-data-dir={}", dir.path().join("profile").display());
        let mut child = Command::new("sh")
            // It reads messages from 3, and writes them to 4.
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            // Without the sandbox: of a container's root, it wants what that has
            // not. All it ever opens is our own page.
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-extensions"])
            .args(["--remote-debugging-pipe", &profile, "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let messages = BufReader::new(child.stdout.take().unwrap()).split(0);
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for message in messages.map_while(Result::ok) {
                let message = serde_json::from_slice(&message);
                if message.map_or(true, |message| sender.send(message).is_err()) {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            events: VecDeque::new(),
            last: 0,
            session: String::new(),
            _dir: dir,
        };
        browser.open_tab();
        Some(browser)
    }

    /// A page that nothing has been set of, to be watched.
    fn open_tab(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = target["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.call("Target.attachToTarget", attach);
        self.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.size(1280, 900);
    }

    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        let until = Instant::now() + DEADLINE;
        loop {
            let message = self.next(until, method);
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    #[track_caller]
    fn next(&mut self, until: Instant, waiting_for: &str) -> Value {
        let left = until.saturating_duration_since(Instant::now());
        self.from.recv_timeout(left).unwrap_or_else(|error| {
            let state = self.child.try_wait();
            panic!("waited at most {DEADLINE:?} for {waiting_for}: {error}; the browser: {state:?}")
        })
    }

    /// Goes there and waits until it has loaded. A change of the fragment alone
    /// loads nothing: leave for an empty page before.
    #[track_caller]
    pub(crate) fn go(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        let until = Instant::now() + DEADLINE;
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(is_loaded) {
            let event = self.next(until, "the page to load");
            self.events.push_back(event);
        }
    }

    pub(crate) fn size(&mut self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
        );
    }

    /// The value of an expression. The page's own policy forbids it to evaluate
    /// text; the debugger is not the page.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let result = self.call("Runtime.evaluate", params);
        let thrown = result.get("exceptionDetails");
        assert!(thrown.is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    #[track_caller]
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// That an expression has that value.
    #[track_caller]
    pub(crate) fn is(&mut self, expression: &str, expected: impl Into<Value>) {
        assert_eq!(self.eval(expression), expected.into(), "{expression}");
    }

    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let selector = json!(selector);
        self.eval(&format!("document.querySelector({selector}).click()"));
    }

    /// Presses and releases a key, by its name in the DOM.
    pub(crate) fn press(&mut self, key: &str) {
        const KEYS: [(&str, u32, &str); 7] = [
            ("Tab", 9, ""),
            ("Enter", 13, "\r"),
            ("Escape", 27, ""),
            ("ArrowLeft", 37, ""),
            ("ArrowRight", 39, ""),
            ("ArrowDown", 40, ""),
            ("/", 191, "/"),
        ];
        let (_, code, text) = KEYS.into_iter().find(|(name, ..)| *name == key).expect(key);
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text,
            });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// The events of these kinds since [`Browser::go`].
    pub(crate) fn seen(&mut self, methods: &[&str]) -> Vec<Value> {
        // What was under way has arrived by the time that an answer does.
        self.eval("0");
        let is_one = |event: &&Value| methods.iter().any(|method| event["method"] == *method);
        self.events.iter().filter(is_one).cloned().collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its other processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
