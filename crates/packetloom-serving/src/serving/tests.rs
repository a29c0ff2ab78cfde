//! Clusters followed on networks of which each message's time is known.

use super::plan::{DecodeTimes, Plan, Pool, PrefillTimes};
use super::requests::{Draws, Request, drawn};
use super::tokens::Tokens;
use super::{Cluster, Course, without_network};
use crate::flow::{Flow, FlowId};
use crate::random::{Purpose, Stream};
use crate::spec::{Value, Values};
use crate::units::Time;
use std::collections::BTreeMap;

const US: fn(u64) -> Time = Time::from_us;

fn request(at_us: u64, prompt: u64, answer: u64) -> Request {
    Request { arrival: US(at_us), prompt, answer }
}

/// One prefill instance of two ranks, one decode instance of one; 1 us a token of a prompt, 10 us a token of answers.
fn plan(requests: Vec<Request>) -> Plan {
    let like = Flow {
        id: 0,
        src: 0,
        dst: 0,
        size_bytes: 0,
        start: Time::ZERO,
        deadline: Time::NEVER,
        class: 0,
        source: 0,
        chain: None,
    };
    Plan {
        requests,
        like,
        prefill: Pool { tensor: 2, hosts: vec![0, 1], batch: 1_000 },
        decode: Pool { tensor: 1, hosts: vec![2], batch: 8 },
        prefill_times: PrefillTimes { base: Time::ZERO, per_token: US(1), per_token_squared: Time::ZERO },
        decode_times: DecodeTimes { base: US(10), per_answer: Time::ZERO, per_cached_token: Time::ZERO },
        capacity: 1_000_000,
        token_bytes: 100,
        prefill_answers: false,
        all_reduces: 0,
        hidden_bytes: 64,
    }
}

/// Follows a cluster where each message takes a time that its size says.
fn follow(plan: &Plan, takes: impl Fn(u64) -> Time) -> (Vec<Course>, Vec<Flow>) {
    let mut cluster = Cluster::new(plan);
    let (mut sent, mut all) = (Vec::new(), Vec::new());
    let mut under_way: BTreeMap<Time, Vec<FlowId>> = BTreeMap::new();
    loop {
        let arrives = under_way.first_key_value().map(|(at, _)| *at);
        let Some(now) = arrives.into_iter().chain(cluster.due()).min() else { break };
        let received = under_way.remove(&now).unwrap_or_default();
        cluster.step(now, &received, &mut sent);
        for flow in sent.drain(..) {
            assert_eq!(flow.start, now);
            under_way.entry(now + takes(flow.size_bytes)).or_default().push(flow.id);
            all.push(flow);
        }
    }
    assert_eq!(cluster.over(), cluster.all());
    (cluster.into_courses(), all)
}

#[test]
fn a_request_alone_takes_what_its_parts_take() {
    let plan = plan(vec![request(5, 300, 4)]);
    let (courses, sent) = follow(&plan, Time::from_ns);
    let one = courses[0];
    // 30,000 B of keys and values, half of them at each rank: 15 us, both at once.
    assert_eq!(
        sent.iter().map(|flow| (flow.src, flow.dst, flow.size_bytes)).collect::<Vec<_>>(),
        [(0, 2, 15_000), (1, 2, 15_000)]
    );
    assert_eq!(one.prefilled, (US(5), US(305)));
    assert_eq!(one.moved, (US(305), US(320)));
    assert_eq!((one.ttft(), one.took()), (Some(US(300 + 15 + 10)), Some(US(300 + 15 + 40))));
    assert_eq!((one.compute, one.network, one.queued()), (US(340), US(15), Some(Time::ZERO)));
    assert_eq!(one.longest_gap, US(10));
    let free = without_network(&plan)[0];
    assert_eq!((free.ttft(), free.took(), free.network), (Some(US(310)), Some(US(340)), Time::ZERO));
}

#[test]
fn the_prefill_instance_may_give_out_the_first_token() {
    let mut plan = plan(vec![request(0, 100, 3), request(1_000, 100, 1)]);
    plan.prefill_answers = true;
    let (courses, sent) = follow(&plan, |_| US(7));
    assert_eq!((courses[0].ttft(), courses[0].took()), (Some(US(100)), Some(US(100 + 7 + 2 * 10))));
    assert_eq!(courses[0].longest_gap, US(17), "the transfer lies between two tokens");
    assert_eq!(courses[1].took(), Some(US(100)));
    assert_eq!((sent.len(), courses[1].decode), (2, None), "an answer of one token needs no transfer");
}

#[test]
fn batches_have_no_more_tokens_than_they_may() {
    let mut plan =
        plan(vec![request(0, 600, 1), request(1, 400, 1), request(2, 600, 1), request(3, 5_000, 1)]);
    plan.prefill_times.base = US(50);
    plan.prefill_times.per_token_squared = Time::from_ns(1);
    let (courses, _) = follow(&plan, |_| Time::ZERO);
    let ends: Vec<u64> = courses.iter().map(|one| one.prefilled.1.as_ps() / 1_000_000).collect();
    // 50 + 600 + 360; 50 + 1000 + 160 + 360; 50 + 5000 + 25000.
    assert_eq!(ends, [1_010, 1_010 + 1_570, 1_010 + 1_570, 1_010 + 1_570 + 30_050]);
}

