//! What breaks, and when. All of it is known before a run begins, so whether a packet survives a link is decided as
//! it is sent, and when switches learn of a change is a date in their calendar: nothing has to happen at the moment
//! of a fault, and links and switches without one do nothing for it.

mod components;
mod link;
mod slow_host;

pub use components::COMPONENTS;
use components::{Does, FAULTS};
pub use link::{LinkFault, Loss, Retry, Slow};
pub use slow_host::SlowHost;

use crate::flow::HostId;
use crate::spec::{self, Complaint, Value, Values};
use crate::topology::{KnownRates, Topology};
use crate::units::{ByteTime, Rate, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Links that are down for a while, and how long switches take to notice.
#[derive(Clone, Debug)]
struct Outage {
    /// The number of the fault in the scenario.
    fault: usize,
    links: BTreeSet<usize>,
    from: Time,
    until: Time,
    learn_after: Time,
}

/// Links that are slow for a while, and how long switches take to notice, if they do.
#[derive(Clone, Debug)]
struct Degraded {
    links: BTreeSet<usize>,
    slow: Slow,
    rate: Rate,
    learn_after: Option<Time>,
}

/// A link that others share, which are not there.
#[derive(Clone, Debug)]
pub struct Pace {
    /// When it is so slow, in order and without overlap.
    pub slow: Vec<Slow>,
    /// Which part of its queue they leave.
    pub queue_part: f64,
}

/// All faults of a case, on its network.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The probability that a packet is corrupted, by link.
    corruption: BTreeMap<usize, f64>,
    outages: Vec<Outage>,
    /// Where links are slow, and when.
    slow: Vec<Degraded>,
    /// By link.
    paces: BTreeMap<usize, Pace>,
    /// Hosts that are slow at times.
    slow_hosts: BTreeMap<HostId, SlowHost>,
    /// Of links that damage packets, how they send them again, if they do.
    retries: BTreeMap<usize, Retry>,
}

impl Faults {
    /// Finds what the scenario's faults mean on a network.
    ///
    /// # Errors
    /// What there is not on this network, by its key in the scenario.
    pub fn build(faults: &[Values], topology: &Topology) -> Result<Faults, Complaint> {
        let lossy = topology.error_rates.iter().copied().enumerate().filter(|(_, rate)| *rate > 0.0);
        let mut all = Faults { corruption: lossy.collect(), ..Faults::default() };
        for (number, fault) in faults.iter().enumerate().filter(|(_, fault)| happens(fault)) {
            all.add(number, fault, topology).map_err(|complaint| Complaint {
                key: format!("fault[{number}].{}", complaint.key),
                ..complaint
            })?;
        }
        let retry = |&link: &usize| {
            let (retry, after) = topology.replays_after(link)?;
            Some((link, Retry { most: retry.replays, after }))
        };
        all.retries = all.corruption.keys().filter_map(retry).collect();
        Ok(all)
    }

    /// None but that others share links.
    pub fn of_paces(paces: BTreeMap<usize, Pace>) -> Faults {
        Faults { paces, ..Faults::default() }
    }

    /// Which part of its queue a link has, if others share it.
    pub fn queue_part(&self, link: usize) -> Option<f64> {
        self.paces.get(&link).map(|pace| pace.queue_part)
    }

    fn add(&mut self, number: usize, fault: &Values, topology: &Topology) -> Result<(), Complaint> {
        match spec::factory(FAULTS, &fault.kind) {
            Does::Corrupts => {
                let probability = fault.number("probability");
                for link in links_between(fault, topology)? {
                    let whole = self.corruption.entry(link).or_insert(0.0);
                    *whole = 1.0 - (1.0 - *whole) * (1.0 - probability);
                }
            }
            Does::Slows => self.slow.push(degraded(fault, topology)?),
            Does::CutsLinks => {
                self.outages.push(Outage::of((number, fault), links_between(fault, topology)?))
            }
            Does::SlowsHost => slow_host::add(&mut self.slow_hosts, (number, fault), topology)?,
            // That is its job's affair.
            Does::DisturbsRank => {}
            Does::CutsSwitch => {
                self.outages.push(Outage::of((number, fault), links_of_switch(fault, topology)?))
            }
        }
        Ok(())
    }

