//! xWI at a link (NUMFabric, SIGCOMM 2016 §4.2, §5): its price, from the least residual of its flows and from how
//! full it is.
//!
//! All links set their prices at the same times, the multiples of the interval (the paper's switches have clocks
//! that PTP keeps together).

use super::header::Header;
use crate::engine::{Leaving, Moment, PathNeeds, PortAgent, PortInfo};
use crate::narrow::nearest;
use crate::packet::{Kind, Packet};
use crate::spec::Values;
use crate::units::Time;

/// A link's price.
#[derive(Clone, Debug)]
pub struct Link {
    interval: Time,
    /// So long after a price is set nothing counts.
    guard: Time,
    eta: f64,
    beta: f64,
    /// What the link can send in the time that counts.
    capacity_bytes: f64,
    full_packet_bytes: f64,
    price: f64,
    /// Since the guard: the least residual, and what was sent.
    residual: f64,
    sent_bytes: u64,
    /// When the price is set next.
    ends_at: Time,
    counts_from: Time,
}

impl Link {
    /// Sets the prices that are due by now.
    fn catch_up(&mut self, now: Time) {
        if now < self.ends_at {
            return;
        }
        self.set_price();
        // Whatever follows was idle: each price is the same part of the one before.
        let idle = now.since(self.ends_at).as_ps() / self.interval.as_ps();
        if idle > 0 && self.price > 0.0 {
            let before = self.price;
            self.set_price();
            self.price = before * libm::pow(self.price / before, idle as f64);
        }
        let started_at = self.ends_at + self.interval.times(idle);
        (self.ends_at, self.counts_from) = (started_at + self.interval, started_at + self.guard);
    }

    /// One update (§4.2): the price goes up by the least residual, so that the flow that has it pays just its
    /// marginal utility, and down where the link is not full; it is averaged with the one before.
    fn set_price(&mut self) {
        // No flow told of one: prio-queue.cc leaves it out.
        let residual = if self.residual < f64::INFINITY { self.residual } else { 0.0 };
        let idle = 1.0 - self.utilisation();
        let price = (self.price + residual - self.eta * idle * self.price).max(0.0);
        self.price = self.beta * self.price + (1.0 - self.beta) * price;
        (self.residual, self.sent_bytes) = (f64::INFINITY, 0);
    }

    /// Packets start one by one, so a full link may be a packet short: one more is counted (prio-queue.cc).
    fn utilisation(&self) -> f64 {
        ((self.sent_bytes as f64 + self.full_packet_bytes) / self.capacity_bytes).min(1.0)
    }
}

impl PortAgent<Header> for Link {
    const SEES_DEPARTURES: bool = true;
    // The prices that a flow learns must be those of the links that its packets take.
    const NEEDS: PathNeeds = PathNeeds::OnePerFlow;

    fn build(transport: &Values, port: PortInfo) -> Link {
        let (interval, guard) = (transport.time("price_interval"), transport.time("guard"));
        Link {
            interval,
            guard,
            eta: transport.number("eta"),
            beta: transport.number("beta"),
            capacity_bytes: port.rate.as_bps() as f64 / 8e12 * interval.since(guard).as_ps() as f64,
            full_packet_bytes: (transport.bytes("mss") + transport.bytes("header")) as f64,
            price: 0.0,
            residual: f64::INFINITY,
            sent_bytes: 0,
            ends_at: interval,
            counts_from: guard,
        }
    }

    fn forward(&mut self, moment: Moment, packet: &mut Packet<Header>) {
        self.catch_up(moment.now);
        if packet.kind == Kind::Data && moment.now >= self.counts_from {
            self.residual = self.residual.min(f64::from(packet.header.residual));
        }
    }

