//! Traces of requests, as Azure publishes them: the columns TIMESTAMP, ContextTokens and GeneratedTokens.

use super::component::{MOST_REQUESTS, MOST_TOKENS};
use super::requests::Request;
use crate::formats::FileError;
use crate::units::Time;

const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];
const PS_DIGITS: usize = 12;
const PS_PER_S: u128 = 1_000_000_000_000;
/// A time zone is no further from UTC than this.
const MOST_OFFSET_S: u128 = 24 * 3_600;

/// The requests of a file's text, in its order; the earliest comes at time zero.
///
/// # Errors
/// What is wrong, and in which line.
pub fn read(text: &str) -> Result<Vec<Request>, FileError> {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .zip(1..)
        .map(|(content, line)| (line, content.trim()))
        .filter(|(_, content)| !content.is_empty());
    let names = COLUMNS.join(",");
    let Some((line, header)) = lines.next() else {
        return Err(FileError::new(1, format!("no requests; begin with the line `{names}`")));
    };
    let header: Vec<&str> = header.split(',').map(str::trim).collect();
    let place = |name: &str| {
        let found = header.iter().position(|column| *column == name);
        found.ok_or_else(|| FileError::new(line, format!("no column `{name}`; the columns are {names}")))
    };
    let places = [place(COLUMNS[0])?, place(COLUMNS[1])?, place(COLUMNS[2])?];
    let mut rows = Vec::new();
    for (line, row) in lines {
        rows.push(row_of(row, header.len(), places).map_err(|message| FileError::new(line, message))?);
        if rows.len() as u64 > MOST_REQUESTS {
            return Err(FileError::new(line, format!("more than {MOST_REQUESTS} requests; leave some out")));
        }
    }
    let Some(first) = rows.iter().map(|row| row.at_ps).min() else {
        return Err(FileError::new(line, "no requests after the line of column names; write one a line"));
    };
    let too_long = || FileError::whole(format!("lasts longer than {}; cut it up", Time::LATEST));
    let request = |row: Row| {
        let after = u64::try_from(row.at_ps - first).map_err(|_| too_long())?;
        if after >= Time::LATEST.as_ps() {
            return Err(too_long());
        }
        Ok(Request { arrival: Time(after), prompt: row.prompt, answer: row.answer })
    };
    rows.into_iter().map(request).collect()
}

struct Row {
    /// Since a time long ago.
    at_ps: u128,
    prompt: u64,
    answer: u64,
}

fn row_of(row: &str, columns: usize, places: [usize; 3]) -> Result<Row, String> {
    let fields: Vec<&str> = row.split(',').map(str::trim).collect();
    if fields.len() != columns {
        return Err(format!("{} fields where the first line names {columns} columns", fields.len()));
    }
    let [at, prompt, answer] = places.map(|place| fields[place]);
    Ok(Row {
        at_ps: time_ps(at).ok_or_else(|| {
            format!("`{at}` is no time; write one such as 2023-11-16 18:17:03.979, or seconds")
        })?,
        prompt: tokens(prompt, COLUMNS[1])?,
        answer: tokens(answer, COLUMNS[2])?,
    })
}

fn tokens(text: &str, column: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(tokens) if (1..=MOST_TOKENS).contains(&tokens) => Ok(tokens),
        Ok(_) => Err(format!("{column} is {text}; write 1 to {MOST_TOKENS}")),
        Err(_) => Err(format!("{column} is `{text}`, which is no whole number")),
    }
}

/// Seconds, or a date and a time of day, with an offset from UTC if it has one.
fn time_ps(text: &str) -> Option<u128> {
    let Some((date, clock)) = text.split_once([' ', 'T']) else {
        return seconds_ps(text);
    };
    let mut date = date.splitn(3, '-');
    let [year, month, day] = [whole(date.next()?)?, whole(date.next()?)?, whole(date.next()?)?];
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let clock = clock.trim_end_matches('Z');
    let (clock, east) = match clock.rfind(['+', '-']) {
        Some(place) => (&clock[..place], Some(&clock[place..])),
        None => (clock, None),
    };
    let mut clock = clock.splitn(3, ':');
    let [hour, minute] = [whole(clock.next()?)?, whole(clock.next()?)?];
    let second_ps = seconds_ps(clock.next()?)?;
    if hour > 23 || minute > 59 || second_ps >= 61 * PS_PER_S {
        return None;
    }
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute;
    // A day more, so that no offset makes it negative.
    let seconds = minutes * 60 + MOST_OFFSET_S;
    let seconds = match east {
        None => seconds,
        Some(offset) => {
            let (hours, minutes) = offset[1..].split_once(':').unwrap_or((&offset[1..], "0"));
            let offset_s = (whole(hours)? * 60 + whole(minutes)?) * 60;
            if offset_s >= MOST_OFFSET_S {
                return None;
            }
            if offset.starts_with('-') { seconds + offset_s } else { seconds - offset_s }
        }
    };
    Some(seconds * PS_PER_S + second_ps)
}

