//! dcPIM's parameters.

use super::header::Header;
use super::rounds::Rounds;
use crate::flow::{FlowId, HostId};
use crate::narrow::{exact, saturated};
use crate::packet::{Kind, Packet};
use crate::packet_format::{self, PacketFormat};
use crate::priority;
use crate::spec::{Complaint, Kind as Holds, Param, Values, param};
use crate::topology::Topology;
use crate::units::Time;
use packetloom_transport::ways;

/// Levels of data by the size of its flow: up to 7 packets, up to 49, and so on; the last has all that are larger.
const LEVEL_BASE: u32 = 7;
const LEVELS_BY_SIZE: u8 = 6;
/// The level of a short flow's packets, after control packets at level 0.
pub const SHORT_LEVEL: u8 = 1;
/// Control packets, short flows, and channels.
pub const LEVELS: u64 = 8;

const fn number(
    name: &'static str,
    (least, most): (f64, f64),
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    let kind = Holds::Number(least, most);
    param! { name = default: kind, doc, source }
}

const fn count(
    name: &'static str,
    least: u64,
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    param! { name = default: Holds::Count(least), doc, source }
}

/// All of them.
pub const PARAMS: &[Param] = &[
    param! {
        "variant" = "paper": Holds::Choice(&["paper", "yapsdc"]),
        "The paper's packets and levels, or those of the authors' simulator. There every data packet is sent at full size, and its class depends on its flow's size in powers of 7 packets rather than on the token. A sender uses its oldest token, unless a later one has both a better level and less left of its flow. Of more than 16 equal requests or grants others are taken than those that came first, as its sort is not stable.",
        "dcPIM (SIGCOMM 2022); Terabit-Ethernet/dcPIM, simulator/: PimFlow::send, DCExpParams::packet_priority, PimTokenComparator, PimEpoch::handle_all_req"
    },
    packet_format::MSS,
    packet_format::HEADER,
    packet_format::ACK,
    count(
        "rounds",
        1,
        "4",
        "Rounds of request, grant and accept in a matching (r).",
        "dcPIM (SIGCOMM 2022): 4; the authors' simulator: pim_iter_limit",
    ),
    count(
        "channels",
        1,
        "4",
        "Channels of a host (k): how many peers it may be matched with at once, each over an equal part of its link.",
        "dcPIM (SIGCOMM 2022): 4; the authors' simulator: pim_k",
    ),
    number(
        "beta",
        (1.0, 1000.0),
        "1.3",
        "How long a round is, in round trips of a control packet between the hosts that are farthest apart. What comes too late for its half of a round is not answered, so there must be time for a data packet that is in the way at each hop. In a rack with links of 100 Gb/s and 200 ns, 1.3 leaves 122 ns, and each such packet takes 120 ns.",
        "dcPIM (SIGCOMM 2022); the authors' simulator: pim_beta",
    ),
    number(
        "alpha",
        (1.0, 1000.0),
        "1",
        "How long a data phase is, in matchings. The next matching begins with the phase of the one before, so it is no shorter.",
        "the authors' simulator: pim_alpha",
    ),
    count(
        "sorted_rounds",
        0,
        "1",
        "In how many first rounds of a matching hosts choose the flows with the least left; in the others, any.",
        "dcPIM (SIGCOMM 2022); the authors' simulator: pim_select_min_iters, whose rounds count from 1",
    ),
    param! {
        "bdp": Holds::Count(1),
        "A bandwidth-delay product in full packets, which the parameters below are in. Left out: what a host's link carries in a full packet's time to the host that is farthest away, and another's time back.",
        "the authors' simulator: LeafSpineTopology::set_up_parameter"
    },
    number(
        "short",
        (0.0, 1e4),
        "1",
        "A flow of this many BDPs at most is sent at once, past the matching.",
        "dcPIM (SIGCOMM 2022): 1 BDP; the authors' simulator: token_initial",
    ),
    number(
        "window",
        (0.0, 1e4),
        "1",
        "A flow's tokens are ahead of its data by this many BDPs at most, if it has all channels; with fewer channels, by their part of it.",
        "dcPIM (SIGCOMM 2022): 1 BDP; the authors' simulator: token_window",
    ),
    number(
        "window_timeout",
        (0.0, 1e6),
        "1.1",
        "If a full window kept back all tokens for the time of this many BDPs, those that were not answered are given up.",
        "the authors' simulator: token_window_timeout",
    ),
    number(
        "resend_timeout",
        (0.0, 1e6),
        "1",
        "Once each missing packet of a flow has had a token, those that are still missing after the time of this many BDPs are asked for again.",
        "the authors' simulator: token_resend_timeout",
    ),
    param! {
        "retry" = "1ms": Holds::Time,
        "A sender that has heard nothing of a flow for this long announces it again.",
        "packetloom: the authors' simulator loses no announcements"
    },
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    if values.time("retry") < Time::from_us(1) {
        return Err(Complaint::new("retry", "write a time of at least 1us, such as \"1ms\""));
    }
    for key in ["rounds", "channels"] {
        if values.count(key) > 64 {
            return Err(Complaint::new(key, "write a number from 1 to 64"));
        }
    }
    Ok(())
}

