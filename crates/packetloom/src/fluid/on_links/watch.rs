//! What is noted of some flows while links are shared: which link held each of them back the longest, and what the rest
//! of its path would have left it, had one of its links had no part in that.

use super::{Crossing, LinkState, Sharing, TOLERANCE, water};
use crate::flow::FlowId;
use crate::units::Time;
use std::collections::BTreeMap;

/// What the other links of a flow's path leave it from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Which flow.
    pub flow: FlowId,
    /// The link that has no part in it.
    pub without: u32,
    /// From when on.
    pub at: Time,
    /// In bits per ps; none from the flow's end on.
    pub rate: Option<f64>,
    /// What the link among them could carry that leaves it no more.
    pub of: f64,
}

/// A flow that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which flow.
    pub flow: FlowId,
    /// When it ended.
    pub at: Time,
    /// The link that was its bottleneck for longest.
    pub held_by: u32,
}

/// All that was noted, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// What links left to flows.
    pub steps: Vec<Step>,
    /// The flows that are over.
    pub ended: Vec<Ended>,
}

#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// Whether a flow is watched, by number.
    flows: Vec<bool>,
    /// Without which links of its path is asked for.
    without: Vec<bool>,
    /// Links for whose flows something may have changed since the last note.
    looked_at: Vec<u32>,
    is_looked_at: Vec<bool>,
    /// How often notes have been taken, and when that was last done of each flow, by number.
    round: u32,
    noted: Vec<u32>,
    /// What was noted last.
    last: BTreeMap<(FlowId, u32), f64>,
    notes: Notes,
}

impl Watch {
    /// Whether something has to be noted of a flow when its links' levels change.
    pub(super) fn concerns(&self, id: FlowId, crossed: &[(u32, f64)]) -> bool {
        let is_asked_for = |&(link, _): &(u32, f64)| self.without[link as usize];
        self.flows[id as usize] && crossed.iter().any(is_asked_for)
    }

    /// Whether nothing has been noted of a flow in this round.
    fn begins(&mut self, flow: FlowId) -> bool {
        std::mem::replace(&mut self.noted[flow as usize], self.round) != self.round
    }

    /// Something may have changed for a link's flows.
    pub(super) fn look_at(&mut self, link: u32) {
        if !std::mem::replace(&mut self.is_looked_at[link as usize], true) {
            self.looked_at.push(link);
        }
    }

    /// A flow is over.
    pub(super) fn left(&mut self, flow: FlowId, at: Time, crossings: &[Crossing]) {
        if !self.flows[flow as usize] {
            return;
        }
        for &Crossing { link: without, .. } in crossings {
            if self.last.remove(&(flow, without)).is_some() {
                self.notes.steps.push(Step { flow, without, at, rate: None, of: 0.0 });
            }
        }
        // Of equals the first.
        let longest = crossings.iter().rev().max_by_key(|crossing| crossing.held);
        let held_by = longest.expect("a flow crosses a link at least").link;
        self.notes.ended.push(Ended { flow, at, held_by });
    }
}

impl Sharing {
    /// Has something noted of these flows, by number; of what is left without one of their links, for these links.
    pub fn watch(&mut self, flows: Vec<bool>, without: Vec<bool>) {
        let (looked_at, last, notes) = (Vec::new(), BTreeMap::new(), Notes::default());
        let (noted, is_looked_at) = (vec![0; flows.len()], vec![false; without.len()]);
        let watch = Watch { flows, without, looked_at, is_looked_at, round: 0, noted, last, notes };
        self.watch = Some(Box::new(watch));
    }

    /// What was noted.
    pub fn notes(self) -> Notes {
        self.watch.map(|watch| watch.notes).unwrap_or_default()
    }

    /// Notes what has changed, once all levels are as they should be.
    pub(super) fn note_what_is_left(&mut self) {
        let Some(mut watch) = self.watch.take() else { return };
        let mut looked_at = std::mem::take(&mut watch.looked_at);
        watch.round += 1;
        for link in looked_at.drain(..) {
            watch.is_looked_at[link as usize] = false;
            if self.links[link as usize].watched == 0 {
                continue;
            }
            for place in 0..self.links[link as usize].members.len() {
                let member = self.links[link as usize].members[place];
                if member.is_watched && watch.begins(self.flows[member.slot as usize].id) {
                    self.note_flow(member.slot, &mut watch);
                }
            }
        }
        watch.looked_at = looked_at;
        self.watch = Some(watch);
    }

    /// Notes what is left to a flow without each of its links.
    fn note_flow(&mut self, slot: u32, watch: &mut Watch) {
        for nth in 0..self.flows[slot as usize].links.len() {
            let flow = &self.flows[slot as usize];
            let (id, without) = (flow.id, flow.links[nth].link);
            if !watch.without[without as usize] {
                continue;
            }
            let (left, of) = self.left_without(slot, without);
            // Where the rest leaves just what the link gives, the link is where flows queue: the rest is not held to
            // keep them back then, too.
            let level = self.levels[without as usize];
            let is_tie = (left - level).abs() <= TOLERANCE * left;
            let (rate, of) = if is_tie {
                let most = self.most_without(slot, without);
                (most, most)
            } else {
                (left, of)
            };
            let last = watch.last.entry((id, without)).or_insert(f64::INFINITY);
            if rate != *last && ((rate - *last).abs() > TOLERANCE * rate) {
                *last = rate;
                watch.notes.steps.push(Step { flow: id, without, at: self.now, rate: Some(rate), of });
            }
        }
    }

