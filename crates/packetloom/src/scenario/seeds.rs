//! Loads and seeds: how often a scenario runs each point of its grid.

use super::grid::{Precision, Scenario};
use super::read::{MOST_CASES, Reader};
use super::tree::{Entry, Item, Node};
use crate::narrow::exact;
use crate::spec::{Value, Values};
use std::collections::BTreeSet;

/// More seeds than anyone waits for.
const MOST_SEEDS: i128 = 10_000;
/// A run of 1024 times the length that was written.
const MOST_EXTENSIONS: u32 = 10;

/// `seeds = 3` is short for `seeds = [1, 2, 3]`.
pub(super) fn count_out(reader: &mut Reader<'_>, seeds: &mut Entry) -> Option<()> {
    let Item::Integer(count) = seeds.value.item else { return Some(()) };
    if !(1..=MOST_SEEDS).contains(&count) {
        let message = format!("{count} seeds; write how many, from 1 to {MOST_SEEDS}, or a list of them");
        reader.report(seeds.value.line, "run.seeds", message);
        return None;
    }
    let line = seeds.value.line;
    seeds.value.item = Item::List((1..=count).map(|seed| Node { line, item: Item::Integer(seed) }).collect());
    Some(())
}

/// Moves loads and seeds out of `[run]`, where they would make every case different when one is added.
pub(super) fn take_loads_and_seeds(reader: &mut Reader<'_>, scenario: &mut Scenario) {
    for variant in &mut scenario.run {
        let entries = &mut variant.value.entries;
        scenario.loads = match entries.remove("loads") {
            Some(Value::List(loads)) => loads.iter().map(as_load).collect(),
            _ => vec![None],
        };
        scenario.seeds = match entries.remove("seeds") {
            Some(Value::List(seeds)) => seeds.iter().filter_map(as_seed).collect(),
            _ => Vec::new(),
        };
        if let Some(Value::Number(alike)) = entries.remove("alike") {
            scenario.alike = alike;
        }
        if let Some(Value::Component(precision)) = entries.remove("precision") {
            scenario.precision = Some(take_precision(&precision, scenario.seeds.len()));
            let most = exact::<usize>(precision.count("max_seeds").min(exact::<u64>(MOST_SEEDS) + 1));
            add_seeds(&mut scenario.seeds, most);
        }
    }
    check_precision(reader, scenario);
    check_alike(reader, scenario);
    for (key, length) in [("run.loads", scenario.loads.len()), ("run.seeds", scenario.seeds.len())] {
        if length == 0 {
            reader.report(scenario.tree.line_of(key), key, "is empty; write at least one");
        }
    }
    for (key, length) in [("run.loads", scenario.loads.len()), ("run.seeds", scenario.seeds.len())] {
        if length > MOST_CASES {
            let message = format!("{length} cases at least; write at most {MOST_CASES}");
            reader.report(scenario.tree.line_of(key), key, message);
            return;
        }
    }
    if let Some(load) = first_repeated(scenario.loads.iter().map(|load| load.map(f64::to_bits))) {
        let load = load.map(f64::from_bits).unwrap_or_default();
        reader.report(
            scenario.tree.line_of("run.loads"),
            "run.loads",
            format!("{load} is in the list twice"),
        );
    }
    if let Some(seed) = first_repeated(scenario.seeds.iter().copied()) {
        reader.report(
            scenario.tree.line_of("run.seeds"),
            "run.seeds",
            format!("{seed} is in the list twice"),
        );
    }
}

fn take_precision(values: &Values, first_seeds: usize) -> Precision {
    Precision {
        statistic: values.text("statistic"),
        within: values.number("within"),
        first_seeds,
        max_extensions: exact(values.count("max_extensions").min(u64::from(MOST_EXTENSIONS) + 1)),
    }
}

/// The whole numbers after the largest seed, until there are so many.
fn add_seeds(seeds: &mut Vec<u64>, most: usize) {
    let next = seeds.iter().max().map_or(1, |seed| seed.saturating_add(1));
    let missing = most.saturating_sub(seeds.len());
    seeds.extend((next..).take(missing));
}

