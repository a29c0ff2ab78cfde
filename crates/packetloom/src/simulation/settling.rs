//! How long queues take to settle, and whether a case whose flows arrive by the clock can be steady.
//!
//! Odoni and Roth ("An empirical investigation of the transient behavior of stationary queueing systems", Operations
//! Research 31, 1983) bound the time constant with which a queue that starts empty approaches its steady state: the
//! mean time of service, times the squared coefficients of variation of arrivals and services, over 2.8 (1 − √ρ)². Here
//! the server is a link and a customer is a flow. The links of each class (those between two tiers) are taken to share
//! their load evenly; the class that takes longest counts.

use crate::fault::Faults;
use crate::flow::HostId;
use crate::narrow::saturated;
use crate::routing;
use crate::scenario::Case;
use crate::spec::{Complaint, Value, Values};
use crate::topology::Topology;
use crate::topology::hops;
use crate::units::{Rate, Time, seconds_said};
use crate::workload::{Environment, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Odoni and Roth, (8).
const ODONI_ROTH: f64 = 2.8;
const PS_PER_S: f64 = 1e12;
/// After so many time constants a queue is within 2 % of its steady state (e^-4).
const CONSTANTS: f64 = 4.0;
/// So often do the slowest flows have to fit into the time for which flows arrive: foreseen here, found in results.
pub const SLOWEST_FIT: f64 = 4.0;
/// How slow a scheme makes its flows only a run tells. There is room if the largest take so many times what they take at
/// a fair share of the busiest links, as long as alone over 1 − ρ (Kleinrock, "Queueing Systems" 2, 1976, §4.4). Of web
/// search at loads of 0.3 to 0.7, one in a hundred of those above 10 MB takes longer than 1.2 to 3.2 times that under TCP,
/// DCTCP, pFabric, Homa, Swift and Ultra Ethernet, and 4 to 5 times that under DCQCN.
const ROOM: f64 = 3.0;
/// Of the time for which flows arrive, "auto" leaves no more out.
const LARGEST_PART: f64 = 1.0 / 3.0;
/// So many flows tell how often a flow crosses a class of links.
const SAMPLED_FLOWS: u64 = 2_000;
/// Arrivals that go by the clock, and how irregular they are: their squared coefficient of variation.
const BY_THE_CLOCK: &[(&str, f64)] = &[("poisson", 1.0), ("periodic", 0.0), ("list", 1.0), ("hpcc", 1.0)];

/// What is known beforehand of a case whose flows arrive by the clock.
#[derive(Debug)]
pub struct Settling {
    /// Seconds for which flows arrive, where that is known, and how many there are.
    arrivals: Option<(f64, f64)>,
    /// Flows per second.
    rate: f64,
    largest_bytes: u64,
    /// Seconds that the largest flow takes alone, at the rate of a host's link.
    largest: f64,
    /// What the busiest links are offered, of what they carry.
    busiest: f64,
    /// Seconds; infinite if a class of links is offered all that it carries, or more.
    constant: f64,
    /// Classes of links that are offered all that they carry or more, and how many times that.
    overloaded: Vec<(String, f64)>,
    /// The slowest link of a class, where an even share of the class's traffic is all that it carries or more.
    slow: Vec<(String, Rate, f64)>,
    /// Links beside those that are down for good, which carry the rest; and those to receivers that are slow for good.
    crowded: Vec<(String, f64)>,
}

/// A class of links: what they carry together, and how often a flow crosses one of them.
#[derive(Default)]
struct Class {
    links: u32,
    bps: f64,
    slowest_bps: f64,
    crossings: f64,
}

impl Settling {
    /// `None` where a source that counts does not go by the clock, or where no rate or host link is known.
    pub(super) fn of(
        case: &Case,
        workload: &Workload,
        env: &Environment,
        topology: &Topology,
    ) -> Option<Settling> {
        let irregular = irregularity(&case.workloads)?;
        let facts = workload.describe();
        let rates = facts.iter().map(|fact| fact.flows_per_second).collect::<Option<Vec<f64>>>()?;
        let rate: f64 = rates.iter().sum();
        let host_bps = env.host_rate?.as_bps() as f64;
        let shares = workload.size_shares();
        let mean: f64 = shares.iter().map(|&(bytes, share)| bytes as f64 * share).sum();
        let second: f64 = shares.iter().map(|&(bytes, share)| (bytes as f64).powi(2) * share).sum();
        let offered_bps: f64 =
            facts.iter().zip(&rates).map(|(fact, rate)| 8.0 * fact.mean_wire_bytes * rate).sum();
        let variation = irregular + second / mean.powi(2) - 1.0;
        let constant = |load: f64, bps: f64| match load {
            load if load >= 1.0 => f64::INFINITY,
            load => 8.0 * mean / bps * variation / (ODONI_ROTH * (1.0 - libm::sqrt(load)).powi(2)),
        };
        let (mut overloaded, mut slow) = (Vec::new(), Vec::new());
        // A pattern may load some hosts' links only; sources share them.
        let mut busiest: f64 = facts.iter().filter_map(|fact| fact.load).sum();
        let mut longest = constant(busiest, host_bps);
        let mut crowded = Vec::new();
        let dead =
            Faults::build(&case.faults, topology).map_or(BTreeSet::new(), |faults| faults.dead_for_good());
        for ((from, to), class) in classes(case, env, topology)? {
            let each = offered_bps * class.crossings / f64::from(class.links);
            crowded.extend(beside_dead(topology, &dead, ((from, to), each)));
            if to == 0 {
                crowded.extend(to_slow_receivers(&case.faults, topology, each));
            }
            let load = offered_bps * class.crossings / class.bps;
            longest = longest.max(constant(load, class.bps / f64::from(class.links)));
            busiest = busiest.max(load);
            let name = |tier: u8| topology.tier_names[usize::from(tier)];
            let even = offered_bps * class.crossings / f64::from(class.links) / class.slowest_bps;
            if load >= 1.0 {
                overloaded.push((format!("links from {} to {}", name(from), name(to)), load));
            } else if even >= 1.0 {
                let link = format!("the slowest link from {} to {}", name(from), name(to));
                slow.push((link, Rate(saturated(class.slowest_bps)), even));
            }
        }
        let largest_bytes = shares.iter().map(|&(bytes, _)| bytes).max()?;
        Some(Settling {
            arrivals: arrivals(case, env, rate),
            rate,
            largest_bytes,
            largest: 8.0 * largest_bytes as f64 / host_bps,
            busiest,
            constant: longest,
            overloaded,
            slow,
            crowded,
        })
    }

    /// How much of the start "auto" leaves out. Two digits: schemes whose headers differ by little have the same.
    fn warm_up(&self) -> Time {
        let most = self.arrivals.map_or(f64::INFINITY, |(lasts, _)| LARGEST_PART * lasts);
        let seconds = self.constant.min(most);
        if seconds.is_finite() { Time(saturated::<u64>(two_digits(seconds) * PS_PER_S)) } else { Time::ZERO }
    }

    /// Whether a class of links is offered all that it carries, or more.
    pub fn is_overloaded(&self) -> bool {
        self.constant.is_infinite() || !self.crowded.is_empty()
    }

    /// Seconds until all is carried, at least, of the flows that arrive before the case is ended, where it is known for
    /// how long they arrive: a link that is offered more than it carries goes on after the last arrival.
    pub(super) fn least_end(&self, routing: &Values, max_time: Time) -> Option<f64> {
        let overloaded = self.overloaded.iter().map(|&(_, load)| load);
        let slow = self.slow.iter().filter(|_| routing::is_blind(routing)).map(|&(.., load)| load);
        let (lasts, _) = self.arrivals?;
        Some(lasts.min(max_time.as_secs_f64()) * overloaded.chain(slow).fold(1.0, f64::max))
    }

    /// For how long flows have to arrive at least, whatever the scheme.
    fn least(&self) -> f64 {
        (CONSTANTS * self.constant).max(SLOWEST_FIT * self.largest)
    }

    /// What the largest flow takes at a fair share of the busiest links.
    fn fair(&self) -> f64 {
        self.largest / (1.0 - self.busiest)
    }

    /// For how long flows have to arrive if the largest are as slow as there is room for.
    fn with_room(&self) -> f64 {
        self.least().max(SLOWEST_FIT * ROOM * self.fair())
    }

    /// What `packetloom check` says of it.
    pub fn facts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if let Some((lasts, flows)) = self.arrivals {
            parts.push(format!("arrivals last about {} ({flows:.0} flows)", seconds_said(lasts)));
        }
        parts.push(format!(
            "the largest flow, {} B, takes {} alone",
            self.largest_bytes,
            seconds_said(self.largest)
        ));
        if self.constant.is_finite() && self.constant > 0.0 {
            parts.push(format!("queues settle in about {}", seconds_said(self.constant)));
        }
        parts.push(self.verdict());
        let mut lines = vec![parts.join("; ")];
        lines.extend(self.overloaded.iter().map(|(links, load)| {
            format!("{links} are offered {load:.2} times what they carry: no run at this load is steady, however long")
        }));
        lines.extend(self.crowded.iter().map(|(links, load)| {
            format!(
                "{links} are offered {load:.2} times what they carry once the fault is there: no run with it is steady"
            )
        }));
        lines.extend(self.slow.iter().map(|(link, rate, load)| {
            format!(
                "{link}, at {rate}, is offered {load:.2} times what it carries if paths are chosen without regard to it: flows \
                 that cross it are then never steady"
            )
        }));
        lines
    }

    /// So many flows arrive in the time that it takes to be steady: at least, and with room for slow schemes; `None`
    /// where it cannot be.
    pub fn needed_flows(&self) -> Option<(f64, f64)> {
        let flows = |lasts: f64| two_digits(lasts * self.rate).ceil();
        (!self.is_overloaded()).then(|| (flows(self.least()), flows(self.with_room())))
    }

    /// What the slowest flows may take, in seconds, where there is room for slow schemes: flows that start later than
    /// that before the last are over only as traffic drains.
    pub fn slowest_s(&self) -> f64 {
        ROOM * self.fair()
    }

    fn verdict(&self) -> String {
        let Some((_, flows)) = self.needed_flows() else {
            return "it cannot be steady".to_owned();
        };
        let room =
            format!("{}, {ROOM} times the largest flow's at a fair share", seconds_said(self.slowest_s()));
        let Some((lasts, _)) = self.arrivals else {
            let lasts = seconds_said(self.with_room());
            return format!("steady if flows arrive for {lasts} and 99 % of them take less than {room}");
        };
        let more = format!("flows = {flows:.0} has room for {room}");
        let can = format!("steady if 99 % of flows take less than {}", seconds_said(lasts / SLOWEST_FIT));
        match lasts {
            lasts if lasts < self.least() => {
                format!("too short to be steady: that takes {} at least; {more}", seconds_said(self.least()))
            }
            lasts if lasts < self.with_room() => format!("{can}; {more}"),
            _ => can,
        }
    }
}

