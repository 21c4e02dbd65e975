//! A Chromium without a window, driven over two pipes: messages are JSON with a
//! zero byte behind each, and no socket is involved.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What hangs for that long, hangs. A page of 1,000 scenarios on a busy machine
/// takes seconds.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    events: VecDeque<Value>,
    last: u64,
    session: String,
    _dir: tempfile::TempDir,
}

/// The Chromium of `PLIMSOLL_CHROMIUM`, or one that the path leads to.
fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("PLIMSOLL_CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut names = ["chromium", "chromium-browser", "google-chrome"].into_iter();
    names.find_map(|name| {
        dirs.iter()
            .map(|dir| dir.join(name))
            .find(|path| path.is_file())
    })
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
        Some(Browser::start_with(&program))
    }

    fn start_with(program: &Path) -> Browser {
        let dir = tempfile::tempdir().unwrap();
        let (to, from) = (dir.path().join("to"), dir.path().join("from"));
        let made = Command::new("mkfifo").arg(&to).arg(&from).status();
        assert!(made.unwrap().success(), "mkfifo");
        // Open in both directions, a pipe's end waits for no other.
        let open = |path: &Path| File::options().read(true).write(true).open(path).unwrap();
        let (writer, reader) = (open(&to), open(&from));
        let profile = format!("--user-data-dir={}", dir.path().join("profile").display());
        let child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$TO\" 4>\"$FROM\""])
            .arg(program)
            // Without the sandbox: of a container's root, it wants what that has
            // not. All it ever opens is our own page.
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-extensions"])
            .args(["--remote-debugging-pipe", &profile, "about:blank"])
            .env("TO", &to)
            .env("FROM", &from)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            loop {
                let mut message = Vec::new();
                // It never ends by itself, because this end is open for writing
                // too; the process does not wait for its threads.
                let read = reader.read_until(0, &mut message).unwrap_or(0);
                let message = serde_json::from_slice(message.strip_suffix(b"\0").unwrap_or(b""));
                if read == 0 || message.map_or(true, |message| sender.send(message).is_err()) {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            to: writer,
            from: receiver,
            events: VecDeque::new(),
            last: 0,
            session: String::new(),
            _dir: dir,
        };
        browser.open_tab();
        browser
    }

    /// A page that nothing has been set of, to be watched.
    pub(crate) fn open_tab(&mut self) {
        self.session.clear();
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = target["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.call("Target.attachToTarget", attach);
        attached["sessionId"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.session);
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
        match self.from.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                let state = self.child.try_wait();
                panic!("waited {DEADLINE:?} for {waiting_for}; the browser: {state:?}")
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the browser's pipe was closed"),
        }
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
        self.eval(&format!(
            "document.querySelector({}).click()",
            json!(selector)
        ));
    }

    /// Presses and releases a key, by its name in the DOM.
    pub(crate) fn press(&mut self, key: &str) {
        let codes = [("Tab", 9), ("Enter", 13), ("Escape", 27), ("/", 191)];
        let arrows = [("ArrowLeft", 37), ("ArrowRight", 39), ("ArrowDown", 40)];
        let code = codes
            .into_iter()
            .chain(arrows)
            .find(|(name, _)| *name == key);
        let code = code.expect(key).1;
        let mut down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        if key == "Enter" {
            down["text"] = json!("\r");
        } else if key == "/" {
            down["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up);
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Every request since [`Browser::go`], by address.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        let all = self.seen(&["Network.requestWillBeSent"]);
        let url = |event: &Value| event["params"]["request"]["url"].to_string();
        all.iter().map(url).collect()
    }

    /// Why requests were not made, of each that was not.
    pub(crate) fn refused(&mut self) -> Vec<String> {
        let all = self.seen(&["Network.loadingFailed"]);
        let why = all
            .iter()
            .map(|event| event["params"]["blockedReason"].as_str());
        why.map(|why| why.unwrap_or("not blocked").to_owned())
            .collect()
    }

    /// What the console would show since [`Browser::go`]: errors, warnings, what
    /// the policy refused.
    pub(crate) fn complaints(&mut self) -> Vec<Value> {
        self.seen(&[
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        ])
    }

    /// The events of these kinds since [`Browser::go`].
    fn seen(&mut self, methods: &[&str]) -> Vec<Value> {
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
