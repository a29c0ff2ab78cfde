//! Empirical flow-size distributions: points of a cumulative distribution and the rule by which sizes are drawn.
//!
//! The rule matters as much as the points: stepping instead of interpolating raises the mean of a heavy-tailed
//! table by half, and with it lowers the arrival rate at a load. So a [`Cdf`] always carries its rule.

mod read;

use crate::narrow::saturated;
use crate::random::Stream;

/// No flow is larger: beyond 2^53 bytes `f64` no longer holds every whole number.
pub const LARGEST_BYTES: f64 = 9_007_199_254_740_992.0;

/// Which of the known file formats a distribution was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `bytes 0..100`, as HPCC and ConWeave have it.
    Percent,
    /// `bytes 0..1`, as HKUST's TrafficGenerator has it.
    Fraction,
    /// `packets 1 0..1`, the middle column without meaning, packets of 1460 B, as ns-2's scripts and YAPS have it.
    Ns2,
    /// The mean on the first line, then `bytes 0..1`, as HomaSimulation has it.
    Homa,
    /// A size on each line, such as a measurement has them: each as likely as every other.
    Sizes,
    /// A size on each line, and how many flows have it, as the names of the columns say.
    Counts,
    /// Not a file: points given in a scenario.
    Points,
}

impl Dialect {
    /// A description for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Dialect::Percent => "bytes and cumulative percent (the dialect of HPCC and ConWeave)",
            Dialect::Fraction => "bytes and cumulative fraction (the dialect of HKUST TrafficGenerator)",
            Dialect::Ns2 => {
                "packets of 1460 B, an ignored column and cumulative fraction (the dialect of ns-2 and YAPS)"
            }
            Dialect::Homa => "the mean, then bytes and cumulative fraction (the dialect of HomaSimulation)",
            Dialect::Sizes => "a size on each line, each as likely",
            Dialect::Counts => "a size on each line, and how many flows have it",
            Dialect::Points => "points of bytes and cumulative fraction, given in the scenario",
        }
    }
}

/// What is drawn between two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Any size between them, evenly. Below the first point nothing: its probability is that of its size.
    Linear,
    /// The upper one: the smallest listed size whose cumulative probability reaches the draw.
    Step,
}

impl Interpolation {
    /// As a scenario writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Interpolation::Linear => "linear",
            Interpolation::Step => "step",
        }
    }
}

/// What happens to a size after it is drawn. Every size is at least one byte, or one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest byte.
    None,
    /// Up to whole packets of so many bytes.
    UpToPackets(u64),
    /// To the nearest number of whole packets of so many bytes.
    ToPackets(u64),
}

impl Rounding {
    /// As a scenario writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Rounding::None => "none",
            Rounding::UpToPackets(_) => "up-to-packets",
            Rounding::ToPackets(_) => "to-packets",
        }
    }

    /// The whole number of bytes that a drawn size becomes.
    fn apply(self, drawn_bytes: f64) -> u64 {
        match self {
            Rounding::None => saturated::<u64>(drawn_bytes.round()).max(1),
            Rounding::UpToPackets(packet) => {
                packet * saturated::<u64>((drawn_bytes / packet as f64).ceil()).max(1)
            }
            Rounding::ToPackets(packet) => {
                packet * saturated::<u64>((drawn_bytes / packet as f64).round()).max(1)
            }
        }
    }
}

/// What is wrong with a distribution, and in which line (or, for points of a scenario, which point), from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdfError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to write.
    pub message: String,
}

/// A flow-size distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Sizes in bytes with the probability (0..1) of a flow of at most that size; both never fall; ends at 1.
    pub points: Vec<(f64, f64)>,
    /// How it was written.
    pub dialect: Dialect,
    /// What is drawn between points.
    pub interpolation: Interpolation,
    /// What is done to a size after.
    pub rounding: Rounding,
    /// The mean that a Homa file states on its first line, in that file's unit.
    pub stated_mean: Option<f64>,
}

impl Cdf {
    /// Reads a distribution in any of the five dialects; the first line may name the columns, `#` starts a comment, and a comment that names the
    /// sampling rule (`sampling: step`, `sampling in origin: linear interpolation`) sets it.
    ///
    /// # Errors
    /// Where a line is malformed or the points are not a cumulative distribution.
    pub fn read(text: &str) -> Result<Cdf, CdfError> {
        read::read(text)
    }

    /// A distribution from points of (bytes, cumulative fraction).
    ///
    /// # Errors
    /// Where the points are not a cumulative distribution; the error's line is the point's number.
    pub fn from_points(
        mut points: Vec<(f64, f64)>,
        interpolation: Interpolation,
        rounding: Rounding,
    ) -> Result<Cdf, CdfError> {
        if points.is_empty() {
            let message =
                "no points; write pairs of bytes and cumulative probability, the last one ending in 1";
            return Err(CdfError { line: 1, message: message.to_owned() });
        }
        read::check(points.iter().enumerate().map(|(i, &point)| (i + 1, point)), "point", 1.0)?;
        if let Some(last) = points.last_mut() {
            last.1 = 1.0;
        }
        Ok(Cdf { points, dialect: Dialect::Points, interpolation, rounding, stated_mean: None })
    }

