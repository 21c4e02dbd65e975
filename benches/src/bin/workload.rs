//! The workload as a scenario. `PLIMSOLL_ISOLATION=off` runs it in this process, with
//! whatever `MALLOC_CONF` asks of the profiler.

use plimsoll::Scenario;
use plimsoll_benches::workload::workload;

fn everything() -> Scenario {
    Scenario::new("everything", workload)
}

plimsoll::main!(everything());
