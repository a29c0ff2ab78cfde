//! Network utility maximisation by Newton-exact-diagonal: Flowtune's way to rates that maximise Σ w log(rate).
//!
//! Flowtune (NSDI 2017) §4: every link has a price. A flow takes the rate that is best for it at the sum of its
//! links' prices, w / Σp for logarithmic utility. A link changes its price by its excess over the exact derivative
//! of what it carries, times a step γ. On the way to the optimum links may carry too much; §5's F-NORM scales each
//! flow by the link on its way that does so most.

use super::Routes;

/// How rates are made to fill links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// F-NORM: each flow by the most loaded link on its own way.
    PerFlow,
    /// U-NORM: all flows by the most loaded link of the network, so that they keep their proportions.
    Uniform,
}

/// Prices, which carry over from round to round, and a round's working memory. O(H) a round for H flow-link
/// crossings.
#[derive(Clone, Debug)]
pub struct Ned {
    /// γ: how far a round goes; Flowtune §6 takes 0.4.
    step: f64,
    prices: Vec<f64>,
    excess: Vec<f64>,
    slope: Vec<f64>,
}

impl Ned {
    /// Flowtune §6's γ.
    pub const STEP: f64 = 0.4;

    /// Every link's price is 1.
    pub fn new(link_count: usize, step: f64) -> Ned {
        let zeros = vec![0.0; link_count];
        Ned { step, prices: vec![1.0; link_count], excess: zeros.clone(), slope: zeros }
    }

    /// Each link's price.
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// Goes on from these prices.
    pub fn set_prices(&mut self, prices: &[f64]) {
        self.prices.copy_from_slice(prices);
    }

    /// One round: prices by what links carry now, then rates by the new prices. Rates may exceed capacities until
    /// they converge: see [`Ned::normalise`].
    ///
    /// # Panics
    /// If a slice's length is not the number of flows or links.
    pub fn round(&mut self, routes: &Routes, capacities: &[f64], weights: &[f64], rates: &mut [f64]) {
        let flows = routes.flow_count();
        assert_eq!((weights.len(), rates.len()), (flows, flows), "a number per flow");
        assert_eq!((capacities.len(), self.prices.len()), (routes.link_count(), routes.link_count()));
        self.set_rates(routes, capacities, weights, rates);
        for (link, capacity) in capacities.iter().enumerate() {
            self.excess[link] = -capacity;
            self.slope[link] = 0.0;
        }
        for flow in 0..flows {
            let (rate, weight) = (rates[flow], weights[flow]);
            for &link in routes.links_of(flow) {
                self.excess[link as usize] += rate;
                // d(w/P)/dp = −w/P² = −rate²/w.
                self.slope[link as usize] -= rate * rate / weight;
            }
        }
        for link in 0..self.prices.len() {
            if self.slope[link] < 0.0 {
                let change = self.step * self.excess[link] / self.slope[link];
                self.prices[link] = (self.prices[link] - change).max(0.0);
            }
        }
        self.set_rates(routes, capacities, weights, rates);
    }

    /// What is best for each flow at today's prices: no flow takes more than its narrowest link has.
    fn set_rates(&self, routes: &Routes, capacities: &[f64], weights: &[f64], rates: &mut [f64]) {
        for (flow, rate) in rates.iter_mut().enumerate() {
            let links = routes.links_of(flow);
            let price: f64 = links.iter().map(|&link| self.prices[link as usize]).sum();
            let narrowest = links.iter().map(|&link| capacities[link as usize]).fold(f64::INFINITY, f64::min);
            *rate = (weights[flow] / price).min(narrowest);
        }
    }

    /// F-NORM (Flowtune §5): divides each rate by the largest ratio of load to capacity on the flow's way, where
    /// that is over 1. No link carries more than its capacity then.
    pub fn normalise(&mut self, routes: &Routes, capacities: &[f64], rates: &mut [f64]) {
        self.add_up(routes, rates);
        for (flow, rate) in rates.iter_mut().enumerate() {
            *rate /= self.most_loaded(routes, capacities, flow).max(1.0);
        }
    }

    /// The same, or U-NORM, by formulas that also scale up: no link carries more than its capacity, and the most
    /// loaded one is full. Flows that cross no link keep their rates.
    ///
    /// Flowtune §5, from memory, as its text was not at hand: with r what a link carries over its capacity, a rate is
    /// divided by the largest r of the flow's links (F-NORM) or of all links (U-NORM).
    pub fn fill(&mut self, filling: Filling, routes: &Routes, capacities: &[f64], rates: &mut [f64]) {
        self.add_up(routes, rates);
        let all = self.excess.iter().zip(capacities).map(|(load, capacity)| load / capacity);
        let largest = all.fold(0.0, f64::max);
        for (flow, rate) in rates.iter_mut().enumerate() {
            let ratio = match filling {
                Filling::PerFlow => self.most_loaded(routes, capacities, flow),
                Filling::Uniform => largest,
            };
            if ratio > 0.0 && !routes.links_of(flow).is_empty() {
                *rate /= ratio;
            }
        }
    }

