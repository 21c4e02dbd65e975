//! Asynchronous benchmarks, on each executor.

use crate::front;

mod benches {
    use std::future::Future;
    use std::io::{self, Write};
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
        group.bench_function("iter", |b| b.to_async(FuturesExecutor).iter(Woken::default));
        group.bench_function("iter_custom", |b| {
            b.to_async(FuturesExecutor)
                .iter_custom(|iterations| async move { Duration::from_nanos(iterations) })
        });
        group.bench_function("iter_with_setup", |b| {
            b.to_async(FuturesExecutor)
                .iter_with_setup(|| 1, |i| async move { i })
        });
        group.bench_function("iter_with_large_setup", |b| {
            b.to_async(FuturesExecutor)
                .iter_with_large_setup(|| 1, |i| async move { i })
        });
        group.bench_function("iter_with_large_drop", |b| {
            b.to_async(FuturesExecutor)
                .iter_with_large_drop(|| async { 1 })
        });
        group.bench_function("iter_batched", |b| {
            b.to_async(FuturesExecutor).iter_batched(
                Woken::default,
                |woken| woken,
                BatchSize::LargeInput,
            )
        });
        group.bench_function("iter_batched_ref", |b| {
            b.to_async(FuturesExecutor).iter_batched_ref(
                || 1,
                |i| {
                    *i += 1;
                    async { 1 }
                },
                BatchSize::SmallInput,
            )
        });
        group.finish();
    }

    struct Own(AtomicU32);

    impl AsyncExecutor for &Own {
        fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
            let blocked = self.0.fetch_add(1, Ordering::Relaxed);
            writeln!(io::stdout(), "block {blocked}").expect("the front reads");
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

    /// On the executors of features, which `cargo test --features stable` switches on.
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
            c.bench_function("tokio::runtime", |b| {
                b.to_async(builder().build().unwrap()).iter(spawn)
            });
            c.bench_function("tokio::ref_runtime", |b| b.to_async(&runtime).iter(spawn));
            c.bench_function("tokio::handle", |b| {
                b.to_async(runtime.handle().clone()).iter(|| async {})
            });
            c.bench_function("tokio::ref_handle", |b| {
                b.to_async(runtime.handle()).iter(|| async {})
            });
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
