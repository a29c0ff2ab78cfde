//! DAQ's port (Ding and Rojas-Cessa): urgent short flows before others, weighted round robin by bytes between short
//! and long flows, and credits for the buffer at the far end, so that nothing is ever lost.

use super::specification::Making;
use super::{Buffer, Built, Departure, Env, Holds, Joined, Occupancy, Opening, Site, Specification, Traits};
use crate::link_message::LinkMessage;
use crate::narrow::{exact, narrow, saturated};
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::spec::{Complaint, Component, Kind as Written, Needs, Registered, Value, Values, param};
use crate::topology::Topology;
use crate::units::Time;
use std::collections::VecDeque;

/// Added to a class's balance per turn: about one full packet, for the class of the smaller weight.
const QUANTUM_BYTES: f64 = 1_500.0;

/// A priority from here on says that the flow has no deadline to meet (`packetloom-transport/src/priority.rs`).
const NO_DEADLINE: u32 = 1 << 31;

const QUERIES: &[Needs] = &[Needs::That(
    |site| {
        let mut patterns = site.scene.workloads.iter().filter_map(|source| source.part("pattern"));
        patterns.any(|pattern| pattern.has("query"))
    },
    "no pattern of the workload has a query",
)];

const COMPONENT: Component = Component {
    section: "queue",
    kind: "daq",
    doc: "DAQ: flows with a near deadline before those with a far one, both by weight beside flows without. A port sends data only as far as the next switch has given it credit, so nothing is lost. For transports whose priority is the time left to the deadline.",
    source: "DAQ, §II",
    params: &[&[
        param! {
            "ratio" = "30": Written::Number(0.0, 1e9),
            "The threshold in round-trip times: a flow with no more time left is urgent. 0: none is.",
            "DAQ §III-A.1: about 30 RTTs is an optimal value"
        },
        param! {
            "rtt" = "300us": Written::Time,
            "The round-trip time that the threshold counts in.", "DAQ §III: 300 us"
        },
        param! {
            "weight_ratio" = "0.01": Written::Number(0.000_1, 10_000.0),
            "WRRr: bytes of flows with deadlines per byte of flows without, where both wait.",
            "DAQ §III: 0.01"
        },
        param! {
            "short_capacity" = "2MB": Written::Bytes,
            "The buffer for flows with deadlines.", "DAQ §III: 2 Mbytes"
        },
        param! {
            "long_capacity" = "2MB": Written::Bytes,
            "The buffer for flows without.", "DAQ §III: another 2 Mbytes"
        },
        param! {
            "query_share" = "0.5": Written::Number(0.0, 1.0),
            "The share of the short flows' buffer at a switch that is reserved for the workers of a query: an \
                  equal part for each, until it has answered. All links share the rest equally; without queries all \
                  of it.",
            "DAQ §II-B: sender_win = buffer / N_w; packetloom: of half the buffer, so that others can send, too"; acts QUERIES
        },
        param! {
            "credit" = "40B": Written::Bytes,
            "Bytes on the wire of the notification that a packet has left the buffer.", "packetloom: a header"
        },
    ]],
    check,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let settings = Settings {
        threshold: Time(saturated::<u64>(values.number("ratio") * values.time("rtt").as_ps() as f64)),
        weight_ratio: values.number("weight_ratio"),
        capacity_bytes: [values.bytes("short_capacity"), values.bytes("long_capacity")],
        query_share: values.number("query_share"),
        credit_bytes: values.bytes("credit"),
    };
    Specification {
        traits: Traits { ranks: true, loses_nothing: true, ..Traits::NONE },
        daq: Some(settings),
        ..Specification::new(values, Built::Held(Buffer::Daq(Box::new(Daq::build(&settings)))))
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    if !(1..=65_535).contains(&values.bytes("credit")) {
        return Err(Complaint::new("credit", "write a size from 1B to 65535B"));
    }
    Ok(())
}

/// The classes: with a deadline, without one.
const CLASSES: usize = 2;
const SHORT: usize = 0;
const LONG: usize = 1;

/// How much of each class's buffer at a switch belongs to each of the `links` that lead there. The links that can
/// send to one port are all but its own; so together, and with what is lent, they never exceed its buffer, whatever
/// the traffic.
fn windows(common_bytes: [u64; CLASSES], links: u64) -> [u64; CLASSES] {
    common_bytes.map(|bytes| bytes / links.saturating_sub(1).max(1))
}

/// What a scenario says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// With no more time left than this a flow is urgent.
    pub threshold: Time,
    weight_ratio: f64,
    /// The buffer of each class.
    capacity_bytes: [u64; CLASSES],
    query_share: f64,
    /// The size of the notifications that switches send.
    pub(super) credit_bytes: u64,
}

