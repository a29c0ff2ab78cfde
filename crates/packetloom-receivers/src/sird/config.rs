//! SIRD's parameters.

use super::header::Header;
use super::layout::Layout;
use crate::flow::{FlowId, HostId};
use crate::narrow::{exact, saturated};
use crate::packet::{Kind, Packet};
use crate::packet_format;
use crate::priority;
use crate::spec::{Complaint, Fallback, Kind as Holds, Param, Values, param};
use crate::topology::{Link, Topology};
use crate::units::{Rate, Time};
use packetloom_transport::ways;

/// A request that brings nothing new is repeated after up to 2 to this power times as long.
const MOST_DOUBLINGS: u32 = 4;

/// One, in the unit of a sender's shares of its link.
pub const WHOLE_SHARE: u64 = 1 << 32;

/// The defaults in which the authors' simulator differs from the paper.
#[derive(Clone, Copy, Debug)]
struct Variant {
    /// In BDPs.
    sender_mark: f64,
    /// What a host's link carries between two polls.
    poll_bytes: u64,
    /// What a host's link carries in a BDP's time; `None`: as the network has it.
    bdp_time: Option<Time>,
}

const PAPER: Variant = Variant { sender_mark: 0.5, poll_bytes: 0, bdp_time: None };
const NWSIM: Variant = Variant { sender_mark: 0.48114, poll_bytes: 375, bdp_time: Some(Time::from_us(8)) };

impl Variant {
    fn of(values: &Values) -> &'static Variant {
        values.meaning("variant", &[("paper", &PAPER), ("nwsim", &NWSIM)])
    }
}

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

