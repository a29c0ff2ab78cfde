//! What of a shared buffer is set aside for each link, and whether that is enough.

use super::{Pfc, Shares};
use crate::flow::HostId;
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::queue::Specification;
use crate::spec::Complaint;
use crate::topology::{Forwarding, Link, Topology};
use crate::units::{Rate, Time};

/// The packets that the memory managers of ConWeave's simulator count in.
pub(super) const CELL_BYTES: u64 = 1_048;

/// What a link's class has there without being paused, however full the pool (switch-mmu.cc, CheckShouldPause).
pub(super) const GUARANTEED_BYTES: u64 = 2 * CELL_BYTES;

/// What a link brings in after its class was paused.
#[derive(Clone, Copy, Debug)]
pub struct Headroom {
    rate: Rate,
    /// Of the link, and of the one back.
    latencies: [Time; 2],
    /// The packet that sets the PAUSE off.
    packet_bytes: u64,
    /// What the port may just have begun that is to pause, and the one that is to be paused.
    begun_bytes: [u64; 2],
    frame_bytes: u64,
    /// What is charged to headroom before the class can be paused.
    unpaused_bytes: u64,
}

impl Headroom {
    /// Of a link and the one that leads back.
    pub fn new(link: &Link, back: &Link, topology: &Topology, pfc: &Pfc, packet_bytes: u64) -> Headroom {
        let framing = topology.framing_bytes;
        let begun = |node| begun_bytes(node, link.rate, topology, packet_bytes + framing);
        Headroom {
            rate: link.rate,
            latencies: [link.latency, back.latency],
            packet_bytes: packet_bytes + framing,
            begun_bytes: [begun(link.dst), begun(link.src)],
            frame_bytes: pfc.pauses.frame_bytes + framing,
            unpaused_bytes: pfc.shares.by_mmu(0, GUARANTEED_BYTES),
        }
    }

    fn bytes_in(&self, time: Time) -> u64 {
        narrow::<u64>((u128::from(time.as_ps()) * u128::from(self.rate.as_bps())).div_ceil(8_000_000_000_000))
    }

    /// The worst case (IEEE 802.1Q Annex N, without interface delays): a packet exceeds the threshold and triggers
    /// the PAUSE; another packet on the wire delays the PAUSE; the PAUSE takes its time to the far end, where a
    /// packet has just begun; and what started there until then takes its time back. A port that cuts a packet through
    /// from a slower link is taken for as long as that takes. With pools, a class may have
    /// had nothing as the pool was full: all that it then has is headroom, but it is paused only beyond what it is
    /// guaranteed.
    pub fn needed(&self) -> u64 {
        let meanwhile = self.bytes_in(self.latencies[0] + self.latencies[1]);
        let begun: u64 = self.begun_bytes.iter().sum();
        meanwhile + self.packet_bytes + begun + self.frame_bytes + self.unpaused_bytes
    }

    /// What the buffer gives it.
    pub fn of(&self, pfc: &Pfc) -> u64 {
        let shares = &pfc.shares;
        let usual =
            if shares.filter.is_some() { 0 } else { shares.by_mmu(3 * self.bytes_in(self.latencies[0]), 0) };
        shares.headroom_bytes.unwrap_or_else(|| self.needed().max(usual))
    }
}

/// What a link of a rate carries while a port of a node is taken by one packet: as long as the packet takes by the slowest
/// link into a switch that cuts it through, and may not send what has not come.
fn begun_bytes(node: u32, rate: Rate, topology: &Topology, packet_bytes: u64) -> u64 {
    let cuts_through = matches!(topology.forwarding, Forwarding::CutThrough { underrun: false, .. });
    if !cuts_through || node < topology.hosts {
        return packet_bytes;
    }
    let into = topology.nodes[node as usize].ports.clone();
    let into = into.map(|link| topology.links[topology.link_back(link as usize)].rate.as_bps());
    let slowest = into.min().unwrap_or(rate.as_bps()).max(1);
    packet_bytes.max((packet_bytes * rate.as_bps()).div_ceil(slowest))
}

