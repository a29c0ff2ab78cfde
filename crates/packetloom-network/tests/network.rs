//! A run that a caller drives: the bits of the same flows in a scenario, however far each call goes; what callers are told
//! in which order; and what callers get wrong.

use packetloom::flow::Flow;
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use packetloom_network::{Change, Error, Event, EventKind, Message, Network, Next, Options, open};
use std::path::Path;

const TOPOLOGY: &str = r#"
[topology]
kind = "fat-tree"
k = 4
link = { rate = "100Gbps", delay = "0.5us" }
"#;
const DCTCP: &str = r#"
[[scheme]]
name = "one"
transport = "dctcp"
queue = { kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }
"#;
const NDP: &str = r#"
[[scheme]]
name = "one"
transport = "ndp"
queue = "ndp"
routing = "spray-round-robin"
"#;
const DCQCN: &str = r#"
[[scheme]]
name = "one"
transport = "dcqcn"
queue = { kind = "shared-buffer", buffer = "1MB", ecn_min = "5KB", ecn_max = "200KB", ecn_probability = 0.01 }
"#;
const NSCC: &str = r#"
[[scheme]]
name = "one"
transport = { kind = "uec", control = "nscc" }
queue = { kind = "ndp", capacity = "178880B", header_capacity = "357760B", count_service = true, service = "strict", ecn_min = "37440B", ecn_max = "145600B" }
routing = "mixed"
"#;
const TRAFFIC: &str = r#"
[[workload]]
sizes = { kind = "exponential", mean = "60KB" }
[run]
loads = [0.7]
flows = 120
"#;
const TEN_US: Time = Time::from_us(10);

fn scenario(scheme: &str) -> Outcome {
    let text = format!("{TOPOLOGY}{scheme}{TRAFFIC}");
    let scenario = Scenario::from_toml(&text, "test", Path::new("")).expect("a sound scenario");
    let simulation = Simulation::new(scenario.cases().next().expect("a case")).expect("a sound case");
    simulation.with_audit(false).run(&Monitor::default()).expect("it runs")
}

fn network(scheme: &str, audit: bool) -> Network {
    of_threads(scheme, audit, 1)
}

fn of_threads(scheme: &str, audit: bool, threads: u32) -> Network {
    let options = Options { audit, threads, ..Options::default() };
    open(&format!("{TOPOLOGY}{scheme}"), &options).unwrap_or_else(|error| panic!("{error}"))
}

fn message(flow: &Flow, now: Time) -> Message {
    let Flow { id, src, dst, size_bytes: bytes, start, .. } = *flow;
    Message { src, dst, bytes, delay: start.since(now), user: u64::from(id), ..Message::default() }
}

/// Calls `next` until the end, each time for `step` at most; an event may be answered.
fn drive(network: &mut Network, step: Time, mut answer: impl FnMut(&mut Network, Event)) -> Vec<Event> {
    let (mut events, mut until) = (Vec::new(), step);
    loop {
        match network.next(until).expect("a sound run") {
            Next::Event(event) => {
                events.push(event);
                answer(network, event);
            }
            Next::Reached => {
                assert_eq!(network.now(), until);
                until = until.saturating_add(step);
            }
            Next::End => return events,
            Next::Stalled(why) => panic!("{why}"),
        }
    }
}

fn ports(outcome: &Outcome) -> Vec<[u64; 5]> {
    let of = |row: &packetloom::simulation::PortRow| {
        let counters = row.counters;
        [counters.packets, counters.bytes, counters.drops, counters.marks, row.carried.1]
    };
    outcome.ports.iter().map(of).collect()
}

fn assert_alike(one: &Outcome, other: &Outcome, what: &str) {
    assert_eq!(one.flows.len(), other.flows.len(), "{what}");
    assert_eq!(fingerprint(&one.flows), fingerprint(&other.flows), "{what}");
    assert_eq!(one.tally, other.tally, "{what}");
    assert_eq!(ports(one), ports(other), "{what}");
    assert_eq!(one.simulated, other.simulated, "{what}");
}

