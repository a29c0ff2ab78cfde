//! A small network for tests of congestion controls: flows without end over one bottleneck, without the engine.
//!
//! Each packet is acknowledged when it has crossed the bottleneck and the path; a packet is lost once three that were
//! sent later have arrived. What is lost is not sent again under its number: there is always more to send.

use super::deliveries::Deliveries;
use super::extras::Pacer;
use super::view::{Acked, Limit};
use super::window::{Congestion, Window, WindowLimits};
use crate::spec::{Value, Values};
use crate::units::{Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Payload of a packet: at 10 Gb/s a microsecond. Headers are nothing here.
pub const BYTES: u32 = 1_250;

/// A transport's values, as far as controls read them.
pub fn values<const N: usize>(kind: &str, own: [(String, Value); N]) -> Values {
    let mut entries: std::collections::BTreeMap<String, Value> = own.into();
    entries.insert("mss".to_owned(), Value::Bytes(BYTES.into()));
    entries.insert("initial_window".to_owned(), Value::Count(10));
    Values { kind: kind.to_owned(), entries }
}

/// A flow at its sender.
pub struct TestFlow<C> {
    pub control: C,
    pub window: Window,
    deliveries: Deliveries,
    pacer: Pacer,
    next: u32,
    outstanding: BTreeSet<u32>,
    /// In loss recovery until this packet arrives.
    recovery: Option<u32>,
    smoothed: Time,
    /// When each of its packets arrived.
    arrived: Vec<Time>,
    /// Of all that arrived, those that were marked.
    pub marked: u32,
}

impl<C> TestFlow<C> {
    pub fn in_flight(&self) -> u32 {
        u32::try_from(self.outstanding.len()).expect("few")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives { seq: u32, sent_at: Time, marked: bool },
    Sends,
}

/// The bottleneck, and what crosses it.
pub struct Network<C> {
    pub flows: Vec<TestFlow<C>>,
    pub rate: Rate,
    /// The round trip without a queue.
    delay: Time,
    buffer: u64,
    mark_above: u64,
    free_at: Time,
    events: BinaryHeap<Reverse<(Time, u64, usize, Event)>>,
    count: u64,
    pub now: Time,
    /// How many packets each found in the queue, and when.
    queue: Vec<(Time, u64)>,
}

impl<C: Congestion> Network<C> {
    /// With so many Gb/s, a round trip of so many microseconds, and a buffer of so many packets.
    pub fn new(gbps: u64, delay_us: u64, buffer: u64) -> Network<C> {
        Network {
            flows: Vec::new(),
            rate: Rate::from_gbps(gbps),
            delay: Time::from_us(delay_us),
            buffer,
            mark_above: u64::MAX,
            free_at: Time::ZERO,
            events: BinaryHeap::new(),
            count: 0,
            now: Time::ZERO,
            queue: Vec::new(),
        }
    }

    /// A queue that marks what finds more than so many packets before it.
    pub fn marking(mut self, above: u64) -> Network<C> {
        self.mark_above = above;
        self
    }

    /// A flow that starts then, with so many packets.
    pub fn add(&mut self, control: C, initial_window: u32, start: Time) {
        let mut window = Window::new(&WindowLimits::for_tests(initial_window));
        let mut control = control;
        control.seed(7 + self.flows.len() as u64);
        control.started(&mut window);
        let flight = super::extras::Flight::new();
        self.flows.push(TestFlow {
            control,
            window,
            deliveries: flight.deliveries,
            pacer: flight.pacer,
            next: 0,
            outstanding: BTreeSet::new(),
            recovery: None,
            smoothed: Time::ZERO,
            arrived: Vec::new(),
            marked: 0,
        });
        self.schedule(start, self.flows.len() - 1, Event::Sends);
    }

    fn schedule(&mut self, at: Time, flow: usize, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, flow, event)));
    }

    /// Runs until then.
    pub fn run(&mut self, until: Time) {
        self.watch(until, |_| ());
    }

    /// Runs until then, and shows itself after each event.
    pub fn watch(&mut self, until: Time, mut look: impl FnMut(&Network<C>)) {
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= until) {
            let Some(Reverse((at, _, flow, event))) = self.events.pop() else { return };
            self.now = at;
            match event {
                Event::Sends => _ = self.flows[flow].pacer.expired(at),
                Event::Arrives { seq, sent_at, marked } => self.arrive(flow, seq, sent_at, marked),
            }
            self.send(flow);
            look(self);
        }
    }

    fn send(&mut self, number: usize) {
        let now = self.now;
        loop {
            let flow = &mut self.flows[number];
            let limit = if flow.in_flight() >= flow.window.packets() {
                Limit::Window
            } else if !flow.pacer.allows(now) {
                Limit::Pacing
            } else {
                self.transmit(number);
                continue;
            };
            flow.deliveries.stopped(limit);
            if flow.control.is_restrained() {
                let bytes = u64::from(flow.in_flight()) * u64::from(BYTES);
                flow.deliveries.mark_app_limited(bytes);
            }
            if limit == Limit::Pacing
                && let Some(at) = flow.pacer.wants_alarm()
            {
                self.schedule(at, number, Event::Sends);
            }
            return;
        }
    }

    fn transmit(&mut self, number: usize) {
        let (now, time) = (self.now, self.rate.time_for(BYTES.into()));
        let flow = &mut self.flows[number];
        let seq = flow.next;
        flow.next += 1;
        flow.outstanding.insert(seq);
        flow.deliveries.sent(seq, BYTES, flow.in_flight(), now);
        if let Some(rate) = flow.control.pacing_rate() {
            flow.pacer.sent(BYTES, rate, now);
        }
        let waiting = self.free_at.since(now).as_ps().div_ceil(time.as_ps());
        self.queue.push((now, waiting));
        if waiting > self.buffer {
            return;
        }
        self.free_at = self.free_at.max(now) + time;
        let event = Event::Arrives { seq, sent_at: now, marked: waiting > self.mark_above };
        // What takes the time of a packet at the bottleneck is in the round trip.
        self.schedule(self.free_at + self.delay - time, number, event);
    }

    fn arrive(&mut self, number: usize, seq: u32, sent_at: Time, marked: bool) {
        let now = self.now;
        let flow = &mut self.flows[number];
        let before = flow.in_flight();
        flow.arrived.push(now);
        flow.marked += u32::from(marked);
        let rtt = now.since(sent_at);
        flow.smoothed = match flow.smoothed {
            Time::ZERO => rtt,
            smoothed => Time((7 * smoothed.as_ps() + rtt.as_ps()) / 8),
        };
        flow.outstanding.remove(&seq);
        flow.deliveries.delivered(seq, now);
        let lost: Vec<u32> = flow.outstanding.range(..seq.saturating_sub(2)).copied().collect();
        for &seq in &lost {
            flow.outstanding.remove(&seq);
            let lost = flow.deliveries.lost(seq, now);
            flow.control.packet_lost(&lost, &mut flow.window);
        }
        if !lost.is_empty() && flow.recovery.is_none() {
            flow.recovery = Some(flow.next);
            flow.control.lost(flow.in_flight(), &mut flow.window);
        }
        let una = flow.outstanding.first().copied().unwrap_or(flow.next);
        if flow.recovery.is_some_and(|until| una >= until) {
            flow.recovery = None;
            flow.control.recovered(&mut flow.window);
        }
        let mut sample = flow.deliveries.sample(Some(rtt), (before, flow.in_flight()));
        flow.deliveries.acknowledged(una);
        sample.marked = marked.into();
        let (next, rtt) = (flow.next, flow.smoothed);
        let acked = Acked { packets: 1, advanced: true, echo: marked, una, next, now, rtt, sample };
        if flow.recovery.is_some() {
            flow.control.acknowledged_in_recovery(acked, &mut flow.window);
        } else {
            flow.control.acknowledged(acked, &mut flow.window);
        }
    }

    /// A flow's goodput since then, in Gb/s.
    pub fn goodput(&self, flow: usize, since: Time) -> f64 {
        let arrived = self.flows[flow].arrived.iter().filter(|&&at| at > since).count();
        arrived as f64 * f64::from(BYTES) * 8.0 / self.now.since(since).as_secs_f64() / 1e9
    }

    /// The share of the bottleneck that was used since then.
    pub fn utilisation(&self, since: Time) -> f64 {
        let total: f64 = (0..self.flows.len()).map(|flow| self.goodput(flow, since)).sum();
        total / (self.rate.as_bps() as f64 / 1e9)
    }

    fn found_since(&self, since: Time) -> impl Iterator<Item = f64> {
        self.queue.iter().filter(move |(at, _)| *at > since).map(|&(_, waiting)| waiting as f64)
    }

    /// The fewest and most packets that one found in the queue since then.
    pub fn queue_over(&self, since: Time) -> (f64, f64) {
        self.found_since(since)
            .fold((f64::MAX, 0.0), |(least, most), found| (least.min(found), most.max(found)))
    }

    /// How many packets one found in the queue since then, on average.
    pub fn mean_queue(&self, since: Time) -> f64 {
        self.found_since(since).sum::<f64>() / self.found_since(since).count() as f64
    }
}
