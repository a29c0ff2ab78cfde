//! A test bench: one flow's control and its window, driven event by event instead of by a network.
//!
//! The bench stands in for the sender: it counts packets, and keeps a clock by which a window's worth of
//! acknowledgements (a round) takes one round-trip time. After each event as much is sent as the window allows.

use super::PythonControl;
use crate::flow::Flow;
use crate::spec::Values;
use crate::units::{Rate, Time};
use crate::user_class::ControlError;
use crate::windowed::{Acked, Config, Congestion, Delivery, Limit, Sample, Window};
use std::fmt;

/// The flow that a bench has: the first of its run, from one host to another, with more to send than is ever asked.
const FLOW: Flow = Flow {
    id: 0,
    src: 0,
    dst: 1,
    size_bytes: 1_000_000_000_000,
    start: Time::ZERO,
    deadline: Time::NEVER,
    class: 0,
    source: 0,
    chain: None,
};

/// A control with its window, ready for events.
#[derive(Clone, Debug)]
pub struct Bench {
    control: PythonControl,
    window: Window,
    ecn: bool,
    min_rto: Time,
    mss_bytes: u64,
    rtt: Time,
    min_rtt: Option<Time>,
    now: Time,
    una: u32,
    next: u32,
    round: Round,
    /// Whether the last event was a timeout.
    timed_out: bool,
    events: u32,
    broken: Option<BenchError>,
}

/// A window's worth of packets, as the window was when the first of them was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    packets: u32,
    /// The first packet beyond it.
    end: u32,
}

/// Why an event could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchError {
    /// A method left a window that can't be one. The flow ends there, as in a simulation.
    Control {
        /// Which method of which class, and what it did.
        error: ControlError,
        /// The event, counted from 1; 0 is the flow's start.
        event: u32,
        /// When.
        at: Time,
    },
    /// More packets were to be acknowledged than are in flight.
    NotSent {
        /// So many.
        packets: u32,
        /// And so many are.
        in_flight: u32,
    },
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Control { error, event, at } => {
                write!(f, "{error} (event {event}, at {at})")
            }
            BenchError::NotSent { packets, in_flight } => write!(
                f,
                "{packets} packets can't be acknowledged at once, {in_flight} are in flight; write {in_flight} or fewer"
            ),
        }
    }
}

impl Bench {
    /// A flow that starts under a transport's values, which name the class. [`Bench::whole`] says how that went.
    pub fn new(values: &Values, rtt: Time) -> Bench {
        let ecn = PythonControl::ecn(values);
        let config = Config::of::<PythonControl>(values);
        let mut control = PythonControl::new(values);
        control.serve(&FLOW);
        let mut bench = Bench {
            ecn,
            control,
            window: config.window(),
            min_rto: values.time("min_rto"),
            mss_bytes: values.bytes("mss"),
            rtt,
            min_rtt: None,
            now: Time::ZERO,
            una: 0,
            next: 0,
            round: Round::default(),
            timed_out: false,
            events: 0,
            broken: None,
        };
        bench.control.started(&mut bench.window);
        let _ = bench.settle();
        bench
    }

    /// An acknowledgement of so many packets in order; none: a duplicate.
    ///
    /// # Errors
    /// What the class did to the window; or that fewer packets are in flight.
    pub fn acknowledged(&mut self, packets: u32, marked: bool) -> Result<(), BenchError> {
        self.whole()?;
        let in_flight = self.in_flight();
        if packets > in_flight {
            return Err(BenchError::NotSent { packets, in_flight });
        }
        let later = self.time_until_acknowledged(packets);
        self.begin(later);
        self.timed_out = false;
        self.una += packets;
        let acked = Acked {
            packets,
            advanced: packets > 0,
            echo: marked,
            una: self.una,
            next: self.next,
            now: self.now,
            rtt: self.rtt,
            sample: self.sample(),
        };
        self.control.acknowledged(acked, &mut self.window);
        self.settle()
    }

    /// A loss is found, with so many packets in flight, or with those that are. It is repaired at once: a round-trip
    /// time later all that was sent before is acknowledged, and recovery is over.
    ///
    /// # Errors
    /// What the class did to the window.
    pub fn lost(&mut self, in_flight: Option<u32>) -> Result<(), BenchError> {
        self.whole()?;
        self.begin(self.rtt);
        self.timed_out = false;
        let in_flight = in_flight.unwrap_or(self.flight_size());
        self.una = self.next;
        self.control.lost(in_flight, &mut self.window);
        self.settle()
    }

