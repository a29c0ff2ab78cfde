//! Who leads a network's threads through time, window by window.

use super::AfterWindow;
use super::clock::Clock;
use super::thread_pool::{AnyThreadPool, Window};
use crate::flow::HostId;
use crate::units::Time;
use crate::workload::{Start, Workload};

/// Leads the threads through time.
pub(super) fn lead(
    thread_pool: &mut dyn AnyThreadPool,
    clock: Clock,
    places: &[(u32, u32)],
    workload: &mut Workload,
    (mut now, max_time): (Time, Time),
    after_window: &mut dyn FnMut(AfterWindow<'_>) -> bool,
) -> Time {
    loop {
        let flow = workload.peek_start().map(|start| clock.window_of(start));
        let Some(number) = flow.into_iter().chain(thread_pool.next_window()).min() else { return now };
        let (start, end) = (clock.start_of(number), clock.start_of(number + 1).min(max_time));
        if start >= max_time {
            return now;
        }
        while workload.peek_start().is_some_and(|start| start < end) {
            let shard = |host: HostId| places[host as usize].0;
            match workload.next_start() {
                Some(Start::Flow(flow)) => thread_pool.add_flow(shard(flow.src), flow),
                Some(Start::Query(query)) => {
                    thread_pool.add_query(shard(query.flow.src), shard(query.flow.dst), query);
                }
                None => break,
            }
        }
        let tally = thread_pool.process(Window { number, start, end });
        now = end;
        if workload.has_dependencies() {
            thread_pool.log().notify(workload);
        }
        let log = &mut std::mem::take(thread_pool.log());
        let statuses = &|| thread_pool.statuses();
        let continues = after_window(AfterWindow { log, tally, now, left: workload, statuses });
        std::mem::swap(thread_pool.log(), log);
        // What is left of a window that max_time cuts short must not be processed again.
        if !continues || end == max_time {
            return now;
        }
    }
}
