//! A part of the hosts, to which a pattern keeps.

use super::entity;
use crate::flow::HostId;
use crate::random::{Purpose, Stream};
use crate::spec::Fallback::Value as Default;
use crate::spec::{Complaint, Kind, Param, Values};
use std::sync::Arc;

/// Which part. All sources of a scenario see the hosts in the same order, so that two sources can share them out.
pub const PARAMS: &[Param] = &[
    Param {
        name: "hosts_from",
        kind: Kind::Number(0.0, 1.0),
        default: Default("0"),
        doc: "Keep to a part of the hosts: of all of them, shuffled for each seed, those from this share on, rounded down.",
        source: "NDP in a fat-tree §5: percentLongFlowNodes",
    },
    Param {
        name: "hosts_to",
        kind: Kind::Number(0.0, 1.0),
        default: Default("1"),
        doc: "Where that part ends. With 0 to 0.15 for one source and 0.15 to 1 for another, they have no host in common.",
        source: "NDP in a fat-tree §5: percentLongFlowNodes",
    },
];

/// The hosts of a pattern, at least two, in rising order.
#[derive(Clone, Debug, PartialEq)]
pub struct Group(Arc<[HostId]>);

impl Group {
    /// The part that a pattern's parameters name.
    ///
    /// # Errors
    /// Where that is fewer than two hosts.
    pub fn build(values: &Values, hosts: u32, seed: u64) -> Result<Group, Complaint> {
        let place = |key: &str| (values.number(key) * f64::from(hosts)).floor() as usize;
        let (from, to) = (place("hosts_from"), place("hosts_to"));
        if to < from + 2 {
            let message = format!("no two of the {hosts} hosts are in this part; write a larger share");
            return Err(Complaint::new("hosts_to", message));
        }
        let mut order: Vec<HostId> = (0..hosts).collect();
        if to - from < order.len() {
            shuffle(&mut order, &mut Stream::new(seed, Purpose::Pattern, entity::HOST_ORDER));
        }
        let mut members = order[from..to].to_vec();
        members.sort_unstable();
        Ok(Group(members.into()))
    }

    /// How many there are.
    pub fn size(&self) -> u32 {
        self.0.len() as u32
    }

    /// The `index`-th of them.
    pub fn member(&self, index: u32) -> HostId {
        self.0[index as usize]
    }

    /// Which of them a member is.
    ///
    /// # Panics
    /// If it is none.
    pub fn index_of(&self, host: HostId) -> u32 {
        self.0.binary_search(&host).expect("a host of this group") as u32
    }

    /// All of them, in rising order.
    pub fn members(&self) -> &[HostId] {
        &self.0
    }
}

/// Every order alike.
pub fn shuffle(hosts: &mut [HostId], stream: &mut Stream) {
    for last in (1..hosts.len()).rev() {
        hosts.swap(last, stream.below(last as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;
    use crate::workload::testing::values;

    fn part(from: f64, to: f64, seed: u64) -> Result<Group, Complaint> {
        let set = [("hosts_from", Value::Number(from)), ("hosts_to", Value::Number(to))];
        Group::build(&values("pattern", "random-pairs", set), 54, seed)
    }

    #[test]
    fn two_parts_share_out_the_hosts() {
        let (some, rest) = (part(0.0, 0.15, 3).unwrap(), part(0.15, 1.0, 3).unwrap());
        assert_eq!(some.size(), 8);
        let mut all = [some.members(), rest.members()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..54).collect::<Vec<_>>());
    }

    #[test]
    fn another_seed_is_another_part_and_all_is_all() {
        assert_ne!(part(0.0, 0.15, 3).unwrap(), part(0.0, 0.15, 4).unwrap());
        assert_eq!(part(0.0, 1.0, 3).unwrap().members(), (0..54).collect::<Vec<_>>());
    }

    #[test]
    fn a_part_without_two_hosts_is_refused() {
        assert_eq!(part(0.5, 0.53, 3).unwrap_err().key, "hosts_to");
        assert_eq!(part(0.5, 0.2, 3).unwrap_err().key, "hosts_to");
    }
}
