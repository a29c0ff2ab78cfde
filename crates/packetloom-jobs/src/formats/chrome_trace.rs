//! Timelines for Perfetto and Chrome: "Trace Event Format" (Google, 2016) as JSON.
//!
//! A rank is a process and a stream is a thread. Operations that overlap, which a viewer could not draw on one
//! thread, get more of them. Arrows go from each send to its receive.

use crate::job::{Program, Sizes, Span, Work};
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io::{Result, Write};

/// Threads of a rank have the numbers of their streams; what has no stream comes after the last of these.
const NO_STREAM: u64 = 1 << 16;
/// What overlaps has a number so much higher.
const LANE: u64 = 1 << 20;

/// Writes the operations of a run.
///
/// # Errors
/// Where `out` has one.
pub fn write(program: &Program, spans: &[Span], out: &mut impl Write) -> Result<()> {
    let mut spans: Vec<Span> = spans.to_vec();
    spans.sort_by_key(|span| (span.rank, span.start, span.operation));
    let mut events = Events { out, is_first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let threads = threads(&spans);
    let mut named = BTreeSet::new();
    for (span, &thread) in spans.iter().zip(&threads) {
        if named.insert((span.rank, None)) {
            let name = format!("rank {}", span.rank);
            events.name("process_name", span.rank, 0, &name)?;
        }
        if named.insert((span.rank, Some(thread))) {
            events.name("thread_name", span.rank, thread, &thread_name(thread))?;
        }
        events.operation(program, span, thread)?;
    }
    arrows(program, &spans, &threads, &mut events)?;
    events.out.write_all(b"]}\n")
}

fn thread_name(thread: u64) -> String {
    let (stream, lane) = (thread % LANE, thread / LANE);
    let name = if stream == NO_STREAM { "no stream".to_owned() } else { format!("stream {stream}") };
    if lane == 0 { name } else { format!("{name} ({})", lane + 1) }
}

/// The thread of each span: the first of its stream that is free.
fn threads(spans: &[Span]) -> Vec<u64> {
    #[derive(Default)]
    struct Lanes {
        busy: BinaryHeap<Reverse<(Time, u64)>>,
        free: BTreeSet<u64>,
        count: u64,
    }
    let mut lanes: BTreeMap<(u32, u64), Lanes> = BTreeMap::new();
    let mut place = |span: &Span| {
        let stream = span.stream.map_or(NO_STREAM, u64::from);
        let lanes = lanes.entry((span.rank, stream)).or_default();
        while let Some(&Reverse((end, lane))) = lanes.busy.peek()
            && end <= span.start
        {
            lanes.busy.pop();
            lanes.free.insert(lane);
        }
        let lane = lanes.free.pop_first().unwrap_or_else(|| {
            lanes.count += 1;
            lanes.count - 1
        });
        lanes.busy.push(Reverse((span.end, lane)));
        stream + LANE * lane
    };
    spans.iter().map(&mut place).collect()
}

/// An arrow for each message whose receive says from whom and with which tag: the k-th sent belongs to the k-th
/// received.
fn arrows<W: Write>(
    program: &Program,
    spans: &[Span],
    threads: &[u64],
    events: &mut Events<'_, W>,
) -> Result<()> {
    type Ends = (Vec<usize>, Vec<usize>);
    let mut channels: BTreeMap<(u32, u32, u32), Ends> = BTreeMap::new();
    for (index, span) in spans.iter().enumerate() {
        match work(program, span) {
            Some(Work::Send { peer, tag, .. }) => {
                channels.entry((span.rank, peer, tag)).or_default().0.push(index);
            }
            Some(Work::Receive { peer: Some(peer), tag: Some(tag), .. }) => {
                channels.entry((peer, span.rank, tag)).or_default().1.push(index);
            }
            _ => {}
        }
    }
    let pairs = channels.values().flat_map(|(sent, received)| sent.iter().zip(received));
    for (id, (&from, &to)) in pairs.enumerate() {
        events.arrow("s", id, spans[from].rank, threads[from], spans[from].start)?;
        events.arrow("f", id, spans[to].rank, threads[to], last_moment(&spans[to]))?;
    }
    Ok(())
}

/// A viewer looks for the slice around an arrow's end, in whole nanoseconds; at its very end there is none.
fn last_moment(span: &Span) -> Time {
    Time(span.end.as_ps().saturating_sub(1_000)).max(span.start)
}

fn work(program: &Program, span: &Span) -> Option<Work> {
    let rank = program.ranks.get(span.rank as usize)?;
    rank.operations().get(span.operation as usize).map(|operation| operation.work)
}

struct Events<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

impl<W: Write> Events<'_, W> {
    fn begin(&mut self) -> Result<()> {
        let between: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.out.write_all(between)
    }

    fn name(&mut self, what: &str, rank: u32, thread: u64, name: &str) -> Result<()> {
        self.begin()?;
        let name = quoted(name);
        write!(
            self.out,
            "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{rank},\"tid\":{thread},\"args\":{{\"name\":{name}}}}}"
        )
    }

    fn operation(&mut self, program: &Program, span: &Span, thread: u64) -> Result<()> {
        self.begin()?;
        let name = quoted(program.names.get(span.name as usize).map_or("", String::as_str));
        let (category, details) =
            work(program, span).map_or(("", String::new()), |work| about(program, work));
        let (start, duration) = (micros(span.start), micros(span.end.since(span.start)));
        let rank = span.rank;
        let operation = span.operation;
        write!(
            self.out,
            "{{\"ph\":\"X\",\"name\":{name},\"cat\":\"{category}\",\"pid\":{rank},\"tid\":{thread},\"ts\":{start},\
             \"dur\":{duration},\"args\":{{\"operation\":{operation}{details}}}}}"
        )
    }

    fn arrow(&mut self, phase: &str, id: usize, rank: u32, thread: u64, at: Time) -> Result<()> {
        self.begin()?;
        // An arrow ends at the slice that encloses its end, not at the one that begins next.
        let binding = if phase == "f" { "\"bp\":\"e\"," } else { "" };
        let at = micros(at);
        write!(
            self.out,
            "{{\"ph\":\"{phase}\",{binding}\"name\":\"message\",\"cat\":\"message\",\"id\":{id},\"pid\":{rank},\
             \"tid\":{thread},\"ts\":{at}}}"
        )
    }
}

