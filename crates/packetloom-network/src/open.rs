//! From a scenario's text to a network.

use crate::{Error, Network};
use packetloom::scenario::{Case, Scenario};
use packetloom::simulation::Driven;
use std::path::Path;

/// What is opened, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What messages call the scenario.
    pub source: &'a str,
    /// Where the files are that the scenario names.
    pub directory: &'a Path,
    /// Whether the text is JSON, and not TOML.
    pub is_json: bool,
    /// Whether the invariants of the run are checked, which takes several times as long.
    pub audit: bool,
    /// How many threads simulate; results do not depend on it.
    pub threads: u32,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { source: "scenario", directory: Path::new(""), is_json: false, audit: false, threads: 1 }
    }
}

/// Opens the network of a scenario that has no `[[workload]]` and spans one case.
///
/// # Errors
/// What of the scenario is wrong, with its line.
pub fn open(text: &str, options: &Options<'_>) -> Result<Network, Error> {
    let Options { source, directory, is_json, audit, threads } = *options;
    let scenario = Scenario::without_traffic(text, source, directory, is_json)
        .map_err(|problems| Error::Scenario(problems.to_string()))?;
    let case = only_case(&scenario, source)?;
    let driven = Driven::new(case.clone(), audit, threads)
        .map_err(|complaint| Error::Scenario(scenario.locate(&case, &complaint).to_string()))?;
    Ok(Network::new(driven))
}

fn only_case(scenario: &Scenario, source: &str) -> Result<Case, Error> {
    let count = scenario.case_count();
    let mut cases = scenario.cases();
    match (cases.next(), count) {
        (Some(case), 1) => Ok(case),
        _ => Err(Error::Scenario(format!(
            "{source}: this spans {count} cases, and a network is one; write one scheme, one seed, and no lists of choices"
        ))),
    }
}
