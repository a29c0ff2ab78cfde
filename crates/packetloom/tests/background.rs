//! Traffic that a case does not wait for.

use crate::common::run;
use packetloom::measure::FlowRow;
use packetloom::units::Time;

#[test]
fn a_case_ends_with_its_foreground() {
    let outcome = run(r#"
[topology]
kind = "fat-tree"
k = 4

[[workload]]
sizes = { kind = "constant", size = "500KB" }
arrivals = "closed"
pattern = "permutation"
hosts = 0.25
background = true

[[workload]]
sizes = { kind = "constant", size = "150KB" }
arrivals = { kind = "poisson", rate_per_second = 20_000 }

[[scheme]]
name = "NDP"
transport = "ndp"
queue = "ndp"
routing = "permutation"

[run]
flows = 100
"#);
    assert!(outcome.warnings.is_empty() && !outcome.cancelled, "{:?}", outcome.warnings);
    let (background, foreground): (Vec<&FlowRow>, Vec<&FlowRow>) =
        outcome.flows.iter().partition(|row| row.flow.source == 0);
    assert_eq!(foreground.len(), 100);
    assert!(foreground.iter().all(|row| row.measured && row.fct().is_some()));
    let end = foreground.iter().map(|row| row.closed).max().expect("a flow");
    assert_eq!(outcome.simulated, end);
    // Each of the four hosts goes on until then: one flow after the other, and one more under way.
    assert!(background.iter().all(|row| !row.measured));
    let unfinished: Vec<_> = background.iter().filter(|row| row.fct().is_none()).collect();
    assert!((1..=4).contains(&unfinished.len()), "{}", unfinished.len());
    let last_start = background.iter().map(|row| row.flow.start).max().expect("a flow");
    assert!(background.len() > 20 && last_start + Time::from_ns(1_000_000) > end, "{}", background.len());
}