    /// What each link carries.
    fn add_up(&mut self, routes: &Routes, rates: &[f64]) {
        self.excess.fill(0.0);
        for (flow, rate) in rates.iter().enumerate() {
            routes.links_of(flow).iter().for_each(|&link| self.excess[link as usize] += rate);
        }
    }

    /// The largest ratio of load to capacity on a flow's way, once that is [added up](Ned::add_up).
    fn most_loaded(&self, routes: &Routes, capacities: &[f64], flow: usize) -> f64 {
        let links = routes.links_of(flow).iter().map(|&link| link as usize);
        links.map(|link| self.excess[link] / capacities[link]).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::routes::testing::{random_routes, used};
    use super::super::testing::stream;
    use super::*;

    const STEP: f64 = Ned::STEP;

    #[test]
    fn one_link_is_shared_by_weight() {
        let routes = Routes::new(vec![0, 1, 2, 3], vec![0, 0, 0], 1);
        let (weights, mut rates) = ([1.0, 2.0, 5.0], [0.0; 3]);
        let mut ned = Ned::new(1, STEP);
        for _ in 0..200 {
            ned.round(&routes, &[16.0], &weights, &mut rates);
        }
        for (rate, share) in rates.into_iter().zip([2.0, 4.0, 10.0]) {
            assert!((rate - share).abs() < 1e-6, "{rate} for {share}");
        }
    }

    #[test]
    fn a_flow_over_two_links_pays_both() {
        // The textbook line: proportional fairness gives the long flow a third, each short one two thirds.
        let routes = Routes::new(vec![0, 2, 3, 4], vec![0, 1, 0, 1], 2);
        let mut rates = [0.0; 3];
        let mut ned = Ned::new(2, STEP);
        for _ in 0..300 {
            ned.round(&routes, &[1.0, 1.0], &[1.0; 3], &mut rates);
        }
        for (rate, share) in rates.into_iter().zip([1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]) {
            assert!((rate - share).abs() < 1e-6, "{rate} for {share}");
        }
    }

    #[test]
    fn filling_scales_each_flow_by_its_own_links_or_all_by_one() {
        // Two flows on link 0 of 10, one of which goes on over link 1 of 2; a third one alone on link 2 of 6.
        let routes = Routes::new(vec![0, 1, 3, 4], vec![0, 0, 1, 2], 3);
        let (capacities, offered) = ([10.0, 2.0, 6.0], [1.0, 4.0, 3.0]);
        let mut ned = Ned::new(3, STEP);
        // Loads over capacities are 5/10, 4/2 and 3/6.
        let mut rates = offered;
        ned.fill(Filling::PerFlow, &routes, &capacities, &mut rates);
        assert_eq!(rates, [2.0, 2.0, 6.0]);
        let mut rates = offered;
        ned.fill(Filling::Uniform, &routes, &capacities, &mut rates);
        assert_eq!(rates, [0.5, 2.0, 1.5]);
        let mut rates = offered;
        ned.normalise(&routes, &capacities, &mut rates);
        assert_eq!(rates, [1.0, 2.0, 3.0]);
    }

    /// Optimality (Karush, Kuhn and Tucker): no link over its capacity, a price only where a link is full, and each
    /// flow's rate its weight over its prices.
    #[test]
    fn prices_settle_at_the_optimum_and_normalised_rates_always_fit() {
        for seed in 0..30 {
            let mut random = stream(seed);
            let routes = random_routes(&mut random, 60, 12);
            let weights: Vec<f64> = (0..60).map(|_| 1.0 + f64::from(random.below(3))).collect();
            let capacities = vec![10.0; 12];
            let (mut rates, mut ned) = (vec![0.0; 60], Ned::new(12, STEP));
            for _ in 0..3_000 {
                ned.round(&routes, &capacities, &weights, &mut rates);
                let mut fitting = rates.clone();
                ned.normalise(&routes, &capacities, &mut fitting);
                assert!(used(&routes, &fitting).iter().all(|&rate| rate <= 10.0 + 1e-9), "over capacity");
            }
            let used = used(&routes, &rates);
            for (link, used) in used.into_iter().enumerate() {
                assert!(used <= 10.0 + 1e-4, "seed {seed}: link {link} carries {used}");
                let is_free = ned.prices()[link] < 1e-4 || routes.flows_on(link).is_empty();
                assert!(is_free || used > 10.0 - 1e-3, "seed {seed}: a price for room");
            }
        }
    }
}
