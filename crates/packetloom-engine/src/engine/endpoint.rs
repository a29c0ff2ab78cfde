//! What a transport sees of the simulation: the node interface.
//!
//! A transport's object holds all its flows at one host, and touches nothing else. So hosts can be processed in any
//! order, or at once.

use super::agenda::{Agenda, Timer};
use super::agent::PortAgent;
use super::link_table::LinkTable;
use super::log::{Log, Report};
use super::nic::Nic;
use super::sending::Sending;
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::Packet;
use crate::packets::PacketId;
use crate::random::Stream;
use crate::record::{QueueRecorder, Segment};
use crate::routing::{Fate, Feedback, PathChoice};
use crate::spec::Values;
use crate::units::{Rate, Time};
use crate::user_class::ControlError;

/// A transport scheme, as it runs on one host.
pub trait Transport: Send {
    /// What its packets carry beside the fields of every packet.
    type Header: Copy + Default + std::fmt::Debug + Send + 'static;
    /// Its part at every port of the network; `()` where only hosts take part.
    type Agent: PortAgent<Self::Header>;
    /// Whether receivers keep a queue of pulls (see [`Context::note_pulls`]).
    const HAS_PULLS: bool = false;
    /// Whether packets of a flow can be left out (see [`Transport::shorten`]).
    const SHORTENS: bool = false;
    /// Whether it heeds pauses of destinations (see [`Transport::paused_to`]).
    const HEEDS_DESTINATIONS: bool = false;

    /// The parameters that may be set while a case runs.
    const SETTABLE: &'static [&'static str] = &[];

    /// Goes on with these values, of which only some of [`Transport::SETTABLE`] are others than before, at a moment:
    /// neither before what happened here last, nor after what happens next. What happened up to then stays as it is,
    /// and so does the moment for which something is planned.
    fn set(&mut self, _values: &Values, _now: Time) {}

    /// A flow starts here.
    fn start(&mut self, flow: Flow, context: &mut Context<'_, Self::Header, Self::Agent>);

    /// A packet for this host arrived.
    fn receive(&mut self, packet: Packet<Self::Header>, context: &mut Context<'_, Self::Header, Self::Agent>);

    /// A timer went off that this transport set.
    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Self::Header, Self::Agent>);

    /// A pause of the host's link has ended (see [`Context::nic_free_at`]).
    fn resumed(&mut self, _context: &mut Context<'_, Self::Header, Self::Agent>) {}

    /// The switch at the far end of the host's link pauses a flow, or resumes it, where switches do so flow by flow
    /// (BFC).
    fn paused(
        &mut self,
        _flow: FlowId,
        _is_paused: bool,
        _context: &mut Context<'_, Self::Header, Self::Agent>,
    ) {
    }

    /// The same of all flows to a host, those too that start later (Floodgate).
    fn paused_to(
        &mut self,
        _dst: HostId,
        _is_paused: bool,
        _context: &mut Context<'_, Self::Header, Self::Agent>,
    ) {
    }

    /// A packet will arrive soon: prefetches its flow's state, where that is worth it.
    #[inline]
    fn expect(&self, _packet: &Packet<Self::Header>) {}

    /// It will arrive even sooner, and its flow's state is in the cache: prefetches what that points to.
    #[inline]
    fn expect_soon(&self, _packet: &Packet<Self::Header>) {}

    /// Leaves out so many of a flow's full packets that were never sent. All that the flow did and knows stays as it
    /// is, so that it goes on as if it had sent them. Returns whether it has more than those left to send; if not,
    /// nothing is left out.
    fn shorten(&mut self, _flow: FlowId, _packets: u32) -> bool {
        false
    }

    /// The packet's TCP header, if it has one.
    fn segment(_packet: &Packet<Self::Header>) -> Segment {
        Segment::Datagram
    }

    /// The state of a flow that this host has not finished sending, at a moment: neither before what happened here
    /// last, nor after what happens next. A scheme whose flows have no such state has none.
    fn sending(&self, _flow: FlowId, _now: Time) -> Option<Sending> {
        None
    }

    /// What was done so far for each flow that this host has not finished sending, in any order.
    fn reports(&self) -> Vec<(FlowId, Report)>;

    /// The status of the flows that this host has not finished sending, in any order. Called only when a case seems
    /// to be stalled; a transport that reports none counts as making progress.
    fn statuses(&self) -> Vec<FlowStatus> {
        Vec::new()
    }
}

/// An unfinished flow's progress at its sender.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowStatus {
    /// The flow.
    pub flow: FlowId,
    /// How many of its packets are known to have arrived.
    pub arrived: u32,
    /// How many it has.
    pub packets: u32,
    /// What it waits for.
    pub waits_for: &'static str,
}

