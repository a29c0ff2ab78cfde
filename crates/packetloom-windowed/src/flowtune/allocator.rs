//! The allocator: the flowlets there are, and their rates.

use super::network::Network;
use crate::flow::{FlowId, HostId};
use crate::flow_table::FlowTable;
use crate::narrow::{narrow, saturated};
use crate::units::Time;
use packetloom_control::{Filling, Ned, Routes};
use smallvec::SmallVec;
use std::sync::Arc;

/// Prices count as settled when an iteration changes none by more than this part. So small a change would take
/// billions of iterations to come near any threshold.
const SETTLED: f64 = 1e-12;

/// Prices that have not settled after so many iterations, 100 ms, go round in circles: rates stay as they are until a
/// flowlet starts or ends, or the network changes.
const MOST_ITERATIONS: u32 = 10_000;

/// The links of a way through three tiers of switches.
type Way = SmallVec<[u32; 6]>;

/// How it allocates.
#[derive(Clone, Debug)]
pub struct Settings {
    pub interval: Time,
    pub gamma: f64,
    pub filling: Filling,
    pub threshold: f64,
    /// By class.
    pub weights: Arc<[f64]>,
}

/// A flowlet.
#[derive(Clone, Debug)]
struct Flowlet {
    flow: FlowId,
    src: HostId,
    dst: HostId,
    way: Way,
    /// The rate that its endpoint was last sent; 0: none.
    told: f64,
}

/// A rate for an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// The endpoint.
    pub host: HostId,
    /// Its flow.
    pub flow: FlowId,
    /// In kb/s.
    pub kbps: u32,
}

/// The allocator's memory. Rates and capacities are counted in the rate of the first host's link.
#[derive(Debug)]
pub struct Allocator {
    settings: Settings,
    network: Network,
    flowlets: Vec<Flowlet>,
    /// Where each flow's flowlet is among them.
    places: FlowTable<u32>,
    weights: Vec<f64>,
    /// What is best at the prices, and what of that fits.
    rates: Vec<f64>,
    fitting: Vec<f64>,
    /// What may be given out of each link.
    capacities: Vec<f64>,
    routes: Routes,
    /// Whether the flowlets have changed since these were found.
    is_stale: bool,
    ned: Ned,
    /// The prices before the last iteration, and whether that left them nearly as they were.
    before: Vec<f64>,
    is_settled: bool,
    /// How many there were since flowlets or the network changed.
    iterations: u32,
    /// When switches change their minds next, and this does.
    changes_at: Option<Time>,
    /// When the next iteration is, if one is to come, and when it may be at the earliest.
    next_at: Option<Time>,
    earliest: Time,
}

impl Allocator {
    /// Of a network without flowlets.
    pub fn new(settings: &Settings, network: &Network) -> Allocator {
        let links = network.link_count();
        let mut allocator = Allocator {
            settings: settings.clone(),
            network: network.clone(),
            flowlets: Vec::new(),
            places: FlowTable::default(),
            weights: Vec::new(),
            rates: Vec::new(),
            fitting: Vec::new(),
            capacities: Vec::new(),
            routes: Routes::new(vec![0], Vec::new(), narrow::<u32>(links)),
            is_stale: false,
            ned: Ned::new(links, settings.gamma),
            before: Vec::new(),
            is_settled: true,
            iterations: 0,
            changes_at: None,
            next_at: None,
            earliest: Time::ZERO,
        };
        allocator.look(Time::ZERO);
        allocator
    }

    /// A flowlet has begun.
    pub fn started(&mut self, flow: FlowId, (src, dst): (HostId, HostId), class: u8, now: Time) {
        if self.places.get(flow).is_some() {
            return;
        }
        let mut way = Way::new();
        self.network.links(flow, (src, dst), now, &mut way);
        self.places.insert(flow, narrow::<u32>(self.flowlets.len()));
        self.flowlets.push(Flowlet { flow, src, dst, way, told: 0.0 });
        self.weights.push(self.settings.weights.get(usize::from(class)).copied().unwrap_or(1.0));
        self.is_stale = true;
    }

    /// A flowlet is over.
    pub fn ended(&mut self, flow: FlowId) {
        let Some(&place) = self.places.get(flow) else { return };
        self.places.remove(flow);
        self.flowlets.swap_remove(place as usize);
        self.weights.swap_remove(place as usize);
        if let Some(moved) = self.flowlets.get(place as usize) {
            self.places.insert(moved.flow, place);
        }
        self.is_stale = true;
    }

    /// When the next iteration is, if that has to be sooner than was said before: at a multiple of the interval, as
    /// long as prices or flowlets change, or when the network will.
    pub fn schedule(&mut self, now: Time) -> Option<Time> {
        let is_at_work = self.is_stale || !self.is_settled;
        let wanted = if is_at_work { Some(now) } else { self.changes_at };
        let from = wanted.filter(|_| !self.flowlets.is_empty())?.max(self.earliest);
        let interval = self.settings.interval;
        let at = interval.times(from.as_ps().div_ceil(interval.as_ps()));
        if self.next_at.is_some_and(|next| next <= at) {
            return None;
        }
        self.next_at = Some(at);
        self.next_at
    }

    /// An iteration, if it is time: prices, rates, and what of that endpoints are to be told.
    pub fn iterate(&mut self, now: Time, updates: &mut Vec<Update>) {
        if self.next_at != Some(now) {
            return;
        }
        self.next_at = None;
        self.earliest = now + self.settings.interval;
        if self.changes_at.is_some_and(|at| at <= now) {
            self.look(now);
        }
        if self.is_stale {
            (self.is_stale, self.iterations) = (false, 0);
            self.routes.refill(self.flowlets.iter().map(|flowlet| &flowlet.way[..]));
            self.rates.resize(self.flowlets.len(), 0.0);
        }
        self.before.clear();
        self.before.extend_from_slice(self.ned.prices());
        self.ned.round(&self.routes, &self.capacities, &self.weights, &mut self.rates);
        self.fitting.clone_from(&self.rates);
        self.ned.fill(self.settings.filling, &self.routes, &self.capacities, &mut self.fitting);
        self.tell(updates);
        let mut prices = self.before.iter().zip(self.ned.prices());
        self.iterations += 1;
        self.is_settled = prices.all(|(before, after)| (before - after).abs() <= SETTLED * before)
            || self.iterations == MOST_ITERATIONS;
    }

    /// The rates that have changed by more than the threshold.
    fn tell(&mut self, updates: &mut Vec<Update>) {
        let unit_kbps = self.network.unit().as_bps() as f64 / 1e3;
        for (flowlet, &rate) in self.flowlets.iter_mut().zip(&self.fitting) {
            if (rate - flowlet.told).abs() > self.settings.threshold * flowlet.told {
                flowlet.told = rate;
                let kbps = saturated::<u32>((rate * unit_kbps).round()).max(1);
                updates.push(Update { host: flowlet.src, flow: flowlet.flow, kbps });
            }
        }
    }

    /// Takes in what switches know of the network by now.
    fn look(&mut self, now: Time) {
        self.changes_at = self.network.next_change(now);
        self.network.capacities(now, &mut self.capacities);
        self.capacities.iter_mut().for_each(|capacity| *capacity *= 1.0 - self.settings.threshold);
        for flowlet in &mut self.flowlets {
            flowlet.way.clear();
            self.network.links(flowlet.flow, (flowlet.src, flowlet.dst), now, &mut flowlet.way);
        }
        self.is_stale = true;
    }
}
