//! What a run did, as a table: what each sender received, its state then, what it sent, and what became of that.

use crate::common;
use crate::settings::Setting;
use crate::watched::{Cause, Step};
use packetloom::flow::FlowId;
use packetloom::measure::FlowRow;
use packetloom::packet::Kind;
use packetloom::record::{Captured, Segment};
use packetloom::simulation::Outcome;
use packetloom::transport::Sending;
use packetloom::units::Time;
use std::collections::BTreeMap;

const LEGEND: &str = "\
# event: why the sender was called. window in packets, rate in Gb/s, queue: what waits before the link to host 0.
# sent: numbers of packets; (7): again. Of what became of it: 7m was marked there, 7t trimmed, 7d dropped.
";

/// A data packet at its host's link, and what became of it.
struct Sent {
    flow: FlowId,
    /// Of a scheme that reports it.
    number: Option<u32>,
    at: Time,
    became: &'static str,
}

/// The whole table. `steps` are those of a transport that was observed, if it could be.
pub fn of(setting: &Setting, outcome: &Outcome, steps: Option<&[Step]>) -> String {
    let mut sent = sent(setting, outcome);
    let mut rows: Vec<(Time, String)> = Vec::new();
    match steps {
        Some(steps) => rows.extend(steps.iter().filter_map(|step| row(step, &mut sent, setting, outcome))),
        None => rows.extend(sent.drain(..).map(|sent| {
            let event = format!("{:12}", "");
            (
                sent.at,
                line(
                    sent.at,
                    sent.flow,
                    &event,
                    None,
                    queue(setting, outcome, sent.at),
                    &token(&sent, false),
                ),
            )
        })),
    }
    rows.extend(words(outcome));
    rows.sort_by_key(|(at, _)| *at);
    let heading = "     time_us flow event        acked in_flight  window    rate   queue_B  sent\n";
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    let flows: String = outcome.flows.iter().map(summary).collect();
    format!("{LEGEND}{}\n{heading}{rows}\n{flows}", commented(&setting.toml()))
}

fn commented(toml: &str) -> String {
    toml.lines().filter(|line| !line.starts_with("capture")).map(|line| format!("# {line}\n")).collect()
}

fn us(at: Time) -> String {
    format!("{:.3}", at.as_ns_f64() / 1e3)
}

fn line(
    at: Time,
    flow: FlowId,
    event: &str,
    state: Option<Sending>,
    queue: Option<u64>,
    sent: &str,
) -> String {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let line = format!(
        "{:>12} {flow:4} {event:12} {:>5} {:>9} {:>7} {:>7} {:>9}  {sent}",
        us(at),
        or_dash(state.map(|state| state.acknowledged.to_string())),
        or_dash(state.map(|state| state.in_flight.to_string())),
        or_dash(state.and_then(|state| state.window).map(|window| format!("{window:.2}"))),
        or_dash(state.and_then(|state| state.rate).map(|rate| format!("{:.2}", rate.as_bps() as f64 / 1e9))),
        or_dash(queue.map(|bytes| bytes.to_string())),
    );
    line.trim_end().to_owned() + "\n"
}

/// A step's row; none where the step concerns another flow's turn and changed nothing to be seen.
fn row(step: &Step, sent: &mut Vec<Sent>, setting: &Setting, outcome: &Outcome) -> Option<(Time, String)> {
    let event = match step.cause {
        Cause::Start => "start".to_owned(),
        Cause::Timer(_) if step.after == Some(step.before) => return None,
        Cause::Timer(_) => "timer".to_owned(),
        Cause::Packet { kind: Kind::Ack, .. } => "answer".to_owned(),
        Cause::Packet { kind: Kind::Returned, .. } => "returned".to_owned(),
        Cause::Packet { .. } => "control".to_owned(),
    };
    let mut tokens = Vec::new();
    let again = step.sent_again();
    for nth in 0..step.sent() {
        let place = sent.iter().position(|one| one.flow == step.flow)?;
        let one = sent.remove(place);
        // What goes again goes first.
        tokens.push(token(&one, nth < again));
    }
    if step.after.is_none() {
        tokens.push("(done)".to_owned());
    }
    let queue = queue(setting, outcome, step.at);
    Some((step.at, line(step.at, step.flow, &event, step.after, queue, &tokens.join(" "))))
}