/// Of each switch some of whose links of a class are down for good: the others, and how much they are offered of what
/// they carry, if it is more than that and `each` is offered so many bits per second where all are up.
fn beside_dead(
    topology: &Topology,
    dead: &BTreeSet<usize>,
    ((from, to), each_bps): ((u8, u8), f64),
) -> Vec<(String, f64)> {
    let tier = |node: u32| topology.nodes[node as usize].tier;
    // What goes up is the lower switch's to spread; what comes down must come to it.
    let lower = |link: usize| if from < to { topology.links[link].src } else { topology.links[link].dst };
    let is_of_class =
        |&link: &usize| (tier(topology.links[link].src), tier(topology.links[link].dst)) == (from, to);
    let hurt: BTreeSet<u32> = dead.iter().filter(|link| is_of_class(link)).map(|&link| lower(link)).collect();
    let crowded = |node: u32| {
        let own: Vec<usize> =
            (0..topology.links.len()).filter(|link| is_of_class(link) && lower(*link) == node).collect();
        let left_bps: u64 = own
            .iter()
            .filter(|link| !dead.contains(link))
            .map(|&link| topology.links[link].rate.as_bps())
            .sum();
        let load = each_bps * own.len() as f64 / left_bps as f64;
        let which = if from < to { "up from" } else { "down to" };
        (left_bps > 0 && load >= 1.0)
            .then(|| (format!("the links left {which} {}", topology.node_name(node)), load))
    };
    // Between hosts and their switches there is no other link.
    if from == 0 || to == 0 { Vec::new() } else { hurt.into_iter().filter_map(crowded).collect() }
}

