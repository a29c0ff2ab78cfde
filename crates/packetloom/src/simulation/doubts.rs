//! What a case is allowed to be, but was probably not meant to be: what only its network and its traffic together show.

use super::Simulation;
use super::circles::wait_in_circles;
use super::network_facts::base_rtts;
use crate::fault::Faults;
use crate::flow::HostId;
use crate::narrow::exact;
use crate::queue::Specification;
use crate::routing::{self, Tracer};
use crate::spec::{Complaint, Value, Values};
use crate::topology::Topology;
use crate::transport::PacketFormat;
use crate::units::{Time, seconds_said};
use crate::workload::{SourceFacts, Workload};
use std::collections::BTreeMap;

/// So many flows show where the traffic goes: what they say of a tier's links is right within some 1 %.
const SAMPLED: usize = 16_384;

/// Links are called overloaded from here on, so that no chance of the sample says so.
const OVERLOADED: f64 = 1.02;

/// So many hosts that are cut off are named.
const MOST_NAMED: usize = 4;

impl Simulation {
    /// Doubts about a case, by keys of the scenario; a case's own scheme is called `scheme`.
    pub fn doubts(&self) -> Vec<Complaint> {
        let case = &self.setting.case;
        let of_traffic = [self.overloaded(), self.all_too_early(), self.never_slower()];
        let mut doubts: Vec<Complaint> = of_traffic
            .into_iter()
            .chain([self.acknowledged_too_seldom(), self.slow_alone()])
            .flatten()
            .chain(cut_off(&self.setting.faults, &self.setting.topology))
            .collect();
        doubts.extend(repeated_in_vain(&case.scheme, &self.setting.topology));
        let queue = case.scheme.optional_component("queue").map(|queue| Specification::of(&queue));
        doubts.extend(queue.and_then(|queue| wait_in_circles(&queue, &self.setting.topology)));
        doubts
    }

    /// Whether flows come faster than the links of some tier carry them, as far as paths are even.
    pub(super) fn overloaded(&self) -> Option<Complaint> {
        let topology = &self.setting.topology;
        let routing = self.setting.case.scheme.optional_component("routing")?;
        let offered_bps = offered(self.workload.describe())?;
        let mut drawn = Workload::build(&self.setting.case.workloads, &self.environment).ok()?;
        let mut tracer =
            Tracer::new(topology, &routing, self.setting.flow_ports.as_ref(), self.environment.seed);
        // By the tiers and the rate of the links: what of all packets crosses one of them.
        let mut crossed: BTreeMap<(u8, u8, u64), f64> = BTreeMap::new();
        let class = |link: u32| {
            let link = topology.links[link as usize];
            let [from, to] = [link.src, link.dst].map(|node| topology.nodes[node as usize].tier);
            (from, to, link.rate.as_bps())
        };
        let mut flows = 0;
        while flows < SAMPLED
            && let Some(flow) = drawn.next_flow()
        {
            flows += 1;
            for (link, share) in tracer.spread(flow.id, 0, flow.src, flow.dst) {
                *crossed.entry(class(link)).or_default() += share;
            }
        }
        let mut carried: BTreeMap<(u8, u8, u64), u64> = BTreeMap::new();
        for (link, wire) in (0..).zip(&topology.links) {
            *carried.entry(class(link)).or_default() += wire.rate.as_bps();
        }
        let part = |(class, crossing): (&(u8, u8, u64), &f64)| {
            (offered_bps * crossing / f64::from(exact::<u32>(flows)) / carried[class] as f64, *class)
        };
        // What goes up comes down again: of equal ones the first, to within what rounding leaves.
        let all: Vec<_> = crossed.iter().map(part).collect();
        let most = all.iter().map(|(part, _)| *part).fold(0.0, f64::max);
        let &(most, (from, to, _)) = all.iter().find(|(part, _)| *part > most * (1.0 - 1e-9))?;
        // What hosts' own links are offered is the load itself, which says so.
        if most <= OVERLOADED || from == 0 {
            return None;
        }
        let [from, to] = [from, to].map(|tier| topology.tier_names[usize::from(tier)]);
        let advice = match self.setting.case.load {
            Some(load) => {
                format!(
                    "write a load up to {}, or a network with more between them",
                    two_digits_down(load / most)
                )
            }
            None => "write a lower rate, or a network with more between them".to_owned(),
        };
        let message = format!(
            "the flows offer the links from {from} to {to} {:.0} % of what these carry, so queues and delays grow for as long as flows start; {advice}",
            most * 100.0
        );
        Some(Complaint::new("run.loads", message))
    }

