//! The sections that are the scenario's own: the whole, `[run]`, its precision, `[measure]` and `[[scheme]]`.

use super::problem::is_blank;
use crate::spec::{ALWAYS, Complaint, Component, Fallback, Kind, Param, Value, Values, anything};
use crate::units::Time;

/// The components of these sections.
pub const COMPONENTS: &[Component] = &[SCENARIO, RUN, PRECISION, MEASURE, SCHEME];

/// The newest version of the scenario's format. It is raised when a scenario that was valid, and meant one thing,
/// would be refused or mean another; a new key or component leaves it as it is.
pub const FORMAT: u64 = 1;

/// Loads above this are slips of the pen: percent for a fraction.
const LARGEST_LOAD: f64 = 10.0;

const fn param(name: &'static str, kind: Kind, default: Fallback, doc: &'static str) -> Param {
    Param { name, kind, default, doc, source: "packetloom", acts: ALWAYS }
}

/// A scenario as a whole.
pub const SCENARIO: Component = Component {
    section: "scenario",
    kind: "scenario",
    doc: "One experiment: schemes that serve the same workloads on the same topology. Any value given as a list \
          spans a grid; the cases are schemes × loads × grid × seeds.",
    source: "packetloom",
    params: &[&[
        param(
            "format",
            Kind::Count(1),
            Fallback::Value("1"),
            "The version of the format that the scenario is written in.",
        ),
        param("name", Kind::Text, Fallback::Absent, "What the experiment is called."),
        param("description", Kind::Text, Fallback::Absent, "What the experiment is for."),
        param("topology", Kind::Component("topology"), Fallback::Required, "The network."),
        param(
            "workload",
            Kind::List(&Kind::Component("workload")),
            Fallback::Required,
            "The traffic: one table per source.",
        ),
        param(
            "fault",
            Kind::List(&Kind::Component("fault")),
            Fallback::Absent,
            "What breaks: one table per fault.",
        ),
        param(
            "scheme",
            Kind::List(&Kind::Component("scheme")),
            Fallback::Required,
            "What is compared: one table per scheme.",
        ),
        param(
            "run",
            Kind::Component("run"),
            Fallback::Value("run"),
            "Loads, seeds, and when a case starts and ends.",
        ),
        param("measure", Kind::Component("measure"), Fallback::Value("measure"), "What is recorded."),
    ]],
    check: anything,
};

/// How long, at which loads and how often.
pub const RUN: Component = Component {
    section: "run",
    kind: "run",
    doc: "Loads, seeds, and when a case starts and ends. A case ends when all its flows have finished.",
    source: "packetloom",
    params: &[&[
        param(
            "loads",
            Kind::List(&Kind::Number(0.0, LARGEST_LOAD)),
            Fallback::Absent,
            "Bytes offered per host and second, headers included, as a fraction of the host link's rate (of all its links, if it has several): a case each.",
        ),
        param(
            "seeds",
            Kind::List(&Kind::Count(0)),
            Fallback::Value("[1]"),
            "Seeds of the random streams, a case each; a whole number n means the seeds 1 to n.",
        ),
        param(
            "precision",
            Kind::Component("precision"),
            Fallback::Absent,
            "Make runs longer until they are steady, and add seeds to those of `seeds` until results are this precise.",
        ),
        param(
            "alike",
            Kind::Number(0.0, 1.0),
            Fallback::Value("0.01"),
            "Schemes that differ by less than this fraction are called alike, however sure the difference is.",
        ),
        param(
            "flows",
            Kind::Count(1),
            Fallback::Absent,
            "How many flows the open-loop sources start in all.",
        ),
        param(
            "duration",
            Kind::Time,
            Fallback::Absent,
            "Flows start before this; where `flows` is given too, whichever ends first.",
        ),
        param(
            "warm_up",
            Kind::TimeOr("auto"),
            Fallback::Value("0us"),
            "Flows that start before this are not measured. \"auto\": the time in which queues settle at the case's load, by Odoni and Roth's formula, but at most a third of the time for which flows arrive. It is the same for all schemes and seeds, and recorded as warm_up_ns.",
        ),
        param(
            "cool_down",
            Kind::Time,
            Fallback::Value("0us"),
            "Flows that start less than this before the last flow's start are not measured.",
        ),
        param(
            "fidelity",
            Kind::Component("fidelity"),
            Fallback::Value("packets"),
            "How closely cases are simulated: \"packets\", or an estimate that takes less, \"steady\", \"links\" or \"flows\".",
        ),
        param(
            "max_time",
            Kind::Time,
            Fallback::Absent,
            "The case ends at this time even if flows are unfinished; they are then reported as such.",
        ),
    ]],
    check: check_run,
};

