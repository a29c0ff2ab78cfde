//! Packet sizes: parameters that every transport has.

use super::priority;
use crate::narrow::exact;
use crate::packet::Format;
use crate::packet::{Kind, Packet};
use crate::spec::{self, Complaint, Needs, Param, Values, param};

/// Payload of a full packet.
pub const MSS: Param = param! {
    "mss" = "1460B": spec::Kind::Bytes,
    "Payload bytes of a full packet.", "Ethernet's 1500 B less IPv4 and TCP headers"
};

/// Header of a data packet.
pub const HEADER: Param = param! {
    "header" = "40B": spec::Kind::Bytes,
    "Header bytes of a data packet.", "IPv4 and TCP without options"
};

/// Size of an acknowledgement.
pub const ACK: Param = param! {
    "ack" = "40B": spec::Kind::Bytes,
    "Bytes of an acknowledgement or probe on the wire.", "IPv4 and TCP without options"
};

/// All three, for models that have no others, and no acknowledgements either.
pub const PARAMS: &[Param] =
    &[MSS, HEADER, ACK.acts(&[Needs::That(|_| false, "a flow-level model has no answers")])];

/// The sizes of a transport's packets.
#[derive(Clone, Copy, Debug)]
pub struct PacketFormat {
    /// Payload and header of data packets.
    pub data: Format,
    /// Bytes of an acknowledgement.
    pub ack_bytes: u16,
}

impl PacketFormat {
    /// Reads the parameters `mss`, `header` and `ack`.
    pub fn of(values: &Values) -> PacketFormat {
        PacketFormat {
            data: Format { mss_bytes: values.bytes("mss"), header_bytes: values.bytes("header") },
            ack_bytes: exact::<u16>(values.bytes("ack")),
        }
    }

    /// The wire size of packet `seq` of a flow.
    #[inline]
    pub fn wire_bytes(&self, seq: u32, packets: u32, size_bytes: u64) -> u16 {
        let payload =
            if seq + 1 == packets { self.data.last_payload(size_bytes) } else { self.data.mss_bytes };
        exact::<u16>(payload + self.data.header_bytes)
    }

    /// The acknowledgement of a packet, which goes before all data.
    #[inline]
    pub fn ack<H: Copy + Default>(&self, of: &Packet<H>, header: H) -> Packet<H> {
        Packet {
            flow: of.flow,
            dst: of.src,
            priority: priority::FIRST,
            size_bytes: self.ack_bytes,
            kind: Kind::Ack,
            class: of.class,
            header,
            ..Packet::default()
        }
    }

    /// The smallest packet; no transport may send a smaller one (see `engine`'s windows).
    pub fn smallest_bytes(&self) -> u64 {
        (self.data.header_bytes + 1).min(u64::from(self.ack_bytes))
    }
}

/// What must hold of the sizes.
pub fn check(values: &Values) -> Result<(), Complaint> {
    let (mss, header, ack) = (values.bytes("mss"), values.bytes("header"), values.bytes("ack"));
    if mss == 0 {
        Err(Complaint::new("mss", "a packet must carry something; write a size such as \"1460B\""))
    } else if mss + header > 65_535 {
        Err(Complaint::new("mss", "a packet with its header may have 65535 bytes at most"))
    } else if !(1..=65_535).contains(&ack) {
        Err(Complaint::new("ack", "write a size from 1B to 65535B"))
    } else {
        Ok(())
    }
}
