//! RED's marking by the instantaneous queue, between two thresholds.

use super::{AnyAqm, Aqm, Look, Making};
use crate::queue::admission::{Marking, RED_PARAMS, between, check_thresholds};
use crate::queue::{Admission, Site, Verdict};
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
pub const AQM: Registered<Making> = Registered {
    component: COMPONENT,
    factory: Making {
        marks: |_| true,
        on_arrival: |values, buffer| Length::on_arrival(values, buffer, between(values)),
        ..Making::new(|values| Length::build(values, between(values)))
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
    /// One that marks so.
    pub(super) fn build(values: &Values, marking: Marking) -> AnyAqm {
        AnyAqm::Length(Length {
            marking,
            between_switches: None,
            on_departure: judges_departures(values),
            by_rate: values.flag("by_rate"),
        })
    }

    /// The same, but for ports between switches, if they have a rule of their own.
    pub(super) fn build_by_place(values: &Values, marking: Marking, between: Option<Marking>) -> AnyAqm {
        let AnyAqm::Length(length) = Length::build(values, marking) else { unreachable!("it is one") };
        AnyAqm::Length(Length { between_switches: between, ..length })
    }

    /// The rule that is the same, if it judges arrivals, alike at every port.
    pub(super) fn on_arrival(values: &Values, buffer: &Values, marking: Marking) -> Option<Admission> {
        (!judges_departures(values) && !values.flag("by_rate")).then(|| Admission::of(buffer, marking))
    }

    #[inline]
    fn judge(self, look: &mut Look<'_>) -> Verdict {
        if self.marking.marks(look.queued, look.random) { Verdict::Mark } else { Verdict::Accept }
    }
}

fn judges_departures(values: &Values) -> bool {
    values.meaning("judges", &[("arrivals", false), ("departures", true)])
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
