//! When time was skipped, and what is added for it.

use crate::engine::PortCounters;
use crate::narrow::saturated;
use crate::units::Time;

/// The skips of a run.
#[derive(Debug, Default)]
pub struct Jumps {
    /// When by the engine's clock, and all that was skipped up to then.
    all: Vec<(Time, Time)>,
    /// What would have gone through each port.
    ports: Vec<PortCounters>,
}

impl Jumps {
    /// All time that was skipped.
    pub fn skipped(&self) -> Time {
        self.all.last().map_or(Time::ZERO, |&(_, sum)| sum)
    }

    /// The time that a time by the engine's clock stands for.
    pub fn restored(&self, at: Time) -> Time {
        let before = self.all.partition_point(|&(when, _)| when <= at);
        let skipped = before.checked_sub(1).map_or(Time::ZERO, |last| self.all[last].1);
        at.saturating_add(skipped)
    }

    /// The time by the engine's clock, from the last skip on.
    pub fn by_engine(&self, at: Time) -> Time {
        if at == Time::NEVER { at } else { at.since(self.skipped()) }
    }

    /// So much is skipped now; the ports did in `watched` what brought them from the one state to the other.
    pub fn add(
        &mut self,
        now: Time,
        time: Time,
        (before, after): (&[PortCounters], &[PortCounters]),
        watched: Time,
    ) {
        self.all.push((now, self.skipped() + time));
        self.ports.resize(after.len(), PortCounters::default());
        let share = time.as_ps() as f64 / watched.as_ps().max(1) as f64;
        for ((sum, before), after) in self.ports.iter_mut().zip(before).zip(after) {
            let more = |before: u64, after: u64| saturated::<u64>(((after - before) as f64 * share).round());
            sum.packets += more(before.packets, after.packets);
            sum.bytes += more(before.bytes, after.bytes);
            sum.drops += more(before.drops, after.drops);
            sum.marks += more(before.marks, after.marks);
            sum.trims += more(before.trims, after.trims);
            sum.returns += more(before.returns, after.returns);
            sum.corrupted += more(before.corrupted, after.corrupted);
            sum.lost += more(before.lost, after.lost);
            sum.replays += more(before.replays, after.replays);
        }
    }

    /// What went through the port of a link, with what was left out.
    pub fn with_skipped(&self, link: usize, counters: PortCounters) -> PortCounters {
        let more = self.ports.get(link).copied().unwrap_or_default();
        PortCounters {
            packets: counters.packets + more.packets,
            bytes: counters.bytes + more.bytes,
            drops: counters.drops + more.drops,
            marks: counters.marks + more.marks,
            trims: counters.trims + more.trims,
            returns: counters.returns + more.returns,
            corrupted: counters.corrupted + more.corrupted,
            lost: counters.lost + more.lost,
            replays: counters.replays + more.replays,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_stands_for_itself_and_all_that_was_skipped_before() {
        let mut jumps = Jumps::default();
        let (none, some) =
            ([PortCounters::default()], [PortCounters { packets: 10, ..PortCounters::default() }]);
        jumps.add(Time(100), Time(1_000), (&none, &some), Time(100));
        jumps.add(Time(200), Time(50), (&some, &some), Time(100));
        let times = [99, 100, 199, 200].map(|at| jumps.restored(Time(at)).as_ps());
        assert_eq!(times, [99, 1_100, 1_199, 1_250]);
        assert_eq!(jumps.restored(Time::NEVER), Time::NEVER);
        assert_eq!(jumps.by_engine(Time(1_300)), Time(250));
        assert_eq!(jumps.with_skipped(0, some[0]).packets, 110);
    }
}