/// All of them.
pub const PARAMS: &[Param] = &[
    param! {
        "variant" = "paper": Holds::Choice(&["paper", "nwsim"]),
        "The paper's hosts, which act at once, or those of the authors' simulator, which act once a poll. It sets the defaults of bdp, sender_mark and poll.",
        "SIRD (NSDI 2025); the authors' ns-2: r2p2-cc-hybrid.cc"
    },
    Param {
        default: Fallback::Value("1458B"),
        source: "the authors' ns-2: MAX_R2P2_PAYLOAD",
        ..packet_format::MSS
    },
    Param {
        default: Fallback::Value("42B"),
        source: "the authors' ns-2: IP 20, UDP 8, SIRD 14 B",
        ..packet_format::HEADER
    },
    Param {
        default: Fallback::Value("46B"),
        doc: "Bytes of a credit, or any other packet without payload, on the wire. Data packets are padded to them.",
        source: "the authors' ns-2: 4 B of payload and 42 of header, Ethernet's least payload",
        ..packet_format::ACK
    },
    param! {
        "bdp": Holds::Bytes,
        "How much of a receiver's credit a sender may hold at most, in bytes on the wire. This is the BDP in which other parameters count. Left out: what a host's link carries in the longest base round trip of a full packet and its credit (paper), in 8 us (nwsim: 100000B at 100 Gb/s).",
        "SIRD (NSDI 2025): 1 BDP; the authors' ns-2: r2p2_elet_srpb 100000"
    },
    number(
        "budget",
        (0.1, 1e4),
        "1.5",
        "A receiver's credit to all senders together, in BDPs (B).",
        "SIRD (NSDI 2025): 1.5 BDP; the authors' ns-2: budget_bytes 150000",
    ),
    param! {
        "sender_mark": Holds::Number(0.0, 1e4),
        "A sender with two messages or more marks its data while it holds more credit than this that it has not spent, from all receivers, in BDPs (SThr). Left out: 0.5 (paper), 0.48114 (nwsim: 33 packets of 1458 B).",
        "SIRD (NSDI 2025): 0.5 BDP; the authors' ns-2: r2p2_sender_ecn_threshold 33, get_granted_bytes_queue_len"
    },
    number(
        "unscheduled",
        (0.0, 1e4),
        "1",
        "A message that takes no more than this of a link, in BDPs, is sent without asking, up to a BDP of unspent credit for its receiver. A larger one sends a request and waits (UnschT).",
        "SIRD (NSDI 2025): 1 BDP; the authors' ns-2: r2p2_unsolicited_thresh_bytes 100000",
    ),
    number(
        "gain",
        (0.0, 1.0),
        "0.08",
        "The weight of the last window's share of marked packets.",
        "the authors' ns-2: r2p2_ce_new_weight",
    ),
    number(
        "min_window_sender",
        (0.0, 1.0),
        "0.1",
        "The least window by the sender's marks, in BDPs.",
        "the authors' ns-2: r2p2_ecn_min_mul",
    ),
    number(
        "min_window_network",
        (0.0, 1.0),
        "0.03",
        "The least window by the network's marks, in BDPs.",
        "the authors' ns-2: r2p2_ecn_min_mul_nw",
    ),
    param! {
        "ecn" = "true": Holds::Flag,
        "Whether switches may mark its packets. Its authors have ports between switches mark above 1.25 BDP, and those to hosts not at all: the queue is \"classes\" with port_marks = \"between-switches\".",
        "SIRD (NSDI 2025): NThr; the authors' ns-2: r2p2_ecn_threshold_min 82, r2p2_ecn_at_core"
    },
    param! {
        "receiver_policy" = "srpt": Holds::Choice(&["srpt", "round-robin"]),
        "Which message gets the next credit: the one with the least to come, or each in turn.",
        "the authors' ns-2: r2p2_elet_receiver_policy 3, 0"
    },
    number(
        "sender_srpt",
        (0.0, 1.0),
        "0.5",
        "This share of a sender's link goes to the receiver with the shortest message, the rest to all for which there is credit alike.",
        "the authors' ns-2: r2p2_sender_policy_ratio",
    ),
    param! {
        "priorities" = "2": Holds::Count(1),
        "With 2, credit, requests and what was not asked for have class 0, other data class 1, for a queue of strict classes; with 1, everything has class 0.",
        "SIRD (NSDI 2025): two at most; the authors' ns-2: r2p2_hybrid_in_network_prios"
    },
    param! {
        "poll": Holds::Time,
        "A host acts only at multiples of this since the first packet or message there. It then sends one packet if its link has one and a half polls' work at most, and one credit if the data called for has one and a half polls' work at most. Left out: \"0s\", it acts at once (paper), the time of 375 B on its link (nwsim: 30 ns at 100 Gb/s).",
        "the authors' ns-2: POLL_INTERVAL 3 ns at 1 Tb/s, send_data, send_grants_srpt_msg"
    },
    param! {
        "resend_after" = "1ms": Holds::Time,
        "A receiver to which nothing has come of a message for this long, although credit for it is outstanding, has its sender send again what is missing. The credit of what was lost serves for that. A sender does not send again what left it, after a pause, in the last half of this time. One that has heard nothing for twice as long asks. After each request that brings nothing new the wait doubles, up to 16 times.",
        "SIRD: a receiver's timeouts, credit of lost packets reclaimed (known, not read again); the authors' ns-2 loses nothing and has no recovery; the times: packetloom, as Homa's"
    },
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    if values.count("priorities") > 2 {
        return Err(Complaint::new("priorities", "write 1 or 2"));
    }
    if values.time("resend_after") < Time::from_us(1) {
        return Err(Complaint::new("resend_after", "write a time of at least 1us, such as \"1ms\""));
    }
    Ok(())
}

/// What must hold of them on a network: two full packets fit into a BDP and into the budget, as credit that a sender can't
/// spend yet must not keep it from getting more.
pub fn check_network(values: &Values, topology: &Topology) -> Result<(), Complaint> {
    let config = Config::of(values).on(values, topology);
    let least = 2 * config.layout.full_bytes();
    for (key, bytes) in [("bdp", config.bdp_bytes), ("budget", config.budget_bytes)] {
        if bytes < least {
            let message = format!("comes to {bytes} B, and two full packets take {least} B; write more");
            return Err(Complaint::new(key, message));
        }
    }
    Ok(())
}

