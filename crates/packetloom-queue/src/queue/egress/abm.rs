//! Active Buffer Management (ABM, SIGCOMM 2022): dynamic thresholds for each queue of a switch, divided by how many
//! queues of its class are congested, and in proportion to how fast it is served. So neither a class that fills many
//! ports nor a queue that is served slowly takes the buffer from others.
//!
//! As in its authors' simulator (inet-tub/ns3-datacenter 6ddb4a4, gen-queue-disc.cc) each port measures both, from its
//! first packet on, once in an interval. What differs: there a queue counts as congested by what it held as the last
//! packet came to it, so that one to which nothing comes any more counts for ever; here by what it holds. And its alpha
//! of packets that are marked as unscheduled has no counterpart, as no transport here marks them: they may have a class
//! of their own.

use super::buffer::{Division, Read, Room, SIZE};
use crate::queue::admission::{ADMITS, CAPACITY, check_admits};
use crate::spec::{Complaint, Component, Kind, Needs, Registered, Value, Values, check_period, param};
use crate::units::{Rate, Time};

const COMPONENT: Component = Component {
    section: "buffer",
    kind: "abm",
    doc: "A buffer that all ports of a switch share, queue by queue of their schedulers. A queue may grow to alpha times what is free, divided by how many queues of its class are congested at the switch, and times its share of its link. Hosts' ports do not use it.",
    source: "ABM, SIGCOMM 2022",
    params: &[&[
        SIZE,
        param! {
            "alphas" = "[1]": Kind::List(&Kind::Number(0.001, 1024.0)),
            "The alpha of each class, from class 0 on; the last one is that of all further classes.",
            "Choudhury and Hahne, ToN 1998: alpha = 1"
        },
        param! {
            "rule" = "abm": Kind::Choice(&["abm", "dynamic-thresholds"]),
            "\"abm\", or \"dynamic-thresholds\": each queue may grow to alpha times what is free, without the other factors of ABM.",
            "ABM, SIGCOMM 2022; Choudhury and Hahne, ToN 1998"
        },
        param! {
            "saturation" = "28KB": Kind::Bytes,
            "A queue with this much or more counts as one congested queue; with less, as a part of one.",
            "inet-tub/ns3-datacenter 6ddb4a4, gen-queue-disc.cc: sat, 28000 B"; acts &[Needs::Is("rule", &["abm"])]
        },
        param! {
            "interval" = "30us": Kind::Time,
            "How often congested queues are counted and rates measured.",
            "inet-tub/ns3-datacenter 6ddb4a4, gen-queue-disc.cc: 30 us"; acts &[Needs::Is("rule", &["abm"])]
        },
        CAPACITY,
        ADMITS,
    ]],
    check,
};

/// The buffer.
pub(super) const BUFFER: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| Room::with_pool(values, Division::ByQueues(Settings::of(values))),
};

fn check(values: &Values) -> Result<(), Complaint> {
    if values.list("alphas").is_empty() {
        return Err(Complaint::new("alphas", "is empty; write a number for each class, such as [1, 0.5]"));
    }
    check_period("interval", values.time("interval"), "30us")?;
    if values.bytes("saturation") == 0 {
        return Err(Complaint::new("saturation", "write a size above zero"));
    }
    check_admits(values)
}

/// What a scenario says of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    /// Of each class; the last is that of all further ones.
    alphas: Vec<f64>,
    saturation_bytes: u64,
    interval: Time,
    is_measured: bool,
}

impl Settings {
    pub(super) fn of(buffer: &Values) -> Settings {
        let alpha = |value: &Value| match value {
            Value::Number(alpha) => *alpha,
            other => panic!("an alpha is {other:?}"),
        };
        Settings {
            alphas: buffer.list("alphas").iter().map(alpha).collect(),
            saturation_bytes: buffer.bytes("saturation"),
            interval: buffer.time("interval"),
            is_measured: buffer.meaning("rule", &[("abm", true), ("dynamic-thresholds", false)]),
        }
    }
}

/// The thresholds of ports with so many queues.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::queue) struct ByQueues {
    pub(super) settings: Settings,
    pub(super) queues: usize,
}

/// What a port knows of one of its queues.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// What it had sent by the last measurement.
    sent_bytes: u64,
    /// Its share of its link, by what it sent in the last interval.
    share: f64,
    /// How many queues of its class were congested at the switch then; one at least.
    congested: f64,
}

