//! Samples of chosen flows over time, as many as there is room for.

use super::Sending;
use crate::flow::FlowId;
use crate::units::Time;
use std::sync::Arc;

/// Which flows are sampled, and how often.
#[derive(Clone, Debug)]
pub struct FlowWatch {
    flows: Arc<[FlowId]>,
    interval: Time,
}

impl FlowWatch {
    /// These flows, so often.
    pub fn new(flows: impl IntoIterator<Item = FlowId>, interval: Time) -> FlowWatch {
        FlowWatch { flows: flows.into_iter().collect(), interval }
    }

    /// The flows.
    pub fn flows(&self) -> &[FlowId] {
        &self.flows
    }

    /// Whether a flow is among them.
    pub fn has(&self, flow: FlowId) -> bool {
        self.flows.contains(&flow)
    }

    /// The time between two samples, at first.
    pub fn interval(&self) -> Time {
        self.interval
    }
}

/// The samples of a flow, at the multiples of an interval. It is doubled, and every other sample left out, when there
/// are [too many](FlowSamples::MOST): so a flow has at least half as many as there is room for, however long it takes,
/// unless it ends before. The time of each depends on the flow's start and end alone.
#[derive(Clone, Debug)]
pub struct FlowSamples {
    flow: FlowId,
    interval: Time,
    /// With a place for those at which the transport had no state of the flow.
    samples: Vec<(Time, Option<Sending>)>,
}

impl FlowSamples {
    /// The most samples of a flow.
    pub const MOST: usize = 2_000;

    /// Of a flow that starts.
    pub fn new(flow: FlowId, interval: Time) -> FlowSamples {
        FlowSamples { flow, interval, samples: Vec::new() }
    }

    /// Which flow.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// The samples.
    pub fn samples(&self) -> impl Iterator<Item = (Time, Sending)> {
        self.samples.iter().filter_map(|&(at, state)| Some((at, state?)))
    }

    /// When the first is due of a flow that starts now.
    pub fn first_at(&self, now: Time) -> Time {
        Time(now.as_ps().next_multiple_of(self.interval.as_ps()))
    }

    /// Takes a sample of what the transport knows of the flow, if anything; returns when the next is due.
    pub fn take(&mut self, now: Time, state: Option<Sending>) -> Time {
        if self.samples.len() == FlowSamples::MOST {
            self.thin();
        }
        if self.is_on_grid(now) {
            self.samples.push((now, state));
        }
        self.first_at(now + Time(1))
    }

    fn is_on_grid(&self, at: Time) -> bool {
        at.as_ps().is_multiple_of(self.interval.as_ps())
    }

    fn thin(&mut self) {
        self.interval = self.interval.times(2);
        let samples = std::mem::take(&mut self.samples);
        self.samples = samples.into_iter().filter(|(at, _)| self.is_on_grid(*at)).collect();
    }

    /// Those that were taken up to a moment.
    pub fn until(&self, end: Time) -> FlowSamples {
        let samples = self.samples.iter().filter(|(at, _)| *at <= end).copied().collect();
        FlowSamples { samples, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(samples: &FlowSamples) -> Vec<u64> {
        samples.samples().map(|(at, _)| at.as_ps()).collect()
    }

    fn taken(interval: u64, start: u64, end: u64) -> FlowSamples {
        let mut samples = FlowSamples::new(7, Time(interval));
        let mut at = samples.first_at(Time(start));
        while at <= Time(end) {
            at = samples.take(at, Some(Sending::default()));
        }
        samples
    }

    #[test]
    fn samples_lie_at_the_multiples_of_the_interval_from_the_start_on() {
        assert_eq!(times(&taken(10, 0, 40)), [0, 10, 20, 30, 40]);
        assert_eq!(times(&taken(10, 11, 45)), [20, 30, 40]);
        assert_eq!(times(&taken(10, 20, 20)), [20]);
        assert_eq!(times(&taken(10, 11, 19)), [0; 0]);
        assert_eq!(times(&taken(10, 0, 40).until(Time(29))), [0, 10, 20]);
    }

    #[test]
    fn a_long_flow_has_its_samples_further_apart_and_never_too_many() {
        let most = FlowSamples::MOST as u64;
        let full = taken(10, 10, 10 * most);
        assert_eq!((full.samples.len(), full.interval), (FlowSamples::MOST, Time(10)));
        // The next finds no room: every other one goes, those at odd multiples.
        let longer = taken(10, 10, 10 * (most + 2));
        assert_eq!((longer.samples.len() as u64, longer.interval), (most / 2 + 1, Time(20)));
        assert_eq!(times(&longer)[..3], [20, 40, 60]);
        let longest = taken(10, 10, 1_000 * most);
        assert_eq!(longest.interval, Time(10 * 128));
        assert!((FlowSamples::MOST / 2..=FlowSamples::MOST).contains(&longest.samples.len()));
        assert!(times(&longest).windows(2).all(|pair| pair[1] - pair[0] == 1_280));
    }

    #[test]
    fn there_is_no_sample_while_the_transport_has_no_state_of_the_flow() {
        let mut samples = FlowSamples::new(7, Time(10));
        assert_eq!(samples.take(Time(10), None), Time(20));
        assert_eq!(samples.take(Time(20), Some(Sending::default())), Time(30));
        assert_eq!(times(&samples), [20]);
    }
}
