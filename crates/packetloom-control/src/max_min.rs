//! Weighted max-min fair rates: no flow's rate per weight can be raised without lowering that of a flow whose rate per
//! weight is no higher. Progressive filling (Bertsekas and Gallager, Data Networks, §6.5.2).

use super::Routes;
use crate::narrow::narrow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A link as it was when last looked at: what its flows without a rate would have per weight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    per_weight: f64,
    link: u32,
}

impl Eq for Share {}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Share) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Share {
    /// The smallest share is the greatest, as a heap gives the greatest first.
    fn cmp(&self, other: &Share) -> Ordering {
        other.per_weight.total_cmp(&self.per_weight).then(other.link.cmp(&self.link))
    }
}

/// Progressive filling, with its memory. O(H log L) for H flow-link crossings and L links, and a sort of the flows
/// where they have limits.
#[derive(Clone, Debug, Default)]
pub struct MaxMin {
    shares: BinaryHeap<Share>,
    /// What is left of each link, and the weight of its flows without a rate.
    left: Vec<f64>,
    weight: Vec<f64>,
    /// The flows by what their limit is per weight.
    by_limit: Vec<u32>,
    is_set: Vec<bool>,
}

impl MaxMin {
    /// Sets `rates`, a number per flow in the unit of `capacities`. Weights are above zero; a flow gets no more than
    /// its limit ([`f64::INFINITY`] for none), and a flow that crosses no link gets just that.
    ///
    /// # Panics
    /// If a slice's length is not the number of flows or links.
    pub fn allocate(
        &mut self,
        routes: &Routes,
        capacities: &[f64],
        weights: &[f64],
        limits: &[f64],
        rates: &mut [f64],
    ) {
        let flows = routes.flow_count();
        assert_eq!((weights.len(), limits.len(), rates.len()), (flows, flows, flows), "a number per flow");
        self.open(routes, capacities, weights);
        self.by_limit.clear();
        self.by_limit.extend((0..narrow::<u32>(flows)).filter(|&flow| limits[flow as usize] < f64::INFINITY));
        let limit_of = |flow: u32| limits[flow as usize] / weights[flow as usize];
        self.by_limit
            .sort_unstable_by(|&one, &other| limit_of(one).total_cmp(&limit_of(other)).then(one.cmp(&other)));
        let mut limited = 0;
        loop {
            let tightest = self.tightest();
            let reached = tightest.map_or(f64::INFINITY, |share| share.per_weight);
            if let Some(&flow) = self.by_limit.get(limited)
                && limit_of(flow) <= reached
            {
                limited += 1;
                self.set(routes, flow, limits[flow as usize], weights, rates);
            } else if let Some(share) = tightest {
                self.shares.pop();
                for &flow in routes.flows_on(share.link as usize) {
                    self.set(routes, flow, weights[flow as usize] * share.per_weight, weights, rates);
                }
            } else {
                break;
            }
        }
        for flow in (0..flows).filter(|&flow| routes.links_of(flow).is_empty()) {
            rates[flow] = limits[flow];
        }
    }

    fn open(&mut self, routes: &Routes, capacities: &[f64], weights: &[f64]) {
        assert_eq!(capacities.len(), routes.link_count(), "a capacity per link");
        self.is_set.clear();
        self.is_set.resize(routes.flow_count(), false);
        self.left.clear();
        self.left.extend_from_slice(capacities);
        self.weight.clear();
        self.shares.clear();
        for (link, capacity) in capacities.iter().enumerate() {
            let weight = routes.flows_on(link).iter().map(|&flow| weights[flow as usize]).sum();
            self.weight.push(weight);
            if weight > 0.0 {
                self.shares.push(Share { per_weight: capacity / weight, link: narrow::<u32>(link) });
            }
        }
    }

