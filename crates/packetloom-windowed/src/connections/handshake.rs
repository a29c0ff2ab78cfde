//! How a connection is opened (RFC 9293 §3.5), at both ends: SYN, SYN-ACK and an acknowledgement before the data.
//! SYNs and SYN-ACKs that are lost are sent again after a timeout that doubles (RFC 6298 §5).
//!
//! The acknowledgement goes alone, as connect() returns before an application can write. A subflow that joins an
//! MPTCP connection may send data only once the other end has confirmed that acknowledgement (RFC 8684 §3.2). No
//! attempt is given up, and connections are not closed.

use crate::engine::Context;
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::{Kind, Packet};
use crate::priority;
use crate::routing::Fate;
use crate::units::Time;
use crate::windowed::{Config, DELAYED_ACK, Header, RETRANSMIT, purpose_of};
use std::collections::BTreeMap;

/// A packet's part in a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// None.
    #[default]
    Nothing,
    /// SYN.
    Syn,
    /// SYN and ACK.
    SynAck,
    /// The acknowledgement of the SYN-ACK.
    Ack,
    /// Of a joining subflow: the acknowledgement of that.
    Confirm,
}

/// A connection that has been opened, at the end that opened it.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    pub flow: Flow,
    pub subflow: u8,
    /// The handshake's round-trip time, where it is known: of a SYN that was sent again only with timestamps (Karn's
    /// algorithm).
    pub rtt: Option<Time>,
    /// How often a timer expired meanwhile.
    pub timeouts: u32,
}

/// At the end that opens.
#[derive(Clone, Copy, Debug)]
struct Opening {
    opened: Opened,
    class: u8,
    /// What it sends until it is answered.
    sends: Step,
    expires: Time,
}

/// At the other end, from the SYN until the connection is known to be open.
#[derive(Clone, Copy, Debug)]
struct HalfOpen {
    syn: Packet<Header>,
    class: u8,
    timeouts: u32,
    expires: Time,
}

/// Whose handshake it is: a flow's, and there a subflow's.
type Key = (FlowId, u8);

/// A host's handshakes.
#[derive(Clone, Debug)]
pub struct Handshakes {
    rto: Time,
    opening: BTreeMap<Key, Opening>,
    half_open: BTreeMap<Key, HalfOpen>,
}

impl Handshakes {
    /// Before the first; the timeout is that of `syn_rto`.
    pub fn new(rto: Time) -> Handshakes {
        Handshakes { rto, opening: BTreeMap::new(), half_open: BTreeMap::new() }
    }

    /// Opens a connection, by packets of this class.
    pub fn open(
        &mut self,
        flow: Flow,
        (subflow, class): (u8, u8),
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        self.await_answer(flow, (subflow, class), context);
        self.send_again((flow.id, subflow), config, context);
    }

    /// Waits for the answer to a SYN that has been sent. Those that follow it are of this class.
    pub fn await_answer(
        &mut self,
        flow: Flow,
        (subflow, class): (u8, u8),
        context: &mut Context<'_, Header>,
    ) {
        let expires = context.now + self.rto;
        let opened = Opened { flow, subflow, rtt: None, timeouts: 0 };
        let opening = Opening { opened, class, sends: Step::Syn, expires };
        self.opening.insert((flow.id, subflow), opening);
        context.set_timer(expires, flow.id, purpose_of(RETRANSMIT, subflow));
    }

    /// The connection turned out to be open, or is needed no more.
    pub fn forget(&mut self, flow: FlowId, subflow: u8) -> Option<Opened> {
        self.opening.remove(&(flow, subflow)).map(|opening| opening.opened)
    }

    /// Data arrived, so that the other end knows that the connection is open.
    pub fn data_arrived(&mut self, flow: FlowId, subflow: u8) {
        self.half_open.remove(&(flow, subflow));
    }

    /// Flows that have no connection yet.
    pub fn waiting(&self) -> impl Iterator<Item = &Opened> {
        self.opening.values().map(|opening| &opening.opened)
    }

    /// A SYN came; `arrived` packets of its flow came before, if any of them did, and answers are of this class.
    pub fn syn(
        &mut self,
        syn: &Packet<Header>,
        arrived: Option<u32>,
        class: u8,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let key = (syn.flow, syn.header.subflow);
        if arrived.is_none() && !self.half_open.contains_key(&key) {
            let expires = context.now + self.rto;
            self.half_open.insert(key, HalfOpen { syn: *syn, class, timeouts: 0, expires });
            context.set_timer(expires, syn.flow, purpose_of(DELAYED_ACK, syn.header.subflow));
        }
        let header = Header { ack: arrived.unwrap_or(0), ..answer(Step::SynAck, syn) };
        context.answer(packet(syn.flow, syn.src, (class, syn.path), header, config));
    }

