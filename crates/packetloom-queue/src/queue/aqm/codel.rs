//! Controlled delay (CoDel, RFC 8289): once packets have waited for longer than `target` for a whole `interval`, drops or
//! marks one as it leaves, and others at intervals that shrink with the square root of their number.

use super::{AnyAqm, Aqm, Look, Read, Specification};
use crate::narrow::{narrow, saturated};
use crate::queue::Verdict;
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};
use crate::units::Time;

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "codel",
    doc: "Controlled delay: if all packets of an interval have waited for longer than a target, one is dropped as it leaves. The n-th further drop follows after the interval over the square root of n, until a packet has waited for less.",
    source: "RFC 8289; Linux codel_impl.h",
    params: &[&[
        param! {
            "variant" = "rfc8289": Kind::Choice(&["rfc8289", "linux"]),
            "Whose control law: the RFC's, or that of Linux's qdiscs. Linux comes nearer to the inverse square root by one step of Newton's at each drop. So a dropping state that begins with a number much below the last one drops faster at first, and the second drop follows after half an interval.",
            "RFC 8289 §5.6; Linux codel_impl.h: codel_Newton_step"
        },
        param! {
            "target" = "5ms": Kind::Time,
            "The delay that is acceptable permanently.",
            "RFC 8289 §5.3: 5 ms for the Internet; a datacenter takes 5 to 10 % of its interval"
        },
        param! {
            "interval" = "100ms": Kind::Time,
            "How long the delay must exceed the target before a packet is dropped: about the longest usual round trip.",
            "RFC 8289 §5.3: 100 ms"
        },
        param! {
            "ecn" = "true": Kind::Flag,
            "Whether ECN-capable packets are marked instead of dropped.",
            "Linux: on in fq_codel, off in codel; RFC 8289 drops"
        },
        param! {
            "ce_threshold": Kind::Time,
            "In addition, ECN-capable packets that have waited for longer than this are marked; left out: none.",
            "Linux: ce_threshold of codel and fq_codel"
        },
    ]],
    check,
};

/// The AQM.
pub const AQM: Registered<Read> = Registered { component: COMPONENT, factory: read };

fn read(values: &Values) -> Specification {
    let aqm = Codel::build(values);
    let marks = aqm.ecn || aqm.ce_threshold.is_some();
    Specification { marks, drops: true, ..Specification::new(AnyAqm::Codel(aqm)) }
}

fn check(values: &Values) -> Result<(), Complaint> {
    if values.time("interval") == Time::ZERO {
        return Err(Complaint::new("interval", "write a time above zero"));
    }
    if values.time("target") >= values.time("interval") {
        let message = "write less than interval: RFC 8289 takes 5 to 10 % of it";
        return Err(Complaint::new("target", message));
    }
    Ok(())
}

/// A root of one: Linux keeps 16 bits (REC_INV_SQRT_BITS).
const ONE_ROOT: f64 = 65_536.0;

/// What the next packet is asked about for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    /// Nothing: it is the first at its moment.
    #[default]
    Nothing,
    /// The drop with which the dropping state began.
    First,
    /// A drop in that state.
    Another,
}

/// The state, by the names of RFC 8289 §5.
#[derive(Clone, Copy, Debug)]
pub struct Codel {
    is_linux: bool,
    target: Time,
    interval: Time,
    ecn: bool,
    ce_threshold: Option<Time>,
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    /// What Linux takes for the inverse square root of `count`, in 65,536ths.
    inverse_root: u16,
    dropping: bool,
    after: After,
    max_packet: u16,
}

impl Codel {
    fn build(values: &Values) -> Codel {
        Codel {
            is_linux: values.meaning("variant", &[("rfc8289", false), ("linux", true)]),
            target: values.time("target"),
            interval: values.time("interval"),
            ecn: values.flag("ecn"),
            ce_threshold: values.optional_time("ce_threshold"),
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            inverse_root: 0,
            dropping: false,
            after: After::Nothing,
            max_packet: 0,
        }
    }

    /// Whether packets have waited for long enough for this one to be dropped (§5.6, `dodequeue`).
    fn is_above(&mut self, look: &Look<'_>) -> bool {
        if look.sojourn < self.target || look.queued.bytes <= self.max_packet.into() {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            Some(at) => look.now >= at,
            None => {
                self.first_above = Some(look.now + self.interval);
                false
            }
        }
    }

