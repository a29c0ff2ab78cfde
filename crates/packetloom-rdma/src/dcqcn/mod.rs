//! DCQCN (Zhu et al., SIGCOMM 2015): marks become notifications (CNPs), which cut the sender's rate; without them it
//! comes back, first fast, then by steps.
//!
//! Two machines: the paper's (`paper.rs`), and the one of HPCC's and ConWeave's simulators, which they call
//! Mellanox's (`mellanox.rs`). No timer is set for either. The ticks of their timers are made up for, one by one,
//! when the rate is read: it matters only when a packet is sent.

mod machine;
mod mellanox;
mod paper;

use super::config::Notification;
use super::control::{AckInfo, Control, FlowPath};
use super::header::Header;
use super::params::{Defaults, check, core, default_of};
use super::presets;
use crate::spec::{Complaint, Component, Kind, Param, Value, Values, param};
use crate::units::{Rate, Time};
use machine::{Constants, Variant};
use mellanox::Mellanox;
use packetloom_transport::FixedRate;
use paper::Paper;

/// DCQCN.
pub type Dcqcn = super::Rdma<DcqcnControl>;

const PARAMS: &[Param] = &[
    param! {
        "variant" = "paper": Kind::Choice(&["paper", "mellanox"]),
        "Which state machine: the paper's, with a timer and a byte counter; or that of HPCC's and ConWeave's simulators, with three timers. It sets the defaults below.",
        "DCQCN (SIGCOMM 2015) §3.1; HPCC's simulator: CC_MODE 1"
    },
    param! {
        "cnp": Kind::Choice(&["packet", "ack"]),
        "How marks come back: in CNPs, of what cnp_per says at most one in cnp_interval; or with each marked packet's ACK. Left out: packet (paper), ack (mellanox).",
        "DCQCN §3.1: NP; HPCC's simulator: the CNP flag"
    },
    param! {
        "cnp_interval" = "50us": Kind::Time,
        "With cnp = \"packet\": the least time between the CNPs of what cnp_per says.",
        "DCQCN §3.1: N = 50 us"
    },
    param! {
        "cnp_per" = "flow": Kind::Choice(&["flow", "destination", "port"]),
        "With cnp = \"packet\": whose CNPs cnp_interval keeps apart: those of a flow (a queue pair), all of a receiver to one host, or all of a receiver, whatever its number of links. NICs differ in that.",
        "DCQCN §3.1: NP, of a flow; Linux's mlx5: np_min_time_between_cnps, of the port; Lumina (SIGCOMM 2023): all three"
    },
    param! {
        "gain": Kind::Number(0.0, 1.0),
        "The weight (g) with which each step updates alpha. Left out: 0.00390625, which is 1/256.",
        "DCQCN §5: g = 1/256; HPCC's run.py: EWMA_GAIN 0.00390625"
    },
    param! {
        "alpha_interval": Kind::Time,
        "How long after the last CNP alpha falls (paper), or the interval at which alpha is updated (mellanox). Left out: 55us (paper), 1us (mellanox).",
        "DCQCN §3.1: K = 55 us; HPCC's run.py: ALPHA_RESUME_INTERVAL 1"
    },
    param! {
        "decrease_interval": Kind::Time,
        "With mellanox: a rate is cut at most this often. Left out: 4us.",
        "HPCC's run.py: RATE_DECREASE_INTERVAL 4"
    },
    param! {
        "increase_interval": Kind::Time,
        "The time between two steps of increase. Left out: 55us (paper), 300us (mellanox).",
        "DCQCN §5: T = 55 us; HPCC's run.py: RP_TIMER 300"
    },
    param! {
        "byte_counter": Kind::Bytes,
        "With paper: the bytes sent between two steps of increase. Left out: 10MB.", "DCQCN §5: B = 10 MB"
    },
    param! {
        "fast_recovery": Kind::Count(0),
        "How many steps halve the distance to the target rate before the target rises (F). Left out: 5 (paper), 1 (mellanox).",
        "DCQCN §3.1: F = 5; HPCC's run.py: FAST_RECOVERY_TIMES 1"
    },
    param! {
        "additive_increase": Kind::Rate,
        "What each later step adds to the target (R_AI). Left out: 40Mbps (paper), 20Mbps (mellanox).",
        "DCQCN §5, at 40 Gb/s; HPCC's run.py at 100 Gb/s: RATE_AI 20"
    },
    param! {
        "hyper_increase": Kind::Rate,
        "What each step of hyper increase adds to the target (R_HAI); with paper, i times that at the i-th such step. Left out: 400Mbps (paper), 200Mbps (mellanox).",
        "QCN (802.1Qau), tenfold R_AI; HPCC's run.py at 100 Gb/s: RATE_HAI 200"
    },
    param! {
        "min_rate": Kind::Rate,
        "The least rate. Left out: 40Mbps (paper), 1Gbps (mellanox).",
        "packetloom: R_AI; HPCC's run.py: MIN_RATE 1000"
    },
    param! {
        "clamp_target_rate": Kind::Flag,
        "With mellanox: a cut always takes the rate as the new target, even if there was no increase since the last cut. Left out: false.",
        "HPCC's run.py: CLAMP_TARGET_RATE 0"
    },
    param! {
        "rate_on_first_cnp": Kind::Number(0.001, 1.0),
        "With mellanox: the share of its rate that a flow keeps at its first CNP. Left out: 1.",
        "HPCC's simulator: RateOnFirstCnp 1.0"
    },
];

