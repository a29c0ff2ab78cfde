//! NDP (Handley et al., SIGCOMM 2017): senders push a first window at line rate; from then on receivers pull.
//!
//! Switches trim what they can't queue, so the receiver learns of every packet. It acknowledges those that arrived
//! whole, sends a NACK for the trimmed ones, and for each of either pulls one more packet, at the pace of its own
//! link.

mod config;
mod header;
mod pacer;
mod receiver;
mod sender;

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::routing::Judged;
use crate::spec::{Component, Values};
use crate::units::Time;
use config::Config;
use header::{Header, Reply};
use pacer::Pacer;
use receiver::Receiver;
use sender::Sender;

/// A timer's purpose: a flow's sender may have waited too long.
const TIMEOUT: u8 = 0;
/// A timer's purpose: the host's next pull is due.
const PULL: u8 = 1;

/// All NDP flows at one host.
pub struct Ndp {
    config: Config,
    senders: FlowTable<Sender>,
    receivers: FlowTable<Receiver>,
    finished: Finished,
    pacer: Pacer,
}

impl Scheme for Ndp {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "ndp",
        doc: "NDP: a first window at line rate, then every packet is pulled by its receiver, at the pace of the receiver's link; needs switches that trim (queue = \"ndp\").",
        source: "NDP, SIGCOMM 2017, §3.2",
        params: &[config::PARAMS],
        check: config::check,
    };
    type Config = Config;
    const GOES_BY_TRIMS: bool = true;
    const JUDGED: Judged = Judged::Packets;
    const NEEDS_WHOLE: Option<&'static str> =
        Some("its receivers share out their links among all who send to them");

    fn configure(values: &Values) -> Config {
        Config::of(values)
    }

    fn sends_unscheduled(values: &Values) -> bool {
        config::sends_unscheduled(values)
    }

    fn new(config: &Config) -> Ndp {
        Ndp {
            config: *config,
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
            finished: Finished::new(config.longest_silence().times(4)),
            pacer: Pacer::default(),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        if let Header::Data { seq, .. } = packet.header { Some(seq) } else { None }
    }
}

impl Transport for Ndp {
    type Header = Header;
    type Agent = ();
    const HAS_PULLS: bool = true;

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let mut sender = Sender::new(flow, &self.config);
        sender.send_first_window(&self.config, context);
        self.senders.insert(flow.id, sender);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match packet.kind {
            Kind::Data | Kind::Trimmed => self.arrived(&packet, context),
            Kind::Control if let Header::Probe { sent, packets } = packet.header => {
                self.probed(&packet, (sent, packets), context);
            }
            Kind::Ack | Kind::Control => self.answered(&packet, context),
            Kind::Returned => self.came_back(&packet, context),
            Kind::Credit | Kind::Query | Kind::Link | Kind::Notice => {}
        }
    }

    #[inline]
    fn expect(&self, packet: &Packet<Header>) {
        match packet.kind {
            Kind::Data | Kind::Trimmed => self.receivers.prefetch(packet.flow),
            _ => self.senders.prefetch(packet.flow),
        }
    }

    #[inline]
    fn expect_soon(&self, packet: &Packet<Header>) {
        if !matches!(packet.kind, Kind::Data | Kind::Trimmed) {
            self.senders.get(packet.flow).inspect(|sender| sender.prefetch());
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        if timer.purpose == PULL {
            self.pull_due(context);
        } else if let Some(sender) = self.senders.get_mut(timer.key) {
            sender.timer(&self.config, context);
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

impl Ndp {
    /// The receiver's answer, at the sender.
    fn answered(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(packet.flow) else { return };
        sender.answered(packet.header, &self.config, context);
        if sender.is_done() {
            context.closed(sender.flow(), sender.report());
            self.senders.remove(packet.flow);
        }
    }

    /// The header of a packet that fitted into no queue, back at the sender.
    fn came_back(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        if let (Some(sender), Header::Data { seq, .. }) = (self.senders.get_mut(packet.flow), packet.header) {
            sender.came_back(seq, &self.config, context);
        }
    }

    /// A packet or its header, at the receiver.
    fn arrived(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let Header::Data { seq, packets, syn } = packet.header else { return };
        let flow = packet.flow;
        if self.receivers.get_mut(flow).is_none() {
            if let Some(next) = self.finished.packets(flow) {
                self.answer(packet, Header::Ack(Reply { seq, next, pulls: 0 }), context);
                return;
            }
            // Whichever packet of the first window comes first opens the connection (NDP §3.2: SYN on all of them).
            if !syn {
                return;
            }
            self.receivers.insert(flow, Receiver::new(packet, packets));
        }
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        let has_it = receiver.note(seq, packet.kind == Kind::Trimmed);
        let next = receiver.next();
        let pulls = if receiver.is_whole() {
            self.pacer.forget(receiver, context);
            self.receivers.remove(flow);
            self.finished.add(context.now, flow, next);
            context.delivered(flow);
            0
        } else {
            self.pacer.request(receiver, &self.config, context)
        };
        let reply = Reply { seq, next, pulls };
        self.answer(packet, if has_it { Header::Ack(reply) } else { Header::Nack(reply) }, context);
    }

    /// The probe behind a first window, at the receiver: what is missing of that is owed a pull, as if its headers had come.
    fn probed(
        &mut self,
        packet: &Packet<Header>,
        (sent, packets): (u32, u32),
        context: &mut Context<'_, Header>,
    ) {
        let flow = packet.flow;
        if self.receivers.get_mut(flow).is_none() {
            if let Some(next) = self.finished.packets(flow) {
                return self.answer(packet, Header::Probed(Reply { seq: 0, next, pulls: 0 }), context);
            }
            self.receivers.insert(flow, Receiver::new(packet, packets));
        }
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        let (before, next) = (receiver.pulls(), receiver.next());
        let missing = receiver.note_missing(sent);
        let request = |_| self.pacer.request(receiver, &self.config, context);
        let pulls = (0..missing).map(request).max().unwrap_or(0);
        self.answer(packet, Header::Probed(Reply { seq: before, next, pulls }), context);
    }

    /// Acknowledges a packet, or sends a NACK if it came without its payload.
    fn answer(&self, packet: &Packet<Header>, header: Header, context: &mut Context<'_, Header>) {
        context.send(self.config.control_packet(packet.flow, packet.src, packet.class, header));
    }

    fn pull_due(&mut self, context: &mut Context<'_, Header>) {
        let Some(flow) = self.pacer.next() else { return };
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        let pulls = self.pacer.pull(receiver, &self.config, context);
        let header = Header::Pull(Reply { seq: 0, next: receiver.next(), pulls });
        context.send(self.config.control_packet(flow, receiver.sender(), receiver.class(), header));
    }
}
