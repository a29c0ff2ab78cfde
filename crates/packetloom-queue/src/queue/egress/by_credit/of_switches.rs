//! Marks at switches by what a packet leaves behind in its class, from thresholds on that go by the rate of a port (HPCC's
//! ns-3 simulator, switch-node.cc).

use crate::queue::admission::Marking;
use crate::queue::aqm::{Aqm, Look};
use crate::queue::shared_buffer::Thresholds;
use crate::queue::{Site, Verdict};

/// The thresholds, and the rule of the port.
#[derive(Clone, Copy, Debug)]
pub struct OfSwitches {
    thresholds: Option<Thresholds>,
    marking: Marking,
}

impl OfSwitches {
    /// One that marks nothing until it is placed.
    pub(super) fn new(thresholds: Option<Thresholds>) -> OfSwitches {
        OfSwitches { thresholds, marking: Marking::Never }
    }
}

impl Aqm for OfSwitches {
    const JUDGES_ARRIVALS: bool = false;

    fn place(&mut self, site: &Site) {
        if let Some(thresholds) = self.thresholds.filter(|_| site.is_switch) {
            self.marking = thresholds.at(site);
        }
    }

    #[inline]
    fn leave(&mut self, look: &mut Look<'_>) -> Verdict {
        let marks = look.markable && self.marking.marks(look.queued, look.random);
        if marks { Verdict::Mark } else { Verdict::Accept }
    }
}
