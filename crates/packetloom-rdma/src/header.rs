//! What packets between queue pairs say.

/// A packet's part in a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// None.
    #[default]
    Nothing,
    /// REQ.
    Request,
    /// REP.
    Reply,
    /// RTU: ready to use.
    Ready,
}

/// The header; `fields` are those of the congestion control, which an answer returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header<W> {
    /// The packet's number in its flow; an answer repeats it.
    pub seq: u32,
    /// In an answer: every packet before this one arrived.
    pub next: u32,
    /// Of data: the flow's last packet.
    pub last: bool,
    /// Of data: the sender waits for an acknowledgement (InfiniBand's AckReq).
    pub requests_ack: bool,
    /// Of an answer: the packet came out of order (a NACK).
    pub nack: bool,
    /// Of an answer: packets that it acknowledges were marked.
    pub marked: bool,
    /// Of data: which queue pair of its two hosts it is on.
    pub pair: u16,
    /// Of a control packet that is no CNP: what it is.
    pub step: Step,
    /// The congestion control's own.
    pub fields: W,
}
