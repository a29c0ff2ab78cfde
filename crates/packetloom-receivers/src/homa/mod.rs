//! Homa (Montazeri et al., SIGCOMM 2018): a message's first bytes are sent at once, at a level that depends on its
//! size. The rest is sent as its receiver grants it; the receiver serves the messages with the least left, several
//! at once, and sets their levels.
//!
//! As in the authors' simulator a message goes one way, here with an acknowledgement at its end for the sender. The
//! receiver requests what is lost (RESEND, §3.7); a sender that receives nothing asks whether anything came.

mod config;
mod cutoffs;
mod downlink;
mod grants;
mod header;
mod layout;
mod receiver;
mod seen;
mod sender;

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Component, Values};
use crate::topology::Topology;
use crate::units::Time;
use config::Config;
use downlink::Downlink;
use grants::Scheduler;
use header::Header;
use receiver::Receiver;
use seen::Seen;
use sender::{Outbox, Sender};

/// A timer's purpose: the NIC is free.
const SERVE: u8 = 0;
/// A timer's purpose: a sender may be granted the next packet.
const PACE: u8 = 1;
/// A timer's purpose: packets of a message may be late.
const LATE: u8 = 2;
/// A timer's purpose: to check whether a message's receiver must be asked for its status.
const ASK: u8 = 3;

/// All messages from and to one host.
pub struct Homa {
    config: Config,
    senders: FlowTable<Sender>,
    outbox: Outbox,
    /// When the earliest timer goes off that is set to serve.
    serves_at: Time,
    receivers: FlowTable<Receiver>,
    scheduler: Scheduler,
    downlink: Downlink,
    /// How many messages have begun to come.
    begun: u64,
    finished: Finished,
    /// What cutoffs are learned from, where they are.
    seen: Option<Box<Seen>>,
}

impl Scheme for Homa {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "homa",
        doc: "Homa: a message's first bytes at once, the rest as its receiver grants it, the shortest first; packets' classes are priorities, for a queue of strict ones. The workload's classes go unused.",
        source: "Homa (SIGCOMM 2018) §3; HomaSimulation, HomaModule, HomaL4Protocol-ns-3",
        params: &[config::PARAMS],
        check: config::check,
    };
    type Config = Config;
    const NEEDS_WHOLE: Option<&'static str> =
        Some("its receivers share out their links among all who send to them");

    const LOST_AFTER: Option<&'static str> = Some("resend_after");

    fn configure(values: &Values) -> Config {
        Config::of(values)
    }

    fn on_network(config: Config, topology: &Topology) -> Config {
        config.on(topology)
    }

    const GOES_BY_SIZES: bool = true;

    fn on_sizes(values: &Values, topology: &Topology, shares: &[(u64, f64)]) -> Values {
        config::on_sizes(values, topology, shares)
    }

    fn sends_unscheduled(values: &Values) -> bool {
        config::sends_unscheduled(values)
    }

    fn classes(values: &Values) -> Option<u64> {
        Some(values.count("levels"))
    }

    fn new(config: &Config) -> Homa {
        Homa {
            config: config.clone(),
            senders: FlowTable::default(),
            outbox: Outbox::default(),
            serves_at: Time::NEVER,
            receivers: FlowTable::default(),
            scheduler: Scheduler::default(),
            downlink: Downlink::new(config.levels),
            begun: 0,
            finished: Finished::new(config.longest_silence()),
            seen: config.learns.then(Box::default),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        if let Header::Data { seq, .. } = packet.header { Some(seq) } else { None }
    }
}

