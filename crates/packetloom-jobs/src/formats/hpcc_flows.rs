//! The flows of the HPCC and ConWeave simulators on ns-3: `flow.txt`.
//!
//! The first line has the number of flows; then a line per flow: source, destination, priority group, destination
//! port, bytes, and the start in seconds. They are in order of start. ConWeave's files have no destination ports.

use super::FileError;
use super::fields::{self, Line, last_line, lines};
use crate::units::Time;

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The sending node, by id.
    pub src: u32,
    /// The receiving node, by id.
    pub dst: u32,
    /// The priority group.
    pub group: u8,
    /// The destination port, in HPCC's files.
    pub port: Option<u16>,
    /// Bytes to send.
    pub size_bytes: u64,
    /// When it starts.
    pub start: Time,
    /// The line that has it.
    pub line: usize,
}

/// Reads the file's text.
///
/// # Errors
/// Where a line is not of the form above, there are not as many as the first says, or they are not in order.
pub fn read(text: &str) -> Result<Vec<Flow>, FileError> {
    let mut lines = lines(text);
    let first = lines.next();
    let first = first.ok_or_else(|| FileError::new(1, "no flows; begin with their number"))?;
    first.expect("count")?;
    let count: u64 = first.count(0, "the number of flows")?;
    let mut flows: Vec<Flow> = Vec::new();
    let mut names = None;
    for line in lines {
        let names =
            *names.get_or_insert(if line.fields.len() == CONWEAVES_FIELDS { CONWEAVES } else { HPCCS });
        let flow = flow(&line, names)?;
        if flows.last().is_some_and(|last| last.start > flow.start) {
            return Err(line.error("it starts before the flow in the line above; sort the lines by start"));
        }
        flows.push(flow);
        if flows.len() as u64 > count {
            let message = format!("more flows than the {count} that the first line says; correct the number");
            return Err(line.error(message));
        }
    }
    if (flows.len() as u64) < count {
        let message = format!("{} flows where the first line says {count}", flows.len());
        return Err(FileError::new(last_line(text), message));
    }
    if flows.is_empty() {
        return Err(first.error("no flows; write one a line"));
    }
    Ok(flows)
}

/// What a line has in a file of each simulator's; the first line of a flow says which it is.
const HPCCS: &str = "src dst pg dport size_bytes start_s";
const CONWEAVES: &str = "src dst pg size_bytes start_s";
const CONWEAVES_FIELDS: usize = 5;

fn flow(line: &Line<'_>, names: &str) -> Result<Flow, FileError> {
    line.expect(names)?;
    let has_port = names == HPCCS;
    let last = 3 + usize::from(has_port);
    Ok(Flow {
        src: line.count(0, "src")?,
        dst: line.count(1, "dst")?,
        group: line.count(2, "pg")?,
        port: has_port.then(|| line.count(3, "dport")).transpose()?,
        size_bytes: line.count(last, "size_bytes")?,
        start: fields::seconds(line.fields[last + 1], "start_s").map_err(|message| line.error(message))?,
        line: line.number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::At;

    const SOUND: &str =
        "3\n0 1 3 100 200000 2.000000000\n2 1 3 200 64 2.000001500\n4294967295 0 3 100 5000000000 2.5\n";

    #[test]
    fn a_file_of_hpccs_is_read() {
        let flows = read(SOUND).expect("a sound file");
        assert_eq!(flows.len(), 3);
        let second = Flow {
            src: 2,
            dst: 1,
            group: 3,
            port: Some(200),
            size_bytes: 64,
            start: Time(2_000_001_500_000),
            line: 3,
        };
        assert_eq!(flows[1], second);
        assert_eq!(flows[2].size_bytes, 5_000_000_000);
        assert_eq!(read(&SOUND.replace('\n', "\r\n")), read(SOUND));
    }

    #[test]
    fn a_file_of_conweaves_has_no_ports() {
        let text = SOUND.replace(" 3 100 ", " 3 ").replace(" 3 200 ", " 3 ");
        let with_ports = read(SOUND).expect("a sound file").into_iter();
        let without: Vec<Flow> = with_ports.map(|flow| Flow { port: None, ..flow }).collect();
        assert_eq!(read(&text), Ok(without));
        // Lines of both in one file.
        let error = read(&SOUND.replacen(" 3 100 ", " 3 ", 1)).expect_err("mixed");
        assert!(
            error.at == At::Line(3) && error.message.contains("6 fields where there should be 5"),
            "{error:?}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, line, part) in [
            ("3\n", "4\n", 4, "3 flows where the first line says 4"),
            ("3\n", "2\n", 4, "more flows than the 2"),
            ("3\n", "three\n", 1, "the number of flows is \"three\""),
            ("3\n", "3 flows\n", 1, "2 fields where there should be 1"),
            ("0 1 3 100 200000", "-1 1 3 100 200000", 2, "src is -1; it cannot be negative"),
            ("3 100 200000", "300 100 200000", 2, "pg is 300, which is too large"),
            ("3 100 200000", "3 100 -200000", 2, "size_bytes is -200000; it cannot be negative"),
            ("3 100 200000", "3 100 NaN", 2, "size_bytes is \"NaN\""),
            ("3 100 200000", "3 100 2e5", 2, "size_bytes is \"2e5\""),
            ("200000 2.0", "200000 1e", 2, "start_s is"),
            ("200000 2.000000000", "200000 NaN", 2, "start_s is \"NaN\""),
            ("64 2.000001500", "64 1.0", 3, "starts before the flow in the line above"),
            ("3 100 200000", "3 100 18446744073709551616", 2, "which is too large"),
            ("0 1 3 100 200000", "9223372036854775808 1 3 100 200000", 2, "which is too large"),
            ("2.5\n", "2.5\ntrailing text\n", 5, "2 fields where there should be 6"),
            ("2.5\n", "2.5 and more\n", 4, "8 fields where there should be 6"),
        ] {
            assert!(SOUND.contains(from), "{from}");
            let error = read(&SOUND.replacen(from, to, 1)).expect_err(to);
            assert!(error.at == At::Line(line) && error.message.contains(part), "{to}: {error:?}");
        }
        assert!(read("").is_err() && read("0\n").is_err());
    }
}
