//! ASY: the controller gives every pair of servers a rate.
//!
//! To sync or not to sync §II-B: when what servers offer changes, the controller normalises the offered rates, and
//! each server runs a leaky bucket for each of its queues. Paths are ECMP's.

use super::settings::{self, Channel};
use super::traffic::{Queues, Traffic};
use crate::control::{Ceiling, Normaliser, Pair, Settling};
use crate::narrow::{narrow, saturated};
use crate::spec::{Component, Kind, Needs, Values, param};
use crate::topology::Topology;
use crate::units::{ByteTime, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The component.
pub const COMPONENT: Component = Component {
    section: "transport",
    kind: "asy",
    doc: "Asynchronous central control: a rate for every pair of servers, and a leaky bucket for each queue.",
    source: "To sync or not to sync (Globecom 2018) §II-B, §III-B",
    params: &[
        &[
            param! {
                "estimator" = "active": Kind::Choice(&["active", "backlog", "arrivals"]),
                "The offered rate of a queue that is not empty: 1; what waits in it over the window; or what \
                      arrived in it lately, as an exponential average over the window.",
                "packetloom: SYN and ASY does not say how offered rates are estimated"
            },
            param! {
                "window" = "1ms": Kind::Time,
                "The estimator's window.",
                "packetloom"; acts &[Needs::Is("estimator", &["backlog", "arrivals"])]
            },
            param! {
                "up_to_offered" = "false": Kind::Flag,
                "Whether a queue gets no more than its offered rate; otherwise links are allocated fully. With backlog that rate falls as the queue empties, with arrivals since the last one came: a queue's last bytes then wait for long.",
                "packetloom"
            },
            param! {
                "share" = "1.0": Kind::Number(0.01, 1.0),
                "The share of each link that is allocated. If it is less than 1, queues at switches drain.",
                "packetloom"
            },
            param! {
                "rounds" = "1000": Kind::Count(0),
                "How often rows and columns are normalised in turn, at most. Decisions that this limit ended are counted.",
                "packetloom: SYN and ASY §III-B normalises iteratively and gives no number"
            },
            param! {
                "tolerance" = "0.001": Kind::Number(0.0, 1.0),
                "Rates are settled when a round changes none of them by more than this share of a link.",
                "packetloom: SYN and ASY §III-B gives none"
            },
            param! {
                "period" = "0us": Kind::Time,
                "The controller decides at multiples of this; 0us: at every change.",
                "SYN and ASY §II-B: whenever the offered load changes"
            },
        ],
        settings::PARAMS,
    ],
    check: settings::check,
};

/// What a queue offers, as its server reports it.
#[derive(Clone, Copy, Debug)]
enum Estimator {
    Active,
    Backlog,
    Arrivals,
}

/// How often the rates of all pairs were worked out, and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Normalisations {
    /// How often.
    pub decisions: u64,
    /// Rounds of all of them together.
    pub rounds: u64,
    /// How many were stopped by `rounds` before rates had settled.
    pub unsettled: u64,
}

impl Normalisations {
    fn count(&mut self, settling: Settling) {
        self.decisions += 1;
        self.rounds += u64::from(settling.rounds);
        self.unsettled += u64::from(!settling.settled);
    }
}

const NOWHERE: u32 = u32::MAX;

/// A pair with a rate, or about to get one.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    pair: Pair,
    /// As a part of a server's link.
    rate: f64,
    /// What the bucket still has to leak before the next packet goes, at time `since`, in ps of a whole link.
    debt_ps: f64,
    since: Time,
    /// Whether packets wait, and whether the controller thinks so.
    waits: bool,
    known: bool,
    /// Reports on their way to the controller.
    reports: u32,
}

impl Bucket {
    fn leak(&mut self, now: Time) {
        self.debt_ps = (self.debt_ps - self.rate * now.since(self.since).as_ps() as f64).max(0.0);
        self.since = now;
    }

    /// When the next packet may go.
    fn free_at(&self) -> Option<Time> {
        (self.waits && self.rate > 0.0)
            .then(|| self.since.saturating_add(Time(saturated::<u64>((self.debt_ps / self.rate).ceil()))))
    }
}

/// What a server reports: whether a queue has something to send.
#[derive(Clone, Copy, Debug)]
struct Report {
    at: Time,
    pair: Pair,
    waits: bool,
}

