//! The topology of the HPCC and ConWeave simulators on ns-3, and of SimAI: `topology.txt`.
//!
//! The first line has the numbers of nodes, switches and links; the next the switches' ids; then a line per
//! full-duplex link: its ends, rate, delay and the share of packets that it loses. SimAI's first line has six
//! fields: nodes, GPUs per server, NVSwitches, switches, links, type of GPU.

use super::FileError;
use super::fields::{self, Line, last_line, lines};
use crate::narrow::exact;
use crate::units::{Rate, Time};
use std::collections::BTreeSet;

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// The two nodes, by id.
    pub ends: (u32, u32),
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Time,
    /// The share of packets that it loses.
    pub error_rate: f64,
    /// The line that has it.
    pub line: usize,
}

/// The file's contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// How many nodes there are, numbered from 0.
    pub nodes: u32,
    /// Which of them are switches; the others are hosts.
    pub switches: BTreeSet<u32>,
    /// The links, in order.
    pub cables: Vec<Cable>,
}

/// The numbers in the first line.
struct Counts {
    nodes: u32,
    switches: u32,
    links: usize,
}

/// Reads the file's text.
///
/// # Errors
/// Where the text is not of the form above, or its counts are not those of what follows.
pub fn read(text: &str) -> Result<Network, FileError> {
    let mut lines = lines(text);
    let missing = |what: &str| FileError::new(last_line(text), format!("the file ends before {what}"));
    let first = lines.next().ok_or_else(|| missing("the line `nodes switches links`"))?;
    let counts = Counts::read(&first)?;
    let mut switches = BTreeSet::new();
    while exact::<u32>(switches.len()) < counts.switches {
        let line = lines.next().ok_or_else(|| missing("the ids of all switches"))?;
        for index in 0..line.fields.len() {
            let id = node(&line, index, &counts)?;
            if !switches.insert(id) {
                return Err(line.error(format!("switch {id} is listed twice")));
            }
        }
        if exact::<u32>(switches.len()) > counts.switches {
            let message =
                format!("{} switches where the first line says {}", switches.len(), counts.switches);
            return Err(line.error(message));
        }
    }
    let cables: Vec<Cable> = lines.map(|line| cable(&line, &counts)).collect::<Result<_, _>>()?;
    if cables.len() != counts.links {
        let message = format!("{} links where the first line says {}", cables.len(), counts.links);
        return Err(FileError::new(first.number, message));
    }
    Ok(Network { nodes: counts.nodes, switches, cables })
}

impl Counts {
    fn read(line: &Line<'_>) -> Result<Counts, FileError> {
        let counts = match line.fields.len() {
            3 => Counts {
                nodes: line.count(0, "the number of nodes")?,
                switches: line.count(1, "the number of switches")?,
                links: exact::<usize>(line.count::<u64>(2, "the number of links")?),
            },
            6 => {
                let more: u32 = line.count(2, "the number of NVSwitches")?;
                let switches = line.count::<u32>(3, "the number of switches")?.checked_add(more);
                Counts {
                    nodes: line.count(0, "the number of nodes")?,
                    switches: switches.ok_or_else(|| line.error("too many switches"))?,
                    links: exact::<usize>(line.count::<u64>(4, "the number of links")?),
                }
            }
            found => {
                let message = format!(
                    "{found} fields; write `nodes switches links`, or SimAI's six: nodes, GPUs per server, NVSwitches, \
                     switches, links, type of GPU"
                );
                return Err(line.error(message));
            }
        };
        if counts.nodes == 0 {
            return Err(line.error("a network without nodes"));
        }
        if counts.switches > counts.nodes {
            return Err(line.error(format!("{} switches among {} nodes", counts.switches, counts.nodes)));
        }
        Ok(counts)
    }
}

fn node(line: &Line<'_>, index: usize, counts: &Counts) -> Result<u32, FileError> {
    match line.count(index, "a node's id")? {
        id if id < counts.nodes => Ok(id),
        id => {
            Err(line.error(format!("no node is numbered {id}; they are numbered 0 to {}", counts.nodes - 1)))
        }
    }
}

