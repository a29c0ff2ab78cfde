//! Settings that contradict each other, or exceed any memory: which are refused, and which only cause a warning.

use crate::common::write_file;
use packetloom::scenario::{Problems, Scenario};
use packetloom::simulation::check;
use std::path::Path;

/// A rack of 8 hosts with this scheme, run, and measure, and flows of this class.
fn scenario(scheme: &str, class: u8, rest: &str) -> String {
    format!(
        r#"
[topology]
kind = "rack"
hosts = 8
link = {{ rate = "10Gbps", delay = "1us" }}

[[workload]]
sizes = {{ kind = "constant", size = "10KB" }}
class = {class}

[[scheme]]
name = "A"
{scheme}

[run]
loads = [0.5]
flows = 1000
{rest}
"#
    )
}

fn read(text: &str) -> Result<Scenario, Problems> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let scenario = Scenario::from_toml(text, "test", directory)?;
    check(&scenario).map(|()| scenario)
}

fn said(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

fn with_queue(transport: &str, queue: &str) -> String {
    scenario(&format!("transport = \"{transport}\"\nqueue = {queue}"), 0, "")
}

#[test]
fn a_queue_without_room_for_a_packet_is_refused() {
    for (queue, key) in [
        (r#"{ kind = "drop-tail", capacity = "1KB" }"#, "capacity"),
        (r#"{ kind = "drop-tail", capacity = "0packets" }"#, "capacity"),
        (r#"{ kind = "drop-tail", pool = "1499B" }"#, "pool"),
        (r#"{ kind = "pfabric", capacity = "1499B" }"#, "capacity"),
        (r#"{ kind = "ndp", capacity = "1499B" }"#, "capacity"),
        (
            r#"{ kind = "classes", strict = 2, queue = { kind = "pfabric", capacity = "9B" } }"#,
            "queue.capacity",
        ),
        (
            r#"{ kind = "classes", strict = 2, port = { kind = "drop-tail", capacity = "9B" } }"#,
            "port.capacity",
        ),
    ] {
        let said = said(&with_queue("tcp", queue));
        let expected = format!(
            "test:14: scheme[0].queue.{key}: has no room for a full packet, which has 1500 B; write 1500B or more"
        );
        assert_eq!(said, expected, "{queue}");
    }
    let shared = said(&with_queue("bfc", r#"{ kind = "bfc", buffer = "1KB" }"#));
    assert!(shared.contains("queue.buffer: has no room for a full packet, which has 1048 B"), "{shared}");
    let nic = "transport = \"tcp\"\nqueue = \"drop-tail\"\nnic = { kind = \"drop-tail\", capacity = \"9B\" }";
    assert!(said(&scenario(nic, 0, "")).starts_with("test:15: scheme[0].nic.capacity: has no room"));
    read(&with_queue("tcp", r#"{ kind = "drop-tail", capacity = "1packets" }"#)).expect("room for one");
}

/// A run with them would not end.
#[test]
fn what_is_repeated_at_once_is_refused() {
    let queue = |parts: &str| format!("transport = \"dctcp\"\nqueue = {{ kind = \"egress\", {parts} }}");
    let transport = |parts: &str| format!("transport = {{ {parts} }}\nqueue = \"drop-tail\"");
    for (scheme, key) in [
        (queue("buffer = { kind = \"abm\", size = \"60KB\", interval = \"1ps\" }"), "queue.buffer.interval"),
        (queue("aqm = { kind = \"pie\", update = \"99ns\" }"), "queue.aqm.update"),
        (
            queue("scheduler = \"dual-queue\", aqm = { kind = \"dualpi2\", update = \"1ns\" }"),
            "queue.aqm.update",
        ),
        (transport("kind = \"min-tcp\", min_rto = \"1ps\""), "transport.min_rto"),
        (transport("kind = \"ndp\", rto = \"0us\""), "transport.rto"),
        (transport("kind = \"rcp\", rtt = \"1ps\""), "transport.rtt"),
    ] {
        let said = said(&scenario(&scheme, 0, ""));
        assert!(
            said.contains(&format!("{key}: is too short to be repeated: write at least 100ns")),
            "{said}"
        );
    }
}

#[test]
fn a_rule_of_admission_without_bytes_to_admit_into_is_refused() {
    for queue in [
        r#"{ kind = "drop-tail", admits = "until-full" }"#,
        r#"{ kind = "ecn", capacity = "80packets", admits = "until-full" }"#,
        r#"{ kind = "red", capacity = "300packets", admits = "until-full" }"#,
    ] {
        let said = said(&with_queue("dctcp", queue));
        assert!(said.contains("queue.admits: \"until-full\" is another rule only where"), "{said}");
    }
    read(&with_queue("tcp", r#"{ kind = "drop-tail", capacity = "9KB", admits = "until-full" }"#))
        .expect("a rule that counts");
}

#[test]
fn a_threshold_that_no_queue_reaches_is_refused() {
    for (queue, part) in [
        (
            r#"{ kind = "ecn", capacity = "20KB", mark_above = "30KB" }"#,
            "queue.mark_above: nothing is ever marked",
        ),
        (r#"{ kind = "ecn", capacity = "8packets", mark_above = "8packets" }"#, "write less than 12000B"),
        (r#"{ kind = "ecn", pool = "20KB", mark_above = "30KB" }"#, "and pool allows 20000 B"),
        (
            r#"{ kind = "red", capacity = "20KB", min = "20KB", max = "30KB" }"#,
            "queue.min: nothing is ever marked",
        ),
        (
            r#"{ kind = "classes", strict = 8, port = { kind = "ecn", capacity = "9KB", mark_above = "9KB" } }"#,
            "queue.port.mark_above: nothing is ever marked",
        ),
    ] {
        let said = said(&with_queue("dctcp", queue));
        assert!(said.contains(part), "{said}");
    }
    let red = with_queue("dctcp", r#"{ kind = "red", capacity = "100KB" }"#);
    assert_eq!(
        read(&red).expect("it may be meant").warnings,
        [
            "test:14: scheme[0].queue.max: 200000 B are never reached, as the capacity is 100000 B: not everything is ever marked"
        ]
    );
}

#[test]
fn a_class_that_the_queue_does_not_have_is_refused() {
    let two = "transport = \"tcp\"\nqueue = { kind = \"classes\", weights = [1, 2] }";
    read(&scenario(two, 1, "")).expect("the last class");
    assert_eq!(
        said(&scenario(two, 2, "")),
        "test:9: workload[0].class: the scheme \"A\" has a queue of 2 classes, 0 to 1; write 1 at most, or give the \
         queue more"
    );
    read(&scenario("transport = \"tcp\"\nqueue = \"drop-tail\"", 200, "")).expect("classes are not read");
    let weighted = "transport = { kind = \"numfabric\", weights = [1, 2.5] }\nqueue = \"weighted-fair\"";
    read(&scenario(weighted, 1, "")).expect("the last class");
    assert_eq!(
        said(&scenario(weighted, 2, "")),
        "test:9: workload[0].class: the scheme \"A\" has weights for 2 classes, 0 to 1; write 1 at most, or give it \
         more weights"
    );
}

#[test]
fn what_a_transport_goes_by_and_no_queue_does_is_told() {
    let warnings = |transport, queue| read(&with_queue(transport, queue)).expect("it may be meant").warnings;
    for transport in ["dctcp", "d2tcp"] {
        let expected = format!(
            "test:14: scheme[0].queue: {transport} goes by marks, and \"pfabric\" sets none; \"ecn\" does"
        );
        assert_eq!(warnings(transport, r#""pfabric""#), [expected]);
    }
    assert_eq!(
        warnings("ndp", r#""drop-tail""#),
        ["test:14: scheme[0].queue: ndp goes by trimmed packets, and \"drop-tail\" trims none; \"ndp\" does"]
    );
    assert_eq!(
        warnings("numfabric", r#""drop-tail""#),
        [
            "test:14: scheme[0].queue: numfabric goes by weights, and \"drop-tail\" knows none; \"weighted-fair\" does"
        ]
    );
    let few = r#"{ kind = "classes", strict = 3, port = "ecn" }"#;
    assert_eq!(
        warnings("pias", few),
        ["test:14: scheme[0].queue: pias sorts packets into 8 classes, and \"classes\" has 3; \
          { kind = \"classes\", strict = 8 } has all"]
    );
    assert_eq!(warnings("pias", r#""drop-tail""#).len(), 2);
    for (transport, queue) in [
        ("dctcp", r#""ecn""#),
        ("dctcp", r#""red""#),
        ("dctcp", r#"{ kind = "classes", strict = 2, queue = "ecn" }"#),
        ("pias", r#"{ kind = "classes", strict = 8, port = "ecn" }"#),
        ("ndp", r#"{ kind = "classes", strict = 2, queue = "ndp" }"#),
        ("tcp", r#""pfabric""#),
        ("numfabric", r#""weighted-fair""#),
        ("numfabric", r#"{ kind = "classes", weights = [1, 2], queue = "weighted-fair" }"#),
    ] {
        assert_eq!(warnings(transport, queue), [""; 0], "{transport}, {queue}");
    }
}

#[test]
fn what_no_memory_has_room_for_is_refused_by_arithmetic() {
    let tcp = |rest: &str| scenario("transport = \"tcp\"\nqueue = \"drop-tail\"", 0, rest);
    let sampled = said(&tcp("[measure]\nseries_interval = \"1ps\""));
    assert!(sampled.starts_with("test:20: measure.series_interval: 1ps makes "), "{sampled}");
    assert!(
        sampled.contains("samples of 16 ports") && sampled.contains("there is room for 100000000: write ")
    );
    read(&tcp("max_time = \"100s\"\n[measure]\nseries_interval = \"1us\"")).expect("a millisecond or so");
    let flows = said(&tcp("").replace("flows = 1000", "flows = 1000000000000000"));
    assert!(
        flows.contains("run.flows: 1000000000000000 flows, and memory for a record of each; write less than")
    );
    for (from, to, part) in [
        ("hosts = 8", "hosts = 1000000000", "hosts: 1000000000 is too many"),
        ("flows = 1000", "flows = 1000\nseeds = 1000000000", "run.seeds: 1000000000 seeds"),
        ("class = 0", "pattern = { kind = \"incast\", fan_in = 1000000000 }", "fan_in: 1000000000 senders"),
    ] {
        let said = said(&tcp("").replace(from, to));
        assert!(said.contains(part), "{said}");
    }
    let loads: Vec<String> = (1..=300_000).map(|load| format!("{}", f64::from(load) / 1e6)).collect();
    let many = said(&tcp("").replace("[0.5]", &format!("[{}]", loads.join(","))));
    assert!(many.contains("run.loads: 300000 cases at least; write at most 100000"), "{many}");
    let chains = "arrivals = { kind = \"closed\", concurrent = 60000 }";
    let closed = said(&tcp("").replace("class = 0", chains).replace("hosts = 8", "hosts = 1000"));
    assert!(closed.contains("arrivals.concurrent: 60000000 flows at once"), "{closed}");
}

#[test]
fn triggers_that_wait_for_each_other_are_told_with_their_lines() {
    write_file(
        "circle.cm",
        "Nodes 8\nConnections 2\nTriggers 2\n0->1 id 1 trigger 2 size 9 send_done_trigger 1\n\
         1->2 id 2 trigger 1 size 9 send_done_trigger 2\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n",
    );
    let text = scenario("transport = \"tcp\"\nqueue = \"drop-tail\"", 0, "").replace(
        "sizes = { kind = \"constant\", size = \"10KB\" }",
        "arrivals = { kind = \"htsim\", start_unit = \"ps\", file = \"circle.cm\" }",
    );
    let said = said(&text.replace("loads = [0.5]\n", ""));
    assert!(said.contains("circle.cm") && said.contains("triggers wait for each other"), "{said}");
}
