//! Pieces of work that do not depend on each other, on several threads.

use cpu_time::ThreadTime;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Does so many pieces of work on so many threads, this one among them. Returns what came of each, in order, and the
/// processor time of the other threads.
pub(super) fn all<T: Send>(
    threads: u32,
    count: usize,
    work: &(impl Fn(usize) -> T + Sync),
) -> (Vec<T>, Duration) {
    let next = AtomicUsize::new(0);
    let share = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&nth| nth < count);
        std::iter::from_fn(take).map(|nth| (nth, work(nth))).collect::<Vec<(usize, T)>>()
    };
    let timed = || {
        let clock = ThreadTime::now();
        (share(), clock.elapsed())
    };
    let helpers = (threads as usize).min(count).saturating_sub(1);
    let (mut done, mut took) = (Vec::with_capacity(count), Duration::ZERO);
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(timed)).collect();
        done.extend(share());
        for helper in helpers {
            let (share, time) = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done.extend(share);
            took += time;
        }
    });
    done.sort_unstable_by_key(|(nth, _)| *nth);
    (done.into_iter().map(|(_, result)| result).collect(), took)
}
