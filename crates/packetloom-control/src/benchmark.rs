//! How fast the algorithms are on one core, on the demand that servers have at a load.
//!
//! Flows of exponential size (46 kB on average) arrive for uniformly random pairs, so that servers are offered
//! [`LOAD`]. A trace of slots is recorded first, then replayed with nothing but the algorithm inside the time that
//! counts.

use super::colouring::{EulerSplit, Paull};
use super::matching::{Batch, Candidate, Demand, Grant, HopcroftKarp, Scheduler};
use super::{Ceiling, MaxMin, Ned, Normaliser, Pair, Routes};
use crate::narrow::saturated;
use crate::random::{Purpose, Stream};

/// What servers are offered, as a part of their links' rate.
pub const LOAD: f64 = 0.9;

/// 46 kB in packets of 1500 B.
const MEAN_PACKETS: f64 = 46_000.0 / 1_500.0;

/// Slots of one batch.
const BATCH_SLOTS: u8 = 64;

/// Slots until queues are as they stay.
const WARM_UP_SLOTS: u32 = 6_400;

/// Packets that are matched within the time that counts.
const MATCHED_PACKETS: f64 = 2e6;

/// What one algorithm took.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The algorithm.
    pub algorithm: &'static str,
    /// What is counted: matched packets, coloured edges, entries of the matrix.
    pub item: &'static str,
    /// How many servers.
    pub servers: u32,
    /// How many items.
    pub items: u64,
    /// What they took.
    pub cpu_s: f64,
    /// Queues with something to send, on average.
    pub waiting: f64,
}

/// Measures every algorithm for so many servers; `cpu_s` is a clock of this thread's work.
pub fn run(servers: u32, cpu_s: &dyn Fn() -> f64) -> Vec<Figure> {
    let slots = saturated::<usize>((MATCHED_PACKETS / (LOAD * f64::from(servers))).ceil());
    let mut bench = Bench { servers, slots, cpu_s, waiting: 0.0, figures: Vec::new() };
    let slots = bench.greedy();
    bench.colouring(&slots);
    drop(slots);
    let snapshots = bench.batch();
    bench.rates(&snapshots);
    bench.figures
}

struct Bench<'a> {
    servers: u32,
    slots: usize,
    cpu_s: &'a dyn Fn() -> f64,
    waiting: f64,
    figures: Vec<Figure>,
}

