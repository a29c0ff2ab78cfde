//! ExpressPass's parameters.

use super::header::Header;
use super::libc_rand::{Drawn, Hashing};
use crate::flow::{FlowId, HostId};
use crate::narrow::{exact, narrow};
use crate::packet::{Ecn, Kind, Packet};
use crate::packet_format;
use crate::priority;
use crate::queue;
use crate::random::Stream;
use crate::spec::{Complaint, Fallback, Kind as Holds, Needs, Param, Values, param};
use crate::topology::{Link, Topology};
use crate::units::{Rate, Time};
use packetloom_transport::ways;

/// The defaults in which the paper and the ways in which its authors' code was run differ.
#[derive(Clone, Copy, Debug)]
struct Variant {
    first_rate: f64,
    first_weight: f64,
    target_loss: f64,
    credit_spread_bytes: u64,
    retry: Time,
}

/// As far as it is known: read in summaries of it.
const PAPER: Variant = Variant { target_loss: 0.1, ..NWSIM };
/// Tcl of the SIRD authors' simulator (dalehuangzihan/SIRD-Simulator), which has a port of the code.
const NWSIM: Variant = Variant {
    first_rate: 0.0625,
    first_weight: 0.0625,
    target_loss: 0.125,
    credit_spread_bytes: 8,
    retry: Time::from_us(100),
};
/// kaist-ina/ns2-xpass, scripts/large-scale-fattree.tcl.
const FAT_TREE: Variant = Variant { first_rate: 0.5, ..NWSIM };
/// The same, tcl/lib/ns-default.tcl.
const CLASS: Variant = Variant {
    first_rate: 0.5,
    first_weight: 0.5,
    credit_spread_bytes: 0,
    retry: Time::from_us(100_000),
    ..NWSIM
};

impl Variant {
    fn of(values: &Values) -> &'static Variant {
        let all = [("paper", &PAPER), ("fat-tree", &FAT_TREE), ("class", &CLASS), ("nwsim", &NWSIM)];
        values.meaning("variant", &all)
    }
}

const fn optional_share(name: &'static str, least: f64, doc: &'static str, source: &'static str) -> Param {
    param! { name: Holds::Number(least, 1.0), doc, source }
}