impl Settings {
    /// The part of the buffer that is not set aside for queries' answers.
    fn common_bytes(&self) -> [u64; CLASSES] {
        let [short, long] = self.capacity_bytes;
        [short - self.lent_bytes(), long]
    }

    /// What is for workers that a query asks.
    pub(super) fn lent_bytes(&self) -> u64 {
        saturated::<u64>(self.capacity_bytes[SHORT] as f64 * self.query_share)
    }
}

/// The queue's values, if nothing has to be set aside for the answers to queries.
pub(super) fn without_loans(queue: &Values) -> Values {
    let mut queue = queue.clone();
    queue.entries.insert("query_share".to_owned(), Value::Number(0.0));
    queue
}

/// Hosts must take part, and every link must have credit for a full packet, or it could never send one.
///
/// # Errors
/// Where that does not hold.
pub fn check_credits(
    queue: &Specification,
    nic: &Specification,
    topology: &Topology,
    full_packet_bytes: u64,
) -> Result<(), Complaint> {
    if queue.daq != nic.daq {
        let message = "hosts and switches count the same credits; leave nic out where the queue is \"daq\"";
        return Err(Complaint::new("scheme.nic", message));
    }
    let Some(settings) = &queue.daq else { return Ok(()) };
    let switches = topology.nodes.iter().filter(|node| node.tier > 0);
    let most_links = switches.map(|node| node.ports.len() as u64).max().unwrap_or(1);
    for (window, key) in
        windows(settings.common_bytes(), most_links).into_iter().zip(["short_capacity", "long_capacity"])
    {
        if window < full_packet_bytes {
            let needed = full_packet_bytes * (most_links - 1).max(1);
            let message = format!(
                "is shared by {} links and leaves each {window} B, less than a packet of {full_packet_bytes} B: \
                 nothing could ever be sent; write {needed}B or more",
                most_links - 1
            );
            return Err(Complaint::new(&format!("scheme.queue.{key}"), message));
        }
    }
    Ok(())
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: PacketId,
    size_bytes: u16,
    /// The link that it came by, as a number at the switch.
    from: u32,
}

/// A DAQ port's packets.
#[derive(Clone, Debug)]
pub struct Daq {
    threshold_us: u32,
    capacity: [u64; CLASSES],
    common_bytes: [u64; CLASSES],
    quantum: [i64; CLASSES],
    credit_bytes: u16,
    /// Acknowledgements, credits and other control packets: small, and never held back.
    control: VecDeque<Waiting>,
    /// Q1.1 and Q1.2.
    short: [VecDeque<Waiting>; 2],
    /// Q2.
    long: VecDeque<Waiting>,
    bytes: [u64; CLASSES],
    queued: Occupancy,
    balance: [i64; CLASSES],
    turn: usize,
    served: bool,
    /// The credit left at the far end; `None`: that is a host, which takes everything.
    credits: Option<[u64; CLASSES]>,
    /// What that is when nothing is under way.
    windows: [u64; CLASSES],
    /// How much of it a query brought.
    borrowed: u64,
    /// Whether it is a switch's: a host's own packets wait in the host, as many as there are.
    is_switch: bool,
    last: Option<Departure>,
}

impl Daq {
    /// An empty port.
    fn build(settings: &Settings) -> Daq {
        let (threshold_us, ratio) = (settings.threshold.as_ps() / 1_000_000, settings.weight_ratio);
        Daq {
            threshold_us: narrow::<u32>(threshold_us.min(u64::from(NO_DEADLINE) - 1)),
            capacity: settings.capacity_bytes,
            common_bytes: settings.common_bytes(),
            quantum: [ratio, 1.0].map(|weight| saturated::<i64>(weight / ratio.min(1.0) * QUANTUM_BYTES)),
            credit_bytes: exact::<u16>(settings.credit_bytes),
            control: VecDeque::new(),
            short: [VecDeque::new(), VecDeque::new()],
            long: VecDeque::new(),
            bytes: [0; CLASSES],
            queued: Occupancy::default(),
            balance: [0; CLASSES],
            turn: SHORT,
            served: false,
            credits: None,
            windows: [0; CLASSES],
            borrowed: 0,
            is_switch: false,
            last: None,
        }
    }

    /// The queue whose first packet a class would send now: there is one, and the credit suffices.
    #[inline]
    fn head(&self, class: usize) -> Option<usize> {
        let line = match class {
            LONG => 2,
            _ if self.short[0].is_empty() => 1,
            _ => 0,
        };
        let packet = if line == 2 { self.long.front() } else { self.short[line].front() };
        let room = self.credits.map_or(u64::MAX, |credits| credits[class]);
        packet.filter(|packet| u64::from(packet.size_bytes) <= room).map(|_| line)
    }

