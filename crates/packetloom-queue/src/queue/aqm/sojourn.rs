//! Marking by how long a packet waited, whatever the rate of its port or the share of its class.

use super::{AnyAqm, Aqm, Look, Read, Specification};
use crate::queue::Verdict;
use crate::spec::{Component, Kind, Registered, anything, param};
use crate::units::Time;

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "sojourn",
    doc: "Marks an ECN-capable packet as it leaves if it has waited for longer than a threshold.",
    source: "Bai et al., CoNEXT 2016 (TCN); Linux: ce_threshold of fq_codel",
    params: &[&[param! {
        "mark_above" = "20us": Kind::Time,
        "The threshold: what has waited for longer is marked.", "packetloom: what 25 KB take at 10 Gb/s"
    }]],
    check: anything,
};

/// The AQM.
pub const AQM: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| {
        let sojourn = Sojourn { mark_above: values.time("mark_above") };
        Specification { marks: true, ..Specification::new(AnyAqm::Sojourn(sojourn)) }
    },
};

/// The threshold.
#[derive(Clone, Copy, Debug)]
pub struct Sojourn {
    mark_above: Time,
}

impl Aqm for Sojourn {
    #[inline]
    fn leave(&mut self, look: &mut Look<'_>) -> Verdict {
        if look.sojourn > self.mark_above { Verdict::Mark } else { Verdict::Accept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::aqm::testing::Scene;

    #[test]
    fn what_waited_for_longer_than_the_threshold_is_marked() {
        let mut aqm = Sojourn { mark_above: Time::from_us(20) };
        let mut scene = Scene::new();
        for (waited_ns, verdict) in [(0, Verdict::Accept), (20_000, Verdict::Accept), (20_001, Verdict::Mark)]
        {
            let look = &mut scene.look(Time::from_us(100), 30_000, Time::from_ns(waited_ns), true);
            assert_eq!(aqm.leave(look), verdict, "{waited_ns} ns");
        }
    }
}