/// Whether marks of the network change anything.
pub fn goes_by_marks(values: &Values) -> bool {
    values.flag("ecn")
}

/// The parameters, read.
#[derive(Clone, Debug)]
pub struct Config {
    pub layout: Layout,
    pub bdp_bytes: u64,
    pub budget_bytes: u64,
    /// More unspent credit than this is marked.
    pub mark_above_bytes: u64,
    pub unscheduled_bytes: u64,
    pub least_sender_bytes: u64,
    pub least_network_bytes: u64,
    pub gain: f64,
    pub ecn: bool,
    /// Whether each message gets credit in turn.
    pub in_turn: bool,
    /// Of [`WHOLE_SHARE`].
    pub srpt_share: u64,
    pub has_priorities: bool,
    /// Nothing: it acts at once.
    pub poll: Option<Time>,
    /// So much work on a link may be left when a poll comes.
    pub slack: Time,
    pub resend_after: Time,
}

impl Config {
    /// Of a network that is not known yet.
    pub fn of(values: &Values) -> Config {
        let layout = Layout {
            payload_bytes: values.bytes("mss"),
            header_bytes: values.bytes("header"),
            least_bytes: values.bytes("ack"),
            framing_bytes: 0,
        };
        Config {
            layout,
            bdp_bytes: 0,
            budget_bytes: 0,
            mark_above_bytes: 0,
            unscheduled_bytes: 0,
            least_sender_bytes: 0,
            least_network_bytes: 0,
            gain: values.number("gain"),
            ecn: values.flag("ecn"),
            in_turn: values.text("receiver_policy") == "round-robin",
            srpt_share: saturated(values.number("sender_srpt") * WHOLE_SHARE as f64),
            has_priorities: values.count("priorities") == 2,
            poll: None,
            slack: Time::ZERO,
            resend_after: values.time("resend_after"),
        }
    }

    /// With what depends on the network.
    pub fn on(mut self, values: &Values, topology: &Topology) -> Config {
        let variant = Variant::of(values);
        self.layout.framing_bytes = topology.framing_bytes;
        let own = |time| carried(host_rate(topology), time);
        let bdp = match (values.optional_bytes("bdp"), variant.bdp_time) {
            (Some(bytes), _) => bytes,
            (None, Some(time)) => own(time),
            (None, None) => own(base_rtt(topology, &self.layout)),
        };
        let part = |share: f64| saturated::<u64>((bdp as f64 * share).round());
        self.bdp_bytes = bdp;
        self.budget_bytes = part(values.number("budget"));
        let mark = values.optional_number("sender_mark").unwrap_or(variant.sender_mark);
        self.mark_above_bytes = part(mark);
        self.unscheduled_bytes = part(values.number("unscheduled"));
        self.least_sender_bytes = part(values.number("min_window_sender"));
        self.least_network_bytes = part(values.number("min_window_network"));
        let own_poll = host_rate(topology).time_for(variant.poll_bytes);
        self.poll = Some(values.optional_time("poll").unwrap_or(own_poll)).filter(|&poll| poll > Time::ZERO);
        self.slack = self.poll.map_or(Time::ZERO, |poll| Time(poll.as_ps() * 3 / 2));
        self
    }

    /// What left its sender so lately may still be on its way.
    pub fn half_resend_after(&self) -> Time {
        Time((self.resend_after.as_ps() / 2).max(1))
    }

    /// After so long a silence a sender asks.
    pub fn patience(&self) -> Time {
        self.resend_after.times(2)
    }

    /// The time after which to ask again, doubled for each time that nothing new came of it.
    pub fn after_requests(&self, first: Time, requests: u32) -> Time {
        first.times(1 << requests.min(MOST_DOUBLINGS))
    }

    /// More than passes between two packets of a sender that waits for an answer.
    pub fn longest_silence(&self) -> Time {
        self.after_requests(self.patience(), MOST_DOUBLINGS).times(2)
    }

