//! Rates that every server's link can carry: rows and columns of the rate matrix scaled in turn, then filled up.
//!
//! To sync or not to sync §III-B, after Sinkhorn (Ann. Math. Statist., 1964). Rates are fractions of a link's rate.
//! In a double sub-stochastic matrix no row and no column adds up to more than 1.

use super::Pair;

/// What limits a rate beside the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// What was offered: rows and columns are only scaled down, and filling up gives back no more than the offer.
    Offered,
    /// Nothing: what the links have is all given out, in the proportions of what was offered.
    Link,
}

/// Rates count as full within this, so that rounding never causes another round.
const ROUNDING: f64 = 1e-12;

/// How often what is left is shared out alike before the rest goes in the order of the entries.
const FAIR_FILLS: u32 = 4;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// How often rows and columns were scaled.
    pub rounds: u32,
    /// Whether no rate changed by more than the tolerance in the last round.
    pub settled: bool,
}

/// The normalisation, with its memory. O(rounds × (E + V)).
#[derive(Clone, Debug)]
pub struct Normaliser {
    most_rounds: u32,
    tolerance: f64,
    rows: Vec<f64>,
    /// What rows were divided by last.
    divisors: Vec<f64>,
    columns: Vec<f64>,
    /// How many entries of each row and column can grow.
    growing_in_row: Vec<u32>,
    growing_in_column: Vec<u32>,
    /// What each entry may be at most.
    limits: Vec<f64>,
}

impl Normaliser {
    /// Rates are taken as settled when a round changes none of them by more, as a part of a link.
    pub const TOLERANCE: f64 = 1e-3;
    /// Rounds at most. An entry that no matching of the most pairs holds falls to 0 as slowly as 1 / rounds.
    pub const MOST_ROUNDS: u32 = 1000;

    /// For so many servers; rows and columns are scaled until no rate changes by more than `tolerance` in a round,
    /// and at most `most_rounds` times.
    pub fn new(servers: u32, most_rounds: u32, tolerance: f64) -> Normaliser {
        let (zeros, none) = (vec![0.0; servers as usize], vec![0; servers as usize]);
        Normaliser {
            most_rounds,
            tolerance,
            rows: zeros.clone(),
            divisors: zeros.clone(),
            columns: zeros,
            growing_in_row: none.clone(),
            growing_in_column: none,
            limits: Vec::new(),
        }
    }

    /// Turns `rates`, what each pair offers (0 or more), into what each may send. No row or column adds up to more
    /// than 1 (within rounding, 1e-9), and no pair that offers something can have more unless another has less.
    /// Each pair occurs once.
    ///
    /// # Panics
    /// If the slices differ in length or a pair names a server that there is not.
    pub fn normalise(&mut self, pairs: &[Pair], ceiling: Ceiling, rates: &mut [f64]) -> Settling {
        assert_eq!(pairs.len(), rates.len(), "a rate per pair");
        let mut limits = std::mem::take(&mut self.limits);
        limits.clear();
        limits.extend(rates.iter().map(|&rate| match ceiling {
            Ceiling::Offered => rate.min(1.0),
            Ceiling::Link if rate > 0.0 => 1.0,
            Ceiling::Link => 0.0,
        }));
        let least = if ceiling == Ceiling::Link { 0.0 } else { 1.0 };
        add_up(pairs, rates, &mut self.rows);
        let mut settling = Settling { rounds: 0, settled: pairs.is_empty() };
        while !settling.settled && settling.rounds < self.most_rounds {
            settling.settled = self.scale(pairs, rates, least) <= self.tolerance;
            settling.rounds += 1;
        }
        self.scale(pairs, rates, 1.0);
        self.fill_up(pairs, &limits, rates);
        self.limits = limits;
        settling
    }

    /// Divides rows, then columns, by what they add up to or by `least`, whichever is more. Expects the rows' sums,
    /// and leaves them: each pass adds up for the next one. Returns by how much the rate changed that changed the
    /// most.
    fn scale(&mut self, pairs: &[Pair], rates: &mut [f64], least: f64) -> f64 {
        for (divisor, &sum) in self.divisors.iter_mut().zip(&self.rows) {
            *divisor = sum.max(least);
        }
        invert(&mut self.rows, least);
        self.columns.fill(0.0);
        for (pair, rate) in pairs.iter().zip(rates.iter_mut()) {
            *rate *= self.rows[pair.src as usize];
            self.columns[pair.dst as usize] += *rate;
        }
        invert(&mut self.columns, least);
        self.rows.fill(0.0);
        let mut most: f64 = 0.0;
        for (pair, rate) in pairs.iter().zip(rates.iter_mut()) {
            let factor = self.columns[pair.dst as usize];
            // Undoing the row's division gives the rate of the round before.
            let change = (*rate * (factor - self.divisors[pair.src as usize])).abs();
            if change > most {
                most = change;
            }
            *rate *= factor;
            self.rows[pair.src as usize] += *rate;
        }
        most
    }

