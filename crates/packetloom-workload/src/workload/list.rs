//! Flows read from a CSV file, so that another simulator's can be replayed.

use crate::flow::HostId;
use crate::narrow::exact;
use crate::units::Time;

/// One row of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// Application bytes.
    pub size_bytes: u64,
    /// When it starts.
    pub start: Time,
    /// When it should be complete, where the file says so.
    pub deadline: Option<Time>,
    /// Its traffic class, where the file says so.
    pub class: Option<u8>,
    /// The destination port by which another simulator's switches hash it, where the file says so.
    pub port: Option<u16>,
}

/// The flows of a file, sorted by start; those that start together keep the file's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowList {
    /// The flows.
    pub flows: Vec<ListedFlow>,
    /// Whether the file has a column of deadlines.
    pub has_deadlines: bool,
}

/// What is wrong with the file, and in which line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to write.
    pub message: String,
}

const REQUIRED: [&str; 4] = ["src", "dst", "size_bytes", "start_ns"];
const OPTIONAL: [&str; 2] = ["deadline_ns", "class"];

impl FlowList {
    /// Reads the file's text, for a topology of `hosts`. Blank lines and those that begin with `#` are skipped.
    ///
    /// # Errors
    /// Where a column is missing or unknown, or a row is not a flow between two of the hosts.
    pub fn read(text: &str, hosts: u32) -> Result<FlowList, ListError> {
        let mut lines = text
            .trim_start_matches('\u{feff}')
            .lines()
            .enumerate()
            .map(|(index, content)| (index + 1, content.trim()))
            .filter(|(_, content)| !content.is_empty() && !content.starts_with('#'));
        let Some((line, header)) = lines.next() else {
            let message = format!("no flows; begin with the line `{}`", REQUIRED.join(","));
            return Err(ListError { line: 1, message });
        };
        let header = Header::read(header).map_err(|message| ListError { line, message })?;
        let mut flows = lines
            .map(|(line, row)| header.flow(row, hosts).map_err(|message| ListError { line, message }))
            .collect::<Result<Vec<ListedFlow>, ListError>>()?;
        if flows.is_empty() {
            let message = "no flows after the line of column names; write one a line".to_owned();
            return Err(ListError { line, message });
        }
        flows.sort_by_key(|flow| flow.start);
        Ok(FlowList { flows, has_deadlines: header.has("deadline_ns") })
    }
}

/// The columns' names, in the file's order.
struct Header<'a>(Vec<&'a str>);

impl<'a> Header<'a> {
    fn read(line: &'a str) -> Result<Header<'a>, String> {
        let names: Vec<&str> = line.split(',').map(str::trim).collect();
        let known = || format!("{}, and if wanted {}", REQUIRED.join(", "), OPTIONAL.join(", "));
        for (index, name) in names.iter().enumerate() {
            if !REQUIRED.contains(name) && !OPTIONAL.contains(name) {
                return Err(format!("unknown column `{name}`; the columns are {}", known()));
            }
            if names[..index].contains(name) {
                return Err(format!("the column `{name}` is there twice; leave one out"));
            }
        }
        match REQUIRED.iter().find(|name| !names.contains(name)) {
            Some(name) => Err(format!("no column `{name}`; the columns are {}", known())),
            None => Ok(Header(names)),
        }
    }

    fn has(&self, column: &str) -> bool {
        self.0.contains(&column)
    }

    fn flow(&self, row: &str, hosts: u32) -> Result<ListedFlow, String> {
        let fields: Vec<&str> = row.split(',').map(str::trim).collect();
        if fields.len() != self.0.len() {
            return Err(format!(
                "{} fields where the first line names {} columns",
                fields.len(),
                self.0.len()
            ));
        }
        // An optional column may be missing, or empty in a row.
        let field = |column: &str| {
            let index = self.0.iter().position(|name| *name == column)?;
            Some(fields[index]).filter(|field| !field.is_empty())
        };
        let required =
            |column: &str| field(column).ok_or_else(|| format!("`{column}` is empty; write a number"));
        let flow = ListedFlow {
            src: host(required("src")?, "src", hosts)?,
            dst: host(required("dst")?, "dst", hosts)?,
            size_bytes: whole(required("size_bytes")?, "size_bytes")?,
            start: time(required("start_ns")?, "start_ns")?,
            deadline: field("deadline_ns").map(|text| time(text, "deadline_ns")).transpose()?,
            class: field("class").map(class).transpose()?,
            port: None,
        };
        flow.check()?;
        Ok(flow)
    }
}

/// More bytes than a flow's packets can be numbered for, whatever their size of a usual one.
const MOST_BYTES: u64 = 1 << 40;

impl ListedFlow {
    /// What must hold of it, whatever the file.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.src == self.dst {
            return Err(format!("host {} would send to itself; write another `dst`", self.src));
        }
        if self.size_bytes == 0 {
            return Err("`size_bytes` is 0; a flow has at least one byte".to_owned());
        }
        if self.size_bytes > MOST_BYTES {
            return Err(format!("`size_bytes` is {}; write at most {MOST_BYTES}", self.size_bytes));
        }
        if self.deadline.is_some_and(|deadline| deadline <= self.start) {
            return Err(
                "`deadline_ns` is not after `start_ns`; write a point in time, as for the start".to_owned()
            );
        }
        Ok(())
    }
}