/// All messages are sent at once with their delays, or each at its own time by a timer; in one go, or in steps.
#[test]
fn a_driven_run_has_the_bits_of_the_same_flows_in_a_scenario() {
    for (name, scheme) in [("dctcp", DCTCP), ("ndp", NDP), ("dcqcn", DCQCN), ("nscc", NSCC)] {
        let whole = scenario(scheme);
        let flows: Vec<Flow> = whole.flows.iter().map(|row| row.flow).collect();
        let mut first: Option<Vec<Event>> = None;
        let runs = [(Time::NEVER, true, 1), (Time::from_us(1), false, 1), (Time(777_777), true, 2)];
        for (step, audit, threads) in runs {
            let mut network = of_threads(scheme, audit, threads);
            for flow in &flows {
                network.send(&message(flow, Time::ZERO)).expect("a sound message");
            }
            let events = drive(&mut network, step, |_, _| ());
            assert_eq!(events.len(), 2 * flows.len());
            assert!(events.is_sorted_by_key(|event| event.at));
            assert_alike(&whole, &network.finish().expect("a sound run").outcome, name);
            assert_eq!(*first.get_or_insert_with(|| events.clone()), events, "{name} in steps of {step}");
        }
        for (step, threads) in [(Time::NEVER, 2), (Time::from_us(1), 1)] {
            let mut network = of_threads(scheme, false, threads);
            for flow in &flows {
                network.timer(flow.start, u64::from(flow.id)).expect("a time to come");
            }
            let mut events = drive(&mut network, step, |network, event| {
                if event.kind == EventKind::Timer {
                    let flow = &flows[usize::try_from(event.user).expect("a flow")];
                    network.send(&message(flow, event.at)).expect("a sound message");
                }
            });
            assert_alike(&whole, &network.finish().expect("a sound run").outcome, name);
            events.retain(|event| event.kind != EventKind::Timer);
            assert_eq!(first.as_ref(), Some(&events), "{name} by timers");
        }
    }
}

/// Each message that is received has its receiver and a third host send at that very time.
#[test]
fn answers_start_at_the_time_of_what_they_answer_at_any_host_however_far_calls_go() {
    for scheme in [DCTCP, NDP, DCQCN, NSCC] {
        let runs = [Time::NEVER, Time::from_us(1)].map(|step| {
            let mut network = network(scheme, step == Time::NEVER);
            for src in 0..16 {
                let first = Message { src, dst: (src + 5) % 16, bytes: 30_000, ..Message::default() };
                network.send(&first).expect("a sound message");
            }
            let mut left = 100;
            let mut starts = Vec::new();
            let events = drive(&mut network, step, |network, event| {
                if event.kind != EventKind::Received || left == 0 {
                    return;
                }
                for src in [event.dst, (event.src + 7) % 16] {
                    let answer = Message { src, dst: (src + 3) % 16, bytes: 9_000, ..Message::default() };
                    starts.push((network.send(&answer).expect("a sound message"), event.at));
                }
                left -= 1;
            });
            let outcome = network.finish().expect("a sound run").outcome;
            for (id, at) in starts {
                assert_eq!(outcome.flows[id as usize].flow.start, at);
            }
            (events, fingerprint(&outcome.flows), outcome.tally, ports(&outcome))
        });
        assert!(runs[0] == runs[1], "{scheme}");
    }
}

