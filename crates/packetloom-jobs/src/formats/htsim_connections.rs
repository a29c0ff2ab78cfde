//! htsim's connection matrix: a `.cm` file.
//!
//! A header with the numbers of nodes, connections, triggers and failures; then a line per connection (`0->13 id 1
//! start 0 size 2000000 send_done_trigger 1`), per trigger (`trigger id 1 oneshot`), and per failure. Starts are in
//! picoseconds for some of its programs, and in microseconds for others.

use super::FileError;
use super::fields::{Line, count, last_line, lines};
use crate::units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// When a connection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a time.
    At(Time),
    /// When the trigger of this id fires.
    On(u32),
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
    /// When it starts.
    pub start: Start,
    /// Bytes to send.
    pub size_bytes: u64,
    /// The trigger that is activated when the sender knows that all has arrived.
    pub send_done: Option<u32>,
    /// The trigger that is activated when the receiver has all.
    pub recv_done: Option<u32>,
    /// The line that has it.
    pub line: usize,
}

/// What a trigger does when it is activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shot {
    /// At the first time starts all its connections.
    Oneshot,
    /// Each time starts its next connection.
    Multishot,
    /// At the so-manieth time starts all its connections.
    Barrier(u32),
}

/// The file's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// How many hosts it is for.
    pub nodes: u32,
    /// The connections, in order.
    pub connections: Vec<Connection>,
    /// The triggers, by id.
    pub triggers: BTreeMap<u32, Shot>,
}

/// The header's fields, each with its line.
#[derive(Default)]
struct Header {
    counts: BTreeMap<&'static str, (usize, u64)>,
}

const HEADER: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Reads the file's text, whose starts count such units. Lines that begin with `#` are skipped.
///
/// # Errors
/// Where a line is not of the form above, a number in the header is not that of what follows, a
/// connection waits for a trigger that is not there, or one starts later than at 0 and the unit is not given.
pub fn read(text: &str, start_unit: Option<Time>) -> Result<Matrix, FileError> {
    let mut header = Header::default();
    let (mut connections, mut triggers) = (Vec::new(), BTreeMap::new());
    for line in lines(text).filter(|line| !line.fields[0].starts_with('#')) {
        let word = line.fields[0];
        if let Some(name) = HEADER.into_iter().find(|name| *name == word) {
            header.note(name, &line)?;
        } else if word.contains("->") {
            connections.push(connection(&line, start_unit)?);
        } else if word == "trigger" {
            let (id, shot) = trigger(&line)?;
            if triggers.insert(id, shot).is_some() {
                return Err(line.error(format!("trigger {id} is there twice")));
            }
        } else if word == "failure" {
            let message = "failures belong to the scenario here; write a [[fault]] of the kind \"link-down\" \
                           with the link's two ends, and Failures 0";
            return Err(line.error(message));
        } else {
            let message =
                format!("{word:?} begins no line; write a connection such as 0->1, trigger, or failure");
            return Err(line.error(message));
        }
    }
    let (_, nodes) =
        header.counts.get("Nodes").copied().ok_or_else(|| FileError::new(1, "no line `Nodes n`"))?;
    header.check("Connections", connections.len(), text)?;
    header.check("Triggers", triggers.len(), text)?;
    header.check("Failures", 0, text)?;
    let matrix = Matrix { nodes: u32::try_from(nodes).unwrap_or(u32::MAX), connections, triggers };
    matrix.check()?;
    Ok(matrix)
}

impl Header {
    fn note(&mut self, name: &'static str, line: &Line<'_>) -> Result<(), FileError> {
        line.expect("name count")?;
        let entry = (line.number, line.count(1, name)?);
        match self.counts.insert(name, entry) {
            None => Ok(()),
            Some(_) => Err(line.error(format!("{name} is there twice"))),
        }
    }

    fn check(&self, name: &str, found: usize, text: &str) -> Result<(), FileError> {
        match self.counts.get(name) {
            Some(&(_, said)) if said == found as u64 => Ok(()),
            Some(&(line, said)) => Err(FileError::new(
                line,
                format!("{said} {name} where {found} lines follow; correct the number"),
            )),
            None if found == 0 && name != "Connections" => Ok(()),
            None => Err(FileError::new(last_line(text), format!("no line `{name} {found}` in the header"))),
        }
    }
}

