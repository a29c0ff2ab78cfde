//! What holds of a queue whatever comes.

/// Said by each queue's declaration, or by those of its parts: nowhere else is there a list of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// A flow's packets leave in the order in which they came.
    pub keeps_order: bool,
    /// It goes by the priorities in packets, or may.
    pub ranks: bool,
    /// It sends flows one after another, by their priorities.
    pub shortest_first: bool,
    /// Flows that it serves do not all share alike.
    pub shares_unevenly: bool,
    /// The ports of a switch share a buffer.
    pub shares_buffer: bool,
    /// Nothing is ever lost.
    pub loses_nothing: bool,
    /// It may drop packets for which there is room.
    pub drops_early: bool,
}

impl Traits {
    /// Of nothing that is here said.
    pub(super) const NONE: Traits = Traits {
        keeps_order: false,
        ranks: false,
        shortest_first: false,
        shares_unevenly: false,
        shares_buffer: false,
        loses_nothing: false,
        drops_early: false,
    };
    /// First in, first out.
    pub(super) const FIFO: Traits = Traits { keeps_order: true, ..Traits::NONE };
    /// Flows in turn, each first in, first out.
    pub(super) const FLOWS: Traits = Traits::FIFO;
    /// Flows by the weights in their packets.
    pub(super) const WEIGHTS: Traits = Traits { ranks: true, shares_unevenly: true, ..Traits::FLOWS };
    /// One flow after another.
    pub(super) const SHORTEST_FIRST: Traits = Traits { ranks: true, shortest_first: true, ..Traits::FIFO };
    /// By classes; a flow may change its class.
    pub(super) const CLASSES: Traits = Traits { shares_unevenly: true, ..Traits::NONE };
}