    /// When the last fault that ends does, or one that never ends begins.
    pub fn last_change(&self) -> Time {
        let outages = self.outages.iter().map(|outage| (outage.from, outage.until));
        let slow =
            self.slow_hosts.values().flat_map(|host| host.when.iter().map(|slow| (slow.from, slow.until)));
        let ends = outages.chain(slow).map(|(from, until)| if until == Time::NEVER { from } else { until });
        ends.max().unwrap_or(Time::ZERO)
    }

    /// When something breaks, is mended, or is learned of by switches.
    pub fn changes(&self) -> BTreeSet<Time> {
        let slow = self.slow.iter().map(|degraded| &degraded.slow);
        let slow = slow.chain(self.slow_hosts.values().flat_map(|host| &host.when));
        let changes = self.outages.iter().map(|outage| (outage.from, outage.until));
        let changes = changes.chain(slow.map(|slow| (slow.from, slow.until)));
        let changes = changes.flat_map(|(from, until)| [from, until]);
        changes.chain(self.known_rates().into_iter().map(|(at, _)| at)).collect()
    }

    /// Whether links damage packets: by a fault, if with no probability, or by their error rates.
    pub fn damage_packets(&self) -> bool {
        !self.corruption.is_empty()
    }

    /// When a host is slow, and how much, if it ever is.
    pub fn slow_host(&self, host: HostId) -> Option<&SlowHost> {
        self.slow_hosts.get(&host)
    }

    /// All hosts that are slow at times.
    pub fn slow_hosts(&self) -> impl Iterator<Item = (HostId, &SlowHost)> {
        self.slow_hosts.iter().map(|(host, slow)| (*host, slow))
    }

    /// The links that are not always as they should be, with how.
    pub fn links(&self, seed: u64) -> BTreeMap<usize, LinkFault> {
        let down = self.outages.iter().flat_map(|outage| outage.links.iter().copied());
        let slow = self.slow.iter().flat_map(|slow| slow.links.iter().copied());
        let faulty = self.corruption.keys().copied().chain(down).chain(slow);
        let faulty: BTreeSet<usize> = faulty.chain(self.paces.keys().copied()).collect();
        let of_link = |link| {
            let outages = self.outages.iter().filter(|outage| outage.links.contains(&link));
            let down = outages.map(|outage| (outage.from, outage.until)).collect();
            let corruption = self.corruption.get(&link).copied().unwrap_or(0.0);
            let slow = self.slow.iter().filter(|slow| slow.links.contains(&link)).map(|slow| slow.slow);
            let pace = self.paces.get(&link).map(|pace| pace.slow.clone()).unwrap_or_default();
            (
                link,
                LinkFault::new(corruption, down, slow.collect(), seed, link)
                    .with_pace(pace)
                    .with_retry(self.retries.get(&link).copied()),
            )
        };
        faulty.into_iter().map(of_link).collect()
    }

    /// The numbers of the faults after which links stay dead.
    pub fn for_good(&self) -> Vec<usize> {
        self.outages.iter().filter(|outage| outage.until == Time::NEVER).map(|outage| outage.fault).collect()
    }

    /// The links that carry nothing when all that ends has ended.
    pub fn dead_for_good(&self) -> BTreeSet<usize> {
        let for_good = self.outages.iter().filter(|outage| outage.until == Time::NEVER);
        let mut dead: BTreeSet<usize> = for_good.flat_map(|outage| outage.links.iter().copied()).collect();
        dead.extend(self.corruption.iter().filter(|(_, share)| **share >= 1.0).map(|(link, _)| *link));
        dead
    }

    /// Whether no way leads from one host to another when all that ends has ended.
    pub fn cut_off(&self, topology: &Topology, src: HostId, dst: HostId) -> bool {
        !reached(topology, &self.dead_for_good(), src)[dst as usize]
    }

