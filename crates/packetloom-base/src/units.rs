//! Time, sizes and rates as integers: exact, ordered, and impossible to mix up.

use crate::narrow::{narrow, saturated};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a span of it: an integer number of picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of every simulation.
    pub const ZERO: Time = Time(0);
    /// No simulation goes on beyond this, which is 53 days, and no span that can be written is longer: so four of them can
    /// be added.
    pub const LATEST: Time = Time(1 << 62);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// What is done again and again is done no more often: whoever wrote picoseconds would wait for ever.
    pub const LEAST_PERIOD: Time = Time::from_ns(100);

    /// A whole number of nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }

    /// A whole number of microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    /// In picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// In nanoseconds, for people and tables.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds, for people and tables.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span from `earlier` to here; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    /// A sum that stays at [`Time::NEVER`] instead of overflowing.
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// This span, `times` times over.
    pub const fn times(self, times: u64) -> Time {
        Time(self.0 * times)
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, span: Time) -> Time {
        Time(self.0 - span.0)
    }
}

impl Time {
    /// As a person would say it: `12.2 us`, in the digits of [`seconds_said`].
    pub fn said(self) -> String {
        seconds_said(self.as_secs_f64())
    }
}

/// A time as a person would say it: in the largest unit that leaves a number of at least one, to three significant
/// digits, or all before the point: `1.27 s`, `23.4 ms`, `6665 s`.
pub fn seconds_said(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let (unit_s, name) = units.into_iter().find(|(unit_s, _)| seconds >= *unit_s).unwrap_or((1e-9, "ns"));
    let number = seconds / unit_s;
    let decimals =
        [(99.95, 0), (9.995, 1)].into_iter().find(|(least, _)| number >= *least).map_or(2, |(_, some)| some);
    let text = format!("{number:.decimals$}");
    let short = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {name}")
}

impl fmt::Display for Time {
    /// In the largest unit that leaves a number of at least one: `12.19us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit_ps, name) = match self.0 {
            0..1_000 => (1, "ps"),
            1_000..1_000_000 => (1_000, "ns"),
            1_000_000..1_000_000_000 => (1_000_000, "us"),
            1_000_000_000..1_000_000_000_000 => (1_000_000_000, "ms"),
            _ => (1_000_000_000_000_u64, "s"),
        };
        write!(f, "{}{name}", self.0 as f64 / unit_ps as f64)
    }
}

/// A link's or a flow's rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Rate {
    /// A whole number of gigabits per second.
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }

    /// In bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `bytes` take at this rate, to the nearest picosecond.
    pub fn time_for(self, bytes: u64) -> Time {
        let bit_ps = u128::from(bytes) * 8 * 1_000_000_000_000;
        let rate = u128::from(self.0);
        Time(u64::try_from((bit_ps + rate / 2) / rate).unwrap_or(u64::MAX))
    }

    /// How long `bytes` take at this rate as ns-3.17 and ns-3.19 compute it: seconds in a double, cut off to 64
    /// fractional bits, times 10^9, cut off to whole nanoseconds. What takes a whole number of them by arithmetic comes
    /// out as one less, unless a double holds it: 8448 bits at 1 Gb/s are 8447 ns.
    pub fn time_in_cut_ns(self, bytes: u64) -> Time {
        const NS_IN_S: u128 = 1_000_000_000;
        let seconds = (bytes * 8) as f64 / self.0 as f64;
        let in_2_64ths = saturated::<u128>(seconds * 2_f64.powi(64));
        Time::from_ns(((in_2_64ths * NS_IN_S) >> 64) as u64)
    }
}

/// What a byte takes at a rate, as whatever sends computes it: with 16 fractional bits of a picosecond, so that a
/// packet's time costs one multiplication. Exact where the rate divides; otherwise within 0.1 ps for 9000 bytes.
///
/// For replays of simulators whose clock counts nanoseconds, times may be rounded down to these
/// ([`ByteTime::in_whole_ns`]): then it holds nanoseconds with 32 fractional bits, and the highest bit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteTime(u64);

