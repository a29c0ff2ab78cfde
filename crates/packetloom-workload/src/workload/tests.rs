use super::testing::{component, values};
use super::*;
use crate::flow::Flow;
use crate::spec::Value;
use crate::units::{Rate, Time};
use std::collections::BTreeSet;

fn environment() -> Environment {
    Environment {
        hosts: 54,
        host_ids: Vec::new(),
        server_hosts: None,
        nodes: Vec::new(),
        wire: Wire::default(),
        host_rate: Some(Rate::from_gbps(10)),
        mss: 1460,
        header: 40,
        load: Some(0.6),
        seed: 1,
        flow_limit: Some(20_000),
        duration: None,
        whole: job::Whole::None,
        rank_faults: Vec::new(),
    }
}

fn named(name: &str) -> Value {
    component("sizes", "cdf", [("name", Value::Text(name.to_owned()))])
}

fn constant(size: u64) -> Value {
    component("sizes", "constant", [("size", Value::Bytes(size))])
}

fn workload<const N: usize>(set: [(&str, Value); N]) -> Values {
    values("workload", "workload", set)
}

fn arrivals<const N: usize>(kind: &str, set: [(&str, Value); N]) -> Value {
    component("arrivals", kind, set)
}

fn pattern<const N: usize>(kind: &str, set: [(&str, Value); N]) -> Value {
    component("pattern", kind, set)
}

fn flows(specs: &[Values], env: &Environment) -> Vec<Flow> {
    let mut workload = Workload::build(specs, env).unwrap();
    let mut flows = Vec::new();
    while let Some(start) = workload.peek_start() {
        let flow = workload.next_flow().unwrap();
        assert_eq!(flow.start, start);
        flows.push(flow);
    }
    assert_eq!(workload.next_flow(), None);
    flows
}

fn complaint(specs: &[Values], env: &Environment) -> (String, String) {
    let complaint = Workload::build(specs, env).map(drop).unwrap_err();
    (complaint.key, complaint.message)
}

#[test]
fn load_is_wire_bytes_per_host_over_the_host_link() {
    let env = environment();
    let spec = workload([("sizes", named("web-search"))]);
    let facts = Workload::build(std::slice::from_ref(&spec), &env).unwrap().describe()[0].clone();
    assert!((facts.load.unwrap() - 0.6).abs() < 1e-12);
    // pFabric's sizes are whole packets: every 1460 B cost 1500 B on the wire.
    assert!((facts.mean_wire_bytes / facts.mean_bytes - 1500.0 / 1460.0).abs() < 1e-12);
    assert_eq!(facts.flows, Some(20_000));
    let all = flows(&[spec], &env);
    assert_eq!(all.len(), 20_000);
    let span = all.last().unwrap().start.as_secs_f64();
    let rate = all.len() as f64 / span;
    // One standard error of a Poisson rate over 20000 arrivals is 0.7 %.
    assert!((rate / facts.flows_per_second.unwrap() - 1.0).abs() < 0.025, "{rate}");
}

#[test]
fn poisson_gaps_are_exponential() {
    let spec = workload([
        ("sizes", constant(1)),
        ("arrivals", arrivals("poisson", [("rate_per_second", Value::Number(1e6))])),
    ]);
    let all = flows(&[spec], &Environment { load: None, flow_limit: Some(100_000), ..environment() });
    let gaps: Vec<f64> = all.windows(2).map(|pair| pair[1].start.since(pair[0].start).as_ns_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean / 1000.0 - 1.0).abs() < 0.015, "{mean}");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
}

#[test]
fn a_rate_of_its_own_counts_incast_events() {
    let spec = workload([
        ("sizes", constant(1460)),
        ("arrivals", arrivals("poisson", [("rate_per_second", Value::Number(1e5))])),
        ("pattern", pattern("incast", [("fan_in", Value::Count(4)), ("receiver", Value::Count(0))])),
    ]);
    let env = Environment { load: None, ..environment() };
    let facts = Workload::build(std::slice::from_ref(&spec), &env).unwrap().describe()[0].clone();
    assert_eq!(facts.flows_per_second, Some(4e5));
    assert!((facts.load.unwrap() - 4e5 * 12_000.0 / 10e9).abs() < 1e-12);
    let last = flows(&[spec], &env).last().unwrap().start.as_secs_f64();
    // 5000 events: a standard error of 1.4 %.
    assert!((last / 0.05 - 1.0).abs() < 0.06, "{last}");
}

