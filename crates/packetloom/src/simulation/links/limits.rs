//! What the other links of a flow's path leave it, over time.
//!
//! A flow that lasts fills the queue of one link, its bottleneck. A link that is simulated apart would be the bottleneck
//! of all of its flows, so they are held back by what the rest of their paths leaves them. That is their max-min fair
//! rate there (`fluid::on_links`), as all flows of the case share all links. How long they wait at those rates is
//! known, too, so that of a link's simulation only what packets add to that is wanted. And how many flows a link holds
//! back when another one comes says what that one meets there.

use super::super::Setting;
use super::super::flow_rung::wire_bytes;
use super::crossings::Crossings;
use crate::flow::FlowId;
use crate::fluid::on_links::{Notes, Sharing, Step, Transfer};
use crate::narrow::{narrow, saturated};
use crate::units::Time;
use std::collections::BTreeMap;

/// Flows of so many packets at least are held back: those for which a window that starts at ten packets (RFC 6928) and
/// doubles is not enough three times, so that they go by what links leave them.
const HELD_BACK: u64 = 70;

/// Flows of so many packets at least have reached their share of their bottleneck for most of the time that they take,
/// and its queue is the one that they wait in. Below, what is left of a window that started small meets all queues.
const LARGE: u64 = 1_000;

/// Where a flow shares a link with so many others, more make no difference.
const MOST_OTHERS: usize = 15;

/// From when until when a link carries no more than this, in bits per ps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) rate: f64,
    /// Of so much.
    pub(super) of: f64,
}

/// From when on a flow may have so many bits per ps, nothing from its end on.
#[derive(Clone, Copy, Debug)]
struct Left {
    at: Time,
    rate: Option<f64>,
    /// What the link could carry that leaves it no more.
    of: f64,
}

/// What flows of a case are held back by.
pub(super) struct Limits {
    /// How many packets each flow has.
    packets: Vec<u64>,
    /// For each simulated link and each flow of it, what the rest of the flow's path leaves it.
    steps: BTreeMap<(u32, FlowId), Vec<Left>>,
    /// The link that was each flow's bottleneck the longest.
    held_by: Vec<u32>,
    /// What each flow takes longer than alone, at its fair rate.
    waits: Vec<Time>,
    /// The same at what it is left without each of its simulated links, in ps.
    waits_without: BTreeMap<(u32, FlowId), f64>,
    /// For each flow's links, in its order, how many others share the link with it.
    others: Vec<u8>,
}

impl Limits {
    /// For these simulated links.
    pub(super) fn of(setting: &Setting, crossings: &Crossings, simulated: &[u32]) -> Limits {
        let links = &setting.topology.links;
        let rate = |link: u32| links[link as usize].rate;
        let mut sharing = Sharing::new(links.iter().map(|link| link.rate.as_bps()));
        let mut without = vec![false; links.len()];
        simulated.iter().for_each(|&link| without[link as usize] = true);
        sharing.watch(crossings.packets.iter().map(|&packets| packets >= HELD_BACK).collect(), without);
        let mut alone = Vec::with_capacity(crossings.flows.len());
        let mut others = Vec::new();
        for (flow, index) in crossings.flows.iter().zip(0..) {
            let bits = wire_bytes(setting.format, &setting.topology, flow) as f64 * 8.0;
            let path = crossings.path(index);
            let slowest = path.iter().map(|&link| rate(link)).min().expect("a flow crosses a link at least");
            alone.push(Alone { start: flow.start, bits, ps: bits / (slowest.as_bps() as f64 / 1e12) });
            sharing.run_until(flow.start, |_, _| ());
            others.extend(path.iter().map(|&link| narrow::<u8>(sharing.held_at(link).min(MOST_OTHERS))));
            let links = path.iter().map(|&link| (link, 1.0)).collect();
            sharing.arrive(flow.start, &Transfer { id: narrow::<FlowId>(index), bits, links });
        }
        sharing.run_until(Time::NEVER, |_, _| ());
        Limits::of_notes(crossings, others, &alone, sharing.notes())
    }

    fn of_notes(crossings: &Crossings, mut others: Vec<u8>, alone: &[Alone], notes: Notes) -> Limits {
        let mut steps: BTreeMap<(u32, FlowId), Vec<Left>> = BTreeMap::new();
        for Step { flow, without, at, rate, of } in notes.steps {
            steps.entry((without, flow)).or_default().push(Left { at, rate, of });
        }
        let (mut held_by, mut waits) = (vec![u32::MAX; alone.len()], vec![Time::ZERO; alone.len()]);
        for ended in notes.ended {
            let Alone { start, ps, .. } = alone[ended.flow as usize];
            held_by[ended.flow as usize] = ended.held_by;
            let wait = ended.at.since(start).since(Time(saturated::<u64>(ps.round())));
            waits[ended.flow as usize] = wait;
            let as_many = (wait.as_ps() as f64 / ps).round().min(MOST_OTHERS as f64);
            others[crossings.place(ended.flow, ended.held_by)] = saturated::<u8>(as_many);
        }
        let wait = |(&(link, flow), steps): (&(u32, FlowId), &Vec<Left>)| {
            ((link, flow), alone[flow as usize].wait_ps(steps))
        };
        let waits_without = steps.iter().map(wait).collect();
        Limits { packets: crossings.packets.clone(), steps, held_by, waits, waits_without, others }
    }