    /// Another packet of a handshake came. Returns the connection that it opens at this end.
    pub fn receive(
        &mut self,
        came: &Packet<Header>,
        class: u8,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> Option<Opened> {
        let key = (came.flow, came.header.subflow);
        match came.header.step {
            Step::SynAck => self.syn_ack(came, config, context),
            Step::Ack => {
                self.half_open.remove(&key);
                if came.header.subflow > 0 {
                    let header = answer(Step::Confirm, came);
                    context.answer(packet(came.flow, came.src, (class, came.path), header, config));
                }
                None
            }
            Step::Confirm => self.opening.remove(&key).map(|opening| opening.opened),
            Step::Nothing | Step::Syn => None,
        }
    }

    fn syn_ack(
        &mut self,
        came: &Packet<Header>,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> Option<Opened> {
        let key = (came.flow, came.header.subflow);
        let header = answer(Step::Ack, came);
        context.answer(packet(came.flow, came.src, (came.class, came.path), header, config));
        let opening = self.opening.get_mut(&key)?;
        let is_unambiguous = config.has_timestamps() || opening.opened.timeouts == 0;
        if opening.sends == Step::Syn && is_unambiguous {
            opening.opened.rtt = Some(context.now.since(came.header.sent_at));
        }
        if came.header.subflow == 0 {
            return self.opening.remove(&key).map(|opening| opening.opened);
        }
        if opening.sends == Step::Syn {
            opening.sends = Step::Ack;
            opening.expires = context.now + self.rto;
            context.set_timer(opening.expires, came.flow, purpose_of(RETRANSMIT, came.header.subflow));
        }
        None
    }

    /// A timer of the end that opens went off.
    pub fn opening_timer(
        &mut self,
        flow: FlowId,
        subflow: u8,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let Some(opening) = self.opening.get_mut(&(flow, subflow)) else { return };
        if context.now < opening.expires {
            return;
        }
        opening.opened.timeouts += 1;
        opening.expires = context.now + backed_off(self.rto, opening.opened.timeouts, config);
        context.set_timer(opening.expires, flow, purpose_of(RETRANSMIT, subflow));
        context.judge_flow(&opening.opened.flow, context.now, Fate::Lost);
        self.send_again((flow, subflow), config, context);
    }

    /// A timer of the other end went off.
    pub fn half_open_timer(
        &mut self,
        flow: FlowId,
        subflow: u8,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let Some(half_open) = self.half_open.get_mut(&(flow, subflow)) else { return };
        if context.now < half_open.expires {
            return;
        }
        half_open.timeouts += 1;
        half_open.expires = context.now + backed_off(self.rto, half_open.timeouts, config);
        context.set_timer(half_open.expires, flow, purpose_of(DELAYED_ACK, subflow));
        let (syn, class) = (half_open.syn, half_open.class);
        let header = answer(Step::SynAck, &syn);
        context.answer(packet(flow, syn.src, (class, syn.path), header, config));
    }

    fn send_again(&mut self, key: Key, config: &Config, context: &mut Context<'_, Header>) {
        let Some(opening) = self.opening.get(&key) else { return };
        let Opened { flow, subflow, .. } = opening.opened;
        let header = Header { sent_at: context.now, step: opening.sends, subflow, ..Header::default() };
        context.send(packet(flow.id, flow.dst, (opening.class, subflow.into()), header, config));
    }
}

fn backed_off(rto: Time, timeouts: u32, config: &Config) -> Time {
    rto.times(1 << timeouts.min(30)).min(config.longest_rto())
}

/// The header of an answer, which echoes when the packet was sent that it answers.
fn answer(step: Step, of: &Packet<Header>) -> Header {
    Header { sent_at: of.header.sent_at, step, subflow: of.header.subflow, ..Header::default() }
}

fn packet(
    flow: FlowId,
    dst: HostId,
    (class, path): (u8, u16),
    header: Header,
    config: &Config,
) -> Packet<Header> {
    Packet {
        flow,
        dst,
        priority: priority::FIRST,
        size_bytes: config.format().ack_bytes,
        kind: Kind::Control,
        class,
        path,
        header,
        ..Packet::default()
    }
}