/// A port.
#[derive(Clone, Copy, Debug)]
struct Port {
    rate: Rate,
    /// When it measures next; never before its first packet.
    next: Time,
}

/// The thresholds of a switch.
#[derive(Clone, Debug)]
pub struct Abm {
    /// Of each class.
    alphas: Vec<f64>,
    saturation_bytes: f64,
    interval: Time,
    is_measured: bool,
    ports: Vec<Port>,
    /// Of each port, class by class.
    queues: Vec<Measured>,
}

/// Tells of a port's queues: the number of each, what waits there, and what it has sent.
type Tell<'a> = dyn FnMut(usize, u64, u64) + 'a;

impl Abm {
    /// Those of a switch with ports of these rates.
    pub(in crate::queue) fn build(by_queues: &ByQueues, rates: Vec<Rate>) -> Abm {
        let ByQueues { settings: Settings { alphas, saturation_bytes, interval, is_measured }, queues } =
            by_queues;
        let alpha = |class: usize| alphas[class.min(alphas.len() - 1)];
        Abm {
            alphas: (0..*queues).map(alpha).collect(),
            saturation_bytes: *saturation_bytes as f64,
            interval: *interval,
            is_measured: *is_measured,
            queues: vec![Measured { sent_bytes: 0, share: 1.0, congested: 1.0 }; queues * rates.len()],
            ports: rates.into_iter().map(|rate| Port { rate, next: Time::NEVER }).collect(),
        }
    }

    /// The port that measures first, and when, if that is by now.
    pub fn due(&self, now: Time) -> Option<(Time, usize)> {
        let ports = self.ports.iter().zip(0..).map(|(port, number)| (port.next, number));
        ports.min().filter(|(at, _)| *at <= now)
    }

    /// Whether a port that is to measure has had no packet yet.
    pub fn is_new(&self, port: usize) -> bool {
        self.is_measured && self.ports[port].next == Time::NEVER
    }

    /// The first packet comes to a port, which measures now, and in intervals from then on.
    pub fn begin(&mut self, port: usize, now: Time, tell_of: impl FnMut(usize, &mut Tell<'_>)) {
        self.ports[port].next = now;
        self.measure(port, now, tell_of);
    }

    /// Has a port measure that is to; until `now` no queue changes any more. `tell_of` tells of each port.
    pub fn measure(&mut self, port: usize, now: Time, mut tell_of: impl FnMut(usize, &mut Tell<'_>)) {
        let classes = self.alphas.len();
        let mut congested = vec![0.0; classes];
        for other in 0..self.ports.len() {
            tell_of(other, &mut |class, waiting_bytes, _| {
                congested[class] += (waiting_bytes as f64 / self.saturation_bytes).min(1.0);
            });
        }
        let Port { rate, next } = &mut self.ports[port];
        let most_bytes = self.interval.as_secs_f64() * rate.as_bps() as f64 / 8.0;
        let mut is_at_rest = congested.iter().all(|number| *number == 0.0);
        tell_of(port, &mut |class, _, sent_bytes| {
            let queue = &mut self.queues[port * classes + class];
            is_at_rest &= sent_bytes == queue.sent_bytes;
            let share = (sent_bytes - queue.sent_bytes) as f64 / most_bytes;
            // What sent less than its turn was idle, or has just begun: it counts as if the link were its own.
            let is_known = share >= 1.0 / classes as f64 && share <= 1.0;
            let (share, congested) = (if is_known { share } else { 1.0 }, congested[class].max(1.0));
            *queue = Measured { sent_bytes, share, congested };
        });
        // Where nothing waits and nothing was sent, the next measurements say the same.
        let missed = if is_at_rest { now.since(*next).as_ps() / self.interval.as_ps() } else { 0 };
        *next += self.interval.times(missed + 1);
    }

    /// How much a queue of a port may hold where so much is free.
    pub fn threshold(&self, port: u32, class: usize, free_bytes: u64) -> f64 {
        let queue = &self.queues[port as usize * self.alphas.len() + class];
        self.alphas[class] * free_bytes as f64 / queue.congested * queue.share
    }
}

#[cfg(test)]
#[path = "abm_tests.rs"]
mod tests;