/// Sorted by flow.
pub(super) fn in_order(mut statuses: Vec<FlowStatus>) -> Vec<FlowStatus> {
    statuses.sort_unstable();
    statuses
}

/// What a transport can do at a moment at its host.
pub struct Context<'a, H, A = ()> {
    /// The moment.
    pub now: Time,
    /// The host.
    pub host: HostId,
    /// Random numbers of this host's transport.
    pub random: &'a mut Stream,
    pub(super) nic: &'a mut Nic<H, A>,
    pub(super) paths: Option<&'a mut PathChoice>,
    pub(super) link_table: &'a mut LinkTable<H>,
    pub(super) agenda: &'a mut Agenda,
    pub(super) log: &'a mut Log,
    pub(super) ended_chains: &'a mut Vec<u32>,
    pub(super) pulls: Option<&'a mut QueueRecorder>,
}

impl<H: Copy + Default, A: PortAgent<H>> Context<'_, H, A> {
    /// Hands a packet to the NIC's queue; returns the path that it takes.
    ///
    /// Inlined with what it calls up to the NIC, so that the sender writes the packet's fields where it will lie.
    /// Otherwise they go to the stack one by one and are read back many at once, for which the processor has to
    /// wait.
    #[inline(always)]
    pub fn send(&mut self, mut packet: Packet<H>) -> u16 {
        if let Some(paths) = &mut self.paths {
            packet.path = paths.next(&packet, self.now);
        }
        self.send_by(packet.path, packet);
        packet.path
    }

    /// The same by a path that was asked for before ([`Context::free_path`]), if one was.
    #[inline(always)]
    pub fn send_on(&mut self, free: Option<u16>, packet: Packet<H>) -> u16 {
        let path = match (free, &mut self.paths) {
            (Some(path), _) => path,
            (None, Some(paths)) => paths.next(&packet, self.now),
            (None, None) => packet.path,
        };
        self.send_by(path, packet);
        path
    }

    /// Reports the fate of a packet that was sent by a path.
    #[inline]
    pub fn judge_path(&mut self, feedback: &Feedback) {
        if let Some(paths) = &mut self.paths {
            paths.judge(self.now, feedback);
        }
    }

    /// Reports how a packet of a flow fared that was sent at `sent_at`, to a routing that keeps the flow to a path.
    #[inline]
    pub fn judge_flow(&mut self, flow: &Flow, sent_at: Time, fate: Fate) {
        if self.paths.is_some() {
            self.judge_flow_by_paths(flow, sent_at, fate);
        }
    }

    #[cold]
    #[inline(never)]
    fn judge_flow_by_paths(&mut self, flow: &Flow, sent_at: Time, fate: Fate) {
        if let Some(paths) = &mut self.paths {
            paths.judge_flow(self.now, flow, sent_at, fate);
        }
    }

    /// Hands an answer to the NIC's queue, whose path is that of what it answers. It keeps that number where the
    /// routing keeps flows to a path, so that answers keep their order, too, and move with what they answer.
    #[inline(always)]
    pub fn answer(&mut self, mut packet: Packet<H>) {
        if let Some(paths) = &mut self.paths
            && !paths.keeps_flows()
        {
            packet.path = paths.next(&packet, self.now);
        }
        self.send_by(packet.path, packet);
    }

    /// Hands a packet to the NIC's queue that takes a path of a controller's choice.
    #[inline(always)]
    pub fn send_by(&mut self, path: u16, mut packet: Packet<H>) {
        packet.time = self.now;
        packet.src = self.host;
        packet.path = path;
        let id = self.link_table.packets.add(packet);
        self.hand_over(id);
    }

    #[inline(never)]
    fn hand_over(&mut self, id: PacketId) {
        self.link_table.tag(id);
        self.nic.accept(self.now, id, self.link_table);
    }

    /// The NIC, from which all has gone that could go by now. What it is asked must not depend on when it was last
    /// served.
    #[inline]
    fn settled_nic(&mut self) -> &mut Nic<H, A> {
        self.nic.serve_until(self.now + Time(1), self.link_table);
        self.nic
    }

    /// When the NIC will have sent all it holds, as far as that is known now (`Port::drained_at`). A host with several links has as many: there it is the one for a
    /// packet of `flow` to `dst` on a path (see [`Context::send`]).
    pub fn nic_drained_at(&mut self, flow: FlowId, path: u16, dst: impl FnOnce() -> HostId) -> Time {
        let (time, src) = (self.now, self.host);
        self.settled_nic().drained_at_for(|| Packet {
            time,
            flow,
            src,
            dst: dst(),
            path,
            ..Packet::default()
        })
    }

    /// The same for what the NIC may send; `None` while the far end of its link has paused the class, or has no room
    /// for what waits of it. When that ends, [`Transport::resumed`] is called.
    pub fn nic_free_at(
        &mut self,
        class: u8,
        flow: FlowId,
        path: u16,
        dst: impl Fn() -> HostId,
    ) -> Option<Time> {
        if self.nic.holds_back_by_credit() {
            // What waits for credit is known once all has gone that could go.
            self.settled_nic();
        }
        let (time, src) = (self.now, self.host);
        let packet = || Packet { time, flow, src, dst: dst(), path, class, ..Packet::default() };
        (!self.nic.is_paused(class, packet)).then(|| self.nic_drained_at(flow, path, &dst))
    }

    /// By which of the host's links a packet of `flow` to `dst` goes on a path, by the link's place among them.
    pub fn link_for(&mut self, flow: FlowId, path: u16, dst: HostId) -> u32 {
        let (time, src) = (self.now, self.host);
        self.nic.link_for(|| Packet { time, flow, src, dst, path, ..Packet::default() })
    }

    /// Of the host's links by which it reaches another, and which have not paused a class: whether one is free, and when
    /// the first of those will be that are not. When a pause ends, [`Transport::resumed`] is called.
    pub fn links_free_to(&mut self, dst: HostId, class: u8) -> (bool, Time) {
        let now = self.now;
        self.settled_nic().free_to(now, dst, class)
    }

    /// Whether links that are not free stay so until the time that [`Context::links_free_to`] told, unless a pause ends: not
    /// where paths change.
    pub fn keeps_links(&self) -> bool {
        self.nic.is_fixed()
    }

    /// The path for a packet of a transport that waits for links, to be sent now ([`Context::send_on`]): one that
    /// begins with a link that is free. None if the choice of paths has the packet wait for another link.
    pub fn free_path(&mut self, packet: &Packet<H>) -> Option<u16> {
        let (now, src) = (self.now, self.host);
        self.settled_nic();
        let nic = &mut *self.nic;
        let mut is_free = |path| nic.is_free_for(&Packet { time: now, src, path, ..*packet });
        match &mut self.paths {
            Some(paths) => paths.next_among(packet, now, &mut is_free),
            None => Some(packet.path).filter(|&path| is_free(path)),
        }
    }

    /// Whether the link is free by which a packet would go that keeps to a path.
    pub fn is_free_for(&mut self, packet: &Packet<H>) -> bool {
        let (time, src) = (self.now, self.host);
        self.settled_nic().is_free_for(&Packet { time, src, ..*packet })
    }

    /// How long bytes take at a rate of the transport's choice, by the clock of the network (`whole_ns`): then as HPCC's
    /// simulator paces, on ns-3.17 (RdmaHw::UpdateNextAvail).
    #[inline]
    pub fn time_at(&self, rate: Rate, bytes: u64) -> Time {
        if self.link_table.whole_ns { rate.time_in_cut_ns(bytes) } else { rate.time_for(bytes) }
    }

    /// The rate of the host's link, or of all of them together.
    pub fn nic_rate(&self) -> Rate {
        self.nic.rate()
    }

    /// How long the NIC takes to send so many bytes; several do so together.
    pub fn nic_time_for(&self, bytes: u64) -> Time {
        self.nic.time_for(bytes)
    }

    /// Schedules a call of [`Transport::timer`].
    pub fn set_timer(&mut self, at: Time, key: u32, purpose: u8) {
        debug_assert!(at >= self.now, "a timer in the past");
        self.agenda.add(Timer { at, key, purpose });
    }

    /// The host owes its connections so many pulls from now on.
    #[inline]
    pub fn note_pulls(&mut self, owed: u64) {
        if let Some(recorder) = &mut self.pulls {
            recorder.note_length(self.now, owed);
        }
    }

    /// The receiver has every byte of a flow.
    pub fn delivered(&mut self, flow: FlowId) {
        self.log.delivered(flow, self.now);
    }

    /// The sender's congestion control made an error. The run ends with it.
    pub fn refuse(&mut self, flow: FlowId, error: ControlError) {
        self.log.refused(flow, self.now, error);
    }

    /// The sender knows that the receiver has every byte, or gave up.
    pub fn closed(&mut self, flow: &Flow, report: Report) {
        if let Some(paths) = &mut self.paths {
            paths.forget(flow.id);
        }
        self.log.closed(flow.id, self.now, report);
        self.ended_chains.extend(flow.chain);
    }
}
