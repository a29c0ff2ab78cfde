//! A scenario that was read, and the order of its cases.

use super::case::Case;
use super::presets;
use super::problem::{Problem, Problems};
use super::tree::Node;
use super::variant::{Axis, Variant, combinations};
use crate::spec::{Complaint, Value, Values};
use crate::units::Rate;

/// When the seeds of a point of the grid are enough. Seeds are taken in the order in which cases have them.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// Which statistic of the slowdown of all flows.
    pub statistic: String,
    /// Half the width of its 95 % confidence interval, as a fraction of its mean.
    pub within: f64,
    /// How many seeds to start with.
    pub first_seeds: usize,
    /// How often a run that is not steady is made twice as long, before there are more seeds.
    pub max_extensions: u32,
}

/// An experiment that was read and found sound: a grid of cases.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What is allowed but probably not meant, each as a line of text.
    pub warnings: Vec<String>,
    /// Whether all cases are needed, or only those that this takes.
    pub precision: Option<Precision>,
    /// Schemes that differ by less than this fraction are alike. No case depends on it.
    pub alike: f64,
    pub(super) source: String,
    pub(super) tree: Node,
    pub(super) topology: Vec<Variant<Values>>,
    /// The rate of the hosts' links of each, where a scheme's preset goes by that.
    pub(super) host_rates: Vec<Option<Rate>>,
    pub(super) workloads: Vec<Vec<Variant<Values>>>,
    pub(super) faults: Vec<Vec<Variant<Values>>>,
    pub(super) schemes: Vec<Vec<Variant<Values>>>,
    pub(super) loads: Vec<Option<f64>>,
    pub(super) seeds: Vec<u64>,
    pub(super) run: Vec<Variant<Values>>,
    pub(super) measure: Vec<Variant<Values>>,
}

impl Scenario {
    /// How many cases there are.
    pub fn case_count(&self) -> usize {
        let shared =
            [&self.topology, &self.run, &self.measure].into_iter().chain(&self.workloads).chain(&self.faults);
        let points = shared.map(Vec::len).fold(self.loads.len(), usize::saturating_mul);
        let schemes: usize = self.schemes.iter().map(Vec::len).sum();
        schemes.saturating_mul(points).saturating_mul(self.seeds.len())
    }

    /// Every case; with a precision, those of all seeds that it may take. The scheme varies slowest; then the load;
    /// then the axes of the grid, in the order of the sections topology, workload, fault, scheme, run, measure and
    /// within a section as written; the seed varies fastest.
    pub fn cases(&self) -> impl Iterator<Item = Case> + '_ {
        let schemes = self.schemes.iter();
        let loaded = schemes.flat_map(|scheme| self.loads.iter().map(move |load| (scheme, *load)));
        loaded
            .flat_map(|(scheme, load)| self.points(scheme, load))
            .flat_map(|point| self.seeds.iter().map(move |seed| Case { seed: *seed, ..point.clone() }))
    }

    /// A module's complaint about a case, at the line of this scenario that causes it. The complaint's key begins
    /// with a section: `topology.k`, `workload[1].pattern.dst`, `scheme.queue` (the case's own).
    pub fn locate(&self, case: &Case, complaint: &Complaint) -> Problems {
        let name = case.scheme.text("name");
        let is_it =
            |scheme: &Vec<Variant<Values>>| scheme.iter().any(|variant| variant.value.text("name") == name);
        let scheme = self.schemes.iter().position(is_it).unwrap_or_default();
        let key = match complaint.key.strip_prefix("scheme") {
            Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("scheme[{scheme}]{rest}"),
            _ => complaint.key.clone(),
        };
        let problem = Problem { line: self.tree.line_of(&key), key, message: complaint.message.clone() };
        Problems::new(&self.source, vec![problem])
    }

    /// The cases of a scheme at a load, without their seeds.
    fn points<'a>(
        &'a self,
        scheme: &'a [Variant<Values>],
        load: Option<f64>,
    ) -> impl Iterator<Item = Case> + 'a {
        let mut sections = vec![self.topology.as_slice()];
        sections.extend(self.workloads.iter().map(Vec::as_slice));
        sections.extend(self.faults.iter().map(Vec::as_slice));
        sections.extend([scheme, &self.run, &self.measure]);
        combinations(sections).map(move |pick| {
            let axes: Vec<Axis> = pick.iter().flat_map(|variant| variant.axes.iter().cloned()).collect();
            let network = self.topology.iter().position(|one| std::ptr::eq(one, pick[0]));
            let host_rate = network.and_then(|place| self.host_rates.get(place).copied().flatten());
            let mut values = pick.into_iter().map(|variant| variant.value.clone());
            let mut next = || values.next().expect("one of each section");
            Case {
                topology: next(),
                workloads: self.workloads.iter().map(|_| next()).collect(),
                faults: self.faults.iter().map(|_| next()).collect(),
                scheme: presets::resolved(next(), host_rate),
                load,
                seed: 0,
                run: without_default_rung(next()),
                measure: next(),
                axes,
            }
        })
    }
}

