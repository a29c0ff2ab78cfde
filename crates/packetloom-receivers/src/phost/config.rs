//! pHost's parameters.

use super::header::Header;
use crate::flow::{FlowId, HostId};
use crate::narrow::saturated;
use crate::packet::{Kind, Packet};
use crate::packet_format::{self, PacketFormat};
use crate::priority;
use crate::spec::{Complaint, Kind as Holds, Param, Values, param};
use crate::units::Time;

/// All of them.
pub const PARAMS: &[Param] = &[
    packet_format::MSS,
    packet_format::HEADER,
    packet_format::ACK,
    param! {
        "free_tokens" = "8": Holds::Count(0),
        "A flow of this many packets at most sends them without a token from its receiver.",
        "YAPS: capability_initial 8; pHost §3.2: a bandwidth-delay product"
    },
    param! {
        "short_first" = "true": Holds::Flag,
        "Whether the packets of such flows go before those of longer ones in switches that schedule by a packet's priority (queue = \"pfabric\").",
        "YAPS: capability_third_level; pHost §3.2: packets that are sent for free tokens have a higher priority"
    },
    param! {
        "window" = "8": Holds::Count(1),
        "A flow may have at most this many tokens beyond the last one for which data arrived.",
        "YAPS: capability_window 8"
    },
    param! {
        "expiry" = "1.5": Holds::Number(0.1, 1000.0),
        "A token is valid for the time of this many full packets; free ones for as long after all of them could be sent.",
        "YAPS: capability_timeout 1.5; pHost §3.3"
    },
    param! {
        "window_timeout" = "25": Holds::Number(1.0, 10_000.0),
        "A flow with a full window of tokens gets new ones when the last was sent this many packet times ago, because its sender does not answer.",
        "YAPS: capability_window_timeout 25"
    },
    param! {
        "resend_timeout" = "9": Holds::Number(1.0, 10_000.0),
        "Once each missing packet has had a token for this many packet times, those that are still missing get new ones.",
        "YAPS: capability_resend_timeout 9"
    },
    param! {
        "retry" = "1ms": Holds::Time,
        "A sender that has received nothing for this long repeats its request.",
        "packetloom: YAPS loses no requests"
    },
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    if values.time("retry") < Time::from_us(1) {
        return Err(Complaint::new("retry", "write a time of at least 1us, such as \"1ms\""));
    }
    Ok(())
}

/// The priorities of data, after that of all else.
const SHORT: u32 = priority::FIRST + 1;
const LONG: u32 = SHORT + 1;

/// The parameters, read.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub(super) format: PacketFormat,
    pub(super) free_tokens: u32,
    short_first: bool,
    pub(super) window: u32,
    expiry: f64,
    window_timeout: f64,
    resend_timeout: f64,
    pub(super) retry: Time,
}

impl Config {
    pub(super) fn of(values: &Values) -> Config {
        let count = |key| u32::try_from(values.count(key)).unwrap_or(u32::MAX);
        Config {
            format: PacketFormat::of(values),
            free_tokens: count("free_tokens"),
            short_first: values.flag("short_first"),
            window: count("window"),
            expiry: values.number("expiry"),
            window_timeout: values.number("window_timeout"),
            resend_timeout: values.number("resend_timeout"),
            retry: values.time("retry"),
        }
    }

    /// How many tokens a flow of so many packets has from the start.
    pub(super) fn free(&self, packets: u32) -> u32 {
        if packets <= self.free_tokens { packets } else { 0 }
    }

    /// The priority of the data of a flow of so many packets.
    pub(super) fn priority(&self, packets: u32) -> u32 {
        if self.short_first && packets <= self.free_tokens { SHORT } else { LONG }
    }

    /// Bytes of a full packet.
    pub(super) fn full_packet_bytes(&self) -> u64 {
        self.format.data.mss_bytes + self.format.data.header_bytes
    }

    /// How long a token is good for, of which `ahead` free ones may go first.
    pub(super) fn lasts(&self, packet_time: Time, ahead: u32) -> Time {
        packet_time.times(ahead.into()) + scaled(packet_time, self.expiry)
    }

    pub(super) fn window_timeout(&self, packet_time: Time) -> Time {
        scaled(packet_time, self.window_timeout)
    }

    pub(super) fn resend_timeout(&self, packet_time: Time) -> Time {
        scaled(packet_time, self.resend_timeout)
    }

    /// A packet without payload, which goes before all data.
    pub(super) fn control(&self, flow: FlowId, dst: HostId, class: u8, header: Header) -> Packet<Header> {
        Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: self.format.ack_bytes,
            kind: if let Header::Done = header { Kind::Ack } else { Kind::Control },
            class,
            header,
            ..Packet::default()
        }
    }
}

fn scaled(time: Time, factor: f64) -> Time {
    Time(saturated::<u64>((time.as_ps() as f64 * factor).round()))
}
