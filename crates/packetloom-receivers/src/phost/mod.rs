//! pHost (Gao et al., CoNEXT 2015): receivers hand out tokens, one in each time of a full packet, to the flow with
//! the least left; a sender sends a packet for each, the flow with the least left first. Short flows have tokens
//! from the start. As the authors' simulator YAPS has it.

mod config;
mod header;
mod receiver;
mod sender;
mod tokens;

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Component, Values};
use crate::units::Time;
use config::Config;
use header::Header;
use receiver::Receiver;
use sender::{Outbox, Sender};
use tokens::Tokens;

/// A timer's purpose: the NIC is free.
const SERVE: u8 = 0;
/// A timer's purpose: the host's next token is due.
const TOKEN: u8 = 1;
/// A timer's purpose: a sender may have to request again.
const RETRY: u8 = 2;

/// All pHost flows at one host.
pub struct PHost {
    config: Config,
    senders: FlowTable<Sender>,
    outbox: Outbox,
    /// When the earliest timer goes off that is set to serve.
    serves_at: Time,
    receivers: FlowTable<Receiver>,
    tokens: Tokens,
    /// How many flows have begun to come.
    begun: u64,
    finished: Finished,
}

impl Scheme for PHost {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "phost",
        doc: "pHost: receivers hand out tokens at the pace of their links, to the flow with the least left; short flows have tokens from the start.",
        source: "pHost, CoNEXT 2015, §3; YAPS",
        params: &[config::PARAMS],
        check: config::check,
    };
    type Config = Config;
    const NEEDS_WHOLE: Option<&'static str> =
        Some("its receivers share out their links among all who send to them");

    fn configure(values: &Values) -> Config {
        Config::of(values)
    }

    fn new(config: &Config) -> PHost {
        PHost {
            config: *config,
            senders: FlowTable::default(),
            outbox: Outbox::default(),
            serves_at: Time::NEVER,
            receivers: FlowTable::default(),
            tokens: Tokens::default(),
            begun: 0,
            finished: Finished::new(config.retry.times(4)),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        if let Header::Data { seq, .. } = packet.header { Some(seq) } else { None }
    }
}

impl Transport for PHost {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let mut sender = Sender::new(flow, self.outbox.number(), &self.config, self.packet_time(context));
        context.send(self.config.control(flow.id, flow.dst, flow.class, sender.request()));
        self.outbox.requeue(&mut sender);
        self.senders.insert(flow.id, sender);
        context.set_timer(context.now + self.config.retry, flow.id, RETRY);
        self.serve(context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match packet.header {
            // This transport doesn't know trimming: to it the packet is lost.
            _ if matches!(packet.kind, Kind::Trimmed | Kind::Returned) => {}
            Header::Request { packets } => {
                self.begin(&packet, packets, context);
            }
            Header::Data { seq, packets, token } => self.arrived(&packet, (seq, packets, token), context),
            Header::Token { number, seq, left } => self.received(packet.flow, (number, seq, left), context),
            Header::Done => {
                if let Some(sender) = self.senders.remove(packet.flow) {
                    self.outbox.remove(&sender);
                    context.closed(sender.flow(), sender.report());
                }
            }
        }
    }

    #[inline]
    fn expect(&self, packet: &Packet<Header>) {
        match packet.kind {
            Kind::Data => self.receivers.prefetch(packet.flow),
            _ => self.senders.prefetch(packet.flow),
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        match timer.purpose {
            SERVE if timer.at == self.serves_at => {
                self.serves_at = Time::NEVER;
                self.serve(context);
            }
            SERVE => {}
            TOKEN => {
                let packet_time = self.packet_time(context);
                self.tokens.due(&mut self.receivers, &self.config, packet_time, context);
            }
            _ => self.may_request(timer.key, context),
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.senders.get(flow).map(Sender::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.senders.states().map(|sender| (sender.flow().id, sender.report())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.senders.states().map(Sender::status).collect()
    }
}

impl PHost {
    /// How long a full packet takes on the host's link.
    fn packet_time(&self, context: &Context<'_, Header>) -> Time {
        context.nic_time_for(self.config.full_packet_bytes())
    }

    /// Sends a packet of the flow that goes first if the NIC is free, and comes back when it is.
    fn serve(&mut self, context: &mut Context<'_, Header>) {
        while let Some(flow) = self.outbox.first() {
            let Some(sender) = self.senders.get_mut(flow) else { return };
            let free_at = context.nic_drained_at(flow, 0, || sender.flow().dst);
            if free_at > context.now {
                if free_at < self.serves_at {
                    self.serves_at = free_at;
                    context.set_timer(free_at, 0, SERVE);
                }
                return;
            }
            let packet = sender.take(&self.config, context.now);
            self.outbox.requeue(sender);
            if let Some(packet) = packet {
                context.send(packet);
            }
        }
    }

    /// A token came.
    fn received(
        &mut self,
        flow: FlowId,
        (number, seq, left): (u32, u32, u32),
        context: &mut Context<'_, Header>,
    ) {
        let until = context.now + self.config.lasts(self.packet_time(context), 0);
        let Some(sender) = self.senders.get_mut(flow) else { return };
        sender.receive(number, seq, left, context.now, until);
        self.outbox.requeue(sender);
        self.serve(context);
    }

    fn may_request(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        let again_at = match sender.must_request(&self.config, context.now) {
            Err(later) => later,
            Ok(()) => {
                let Flow { dst, class, .. } = *sender.flow();
                context.send(self.config.control(flow, dst, class, sender.request()));
                context.now + self.config.retry
            }
        };
        context.set_timer(again_at, flow, RETRY);
    }

    /// A packet of a flow, which may be new; returns whether the flow still lacks packets.
    fn begin(&mut self, packet: &Packet<Header>, packets: u32, context: &mut Context<'_, Header>) -> bool {
        if self.receivers.get(packet.flow).is_some() {
            return true;
        }
        if self.finished.packets(packet.flow).is_some() {
            context.send(self.config.control(packet.flow, packet.src, packet.class, Header::Done));
            return false;
        }
        let packet_time = self.packet_time(context);
        self.begun += 1;
        let times = (context.now, packet_time);
        let mut receiver = Receiver::new(packet, packets, self.begun, &self.config, times);
        self.tokens.requeue(&mut receiver, &self.config, packet_time);
        self.receivers.insert(packet.flow, receiver);
        self.tokens.begin(self.config.free(packets), context);
        true
    }

    fn arrived(
        &mut self,
        packet: &Packet<Header>,
        (seq, packets, token): (u32, u32, u32),
        context: &mut Context<'_, Header>,
    ) {
        let (flow, packet_time) = (packet.flow, self.packet_time(context));
        if !self.begin(packet, packets, context) {
            return;
        }
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        receiver.note(seq, token);
        if receiver.left() > 0 {
            self.tokens.requeue(receiver, &self.config, packet_time);
            return;
        }
        self.tokens.remove(receiver);
        self.finished.add(context.now, flow, receiver.packets());
        context.send(self.config.control(flow, packet.src, packet.class, Header::Done));
        self.receivers.remove(flow);
        context.delivered(flow);
    }
}