#[test]
fn events_of_one_moment_come_in_the_order_in_which_they_were_made() {
    let mut network = network(DCTCP, true);
    let at = Time::from_us(3);
    let to_itself = Message { src: 4, dst: 4, bytes: 1 << 40, delay: at, ..Message::default() };
    let empty = Message { src: 1, dst: 2, bytes: 0, delay: at, tag: 7, channel: 8, user: 9, ..to_itself };
    network.timer(at, 1).expect("a time to come");
    assert_eq!(network.send(&to_itself), Ok(0));
    network.timer(at, 2).expect("a time to come");
    assert_eq!(network.send(&empty), Ok(1));
    let mut more = Some(());
    let events = drive(&mut network, Time::NEVER, |network, event| {
        if more.take().is_some() {
            assert_eq!(event.at, at);
            network.timer(at, 3).expect("now is not past");
        }
    });
    let seen: Vec<_> = events.iter().map(|event| (event.at, event.kind, event.user, event.tag)).collect();
    use EventKind::{Received, Sent, Timer};
    let expected = [
        (Timer, 1, 0),
        (Received, 0, 0),
        (Sent, 0, 0),
        (Timer, 2, 0),
        (Received, 9, 7),
        (Sent, 9, 7),
        (Timer, 3, 0),
    ];
    assert_eq!(seen, expected.map(|(kind, user, tag)| (at, kind, user, tag)));
    assert_eq!((events[4].channel, events[4].src, events[4].dst, events[4].bytes), (8, 1, 2, 0));
    assert_eq!(network.next(Time::NEVER), Ok(Next::End));
    assert!(network.finish().expect("a sound run").outcome.flows.is_empty());
}

#[test]
fn a_run_goes_on_after_its_end_and_can_be_ended_before_it() {
    let mut network = network(DCTCP, true);
    assert_eq!(network.next(Time::NEVER), Ok(Next::End));
    assert_eq!(network.now(), Time::ZERO);
    let large = Message { src: 0, dst: 15, bytes: 10_000_000, ..Message::default() };
    network.send(&large).expect("a sound message");
    assert_eq!(network.next(TEN_US), Ok(Next::Reached));
    assert_eq!(network.now(), TEN_US);
    let progress = network.progress(0).expect("it is being sent");
    assert!(progress.arrived_bytes > 0 && progress.in_flight_bytes > 0, "{progress:?}");
    assert!(progress.window_bytes.is_some_and(|window| window > 0.0));
    network.send(&Message { delay: Time::from_us(1_000_000), ..large }).expect("a sound message");
    assert_eq!(network.open_messages(), 2);
    let outcome = network.finish().expect("a sound run").outcome;
    assert_eq!((outcome.flows.len(), outcome.never_started, outcome.cancelled), (1, 1, false));
    assert_eq!(outcome.flows[0].delivered, Time::NEVER);
    assert_eq!(outcome.simulated, TEN_US + Time(1));
    assert!(outcome.flows[0].report.packets_sent > 10);
}

/// In steps of any length the run that is ended early is the same.
#[test]
fn a_run_that_is_ended_early_does_not_depend_on_windows() {
    let ends = [Time::NEVER, Time(333_333)].map(|step| {
        let mut network = network(NDP, true);
        for src in 0..15 {
            let incast = Message { src, dst: 15, bytes: 1_000_000, ..Message::default() };
            network.send(&incast).expect("a sound message");
        }
        let end = Time(7_654_321);
        let mut until = step.min(end);
        while until < end {
            assert_eq!(network.next(until), Ok(Next::Reached));
            until = until.saturating_add(step).min(end);
        }
        assert_eq!(network.next(end), Ok(Next::Reached));
        let outcome = network.finish().expect("a sound run").outcome;
        (fingerprint(&outcome.flows), outcome.tally.packet_hops, ports(&outcome))
    });
    assert!(ends[0] == ends[1]);
}

fn argument<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Argument(text)) => text,
        other => panic!("{other:?} is not refused"),
    }
}

