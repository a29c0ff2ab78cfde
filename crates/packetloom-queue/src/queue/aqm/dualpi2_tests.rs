use super::*;
use crate::queue::aqm::testing::Scene;
use crate::spec::Param;
use crate::spec::{Fallback, Value};

/// Of the defaults, but for these.
fn dualpi2(own: &[(&str, Value)]) -> DualPi2 {
    let time = |text: &str| Value::Time(ms(text.trim_end_matches("ms").parse().expect("whole milliseconds")));
    let of = |param: &Param| match (param.default, param.kind) {
        (Fallback::Value(text), Kind::Time) => time(text),
        (Fallback::Value(text), Kind::Number(..)) => Value::Number(text.parse().expect("a number")),
        (Fallback::Value(text), _) => Value::Text(text.to_owned()),
        _ => Value::Absent,
    };
    let mut entries: std::collections::BTreeMap<String, Value> =
        COMPONENT.params().map(|param| (param.name.to_owned(), of(param))).collect();
    entries.extend(own.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let values = Values { kind: "dualpi2".to_owned(), entries };
    assert_eq!(check(&values), Ok(()));
    let mut made = DualPi2::build(&values);
    made.max_packet = 1_500;
    made
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn rfc() -> DualPi2 {
    dualpi2(&[("variant", text("rfc9332"))])
}

fn ms(ms: u64) -> Time {
    Time::from_us(1_000 * ms)
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn is(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
}

/// How many of 100 000 packets that leave are marked, and dropped.
fn shares(aqm: &mut DualPi2, queue: usize, sojourn: Time, markable: bool) -> [f64; 2] {
    let mut scene = Scene::new();
    scene.port.bytes = 100_000;
    let verdicts: Vec<Verdict> = (0..100_000)
        .map(|_| aqm.leave(&mut scene.look_at(queue, ms(12), 100_000, sojourn, markable)))
        .collect();
    [Verdict::Mark, Verdict::Drop].map(|one| verdicts.iter().filter(|v| **v == one).count() as f64 / 1e5)
}

/// Within five standard deviations of 100 000 draws.
fn is_drawn(found: f64, expected: f64) {
    let allowance = 5.0 * (expected * (1.0 - expected) / 1e5).sqrt();
    assert!((found - expected).abs() <= allowance, "{found} for {expected}");
}

/// By hand: a packet that has been first in the classic queue since 2 ms has waited for 14 ms at the first correction
/// (Linux: at 16 ms), for 30 at the second, for 46 at the third.
#[test]
fn p_follows_the_longer_delay_and_its_growth() {
    let (alpha, beta) = (41.0 / 256.0, 819.0 / 256.0);
    let mut linux = dualpi2(&[]);
    linux.catch_up(ms(16), [Some(ms(5)), Some(ms(2))]);
    is(linux.prob, alpha * -0.001 + beta * 0.014);
    linux.catch_up(ms(47), [Some(ms(5)), Some(ms(2))]);
    let second = alpha * (-0.001 + 0.015) + beta * 0.030;
    is(linux.prob, second);
    // Now the L queue's first packet is older. At 48 ms it has waited for 47 ms, 17 more than what had before.
    linux.catch_up(ms(48), [Some(ms(1)), None]);
    is(linux.prob, second + alpha * 0.032 + beta * 0.017);
    // The RFC's constants, every 15 ms: 0.15 and 3.
    let mut rfc = rfc();
    rfc.catch_up(ms(15), [None, Some(ms(0))]);
    is(rfc.prob, 3.0 * 0.015);
    rfc.catch_up(ms(30), [None, Some(ms(0))]);
    is(rfc.prob, 0.15 * 0.015 + 3.0 * 0.030);
}

#[test]
fn p_falls_while_nothing_waits_and_a_quiet_time_of_any_length_takes_no_time() {
    let mut aqm = dualpi2(&[]);
    (aqm.prob, aqm.qdelay_old) = (0.5, ms(10));
    aqm.catch_up(ms(16), [None, None]);
    let after_one = 0.5 - 41.0 / 256.0 * 0.015 - 819.0 / 256.0 * 0.010;
    is(aqm.prob, after_one);
    aqm.catch_up(ms(16 * 11), [None, None]);
    is(aqm.prob, after_one - 10.0 * 41.0 / 256.0 * 0.015);
    let late = Time(u64::MAX / 4);
    aqm.catch_up(late, [None, None]);
    assert!(aqm.prob == 0.0 && aqm.next_update > late && aqm.next_update <= late + ms(16));
}

/// p' = 0.3: L4S packets by k p' = 0.6, classic ones by 0.09.
#[test]
fn classic_packets_are_judged_by_the_square_and_l4s_packets_by_the_multiple() {
    for variant in ["linux", "rfc9332"] {
        let made = |queue, markable| {
            let mut aqm = dualpi2(&[("variant", text(variant))]);
            aqm.prob = 0.3;
            shares(&mut aqm, queue, us(500), markable)
        };
        let ([marks, drops], [classic_marks, no_drops], [no_marks, classic_drops]) =
            (made(L4S, true), made(CLASSIC, true), made(CLASSIC, false));
        is_drawn(marks, 0.6);
        is_drawn(classic_marks, 0.09);
        is_drawn(classic_drops, 0.09);
        assert_eq!([drops, no_drops, no_marks], [0.0; 3], "{variant}");
    }
}

/// The RFC draws nothing: of 0.25, every fourth, once the sum is above one.
#[test]
fn the_rfc_marks_as_often_as_its_probability_says() {
    let (mut aqm, mut scene) = (rfc(), Scene::new());
    aqm.prob = 0.125;
    let mut marks = |queue| {
        let marked = |_: &u32| {
            let look = &mut scene.look_at(queue, ms(12), 100_000, us(500), true);
            aqm.leave(look) == Verdict::Mark
        };
        (1..=100).filter(marked).collect::<Vec<u32>>()
    };
    assert_eq!(marks(L4S)[..4], [5, 9, 13, 17]);
    // 0.125^2: the 65th.
    assert_eq!(marks(CLASSIC), [65]);
}

/// From k p' = 1 on L4S packets are dropped, too, as are classic packets that could be marked: both by p'^2 = 0.36. All
/// other L4S packets are marked.
#[test]
fn in_overload_packets_are_dropped_or_p_rises_no_further() {
    for variant in ["linux", "rfc9332"] {
        let made = |queue| {
            let mut aqm = dualpi2(&[("variant", text(variant))]);
            aqm.prob = 0.6;
            shares(&mut aqm, queue, us(500), true)
        };
        let ([marks, drops], [classic_marks, classic_drops]) = (made(L4S), made(CLASSIC));
        is_drawn(drops, 0.36);
        is_drawn(classic_drops, 0.36);
        assert_eq!(classic_marks, 0.0);
        assert!((marks + drops - 1.0).abs() < 1e-4, "{variant}: {marks} marked, {drops} dropped");
    }
    let mut aqm = dualpi2(&[("overload", text("mark"))]);
    aqm.catch_up(ms(1_600), [None, Some(ms(0))]);
    is(aqm.prob, 0.5);
    assert_eq!(shares(&mut aqm, L4S, us(500), true), [1.0, 0.0]);
    let [marks, drops] = shares(&mut aqm, CLASSIC, us(500), true);
    is_drawn(marks, 0.25);
    assert_eq!(drops, 0.0);
}

/// Linux: a step at 1 ms. RFC: from 0.8 ms on a ramp to 1.2 ms, beside p' whichever is more, but for the sake of one
/// packet.
#[test]
fn l4s_packets_are_marked_by_their_own_wait() {
    let step = |waited_us| shares(&mut dualpi2(&[]), L4S, us(waited_us), true)[0];
    assert_eq!([step(999), step(1_000), step(1_001)], [0.0, 0.0, 1.0]);
    assert_eq!(shares(&mut dualpi2(&[]), CLASSIC, ms(10), true), [0.0; 2]);
    for (waited_us, prob, expected) in
        [(800, 0.0, 0.0), (900, 0.0, 0.25), (1_000, 0.1, 0.5), (1_000, 0.4, 0.8), (1_200, 0.0, 1.0)]
    {
        let mut aqm = rfc();
        aqm.prob = prob;
        let marks = shares(&mut aqm, L4S, us(waited_us), true)[0];
        assert!((marks - expected).abs() < 1e-4, "{waited_us} us, {prob}: {marks}");
    }
    for (left_bytes, verdict) in [(1_500, Verdict::Accept), (3_000, Verdict::Mark)] {
        let mut scene = Scene::new();
        let (mut rfc, mut packets) = (rfc(), dualpi2(&[("mark_above_packets", Value::Count(1))]));
        rfc.behind[L4S] = 0.5;
        for aqm in [&mut rfc, &mut packets] {
            assert_eq!(aqm.leave(&mut scene.look_at(L4S, ms(2), left_bytes, ms(2), true)), verdict);
        }
    }
}

#[test]
fn linux_judges_nothing_while_less_than_two_packets_wait_at_the_port() {
    for (bytes, queue, verdict) in [
        (2_999, CLASSIC, Verdict::Accept),
        (3_000, CLASSIC, Verdict::Drop),
        (2_999, L4S, Verdict::Accept),
        (3_000, L4S, Verdict::Drop),
    ] {
        let mut scene = Scene::new();
        for judges in ["departures", "arrivals"] {
            let mut aqm = dualpi2(&[("judges", text(judges))]);
            (aqm.prob, scene.port.bytes) = (1.0, bytes);
            let look = &mut scene.look_at(queue, us(1), 1_500, Time::ZERO, true);
            let [judged, passed] = match judges {
                "arrivals" => [aqm.arrive(look), aqm.leave(look)],
                _ => [aqm.leave(look), aqm.arrive(look)],
            };
            assert_eq!((judged, passed), (verdict, Verdict::Accept), "{bytes} B, {judges}");
        }
    }
}

/// What its head has waited for counts, be it the packet that leaves.
#[test]
fn corrections_between_two_departures_go_by_who_was_first() {
    let (mut aqm, mut scene) = (dualpi2(&[]), Scene::new());
    scene.port.bytes = 15_000;
    // It came at 1 ms and leaves at 20 ms; the next one came at 19 ms.
    scene.port.first_came[CLASSIC] = Some(ms(19));
    aqm.leave(&mut scene.look_at(CLASSIC, ms(20), 15_000, ms(19), true));
    is(aqm.prob, 819.0 / 256.0 * 0.015);
    assert_eq!(aqm.qdelay_old, ms(15));
}

#[test]
fn what_means_nothing_is_refused() {
    for (own, key) in [
        (vec![("variant", text("rfc9332")), ("judges", text("arrivals"))], "judges"),
        (vec![("variant", text("rfc9332")), ("mark_above_packets", Value::Count(1))], "mark_above_packets"),
        (vec![("mark_range", Value::Time(us(400)))], "mark_range"),
        (vec![("mark_above", Value::Time(us(400))), ("mark_above_packets", Value::Count(1))], "mark_above"),
        (vec![("target", Value::Time(Time::ZERO))], "target"),
    ] {
        let mut entries: std::collections::BTreeMap<String, Value> =
            COMPONENT.params().map(|param| (param.name.to_owned(), Value::Absent)).collect();
        entries.insert("variant".to_owned(), text("linux"));
        entries.insert("judges".to_owned(), text("departures"));
        entries.extend(own.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let complaint = check(&Values { kind: "dualpi2".to_owned(), entries }).expect_err("it is refused");
        assert_eq!(complaint.key, key, "{}", complaint.message);
    }
}
