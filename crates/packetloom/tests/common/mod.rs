//! What the tests through the public API share: a scenario's text in, what came of it out.

// Two programs use this, each a part of it.
#![allow(dead_code)]

use packetloom::measure::FlowRow;
use packetloom::scenario::{Case, Scenario};
use packetloom::simulation::{Monitor, Outcome, PortRow, Simulation};
use packetloom::units::Time;
use packetloom::user_class::{self, Class};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// The scenario's cases, in order.
pub fn cases(toml: &str) -> Vec<Case> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    match Scenario::from_toml(toml, "test", directory) {
        Ok(scenario) => scenario.cases().collect(),
        Err(problems) => panic!("{problems}\n{toml}"),
    }
}

/// The keys that a transport needs after its kind. A user's class gets one that defines nothing, and so is TCP
/// NewReno, or sends at its link's rate; what compiled classes do is tested in Python.
pub fn required_keys(transport: &str) -> &'static str {
    prepare_class();
    match transport {
        "python" => ", file = \"class.py\", class = \"Any\"",
        "python-rate" => ", file = \"class.py\", class = \"RateControl\", recovery = \"irn\"",
        "python-telemetry" => ", file = \"class.py\", class = \"TelemetryControl\", recovery = \"irn\"",
        _ => "",
    }
}

/// Makes ready what [`required_keys`] names.
pub fn prepare_class() {
    write_file("class.py", "");
    set_empty_class();
}

/// Every class of any file is one that defines nothing. One that is called as a class of `packetloom.schemes` derives
/// from that.
pub fn set_empty_class() {
    user_class::set_loader(Box::new(|place| {
        let base = match place.class {
            "Any" => "CongestionControl",
            other => other,
        };
        let [base, doc, source] = [base, "Defines nothing.", "a test"].map(str::to_owned);
        Ok(Class { base, doc, source, ..Class::default() })
    }));
}

/// What comes of a case.
pub fn simulate(case: Case) -> Outcome {
    let simulation = Simulation::new(case).unwrap_or_else(|complaint| panic!("{complaint:?}"));
    simulation.run(&Monitor::default()).unwrap_or_else(|complaint| panic!("{complaint:?}"))
}

/// What comes of a scenario that has one case.
pub fn run(toml: &str) -> Outcome {
    let mut cases = cases(toml);
    assert_eq!(cases.len(), 1, "{toml}");
    simulate(cases.remove(0))
}

/// Writes a file that a scenario can name. Tests run side by side, so what several write under one name must be the same.
#[track_caller]
pub fn write_file(name: &str, text: &str) {
    static WRITTEN: Mutex<BTreeMap<String, (Option<ThreadId>, String)>> = Mutex::new(BTreeMap::new());
    let here = thread::current().id();
    // Held while the file is written: who finds it written may read it.
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((by, before)) = written.get_mut(name) {
        if before == text {
            // What another test reads, too, nobody may write anew.
            *by = by.filter(|&by| by == here);
            return;
        }
        assert_eq!(*by, Some(here), "{name} has another text in another test");
    }
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), text).expect("a directory to write to");
    written.insert(name.to_owned(), (Some(here), text.to_owned()));
}

/// The port of the node `from` on its link to the node `to`.
pub fn port<'a>(outcome: &'a Outcome, from: &str, to: &str) -> &'a PortRow {
    let topology = &outcome.topology;
    let is_it = |port: &&PortRow| {
        let link = topology.links[port.link];
        topology.node_name(link.src) == from && topology.node_name(link.dst) == to
    };
    outcome.ports.iter().find(is_it).unwrap_or_else(|| panic!("no link from {from} to {to}"))
}

/// A port's bytes over what its link can carry until the end.
pub fn utilisation(outcome: &Outcome, port: &PortRow) -> f64 {
    let bits = port.counters.bytes as f64 * 8.0;
    bits / (outcome.topology.links[port.link].rate.as_bps() as f64 * outcome.simulated.as_secs_f64())
}

/// The flow completion time of a flow that must have finished.
pub fn fct(row: &FlowRow) -> Time {
    row.fct().unwrap_or_else(|| panic!("flow {} did not finish", row.flow.id))
}

/// The mean over `values`.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    sum / f64::from(count)
}