#[test]
fn what_callers_get_wrong_is_refused_with_a_text_and_changes_nothing() {
    let mut network = network(DCTCP, true);
    let sound = Message { src: 0, dst: 1, bytes: 1_000, ..Message::default() };
    network.send(&sound).expect("a sound message");
    assert_eq!(network.next(TEN_US).map(|next| matches!(next, Next::Event(_))), Ok(true));
    let now = network.now();
    let wrong = [
        (Message { src: 16, ..sound }, "src: there is no host 16; write 0 to 15"),
        (Message { dst: u32::MAX, ..sound }, "dst: there is no host 4294967295; write 0 to 15"),
        (Message { bytes: 1 << 63, ..sound }, "bytes: 9223372036854775808 are more than a message may have"),
        (Message { bytes: u64::MAX, ..sound }, "bytes: 18446744073709551615 are more than"),
        (Message { delay: Time::NEVER, ..sound }, "a message at"),
        (Message { delay: Time(1 << 62), ..sound }, "write a time before"),
    ];
    for (message, text) in wrong {
        let refused = argument(network.send(&message));
        assert!(refused.contains(text), "{refused}");
    }
    assert!(argument(network.timer(Time(now.as_ps() - 1), 0)).contains("which has passed"));
    assert!(argument(network.timer(Time::NEVER, 0)).contains("write a time before"));
    assert!(argument(network.next(Time(now.as_ps() - 1))).contains("has passed"));
    assert_eq!(network.progress(77), None);
    assert_eq!(network.send(&sound), Ok(1));
    assert_eq!(drive(&mut network, Time::NEVER, |_, _| ()).len(), 3);
    assert_eq!(network.finish().expect("a sound run").outcome.flows.len(), 2);
}

