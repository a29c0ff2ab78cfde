//! Presets: parameters that one word sets together, each with its source. What a scenario writes beside it stands.

use crate::narrow::exact;
use crate::spec::{Value, Values};
use crate::units::Rate;

/// The parameter that names a preset.
pub const KEY: &str = "preset";

/// A parameter that a preset sets.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Its name.
    pub key: &'static str,
    /// Its value as a scenario would have it.
    pub value: &'static str,
    /// The rate of the hosts' links that the value is for, where it is in proportion to that.
    pub at: Option<Rate>,
    /// Where it comes from.
    pub source: &'static str,
}

/// Parameters that are set together.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What a scenario calls it.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    given: &'static [&'static [Given]],
}

impl Preset {
    /// What it sets.
    pub fn given(&self) -> impl Iterator<Item = &'static Given> + use<> {
        self.given.iter().copied().flatten()
    }
}

impl Given {
    /// The value on hosts' links of a rate, of one that was read.
    pub fn on(&self, host: Rate, value: &Value) -> Value {
        match (self.at, value) {
            (Some(at), Value::Rate(rate)) => {
                let scaled = u128::from(rate.as_bps()) * u128::from(host.as_bps()) / u128::from(at.as_bps());
                Value::Rate(Rate(exact::<u64>(scaled).max(1)))
            }
            (_, value) => value.clone(),
        }
    }
}

/// Neither preset: every parameter has its default.
const NONE: &str = "none";
/// The words of transports that have the preset of RoCE as it is deployed alone.
pub const WORDS: &[&str] = &[NONE, "deployed"];
/// And of those that HPCC's run.py has constants for, too.
pub const WORDS_OF_RUN_PY: &[&str] = &[NONE, "deployed", "hpcc-ns3"];
/// And of BFC.
pub const WORDS_OF_BFC: &[&str] = &[NONE, "deployed", "bfc-ns3"];

/// At any rate.
const fn always(key: &'static str, value: &'static str, source: &'static str) -> Given {
    Given { key, value, at: None, source }
}

/// In proportion to the rate of the hosts' links.
const fn per(gbps: u64, key: &'static str, value: &'static str, source: &'static str) -> Given {
    Given { key, value, at: Some(Rate::from_gbps(gbps)), source }
}

const ALIKE: &[Given] = &[
    always("mss", "4096B", "InfiniBand's largest MTU, and so RoCE's; Ultra Ethernet: 4 KiB packets"),
    always(
        "ack_every",
        "4",
        "16384 B, as in Ultra Ethernet; InfiniBand lets a receiver acknowledge several packets at once",
    ),
    always(
        "ack_class",
        "0",
        "`roce lossless` of NVIDIA's switches (Cumulus Linux 5): CNPs have a class of their own, which goes first",
    ),
];
const DCQCN_STEPS: &[Given] = &[
    per(
        40,
        "additive_increase",
        "40Mbps",
        "DCQCN (SIGCOMM 2015) §5, at 40 Gb/s; scaled as HPCC's run.py scales its own",
    ),
    per(40, "hyper_increase", "400Mbps", "QCN (802.1Qau), tenfold R_AI; scaled likewise"),
];

const DEPLOYED: Preset = Preset {
    name: "deployed",
    doc: "RoCE as it is deployed from 100 Gb/s on: large packets, acknowledgements for several of them, which go first.",
    given: &[ALIKE],
};
const COMMON: &[Preset] = &[DEPLOYED];

const DCQCN: &[Preset] = &[
    Preset {
        doc: "RoCE as it is deployed from 100 Gb/s on: large packets, acknowledgements for several of them, which go first; DCQCN's steps in proportion to the rate. Meta's training clusters run without it at 400 Gb/s (SIGCOMM 2024): that is roce with this preset.",
        given: &[ALIKE, DCQCN_STEPS],
        ..DEPLOYED
    },
    Preset {
        name: "hpcc-ns3",
        doc: "As HPCC's run.py sets the NICs of its simulator, which follow the defaults of ConnectX (mlxconfig: RPG_TIME_RESET 300, RPG_THRESHOLD 1, RATE_REDUCE_MONITOR_PERIOD 4, RPG_AI_RATE 5, RPG_HAI_RATE 50).",
        given: &[&[
            always("variant", "mellanox", "HPCC's run.py: CC_MODE 1"),
            per(25, "additive_increase", "5Mbps", "HPCC's run.py: RATE_AI 5 bw / 25"),
            per(25, "hyper_increase", "50Mbps", "HPCC's run.py: RATE_HAI 50 bw / 25"),
        ]],
    },
];