/// What must hold of them on a network.
pub fn check_network(topology: &Topology) -> Result<(), Complaint> {
    if topology.hosts_are_alike() {
        return Ok(());
    }
    let message = "the hosts' links differ in rate, and dcpim's channels are as fast at all hosts (dcPIM, SIGCOMM 2022); write \
                   another transport, such as \"homa\"";
    Err(Complaint::new("scheme.transport", message))
}

/// The parameters, read.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub format: PacketFormat,
    /// Every data packet is sent at full size.
    all_full: bool,
    /// A packet's level comes from its flow's size, not from its token.
    level_by_size: bool,
    /// See [`Outbox`](super::outbox::Outbox).
    pub overtakes_by_both: bool,
    /// Offers of a sorted round are ranked by a sort that is not stable.
    pub ranks_unstably: bool,
    /// A sender that takes channels back after their data phase has begun, does so in vain.
    pub releases_late: bool,
    pub channels: u8,
    pub sorted_rounds: u8,
    pub rounds: Rounds,
    /// What a channel carries in a data phase.
    pub channel_packets: u32,
    /// How long a token is of use after its data phase.
    pub grace: Time,
    /// A full packet's time on a host's link.
    pub packet_time: Time,
    /// In packets.
    short: u32,
    pub window: u32,
    pub window_timeout: Time,
    pub resend_timeout: Time,
    pub retry: Time,
}

impl Config {
    /// On a network.
    pub fn of(values: &Values, topology: &Topology) -> Config {
        let format = PacketFormat::of(values);
        let is_simulators = values.meaning("variant", &[("paper", false), ("yapsdc", true)]);
        let wire = |bytes: u64| bytes + topology.framing_bytes;
        let full = wire(format.data.mss_bytes + format.data.header_bytes);
        let packet_time = topology.host_rate().time_for(full);
        let control_trip = longest_round_trip(topology, wire(format.ack_bytes.into()));
        let channels = small(values, "channels");
        let rounds = timetable(values, control_trip);
        let bdp = values
            .optional_count("bdp")
            .unwrap_or_else(|| longest_round_trip(topology, full).as_ps().div_ceil(packet_time.as_ps()));
        let packets = |key| saturated::<u32>(bdp as f64 * values.number(key));
        let time = |key| scaled(packet_time.times(bdp), values.number(key));
        let in_a_phase = rounds.phase().as_ps() / packet_time.as_ps() / u64::from(channels);
        Config {
            format,
            all_full: is_simulators,
            level_by_size: is_simulators,
            overtakes_by_both: is_simulators,
            ranks_unstably: is_simulators,
            releases_late: is_simulators,
            channels,
            sorted_rounds: small(values, "sorted_rounds"),
            rounds,
            channel_packets: u32::try_from(in_a_phase).unwrap_or(u32::MAX).max(1),
            grace: Time(control_trip.as_ps() / 2) + packet_time.times(channels.into()),
            packet_time,
            short: packets("short"),
            window: packets("window"),
            window_timeout: time("window_timeout"),
            resend_timeout: time("resend_timeout"),
            retry: values.time("retry"),
        }
    }

