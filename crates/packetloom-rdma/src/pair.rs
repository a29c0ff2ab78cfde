//! A queue pair at its sender: what was sent and acknowledged, and when the next packet may go. What its rate is, a
//! congestion control says.
//!
//! Nothing here knows packets, so it is compiled once for all transports.

use super::config::{Config, Recovery};
use super::control::FlowPath;
use super::repair::Selective;
use super::rota::{Turn, Waits};
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::Flow;
use crate::units::{Rate, Time};

/// The sending side.
#[derive(Clone, Debug)]
pub struct Pair {
    pub(super) flow: Flow,
    pub(super) path: FlowPath,
    packets: u32,
    cap: u32,
    /// What the queue pair has carried for flows before this one.
    carried_bytes: u64,
    /// Bytes and packets of those that are in flight yet.
    ahead: (u64, u32),
    pub(super) turn: Turn,
    /// Every packet before this one is acknowledged.
    una: u32,
    /// What is sent next, if nothing is to be sent again.
    next: u32,
    /// The first packet that was never sent.
    top: u32,
    selective: Option<Box<Selective>>,
    /// How many bytes may be in flight.
    pub(super) window_bytes: u64,
    /// When the last packet started, its size, and when the next may.
    sent_at: Time,
    sent_bytes: u16,
    may_send_at: Time,
    /// When something was last sent or acknowledged.
    moved_at: Time,
    /// The timer that is set.
    alarm: Time,
    pub(super) report: Report,
}

/// What a flow leaves on its queue pair: its turn, its pace and how much it has carried.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    turn: Turn,
    sent_at: Time,
    sent_bytes: u16,
    may_send_at: Time,
    carried_bytes: u64,
}

impl Left {
    /// What a queue pair has that has carried nothing.
    pub fn nothing(turn: Turn, now: Time) -> Left {
        Left { turn, sent_at: now, sent_bytes: 0, may_send_at: now, carried_bytes: 0 }
    }

    /// Its turn at the NIC.
    pub fn turn(&self) -> Turn {
        self.turn
    }
}

/// What an answer changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Packets newly known to have arrived.
    pub arrived: u32,
    /// A loss was found that was not known.
    pub lost: bool,
}

impl Pair {
    /// A flow that starts now.
    pub fn new(flow: Flow, path: FlowPath, turn: Turn, config: &Config, now: Time) -> Pair {
        let is_selective = matches!(config.recovery, Recovery::Selective { .. });
        Pair {
            flow,
            path,
            packets: config.format.data.count(flow.size_bytes),
            cap: config.packets_cap(&path),
            carried_bytes: 0,
            ahead: (0, 0),
            turn,
            una: 0,
            next: 0,
            top: 0,
            selective: is_selective.then(Box::default),
            window_bytes: u64::MAX,
            sent_at: now,
            sent_bytes: 0,
            may_send_at: now,
            moved_at: now,
            alarm: Time::NEVER,
            report: Report::default(),
        }
    }

    /// The flow goes on where another left off: its first packet waits for its pace, too.
    pub fn resume(&mut self, left: &Left) {
        (self.sent_at, self.sent_bytes) = (left.sent_at, left.sent_bytes);
        self.may_send_at = self.may_send_at.max(left.may_send_at);
        self.carried_bytes = left.carried_bytes;
    }

    /// It goes on after another that left off, where it had begun before.
    pub fn go_on(&mut self, left: &Left) {
        self.turn = left.turn;
        (self.sent_at, self.sent_bytes) = (left.sent_at, left.sent_bytes);
        self.may_send_at = left.may_send_at;
    }

    /// A message before it has to send again: with go-back-N, it does so, too.
    pub fn go_back(&mut self) {
        if self.selective.is_none() {
            self.next = self.una;
        }
    }