    /// Gives out what rows and columns have left: a few times alike to all entries that can grow, then in their
    /// order.
    fn fill_up(&mut self, pairs: &[Pair], limits: &[f64], rates: &mut [f64]) {
        self.rows.fill(1.0);
        self.columns.fill(1.0);
        for (pair, rate) in pairs.iter().zip(rates.iter()) {
            self.rows[pair.src as usize] -= rate;
            self.columns[pair.dst as usize] -= rate;
        }
        for _ in 0..FAIR_FILLS {
            self.fill_alike(pairs, limits, rates);
        }
        for ((pair, rate), limit) in pairs.iter().zip(rates.iter_mut()).zip(limits) {
            let (row, column) = (&mut self.rows[pair.src as usize], &mut self.columns[pair.dst as usize]);
            let more = row.min(*column).min(limit - *rate).max(0.0);
            *rate += more;
            *row -= more;
            *column -= more;
        }
        debug_assert!(
            self.rows.iter().chain(&self.columns).all(|&left| left >= -1e-9),
            "a row or a column adds up to more than 1"
        );
    }

    fn fill_alike(&mut self, pairs: &[Pair], limits: &[f64], rates: &mut [f64]) {
        self.growing_in_row.fill(0);
        self.growing_in_column.fill(0);
        let room = |rows: &[f64], columns: &[f64], pair: &Pair| {
            rows[pair.src as usize].min(columns[pair.dst as usize])
        };
        let entries = || pairs.iter().zip(limits);
        for ((pair, limit), rate) in entries().zip(rates.iter()) {
            if room(&self.rows, &self.columns, pair).min(limit - rate) > ROUNDING {
                self.growing_in_row[pair.src as usize] += 1;
                self.growing_in_column[pair.dst as usize] += 1;
            }
        }
        // Shares are of what was left before the round, so the order of pairs does not matter.
        for (left, growing) in
            [(&mut self.rows, &self.growing_in_row), (&mut self.columns, &self.growing_in_column)]
        {
            for (left, &growing) in left.iter_mut().zip(growing) {
                *left /= f64::from(growing.max(1));
            }
        }
        for ((pair, limit), rate) in entries().zip(rates.iter_mut()) {
            let share = room(&self.rows, &self.columns, pair);
            if share.min(limit - *rate) > ROUNDING {
                *rate += share.min(limit - *rate);
            }
        }
        self.rows.fill(1.0);
        self.columns.fill(1.0);
        for (pair, rate) in pairs.iter().zip(rates.iter()) {
            self.rows[pair.src as usize] -= rate;
            self.columns[pair.dst as usize] -= rate;
        }
    }
}

fn add_up(pairs: &[Pair], rates: &[f64], rows: &mut [f64]) {
    rows.fill(0.0);
    for (pair, rate) in pairs.iter().zip(rates) {
        rows[pair.src as usize] += rate;
    }
}

