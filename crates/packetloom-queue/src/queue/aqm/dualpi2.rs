//! DualPI2 (RFC 9332): one controller for two queues. It keeps the longer of their delays near a target by a base
//! probability p'. Classic packets are dropped or marked with its square, L4S packets are marked with its multiple.
//!
//! It is Linux's (sch_dualpi2.c), or the pseudocode of RFC 9332 Appendix A, which differ: in the L queue's own marking
//! (a step; a ramp), in chance (drawn; as often as the probability says), in when nothing is done (below two packets at
//! the port; of the L queue's own marks, up to one packet in it), and in their constants.
//! Linux's `min_qlen_step` and packets of several segments have no counterpart here.

use super::{AnyAqm, Aqm, Look, Read, Specification};
use crate::queue::Verdict;
use crate::queue::scheduler::{CLASSIC, L4S};
use crate::spec::{Complaint, Component, Kind, Needs, Registered, Values, check_period, param};
use crate::units::Time;

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "dualpi2",
    doc: "Two queues, one controller: a probability p' rises while packets wait for longer than a target, and as their wait grows; it falls likewise. Classic packets are marked, or dropped, with the probability p'^2. L4S packets are marked with the coupling factor times p', and where they wait for longer than a short time of their own. It needs scheduler = \"dual-queue\".",
    source: "RFC 9332; Linux sch_dualpi2.c",
    params: &[&[
        param! {
            "variant" = "linux": Kind::Choice(&["linux", "rfc9332"]),
            "Linux's qdisc: L4S packets that waited too long are all marked, others by chance, and nothing is done while less than two packets wait. Or the RFC's pseudocode: marks of L4S packets rise along a ramp, and marks and drops come at the frequency of their probability, without random draws.",
            "Linux sch_dualpi2.c; RFC 9332 Appendix A"
        },
        param! {
            "target" = "15ms": Kind::Time,
            "How long packets are to wait.", "RFC 9332 Appendix A.1 and Linux: 15 ms"
        },
        param! {
            "update": Kind::Time,
            "How often p' is corrected; left out: 16 ms for \"linux\", 15 ms for \"rfc9332\".",
            "Linux: tupdate; RFC 9332 Appendix A.1: min(target, RTT_max/3)"
        },
        param! {
            "alpha": Kind::Number(0.0, 1_000_000.0),
            "How much p' is raised for each second that the delay is above the target; left out: 0.16 for \"linux\", 0.15 for \"rfc9332\".",
            "Linux: 41/256; RFC 9332 Appendix A.1: 0.1 Tupdate / RTT_max^2"
        },
        param! {
            "beta": Kind::Number(0.0, 1_000_000.0),
            "How much p' is raised for each second by which the delay has grown since the last correction; left out: 3.2 for \"linux\", 3 for \"rfc9332\".",
            "Linux: 819/256; RFC 9332 Appendix A.1: 0.3 / RTT_max"
        },
        param! {
            "coupling" = "2": Kind::Number(1.0, 255.0),
            "L4S packets are marked with this many times the probability p'.",
            "RFC 9332 §2.1, Appendix A.1: k = 2"
        },
        param! {
            "mark_above": Kind::Time,
            "L4S packets that waited for longer may be marked whatever p' is; left out: 1 ms for \"linux\", 0.8 ms for \"rfc9332\".",
            "Linux: step_thresh 1 ms; RFC 9332 Appendix A.1: minTh = 800 us"
        },
        param! {
            "mark_range": Kind::Time,
            "The width of the ramp: all are marked from mark_above plus this on, fewer below; left out: 0.4 ms.",
            "RFC 9332 Appendix A.1: range = 400 us"; acts &[Needs::Is("variant", &["rfc9332"])]
        },
        param! {
            "mark_above_packets": Kind::Count(1),
            "Instead of mark_above: an L4S packet is marked if it leaves more than this many packets in its queue.",
            "Linux: step_thresh in packets"; acts &[Needs::Is("variant", &["linux"])]
        },
        param! {
            "judges" = "departures": Kind::Choice(&["departures", "arrivals"]),
            "Whether p' decides about packets as they leave or as they come.",
            "RFC 9332 Appendix A; Linux: drop_dequeue, drop_enqueue"; acts &[Needs::Is("variant", &["linux"])]
        },
        param! {
            "overload" = "drop": Kind::Choice(&["drop", "mark"]),
            "What happens once p' would mark all L4S packets. Either these, and classic packets that could be marked, are dropped with the probability p'^2; or p' rises no further, and queues grow until the buffer is full.",
            "RFC 9332 §4.2.3, Appendix A.2; Linux: drop_on_overload, overflow"
        },
    ]],
    check,
};