fn whole(text: &str, column: &str) -> Result<u64, String> {
    if text.starts_with('-') {
        return Err(format!("`{column}` is {text}; it cannot be negative"));
    }
    text.parse().map_err(|_| format!("`{column}` is `{text}`; write a whole number"))
}

fn host(text: &str, column: &str, hosts: u32) -> Result<HostId, String> {
    match whole(text, column)? {
        id if id < u64::from(hosts) => Ok(exact::<HostId>(id)),
        id => Err(format!("`{column}` is {id}; there is no such host, they are numbered 0 to {}", hosts - 1)),
    }
}

fn class(text: &str) -> Result<u8, String> {
    u8::try_from(whole(text, "class")?)
        .map_err(|_| format!("`class` is {text}; classes are numbered 0 to 255"))
}

/// Nanoseconds with up to three decimals, exactly.
fn time(text: &str, column: &str) -> Result<Time, String> {
    if text.starts_with('-') {
        return Err(format!("`{column}` is {text}; it cannot be negative"));
    }
    let malformed = || format!("`{column}` is `{text}`; write nanoseconds as a plain number, such as 1200.5");
    let (ns, decimals) = text.split_once('.').unwrap_or((text, ""));
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > 3 {
        return Err(format!(
            "`{column}` is {text}; time counts whole picoseconds: write three decimals at most"
        ));
    }
    let is_plain = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if ns.is_empty() || !is_plain(ns) || !is_plain(decimals) {
        return Err(malformed());
    }
    let ps = format!("{ns}{decimals:0<3}").parse::<u64>();
    ps.map(Time).map_err(|_| format!("`{column}` is {text}; time ends at {} ns", u64::MAX / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_in_any_order_and_rows_are_sorted_stably() {
        let text = "# replay\n size_bytes,start_ns, dst,src\n\n10,5,1,0\r\n20,1.25,2,1\n30,5.000,0,2\n";
        let list = FlowList::read(text, 3).unwrap();
        assert_eq!(list.flows.iter().map(|flow| flow.size_bytes).collect::<Vec<_>>(), [20, 10, 30]);
        assert_eq!((list.flows[0].src, list.flows[0].dst, list.flows[0].start), (1, 2, Time(1250)));
        assert!(!list.has_deadlines);
    }

    #[test]
    fn deadline_and_class_may_be_empty_in_a_row() {
        let text = "src,dst,size_bytes,start_ns,deadline_ns,class\n0,1,10,5,9.001,3\n0,1,10,6,,\n";
        let list = FlowList::read(text, 3).unwrap();
        assert_eq!((list.flows[0].deadline, list.flows[0].class), (Some(Time(9001)), Some(3)));
        assert_eq!((list.flows[1].deadline, list.flows[1].class), (None, None));
        assert!(list.has_deadlines);
    }

    #[test]
    fn a_fault_is_named_with_its_line_and_what_to_write() {
        let header = "src,dst,size_bytes,start_ns,deadline_ns,class\n";
        for (row, part) in [
            ("1,1,10,5,,", "would send to itself"),
            ("0,54,10,5,,", "`dst` is 54; there is no such host, they are numbered 0 to 53"),
            ("-1,2,10,5,,", "cannot be negative"),
            ("0,1,-10,5,,", "cannot be negative"),
            ("0,1,10,-5,,", "cannot be negative"),
            ("0,1,0,5,,", "at least one byte"),
            ("0,1,1.5,5,,", "write a whole number"),
            ("0,1,10,5e3,,", "plain number"),
            ("0,1,10,.5,,", "plain number"),
            ("0,1,10,1.0005,,", "three decimals at most"),
            ("0,1,10,99999999999999999999,,", "time ends at"),
            ("0,1,10,5,5,,", "7 fields where the first line names 6"),
            ("0,1,10,5,5,", "not after `start_ns`"),
            ("0,1,10,5,,256", "0 to 255"),
            ("0,1,,5,,", "`size_bytes` is empty"),
        ] {
            let error = FlowList::read(&format!("{header}0,1,10,5,,\n{row}\n"), 54).unwrap_err();
            assert_eq!(error.line, 3, "{row}: {}", error.message);
            assert!(error.message.contains(part), "{row}: {}", error.message);
        }
    }

    #[test]
    fn a_fault_in_the_header_is_named() {
        for (text, part) in [
            ("", "no flows; begin with"),
            ("src,dst,size_bytes\n", "no column `start_ns`"),
            ("src,dst,size,start_ns\n", "unknown column `size`"),
            ("src,dst,size_bytes,start_ns,src\n", "twice"),
            ("src,dst,size_bytes,start_ns\n", "no flows after"),
        ] {
            let error = FlowList::read(text, 54).unwrap_err();
            assert_eq!((error.line, error.message.contains(part)), (1, true), "{text}: {}", error.message);
        }
    }
}
