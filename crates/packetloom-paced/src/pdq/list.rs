//! A PDQ port's list of flows, the most critical first (§3.3).

use crate::flow::FlowId;
use crate::paced::Kbps;
use crate::units::Time;

/// The list holds twice as many flows as send (§3.3: 2κ), but never fewer than twice this many.
const FEWEST_SENDING: usize = 2;

/// A flow that was silent for so many of its round trips is gone, and its closing packet was lost.
const SILENCE: u64 = 200;

/// A flow as a port knows it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(super) flow: FlowId,
    pub(super) deadline: Time,
    pub(super) needs: Time,
    pub(super) rtt: Time,
    /// R_i: the rate it sends at, as the last answer set it.
    pub(super) rate: Kbps,
    /// P_i: the port that paused it.
    pub(super) paused_by: u32,
    pub(super) heard_at: Time,
}

impl Entry {
    /// Earliest deadline first, then shortest job, then the flow's number (§3.3).
    fn criticality(&self) -> (Time, Time, FlowId) {
        (self.deadline, self.needs, self.flow)
    }
}

/// The list.
#[derive(Clone, Debug, Default)]
pub struct List(Vec<Entry>);

impl List {
    /// A flow's index in the list, from 0.
    pub(super) fn position(&self, flow: FlowId) -> Option<usize> {
        self.0.iter().position(|entry| entry.flow == flow)
    }

    pub(super) fn entry(&mut self, position: usize) -> &mut Entry {
        &mut self.0[position]
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn remove(&mut self, flow: FlowId) {
        self.0.retain(|entry| entry.flow != flow);
    }

    /// Adds or updates a flow, if it is critical enough; returns its index.
    pub(super) fn update(&mut self, mut news: Entry) -> Option<usize> {
        self.0.retain(|entry| entry.flow == news.flow || !is_silent(entry, news.heard_at));
        if let Some(position) = self.position(news.flow) {
            let known = self.0.remove(position);
            (news.rate, news.paused_by) = (known.rate, known.paused_by);
        }
        let place = self.0.partition_point(|entry| entry.criticality() < news.criticality());
        self.0.insert(place, news);
        let sending = self.0.iter().filter(|entry| entry.rate > 0).count();
        self.0.truncate(2 * sending.max(FEWEST_SENDING));
        (place < self.0.len()).then_some(place)
    }

    /// What flows before `position` leave of the capacity (algorithm 2). Those that end within `early_start` round
    /// trips together count as ended: the next may start early.
    pub(super) fn available(&self, position: usize, capacity: Kbps, early_start: f64) -> Kbps {
        let mut ending = 0.0;
        let mut taken: Kbps = 0;
        for entry in &self.0[..position] {
            let round_trips = entry.needs.as_ps() as f64 / entry.rtt.as_ps().max(1) as f64;
            if round_trips < early_start && ending < early_start {
                ending += round_trips;
            } else {
                taken = taken.saturating_add(entry.rate);
            }
        }
        capacity.saturating_sub(taken)
    }
}

fn is_silent(entry: &Entry, now: Time) -> bool {
    entry.heard_at + entry.rtt.times(SILENCE) < now
}

#[cfg(test)]
mod tests {
    use super::super::NOBODY;
    use super::*;

    fn entry(flow: FlowId, deadline_us: u64, needs_us: u64) -> Entry {
        Entry {
            flow,
            deadline: if deadline_us == 0 { Time::NEVER } else { Time::from_us(deadline_us) },
            needs: Time::from_us(needs_us),
            rtt: Time::from_us(100),
            rate: 0,
            paused_by: NOBODY,
            heard_at: Time::ZERO,
        }
    }

    #[test]
    fn the_earliest_deadline_comes_first_then_the_shortest_job() {
        let mut list = List::default();
        for news in [entry(1, 0, 900), entry(2, 0, 400), entry(3, 5_000, 2_000), entry(4, 4_000, 3_000)] {
            list.update(news);
        }
        let order: Vec<FlowId> = list.0.iter().map(|entry| entry.flow).collect();
        assert_eq!(order, [4, 3, 2, 1]);
        // No flow sends, so the list holds four; a fifth pushes out the least critical, or stays out itself.
        assert_eq!(list.update(entry(5, 0, 100)), Some(2));
        assert_eq!(list.update(entry(6, 0, 1_000)), None);
        assert_eq!((list.position(1), list.len()), (None, 4));
        // As the rest of a flow gets less it moves forward.
        assert_eq!(list.update(entry(2, 0, 50)), Some(2));
    }

    #[test]
    fn a_flow_has_what_more_critical_ones_leave_and_starts_early_when_they_end() {
        let mut list = List::default();
        list.update(entry(1, 0, 1_000));
        list.update(entry(2, 0, 2_000));
        list.entry(0).rate = 700;
        assert_eq!([list.available(0, 1_000, 2.0), list.available(1, 1_000, 2.0)], [1_000, 300]);
        // 1.5 round trips are left of the first.
        list.update(entry(1, 0, 150));
        assert_eq!(list.available(1, 1_000, 2.0), 1_000);
        assert_eq!(list.available(1, 1_000, 1.0), 300);
    }

    #[test]
    fn a_flow_that_fell_silent_is_forgotten() {
        let mut list = List::default();
        list.update(entry(1, 0, 100));
        list.update(Entry { heard_at: Time::from_us(20_001), ..entry(2, 0, 500) });
        assert_eq!((list.position(1), list.position(2)), (None, Some(0)));
    }
}
