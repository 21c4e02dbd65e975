//! Smoke.
use plimsoll::Scenario;

fn leak() -> Scenario {
    Scenario::new("leak", || {
        |i: u64| {
            std::mem::forget(vec![1_u8; 32 + usize::try_from(i % 2).unwrap()]);
        }
    })
}

fn bounded() -> Scenario {
    Scenario::new("bounded", || {
        let mut recent = std::collections::VecDeque::new();
        move |_i: u64| {
            recent.push_back(vec![0_u8; 64]);
            if recent.len() > 1_000 {
                recent.pop_front();
            }
        }
    })
}

plimsoll::main!(leak(), bounded());