fn check_run(run: &Values) -> Result<(), Complaint> {
    for (key, kind_of_time) in [("duration", "duration"), ("max_time", "time to stop")] {
        if run.optional_time(key) == Some(Time::ZERO) {
            return Err(Complaint::new(key, format!("a {kind_of_time} of zero leaves nothing; write more")));
        }
    }
    // "auto" always leaves something.
    let warm_up = match run.get("warm_up") {
        Value::Time(time) => *time,
        _ => Time::ZERO,
    };
    let unmeasured = warm_up + run.time("cool_down");
    let (key, end) = match (run.optional_time("duration"), run.optional_time("max_time")) {
        (Some(duration), _) => ("duration", duration),
        (None, Some(max_time)) => ("max_time", max_time),
        (None, None) => return Ok(()),
    };
    if end <= unmeasured {
        let message = format!("{end} leaves nothing to measure beside {unmeasured} of warm_up and cool_down");
        return Err(Complaint::new(key, format!("{message}; write more than {unmeasured}")));
    }
    Ok(())
}

/// When a sample of seeds is large enough.
pub const PRECISION: Component = Component {
    section: "precision",
    kind: "precision",
    doc: "How precisely the slowdown of all flows is to be known. Each scheme at each load and point of the grid \
          starts with the seeds of `run.seeds`. As long as a scheme there is not known to be steady, which more \
          seeds would not cure, all of them are run for twice as long. Then each gets half as many seeds again, \
          round by round, until the 95 % confidence interval of the statistic is within a fraction of its mean to \
          either side.",
    source: "packetloom",
    params: &[&[
        param(
            "statistic",
            Kind::Choice(&["mean", "p50", "p95", "p99", "p99.9"]),
            Fallback::Value("p99"),
            "Which statistic of the slowdown.",
        ),
        param(
            "within",
            Kind::Number(0.0, 1.0),
            Fallback::Value("0.05"),
            "Half the width of its interval, as a fraction of its mean.",
        ),
        param("max_seeds", Kind::Count(2), Fallback::Value("30"), "Stop at this many seeds in any case."),
        param(
            "max_extensions",
            Kind::Count(0),
            Fallback::Value("3"),
            "How often a run may be doubled (`flows`, `duration` and `max_time`): 3 allows eight times what is \
             written, 0 only adds seeds. Runs are doubled only if flows start by the clock and no fault has a time.",
        ),
    ]],
    check: check_precision,
};

fn check_precision(precision: &Values) -> Result<(), Complaint> {
    match precision.number("within") {
        0.0 => Err(Complaint::new(
            "within",
            "no number of seeds gives an interval of 0; write more, such as 0.05",
        )),
        _ => Ok(()),
    }
}

/// What is recorded.
pub const MEASURE: Component = Component {
    section: "measure",
    kind: "measure",
    doc: "What is recorded in addition to the counters of each case.",
    source: "packetloom",
    params: &[&[
        param(
            "queues",
            Kind::Flag,
            Fallback::Value("false"),
            "The occupancy of each port's queue: time-weighted mean, p99 and maximum.",
        ),
        param(
            "series_interval",
            Kind::Time,
            Fallback::Absent,
            "Sample every port this often, as series: its queue, and what its link carried.",
        ),
        param(
            "by_class",
            Kind::Flag,
            Fallback::Value("false"),
            "Sample each traffic class at every port, too: data sent, its queue, credits in use.",
        ),
        param(
            "pauses",
            Kind::Flag,
            Fallback::Value("false"),
            "Keep each pause of each class at each port of a queue with PFC, with where it began.",
        ),
        param(
            "reordering",
            Kind::Flag,
            Fallback::Value("false"),
            "Of each flow, how many packets arrive out of order, how far, and how often its path changes (RFC 4737).",
        ),
        param(
            "operations",
            Kind::Flag,
            Fallback::Value("false"),
            "Keep when each operation of each rank of a job was ready, began and ended; the critical path of each repetition; and which link bounds each collective operation.",
        ),
        param(
            "critical_path",
            Kind::Flag,
            Fallback::Value("false"),
            "Keep the critical path of each repetition of a job, and which link bounds each collective operation; operations includes it.",
        ),
        param(
            "alone",
            Kind::Flag,
            Fallback::Value("false"),
            "Run each job that is not in the background by itself, too, on the same hosts and with the same faults: how much \
             longer its repetitions take beside the other sources (interference). Each of these runs costs about what its \
             job costs.",
        ),
        param(
            "flows",
            Kind::List(&Kind::Count(0)),
            Fallback::Absent,
            "Sample the senders of these flows over time, 16 at most, by their numbers in the table of flows: window, rate, \
             round-trip time, what arrived, what was sent again.",
        ),
        param(
            "flows_interval",
            Kind::Time,
            Fallback::Absent,
            "The time between two samples of a flow. It is doubled whenever a flow has 2000 samples. Left out: 1us.",
        ),
        param(
            "capture",
            Kind::List(&Kind::Text),
            Fallback::Absent,
            "Ports whose packets go into a pcapng file: all of a node or tier (\"host0\"), or those that lead to another \
             (\"host0 to edge0\").",
        ),
    ]],
    check: check_measure,
};

