//! RED's marking by the instantaneous queue, between two thresholds.

use super::{AnyAqm, Aqm, Look, Read, Specification};
use crate::queue::admission::{Limit, Marking, RED_PARAMS, between, check_thresholds};
use crate::queue::specification::Threshold;
use crate::queue::{Site, Verdict};
use crate::spec::{Component, Kind, Param, Registered, Values, param};

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "red",
    doc: "Marks by what waits in its queue: never below min, always above max, in between with a probability that rises linearly.",
    source: "Floyd and Jacobson, ToN 1993, on the instantaneous queue as DCQCN (SIGCOMM 2015, §3.1) has it",
    params: &[RED_PARAMS, &[JUDGES, BY_RATE]],
    check: check_thresholds,
};

/// When packets are judged by the length of their queue.
pub(super) const JUDGES: Param = param! {
    "judges" = "arrivals": Kind::Choice(&["arrivals", "departures"]),
    "Whether a packet is marked on arrival, by what waits before it, or on departure, by what waits behind it.",
    "DCTCP, SIGCOMM 2010, §3.1: arrivals; HPCC's ns-3 simulator, switch-node.cc: departures"
};

/// Whether thresholds go by the port's rate.
pub(super) const BY_RATE: Param = param! {
    "by_rate" = "false": Kind::Flag,
    "Whether the thresholds, which are for ports of the hosts' rate, are in proportion to the rate at other ports, or the same.",
    "HPCC's run.py: in proportion; ConWeave's: the same at every rate"
};

/// The AQM.
pub const AQM: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| {
        let threshold = Threshold::marking("min", Limit::Bytes(values.bytes("min")));
        Length::read(values, between(values), None, vec![threshold])
    },
};

/// Marks by what waits.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    marking: Marking,
    /// That of ports between switches, where it is another.
    between_switches: Option<Marking>,
    on_departure: bool,
    by_rate: bool,
}

impl Length {
    /// One that marks so, at ports between switches by a rule of their own, if they have one. Where it judges arrivals,
    /// alike at every port, it is no more than that rule.
    pub(super) fn read(
        values: &Values,
        marking: Marking,
        between_switches: Option<Marking>,
        thresholds: Vec<Threshold>,
    ) -> Specification {
        let on_departure = values.meaning("judges", &[("arrivals", false), ("departures", true)]);
        let by_rate = values.flag("by_rate");
        let is_rule = !on_departure && !by_rate && between_switches.is_none();
        let length = Length { marking, between_switches, on_departure, by_rate };
        Specification {
            marks: true,
            on_arrival: is_rule.then_some(marking),
            thresholds,
            ..Specification::new(AnyAqm::Length(length))
        }
    }

    #[inline]
    fn judge(self, look: &mut Look<'_>) -> Verdict {
        if self.marking.marks(look.queued, look.random) { Verdict::Mark } else { Verdict::Accept }
    }
}

impl Aqm for Length {
    fn place(&mut self, site: &Site) {
        if let Some(marking) = self.between_switches.filter(|_| site.is_between_switches()) {
            self.marking = marking;
        }
        if self.by_rate {
            self.marking = self.marking.at(site.rate, site.host_rate);
        }
    }

    #[inline]
    fn arrive(&mut self, look: &mut Look<'_>) -> Verdict {
        if self.on_departure { Verdict::Accept } else { self.judge(look) }
    }

    #[inline]
    fn leave(&mut self, look: &mut Look<'_>) -> Verdict {
        if self.on_departure { self.judge(look) } else { Verdict::Accept }
    }
}