impl ByteTime {
    const FRACTION: u32 = 16;
    const WHOLE_NS: u64 = 1 << 63;
    const NS_FRACTION: u32 = 32;
    /// The slowest rate at which the arithmetic in whole nanoseconds does not overflow.
    pub const SLOWEST_IN_WHOLE_NS: Rate = Rate(1_000_000);

    /// At a rate.
    pub fn at(rate: Rate) -> ByteTime {
        let rate = u128::from(rate.as_bps());
        ByteTime(narrow::<u64>(((8_000_000_000_000_u128 << ByteTime::FRACTION) + rate / 2) / rate))
    }

    /// At a rate of at least [`ByteTime::SLOWEST_IN_WHOLE_NS`]; what bytes take is rounded down to whole
    /// nanoseconds.
    pub fn in_whole_ns(rate: Rate) -> ByteTime {
        // Rounded up by less than 2^-32 ns a byte: 2^-16 ns for the largest packet, which is nearer to the next
        // whole nanosecond from below than any of the usual rates brings a packet.
        let ns = (8_000_000_000_u128 << ByteTime::NS_FRACTION).div_ceil(u128::from(rate.as_bps()));
        ByteTime(narrow::<u64>(ns) | ByteTime::WHOLE_NS)
    }

    /// Whether what packets take one by one adds up to what all their bytes take: nothing is rounded.
    pub fn adds_up(self) -> bool {
        let fraction =
            if self.0 & ByteTime::WHOLE_NS == 0 { ByteTime::FRACTION } else { ByteTime::NS_FRACTION };
        self.0.trailing_zeros() >= fraction
    }

    /// What so many bytes take, to the nearest picosecond, or in whole nanoseconds.
    #[inline]
    pub fn of(self, bytes: u64) -> Time {
        if self.0 & ByteTime::WHOLE_NS != 0 {
            return self.of_in_whole_ns(bytes);
        }
        Time((bytes * self.0 + (1 << (ByteTime::FRACTION - 1))) >> ByteTime::FRACTION)
    }

    /// What as many bytes take as may wait in a queue: more than the product of [`ByteTime::of`] has room for, on slow
    /// links.
    #[inline]
    pub fn of_many(self, bytes: u64) -> Time {
        if self.0 & ByteTime::WHOLE_NS != 0 {
            return self.of_in_whole_ns(bytes);
        }
        let ps = u128::from(bytes) * u128::from(self.0) + (1 << (ByteTime::FRACTION - 1));
        Time(narrow::<u64>(ps >> ByteTime::FRACTION))
    }

