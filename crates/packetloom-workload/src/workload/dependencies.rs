//! Flows that start when others have ended.
//!
//! A [`Plan`] has flows and triggers. If all the flows of a trigger, those that it awaits and those that it starts,
//! end or start at one host, the trigger lives at that host and acts at once. Any other acts a set time after it
//! was activated, so that hosts still share nothing.

use crate::flow::{Flow, FlowId, HostId};
use crate::narrow::exact;
use crate::units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A flow's end, as one of its hosts knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Done {
    /// Its receiver has all of it.
    Received,
    /// Its sender knows that.
    Sent,
}

/// When a trigger starts which of its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shot {
    /// All of them, once it was activated so often.
    AllAfter(u32),
    /// The next of them each time.
    NextEachTime,
}

/// A trigger and its flows, by their place in the plan.
#[derive(Clone, Debug)]
pub struct PlannedTrigger {
    /// What it does.
    pub shot: Shot,
    /// What activates it.
    pub awaits: Vec<(usize, Done)>,
    /// What it starts, in order.
    pub starts: Vec<usize>,
}

/// Flows of which some wait for others.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The flows, numbered from 0; those that wait have [`Time::NEVER`] as their start.
    pub flows: Vec<Flow>,
    /// What they wait for.
    pub triggers: Vec<PlannedTrigger>,
    /// How long it takes until a trigger acts whose flows are at several hosts.
    pub delay: Time,
}

/// A trigger at work.
#[derive(Clone, Debug)]
struct Trigger {
    shot: Shot,
    starts: VecDeque<Flow>,
    delay: Time,
}

/// Triggers, and what activates them.
#[derive(Clone, Debug, Default)]
pub struct Triggers {
    all: Vec<Trigger>,
    awaiting: BTreeMap<(FlowId, Done), Vec<usize>>,
}

/// A plan put into practice.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    /// Flows that wait for none.
    pub free: Vec<Flow>,
    /// Each host's own triggers.
    pub local: BTreeMap<HostId, Triggers>,
    /// The others.
    pub remote: Triggers,
}

impl Triggers {
    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn add(&mut self, trigger: Trigger, awaits: impl Iterator<Item = (FlowId, Done)>) {
        for event in awaits {
            self.awaiting.entry(event).or_default().push(self.all.len());
        }
        self.all.push(trigger);
    }

    /// A flow has ended at `now`; calls `start` for each flow that starts by that.
    pub fn notify(&mut self, flow: FlowId, done: Done, now: Time, mut start: impl FnMut(Flow)) {
        for &index in self.awaiting.get(&(flow, done)).into_iter().flatten() {
            let Trigger { shot, starts, delay } = &mut self.all[index];
            let count = match shot {
                Shot::NextEachTime => 1,
                Shot::AllAfter(0) => 0,
                Shot::AllAfter(left) => {
                    *left -= 1;
                    if *left == 0 { starts.len() } else { 0 }
                }
            };
            for flow in starts.drain(..count.min(starts.len())) {
                start(Flow { start: now.saturating_add(*delay), ..flow });
            }
        }
    }
}

impl Dependencies {
    /// Adds a plan whose flows have `base` as the first of their identities. Of a flow in a plan only
    /// one trigger may make it start.
    pub fn add(&mut self, plan: &Plan, base: FlowId) {
        let flow = |place: usize| Flow { id: base + exact::<FlowId>(place), ..plan.flows[place] };
        self.free.extend((0..plan.flows.len()).map(flow).filter(|flow| flow.start != Time::NEVER));
        for planned in &plan.triggers {
            let awaits = planned.awaits.iter().map(|&(place, done)| (base + exact::<FlowId>(place), done));
            let starts = planned.starts.iter().map(|&place| flow(place)).collect();
            let mut trigger = Trigger { shot: planned.shot, starts, delay: Time::ZERO };
            match plan.home_of(planned) {
                Some(host) => self.local.entry(host).or_default().add(trigger, awaits),
                None => {
                    trigger.delay = plan.delay;
                    self.remote.add(trigger, awaits);
                }
            }
        }
    }
}

impl Plan {
    /// The host at which everything is that a trigger awaits or starts.
    fn home_of(&self, trigger: &PlannedTrigger) -> Option<HostId> {
        let awaited = trigger.awaits.iter().map(|&(place, done)| match done {
            Done::Received => self.flows[place].dst,
            Done::Sent => self.flows[place].src,
        });
        let started = trigger.starts.iter().map(|&place| self.flows[place].src);
        let hosts: BTreeSet<HostId> = awaited.chain(started).collect();
        if hosts.len() == 1 { hosts.into_iter().next() } else { None }
    }

    /// Whether any trigger spans several hosts.
    pub fn has_remote(&self) -> bool {
        self.triggers.iter().any(|trigger| self.home_of(trigger).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(src: HostId, dst: HostId, start: Time) -> Flow {
        Flow {
            id: 0,
            src,
            dst,
            size_bytes: 1,
            start,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        }
    }

    fn started(triggers: &mut Triggers, flow: FlowId, done: Done) -> Vec<(FlowId, Time)> {
        let mut all = Vec::new();
        triggers.notify(flow, done, Time(100), |flow| all.push((flow.id, flow.start)));
        all
    }

    #[test]
    fn triggers_start_all_at_once_or_one_at_a_time() {
        let waiting = [flow(1, 2, Time::NEVER), flow(1, 3, Time::NEVER)];
        let plan = |shot| Plan {
            flows: [flow(0, 1, Time::ZERO), waiting[0], waiting[1]].to_vec(),
            triggers: vec![PlannedTrigger { shot, awaits: vec![(0, Done::Received)], starts: vec![1, 2] }],
            delay: Time(7),
        };
        for (shot, expected) in [
            (Shot::AllAfter(1), [vec![11, 12], vec![], vec![]]),
            (Shot::AllAfter(2), [vec![], vec![11, 12], vec![]]),
            (Shot::NextEachTime, [vec![11], vec![12], vec![]]),
        ] {
            let mut dependencies = Dependencies::default();
            dependencies.add(&plan(shot), 10);
            assert_eq!(dependencies.free.iter().map(|flow| flow.id).collect::<Vec<_>>(), [10]);
            assert!(dependencies.remote.is_empty() && !plan(shot).has_remote());
            let triggers = dependencies.local.get_mut(&1).expect("the trigger of host 1");
            assert_eq!(started(triggers, 10, Done::Sent), []);
            for flows in expected {
                let now: Vec<_> = flows.into_iter().map(|id| (id, Time(100))).collect();
                assert_eq!(started(triggers, 10, Done::Received), now, "{shot:?}");
            }
        }
    }

    #[test]
    fn a_word_to_another_host_takes_time() {
        let plan = Plan {
            flows: vec![flow(0, 1, Time::ZERO), flow(1, 2, Time::NEVER)],
            triggers: vec![PlannedTrigger {
                shot: Shot::AllAfter(1),
                awaits: vec![(0, Done::Sent)],
                starts: vec![1],
            }],
            delay: Time(7),
        };
        let mut dependencies = Dependencies::default();
        dependencies.add(&plan, 0);
        assert!(plan.has_remote() && dependencies.local.is_empty());
        assert_eq!(started(&mut dependencies.remote, 0, Done::Sent), [(1, Time(107))]);
    }
}