/// All of them.
pub const PARAMS: &[Param] = &[
    param! {
        "variant" = "paper": Holds::Choice(&["paper", "fat-tree", "class", "nwsim"]),
        "Whose constants hold: the paper's, those of its authors' fat tree, the defaults of their simulator, or those by which SIRD's authors compare. It sets the defaults of alpha, w_init, target_loss, credit_spread and retry.",
        "ExpressPass (SIGCOMM 2017); the authors' ns-2 (kaist-ina/ns2-xpass); SIRD's (dalehuangzihan/SIRD-Simulator)"
    },
    packet_format::MSS,
    Param {
        source: "the authors' ns-2: 78 B with preamble and gap, which are 38 B",
        ..packet_format::HEADER
    },
    Param {
        default: Fallback::Value("46B"),
        doc: "Bytes of a packet without payload on the wire, and of a credit on average. Data packets are padded to them.",
        source: "the authors' ns-2: 84 B with preamble and gap, which are 38 B",
        ..packet_format::ACK
    },
    param! {
        "credit_spread": Holds::Bytes,
        "Each credit has up to this much more or less than `ack`, drawn anew, so that no flow's credits are dropped more often than others'. Left out: 8B, 0B (class).",
        "ExpressPass (SIGCOMM 2017) §3.1: random sizes; the authors' ns-2: 76 to 92 B; its class 84 B"
    },
    optional_share(
        "alpha",
        1e-6,
        "A flow's first rate of credits, as a share of the greatest rate. Left out: 0.0625, 0.5 (fat-tree, class).",
        "ExpressPass (SIGCOMM 2017): 1/16; the authors' ns-2: alpha_",
    ),
    optional_share(
        "w_init",
        0.0,
        "The first weight of the greatest rate when the rate grows. Left out: 0.0625, 0.5 (class).",
        "ExpressPass (SIGCOMM 2017): 1/16; the authors' ns-2: w_init_",
    ),
    param! {
        "w_min" = "0.01": Holds::Number(0.0, 1.0),
        "The least weight of the greatest rate. A round trip with congestion halves the weight; each round trip without, but for the first one after congestion, adds 0.05, up to 0.5.",
        "the authors' ns-2: min_w_, credit_feedback_control"
    },
    optional_share(
        "target_loss",
        0.0,
        "The share of credits that a flow at the least rate may lose before that counts as congestion. It falls linearly with the rate, to 0 at the greatest. Left out: 0.1 (paper), 0.125.",
        "ExpressPass (SIGCOMM 2017): 10 %; the authors' ns-2: target_loss_scaling_",
    ),
    param! {
        "jitter" = "0.1": Holds::Number(0.0, 0.999),
        "The gap between two credits is drawn evenly from this share less to this share more than the rate says.",
        "the authors' ns-2: min_jitter_, max_jitter_"
    },
    param! {
        "draws" = "each": Holds::Choice(&["each", "libc"]),
        "How sizes of credits and the gaps between them are drawn: for each anew, or by libc's rand, as in the authors' simulator. There each packet between switches seeds it with its flow and hosts, so that all credits of a lone flow have one size and one gap. So it repeats lone flows, and nearly those to one host. Seed 1 numbers flows from 0 on, each other one from elsewhere on.",
        "the authors' ns-2: XPassAgent::construct_credit, send_credit; classifier/classifier-mpath.cc"
    },
    param! {
        "ramp": Holds::Count(1),
        "A flow with fewer packets than this begins at a rate that is less in proportion. Left out: 40; with aeolus 1, so that none does.",
        "the authors' ns-2: XPassAgent::recv_credit_request; with Aeolus: a port of its authors' code (kaist-ina/ns2-flexpass, xpass/flexpass.cc)"
    },
    param! {
        "early_stop" = "true": Holds::Flag,
        "A sender stops the credits before its last packet, once a round trip brings as many as it has packets left; otherwise after it.",
        "the authors' ns-2: XPassAgent::recv_credit, early credit stop"
    },
    param! {
        "retry": Holds::Time,
        "A request that brings no credit is sent again after this time, and so is a report of missing data. A sender whose credits cease asks again after 16 times as long. Left out: 100us, 100ms (class).",
        "the authors' ns-2: retransmit_timeout_; what follows when credits cease: packetloom"
    },
    param! {
        "aeolus" = "false": Holds::Flag,
        "Aeolus: a flow's first packets go before its first credit, at line rate, and a probe behind them. Queues drop these first (drop_unscheduled_above of credit-limiter); receivers acknowledge them, and credits go to those that are lost before all else.",
        "Aeolus (SIGCOMM 2020), its abstract and what is known of it; a port of its authors' code (kaist-ina/ns2-flexpass, xpass/flexpass.cc)"
    },
    param! {
        "burst": Holds::Bytes,
        "With aeolus: how much goes before the first credit, on the wire, in whole packets. Left out: what a host's link carries in the longest base round trip of a packet and its acknowledgement.",
        "Aeolus (SIGCOMM 2020): a BDP; the port has two, of a base round trip that is set"; acts &[Needs::Is("aeolus", &["true"])]
    },
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    let spread = Config::of(values).credit_spread_bytes;
    if spread >= values.bytes("ack") {
        let message = "must be less than ack, or a credit could have nothing; write a smaller one";
        return Err(Complaint::new("credit_spread", message));
    }
    if spread + values.bytes("ack") > 65_535 {
        return Err(Complaint::new(
            "credit_spread",
            "a packet may have 65535 bytes at most; write a smaller one",
        ));
    }
    if values.optional_time("retry").is_some_and(|retry| retry < Time::from_us(1)) {
        return Err(Complaint::new("retry", "write a time of at least 1us, such as \"100us\""));
    }
    let full = values.bytes("mss") + values.bytes("header");
    if values.optional_bytes("burst").is_some_and(|burst| burst < full) {
        let message = format!("has no room for a full packet; write {full}B or more, or leave aeolus out");
        return Err(Complaint::new("burst", message));
    }
    if values.optional_count("ramp").is_some_and(|ramp| ramp > 1 << 20) {
        return Err(Complaint::new("ramp", "write 1048576 at most"));
    }
    Ok(())
}