/// The AQM.
pub const AQM: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| Specification {
        marks: true,
        drops: true,
        couples: true,
        ..Specification::new(AnyAqm::DualPi2(DualPi2::build(values)))
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    if values.optional_time("target") == Some(Time::ZERO) {
        return Err(Complaint::new("target", "write a time above zero"));
    }
    if let Some(update) = values.optional_time("update") {
        check_period("update", update, "16ms")?;
    }
    let (is_rfc, has) = (values.text("variant") == "rfc9332", |key: &str| values.has(key));
    let complaint = |key: &str, message: &str| Err(Complaint::new(key, message));
    if is_rfc && values.text("judges") == "arrivals" {
        return complaint(
            "judges",
            "RFC 9332's pseudocode judges departures; write \"departures\", or variant = \"linux\"",
        );
    }
    if is_rfc && has("mark_above_packets") {
        return complaint(
            "mark_above_packets",
            "RFC 9332's ramp goes by time; write mark_above, or variant = \"linux\"",
        );
    }
    if !is_rfc && has("mark_range") {
        return complaint(
            "mark_range",
            "Linux marks all beyond mark_above; leave it out, or write variant = \"rfc9332\"",
        );
    }
    if has("mark_above") && has("mark_above_packets") {
        return complaint(
            "mark_above",
            "mark_above_packets says when L4S packets are marked; leave one of the two out",
        );
    }
    Ok(())
}

/// When an L4S packet is marked whatever p' is.
#[derive(Clone, Copy, Debug)]
enum Native {
    /// If it waited for longer.
    Above(Time),
    /// If it leaves more packets behind.
    AbovePackets(u64),
    /// More and more of those that waited for longer than the first time, all of those that did for longer by the second.
    Ramp(Time, Time),
}

/// The state.
#[derive(Clone, Copy, Debug)]
pub struct DualPi2 {
    is_rfc: bool,
    target: Time,
    update: Time,
    alpha: f64,
    beta: f64,
    coupling: f64,
    native: Native,
    on_arrival: bool,
    drops_in_overload: bool,
    /// The base probability p'.
    prob: f64,
    /// The delay at the last correction.
    qdelay_old: Time,
    next_update: Time,
    max_packet: u16,
    /// What marks and drops of the two queues are behind their probabilities (RFC 9332: `recur`).
    behind: [f64; 2],
}

impl DualPi2 {
    fn build(values: &Values) -> DualPi2 {
        let is_rfc = values.meaning("variant", &[("linux", false), ("rfc9332", true)]);
        let us = |key: &str, linux, rfc| {
            values.optional_time(key).unwrap_or(Time::from_us(if is_rfc { rfc } else { linux }))
        };
        let number =
            |key: &str, linux, rfc| values.optional_number(key).unwrap_or(if is_rfc { rfc } else { linux });
        let update = us("update", 16_000, 15_000);
        let mark_above = us("mark_above", 1_000, 800);
        let packets = match values.optional_count("mark_above_packets") {
            Some(packets) => Native::AbovePackets(packets),
            None => Native::Above(mark_above),
        };
        DualPi2 {
            is_rfc,
            target: values.time("target"),
            update,
            alpha: number("alpha", 41.0 / 256.0, 0.15),
            beta: number("beta", 819.0 / 256.0, 3.0),
            coupling: values.number("coupling"),
            native: if is_rfc { Native::Ramp(mark_above, us("mark_range", 0, 400)) } else { packets },
            on_arrival: values.meaning("judges", &[("departures", false), ("arrivals", true)]),
            drops_in_overload: values.meaning("overload", &[("drop", true), ("mark", false)]),
            prob: 0.0,
            qdelay_old: Time::ZERO,
            next_update: update,
            max_packet: 0,
            behind: [0.0; 2],
        }
    }