/// A flow's rate.
#[derive(Clone, Debug)]
pub enum DcqcnControl {
    /// By the paper.
    Paper(Paper),
    /// By HPCC's simulator.
    Mellanox(Mellanox),
}

impl Control for DcqcnControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "dcqcn",
        doc: "DCQCN: RDMA flows start at line rate, are cut when marks come back, and recover by steps.",
        source: "DCQCN (SIGCOMM 2015) §3",
        params: &[&core(Defaults { presets: presets::WORDS_OF_RUN_PY, ..default_of() }), PARAMS],
        check: check_dcqcn,
    };
    const SHORTENS: bool = true;
    const SETTABLE: &'static [&'static str] = &[
        "gain",
        "alpha_interval",
        "decrease_interval",
        "increase_interval",
        "byte_counter",
        "fast_recovery",
        "additive_increase",
        "hyper_increase",
        "min_rate",
    ];
    type Fields = ();
    type Agent = ();
    type Settings = Constants;

    fn settings(values: &Values) -> Constants {
        Constants::of(values)
    }

    fn fixed_rates(values: &Values) -> Vec<FixedRate> {
        Constants::fixed_rates(values)
    }

    fn notification(values: &Values) -> Notification {
        let in_packets = match values.optional_text("cnp") {
            Some(word) => word == "packet",
            None => Variant::of(values) == Variant::Paper,
        };
        if in_packets { Notification::Packets(values.time("cnp_interval")) } else { Notification::InAcks }
    }

    fn new(constants: &Constants, path: &FlowPath) -> DcqcnControl {
        match constants.variant {
            Variant::Paper => DcqcnControl::Paper(Paper::new(path)),
            Variant::Mellanox => DcqcnControl::Mellanox(Mellanox::new(path)),
        }
    }

    fn sent(&mut self, constants: &Constants, _: Time, wire_bytes: u16) {
        if let DcqcnControl::Paper(machine) = self {
            machine.sent(constants, wire_bytes);
        }
    }

    fn acknowledged(&mut self, constants: &Constants, ack: &AckInfo, (): &()) {
        match self {
            _ if !ack.marked => {}
            DcqcnControl::Paper(machine) => machine.notified(constants, ack.now),
            DcqcnControl::Mellanox(machine) => machine.notified(constants, ack.now),
        }
    }

    fn advance(&mut self, constants: &Constants, now: Time) {
        match self {
            DcqcnControl::Paper(machine) => machine.advance(constants, now),
            DcqcnControl::Mellanox(machine) => machine.advance(constants, now),
        }
    }

    fn rate(&self) -> Rate {
        match self {
            DcqcnControl::Paper(machine) => machine.rate(),
            DcqcnControl::Mellanox(machine) => machine.rate(),
        }
    }

    fn rate_at(&self, constants: &Constants, now: Time) -> Rate {
        self.at(constants, now).rate()
    }

    fn congestion_at(&self, constants: &Constants, now: Time) -> Option<f64> {
        Some(match self.at(constants, now) {
            DcqcnControl::Paper(machine) => machine.alpha(),
            DcqcnControl::Mellanox(machine) => machine.alpha(),
        })
    }
}

