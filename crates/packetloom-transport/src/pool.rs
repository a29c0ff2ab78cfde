//! Connections that flows leave behind for those after them: idle ones, by the host at their other end.

use crate::flow::HostId;
use crate::spec::{Kind, Param, Values, param};
use std::collections::{BTreeMap, VecDeque};

/// The parameters that a pool has whatever its connections are.
pub const PARAMS: &[Param] = &[
    param! {
        "warm" = "0": Kind::Count(0),
        "This many connections between each two hosts are open and idle when the run begins.",
        "packetloom (pFabric's ns-2 code: 4 for TCP and DCTCP, 1 for pFabric)"
    },
    param! {
        "take" = "longest-idle": Kind::Choice(&["longest-idle", "latest"]),
        "Which of several idle connections a flow takes: the one that has been idle longest, or the one that was used last.",
        "pFabric's ns-2 code: longest-idle"
    },
];

/// How many connections there are at first, and which goes next.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Between each two hosts.
    pub warm: u32,
    /// Whether it is the one that was used last.
    pub latest_first: bool,
}

impl Rule {
    /// As a scenario has it.
    pub fn of(values: &Values) -> Rule {
        Rule {
            warm: u32::try_from(values.count("warm")).unwrap_or(u32::MAX),
            latest_first: values.meaning("take", &[("longest-idle", false), ("latest", true)]),
        }
    }
}

/// What a host keeps of its idle connections.
#[derive(Clone, Debug)]
pub struct Pool<K> {
    rule: Rule,
    idle: BTreeMap<HostId, Idle<K>>,
}

#[derive(Clone, Debug)]
struct Idle<K> {
    /// Connections that were open when the run began, and that no flow has used.
    untouched: u32,
    /// The others, the one that was used last at the end.
    used: VecDeque<K>,
}

/// What a flow gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken<K> {
    /// A connection, as the flow before left it.
    Used(K),
    /// A connection that has carried nothing.
    Untouched,
    /// Every connection is in use.
    Nothing,
}

impl<K> Pool<K> {
    /// Before the first flow.
    pub fn new(rule: Rule) -> Pool<K> {
        Pool { rule, idle: BTreeMap::new() }
    }

    /// An idle connection to a host, which is idle no more.
    pub fn take(&mut self, to: HostId) -> Taken<K> {
        let latest_first = self.rule.latest_first;
        let idle = self.of(to);
        // What no flow has used has been idle since the run began.
        if latest_first {
            return idle.used.pop_back().map_or_else(|| idle.take_untouched(), Taken::Used);
        }
        match idle.take_untouched() {
            Taken::Nothing => idle.used.pop_front().map_or(Taken::Nothing, Taken::Used),
            untouched => untouched,
        }
    }

    /// A connection to a host is idle from now on.
    pub fn keep(&mut self, to: HostId, connection: K) {
        self.of(to).used.push_back(connection);
    }

    fn of(&mut self, to: HostId) -> &mut Idle<K> {
        let untouched = self.rule.warm;
        self.idle.entry(to).or_insert_with(|| Idle { untouched, used: VecDeque::new() })
    }
}

impl<K> Idle<K> {
    fn take_untouched(&mut self) -> Taken<K> {
        if self.untouched == 0 {
            return Taken::Nothing;
        }
        self.untouched -= 1;
        Taken::Untouched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(warm: u32, latest_first: bool) -> Pool<u32> {
        Pool::new(Rule { warm, latest_first })
    }

    #[test]
    fn the_connection_that_was_idle_longest_goes_first() {
        let mut pool = pool(2, false);
        assert_eq!(pool.take(7), Taken::Untouched);
        pool.keep(7, 1);
        assert_eq!(pool.take(7), Taken::Untouched, "the second has been idle since the beginning");
        pool.keep(7, 2);
        assert_eq!(
            [pool.take(7), pool.take(7), pool.take(7)],
            [Taken::Used(1), Taken::Used(2), Taken::Nothing]
        );
    }

    #[test]
    fn or_the_one_that_was_used_last() {
        let mut pool = pool(1, true);
        pool.keep(7, 1);
        pool.keep(7, 2);
        let taken = [pool.take(7), pool.take(7), pool.take(7), pool.take(7)];
        assert_eq!(taken, [Taken::Used(2), Taken::Used(1), Taken::Untouched, Taken::Nothing]);
    }

    #[test]
    fn each_host_has_connections_of_its_own() {
        let mut pool = pool(1, false);
        assert_eq!(
            [pool.take(1), pool.take(2), pool.take(1)],
            [Taken::Untouched, Taken::Untouched, Taken::Nothing]
        );
    }
}
