//! Ports that are served lazily while no link can be paused or resumed, against all ports in order of time: the same bits.
//! A watchdog has a switch serve them in order, even if its time never comes.

use super::{STAR, TWO_TIERS, incast, scenario};
use crate::common::run;
use packetloom::measure::fingerprint;
use packetloom::simulation::Outcome;

/// All that a run tells of flows, packets, ports and pauses; what a watchdog looks at counts as an event.
fn told(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let ports = outcome.ports.iter().map(|port| format!("{:?} {:?}", port.counters, port.pauses));
    (fingerprint(&outcome.flows), outcome.tally.packet_hops, ports.collect::<Vec<_>>())
}

const WEB_SEARCH: &str = "[[workload]]\nsizes = \"web-search\"\n";

#[test]
fn ports_served_lazily_send_the_same_packets_at_the_same_times() {
    let pair = incast(2, "30KB", 3) + &incast(2, "30KB", 3);
    let many = incast(11, "300KB", 3);
    let marks = r#", ecn_min = "10KB", ecn_max = "100KB""#;
    let cases = [
        // Never paused; paused now and then; paused nearly always.
        (TWO_TIERS, WEB_SEARCH, format!(r#", buffer = "32MiB"{marks}"#), "loads = [0.7]\nflows = 200\n"),
        (TWO_TIERS, WEB_SEARCH, format!(r#", buffer = "3MiB"{marks}"#), "loads = [0.7]\nflows = 200\n"),
        (STAR, &pair, r#", buffer = "8MiB""#.to_owned(), ""),
        (STAR, &many, r#", buffer = "2MiB""#.to_owned(), ""),
        (TWO_TIERS, &many, r#", buffer = "8MiB", pause_above = "30KB""#.to_owned(), ""),
        (TWO_TIERS, &many, r#", buffer = "8MiB", ties = "ns-3""#.to_owned(), ""),
        (STAR, &many, r#", buffer = "8MiB", lossless = [4]"#.to_owned(), ""),
    ];
    for (topology, workload, queue, ends) in cases {
        for transport in ["roce", "dcqcn", "hpcc", "powertcp"] {
            let with = |watchdog: &str| {
                let toml = scenario(topology, workload, &format!("{queue}{watchdog}"));
                let transport = format!("{{ kind = {transport:?}, rto = \"1ms\" }}");
                let line_rate = &toml[toml.find("{ kind = \"line-rate\"").expect("it is there")..];
                let line_rate = &line_rate[..=line_rate.find('}').expect("it ends")];
                run(&(toml.replace(line_rate, &transport) + ends + "max_time = \"20ms\"\n"))
            };
            let (lazily, in_order) = (with(""), with(r#", watchdog = "10s""#));
            assert_eq!(told(&lazily), told(&in_order), "{transport}: {queue}");
        }
    }
}