impl Bench<'_> {
    fn time(&mut self, algorithm: &'static str, item: &'static str, work: impl FnOnce() -> u64) {
        let start = (self.cpu_s)();
        let items = work();
        let cpu_s = (self.cpu_s)() - start;
        self.figures.push(Figure {
            algorithm,
            item,
            servers: self.servers,
            items,
            cpu_s,
            waiting: self.waiting,
        });
    }

    /// Slot by slot; returns what was matched in each.
    fn greedy(&mut self) -> Vec<Vec<Pair>> {
        let mut demand = Queues::new(self.servers);
        let mut scheduler = Scheduler::new(self.servers);
        let mut matched = Vec::new();
        let (mut added, mut slots) = (Vec::new(), Vec::new());
        let mut start = scheduler.clone();
        for now in 0..WARM_UP_SLOTS as usize + self.slots {
            if now == WARM_UP_SLOTS as usize {
                start = scheduler.clone();
            }
            let arrived = demand.arrivals(1.0);
            let served = matched.drain(..).map(|one: Candidate| one.pair).filter(|pair| demand.serve(*pair));
            let fresh: Vec<Candidate> =
                served.chain(arrived).map(|pair| Candidate { key: now as u64, pair }).collect();
            fresh.iter().for_each(|candidate| scheduler.add(*candidate));
            self.waiting += scheduler.waiting() as f64 / (WARM_UP_SLOTS as usize + self.slots) as f64;
            scheduler.match_slot(&mut matched);
            if now >= WARM_UP_SLOTS as usize {
                added.push(fresh);
                slots.push(matched.iter().map(|one| one.pair).collect::<Vec<Pair>>());
            }
        }
        self.time("greedy matching", "matched packet", || {
            let mut items = 0;
            for fresh in &added {
                fresh.iter().for_each(|candidate| start.add(*candidate));
                start.match_slot(&mut matched);
                items += matched.len() as u64;
            }
            items
        });
        slots
    }

    /// As many servers per leaf as there are leaves, except for the paper's 4 leaves of 30 servers.
    fn servers_per_leaf(&self) -> u32 {
        if self.servers == 120 { 30 } else { self.servers.isqrt() }
    }

    fn colouring(&mut self, slots: &[Vec<Pair>]) {
        let per_leaf = self.servers_per_leaf();
        let leaves = self.servers.div_ceil(per_leaf);
        let between = |pair: &Pair| Pair::new(pair.src / per_leaf, pair.dst / per_leaf);
        let graphs: Vec<Vec<Pair>> = slots
            .iter()
            .map(|slot| slot.iter().map(between).filter(|edge| edge.src != edge.dst).collect())
            .collect();
        let mut colours = vec![0; self.servers as usize];
        let edges: u64 = graphs.iter().map(|edges| edges.len() as u64).sum();
        self.time("Paull", "edge", || {
            let mut paull = Paull::new(leaves, per_leaf);
            graphs.iter().for_each(|edges| paull.colour(edges, &mut colours[..edges.len()]));
            edges
        });
        self.time("Euler split", "edge", || {
            // Down to single colours: what a small graph costs if it is not left to Paull.
            let mut split = EulerSplit::new(leaves).with_parts_up_to(0);
            graphs.iter().for_each(|edges| {
                split.colour(edges, &mut colours[..edges.len()]);
            });
            edges
        });
    }

    /// Sixty-four slots at a time; returns the demand that some batches began with.
    fn batch(&mut self) -> Vec<Vec<Demand>> {
        let slots = usize::from(BATCH_SLOTS);
        let warm_up = WARM_UP_SLOTS as usize / slots;
        let mut queues = Queues::new(self.servers);
        let mut batch = Batch::new(self.servers);
        let mut demands: Vec<Demand> = Vec::new();
        let mut grants: Vec<Grant> = Vec::new();
        let mut snapshots = Vec::new();
        self.waiting = 0.0;
        let recorded = self.slots.div_ceil(slots);
        for round in 0..warm_up + recorded {
            let fresh: Vec<Pair> = queues.arrivals(slots as f64).collect();
            let still_waiting = |demand: &Demand| (demand.packets > 0).then_some(demand.pair);
            let pairs: Vec<Pair> = demands.iter().filter_map(still_waiting).chain(fresh).collect();
            demands.clear();
            demands.extend(pairs.into_iter().map(|pair| Demand { pair, packets: queues.packets(pair) }));
            if round >= warm_up {
                snapshots.push(demands.clone());
                self.waiting += demands.len() as f64 / recorded as f64;
            }
            batch.grant(BATCH_SLOTS, &mut demands, &mut grants);
            grants.iter().for_each(|grant| {
                queues.serve(grant.pair);
            });
        }
        let mut replayed = snapshots.clone();
        self.time("batch matching", "matched packet", || {
            let grant = |demands: &mut Vec<Demand>| {
                batch.grant(BATCH_SLOTS, demands, &mut grants);
                grants.len() as u64
            };
            replayed.iter_mut().map(grant).sum()
        });
        let mut replayed = snapshots.clone();
        let mut spines = BatchSpines::new(self.servers, self.servers_per_leaf());
        self.time("matching + colouring", "matched packet", || {
            let arbitrate = |demands: &mut Vec<Demand>| {
                batch.grant(BATCH_SLOTS, demands, &mut grants);
                spines.colour(&grants);
                grants.len() as u64
            };
            replayed.iter_mut().map(arbitrate).sum()
        });
        snapshots
    }

    fn rates(&mut self, snapshots: &[Vec<Demand>]) {
        const MOST: usize = 20;
        let servers = self.servers;
        let pairs: Vec<Vec<Pair>> = snapshots
            .iter()
            .take(MOST)
            .map(|demands| demands.iter().map(|demand| demand.pair).collect())
            .collect();
        let entries: u64 = pairs.iter().map(|pairs| pairs.len() as u64).sum();
        let mut offered: Vec<Vec<f64>> = snapshots
            .iter()
            .take(MOST)
            .map(|demands| demands.iter().map(|demand| f64::from(demand.packets)).collect())
            .collect();
        let ones: Vec<f64> =
            vec![1.0; pairs.iter().map(Vec::len).max().unwrap_or(0).max(2 * servers as usize)];
        let none = vec![f64::INFINITY; ones.len()];
        let mut matched = Vec::new();
        self.time("Hopcroft-Karp", "matched packet", || {
            let mut largest = HopcroftKarp::new(servers);
            let mut items = 0;
            for pairs in &pairs {
                largest.match_all(pairs, &mut matched);
                items += matched.len() as u64;
            }
            items
        });
        self.time("normalisation", "entry", || {
            let mut normaliser = Normaliser::new(servers, 5, 0.0);
            for (pairs, rates) in pairs.iter().zip(&mut offered) {
                normaliser.normalise(pairs, Ceiling::Link, rates);
            }
            entries
        });
        let routes: Vec<Routes> =
            pairs.iter().map(|pairs| Routes::between_servers(servers, pairs.iter().copied())).collect();
        let capacities = &ones[..2 * servers as usize];
        self.time("max-min", "entry", || {
            let mut filling = MaxMin::default();
            for (routes, rates) in routes.iter().zip(&mut offered) {
                let flows = rates.len();
                filling.allocate(routes, capacities, &ones[..flows], &none[..flows], rates);
            }
            entries
        });
        self.time("NED round", "entry", || {
            let mut ned = Ned::new(2 * servers as usize, Ned::STEP);
            for (routes, rates) in routes.iter().zip(&mut offered) {
                ned.round(routes, capacities, &ones[..rates.len()], rates);
                ned.normalise(routes, capacities, rates);
            }
            entries
        });
    }
}

