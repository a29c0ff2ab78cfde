//! What an operation that is carried out as a whole sends by which links.

use super::ways::{Hop, Ways};
use crate::narrow::{exact, saturated};
use crate::simulation::critical::{Bound, WholeFacts};
use crate::units::Time;
use crate::workload::job::{Operation, Phase, Plan};
use std::collections::BTreeMap;

/// A link takes as long as another if it takes this share of its time.
const ALIKE: f64 = 0.99;

/// A phase of a lane: what all ranks send in its stages.
#[derive(Debug)]
pub(super) struct Stretch {
    /// How many stages it has.
    pub(super) times: u32,
    /// The bits of its largest message in a stage.
    pub(super) bits: f64,
    /// The links that its messages cross, each with how many times the pace of the largest message.
    pub(super) links: Vec<(u32, f64)>,
    /// What the last packet of a message takes behind the slowest link, at most.
    pub(super) most_behind: Time,
    /// What the longest message takes alone.
    pub(super) longest: Time,
    /// What messages take alone, and their bits at the slowest link of their path: the sums over them.
    alone: u128,
    moving: u128,
    messages: u64,
    /// The links of each message, where it matters which of them hold the others back: round a ring.
    pub(super) paths: Vec<Box<[u32]>>,
}

impl Stretch {
    /// What so many stages take alone.
    pub(super) fn alone(&self, stages: u32) -> Time {
        self.mean(self.alone, stages)
    }

    /// What their bits take alone.
    pub(super) fn moving_alone(&self, stages: u32) -> Time {
        self.mean(self.moving, stages)
    }

    fn mean(&self, sum: u128, stages: u32) -> Time {
        Time(u64::try_from(sum * u128::from(stages) / u128::from(self.messages.max(1))).unwrap_or(u64::MAX))
    }
}

/// All of an operation.
#[derive(Debug)]
pub(super) struct Shape {
    /// Its lanes, which go on beside each other, each with its phases.
    pub(super) lanes: Vec<Vec<Stretch>>,
    /// If it is one ring, the position of each rank of the group, by rank.
    order: Option<BTreeMap<u32, u32>>,
    /// What it takes alone, and the link that bounds it.
    pub(super) facts: WholeFacts,
}

impl Shape {
    pub(super) fn of(plan: &Plan, operation: &Operation, ways: &mut Ways<'_>) -> Shape {
        let mut loads: BTreeMap<u32, f64> = BTreeMap::new();
        let lane = |lane: u32| {
            let phases = operation.pattern(lane).phases().unwrap_or_default();
            let stretches = phases.into_iter().map(|phase| {
                let mut maker = Maker { plan, operation, lane, phase, loads: &mut loads };
                maker.stretch(ways)
            });
            stretches.filter(|stretch| stretch.messages > 0).collect::<Vec<Stretch>>()
        };
        let lanes: Vec<Vec<Stretch>> = (0..operation.lanes).map(lane).collect();
        let of_lane = |phases: &Vec<Stretch>| {
            phases.iter().fold(Time::ZERO, |sum, one| {
                let takes = if one.times > 1 { one.alone(one.times) } else { one.longest };
                sum.saturating_add(takes)
            })
        };
        let alone = lanes.iter().map(of_lane).max().unwrap_or(Time::ZERO);
        let facts = WholeFacts { alone, bytes: operation.bytes, bound: bound(&loads, ways) };
        let order = (lanes.len() == 1 && lanes[0].len() == 1 && lanes[0][0].times > 1)
            .then(|| order(plan, operation));
        Shape { lanes, order: order.flatten(), facts }
    }

    /// If it is one ring, its stages and the positions on it.
    pub(super) fn ring(&self) -> Option<(&Stretch, &BTreeMap<u32, u32>)> {
        Some((self.lanes.first()?.first()?, self.order.as_ref()?))
    }

    /// Where a rank is on the ring.
    pub(super) fn position(&self, order: &BTreeMap<u32, u32>, rank: u32) -> usize {
        order.get(&rank).map_or(0, |&at| at as usize)
    }
}

/// The position of each rank on the ring of an operation, if all of them are on it.
fn order(plan: &Plan, operation: &Operation) -> Option<BTreeMap<u32, u32>> {
    let mut positions = BTreeMap::new();
    let mut place = 0;
    for position in 0..operation.ranks {
        positions.insert(plan.rank_at(operation.group, place), position);
        let slot = operation.pattern(0).stage(place, 0).slots.start;
        place = operation.message(0, place, slot).to;
    }
    (positions.len() == operation.ranks as usize).then_some(positions)
}

/// The link that takes longest for its bits at its full rate.
fn bound(loads: &BTreeMap<u32, f64>, ways: &Ways<'_>) -> Option<Bound> {
    let takes = |(&link, &bits): (&u32, &f64)| (link, bits * 1e12 / ways.rate(link).as_bps() as f64);
    let most = loads.iter().map(takes).map(|(_, takes)| takes).fold(0.0, f64::max);
    let mut alike = loads.iter().map(takes).filter(|(_, takes)| *takes >= ALIKE * most);
    let (link, _) = alike.next()?;
    let alike = 1 + exact::<u32>(alike.count());
    Some(Bound { link, takes: Time(saturated::<u64>(most.round())), alike })
}

/// Makes a phase of a lane.
struct Maker<'a> {
    plan: &'a Plan,
    operation: &'a Operation,
    lane: u32,
    phase: Phase,
    /// The bits that each link of the network carries in all.
    loads: &'a mut BTreeMap<u32, f64>,
}

impl Maker<'_> {
    fn stretch(&mut self, ways: &mut Ways<'_>) -> Stretch {
        let Maker { plan, operation, lane, phase, .. } = *self;
        let pattern = operation.pattern(lane);
        let times = phase.times;
        let mut made = Stretch {
            times,
            bits: 0.0,
            links: Vec::new(),
            most_behind: Time::ZERO,
            longest: Time::ZERO,
            alone: 0,
            moving: 0,
            messages: 0,
            paths: Vec::new(),
        };
        let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
        let costs = plan.settings.costs;
        for place in 0..operation.ranks {
            for slot in pattern.stage(place, phase.stage).slots {
                let message = operation.message(lane, place, slot);
                let [from, to] = [place, message.to].map(|place| plan.rank_at(operation.group, place));
                let [src, dst] = [from, to].map(|rank| plan.settings.hosts[rank as usize]);
                let Hop { bits, links, on_network, alone, moving } = ways.hop(src, dst, message.bytes);
                let hosts = costs.to_send(message.bytes).saturating_add(costs.to_receive(message.bytes));
                let alone = alone.saturating_add(hosts);
                made.bits = made.bits.max(bits);
                made.most_behind = made.most_behind.max(alone.since(moving));
                made.longest = made.longest.max(alone);
                made.alone += u128::from(alone.as_ps());
                made.moving += u128::from(moving.as_ps());
                made.messages += 1;
                for &(link, share) in &links {
                    *shares.entry(link).or_insert(0.0) += bits * share;
                }
                for (link, share) in on_network {
                    *self.loads.entry(link).or_insert(0.0) += bits * share * f64::from(times);
                }
                if times > 1 {
                    made.paths.push(links.into_iter().map(|(link, _)| link).collect());
                }
            }
        }
        made.links = shares.into_iter().map(|(link, bits)| (link, bits / made.bits)).collect();
        made
    }
}
