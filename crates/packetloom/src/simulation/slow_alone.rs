//! Whether a flow that has the network for itself fills its links. One whose transport has constants of another line
//! rate, or of shorter ways, does not, whatever else it is compared by.

use super::bare::{SEED, without_traffic};
use super::{Monitor, Setting, Simulation};
use crate::flow::{Flow, HostId};
use crate::measure::FlowRow;
use crate::narrow::exact;
use crate::routing::Tracer;
use crate::scenario::Case;
use crate::spec::{Complaint, Value, Values};
use crate::topology::{Hop, MessageCosts, Topology, best_fct, hops};
use crate::transport::{self, PacketFormat};
use crate::units::{Rate, Time, seconds_said};
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A flow has what its path holds so many times over, so that how it starts matters little.
const TIMES_PATH: u64 = 100;
/// But no fewer bytes and no more than these: a run of some milliseconds.
const LEAST_BYTES: u64 = 5_000_000;
const MOST_BYTES: u64 = 50_000_000;
/// One that takes so many times as long as its links need is slow.
const SLOW: f64 = 1.25;
/// A run ends after so many times that.
const MOST_TIMES: u64 = 20;
/// And after so many packet-hops, or so long: then nothing is said.
const MOST_HOPS: u64 = 4_000_000;
const LONGEST: Duration = Duration::from_secs(1);
/// Networks with more hosts take too long to build once more.
const MOST_HOSTS: u32 = 4096;

/// What was found in this process, by what it is of.
static KNOWN: Mutex<BTreeMap<String, Option<Complaint>>> = Mutex::new(BTreeMap::new());

/// The network and the scheme of a case with nothing to do, which is built sooner than its traffic.
fn idle(case: &Case) -> Option<Simulation> {
    Simulation::with(without_traffic(case), |_, _| Ok(Workload::of_flows(Vec::new()))).ok()
}

/// What a flow of a case has before it from one half of the network to the other; of a scheme with packets.
pub fn path_across(case: &Case) -> Option<PathAcross> {
    idle(case)?.path_across()
}

/// That a flow of a case that has the network for itself is slow, if it is.
pub fn slow_alone(case: &Case) -> Option<Complaint> {
    idle(case)?.slow_alone()
}

impl Simulation {
    /// What a flow has before it from one half of the network to the other; of a scheme with packets.
    fn path_across(&self) -> Option<PathAcross> {
        let (case, topology) = (&self.setting.case, &self.setting.topology);
        let (transport, hosts) = (case.scheme.component("transport"), topology.working_hosts());
        transport::find(&transport.kind).filter(|_| hosts > 1)?;
        PathAcross::of(topology, (0, hosts / 2), PacketFormat::of(&transport))
    }

    /// That a flow from one half of the network to the other, with nothing beside it, is slow. What can't be simulated
    /// packet by packet, what is too large, and classes of the user's are not looked at.
    pub(super) fn slow_alone(&self) -> Option<Complaint> {
        let (case, topology) = (&self.setting.case, &self.setting.topology);
        let transport = case.scheme.component("transport");
        if has_user_class(&case.scheme) {
            return None;
        }
        let path = self.path_across().filter(|_| topology.working_hosts() <= MOST_HOSTS)?;
        let mut bare = without_traffic(case);
        bare.run.entries.remove("fidelity");
        let key = bare.identity();
        if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let size_bytes = (TIMES_PATH * path.holds_bytes).clamp(LEAST_BYTES, MOST_BYTES);
        let class = case.workloads.first().map_or(0, |workload| workload.count("class"));
        let flow = path.flow(size_bytes, exact::<u8>(class));
        let MessageCosts { send, receive } = topology.message_costs;
        let best = send + best_fct(topology, self.setting.format, flow.src, flow.dst, size_bytes) + receive;
        bare.run.entries.insert("max_time".to_owned(), Value::Time(best.times(MOST_TIMES)));
        let alone = Simulation::with(bare, |_, _| Ok(Workload::of_flows(vec![flow]))).ok()?;
        let outcome = alone.run_together(&Monitor::until((0, MOST_HOPS), LONGEST)).ok()?;
        if outcome.cancelled {
            return None;
        }
        let row = outcome.flows.first()?;
        let is_slow = |best: &Time| row.fct().is_none_or(|fct| times(fct, *best) >= SLOW);
        let best = Some(best).filter(is_slow).map(|best| best.max(self.by_slowest(&flow))).filter(is_slow);
        let found = best.map(|best| path.complaint(&transport.kind, row, best));
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.clone());
        found
    }

    /// What a flow takes by the slowest of the links that the routing may take it over.
    fn by_slowest(&self, flow: &Flow) -> Time {
        let Setting { topology, case, format, flow_ports, .. } = &self.setting;
        let routing = case.scheme.component("routing");
        let mut tracer = Tracer::new(topology, &routing, flow_ports.as_ref(), SEED);
        let links = tracer.spread(0, 0, flow.src, flow.dst);
        let rates = links.iter().map(|&(link, _)| topology.links[link as usize].rate);
        let packets = format.packets(flow.size_bytes);
        let wire_bytes = flow.size_bytes + packets * (format.header_bytes + topology.framing_bytes);
        rates.min().map_or(Time::ZERO, |rate| topology.byte_time(rate).of(wire_bytes))
    }
}

