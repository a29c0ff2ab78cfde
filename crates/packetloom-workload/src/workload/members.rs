//! Which hosts take part in a source's traffic.

use super::arrivals::LISTS;
use super::entity;
use super::generator::Environment;
use crate::flow::HostId;
use crate::narrow::{exact, saturated};
use crate::random::{Purpose, Stream};
use crate::spec::{Complaint, Values};
use std::sync::Arc;

/// What rounding may leave of a share of hosts that was meant to be whole: 0.15 × 20.
const SHARE_TOLERANCE: f64 = 1e-9;

/// The hosts of a source, which counts them from 0.
#[derive(Clone, Debug)]
pub struct Members {
    /// `None`: all, by their own numbers.
    chosen: Option<Arc<[HostId]>>,
    count: u32,
}

impl Members {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// A description of how many of all there are, where not all take part.
    pub fn describe(&self, hosts: u32) -> Option<String> {
        self.chosen.as_ref().map(|_| format!("among {} of {hosts} hosts", self.count))
    }

    /// The host that the source counts as this one.
    pub fn host(&self, member: u32) -> HostId {
        match &self.chosen {
            Some(hosts) => hosts[member as usize],
            None => member,
        }
    }
}

/// The hosts of each source: its share, drawn so that no host is in two; the remaining hosts where a source has no
/// share; all where the pattern names a host or a file lists them.
///
/// # Errors
/// Where the shares leave a source fewer than two hosts. The key is that of the scenario.
pub fn choose(specs: &[Values], env: &Environment) -> Result<Vec<Members>, Complaint> {
    let all = Members { chosen: None, count: env.hosts };
    if specs.iter().all(|spec| spec.optional_number("hosts").is_none()) {
        return Ok(vec![all; specs.len()]);
    }
    let mut left = shuffled(env);
    let mut members = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let share = spec.optional_number("hosts");
        let count = share.map(|share| saturated::<usize>(share * f64::from(env.hosts) + SHARE_TOLERANCE));
        if count > Some(left.len()) {
            let message = "the sources' shares of the hosts add up to more than 1; write less";
            return Err(Complaint::new(&format!("workload[{index}].hosts"), message));
        }
        members.push(count.map(|count| left.split_off(left.len() - count)));
    }
    let of_source = |(index, (spec, chosen)): (usize, (&Values, Option<Vec<HostId>>))| {
        if names_hosts(spec) {
            return Ok(all.clone());
        }
        let mut hosts = chosen.unwrap_or_else(|| left.clone());
        if hosts.len() < 2 {
            let message = format!("leaves this source {} of {} hosts; it needs two", hosts.len(), env.hosts);
            return Err(Complaint::new(&format!("workload[{index}].hosts"), message));
        }
        hosts.sort_unstable();
        Ok(Members { count: exact::<u32>(hosts.len()), chosen: Some(hosts.into()) })
    };
    specs.iter().zip(members).enumerate().map(of_source).collect()
}

/// Whether the source says itself which hosts it means.
pub fn names_hosts(spec: &Values) -> bool {
    let pattern = spec.component("pattern");
    let names = |key| pattern.entries.contains_key(key) && pattern.optional_count(key).is_some();
    LISTS.contains(&spec.component("arrivals").kind.as_str())
        || ["src", "receiver", "sender"].into_iter().any(names)
}

fn shuffled(env: &Environment) -> Vec<HostId> {
    let mut stream = Stream::new(env.seed, Purpose::Pattern, entity::MEMBERS);
    let mut hosts: Vec<HostId> = (0..env.hosts).collect();
    stream.shuffle(&mut hosts);
    hosts
}
