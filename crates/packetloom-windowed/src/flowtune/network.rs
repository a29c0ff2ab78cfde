//! What the allocator knows of the network: by which links each flow goes, and what they carry.
//!
//! Flowtune §7: where switches hash flows, the allocator has their hash function, and is told of failures. So here it
//! has routers like the switches', which learn of dead and slow links when those do.

use crate::engine::Plan;
use crate::fault::Faults;
use crate::flow::{FlowId, HostId};
use crate::narrow::exact;
use crate::packet::Packet;
use crate::routing::{self, Detours, Router};
use crate::spec::Values;
use crate::topology::KnownRates;
use crate::topology::Topology;
use crate::units::{Rate, Time};

/// The network, as switches know it.
#[derive(Clone, Debug)]
pub struct Network {
    topology: Topology,
    /// Those of the switches, which follow the hosts among the nodes.
    routers: Vec<Router>,
    known: KnownRates,
}

impl Network {
    /// As switches have it in a case.
    pub fn of(plan: &Plan<'_>) -> Network {
        let mut network = Network::new(plan.topology, plan.routing, plan.faults, plan.seed);
        if let Some(ports) = &plan.flow_ports {
            let routers = network.routers.into_iter();
            network.routers = routers.map(|router| router.with_ports(ports)).collect();
        }
        network
    }

    /// The same, where switches do not hash ports.
    pub fn new(topology: &Topology, routing: &Values, faults: &Faults, seed: u64) -> Network {
        let (outages, known) = (faults.known_outages(), faults.known_rates());
        let code = routing::path_code(routing, topology);
        let weights = routing::weights(routing, topology, &known);
        let detours = (!outages.is_empty()).then(|| Detours::of(topology, &outages));
        let router = |id: u32| {
            let mut router = Router::new(topology, id, routing, code.as_ref(), seed);
            if let Some(weights) = &weights {
                router = router.with_weights(weights[id as usize].clone());
            }
            if let Some(detours) = &detours {
                router = router.with_detours(detours[id as usize].clone(), id, seed);
            }
            router
        };
        let routers = (topology.hosts..exact::<u32>(topology.nodes.len())).map(router).collect();
        Network { topology: topology.clone(), routers, known }
    }

    /// What packets take on links beside their own bytes, and whether the network's clock counts whole nanoseconds.
    pub fn clock(&self) -> (u64, bool) {
        (self.topology.framing_bytes, self.topology.whole_ns)
    }

    /// The rate in which capacities are counted: that of the first host's link.
    pub fn unit(&self) -> Rate {
        self.topology.nic_rate()
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.topology.links.len()
    }

    /// Puts the links that a flow's packets cross from now on into `links`.
    pub fn links(
        &mut self,
        flow: FlowId,
        (src, dst): (HostId, HostId),
        now: Time,
        links: &mut impl Extend<u32>,
    ) {
        let packet = Packet::<()> { time: now, flow, src, dst, ..Packet::default() };
        let Topology { hosts, nodes, links: all, .. } = &self.topology;
        let mut link = nodes[src as usize].ports.start;
        links.extend([link]);
        while let Some(switch) = all[link as usize].dst.checked_sub(*hosts) {
            let port = self.routers[switch as usize].port_for(&packet);
            link = nodes[(hosts + switch) as usize].ports.start + port;
            links.extend([link]);
        }
    }

    /// What each link can carry, in [units](Network::unit). One that is known to be dead counts as whole: a flow that
    /// has no other way gets nothing through it whatever its rate.
    pub fn capacities(&self, now: Time, capacities: &mut Vec<f64>) {
        let unit = self.unit().as_bps() as f64;
        let known = self.known.iter().rev().find(|(from, _)| *from <= now).map(|(_, rates)| rates);
        let rate = |link: usize, whole: Rate| {
            let slow = known.and_then(|rates| rates.get(&link)).filter(|rate| rate.as_bps() > 0);
            slow.copied().unwrap_or(whole).as_bps() as f64 / unit
        };
        capacities.clear();
        capacities.extend(self.topology.links.iter().enumerate().map(|(link, at)| rate(link, at.rate)));
    }

    /// When switches learn of the first change after `now`, if they do.
    pub fn next_change(&self, now: Time) -> Option<Time> {
        self.known.iter().map(|(at, _)| *at).find(|at| *at > now && *at < Time::NEVER)
    }
}
