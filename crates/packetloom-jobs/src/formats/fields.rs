//! Lines and the figures in them.

use super::FileError;
use crate::units::{Rate, Time};

/// A line that says something: its number, and its fields.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// What white space separates.
    pub fields: Vec<&'a str>,
}

/// The lines that are not blank. A carriage return before the line's end is white space, as it is to C++'s streams.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let lines =
        lines.map(|(index, line)| Line { number: index + 1, fields: line.split_whitespace().collect() });
    lines.filter(|line| !line.fields.is_empty())
}

/// How many lines a text has, for what is missing at its end.
pub fn last_line(text: &str) -> usize {
    text.lines().count().max(1)
}

impl Line<'_> {
    /// An error in this line.
    pub fn error(&self, message: impl Into<String>) -> FileError {
        FileError::new(self.number, message)
    }

    /// The whole number that is the field `index`, called `name`.
    pub fn count<T: TryFrom<u64>>(&self, index: usize, name: &str) -> Result<T, FileError> {
        count(self.fields[index], name).map_err(|message| self.error(message))
    }

    /// That the line has so many fields, which are called `names`.
    pub fn expect(&self, names: &str) -> Result<(), FileError> {
        let (found, expected) = (self.fields.len(), names.split(' ').count());
        if found == expected {
            return Ok(());
        }
        Err(self.error(format!("{found} fields where there should be {expected}: {names}")))
    }
}

/// A whole number that fits its type.
pub fn count<T: TryFrom<u64>>(text: &str, name: &str) -> Result<T, String> {
    if text.starts_with('-') {
        return Err(format!("{name} is {text}; it cannot be negative"));
    }
    if !text.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(format!("{name} is {text:?}; write a whole number"));
    }
    let number = text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("{name} is {text}, which is too large"))
}

/// A number such as 12.5, times a power of ten, if the product is whole.
fn scaled(number: &str, power: usize) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let decimals = decimals.trim_end_matches('0');
    let digits = format!("{whole}{decimals:0<power$}");
    let is_plain = !whole.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    (is_plain && decimals.len() <= power).then(|| digits.parse().ok())?
}

/// Splits a number from the unit that follows it, and finds the unit's power of ten.
fn with_unit(text: &str, units: &[(&str, usize)]) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = text.split_at(end);
    let &(_, power) = units.iter().find(|(name, _)| *name == unit)?;
    scaled(number, power)
}

/// ns-3's rates: 100Gbps.
pub fn rate(text: &str, name: &str) -> Result<Rate, String> {
    const UNITS: [(&str, usize); 10] = [
        ("bps", 0),
        ("kbps", 3),
        ("Kbps", 3),
        ("Mbps", 6),
        ("Gbps", 9),
        ("Tbps", 12),
        ("b/s", 0),
        ("kb/s", 3),
        ("Mb/s", 6),
        ("Gb/s", 9),
    ];
    let bps = with_unit(text, &UNITS).filter(|&bps| bps > 0);
    bps.map(Rate).ok_or_else(|| format!("{name} is {text:?}; write a rate above zero such as 100Gbps"))
}

/// ns-3's times: 1000ns. Without a unit they are in seconds.
pub fn time(text: &str, name: &str) -> Result<Time, String> {
    const UNITS: [(&str, usize); 5] = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)];
    let ps = with_unit(text, &UNITS);
    ps.map(Time)
        .ok_or_else(|| format!("{name} is {text:?}; write a time in whole picoseconds such as 1000ns"))
}

/// Seconds as a plain number.
pub fn seconds(text: &str, name: &str) -> Result<Time, String> {
    if text.starts_with('-') {
        return Err(format!("{name} is {text}; it cannot be negative"));
    }
    let ps = scaled(text, 12);
    ps.map(Time).ok_or_else(|| {
        format!(
            "{name} is {text:?}; write seconds as a plain number with up to 12 decimals, such as 2.000001"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_exactly() {
        assert_eq!(rate("100Gbps", "rate"), Ok(Rate::from_gbps(100)));
        assert_eq!(rate("2.5Gb/s", "rate"), Ok(Rate(2_500_000_000)));
        assert_eq!(time("1000ns", "delay"), Ok(Time::from_ns(1_000)));
        assert_eq!(time("0.001ms", "delay"), Ok(Time::from_us(1)));
        assert_eq!(seconds("2.000000001001", "start"), Ok(Time(2_000_000_001_001)));
        assert_eq!(seconds("2", "start"), Ok(Time(2_000_000_000_000)));
    }

    #[test]
    fn what_is_no_figure_is_told() {
        for text in ["", "Gbps", "100", "-1Gbps", "0Gbps", "1e3Gbps", "nanGbps", "100GBps", "0.5bps"] {
            assert!(rate(text, "rate").is_err(), "{text}");
        }
        for text in ["", "1", "-1ns", "0.5ps", "NaN", "99999999999999999999ns"] {
            assert!(time(text, "delay").is_err(), "{text}");
        }
        for text in ["", "-1", "NaN", "inf", "1e-5", "2.0000000000001", ".5", "99999999999"] {
            assert!(seconds(text, "start").is_err(), "{text}");
        }
        assert_eq!(count::<u32>("-1", "size"), Err("size is -1; it cannot be negative".to_owned()));
        assert_eq!(
            count::<u32>("4294967296", "size"),
            Err("size is 4294967296, which is too large".to_owned())
        );
    }
}
