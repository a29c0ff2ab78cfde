//! When flows start.

use crate::serving;
use crate::spec::{Complaint, Component, Kind, Value, Values, anything, param};
use crate::units::Time;

/// Kinds of arrivals that are read from a file, hosts and sizes and all.
pub const LISTS: [&str; 3] = ["list", "hpcc", "htsim"];

/// Whether arrivals of a kind have hosts and sizes of their own.
pub fn have_all(kind: &str) -> bool {
    LISTS.contains(&kind) || super::jobs::is_job(kind) || kind == serving::KIND
}

/// Whether a source with these arrivals takes its rate from the run's load.
pub fn follow_load(arrivals: &Values) -> bool {
    let own = match arrivals.kind.as_str() {
        "poisson" => "rate_per_second",
        "periodic" => "interval",
        _ => return false,
    };
    arrivals.entries.get(own).is_none_or(|value| *value == Value::Absent)
}

/// What a scenario can write as `arrivals`.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "arrivals",
        kind: "poisson",
        doc: "Flows start at random, independently of one another. Without a rate of its own the source offers the \
              run's load: mean bytes per host and second, headers included, over the host link's rate. \
              Which flow of the pattern starts is drawn.",
        source: "pFabric §3",
        params: &[&[param! {
            "rate_per_second": Kind::Number(1e-3, 1e12),
            "Starts per second of the whole source (for incast: events), instead of a load.", "packetloom"
        }]],
        check: anything,
    },
    Component {
        section: "arrivals",
        kind: "periodic",
        doc: "Evenly spaced starts (for incast: events), in the order of the pattern. Without an interval the source \
              offers the run's load.",
        source: "packetloom",
        params: &[&[param! {
            "interval": Kind::Time,
            "From one start of the whole source to the next, instead of a load.", "packetloom"
        }]],
        check: check_periodic,
    },
    Component {
        section: "arrivals",
        kind: "at-once",
        doc: "All flows start together, in the order of the pattern. A round is one flow from each host \
              (random-pairs, permutation), one for each ordered pair (all-to-all), one event (incast), one flow (pair).",
        source: "packetloom",
        params: &[&[param! {
            "rounds" = "1": Kind::Count(1),
            "How many rounds of the pattern start together.", "packetloom"
        }]],
        check: anything,
    },
    Component {
        section: "arrivals",
        kind: "closed",
        doc: "A closed loop: every sending host keeps chains of flows going; a chain's next flow starts when its \
              last one has ended. So the load depends on how fast the network is.",
        source: "packetloom",
        params: &[&[
            param! {
                "concurrent" = "1": Kind::Count(1),
                "Chains per sending host: the flows it has under way at any time.", "packetloom"
            },
            param! {
                "think_time" = "0us": Kind::Time,
                "From the end of a flow to the start of the chain's next one.", "packetloom"
            },
        ]],
        check: anything,
    },
    Component {
        section: "arrivals",
        kind: "list",
        doc: "The flows of a CSV file, to replay another simulator's. Its first line names the columns, in any order: \
              src, dst, size_bytes, start_ns, and if wanted deadline_ns (a point in time, like start_ns) and class. \
              Times may have up to three decimals. Rows need not be sorted; rows that start together keep their order.",
        source: "packetloom",
        params: &[&[param! { required "file": Kind::Text, "The CSV file.", "packetloom" }]],
        check: anything,
    },
    Component {
        section: "arrivals",
        kind: "hpcc",
        doc: "The flows of a flow.txt of the HPCC or ConWeave simulator: their number, then a line each: \
              src dst pg dport size_bytes start_s, in order of start; ConWeave's have no dport. Nodes are numbered as in \
              the topology's file; the priority group is the traffic class. Only a routing with hash = \"hpcc-ns3\" uses destination ports.",
        source: "HPCC's ns-3 simulator; ConWeave's",
        params: &[&[param! { required "file": Kind::Text, "The file.", "packetloom" }]],
        check: anything,
    },
    Component {
        section: "arrivals",
        kind: "htsim",
        doc: "The connections of a .cm file of htsim, with its triggers: oneshot, multishot, barrier.",
        source: "csg-htsim",
        params: &[&[
            param! { required "file": Kind::Text, "The file.", "packetloom" },
            param! {
                "start_unit": Kind::Choice(&["ps", "us"]),
                "The unit of starts in the file: picoseconds for htsim_ndp, htsim_roce, htsim_eqds and htsim_hpcc, \
                      microseconds for htsim_uec and htsim_swift. Needed unless all start at 0.",
                "csg-htsim, uet-htsim"
            },
            param! {
                "trigger_delay" = "100ns": Kind::Time,
                "How long a trigger takes that is activated at one host and starts flows at another: 1ns at \
                      least, because nodes are simulated independently for this long. A trigger \
                      whose flows are all at one host acts at once.",
                "packetloom; in htsim no time, as if hosts knew of each other"
            },
        ]],
        check: check_delay,
    },
];