    /// How many tokens a flow of so many packets has from the start.
    pub fn own_tokens(&self, packets: u32) -> u32 {
        if packets <= self.short { packets } else { 0 }
    }

    /// The level of a packet of a flow of so many, sent for a token of a level.
    pub fn level(&self, packets: u32, token: u8) -> u8 {
        if self.level_by_size { level_by_size(packets) } else { token }
    }

    /// The size of a packet of a flow.
    pub fn wire_bytes(&self, seq: u32, packets: u32, size_bytes: u64) -> u16 {
        if self.all_full {
            return exact::<u16>(self.format.data.mss_bytes + self.format.data.header_bytes);
        }
        self.format.wire_bytes(seq, packets, size_bytes)
    }

    /// The time between tokens over so many channels.
    pub fn token_time(&self, channels: u8) -> Time {
        Time(self.packet_time.as_ps() * u64::from(self.channels) / u64::from(channels))
    }

    /// A packet without payload, which goes before all data.
    pub fn control(&self, flow: FlowId, dst: HostId, header: Header) -> Packet<Header> {
        Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: self.format.ack_bytes,
            kind: if let Header::Done = header { Kind::Ack } else { Kind::Control },
            class: 0,
            header,
            ..Packet::default()
        }
    }
}

fn small(values: &Values, key: &str) -> u8 {
    u8::try_from(values.count(key)).unwrap_or(u8::MAX)
}

fn scaled(time: Time, factor: f64) -> Time {
    Time(saturated::<u64>((time.as_ps() as f64 * factor).round()))
}

/// When the rounds are (LeafSpineTopology::set_up_parameter, PimHost::start_new_epoch).
fn timetable(values: &Values, control_trip: Time) -> Rounds {
    let count = small(values, "rounds");
    let round = scaled(control_trip, values.number("beta")).max(Time(2));
    Rounds::new(round, count, scaled(round.times(count.into()), values.number("alpha")))
}

/// DCExpParams::packet_priority.
fn level_by_size(packets: u32) -> u8 {
    (1..LEVELS_BY_SIZE).find(|&level| packets <= LEVEL_BASE.pow(level.into())).unwrap_or(LEVELS_BY_SIZE)
}

/// Twice the longest time that a packet of so many bytes on the wire takes: a round has a half for each direction.
fn longest_round_trip(topology: &Topology, bytes: u64) -> Time {
    let takes = |(src, dst): (HostId, HostId)| ways::slowest(topology, src, dst, bytes);
    ways::distinct_pairs(topology).into_iter().map(takes).max().unwrap_or_default().times(2)
}

#[cfg(test)]
pub mod testing {
    use super::*;
    use packetloom_base::packet::Format;

    /// The authors' at 100 Gb/s, with 4 racks and 2 spines.
    pub fn config() -> Config {
        let (round, packet_time) = (Time(2_100_800), Time::from_ns(120));
        Config {
            format: PacketFormat { data: Format { mss_bytes: 1_460, header_bytes: 40 }, ack_bytes: 40 },
            all_full: false,
            level_by_size: false,
            overtakes_by_both: false,
            ranks_unstably: false,
            releases_late: false,
            channels: 4,
            sorted_rounds: 1,
            rounds: Rounds::new(round, 4, round.times(4)),
            channel_packets: 17,
            grace: Time::from_ns(808 + 480),
            packet_time,
            short: 19,
            window: 19,
            window_timeout: Time::from_ns(19 * 132),
            resend_timeout: Time::from_ns(19 * 120),
            retry: Time::from_us(1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::config;
    use super::*;

    #[test]
    fn levels_by_size_are_powers_of_seven() {
        let of = [1, 7, 8, 49, 50, 343, 2_401, 16_807, 16_808, 1_000_000].map(level_by_size);
        assert_eq!(of, [1, 1, 2, 2, 3, 3, 4, 5, 6, 6]);
    }

    #[test]
    fn a_channels_tokens_are_as_far_apart_as_there_are_channels() {
        let config = config();
        assert_eq!([1, 3, 4].map(|channels| config.token_time(channels)), [480, 160, 120].map(Time::from_ns));
        assert_eq!([19, 20].map(|packets| config.own_tokens(packets)), [19, 0]);
    }
}