fn refused(text: &str) -> String {
    match open(text, &Options::default()) {
        Err(Error::Scenario(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it is opened: {text}"),
    }
}

/// The bits of an incast, with parameters set at a time.
fn incast(scheme: &str, at: Time, change: Option<&Change<'_>>) -> String {
    let mut network = network(scheme, true);
    for src in 1..7 {
        network.send(&Message { src, bytes: 400_000, ..Message::default() }).expect("a sound message");
    }
    while network.now() < at {
        network.next(at).expect("a sound run");
    }
    change.into_iter().for_each(|change| network.set(change).expect("what can be set"));
    drive(&mut network, Time::LATEST, |_, _| {});
    fingerprint(&network.finish().expect("a sound run").outcome.flows).to_string()
}

#[test]
fn what_is_set_before_anything_happens_is_as_if_the_scenario_said_it() {
    let hosts: Vec<u32> = (0..16).collect();
    let switches: Vec<u32> = (16..36).collect();
    let all = Change { hosts: &hosts, switches: &switches, ..Change::default() };
    let cases = [
        (
            DCTCP,
            "mark_above = \"22.5KB\"",
            "mark_above = \"60KB\"",
            Change { queue: &[("mark_above", "60KB")], ..all },
        ),
        (DCTCP, "\"dctcp\"", "{ kind = \"dctcp\", g = 0.5 }", Change { transport: &[("g", "0.5")], ..all }),
        (
            DCQCN,
            "\"dcqcn\"",
            "{ kind = \"dcqcn\", byte_counter = \"100KB\" }",
            Change { transport: &[("byte_counter", "100KB")], ..all },
        ),
        (
            DCQCN,
            "probability = 0.01",
            "probability = 0.5",
            Change { queue: &[("ecn_probability", "0.5")], ..all },
        ),
    ];
    for (scheme, old, new, change) in cases {
        let written = incast(&scheme.replace(old, new), Time::ZERO, None);
        assert_eq!(incast(scheme, Time::ZERO, Some(&change)), written, "{new}");
        assert_ne!(incast(scheme, Time::ZERO, None), written, "{new}");
        assert_ne!(incast(scheme, Time::from_us(100), Some(&change)), written, "{new}, later");
    }
}

#[test]
fn what_can_not_be_set_is_refused_with_its_key_and_those_that_can() {
    let set = |scheme: &str, change: &Change<'_>| argument(network(scheme, false).set(change));
    let transport = |written| Change { hosts: &[0], transport: written, ..Change::default() };
    let text = set(NDP, &transport(&[("g", "1")]));
    assert!(text.starts_with("transport: \"ndp\" has no parameters that can be set"), "{text}");
    assert!(text.ends_with("those that do: dctcp, dcqcn"), "{text}");
    let text = set(DCTCP, &transport(&[("gain", "0.1")]));
    assert!(text.starts_with("transport.gain: unknown parameter that can be set"), "{text}");
    let text = set(DCTCP, &Change { hosts: &[16], ..transport(&[("g", "0.1")]) });
    assert_eq!(text, "there is no host 16; write 0 to 15");
    let text = set(DCTCP, &Change { switches: &[15], ..Change::default() });
    assert_eq!(text, "there is no switch 15; write 16 to 35");
}

#[test]
fn scenarios_that_no_caller_can_drive_are_refused_with_their_line() {
    let with = |scheme: &str, rest: &str| refused(&format!("{TOPOLOGY}{scheme}{rest}"));
    let cases = [
        (with(DCTCP, TRAFFIC), "scenario:12: workload: whoever opens a network sends its traffic"),
        (with(DCTCP, "[run]\nflows = 7"), "scenario:12: run.flows: whoever sends"),
        (with(DCTCP, "[run]\nduration = \"1ms\""), "scenario:12: run.duration: whoever sends"),
        (with(DCTCP, "[run]\nloads = [0.5]"), "scenario:12: run.loads: whoever sends"),
        (with(DCTCP, "[run]\nseeds = [1, 2]"), "this spans 2 cases"),
        (with(DCTCP, "[run]\nfidelity = \"flows\""), "run.fidelity"),
        (with(&DCTCP.replace("dctcp", "ideal"), ""), "scenario:9: scheme[0].transport"),
        (with(&DCTCP.replace("dctcp", "dctpc"), ""), "dctcp"),
        ("x".to_owned() + &refused("[topology"), "this is not TOML"),
        (refused("{"), "this is not TOML"),
        (refused(""), "topology"),
        (refused("workload = []"), "whoever opens a network"),
    ];
    let others: Vec<_> = cases.iter().filter(|(text, part)| !text.contains(part)).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn the_scenarios_end_is_the_end() {
    let text = format!("{TOPOLOGY}{DCTCP}[run]\nmax_time = \"10us\"\n");
    let mut network = open(&text, &Options { audit: true, ..Options::default() }).expect("a sound scenario");
    network.send(&Message { src: 0, dst: 1, bytes: 1 << 30, ..Message::default() }).expect("a sound message");
    network.timer(TEN_US, 0).expect("a time to come");
    assert_eq!(network.next(Time::from_us(4)), Ok(Next::Reached));
    assert_eq!(network.next(Time::NEVER), Ok(Next::End));
    assert_eq!(network.next(Time::NEVER), Ok(Next::End));
    let outcome = network.finish().expect("a sound run").outcome;
    assert_eq!((outcome.flows.len(), outcome.simulated), (1, TEN_US));
}

/// Nothing repairs what is lost on a link that is dead for good.
#[test]
#[ignore = "it takes a million events to be sure; tests/python/test_network.py has it with an optimised engine"]
fn a_message_that_never_ends_is_told_of_and_does_not_go_on_forever() {
    let rack = "[topology]\nkind = \"rack\"\nhosts = 4\n";
    let scheme = DCTCP.replace("\"dctcp\"", "{ kind = \"dctcp\", max_rto = \"1ms\" }");
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host0\", \"switch0\"]\nat = \"1us\"\n";
    let text = format!("{rack}{scheme}{fault}");
    let Ok(mut network) = open(&text, &Options { audit: true, ..Options::default() }) else {
        panic!("{}", refused(&text))
    };
    network.send(&Message { src: 0, dst: 1, bytes: 1 << 20, ..Message::default() }).expect("a sound message");
    let Next::Stalled(why) = network.next(Time::NEVER).expect("a sound run") else { panic!("it ended") };
    assert!(why.contains("no progress") && why.contains("flow 0 (host 0 to host 1)"), "{why}");
    let outcome = network.finish().expect("a sound run").outcome;
    assert!(outcome.stalled.is_some() && outcome.flows[0].delivered == Time::NEVER);
}