/// Of hosts that receive slowly for good: their links, and how much these are offered of what the host takes, if it is
/// more than that and `each` is offered so many bits per second.
fn to_slow_receivers(faults: &[Values], topology: &Topology, each_bps: f64) -> Vec<(String, f64)> {
    let lasting = faults.iter().filter(|fault| {
        fault.kind == "slow-receiver"
            && fault.time("at") != Time::NEVER
            && fault.optional_time("until").is_none()
    });
    let slow = lasting.filter_map(|fault| {
        let load = each_bps / fault.rate("rate").as_bps() as f64;
        let is_known = topology.nodes_called(&fault.text("host"), "host").is_ok();
        (is_known && load >= 1.0)
            .then(|| (format!("links to the slow receiver {}", fault.text("host")), load))
    });
    slow.collect()
}

/// How irregular arrivals are that go by the clock; `None` if a source that counts does not.
fn irregularity(workloads: &[Values]) -> Option<f64> {
    let of = |source: &Values| {
        let kind = source.component("arrivals").kind;
        BY_THE_CLOCK.iter().find(|(name, _)| *name == kind).map(|(_, variation)| *variation)
    };
    workloads.iter().map(of).try_fold(0.0, |most: f64, one| Some(most.max(one?)))
}

/// For how long flows arrive, and how many.
fn arrivals(case: &Case, env: &Environment, rate: f64) -> Option<(f64, f64)> {
    if case.workloads.iter().any(|source| source.optional_count("flows").is_some()) {
        return None;
    }
    let by_flows = env.flow_limit.map(|flows| flows as f64 / rate);
    let by_time = env.duration.map(Time::as_secs_f64);
    let lasts = [by_flows, by_time].into_iter().flatten().min_by(f64::total_cmp)?;
    Some((lasts, (lasts * rate).round()))
}