/// The value after a keyword.
fn value<'a>(line: &Line<'a>, index: usize) -> Result<&'a str, FileError> {
    let missing = || line.error(format!("nothing after {:?}; write its value", line.fields[index]));
    line.fields.get(index + 1).copied().ok_or_else(missing)
}

/// An id, which is not zero.
fn id(line: &Line<'_>, text: &str, name: &str) -> Result<u32, FileError> {
    match count(text, name) {
        Ok(0) => Err(line.error(format!("{name} is 0; ids are numbered from 1"))),
        other => other.map_err(|message| line.error(message)),
    }
}

fn connection(line: &Line<'_>, start_unit: Option<Time>) -> Result<Connection, FileError> {
    let (src, dst) = line.fields[0].split_once("->").unwrap_or_default();
    let number = |text, name: &str| count::<u32>(text, name).map_err(|message| line.error(message));
    let (src, dst) = (number(src, "the source")?, number(dst, "the destination")?);
    let (mut start, mut size_bytes, mut send_done, mut recv_done) = (None, None, None, None);
    let mut has_id = false;
    let mut index = 1;
    while index < line.fields.len() {
        let text = value(line, index)?;
        let is_new = match line.fields[index] {
            "start" => start.replace(Start::At(start_time(line, text, start_unit)?)).is_none(),
            "trigger" => start.replace(Start::On(id(line, text, "trigger")?)).is_none(),
            "size" => {
                let size = count(text, "size").map_err(|message| line.error(message))?;
                size_bytes.replace(size).is_none()
            }
            "id" => {
                id(line, text, "id")?;
                !std::mem::replace(&mut has_id, true)
            }
            "send_done_trigger" => send_done.replace(id(line, text, "send_done_trigger")?).is_none(),
            "recv_done_trigger" => recv_done.replace(id(line, text, "recv_done_trigger")?).is_none(),
            "prio" => {
                number(text, "prio")?;
                true
            }
            other => {
                let message = format!(
                    "{other:?} is no keyword of a connection; they are id, start, trigger, size, prio, \
                     send_done_trigger, recv_done_trigger"
                );
                return Err(line.error(message));
            }
        };
        if !is_new {
            return Err(line.error(format!("{:?} is there a second time; leave one out", line.fields[index])));
        }
        index += 2;
    }
    let start = start.ok_or_else(|| line.error("neither start nor trigger; write when it starts"))?;
    if matches!(start, Start::On(_)) && !has_id {
        return Err(line.error("a connection that waits for a trigger needs an id"));
    }
    let size_bytes = size_bytes.ok_or_else(|| line.error("no size; write one in bytes"))?;
    Ok(Connection { src, dst, start, size_bytes, send_done, recv_done, line: line.number })
}

/// When a connection starts that has this number of units after `start`.
fn start_time(line: &Line<'_>, text: &str, unit: Option<Time>) -> Result<Time, FileError> {
    let number: u64 = count(text, "start").map_err(|message| line.error(message))?;
    match unit {
        _ if number == 0 => Ok(Time::ZERO),
        Some(unit) => number
            .checked_mul(unit.as_ps())
            .map(Time)
            .ok_or_else(|| line.error(format!("start {number} is later than can be simulated"))),
        None => Err(line.error(format!(
            "start {number} is in picoseconds for htsim_ndp, htsim_roce, htsim_eqds and htsim_hpcc, and in \
             microseconds for htsim_uec and htsim_swift; write start_unit = \"ps\" or \"us\" in arrivals"
        ))),
    }
}

