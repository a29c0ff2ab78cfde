//! How large the flows of a source are, for schemes that go by that.

use super::sizes::Sizes;

/// A distribution without steps is taken for so many sizes, each as likely as the others.
const QUANTILES: u32 = 20_000;

/// The sizes of a source's flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// They are drawn.
    Drawn(Sizes),
    /// They are known: sizes, ascending, and how many flows have each.
    Known(Vec<(u64, u64)>),
}

impl Spread {
    /// Of flows of these sizes.
    pub(super) fn known(sizes: impl Iterator<Item = u64>) -> Spread {
        let mut sizes: Vec<u64> = sizes.collect();
        sizes.sort_unstable();
        let same = sizes.chunk_by(|one, other| one == other);
        Spread::Known(same.map(|same| (same[0], same.len() as u64)).collect())
    }

    /// The largest size that may come.
    pub fn largest(&self) -> u64 {
        match self {
            Spread::Drawn(sizes) => sizes.largest(),
            Spread::Known(sizes) => sizes.last().map_or(0, |&(size, _)| size),
        }
    }

    /// Sizes, and the share of all flows that each has.
    pub fn shares(&self) -> Vec<(u64, f64)> {
        match self {
            Spread::Drawn(sizes) => sizes.steps().unwrap_or_else(|| {
                let quantile = |nth: u32| sizes.at((f64::from(nth) + 0.5) / f64::from(QUANTILES));
                (0..QUANTILES).map(|nth| (quantile(nth), 1.0 / f64::from(QUANTILES))).collect()
            }),
            Spread::Known(sizes) => {
                let flows: u64 = sizes.iter().map(|(_, times)| times).sum();
                sizes.iter().map(|&(size, times)| (size, times as f64 / flows as f64)).collect()
            }
        }
    }
}

/// Those of several sources, of which each makes so large a part of all flows.
pub fn together<'a>(sources: impl Iterator<Item = (&'a Spread, f64)>) -> Vec<(u64, f64)> {
    let of_source = |(spread, part): (&Spread, f64)| {
        spread.shares().into_iter().map(move |(size, share)| (size, share * part))
    };
    sources.flat_map(of_source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_counted_and_what_is_drawn_adds_up() {
        let known = Spread::known([7, 3, 7, 7].into_iter());
        assert_eq!(known.shares(), [(3, 0.25), (7, 0.75)]);
        for sizes in [Sizes::Uniform { minimum: 1_000, maximum: 9_000 }, Sizes::Exponential(5_000.0)] {
            let shares = Spread::Drawn(sizes.clone()).shares();
            let mean: f64 = shares.iter().map(|&(size, share)| size as f64 * share).sum();
            let total: f64 = shares.iter().map(|(_, share)| share).sum();
            assert!((mean / sizes.mean_bytes() - 1.0).abs() < 0.001, "{mean}");
            assert!((total - 1.0).abs() < 1e-9);
        }
        let both = together([(&known, 0.5), (&Spread::Drawn(Sizes::Constant(9)), 0.5)].into_iter());
        assert_eq!(both, [(3, 0.125), (7, 0.375), (9, 0.5)]);
    }
}