    /// What the slowest of a flow's links but one could carry.
    fn most_without(&self, slot: u32, without: u32) -> f64 {
        let rest = self.flows[slot as usize].links.iter().filter(|crossing| crossing.link != without);
        rest.map(|crossing| self.links[crossing.link as usize].capacity).fold(f64::INFINITY, f64::min)
    }

    /// The least that a flow would get at any of its links but one, where it wanted all that it can get and the others
    /// wanted what they do; and what that link could carry.
    fn left_without(&mut self, slot: u32, without: u32) -> (f64, f64) {
        let mut least = (f64::INFINITY, f64::INFINITY);
        for nth in 0..self.flows[slot as usize].links.len() {
            let link = self.flows[slot as usize].links[nth].link;
            let left = if link == without { f64::INFINITY } else { self.left_at(slot, link) };
            if left < least.0 {
                least = (left, self.links[link as usize].capacity);
            }
        }
        least
    }

    /// What a flow would get at a link, if it wanted all that it can get there.
    fn left_at(&mut self, slot: u32, link: u32) -> f64 {
        let Sharing { links, flows, levels, elsewhere, .. } = self;
        let level = levels[link as usize];
        // The link holds it back already.
        if flows[slot as usize].lowest.without(link) >= level {
            return level;
        }
        let LinkState { capacity, members, .. } = &links[link as usize];
        elsewhere.clear();
        for member in members {
            let is_itself = member.slot == slot;
            let most =
                if is_itself { f64::INFINITY } else { flows[member.slot as usize].lowest.without(link) };
            elsewhere.push((most, member.share));
        }
        water(*capacity, elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Transfer;
    use super::*;

    #[test]
    fn what_is_left_is_what_the_rest_of_the_path_has() {
        // Links of one bit per ps. Flow 0 crosses both; 1 comes to link 1 at 10 and leaves at 30; 2 to link 0 at 40.
        let mut sharing = Sharing::new([1_000_000_000_000; 2].into_iter());
        sharing.watch(vec![true, false, false], vec![true; 2]);
        let flow = |id, bits, links: &[u32]| Transfer {
            id,
            bits,
            links: links.iter().map(|&at| (at, 1.0)).collect(),
        };
        for (at, flow) in [(0, flow(0, 60.0, &[0, 1])), (10, flow(1, 10.0, &[1])), (40, flow(2, 100.0, &[0]))]
        {
            sharing.run_until(Time(at), |_, _| ());
            sharing.arrive(Time(at), &flow);
        }
        sharing.run_until(Time::NEVER, |_, _| ());
        let Notes { steps, ended } = sharing.notes();
        let of = |without| -> Vec<(u64, Option<f64>)> {
            let steps = steps.iter().filter(|step| step.without == without);
            steps.map(|step| (step.at.as_ps(), step.rate)).collect()
        };
        // It has sent 10 by then, 20 at 30, 30 at 40, and the rest at a half.
        assert_eq!(of(0), [(0, Some(1.0)), (10, Some(0.5)), (30, Some(1.0)), (100, None)]);
        assert_eq!(of(1), [(0, Some(1.0)), (40, Some(0.5)), (100, None)]);
        // Alone it is held by the first, for 10, 10 and, with flow 2, 60; by the other one for 20.
        assert_eq!(ended, [Ended { flow: 0, at: Time(100), held_by: 0 }]);
    }

    #[test]
    fn where_two_links_hold_a_flow_alike_one_of_them_does() {
        // Both flows cross both links, and the first of these gives them a half each.
        let mut sharing = Sharing::new([1_000_000_000_000; 2].into_iter());
        sharing.watch(vec![true; 2], vec![true; 2]);
        for id in 0..2 {
            sharing.arrive(Time::ZERO, &Transfer { id, bits: 9.0, links: vec![(0, 1.0), (1, 1.0)] });
        }
        sharing.run_until(Time(1), |_, _| ());
        let steps = sharing.notes().steps;
        assert_eq!(steps.len(), 4);
        for step in steps {
            assert_eq!(step.rate, Some(if step.without == 0 { 1.0 } else { 0.5 }), "{step:?}");
        }
    }

    #[test]
    fn others_keep_what_they_can_use() {
        // Flow 1 has a third of link 1, as two others are there: without link 2, flow 0 has two thirds of link 0 beside
        // it. Link 2 it has to itself.
        let mut sharing = Sharing::new([1_000_000_000_000; 3].into_iter());
        sharing.watch(vec![true, false, false, false], vec![true; 3]);
        for (id, links) in [(0, vec![0, 2]), (1, vec![0, 1]), (2, vec![1]), (3, vec![1])] {
            let links = links.into_iter().map(|at| (at, 1.0)).collect();
            sharing.arrive(Time::ZERO, &Transfer { id, bits: 12.0, links });
        }
        sharing.run_until(Time(1), |_, _| ());
        let steps = sharing.notes().steps;
        let left: Vec<(u32, f64)> =
            steps.iter().map(|step| (step.without, step.rate.unwrap_or(0.0))).collect();
        let expected = [(2, 2.0 / 3.0), (0, 1.0)];
        assert_eq!(left.len(), 2, "{left:?}");
        for (without, rate) in expected {
            assert!(left.iter().any(|&(at, found)| at == without && (found - rate).abs() < 1e-9), "{left:?}");
        }
    }
}