    /// The link whose flows without a rate would have the least per weight. A link's share only grows as other flows
    /// get their rates, so one that is out of date goes back into the heap with what it is now.
    fn tightest(&mut self) -> Option<Share> {
        while let Some(&share) = self.shares.peek() {
            let link = share.link as usize;
            // What subtraction leaves of a weight that is all set is rounding.
            if self.weight[link] <= 0.0 {
                self.shares.pop();
                continue;
            }
            let now = (self.left[link] / self.weight[link]).max(share.per_weight);
            if now == share.per_weight {
                return Some(share);
            }
            self.shares.pop();
            self.shares.push(Share { per_weight: now, ..share });
        }
        None
    }

    fn set(&mut self, routes: &Routes, flow: u32, rate: f64, weights: &[f64], rates: &mut [f64]) {
        if std::mem::replace(&mut self.is_set[flow as usize], true) {
            return;
        }
        rates[flow as usize] = rate;
        for &link in routes.links_of(flow as usize) {
            self.left[link as usize] -= rate;
            self.weight[link as usize] -= weights[flow as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::routes::testing::{random_routes, used};
    use super::super::testing::stream;
    use super::*;

    const ROUNDING: f64 = 1e-9;

    /// The definition: each flow has its limit, or crosses a full link on which none has more per weight.
    fn assert_max_min(routes: &Routes, capacities: &[f64], weights: &[f64], limits: &[f64], rates: &[f64]) {
        let used = used(routes, rates);
        let per_weight = |flow: usize| rates[flow] / weights[flow];
        for (link, capacity) in capacities.iter().enumerate() {
            assert!(used[link] <= capacity + ROUNDING, "link {link} carries {} of {capacity}", used[link]);
        }
        for flow in 0..rates.len() {
            assert!(rates[flow] >= 0.0 && rates[flow] <= limits[flow] + ROUNDING);
            let is_bottleneck = |&link: &u32| {
                let others = routes.flows_on(link as usize).iter();
                used[link as usize] > capacities[link as usize] - ROUNDING
                    && others
                        .map(|&other| per_weight(other as usize))
                        .all(|other| other <= per_weight(flow) + ROUNDING)
            };
            let bound =
                rates[flow] > limits[flow] - ROUNDING || routes.links_of(flow).iter().any(is_bottleneck);
            assert!(bound, "flow {flow} could have more than {}", rates[flow]);
        }
    }

    #[test]
    fn rates_are_max_min_fair_by_weight_and_within_limits() {
        let mut filling = MaxMin::default();
        for seed in 0..60 {
            let mut random = stream(seed);
            let routes = random_routes(&mut random, 40, 15);
            let capacities: Vec<f64> = (0..15).map(|_| 1.0 + f64::from(random.below(10))).collect();
            let weights: Vec<f64> = (0..40).map(|_| 1.0 + f64::from(random.below(4))).collect();
            let limit = |draw: u32| if draw < 30 { f64::from(draw) / 20.0 } else { f64::INFINITY };
            let limits: Vec<f64> = (0..40).map(|_| limit(random.below(60))).collect();
            let mut rates = vec![f64::NAN; 40];
            filling.allocate(&routes, &capacities, &weights, &limits, &mut rates);
            assert_max_min(&routes, &capacities, &weights, &limits, &rates);
        }
    }

    #[test]
    fn what_a_bottleneck_leaves_goes_to_the_others() {
        use super::super::Pair;
        // Three flows into server 2 have a third each; the first has the other two thirds of server 0's way out.
        let pairs = [Pair::new(0, 1), Pair::new(0, 2), Pair::new(3, 2), Pair::new(4, 2)];
        let routes = Routes::between_servers(5, pairs.into_iter());
        let mut rates = [0.0; 4];
        MaxMin::default().allocate(&routes, &[1.0; 10], &[1.0; 4], &[f64::INFINITY; 4], &mut rates);
        for (rate, fair) in rates.into_iter().zip([2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]) {
            assert!((rate - fair).abs() < ROUNDING, "{rate} for {fair}");
        }
    }
}