impl Pfc {
    /// What the links of a switch leave of its buffer to share, if anything; `headroom`: of each link, for one class.
    pub(super) fn shared_bytes(&self, headroom: &[u64]) -> Option<u64> {
        let classes = u64::from(self.pauses.lossless.count_ones());
        let of_links = self.shares.reserves(headroom.len());
        self.buffer_bytes().checked_sub(headroom.iter().sum::<u64>() * classes + of_links)
    }
}

impl Shares {
    /// What each link may use of the buffer beside the shared part and headroom.
    pub(super) fn reserve(&self) -> u64 {
        self.reserve_bytes.unwrap_or_else(|| self.by_mmu(4_096, CELL_BYTES))
    }

    /// What so many links leave of it where headroom is not kept apart, as ConWeave's simulator counts at egress.
    pub(super) fn shared_bytes_without_headroom(&self, links: usize) -> u64 {
        self.buffer_bytes.saturating_sub(self.reserves(links))
    }

    fn reserves(&self, links: usize) -> u64 {
        links as u64 * self.reserve() * self.by_mmu(1, super::CLASSES as u64)
    }
}

/// The headroom must be enough for each link, and leave memory to share, at every switch; and pauses must end, though
/// a RESUME `may_be_lost`.
///
/// # Errors
/// Where that does not hold, with the sum that says what it takes.
pub fn check_limits(
    queue: &Specification,
    topology: &Topology,
    packet_bytes: u64,
    may_be_lost: bool,
) -> Result<(), Complaint> {
    let Some(pfc) = &queue.pfc else { return Ok(()) };
    let mut of_nodes: Vec<Vec<Headroom>> = vec![Vec::new(); topology.nodes.len()];
    let links = topology.links.iter().enumerate();
    for (number, link) in links.filter(|(_, link)| topology.nodes[link.dst as usize].tier > 0) {
        let back = &topology.links[topology.link_back(number)];
        of_nodes[link.dst as usize].push(Headroom::new(link, back, topology, pfc, packet_bytes));
    }
    let [headroom, buffer, pause_time] =
        ["headroom", "buffer", "pause_time"].map(|key| format!("scheme.queue.{}", pfc.written_as(key)));
    for headrooms in of_nodes.into_iter().filter(|headrooms| !headrooms.is_empty()) {
        check_node("a switch", &headrooms, pfc, packet_bytes, [&headroom, &buffer])?;
    }
    check_pause_time(pfc, topology, packet_bytes, may_be_lost)
        .map_err(|message| Complaint::new(&pause_time, message))
}

/// The same of a host whose NIC holds what arrives; `keys`: of headroom, and of how much that is.
///
/// # Errors
/// See [`check_limits`].
pub fn check_host_limits(
    nic: &Pfc,
    topology: &Topology,
    host: HostId,
    packet_bytes: u64,
    keys: [&str; 2],
) -> Result<(), Complaint> {
    let back = topology.nodes[host as usize].ports.clone().map(|link| link as usize);
    let headroom = |back: usize| {
        let link = &topology.links[topology.link_back(back)];
        Headroom::new(link, &topology.links[back], topology, nic, packet_bytes)
    };
    let headrooms: Vec<Headroom> = back.map(headroom).collect();
    check_node("a host", &headrooms, nic, packet_bytes, keys)
}

