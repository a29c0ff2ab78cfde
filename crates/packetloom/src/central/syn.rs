//! SYN: the controller decides for every timeslot which servers send, and by which spine.
//!
//! To sync or not to sync §II-A: queue state, then a matching, then a colouring of its leaf-to-leaf edges. A slot is
//! what a packet of 1500 B takes on a server's link. A faster link between leaf and spine counts as parallel ones of
//! a server's rate, each of which has a colour; as many of them lead to each spine.

use super::asy::Normalisations;
use super::lengths::FULL_BYTES;
use super::settings::{self, Channel};
use super::traffic::{Queues, Traffic};
use crate::control::Pair;
use crate::control::colouring::Paull;
use crate::control::matching::{Candidate, Head, Policy, Scheduler};
use crate::narrow::{narrow, saturated};
use crate::random::{Purpose, Stream};
use crate::spec::{Component, Kind, Needs, Values, param};
use crate::topology::Topology;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// The component.
pub const COMPONENT: Component = Component {
    section: "transport",
    kind: "syn",
    doc: "Synchronous central control: in every timeslot a matching of servers, and a spine for each packet.",
    source: "To sync or not to sync (Globecom 2018) §II-A, §III-A, after Fastpass",
    params: &[
        &[
            param! {
                "order" = "mmf": Kind::Choice(&["ocf", "srjf", "mmf", "least-recent"]),
                "Who goes first: the oldest packet, the flow with the least left, the longest at the head of its \
                      queue, or the pair served least recently.",
                "SYN and ASY §III-A: OCF, SRJF, MMF; Fastpass §3.1"
            },
            param! {
                "pack" = "false": Kind::Flag,
                "Whether a slot takes as many of a queue's packets as fit into it.",
                "packetloom: an extension"
            },
            param! {
                "clock_error" = "0us": Kind::Time,
                "How far servers' clocks are apart, drawn once for each server: the standard deviation, or the width.",
                "packetloom"
            },
            param! {
                "clock_distribution" = "gaussian": Kind::Choice(&["gaussian", "uniform"]),
                "How clocks' errors are distributed.", "packetloom"; acts &[Needs::Above("clock_error", 0)]
            },
        ],
        settings::PARAMS,
    ],
    check: settings::check,
};

/// Plans the departures of all packets that leave before `until`.
pub fn plan(
    values: &Values,
    traffic: &Traffic,
    topology: &Topology,
    queues: &mut Queues<'_>,
    channel: &mut Channel,
    seed: u64,
    until: Time,
) -> Option<Normalisations> {
    let slot = topology.host_rate().time_for(u64::from(FULL_BYTES) + topology.framing_bytes);
    let clocks = clocks(values, topology.hosts, seed);
    let mut spines = Spines::new(topology);
    let mut controller = Controller::new(values, topology, queues);
    let mut arrivals = (0..traffic.flows.len()).peekable();
    let mut reports = arrivals.clone();
    let start = |index: &usize| traffic.flows[*index].start;
    // Pairs whose grant was lost, by when they ask again.
    let mut lost: BinaryHeap<Reverse<(Time, Pair)>> = BinaryHeap::new();
    let (mut matched, mut granted) = (Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    while now < until {
        while let Some(index) = arrivals.next_if(|index| start(index) <= now) {
            controller.queues.arrive(index);
        }
        while let Some(index) = reports.next_if(|index| start(index) + channel.latency <= now) {
            channel.reports += 1;
            controller.admit(index, now);
        }
        while lost.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            lost.pop().into_iter().for_each(|Reverse((_, pair))| controller.wait(pair));
        }
        controller.scheduler.match_slot(&mut matched);
        granted.clear();
        for Candidate { pair, .. } in &matched {
            controller.stop_waiting(*pair);
            if channel.loses() {
                lost.push(Reverse((now + channel.retry, *pair)));
            } else {
                granted.push(*pair);
            }
        }
        debug_assert!(has_no_two(granted.iter().map(|pair| pair.src)), "a server sends twice in a slot");
        debug_assert!(has_no_two(granted.iter().map(|pair| pair.dst)), "a server receives twice in a slot");
        for (pair, path) in granted.iter().zip(spines.colour(&granted)) {
            controller.serve(*pair, now, now + clocks[pair.src as usize], path);
        }
        let report = reports.peek().map_or(Time::NEVER, |index| start(index).saturating_add(channel.latency));
        let asked_again = lost.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        let next = if controller.scheduler.waiting() > 0 { Time::ZERO } else { report.min(asked_again) };
        now = first_slot_from(channel.up_from(next.max(now + slot)), slot);
    }
    arrivals.for_each(|index| {
        controller.queues.arrive(index);
    });
    None
}

