//! Packets in pcapng files, as the simulator counts them and as tshark reads them.

use crate::common::{self, cases, run};
use packetloom::simulation::{Outcome, Simulation};
use std::path::Path;
use std::process::Command;

/// Eight senders to one host through a queue too short for them, with what every host sends captured.
fn incast(transport: &str, queue: &str, ports: &str) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 9

[[workload]]
sizes = {{ kind = "constant", size = "200KB" }}
arrivals = "at-once"
pattern = {{ kind = "incast", fan_in = 8, receiver = 0 }}
flows = 8

[[scheme]]
name = "any"
transport = {transport}
queue = {queue}
nic = "drop-tail"

[measure]
capture = {ports}
"#
    ))
}

const LOSSY: &str = r#"{ kind = "drop-tail", capacity = "30KB" }"#;
const SCHEMES: [(&str, &str); 4] = [
    (r#""tcp""#, LOSSY),
    (r#"{ kind = "tcp", fast_retransmit = false }"#, LOSSY),
    (r#""dctcp""#, r#"{ kind = "ecn", capacity = "30KB", mark_above = "25KB" }"#),
    (r#""ndp""#, r#""ndp""#),
];

#[test]
fn every_packet_of_a_chosen_port_is_there_once() {
    for (transport, queue) in SCHEMES {
        let outcome = incast(transport, queue, r#"["host3 to switch0", "switch0 to host0"]"#);
        let names: Vec<&str> = outcome.captures.iter().map(|capture| capture.name.as_str()).collect();
        assert_eq!(names, ["host3 to switch0", "switch0 to host0"]);
        for (capture, name) in outcome.captures.iter().zip([("host3", "switch0"), ("switch0", "host0")]) {
            let port = common::port(&outcome, name.0, name.1).counters;
            assert_eq!(capture.packets.len() as u64, port.packets, "{transport}");
            assert_eq!(
                capture.packets.iter().map(|packet| u64::from(packet.size_bytes)).sum::<u64>(),
                port.bytes
            );
            let in_turn = capture.packets.windows(2).all(|two| {
                let takes = outcome.topology.links[0].rate.time_for(two[0].size_bytes.into());
                two[0].at + takes <= two[1].at
            });
            assert!(in_turn, "{transport}");
        }
    }
}

#[test]
fn what_is_captured_changes_nothing() {
    for (transport, queue) in SCHEMES {
        let watched = incast(transport, queue, r#"["host", "switch"]"#);
        let plain = incast(transport, queue, "[]");
        assert_eq!((watched.flows, watched.tally), (plain.flows, plain.tally), "{transport}");
        assert!(plain.captures.is_empty());
    }
}

#[test]
fn a_port_that_there_is_not_is_told() {
    let toml = |ports: &str| {
        format!(
            "topology = {{ kind = \"rack\", hosts = 3 }}\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"1KB\" }}\n\
             arrivals = \"at-once\"\n[[scheme]]\nname = \"any\"\ntransport = \"tcp\"\nqueue = \"drop-tail\"\n\
             [measure]\ncapture = \"{ports}\"\n"
        )
    };
    let message = |ports| {
        let complaint = Simulation::new(cases(&toml(ports)).remove(0)).expect_err("no such port");
        format!("{}: {}", complaint.key, complaint.message)
    };
    assert!(message("host7").starts_with("measure.capture: no node is called \"host7\""));
    assert_eq!(
        message("host0 to host1"),
        "measure.capture: no link leads from host0 to host1; write neighbours"
    );
}

/// What tshark prints of a file, line by line.
fn tshark(file: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new("tshark").arg("-r").arg(file).args(arguments).output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
#[ignore = "runs tshark, where there is one; `make validate` does"]
fn tshark_reads_the_file_and_counts_the_same_retransmissions() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: there is no tshark here (Debian: apt install tshark)");
        return;
    }
    for (number, (transport, queue)) in SCHEMES.into_iter().enumerate() {
        // What each host sends is there once, before anything can be lost.
        let outcome = incast(transport, queue, r#"["host"]"#);
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capture-{number}.pcapng"));
        std::fs::write(&file, outcome.pcapng()).expect("a directory to write to");
        let frames: usize = outcome.captures.iter().map(|capture| capture.packets.len()).sum();
        assert_eq!(tshark(&file, &[]).len(), frames, "{transport}");
        let amiss = "_ws.malformed or ip.checksum.status == 0 or tcp.analysis.lost_segment or tcp.analysis.ack_lost_segment";
        let checked = ["-o", "ip.check_checksum:TRUE", "-Y", amiss];
        assert_eq!(tshark(&file, &checked), Vec::<String>::new(), "{transport}");
        let fields = [
            "-c",
            "1",
            "-T",
            "fields",
            "-e",
            "frame.interface_name",
            "-e",
            "ip.src",
            "-e",
            "ip.dst",
            "-e",
            "frame.len",
        ];
        println!("{:?}", tshark(&file, &fields));
        let again = "tcp.analysis.retransmission or tcp.analysis.fast_retransmission or \
                     tcp.analysis.spurious_retransmission or tcp.analysis.out_of_order";
        let counted = tshark(&file, &["-Y", again]).len() as u32;
        let is_tcp = transport != SCHEMES[3].0;
        let retransmissions: u32 = outcome.flows.iter().map(|row| row.report.retransmissions).sum();
        assert!(retransmissions > 20, "{transport}: {retransmissions}");
        assert_eq!(counted, if is_tcp { retransmissions } else { 0 }, "{transport}");
        let protocol = if is_tcp { "tcp" } else { "udp" };
        assert_eq!(tshark(&file, &["-Y", protocol]).len(), frames, "{transport}");
        // What Wireshark calls bytes in order is the flows' bytes.
        let bytes: u64 = tshark(&file, &["-Y", "tcp.len > 0", "-T", "fields", "-e", "tcp.len"])
            .iter()
            .map(|length| length.parse::<u64>().expect("a length"))
            .sum();
        if is_tcp {
            let sent: u64 = outcome.captures[1..]
                .iter()
                .flat_map(|capture| &capture.packets)
                .map(|packet| u64::from(packet.size_bytes) - 40)
                .sum();
            assert_eq!(bytes, sent, "{transport}");
        }
    }
}
