//! Asynchronous benchmarks, on each executor.

use crate::front;

mod benches {
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Poll};
    use std::time::Duration;

    use criterion::async_executor::{AsyncExecutor, FuturesExecutor};
    use criterion::{AsyncBencher, BatchSize, Criterion, criterion_group, criterion_main};

    /// Is ready when another thread has woken it.
    #[derive(Default)]
    struct Woken(bool);

    impl Future for Woken {
        type Output = Vec<u8>;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<u8>> {
            if std::mem::replace(&mut self.0, true) {
                return Poll::Ready(vec![1]);
            }
            let waker = context.waker().clone();
            std::thread::spawn(move || waker.wake());
            Poll::Pending
        }
    }

    fn methods(c: &mut Criterion) {
        let mut group = c.benchmark_group("methods");
        macro_rules! add {
            ($method:ident($($argument:expr),+)) => {
                group.bench_function(stringify!($method), |b| {
                    b.to_async(FuturesExecutor).$method($($argument),+)
                })
            };
        }
        add!(iter(Woken::default));
        add!(iter_custom(|n| async move { Duration::from_nanos(n) }));
        add!(iter_with_setup(|| 1, |i| async move { i }));
        add!(iter_with_large_setup(|| 1, |i| async move { i }));
        add!(iter_with_large_drop(|| async { 1 }));
        add!(iter_batched(Woken::default, |i| i, BatchSize::LargeInput));
        let routine = |i: &mut i32| std::future::ready(*i);
        add!(iter_batched_ref(|| 1, routine, BatchSize::SmallInput));
        group.finish();
    }

    struct Own(AtomicU32);

    impl AsyncExecutor for &Own {
        fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
            let blocked = self.0.fetch_add(1, Ordering::Relaxed);
            crate::session::say(&format!("block {blocked}"));
            FuturesExecutor.block_on(future)
        }
    }

    fn own_executor(c: &mut Criterion) {
        let own = Own(AtomicU32::new(0));
        c.bench_function("own", |b| {
            let mut b: AsyncBencher<'_, '_, &Own> = b.to_async(&own);
            b.iter(|| async {});
            b.iter(|| async {});
        });
    }

    /// Runs on the executors that features bring; `cargo test --features stable` switches them on.
    fn features(c: &mut Criterion) {
        let _ = &c;
        #[cfg(feature = "async_smol")]
        c.bench_function("smol", |b| {
            let executor = criterion::async_executor::SmolExecutor;
            b.to_async(executor).iter(Woken::default)
        });
        #[cfg(feature = "async_std")]
        c.bench_function("async_std", |b| {
            let executor = criterion::async_executor::AsyncStdExecutor;
            b.to_async(executor).iter(Woken::default)
        });
        #[cfg(feature = "async_tokio")]
        {
            let builder = tokio::runtime::Builder::new_current_thread;
            let runtime = builder().build().unwrap();
            // `spawn` panics outside of a runtime.
            let spawn = || async { tokio::spawn(Woken::default()).await.unwrap() };
            let own = || builder().build().unwrap();
            c.bench_function("tokio::runtime", |b| b.to_async(own()).iter(spawn));
            c.bench_function("tokio::ref_runtime", |b| b.to_async(&runtime).iter(spawn));
            let handle = runtime.handle();
            let ready = || async {};
            c.bench_function("tokio::handle", |b| b.to_async(handle.clone()).iter(ready));
            c.bench_function("tokio::ref_handle", |b| b.to_async(handle).iter(ready));
        }
    }

    criterion_group!(benches, methods, own_executor, features);
    criterion_main!(benches);

    pub(crate) fn program() {
        main();
    }
}

pub(crate) use benches::program;

tests!(
    every_benchmark_climbs,
    the_executor_blocks_on_each_iteration
);

fn every_benchmark_climbs() {
    let list = front::run("executors", "list");
    let names = list
        .lines()
        .filter_map(|line| line.strip_prefix("scenario ")?.split(' ').next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() >= 8, "{list}");
    front::climbs("executors", names);
}

fn the_executor_blocks_on_each_iteration() {
    let told = front::run("executors", "measure own");
    let expected = "done 0|block 0|done 1|block 1|done 2|block 2|done 3|exit status: 0|";
    assert_eq!(told.replace('\n', "|"), expected);
}