fn check_node(
    what: &str,
    headrooms: &[Headroom],
    pfc: &Pfc,
    packet_bytes: u64,
    [headroom_key, buffer_key]: [&str; 2],
) -> Result<(), Complaint> {
    let (lossless, frame_bytes) = (pfc.pauses.lossless, pfc.pauses.frame_bytes);
    let short = headrooms.iter().find(|one| one.of(pfc) < one.needed());
    if let Some(short) = short.filter(|_| lossless != 0 && !pfc.shares.unsafe_headroom) {
        let unpaused = match short.unpaused_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} B that a class may have before it is paused"),
        };
        let begun = match short.begun_bytes.iter().sum::<u64>() {
            bytes if bytes == 2 * short.packet_bytes => "two".to_owned(),
            bytes => format!("{bytes} B"),
        };
        let message = format!(
            "a link of {} needs {} B to be lossless: {} B while the PAUSE and what started before it are under way, one \
             packet of {packet_bytes} B that sets it off and {begun} just begun{unpaused}, and a PAUSE of {frame_bytes} B; \
             write {}B or more, leave it out, or write unsafe_headroom = true and lose packets",
            short.rate,
            short.needed(),
            short.bytes_in(short.latencies[0] + short.latencies[1]),
            short.needed()
        );
        return Err(Complaint::new(headroom_key, message));
    }
    let given: Vec<u64> = headrooms.iter().map(|one| one.of(pfc)).collect();
    if pfc.shared_bytes(&given).is_none_or(|shared| shared < packet_bytes) {
        let message = format!(
            "{what} with {} links sets {} B aside as headroom and {} B for each link, which leaves nothing to share; \
             write more",
            given.len(),
            given.iter().sum::<u64>() * u64::from(lossless.count_ones()),
            pfc.shares.reserve()
        );
        return Err(Complaint::new(buffer_key, message));
    }
    Ok(())
}

/// A pause must last until it can have been repeated, and be one that a PAUSE can say; and it must end by itself where
/// a fault may lose what would end it.
fn check_pause_time(
    pfc: &Pfc,
    topology: &Topology,
    packet_bytes: u64,
    may_be_lost: bool,
) -> Result<(), String> {
    let least = least_pause(topology, packet_bytes + topology.framing_bytes);
    let most = longest_pause(topology);
    let must_end = may_be_lost && pfc.pauses.lossless != 0;
    let otherwise = if must_end { "leave the faults out" } else { "leave it out" };
    let message = match pfc.pauses.lasts {
        None if !must_end => return Ok(()),
        _ if least > most => format!(
            "can't be right here: a pause below {least} is over before it can be repeated, and a PAUSE can't say \
             more than {most}; {otherwise}"
        ),
        None => format!(
            "is missing: a fault may lose a RESUME, and its link would stall forever; write from {least} to {most}, such \
             as \"{}\", or leave the faults out",
            Time::from_us(50).clamp(least, most)
        ),
        Some(lasts) if lasts < least => {
            format!("is over before it can be repeated; write {least} or more, or {otherwise}")
        }
        Some(lasts) if lasts > most => {
            let (rate, quanta) = (fastest(topology), LinkMessage::MOST_QUANTA);
            format!(
                "is more than the {quanta} quanta that a PAUSE can say at {rate}; write {most} at most, or {otherwise}"
            )
        }
        Some(_) => return Ok(()),
    };
    Err(message)
}

/// A pause is said again when half of it is over, or later. A packet that has just begun must not keep that waiting
/// for the other half. Nor may the reminder of it fall into the window of time that the engine is in, which is as
/// long as the shortest way from one node to another.
fn least_pause(topology: &Topology, packet_bytes: u64) -> Time {
    let takes = |link: &Link| topology.byte_time(link.rate).of(packet_bytes);
    let begun = topology.links.iter().map(takes).max().unwrap_or(Time::ZERO);
    let shortest = topology.links.iter().map(|link| link.latency + takes(link)).min().unwrap_or(Time::ZERO);
    Time::from_ns(begun.max(shortest).times(2).as_ps().div_ceil(1_000))
}

/// The most that every PAUSE can say, to a whole nanosecond: it has 16 bits for the quanta (IEEE 802.1Qbb).
fn longest_pause(topology: &Topology) -> Time {
    let most = LinkMessage::lasts(LinkMessage::MOST_QUANTA, fastest(topology));
    Time::from_ns(most.as_ps() / 1_000)
}

fn fastest(topology: &Topology) -> Rate {
    topology.links.iter().map(|link| link.rate).max().unwrap_or(Rate(1))
}
