//! Where a port begins to mark, by its rate (HPCC's run.py has thresholds for each rate).

use crate::queue::admission::{Marking, in_proportion};
use crate::queue::{Site, Specification};
use crate::spec::{Complaint, Kind, Needs, Param, Values, param};
use crate::units::Rate;
use std::collections::BTreeSet;

/// The parameters of queues that mark by classes.
pub(in crate::queue) const MARKING_PARAMS: &[Param] = &[
    param! {
        "ecn_min": Kind::Bytes,
        "Kmin: up to this a class's queue marks nothing, at ports of the hosts' rate; at others see ecn_by_rate. Left out, with ecn_max: no marks.",
        "DCQCN, SIGCOMM 2015, §3.1"
    },
    param! {
        "ecn_max": Kind::Bytes,
        "Kmax: above this everything is marked, as it leaves.", "DCQCN, SIGCOMM 2015, §3.1"
    },
    param! {
        "ecn_probability" = "0.2": Kind::Number(0.0, 1.0),
        "Pmax: the probability of a mark as the queue reaches Kmax.",
        "HPCC's run.py: 0.2; DCQCN §5: 0.01"; acts &[Needs::Set("ecn_min")]
    },
    param! {
        "ecn_rate": Kind::Rate,
        "The rate of the ports that the thresholds are for, if not the hosts'.", "packetloom"
    },
    param! {
        "ecn_by_rate" = "true": Kind::Flag,
        "Whether the thresholds of ports with another rate are in proportion to it, or the same.",
        "HPCC's run.py: in proportion; ConWeave's: the same at every rate"; acts &[Needs::Set("ecn_min")]
    },
];

/// What must hold of them.
pub(in crate::queue) fn check_marking(values: &Values) -> Result<(), Complaint> {
    let marks = ["ecn_min", "ecn_max"].map(|key| values.optional_bytes(key));
    match marks {
        [None, None] => {}
        [Some(min), Some(max)] if min <= max => {}
        [Some(_), Some(_)] => return Err(Complaint::new("ecn_min", "write at most ecn_max")),
        [None, _] => return Err(Complaint::new("ecn_min", "is missing; ecn_max has no meaning without it")),
        [_, None] => return Err(Complaint::new("ecn_max", "is missing; ecn_min has no meaning without it")),
    }
    if let [None, None] = marks
        && values.optional_rate("ecn_rate").is_some()
    {
        return Err(Complaint::new("ecn_rate", "has no meaning without ecn_min and ecn_max; leave it out"));
    }
    if !values.flag("ecn_by_rate") && values.optional_rate("ecn_rate").is_some() {
        return Err(Complaint::new(
            "ecn_rate",
            "has no meaning where the thresholds are the same at every rate; leave it out",
        ));
    }
    Ok(())
}

/// Of marking, for ports of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::queue) struct Thresholds {
    min: u64,
    max: u64,
    probability: f64,
    rate: Option<Rate>,
    by_rate: bool,
}

impl Thresholds {
    /// Those of a queue that marks. Of one without a probability, it rises to 1; of one without a rate, they are for
    /// the hosts'.
    pub(in crate::queue) fn of(values: &Values) -> Option<Thresholds> {
        let has = |key: &str| values.entries.contains_key(key);
        Some(Thresholds {
            min: values.optional_bytes("ecn_min")?,
            max: values.optional_bytes("ecn_max")?,
            probability: if has("ecn_probability") { values.number("ecn_probability") } else { 1.0 },
            rate: if has("ecn_rate") { values.optional_rate("ecn_rate") } else { None },
            by_rate: values.flag("ecn_by_rate"),
        })
    }

    /// The rule of a port.
    pub(in crate::queue) fn at(self, site: &Site) -> Marking {
        let [min, max] = self.scaled(site.rate, site.host_rate);
        Marking::between(min, max, self.probability)
    }

    /// See [`Specification::interpolated`].
    fn interpolated(self, rates: &BTreeSet<Rate>, host_rate: Rate) -> Vec<String> {
        let usual = self.rate.unwrap_or(host_rate);
        let others = rates.iter().filter(|rate| self.by_rate && **rate != usual);
        let words = |rate: &Rate| {
            let [min, max] = self.scaled(*rate, host_rate);
            format!(
                "ports of {rate} mark from {min} B to {max} B: ecn_min and ecn_max, which are for {usual}, in proportion to the rate"
            )
        };
        others.map(words).collect()
    }

    /// Kmin and Kmax at this rate: in proportion to it, or the same everywhere.
    fn scaled(self, rate: Rate, host_rate: Rate) -> [u64; 2] {
        if !self.by_rate {
            return [self.min, self.max];
        }
        let usual = self.rate.unwrap_or(host_rate);
        [self.min, self.max].map(|bytes| in_proportion(bytes, rate, usual))
    }
}

impl Specification {
    /// The rates, of these, for which its thresholds are interpolated, in words.
    pub fn interpolated(&self, rates: &BTreeSet<Rate>, host_rate: Rate) -> Vec<String> {
        self.thresholds.map_or_else(Vec::new, |thresholds| thresholds.interpolated(rates, host_rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_rates_than_the_hosts_have_thresholds_in_proportion_which_is_said() {
        let said = |by_rate, rate| {
            let thresholds = Thresholds { min: 400_000, max: 1_600_000, probability: 0.2, rate, by_rate };
            let rates = [100, 400].map(Rate::from_gbps).into();
            thresholds.interpolated(&rates, Rate::from_gbps(100))
        };
        let expected = "ports of 400Gbps mark from 1600000 B to 6400000 B: ecn_min and ecn_max, which are for 100Gbps, in proportion to the rate";
        assert_eq!(said(true, None), [expected]);
        let of_400 = said(true, Some(Rate::from_gbps(400)));
        assert!(
            of_400.len() == 1 && of_400[0].starts_with("ports of 100Gbps mark from 100000 B"),
            "{of_400:?}"
        );
        assert!(said(false, None).is_empty());
    }
}
