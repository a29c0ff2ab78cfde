//! Which flow a host pulls from, and when: pulls are spaced so that what they fetch fills the host's link.
//!
//! Flows whose packets were trimmed go first (EQDS), then those that want credit, each in turn. When none wants
//! any, flows that have got what they requested get slow pulls, which grant credit in advance, up to a window: a
//! sender that has more to send later need not send a request first.

use super::receiver::{Pulls, Receiver, Wants};
use crate::flow::FlowId;
use crate::narrow::saturated;
use crate::units::Time;
use packetloom_transport::flow_table::FlowTable;
use std::collections::VecDeque;

/// How a host pulls.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Quanta in a pull.
    pub quanta: u32,
    /// The most credit on trust, in quanta.
    pub most_slow: u32,
    /// Whether a pull ends at what the sender wants; otherwise it gives `quanta` in any case.
    pub ends_at_target: bool,
    /// Whether flows with trimmed packets have a list of their own.
    pub trimmed_first: bool,
    /// Whether the next pull is as long off as what was given takes, where that is something; otherwise as long as a
    /// full pull does.
    pub by_quantum: bool,
    /// Quanta whose time passes after a pull that gave none.
    pub least_quanta: u32,
    /// Whether a flow joins the list of idle ones each time that it has got what it wants, though it may be there
    /// already, and stays after its end, as in htsim.
    pub idle_again: bool,
}

/// Finds what is known of a flow's credit, if there is such a flow.
pub trait FindPulls {
    /// Does.
    fn find(&mut self, flow: FlowId) -> Option<&mut Pulls>;
}

impl FindPulls for FlowTable<Receiver> {
    fn find(&mut self, flow: FlowId) -> Option<&mut Pulls> {
        self.get_mut(flow).map(|receiver| &mut receiver.pulls)
    }
}

/// A flow, the credit that it was given so far, and how much of it now.
type Pulled = (FlowId, u32, u32);

/// The flows of a host that may be pulled from.
#[derive(Clone, Debug)]
pub struct Pacer {
    settings: Settings,
    trimmed: VecDeque<FlowId>,
    active: VecDeque<FlowId>,
    idle: VecDeque<FlowId>,
    /// The earliest that the next pull may go.
    free_at: Time,
    /// The share of the link that may be filled (see `oversubscribed`).
    share: f64,
}

impl Pacer {
    /// A host's.
    pub fn new(settings: Settings) -> Pacer {
        Pacer {
            settings,
            trimmed: VecDeque::new(),
            active: VecDeque::new(),
            idle: VecDeque::new(),
            free_at: Time::ZERO,
            share: 1.0,
        }
    }

    /// A packet arrived that calls for pulls from its flow.
    pub fn request(&mut self, flow: FlowId, pulls: &mut Pulls, wants: Wants) {
        let is_new = !pulls.has_trimmed();
        pulls.trimmed += wants.trimmed;
        if wants.trimmed > 0 && is_new && self.settings.trimmed_first {
            self.trimmed.push_back(flow);
        }
        let goes_by_trims = self.settings.trimmed_first && !is_new;
        if wants.credit && !goes_by_trims && !std::mem::replace(&mut pulls.is_active, true) {
            self.active.push_back(flow);
        }
    }

    /// Whether there is a flow to pull from.
    pub fn has_any(&self) -> bool {
        !(self.trimmed.is_empty() && self.active.is_empty() && self.idle.is_empty())
    }

    /// The earliest that the next pull may go.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Only so much of the link is to be filled.
    pub fn limit(&mut self, share: f64) {
        self.share = share;
    }

    /// Pulls from the next flow, of those that still are; `takes`: how long a quantum takes, or a full pull. Returns
    /// the credit that the flow was given so far.
    pub fn pull(&mut self, (now, takes): (Time, Time), pulls: &mut impl FindPulls) -> Option<(FlowId, u32)> {
        let (flow, of, given) =
            self.pull_trimmed(pulls).or_else(|| self.pull_active(pulls)).or_else(|| self.pull_idle(pulls))?;
        let quanta = if given == 0 { self.settings.least_quanta } else { given };
        let takes =
            if self.share < 1.0 { Time(saturated::<u64>(takes.as_ps() as f64 / self.share)) } else { takes };
        self.free_at = now + if self.settings.by_quantum { takes.times(quanta.into()) } else { takes };
        Some((flow, of))
    }

    fn pull_trimmed(&mut self, pulls: &mut impl FindPulls) -> Option<Pulled> {
        while let Some(flow) = self.trimmed.pop_front() {
            let Some(of) = pulls.find(flow) else { continue };
            let given = of.give(self.settings.quanta, self.settings.ends_at_target);
            if of.has_trimmed() {
                self.trimmed.push_back(flow);
            }
            return Some((flow, of.given, given));
        }
        None
    }

    fn pull_active(&mut self, pulls: &mut impl FindPulls) -> Option<Pulled> {
        while let Some(flow) = self.active.pop_front() {
            let Some(of) = pulls.find(flow) else { continue };
            let given = of.give(self.settings.quanta, self.settings.ends_at_target);
            of.is_active = of.missing() > 0;
            if of.is_active {
                self.active.push_back(flow);
            } else if !std::mem::replace(&mut of.is_idle, true) || self.settings.idle_again {
                self.idle.push_back(flow);
            }
            return Some((flow, of.given, given));
        }
        None
    }