/// Plans the departures of all packets that leave before `until`.
pub fn plan(
    values: &Values,
    traffic: &Traffic,
    topology: &Topology,
    queues: &mut Queues<'_>,
    channel: &mut Channel,
    _: u64,
    until: Time,
) -> Option<Normalisations> {
    let mut rates = Rates::new(values, topology, queues, channel);
    let mut arrivals = (0..traffic.flows.len()).peekable();
    loop {
        let arrival = arrivals.peek().map_or(Time::NEVER, |&index| traffic.flows[index].start);
        let now = arrival.min(rates.next_at());
        if now >= until {
            break;
        }
        while let Some(index) = arrivals.next_if(|&index| traffic.flows[index].start == now) {
            rates.arrive(index, now);
        }
        rates.send_until(now);
        rates.learn_until(now);
        rates.decide(now);
    }
    arrivals.for_each(|index| rates.queues.arrive(index));
    Some(rates.normalisations)
}

/// The servers' buckets, and the controller that sets their rates.
struct Rates<'a, 'q> {
    queues: &'q mut Queues<'a>,
    channel: &'q mut Channel,
    estimator: Estimator,
    window_ps: f64,
    period: Time,
    ceiling: Ceiling,
    share: f64,
    normaliser: Normaliser,
    normalisations: Normalisations,
    byte_time: ByteTime,
    framing_bytes: u64,
    buckets: Vec<Bucket>,
    /// Each pair's bucket.
    bucket_of: Vec<u32>,
    /// When buckets let their next packet go.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    nic_free: Vec<Time>,
    reports: VecDeque<Report>,
    /// When the controller decides next.
    decides_at: Time,
    /// What came into each queue, forgotten exponentially, in bytes.
    recent_bytes: Vec<(f64, Time)>,
    pairs: Vec<Pair>,
    offered: Vec<f64>,
    reached: Vec<bool>,
}

impl<'a, 'q> Rates<'a, 'q> {
    fn new(
        values: &Values,
        topology: &Topology,
        queues: &'q mut Queues<'a>,
        channel: &'q mut Channel,
    ) -> Rates<'a, 'q> {
        let servers = topology.hosts as usize;
        Rates {
            queues,
            channel,
            estimator: values.meaning(
                "estimator",
                &[
                    ("backlog", Estimator::Backlog),
                    ("arrivals", Estimator::Arrivals),
                    ("active", Estimator::Active),
                ],
            ),
            window_ps: values.time("window").as_ps() as f64,
            period: values.time("period"),
            ceiling: if values.flag("up_to_offered") { Ceiling::Offered } else { Ceiling::Link },
            share: values.number("share"),
            normaliser: Normaliser::new(
                topology.hosts,
                values.count("rounds").try_into().unwrap_or(u32::MAX),
                values.number("tolerance"),
            ),
            normalisations: Normalisations::default(),
            byte_time: ByteTime::at(topology.host_rate()),
            framing_bytes: topology.framing_bytes,
            buckets: Vec::new(),
            bucket_of: vec![NOWHERE; servers * servers],
            due: BinaryHeap::new(),
            nic_free: vec![Time::ZERO; servers],
            reports: VecDeque::new(),
            decides_at: Time::NEVER,
            recent_bytes: vec![(0.0, Time::ZERO); servers * servers],
            pairs: Vec::new(),
            offered: Vec::new(),
            reached: vec![true; servers],
        }
    }

    fn next_at(&self) -> Time {
        let due = self.due.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        let report = self.reports.front().map_or(Time::NEVER, |report| report.at);
        due.min(report).min(self.decides_at)
    }

    fn arrive(&mut self, index: usize, now: Time) {
        self.queues.arrive(index);
        self.queues.admit(index);
        let pair = self.queues.pair_of(index);
        let place = self.queues.place(pair);
        let size_bytes = self.queues.traffic().flows[index].size_bytes as f64;
        let (bytes, since) = self.recent_bytes[place];
        self.recent_bytes[place] = (bytes * self.forgotten(since, now) + size_bytes, now);
        if self.bucket_of[place] == NOWHERE {
            self.bucket_of[place] = narrow::<u32>(self.buckets.len());
            let empty =
                Bucket { pair, rate: 0.0, debt_ps: 0.0, since: now, waits: false, known: false, reports: 0 };
            self.buckets.push(empty);
        }
        let number = self.bucket_of[place];
        let bucket = &mut self.buckets[number as usize];
        if !bucket.waits {
            bucket.leak(now);
            bucket.waits = true;
            bucket.free_at().into_iter().for_each(|at| self.due.push(Reverse((at, number))));
        }
        bucket.reports += 1;
        self.reports.push_back(Report { at: now + self.channel.latency, pair, waits: true });
    }

    /// What is left of something after a time, by the window.
    fn forgotten(&self, since: Time, now: Time) -> f64 {
        libm::exp(-(now.since(since).as_ps() as f64) / self.window_ps)
    }

