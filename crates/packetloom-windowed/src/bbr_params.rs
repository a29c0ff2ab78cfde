//! What both versions of BBR have: parameters, and the arithmetic of their model.

use super::windowed::{Acked, Window};
use crate::narrow::saturated;
use crate::spec::{Kind, Param, Values, param};
use crate::units::{Rate, Time};

/// The pacing gain, and in version 1 the window's, until the pipe is full.
pub const fn startup_gain(default: &'static str, source: &'static str) -> Param {
    let doc = "Pacing gain until the bandwidth grows no more, so that the rate can double with each round trip; version 1 drains the queue at one over it.";
    param! { "startup_gain" = default: Kind::Number(1.1, 10.0), doc, source }
}

/// The window's gain.
pub const fn cwnd_gain(source: &'static str) -> Param {
    let doc = "How many bandwidth-delay products may be in flight.";
    param! { "cwnd_gain" = "2": Kind::Number(1.0, 10.0), doc, source }
}

/// For how long the least round-trip time counts.
pub const fn min_rtt_window(default: &'static str, doc: &'static str, source: &'static str) -> Param {
    param! { "min_rtt_window" = default: Kind::Time, doc, source }
}

/// How long the flow empties the queue.
pub const PROBE_RTT_DURATION: Param = param! {
    "probe_rtt_duration" = "200ms": Kind::Time,
    "How long at least the flow keeps little in flight, to measure the round trip without a queue.",
    "draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.5, draft-ietf-ccwg-bbr-06 §5.3.4: 200 ms"
};

/// The round trip before any is measured.
pub const NOMINAL_RTT: Param = param! {
    "nominal_rtt" = "1ms": Kind::Time,
    "The round-trip time by which the initial window is paced until one is measured. A connection that a handshake opens, or initial_rtt, has measured one.",
    "draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1, draft-ietf-ccwg-bbr-06 §5.6.2: 1 ms"
};

/// What pacing leaves of the bandwidth.
pub const PACING_MARGIN: Param = param! {
    "pacing_margin" = "0.01": Kind::Number(0.0, 0.5),
    "Packets are paced this share below the bandwidth times the gain.",
    "Linux: bbr_pacing_margin_percent; draft-ietf-ccwg-bbr-06 §2.3: 1 %"
};

/// What is sent at once.
pub const SEND_QUANTUM: Param = param! {
    "send_quantum" = "1": Kind::Count(1),
    "Packets that a host may send at once, of which three times as many may be in flight beside the bandwidth-delay product. Hosts here send packets one by one; with segmentation offload it is what the drafts take, up to 64 KB.",
    "packetloom (draft-ietf-ccwg-bbr-06 §5.6.3: a millisecond's worth, from 2 packets to 64 KB)"
};

/// What both have.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    pub mss_bytes: f64,
    /// In packets.
    pub initial_window: f64,
    pub send_quantum: f64,
    pub nominal_rtt: Time,
    pub probe_rtt_duration: Time,
    pacing_margin: f64,
}

impl Shared {
    pub fn of(values: &Values) -> Shared {
        Shared {
            mss_bytes: values.bytes("mss") as f64,
            initial_window: values.count("initial_window") as f64,
            send_quantum: values.count("send_quantum") as f64,
            nominal_rtt: values.time("nominal_rtt"),
            probe_rtt_duration: values.time("probe_rtt_duration"),
            pacing_margin: values.number("pacing_margin"),
        }
    }

    /// So much of a bandwidth, less the margin.
    fn paced(&self, bits_per_second: f64) -> f64 {
        bits_per_second * (1.0 - self.pacing_margin)
    }

    /// The bandwidth-delay product in packets.
    pub fn bdp(&self, bits_per_second: f64, rtt: Time) -> f64 {
        bits_per_second * rtt.as_secs_f64() / 8.0 / self.mss_bytes
    }
}

/// The rate at which packets are paced (version 1: §4.2.1; version 3: §5.6.2).
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub startup_gain: f64,
    /// In bits a second.
    pub rate: f64,
    has_seen_rtt: bool,
}

impl Pace {
    /// That of the initial window, until a round trip is measured.
    pub fn of(values: &Values, shared: &Shared) -> Pace {
        let mut pace = Pace { startup_gain: values.number("startup_gain"), rate: 0.0, has_seen_rtt: false };
        pace.begin(shared, shared.initial_window, shared.nominal_rtt);
        pace
    }

    /// A window for each round trip, times the gain.
    fn begin(&mut self, shared: &Shared, packets: f64, rtt: Time) {
        let bits = self.startup_gain * packets * shared.mss_bytes * 8.0;
        self.rate = shared.paced(bits / Time(rtt.as_ps().max(1)).as_secs_f64());
    }

    /// A handshake has measured a round trip.
    pub fn knows_round_trip(&mut self, shared: &Shared, rtt: Time) {
        self.has_seen_rtt = true;
        self.begin(shared, shared.initial_window, rtt);
    }

    /// An acknowledgement may have measured the first one.
    pub fn learn(&mut self, shared: &Shared, acked: &Acked, window: &Window) {
        if !self.has_seen_rtt && acked.rtt > Time::ZERO {
            self.has_seen_rtt = true;
            self.begin(shared, window.cwnd_packets(), acked.rtt);
        }
    }

    /// Follows a bandwidth times a gain; until the pipe is full only upwards.
    pub fn follow(&mut self, shared: &Shared, bits_per_second: f64, has_filled_pipe: bool) {
        let rate = shared.paced(bits_per_second);
        if has_filled_pipe || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Never zero.
    pub fn rate(&self) -> Rate {
        Rate(saturated::<u64>(self.rate).max(1))
    }
}