    fn send(&mut self, class: usize, line: usize) -> Option<PacketId> {
        let line = if line == 2 { &mut self.long } else { &mut self.short[line] };
        let Waiting { id, size_bytes, from } = line.pop_front()?;
        let size = u64::from(size_bytes);
        self.balance[class] -= narrow::<i64>(size);
        self.bytes[class] -= size;
        self.queued.remove(size_bytes);
        if let Some(credits) = &mut self.credits {
            credits[class] -= size;
        }
        self.last = Some(Departure { from, class: narrow::<u8>(class), bytes: size_bytes });
        Some(id)
    }

    /// The far end can take so much more.
    fn credit(&mut self, class: usize, bytes: u64) {
        if let Some(credits) = &mut self.credits {
            credits[class] += bytes;
            debug_assert!(credits[class] <= self.windows[class], "more credit came back than was used");
        }
    }
}

impl Holds for Daq {
    // Credits guarantee buffer space at a switch, if hosts have this queue too; what hosts without credits send in
    // excess is dropped.
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let Env { packets, counts, .. } = env;
        let packet = packets.get(id);
        let size_bytes = packet.size_bytes;
        let waiting = Waiting { id, size_bytes, from: packets.ingress(id) };
        if packet.kind != Kind::Data {
            self.control.push_back(waiting);
            self.queued.add(size_bytes);
            return Joined::Waits;
        }
        let class = class_of(packet);
        let size = u64::from(size_bytes);
        if self.bytes[class] + size > self.capacity[class] && self.is_switch {
            debug_assert!(false, "credits let a packet through that does not fit");
            packets.take(id);
            counts.drops += 1;
            return Joined::Dropped;
        }
        self.bytes[class] += size;
        self.queued.add(size_bytes);
        // Algorithm 1.
        if class == LONG {
            self.long.push_back(waiting);
        } else {
            self.short[usize::from(packet.priority > self.threshold_us)].push_back(waiting);
        }
        Joined::Waits
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.control.is_empty() || self.head(SHORT).is_some() || self.head(LONG).is_some()
    }

    fn take<H: Copy + Default>(&mut self, _: &mut Env<'_, H>) -> Option<PacketId> {
        self.last = None;
        if let Some(control) = self.control.pop_front() {
            self.queued.remove(control.size_bytes);
            return Some(control.id);
        }
        if !self.is_ready() {
            return None;
        }
        loop {
            let class = self.turn;
            if let Some(line) = self.head(class) {
                if !self.served {
                    self.balance[class] += self.quantum[class];
                    self.served = true;
                }
                if self.balance[class] > 0 {
                    return self.send(class, line);
                }
            } else {
                self.balance[class] = self.balance[class].min(0);
            }
            self.turn = (class + 1) % CLASSES;
            self.served = false;
        }
    }

    fn holds_back(&self) -> bool {
        true
    }

    fn place(&mut self, site: Site) {
        self.is_switch = site.is_switch;
        self.credits = site.far_links.map(|links| windows(self.common_bytes, links));
        self.windows = self.credits.unwrap_or_default();
    }

    fn receive_message(&mut self, _: Time, message: LinkMessage) {
        if let LinkMessage::Credit { class, bytes } = message {
            self.credit(class.into(), bytes.into());
        }
    }

    fn borrow(&mut self, bytes: u32) {
        let bytes = u64::from(bytes);
        self.borrowed += bytes;
        self.windows[SHORT] += bytes;
        self.credit(SHORT, bytes);
    }

    // As far as it is not in use; the rest can be given back another time.
    fn give_back(&mut self) -> Option<(LinkMessage, u16)> {
        let credits = self.credits.as_mut()?;
        let bytes = self.borrowed.min(credits[SHORT]);
        credits[SHORT] -= bytes;
        self.windows[SHORT] -= bytes;
        self.borrowed -= bytes;
        let message = LinkMessage::Credit { class: narrow::<u8>(SHORT), bytes: narrow::<u32>(bytes) };
        (bytes > 0).then_some((message, self.credit_bytes))
    }

    fn departure(&self) -> Option<Departure> {
        self.last
    }

    fn classes(&self, mut visit: impl FnMut(usize, u64, Option<u64>)) {
        for class in 0..CLASSES {
            let used = self.credits.map(|credits| self.windows[class] - credits[class]);
            visit(class, self.bytes[class], used);
        }
    }

    fn packets<'a, H: Copy + Default>(&'a self, _: &'a Packets<H>) -> impl Iterator<Item = PacketId> + 'a {
        self.short.iter().flatten().chain(&self.long).chain(&self.control).map(|waiting| waiting.id)
    }

    fn queued(&self) -> Occupancy {
        self.queued
    }
}

/// Which of the two buffers of a port a data packet waits in.
pub fn class_of<H>(packet: &Packet<H>) -> usize {
    if packet.priority < NO_DEADLINE { SHORT } else { LONG }
}