/// Days from the year 0 to a date of the Gregorian calendar.
fn days(year: u128, month: u128, day: u128) -> u128 {
    // Years that begin in March have the leap day at their end.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}

fn whole(text: &str) -> Option<u128> {
    let is_one = !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_one.then(|| text.parse().ok()).flatten()
}

/// Seconds with a fraction; what is below a picosecond is cut off.
fn seconds_ps(text: &str) -> Option<u128> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = &fraction[..fraction.len().min(PS_DIGITS)];
    Some(whole(seconds)? * PS_PER_S + whole(&format!("{digits:0<PS_DIGITS$}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";

    fn arrivals(rows: &[&str]) -> Vec<u64> {
        let text = rows.iter().fold(HEADER.to_owned(), |text, row| format!("{text}\n{row},8,2"));
        read(&text).unwrap().iter().map(|one| one.arrival.as_ps()).collect()
    }

    #[test]
    fn both_of_azures_formats_are_read() {
        let text =
            format!("{HEADER}\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n");
        let first = Request { arrival: Time::ZERO, prompt: 4_808, answer: 10 };
        let second = Request { arrival: Time::from_us(52_000), prompt: 3_180, answer: 8 };
        assert_eq!(read(&text), Ok(vec![first, second]));
        let with_offset = ["2024-05-10 00:00:00.009930+00:00", "2024-05-10 02:00:00.010930+02:00"];
        assert_eq!(arrivals(&with_offset), [0, 1_000_000_000]);
        assert_eq!(arrivals(&["3.5", "0.25", "1"]), [3_250_000_000_000, 0, 750_000_000_000]);
    }

    #[test]
    fn dates_are_the_calendars() {
        let day = 86_400 * 1_000_000_000_000_u64;
        assert_eq!(arrivals(&["2024-02-28 00:00:00", "2024-03-01T00:00:00Z"]), [0, 2 * day]);
        assert_eq!(arrivals(&["2023-12-31 00:00:00", "2024-01-01 00:00:00"]), [0, day]);
        assert_eq!(days(1970, 1, 1), 719_468);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let wrong = |text: &str| read(text).unwrap_err().of("trace.csv");
        assert_eq!(wrong(""), format!("trace.csv:1: no requests; begin with the line `{HEADER}`"));
        assert_eq!(
            wrong("TIMESTAMP,GeneratedTokens\n"),
            format!("trace.csv:1: no column `ContextTokens`; the columns are {HEADER}")
        );
        assert_eq!(
            wrong(&format!("{HEADER}\n")),
            "trace.csv:1: no requests after the line of column names; write one a line"
        );
        let of_row = |row: &str| wrong(&format!("{HEADER}\n1,2,3\n\n{row}\n"));
        assert_eq!(of_row("1,2"), "trace.csv:4: 2 fields where the first line names 3 columns");
        assert_eq!(of_row("1,0,3"), "trace.csv:4: ContextTokens is 0; write 1 to 1073741824");
        assert_eq!(of_row("1,2,x"), "trace.csv:4: GeneratedTokens is `x`, which is no whole number");
        let no_time = "is no time; write one such as 2023-11-16 18:17:03.979, or seconds";
        for text in ["soon", "2023-13-01 00:00:00", "2023-11-16 24:00:00", "1.", "-1", "2023-11-16 1:2:3+x"] {
            assert_eq!(of_row(&format!("{text},2,3")), format!("trace.csv:4: `{text}` {no_time}"));
        }
        assert!(of_row("999999999,2,3").contains("lasts longer than"));
    }
}
