//! Centrally controlled transports: SYN, which gives out slots, and ASY, which gives out rates.
//!
//! The controller looks at the servers' queues and never at switches. So what it decides can be worked out for the
//! whole run first, from the flows alone: `syn` and `asy` plan when each packet leaves its server, and by which
//! path. Then the engine carries the packets through the network's queues (`carrier`).

mod asy;
mod carrier;
mod lengths;
mod settings;
mod syn;
mod traffic;

pub use asy::Normalisations;
pub use carrier::{Book, Carrier};
pub use settings::ControlTraffic;

use crate::flow::Flow;
use crate::packet::Format;
use crate::record::QueueRecorder;
use crate::spec::{self, Complaint, Component, Registered, Values};
use crate::topology::Topology;
use crate::units::Time;
use lengths::{FULL_BYTES, Lengths};
use settings::Channel;
use std::sync::{Arc, Mutex};
use syn::Fabric;
use traffic::{Queues, Traffic};

/// Plans all departures from a network's queues, over a channel, with a seed, until a time; returns how long the
/// rates took to compute, if it allocates rates.
type Decide =
    fn(&Values, &Traffic, &Topology, &mut Queues<'_>, &mut Channel, u64, Time) -> Option<Normalisations>;

const CONTROLLERS: &[Registered<Decide>] = &[
    Registered { component: syn::COMPONENT, factory: syn::plan },
    Registered { component: asy::COMPONENT, factory: asy::plan },
];

/// The transports.
pub const COMPONENTS: &[Component] = &spec::components::<_, { CONTROLLERS.len() }>(CONTROLLERS);

/// How long packets can be.
pub const LENGTH_COMPONENTS: &[Component] = lengths::COMPONENTS;

/// Packets as the load counts them: lengths include headers.
pub const FORMAT: Format = Format { mss_bytes: FULL_BYTES as u64, header_bytes: 0 };

/// The smallest packet: a flow's last byte.
pub const SMALLEST_PACKET_BYTES: u64 = 1;

/// Whether a transport is one of these.
pub fn is_central(transport: &str) -> bool {
    COMPONENTS.iter().any(|component| component.kind == transport)
}

/// What must hold of a scheme on a network.
///
/// # Errors
/// Where paths would be chosen by nothing or twice, or the controller can't find paths.
pub fn check(transport: &str, routing: &str, topology: &Topology) -> Result<(), Complaint> {
    let complain = |key, message: String| Err(Complaint::new(key, message));
    match (transport, routing) {
        ("syn", "controller") | ("asy", "ecmp" | "spray-random" | "spray-round-robin" | "permutation") => {}
        ("syn", _) => {
            return complain(
                "scheme.routing",
                "syn's controller chooses paths; write \"controller\"".to_owned(),
            );
        }
        (_, "controller") => {
            return complain(
                "scheme.routing",
                format!("{transport} has no controller; write another, such as \"ecmp\""),
            );
        }
        _ => {}
    }
    if transport == "syn" && (topology.tier_names.len() > 3 || topology.routes().is_some()) {
        return complain(
            "topology.kind",
            "syn's controller knows leaves and spines (SYN and ASY §II-A); write \"leaf-spine\", or another transport, \
             such as \"asy\""
                .to_owned(),
        );
    }
    if is_central(transport) && !topology.hosts_are_alike() {
        let message = format!(
            "the hosts' links differ in rate, and {transport}'s controller plans for servers that are alike (SYN and ASY \
             §II); write another transport, such as \"dctcp\""
        );
        return complain("scheme.transport", message);
    }
    if transport == "syn" && !Fabric::of(topology).carries_any_matching() {
        let message =
            "syn needs spines that carry all that a leaf's servers send; write more spines or a faster link";
        return complain("topology.spines", message.to_owned());
    }
    Ok(())
}

/// Whether a transport's packets are shorter than they must be.
pub fn cuts_up(transport: &Values) -> bool {
    is_central(&transport.kind) && transport.component("lengths").kind != "full"
}

/// What a run's controller decided, and what it took.
#[derive(Debug)]
pub struct Plan {
    /// What hosts go by.
    pub book: Arc<Book>,
    /// The queue lengths at each server, if they are recorded.
    pub servers: Option<Vec<QueueRecorder>>,
    /// Reports, grants and rates.
    pub control: ControlTraffic,
    /// What rates took to work out, if it gave out rates.
    pub normalisations: Option<Normalisations>,
}

impl Plan {
    /// Decides for all flows, given in order of identity and of start.
    pub fn new(
        values: &Values,
        flows: Vec<Flow>,
        topology: &Topology,
        seed: u64,
        until: Time,
        recorder: Option<&QueueRecorder>,
    ) -> Plan {
        let lengths = Lengths::build(&values.component("lengths"));
        let traffic = Traffic::new(flows, lengths, seed);
        let mut queues = Queues::new(&traffic, topology.hosts, recorder);
        let mut channel = Channel::new(values, seed);
        let decide = spec::factory(CONTROLLERS, &values.kind);
        let normalisations = decide(values, &traffic, topology, &mut queues, &mut channel, seed, until);
        let (departures, servers) = queues.finish();
        Plan {
            book: Arc::new(Book { traffic, departures, latencies_ps: Mutex::default() }),
            servers,
            control: channel.traffic(),
            normalisations,
        }
    }

    /// How long packets waited at their servers, in ps.
    pub fn server_latencies_ps(&self) -> Vec<u64> {
        let Book { traffic, departures, .. } = &*self.book;
        let of_flow = |(index, flow): (usize, &Flow)| {
            let left = departures.at[traffic.packets_of(index)].iter().filter(|at| **at != Time::NEVER);
            left.map(|at| (*at - flow.start).as_ps()).collect::<Vec<u64>>()
        };
        traffic.flows.iter().enumerate().flat_map(of_flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::simulation::Simulation;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// 4 leaves of 6 servers at 1 Gb/s, 3 spines at 2 Gb/s, load 0.9: what the controller decides.
    fn planned(transport: &str, routing: &str) -> (Plan, Topology) {
        let scenario = format!(
            "[topology]\nkind = \"leaf-spine\"\nspines = 3\nleaves = 4\nhosts_per_leaf = 6\n\
             link = {{ rate = \"2Gbps\", delay = \"0.5us\" }}\nhost_link = {{ rate = \"1Gbps\", delay = \"0.5us\" }}\n\
             [[workload]]\nsizes = {{ kind = \"exponential\", mean = \"46kB\" }}\n\
             [[scheme]]\nname = \"any\"\ntransport = {transport}\nqueue = \"drop-tail\"\nrouting = \"{routing}\"\n\
             [run]\nloads = [0.9]\nflows = 2000\n"
        );
        let scenario = Scenario::from_toml(&scenario, "test", Path::new("")).expect("a sound scenario");
        let case = scenario.cases().next().expect("a case");
        let topology = Topology::build(&case.topology).expect("a topology");
        let transport = case.scheme.component("transport");
        let simulation = Simulation::new(case).expect("a sound case");
        (Plan::new(&transport, simulation.flows(), &topology, 1, Time::NEVER, None), topology)
    }

    #[test]
    fn a_slot_is_a_matching_and_no_link_carries_more_than_its_lanes() {
        let slot_ps = 12_000_000;
        for order in ["ocf", "srjf", "mmf", "least-recent"] {
            let (plan, _) = planned(&format!("{{ kind = \"syn\", order = \"{order}\" }}"), "controller");
            let Book { traffic, departures, .. } = &*plan.book;
            let mut uses: BTreeMap<(u64, &str, u32, u32), u32> = BTreeMap::new();
            for (index, flow) in traffic.flows.iter().enumerate() {
                for packet in traffic.packets_of(index) {
                    let at = departures.at[packet];
                    assert!(at >= flow.start && at.as_ps() % slot_ps == 0, "{at} is no slot of its own");
                    let (slot, spine) = (at.as_ps() / slot_ps, u32::from(departures.path[packet]));
                    let (from, to) = (flow.src / 6, flow.dst / 6);
                    *uses.entry((slot, "sends", flow.src, 0)).or_default() += 1;
                    *uses.entry((slot, "receives", flow.dst, 0)).or_default() += 1;
                    if from != to {
                        *uses.entry((slot, "up", from, spine)).or_default() += 1;
                        *uses.entry((slot, "down", to, spine)).or_default() += 1;
                    }
                }
            }
            for ((slot, what, one, other), uses) in uses {
                let lanes = if what == "up" || what == "down" { 2 } else { 1 };
                assert!(uses <= lanes, "{order}: slot {slot}: {one} {what} {other} {uses} times");
            }
            assert_eq!(plan.control.grants, traffic.bytes.len() as u64, "a grant for each packet");
            assert_eq!(plan.control.reports, traffic.flows.len() as u64, "a report of each flow");
        }
    }

    #[test]
    fn rates_are_normalised_until_they_settle_and_decisions_that_did_not_are_counted() {
        let settled = planned("{ kind = \"asy\" }", "ecmp").0.normalisations.expect("rates");
        assert!(settled.decisions > 2000 && settled.rounds > 5 * settled.decisions, "{settled:?}");
        assert_eq!(settled.unsettled, 0);
        let cut = planned("{ kind = \"asy\", rounds = 5 }", "ecmp").0.normalisations.expect("rates");
        assert!(cut.unsettled > cut.decisions / 2 && cut.rounds <= 5 * cut.decisions, "{cut:?}");
        assert_eq!(planned("{ kind = \"syn\" }", "controller").0.normalisations, None);
    }

    #[test]
    fn buckets_never_send_more_than_a_link_carries() {
        let (plan, _) = planned("{ kind = \"asy\" }", "ecmp");
        let Book { traffic, departures, .. } = &*plan.book;
        let mut sent: BTreeMap<u32, Vec<(Time, u16)>> = BTreeMap::new();
        for (index, flow) in traffic.flows.iter().enumerate() {
            let packets =
                traffic.packets_of(index).map(|packet| (departures.at[packet], traffic.bytes[packet]));
            sent.entry(flow.src).or_default().extend(packets);
        }
        for packets in sent.values_mut() {
            packets.sort_unstable();
            for two in packets.windows(2) {
                assert!(two[1].0 - two[0].0 >= Time::from_ns(8 * u64::from(two[0].1)), "{two:?}");
            }
        }
    }
}
