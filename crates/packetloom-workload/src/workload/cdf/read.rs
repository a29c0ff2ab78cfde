//! Reading a distribution: which dialect it is in, and whether it is one at all.

use super::{Cdf, CdfError, Dialect, Interpolation, LARGEST_BYTES, Rounding};

/// ns-2's packets carry 1460 B (pFabric's and YAPS's scripts).
const NS2_PACKET_BYTES: u64 = 1460;

/// How far from 1 the last probability may be: what summing printed decimals leaves.
const END_TOLERANCE: f64 = 1e-9;

/// What a first line may call a second column that says how many flows have a size.
const COUNTS: [&str; 6] = ["count", "counts", "flows", "frequency", "number", "weight"];
/// What to write where a second column is no cumulative probability.
const COUNTS_HINT: &str = "if it is how many flows have the size, say so in a first line, `size,count`";

/// The numbers of one line, and which line it was.
struct Row {
    line: usize,
    numbers: Vec<f64>,
}

fn error<T>(line: usize, message: impl Into<String>) -> Result<T, CdfError> {
    Err(CdfError { line, message: message.into() })
}

pub(super) fn read(text: &str) -> Result<Cdf, CdfError> {
    let (names, mut rows) = rows(text)?;
    let dialect = recognise(&rows, &names)?;
    if matches!(dialect, Dialect::Sizes | Dialect::Counts) {
        return of_sizes(text, &rows, dialect);
    }
    let stated_mean = (dialect == Dialect::Homa).then(|| rows.remove(0).numbers[0]);
    let columns = if dialect == Dialect::Ns2 { 3 } else { 2 };
    if let Some(row) = rows.iter().find(|row| row.numbers.len() != columns) {
        let found = row.numbers.len();
        return error(
            row.line,
            format!("{found} numbers where the file's other lines have {columns}; write {}", form(dialect)),
        );
    }
    let (size_unit, whole) = match dialect {
        Dialect::Ns2 => (NS2_PACKET_BYTES as f64, 1.0),
        Dialect::Percent => (1.0, 100.0),
        _ => (1.0, 1.0),
    };
    let points = rows.iter().map(|row| (row.numbers[0] * size_unit, row.numbers[columns - 1] / whole));
    let mut points: Vec<(f64, f64)> = points.collect();
    check(rows.iter().map(|row| row.line).zip(points.iter().copied()), "line", whole)?;
    if let Some(last) = points.last_mut() {
        last.1 = 1.0;
    }
    let (interpolation, rounding) = rule(text, dialect);
    Ok(Cdf { points, dialect, interpolation, rounding, stated_mean })
}

/// A distribution from a size on each line, and how many flows have it if more than one, in any order.
fn of_sizes(text: &str, rows: &[Row], dialect: Dialect) -> Result<Cdf, CdfError> {
    let mut sizes: Vec<(f64, f64)> = Vec::with_capacity(rows.len());
    for row in rows {
        let (size, flows) = match (dialect, &row.numbers[..]) {
            (Dialect::Counts, &[size, flows]) => (size, flows),
            (Dialect::Sizes, &[size]) => (size, 1.0),
            (Dialect::Counts, numbers) => {
                let found = numbers.len();
                return error(row.line, format!("{found} numbers; write a size and how many flows have it"));
            }
            (_, numbers) => {
                let found = numbers.len();
                let message = format!("{found} numbers where the lines before have a size alone; write one");
                return error(row.line, message);
            }
        };
        if !(1.0..=LARGEST_BYTES).contains(&size) {
            return error(row.line, format!("a size of {size} bytes; write one between 1 and 2^53 bytes"));
        }
        sizes.push((size, flows));
    }
    sizes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let count = sizes.iter().map(|(_, flows)| flows).sum::<f64>();
    if count <= 0.0 {
        return error(1, "no flow has any of the sizes; write how many have each");
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut so_far = 0.0;
    for (size, flows) in sizes.into_iter().filter(|(_, flows)| *flows > 0.0) {
        so_far += flows;
        let up_to_here = so_far / count;
        match points.last_mut() {
            Some(last) if last.0 == size => last.1 = up_to_here,
            _ => points.push((size, up_to_here)),
        }
    }
    if let Some(last) = points.last_mut() {
        last.1 = 1.0;
    }
    let (interpolation, rounding) = rule(text, dialect);
    Ok(Cdf { points, dialect, interpolation, rounding, stated_mean: None })
}

/// The names of the columns, if a first line has some, and the lines that hold numbers; blank lines and comments are
/// left out.
fn rows(text: &str) -> Result<(Vec<String>, Vec<Row>), CdfError> {
    let mut rows = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        let words = || content.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        if rows.is_empty() && names.is_empty() && words().next().is_some_and(|_| words().all(is_no_number)) {
            names = words().map(|word| word.trim_matches('"').to_lowercase()).collect();
            continue;
        }
        let numbers = words().map(|word| number(index + 1, word)).collect::<Result<Vec<f64>, CdfError>>()?;
        if !numbers.is_empty() {
            rows.push(Row { line: index + 1, numbers });
        }
    }
    Ok((names, rows))
}

