//! Scenarios, as TOML and as JSON; what is accepted is taken apart into cases, without building their networks.
#![no_main]

use packetloom::scenario::Scenario;
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    for scenario in [Scenario::from_toml, Scenario::from_json].map(|read| read(text, "fuzz", Path::new("."))) {
        match scenario {
            Ok(scenario) => drop(scenario.cases().take(3).map(|case| case.identity()).collect::<Vec<_>>()),
            Err(problems) => assert!(!problems.to_string().is_empty(), "a refusal without a word"),
        }
    }
});
