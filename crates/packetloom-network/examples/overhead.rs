//! What it costs to drive a run: the CPU time of the same flows in a scenario, and sent through the library, in turn.
//!
//!     cargo run --release -p packetloom-network --example overhead -- HOSTS MESSAGES BYTES TURNS

use packetloom::flow::Flow;
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Simulation};
use packetloom::units::Time;
use packetloom_network::{EventKind, Message, Next, Options, open};
use std::path::Path;

/// The CPU time of this process in seconds, by Linux.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [hosts, messages, bytes, turns] = numbers[..] else {
        return eprintln!("write four numbers: HOSTS MESSAGES BYTES TURNS");
    };
    let network = format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = {}\nhosts_per_leaf = 16\nspines = 16\n\
         [[scheme]]\nname = \"one\"\ntransport = \"dctcp\"\nqueue = {{ kind = \"ecn\", capacity = \"225KB\", mark_above = \"65KB\" }}\n",
        hosts / 16
    );
    let traffic = format!(
        "[[workload]]\nsizes = {{ kind = \"exponential\", mean = \"{bytes}B\" }}\n[run]\nloads = [0.5]\nflows = {messages}\n"
    );
    for turn in 0..turns {
        let scenario =
            Scenario::from_toml(&(network.clone() + &traffic), "it", Path::new("")).expect("sound");
        let simulation = Simulation::new(scenario.cases().next().expect("a case")).expect("sound");
        let before = cpu_s();
        let outcome = simulation.with_audit(false).run(&Monitor::default()).expect("it runs");
        let of_scenario = cpu_s() - before;
        let flows: Vec<Flow> = outcome.flows.iter().map(|row| row.flow).collect();
        let wanted = fingerprint(&outcome.flows);
        drop(outcome);
        // Each flow is sent when a timer says that it is time.
        let mut driven = open(&network, &Options::default()).expect("sound");
        let before = cpu_s();
        let (mut next, mut events) = (0, 0_u64);
        driven.timer(flows[0].start, 0).expect("to come");
        while let Next::Event(event) = driven.next(Time::NEVER).expect("sound") {
            events += 1;
            while event.kind == EventKind::Timer && flows.get(next).is_some_and(|flow| flow.start <= event.at)
            {
                let Flow { src, dst, size_bytes: bytes, .. } = flows[next];
                driven.send(&Message { src, dst, bytes, ..Message::default() }).expect("sound");
                next += 1;
            }
            if event.kind == EventKind::Timer && next < flows.len() {
                driven.timer(flows[next].start, 0).expect("to come");
            }
        }
        let finished = driven.finish().expect("sound");
        let of_library = cpu_s() - before;
        assert_eq!(fingerprint(&finished.outcome.flows), wanted);
        let hops = finished.outcome.tally.packet_hops;
        println!(
            "turn {turn}: {hops} packet-hops, {events} events; scenario {of_scenario:.2} s, library {of_library:.2} s, \
             {:.3} times",
            of_library / of_scenario
        );
    }
}
