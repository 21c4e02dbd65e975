//! Executors that run the futures of asynchronous benchmarks.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

/// Runs a future to its end. Implement it for an executor that is missing here.
pub trait AsyncExecutor {
    /// Blocks until the future has returned.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T;
}

/// Runs futures on the current thread, without any reactor.
///
/// It is as simple as the executor of the crate `futures`, and does without that crate.
#[derive(Debug)]
pub struct FuturesExecutor;

impl AsyncExecutor for FuturesExecutor {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let woken = Arc::new(Woken {
            thread: thread::current(),
            woken: AtomicBool::new(false),
        });
        let waker = Arc::clone(&woken).into();
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            while !woken.woken.swap(false, Ordering::Acquire) {
                thread::park();
            }
        }
    }
}

struct Woken {
    thread: Thread,
    /// A wake-up may come before the thread parks, and a future may park by itself.
    woken: AtomicBool,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs futures on the global executor of the crate `smol`.
#[cfg(feature = "async_smol")]
#[derive(Debug)]
pub struct SmolExecutor;

#[cfg(feature = "async_smol")]
impl AsyncExecutor for SmolExecutor {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }
}

/// Runs futures on the global executor of the crate `async-std`.
#[cfg(feature = "async_std")]
#[derive(Debug)]
pub struct AsyncStdExecutor;

#[cfg(feature = "async_std")]
impl AsyncExecutor for AsyncStdExecutor {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        async_std::task::block_on(future)
    }
}

#[cfg(feature = "async_tokio")]
mod on_tokio {
    use super::{AsyncExecutor, Future};
    use tokio::runtime::{Handle, Runtime};

    macro_rules! implement {
        ($($executor:ty: $block_on:path;)+) => {$(
            impl AsyncExecutor for $executor {
                fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
                    $block_on(self, future)
                }
            }
        )+};
    }

    implement! {
        Runtime: Runtime::block_on;
        &Runtime: Runtime::block_on;
        Handle: Handle::block_on;
        &Handle: Handle::block_on;
    }
}
