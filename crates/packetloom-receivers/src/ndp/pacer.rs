//! The pull queue of a host: all its connections share it, and what they pull together fills the host's link
//! (NDP §3.2).

use super::PULL;
use super::config::Config;
use super::header::Header;
use super::receiver::Receiver;
use crate::engine::Context;
use crate::flow::FlowId;
use crate::units::Time;
use std::collections::BTreeSet;

/// A connection's position in the pull queue: its urgency, then its turn.
pub type PullKey = (u32, u64);

/// The queue, and the clock by which pulls leave it.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// Connections that are owed a pull.
    waiting: BTreeSet<(PullKey, FlowId)>,
    turns: u64,
    /// The earliest that the next pull may go.
    free_at: Time,
    /// Whether a timer is set for that.
    timer_set: bool,
    /// Pulls owed to all connections.
    owed: u64,
}

impl Pacer {
    /// Something of a connection arrived, so it is owed a pull. If that may go at once, returns it, to ride on the
    /// acknowledgement; else it joins the queue, and 0 is returned, which pulls nothing.
    pub(super) fn request(
        &mut self,
        receiver: &mut Receiver,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> u32 {
        if !receiver.wants_pull(config) {
            return 0;
        }
        if config.pull_on_ack && self.waiting.is_empty() && self.free_at <= context.now {
            self.occupy(config, context);
            return receiver.count_pull();
        }
        receiver.owed += 1;
        self.change_owed(self.owed + 1, context);
        self.requeue(receiver, config);
        self.set_timer(context);
        0
    }

    /// A connection is over: what it is owed goes with it.
    pub(super) fn forget(&mut self, receiver: &mut Receiver, context: &mut Context<'_, Header>) {
        self.remove(receiver);
        self.change_owed(self.owed - u64::from(receiver.owed), context);
    }

    fn change_owed(&mut self, owed: u64, context: &mut Context<'_, Header>) {
        self.owed = owed;
        context.note_pulls(owed);
    }

    /// Takes a connection out of the queue, and returns the turn that it had there.
    fn remove(&mut self, receiver: &mut Receiver) -> Option<u64> {
        let (urgency, turn) = receiver.pull_key.take()?;
        self.waiting.remove(&((urgency, turn), receiver.flow()));
        Some(turn)
    }

    /// The timer went off: the connection to pull from, if any still waits.
    pub(super) fn next(&mut self) -> Option<FlowId> {
        self.timer_set = false;
        self.waiting.first().map(|(_, flow)| *flow)
    }

    /// Pulls from a connection, whose next pull, if it is owed one, goes behind its equals.
    pub(super) fn pull(
        &mut self,
        receiver: &mut Receiver,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> u32 {
        self.remove(receiver);
        receiver.owed -= 1;
        self.change_owed(self.owed - 1, context);
        if receiver.owed > 0 {
            self.requeue(receiver, config);
        }
        self.occupy(config, context);
        if !self.waiting.is_empty() {
            self.set_timer(context);
        }
        receiver.count_pull()
    }

    /// Puts a connection where it belongs; one that waits keeps its turn among equals.
    fn requeue(&mut self, receiver: &mut Receiver, config: &Config) {
        let urgency = receiver.urgency(config);
        if receiver.pull_key.is_some_and(|(before, _)| before == urgency) {
            return;
        }
        let turn = self.remove(receiver).unwrap_or_else(|| {
            self.turns += 1;
            self.turns
        });
        receiver.pull_key = Some((urgency, turn));
        self.waiting.insert(((urgency, turn), receiver.flow()));
    }

    /// A pull goes now; the next one must wait until the packet that this one fetches would be off the link.
    fn occupy(&mut self, config: &Config, context: &Context<'_, Header>) {
        let full_packet = context.nic_time_for(config.full_packet_bytes());
        self.free_at = context.now + config.pull_interval(full_packet);
    }

    fn set_timer(&mut self, context: &mut Context<'_, Header>) {
        if !self.timer_set {
            self.timer_set = true;
            context.set_timer(self.free_at.max(context.now), 0, PULL);
        }
    }
}