#[test]
fn answers_join_after_any_token_and_take_longer_together() {
    let mut plan = plan(vec![request(0, 100, 10), request(25, 100, 2)]);
    plan.decode_times.per_answer = US(1);
    plan.decode_times.per_cached_token = Time::from_ns(10);
    let (courses, _) = follow(&plan, |_| Time::ZERO);
    // The first alone: 10 + 1 us and 10 ns for each of 100, 101, ... tokens.
    assert_eq!(courses[0].first_token, US(100 + 11 + 1));
    // The second's prompt ends at 200; the first has had eight tokens by 196.28 us, and its ninth ends at 208.36 us.
    assert_eq!(courses[1].moved.1, US(200));
    assert_eq!(courses[1].first_token, Time::from_ns(208_360 + 10_000 + 2_000 + 1_090 + 1_000));
    assert_eq!(courses[0].end, courses[1].first_token);
    assert_eq!(courses[1].queued(), Some(Time::from_ns(75_000 + 8_360)));
}

#[test]
fn who_finds_no_room_waits_and_nobody_overtakes() {
    let mut plan = plan(vec![request(0, 100, 50), request(0, 90, 2), request(0, 5, 1)]);
    plan.capacity = 200;
    let (courses, _) = follow(&plan, |_| Time::ZERO);
    // All prompts are a batch of 195 tokens; 150 + 92 do not fit, and the third waits behind the second.
    assert_eq!(courses[0].moved.0, US(195));
    assert_eq!(courses[0].end, US(195 + 500));
    assert_eq!([courses[1].moved.0, courses[2].moved.0], [courses[0].end; 2]);
}

#[test]
fn requests_go_where_the_fewest_tokens_wait() {
    let mut plan = plan(vec![request(0, 500, 1), request(1, 100, 1), request(2, 100, 1), request(3, 100, 1)]);
    plan.prefill = Pool { tensor: 1, hosts: vec![0, 1], batch: 100 };
    plan.decode = Pool { tensor: 1, hosts: vec![2, 3], batch: 8 };
    let (courses, _) = follow(&plan, |_| Time::ZERO);
    assert_eq!(courses.iter().map(|one| one.prefill.unwrap()).collect::<Vec<_>>(), [0, 1, 1, 1]);
    assert_eq!(courses[3].prefilled, (US(201), US(301)));
}

#[test]
fn every_byte_of_a_cache_goes_once_whatever_the_ranks() {
    for (from, to, bytes) in [(1, 1, 7), (4, 4, 1_000), (4, 2, 1_001), (2, 8, 999), (3, 2, 100), (8, 3, 5)] {
        let mut plan = plan(Vec::new());
        plan.prefill.tensor = from;
        plan.decode.tensor = to;
        let stripes: Vec<_> = plan.stripes(bytes).collect();
        assert_eq!(stripes.iter().map(|one| one.2).sum::<u64>(), bytes, "{from} to {to}");
        let part = |rank: u32, ranks: u32| {
            let bound = |rank: u32| bytes * u64::from(rank) / u64::from(ranks);
            bound(rank + 1) - bound(rank)
        };
        for rank in 0..from {
            let own: u64 = stripes.iter().filter(|one| one.0 == rank).map(|one| one.2).sum();
            assert_eq!(own, part(rank, from), "{from} to {to}");
        }
        for rank in 0..to {
            let own: u64 = stripes.iter().filter(|one| one.1 == rank).map(|one| one.2).sum();
            assert_eq!(own, part(rank, to), "{from} to {to}");
        }
    }
}

#[test]
fn all_reduces_as_messages_take_two_rounds_each() {
    let mut plan = plan(vec![request(0, 100, 3)]);
    plan.all_reduces = 6;
    let (courses, sent) = follow(&plan, |_| US(2));
    let one = courses[0];
    // The prefill instance has two ranks: six all-reduces of two rounds of 2 us. That of decode is one rank.
    assert_eq!(one.prefilled.1, US(100 + 6 * 4));
    assert_eq!((one.compute, one.network), (US(130), US(24 + 2)));
    assert_eq!(one.queued(), Some(Time::ZERO));
    let exchanged: Vec<u64> = sent.iter().filter(|flow| flow.dst < 2).map(|flow| flow.size_bytes).collect();
    assert_eq!(exchanged, [100 * 64 / 2; 6 * 2 * 2]);
}

/// What an M/D/1 queue waits on average: ρ s / (2 (1 - ρ)), by Pollaczek and Khinchine.
#[test]
fn prompts_of_one_length_wait_as_in_a_queue_with_fixed_service() {
    for load in [0.3, 0.6, 0.8] {
        let service_us = 100.0;
        let mut requests = Vec::new();
        let mut gaps = Stream::new(7, Purpose::Arrivals, 0);
        let mut at_ps = 0.0;
        for _ in 0..200_000 {
            at_ps += gaps.exponential() * service_us * 1e6 / load;
            requests.push(Request { arrival: Time(at_ps as u64), prompt: 100, answer: 1 });
        }
        let mut plan = plan(requests);
        plan.prefill_answers = true;
        plan.prefill.batch = 100;
        let courses = without_network(&plan);
        let mean = courses.iter().map(|one| one.queued().unwrap().as_secs_f64() * 1e6).sum::<f64>()
            / courses.len() as f64;
        let expected = load * service_us / (2.0 * (1.0 - load));
        assert!((mean / expected - 1.0).abs() < 0.03, "{mean} us instead of {expected} us at load {load}");
    }
}