    /// How it was written and how it is drawn, in a sentence.
    pub fn describe(&self) -> String {
        let drawn = match self.interpolation {
            Interpolation::Linear => "linear interpolation",
            Interpolation::Step => "steps (the smallest listed size that reaches the draw)",
        };
        let rounded = match self.rounding {
            Rounding::None => String::new(),
            Rounding::UpToPackets(packet) => format!(", rounded up to whole packets of {packet} B"),
            Rounding::ToPackets(packet) => format!(", rounded to whole packets of {packet} B"),
        };
        format!("{}; {drawn}{rounded}", self.dialect.describe())
    }

    /// Draws a size in bytes; at least 1.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        self.size_at(stream.unit())
    }

    /// The size that a draw of `u` from [0, 1) maps to.
    pub fn size_at(&self, u: f64) -> u64 {
        let upper = self.points.partition_point(|&(_, cumulative)| cumulative < u).min(self.points.len() - 1);
        let (high_bytes, high) = self.points[upper];
        if self.interpolation == Interpolation::Step || upper == 0 {
            return self.rounding.apply(high_bytes);
        }
        let (low_bytes, low) = self.points[upper - 1];
        self.rounding.apply(low_bytes + (high_bytes - low_bytes) * ((u - low) / (high - low)))
    }

    /// The mean size in bytes under this distribution's rule, rounding included.
    pub fn mean_bytes(&self) -> f64 {
        match (self.interpolation, self.rounding) {
            (Interpolation::Step, _) => self
                .masses()
                .map(|(upper, mass)| mass * self.rounding.apply(self.points[upper].0) as f64)
                .sum(),
            // Rounding to the nearest byte is symmetric about every listed (whole) size; only what would be
            // nothing becomes a byte.
            (Interpolation::Linear, Rounding::None) => self.mean_before_rounding() + self.share_below(0.5),
            (Interpolation::Linear, Rounding::UpToPackets(packet) | Rounding::ToPackets(packet)) => {
                packet as f64 * self.mean_packets(packet)
            }
        }
    }

    /// The sizes, each with its probability, where nothing between the points is drawn.
    pub fn steps(&self) -> Option<Vec<(u64, f64)>> {
        let size = |(upper, mass): (usize, f64)| (self.rounding.apply(self.points[upper].0), mass);
        (self.interpolation == Interpolation::Step).then(|| self.masses().map(size).collect())
    }

    /// The mean of what is drawn, before sizes become whole bytes or packets.
    pub fn mean_before_rounding(&self) -> f64 {
        self.masses()
            .map(|(upper, mass)| match self.interpolation {
                Interpolation::Linear if upper > 0 => {
                    mass * (self.points[upper - 1].0 + self.points[upper].0) / 2.0
                }
                _ => mass * self.points[upper].0,
            })
            .sum()
    }

    /// The mean number of packets of `mss` bytes that a flow takes: E⌈S/mss⌉ = Σ_j P(S > j·mss).
    pub fn mean_packets(&self, mss: u64) -> f64 {
        // More packets than senders number are refused (`simulation::checks`), and are not to be added up before that.
        const MOST_TERMS: u64 = 1 << 31;
        let largest = self.rounding.apply(self.points[self.points.len() - 1].0);
        if largest.div_ceil(mss) > MOST_TERMS {
            return largest as f64 / mss as f64;
        }
        let mut upper = 0;
        (0..largest.div_ceil(mss)).map(|j| self.share_above(&mut upper, j * mss)).sum()
    }

    /// The probability of a size above `bytes`, rounding included. The points before `upper` are known to lie below;
    /// it moves on to the first that does not, so that who asks for ever larger sizes passes each point once.
    fn share_above(&self, upper: &mut usize, bytes: u64) -> f64 {
        let limit = match self.rounding {
            Rounding::None if bytes == 0 => return 1.0,
            Rounding::None => bytes as f64 + 0.5,
            Rounding::UpToPackets(packet) | Rounding::ToPackets(packet) if bytes < packet => return 1.0,
            Rounding::UpToPackets(packet) => (bytes / packet * packet) as f64,
            Rounding::ToPackets(packet) => ((bytes / packet) as f64 + 0.5) * packet as f64,
        };
        // Rounded up, a size of just the limit is not above it.
        let includes_limit = matches!(self.rounding, Rounding::UpToPackets(_));
        let lies_below = |size: f64| size < limit || includes_limit && size == limit;
        while self.points.get(*upper).is_some_and(|&(size, _)| lies_below(size)) {
            *upper += 1;
        }
        1.0 - self.share_before(*upper, limit)
    }

    /// P(X < bytes) of the size before rounding.
    fn share_below(&self, bytes: f64) -> f64 {
        self.share_before(self.points.partition_point(|&(size, _)| size < bytes), bytes)
    }

    /// The cumulative probability at `bytes`, which lies between the points `upper - 1` and `upper`.
    fn share_before(&self, upper: usize, bytes: f64) -> f64 {
        if upper == 0 {
            return 0.0;
        }
        let (low_bytes, low) = self.points[upper - 1];
        match self.points.get(upper) {
            Some(&(high_bytes, high)) if self.interpolation == Interpolation::Linear => {
                low + (high - low) * ((bytes - low_bytes) / (high_bytes - low_bytes))
            }
            _ => low,
        }
    }

    /// Each point with the probability that lies between the point before and it.
    fn masses(&self) -> impl Iterator<Item = (usize, f64)> {
        let before = |upper: usize| if upper == 0 { 0.0 } else { self.points[upper - 1].1 };
        (0..self.points.len()).map(move |upper| (upper, self.points[upper].1 - before(upper)))
    }
}

#[cfg(test)]
mod tests;