fn trigger(line: &Line<'_>) -> Result<(u32, Shot), FileError> {
    let (mut number, mut shot, mut times) = (None, None, None);
    let mut index = 1;
    while index < line.fields.len() {
        let is_new = match line.fields[index] {
            "id" => number.replace(id(line, value(line, index)?, "id")?).is_none(),
            "count" => times.replace(id(line, value(line, index)?, "count")?).is_none(),
            "oneshot" => shot.replace(Shot::Oneshot).is_none(),
            "multishot" => shot.replace(Shot::Multishot).is_none(),
            "barrier" => shot.replace(Shot::Barrier(0)).is_none(),
            other => {
                let message = format!(
                    "{other:?} is no keyword of a trigger; they are id, oneshot, multishot, barrier, count"
                );
                return Err(line.error(message));
            }
        };
        if !is_new {
            return Err(line.error("a trigger has one id and is of one kind"));
        }
        index += if ["id", "count"].contains(&line.fields[index]) { 2 } else { 1 };
    }
    let number = number.ok_or_else(|| line.error("no id"))?;
    let shot = match (shot, times) {
        (Some(Shot::Barrier(_)), Some(times)) => Shot::Barrier(times),
        (Some(Shot::Barrier(_)), None) => return Err(line.error("a barrier needs a count")),
        (Some(shot), None) => shot,
        (Some(_), Some(_)) => return Err(line.error("only a barrier has a count")),
        (None, _) => return Err(line.error("of no kind; write oneshot, multishot or barrier count n")),
    };
    Ok((number, shot))
}

impl Matrix {
    fn check(&self) -> Result<(), FileError> {
        for connection in &self.connections {
            let error = |message: String| Err(FileError::new(connection.line, message));
            if self.nodes == 0 {
                return error("a connection where the first line says that there are no nodes".to_owned());
            }
            for host in [connection.src, connection.dst] {
                if host >= self.nodes {
                    return error(format!(
                        "no node is numbered {host}; they are numbered 0 to {}",
                        self.nodes - 1
                    ));
                }
            }
            let waits_for = match connection.start {
                Start::On(trigger) => Some(trigger),
                Start::At(_) => None,
            };
            for trigger in [waits_for, connection.send_done, connection.recv_done].into_iter().flatten() {
                if !self.triggers.contains_key(&trigger) {
                    return error(format!("trigger {trigger} is nowhere specified"));
                }
            }
        }
        self.check_cycles()
    }

    /// Connections whose triggers wait for each other would never start, and no message would say so.
    fn check_cycles(&self) -> Result<(), FileError> {
        let activates = self.circles();
        let Some(first) = activates.values().next() else { return Ok(()) };
        let (mut chain, mut seen, mut one) = (Vec::new(), BTreeSet::new(), *first);
        while seen.insert(one.line) {
            chain.push(one);
            one = one.waits_for().map_or(one, |trigger| activates[&trigger]);
        }
        let begin = chain.iter().position(|other: &&Connection| other.line == one.line).unwrap_or_default();
        Err(FileError::new(one.line, cycle(&chain[begin..])))
    }

    /// The connections that never start because they wait for each other: for each trigger, one that activates it.
    /// Those that wait for no other are removed first.
    fn circles(&self) -> BTreeMap<u32, &Connection> {
        let stuck = self.never_start();
        let mut activators: BTreeMap<u32, u32> = stuck.keys().map(|trigger| (*trigger, 0)).collect();
        for trigger in stuck.values().flatten().flat_map(|one| one.activates()) {
            activators.entry(trigger).and_modify(|count| *count += 1);
        }
        let mut forlorn: Vec<u32> =
            activators.iter().filter(|(_, count)| **count == 0).map(|(trigger, _)| *trigger).collect();
        while let Some(trigger) = forlorn.pop() {
            activators.remove(&trigger);
            for next in stuck[&trigger].iter().flat_map(|one| one.activates()) {
                if let Some(count) = activators.get_mut(&next) {
                    *count -= 1;
                    if *count == 0 {
                        forlorn.push(next);
                    }
                }
            }
        }
        let left = activators.keys().flat_map(|trigger| &stuck[trigger]);
        left.flat_map(|one| one.activates().map(move |trigger| (trigger, *one))).collect()
    }

