//! What it costs to drive a run through the C library: CPU time and memory, beside the same flows in a scenario. Each is
//! a process of its own, since memory that was free once is not given back.
//!
//!     cargo run --release -p packetloom-c --example c_overhead -- scenario HOSTS MESSAGES BYTES FILE
//!     cargo run --release -p packetloom-c --example c_overhead -- library HOSTS MESSAGES BYTES FILE
//!
//! The first writes its flows to FILE, the second sends them, each at its time. `table` instead of `library` also
//! writes the table of messages to nowhere.

#![allow(unsafe_code)]

use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Simulation};
use packetloom_c::boundary::{
    CEvent, CMessage, packetloom_close, packetloom_finish, packetloom_next, packetloom_open, packetloom_send,
    packetloom_timer,
};
use std::ffi::CString;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::ptr::{null, null_mut};

/// The CPU time of this process in seconds, and the most memory that it had in MB, by Linux.
fn used() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kib: f64 = peak.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
    ((ticks(11) + ticks(12)) / 100.0, kib * 1024.0 / 1e6)
}

fn network(hosts: u32) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = {}\nhosts_per_leaf = 16\nspines = 16\n\
         [[scheme]]\nname = \"one\"\ntransport = \"dctcp\"\nqueue = {{ kind = \"ecn\", capacity = \"225KB\", mark_above = \"65KB\" }}\n",
        hosts / 16
    )
}

/// Runs the scenario, and writes its flows.
fn scenario(hosts: u32, messages: u32, bytes: u32, file: &str) -> Option<()> {
    let traffic = format!(
        "[[workload]]\nsizes = {{ kind = \"exponential\", mean = \"{bytes}B\" }}\n[run]\nloads = [0.5]\nflows = {messages}\n"
    );
    let scenario = Scenario::from_toml(&(network(hosts) + &traffic), "it", Path::new("")).ok()?;
    let simulation = Simulation::new(scenario.cases().next()?).ok()?;
    let outcome = simulation.with_audit(false).run(&Monitor::default()).ok()?;
    let (cpu_s, peak_mb) = used();
    println!("scenario: {} packet-hops, {cpu_s:.2} s, {peak_mb:.0} MB", outcome.tally.packet_hops);
    let mut out = BufWriter::new(File::create(file).ok()?);
    for row in &outcome.flows {
        let flow = row.flow;
        for number in [u64::from(flow.src), u64::from(flow.dst), flow.size_bytes, flow.start.as_ps()] {
            out.write_all(&number.to_le_bytes()).ok()?;
        }
    }
    out.flush().ok()
}

/// The next flow of a file: when it starts, and what is sent.
fn next_flow(file: &mut impl Read) -> Option<(u64, CMessage)> {
    let mut number = || {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes).ok().map(|()| u64::from_le_bytes(bytes))
    };
    let (src, dst) = (u32::try_from(number()?).ok()?, u32::try_from(number()?).ok()?);
    let message = CMessage { src, dst, bytes: number()?, ..CMessage::default() };
    Some((number()?, message))
}

/// Sends a scenario's flows.
fn library(hosts: u32, at_once: usize, file: &str, writes_table: bool) -> Option<()> {
    let mut flows = BufReader::new(File::open(file).ok()?);
    let (text, nowhere) = (CString::new(network(hosts)).ok()?, c"/dev/null");
    let (mut handle, mut event, mut events, mut batch) = (0, CEvent::default(), 0_u64, Vec::new());
    // SAFETY: texts that end with zero, and room for all results.
    let opened = unsafe { packetloom_open(text.as_ptr(), null(), 0, &mut handle) };
    assert_eq!(opened, 0, "the scenario is sound");
    let mut next = next_flow(&mut flows);
    let start = next.map_or(0, |(start, _)| start);
    // SAFETY: as above.
    assert_eq!(unsafe { packetloom_timer(handle, start, 0, null_mut()) }, 0);
    // SAFETY: as above.
    while unsafe { packetloom_next(handle, u64::MAX, &mut event) } < 4 {
        events += 1;
        if event.kind != 3 {
            continue;
        }
        batch.clear();
        while let Some((start, message)) = next
            && (start <= event.at_ps || batch.len() < at_once)
        {
            batch.push(CMessage { delay_ps: start - event.at_ps, ..message });
            next = next_flow(&mut flows);
        }
        // SAFETY: as above.
        assert_eq!(unsafe { packetloom_send(handle, batch.as_ptr(), batch.len(), null_mut()) }, 0);
        if let Some((start, _)) = next {
            // SAFETY: as above.
            assert_eq!(unsafe { packetloom_timer(handle, start, 0, null_mut()) }, 0);
        }
    }
    let (cpu_s, peak_mb) = used();
    println!("library: {events} events, {cpu_s:.2} s, {peak_mb:.0} MB until all is over");
    // SAFETY: as above.
    let ended = match writes_table {
        true => unsafe { packetloom_finish(handle, nowhere.as_ptr()) },
        false => packetloom_close(handle),
    };
    let (cpu_s, peak_mb) = used();
    println!("library: {cpu_s:.2} s, {peak_mb:.0} MB in all");
    (ended == 0).then_some(())
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse::<u32>().ok());
    let done = match (words.first().map(String::as_str), number(1), number(2), number(3), words.get(4)) {
        (Some("scenario"), Some(hosts), Some(messages), Some(bytes), Some(file)) => {
            scenario(hosts, messages, bytes, file)
        }
        (Some(what @ ("library" | "table")), Some(hosts), Some(at_once), Some(_), Some(file)) => {
            library(hosts, at_once as usize, file, what == "table")
        }
        _ => None,
    };
    assert!(done.is_some(), "write `scenario` or `library`, HOSTS MESSAGES BYTES FILE");
}