fn cable(line: &Line<'_>, counts: &Counts) -> Result<Cable, FileError> {
    line.expect("src dst rate delay error_rate")?;
    let ends = (node(line, 0, counts)?, node(line, 1, counts)?);
    if ends.0 == ends.1 {
        return Err(line.error(format!("node {} is linked to itself", ends.0)));
    }
    let rate = fields::rate(line.fields[2], "the rate").map_err(|message| line.error(message))?;
    let delay = fields::time(line.fields[3], "the delay").map_err(|message| line.error(message))?;
    let error_rate = line.fields[4].parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate));
    let error_rate = error_rate.ok_or_else(|| {
        line.error(format!("the error rate is {:?}; write a number from 0 to 1", line.fields[4]))
    })?;
    Ok(Cable { ends, rate, delay, error_rate, line: line.number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::At;

    const SOUND: &str = "5 2 4\n3 4\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 0.001ms 0\n3 4 400Gbps 1us 0.000001\n2 4 25Gbps 2us 0\n";

    #[test]
    fn a_file_of_hpccs_is_read() {
        let network = read(SOUND).expect("a sound file");
        assert_eq!((network.nodes, network.switches), (5, BTreeSet::from([3, 4])));
        let cable = network.cables[2];
        assert_eq!((cable.ends, cable.rate, cable.delay), ((3, 4), Rate::from_gbps(400), Time::from_us(1)));
        assert_eq!((cable.error_rate, cable.line), (1e-6, 5));
        assert_eq!(read(&SOUND.replace('\n', "\r\n")), read(SOUND));
    }

    #[test]
    fn simais_first_line_has_six_fields() {
        let network = read(&SOUND.replace("5 2 4", "5 8 1 1 4 H100")).expect("a sound file");
        assert_eq!(network.switches, BTreeSet::from([3, 4]));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, line, part) in [
            ("5 2 4", "5 2", 1, "2 fields; write `nodes switches links`"),
            ("5 2 4", "5 2 5", 1, "4 links where the first line says 5"),
            ("5 2 4", "5 2 3", 1, "4 links where the first line says 3"),
            ("5 2 4", "5 9 4", 1, "9 switches among 5 nodes"),
            ("5 2 4", "-5 2 4", 1, "cannot be negative"),
            ("5 2 4", "9223372036854775808 2 4", 1, "9223372036854775808, which is too large"),
            ("5 2 4", "5 2 9223372036854775808", 1, "4 links where the first line says 9223372036854775808"),
            ("0 3 100Gbps", "9223372036854775808 3 100Gbps", 3, "which is too large"),
            ("100Gbps 1000ns", "9223372036854775808Gbps 1000ns", 3, "the rate is"),
            ("5 2 4", "5 1 4", 2, "2 switches where the first line says 1"),
            ("5 2 4", "5 3 4", 3, "fields"),
            ("3 4\n0", "3 7\n0", 2, "no node is numbered 7; they are numbered 0 to 4"),
            ("3 4\n0", "3 3\n0", 2, "switch 3 is listed twice"),
            ("0 3 100Gbps", "0 9 100Gbps", 3, "no node is numbered 9"),
            ("0 3 100Gbps", "3 3 100Gbps", 3, "linked to itself"),
            ("100Gbps 1000ns", "NaN 1000ns", 3, "the rate is \"NaN\""),
            ("100Gbps 1000ns", "100Gbps -1000ns", 3, "the delay is \"-1000ns\""),
            ("1000ns 0", "1000ns NaN", 3, "the error rate is \"NaN\""),
            ("1000ns 0", "1000ns 0 and more", 3, "7 fields where there should be 5"),
            ("2us 0\n", "2us 0\ntrailing text\n", 7, "2 fields where there should be 5"),
        ] {
            assert!(SOUND.contains(from), "{from}");
            let error = read(&SOUND.replacen(from, to, 1)).expect_err(to);
            let part_is_there = error.message.contains(part) || part == "fields";
            assert!(error.at == At::Line(line) && part_is_there, "{to}: {error:?}");
        }
        assert_eq!(read("").map_err(|error| error.at), Err(At::Line(1)));
        assert!(read("0 0 1\n4 3 10Gbps 1us 0\n").expect_err("no nodes").message.contains("without nodes"));
        assert!(read("5 2 4\n").expect_err("no switches").message.contains("before the ids of all switches"));
    }
}