    /// The connections whose triggers never start them, by trigger.
    fn never_start(&self) -> BTreeMap<u32, VecDeque<&Connection>> {
        let mut waiting: BTreeMap<u32, VecDeque<&Connection>> = BTreeMap::new();
        let mut started = VecDeque::new();
        for one in &self.connections {
            match one.start {
                Start::At(_) => started.push_back(one),
                Start::On(trigger) => waiting.entry(trigger).or_default().push_back(one),
            }
        }
        let mut activations: BTreeMap<u32, u32> = BTreeMap::new();
        while let Some(one) = started.pop_front() {
            for trigger in one.activates() {
                let count = activations.entry(trigger).or_default();
                *count += 1;
                let Some(next) = waiting.get_mut(&trigger) else { continue };
                match self.triggers[&trigger] {
                    Shot::Multishot => started.extend(next.pop_front()),
                    Shot::Barrier(needed) if *count < needed => {}
                    Shot::Barrier(_) | Shot::Oneshot => started.append(next),
                }
            }
        }
        waiting.retain(|_, left| !left.is_empty());
        waiting
    }
}

impl Connection {
    fn waits_for(&self) -> Option<u32> {
        match self.start {
            Start::On(trigger) => Some(trigger),
            Start::At(_) => None,
        }
    }

    fn activates(&self) -> impl Iterator<Item = u32> {
        [self.send_done, self.recv_done].into_iter().flatten()
    }
}

/// The message about connections each of which waits for the next, and the last for the first.
fn cycle(chain: &[&Connection]) -> String {
    let earlier = chain.iter().cycle().skip(1);
    let links = chain.iter().zip(earlier).filter_map(|(one, earlier)| {
        let trigger = one.waits_for()?;
        Some(format!("line {} waits for trigger {trigger}, which line {} activates", one.line, earlier.line))
    });
    let links: Vec<String> = links.take(MOST_NAMED).collect();
    let more = if chain.len() > MOST_NAMED { ", and so on" } else { "" };
    format!("triggers wait for each other: {}{more}; give one of these lines a start", links.join(", "))
}