/// The classes of links that flows cross, by the tiers that they join; `None` if no flow tells.
fn classes(case: &Case, env: &Environment, topology: &Topology) -> Option<BTreeMap<(u8, u8), Class>> {
    let mut classes: BTreeMap<(u8, u8), Class> = BTreeMap::new();
    let tiers = |link: &crate::topology::Link| {
        let [from, to] = [link.src, link.dst].map(|node| topology.nodes[node as usize].tier);
        (from, to)
    };
    for link in &topology.links {
        let class = classes.entry(tiers(link)).or_default();
        let bps = link.rate.as_bps() as f64;
        class.slowest_bps = if class.links == 0 { bps } else { class.slowest_bps.min(bps) };
        class.links += 1;
        class.bps += bps;
    }
    let env = Environment { flow_limit: Some(SAMPLED_FLOWS), duration: None, ..env.clone() };
    let mut workload = Workload::build(&case.workloads, &env).ok()?;
    let mut crossings: BTreeMap<(HostId, HostId), u64> = BTreeMap::new();
    let mut sampled = 0;
    while sampled < SAMPLED_FLOWS
        && let Some(flow) = workload.next_flow()
    {
        *crossings.entry((flow.src, flow.dst)).or_default() += 1;
        sampled += 1;
    }
    for (&(src, dst), &times) in &crossings {
        for hop in hops(topology, src, dst) {
            let class = classes.get_mut(&tiers(hop.link())).expect("a path is made of links");
            class.crossings += times as f64 / sampled as f64;
        }
    }
    classes.retain(|_, class| class.crossings > 0.0);
    Some(classes)
}

/// Rounded up to two significant digits.
fn two_digits(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = libm::pow(10.0, libm::floor(libm::log10(value)) - 1.0);
    (value / unit - 1e-9).ceil() * unit
}

