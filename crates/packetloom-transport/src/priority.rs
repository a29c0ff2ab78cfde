//! The number by which a pFabric switch ranks packets (pFabric §2.2). Small is urgent.

use crate::flow::Flow;
use crate::narrow::narrow;
use crate::queue;
use crate::spec::{Kind, Needs, Param, Values, param};
use crate::units::Time;

/// Acknowledgements and other control packets go first.
pub const FIRST: u32 = 0;

/// Packets of flows without a deadline, or past it, come after all that have one to meet.
const NO_DEADLINE: u32 = 1 << 31;

/// Which number a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// All alike.
    None,
    /// What the flow has still to deliver: SRPT.
    Remaining,
    /// The flow's whole size: SJF.
    Size,
    /// The time left to the deadline: EDF.
    Deadline,
}

/// Where switches look at it.
const RANKED: &[Needs] = &[Needs::That(
    |site| site.scene.queues().any(|queue| queue::Specification::of(&queue).traits.ranks),
    "no queue of the scheme goes by priorities, as \"pfabric\" does",
)];

/// The parameter, with the default that fits pFabric's hosts.
pub const PARAM: Param = param("remaining", "pFabric §3: packets contain the remaining flow size");

/// The parameter with a default.
pub const fn param(default: &'static str, source: &'static str) -> Param {
    param! {
        "priority" = default: Kind::Choice(&["none", "remaining", "size", "deadline"]),
        "The priority in each packet: none, bytes remaining (SRPT), flow size (SJF), or time left to the deadline in microseconds (EDF).",
        source; acts RANKED
    }
}

impl Priority {
    /// Reads [`PARAM`].
    pub fn of(values: &Values) -> Priority {
        let words = [
            ("none", Priority::None),
            ("remaining", Priority::Remaining),
            ("size", Priority::Size),
            ("deadline", Priority::Deadline),
        ];
        values.meaning("priority", &words)
    }

    /// The number for a packet of `flow` that is sent `now` with so much left. Data never comes before control.
    #[inline]
    pub fn number(self, flow: &Flow, remaining_bytes: u64, now: Time) -> u32 {
        let number = match self {
            Priority::None => 1,
            Priority::Remaining => remaining_bytes,
            Priority::Size => flow.size_bytes,
            Priority::Deadline if flow.deadline != Time::NEVER && flow.deadline >= now => {
                (flow.deadline.since(now).as_ps() / 1_000_000).min(u64::from(NO_DEADLINE) - 1)
            }
            Priority::Deadline => u64::from(NO_DEADLINE) + remaining_bytes,
        };
        narrow::<u32>(number.clamp(1, u64::from(u32::MAX)))
    }
}