    /// Whether all that is ever wrong are links that are dead from the start on for good, as switches know then.
    pub fn stand(&self) -> bool {
        let stands = |outage: &Outage| {
            outage.from == Time::ZERO && outage.until == Time::NEVER && outage.learn_after == Time::ZERO
        };
        let has_others = !self.corruption.is_empty()
            || !self.slow.is_empty()
            || !self.paces.is_empty()
            || !self.slow_hosts.is_empty();
        !has_others && self.outages.iter().all(stands)
    }

    /// The hosts that are not among the most that still reach each other when all that ends has ended.
    pub fn islands(&self, topology: &Topology) -> Vec<HostId> {
        let dead = self.dead_for_good();
        let mut islands: Vec<Vec<HostId>> = Vec::new();
        let mut rest: Vec<HostId> = (0..topology.hosts).collect();
        while let Some(&host) = rest.first() {
            let is_seen = reached(topology, &dead, host);
            let (island, others) = rest.into_iter().partition(|&other| is_seen[other as usize]);
            islands.push(island);
            rest = others;
        }
        // Of equal ones the first is the mainland.
        let mainland = islands.iter().map(Vec::len).max();
        let mainland = islands.iter().position(|island| Some(island.len()) == mainland);
        let others = islands.into_iter().enumerate().filter(|(number, _)| Some(*number) != mainland);
        let mut others: Vec<HostId> = others.flat_map(|(_, island)| island).collect();
        others.sort_unstable();
        others
    }

    /// When switches change their minds, in order, and which links they take for dead from then on.
    pub fn known_outages(&self) -> Vec<(Time, BTreeSet<usize>)> {
        let learned = |outage: &Outage| {
            let of = |at: Time| Time(at.as_ps().saturating_add(outage.learn_after.as_ps()));
            [of(outage.from), of(outage.until)]
        };
        let changes: BTreeSet<Time> = self.outages.iter().flat_map(learned).collect();
        let dead_from = |at: Time| {
            let known = self.outages.iter().filter(|outage| {
                let [down, up] = learned(outage);
                (down..up).contains(&at)
            });
            (at, known.flat_map(|outage| outage.links.iter().copied()).collect())
        };
        changes.into_iter().map(dead_from).collect()
    }

    /// When switches change their minds, in order, and which links they take to be slow or dead from then on.
    pub fn known_rates(&self) -> KnownRates {
        let known = self.slow.iter().filter_map(|slow| {
            let late = slow.learn_after?;
            let after = |at: Time| Time(at.as_ps().saturating_add(late.as_ps()));
            Some((after(slow.slow.from)..after(slow.slow.until), slow))
        });
        let known: Vec<_> = known.collect();
        let dead = self.known_outages();
        let changes: BTreeSet<Time> = known
            .iter()
            .flat_map(|(span, _)| [span.start, span.end])
            .chain(dead.iter().map(|(at, _)| *at))
            .collect();
        let rates_from = |at: Time| {
            let mut rates: BTreeMap<usize, Rate> = BTreeMap::new();
            for (_, slow) in known.iter().filter(|(span, _)| span.contains(&at)) {
                for &link in &slow.links {
                    let rate = rates.entry(link).or_insert(slow.rate);
                    *rate = slow.rate.min(*rate);
                }
            }
            let (_, dead) = dead.iter().rev().find(|(from, _)| *from <= at).cloned().unwrap_or_default();
            rates.extend(dead.into_iter().map(|link| (link, Rate(0))));
            (at, rates)
        };
        changes.into_iter().map(rates_from).collect()
    }
}

/// The nodes that a host reaches without some links, itself among them.
fn reached(topology: &Topology, dead: &BTreeSet<usize>, src: HostId) -> Vec<bool> {
    let mut is_seen = vec![false; topology.nodes.len()];
    let mut found = vec![src];
    while let Some(node) = found.pop() {
        // Hosts pass nothing on.
        if std::mem::replace(&mut is_seen[node as usize], true) || (node < topology.hosts && node != src) {
            continue;
        }
        let links = topology.nodes[node as usize].ports.clone().map(|link| link as usize);
        found.extend(links.filter(|link| !dead.contains(link)).map(|link| topology.links[link].dst));
    }
    is_seen
}