fn check_precision(reader: &mut Reader<'_>, scenario: &Scenario) {
    let Some(precision) = &scenario.precision else { return };
    let mut report = |key: &str, message: String| {
        reader.report(scenario.tree.line_of(key), key, message);
    };
    if precision.first_seeds < 2 {
        report(
            "run.precision",
            "an interval takes two seeds to start with; write seeds = 3, or more".to_owned(),
        );
    }
    if precision.max_extensions > MOST_EXTENSIONS {
        report(
            "run.precision.max_extensions",
            format!("write at most {MOST_EXTENSIONS}: each doubles the run"),
        );
    }
    if scenario.seeds.len() > MOST_SEEDS as usize {
        report("run.precision.max_seeds", format!("write at most {MOST_SEEDS}"));
    }
    if scenario.seeds.len() == precision.first_seeds {
        report(
            "run.precision.max_seeds",
            format!("leaves no room: `seeds` are {} already", scenario.seeds.len()),
        );
    }
    if scenario.run.iter().any(|run| run.axes.iter().any(|axis| axis.name.starts_with("run.precision"))) {
        report("run.precision", "spans no grid; write one value for each key".to_owned());
    }
}

fn check_alike(reader: &mut Reader<'_>, scenario: &Scenario) {
    if scenario.run.iter().any(|run| run.axes.iter().any(|axis| axis.name == "run.alike")) {
        let message = "spans no grid: no case depends on it; write one value".to_owned();
        reader.report(scenario.tree.line_of("run.alike"), "run.alike", message);
    }
}

fn as_load(value: &Value) -> Option<f64> {
    match value {
        Value::Number(load) => Some(*load),
        _ => None,
    }
}

fn as_seed(value: &Value) -> Option<u64> {
    match value {
        Value::Count(seed) => Some(*seed),
        _ => None,
    }
}

fn first_repeated<T: Ord + Copy>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = BTreeSet::new();
    values.find(|value| !seen.insert(*value))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMALL, said, scenario};

    fn with(run: &str) -> String {
        SMALL.replace("[0.5]", &format!("[0.5]\n{run}"))
    }

    #[test]
    fn a_precision_adds_seeds_and_says_how_many_are_the_first() {
        let scenario = scenario(&with("seeds = [7, 3]\nprecision = { within = 0.1, max_seeds = 5 }"));
        assert_eq!(scenario.seeds, [7, 3, 8, 9, 10]);
        let precision = scenario.precision.unwrap();
        assert_eq!((precision.statistic.as_str(), precision.within, precision.first_seeds), ("p99", 0.1, 2));
        assert_eq!(precision.max_extensions, 3);
    }

    #[test]
    fn what_is_called_alike_leaves_a_case_what_it_was() {
        assert_eq!(scenario(&with("seeds = 2")).alike, 0.01);
        assert_eq!(scenario(&with("seeds = 2\nalike = 0.05")).alike, 0.05);
        let id = |run: &str| scenario(&with(run)).cases().next().unwrap().identity();
        assert_eq!(id("seeds = 2"), id("seeds = 2\nalike = 0.05"));
        assert_eq!(
            said("[0.5]", "[0.5]\nalike = [0.01, 0.02]").lines().next().unwrap_or_default(),
            "fabric.toml:16: run.alike: spans no grid: no case depends on it; write one value"
        );
    }

    #[test]
    fn a_precision_leaves_a_case_what_it_was() {
        let id = |run: &str| scenario(&with(run)).cases().next().unwrap().identity();
        assert_eq!(id("seeds = 2"), id("seeds = 2\nprecision = {}"));
    }

    #[test]
    fn a_precision_that_cannot_be_had_is_refused() {
        let complaint = |run: &str| said("[0.5]", &format!("[0.5]\n{run}"));
        assert_eq!(
            complaint("precision = {}"),
            "fabric.toml:16: run.precision: an interval takes two seeds to start with; write seeds = 3, or more"
        );
        assert_eq!(
            complaint("seeds = 3\nprecision = { max_seeds = 3 }"),
            "fabric.toml:17: run.precision.max_seeds: leaves no room: `seeds` are 3 already"
        );
        assert_eq!(
            complaint("seeds = 3\nprecision = { max_seeds = 10001 }"),
            "fabric.toml:17: run.precision.max_seeds: write at most 10000"
        );
        assert_eq!(
            complaint("seeds = 3\nprecision = { max_extensions = 11 }"),
            "fabric.toml:17: run.precision.max_extensions: write at most 10: each doubles the run"
        );
        assert_eq!(
            complaint("seeds = 3\nprecision = { within = [0.1, 0.2] }"),
            "fabric.toml:17: run.precision: spans no grid; write one value for each key"
        );
        assert_eq!(
            complaint("seeds = 3\nprecision = { within = 0 }"),
            "fabric.toml:17: run.precision.within: no number of seeds gives an interval of 0; write more, such as 0.05"
        );
    }
}