/// Whether a part of a scheme is a class of the user's, which may never return.
fn has_user_class(scheme: &Values) -> bool {
    let parts = ["transport", "queue", "nic", "routing"].map(|key| scheme.optional_component(key));
    parts.into_iter().flatten().any(|part| part.kind.starts_with("python"))
}

/// How many times as long as another time one is.
fn times(one: Time, other: Time) -> f64 {
    one.as_ps() as f64 / other.as_ps().max(1) as f64
}

/// A path and what is on it while a packet and its answer travel.
#[derive(Clone, Copy, Debug)]
pub struct PathAcross {
    ends: (HostId, HostId),
    /// Of its slowest link.
    pub rate: Rate,
    /// From the start of a full packet to its answer's arrival, if nothing waits.
    pub rtt: Time,
    /// Bytes that its slowest link carries in that time.
    pub holds_bytes: u64,
    /// Bytes of a full packet.
    pub packet_bytes: u64,
}

impl PathAcross {
    /// From one host to another, if there is one.
    fn of(topology: &Topology, (src, dst): (HostId, HostId), format: PacketFormat) -> Option<PathAcross> {
        let (there, back) = (hops(topology, src, dst), hops(topology, dst, src));
        let rate = there.iter().map(|hop| hop.link().rate).min()?;
        let full_bytes = format.data.mss_bytes + format.data.header_bytes;
        let answer_bytes = u64::from(format.ack_bytes);
        let takes =
            |bytes: u64, way: &[Hop<'_>]| way.iter().map(|hop| hop.until_ready(bytes).as_ps()).sum::<u64>();
        let rtt = Time(takes(full_bytes, &there) + takes(answer_bytes, &back));
        let holds_bytes = u128::from(rate.as_bps()) * u128::from(rtt.as_ps()) / 8_000_000_000_000;
        let holds_bytes = exact::<u64>(holds_bytes);
        Some(PathAcross { ends: (src, dst), rate, rtt, holds_bytes, packet_bytes: full_bytes })
    }

    fn flow(&self, size_bytes: u64, class: u8) -> Flow {
        let (src, dst) = self.ends;
        let (start, deadline) = (Time::ZERO, Time::NEVER);
        Flow { id: 0, src, dst, size_bytes, start, deadline, class, source: 0, chain: None }
    }

    /// What to say of a flow that took longer than `best`, or did not end.
    fn complaint(&self, kind: &str, row: &FlowRow, best: Time) -> Complaint {
        let took =
            row.fct().map_or(format!("more than {MOST_TIMES}"), |fct| format!("{:.1}", times(fct, best)));
        let again = match row.report.retransmissions {
            0 => String::new(),
            packets => format!(", with {packets} packets sent again"),
        };
        let kilobytes = row.flow.size_bytes / 1_000;
        let size = match kilobytes {
            0..1_000 => format!("{kilobytes} KB"),
            _ => format!("{} MB", (kilobytes / 10) as f64 / 100.0),
        };
        let message = format!(
            "alone on the network, a flow of {size} takes {took} times as long as its links need{again}: windows, rates or \
             timeouts of {kind} are made for another network than {} and a round trip of {}, in which a path holds {} B; \
             `packetloom new --scheme {kind} --rate {}` writes some for that rate",
            self.rate,
            seconds_said(self.rtt.as_secs_f64()),
            self.holds_bytes,
            self.rate,
        );
        Complaint::new("scheme.transport", message)
    }
}