/// Whether there is a fault at all: a grid may have cases without it.
pub fn happens(fault: &Values) -> bool {
    !fault.has("at") || fault.time("at") != Time::NEVER
}

/// Whether a fault leaves every packet on its way.
pub fn loses_nothing(fault: &Values) -> bool {
    matches!(spec::factory(FAULTS, &fault.kind), Does::SlowsHost | Does::DisturbsRank)
}

/// Whether a fault is one of a job's rank, and the network's links, switches and hosts are as they should be.
pub fn is_of_rank(fault: &Values) -> bool {
    matches!(spec::factory(FAULTS, &fault.kind), Does::DisturbsRank)
}

impl Outage {
    fn of((number, fault): (usize, &Values), links: Vec<usize>) -> Outage {
        Outage {
            fault: number,
            links: links.into_iter().collect(),
            from: fault.time("at"),
            until: fault.optional_time("until").unwrap_or(Time::NEVER),
            learn_after: fault.time("learn_after"),
        }
    }
}

/// The links that a fault slows down, and how.
fn degraded(fault: &Values, topology: &Topology) -> Result<Degraded, Complaint> {
    let mut links: BTreeSet<usize> = links_between(fault, topology)?.into_iter().collect();
    if fault.flag("one_way") {
        let ones = nodes_at(fault, topology)?.map_or_else(Vec::new, |[ones, _]| ones);
        links.retain(|&link| ones.contains(&topology.links[link].src));
    }
    let rate = fault.rate("rate");
    if let Some(&link) = links.iter().find(|&&link| topology.links[link].rate <= rate) {
        let message = format!("the link has {} anyway; write a lower rate", topology.links[link].rate);
        return Err(Complaint::new("rate", message));
    }
    let until = fault.optional_time("until").unwrap_or(Time::NEVER);
    let slow = Slow { from: fault.time("at"), until, byte_time: ByteTime::at(rate) };
    Ok(Degraded { links, slow, rate, learn_after: fault.optional_time("learn_after") })
}

/// The links that the parameter `between` names; all where it is left out.
fn links_between(fault: &Values, topology: &Topology) -> Result<Vec<usize>, Complaint> {
    let Some([ones, others]) = nodes_at(fault, topology)? else {
        return Ok((0..topology.links.len()).collect());
    };
    let joins = |a: u32, b: u32| ones.contains(&a) && others.contains(&b);
    let links = topology.links.iter().enumerate();
    let links = links.filter(|(_, link)| joins(link.src, link.dst) || joins(link.dst, link.src));
    let links: Vec<usize> = links.map(|(number, _)| number).collect();
    if links.is_empty() {
        return Err(Complaint::new("between", "there is no link between these; write neighbours"));
    }
    Ok(links)
}

/// The nodes at each of the two ends that the parameter `between` names, if it is there.
fn nodes_at(fault: &Values, topology: &Topology) -> Result<Option<[Vec<u32>; 2]>, Complaint> {
    let Some(ends) = fault.optional_list("between") else { return Ok(None) };
    let nodes = |end: &Value| match end {
        Value::Text(name) => topology.nodes_called(name, "between"),
        other => panic!("a node's name is {other:?}"),
    };
    Ok(Some([nodes(&ends[0])?, nodes(&ends[1])?]))
}

fn links_of_switch(fault: &Values, topology: &Topology) -> Result<Vec<usize>, Complaint> {
    let name = fault.text("node");
    let [node] = topology.nodes_called(&name, "node")?[..] else {
        let message = format!("{name:?} is a whole tier; write one switch of it, such as \"{name}0\"");
        return Err(Complaint::new("node", message));
    };
    if node < topology.hosts {
        return Err(Complaint::new("node", format!("{name:?} is a host; write a switch")));
    }
    let links = topology.links.iter().enumerate();
    Ok(links.filter(|(_, link)| link.src == node || link.dst == node).map(|(number, _)| number).collect())
}
