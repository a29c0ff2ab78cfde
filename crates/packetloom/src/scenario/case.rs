//! One case of a scenario: everything that a simulation needs to know, and nothing of where it came from.

use super::canonical::{component_from_json, component_to_json, sorted};
use super::hash;
use super::variant::Axis;
use crate::spec::Values;
use serde_json::Value as Json;

/// One simulation to run: no lists of choices left, every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The network.
    pub topology: Values,
    /// The traffic, a source each.
    pub workloads: Vec<Values>,
    /// What breaks.
    pub faults: Vec<Values>,
    /// Transport, queues and routing.
    pub scheme: Values,
    /// The target load as a fraction of the host link's rate, for the sources that follow one.
    pub load: Option<f64>,
    /// The seed of all random streams.
    pub seed: u64,
    /// `[run]` without its loads and seeds, so that more of them leave a case as it was.
    pub run: Values,
    /// `[measure]`.
    pub measure: Values,
    /// The choices on the axes of the grid, in the grid's order.
    pub axes: Vec<Axis>,
}

impl Case {
    /// What distinguishes this case from the others of its scenario, as columns of a table: the scheme's name, the
    /// load, the seed, and the axes of the grid.
    pub fn parameters(&self) -> Vec<(String, Json)> {
        let fixed = [
            ("scheme", self.scheme.text("name").into()),
            ("load", self.load.into()),
            ("seed", self.seed.into()),
        ];
        let axes = self.axes.iter().map(|axis| (axis.name.clone(), axis.value.clone()));
        fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(axes).collect()
    }

    /// The whole case; always the same text for the same case.
    pub fn to_json(&self) -> Json {
        let axes =
            self.axes.iter().map(|axis| Json::from(vec![axis.name.clone().into(), axis.value.clone()]));
        let mut json = self.what_runs();
        json["axes"] = axes.collect();
        json.sort_all_objects();
        json
    }

    /// The case that [`Case::to_json`] wrote.
    pub fn from_json(json: &Json) -> Result<Case, String> {
        let component =
            |key: &str| component_from_json(&json[key]).map_err(|error| format!("{key}: {error}"));
        Ok(Case {
            topology: component("topology")?,
            workloads: items(json, "workloads")?.iter().map(component_from_json).collect::<Result<_, _>>()?,
            faults: match &json["faults"] {
                Json::Null => Vec::new(),
                _ => items(json, "faults")?.iter().map(component_from_json).collect::<Result<_, _>>()?,
            },
            scheme: component("scheme")?,
            load: json["load"].as_f64(),
            seed: json["seed"].as_u64().ok_or("seed: not a whole number")?,
            run: component("run")?,
            measure: component("measure")?,
            axes: items(json, "axes")?.iter().map(axis_from_json).collect::<Result<_, _>>()?,
        })
    }

    /// A name for all that can change this case's result, packetloom's version included. Which other cases its
    /// scenario has does not change it.
    pub fn identity(&self) -> String {
        self.identity_under(env!("CARGO_PKG_VERSION"))
    }

    fn identity_under(&self, version: &str) -> String {
        hash::hex(format!("packetloom {version} {}", self.what_runs()).as_bytes())
    }

    fn what_runs(&self) -> Json {
        let entries = [
            ("topology", component_to_json(&self.topology)),
            ("workloads", self.workloads.iter().map(component_to_json).collect()),
            ("scheme", component_to_json(&self.scheme)),
            ("load", self.load.into()),
            ("seed", self.seed.into()),
            ("run", component_to_json(&self.run)),
            ("measure", component_to_json(&self.measure)),
        ];
        // A case without faults is called what it was called before there were any.
        let faults: Option<Json> =
            (!self.faults.is_empty()).then(|| self.faults.iter().map(component_to_json).collect());
        let entries = entries.into_iter().chain(faults.map(|faults| ("faults", faults)));
        sorted(entries.map(|(key, value)| (key.to_owned(), value)))
    }
}

fn items<'a>(json: &'a Json, key: &str) -> Result<&'a Vec<Json>, String> {
    json[key].as_array().ok_or_else(|| format!("{key}: not a list"))
}

fn axis_from_json(json: &Json) -> Result<Axis, String> {
    match json.as_array().map(Vec::as_slice) {
        Some([Json::String(name), value]) => Ok(Axis { name: name.clone(), value: value.clone() }),
        _ => Err(format!("axes: {json} is not a name and a value")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::spec::Value;

    #[test]
    fn a_case_survives_its_json() {
        for case in testing::scenario(testing::GRID).cases() {
            let text = case.to_json().to_string();
            assert_eq!(Case::from_json(&serde_json::from_str(&text).unwrap()), Ok(case));
        }
    }

    #[test]
    fn faults_are_part_of_a_case_only_where_there_are_any() {
        let first = |toml: &str| testing::scenario(toml).cases().next().unwrap();
        let whole = first(testing::SMALL);
        assert!(whole.to_json().get("faults").is_none());
        let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.1\n[[scheme]]";
        let faulty = first(&testing::SMALL.replace("[[scheme]]", fault));
        assert_eq!(faulty.faults[0].number("probability"), 0.1);
        assert_eq!(Case::from_json(&faulty.to_json()), Ok(faulty.clone()));
        assert_ne!(faulty.identity(), whole.identity());
    }

    #[test]
    fn what_is_no_case_is_refused() {
        let error = |json: &str| Case::from_json(&serde_json::from_str(json).unwrap()).unwrap_err();
        assert_eq!(error("{}"), "topology: null is no component");
        let case = testing::scenario(testing::SMALL).cases().next().unwrap();
        let mut json = case.to_json();
        json["seed"] = Json::Null;
        assert_eq!(error(&json.to_string()), "seed: not a whole number");
    }

    #[test]
    fn an_identity_stays_what_it_was() {
        let mut case = testing::scenario(testing::SMALL).cases().next().unwrap();
        // The queue of that day had nothing else.
        if let Some(Value::Component(queue)) = case.scheme.entries.get_mut("queue") {
            queue.entries.retain(|key, _| key == "capacity");
        }
        assert_eq!(case.identity_under("0.1.0"), "558c705dbabc1cec73a8ec0c0c5c43d3");
    }

    #[test]
    fn an_identity_holds_what_can_change_the_result_and_only_that() {
        let first = |toml: &str| testing::scenario(toml).cases().next().unwrap().identity();
        let small = first(testing::SMALL);
        assert_eq!(first(&testing::SMALL.replace("loads = [0.5]", "loads = [0.5, 0.6]\nseeds = 9")), small);
        assert_eq!(first(&testing::SMALL.replace("hosts = 4", "hosts = [4, 8]")), small);
        assert_eq!(first(&testing::SMALL.replace("\"1us\"", "\"1000 ns\"")), small);
        for (old, new) in
            [("hosts = 4", "hosts = 5"), ("\"1us\"", "\"1.001us\""), ("[0.5]", "[0.51]"), ("one", "two")]
        {
            let changed = testing::SMALL.replace(old, new);
            assert_ne!(changed, testing::SMALL);
            assert_ne!(first(&changed), small, "{new}");
        }
        let case = testing::scenario(testing::SMALL).cases().next().unwrap();
        assert_ne!(case.identity_under("0.1.0"), case.identity_under("0.1.1"));
        assert_ne!(Case { seed: 2, ..case.clone() }.identity(), case.identity());
    }
}