#[test]
fn offered_bytes_come_to_the_load_for_every_pattern() {
    let incast = |set: [(&'static str, Value); 2]| pattern("incast", set);
    let receiver = ("receiver", Value::Count(7));
    let jitter = ("jitter", Value::Time(Time::from_us(100)));
    for (pattern, loaded_links) in [
        (pattern("random-pairs", []), 54.0),
        (pattern("permutation", []), 54.0),
        (pattern("all-to-all", []), 54.0),
        (incast([("fan_in", Value::Count(8)), jitter]), 54.0),
        (incast([("fan_in", Value::Count(8)), receiver]), 1.0),
        (pattern("outcast", [("fan_out", Value::Count(8)), ("sender", Value::Count(7))]), 1.0),
        (pattern("outcast", [("fan_out", Value::Count(8))]), 54.0),
        (pattern("pair", [("src", Value::Count(0)), ("dst", Value::Count(1))]), 1.0),
    ] {
        for kind in ["poisson", "periodic"] {
            let spec = workload([
                ("sizes", constant(14_600)),
                ("arrivals", arrivals(kind, [])),
                ("pattern", pattern.clone()),
            ]);
            let all = flows(&[spec], &environment());
            let wire_bits = 8.0 * 15_000.0 * all.len() as f64;
            let load = wire_bits / (all.last().unwrap().start.as_secs_f64() * 10e9 * loaded_links);
            // Incast has an eighth of the arrivals: a standard error of 2 %.
            assert!((load / 0.6 - 1.0).abs() < 0.06, "{pattern:?}: {load}");
        }
    }
}

#[test]
fn flows_are_numbered_in_order_of_start_across_sources() {
    let half = |kind: &str, class| {
        workload([
            ("sizes", named("data-mining")),
            ("arrivals", arrivals(kind, [])),
            ("share", Value::Number(0.5)),
            ("class", Value::Count(class)),
        ])
    };
    let all = flows(&[half("poisson", 3), half("periodic", 4)], &environment());
    assert_eq!(all.len(), 20_000, "two sources share the run's number");
    assert!(all.windows(2).all(|pair| (pair[0].start, pair[0].source) <= (pair[1].start, pair[1].source)));
    assert!((0..).zip(&all).all(|(id, flow)| flow.id == id));
    assert!(all.iter().all(|flow| flow.class == flow.source + 3 && flow.src != flow.dst && flow.src < 54));
    let second = all.iter().filter(|flow| flow.source == 1).count();
    assert!((second as f64 / 10_000.0 - 1.0).abs() < 0.03, "{second}");
}

#[test]
fn ties_go_by_source_and_then_by_turn() {
    let source = || {
        workload([
            ("sizes", constant(1)),
            ("arrivals", arrivals("at-once", [])),
            ("pattern", pattern("permutation", [])),
            ("start", Value::Time(Time::from_us(3))),
        ])
    };
    let all = flows(&[source(), source()], &environment());
    let order: Vec<(u8, u32)> = all.iter().map(|flow| (flow.source, flow.src)).collect();
    let expected: Vec<(u8, u32)> = (0..2).flat_map(|source| (0..54).map(move |src| (source, src))).collect();
    assert_eq!(order, expected);
    assert!(all.iter().all(|flow| flow.start == Time::from_us(3)));
    let receivers = |source| all.iter().filter(move |flow| flow.source == source).map(|flow| flow.dst);
    assert_eq!(receivers(0).collect::<BTreeSet<_>>().len(), 54);
    assert!(receivers(0).ne(receivers(1)), "each source draws its own permutation");
}

#[test]
fn changing_one_kind_of_draw_leaves_the_others() {
    let env = environment();
    let base = flows(&[workload([("sizes", named("web-search"))])], &env);
    let exponential = component("deadlines", "exponential", [("mean", Value::Time(Time::from_us(300)))]);
    let with_deadlines =
        flows(&[workload([("sizes", named("web-search")), ("deadlines", exponential)])], &env);
    let same_but_deadline = |(one, other): (&Flow, &Flow)| Flow { deadline: Time::NEVER, ..*other } == *one;
    assert!(base.iter().zip(&with_deadlines).all(same_but_deadline));
    assert!(with_deadlines.iter().all(|flow| flow.deadline < Time::NEVER && flow.deadline >= flow.start));

    let other_sizes = flows(&[workload([("sizes", constant(1_666_450))])], &env);
    assert!(base.iter().zip(&other_sizes).all(|(one, other)| (one.src, one.dst) == (other.src, other.dst)));

    let heavier =
        flows(&[workload([("sizes", named("web-search"))])], &Environment { load: Some(0.3), ..env.clone() });
    assert!(base.iter().zip(&heavier).all(|(one, other)| one.size_bytes == other.size_bytes));
    assert!(base.iter().zip(&heavier).all(|(one, other)| one.start < other.start));

    let other_seed = flows(&[workload([("sizes", named("web-search"))])], &Environment { seed: 2, ..env });
    assert_ne!(base[0].start, other_seed[0].start);
}

#[test]
fn a_second_source_does_not_shift_the_first() {
    let source = |share| workload([("sizes", named("web-search")), ("share", Value::Number(share))]);
    let env = Environment { flow_limit: None, duration: Some(Time::from_us(20_000)), ..environment() };
    let alone = flows(&[source(0.5)], &env);
    let both = flows(&[source(0.5), source(0.25)], &env);
    let first =
        both.iter().filter(|flow| flow.source == 0).map(|flow| (flow.start, flow.src, flow.size_bytes));
    assert!(alone.iter().map(|flow| (flow.start, flow.src, flow.size_bytes)).eq(first));
    assert!(both.len() > alone.len() && both.iter().all(|flow| flow.start < Time::from_us(20_000)));
}

#[test]
fn incast_flows_start_within_the_jitter_and_in_order() {
    let incast = pattern("incast", [("fan_in", Value::Count(5)), ("jitter", Value::Time(Time::from_us(15)))]);
    let every = arrivals("periodic", [("interval", Value::Time(Time::from_us(10)))]);
    let spec = workload([("sizes", constant(1)), ("arrivals", every), ("pattern", incast)]);
    let all = flows(&[spec], &environment());
    assert!(all.windows(2).all(|pair| pair[0].start <= pair[1].start));
    // Event n is at 10n us; its flows come before 10n + 15 us, among those of its neighbours.
    let before = |limit: Time| all.iter().filter(|flow| flow.start <= limit).count();
    for event in 1..3_000_u64 {
        let at = Time::from_us(10 * event);
        let so_far = before(at);
        assert!((5 * event as usize - 5..=5 * event as usize + 5).contains(&so_far), "{event}: {so_far}");
    }
}

#[test]
fn own_numbers_override_the_runs() {
    let env = Environment { flow_limit: Some(100), ..environment() };
    let own = workload([("sizes", constant(1)), ("share", Value::Number(0.5)), ("flows", Value::Count(7))]);
    let sharing = || workload([("sizes", constant(1)), ("share", Value::Number(0.25))]);
    let all = flows(&[own, sharing(), sharing()], &env);
    assert_eq!(all.iter().filter(|flow| flow.source == 0).count(), 7);
    assert_eq!(all.len(), 107);
}

#[test]
fn at_once_goes_through_whole_rounds() {
    let count = |pattern: Value, rounds| {
        let at_once = arrivals("at-once", [("rounds", Value::Count(rounds))]);
        let spec = workload([("sizes", constant(1)), ("arrivals", at_once), ("pattern", pattern)]);
        let all = flows(&[spec], &Environment { load: None, flow_limit: None, ..environment() });
        let pairs: BTreeSet<(u32, u32)> = all.iter().map(|flow| (flow.src, flow.dst)).collect();
        (all.len(), pairs.len())
    };
    assert_eq!(count(pattern("all-to-all", []), 2), (2 * 54 * 53, 54 * 53));
    assert_eq!(count(pattern("permutation", []), 3), (3 * 54, 54));
    assert_eq!(
        count(pattern("incast", [("fan_in", Value::Count(53)), ("receiver", Value::Count(0))]), 1),
        (53, 53)
    );
}

#[test]
fn chains_keep_going_and_number_their_flows_apart() {
    let closed =
        arrivals("closed", [("concurrent", Value::Count(3)), ("think_time", Value::Time(Time::from_us(2)))]);
    let loops =
        workload([("sizes", named("web-search")), ("arrivals", closed), ("flows", Value::Count(1_000))]);
    let open = workload([("sizes", constant(1)), ("flows", Value::Count(50))]);
    let mut built = Workload::build(&[open, loops], &environment()).unwrap();
    let mut ids: BTreeSet<u32> = std::iter::from_fn(|| built.next_flow()).map(|flow| flow.id).collect();
    assert_eq!(ids.len(), 50);
    let mut chains = built.take_chains();
    assert_eq!((chains.len(), built.take_chains().len()), (54 * 3, 0));
    for (number, chain) in (0..).zip(&mut chains) {
        let first = chain.next(chain.start()).unwrap();
        assert_eq!((first.start, first.src, first.chain), (Time::ZERO, number / 3, Some(number)));
        ids.insert(first.id);
        let mut now = Time::from_us(100);
        while let Some(flow) = chain.next(now) {
            assert_eq!((flow.start, flow.source), (now + Time::from_us(2), 1));
            assert!(flow.dst != flow.src && flow.dst < 54);
            assert!(ids.insert(flow.id), "the number {} is given twice", flow.id);
            now += Time::from_us(100);
        }
    }
    assert_eq!(ids.len(), 1_050);
    // 1000 flows over 162 chains: 28 have 7, the others 6.
    assert_eq!(ids.last(), Some(&(50 + 6 * 162 + 27)));
}

#[test]
fn a_chain_draws_the_same_however_many_others_there_are() {
    let first_flows = |concurrent, hosts| {
        let closed = arrivals("closed", [("concurrent", Value::Count(concurrent))]);
        let spec = workload([("sizes", named("web-search")), ("arrivals", closed)]);
        let env = Environment { hosts, flow_limit: Some(100_000), ..environment() };
        let mut chain = Workload::build(&[spec], &env).unwrap().take_chains().swap_remove(0);
        std::iter::from_fn(|| chain.next(Time::ZERO)).map(|flow| flow.size_bytes).take(20).collect::<Vec<_>>()
    };
    assert_eq!(first_flows(1, 54), first_flows(4, 128));
}

#[test]
fn chains_end_with_the_run() {
    let spec = workload([("sizes", constant(1)), ("arrivals", arrivals("closed", []))]);
    let env = Environment { flow_limit: None, duration: Some(Time::from_us(50)), ..environment() };
    let mut chain = Workload::build(&[spec], &env).unwrap().take_chains().swap_remove(5);
    assert!(chain.next(Time::from_us(49)).is_some());
    assert_eq!(chain.next(Time::from_us(50)), None);
}

#[test]
fn closed_loop_numbers_stay_clear_of_an_endless_stream() {
    let closed = workload([("sizes", constant(1)), ("arrivals", arrivals("closed", []))]);
    let open = workload([("sizes", constant(1))]);
    let env = Environment { flow_limit: None, duration: Some(Time::from_us(50)), ..environment() };
    let mut chain = Workload::build(&[closed, open], &env).unwrap().take_chains().swap_remove(1);
    assert_eq!(chain.next(Time::ZERO).unwrap().id, (1 << 31) + 1);
}

/// A file that is gone again at the end of the test.
struct TemporaryFile(std::path::PathBuf);

impl TemporaryFile {
    fn new(name: &str, text: &str) -> TemporaryFile {
        let path = std::env::temp_dir().join(format!("packetloom-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        TemporaryFile(path)
    }

    fn arrivals(&self) -> Value {
        arrivals("list", [("file", Value::Text(self.0.to_str().unwrap().to_owned()))])
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_list_is_replayed() {
    let file =
        TemporaryFile::new("replay.csv", "src,dst,size_bytes,start_ns,class\n0,1,1461,10,2\n1,0,10,5.5,\n");
    let start = Time::from_ns(100);
    let spec =
        workload([("arrivals", file.arrivals()), ("start", Value::Time(start)), ("class", Value::Count(1))]);
    let all = flows(std::slice::from_ref(&spec), &environment());
    let seen: Vec<_> =
        all.iter().map(|flow| (flow.id, flow.src, flow.size_bytes, flow.start, flow.class)).collect();
    assert_eq!(seen, [(0, 1, 10, Time(105_500), 1), (1, 0, 1461, Time(110_000), 2)]);
    let facts = Workload::build(&[spec], &environment()).unwrap().describe()[0].clone();
    assert_eq!((facts.mean_bytes, facts.mean_wire_bytes, facts.flows), (735.5, 735.5 + 60.0, Some(2)));
    assert!((facts.flows_per_second.unwrap() / (1.0 / 4.5e-9) - 1.0).abs() < 1e-12);
}

#[test]
fn a_faulty_list_is_named_with_file_and_line() {
    let file = TemporaryFile::new("faulty.csv", "src,dst,size_bytes,start_ns\n0,1,10,5\n3,3,10,6\n");
    let spec = workload([("arrivals", file.arrivals())]);
    let (key, message) = complaint(&[spec], &environment());
    assert_eq!(key, "workload[0].arrivals.file");
    assert!(message.contains("faulty.csv:3: host 3 would send to itself"), "{message}");
    let missing = arrivals("list", [("file", Value::Text("no/such.csv".into()))]);
    let (_, message) = complaint(&[workload([("arrivals", missing)])], &environment());
    assert!(message.starts_with("no/such.csv: "), "{message}");
}

#[test]
fn what_cannot_be_is_complained_of() {
    let env = environment();
    let web = || ("sizes", named("web-search"));
    let no_load = Environment { load: None, ..env.clone() };
    let endless = Environment { flow_limit: None, ..env.clone() };
    let lonely = Environment { hosts: 1, ..env.clone() };
    let many = Environment { flow_limit: Some(1_000_000_000_000), ..env.clone() };
    let long = Environment { duration: Some(Time::from_us(1_000_000_000_000)), ..endless.clone() };
    let pair = |src, dst| pattern("pair", [("src", Value::Count(src)), ("dst", Value::Count(dst))]);
    let incast = |fan_in| pattern("incast", [("fan_in", Value::Count(fan_in))]);
    let closed = || ("arrivals", arrivals("closed", []));
    for (specs, env, key, part) in [
        (vec![workload([web()])], &no_load, "workload[0].arrivals", "no load to follow"),
        (vec![workload([web()])], &endless, "workload[0].flows", "never end"),
        (vec![workload([web(), closed()])], &endless, "workload[0].flows", "never end"),
        (vec![workload([web()])], &lonely, "topology", "two hosts"),
        (vec![workload([web()])], &many, "run.flows", "write less than 1000000000"),
        (vec![workload([web()])], &long, "run", "write less than 1000000000"),
        (vec![workload([web()]), workload([web()])], &env, "workload", "add up to 2"),
        (vec![workload([web(), ("pattern", pair(0, 54))])], &env, "workload[0].pattern.dst", "no host 54"),
        (
            vec![workload([web(), ("pattern", incast(54))])],
            &env,
            "workload[0].pattern.fan_in",
            "write 53 at most",
        ),
        (
            vec![workload([web(), closed(), ("pattern", incast(5))])],
            &env,
            "workload[0].pattern.receiver",
            "write one",
        ),
    ] {
        let (found, message) = complaint(&specs, env);
        assert_eq!(found, key, "{message}");
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn the_components_checks_catch_contradictions() {
    let check = |values: &Values| {
        let found = COMPONENTS.iter().find(|c| c.kind == values.kind).unwrap();
        (found.check)(values).map_err(|complaint| complaint.key)
    };
    let web = || ("sizes", named("web-search"));
    let at_once = || ("arrivals", arrivals("at-once", []));
    let list = || ("arrivals", arrivals("list", [("file", Value::Text("f.csv".into()))]));
    assert_eq!(check(&workload([web()])), Ok(()));
    assert_eq!(check(&workload([])), Err("sizes".into()));
    assert_eq!(check(&workload([list()])), Ok(()));
    assert_eq!(check(&workload([web(), list()])), Err("sizes".into()));
    assert_eq!(check(&workload([list(), ("pattern", pattern("permutation", []))])), Err("pattern".into()));
    assert_eq!(check(&workload([web(), at_once(), ("share", Value::Number(0.5))])), Err("share".into()));
    assert_eq!(check(&workload([web(), ("share", Value::Number(0.0))])), Err("share".into()));
    assert_eq!(check(&workload([web(), ("class", Value::Count(256))])), Err("class".into()));
    let to_itself = values("pattern", "pair", [("src", Value::Count(3)), ("dst", Value::Count(3))]);
    assert_eq!(check(&to_itself), Err("dst".into()));
    let standing = values("arrivals", "periodic", [("interval", Value::Time(Time::ZERO))]);
    assert_eq!(check(&standing), Err("interval".into()));
}

#[test]
fn every_component_is_listed_once() {
    let names: BTreeSet<(&str, &str)> = COMPONENTS.iter().map(|c| (c.section, c.kind)).collect();
    assert_eq!(names.len(), COMPONENTS.len());
    assert!(names.contains(&("workload", "workload")) && names.contains(&("pattern", "incast")));
}

#[test]
fn outcast_is_one_host_sending_to_different_others() {
    let outcast = pattern("outcast", [("fan_out", Value::Count(50)), ("sender", Value::Count(7))]);
    let spec =
        workload([("sizes", constant(1)), ("arrivals", arrivals("at-once", [])), ("pattern", outcast)]);
    let all = flows(&[spec], &environment());
    let receivers: BTreeSet<u32> = all.iter().map(|flow| flow.dst).collect();
    assert_eq!((all.len(), receivers.len()), (50, 50));
    assert!(all.iter().all(|flow| flow.src == 7 && flow.dst != 7));
}

#[test]
fn a_share_of_the_hosts_is_a_source_s_own() {
    let env = Environment { flow_limit: Some(3_000), ..environment() };
    let long = workload([
        ("sizes", constant(1_000_000)),
        ("arrivals", arrivals("at-once", [])),
        ("pattern", pattern("permutation", [])),
        ("hosts", Value::Number(0.15)),
        ("background", Value::Flag(true)),
    ]);
    let short = workload([("sizes", constant(150_000))]);
    let built = Workload::build(&[long.clone(), short.clone()], &env).unwrap();
    assert_eq!(built.describe()[0].pattern, "permutation among 8 of 54 hosts");
    assert_eq!(built.background(), [true, false]);
    let all = flows(&[long.clone(), short.clone()], &env);
    let ends = |source: u8| -> BTreeSet<u32> {
        let of_source = all.iter().filter(|flow| flow.source == source);
        of_source.flat_map(|flow| [flow.src, flow.dst]).collect()
    };
    // 15 % of 54 are 8; the flows of the background are beside the run's 3000.
    assert_eq!((ends(0).len(), ends(1).len(), all.len()), (8, 46, 8 + 3_000));
    assert!(ends(0).is_disjoint(&ends(1)));
    // What a pattern names stays what it is; and the hosts are others under another seed.
    let named = workload([
        ("sizes", constant(1)),
        ("arrivals", arrivals("at-once", [])),
        ("pattern", pattern("incast", [("fan_in", Value::Count(53)), ("receiver", Value::Count(7))])),
    ]);
    let incast = flows(&[long.clone(), named], &env);
    assert_eq!(incast.iter().filter(|flow| flow.source == 1 && flow.dst == 7).count(), 53);
    let other_seed = Environment { seed: 2, ..env };
    let others = flows(&[long, short], &other_seed);
    assert!(others.iter().any(|flow| flow.source == 0 && !ends(0).contains(&flow.src)));
}

#[test]
fn staggered_flows_start_one_after_the_other() {
    let at_once = workload([
        ("sizes", constant(1)),
        ("arrivals", arrivals("at-once", [])),
        (
            "pattern",
            pattern("incast", [("fan_in", Value::Count(4)), ("stagger", Value::Time(Time::from_ns(500)))]),
        ),
    ]);
    let starts: Vec<Time> = flows(&[at_once], &environment()).iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [0, 500, 1_000, 1_500].map(Time::from_ns));
}

#[test]
fn background_needs_a_foreground_that_ends() {
    let env = environment();
    let background = || workload([("sizes", constant(1)), ("background", Value::Flag(true))]);
    let closed = || workload([("sizes", constant(1)), ("arrivals", arrivals("closed", []))]);
    let of = |share| workload([("sizes", constant(1)), ("hosts", Value::Number(share))]);
    for (specs, key, message) in [
        (vec![background()], "workload", "all sources are background"),
        (vec![background(), closed()], "workload[1].arrivals", "go by the clock"),
        (vec![of(0.7), of(0.6)], "workload[1].hosts", "more than 1"),
        (vec![of(0.03), of(0.5)], "workload[0].hosts", "leaves this source 1 of 54 hosts"),
        (vec![of(1.0), workload([("sizes", constant(1))])], "workload[1].hosts", "leaves this source 0"),
    ] {
        let (found, said) = complaint(&specs, &env);
        assert!(found == key && said.contains(message), "{found}: {said}");
    }
}