fn invert(sums: &mut [f64], least: f64) {
    for sum in sums {
        let divisor = sum.max(least);
        *sum = if divisor > 0.0 { 1.0 / divisor } else { 1.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{pairs, stream};
    use super::*;
    use std::collections::BTreeSet;

    const SLACK: f64 = 1e-9;

    fn default(servers: u32) -> Normaliser {
        Normaliser::new(servers, Normaliser::MOST_ROUNDS, Normaliser::TOLERANCE)
    }

    fn sums(servers: usize, pairs: &[Pair], rates: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut rows, mut columns) = (vec![0.0; servers], vec![0.0; servers]);
        for (pair, rate) in pairs.iter().zip(rates) {
            rows[pair.src as usize] += rate;
            columns[pair.dst as usize] += rate;
        }
        (rows, columns)
    }

    #[test]
    fn no_line_adds_up_to_more_than_one_and_no_entry_can_grow() {
        for seed in 0..200 {
            let mut random = stream(seed);
            let count = 1 + random.below(300) as usize;
            let distinct: BTreeSet<Pair> = pairs(&mut random, 25, count).into_iter().collect();
            let pairs: Vec<Pair> = distinct.into_iter().collect();
            let offered: Vec<f64> =
                pairs.iter().map(|_| random.unit() * f64::from(random.below(3))).collect();
            for ceiling in [Ceiling::Offered, Ceiling::Link] {
                let mut rates = offered.clone();
                Normaliser::new(25, random.below(6), 0.0).normalise(&pairs, ceiling, &mut rates);
                let (rows, columns) = sums(25, &pairs, &rates);
                assert!(rows.iter().chain(&columns).all(|&sum| sum <= 1.0 + SLACK), "a line over 1");
                for (place, pair) in pairs.iter().enumerate() {
                    let limit = match ceiling {
                        Ceiling::Offered => offered[place],
                        Ceiling::Link => f64::from(u8::from(offered[place] > 0.0)),
                    };
                    assert!(rates[place] >= 0.0 && rates[place] <= limit + SLACK);
                    let is_full =
                        rows[pair.src as usize] > 1.0 - SLACK || columns[pair.dst as usize] > 1.0 - SLACK;
                    assert!(is_full || rates[place] > limit - SLACK, "{pair:?} could have more");
                }
            }
        }
    }

    #[test]
    fn what_fits_is_left_as_it_is_offered() {
        let pairs = [Pair::new(0, 1), Pair::new(0, 2), Pair::new(1, 2)];
        let mut rates = [0.25, 0.5, 0.5];
        let settling = default(3).normalise(&pairs, Ceiling::Offered, &mut rates);
        assert_eq!((rates, settling), ([0.25, 0.5, 0.5], Settling { rounds: 1, settled: true }));
    }

    #[test]
    fn a_full_matrix_becomes_doubly_stochastic() {
        let pairs: Vec<Pair> = (0..8).flat_map(|src| (0..8).map(move |dst| Pair::new(src, dst))).collect();
        let mut random = stream(5);
        let mut rates: Vec<f64> = pairs.iter().map(|_| 0.1 + random.unit()).collect();
        assert!(Normaliser::new(8, 100, 1e-12).normalise(&pairs, Ceiling::Link, &mut rates).settled);
        let (rows, columns) = sums(8, &pairs, &rates);
        assert!(rows.iter().chain(&columns).all(|sum| (sum - 1.0).abs() < SLACK), "{rows:?} {columns:?}");
    }

    /// Every entry of a sum of permutations is in a perfect matching, so that rates approach their limit by a
    /// constant factor a round (Sinkhorn and Knopp, 1967).
    #[test]
    fn what_settles_stays_as_it_is_with_more_rounds() {
        for seed in 0..20 {
            let mut random = stream(seed);
            let mut distinct = BTreeSet::new();
            for _ in 0..3 {
                let mut of: Vec<u32> = (0..40).collect();
                random.shuffle(&mut of);
                distinct.extend((0..).zip(of).map(|(src, dst)| Pair::new(src, dst)));
            }
            let pairs: Vec<Pair> = distinct.into_iter().collect();
            let (mut rates, mut with_more) = (vec![1.0; pairs.len()], vec![1.0; pairs.len()]);
            let settling = Normaliser::new(40, 10_000, 1e-9).normalise(&pairs, Ceiling::Link, &mut rates);
            assert!(settling.settled && settling.rounds > 5, "{settling:?}");
            Normaliser::new(40, 10 * settling.rounds, 0.0).normalise(&pairs, Ceiling::Link, &mut with_more);
            let most =
                rates.iter().zip(&with_more).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
            assert!(most < 1e-6, "seed {seed}: {settling:?}, and {most} more");
        }
    }

    #[test]
    fn the_largest_throughput_starves_who_stands_in_its_way_and_the_cap_is_told() {
        // 0 has packets for 2 and 3, 1 for 2 alone: two at once if 0 leaves 2 to 1.
        let pairs = [Pair::new(0, 2), Pair::new(0, 3), Pair::new(1, 2)];
        let mut rates = [1.0; 3];
        let settling = default(4).normalise(&pairs, Ceiling::Link, &mut rates);
        assert!(settling.settled && settling.rounds > 10, "{settling:?}");
        assert!(rates[0] < 0.05 && rates[1] > 0.95 && rates[2] > 0.95, "{rates:?}");
        let mut rates = [1.0; 3];
        let settling =
            Normaliser::new(4, 5, Normaliser::TOLERANCE).normalise(&pairs, Ceiling::Link, &mut rates);
        assert_eq!(settling, Settling { rounds: 5, settled: false });
        assert!(rates[0] > 0.05, "{rates:?}");
    }
}
