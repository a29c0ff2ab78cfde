//! What happened to flows at hosts. It is collected window by window; nothing inside the simulation reads it.

use crate::flow::{Flow, FlowId};
use crate::units::Time;
use crate::user_class::ControlError;
use crate::workload::{Done, Workload};

/// What a sender did for a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Data packets sent, retransmissions included.
    pub packets_sent: u32,
    /// Data packets sent again.
    pub retransmissions: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Data packets that arrived trimmed, as far as the sender learned of it.
    pub trims: u32,
    /// Headers of data packets that came back to their sender.
    pub returns: u32,
    /// Whether the sender gave the flow up, because it could not be whole by its deadline.
    pub given_up: bool,
}

/// Something that happened to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was handed to its sender.
    Started(Flow),
    /// Its receiver has every byte.
    Delivered {
        /// Which flow.
        flow: FlowId,
        /// When its last byte came.
        at: Time,
    },
    /// Its sender is done.
    Closed {
        /// Which flow.
        flow: FlowId,
        /// When its last acknowledgement came.
        at: Time,
        /// What it took.
        report: Report,
    },
    /// All that a rank of a job does has ended.
    RankEnded {
        /// The job's source.
        source: u8,
        /// When.
        at: Time,
    },
    /// A user's class made an error for it, so that the run is worth nothing.
    Refused {
        /// Which flow.
        flow: FlowId,
        /// When.
        at: Time,
        /// What was wrong.
        error: ControlError,
    },
}

impl Event {
    /// The flow that has ended by this event, and at which end.
    pub fn done(&self) -> Option<(FlowId, Done)> {
        match *self {
            Event::Started(_) | Event::RankEnded { .. } | Event::Refused { .. } => None,
            Event::Delivered { flow, .. } => Some((flow, Done::Received)),
            Event::Closed { flow, .. } => Some((flow, Done::Sent)),
        }
    }
}

/// The events since the log was last read.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// In order of node, then time.
    pub events: Vec<Event>,
}

impl Log {
    /// Notifies the workload of what triggers for flows at several hosts may wait for.
    pub(super) fn notify(&self, workload: &mut Workload) {
        for event in &self.events {
            match *event {
                Event::Started(flow) => workload.notify_start(&flow),
                Event::Delivered { flow, at } => workload.notify_end(flow, Done::Received, at),
                Event::Closed { flow, at, .. } => workload.notify_end(flow, Done::Sent, at),
                Event::RankEnded { source, .. } => workload.notify_rank_ended(source),
                Event::Refused { .. } => {}
            }
        }
    }

    pub(super) fn started(&mut self, flow: Flow) {
        self.events.push(Event::Started(flow));
    }

    pub(super) fn rank_ended(&mut self, source: u8, at: Time) {
        self.events.push(Event::RankEnded { source, at });
    }

    #[cold]
    pub(super) fn refused(&mut self, flow: FlowId, at: Time, error: ControlError) {
        self.events.push(Event::Refused { flow, at, error });
    }

    #[inline]
    pub(super) fn delivered(&mut self, flow: FlowId, at: Time) {
        self.events.push(Event::Delivered { flow, at });
    }

    #[inline]
    pub(super) fn closed(&mut self, flow: FlowId, at: Time, report: Report) {
        self.events.push(Event::Closed { flow, at, report });
    }
}
