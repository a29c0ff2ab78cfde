//! What a scenario can write as `sizes`.

use super::Sizes;
use crate::spec::Fallback::{Absent, Required, Value as Default};
use crate::spec::{ALWAYS, Complaint, Component, Kind, Needs, Param, Values};
use crate::workload::cdf::LARGEST_BYTES;

const POINT: Kind = Kind::List(&Kind::Number(0.0, LARGEST_BYTES));

/// What a scenario can write as `sizes`.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "sizes",
        kind: "cdf",
        doc: "Sizes from an empirical distribution: one that packetloom carries, or points of your own.",
        source: "workloads/README.md",
        params: &[&[
            Param {
                name: "name",
                kind: Kind::Text,
                default: Absent,
                doc: "A distribution that packetloom carries: \"web-search\", \"data-mining\" or a file of workloads/.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "points",
                kind: Kind::List(&POINT),
                default: Absent,
                doc: "Your own, instead of a name: pairs [bytes, cumulative probability], the last one ending in 1.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "interpolation",
                kind: Kind::Choice(&["linear", "step"]),
                default: Absent,
                doc: "What is drawn between points: any size evenly, or the upper point's. \
                      Left out: what the file says; for points, linear.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "rounding",
                kind: Kind::Choice(&["none", "up-to-packets", "to-packets"]),
                default: Absent,
                doc: "Whether a drawn size becomes whole packets, up or to the nearest. \
                      Left out: what the file says; for points, none.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "packet",
                kind: Kind::Bytes,
                default: Default("1460B"),
                doc: "What a packet carries, where `rounding` is to packets.",
                source: "pFabric's ns-2 code",
                acts: &[Needs::Is("rounding", &["up-to-packets", "to-packets"])],
            },
        ]],
        check,
    },
    Component {
        section: "sizes",
        kind: "constant",
        doc: "Every flow has the same size.",
        source: "packetloom",
        params: &[&[Param {
            name: "size",
            kind: Kind::Bytes,
            default: Required,
            doc: "The size of every flow.",
            source: "packetloom",
            acts: ALWAYS,
        }]],
        check,
    },
    Component {
        section: "sizes",
        kind: "uniform",
        doc: "A whole number of bytes drawn uniformly between two sizes, both included.",
        source: "packetloom",
        params: &[&[
            Param {
                name: "minimum",
                kind: Kind::Bytes,
                default: Required,
                doc: "The smallest size.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "maximum",
                kind: Kind::Bytes,
                default: Required,
                doc: "The largest size.",
                source: "packetloom",
                acts: ALWAYS,
            },
        ]],
        check,
    },
    Component {
        section: "sizes",
        kind: "exponential",
        doc: "Exponentially distributed sizes, rounded to the nearest byte, at least one.",
        source: "packetloom",
        params: &[&[Param {
            name: "mean",
            kind: Kind::Bytes,
            default: Required,
            doc: "The mean size.",
            source: "packetloom",
            acts: ALWAYS,
        }]],
        check,
    },
    Component {
        section: "sizes",
        kind: "pareto",
        doc: "Pareto distributed sizes, rounded to the nearest byte; with a maximum, the distribution cut off there.",
        source: "packetloom",
        params: &[&[
            Param {
                name: "shape",
                kind: Kind::Number(0.05, 100.0),
                default: Required,
                doc: "The tail index: the smaller, the heavier the tail. At 1 or below the mean is infinite \
                      unless a maximum is given.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "minimum",
                kind: Kind::Bytes,
                default: Required,
                doc: "The smallest size.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "maximum",
                kind: Kind::Bytes,
                default: Absent,
                doc: "The largest size.",
                source: "packetloom",
                acts: ALWAYS,
            },
        ]],
        check,
    },
];

fn check(values: &Values) -> Result<(), Complaint> {
    Sizes::build(values).map(drop)
}