    /// For how many packets of a message its sender allots itself credit, with so much of the receiver's unspent.
    pub fn allotted(&self, size_bytes: u64, unspent_bytes: u64) -> u32 {
        let (all, full) = (self.layout.message_bytes(size_bytes), self.layout.full_bytes());
        if all > self.unscheduled_bytes {
            return 0;
        }
        let room = self.bdp_bytes.saturating_sub(unspent_bytes).max(full);
        let packets = if all <= room { self.layout.packets(size_bytes) } else { room / full };
        exact::<u32>(packets)
    }

    /// The class of a packet of a message, of which so many are sent without asking.
    #[inline]
    pub fn class(&self, seq: u32, allotted: u32) -> u8 {
        u8::from(self.has_priorities && seq >= allotted)
    }

    /// A packet without payload, which goes before all data.
    pub fn control(&self, flow: FlowId, dst: HostId, header: Header) -> Packet<Header> {
        Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: exact::<u16>(self.layout.least_bytes),
            kind: if let Header::Done = header { Kind::Ack } else { Kind::Control },
            class: 0,
            header,
            ..Packet::default()
        }
    }
}

/// What the links of a host carry together, of the one that has the most.
fn host_rate(topology: &Topology) -> Rate {
    let of =
        |host: HostId| topology.nic_ports(host).map(|port| topology.links[port as usize].rate.as_bps()).sum();
    Rate((0..topology.hosts).map(of).max().unwrap_or(1))
}

/// How many bytes a rate carries in a time.
fn carried(rate: Rate, time: Time) -> u64 {
    let bits_ps = u128::from(rate.as_bps()) * u128::from(time.as_ps());
    exact::<u64>(bits_ps.div_ceil(8 * 1_000_000_000_000))
}

/// The longest time between a credit's leaving its receiver and the arrival of the full packet sent for it.
fn base_rtt(topology: &Topology, layout: &Layout) -> Time {
    let takes = |links: &[&Link], bytes: u64| {
        Time(links.iter().map(|link| (link.latency + link.rate.time_for(bytes)).as_ps()).sum())
    };
    let round_trip = |(src, dst): (HostId, HostId)| {
        let credit = takes(&ways::path(topology, dst, src), layout.least_bytes + layout.framing_bytes);
        credit + takes(&ways::path(topology, src, dst), layout.full_bytes())
    };
    ways::distinct_pairs(topology).into_iter().map(round_trip).max().unwrap_or_default()
}

#[cfg(test)]
pub mod testing {
    use super::super::layout::testing::SIMULATOR;
    use super::*;

    /// The simulator's at 100 Gb/s, at once.
    pub fn config() -> Config {
        Config {
            layout: SIMULATOR,
            bdp_bytes: 100_000,
            budget_bytes: 150_000,
            mark_above_bytes: 48_114,
            unscheduled_bytes: 100_000,
            least_sender_bytes: 10_000,
            least_network_bytes: 3_000,
            gain: 0.08,
            ecn: true,
            in_turn: false,
            srpt_share: WHOLE_SHARE / 2,
            has_priorities: true,
            poll: None,
            slack: Time::ZERO,
            resend_after: Time::from_us(1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::config;

    #[test]
    fn a_message_up_to_the_limit_is_sent_at_once_as_far_as_its_receivers_credit_allows() {
        let config = config();
        let (small, large) = (90_000, 100_000);
        assert!(config.layout.message_bytes(large) > 100_000);
        assert_eq!((config.allotted(small, 0), config.allotted(large, 0)), (62, 0));
        // 95 kB take 100,236 B on a link, which is too much; 94 kB take 99,236 B.
        assert_eq!((config.allotted(95_000, 0), config.allotted(94_000, 0)), (0, 65));
        // What is unspent counts: 50 kB leave room for 32 full packets, and one always fits.
        assert_eq!((config.allotted(small, 50_000), config.allotted(small, 120_000)), (32, 1));
        assert_eq!(config.allotted(1_000, 120_000), 1);
    }
}