fn check_delay(values: &Values) -> Result<(), Complaint> {
    if values.time("trigger_delay") < SHORTEST_DELAY {
        let message = format!("hosts can't know of each other at once; write at least {SHORTEST_DELAY}");
        return Err(Complaint::new("trigger_delay", message));
    }
    Ok(())
}

/// The engine's windows are no longer than the delay of a trigger.
const SHORTEST_DELAY: Time = Time::from_ns(1);

fn check_periodic(values: &Values) -> Result<(), Complaint> {
    match values.optional_time("interval") {
        Some(Time::ZERO) => Err(Complaint::new(
            "interval",
            "0; write a time above it, or arrivals = \"at-once\" for flows that start together",
        )),
        _ => Ok(()),
    }
}

/// When flows start, as the scenario has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At random.
    Poisson {
        /// Starts per second of the whole source (for incast: events); `None`: the rate follows from the load.
        rate_per_second: Option<f64>,
    },
    /// Evenly spaced.
    Periodic {
        /// Between two events; `None`: the interval follows from the load.
        interval: Option<Time>,
    },
    /// All together.
    AtOnce {
        /// How often the pattern is gone through.
        rounds: u64,
    },
    /// Each chain's next flow follows its last.
    Closed {
        /// Chains per sending host.
        concurrent: u64,
        /// From a flow's end to the next one's start.
        think_time: Time,
    },
    /// As a file has them.
    List {
        /// The file's path.
        file: String,
        /// Whether it is one of HPCC's; else it has comma-separated values.
        is_hpcc: bool,
    },
    /// As a file of htsim's has them, some of which wait for others.
    Connections {
        /// The file's path.
        file: String,
        /// What starts in it count, if that is said.
        start_unit: Option<Time>,
        /// How long a trigger takes to start a flow at another host.
        trigger_delay: Time,
    },
    /// As a job has them.
    Job,
    /// As requests have them to a model that is served.
    Serving,
}

impl Arrivals {
    /// From an `arrivals` component that was read.
    pub fn build(values: &Values) -> Arrivals {
        match values.kind.as_str() {
            "poisson" => Arrivals::Poisson { rate_per_second: values.optional_number("rate_per_second") },
            "periodic" => Arrivals::Periodic { interval: values.optional_time("interval") },
            "at-once" => Arrivals::AtOnce { rounds: values.count("rounds") },
            "closed" => Arrivals::Closed {
                concurrent: values.count("concurrent"),
                think_time: values.time("think_time"),
            },
            kind @ ("list" | "hpcc") => Arrivals::List { file: values.text("file"), is_hpcc: kind == "hpcc" },
            "htsim" => Arrivals::Connections {
                file: values.text("file"),
                start_unit: values
                    .optional_text("start_unit")
                    .map(|unit| if unit == "us" { Time::from_us(1) } else { Time(1) }),
                trigger_delay: values.time("trigger_delay"),
            },
            kind if super::jobs::is_job(kind) => Arrivals::Job,
            serving::KIND => Arrivals::Serving,
            other => panic!("no arrivals are called {other}"),
        }
    }
}