/// A case of packets is called what it was called before there was a choice, and so is an estimate that does without
/// pieces run by packets.
fn without_default_rung(mut run: Values) -> Values {
    if let Some(Value::Component(rung)) = run.entries.get_mut("fidelity")
        && rung.entries.get("calibrate") == Some(&Value::Flag(false))
    {
        rung.entries.remove("calibrate");
    }
    let is_default = |value: &Value| matches!(value, Value::Component(rung) if rung.kind == "packets");
    if run.entries.get("fidelity").is_some_and(is_default) {
        run.entries.remove("fidelity");
    }
    run
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use serde_json::Value as Json;

    fn rows(scenario: &Scenario) -> Vec<String> {
        let value = |(name, value): &(String, Json)| format!("{name}={value}");
        scenario
            .cases()
            .map(|case| case.parameters().iter().map(value).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn cases_come_in_the_documented_order() {
        let scenario = testing::scenario(testing::GRID);
        let rows = rows(&scenario);
        assert_eq!(rows.len(), scenario.case_count());
        // 2 loads × 2 topologies × 2 seeds, for one scheme without axes and one with 2 × 2.
        assert_eq!(rows.len(), 8 + 32);
        assert_eq!(
            rows[..4],
            [
                "scheme=\"plain\" load=0.2 seed=1 topology.hosts=4",
                "scheme=\"plain\" load=0.2 seed=2 topology.hosts=4",
                "scheme=\"plain\" load=0.2 seed=1 topology.hosts=8",
                "scheme=\"plain\" load=0.2 seed=2 topology.hosts=8",
            ]
        );
        let marked = "scheme=\"marked\" load=0.2 seed=1 topology.hosts=4";
        assert_eq!(
            [&rows[8], &rows[10], &rows[12], &rows[14]],
            [
                &format!("{marked} scheme.queue.mark_above_bytes=20000 scheme.transport.min_rto_ns=200000.0"),
                &format!(
                    "{marked} scheme.queue.mark_above_bytes=20000 scheme.transport.min_rto_ns=1000000.0"
                ),
                &format!("{marked} scheme.queue.mark_above_bytes=40000 scheme.transport.min_rto_ns=200000.0"),
                &format!(
                    "{marked} scheme.queue.mark_above_bytes=40000 scheme.transport.min_rto_ns=1000000.0"
                ),
            ]
        );
        assert!(rows[39].starts_with("scheme=\"marked\" load=0.8 seed=2 topology.hosts=8 "), "{}", rows[39]);
    }

    #[test]
    fn a_case_holds_the_values_of_its_row() {
        let case = testing::scenario(testing::GRID).cases().last().unwrap();
        assert_eq!(case.topology.count("hosts"), 8);
        assert_eq!(case.scheme.component("queue").bytes("mark_above"), 40_000);
        assert_eq!(case.load, Some(0.8));
        assert!(!case.run.entries.contains_key("loads"));
    }

    #[test]
    fn a_later_complaint_finds_its_line() {
        let scenario = testing::scenario(testing::GRID);
        let case = scenario.cases().last().unwrap();
        let text = |key: &str| scenario.locate(&case, &Complaint::new(key, "no.")).to_string();
        assert_eq!(text("scheme.queue.mark_above"), "fabric.toml:17: scheme[1].queue.mark_above: no.");
        assert_eq!(text("workload[0].arrivals.file"), "fabric.toml:7: workload[0].arrivals.file: no.");
        assert_eq!(text("topology"), "fabric.toml:2: topology: no.");
    }

    #[test]
    fn components_span_axes_and_bring_their_own() {
        let toml = testing::SMALL.replace(
            "queue = \"drop-tail\"",
            "queue = [\"drop-tail\", { kind = \"ecn\", mark_above = [\"20KB\", \"40KB\"] }]",
        );
        let rows = rows(&testing::scenario(&toml));
        let of = |axes: &str| format!("scheme=\"one\" load=0.5 seed=1 scheme.queue={axes}");
        assert_eq!(
            rows,
            [
                of("\"drop-tail\""),
                of("\"ecn\" scheme.queue.mark_above_bytes=20000"),
                of("\"ecn\" scheme.queue.mark_above_bytes=40000"),
            ]
        );
    }

    #[test]
    fn the_sources_of_several_workloads_are_told_apart() {
        let axis = "class = [0, 1]\n\n[[scheme]]";
        let one = testing::SMALL.replacen("\n[[scheme]]", axis, 1);
        assert!(rows(&testing::scenario(&one))[0].ends_with(" workload.class=0"));
        let two =
            one.replacen("[[scheme]]", "[[workload]]\nsizes = \"constant\"\nclass = [2, 3]\n[[scheme]]", 1);
        assert!(rows(&testing::scenario(&two))[0].ends_with(" workload[0].class=0 workload[1].class=2"));
    }
}