/// Flows that may be sampled in a case: as many as can be told apart in a figure, and a bound to what is kept.
const MOST_FLOWS: usize = 16;

fn check_measure(measure: &Values) -> Result<(), Complaint> {
    check_flows(measure)?;
    match measure.optional_time("series_interval") {
        Some(Time::ZERO) => Err(Complaint::new(
            "series_interval",
            "an interval of zero never ends; write one such as \"10us\"",
        )),
        None if measure.flag("by_class") => Err(Complaint::new(
            "by_class",
            "classes are sampled over time; write how often, too, such as series_interval = \"100us\"",
        )),
        _ => Ok(()),
    }
}

fn check_flows(measure: &Values) -> Result<(), Complaint> {
    let flows = measure.optional_list("flows");
    match (&flows, measure.optional_time("flows_interval")) {
        (_, Some(Time::ZERO)) => {
            let message = "an interval of zero never ends; write one such as \"1us\"";
            return Err(Complaint::new("flows_interval", message));
        }
        (None, Some(_)) => {
            let message = "no flow is sampled; write which, too, such as flows = [0, 1]";
            return Err(Complaint::new("flows_interval", message));
        }
        _ => {}
    }
    let flows = flows.unwrap_or_default();
    if flows.len() > MOST_FLOWS {
        let message = format!("{} flows are too many to be sampled; write {MOST_FLOWS} at most", flows.len());
        return Err(Complaint::new("flows", message));
    }
    match flows.iter().enumerate().find(|(place, flow)| flows[..*place].contains(flow)) {
        Some((_, Value::Count(flow))) => {
            Err(Complaint::new("flows", format!("names flow {flow} twice; write each once")))
        }
        _ => Ok(()),
    }
}

/// What is compared.
pub const SCHEME: Component = Component {
    section: "scheme",
    kind: "scheme",
    doc: "A transport with the queues and the path selection that it runs over.",
    source: "packetloom",
    params: &[&[
        param("name", Kind::Text, Fallback::Required, "What tables and figures call it."),
        param("transport", Kind::Component("transport"), Fallback::Required, "What the hosts do."),
        param(
            "queue",
            Kind::Component("queue"),
            Fallback::Absent,
            "The queue of every switch port; a fluid transport, which has no packets, needs none.",
        ),
        param(
            "nic",
            Kind::Component("queue"),
            Fallback::Absent,
            "The queue of every host's own port; left out: the same as `queue`, or \"fair\" where that one trims.",
        ),
        param(
            "routing",
            Kind::Component("routing"),
            Fallback::Value("ecmp"),
            "Which of several shortest paths a packet takes.",
        ),
    ]],
    check: check_scheme,
};

/// Of a scheme's name.
const MOST_LETTERS: usize = 200;

fn check_scheme(scheme: &Values) -> Result<(), Complaint> {
    let name = scheme.text("name");
    match name.trim_matches(|letter: char| letter.is_whitespace() || is_blank(letter)) {
        "" => Err(Complaint::new("name", "is empty; write what tables and figures shall call the scheme")),
        name if name.chars().count() > MOST_LETTERS => {
            let message =
                format!("is longer than {MOST_LETTERS} letters, and stands in every table; write less");
            Err(Complaint::new("name", message))
        }
        _ => Ok(()),
    }
}
