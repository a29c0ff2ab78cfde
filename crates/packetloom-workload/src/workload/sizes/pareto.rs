//! The Pareto distribution, whole or cut off at a maximum.

/// P(X > x) = (minimum / x)^shape, where there is no maximum; with one, the same under the condition X ≤ maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The tail index.
    pub shape: f64,
    /// The smallest size.
    pub minimum: f64,
    /// The largest; infinity for none.
    pub maximum: f64,
    /// What is drawn beyond this is taken for it.
    pub most_bytes: u64,
}

impl Pareto {
    /// The size that a draw of `u` from [0, 1) maps to: the distribution's inverse.
    pub fn at(&self, u: f64) -> f64 {
        let uncut_survival = 1.0 - u * (1.0 - self.cut());
        self.minimum * libm::pow(uncut_survival, -1.0 / self.shape)
    }

    /// The mean, before sizes become whole bytes.
    pub fn mean(&self) -> f64 {
        self.minimum + self.survival_integral(self.minimum)
    }

    /// E⌈S/mss⌉ = Σ_j P(S > j·mss) of sizes S in whole bytes: the first million terms one by one, the rest by the
    /// trapezoid rule backwards (Euler-Maclaurin), whose error there is far below any sampling error.
    pub fn mean_packets(&self, mss: f64) -> f64 {
        const TERMS: u32 = 1_000_000;
        // S > j·mss means a draw of j·mss + 1/2 or more.
        let draw = |j: u32| f64::from(j) * mss + 0.5;
        let rest_from = draw(TERMS);
        if rest_from <= self.minimum {
            // Every flow has more packets than that: on average the last one is half full.
            return self.mean() / mss + 0.5;
        }
        let terms = (1..TERMS).map(|j| self.survival(draw(j))).take_while(|&term| term > 0.0);
        let sum = 1.0 + terms.sum::<f64>();
        if rest_from >= self.maximum {
            return sum;
        }
        sum + self.survival(rest_from) / 2.0 + self.survival_integral(rest_from) / mss
    }

    /// A short description.
    pub fn describe(&self) -> String {
        let Pareto { shape, minimum, maximum, .. } = self;
        let end = if maximum.is_infinite() { String::new() } else { format!(" to {maximum} B") };
        format!("Pareto, shape {shape}, from {minimum} B{end}")
    }

    /// What the distribution without a maximum has beyond it.
    fn cut(&self) -> f64 {
        libm::pow(self.minimum / self.maximum, self.shape)
    }

    /// P(X > x).
    fn survival(&self, x: f64) -> f64 {
        if x <= self.minimum {
            1.0
        } else if x >= self.maximum {
            0.0
        } else {
            (libm::pow(self.minimum / x, self.shape) - self.cut()) / (1.0 - self.cut())
        }
    }

    /// ∫ P(X > x) dx from `from`, at or above the minimum, to the maximum.
    fn survival_integral(&self, from: f64) -> f64 {
        let Pareto { shape, minimum, maximum, .. } = *self;
        // −∫ (minimum/x)^shape dx, but for shape 1.
        let antiderivative = |x: f64| libm::pow(minimum / x, shape) * x / (shape - 1.0);
        if maximum.is_infinite() {
            return antiderivative(from);
        }
        let uncut = if shape == 1.0 {
            minimum * libm::log(maximum / from)
        } else {
            antiderivative(from) - antiderivative(maximum)
        };
        (uncut - self.cut() * (maximum - from)) / (1.0 - self.cut())
    }
}
