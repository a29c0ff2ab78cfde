//! What a rate is worth to a flow (NUMFabric, SIGCOMM 2016, table 1).

use crate::flow::Flow;
use crate::spec::{Value, Values};

/// Beyond that a price is as good as infinite: headers carry it in 32 bits.
const MOST: f64 = 1e30;

/// Whose utility flows have.
#[derive(Clone, Debug)]
enum Scale {
    /// (w/x)^α: each traffic class has a weight w, or all have 1.
    Weights(Vec<f64>),
    /// x^-ε / s, for flows of size s: shorter flows go first, nearly as under SRPT.
    Sizes,
}

/// The utilities of a scenario's flows.
#[derive(Clone, Debug)]
pub struct Utilities {
    alpha: f64,
    scale: Scale,
}

impl Utilities {
    /// Reads `utility`, `alpha` and `weights`.
    pub fn of(values: &Values) -> Utilities {
        let number = |weight: &Value| match weight {
            Value::Number(weight) => *weight,
            other => panic!("{other:?} is no number"),
        };
        let weights = || values.optional_list("weights").unwrap_or_default().iter().map(number).collect();
        let (scale, usual) = match values.text("utility").as_str() {
            "fct" => (Scale::Sizes, 0.125),
            _ => (Scale::Weights(weights()), 1.0),
        };
        Utilities { alpha: values.optional_number("alpha").unwrap_or(usual), scale }
    }

    /// A flow's.
    pub fn of_flow(&self, flow: &Flow) -> Utility {
        let factor = match &self.scale {
            Scale::Weights(weights) => {
                // A class that only a file knows is the last one, as in the queue "classes".
                let weight = weights.get(usize::from(flow.class)).or(weights.last());
                libm::pow(weight.copied().unwrap_or(1.0), self.alpha)
            }
            Scale::Sizes => 1.0 / flow.size_bytes as f64,
        };
        Utility { alpha: self.alpha, factor }
    }
}

/// A flow's utility: U(x) = k x^(1−α) / (1−α), or k log x where α is 1.
#[derive(Clone, Copy, Debug)]
pub struct Utility {
    alpha: f64,
    factor: f64,
}

impl Utility {
    /// U'(x), for a rate in Gb/s.
    pub fn marginal(self, rate: f64) -> f64 {
        let divisor = if self.alpha == 1.0 { rate } else { libm::pow(rate, self.alpha) };
        (self.factor / divisor).min(MOST)
    }

    /// The rate whose marginal utility is `price`: infinite where that is 0.
    pub fn rate_at(self, price: f64) -> f64 {
        let ratio = self.factor / price;
        if self.alpha == 1.0 { ratio } else { libm::pow(ratio, 1.0 / self.alpha) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    fn flow(class: u8, size_bytes: u64) -> Flow {
        Flow {
            id: 1,
            src: 0,
            dst: 1,
            size_bytes,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class,
            source: 0,
            chain: None,
        }
    }

    #[test]
    fn each_rate_has_its_price_and_back() {
        for alpha in [0.125, 0.5, 1.0, 2.0, 8.0] {
            let utility = Utility { alpha, factor: 3.0 };
            for rate in [0.01, 1.0, 9.5, 400.0] {
                let again = utility.rate_at(utility.marginal(rate));
                assert!((again / rate - 1.0).abs() < 1e-12, "{again} for {rate}, alpha {alpha}");
            }
        }
        assert_eq!(Utility { alpha: 2.0, factor: 3.0 }.rate_at(0.0), f64::INFINITY);
        assert_eq!(Utility { alpha: 8.0, factor: 1.0 }.marginal(1e-9), MOST);
    }

    #[test]
    fn weights_are_shares_of_one_link_whatever_alpha_is() {
        // At the same price the rates are as the weights.
        for alpha in [0.5, 1.0, 4.0] {
            let utilities = Utilities { alpha, scale: Scale::Weights(vec![1.0, 5.0]) };
            let [one, five] = [0, 1].map(|class| utilities.of_flow(&flow(class, 1)).rate_at(0.3));
            assert!((five / one - 5.0).abs() < 1e-12, "{five} and {one}");
        }
    }

    #[test]
    fn shorter_flows_go_far_before_longer_ones() {
        // Twice the size is 2^(1/0.125) = 256 times less.
        let utilities = Utilities { alpha: 0.125, scale: Scale::Sizes };
        let [short, long] = [1_000, 2_000].map(|size| utilities.of_flow(&flow(0, size)).rate_at(1e-4));
        assert!((short / long - 256.0).abs() < 1e-9, "{short} and {long}");
    }
}
