//! Proportional Integral controller Enhanced (PIE, RFC 8033): drops or marks arrivals at random, with a probability that
//! is corrected every `update` by how far the delay is from its target, and by how it changes.
//!
//! Or Linux's (sch_pie.c), whose probability rises faster while packets wait for longer than 250 ms, and beyond 1. It
//! differs, too, in when the allowance for bursts ends, in which delay is low enough to drop nothing, and in when the
//! probability decays.

use super::{AnyAqm, Aqm, Look, Read, Specification};
use crate::narrow::narrow;
use crate::queue::Verdict;
use crate::spec::{Complaint, Component, Kind, Registered, Values, check_period, param};
use crate::units::Time;

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "pie",
    doc: "Drops arrivals with a probability that rises while packets wait for longer than a target, and as their wait grows; it falls likewise. After a quiet time a burst is let through.",
    source: "RFC 8033; Linux sch_pie.c",
    params: &[&[
        param! {
            "variant" = "rfc8033": Kind::Choice(&["rfc8033", "linux"]),
            "Whose rules: the RFC's, or those of Linux's qdisc. In Linux, while packets wait for longer than 250 ms, each correction adds 2 %, beyond 1 too. The probability does not decay while anything waits, the allowance for bursts shrinks as packets leave, and a delay that has just become low counts at once.",
            "RFC 8033; Linux sch_pie.c: pie_calculate_probability, pie_process_dequeue, pie_drop_early"
        },
        param! {
            "target" = "15ms": Kind::Time,
            "How long packets are to wait.", "RFC 8033 §4.2: QDELAY_REF = 15 ms"
        },
        param! {
            "update" = "15ms": Kind::Time,
            "How often the probability is corrected.", "RFC 8033 §4.2: T_UPDATE = 15 ms"
        },
        param! {
            "alpha" = "0.125": Kind::Number(0.0, 1_000_000.0),
            "By how much the probability is corrected for each second that the delay is above the target.",
            "RFC 8033 §4.2: 1/8"
        },
        param! {
            "beta" = "1.25": Kind::Number(0.0, 1_000_000.0),
            "By how much the probability is corrected for each second that the delay has grown since the last correction.",
            "RFC 8033 §4.2: 1 + 1/4"
        },
        param! {
            "max_burst" = "150ms": Kind::Time,
            "How long nothing is dropped after a quiet time.", "RFC 8033 §4.4: 150 ms"
        },
        param! {
            "ecn" = "true": Kind::Flag,
            "Whether ECN-capable packets are marked instead of dropped, while the probability is 10 % at most.",
            "RFC 8033 §5.1"
        },
    ]],
    check,
};

/// The AQM.
pub const AQM: Registered<Read> = Registered { component: COMPONENT, factory: read };

fn read(values: &Values) -> Specification {
    let aqm = Pie::build(values);
    let marks = aqm.ecn;
    Specification { marks, drops: true, ..Specification::new(AnyAqm::Pie(aqm)) }
}

fn check(values: &Values) -> Result<(), Complaint> {
    if values.time("target") == Time::ZERO {
        return Err(Complaint::new("target", "write a time above zero"));
    }
    check_period("update", values.time("update"), "15ms")
}

/// Above this probability ECN-capable packets are dropped, too (§5.1, `mark_ecnth`).
const MARKS_UP_TO: f64 = 0.1;

/// Linux: while packets wait for longer, so much is added at each correction.
const LONG: Time = Time::from_us(250_000);
const ADDED_WHILE_LONG: f64 = 0.02;

/// The state, by the names of RFC 8033.
#[derive(Clone, Copy, Debug)]
pub struct Pie {
    is_linux: bool,
    target: Time,
    update: Time,
    alpha: f64,
    beta: f64,
    max_burst: Time,
    ecn: bool,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance: Time,
    /// How long the last packet waited that left; nothing if nothing waited behind it.
    qdelay: Time,
    qdelay_old: Time,
    next_update: Time,
    /// When something last left: Linux's allowance shrinks by the time since then.
    left_at: Option<Time>,
    /// Whether anything waits between two events: on Linux nothing decays then.
    is_backlogged: bool,
    max_packet: u16,
}

