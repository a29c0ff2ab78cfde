//! The packet header of the paced transports.

/// What a packet is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Opens the flow, and requests a rate.
    Open,
    /// Carries payload.
    #[default]
    Data,
    /// Requests a rate while there is none to send at.
    Probe,
    /// The flow is over, whole or given up: what was granted to it is free.
    Close,
}

/// The header; `fields` are the scheme's own, which routers read and write. An answer repeats it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header<W> {
    /// In picoseconds of the simulation: when the packet was sent that this is or answers.
    pub sent_at: crate::units::Time,
    /// The packet's number in its flow.
    pub seq: u32,
    /// In an answer: every packet before this one arrived.
    pub next: u32,
    /// What it is for, or what the packet that it answers was for.
    pub role: Role,
    /// The flow's last packet.
    pub last: bool,
    /// The scheme's own.
    pub fields: W,
}