/// The parameters, read.
#[derive(Clone, Debug)]
pub struct Config {
    pub payload_bytes: u64,
    pub header_bytes: u64,
    /// A packet without payload; a credit on average.
    pub least_bytes: u64,
    pub framing_bytes: u64,
    pub credit_spread_bytes: u64,
    pub first_rate: f64,
    pub first_weight: f64,
    pub least_weight: f64,
    pub target_loss: f64,
    pub jitter: f64,
    pub ramp: u32,
    pub early_stop: bool,
    pub retry: Time,
    /// With Aeolus: how many packets of a flow go before its first credit.
    pub burst: Option<u32>,
    /// The same in bytes, where a scenario says so.
    pub burst_bytes: Option<u64>,
    /// Whether sizes and gaps of credits are drawn as in the authors' simulator.
    pub draws_by_libc: bool,
    /// The same, in a run.
    pub hashing: Option<Hashing>,
}

/// Whether packets say that they go without a credit.
pub fn sends_unscheduled(values: &Values) -> bool {
    values.flag("aeolus")
}

impl Config {
    /// Of a network that is not known yet.
    pub fn of(values: &Values) -> Config {
        let variant = Variant::of(values);
        let usual_ramp = if sends_unscheduled(values) { 1 } else { 40 };
        let share = |key, other| values.optional_number(key).unwrap_or(other);
        Config {
            payload_bytes: values.bytes("mss"),
            header_bytes: values.bytes("header"),
            least_bytes: values.bytes("ack"),
            framing_bytes: 0,
            credit_spread_bytes: values
                .optional_bytes("credit_spread")
                .unwrap_or(variant.credit_spread_bytes),
            first_rate: share("alpha", variant.first_rate),
            first_weight: share("w_init", variant.first_weight),
            least_weight: values.number("w_min"),
            target_loss: share("target_loss", variant.target_loss),
            jitter: values.number("jitter"),
            ramp: values.optional_count("ramp").map_or(usual_ramp, exact::<u32>),
            early_stop: values.flag("early_stop"),
            retry: values.optional_time("retry").unwrap_or(variant.retry),
            burst: sends_unscheduled(values).then_some(1),
            burst_bytes: values.optional_bytes("burst"),
            draws_by_libc: values.meaning("draws", &[("each", false), ("libc", true)]),
            hashing: None,
        }
    }

    /// On a network.
    pub fn on(self, topology: &Topology, seed: u64) -> Config {
        let on_it = Config { framing_bytes: topology.framing_bytes, ..self };
        let burst = on_it.burst.map(|_| {
            let bytes = on_it.burst_bytes.unwrap_or_else(|| on_it.bdp_bytes(topology));
            narrow::<u32>((bytes / on_it.full_on_wire()).max(1))
        });
        let hashing = on_it.draws_by_libc.then(|| Hashing::new(topology, seed));
        Config { burst, hashing, ..on_it }
    }

    /// What a host's link carries in the longest round trip of a full packet and its acknowledgement.
    fn bdp_bytes(&self, topology: &Topology) -> u64 {
        let takes = |links: &[&Link], bytes| -> u64 {
            links.iter().map(|link| (link.latency + link.rate.time_for(bytes)).as_ps()).sum()
        };
        let round_trip = |(src, dst)| {
            takes(&ways::path(topology, src, dst), self.full_on_wire())
                + takes(&ways::path(topology, dst, src), self.least_bytes + self.framing_bytes)
        };
        let longest = ways::distinct_pairs(topology).into_iter().map(round_trip).max().unwrap_or_default();
        let bits = u128::from(topology.nic_rate().as_bps()) * u128::from(longest) / 1_000_000_000_000;
        narrow::<u64>(bits / 8)
    }

    fn full_on_wire(&self) -> u64 {
        (self.payload_bytes + self.header_bytes).max(self.least_bytes) + self.framing_bytes
    }