    #[cold]
    #[inline(never)]
    fn of_in_whole_ns(self, bytes: u64) -> Time {
        let ns = u128::from(self.0 & !ByteTime::WHOLE_NS) * u128::from(bytes);
        Time::from_ns(narrow::<u64>(ns >> ByteTime::NS_FRACTION))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit_bps, name) = match self.0 {
            0..1_000 => (1, "bps"),
            1_000..1_000_000 => (1_000, "kbps"),
            1_000_000..1_000_000_000 => (1_000_000, "Mbps"),
            _ => (1_000_000_000_u64, "Gbps"),
        };
        write!(f, "{}{name}", self.0 as f64 / unit_bps as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_times_are_exact_where_the_rate_divides() {
        assert_eq!(Rate::from_gbps(10).time_for(1500), Time(1_200_000));
        assert_eq!(Rate::from_gbps(100).time_for(9064), Time(725_120));
        assert_eq!(Rate::from_gbps(40).time_for(40), Time(8_000));
    }

    #[test]
    fn times_are_said_to_three_digits_with_their_unit() {
        let said =
            [6_664.772_351, 999.6, 1.273, 0.02337, 0.02, 9.996e-3, 4.02e-6, 2.5e-7, 0.0].map(seconds_said);
        let expected =
            ["6665 s", "1000 s", "1.27 s", "23.4 ms", "20 ms", "10 ms", "4.02 us", "250 ns", "0 ns"];
        assert_eq!(said, expected);
        assert_eq!(Time(3_141_592_653_589).said(), "3.14 s");
    }

    #[test]
    fn other_rates_round_to_the_nearest_picosecond() {
        assert_eq!(Rate::from_gbps(3).time_for(1), Time(2_667));
    }

    #[test]
    fn what_a_byte_takes_adds_up_to_what_a_packet_takes() {
        for rate in [Rate(1_000_000), Rate::from_gbps(3), Rate::from_gbps(10), Rate::from_gbps(400)] {
            for bytes in [1, 40, 1500, 9064] {
                assert_eq!(ByteTime::at(rate).of(bytes), rate.time_for(bytes), "{bytes} B at {rate}");
            }
        }
    }

    #[test]
    fn where_a_rate_does_not_divide_both_round_to_neighbouring_picoseconds() {
        let rate = Rate(9_953_000_000);
        let apart = |bytes| ByteTime::at(rate).of(bytes).as_ps().abs_diff(rate.time_for(bytes).as_ps());
        let apart: Vec<u64> = (1..=9_064).map(apart).collect();
        assert_eq!(apart.iter().max(), Some(&1));
        assert!(apart.iter().filter(|&&apart| apart > 0).count() < 1_000);
    }

    #[test]
    fn what_waits_before_a_slow_link_takes_as_long_as_it_does() {
        for (rate, bytes) in
            [(Rate(1_000), 1 << 30), (Rate(1_000_000), 100_000_000), (Rate::from_gbps(10), 1 << 45)]
        {
            assert_eq!(ByteTime::at(rate).of_many(bytes), rate.time_for(bytes), "{bytes} B at {rate}");
        }
        let odd = ByteTime::at(Rate(9_953_000_000));
        assert!((1..=9_064).all(|bytes| odd.of(bytes) == odd.of_many(bytes)));
    }

    #[test]
    fn packets_add_up_where_the_rate_divides() {
        for rate in [1, 10, 25, 40, 100, 200, 400, 800].map(Rate::from_gbps) {
            assert!(ByteTime::at(rate).adds_up(), "{rate}");
        }
        for rate in [Rate::from_gbps(3), Rate(9_953_000_000)] {
            assert!(!ByteTime::at(rate).adds_up(), "{rate}");
        }
        assert!(ByteTime::in_whole_ns(Rate::from_gbps(8)).adds_up());
        assert!(!ByteTime::in_whole_ns(Rate::from_gbps(100)).adds_up());
    }

    #[test]
    fn in_whole_nanoseconds_times_are_rounded_down() {
        for gbps in [1, 10, 25, 40, 50, 100, 200, 400, 800] {
            let byte_time = ByteTime::in_whole_ns(Rate::from_gbps(gbps));
            for bytes in (1..=9_216).chain([65_535, 1_000_000]) {
                assert_eq!(byte_time.of(bytes), Time::from_ns(bytes * 8 / gbps), "{bytes} B at {gbps} Gb/s");
            }
        }
        let slowest = ByteTime::in_whole_ns(ByteTime::SLOWEST_IN_WHOLE_NS);
        assert_eq!(slowest.of(65_535), Time::from_us(524_280));
    }

    #[test]
    fn ns3_cuts_a_double_off_to_nanoseconds() {
        let ns = |gbps: u64, bytes| Rate::from_gbps(gbps).time_in_cut_ns(bytes).as_ps() / 1_000;
        // 1056 B are 8448 ns at 1 Gb/s, 84.48 at 100 Gb/s; 1 B is 8 ns. A second and its half are doubles themselves.
        assert_eq!([ns(1, 1_056), ns(100, 1_056), ns(1, 1)], [8_447, 84, 7]);
        assert_eq!([ns(1, 125_000_000), ns(1, 62_500_000)], [1_000_000_000, 500_000_000]);
    }

    #[test]
    fn quantities_print_with_their_unit() {
        assert_eq!(Time(12_190_000).to_string(), "12.19us");
        assert_eq!(Rate::from_gbps(10).to_string(), "10Gbps");
    }
}
