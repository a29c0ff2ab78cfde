//! A small set of components to test reading with: the modules' own may change without breaking a test here.

use super::Registry;
use super::assemble::assemble;
use super::files::Library;
use super::grid::Scenario;
use super::problem::Problems;
use super::sections;
use super::tree::Node;
use crate::simulation::FIDELITY_COMPONENTS;
use crate::spec::{ALWAYS, Complaint, Component, Fallback, Kind, Param, Value, Values, anything};
use serde_json::json;
use std::path::Path;

/// One scheme, one case.
pub(super) const SMALL: &str = r#"
[topology]
hosts = 4
link = { rate = "10Gbps", delay = "1us" }

[[workload]]
sizes = "constant"

[[scheme]]
name = "one"
transport = "tcp"
queue = "drop-tail"

[run]
loads = [0.5]
flows = 100
"#;

/// Axes in the topology and in the second scheme.
pub(super) const GRID: &str = r#"
[topology]
kind = "rack"
link.rate = "10Gbps"
hosts = [4, 8]

[[workload]]
sizes = "web-search"

[[scheme]]
name = "plain"
transport = "tcp"
queue = "drop-tail"

[[scheme]]
name = "marked"
queue = { kind = "ecn", mark_above = ["20KB", "40KB"] }
transport = { kind = "tcp", min_rto = ["200us", "1ms"] }
routing = "spray-random"

[run]
loads = [0.2, 0.8]
seeds = 2
flows = 100
"#;

/// The scenario's own sections and the components below.
pub(super) fn registry() -> Registry {
    Registry::of(&[sections::COMPONENTS, FIDELITY_COMPONENTS, NETWORK, FAULTS, SCHEMES, TRAFFIC], LIBRARY)
}

/// What `toml` describes; it must be sound.
pub(super) fn scenario(toml: &str) -> Scenario {
    read(toml, Path::new("")).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Reads `toml` as `fabric.toml` in a directory.
pub(super) fn read(toml: &str, directory: &Path) -> Result<Scenario, Problems> {
    assemble(Node::from_toml(toml, "fabric.toml")?, "fabric.toml", directory, &registry())
}

/// The message about `toml`, which must be wrong.
pub(super) fn said_of(toml: &str, directory: &Path) -> String {
    read(toml, directory).expect_err("this is wrong").to_string()
}

/// The message about `SMALL` with `old` replaced by `new`.
pub(super) fn said(old: &str, new: &str) -> String {
    assert!(SMALL.contains(old), "{old}");
    said_of(&SMALL.replacen(old, new, 1), Path::new(""))
}

const fn component(
    section: &'static str,
    kind: &'static str,
    params: &'static [&'static [Param]],
) -> Component {
    Component { section, kind, doc: "For tests.", source: "packetloom", params, check: anything }
}

const fn param(name: &'static str, kind: Kind, default: Fallback) -> Param {
    Param { name, kind, default, doc: "For tests.", source: "packetloom", acts: ALWAYS }
}

const fn value(name: &'static str, kind: Kind, default: &'static str) -> Param {
    param(name, kind, Fallback::Value(default))
}

const NETWORK: &[Component] = &[
    component(
        "topology",
        "rack",
        &[&[
            value("hosts", Kind::Count(2), "40"),
            param("link", Kind::Component("link"), Fallback::Required),
        ]],
    ),
    component(
        "link",
        "link",
        &[&[param("rate", Kind::Rate, Fallback::Required), value("delay", Kind::Time, "0.4us")]],
    ),
];

const FAULTS: &[Component] = &[component(
    "fault",
    "corruption",
    &[&[param("probability", Kind::Number(0.0, 1.0), Fallback::Required)]],
)];

/// What the queues of these names are asked beside their own.
const ADMISSION: &[Param] = &[
    value("admits", Kind::Choice(&["what-fits", "until-full"]), "what-fits"),
    param("pool", Kind::Bytes, Fallback::Absent),
    value("pool_alpha", Kind::Number(0.0, 1000.0), "1"),
];

const SCHEMES: &[Component] = &[
    component(
        "transport",
        "tcp",
        &[&[
            value("min_rto", Kind::Time, "200us"),
            value("fast_retransmit", Kind::Flag, "true"),
            value("priority", Kind::Choice(&["none", "remaining"]), "none"),
            value("gain", Kind::Number(0.0, 1.0), "0.0625"),
        ]],
    ),
    component("queue", "drop-tail", &[&[value("capacity", Kind::Buffer, "225KB")], ADMISSION]),
    Component {
        check: check_ecn,
        ..component(
            "queue",
            "ecn",
            &[
                &[value("capacity", Kind::Bytes, "225KB"), value("mark_above", Kind::Buffer, "22.5KB")],
                ADMISSION,
            ],
        )
    },
    component("routing", "ecmp", &[]),
    component("routing", "spray-random", &[]),
];

fn check_ecn(values: &Values) -> Result<(), Complaint> {
    match values.get("mark_above") {
        Value::Bytes(mark) if *mark > values.bytes("capacity") => {
            Err(Complaint::new("mark_above", "nothing is marked above the capacity; write less"))
        }
        _ => Ok(()),
    }
}

const TRAFFIC: &[Component] = &[
    component(
        "workload",
        "workload",
        &[&[
            param("sizes", Kind::Component("sizes"), Fallback::Required),
            value("arrivals", Kind::Component("arrivals"), "poisson"),
            value("class", Kind::Count(0), "0"),
        ]],
    ),
    component("sizes", "constant", &[&[value("size", Kind::Bytes, "10KB")]]),
    component(
        "sizes",
        "cdf",
        &[&[
            param("name", Kind::Text, Fallback::Absent),
            param("points", Kind::List(&Kind::List(&Kind::Number(0.0, 1e15))), Fallback::Absent),
        ]],
    ),
    component("arrivals", "poisson", &[]),
    component("arrivals", "at-once", &[]),
    component("arrivals", "list", &[&[param("file", Kind::Text, Fallback::Required)]]),
];

const LIBRARY: Library = Library {
    names: || vec!["web-search", "data-mining"],
    read: |text| match text.trim() {
        "1000 1" => Ok(json!({ "points": [[0.0, 0.0], [1000.0, 1.0]] })),
        _ => Err((2, "the probabilities fall from 0.5 to 0.4; they must not".to_owned())),
    },
};