#[test]
fn every_request_ends_once_and_its_time_is_all_told() {
    let mut lengths = Stream::new(3, Purpose::Sizes, 0);
    let mut requests: Vec<Request> = (0..500)
        .map(|nth| request(nth * 40, u64::from(lengths.below(300)) + 1, u64::from(lengths.below(20)) + 1))
        .collect();
    requests.sort_by_key(|one| one.arrival);
    let mut plan = plan(requests);
    plan.prefill = Pool { tensor: 2, hosts: vec![0, 1, 2, 3], batch: 400 };
    plan.decode = Pool { tensor: 4, hosts: (4..12).collect(), batch: 8 };
    plan.capacity = 1_500;
    plan.all_reduces = 4;
    let (courses, sent) = follow(&plan, |bytes| Time::from_ns(100 + bytes));
    for (course, request) in courses.iter().zip(&plan.requests) {
        assert_eq!(course.took().unwrap(), course.queued().unwrap() + course.compute + course.network);
        assert!(course.prefilled.0 >= request.arrival && course.moved.0 >= course.prefilled.1);
        assert!(course.first_token > course.moved.1 && course.end >= course.first_token);
        assert_eq!(course.first_token == course.end, request.answer == 1);
    }
    let caches: u64 =
        sent.iter().filter(|flow| flow.src < 4 && flow.dst >= 4).map(|flow| flow.size_bytes).sum();
    assert_eq!(caches, plan.requests.iter().map(|request| plan.cache_bytes(request)).sum::<u64>());
    let free = without_network(&plan);
    let mean = |all: &[Course]| all.iter().map(|one| one.took().unwrap().as_ps()).sum::<u64>();
    assert!(mean(&free) < mean(&courses));
}

fn values(kind: &str, entries: &[(&str, Value)]) -> Values {
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Values { kind: kind.to_owned(), entries }
}

#[test]
fn lengths_are_as_distributed() {
    let mut stream = Stream::new(1, Purpose::Sizes, 0);
    let mut draw = |tokens: &Tokens| -> Vec<u64> {
        let mut all: Vec<u64> = (0..40_000).map(|_| tokens.draw(&mut stream)).collect();
        all.sort_unstable();
        all
    };
    let entries =
        [("median", Value::Count(1_000)), ("sigma", Value::Number(1.0)), ("most", Value::Count(8_000))];
    let all = draw(&Tokens::build(&values("lognormal", &entries)));
    assert!((960..1_040).contains(&all[20_000]), "{}", all[20_000]);
    // exp(1): the quantile 0.8413 of a standard normal is 1.
    assert!((2_650..2_790).contains(&all[33_652]), "{}", all[33_652]);
    assert_eq!(all[39_999], 8_000);
    let point = |tokens: f64, share: f64| Value::List(vec![Value::Number(tokens), Value::Number(share)]);
    let points = Value::List(vec![point(10.0, 0.25), point(110.0, 0.75), point(1_000.0, 1.0)]);
    let all = draw(&Tokens::build(&values("cdf", &[("points", points)])));
    assert_eq!((all[0], all[9_000]), (10, 10));
    assert!((58..62).contains(&all[20_000]) && all[39_999] > 990, "{} {}", all[20_000], all[39_999]);
}

#[test]
fn another_rate_changes_no_length() {
    let fixed = |tokens| Value::Component(values("fixed", &[("tokens", Value::Count(tokens))]));
    let lognormal = values(
        "lognormal",
        &[("median", Value::Count(500)), ("sigma", Value::Number(0.8)), ("most", Value::Count(4_000))],
    );
    let at = |rate: f64, answer: Value| {
        let entries = [
            ("rate_per_second", Value::Number(rate)),
            ("prompt", Value::Component(lognormal.clone())),
            ("answer", answer),
        ];
        let stream = |purpose, entity| Stream::new(4, purpose, entity);
        let draws = Draws {
            arrivals: stream(Purpose::Arrivals, 0),
            prompts: stream(Purpose::Sizes, 0),
            answers: stream(Purpose::Sizes, 1),
        };
        drawn(&values("serving", &entries), 100, US(10), draws)
    };
    let (slow, fast) = (at(100.0, fixed(1)), at(200.0, Value::Component(lognormal.clone())));
    for (slow, fast) in slow.iter().zip(&fast) {
        assert_eq!(slow.prompt, fast.prompt);
        assert!(slow.arrival.since(US(10)).as_ps().abs_diff(2 * fast.arrival.since(US(10)).as_ps()) < 300);
    }
    assert!(fast.iter().any(|one| one.prompt != one.answer));
}