    /// Notes what is in flight of the messages before it on the queue pair.
    pub fn set_ahead<'a>(&mut self, earlier: impl Iterator<Item = &'a Pair>) {
        let in_flight = |pair: &Pair| (pair.sent_bytes() - pair.acked_bytes(), pair.next - pair.una);
        self.ahead = earlier.map(in_flight).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    }

    /// Whether it has nothing to send, unless something is lost yet.
    pub fn has_sent_all(&self) -> bool {
        self.next == self.packets && self.lost().is_none()
    }

    /// What it leaves once it is over.
    pub fn leave(&self) -> Left {
        Left {
            turn: self.turn,
            sent_at: self.sent_at,
            sent_bytes: self.sent_bytes,
            may_send_at: self.may_send_at,
            carried_bytes: self.carried_bytes + self.flow.size_bytes,
        }
    }

    /// How many packets the flow has.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Leaves out so many full packets that were never sent, if there are more.
    pub fn shorten(&mut self, packets: u32) -> bool {
        let is_enough = packets < self.packets - self.top;
        if is_enough {
            self.packets -= packets;
            self.flow.size_bytes -= u64::from(packets) * self.path.mss_bytes;
        }
        is_enough
    }

    /// Whether the receiver has everything, as far as the sender knows.
    pub fn is_done(&self) -> bool {
        self.una == self.packets
    }

    fn bytes_before(&self, seq: u32) -> u64 {
        (u64::from(seq) * self.path.mss_bytes).min(self.flow.size_bytes)
    }

    /// How far all is acknowledged, in bytes that the queue pair has carried.
    pub fn acked_bytes(&self) -> u64 {
        self.carried_bytes + self.bytes_before(self.una)
    }

    /// How far all is sent, in the same.
    pub fn sent_bytes(&self) -> u64 {
        self.carried_bytes + self.bytes_before(self.next)
    }

    /// Bytes in flight block the next packet once they reach the window, not before: that packet may exceed it.
    fn is_blocked(&self) -> bool {
        let (bytes, packets) = self.ahead;
        self.sent_bytes() - self.acked_bytes() + bytes >= self.window_bytes
            || self.next - self.una + packets >= self.cap
    }

    fn lost(&self) -> Option<u32> {
        self.selective.as_ref()?.lost(self.una)
    }

    /// When it may send, if it has anything to send.
    pub fn may_send_at(&self) -> Option<Time> {
        let has_new = self.next < self.packets && !self.is_blocked();
        (!self.is_done() && (has_new || self.lost().is_some())).then_some(self.may_send_at)
    }

    /// When its pace lets it send, if it has anything left to send, whatever its window says.
    pub fn pace(&self) -> Option<Time> {
        (!self.has_sent_all()).then_some(self.may_send_at)
    }

    /// The next packet, which starts now.
    pub fn take_next(&mut self, now: Time) -> u32 {
        let seq = match (self.lost(), &mut self.selective) {
            (Some(seq), Some(selective)) => {
                selective.sent_again(seq);
                seq
            }
            _ => {
                self.next += 1;
                self.next - 1
            }
        };
        self.report.packets_sent += 1;
        if seq < self.top {
            self.report.retransmissions += 1;
        }
        self.top = self.top.max(seq + 1);
        self.moved_at = now;
        seq
    }

    /// Whether the packet just taken leaves the sender waiting for an acknowledgement.
    pub fn requests_ack(&self, seq: u32) -> bool {
        seq + 1 == self.packets || self.is_blocked() || seq + 1 < self.next
    }

    /// Nothing will be heard of what was sent.
    pub fn let_go(&mut self) {
        self.una = self.next;
    }

    /// A packet of this size started, and the next may after a gap.
    pub fn sent(&mut self, now: Time, wire_bytes: u16, gap: Time) {
        (self.sent_at, self.sent_bytes) = (now, wire_bytes);
        self.may_send_at = now.saturating_add(gap);
    }

    /// The size of the last packet; `None` before there is one.
    pub fn last_sent(&self) -> Option<u16> {
        (self.sent_bytes > 0).then_some(self.sent_bytes)
    }

    /// The gap after the last packet is another one.
    pub fn move_pending(&mut self, gap: Time) {
        self.may_send_at = self.sent_at.saturating_add(gap);
    }

    /// An answer says that all before `next` arrived; a NACK, that `seq` did beyond that.
    pub fn acknowledged(&mut self, next: u32, nacked: Option<u32>, config: &Config, now: Time) -> Change {
        let chunk = match config.recovery {
            Recovery::GoBackN { chunk, .. } if next < self.packets => chunk,
            _ => 1,
        };
        let before = self.una;
        self.una = self.una.max(next.min(self.packets) / chunk * chunk);
        // After going back, an acknowledgement of what was sent before may still come.
        self.next = self.next.max(self.una);
        self.moved_at = now;
        let mut change = Change { arrived: self.una - before, lost: false };
        let (una, top) = (self.una, self.next);
        match (&mut self.selective, nacked) {
            (Some(selective), nacked) => {
                change.arrived -= selective.acknowledged(before, una);
                if let Some(seq) = nacked {
                    change.arrived += u32::from(selective.nacked(seq, una));
                    change.lost = seq >= una && selective.recover(una, top);
                }
            }
            (None, Some(_)) => {
                self.next = self.una;
                change.lost = true;
            }
            (None, None) => {}
        }
        change
    }

    /// When it times out. While a packet that is to be sent again waits for its pace, or for the NIC, nothing can answer
    /// it: the time runs from when it goes.
    fn expires_at(&self, config: &Config) -> Time {
        let in_flight = self.next - self.una;
        if in_flight == 0 || self.lost().is_some() {
            return Time::NEVER;
        }
        let rto = match config.recovery {
            Recovery::GoBackN { rto, .. } => rto,
            Recovery::Selective { rtos, many, .. } => rtos[usize::from(in_flight >= many)],
            Recovery::None => Time::NEVER,
        };
        self.moved_at.saturating_add(rto)
    }

    /// The timer that must be set, if none goes off in time.
    pub fn alarm(&mut self, config: &Config) -> Option<Time> {
        let at = self.expires_at(config);
        (at < self.alarm).then(|| {
            self.alarm = at;
            at
        })
    }

    /// A timer went off; returns whether it is a timeout.
    pub fn rings(&mut self, config: &Config, now: Time) -> bool {
        if now < self.alarm {
            return false;
        }
        self.alarm = Time::NEVER;
        if self.expires_at(config) > now {
            return false;
        }
        self.report.timeouts += 1;
        self.moved_at = now;
        let (una, next) = (self.una, self.next);
        match &mut self.selective {
            Some(selective) => selective.expired(una, next),
            None => self.next = una,
        }
        true
    }

    /// The flow's status.
    pub fn status(&self, config: &Config) -> FlowStatus {
        let waits_for = match self.turn.waits() {
            Waits::Nic => "the NIC: it is busy, or paused",
            Waits::Pace(_) => "the time that its rate sets",
            Waits::Outside if self.expires_at(config) == Time::NEVER => {
                "an acknowledgement; there is no timeout (rto)"
            }
            Waits::Outside => "an acknowledgement, or its timeout",
        };
        FlowStatus { flow: self.flow.id, arrived: self.arrived(), packets: self.packets, waits_for }
    }

    /// How many packets are known to have arrived.
    fn arrived(&self) -> u32 {
        self.una + self.selective.as_ref().map_or(0, |selective| selective.arrived())
    }

    /// Its window and rate, for observers.
    pub fn sending(&self, rate: Rate, rtt: Option<Time>) -> Sending {
        let cap =
            self.cap.min(u32::try_from(self.window_bytes.div_ceil(self.path.mss_bytes)).unwrap_or(u32::MAX));
        Sending {
            window: (cap < u32::MAX).then(|| f64::from(cap.max(1))),
            rate: Some(rate),
            rtt,
            congestion: None,
            in_flight: self.next - self.una,
            acknowledged: self.una,
            arrived: self.arrived(),
            report: self.report,
        }
    }
}