    fn pull_idle(&mut self, pulls: &mut impl FindPulls) -> Option<Pulled> {
        while let Some(flow) = self.idle.pop_front() {
            let Some(of) = pulls.find(flow) else { continue };
            let given = of.give(self.settings.quanta, false);
            of.is_idle = of.missing() == 0 && of.on_trust() < self.settings.most_slow;
            if of.is_idle {
                self.idle.push_back(flow);
            }
            return Some((flow, of.given, given));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// EQDS's: eight quanta each, whatever is wanted.
    const EQDS: Settings = Settings {
        quanta: 8,
        most_slow: 20,
        ends_at_target: false,
        trimmed_first: true,
        by_quantum: false,
        least_quanta: 0,
        idle_again: false,
    };
    const UEC: Settings = Settings {
        quanta: 64,
        most_slow: 100,
        ends_at_target: true,
        trimmed_first: false,
        by_quantum: true,
        least_quanta: 4,
        idle_again: false,
    };

    impl FindPulls for BTreeMap<FlowId, Pulls> {
        fn find(&mut self, flow: FlowId) -> Option<&mut Pulls> {
            self.get_mut(&flow)
        }
    }

    struct Host {
        pacer: Pacer,
        pulls: BTreeMap<FlowId, Pulls>,
        now: Time,
    }

    impl Host {
        fn new(settings: Settings, targets: &[u32]) -> Host {
            let mut host = Host { pacer: Pacer::new(settings), pulls: BTreeMap::new(), now: Time::ZERO };
            (0..).zip(targets).for_each(|(flow, &target)| host.request(flow, target, 0));
            host
        }

        fn request(&mut self, flow: FlowId, target: u32, trimmed: u32) {
            let pulls = self.pulls.entry(flow).or_default();
            let credit = pulls.wants(target);
            self.pacer.request(flow, pulls, Wants { credit, trimmed });
        }

        /// Flow, credit given so far, and how long until the next.
        fn pull(&mut self) -> Option<(FlowId, u32, u64)> {
            let pulls = &mut self.pulls;
            let takes = Time(if self.pacer.settings.by_quantum { 10 } else { 100 });
            let (flow, given) = self.pacer.pull((self.now, takes), pulls)?;
            let before = std::mem::replace(&mut self.now, self.pacer.free_at());
            Some((flow, given, (self.now - before).as_ps()))
        }
    }

    #[test]
    fn flows_take_turns_then_those_satisfied_get_some_on_trust() {
        let mut host = Host::new(EQDS, &[20, 8]);
        let pulls: Vec<_> = std::iter::from_fn(|| host.pull()).collect();
        let wanted = [(0, 8), (1, 8), (0, 16), (0, 24)];
        // Beyond their targets: up to 20 quanta and what is left of a pull.
        let on_trust = [(1, 16), (0, 32), (1, 24), (0, 40), (1, 32)];
        let expected: Vec<_> =
            wanted.into_iter().chain(on_trust).map(|(flow, given)| (flow, given, 100)).collect();
        assert_eq!(pulls, expected);
        assert!(!host.pacer.has_any());
    }

    #[test]
    fn as_in_htsim_a_flow_is_idle_as_often_as_it_was_satisfied() {
        for (idle_again, pulls_on_trust) in [(false, 1), (true, 2)] {
            // No more than a pull on trust for each time that it is on the list.
            let mut host = Host::new(Settings { idle_again, most_slow: 1, ..EQDS }, &[8]);
            assert_eq!(host.pull(), Some((0, 8, 100)), "what it wants");
            // It wants more before any pull goes on trust.
            host.request(0, 9, 0);
            assert_eq!(host.pull(), Some((0, 16, 100)), "satisfied again");
            assert_eq!(std::iter::from_fn(|| host.pull()).count(), pulls_on_trust);
        }
    }

    #[test]
    fn what_was_trimmed_is_pulled_first() {
        let mut host = Host::new(EQDS, &[80, 80]);
        host.request(1, 80, 18);
        let flows: Vec<FlowId> = (0..6).filter_map(|_| host.pull()).map(|(flow, ..)| flow).collect();
        assert_eq!(flows, [1, 1, 1, 0, 1, 0]);
    }

    #[test]
    fn a_pull_ends_at_the_target_and_takes_as_long_as_its_credit() {
        let mut host = Host::new(UEC, &[70]);
        assert_eq!(host.pull(), Some((0, 64, 640)));
        assert_eq!(host.pull(), Some((0, 70, 60)));
        assert_eq!(host.pull(), Some((0, 134, 640)), "on trust");
        // Another request comes, for less than was given: nothing is missing, but it is answered.
        host.pacer.request(
            0,
            host.pulls.get_mut(&0).expect("it is there"),
            Wants { credit: true, trimmed: 0 },
        );
        assert_eq!(host.pull(), Some((0, 134, 40)));
    }

    #[test]
    fn who_is_gone_is_passed_over() {
        let mut host = Host::new(UEC, &[64, 64]);
        host.pulls.remove(&0);
        assert_eq!(host.pull(), Some((1, 64, 640)));
    }

    #[test]
    fn half_the_link_takes_twice_the_time() {
        let mut host = Host::new(UEC, &[64]);
        host.pacer.limit(0.5);
        assert_eq!(host.pull(), Some((0, 64, 1_280)));
    }
}