fn is_no_number(word: &str) -> bool {
    word.parse::<f64>().is_err()
}

fn number(line: usize, word: &str) -> Result<f64, CdfError> {
    match word.parse::<f64>() {
        Ok(number) if number.is_nan() => error(line, "NaN is not a number that can be drawn; write one"),
        Ok(number) if !number.is_finite() => {
            error(line, format!("`{word}` is too large; the largest size is 2^53 bytes"))
        }
        Ok(number) if number < 0.0 => {
            error(line, format!("{word} is negative; sizes and probabilities are zero or more"))
        }
        Ok(number) => Ok(number),
        Err(_) => error(
            line,
            format!(
                "`{word}` is not a number; write a size and its cumulative probability, comments after `#`"
            ),
        ),
    }
}

fn recognise(rows: &[Row], names: &[String]) -> Result<Dialect, CdfError> {
    let Some(first) = rows.first() else {
        return error(
            1,
            "no points; write a line for each: `bytes cumulative_probability`, the last ending in 1",
        );
    };
    match first.numbers.len() {
        2 if names.len() == 2 && COUNTS.contains(&&*names[1]) => Ok(Dialect::Counts),
        1 if rows.get(1).is_some_and(|second| second.numbers.len() > 1) => Ok(Dialect::Homa),
        1 if rows.len() > 1 => Ok(Dialect::Sizes),
        1 => error(
            first.line,
            "a single number; write a line for each point, `bytes cumulative_probability`, the last ending in 1; or many sizes, one on each line",
        ),
        2 if rows[rows.len() - 1].numbers.get(1).is_some_and(|&last| last > 1.0 + END_TOLERANCE) => {
            Ok(Dialect::Percent)
        }
        2 => Ok(Dialect::Fraction),
        3 => Ok(Dialect::Ns2),
        columns => error(
            first.line,
            format!("{columns} numbers; write `bytes probability`, or ns-2's `packets 1 probability`"),
        ),
    }
}

/// What a line of this dialect looks like.
fn form(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Percent => "`bytes percent`",
        Dialect::Ns2 => "`packets 1 probability`",
        _ => "`bytes probability`",
    }
}

/// Checks that (line, (bytes, probability)) are a cumulative distribution. For messages, `place` is what a line is
/// called, and `whole` is how the probability 1 is written.
pub(super) fn check(
    points: impl Iterator<Item = (usize, (f64, f64))>,
    place: &str,
    whole: f64,
) -> Result<(), CdfError> {
    let (mut last_line, mut last_bytes, mut last) = (1, 0.0, 0.0);
    for (line, (bytes, cumulative)) in points {
        if !(0.0..=LARGEST_BYTES).contains(&bytes) {
            return error(line, format!("a size of {bytes} bytes; write one between 0 and 2^53 bytes"));
        }
        if bytes < last_bytes {
            return error(line, format!("the size falls below that of {place} {last_line}; sort by size"));
        }
        if !(0.0..=1.0 + END_TOLERANCE).contains(&cumulative) {
            let written = cumulative * whole;
            return error(
                line,
                format!("the probability {written} is not between 0 and {whole}; {COUNTS_HINT}"),
            );
        }
        if cumulative < last {
            return error(
                line,
                format!(
                    "the probability falls below that of {place} {last_line}; write cumulative ones; {COUNTS_HINT}"
                ),
            );
        }
        (last_line, last_bytes, last) = (line, bytes, cumulative);
    }
    if last < 1.0 - END_TOLERANCE {
        let written = last * whole;
        return error(
            last_line,
            format!("the cumulative probability ends at {written}; end with the largest size and {whole}"),
        );
    }
    if last_bytes == 0.0 {
        return error(last_line, "every size is 0; a flow has at least one byte");
    }
    Ok(())
}

/// The sampling rule: the one that a comment names, else the dialect's own.
fn rule(text: &str, dialect: Dialect) -> (Interpolation, Rounding) {
    let comments =
        text.lines().filter_map(|line| line.split_once('#')).map(|(_, comment)| comment.to_lowercase());
    let stated = comments.filter_map(|comment| Some(comment.split_once("sampling")?.1.to_owned())).next();
    let (own_interpolation, own_rounding) = match dialect {
        Dialect::Homa | Dialect::Sizes | Dialect::Counts => (Interpolation::Step, Rounding::None),
        Dialect::Ns2 => (Interpolation::Linear, Rounding::UpToPackets(NS2_PACKET_BYTES)),
        _ => (Interpolation::Linear, Rounding::None),
    };
    let Some(stated) = stated else { return (own_interpolation, own_rounding) };
    let interpolation = if stated.contains("step") || stated.contains("discrete") {
        Interpolation::Step
    } else if stated.contains("linear") {
        Interpolation::Linear
    } else {
        own_interpolation
    };
    let rounding = if stated.contains("rounded up to whole packets") {
        Rounding::UpToPackets(NS2_PACKET_BYTES)
    } else if stated.contains("round to whole packets") {
        Rounding::ToPackets(NS2_PACKET_BYTES)
    } else {
        own_rounding
    };
    (interpolation, rounding)
}
