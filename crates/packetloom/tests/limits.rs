//! What is too large to be numbered is refused, and what is only large goes well.

use crate::common::{cases, fct, run};
use packetloom::simulation::Simulation;
use packetloom::units::Time;

fn scenario(sizes: &str, transport: &str, queue: &str, delay: &str, rest: &str) -> String {
    format!(
        r#"
[topology]
kind = "rack"
hosts = 2
link = {{ rate = "10Gbps", delay = "{delay}" }}

[[workload]]
sizes = {sizes}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 1, dst = 0 }}

[[scheme]]
name = "it"
transport = {transport}
queue = {queue}

[run]
flows = 1
{rest}
"#
    )
}

/// 6.3 TB are more packets of 1460 B than 32 bits number.
#[test]
fn flows_of_more_packets_than_senders_number_are_refused() {
    let shared = r#"{ kind = "shared-buffer", buffer = "1MB" }"#;
    let daq = r#""daq""#;
    for (transport, queue) in [
        ("tcp", r#""drop-tail""#),
        ("mptcp", r#""drop-tail""#),
        ("line-rate", r#""drop-tail""#),
        ("rcp", r#""drop-tail""#),
        ("numfabric", r#""weighted-fair""#),
        ("daq", daq),
        ("phost", r#""drop-tail""#),
        ("fastpass", r#""drop-tail""#),
        ("dcqcn", shared),
    ] {
        let toml = scenario(
            "{ kind = \"constant\", size = \"6300GB\" }",
            &format!("\"{transport}\""),
            queue,
            "0.4us",
            "max_time = \"1ms\"",
        );
        let why = Simulation::new(cases(&toml).remove(0)).err().unwrap_or_else(|| panic!("{transport}"));
        assert_eq!(why.key, "workload[0].sizes", "{transport}: {}", why.message);
        assert!(
            why.message.contains("6300000000000 B") && why.message.contains("2147483647"),
            "{}",
            why.message
        );
    }
    // The largest that is not.
    let most = "{ kind = \"constant\", size = \"3135326124620B\" }";
    let toml = scenario(most, "\"tcp\"", r#""drop-tail""#, "0.4us", "max_time = \"1ms\"");
    let outcome = run(&toml);
    assert!(outcome.flows[0].report.packets_sent > 300, "{:?}", outcome.flows[0].report);
    // Models without packets number none.
    for rest in ["fidelity = \"flows\"", ""] {
        let transport = if rest.is_empty() { "\"max-min\"" } else { "\"tcp\"" };
        let toml = scenario(
            "{ kind = \"constant\", size = \"6300GB\" }",
            transport,
            r#""drop-tail""#,
            "0.4us",
            rest,
        );
        let row = run(&toml).flows[0];
        assert!(fct(&row) > Time::from_us(5_040_000_000), "{row:?}");
        assert!(row.slowdown().is_some_and(|slowdown| (0.99..1.1).contains(&slowdown)), "{row:?}");
    }
}

#[test]
fn sizes_that_may_be_drawn_are_bounded_too() {
    let refused = |sizes: &str| {
        let toml = scenario(sizes, "\"tcp\"", r#""drop-tail""#, "0.4us", "max_time = \"1ms\"");
        Simulation::new(cases(&toml).remove(0)).err().map(|why| why.key)
    };
    let key = Some("workload[0].sizes".to_owned());
    assert_eq!(refused(r#"{ kind = "exponential", mean = "100GB" }"#), key);
    assert_eq!(refused(r#"{ kind = "exponential", mean = "80GB" }"#), None);
    assert_eq!(refused(r#"{ kind = "uniform", minimum = "1KB", maximum = "4000GB" }"#), key);
    assert_eq!(refused(r#"{ kind = "pareto", shape = 1.1, minimum = "1KB", maximum = "4000GB" }"#), key);
    assert_eq!(refused(r#"{ kind = "pareto", shape = 1.1, minimum = "1KB" }"#), None, "its tail is cut off");
    // At once, not after as many sums as there are packets.
    let points = "points = [[1, 0], [1000, 0.5], [9e15, 1]]";
    assert_eq!(refused(&format!("{{ kind = \"cdf\", {points} }}")), key);
    let rounded = "rounding = \"up-to-packets\", packet = \"1000000GB\"";
    assert_eq!(refused(&format!("{{ kind = \"cdf\", name = \"web-search\", {rounded} }}")), key);
}

/// A window as long as such a link would not fit into what an arrival keeps of its time.
#[test]
fn links_as_long_as_half_a_minute_carry_packets() {
    let rest = "max_time = \"1000s\"";
    let transport = r#"{ kind = "fixed-window", min_rto = "500s", max_rto = "500s" }"#;
    let toml =
        scenario("{ kind = \"constant\", size = \"2920B\" }", transport, r#""drop-tail""#, "30s", rest);
    let row = run(&toml).flows[0];
    // Two packets of 1500 B over two links.
    assert_eq!(fct(&row), Time::from_us(60_000_000) + Time::from_ns(3 * 1_200));
}

#[test]
fn times_that_could_not_be_added_are_refused() {
    let text = scenario("{ kind = \"constant\", size = \"1KB\" }", "\"tcp\"", r#""drop-tail""#, "0.4us", "");
    let text = text.replace("flows = 1", "flows = 1\nmax_time = \"4700000s\"");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let why = packetloom::scenario::Scenario::from_toml(&text, "test", folder).expect_err("it is too long");
    let why = why.to_string();
    assert!(why.contains("max_time") && why.contains("the most is 4611686018427387904 picoseconds"), "{why}");
}
