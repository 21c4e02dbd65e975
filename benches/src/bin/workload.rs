//! The workload as a scenario. `PLIMSOLL_ISOLATION=off` runs it in this process, with the
//! options of the profiler in `MALLOC_CONF`.

use plimsoll::Scenario;
use plimsoll_benches::workload::workload;

fn everything() -> Scenario {
    Scenario::new("everything", workload)
}

plimsoll::main!(everything());