    /// What packets with a credit, and those without data, say: where others are dropped first they are not.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        if self.burst.is_some() { Ecn::Ect0 } else { Ecn::NotCapable }
    }

    /// After so long without a credit a sender that had some asks again.
    pub fn silence(&self) -> Time {
        self.retry.times(16)
    }

    /// The smallest packet.
    pub fn smallest_bytes(&self) -> u64 {
        self.least_bytes - self.credit_spread_bytes
    }

    /// How many packets a flow has.
    pub fn packets(&self, size_bytes: u64) -> u64 {
        size_bytes.div_ceil(self.payload_bytes)
    }

    /// A data packet of a flow.
    #[inline]
    pub fn data_bytes(&self, seq: u32, size_bytes: u64) -> u64 {
        let before = u64::from(seq) * self.payload_bytes;
        let payload = size_bytes.saturating_sub(before).min(self.payload_bytes);
        (payload + self.header_bytes).max(self.least_bytes)
    }

    /// A credit on average, with what links add to it.
    pub fn credit_on_wire(&self) -> f64 {
        (self.least_bytes + self.framing_bytes) as f64
    }

    /// The most credits that a host's link carries data for, in bytes a second.
    pub fn most_credits(&self, link: Rate) -> u64 {
        queue::credit_rate(link, self.least_bytes + self.framing_bytes, self.full_on_wire())
    }

    /// A packet without payload, which goes before all data where queues rank.
    pub fn control(&self, flow: FlowId, dst: HostId, header: Header) -> Packet<Header> {
        let kind = match header {
            Header::Done | Header::Came { .. } | Header::Probed { .. } => Kind::Ack,
            Header::Credit { .. } => Kind::Credit,
            _ => Kind::Control,
        };
        let size_bytes = narrow::<u16>(self.least_bytes);
        let ecn = self.ecn();
        Packet { flow, dst, priority: priority::FIRST, size_bytes, kind, ecn, header, ..Packet::default() }
    }

    /// A credit, whose size is drawn.
    #[inline]
    pub fn credit(
        &self,
        to: (FlowId, HostId),
        header: Header,
        (drawn, random): (Option<Drawn>, &mut Stream),
    ) -> Packet<Header> {
        let mut credit = self.control(to.0, to.1, header);
        if self.credit_spread_bytes > 0 {
            let sizes = narrow::<u32>(2 * self.credit_spread_bytes + 1);
            let size = drawn.map_or_else(|| random.below(sizes), |drawn| drawn.size % sizes);
            credit.size_bytes = narrow::<u16>(self.smallest_bytes() + u64::from(size));
        }
        credit
    }
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// As SIRD's authors run it.
    pub fn config() -> Config {
        Config {
            payload_bytes: 1_460,
            header_bytes: 40,
            least_bytes: 46,
            framing_bytes: 38,
            credit_spread_bytes: 8,
            first_rate: 0.0625,
            first_weight: 0.0625,
            least_weight: 0.01,
            target_loss: 0.125,
            jitter: 0.1,
            ramp: 40,
            early_stop: true,
            retry: Time::from_us(100),
            burst: None,
            burst_bytes: None,
            draws_by_libc: false,
            hashing: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::config;
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn packets_have_the_sizes_of_the_authors() {
        let config = config();
        let sizes = [1, 6, 7, 1_460, 1_461].map(|size| config.data_bytes(0, size) + 38);
        assert_eq!(sizes, [84, 84, 85, 1_538, 1_538]);
        assert_eq!((config.packets(1_461), config.data_bytes(1, 1_461)), (2, 46));
        assert_eq!(config.most_credits(Rate::from_gbps(100)), 647_348_951);
        let mut random = Stream::new(1, Purpose::Transport, 0);
        let sizes: Vec<u16> = (0..1_000)
            .map(|_| config.credit((1, 2), Header::Done, (None, &mut random)).size_bytes + 38)
            .collect();
        assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&76), Some(&92)));
        let mean = sizes.iter().map(|&size| f64::from(size)).sum::<f64>() / 1_000.0;
        assert!((mean - 84.0).abs() < 0.5, "{mean}");
    }
}