/// So many connections of a cycle are named.
const MOST_NAMED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::At;

    fn read(text: &str) -> Result<Matrix, FileError> {
        super::read(text, Some(Time(1)))
    }

    const SOUND: &str = "Nodes 16\nConnections 3\nTriggers 2\nFailures 0\n\
        0->13 id 1 start 0 size 2000000 prio 5 send_done_trigger 1\n\
        1->13 id 2 trigger 1 size 90000\n\
        2->13 id 3 start 1000001 size 90000 recv_done_trigger 7\n\
        trigger id 1 oneshot\n\
        trigger id 7 barrier count 2\n";

    #[test]
    fn a_file_of_htsims_is_read() {
        let matrix = read(SOUND).expect("a sound file");
        assert_eq!((matrix.nodes, matrix.connections.len()), (16, 3));
        assert_eq!(matrix.triggers, BTreeMap::from([(1, Shot::Oneshot), (7, Shot::Barrier(2))]));
        let third = Connection {
            src: 2,
            dst: 13,
            start: Start::At(Time(1_000_001)),
            size_bytes: 90_000,
            send_done: None,
            recv_done: Some(7),
            line: 7,
        };
        assert_eq!((matrix.connections[2], matrix.connections[1].start), (third, Start::On(1)));
        assert_eq!(read(&SOUND.replace('\n', "\r\n")), Ok(matrix));
    }

    #[test]
    fn starts_are_in_a_unit_that_is_said() {
        let start = |unit, text: &str| super::read(text, unit).map(|matrix| matrix.connections[2].start);
        assert_eq!(start(Some(Time::from_us(1)), SOUND), Ok(Start::At(Time::from_us(1_000_001))));
        let error = start(None, SOUND).expect_err("htsim's programs differ");
        assert!(error.at == At::Line(7) && error.message.ends_with("or \"us\" in arrivals"), "{error:?}");
        assert_eq!(start(None, &SOUND.replace("1000001", "0")), Ok(Start::At(Time::ZERO)));
        let late = SOUND.replace("1000001", "18446744073709551615");
        let error = start(Some(Time::from_us(1)), &late).expect_err("beyond time");
        assert!(error.message.ends_with("is later than can be simulated"), "{error:?}");
    }

    #[test]
    fn triggers_that_wait_for_each_other_are_told() {
        let file = |connections: &str, triggers: &str| {
            let count = |text: &str| text.lines().count();
            let (some, others) = (count(connections), count(triggers));
            format!("Nodes 9\nConnections {some}\nTriggers {others}\n{connections}{triggers}")
        };
        let two = "trigger id 1 oneshot\ntrigger id 2 oneshot\n";
        let ring = "0->1 id 1 trigger 2 size 9 send_done_trigger 1\n1->2 id 2 trigger 1 size 9 recv_done_trigger 2\n";
        let error = read(&file(ring, two)).expect_err("a ring");
        assert_eq!(error.at, At::Line(4));
        assert_eq!(
            error.message,
            "triggers wait for each other: line 4 waits for trigger 2, which line 5 activates, line 5 waits for trigger \
             1, which line 4 activates; give one of these lines a start"
        );
        let itself =
            "0->1 id 1 start 0 size 9 send_done_trigger 1\n1->2 id 2 trigger 1 size 9 send_done_trigger 1\n";
        read(&file(itself, "trigger id 1 oneshot\n")).expect("the first sets it off");
        let error =
            read(&file(itself, "trigger id 1 barrier count 2\n")).expect_err("a barrier behind itself");
        assert!(
            error.at == At::Line(5) && error.message.contains("line 5 waits for trigger 1, which line 5"),
            "{error:?}"
        );
        let chain = "0->1 id 1 start 0 size 9 send_done_trigger 1\n1->2 id 2 trigger 1 size 9 send_done_trigger 2\n\
                     2->3 id 3 trigger 2 size 9\n";
        read(&file(chain, two)).expect("a chain");
        // Its first connection is started by no other, which a run reports.
        read(&file("0->1 id 1 trigger 1 size 9\n", "trigger id 1 oneshot\n")).expect("no cycle");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, line, part) in [
            ("Connections 3", "Connections 4", 2, "4 Connections where 3 lines follow"),
            ("Triggers 2", "Triggers 1", 3, "1 Triggers where 2 lines follow"),
            ("Failures 0", "Failures 1", 4, "1 Failures where 0 lines follow"),
            ("Nodes 16", "Nodes NaN", 1, "Nodes is \"NaN\""),
            ("Nodes 16", "Nodes 13", 5, "no node is numbered 13; they are numbered 0 to 12"),
            ("Nodes 16\n", "", 1, "no line `Nodes n`"),
            ("size 2000000", "size -1", 5, "size is -1; it cannot be negative"),
            ("size 2000000", "size NaN", 5, "size is \"NaN\""),
            ("start 0", "start -1", 5, "start is -1; it cannot be negative"),
            ("start 0", "start NaN", 5, "start is \"NaN\""),
            ("size 2000000", "size 1.5", 5, "size is \"1.5\""),
            ("size 2000000 ", "", 5, "no size"),
            ("size 2000000", "size 18446744073709551616", 5, "too large"),
            ("start 0", "start 0.5", 5, "start is \"0.5\""),
            ("start 0 ", "", 5, "neither start nor trigger"),
            ("start 0", "start 0 trigger 1", 5, "\"trigger\" is there a second time"),
            ("id 2", "id 0", 6, "id is 0"),
            ("id 2 ", "", 6, "needs an id"),
            ("trigger 1 size", "trigger 3 size", 6, "trigger 3 is nowhere specified"),
            ("recv_done_trigger 7", "recv_done_trigger", 7, "nothing after \"recv_done_trigger\""),
            ("recv_done_trigger 7", "recv_done 7", 7, "\"recv_done\" is no keyword of a connection"),
            ("id 1 oneshot", "id 1", 8, "of no kind"),
            ("id 1 oneshot", "id 1 oneshot count 2", 8, "only a barrier has a count"),
            ("id 1 oneshot", "id 7 oneshot", 9, "trigger 7 is there twice"),
            ("barrier count 2", "barrier", 9, "a barrier needs a count"),
            ("count 2\n", "count 2\ntrailing text\n", 10, "\"trailing\" begins no line"),
            (
                "count 2\n",
                "count 2\nfailure switch_type AGG switch_id 0 link_id 0\n",
                10,
                "write a [[fault]]",
            ),
        ] {
            assert!(SOUND.contains(from), "{from}");
            let error = read(&SOUND.replacen(from, to, 1)).expect_err(to);
            assert!(error.at == At::Line(line) && error.message.contains(part), "{to}: {error:?}");
        }
    }
}
