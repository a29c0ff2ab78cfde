//! Quantities with units, read exactly: `"0.4us"` becomes 400 000 ps without passing through a float.

use super::problem::quoted;
use super::suggest;
use crate::narrow::exact;
use crate::spec::Value;
use crate::units::{Rate, Time};

/// The largest quantity, in its smallest unit: what a table's signed 64-bit column holds.
pub(super) const LARGEST: u64 = i64::MAX as u64;

/// What can be written with a unit.
pub(super) struct Dimension {
    /// In a sentence: "a time".
    pub noun: &'static str,
    /// Every unit, and how many of the smallest it is worth.
    pub units: &'static [(&'static str, u64)],
    /// The unit to suggest where there is none.
    pub usual_unit: &'static str,
    /// How one is written.
    pub example: &'static str,
    /// What a quantity is a whole number of.
    pub smallest: &'static str,
    /// The most of these.
    pub largest: u64,
}

/// Times, in picoseconds.
pub(super) const TIME: Dimension = Dimension {
    noun: "a time",
    units: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
    usual_unit: "us",
    example: "40us",
    smallest: "picoseconds",
    largest: Time::LATEST.as_ps(),
};

/// Sizes, in bytes. Prefixes are decimal, as on a data sheet; `Ki`, `Mi` and so on are binary (IEC 80000-13).
pub(super) const BYTES: Dimension = Dimension {
    noun: "a size",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
    usual_unit: "KB",
    example: "22.5KB",
    smallest: "bytes",
    largest: LARGEST,
};

/// Buffers counted in packets.
pub(super) const PACKETS: Dimension = Dimension {
    noun: "a number of packets",
    units: &[("packets", 1), ("packet", 1)],
    usual_unit: "packets",
    example: "8packets",
    smallest: "packets",
    largest: LARGEST,
};

/// Rates, in bits per second.
pub(super) const RATE: Dimension = Dimension {
    noun: "a rate",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
    usual_unit: "Gbps",
    example: "10Gbps",
    smallest: "bits per second",
    largest: LARGEST,
};

/// Reads a time.
pub fn time(text: &str) -> Result<Time, String> {
    TIME.read(text).map(Time)
}

/// Reads a size in bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    BYTES.read(text)
}

/// Reads a rate, which is above zero.
pub fn rate(text: &str) -> Result<Rate, String> {
    match RATE.read(text)? {
        0 => Err(format!("{} is zero; write a rate above zero, such as {:?}", quoted(text), RATE.example)),
        bps => Ok(Rate(bps)),
    }
}

/// Reads a buffer, in bytes or in packets.
pub fn buffer(text: &str) -> Result<Value, String> {
    let (_, unit) = split(text);
    if PACKETS.factor(unit).is_some() || suggest::nearest(unit, PACKETS.unit_names()).is_some() {
        PACKETS.read(text).map(Value::Packets)
    } else {
        BYTES.read(text).map(Value::Bytes)
    }
}

impl Dimension {
    fn unit_names(&self) -> impl Iterator<Item = &'static str> {
        self.units.iter().map(|(name, _)| *name)
    }

    fn factor(&self, unit: &str) -> Option<u64> {
        self.units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
    }

    /// The quantity that `text` writes, in the smallest unit.
    fn read(&self, text: &str) -> Result<u64, String> {
        let (number, unit) = split(text);
        if number.starts_with('-') {
            return Err(format!(
                "{} is negative; write {} such as {:?}",
                quoted(text),
                self.noun,
                self.example
            ));
        }
        let Some(decimal) = Decimal::read(number) else {
            return Err(format!(
                "{} is not {}; write one such as {:?}",
                quoted(text),
                self.noun,
                self.example
            ));
        };
        if unit.is_empty() {
            return Err(self.no_unit(text, number));
        }
        let factor = self.factor(unit).ok_or_else(|| self.unknown_unit(number, unit))?;
        decimal.times(factor, self.largest).map_err(|inexact| match inexact {
            Inexact::TooFine => format!("{} is not a whole number of {}", quoted(text), self.smallest),
            Inexact::TooLarge => {
                format!("{} is too large; the most is {} {}", quoted(text), self.largest, self.smallest)
            }
        })
    }

    /// The message about `written`, which has no unit.
    pub(super) fn no_unit(&self, written: &str, number: &str) -> String {
        let written = quoted(written);
        format!("{written} has no unit; write {} such as \"{number}{}\"", self.noun, self.usual_unit)
    }

    fn unknown_unit(&self, number: &str, unit: &str) -> String {
        let suggestion = match suggest::nearest(unit, self.unit_names()) {
            // Bytes per second are no slip of the pen for bits.
            Some(near) if !unit.ends_with("Bps") => format!("; did you mean \"{number}{near}\"?"),
            _ => ".".to_owned(),
        };
        let units: Vec<&str> = self.unit_names().collect();
        let meaning = if self.noun == RATE.noun { " (bits per second)" } else { "" };
        let unit = quoted(unit);
        format!(
            "unknown unit {unit}{suggestion} The units of {} are {}{meaning}",
            self.noun,
            units.join(", ")
        )
    }
}