impl Pie {
    fn build(values: &Values) -> Pie {
        Pie {
            is_linux: values.meaning("variant", &[("rfc8033", false), ("linux", true)]),
            target: values.time("target"),
            update: values.time("update"),
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            max_burst: values.time("max_burst"),
            ecn: values.flag("ecn"),
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: values.time("max_burst"),
            qdelay: Time::ZERO,
            qdelay_old: Time::ZERO,
            next_update: values.time("update"),
            left_at: None,
            is_backlogged: false,
            max_packet: 0,
        }
    }

    fn is_low(&self, qdelay: Time) -> bool {
        qdelay.times(2) < self.target
    }

    /// Whether further updates change nothing.
    fn is_at_rest(&self) -> bool {
        self.drop_prob == 0.0
            && self.qdelay == Time::ZERO
            && self.qdelay_old == Time::ZERO
            && self.burst_allowance == self.max_burst
    }

    /// Makes up for the updates until now. Between them nothing has left.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            if self.is_at_rest() {
                let missed = now.since(self.next_update).as_ps() / self.update.as_ps() + 1;
                self.next_update += self.update.times(missed);
                return;
            }
            self.correct();
            self.next_update += self.update;
        }
    }

    /// §4.2, and the allowance of §4.4.
    fn correct(&mut self) {
        let seconds = |time: Time| time.as_secs_f64();
        let error = seconds(self.qdelay) - seconds(self.target);
        let growth = seconds(self.qdelay) - seconds(self.qdelay_old);
        let mut step = (self.alpha * error + self.beta * growth) / scale(self.drop_prob);
        if self.drop_prob >= 0.1 {
            // §5.5: no more than 2 % at once.
            step = step.min(0.02);
        }
        if self.is_linux && self.qdelay > LONG {
            step += ADDED_WHILE_LONG;
        }
        self.drop_prob += step;
        if self.qdelay == Time::ZERO && self.qdelay_old == Time::ZERO && !self.is_backlogged {
            self.drop_prob *= 1.0 - 1.0 / 64.0;
        }
        // Linux bounds it by 256: so much longer it takes to come back from where everything is dropped.
        self.drop_prob = self.drop_prob.clamp(0.0, if self.is_linux { 256.0 } else { 1.0 });
        if !self.is_linux {
            self.burst_allowance = self.burst_allowance.since(self.update);
        }
        if self.drop_prob == 0.0 && self.is_low(self.qdelay) && self.is_low(self.qdelay_old) {
            (self.burst_allowance, self.left_at) = (self.max_burst, None);
        }
        self.qdelay_old = self.qdelay;
    }

    /// §4.1 with the derandomization of §5.4. A queue of two packets is never dropped from (Linux: of less), two of
    /// the largest, as Linux has it.
    fn chooses(&mut self, look: &mut Look<'_>) -> bool {
        let two_packets = 2 * u64::from(self.max_packet);
        let is_short = look.queued.bytes < two_packets + u64::from(!self.is_linux);
        let qdelay = if self.is_linux { self.qdelay } else { self.qdelay_old };
        if self.burst_allowance > Time::ZERO || self.is_low(qdelay) && self.drop_prob < 0.2 || is_short {
            return false;
        }
        self.accu_prob = if self.drop_prob == 0.0 { 0.0 } else { self.accu_prob + self.drop_prob };
        if self.accu_prob < 0.85 {
            return false;
        }
        let draw =
            f64::from(narrow::<u32>(look.random.bits() >> 32)) / f64::from(1 << 16) / f64::from(1 << 16);
        let chosen = self.accu_prob >= 8.5 || draw < self.drop_prob;
        if chosen {
            self.accu_prob = 0.0;
        }
        chosen
    }
}

