use found_actors::*;

plimsoll::main!(
    actix_broker::scenarios(),
    bus::scenarios(),
    kameo::scenarios(),
    kameo_actors::scenarios(),
    r2d2::scenarios(),
    ractor::scenarios(),
    scheduled_thread_pool::scenarios(),
    tokio_cron_scheduler::scenarios(),
    xtra::scenarios(),
);