impl Transport for Homa {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        self.learn(flow.size_bytes);
        let mut sender = Sender::new(flow, self.outbox.number(), &self.config, context.now);
        self.outbox.requeue(&mut sender, &self.config);
        self.senders.insert(flow.id, sender);
        context.set_timer(context.now + self.config.patience(), flow.id, ASK);
        self.serve(context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        let takes = context.nic_time_for(packet.size_bytes.into());
        self.downlink.came(packet.class, takes, context.now);
        match packet.header {
            Header::Data { seq, size_bytes } if packet.kind == Kind::Data => {
                self.arrived(&packet, seq, size_bytes, context);
            }
            // This transport doesn't know trimming: to it the packet is lost.
            Header::Data { .. } => {}
            Header::Ask { size_bytes } => self.status_requested(&packet, size_bytes, context),
            Header::Busy => {
                if let Some(message) = self.receivers.get_mut(packet.flow) {
                    message.bear(context.now);
                }
            }
            Header::Grant { to, level } => {
                let now = context.now;
                self.with_sender(packet.flow, |sender, config| sender.granted(to, level, config, now));
                self.serve(context);
            }
            Header::Again { seq, level } => {
                let now = context.now;
                self.with_sender(packet.flow, |sender, _| sender.granted_again(seq, level, now));
                self.serve(context);
            }
            Header::Probe { size_bytes } => self.probed(&packet, size_bytes, context),
            Header::Resend { from, to } => {
                let now = context.now;
                self.with_sender(packet.flow, |sender, config| sender.resend(from, to, config, now));
                self.serve(context);
                self.excuse(&packet, context);
            }
            Header::Done => self.done(packet.flow, context),
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
            PACE => self.grant(context),
            LATE => self.look_for_losses(timer.key, context),
            _ => self.check_sender(timer.key, context),
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

// The sending side.
impl Homa {
    /// Sends a packet of the message that goes first if the NIC is free, and comes back when it is.
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
            let probe = sender.probe_behind(&packet, &self.config);
            self.outbox.requeue(sender, &self.config);
            context.send(packet);
            if let Some(probe) = probe {
                context.send(probe);
            }
        }
    }

    /// A control packet for a message came, which may let it send.
    fn with_sender(&mut self, flow: FlowId, update: impl FnOnce(&mut Sender, &Config)) {
        if let Some(sender) = self.senders.get_mut(flow) {
            update(sender, &self.config);
            self.outbox.requeue(sender, &self.config);
        }
    }

    /// Answers a receiver's RESEND: other messages go first (§3.7: BUSY).
    fn excuse(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let others_go_first = self.outbox.first().is_some_and(|first| first != packet.flow);
        if others_go_first && self.senders.get(packet.flow).is_some() {
            context.send(self.config.control(packet.flow, packet.src, Header::Busy));
        }
    }

    fn done(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        if let Some(sender) = self.senders.remove(flow) {
            self.outbox.remove(&sender);
            context.closed(sender.flow(), sender.report());
        }
    }

    fn check_sender(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        if sender.is_forgotten(&self.config, context.now) {
            return self.done(flow, context);
        }
        let again_at = match sender.status_request(&self.config, context.now) {
            Err(later) => later,
            Ok(question) => {
                context.send(self.config.control(flow, sender.flow().dst, question));
                context.now + self.config.patience()
            }
        };
        context.set_timer(again_at, flow, ASK);
    }

    fn learn(&mut self, size_bytes: u64) {
        let cutoffs = self.seen.as_mut().and_then(|seen| seen.add(size_bytes, &self.config));
        if let Some(cutoffs) = cutoffs {
            self.config.cutoffs = cutoffs;
        }
    }
}

// The receiving side.
impl Homa {
    fn arrived(
        &mut self,
        packet: &Packet<Header>,
        seq: u32,
        size_bytes: u64,
        context: &mut Context<'_, Header>,
    ) {
        let (flow, now) = (packet.flow, context.now);
        if !self.has_begun(packet, size_bytes, context) {
            return;
        }
        let Some(message) = self.receivers.get_mut(flow) else { return };
        let before = message.incoming_bytes(&self.config);
        if !message.note(seq, &self.config, now) {
            return;
        }
        self.scheduler.arrived(before - message.incoming_bytes(&self.config));
        if let Some(at) = message.granted_after(seq, now) {
            self.downlink.came_of_grant(packet.class, at);
        }
        // Before it goes: what was held for lost, and came, needs no grant.
        self.scheduler.requeue(message, &self.config);
        if message.is_whole() {
            if self.config.acknowledges {
                context.send(self.config.control(flow, packet.src, Header::Done));
            }
            self.finished.add(now, flow, message.packets);
            self.receivers.remove(flow);
            context.delivered(flow);
        }
        self.grant(context);
    }

