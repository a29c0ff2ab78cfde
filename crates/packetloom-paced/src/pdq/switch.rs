//! A PDQ switch's port: flow control by its list, and a rate control that keeps the queue short (§3.3).

use super::list::{Entry, List};
use super::{Fields, NOBODY, ROUND_TRIP};
use crate::engine::{Moment, PathNeeds, PortAgent, PortInfo};
use crate::narrow::{narrow, saturated};
use crate::paced::{Header, Kbps, Role, kbps};
use crate::packet::{Kind, Packet};
use crate::spec::Values;
use crate::units::Time;

/// Less than this part of the link is not worth granting: a paused flow sends another request within a round trip
/// or so, whereas one that is sent very slowly learns of a higher rate only with its next packet.
const LEAST_SHARE: Kbps = 20;

/// The port.
#[derive(Clone, Debug)]
pub struct PdqSwitch {
    /// What it pauses flows as.
    name: u32,
    list: List,
    link_rate: Kbps,
    /// What it hands out: C.
    capacity: Kbps,
    capacity_until: Time,
    /// What a full packet takes on the link.
    full_packet: Time,
    early_start: f64,
    /// Thousandths of a round trip between probes, for each flow before.
    probe_spacing: u32,
    dampening: Time,
    /// When a paused flow was last let go on.
    resumed_at: Option<Time>,
}

impl PdqSwitch {
    /// Algorithm 1: a packet on its way to the receiver.
    fn decide(&mut self, now: Time, packet: &mut Packet<Header<Fields>>) {
        let flow = packet.flow;
        let fields = &mut packet.header.fields;
        let rtt = Time::from_ns(u64::from(fields.rtt_ns));
        if packet.header.role == Role::Close || (fields.paused_by != NOBODY && fields.paused_by != self.name)
        {
            self.list.remove(flow);
            return;
        }
        fields.is_decided = true;
        let (deadline, needs, paused_by) = (fields.deadline, fields.needs, fields.paused_by);
        let news = Entry { flow, deadline, needs, rtt, rate: 0, paused_by, heard_at: now };
        let granted = match self.list.update(news) {
            Some(place) => self.grant(place, fields.rate, now),
            // A list of twice the sending flows has others to fill what is left: no RCP for those outside (§3.3.1).
            None => 0,
        };
        fields.rate = granted;
        fields.paused_by = if granted > 0 { NOBODY } else { self.name };
    }

    fn grant(&mut self, place: usize, wanted: Kbps, now: Time) -> Kbps {
        let available = self.list.available(place, self.capacity, self.early_start);
        if available < self.link_rate / LEAST_SHARE {
            return 0;
        }
        let is_paused = self.list.entry(place).paused_by == self.name;
        if is_paused {
            // Dampening: flows are let go on one by one (§3.3.1).
            if self.resumed_at.is_some_and(|at| now < at + self.dampening) {
                return 0;
            }
            self.resumed_at = Some(now);
        }
        // Reserved from now on and not only from the answer on, or a less critical flow would find it free
        // meanwhile.
        let entry = self.list.entry(place);
        entry.rate = available.min(wanted);
        entry.rate
    }

    /// C = max(0, r − q / (2 RTT)), every two round trips (§3.3.3).
    fn catch_up(&mut self, moment: Moment, rtt: Time) {
        if moment.now < self.capacity_until {
            return;
        }
        let span = rtt.times(2).max(Time(1));
        // What is in service is not queued.
        let backlog = moment.drained_at.since(moment.now + self.full_packet);
        let queue = backlog.as_ps() as f64 / span.as_ps() as f64;
        self.capacity = saturated::<Kbps>(f64::from(self.link_rate) * (1.0 - queue).max(0.0));
        self.capacity_until = moment.now + span;
    }
}

impl PortAgent<Header<Fields>> for PdqSwitch {
    const NEEDS: PathNeeds = PathNeeds::Symmetric;

    fn build(transport: &Values, port: PortInfo) -> PdqSwitch {
        let link_rate = kbps(port.rate);
        PdqSwitch {
            name: port.link + 1,
            list: List::default(),
            link_rate,
            capacity: link_rate,
            capacity_until: Time::ZERO,
            full_packet: port.rate.time_for(transport.bytes("mss") + transport.bytes("header")),
            early_start: transport.number("early_start"),
            probe_spacing: saturated::<u32>(transport.number("probe_spacing") * f64::from(ROUND_TRIP)),
            dampening: transport.time("dampening"),
            resumed_at: None,
        }
    }

    fn forward(&mut self, moment: Moment, packet: &mut Packet<Header<Fields>>) {
        if packet.kind != Kind::Ack && packet.kind.is_transports() {
            self.catch_up(moment, Time::from_ns(u64::from(packet.header.fields.rtt_ns)));
            self.decide(moment.now, packet);
        }
    }

    /// Algorithm 3: an answer on its way to the sender.
    fn backward(&mut self, packet: &mut Packet<Header<Fields>>) {
        if packet.kind != Kind::Ack {
            return;
        }
        let fields = &mut packet.header.fields;
        if fields.paused_by != NOBODY {
            fields.rate = 0;
            if fields.paused_by != self.name {
                self.list.remove(packet.flow);
                return;
            }
        }
        let place = self.list.position(packet.flow);
        if fields.paused_by == self.name {
            // Suppressed probing: those further behind ask less often.
            let before = narrow::<u32>(place.unwrap_or(self.list.len()));
            fields.probe_every = fields.probe_every.max(self.probe_spacing.saturating_mul(before));
        }
        if let Some(place) = place {
            let entry = self.list.entry(place);
            (entry.rate, entry.paused_by) = (fields.rate, fields.paused_by);
        }
    }
}