fn token(sent: &Sent, again: bool) -> String {
    let became = sent.became;
    match sent.number {
        None => "data".to_owned(),
        Some(number) if again => format!("({number}){became}"),
        Some(number) => format!("{number}{became}"),
    }
}

/// What waited before the link to host 0, as sampled last.
fn queue(setting: &Setting, outcome: &Outcome, at: Time) -> Option<u64> {
    let port = common::port(outcome, setting.last_switch(), "host0");
    let samples = port.queue.as_ref()?.samples();
    samples.take_while(|(sampled_at, _)| *sampled_at <= at).last().map(|(_, bytes)| bytes)
}

/// Data packets of all hosts, in the order in which they left, with what became of each before the link to host 0.
fn sent(setting: &Setting, outcome: &Outcome) -> Vec<Sent> {
    let last_link = format!("{} to host0", setting.last_switch());
    let (passed, left): (Vec<_>, Vec<_>) =
        outcome.captures.iter().partition(|capture| capture.name == last_link);
    let data = |packet: &&Captured| matches!(packet.kind, Kind::Data | Kind::Trimmed);
    let left = left.iter().flat_map(|capture| &capture.packets).filter(data);
    let mut sent: Vec<Sent> = left
        .map(|packet| Sent { flow: packet.flow, number: number(packet), at: packet.at, became: "d" })
        .collect();
    sent.sort_by_key(|one| (one.at, one.flow));
    let mut waiting: BTreeMap<(FlowId, Option<u32>), Vec<usize>> = BTreeMap::new();
    for (place, one) in sent.iter().enumerate() {
        waiting.entry((one.flow, one.number)).or_default().push(place);
    }
    for packet in passed.iter().flat_map(|capture| &capture.packets).filter(data) {
        // The latest of those that left before is the one that got here.
        let places = waiting.get_mut(&(packet.flow, number(packet))).expect("what passes was sent");
        let before =
            places.iter().rposition(|&place| sent[place].at < packet.at).expect("it was sent before");
        sent[places.remove(before)].became = match (packet.kind, packet.ecn) {
            (Kind::Trimmed, _) => "t",
            (_, 3) => "m",
            _ => "",
        };
    }
    sent
}

fn number(packet: &Captured) -> Option<u32> {
    match packet.segment {
        Segment::Data { seq } => Some(seq),
        _ => None,
    }
}

/// Rows of what senders sent beside data: requests, probes and the like.
fn words(outcome: &Outcome) -> impl Iterator<Item = (Time, String)> {
    let senders = outcome.captures.iter().filter(|capture| capture.name.starts_with("host"));
    let words = senders.flat_map(|capture| &capture.packets).filter(|packet| packet.kind == Kind::Control);
    words.map(|packet| (packet.at, line(packet.at, packet.flow, "", None, None, "control")))
}

fn summary(row: &FlowRow) -> String {
    let or_never = |at: Time| if at == Time::NEVER { "never".to_owned() } else { us(at) };
    let report = row.report;
    format!(
        "flow {}: {} B, start {}, delivered {}, closed {}; sent {}, again {}, timeouts {}, trims {}, returns {}{}\n",
        row.flow.id,
        row.flow.size_bytes,
        us(row.flow.start),
        or_never(row.delivered),
        or_never(row.closed),
        report.packets_sent,
        report.retransmissions,
        report.timeouts,
        report.trims,
        report.returns,
        if report.given_up { ", given up" } else { "" },
    )
}
