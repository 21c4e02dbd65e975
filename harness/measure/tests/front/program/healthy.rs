//! Workloads that keep nothing, with threads, pools and large buffers that come and go.

use std::collections::VecDeque;
use std::fs::File;
use std::hint::black_box;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use libc::{MAP_ANONYMOUS, MAP_PRIVATE, PROT_NONE, PROT_READ, PROT_WRITE};
use plimsoll::Scenario;

use super::maps::{Map, PAGE, free_glibc_object, glibc_object};

/// A size below `most` that looks like chance, and is the same in every run.
fn size(i: u64, most: u64) -> usize {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from((mixed >> 20) % most + 1).expect("a size")
}

/// Threads that take jobs in turns, and end when this is dropped.
struct Pool {
    jobs: Vec<Sender<u64>>,
    done: Receiver<()>,
}

impl Pool {
    fn new<W: FnMut(u64) + 'static>(threads: usize, worker: fn() -> W) -> Pool {
        let (answers, done) = channel();
        let jobs = Vec::new();
        let mut pool = Pool { jobs, done };
        for _ in 0..threads {
            let (jobs, todo) = channel();
            let answers = answers.clone();
            pool.jobs.push(jobs);
            thread::spawn(move || {
                let mut work = worker();
                for job in todo {
                    work(job);
                    if answers.send(()).is_err() {
                        return;
                    }
                }
            });
        }
        pool
    }

    /// Gives every thread a job, and waits for them.
    fn all(&self, i: u64) {
        for (n, jobs) in (0_u64..).zip(&self.jobs) {
            jobs.send(i * 64 + n).expect("the thread is there");
        }
        for _ in &self.jobs {
            self.done.recv().expect("a thread is there");
        }
    }
}

/// Does something in so many threads at once, which end.
fn in_threads(threads: u64, work: impl Fn(u64) + Copy + Send + 'static) {
    let threads = (0..threads).map(|n| thread::spawn(move || work(n)));
    for thread in threads.collect::<Vec<_>>() {
        thread.join().expect("no thread panics");
    }
}

/// Keeps the last so many of what it is given.
struct Recent<T> {
    kept: VecDeque<T>,
    most: usize,
}

impl<T> Recent<T> {
    fn new(most: usize) -> Recent<T> {
        let kept = VecDeque::with_capacity(most + 1);
        Recent { kept, most }
    }

    fn push(&mut self, one: T) {
        self.kept.push_back(one);
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
    }
}

struct GlibcObject(*mut libc::c_void);

impl Drop for GlibcObject {
    fn drop(&mut self) {
        free_glibc_object(self.0);
    }
}

/// All of them, by name.
pub(super) fn all() -> Vec<Scenario> {
    vec![
        Scenario::new("big_zeroed_buffers", || {
            |i: u64| drop(black_box(vec![0_u8; size(i, 64 << 20)]))
        }),
        Scenario::new("list_that_shrinks", || {
            let mut list: Vec<u64> = Vec::new();
            move |i: u64| {
                list.resize(size(i, 300_000), i);
                list.shrink_to_fit();
            }
        }),
        Scenario::new("spawns_many", || {
            |i: u64| {
                in_threads(size(i, 24) as u64, move |n| {
                    drop(black_box(vec![1_u8; size(i * 64 + n, 300_000)]));
                });
            }
        }),
        Scenario::new("pool_with_caches", || {
            let pool = Pool::new(16, || {
                let mut recent = Recent::new(100);
                move |job: u64| recent.push(vec![1_u8; size(job, 50_000)])
            });
            move |i: u64| pool.all(i)
        }),
        Scenario::new("pool_that_fills", || {
            let mut pools: Vec<Pool> = Vec::new();
            move |i: u64| {
                if i.is_multiple_of(20) && pools.len() < 12 {
                    pools.push(Pool::new(1, || {
                        |job: u64| drop(vec![1_u8; size(job, 1_000)])
                    }));
                }
                pools[size(i, pools.len() as u64) - 1].all(i);
            }
        }),
        Scenario::new("stacks_of_all_sizes", || {
            |i: u64| {
                let thread = thread::Builder::new().stack_size(size(i, 16 << 20));
                let thread = thread.spawn(move || drop(black_box(vec![1_u8; 100])));
                thread
                    .expect("a thread can start")
                    .join()
                    .expect("it does not panic");
            }
        }),
        Scenario::new("objects_cross_threads", || {
            let (objects, to_drop) = channel::<Vec<u8>>();
            let (answers, done) = channel();
            thread::spawn(move || {
                for object in to_drop {
                    drop(object);
                    if answers.send(()).is_err() {
                        return;
                    }
                }
            });
            move |i: u64| {
                objects
                    .send(vec![1_u8; size(i, 200_000)])
                    .expect("it is there");
                done.recv().expect("it is there");
            }
        }),
        Scenario::new("maps_with_a_cache", || {
            let mut recent = Recent::new(32);
            move |i: u64| recent.push(Map::memory(size(i, 256) * PAGE))
        }),
        Scenario::new("reserves_and_grows", || {
            |i: u64| {
                let kind = MAP_PRIVATE | MAP_ANONYMOUS;
                let memory = Map::new(64 << 20, PROT_NONE, kind, -1);
                memory.grow_to(size(i, 1_000) * PAGE);
                drop(memory);
                drop(Map::new(PAGE, PROT_READ | PROT_WRITE, kind, -1));
            }
        }),
        Scenario::new("maps_files", || {
            let program = File::open("/proc/self/exe").expect("there is a program");
            let mut recent = Recent::new(16);
            move |_i: u64| recent.push(Map::file(&program))
        }),
        // The allocator has a heap of its own for most threads.
        Scenario::new("glibc_churn", || {
            let mut recent = Recent::new(500);
            move |i: u64| {
                recent.push(GlibcObject(glibc_object(size(i, 5_000))));
                in_threads(4, move |n| {
                    drop(GlibcObject(glibc_object(size(i * 8 + n, 50_000))));
                });
            }
        }),
    ]
}