    /// When to drop next (§5.6, the control law).
    fn next_after(&self, at: Time) -> Time {
        let interval = self.interval.as_ps() as f64;
        let gap = match self.is_linux {
            true => interval * f64::from(self.inverse_root) / ONE_ROOT,
            false => interval / f64::from(self.count).sqrt(),
        };
        at + Time(saturated::<u64>(gap))
    }

    /// Another count. Linux takes one step of Newton's towards its inverse square root x, to x / 2 (3 - count x²), and
    /// rounds down where this does.
    fn count_to(&mut self, count: u32) {
        self.count = count;
        let root = u64::from(self.inverse_root) << 16;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(count) * ((root * root) >> 32));
        self.inverse_root = narrow::<u16>(((rest >> 2).wrapping_mul(root) >> 47) & u64::from(u16::MAX));
    }

    /// What becomes of a packet whose time has come.
    fn signal(&mut self, look: &Look<'_>, after: After) -> Verdict {
        if self.ecn && look.markable {
            return Verdict::Mark;
        }
        self.after = after;
        Verdict::Drop
    }

    /// The dropping state begins, where the last one ended if that is not long ago (§5.5, `dequeue`).
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_soon = now.since(self.drop_next) < self.interval.times(16);
        if delta > 1 && is_soon {
            self.count_to(delta);
        } else {
            (self.count, self.inverse_root) = (1, u16::MAX);
        }
        self.last_count = self.count;
        self.drop_next = self.next_after(now);
    }

    fn judge(&mut self, look: &Look<'_>) -> Verdict {
        let is_above = self.is_above(look);
        match std::mem::take(&mut self.after) {
            // After the first drop the next packet goes, however long it has waited.
            After::First => return Verdict::Accept,
            After::Another if is_above => self.drop_next = self.next_after(self.drop_next),
            _ => {}
        }
        if self.dropping && !is_above {
            self.dropping = false;
        } else if self.dropping && look.now >= self.drop_next {
            self.count_to(self.count.saturating_add(1));
            let verdict = self.signal(look, After::Another);
            if verdict == Verdict::Mark {
                self.drop_next = self.next_after(self.drop_next);
            }
            return verdict;
        } else if is_above && !self.dropping {
            self.begin(look.now);
            return self.signal(look, After::First);
        }
        Verdict::Accept
    }
}

impl Aqm for Codel {
    fn arrive(&mut self, look: &mut Look<'_>) -> Verdict {
        self.max_packet = self.max_packet.max(look.size_bytes);
        Verdict::Accept
    }

    fn leave(&mut self, look: &mut Look<'_>) -> Verdict {
        let verdict = self.judge(look);
        let is_late = self.ce_threshold.is_some_and(|threshold| look.sojourn > threshold);
        if verdict == Verdict::Accept && is_late { Verdict::Mark } else { verdict }
    }

    // An empty queue ends the dropping state.
    fn emptied(&mut self) {
        self.first_above = None;
        self.dropping = false;
        self.after = After::Nothing;
    }