    fn depart(&mut self, leaving: Leaving, packet: &mut Packet<Header>) {
        self.catch_up(leaving.at);
        if leaving.at >= self.counts_from {
            self.sent_bytes += u64::from(packet.size_bytes);
        }
        if matches!(packet.kind, Kind::Data | Kind::Control) {
            packet.header.price += nearest(self.price);
            packet.header.links += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;
    use crate::units::Rate;
    use packetloom_queue::queue::Occupancy;

    /// Of 10 Gb/s, of which 30 us less 3 us are 33750 B: 22.5 packets of 1500 B.
    fn link() -> Link {
        let entries = [
            ("price_interval", Value::Time(Time::from_us(30))),
            ("guard", Value::Time(Time::from_us(3))),
            ("eta", Value::Number(5.0)),
            ("beta", Value::Number(0.5)),
            ("mss", Value::Bytes(1_460)),
            ("header", Value::Bytes(40)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let port = PortInfo { link: 0, rate: Rate::from_gbps(10), is_switch: true, seed: 1 };
        Link::build(&Values { kind: "numfabric".to_owned(), entries }, port)
    }

    fn data(residual: f32) -> Packet<Header> {
        Packet { size_bytes: 1_500, header: Header { residual, ..Header::default() }, ..Packet::default() }
    }

    fn forward(link: &mut Link, at: Time, residual: f32) {
        link.forward(Moment { now: at, drained_at: at }, &mut data(residual));
    }

    /// What a packet that leaves then has in its header.
    fn depart(link: &mut Link, at: Time) -> (f32, u16) {
        let mut packet = data(0.0);
        link.depart(Leaving { at, left: Occupancy::default(), sent_bytes: 0 }, &mut packet);
        (packet.header.price, packet.header.links)
    }

    /// Fills the link from a time on for so many packets.
    fn fill(link: &mut Link, from: Time, packets: u64) {
        (0..packets).for_each(|nth| _ = depart(link, from + Time(1_200_000 * nth)));
    }

    #[test]
    fn a_full_links_price_rises_by_half_of_the_least_residual() {
        let mut link = link();
        forward(&mut link, Time::from_us(5), 0.3);
        forward(&mut link, Time::from_us(6), 0.1);
        forward(&mut link, Time::from_us(7), f32::INFINITY);
        fill(&mut link, Time::from_us(3), 22);
        assert_eq!(depart(&mut link, Time(29_999_999)), (0.0, 1));
        assert_eq!(depart(&mut link, Time::from_us(30)), (0.05, 1));
        // The next interval has a residual below zero.
        forward(&mut link, Time::from_us(40), -0.02);
        fill(&mut link, Time::from_us(33), 22);
        assert_eq!(depart(&mut link, Time::from_us(60)).0, 0.04);
    }

    #[test]
    fn what_comes_within_the_guard_does_not_count() {
        let mut link = link();
        forward(&mut link, Time(2_999_999), 0.1);
        forward(&mut link, Time::from_us(4), 0.2);
        fill(&mut link, Time::from_us(3), 22);
        assert_eq!(depart(&mut link, Time::from_us(30)).0, 0.1);
        // Sent within the guard: the link counts as all but idle.
        fill(&mut link, Time::from_us(30), 2);
        assert_eq!(depart(&mut link, Time::from_us(60)).0, 0.05);
    }

    #[test]
    fn a_link_that_is_not_full_lowers_its_price_in_proportion() {
        let mut link = link();
        link.price = 0.2;
        // 19.25 of 22.5 packets and one more: nine tenths. 0.2 - 5 x 0.1 x 0.2 = 0.1, and half of the way.
        link.sent_bytes = 28_875;
        assert!((depart(&mut link, Time::from_us(30)).0 - 0.15).abs() < 1e-6);
    }

    #[test]
    fn an_idle_link_without_a_residual_halves_its_price_in_each_interval() {
        let (mut one, mut each) = (link(), link());
        (one.price, each.price) = (0.8, 0.8);
        for nth in 1..=5 {
            each.catch_up(Time::from_us(30 * nth));
        }
        assert_eq!(depart(&mut one, Time::from_us(163)).0, 0.025);
        assert_eq!((one.price, one.ends_at), (each.price, Time::from_us(180)));
        assert_eq!(one.counts_from, Time::from_us(153));
        assert_eq!(depart(&mut one, Time::from_us(1_000_000_000)).0, 0.0);
    }

    #[test]
    fn prices_never_fall_below_nothing() {
        let mut link = link();
        link.price = 0.1;
        forward(&mut link, Time::from_us(9), -3.0);
        fill(&mut link, Time::from_us(3), 22);
        assert_eq!(depart(&mut link, Time::from_us(30)).0, 0.05);
    }

    #[test]
    fn answers_take_the_link_but_neither_tell_nor_learn() {
        let mut link = link();
        link.price = 0.4;
        let mut ack = Packet { kind: Kind::Ack, ..data(0.1) };
        let at = Time::from_us(8);
        link.forward(Moment { now: at, drained_at: at }, &mut ack);
        link.depart(Leaving { at, left: Occupancy::default(), sent_bytes: 0 }, &mut ack);
        assert_eq!((link.residual, link.sent_bytes), (f64::INFINITY, 1_500));
        assert_eq!((ack.header.price, ack.header.links), (0.0, 0));
    }
}