    /// The retransmission timer expires, `min_rto` after the last event, with so many packets in flight, or with
    /// those that are. It expired again if the last event was a timeout, too. All in flight is sent again.
    ///
    /// # Errors
    /// What the class did to the window.
    pub fn timed_out(&mut self, in_flight: Option<u32>) -> Result<(), BenchError> {
        self.whole()?;
        self.begin(self.min_rto);
        self.round.end = self.una;
        let again = std::mem::replace(&mut self.timed_out, true);
        let in_flight = in_flight.unwrap_or(self.flight_size());
        self.control.timed_out(in_flight, again, &mut self.window);
        self.settle()
    }

    /// Sets the round-trip time from here on.
    pub fn set_rtt(&mut self, rtt: Time) {
        self.rtt = rtt;
    }

    /// The pacing rate beside the window, in bits of payload per second; 0 without one.
    pub fn pacing_rate_bps(&self) -> f64 {
        self.control.pacing_rate().map_or(0.0, |rate| rate.as_bps() as f64)
    }

    /// The window in packets.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd_packets()
    }

    /// The slow-start threshold in packets.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh_packets()
    }

    /// Packets that were sent and are not acknowledged.
    pub fn in_flight(&self) -> u32 {
        self.next - self.una
    }

    /// The first packet that is not acknowledged.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// The next packet that was never sent.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The bench's clock.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether the class's packets may be marked.
    pub fn ecn(&self) -> bool {
        self.ecn
    }

    /// What the class's parameters and then its fields hold, bit by bit.
    pub fn state(&self) -> &[u64] {
        &self.control.state
    }

    /// Whether the flow still goes on.
    ///
    /// # Errors
    /// What the class did to the window, at its start or at an event.
    pub fn whole(&self) -> Result<(), BenchError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Another event, so much later.
    fn begin(&mut self, later: Time) {
        self.events += 1;
        self.now = self.now.saturating_add(later);
    }

    /// What a sender would measure whose window is delivered in each round trip.
    fn sample(&mut self) -> Sample {
        let least = self.min_rtt.map_or(self.rtt, |least| least.min(self.rtt));
        self.min_rtt = Some(least);
        let bytes = |packets: u32| u64::from(packets) * self.mss_bytes;
        let window = self.round.packets;
        let bit_ps = u128::from(bytes(window)) * 8 * 1_000_000_000_000;
        let bps = bit_ps / u128::from(self.rtt.as_ps().max(1));
        let delivery = Delivery {
            rate: Some(Rate(u64::try_from(bps).unwrap_or(u64::MAX))),
            bytes: bytes(window),
            interval: self.rtt,
            prior_delivered_bytes: bytes(self.una.saturating_sub(window)),
            is_app_limited: false,
            sent_in_flight: window,
            lost_bytes: 0,
        };
        Sample {
            rtt: Some(self.rtt),
            min_rtt: self.min_rtt,
            in_flight: self.in_flight(),
            in_flight_before: self.in_flight(),
            delivered_bytes: bytes(self.una),
            limit: Limit::Window,
            delivery: Some(delivery),
            ..Sample::default()
        }
    }

    /// The first acknowledgement takes a round trip; from there on a round of them does.
    fn time_until_acknowledged(&mut self, packets: u32) -> Time {
        if self.una >= self.round.end {
            let packets = self.flight_size();
            self.round = Round { packets, end: self.una.saturating_add(packets) };
        }
        if self.now == Time::ZERO {
            return self.rtt;
        }
        let span = u128::from(self.rtt.as_ps()) * u128::from(packets) / u128::from(self.round.packets.max(1));
        Time(u64::try_from(span).unwrap_or(u64::MAX))
    }

    /// As the sender counts it.
    fn flight_size(&self) -> u32 {
        self.in_flight().min(self.window.packets())
    }

    /// After a method: reports what it did wrong, or sends what the window allows.
    fn settle(&mut self) -> Result<(), BenchError> {
        if let Some(error) = self.control.take_error() {
            let (event, at) = (self.events, self.now);
            self.broken = Some(BenchError::Control { error, event, at });
            return self.whole();
        }
        self.next = self.next.max(self.una.saturating_add(self.window.packets()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Kind, Value};
    use crate::user_class::{Class, ClassParam, set_loader};

    const RTT: Time = Time::from_us(40);

    /// A flow whose class has a parameter and a field, and no methods.
    fn bench() -> Bench {
        set_loader(Box::new(|_| {
            let param = ClassParam {
                name: "keep".to_owned(),
                kind: Kind::Number(0.0, 1.0),
                default: None,
                doc: String::new(),
                source: String::new(),
            };
            Ok(Class {
                base: "CongestionControl".to_owned(),
                params: vec![param],
                initial: vec![7],
                ..Class::default()
            })
        }));
        let text = |text: &str| Value::Text(text.to_owned());
        let mut entries: std::collections::BTreeMap<String, Value> = [
            ("file", text("a.py")),
            ("file_hash", text("")),
            ("class", text("A")),
            ("keep", Value::Number(0.75)),
            ("mss", Value::Bytes(1460)),
            ("header", Value::Bytes(40)),
            ("ack", Value::Bytes(40)),
            ("initial_window", Value::Count(10)),
            ("max_window", Value::Absent),
            ("initial_ssthresh", Value::Count(1_000_000)),
            ("min_rto", Value::Time(Time::from_us(200))),
            ("max_rto", Value::Time(Time::from_us(1_000_000))),
            ("min_rto_bounds", text("timeout")),
            ("duplicate_threshold", Value::Count(3)),
            ("loss_detection", text("rfc6675")),
            ("reduction", text("at-once")),
            ("ack_delay", Value::Time(RTT)),
            ("probe_after", Value::Absent),
            ("priority", text("none")),
            ("initial_rtt", Value::Absent),
            ("window_measure", text("pipe")),
            ("timer_rule", text("rfc6298")),
            ("after_timeout", text("missing")),
            ("timeout_threshold", text("flight")),
            ("connections", Value::Component(Values { kind: "open".to_owned(), ..Values::default() })),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        for flag in [
            "rto_estimation",
            "backoff",
            "fast_retransmit",
            "delayed_ack",
            "timestamps",
            "sack_option",
            "quiet_restart",
        ] {
            entries.insert(
                flag.to_owned(),
                Value::Flag(!matches!(flag, "delayed_ack" | "sack_option" | "quiet_restart")),
            );
        }
        Bench::new(&Values { kind: "python".to_owned(), entries }, RTT)
    }

    fn acknowledge(bench: &mut Bench, count: u32) {
        for _ in 0..count {
            bench.acknowledged(1, false).unwrap();
        }
    }

    #[test]
    fn what_the_class_does_not_define_is_new_reno() {
        let mut bench = bench();
        acknowledge(&mut bench, 10);
        assert_eq!((bench.cwnd(), bench.una(), bench.next()), (20.0, 10, 30));
        bench.lost(None).unwrap();
        assert_eq!((bench.cwnd(), bench.ssthresh(), bench.una(), bench.next()), (10.0, 10.0, 30, 40));
        bench.acknowledged(1, false).unwrap();
        assert!((bench.cwnd() - 10.1).abs() < 1e-5);
        bench.timed_out(Some(30)).unwrap();
        assert_eq!((bench.cwnd(), bench.ssthresh()), (1.0, 15.0));
        bench.timed_out(None).unwrap();
        assert_eq!((bench.cwnd(), bench.ssthresh()), (1.0, 15.0), "it expired again, so ssthresh stays");
    }

    #[test]
    fn a_round_of_acknowledgements_takes_a_round_trip() {
        let mut bench = bench();
        acknowledge(&mut bench, 1);
        assert_eq!(bench.now(), RTT);
        acknowledge(&mut bench, 9);
        assert_eq!(bench.now(), Time::from_us(40 + 36));
        acknowledge(&mut bench, 20);
        assert_eq!(bench.now(), Time::from_us(76 + 40));
        bench.lost(None).unwrap();
        bench.timed_out(None).unwrap();
        assert_eq!(bench.now(), Time::from_us(116 + 40 + 200));
        acknowledge(&mut bench, 1);
        assert_eq!(bench.now(), Time::from_us(356 + 40), "the window is one packet");
    }

    #[test]
    fn no_more_is_acknowledged_than_was_sent() {
        let mut bench = bench();
        let refused = bench.acknowledged(11, false);
        assert_eq!(refused, Err(BenchError::NotSent { packets: 11, in_flight: 10 }));
        bench.acknowledged(10, false).unwrap();
        assert_eq!((bench.cwnd(), bench.una()), (11.0, 10), "one acknowledgement, one packet more");
        bench.acknowledged(0, false).unwrap();
        assert_eq!((bench.cwnd(), bench.una()), (11.0, 10), "a duplicate");
    }

    #[test]
    fn its_state_is_the_parameters_and_then_the_fields() {
        assert_eq!(bench().state(), [0.75_f64.to_bits(), 7]);
    }
}
