//! The same case for longer: what a precision asks for where a case is not steady.

use super::case::Case;
use crate::spec::{Value, Values};
use crate::units::Time;

/// Arrivals that go on by the clock for as long as they are let.
const ENDLESS: &[&str] = &["poisson", "periodic"];
/// Sources whose own number of flows says how long they last.
const COUNTED: &[&str] = &["poisson", "periodic", "closed"];

impl Case {
    /// The case with flows starting for so many times as long. "auto" as warm-up follows from that; a warm-up and a
    /// cool-down that are times stay.
    ///
    /// `None` where that would be no longer, or another thing: no source that counts goes by the clock for as long as
    /// it is let (a file has the flows it has), or a fault comes or goes at a time.
    #[must_use]
    pub fn longer(&self, times: u64) -> Option<Case> {
        if !self.workloads.iter().any(continues) || self.faults.iter().any(is_timed) {
            return None;
        }
        let mut case = self.clone();
        for key in ["flows", "duration", "max_time"] {
            multiply(&mut case.run, key, times);
        }
        for source in case.workloads.iter_mut().filter(|source| is_of(source, COUNTED)) {
            multiply(source, "flows", times);
        }
        Some(case)
    }
}

fn continues(source: &Values) -> bool {
    is_of(source, ENDLESS) && source.entries.get("background") != Some(&Value::Flag(true))
}

fn is_of(source: &Values, kinds: &[&str]) -> bool {
    source.optional_component("arrivals").is_some_and(|arrivals| kinds.contains(&arrivals.kind.as_str()))
}

fn is_timed(fault: &Values) -> bool {
    let is_time = |key: &str| matches!(fault.entries.get(key), Some(Value::Time(at)) if *at > Time::ZERO);
    is_time("at") || is_time("until")
}

fn multiply(values: &mut Values, key: &str, times: u64) {
    match values.entries.get_mut(key) {
        Some(Value::Count(count)) => *count = count.saturating_mul(times),
        Some(Value::Time(Time(ps))) => *ps = ps.saturating_mul(times),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;
    use std::path::Path;

    const TOML: &str = r#"
[topology]
kind = "rack"
hosts = 4

[[workload]]
sizes = "web-search"

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"

[run]
loads = [0.5]
flows = 100
duration = "10ms"
max_time = "20ms"
warm_up = "1ms"
"#;

    fn case(toml: &str) -> Case {
        let scenario = Scenario::from_toml(toml, "fabric.toml", Path::new("")).expect("sound");
        scenario.cases().next().expect("a case")
    }

    fn with(source: &str) -> Case {
        case(&TOML.replace("sizes = \"web-search\"\n", &format!("sizes = \"web-search\"\n{source}\n")))
    }

    #[test]
    fn what_says_how_long_flows_start_is_multiplied_and_nothing_else() {
        let longer = case(TOML).longer(4).expect("goes on");
        assert_eq!(longer.run.count("flows"), 400);
        assert_eq!(longer.run.time("duration"), Time::from_us(40_000));
        assert_eq!(longer.run.time("max_time"), Time::from_us(80_000));
        assert_eq!(longer.run.time("warm_up"), Time::from_us(1_000));
        let written =
            TOML.replace("flows = 100", "flows = 400").replace("10ms", "40ms").replace("20ms", "80ms");
        assert_eq!(longer.identity(), case(&written).identity(), "as if it had been written");
        assert_eq!(longer.parameters(), case(TOML).parameters());
        let own = with("flows = 7").longer(2).expect("goes on");
        assert_eq!(own.workloads[0].count("flows"), 14);
    }

    #[test]
    fn what_does_not_go_on_by_the_clock_is_not_longer() {
        assert!(with("arrivals = \"at-once\"").longer(2).is_none());
        assert!(with("arrivals = \"closed\"").longer(2).is_none());
        assert!(with("arrivals = \"periodic\"").longer(2).is_some());
        let down = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host0\", \"edge0\"]\n";
        assert!(case(&format!("{TOML}\n{down}at = \"1ms\"")).longer(2).is_none());
        let lossy = "[[fault]]\nkind = \"corruption\"\nprobability = 0.001";
        assert!(case(&format!("{TOML}\n{lossy}")).longer(2).is_some());
    }
}
