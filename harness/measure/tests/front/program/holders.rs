//! Workloads that keep what they allocate, each held by something else.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hint::black_box;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, mpsc};

use plimsoll::Scenario;

#[expect(dead_code, reason = "it is only kept")]
struct Session {
    name: String,
    cart: Vec<u64>,
}

impl Session {
    fn new(id: u64) -> Session {
        Session {
            name: format!("the session {id} of a customer"),
            cart: vec![id; 6],
        }
    }
}

#[derive(Default)]
struct App {
    sessions: HashMap<u64, Arc<Session>>,
}

impl App {
    fn open(&mut self, id: u64) {
        let session = Arc::new(Session::new(id));
        self.sessions.insert(id, session);
    }
}

static HANDLERS: Mutex<Vec<Box<dyn Fn() -> u64 + Send>>> = Mutex::new(Vec::new());

fn subscribe(id: u64) {
    let session = Session::new(id);
    let mut handlers = HANDLERS.lock().expect("no handler panics");
    handlers.push(Box::new(move || session.cart[0]));
}

thread_local! {
    static SEEN: RefCell<Vec<Rc<u64>>> = const { RefCell::new(Vec::new()) };
}

fn see(id: u64) {
    SEEN.with_borrow_mut(|seen| seen.push(Rc::new(id)));
}

struct Parent {
    children: RefCell<Vec<Rc<Child>>>,
}

#[expect(dead_code, reason = "it is only kept")]
struct Child {
    parent: Rc<Parent>,
    id: u64,
}

fn family(id: u64) {
    let parent = Rc::new(Parent {
        children: RefCell::default(),
    });
    let child = Rc::new(Child {
        parent: Rc::clone(&parent),
        id,
    });
    parent.children.borrow_mut().push(child);
}

fn forget(id: u64) {
    std::mem::forget(Box::new(Session::new(id)));
}

fn queue_up(queue: &mut VecDeque<Box<[u64; 3]>>, id: u64) {
    // The first words are as of an `Arc` that only a `Weak` keeps.
    queue.push_back(Box::new([0, 1, id]));
}

fn grow_a_tree(tree: &mut BTreeMap<u64, Rc<u64>>, id: u64) {
    tree.insert(id, Rc::new(id));
}

/// What is open now, in many maps: a map that had an entry keeps its address.
type Shards = Vec<Box<HashMap<u64, Box<[u64; 12]>>>>;

/// Every id that was ever opened.
#[derive(Default)]
struct Log {
    seen: BTreeSet<u64>,
}

fn open_and_close(shards: &mut Shards, log: &mut Log, id: u64) {
    let place = usize::try_from(id).expect("as many bits") % shards.len();
    shards[place].insert(id, Box::new([id; 12]));
    shards[place].remove(&id);
    log.seen.insert(id);
}

#[expect(dead_code, reason = "it is only kept")]
struct Connection {
    streams: Vec<Rc<[u64; 8]>>,
}

/// A connection from whose list something was removed: what is there by now is of another one.
fn forget_a_connection(recent: &mut VecDeque<Rc<Connection>>, id: u64) {
    let mut streams: Vec<_> = (0..4).map(|_| Rc::new([id; 8])).collect();
    streams.pop();
    let connection = Rc::new(Connection { streams });
    std::mem::forget(Rc::clone(&connection));
    recent.push_back(connection);
    if recent.len() > 8 {
        recent.pop_front();
    }
}

fn send(sender: &mpsc::Sender<Session>, id: u64) {
    sender.send(Session::new(id)).expect("it has a receiver");
}

fn index(index: &mut BTreeMap<u64, Weak<Session>>, all: &mut Vec<Rc<Session>>, id: u64) {
    all.push(Rc::new(Session::new(id)));
    index.extend(all.last().map(|last| (id, Rc::downgrade(last))));
}

fn copy_in_c() {
    // SAFETY: the text ends with a zero. What is returned is to be freed, and is not.
    black_box(unsafe { libc::strdup(c"small".as_ptr()) });
}

/// Starts a thread that collects sessions, which the closure sends to it.
fn collector() -> impl FnMut(u64) {
    let (sender, sessions) = mpsc::sync_channel::<Session>(0);
    let collect = move || {
        let mut kept: Vec<Arc<Session>> = Vec::new();
        for session in sessions {
            kept.push(Arc::new(session));
        }
        drop(kept);
    };
    let thread = std::thread::Builder::new().name("collector".to_owned());
    thread.spawn(collect).expect("there is room for a thread");
    move |i: u64| sender.send(Session::new(i)).expect("the thread is there")
}

/// C's way: each points to the one before, and a static to the last.
fn listed(_: u64) {
    struct Node {
        before: *mut Node,
    }
    struct Head(RefCell<*mut Node>);
    // SAFETY: only the thread that runs the workload has it.
    unsafe impl Sync for Head {}
    static LAST: Head = Head(RefCell::new(std::ptr::null_mut()));
    let before = *LAST.0.borrow();
    let node = Box::into_raw(Box::new(Node { before }));
    // SAFETY: it was just made.
    black_box(unsafe { (*node).before });
    *LAST.0.borrow_mut() = node;
}