/// The number and the unit of a quantity.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A decimal number: `mantissa / 10^places`.
struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
}

enum Inexact {
    TooFine,
    TooLarge,
}

impl<'a> Decimal<'a> {
    fn read(number: &'a str) -> Option<Decimal<'a>> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (digits(whole) && digits(fraction))
            .then(|| Decimal { whole, fraction: fraction.trim_end_matches('0') })
    }

    fn times(&self, factor: u64, largest: u64) -> Result<u64, Inexact> {
        let digits = format!("{}{}", self.whole, self.fraction);
        let mantissa: u128 = digits.parse().map_err(|_| Inexact::TooLarge)?;
        let scale = 10_u128.checked_pow(exact::<u32>(self.fraction.len())).ok_or(Inexact::TooFine)?;
        let scaled = mantissa.checked_mul(u128::from(factor)).ok_or(Inexact::TooLarge)?;
        match scaled / scale {
            quantity if quantity > u128::from(largest) => Err(Inexact::TooLarge),
            _ if scaled % scale != 0 => Err(Inexact::TooFine),
            quantity => Ok(exact::<u64>(quantity)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(time("0.4us"), Ok(Time(400_000)));
        assert_eq!(time("0.000000000001 s"), Ok(Time(1)));
        assert_eq!(time("1.1ns"), Ok(Time(1_100)));
        assert_eq!(time("12ms"), Ok(Time(12_000_000_000)));
        assert_eq!(time("0us"), Ok(Time::ZERO));
        assert_eq!(bytes("22.5KB"), Ok(22_500));
        assert_eq!(bytes("22.50 kB"), Ok(22_500));
        assert_eq!((bytes("1.5TB"), bytes("2TiB")), (Ok(1_500_000_000_000), Ok(2 << 40)));
        assert_eq!(bytes("1.5KiB"), Ok(1_536));
        assert_eq!(bytes("3MiB"), Ok(3 << 20));
        assert_eq!(rate("10Gbps"), Ok(Rate::from_gbps(10)));
        assert_eq!(rate("0.1Gbps"), Ok(Rate(100_000_000)));
    }

    #[test]
    fn a_buffer_is_bytes_or_packets() {
        assert_eq!(buffer("225KB"), Ok(Value::Bytes(225_000)));
        assert_eq!(buffer("8packets"), Ok(Value::Packets(8)));
        assert_eq!(buffer("1 packet"), Ok(Value::Packets(1)));
        assert!(buffer("8 pakets").unwrap_err().contains("did you mean \"8packets\"?"));
        assert_eq!(buffer("1.5packets").unwrap_err(), "\"1.5packets\" is not a whole number of packets");
    }

    #[test]
    fn the_largest_quantity_still_fits_and_the_next_does_not() {
        assert_eq!(bytes("9223372036854775807B"), Ok(LARGEST));
        let message = bytes("9223372036854775808B").unwrap_err();
        assert_eq!(message, "\"9223372036854775808B\" is too large; the most is 9223372036854775807 bytes");
        assert!(time("99999999999999999999999999999999999999999s").unwrap_err().contains("too large"));
        assert!(
            time(&format!("0.{}1s", "0".repeat(40))).unwrap_err().contains("whole number of picoseconds")
        );
    }

    #[test]
    fn what_is_wrong_comes_with_what_to_write() {
        let message = |text| time(text).unwrap_err();
        assert_eq!(message("200"), "\"200\" has no unit; write a time such as \"200us\"");
        assert_eq!(message("-4us"), "\"-4us\" is negative; write a time such as \"40us\"");
        assert_eq!(message("soon"), "\"soon\" is not a time; write one such as \"40us\"");
        assert_eq!(message(""), "\"\" is not a time; write one such as \"40us\"");
        assert_eq!(message("1.2.3us"), "\"1.2.3us\" is not a time; write one such as \"40us\"");
        assert_eq!(message("0.1ps"), "\"0.1ps\" is not a whole number of picoseconds");
        assert_eq!(
            message("40usec"),
            "unknown unit \"usec\"; did you mean \"40us\"? The units of a time are ps, ns, us, ms, s"
        );
        assert_eq!(message("3weeks"), "unknown unit \"weeks\". The units of a time are ps, ns, us, ms, s");
    }

    #[test]
    fn a_rate_is_above_zero_and_in_bits() {
        assert_eq!(
            rate("0Gbps").unwrap_err(),
            "\"0Gbps\" is zero; write a rate above zero, such as \"10Gbps\""
        );
        assert_eq!(
            rate("10gbps").unwrap_err(),
            "unknown unit \"gbps\"; did you mean \"10Gbps\"? \
             The units of a rate are bps, kbps, Mbps, Gbps, Tbps (bits per second)"
        );
        assert_eq!(
            rate("1GBps").unwrap_err(),
            "unknown unit \"GBps\". The units of a rate are bps, kbps, Mbps, Gbps, Tbps (bits per second)"
        );
        assert!(rate("10").unwrap_err().contains("write a rate such as \"10Gbps\""));
    }
}