    /// Whether no flow is measured, because all start in the warm-up.
    fn all_too_early(&self) -> Option<Complaint> {
        let run = &self.setting.case.run;
        let Some(Value::Time(warm_up)) = run.entries.get("warm_up").cloned() else {
            return None;
        };
        let sources = self.workload.describe();
        let flows_per_second = sources.iter().map(|source| source.flows_per_second).sum::<Option<f64>>()?;
        let last = run.optional_count("flows")? as f64 / flows_per_second;
        // The last start is a sum of many gaps: it varies little.
        if warm_up == Time::ZERO || warm_up.as_secs_f64() < last * 1.1 {
            return None;
        }
        let last = seconds_said(last);
        let message = format!(
            "the last flow starts after about {last}, so hardly any is measured; write less, or more flows"
        );
        Some(Complaint::new("run.warm_up", message))
    }

    /// Whether senders' windows run dry before an acknowledgement is due: what one is of and what a path holds are more
    /// than the largest window.
    fn acknowledged_too_seldom(&self) -> Option<Complaint> {
        let (topology, transport) = (&self.setting.topology, self.setting.case.scheme.component("transport"));
        let Some(Value::Bytes(every)) = transport.entries.get("ack_every") else { return None };
        let Some(Value::Number(windows)) = transport.entries.get("max_window") else { return None };
        let format = PacketFormat::of(&transport);
        let full_bytes = format.data.mss_bytes + format.data.header_bytes;
        let has_window = !transport.has("control") || transport.text("control") == "nscc";
        if *every <= full_bytes || !has_window {
            return None;
        }
        let [(.., rtt)] = base_rtts(topology, [full_bytes], format.ack_bytes)?;
        let holds = topology.nic_rate().as_bps() as f64 / 8.0 * rtt.as_secs_f64();
        let largest = (windows * holds).max(full_bytes as f64);
        if largest >= holds + *every as f64 {
            return None;
        }
        let message = format!(
            "a window is {largest:.0} B at most, and its path holds {holds:.0} B, so it runs dry before {every} B more are acknowledged; Ultra Ethernet's default, which is one for all rates, suits faster links; write {full_bytes}B, which is every packet"
        );
        Some(Complaint::new("scheme.transport.ack_every", message))
    }

    /// A floor of rates above every link's rate: no sender ever slows down.
    fn never_slower(&self) -> Option<Complaint> {
        let transport = self.setting.case.scheme.component("transport");
        let floor = transport.has("min_rate").then(|| transport.rate("min_rate"))?;
        let topology = &self.setting.topology;
        let fastest = (0..topology.hosts).map(|host| topology.rate_of(host)).max()?;
        let message = format!("hosts have {fastest} at most, so no flow ever slows down; write less");
        (floor >= fastest).then(|| Complaint::new("scheme.transport.min_rate", message))
    }
}

/// Two digits of a share, no more than it is.
fn two_digits_down(share: f64) -> f64 {
    let mut scale = 100.0;
    while share > 0.0 && share * scale < 10.0 {
        scale *= 10.0;
    }
    (share * scale).floor() / scale
}

/// What all sources offer, in bits per second on the wire; nothing where some source has no rate.
fn offered(sources: &[SourceFacts]) -> Option<f64> {
    let bps = |source: &SourceFacts| Some(8.0 * source.flows_per_second? * source.mean_wire_bytes);
    sources.iter().map(bps).sum()
}

/// Hosts that most others can't reach any more, from some fault on: theirs are flows that never end.
fn cut_off(faults: &Faults, topology: &Topology) -> Option<Complaint> {
    let numbers = faults.for_good();
    let number = numbers.first()?;
    let alone: Vec<HostId> = faults.islands(topology);
    if alone.is_empty() {
        return None;
    }
    let named: Vec<String> = alone.iter().take(MOST_NAMED).map(|&host| topology.node_name(host)).collect();
    let more = if alone.len() > MOST_NAMED {
        format!(" and {} more", alone.len() - MOST_NAMED)
    } else {
        String::new()
    };
    let message = format!(
        "cuts off {}{more} for good: flows to and from there never end; write until, or links with another way around",
        named.join(", ")
    );
    Some(Complaint::new(&format!("fault[{number}]"), message))
}

/// Go-back-N takes what was overtaken for lost, and a last packet that is ignored comes again by a timeout only.
fn repeated_in_vain(scheme: &Values, topology: &Topology) -> Option<Complaint> {
    let transport = scheme.component("transport");
    let goes_back = transport.has("recovery") && transport.text("recovery") == "go-back-n";
    let routing = scheme.optional_component("routing")?;
    let is_sprayed = goes_back && !routing::path_per_flow(&routing, topology).0;
    let message = "packets of a flow overtake each other here, go-back-n ignores what came too early, and without a timeout a flow whose last packets are ignored never ends; write rto = \"1ms\", or recovery = \"irn\"";
    (is_sprayed && !transport.has("rto")).then(|| Complaint::new("scheme.transport.rto", message))
}