/// What an operation is, and what else is to be said of it.
fn about(program: &Program, work: Work) -> (&'static str, String) {
    match work {
        Work::Compute { .. } => ("compute", String::new()),
        Work::Send { peer, bytes, tag } => {
            ("send", format!(",\"to\":{peer},\"bytes\":{bytes},\"tag\":{tag}"))
        }
        Work::Receive { peer, bytes, tag } => {
            let or_any =
                |number: Option<u32>| number.map_or("\"any\"".to_owned(), |number| number.to_string());
            let (peer, tag) = (or_any(peer), or_any(tag));
            ("receive", format!(",\"from\":{peer},\"bytes\":{bytes},\"tag\":{tag}"))
        }
        Work::Collective { operation, group, sizes } => {
            let ranks = program.groups.get(group as usize).map_or(0, Vec::len);
            let bytes = match sizes {
                Sizes::Whole(bytes) => bytes,
                Sizes::Matrix(place) => {
                    program.matrices.get(place as usize).map_or(0, |sizes| sizes.iter().sum())
                }
            };
            (operation.name(), format!(",\"group\":{group},\"ranks\":{ranks},\"bytes\":{bytes}"))
        }
    }
}

/// Microseconds, exactly: the format's unit, of which fractions may be written.
fn micros(time: Time) -> String {
    let (whole, fraction) = (time.as_ps() / 1_000_000, time.as_ps() % 1_000_000);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{fraction:06}").trim_end_matches('0').to_owned()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Operation, Rank};

    #[test]
    fn a_message_is_two_slices_and_an_arrow() {
        let mut program =
            Program { names: vec!["a \"send\"".to_owned(), "recv".to_owned()], ..Program::default() };
        let mut ranks = [Rank::default(), Rank::default()];
        let send = Work::Send { peer: 1, bytes: 8, tag: 3 };
        let receive = Work::Receive { peer: Some(0), bytes: 8, tag: Some(3) };
        ranks[0].add(Operation { work: send, stream: Some(2), name: 0 }, []);
        for _ in 0..2 {
            ranks[1].add(Operation { work: receive, stream: None, name: 1 }, []);
        }
        program.ranks = ranks.to_vec();
        let span = |rank, operation, start, end| Span {
            rank,
            operation,
            name: rank,
            start: Time(start),
            end: Time(end),
            stream: (rank == 0).then_some(2),
        };
        let spans =
            [span(1, 1, 1_000_000, 4_000_000), span(1, 0, 0, 2_500_001), span(0, 0, 1_500_000, 1_750_000)];
        let mut written = Vec::new();
        write(&program, &spans, &mut written).expect("room");
        let written = String::from_utf8(written).expect("a text");
        let parsed: serde_json::Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(parsed["traceEvents"].as_array().map(Vec::len), Some(10));
        let expected = r#"{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"rank 0"}},
{"ph":"M","name":"thread_name","pid":0,"tid":2,"args":{"name":"stream 2"}},
{"ph":"X","name":"a \"send\"","cat":"send","pid":0,"tid":2,"ts":1.5,"dur":0.25,"args":{"operation":0,"to":1,"bytes":8,"tag":3}},
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"rank 1"}},
{"ph":"M","name":"thread_name","pid":1,"tid":65536,"args":{"name":"no stream"}},
{"ph":"X","name":"recv","cat":"receive","pid":1,"tid":65536,"ts":0,"dur":2.500001,"args":{"operation":0,"from":0,"bytes":8,"tag":3}},
{"ph":"M","name":"thread_name","pid":1,"tid":1114112,"args":{"name":"no stream (2)"}},
{"ph":"X","name":"recv","cat":"receive","pid":1,"tid":1114112,"ts":1,"dur":3,"args":{"operation":1,"from":0,"bytes":8,"tag":3}},
{"ph":"s","name":"message","cat":"message","id":0,"pid":0,"tid":2,"ts":1.5},
{"ph":"f","bp":"e","name":"message","cat":"message","id":0,"pid":1,"tid":65536,"ts":2.499001}]}
"#;
        assert_eq!(written, expected);
    }
}
