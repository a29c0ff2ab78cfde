//! Aeolus' selective dropping: of what comes while more than a threshold waits, that goes which no receiver has called for.

use super::{AnyAqm, Aqm, Look, Read, Specification};
use crate::queue::admission::Limit;
use crate::queue::specification::Threshold;
use crate::queue::{Site, Verdict};
use crate::spec::{Component, Kind, Registered, anything, param};

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "selective-drop",
    doc: "Drops data that no receiver has called for when more than a threshold waits at the port before it. Other packets are dropped where there is no room for them, as are all at hosts.",
    source: "Aeolus (SIGCOMM 2020), from memory: RED on packets that are not ECN-capable, which those without a credit are; where a port has several queues, that all of them count: packetloom",
    params: &[&[param! {
        "drop_above" = "6KB": Kind::Buffer,
        "The threshold.", "Aeolus (SIGCOMM 2020), from memory: 6 KB, 4 packets, at 10 Gb/s"
    }]],
    check: anything,
};

/// The AQM.
pub const AQM: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| {
        let above = Limit::of(values.get("drop_above"));
        Specification {
            drops: true,
            drops_unscheduled: true,
            thresholds: vec![Threshold::dropping("drop_above", above)],
            ..Specification::new(AnyAqm::Selective(Selective { above }))
        }
    },
};

/// The threshold.
#[derive(Clone, Copy, Debug)]
pub struct Selective {
    above: Limit,
}

impl Aqm for Selective {
    fn place(&mut self, site: &Site) {
        if !site.is_switch {
            self.above = Limit::None;
        }
    }

    #[inline]
    fn arrive(&mut self, look: &mut Look<'_>) -> Verdict {
        if look.unscheduled && self.above.exceeded_by(look.port.queued()) {
            Verdict::Drop
        } else {
            Verdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::aqm::testing::Scene;
    use crate::units::Time;

    #[test]
    fn what_was_not_called_for_goes_above_the_threshold() {
        let mut aqm = Selective { above: Limit::Bytes(6_000) };
        let mut scene = Scene::new();
        for (waits, is_called_for, verdict) in [
            (6_000, false, Verdict::Accept),
            (6_001, false, Verdict::Drop),
            (6_001, true, Verdict::Accept),
            (60_000, true, Verdict::Accept),
        ] {
            scene.port.bytes = waits;
            // What waits in its own queue does not matter.
            let look = &mut scene.look(Time::ZERO, 0, Time::ZERO, is_called_for);
            assert_eq!(aqm.arrive(look), verdict, "{waits} B");
        }
    }
}