    /// The probe behind the blind packets of a message: those that are missing are lost, and to be granted again.
    fn probed(&mut self, packet: &Packet<Header>, size_bytes: u64, context: &mut Context<'_, Header>) {
        if !self.has_begun(packet, size_bytes, context) {
            return;
        }
        let Some(message) = self.receivers.get_mut(packet.flow) else { return };
        message.lose_blind(&self.config);
        self.scheduler.requeue(message, &self.config);
        self.grant(context);
    }

    /// Whether a message is under way, if need be from now on; not one that is whole, of which its sender is told again.
    fn has_begun(
        &mut self,
        packet: &Packet<Header>,
        size_bytes: u64,
        context: &mut Context<'_, Header>,
    ) -> bool {
        if self.receivers.get(packet.flow).is_some() {
            return true;
        }
        let is_whole = self.finished.packets(packet.flow).is_some();
        if is_whole {
            context.send(self.config.control(packet.flow, packet.src, Header::Done));
        } else {
            self.begin(packet, size_bytes, context);
        }
        !is_whole
    }

    fn begin(&mut self, packet: &Packet<Header>, size_bytes: u64, context: &mut Context<'_, Header>) {
        self.learn(size_bytes);
        self.begun += 1;
        let ends = (packet.flow, packet.src);
        let message = Receiver::new(ends, size_bytes, self.begun, &self.config, context.now);
        self.scheduler.begin(&message, &self.config);
        self.receivers.insert(packet.flow, message);
        context.set_timer(context.now + self.config.resend_after, packet.flow, LATE);
    }

    fn grant(&mut self, context: &mut Context<'_, Header>) {
        self.scheduler.grant(&mut self.receivers, &self.config, context);
    }

    /// A sender has received nothing for long. If its message is known here, the receiver's timers request what is
    /// missing. If not, its blind packets are lost, unless they may still wait before this host's link.
    fn status_requested(
        &mut self,
        packet: &Packet<Header>,
        size_bytes: u64,
        context: &mut Context<'_, Header>,
    ) {
        let answer = if self.finished.packets(packet.flow).is_some() {
            Header::Done
        } else if self.receivers.get(packet.flow).is_none() && self.is_lost(size_bytes, context) {
            Header::Resend { from: 0, to: self.config.layout.blind(size_bytes) }
        } else {
            return;
        };
        context.send(self.config.control(packet.flow, packet.src, answer));
    }

    /// Whether the blind packets of a message are lost of which none has come, and whose sender has been silent for
    /// `patience`.
    fn is_lost(&self, size_bytes: u64, context: &Context<'_, Header>) -> bool {
        let level = self.config.level_without_grant(size_bytes, size_bytes);
        let takes = context.nic_time_for(self.config.full_packet_bytes());
        let by = Time(context.now.as_ps().saturating_sub(self.config.resend_after.as_ps()));
        self.downlink.was_free_for(level, by, takes, context.now)
    }

    fn look_for_losses(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(message) = self.receivers.get_mut(flow) else { return };
        let takes = context.nic_time_for(self.config.full_packet_bytes());
        let was_free = |level, by| self.downlink.was_free_for(level, by, takes, context.now);
        let again_at = match message.is_late(was_free, &self.config, context.now) {
            // ns-3's receivers ask for what was granted long ago, too, of a message that has just been granted to.
            Err(_) if self.config.is_ns3 => {
                let is_scheduled = message.pass == self.scheduler.pass;
                let src = message.src;
                for (from, to) in message.long_granted().filter(|_| is_scheduled) {
                    context.send(self.config.control(flow, src, Header::Resend { from, to }));
                }
                context.now + self.config.resend_after
            }
            Err(later) => later,
            Ok(()) => {
                for (from, to) in message.missing() {
                    context.send(self.config.control(flow, message.src, Header::Resend { from, to }));
                }
                context.now + self.config.resend_after
            }
        };
        context.set_timer(again_at, flow, LATE);
    }
}

#[cfg(test)]
mod tests;