const TIMELY: &[Preset] = &[
    DEPLOYED,
    Preset {
        name: "hpcc-ns3",
        doc: "As HPCC's run.py sets its simulator.",
        given: &[&[
            always("variant", "hpcc-ns3", "HPCC's run.py: CC_MODE 7"),
            per(10, "additive_increase", "10Mbps", "HPCC's run.py: RATE_AI 10 bw / 10"),
            per(10, "hyper_increase", "50Mbps", "HPCC's run.py: RATE_HAI 50 bw / 10"),
        ]],
    },
];

const HPCC: &[Preset] = &[
    DEPLOYED,
    Preset {
        name: "hpcc-ns3",
        doc: "As HPCC's run.py sets its simulator.",
        given: &[&[
            always("variant", "hpcc-ns3", "HPCC's run.py: CC_MODE 3"),
            per(25, "additive_increase", "10Mbps", "HPCC's run.py: RATE_AI 10 bw / 25"),
        ]],
    },
];

const BFC: &[Preset] = &[
    DEPLOYED,
    Preset {
        name: "bfc-ns3",
        doc: "As the authors' simulator of BFC has its NICs; its switches are queue = { kind = \"bfc\", variant = \"bfc-ns3\" }.",
        given: &[&[
            always(
                "lone_packets_first",
                "false",
                "BFC's simulator (BFC_NS3_NSDI2022): data is in no queue but 3 to QCOUNT - 3",
            ),
            always("ack_every", "256", "BFC's simulator: L2AckInterval 256"),
            always("window", "none", "BFC's simulator: EnableWindow false"),
        ]],
    },
];

/// The presets of the transport called `kind`.
pub fn presets(kind: &str) -> &'static [Preset] {
    match kind {
        "dcqcn" => DCQCN,
        "timely" => TIMELY,
        "hpcc" => HPCC,
        "bfc" => BFC,
        "roce" | "powertcp" | "theta-powertcp" | "swift" | "rdma-dctcp" | "python-rate"
        | "python-telemetry" => COMMON,
        _ => &[],
    }
}

/// The preset that a transport's parameters name, if they name one.
pub fn named(transport: &Values) -> Option<&'static Preset> {
    let presets = presets(&transport.kind);
    let word = match transport.entries.get(KEY).filter(|_| !presets.is_empty())? {
        Value::Text(word) => word,
        Value::Component(preset) => &preset.kind,
        _ => return None,
    };
    presets.iter().find(|preset| preset.name == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Kind;

    #[test]
    fn the_words_are_the_presets_and_what_they_set_is_there_with_a_source() {
        for component in crate::COMPONENTS {
            let param = |name: &str| component.params().find(|param| param.name == name);
            let Kind::Choice(words) = param(KEY).expect(component.kind).kind else { panic!("no words") };
            let names: Vec<&str> = presets(component.kind).iter().map(|preset| preset.name).collect();
            assert_eq!(words, [&[NONE], names.as_slice()].concat(), "{}", component.kind);
            for preset in presets(component.kind) {
                assert!(!preset.doc.is_empty());
                for given in preset.given() {
                    let param = param(given.key).expect(given.key);
                    assert!(!given.source.is_empty());
                    assert!(given.at.is_none() || param.kind == Kind::Rate, "{} is no rate", given.key);
                }
            }
        }
    }

    #[test]
    fn what_is_in_proportion_to_the_hosts_links_is_what_papers_have_at_their_rate() {
        let at = |kind: &str, name: &str, key: &str, gbps: u64| {
            let preset = presets(kind).iter().find(|preset| preset.name == name).expect(name);
            let given = preset.given().find(|given| given.key == key).expect(key);
            let mbps: u64 = given.value.strip_suffix("Mbps").expect("megabits").parse().expect("a number");
            let Value::Rate(rate) = given.on(Rate::from_gbps(gbps), &Value::Rate(Rate(mbps * 1_000_000)))
            else {
                panic!("no rate")
            };
            rate.as_bps() / 1_000_000
        };
        assert_eq!([40, 400].map(|gbps| at("dcqcn", "deployed", "additive_increase", gbps)), [40, 400]);
        assert_eq!(at("dcqcn", "deployed", "hyper_increase", 400), 4000);
        // At 100 Gb/s, as HPCC's run.py prints them.
        assert_eq!(at("dcqcn", "hpcc-ns3", "additive_increase", 100), 20);
        assert_eq!(at("dcqcn", "hpcc-ns3", "hyper_increase", 100), 200);
        assert_eq!(at("timely", "hpcc-ns3", "additive_increase", 100), 100);
        assert_eq!(at("timely", "hpcc-ns3", "hyper_increase", 100), 500);
        assert_eq!(at("hpcc", "hpcc-ns3", "additive_increase", 100), 40);
    }
}