/// A small probability is corrected by less (§4.2).
fn scale(drop_prob: f64) -> f64 {
    let steps =
        [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
    steps.into_iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, by)| by)
}

impl Aqm for Pie {
    fn arrive(&mut self, look: &mut Look<'_>) -> Verdict {
        self.catch_up(look.now);
        self.max_packet = self.max_packet.max(look.size_bytes);
        let verdict = if !self.chooses(look) {
            Verdict::Accept
        } else if self.ecn && look.markable && self.drop_prob <= MARKS_UP_TO {
            Verdict::Mark
        } else {
            Verdict::Drop
        };
        self.is_backlogged |= self.is_linux && verdict != Verdict::Drop;
        verdict
    }

    fn leave(&mut self, look: &mut Look<'_>) -> Verdict {
        self.catch_up(look.now);
        self.qdelay = if look.queued.packets == 0 { Time::ZERO } else { look.sojourn };
        if self.is_linux {
            self.is_backlogged = look.queued.packets > 0;
            let since = self.left_at.replace(look.now).map_or(Time::ZERO, |before| look.now.since(before));
            self.burst_allowance = self.burst_allowance.since(since);
        }
        Verdict::Accept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::aqm::testing::Scene;
    use crate::spec::Value;

    fn pie(ecn: bool) -> Pie {
        variant("rfc8033", ecn)
    }

    fn variant(variant: &str, ecn: bool) -> Pie {
        let ms = |ms: u64| Value::Time(Time::from_us(ms * 1_000));
        let entries = [
            ("variant", Value::Text(variant.to_owned())),
            ("target", ms(15)),
            ("update", ms(15)),
            ("alpha", Value::Number(0.125)),
            ("beta", Value::Number(1.25)),
            ("max_burst", ms(150)),
            ("ecn", Value::Flag(ecn)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let mut pie = Pie::build(&Values { kind: "pie".to_owned(), entries });
        pie.max_packet = 1_500;
        pie
    }

    fn leaves(pie: &mut Pie, scene: &mut Scene, now: u64, waited: u64) {
        let ms = |ms: u64| Time::from_us(ms * 1_000);
        pie.leave(&mut scene.look(ms(now), 100_000, ms(waited), false));
    }

    /// RFC 8033 §4.2 by hand: at 45 ms after nothing, (1/8 x 0.030 + 5/4 x 0.045) / 2048; then 1/8 x 0.030 alone, over
    /// 128 and, from 1e-4 on, 32.
    #[test]
    fn the_probability_follows_the_delay_and_its_growth() {
        let (mut pie, mut scene) = (pie(false), Scene::new());
        leaves(&mut pie, &mut scene, 1, 45);
        let first = (0.125 * 0.030 + 1.25 * 0.045) / 2048.0;
        leaves(&mut pie, &mut scene, 16, 45);
        assert!((pie.drop_prob - first).abs() < 1e-12, "{} for {first}", pie.drop_prob);
        let mut expected = first;
        for now in [31, 46, 61, 76] {
            leaves(&mut pie, &mut scene, now, 45);
            expected += 0.125 * 0.030 / if expected < 1e-4 { 128.0 } else { 32.0 };
            assert!((pie.drop_prob - expected).abs() < 1e-12, "{} for {expected}", pie.drop_prob);
        }
    }

    #[test]
    fn a_large_probability_rises_by_two_per_cent_at_most_and_decays() {
        let (mut pie, mut scene) = (pie(false), Scene::new());
        pie.drop_prob = 0.2;
        leaves(&mut pie, &mut scene, 1, 1_000);
        leaves(&mut pie, &mut scene, 16, 1_000);
        assert!((pie.drop_prob - 0.22).abs() < 1e-12, "{}", pie.drop_prob);
        // Nothing waits any more: first the delay falls, then it is nothing twice in a row.
        pie.leave(&mut scene.look(Time::from_us(17_000), 0, Time::from_us(1_000), false));
        pie.drop_prob = 0.5;
        (pie.qdelay, pie.qdelay_old) = (Time::ZERO, Time::ZERO);
        pie.catch_up(Time::from_us(30_000));
        let expected = (0.5 - 0.125 * 0.015) * (1.0 - 1.0 / 64.0);
        assert!((pie.drop_prob - expected).abs() < 1e-12, "{} for {expected}", pie.drop_prob);
    }

    /// 150 ms of allowance, of which each update takes 15.
    #[test]
    fn a_burst_is_let_through_for_ten_updates() {
        let (mut pie, mut scene) = (pie(false), Scene::new());
        let mut first_drop = None;
        for now in 1..1_000 {
            leaves(&mut pie, &mut scene, now, 200);
            // Whatever the probability, were it not for the allowance.
            pie.drop_prob = 1.0;
            let look = &mut scene.look(Time::from_us(now * 1_000 + 500), 100_000, Time::ZERO, true);
            if pie.arrive(look) != Verdict::Accept {
                first_drop = first_drop.or(Some(now));
            }
        }
        assert_eq!(first_drop, Some(150));
    }

    #[test]
    fn drops_are_as_frequent_as_their_probability_says_and_marks_end_at_ten_per_cent() {
        for (probability, ecn, verdict) in
            [(0.05, false, Verdict::Drop), (0.05, true, Verdict::Mark), (0.3, true, Verdict::Drop)]
        {
            let (mut pie, mut scene) = (pie(ecn), Scene::new());
            (pie.drop_prob, pie.burst_allowance) = (probability, Time::ZERO);
            (pie.qdelay, pie.qdelay_old) = (Time::from_us(15_000), Time::from_us(15_000));
            let judged = (0..100_000)
                .map(|_| pie.arrive(&mut scene.look(Time::from_us(1), 100_000, Time::ZERO, true)));
            let judged: Vec<Verdict> = judged.collect();
            let chosen = judged.iter().filter(|one| **one == verdict).count();
            assert!(judged.iter().all(|one| *one == verdict || *one == Verdict::Accept));
            // Derandomized (§5.4): none until 0.85 of the mean distance has passed, then as drawn.
            let distance = (0.85 / probability).ceil() - 1.0 + 1.0 / probability;
            let expected = 100_000.0 / distance;
            let share = chosen as f64 / expected;
            assert!((share - 1.0).abs() < 0.05, "{probability}: {chosen} for {expected}");
        }
    }

    /// By hand, at 300 ms after nothing: (1/8 x 0.285 + 5/4 x 0.3) / 2048 and 2 %; then 1/8 x 0.285 over 2 and 2 %; from
    /// 10 % on 2 % at most and 2 %.
    #[test]
    fn above_a_quarter_of_a_second_linux_adds_two_per_cent_at_each_correction() {
        let (mut pie, mut scene) = (variant("linux", false), Scene::new());
        leaves(&mut pie, &mut scene, 1, 300);
        leaves(&mut pie, &mut scene, 16, 300);
        let mut expected = (0.125 * 0.285 + 1.25 * 0.3) / 2048.0 + 0.02;
        assert!((pie.drop_prob - expected).abs() < 1e-12, "{} for {expected}", pie.drop_prob);
        for now in [31, 46, 61, 76] {
            leaves(&mut pie, &mut scene, now, 300);
            let step: f64 = if expected < 0.1 { 0.125 * 0.285 / 2.0 } else { 0.02 };
            expected += step + 0.02;
            assert!((pie.drop_prob - expected).abs() < 1e-12, "{} for {expected}", pie.drop_prob);
        }
        // 4 % at each correction, past 1.
        for now in 6..60 {
            leaves(&mut pie, &mut scene, 15 * now + 1, 300);
        }
        assert!(pie.drop_prob > 1.5, "{}", pie.drop_prob);
        // At 250 ms it does not.
        let before = pie.drop_prob;
        pie.qdelay_old = Time::from_us(250_000);
        leaves(&mut pie, &mut scene, 887, 250);
        leaves(&mut pie, &mut scene, 901, 250);
        let step = pie.drop_prob - before;
        assert!((step - 0.02).abs() < 1e-12, "{step}");
    }

    /// It shrinks from the first departure on, and by nothing while nothing leaves.
    #[test]
    fn linuxs_allowance_shrinks_as_packets_leave() {
        let (mut pie, mut scene) = (variant("linux", false), Scene::new());
        pie.drop_prob = 0.5;
        leaves(&mut pie, &mut scene, 1_000, 10);
        assert_eq!(pie.burst_allowance, Time::from_us(150_000));
        leaves(&mut pie, &mut scene, 1_060, 10);
        assert_eq!(pie.burst_allowance, Time::from_us(90_000));
        leaves(&mut pie, &mut scene, 1_200, 10);
        assert_eq!(pie.burst_allowance, Time::ZERO);
    }

    /// A packet that came while the last one was being sent waits, though that left nothing behind.
    #[test]
    fn nothing_decays_on_linux_while_anything_waits() {
        let (mut pie, mut scene) = (variant("linux", false), Scene::new());
        let us = Time::from_us;
        pie.leave(&mut scene.look(us(100), 0, us(0), false));
        pie.arrive(&mut scene.look(us(200), 0, Time::ZERO, false));
        (pie.drop_prob, pie.burst_allowance) = (0.5, Time::ZERO);
        pie.catch_up(us(15_000));
        let mut expected = 0.5 - 0.125 * 0.015;
        assert!((pie.drop_prob - expected).abs() < 1e-12, "{} for {expected}", pie.drop_prob);
        pie.leave(&mut scene.look(us(15_100), 0, us(0), false));
        pie.catch_up(us(30_000));
        expected = (expected - 0.125 * 0.015) * (1.0 - 1.0 / 64.0);
        assert!((pie.drop_prob - expected).abs() < 1e-12, "{} for {expected}", pie.drop_prob);
    }

    #[test]
    fn a_queue_of_two_packets_is_dropped_from_on_linux_alone() {
        for (which, bytes, dropped) in [
            ("linux", 2_999, false),
            ("linux", 3_000, true),
            ("rfc8033", 3_000, false),
            ("rfc8033", 3_001, true),
        ] {
            let (mut pie, mut scene) = (variant(which, false), Scene::new());
            (pie.drop_prob, pie.burst_allowance, pie.accu_prob) = (0.5, Time::ZERO, 9.0);
            (pie.qdelay, pie.qdelay_old) = (Time::from_us(15_000), Time::from_us(15_000));
            let verdict = pie.arrive(&mut scene.look(Time::from_us(1), bytes, Time::ZERO, false));
            assert_eq!(verdict == Verdict::Drop, dropped, "{which}, {bytes} B");
        }
    }

    #[test]
    fn a_delay_that_has_just_become_low_counts_at_once_on_linux() {
        for (which, dropped) in [("linux", false), ("rfc8033", true)] {
            let (mut pie, mut scene) = (variant(which, false), Scene::new());
            (pie.drop_prob, pie.burst_allowance, pie.accu_prob) = (0.1, Time::ZERO, 9.0);
            (pie.qdelay, pie.qdelay_old) = (Time::from_us(1_000), Time::from_us(15_000));
            let verdict = pie.arrive(&mut scene.look(Time::from_us(1), 100_000, Time::ZERO, false));
            assert_eq!(verdict == Verdict::Drop, dropped, "{which}");
        }
    }

    #[test]
    fn a_quiet_time_of_any_length_takes_no_time() {
        let (mut pie, mut scene) = (pie(false), Scene::new());
        let late = Time(u64::MAX / 4);
        assert_eq!(pie.arrive(&mut scene.look(late, 0, Time::ZERO, false)), Verdict::Accept);
        assert!(pie.next_update > late);
    }
}
