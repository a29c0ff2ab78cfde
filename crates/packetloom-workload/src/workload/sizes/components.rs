//! What a scenario can write as `sizes`.

use super::Sizes;
use crate::spec::{Complaint, Component, Kind, Needs, Values, param};
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
            param! {
                "name": Kind::Text,
                "A distribution that packetloom carries: \"web-search\", \"data-mining\" or a file of workloads/.",
                "packetloom"
            },
            param! {
                "points": Kind::List(&POINT),
                "Your own, instead of a name: pairs [bytes, cumulative probability], the last one ending in 1.",
                "packetloom"
            },
            param! {
                "interpolation": Kind::Choice(&["linear", "step"]),
                "What is drawn between points: any size evenly, or the upper point's. \
                      Left out: what the file says; for points, linear.",
                "packetloom"
            },
            param! {
                "rounding": Kind::Choice(&["none", "up-to-packets", "to-packets"]),
                "Whether a drawn size becomes whole packets, up or to the nearest. \
                      Left out: what the file says; for points, none.",
                "packetloom"
            },
            param! {
                "packet" = "1460B": Kind::Bytes,
                "What a packet carries, where `rounding` is to packets.",
                "pFabric's ns-2 code"; acts &[Needs::Is("rounding", &["up-to-packets", "to-packets"])]
            },
        ]],
        check,
    },
    Component {
        section: "sizes",
        kind: "constant",
        doc: "Every flow has the same size.",
        source: "packetloom",
        params: &[&[param! { required "size": Kind::Bytes, "The size of every flow.", "packetloom" }]],
        check,
    },
    Component {
        section: "sizes",
        kind: "uniform",
        doc: "A whole number of bytes drawn uniformly between two sizes, both included.",
        source: "packetloom",
        params: &[&[
            param! { required "minimum": Kind::Bytes, "The smallest size.", "packetloom" },
            param! { required "maximum": Kind::Bytes, "The largest size.", "packetloom" },
        ]],
        check,
    },
    Component {
        section: "sizes",
        kind: "exponential",
        doc: "Exponentially distributed sizes, rounded to the nearest byte, at least one.",
        source: "packetloom",
        params: &[&[param! { required "mean": Kind::Bytes, "The mean size.", "packetloom" }]],
        check,
    },
    Component {
        section: "sizes",
        kind: "pareto",
        doc: "Pareto distributed sizes, rounded to the nearest byte; with a maximum, the distribution cut off there.",
        source: "packetloom",
        params: &[&[
            param! {
                required "shape": Kind::Number(0.05, 100.0),
                "The tail index: the smaller, the heavier the tail. At 1 or below the mean is infinite \
                      unless a maximum is given.",
                "packetloom"
            },
            param! { required "minimum": Kind::Bytes, "The smallest size.", "packetloom" },
            param! { "maximum": Kind::Bytes, "The largest size.", "packetloom" },
        ]],
        check,
    },
];

fn check(values: &Values) -> Result<(), Complaint> {
    Sizes::build(values).map(drop)
}