    // Linux: a flow that fills the buffer is to hear of it sooner (sch_fq_codel.c).
    fn overflowed(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::aqm::testing::Scene;
    use crate::spec::Value;

    fn codel(ecn: bool) -> Codel {
        variant("rfc8289", ecn)
    }

    fn variant(variant: &str, ecn: bool) -> Codel {
        let entries = [
            ("variant", Value::Text(variant.to_owned())),
            ("target", Value::Time(Time::from_us(5_000))),
            ("interval", Value::Time(Time::from_us(100_000))),
            ("ecn", Value::Flag(ecn)),
            ("ce_threshold", Value::Absent),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let mut codel = Codel::build(&Values { kind: "codel".to_owned(), entries });
        codel.max_packet = 1_500;
        codel
    }

    /// When packets are dropped or marked, in us, of one that leaves every 100 us after a wait of 10 ms, until `end_us`.
    fn signals(codel: &mut Codel, markable: bool, (from_us, end_us): (u64, u64)) -> Vec<u64> {
        let mut scene = Scene::new();
        let mut signals = Vec::new();
        for now in (from_us..end_us).step_by(100) {
            while codel.leave(&mut scene.look(Time::from_us(now), 100_000, Time::from_us(10_000), markable))
                != Verdict::Accept
            {
                signals.push(now);
                if markable {
                    break;
                }
            }
        }
        signals
    }

    /// The control law by hand (RFC 8289 §5.6): the first drop an interval after the wait went above the target, the
    /// next ones 100, 70.7, 57.7, 50, 44.7, 40.8 and 37.8 ms after each other.
    #[test]
    fn drops_follow_each_other_by_the_inverse_square_root_of_their_number() {
        for (ecn, markable) in [(false, false), (true, false), (true, true)] {
            let signals = signals(&mut codel(ecn), markable, (0, 530_000));
            let mut at = 100_000.0_f64;
            let mut expected = vec![100_000];
            for count in 1..=7_u32 {
                at += 100_000.0 / f64::from(count).sqrt();
                // Packets leave every 100 us: the first after that time.
                expected.push((at / 100.0).ceil() as u64 * 100);
            }
            assert_eq!(signals, expected, "ecn {ecn}, markable {markable}");
        }
    }

    /// By hand: x / 2 (3 - count x²) leads from 1 for the first drop to 0.5, 0.5625, 0.4878 and 0.4415 for the next ones.
    /// A trace of Linux 7.2 has drops 100, 51, 56, 49 and 44 ms after each other.
    #[test]
    fn linux_approaches_the_root_by_one_step_a_drop() {
        let found = signals(&mut variant("linux", false), false, (0, 400_000));
        let mut at = 100_000.0_f64;
        let mut expected = vec![100_000];
        for root in [1.0, 0.5, 0.5625, 0.4878, 0.4415] {
            at += 100_000.0 * root;
            expected.push((at / 100.0).ceil() as u64 * 100);
        }
        assert!(
            found.iter().zip(&expected).all(|(found, at)| found.abs_diff(*at) <= 100),
            "{found:?} for {expected:?}"
        );
        assert!(found.len() >= 5);
    }

    /// From 40 drops to a count of 3, whose root is 0.577: a step from 0.158 leads to 0.231, so the next drop follows
    /// after 23 ms instead of 58.
    #[test]
    fn linux_drops_faster_where_a_state_begins_with_a_much_smaller_number() {
        for (name, root) in [("linux", 0.231), ("rfc8289", 0.577)] {
            let mut codel = variant(name, false);
            codel.dropping = false;
            (codel.count, codel.last_count) = (40, 37);
            codel.inverse_root = 10_362;
            codel.begin(Time::from_us(1_000));
            assert_eq!(codel.count, 3);
            let gap = codel.drop_next.since(Time::from_us(1_000)).as_ps() as f64 / 1e11;
            assert!((gap - root).abs() < 0.001, "{name}: {gap} for {root}");
        }
    }

    #[test]
    fn a_short_wait_ends_the_dropping_state_and_a_soon_return_goes_on_from_its_rate() {
        let mut codel = codel(false);
        let mut scene = Scene::new();
        assert_eq!(signals(&mut codel, false, (0, 530_000)).len(), 8);
        assert_eq!((codel.count, codel.dropping), (8, true));
        let short = &mut scene.look(Time::from_us(530_000), 100_000, Time::from_us(4_999), false);
        assert_eq!(codel.leave(short), Verdict::Accept);
        assert!(!codel.dropping && codel.first_above.is_none());
        // Within 16 intervals of the last state, which began with a count of 1: its 7 further drops are the count now.
        assert_eq!(signals(&mut codel, false, (530_100, 630_200)), [630_100]);
        assert_eq!(codel.count, 7);
        // Once more, long after: from the start.
        codel.leave(&mut scene.look(Time::from_us(631_000), 100_000, Time::ZERO, false));
        assert_eq!(signals(&mut codel, false, (3_000_000, 3_100_100)), [3_100_000]);
        assert_eq!(codel.count, 1);
    }

    /// What waits behind it must be more than a packet, or the line would go idle.
    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut codel = codel(false);
        let mut scene = Scene::new();
        for now in (0..1_000).map(|ms| Time::from_us(ms * 1_000)) {
            let look = &mut scene.look(now, 1_500, Time::from_us(20_000), false);
            assert_eq!(codel.leave(look), Verdict::Accept);
        }
    }

    #[test]
    fn an_empty_queue_ends_the_dropping_state() {
        let mut codel = codel(false);
        assert_eq!(signals(&mut codel, false, (0, 100_100)), [100_000]);
        codel.emptied();
        assert!(!codel.dropping);
        assert_eq!(signals(&mut codel, false, (100_100, 200_100)), [0_u64; 0]);
    }
}
