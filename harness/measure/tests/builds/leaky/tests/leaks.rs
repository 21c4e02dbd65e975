//! One leak of each kind in an iteration; a further one, or twice as much, where
//! `LEAKY` says so.

use std::hint::black_box;

use leaky::cache::{Cache, Page};
use leaky::keep::{Drawer, Hole, Keep};
use leaky::{each, hoard, tasks};
use plimsoll::Scenario;
use shelf::Shelf;

fn all() -> Scenario {
    Scenario::new("all", || {
        let mode = std::env::var("LEAKY").unwrap_or_default();
        let times = if mode == "twice" { 2 } else { 1 };
        let further = mode == "further";
        let mut cache = Cache::default();
        let mut drawer = Drawer::default();
        let mut keepers: Vec<Box<dyn Keep>> = vec![Box::new(Hole)];
        let mut shelf = Shelf::default();
        let mut numbers = Shelf::default();
        move |i: u64| {
            for time in 0..times {
                // In the iteration itself.
                std::mem::forget(black_box(vec![0_u8; 48]));
                hoard(&[i; 4]);
                hoard(&format!("{i:>40}"));
                cache.put(2 * i + time);
                std::mem::forget(black_box(Page::new(&[7; 32])));
                drawer.keep(100);
                for keeper in &mut keepers {
                    keeper.keep_some(32);
                }
                tasks::block_on(tasks::serve(80));
                each(2, |time| std::mem::forget(black_box(Box::new([time; 4]))));
                shelf.store([i; 3]);
                numbers.store(i);
            }
            if further {
                extra(i);
            }
        }
    })
}

fn extra(i: u64) {
    std::mem::forget(black_box(vec![i; 4]));
}

plimsoll::main!(all());
