//! What a traffic source comes to, in figures that a user can check.

use super::build::loaded_bps;
use super::generator::Environment;
use super::list::ListedFlow;
use super::pattern::Pattern;
use super::sizes::Sizes;
use super::spread::Spread;
use crate::units::Time;
use std::fmt;

/// The facts of one source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceFacts {
    /// A description of its sizes: dialect and sampling rule of a distribution, or the file of a list.
    pub sizes: String,
    /// The sizes themselves.
    pub spread: Spread,
    /// A description of its pattern.
    pub pattern: String,
    /// Mean application bytes per flow.
    pub mean_bytes: f64,
    /// Mean bytes per flow on the wire, headers included.
    pub mean_wire_bytes: f64,
    /// Flows per second of the whole source; `None` where they start at once or follow one another.
    pub flows_per_second: Option<f64>,
    /// Mean bytes per second, headers included, over the rate of the host links that the pattern loads.
    pub load: Option<f64>,
    /// How many flows it has at most, where that is known beforehand.
    pub flows: Option<u64>,
}

/// What flows of a mean size come to, as a part of the rate that they load; nothing if there is no such rate.
fn load_of(flows_per_second: Option<f64>, mean_wire_bytes: f64, bps: Option<f64>) -> Option<f64> {
    Some(8.0 * flows_per_second? * mean_wire_bytes / bps?)
}

impl SourceFacts {
    /// Of flows that are drawn.
    pub(super) fn of_draws(
        sizes: &Sizes,
        pattern: &Pattern,
        flows_per_second: Option<f64>,
        env: &Environment,
    ) -> SourceFacts {
        let mean_wire_bytes = sizes.mean_wire_bytes(env.mss, env.header);
        SourceFacts {
            sizes: sizes.describe(),
            spread: Spread::Drawn(sizes.clone()),
            pattern: pattern.describe(),
            mean_bytes: sizes.mean_bytes(),
            mean_wire_bytes,
            flows_per_second,
            load: load_of(
                flows_per_second,
                mean_wire_bytes,
                loaded_bps(pattern.loaded_links(env.hosts), env),
            ),
            flows: None,
        }
    }

    /// Of flows that a file lists, sorted by start; their rate is that between the first start and the last.
    pub(super) fn of_list(file: &str, flows: &[ListedFlow], env: &Environment) -> SourceFacts {
        let count = flows.len() as f64;
        let total = |bytes: fn(&ListedFlow, &Environment) -> u64| -> f64 {
            flows.iter().map(|flow| bytes(flow, env) as f64).sum()
        };
        let mean_bytes = total(|flow, _| flow.size_bytes) / count;
        let packets = total(|flow, env| flow.size_bytes.div_ceil(env.mss)) / count;
        let mean_wire_bytes = mean_bytes + env.header as f64 * packets;
        let span = flows[flows.len() - 1].start.since(flows[0].start);
        let flows_per_second = (span > Time::ZERO).then(|| (count - 1.0) / span.as_secs_f64());
        SourceFacts {
            sizes: format!("as listed in {file}"),
            spread: Spread::known(flows.iter().map(|flow| flow.size_bytes)),
            pattern: "as listed".to_owned(),
            mean_bytes,
            mean_wire_bytes,
            flows_per_second,
            load: load_of(flows_per_second, mean_wire_bytes, loaded_bps(env.hosts, env)),
            flows: None,
        }
    }
}

impl SourceFacts {
    /// Of flows of these sizes that wait for one another.
    pub(super) fn of_plan(all: &[u64], sizes: &str, pattern: &str, env: &Environment) -> SourceFacts {
        let count = all.len().max(1) as f64;
        let mean_bytes = all.iter().map(|&bytes| bytes as f64).sum::<f64>() / count;
        let packets = all.iter().map(|bytes| bytes.div_ceil(env.mss) as f64).sum::<f64>() / count;
        SourceFacts {
            sizes: sizes.to_owned(),
            spread: Spread::known(all.iter().copied()),
            pattern: pattern.to_owned(),
            mean_bytes,
            mean_wire_bytes: mean_bytes + env.header as f64 * packets,
            flows_per_second: None,
            load: None,
            flows: Some(all.len() as u64),
        }
    }
}

impl fmt::Display for SourceFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.pattern, self.sizes)?;
        // Nothing has no mean.
        if self.flows != Some(0) {
            write!(f, "; mean {:.1} B, {:.1} B with headers", self.mean_bytes, self.mean_wire_bytes)?;
        }
        if let Some(rate) = self.flows_per_second {
            write!(f, "; {rate:.1} flows/s")?;
        }
        if let Some(load) = self.load {
            write!(f, "; load {load:.3}")?;
        }
        match self.flows {
            Some(flows) => write!(f, "; {flows} flows"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nothing_no_mean_is_told() {
        let spread = Spread::known(std::iter::empty());
        let facts = SourceFacts {
            sizes: "nothing is sent".to_owned(),
            spread,
            pattern: "8 ranks".to_owned(),
            mean_bytes: 0.0,
            mean_wire_bytes: 0.0,
            flows_per_second: None,
            load: None,
            flows: Some(0),
        };
        assert_eq!(facts.to_string(), "8 ranks; nothing is sent; 0 flows");
        let one = SourceFacts { flows: Some(1), mean_bytes: 2.0, mean_wire_bytes: 4.0, ..facts };
        assert_eq!(one.to_string(), "8 ranks; nothing is sent; mean 2.0 B, 4.0 B with headers; 1 flows");
    }
}