/// A spine for every packet of a batch that leaves its leaf.
struct BatchSpines {
    servers_per_leaf: u32,
    slots: Vec<Vec<Pair>>,
    colours: Vec<Vec<u32>>,
    paull: Paull,
}

impl BatchSpines {
    fn new(servers: u32, servers_per_leaf: u32) -> BatchSpines {
        let slots = usize::from(BATCH_SLOTS);
        BatchSpines {
            servers_per_leaf,
            slots: vec![Vec::new(); slots],
            colours: vec![Vec::new(); slots],
            paull: Paull::new(servers.div_ceil(servers_per_leaf), servers_per_leaf),
        }
    }

    fn colour(&mut self, grants: &[Grant]) {
        self.slots.iter_mut().for_each(Vec::clear);
        for grant in grants {
            let (from, to) = (grant.pair.src / self.servers_per_leaf, grant.pair.dst / self.servers_per_leaf);
            if from != to {
                self.slots[usize::from(grant.slot)].push(Pair::new(from, to));
            }
        }
        for (edges, colours) in self.slots.iter().zip(&mut self.colours) {
            colours.resize(edges.len(), 0);
            self.paull.colour(edges, colours);
        }
    }
}

/// What every pair has to send, and what comes.
struct Queues {
    servers: u32,
    packets: Vec<u32>,
    random: Stream,
    /// Until the next flow arrives, in slots.
    until_next: f64,
}

impl Queues {
    fn new(servers: u32) -> Queues {
        let random = Stream::new(1, Purpose::Arrivals, u64::from(servers));
        Queues { servers, packets: vec![0; (servers * servers) as usize], random, until_next: 0.0 }
    }

    fn place(&self, pair: Pair) -> usize {
        (pair.src * self.servers + pair.dst) as usize
    }

    fn packets(&self, pair: Pair) -> u32 {
        self.packets[self.place(pair)]
    }

    /// Takes a packet away; whether there are more.
    fn serve(&mut self, pair: Pair) -> bool {
        let place = self.place(pair);
        self.packets[place] -= 1;
        self.packets[place] > 0
    }

    /// The pairs whose queue was empty and to which a flow comes within so many slots.
    fn arrivals(&mut self, slots: f64) -> impl Iterator<Item = Pair> + use<> {
        let flows_per_slot = LOAD * f64::from(self.servers) / MEAN_PACKETS;
        let mut woken = Vec::new();
        self.until_next -= slots;
        while self.until_next <= 0.0 {
            self.until_next += self.random.exponential() / flows_per_slot;
            let src = self.random.below(self.servers);
            let dst = (src + 1 + self.random.below(self.servers - 1)) % self.servers;
            let pair = Pair::new(src, dst);
            let packets = saturated::<u32>((self.random.exponential() * MEAN_PACKETS).ceil().max(1.0));
            let place = self.place(pair);
            if self.packets[place] == 0 {
                woken.push(pair);
            }
            self.packets[place] += packets;
        }
        woken.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn servers_carry_the_load_and_every_algorithm_is_measured() {
        let ticks = Cell::new(0.0);
        let clock = || {
            ticks.set(ticks.get() + 1.0);
            ticks.get()
        };
        let slots = 2_000;
        let mut bench = Bench { servers: 24, slots, cpu_s: &clock, waiting: 0.0, figures: Vec::new() };
        let recorded = bench.greedy();
        bench.colouring(&recorded);
        let snapshots = bench.batch();
        bench.rates(&snapshots);
        assert_eq!(bench.figures.len(), 9);
        assert!(bench.figures.iter().all(|figure| figure.items > 0 && figure.cpu_s == 1.0));
        let load = bench.figures[0].items as f64 / (slots as f64 * 24.0);
        assert!((load - LOAD).abs() < 0.06, "{load}");
    }
}