    /// Makes up for the corrections until now. Since the last event the same packets were first in their queues, which
    /// came then.
    fn catch_up(&mut self, now: Time, first_came: [Option<Time>; 2]) {
        while self.next_update <= now {
            if first_came == [None, None] && self.qdelay_old == Time::ZERO {
                let missed = now.since(self.next_update).as_ps() / self.update.as_ps() + 1;
                let fall = missed as f64 * self.alpha * self.target.as_secs_f64();
                self.prob = (self.prob - fall).max(0.0);
                self.next_update += self.update.times(missed);
                return;
            }
            let waits = first_came.into_iter().flatten().map(|came| self.next_update.since(came));
            self.correct(waits.max().unwrap_or(Time::ZERO));
            self.next_update += self.update;
        }
    }

    /// RFC 9332 Appendix A.2 (`dualpi2_update`); Linux `calculate_probability`.
    fn correct(&mut self, qdelay: Time) {
        let [qdelay_s, target_s, old_s] = [qdelay, self.target, self.qdelay_old].map(Time::as_secs_f64);
        let change = self.alpha * (qdelay_s - target_s) + self.beta * (qdelay_s - old_s);
        let most = if self.drops_in_overload { 1.0 } else { 1.0 / self.coupling };
        self.prob = (self.prob + change).clamp(0.0, most);
        self.qdelay_old = qdelay;
    }

    /// Whether something of this probability happens to a packet of a queue.
    fn happens(&mut self, probability: f64, look: &mut Look<'_>) -> bool {
        if !self.is_rfc {
            return look.random.unit() < probability;
        }
        let behind = &mut self.behind[look.queue];
        *behind += probability;
        let happens = *behind > 1.0;
        if happens {
            *behind -= 1.0;
        }
        happens
    }

    /// The same with the square of p'.
    fn happens_squared(&mut self, look: &mut Look<'_>) -> bool {
        if self.is_rfc {
            return self.happens(self.prob * self.prob, look);
        }
        self.happens(self.prob, look) && self.happens(self.prob, look)
    }

    /// What p' makes of a packet; `native`: the probability of the L queue's own marks.
    fn judge(&mut self, native: f64, look: &mut Look<'_>) -> Verdict {
        if !self.is_rfc && look.port.queued().bytes < 2 * u64::from(self.max_packet) {
            return Verdict::Accept;
        }
        let coupled = self.coupling * self.prob;
        let is_overload = self.drops_in_overload && coupled >= 1.0;
        if look.queue == CLASSIC {
            return match self.happens_squared(look) {
                true if is_overload || !look.markable => Verdict::Drop,
                true => Verdict::Mark,
                false => Verdict::Accept,
            };
        }
        if is_overload && self.happens_squared(look) {
            return Verdict::Drop;
        }
        let probability = if is_overload { coupled } else { coupled.max(native) };
        if self.happens(probability.min(1.0), look) { Verdict::Mark } else { Verdict::Accept }
    }

    /// The probability of the L queue's own marks for one of its packets.
    fn native(&self, look: &Look<'_>) -> f64 {
        match self.native {
            Native::Above(time) => f64::from(look.sojourn > time),
            Native::AbovePackets(packets) => f64::from(look.queued.packets > packets),
            Native::Ramp(from, range) => {
                let beyond = look.sojourn.since(from);
                // Th_len: not for the sake of one packet.
                if look.queued.packets <= 1 || beyond == Time::ZERO {
                    0.0
                } else if beyond >= range {
                    1.0
                } else {
                    beyond.as_secs_f64() / range.as_secs_f64()
                }
            }
        }
    }
}

impl Aqm for DualPi2 {
    fn arrive(&mut self, look: &mut Look<'_>) -> Verdict {
        self.catch_up(look.now, [L4S, CLASSIC].map(|queue| look.port.first_came(queue)));
        self.max_packet = self.max_packet.max(look.size_bytes);
        if self.on_arrival { self.judge(0.0, look) } else { Verdict::Accept }
    }

    fn leave(&mut self, look: &mut Look<'_>) -> Verdict {
        let came = Time(look.now.as_ps() - look.sojourn.as_ps());
        let mut first_came = [L4S, CLASSIC].map(|queue| look.port.first_came(queue));
        first_came[look.queue] = Some(came);
        self.catch_up(look.now, first_came);
        let native = if look.queue == L4S { self.native(look) } else { 0.0 };
        // In the RFC the larger of two probabilities decides; Linux marks whatever is over its step, drawn or not.
        if self.is_rfc {
            return self.judge(native, look);
        }
        let verdict = if self.on_arrival { Verdict::Accept } else { self.judge(0.0, look) };
        if verdict == Verdict::Accept && native > 0.0 { Verdict::Mark } else { verdict }
    }
}

#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;
