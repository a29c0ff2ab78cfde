//! Fastpass (Perry et al., SIGCOMM 2014): senders request timeslots from an arbiter, which allocates them: each
//! sender learns what to send in which slot.
//!
//! The arbiter is a host of the network: requests and allocations are packets like any other, which wait in queues
//! and may get lost. `central/syn.rs` is the same idea with a controller that knows and reaches everybody at once.

mod arbiter;
mod sender;

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::packet_format::{self, PacketFormat};
use super::reassembly::Reassembly;
use super::{Scheme, Sending};
use crate::control::matching::Policy;
use crate::engine::{Context, Report, Timer, Transport};
use crate::flow::{Flow, FlowId, HostId};
use crate::narrow::{exact, narrow, saturated};
use crate::packet::{Kind, Packet};
use crate::spec::{Complaint, Component, Kind as Holds, Param, Values, check_period, param};
use crate::topology::Topology;
use crate::units::Time;
use arbiter::Arbiter;
use sender::Senders;

/// The most slots that an allocation holds.
const MOST_SLOTS: usize = 8;

/// A slot in which a sender has nothing to send.
const IDLE: u16 = u16::MAX;

/// The packet headers. Senders number their flows, so that an allocation is short.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// To the arbiter: so many more slots for a flow to `dst`; none: the flow is over.
    Request {
        /// What its sender calls the flow.
        number: u16,
        /// Where the flow goes.
        dst: HostId,
        /// Packets that have no slot yet.
        slots: u32,
    },
    /// To a sender: the flow whose packet goes, or [`IDLE`], for each slot of a batch.
    Allocation {
        /// The batch: its slots were given out at this multiple of a batch's length.
        batch: u32,
        /// The flows by their sender's numbers.
        slots: [u16; MOST_SLOTS],
    },
    /// Payload.
    Data {
        /// The packet's number in its flow.
        seq: u32,
        /// Whether it is the flow's last.
        last: bool,
    },
    /// A packet arrived.
    Ack {
        /// Which.
        seq: u32,
    },
}

impl Default for Header {
    fn default() -> Header {
        Header::Ack { seq: 0 }
    }
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a cache line");

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    format: PacketFormat,
    arbiter: HostId,
    order: Policy,
    batch: u32,
    spare: f64,
    lead: Option<Time>,
    lost_after: Option<Time>,
    retry: Time,
}

impl Config {
    /// How long a slot is.
    fn slot(&self, context: &Context<'_, Header>) -> Time {
        let full_packet = context.nic_time_for(self.format.data.mss_bytes + self.format.data.header_bytes);
        full_packet + Time(saturated::<u64>((full_packet.as_ps() as f64 * self.spare).round()))
    }

    /// How long a batch of slots is.
    fn batch_time(&self, context: &Context<'_, Header>) -> Time {
        self.slot(context).times(self.batch.into())
    }

    /// How long after a flow's last slot what is not acknowledged is lost.
    fn lost_after(&self, context: &Context<'_, Header>) -> Time {
        self.lost_after.unwrap_or_else(|| self.batch_time(context))
    }
}

const PARAMS: &[Param] = &[
    packet_format::MSS,
    packet_format::HEADER,
    Param {
        doc: "Bytes of a request, an allocation or an acknowledgement on the wire.",
        ..packet_format::ACK
    },
    param! {
        "arbiter" = "0": Holds::Count(0),
        "The host that is the arbiter. Flows may start and end there, but then share its link with its messages.",
        "packetloom"
    },
    param! {
        "order" = "least-recent": Holds::Choice(&["least-recent", "srjf", "ocf", "mmf"]),
        "Who gets a slot first: the pair served least recently, the flow with the fewest packets left, the flow \
              that sent a request first, or the flow whose next packet has waited longest.",
        "Fastpass §3.1: max-min fairness over time; it names the fewest packets left as another choice"
    },
    param! {
        "batch" = "8": Holds::Count(1),
        "How many slots (1 to 8) the arbiter allocates at once.", "Fastpass §3.2: batches of 8 timeslots"
    },
    param! {
        "spare" = "0.0625": Holds::Number(0.0, 1.0),
        "How much longer a slot is than a full packet, as a fraction of it: time for packets outside of slots.",
        "YAPS: 8.5 packets' time for 8 slots"
    },
    param! {
        "lead": Holds::Time,
        "How long after the arbiter's decision a batch begins, by synchronised clocks; if the allocation \
              arrives later, it begins then. With 0us batches begin as allocations arrive. Left out: as long as a batch.",
        "Fastpass §4: synchronised clocks; YAPS: on arrival"
    },
    param! {
        "lost_after": Holds::Time,
        "How long after a flow's last slot its packets without an acknowledgement count as lost, so that it \
              requests slots for them. Left out: as long as a batch. Where that is less than a round trip, as it \
              often is above 10Gbps (a batch is 10.2us there, 1.02us at 100Gbps), requests and packets go twice: \
              write more than a round trip.",
        "YAPS: a batch, which on its 10 Gb/s network is longer than a round trip"
    },
    param! {
        "retry" = "200us": Holds::Time,
        "A flow that has received nothing from the arbiter for this long sends another request.", "packetloom"
    },
];

fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    if values.count("batch") > MOST_SLOTS as u64 {
        return Err(Complaint::new("batch", format!("an allocation holds {MOST_SLOTS} slots at most")));
    }
    if values.optional_time("lost_after") == Some(Time::ZERO) {
        let message = "every packet would be lost; write a time above a round trip, such as \"20us\"";
        return Err(Complaint::new("lost_after", message));
    }
    check_period("retry", values.time("retry"), "200us")
}

/// What timers are for.
#[derive(Clone, Copy)]
enum Purpose {
    /// The arbiter gives out a batch.
    Batch,
    /// A sender's slot; the key is the flow's number there.
    Slot,
    /// A flow may have to ask again.
    Ask,
}

/// Fastpass at one host: its flows, and the arbiter if this is it.
pub struct Fastpass {
    config: Config,
    senders: Senders,
    receivers: FlowTable<Reassembly>,
    finished: Finished,
    arbiter: Arbiter,
}

impl Scheme for Fastpass {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "fastpass",
        doc: "Fastpass: senders ask an arbiter, which is a host, for timeslots, and it allocates batches of them.",
        source: "Fastpass (SIGCOMM 2014) §3, §4; retransmission as in YAPS",
        params: &[PARAMS],
        check,
    };
    type Config = Config;
    const ONE_LINK_A_HOST: bool = true;
    const NEEDS_WHOLE: Option<&'static str> = Some("its arbiter decides for all flows");

    fn configure(values: &Values) -> Config {
        Config {
            format: PacketFormat::of(values),
            arbiter: exact::<HostId>(values.count("arbiter")),
            order: Policy::named(&values.text("order")),
            batch: values.count_u32("batch"),
            spare: values.number("spare"),
            lead: values.optional_time("lead"),
            lost_after: values.optional_time("lost_after"),
            retry: values.time("retry"),
        }
    }

    fn check_network(values: &Values, topology: &Topology) -> Result<(), Complaint> {
        let (arbiter, hosts) = (values.count("arbiter"), topology.hosts);
        if !topology.hosts_are_alike() {
            let message = "the hosts' links differ in rate, and fastpass's timeslots are as long for all (Fastpass §3); write \
                           another transport, such as \"ndp\"";
            return Err(Complaint::new("scheme.transport", message));
        }
        if arbiter < u64::from(hosts) {
            return Ok(());
        }
        let message =
            format!("there is no host {arbiter}; write one of the {hosts}, from 0 to {}", hosts - 1);
        Err(Complaint::new("scheme.transport.arbiter", message))
    }

    fn new(config: &Config) -> Fastpass {
        Fastpass {
            config: *config,
            senders: Senders::default(),
            receivers: FlowTable::default(),
            finished: Finished::new(config.retry.times(8)),
            arbiter: Arbiter::default(),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        if let Header::Data { seq, .. } = packet.header { Some(seq) } else { None }
    }
}

impl Transport for Fastpass {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        self.senders.start(flow, &self.config, context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match (packet.kind, packet.header) {
            (Kind::Trimmed, _) => {}
            (_, Header::Request { number, dst, slots }) => {
                let request = arbiter::Request { flow: packet.flow, src: packet.src, dst, number, slots };
                self.arbiter.requested(request, &self.config, context);
            }
            (_, Header::Allocation { batch, slots }) => {
                self.senders.allocated(batch, &slots, &self.config, context);
            }
            (_, Header::Data { seq, last }) => self.arrived(&packet, seq, last, context),
            (_, Header::Ack { seq }) => self.senders.acknowledged(packet.flow, seq, &self.config, context),
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.senders.sending(flow)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.senders.reports().collect()
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        if timer.purpose == Purpose::Batch as u8 {
            self.arbiter.allocate(&self.config, context);
        } else if timer.purpose == Purpose::Slot as u8 {
            self.senders.slot(narrow::<u16>(timer.key), &self.config, context);
        } else {
            self.senders.request_again(timer.key, &self.config, context);
        }
    }
}

impl Fastpass {
    fn arrived(&mut self, packet: &Packet<Header>, seq: u32, last: bool, context: &mut Context<'_, Header>) {
        let flow = packet.flow;
        if self.finished.packets(flow).is_none() {
            if self.receivers.get_mut(flow).is_none() {
                self.receivers.insert(flow, Reassembly::default());
            }
            let whole = self.receivers.get_mut(flow).and_then(|arrived| {
                arrived.add(seq, last);
                arrived.whole()
            });
            if let Some(packets) = whole {
                self.receivers.remove(flow);
                self.finished.add(context.now, flow, packets);
                context.delivered(flow);
            }
        }
        let header = Header::Ack { seq };
        context.send(self.config.format.ack(packet, header));
    }
}