/// The case, with "auto" replaced by the time that it comes to.
///
/// # Errors
/// If no flow arrives by the clock, or at no known rate.
pub(super) fn with_warm_up(
    mut case: Case,
    workload: &Workload,
    env: &Environment,
    topology: &Topology,
) -> Result<Case, Complaint> {
    if matches!(case.run.get("warm_up"), Value::Text(_)) {
        let settling = Settling::of(&case, workload, env, topology).ok_or_else(|| {
            let message = "\"auto\" is worked out from the rate at which flows arrive by the clock, and from the rate of the \
                           hosts' links, which must be one; write a time such as \"5ms\"";
            Complaint::new("run.warm_up", message)
        })?;
        case.run.entries.insert("warm_up".to_owned(), Value::Time(settling.warm_up()));
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::simulation::Simulation;
    use std::path::Path;

    fn simulation(topology: &str, workload: &str, run: &str) -> Result<Simulation, Complaint> {
        let toml = format!(
            "[topology]\n{topology}\n[[workload]]\n{workload}\n[[scheme]]\nname = \"X\"\ntransport = \"tcp\"\n\
             queue = \"drop-tail\"\n[run]\n{run}\n"
        );
        let scenario = Scenario::from_toml(&toml, "test.toml", Path::new(""))
            .map_err(|problems| Complaint::new("", problems.to_string()))?;
        Simulation::new(scenario.cases().next().expect("a case"))
    }

    fn warm_up_ms(simulation: &Simulation) -> f64 {
        simulation.setting.case.run.time("warm_up").as_ns_f64() / 1e6
    }

    const RACK: &str = "kind = \"rack\"\nhosts = 4\nlink = { rate = \"10Gbps\", delay = \"1us\" }";
    const FIXED: &str = "sizes = { kind = \"constant\", size = \"1.25MB\" }\narrivals = \"poisson\"\npattern = \"random-pairs\"";

    /// 1.25 MB takes 1 ms; (1 + 0) / 2.8 / (1 - sqrt(0.64))^2 = 8.93.
    #[test]
    fn auto_is_the_time_constant_of_odoni_and_roth() {
        let run = "loads = [0.64]\nduration = \"1s\"\nwarm_up = \"auto\"";
        let long = simulation(RACK, FIXED, run).unwrap();
        assert!((warm_up_ms(&long) - 9.0).abs() < 1e-6, "{}", warm_up_ms(&long));
        assert!(facts(&long)[0].contains("; steady if 99 % of flows take less than "), "{:?}", facts(&long));
        let short = simulation(RACK, FIXED, &run.replace("1s", "15ms")).unwrap();
        assert!((warm_up_ms(&short) - 5.0).abs() < 1e-6, "a third of what there is: {}", warm_up_ms(&short));
        let fact = &facts(&short)[0];
        assert!(fact.contains("too short to be steady: that takes 35.7 ms at least"), "{fact}");
    }

    /// 1.25 MB takes 1 ms alone and 2.78 ms at a fair share of links that are offered 0.64.
    #[test]
    fn what_a_scheme_may_take_is_said_and_how_many_flows_have_room_for_it() {
        let of = |duration: &str| {
            simulation(RACK, FIXED, &format!("loads = [0.64]\nduration = \"{duration}\"")).unwrap()
        };
        // Four hosts at 0.64 of 10 Gb/s, in flows of 1.25 MB and headers: 89 in four times the 8.93 ms of queues, which
        // is longer than four times three times 2.78 ms.
        assert_eq!(of("1s").settling().and_then(|known| known.needed_flows()), Some((89.0, 89.0)));
        let light = simulation(RACK, FIXED, "loads = [0.1]\nduration = \"10ms\"").unwrap();
        let fact = &facts(&light)[0];
        assert!(fact.contains("99 % of flows take less than 2.5 ms; flows = "), "{fact}");
        assert!(fact.ends_with("has room for 3.33 ms, 3 times the largest flow's at a fair share"), "{fact}");
        assert_eq!(light.settling().and_then(|known| known.needed_flows()), Some((2.0, 6.0)));
    }

    #[test]
    fn two_classes_of_links_that_are_offered_too_much_are_the_finding() {
        let network = "kind = \"leaf-spine\"\nspines = 1\nleaves = 2\nhosts_per_leaf = 4\n\
                       link = { rate = \"10Gbps\", delay = \"1us\" }";
        let case =
            simulation(network, FIXED, "loads = [0.7]\nduration = \"90ms\"\nwarm_up = \"auto\"").unwrap();
        // Of 7 others 4 are at the other leaf: 4 × 0.7 × 4/7.
        let facts = facts(&case);
        assert!(facts[0].ends_with("it cannot be steady"), "{facts:?}");
        assert_eq!(facts.len(), 3);
        for fact in &facts[1..] {
            let times: f64 = fact.split(' ').find_map(|word| word.parse().ok()).expect("a number");
            assert!(
                (1.52..1.68).contains(&times) && fact.contains("no run at this load is steady"),
                "{fact}"
            );
        }
        assert!((warm_up_ms(&case) - 30.0).abs() < 1e-6);
    }

    /// Of a class's links one is slow: on average they carry what they are offered, that one does not.
    #[test]
    fn a_slow_link_is_named_that_an_even_share_overloads() {
        let network = "kind = \"hpcc\"\nfile = \"../../examples/slow-link.txt\"";
        let case = simulation(network, FIXED, "loads = [0.5]\nduration = \"20ms\"").unwrap();
        let facts = facts(&case);
        assert_eq!(facts.len(), 2, "{facts:?}");
        // Of 31 others 24 are at other leaves: 0.5 × 8 × 24/31 × 10 Gb/s over four uplinks, of which one has 2.5 Gb/s.
        for fact in &facts[1..] {
            let times: f64 = fact.split(' ').find_map(|word| word.parse().ok()).expect("a number");
            assert!((3.0..3.2).contains(&times) && fact.contains("at 2.5Gbps"), "{fact}");
        }
        let needed = case.settling().and_then(|known| known.needed_flows());
        assert_eq!(needed.map(|(_, with_room)| with_room), facts_flows(&facts[0]));
    }

    fn facts(simulation: &Simulation) -> Vec<String> {
        simulation.settling().expect("flows that arrive by the clock").facts()
    }

    /// The number of flows that the fact names.
    fn facts_flows(fact: &str) -> Option<f64> {
        fact.rsplit_once("flows = ")?.1.split(' ').next()?.parse().ok()
    }

    #[test]
    fn auto_needs_arrivals_by_the_clock() {
        let at_once = FIXED.replace("poisson", "at-once");
        let refused = simulation(RACK, &at_once, "warm_up = \"auto\"").unwrap_err();
        assert_eq!(refused.key, "run.warm_up");
        assert!(refused.message.contains("by the clock"), "{refused:?}");
    }

    #[test]
    fn links_beside_a_dead_one_may_be_offered_more_than_they_carry() {
        let settling = |load: f64, fault: &str| {
            let topology = "kind = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 4\nspines = 2\nlink = { rate = \"10Gbps\", delay = \"1us\" }";
            let run = format!("loads = [{load}]\nflows = 1000\n{fault}");
            simulation(topology, "sizes = { kind = \"constant\", size = \"100KB\" }", &run)
                .expect("a case")
                .settling()
                .expect("flows arrive by the clock")
        };
        let dead = "[[fault]]\nkind = \"link-down\"\nbetween = [\"leaf0\", \"spine0\"]\nat = \"1ms\"\n";
        assert!(!settling(0.4, "").is_overloaded() && !settling(0.2, dead).is_overloaded());
        // Each uplink is offered 0.4 * 4 * 12 / 15 / 2 of its rate.
        let crowded = settling(0.4, dead).crowded;
        let load = 0.4 * 4.0 * 12.0 / 15.0 * 1500.0 / 1460.0;
        assert_eq!(
            crowded.iter().map(|(links, _)| &links[..]).collect::<Vec<_>>(),
            ["the links left up from leaf0", "the links left down to leaf0",]
        );
        assert!(crowded.iter().all(|(_, found)| (found / load - 1.0).abs() < 0.05), "{crowded:?}");
        let mended = format!("{dead}until = \"2ms\"\n");
        assert!(!settling(0.4, &mended).is_overloaded());
    }

    #[test]
    fn a_slow_receiver_may_be_offered_more_than_it_takes() {
        let settling = |load: f64, until: &str| {
            let toml = format!(
                "[topology]\n{RACK}\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"100KB\" }}\nclass = 3\n\
                 [[scheme]]\nname = \"X\"\ntransport = \"roce\"\nqueue = \"shared-buffer\"\n\
                 [run]\nloads = [{load}]\nflows = 1000\n\
                 [[fault]]\nkind = \"slow-receiver\"\nhost = \"host0\"\nrate = \"2Gbps\"\nat = \"1ms\"\n{until}"
            );
            let scenario = Scenario::from_toml(&toml, "test.toml", Path::new("")).expect("a scenario");
            let simulation = Simulation::new(scenario.cases().next().expect("a case")).expect("it is sound");
            simulation.settling().expect("flows arrive by the clock")
        };
        assert!(!settling(0.15, "").is_overloaded());
        let crowded = settling(0.4, "").crowded;
        let [(links, found)] = &crowded[..] else { panic!("{crowded:?}") };
        assert_eq!(links, "links to the slow receiver host0");
        let load = 0.4 * 10.0 / 2.0;
        assert!((found / load - 1.0).abs() < 0.1, "{found}");
        assert!(!settling(0.4, "until = \"2ms\"\n").is_overloaded());
    }
}
