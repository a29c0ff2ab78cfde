//! Which queue goes first: what a scheduler's keys mean.

/// The priorities of To sync or not to sync §III-A, and Fastpass's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Oldest cell first: the packet at the head that has waited longest since it came.
    OldestCellFirst,
    /// Shortest remaining job first: the flow with the fewest bytes left.
    ShortestRemainingJobFirst,
    /// Max-min fair: the packet that has been at the head of its queue longest.
    MaxMinFair,
    /// Max-min over time (Fastpass §3.1): the pair that was served least recently.
    LeastRecentlyServed,
}

/// The packet at the head of a queue, in any unit of time that counts upwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// When it came into the queue.
    pub arrived: u64,
    /// When it became the head.
    pub head_since: u64,
    /// When its pair was last served; 0 for never.
    pub last_served: u64,
    /// What is left of its flow.
    pub remaining_bytes: u64,
}

impl Policy {
    /// The policy that a scenario calls so.
    pub fn named(name: &str) -> Policy {
        match name {
            "ocf" => Policy::OldestCellFirst,
            "srjf" => Policy::ShortestRemainingJobFirst,
            "least-recent" => Policy::LeastRecentlyServed,
            "mmf" => Policy::MaxMinFair,
            other => panic!("no policy is called {other}"),
        }
    }

    /// The key: the smallest goes first.
    pub fn key(self, head: &Head) -> u64 {
        match self {
            Policy::OldestCellFirst => head.arrived,
            Policy::ShortestRemainingJobFirst => head.remaining_bytes,
            Policy::MaxMinFair => head.head_since,
            Policy::LeastRecentlyServed => head.last_served,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_prefers_what_its_name_says() {
        let old = Head { arrived: 1, head_since: 9, last_served: 8, remaining_bytes: 9_000 };
        let short = Head { arrived: 5, head_since: 7, last_served: 6, remaining_bytes: 40 };
        let goes_first = |policy: Policy| if policy.key(&old) < policy.key(&short) { old } else { short };
        assert_eq!(goes_first(Policy::OldestCellFirst), old);
        assert_eq!(goes_first(Policy::ShortestRemainingJobFirst), short);
        assert_eq!(goes_first(Policy::MaxMinFair), short);
        assert_eq!(goes_first(Policy::LeastRecentlyServed), short);
    }
}
