//! Queueing theory and the theory of congestion control: known figures, measured.

use crate::common::{fct, mean, port, run, utilisation};
use packetloom::simulation::Outcome;
use packetloom::units::Rate;

const LINK: Rate = Rate::from_gbps(10);

/// One-packet flows of `sizes` from one host to another, Poisson. The hosts' links are so fast that nothing waits
/// there: the queue is a switch's port to a 10 Gb/s link.
fn one_port(sizes: &str, queue: &str, flows_per_second: f64, flows: u32) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "1000Gbps", delay = "0us" }}
link = {{ rate = "10Gbps", delay = "1us" }}

[[workload]]
sizes = {sizes}
arrivals = {{ kind = "poisson", rate_per_second = {flows_per_second} }}
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "one port"
transport = "fixed-window"
queue = {queue}
nic = "drop-tail"

[run]
flows = {flows}

[measure]
queues = true
"#
    ))
}

/// The mean time that a packet waits for the port, in seconds: what waits there over the rate at which it comes
/// (Little's law).
fn mean_waiting(outcome: &Outcome) -> f64 {
    let port = port(outcome, "leaf0", "spine0");
    let queue = port.queue.as_ref().expect("queues are watched");
    queue.mean_bytes() * outcome.simulated.as_secs_f64() / port.counters.bytes as f64
}

#[test]
#[ignore = "takes 20 CPU-seconds; `make validate` runs it"]
fn waiting_for_a_port_is_that_of_m_d_1() {
    let load = 0.5;
    let service = LINK.time_for(1500).as_secs_f64();
    // Pollaczek and Khinchine, for service that always takes as long. In what order is then all the same.
    let theory = load * service / (2.0 * (1.0 - load));
    for queue in [r#""drop-tail""#, r#"{ kind = "pfabric", capacity = "1GB" }"#] {
        let sizes = r#"{ kind = "constant", size = "1460B" }"#;
        let outcome = one_port(sizes, queue, load / service, 800_000);
        let measured = mean_waiting(&outcome);
        assert!((measured / theory - 1.0).abs() < 0.01, "{queue}: {measured} for {theory}");
        // The next link is as fast and the others are faster, so a flow is late by what its packet waited here.
        let late = mean(outcome.flows.iter().map(|row| (fct(row) - row.best_fct).as_secs_f64()));
        assert!((late / measured - 1.0).abs() < 1e-3, "{queue}: {late} for {measured}");
    }
}

#[test]
#[ignore = "takes 10 CPU-seconds; `make validate` runs it"]
fn waiting_for_a_fifo_port_is_that_of_m_g_1() {
    let load = 0.5;
    // Packets of 140 B to 1500 B, all sizes alike.
    let sizes = r#"{ kind = "uniform", minimum = "100B", maximum = "1460B" }"#;
    let byte = LINK.time_for(1000).as_secs_f64() / 1e3;
    let service = 820.0 * byte;
    let variance = (1361.0_f64.powi(2) - 1.0) / 12.0 * byte * byte;
    let theory = load / service * (service * service + variance) / (2.0 * (1.0 - load));
    let measured = mean_waiting(&one_port(sizes, r#""drop-tail""#, load / service, 800_000));
    assert!((measured / theory - 1.0).abs() < 0.01, "{measured} for {theory}");
}

/// The mean response time in mean service times of M/G/1 under SRPT, for exponential service. Schrage and Miller,
/// Operations Research 14 (1966): a job of size x waits λ(∫₀ˣt²dF + x²(1−F(x))) / 2(1−ρ(x))² for its first service,
/// with ρ(x) = λ∫₀ˣt dF, and takes ∫₀ˣdt/(1−ρ(t)) from then on.
fn srpt_response(load: f64) -> f64 {
    let step = 1e-4;
    let (mut response, mut residence) = (0.0, 0.0);
    for number in 0..300_000 {
        let x = (f64::from(number) + 0.5) * step;
        let above = (-x).exp();
        let free = 1.0 - load * (1.0 - above * (1.0 + x));
        let second_moment = 2.0 - above * (x * x + 2.0 * x + 2.0);
        let waiting = load * (second_moment + x * x * above) / (2.0 * free * free);
        residence += step / free;
        response += (waiting + residence) * above * step;
    }
    response
}

/// The mean response time over the mean service time, for flows of 60 packets in the mean on 10 Gb/s links.
fn mean_response(transport: &str, pattern: &str, load: f64, flows: u32) -> f64 {
    let outcome = run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 41
link = {{ rate = "10Gbps", delay = "0.1us" }}

[[workload]]
sizes = {{ kind = "exponential", mean = "87600B" }}
pattern = {pattern}

[[scheme]]
name = "SRPT"
transport = {transport}
queue = {{ kind = "pfabric", capacity = "22.5KB" }}

[run]
loads = [{load}]
flows = {flows}
"#
    ));
    let work = |size: u64| LINK.time_for(size + 40 * size.div_ceil(1460));
    let works = mean(outcome.flows.iter().map(|row| work(row.flow.size_bytes).as_secs_f64()));
    // What crossing the switch takes is not part of the model.
    let response = |row: &packetloom::measure::FlowRow| {
        let crossing = row.best_fct - work(row.flow.size_bytes);
        (fct(row) - crossing).as_secs_f64()
    };
    mean(outcome.flows.iter().map(response)) / works
}

