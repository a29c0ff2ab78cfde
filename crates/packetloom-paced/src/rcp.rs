//! RCP (Dukkipati and McKeown, "Why flow-completion time is the right metric for congestion control", CCR 2006;
//! Dukkipati, PhD thesis, Stanford 2008): every link offers one rate to all its flows, and follows offered load and
//! queue.

use super::paced::{CORE, Header, Kbps, Paced, RateControl, SenderState, check};
use crate::engine::{Moment, PortAgent, PortInfo};
use crate::flow::Flow;
use crate::narrow::saturated;
use crate::packet::{Kind as PacketKind, Packet};
use crate::spec::{Complaint, Component, Kind, Values, check_period, param};
use crate::units::Time;

/// RCP.
pub type Rcp = Paced<RcpControl>;

/// The fields of RCP's congestion header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields {
    /// The least rate that any link so far offers.
    pub rate: Kbps,
    /// The sender's round-trip time in nanoseconds; 0 while it knows none.
    pub rtt_ns: u32,
}

const _: () = assert!(size_of::<Packet<Header<Fields>>>() <= 64, "a packet must fit a cache line");

/// A flow: it sends at the rate that the last answer brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct RcpControl {
    rate: Kbps,
}

impl RateControl for RcpControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "rcp",
        doc: "RCP: every link offers one rate to all its flows, corrected by offered load and queue; flows send at the least rate on their path.",
        source: "Dukkipati and McKeown, CCR 2006; Dukkipati, PhD thesis, 2008",
        params: &[
            CORE,
            &[
                param! {
                    "alpha" = "0.4": Kind::Number(0.0, 10.0),
                    "How strongly spare capacity changes the rate.", "the authors' rcp.cc for ns-2: 0.4"
                },
                param! {
                    "beta" = "0.4": Kind::Number(0.0, 10.0),
                    "How strongly the queue changes the rate.", "the authors' rcp.cc for ns-2: 0.4"
                },
                param! {
                    "target" = "0.95": Kind::Number(0.01, 1.0),
                    "The share of a link that its flows may fill together.",
                    "the authors' rcp.cc for ns-2: PHI 0.95"
                },
                param! {
                    "initial_rate" = "0.05": Kind::Number(0.000_1, 1.0),
                    "What a link offers before it has seen any flow, as a share of its rate.",
                    "the authors' rcp.cc for ns-2: INIT_RATE_FACT 0.05"
                },
                param! {
                    "rtt" = "200us": Kind::Time,
                    "The round-trip time that links assume before their flows report one.", "packetloom"
                },
                param! {
                    "longest_interval" = "10ms": Kind::Time,
                    "Links set their rate once per mean round-trip time, and at least this often.",
                    "the authors' rcp.cc for ns-2: TIMESLOT 0.01 s"
                },
            ],
        ],
        check: check_rcp,
    };
    type Fields = Fields;
    type Agent = RcpLink;

    fn new(_: &Values, _: &Flow) -> RcpControl {
        RcpControl::default()
    }

    fn request(&mut self, state: &SenderState, _: bool) -> Fields {
        let rtt_ns = u32::try_from(state.rtt.as_ps() / 1_000).unwrap_or(u32::MAX);
        Fields { rate: state.host_rate, rtt_ns }
    }

    fn feedback(&mut self, fields: &Fields, _: &SenderState) {
        self.rate = fields.rate;
    }

    fn rate(&self) -> Kbps {
        self.rate
    }
}

fn check_rcp(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    for key in ["rtt", "longest_interval"] {
        check_period(key, values.time(key), "200us")?;
    }
    Ok(())
}

/// The rate that a link offers. Rates are in bytes per picosecond.
#[derive(Clone, Debug)]
pub struct RcpLink {
    capacity: f64,
    alpha: f64,
    beta: f64,
    /// What it offers, and the bounds of that.
    rate: f64,
    least: f64,
    greatest: f64,
    longest_interval: Time,
    /// What may be in service: that is not queued. Where a round trip holds few packets it would count for much.
    full_packet_bytes: f64,
    /// The flows' mean round-trip time, weighted by packets.
    rtt_ps: f64,
    /// What was offered in this interval, and when the interval ends.
    offered_bytes: u64,
    interval: Time,
    ends_at: Time,
}

impl RcpLink {
    fn offer(&self) -> Kbps {
        // 1 B/ps is 8e9 kb/s.
        saturated::<Kbps>(self.rate * 8e9).max(1)
    }

    /// Lets the intervals go by that ended. Only the first of them had arrivals.
    fn catch_up(&mut self, moment: Moment) {
        while self.ends_at <= moment.now {
            let backlog_bytes = moment.drained_at.since(self.ends_at).as_ps() as f64 * self.capacity;
            let queue_bytes = (backlog_bytes - self.full_packet_bytes).max(0.0);
            let is_idle = self.offered_bytes == 0 && queue_bytes == 0.0;
            if is_idle && (self.rate >= self.greatest || self.alpha == 0.0) {
                self.begin_interval(moment.now);
                return;
            }
            self.update(queue_bytes);
            self.begin_interval(self.ends_at);
        }
    }

    /// R ← R × (1 + (T/d) × (α (φC − y) − β q/d) / φC) (thesis, equation 2.2).
    fn update(&mut self, queue_bytes: f64) {
        let interval = self.interval.as_ps() as f64;
        let load = self.offered_bytes as f64 / interval;
        let spare = self.alpha * (self.greatest - load) - self.beta * queue_bytes / self.rtt_ps;
        let factor = 1.0 + interval / self.rtt_ps * spare / self.greatest;
        // rcp.cc: no more than halved or doubled at once.
        self.rate = (self.rate * factor.clamp(0.5, 2.0)).clamp(self.least, self.greatest);
    }

    fn begin_interval(&mut self, start: Time) {
        self.offered_bytes = 0;
        self.interval = Time(saturated::<u64>(self.rtt_ps).max(1)).min(self.longest_interval);
        self.ends_at = start + self.interval;
    }
}

impl PortAgent<Header<Fields>> for RcpLink {
    fn build(transport: &Values, port: PortInfo) -> RcpLink {
        let capacity = port.rate.as_bps() as f64 / 8e12;
        let greatest = capacity * transport.number("target");
        let rtt = transport.time("rtt");
        let mut link = RcpLink {
            capacity,
            alpha: transport.number("alpha"),
            beta: transport.number("beta"),
            rate: capacity * transport.number("initial_rate"),
            // One full packet in a hundred round trips keeps every flow alive.
            least: transport.bytes("mss") as f64 / (100.0 * rtt.as_ps() as f64),
            greatest,
            longest_interval: transport.time("longest_interval"),
            full_packet_bytes: (transport.bytes("mss") + transport.bytes("header")) as f64,
            rtt_ps: rtt.as_ps() as f64,
            offered_bytes: 0,
            interval: rtt,
            ends_at: Time::ZERO,
        };
        link.least = link.least.min(greatest);
        link.rate = link.rate.clamp(link.least, greatest);
        link.begin_interval(Time::ZERO);
        link
    }

    fn forward(&mut self, moment: Moment, packet: &mut Packet<Header<Fields>>) {
        self.catch_up(moment);
        self.offered_bytes += u64::from(packet.size_bytes);
        let fields = &mut packet.header.fields;
        if packet.kind != PacketKind::Ack {
            if fields.rtt_ns > 0 {
                // rcp.cc: RTT_GAIN 0.02 per packet.
                self.rtt_ps += 0.02 * (f64::from(fields.rtt_ns) * 1e3 - self.rtt_ps);
            }
            fields.rate = fields.rate.min(self.offer());
        }
    }
}