/// Whether no two of these are the same.
fn has_no_two<T: Ord>(mut all: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    all.all(|one| seen.insert(one))
}

/// The start of the first slot at or after a time.
fn first_slot_from(time: Time, slot: Time) -> Time {
    if time == Time::NEVER { time } else { slot.times(time.as_ps().div_ceil(slot.as_ps())) }
}

/// How late each server's clock is; the earliest is on time.
fn clocks(values: &Values, servers: u32, seed: u64) -> Vec<Time> {
    let error_ps = values.time("clock_error").as_ps() as f64;
    let is_gaussian = values.meaning("clock_distribution", &[("gaussian", true), ("uniform", false)]);
    let mut random = Stream::new(seed, Purpose::Control, 1);
    let errors: Vec<f64> =
        (0..servers).map(|_| error_ps * if is_gaussian { random.normal() } else { random.unit() }).collect();
    let earliest = errors.iter().copied().fold(f64::INFINITY, f64::min);
    errors.into_iter().map(|error| Time(saturated::<u64>((error - earliest).round()))).collect()
}

/// The controller and its view of the queues.
struct Controller<'a, 'q> {
    queues: &'q mut Queues<'a>,
    policy: Policy,
    pack: bool,
    framing_bytes: u64,
    scheduler: Scheduler,
    /// What each pair waits with, if it does.
    candidates: Vec<Option<Candidate>>,
    /// When each pair's head became its head, and when it was last served.
    head_since: Vec<Time>,
    last_served: Vec<Time>,
    /// When each flow came.
    arrived: Vec<Time>,
}

impl<'a, 'q> Controller<'a, 'q> {
    fn new(values: &Values, topology: &Topology, queues: &'q mut Queues<'a>) -> Controller<'a, 'q> {
        let pairs = (topology.hosts * topology.hosts) as usize;
        Controller {
            arrived: queues.traffic().flows.iter().map(|flow| flow.start).collect(),
            queues,
            policy: Policy::named(&values.text("order")),
            pack: values.flag("pack"),
            framing_bytes: topology.framing_bytes,
            scheduler: Scheduler::new(topology.hosts),
            candidates: vec![None; pairs],
            head_since: vec![Time::ZERO; pairs],
            last_served: vec![Time::ZERO; pairs],
        }
    }

    fn head(&self, pair: Pair) -> Option<u32> {
        self.queues.head(pair, self.policy == Policy::ShortestRemainingJobFirst)
    }

    /// The controller learns of a flow.
    fn admit(&mut self, index: usize, now: Time) {
        let pair = self.queues.pair_of(index);
        let place = self.queues.place(pair);
        if self.head(pair).is_none() {
            self.head_since[place] = now;
        }
        self.queues.admit(index);
        match self.candidates[place] {
            None => self.wait(pair),
            Some(old) if self.head(pair) == Some(narrow::<u32>(index)) => {
                let key = self.key(pair, narrow::<u32>(index));
                self.scheduler.change(old, key);
                self.candidates[place] = Some(Candidate { key, pair });
            }
            Some(_) => {}
        }
    }

    /// A queue that has something to send requests a slot, unless it has already.
    fn wait(&mut self, pair: Pair) {
        let place = self.queues.place(pair);
        if let (None, Some(flow)) = (self.candidates[place], self.head(pair)) {
            let candidate = Candidate { key: self.key(pair, flow), pair };
            self.candidates[place] = Some(candidate);
            self.scheduler.add(candidate);
        }
    }

    fn stop_waiting(&mut self, pair: Pair) {
        let place = self.queues.place(pair);
        self.candidates[place] = None;
    }

