//! What packets between queue pairs say.

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
    /// The congestion control's own.
    pub fields: W,
}