    /// Buckets let packets go that are due.
    fn send_until(&mut self, now: Time) {
        while self.due.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            let Some(Reverse((_, number))) = self.due.pop() else { return };
            let bucket = &mut self.buckets[number as usize];
            bucket.leak(now);
            let pair = bucket.pair;
            let Some(flow) = self.queues.head(pair, false) else { continue };
            let wire_bytes = u64::from(self.queues.next_bytes(flow)) + self.framing_bytes;
            let takes = self.byte_time.of(wire_bytes);
            let nic_free = &mut self.nic_free[pair.src as usize];
            let leaves = now.max(*nic_free);
            *nic_free = leaves + takes;
            self.queues.send(flow, leaves, 0);
            bucket.debt_ps = takes.as_ps() as f64;
            bucket.waits = self.queues.head(pair, false).is_some();
            match bucket.free_at() {
                Some(at) => self.due.push(Reverse((at, number))),
                None => {
                    bucket.reports += 1;
                    self.reports.push_back(Report { at: now + self.channel.latency, pair, waits: false });
                }
            }
        }
    }

    /// The controller learns of events one latency later.
    fn learn_until(&mut self, now: Time) {
        while self.reports.front().is_some_and(|report| report.at <= now) {
            let Some(report) = self.reports.pop_front() else { return };
            self.channel.reports += 1;
            let number = self.bucket_of[self.queues.place(report.pair)];
            let bucket = &mut self.buckets[number as usize];
            bucket.known = report.waits;
            bucket.reports -= 1;
            self.decide_from(now);
        }
    }

    fn decide_from(&mut self, time: Time) {
        let up = self.channel.up_from(time);
        let period = self.period.as_ps();
        let at =
            if period == 0 || up == Time::NEVER { up } else { Time(up.as_ps().div_ceil(period) * period) };
        self.decides_at = self.decides_at.min(at);
    }

    /// New rates for all, if it is time.
    fn decide(&mut self, now: Time) {
        if now < self.decides_at {
            return;
        }
        self.decides_at = Time::NEVER;
        self.forget_empty();
        self.pairs.clear();
        self.offered.clear();
        for place in 0..self.buckets.len() {
            let bucket = self.buckets[place];
            if bucket.known {
                self.pairs.push(bucket.pair);
                self.offered.push(self.estimate(bucket.pair, now));
            }
        }
        let settling = self.normaliser.normalise(&self.pairs, self.ceiling, &mut self.offered);
        self.normalisations.count(settling);
        self.draw_losses(now);
        let mut rates = self.offered.iter();
        for bucket in &mut self.buckets {
            bucket.leak(now);
            let rate = if bucket.known { self.share * rates.next().copied().unwrap_or(0.0) } else { 0.0 };
            if self.reached[bucket.pair.src as usize] {
                self.channel.grants += u64::from(bucket.rate != rate);
                bucket.rate = rate;
            }
        }
        self.due.clear();
        let due = self.buckets.iter().enumerate();
        self.due.extend(
            due.filter_map(|(place, bucket)| Some(Reverse((bucket.free_at()?, narrow::<u32>(place))))),
        );
    }

    /// Which servers the new rates reach; the others get the next ones.
    fn draw_losses(&mut self, now: Time) {
        let mut any_lost = false;
        for reached in &mut self.reached {
            *reached = !self.channel.drops();
            any_lost |= !*reached;
        }
        if any_lost {
            self.decide_from(now + self.channel.retry);
        }
    }

    /// What a queue offers, as a part of a link; above zero.
    fn estimate(&self, pair: Pair, now: Time) -> f64 {
        let place = self.queues.place(pair);
        let bytes = match self.estimator {
            Estimator::Active => return 1.0,
            Estimator::Backlog => self.queues.waiting_bytes(pair) as f64,
            Estimator::Arrivals => {
                let (bytes, since) = self.recent_bytes[place];
                bytes * self.forgotten(since, now)
            }
        };
        (bytes * self.byte_time.of(1).as_ps() as f64 / self.window_ps).clamp(1e-6, 1.0)
    }

    /// Takes out the buckets of queues that are empty and known to be, with no report about them under way.
    fn forget_empty(&mut self) {
        let (queues, bucket_of) = (&self.queues, &mut self.bucket_of);
        self.buckets.retain(|bucket| {
            let stays = bucket.waits || bucket.known || bucket.reports > 0;
            if !stays {
                bucket_of[queues.place(bucket.pair)] = NOWHERE;
            }
            stays
        });
        for (number, bucket) in (0..).zip(&self.buckets) {
            bucket_of[queues.place(bucket.pair)] = number;
        }
    }
}