    fn key(&self, pair: Pair, flow: u32) -> u64 {
        let place = self.queues.place(pair);
        self.policy.key(&Head {
            arrived: self.arrived[flow as usize].as_ps(),
            head_since: self.head_since[place].as_ps(),
            last_served: self.last_served[place].as_ps(),
            remaining_bytes: self.queues.left_bytes(flow),
        })
    }

    /// The pair's slot: its next packet leaves, and with `pack` those after it that fit.
    fn serve(&mut self, pair: Pair, now: Time, at: Time, path: u16) {
        let slot_bytes = u64::from(FULL_BYTES) + self.framing_bytes;
        let mut used_bytes = 0;
        while let Some(flow) = self.head(pair) {
            used_bytes += u64::from(self.queues.next_bytes(flow)) + self.framing_bytes;
            if used_bytes > slot_bytes {
                break;
            }
            self.queues.send(flow, at, path);
            if !self.pack {
                break;
            }
        }
        let place = self.queues.place(pair);
        self.head_since[place] = now;
        self.last_served[place] = now;
        self.wait(pair);
    }
}

/// The spines, as colours of the slot's leaf-to-leaf edges.
struct Spines {
    servers_per_leaf: u32,
    /// How many there are, if more than one leaf needs them.
    spines: u32,
    paull: Paull,
    edges: Vec<Pair>,
    colours: Vec<u32>,
    paths: Vec<u16>,
}

impl Spines {
    fn new(topology: &Topology) -> Spines {
        let fabric = Fabric::of(topology);
        Spines {
            servers_per_leaf: fabric.servers_per_leaf,
            spines: fabric.spines,
            paull: Paull::new(fabric.leaves, fabric.colours().max(1)),
            edges: Vec::new(),
            colours: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// The spine of each packet; 0 where it stays below its leaf.
    fn colour(&mut self, granted: &[Pair]) -> impl Iterator<Item = u16> {
        let leaf = |server: u32| server / self.servers_per_leaf;
        let edge = |pair: &Pair| Pair::new(leaf(pair.src), leaf(pair.dst));
        self.edges.clear();
        self.edges.extend(granted.iter().map(edge).filter(|edge| edge.src != edge.dst));
        self.colours.resize(self.edges.len(), 0);
        self.paull.colour(&self.edges, &mut self.colours);
        let lanes = |end: fn(&Pair) -> u32| self.edges.iter().map(end).zip(&self.colours);
        debug_assert!(has_no_two(lanes(|edge| edge.src)), "two packets on a lane from a leaf");
        debug_assert!(has_no_two(lanes(|edge| edge.dst)), "two packets on a lane to a leaf");
        let mut colours = self.colours.iter();
        self.paths.clear();
        self.paths.extend(granted.iter().map(|pair| {
            let stays = leaf(pair.src) == leaf(pair.dst);
            let colour = if stays { None } else { colours.next() };
            colour.map_or(0, |colour| narrow::<u16>(colour % self.spines))
        }));
        self.paths.iter().copied()
    }
}

/// A network of leaves and spines in the controller's terms.
#[derive(Clone, Copy, Debug)]
pub struct Fabric {
    leaves: u32,
    servers_per_leaf: u32,
    spines: u32,
    /// How many links of a server's rate make one link between leaf and spine.
    parallel: u32,
}

impl Fabric {
    /// Of a leaf-spine network, or a rack.
    pub fn of(topology: &Topology) -> Fabric {
        let leaf = &topology.nodes[topology.hosts as usize];
        let up = leaf.ports.start + leaf.reach.down_ports..leaf.ports.end;
        let rate = topology.links.get(up.start as usize).map_or(0, |link| link.rate.as_bps());
        Fabric {
            leaves: topology.hosts.div_ceil(leaf.reach.hosts),
            servers_per_leaf: leaf.reach.hosts,
            spines: narrow::<u32>(up.len()),
            parallel: narrow::<u32>(rate / topology.host_rate().as_bps()),
        }
    }

    fn colours(self) -> u32 {
        self.spines * self.parallel
    }

    /// Whether every packet of a matching finds a way of its own.
    pub fn carries_any_matching(self) -> bool {
        self.leaves == 1 || self.colours() >= self.servers_per_leaf
    }
}