#[test]
#[ignore = "takes 10 CPU-seconds; `make validate` runs it"]
fn srpt_on_one_link_is_as_schrage_and_miller_say() {
    let (pair, incast) =
        (r#"{ kind = "pair", src = 0, dst = 1 }"#, r#"{ kind = "incast", fan_in = 1, receiver = 0 }"#);
    let load = 0.7;
    let theory = srpt_response(load);
    let ideal = mean_response(r#""ideal""#, pair, load, 300_000);
    assert!((ideal / theory - 1.0).abs() < 0.01, "Ideal: {ideal} for {theory}");

    // Packet by packet fewer flows must do, so they are held against the same flows under Ideal. A packet in service
    // is not interrupted: a flow loses up to one of its 60 packets' times per flow that it overtakes. One sender
    // knows its flows; among many the switch chooses, and a flow that was pushed out takes a timeout to come back.
    let flows = 20_000;
    let ideal = mean_response(r#""ideal""#, pair, load, flows);
    assert!((ideal / theory - 1.0).abs() < 0.03, "Ideal, {flows} flows: {ideal} for {theory}");
    for (pattern, allowance) in [(pair, 0.005), (incast, 0.03)] {
        let measured = mean_response(r#""line-rate""#, pattern, load, flows);
        let excess = measured / ideal - 1.0;
        assert!((0.0..allowance).contains(&excess), "{pattern}: {measured} for {ideal}");
    }
}

/// Flows from hosts 1, 2, ... to host 0 that start together and go on forever, over 10 Gb/s links.
fn long_flows(count: u32, delay_us: f64, transport: &str, queue: &str) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "rack"
hosts = {}
link = {{ rate = "10Gbps", delay = "{delay_us}us" }}

[[workload]]
sizes = {{ kind = "constant", size = "100GB" }}
arrivals = "at-once"
pattern = {{ kind = "incast", fan_in = {count}, receiver = 0 }}

[[scheme]]
name = "long flows"
transport = {transport}
queue = {queue}
nic = "drop-tail"

[run]
max_time = "200ms"

[measure]
queues = true
"#,
        count + 1
    ))
}

/// Jain's index over what hosts 1, 2, ... sent.
fn jain(outcome: &Outcome, count: u32) -> f64 {
    let sent = |host: u32| port(outcome, &format!("host{host}"), "switch0").counters.bytes as f64;
    let (sum, squares) = (1..=count).fold((0.0, 0.0), |(sum, squares), host| {
        let sent = sent(host);
        (sum + sent, squares + sent * sent)
    });
    sum * sum / (f64::from(count) * squares)
}

#[test]
fn long_tcp_flows_share_a_link_fairly() {
    for (count, delay_us) in [(2, 0.4), (2, 2.0), (2, 5.0), (4, 2.0)] {
        let queue = r#"{ kind = "drop-tail", capacity = "100KB" }"#;
        let outcome = long_flows(count, delay_us, r#""tcp""#, queue);
        let fairness = jain(&outcome, count);
        assert!(fairness >= 0.98, "{count} flows, {delay_us} us: {fairness}");
        let port = port(&outcome, "switch0", "host0");
        assert!(port.counters.drops > 0 && utilisation(&outcome, port) > 0.98);
    }
}

#[test]
fn dctcp_holds_its_queue_near_the_threshold() {
    for (count, delay_us) in [(2, 2.0), (2, 5.0), (3, 5.0)] {
        let threshold = 60_000.0;
        let outcome = long_flows(count, delay_us, r#""dctcp""#, r#"{ kind = "ecn", mark_above = "60KB" }"#);
        let case = format!("{count} flows, {delay_us} us");
        let port = port(&outcome, "switch0", "host0");
        assert!(utilisation(&outcome, port) > 0.99, "{case}");
        assert!(jain(&outcome, count) > 0.98, "{case}: {}", jain(&outcome, count));

        // DCTCP (SIGCOMM 2010) §3.3: flows in step swing the queue between K + N − A and K + N packets, with
        // A = √(2N(C·RTT + K)) / 2.
        let packet = 1500.0;
        let round_trip = 4.0 * delay_us * 1e-6 + LINK.time_for(2 * (1500 + 40)).as_secs_f64();
        let in_flight = round_trip * LINK.as_bps() as f64 / 8.0;
        let highest = threshold + f64::from(count) * packet;
        let swing = (2.0 * f64::from(count) * (in_flight + threshold) * packet).sqrt() / 2.0;
        let queue = port.queue.as_ref().expect("queues are watched");
        let mean = queue.mean_bytes();
        assert!(highest - swing < mean && mean < highest, "{case}: {mean} in {highest} − {swing}");
        // Flows out of step swing it less; the buckets of percentiles are 1/64 wide, a packet more is on its way.
        let (low, high) = (queue.percentile_bytes(0.05) as f64, queue.percentile_bytes(0.95) as f64);
        assert!(low > (highest - swing) * 0.98 - packet, "{case}: {low} for {highest} − {swing}");
        assert!(high < highest * 1.02 + packet, "{case}: {high} for {highest}");
    }
}

/// What a long flow alone does on the way from a fast link over a slow one.
struct Saw {
    /// The window that fills the pipe and the buffer, in packets, and the mean one.
    full_window: f64,
    window: f64,
    round_trip_s: f64,
    /// What was sent and dropped, in packets.
    packets: f64,
    drops: f64,
    seconds: f64,
}

fn saw(transport: &str, delay_us: f64, buffer: f64, run_ms: u32) -> Saw {
    let outcome = run(&format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "40Gbps", delay = "{delay_us}us" }}
link = {{ rate = "10Gbps", delay = "{delay_us}us" }}

[[workload]]
sizes = {{ kind = "constant", size = "100GB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "TCP"
transport = {transport}
queue = {{ kind = "drop-tail", capacity = "{buffer}B" }}

[run]
max_time = "{run_ms}ms"

[measure]
queues = true
"#
    ));
    let port = port(&outcome, "leaf0", "spine0");
    // A packet and its ACK cross two links of 40 Gb/s and two of 10 Gb/s each.
    let bytes_per_second = LINK.as_bps() as f64 / 8.0;
    let serialisation = 2.5 * f64::from(1500 + 40) / bytes_per_second;
    let empty_round_trip = serialisation + 8.0 * delay_us * 1e-6;
    let queue = port.queue.as_ref().expect("queues are watched").mean_bytes();
    let (packets, seconds) = (port.counters.packets as f64, outcome.simulated.as_secs_f64());
    let round_trip_s = empty_round_trip + queue / bytes_per_second;
    Saw {
        full_window: (empty_round_trip * bytes_per_second + buffer) / 1500.0,
        window: packets / seconds * round_trip_s,
        round_trip_s,
        packets,
        drops: port.counters.drops as f64,
        seconds,
    }
}

/// A lone long flow's window saws between what fills the pipe and the buffer, and half of that: 3/4 of it in the
/// mean (Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997).
#[test]
fn tcp_saws_between_the_full_window_and_half_of_it() {
    for (delay_us, buffer) in [(2.0, 40_000.0), (8.0, 80_000.0), (8.0, 20_000.0)] {
        let Saw { full_window, window, packets, drops, .. } =
            saw(r#"{ kind = "tcp", initial_ssthresh = 10 }"#, delay_us, buffer, 200);
        let case = format!("{delay_us} us, {buffer} B");
        assert!((window / (0.75 * full_window) - 1.0).abs() < 0.04, "{case}: {window} of {full_window}");
        // A tooth is 3/8 of the full window's square in packets. At its tip one or two are lost: a packet too many
        // each round trip, until the loss is known.
        let teeth = packets / (0.375 * full_window * full_window);
        let lost = drops / teeth;
        assert!((0.95..2.05).contains(&lost), "{case}: {lost} losses per tooth");
    }
}

/// CUBIC's window comes back to where it was K after a loss, and is (3 + beta) / 4 of that in the mean (RFC 9438
/// §5.1).
#[test]
#[ignore = "takes 12 CPU-seconds; `make validate` runs it"]
fn cubic_comes_back_to_the_full_window_when_its_function_says() {
    for beta in [0.7, 0.5] {
        let (delay_us, buffer) = (20.0, 30_000.0);
        // K = ∛(W (1 − beta) / C) is to be 40 round trips.
        let k = 40.0 * 8.0 * delay_us * 1e-6;
        let c = 157.0 * (1.0 - beta) / (k * k * k);
        let transport = format!(
            r#"{{ kind = "cubic", c = {c}, beta = {beta}, reno_friendly = false, fast_convergence = false, initial_ssthresh = 10 }}"#
        );
        let Saw { full_window, window, round_trip_s, packets, drops, seconds } =
            saw(&transport, delay_us, buffer, 1000);
        assert!(
            (window / ((3.0 + beta) / 4.0 * full_window) - 1.0).abs() < 0.04,
            "{window} of {full_window}"
        );
        let teeth = seconds / k;
        assert!((drops / teeth - 1.0).abs() < 0.1, "beta {beta}: {drops} losses in {teeth} teeth");
        // The same by the share that is lost.
        let response = (c * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25)
            * (round_trip_s * packets / drops).powf(0.75);
        assert!((window / response - 1.0).abs() < 0.04, "beta {beta}: {window} for {response}");
    }
}