/// Memory that the program maps itself has the only pointers: few of many pages that are reserved,
/// beside memory of the allocator that is mapped in the same way.
fn mapped(sharing: i32) -> impl FnMut(u64) {
    const BYTES: usize = 1 << 30;
    const WORDS: usize = 1 << 17;
    let beside: Vec<Vec<u8>> = (0..4).map(|_| vec![1; 8 << 20]).collect();
    let kind = sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: mmap(2) without a wished address places the mapping where nothing else is.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, kind, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    let place = place.cast::<*mut [u64; 5]>().addr();
    move |i: u64| {
        black_box(&beside);
        let index = usize::try_from(i).expect("a number") % WORDS;
        let place = (place + index * 8) as *mut *mut [u64; 5];
        // SAFETY: it is one of the words of the mapping.
        unsafe { place.write(Box::into_raw(Box::new([i; 5]))) };
    }
}

/// Returns whether this is the run that looks for holders.
fn is_second_run() -> bool {
    std::env::args().any(|word| word.contains(".holders"))
}

/// Forgets an object in every iteration, and does something else in the second run's setup.
fn then(name: &'static str, second: fn()) -> Scenario {
    Scenario::new(name, move || {
        if is_second_run() {
            second();
        }
        forget
    })
}

fn sleeps_for_ever() {
    std::thread::spawn(|| {
        loop {
            std::thread::park();
        }
    });
}

/// Starts a thread that no signal reaches.
fn cannot_be_stopped() {
    std::thread::spawn(|| {
        // SAFETY: all zeros is a valid set, and both functions get one that lives across the call.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        }
        loop {
            std::thread::park();
        }
    });
}

/// Workloads for which it is hard to find holders.
pub(super) fn hostile() -> Vec<Scenario> {
    vec![
        then("panics_the_second_time", || panic!("not again")),
        then("exits_the_second_time", || std::process::exit(3)),
        then("hangs_the_second_time", || {
            loop {
                std::thread::park();
            }
        })
        .timeout(std::time::Duration::from_secs(6)),
        then("has_threads", || (0..200).for_each(|_| sleeps_for_ever())),
        then("does_not_stop", cannot_be_stopped),
        Scenario::new("keeps_nothing_the_second_time", || {
            let forgets = !is_second_run();
            move |i: u64| {
                if forgets {
                    forget(i);
                }
            }
        }),
        Scenario::new("forks", || {
            |i: u64| {
                forget(i);
                if i.is_multiple_of(512) {
                    // SAFETY: the child ends at once.
                    let child = unsafe { libc::fork() };
                    if child == 0 {
                        drop(Box::new(Session::new(i)));
                        // SAFETY: it takes a number.
                        unsafe { libc::_exit(0) };
                    }
                    // SAFETY: the status may be null.
                    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                }
            }
        }),
    ]
}

/// Each kind of holder, which are told apart by the stacks of what they hold. The text has five
/// causes of a scenario.
pub(super) fn all() -> Vec<Scenario> {
    let mapped = |name, sharing| Scenario::new(name, move || mapped(sharing));
    vec![
        Scenario::new("in_the_state", || {
            let (mut app, mut tree, mut queue) = (App::default(), BTreeMap::new(), VecDeque::new());
            let (mut indexed, mut all) = (BTreeMap::new(), Vec::new());
            let (sender, receiver) = mpsc::channel();
            move |i: u64| {
                app.open(i);
                grow_a_tree(&mut tree, i);
                queue_up(&mut queue, i);
                send(&sender, i);
                index(&mut indexed, &mut all, i);
                black_box(&receiver);
            }
        }),
        Scenario::new("elsewhere", || {
            let mut collect = collector();
            move |i: u64| {
                subscribe(i);
                see(i);
                collect(i);
                listed(i);
            }
        }),
        Scenario::new("beside_maps_that_are_empty", || {
            let mut shards: Shards = (0..64).map(|_| Box::default()).collect();
            let mut log = Arc::new(Mutex::new(Log::default()));
            move |i: u64| {
                let log = Arc::get_mut(&mut log).expect("nobody else has it");
                open_and_close(&mut shards, log.get_mut().expect("no panic"), i);
            }
        }),
        Scenario::new("forgotten_with_a_list", || {
            let mut recent = VecDeque::new();
            move |i: u64| forget_a_connection(&mut recent, i)
        }),
        Scenario::new("a_weak", || {
            let mut all: Vec<Weak<Session>> = Vec::new();
            move |i: u64| all.push(Rc::downgrade(&Rc::new(Session::new(i))))
        }),
        Scenario::new("nowhere", || {
            |i: u64| {
                family(i);
                forget(i);
                copy_in_c();
            }
        }),
        mapped("memory_of_its_own", libc::MAP_PRIVATE),
        mapped("shared_memory", libc::MAP_SHARED),
    ]
}
