//! The parameters of the paced transports.

use crate::packet_format::{self, PacketFormat};
use crate::rto::RtoRule;
use crate::spec::{Complaint, Kind, Param, Values, check_period, param};

/// Later packets' answers that prove one lost.
pub const LOSS_PROOF: usize = 3;

/// The core's parameters.
pub const CORE: &[Param] = &[
    packet_format::MSS,
    packet_format::HEADER,
    packet_format::ACK,
    param! {
        "min_rto" = "2ms": Kind::Time,
        "The least retransmission timeout, and the one before any round trip is known.",
        "packetloom: above the round trips of a datacenter with queues"
    },
    param! {
        "max_rto" = "1s": Kind::Time,
        "The greatest retransmission timeout.", "packetloom (RFC 6298: at least 60 s)"
    },
];

/// Everything the core needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) format: PacketFormat,
    pub(super) rto: RtoRule,
    /// All the values, for the rate control's own.
    pub(super) values: Values,
}

impl Config {
    pub(super) fn of(values: &Values) -> Config {
        Config {
            format: PacketFormat::of(values),
            rto: RtoRule::between(values.time("min_rto"), values.time("max_rto")),
            values: values.clone(),
        }
    }
}

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    check_period("min_rto", values.time("min_rto"), "2ms")?;
    if values.time("min_rto") > values.time("max_rto") {
        return Err(Complaint::new("min_rto", "min_rto must not be above max_rto"));
    }
    Ok(())
}