impl DcqcnControl {
    /// What it is by now: its timers are made up for when somebody looks.
    fn at(&self, constants: &Constants, now: Time) -> DcqcnControl {
        let mut then = self.clone();
        then.advance(constants, now);
        then
    }
}

const _: () = assert!(size_of::<crate::packet::Packet<Header<()>>>() <= 64, "a packet must fit a cache line");

/// Parameters that only one of the variants has.
const OF_ONE: &[(&str, Variant)] = &[
    ("byte_counter", Variant::Paper),
    ("decrease_interval", Variant::Mellanox),
    ("clamp_target_rate", Variant::Mellanox),
    ("rate_on_first_cnp", Variant::Mellanox),
];

fn check_dcqcn(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    let variant = Variant::of(values);
    let idle = |(key, of): &&(&str, Variant)| values.get(key) != &Value::Absent && *of != variant;
    if let Some((key, _)) = OF_ONE.iter().find(idle) {
        let message = format!("the variant {:?} has none; leave it out", values.text("variant"));
        return Err(Complaint::new(key, message));
    }
    for key in ["alpha_interval", "decrease_interval", "increase_interval"] {
        if values.optional_time(key).is_some_and(|time| time < Time::from_ns(1)) {
            return Err(Complaint::new(key, "write a time of at least 1ns, such as \"55us\""));
        }
    }
    if values.optional_bytes("byte_counter") == Some(0) {
        return Err(Complaint::new("byte_counter", "write a size above zero, such as \"10MB\""));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario that names a variant and nothing else.
    fn constants(variant: &str) -> Constants {
        let absent = PARAMS.iter().map(|param| (param.name.to_owned(), Value::Absent));
        let mut entries: std::collections::BTreeMap<String, Value> = absent.collect();
        entries.insert("variant".to_owned(), Value::Text(variant.to_owned()));
        Constants::of(&Values { kind: "dcqcn".to_owned(), entries })
    }

    #[test]
    fn what_is_left_out_is_as_the_parameters_say() {
        let both = [constants("paper"), constants("mellanox")];
        assert_eq!(both, [Constants::PAPER, Constants::MELLANOX]);
        let of_each = |what: fn(&Constants) -> String| {
            let [paper, mellanox] = both.each_ref().map(what);
            format!("{paper} (paper), {mellanox} (mellanox).")
        };
        let [paper, mellanox] = &both;
        for (key, says) in [
            ("gain", format!("{}, which is 1/256.", paper.gain)),
            ("alpha_interval", of_each(|c| c.alpha_interval.to_string())),
            ("decrease_interval", format!("{}.", mellanox.decrease_interval)),
            ("increase_interval", of_each(|c| c.increase_interval.to_string())),
            ("byte_counter", format!("{}MB.", paper.byte_counter / 1_000_000)),
            ("fast_recovery", of_each(|c| c.fast_recovery.to_string())),
            ("additive_increase", of_each(|c| c.additive_increase.to_string())),
            ("hyper_increase", of_each(|c| c.hyper_increase.to_string())),
            ("min_rate", of_each(|c| c.min_rate.to_string())),
            ("clamp_target_rate", format!("{}.", mellanox.clamp_target_rate)),
            ("rate_on_first_cnp", format!("{}.", mellanox.rate_on_first_cnp)),
        ] {
            let param = PARAMS.iter().find(|param| param.name == key).expect(key);
            assert!(param.doc.ends_with(&format!("Left out: {says}")), "{}\n{says}", param.doc);
        }
        assert_eq!(paper.gain, mellanox.gain);
    }
}