    /// With how many others a flow shares a link: those that the link holds back when the flow comes; where the flow
    /// lasts and the link is its bottleneck, as many as make it wait as long as it does.
    pub(super) fn others(&self, crossings: &Crossings, link: u32, flow: u32) -> u8 {
        self.others[crossings.place(flow, link)]
    }

    /// Whether a flow is held back.
    pub(super) fn is_held_back(&self, flow: u32) -> bool {
        self.packets[flow as usize] >= HELD_BACK
    }

    /// Whether its bottleneck decides how long a flow takes.
    pub(super) fn is_large(&self, flow: u32) -> bool {
        self.packets[flow as usize] >= LARGE
    }

    /// The link that was a flow's bottleneck the longest, if it is held back.
    pub(super) fn held_by(&self, flow: u32) -> u32 {
        self.held_by[flow as usize]
    }

    /// What a flow takes longer than alone by the flow-level model, in ps; nothing, if it is not held back.
    pub(super) fn wait_ps(&self, flow: u32) -> f64 {
        self.waits[flow as usize].as_ps() as f64
    }

    /// The same, had one of its links, which is simulated, no part in that.
    pub(super) fn wait_without_ps(&self, link: u32, flow: u32) -> f64 {
        self.waits_without.get(&(link, flow)).copied().unwrap_or(0.0)
    }

    /// What the rest of their paths leaves these flows of a link together, while any of them is under way.
    pub(super) fn left(&self, link: u32, flows: &[u32]) -> Vec<Span> {
        let steps = flows.iter().flat_map(|&flow| {
            let steps = self.steps.get(&(link, flow)).into_iter().flatten();
            steps.map(move |&left| (flow, left))
        });
        together(steps.collect())
    }
}

/// A flow as the slowest link of its path alone would have it.
#[derive(Clone, Copy, Debug)]
struct Alone {
    start: Time,
    bits: f64,
    /// How long it takes.
    ps: f64,
}

impl Alone {
    /// What it takes longer if it gets what these steps say.
    fn wait_ps(self, steps: &[Left]) -> f64 {
        let mut left = self.bits;
        for (nth, &Left { at, rate, .. }) in steps.iter().enumerate() {
            let since = at.since(self.start).as_ps() as f64;
            let until = steps.get(nth + 1).map_or(f64::INFINITY, |next| next.at.since(at).as_ps() as f64);
            match rate {
                Some(rate) if left > rate * until => left -= rate * until,
                Some(rate) => return (since + left / rate - self.ps).max(0.0),
                None => return (since - self.ps).max(0.0),
            }
        }
        0.0
    }
}

/// Adds up what each of several flows is left, by time and flow.
fn together(mut steps: Vec<(FlowId, Left)>) -> Vec<Span> {
    steps.sort_by_key(|&(flow, left)| (left.at, flow));
    let mut now: BTreeMap<FlowId, (f64, f64)> = BTreeMap::new();
    let mut spans = Vec::new();
    for (nth, &(flow, Left { at, rate, of })) in steps.iter().enumerate() {
        match rate {
            Some(rate) => drop(now.insert(flow, (rate, of))),
            None => drop(now.remove(&flow)),
        }
        let until = steps.get(nth + 1).map_or(Time::NEVER, |(_, next)| next.at);
        if until > at && !now.is_empty() {
            let (rates, of) = (now.values().map(|(rate, _)| rate), now.values().map(|(_, of)| *of));
            spans.push(Span { from: at, until, rate: rates.sum(), of: of.fold(0.0, f64::max) });
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_flows_are_left_adds_up_while_they_last() {
        let step = |at, flow, rate| (flow, Left { at: Time(at), rate, of: 1.0 });
        let steps = vec![
            step(10, 1, Some(0.5)),
            step(40, 1, None),
            step(20, 2, Some(0.25)),
            step(30, 2, None),
            step(50, 1, Some(1.0)),
        ];
        let span = |from, until, rate| Span { from: Time(from), until, rate, of: 1.0 };
        let expected = [
            span(10, Time(20), 0.5),
            span(20, Time(30), 0.75),
            span(30, Time(40), 0.5),
            span(50, Time::NEVER, 1.0),
        ];
        assert_eq!(together(steps), expected);
    }

    #[test]
    fn a_flow_waits_for_what_it_is_not_left() {
        // 60 bits at one per ps take 60; here 10 are over at 10, 20 at 30, and the rest at 70.
        let alone = Alone { start: Time(5), bits: 60.0, ps: 60.0 };
        let left = |at, rate| Left { at: Time(at), rate, of: 1.0 };
        let steps = [left(5, Some(1.0)), left(15, Some(0.5)), left(35, Some(1.0)), left(105, None)];
        assert_eq!(alone.wait_ps(&steps), 10.0);
        assert_eq!(alone.wait_ps(&[left(5, Some(4.0))]), 0.0);
        assert_eq!(alone.wait_ps(&[]), 0.0);
    }
}
