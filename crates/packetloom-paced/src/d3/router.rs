//! A D3 router's port: three counters (§5.2, snippet 1).

use super::{Fields, HOPS, Request, base_rate};
use crate::engine::{Moment, PathNeeds, PortAgent, PortInfo};
use crate::narrow::saturated;
use crate::paced::{Header, Kbps, kbps};
use crate::packet::{Kind, Packet};
use crate::spec::Values;
use crate::units::Time;

/// The port's counters. Rates are in kb/s.
#[derive(Clone, Debug)]
pub struct D3Router {
    link_rate: i64,
    /// What it may hand out: the link's rate, corrected by offered load and queue.
    capacity: i64,
    alpha: f64,
    beta: f64,
    base_rate: i64,
    /// Flows that have sent a request and have not ended, the rates they want together, and what they were granted.
    flows: i64,
    demand: i64,
    allocated: i64,
    interval: Time,
    ends_at: Time,
    offered_bytes: u64,
    /// Whether any of that was data, or a flow was granted a rate that it can't have used yet.
    is_used: bool,
}

impl D3Router {
    /// What a request is granted (snippet 1).
    fn grant(&mut self, fields: &Fields, before: Kbps) -> Kbps {
        if fields.request == Request::First {
            self.flows += 1;
        } else {
            self.allocated = (self.allocated - i64::from(before)).max(0);
            self.demand = (self.demand - i64::from(fields.wanted_before)).max(0);
        }
        if fields.request == Request::Returned {
            self.flows = (self.flows - 1).max(0);
            return 0;
        }
        let wanted = i64::from(fields.wanted);
        self.demand += wanted;
        let left = self.capacity - self.allocated;
        let fair_share = (self.capacity - self.demand).max(0) / self.flows.max(1);
        let granted = if left > wanted { wanted + fair_share } else { left };
        let granted = granted.max(self.base_rate).min(self.link_rate);
        self.allocated += granted;
        // What was granted just now is used a round trip later.
        self.is_used |= i64::from(before) <= self.base_rate && granted > self.base_rate;
        Kbps::try_from(granted).unwrap_or(Kbps::MAX)
    }

    /// For a whole interval nothing that was granted was used, so the grants are stale: packets that returned them
    /// were lost or reordered. Without this, flows that find no capacity would send requests forever.
    fn forget(&mut self) {
        (self.flows, self.demand, self.allocated) = (0, 0, 0);
    }

    /// Once per round trip: C(t+1) = C(t) + α (C − y) − β q/T, between nothing and the link's rate (§5.2).
    fn catch_up(&mut self, moment: Moment) {
        if moment.now < self.ends_at {
            return;
        }
        // 1 B/ps is 8e9 kb/s.
        let interval = self.interval.as_ps() as f64;
        let load = self.offered_bytes as f64 * 8e9 / interval;
        let queue = moment.drained_at.since(self.ends_at).as_ps() as f64 / interval * self.link_rate as f64;
        let change = self.alpha * (self.link_rate as f64 - load) - self.beta * queue;
        self.capacity = (self.capacity + saturated::<i64>(change)).clamp(0, self.link_rate);
        if !self.is_used && queue == 0.0 {
            self.forget();
        }
        self.offered_bytes = 0;
        self.is_used = false;
        self.ends_at += self.interval;
        if self.ends_at <= moment.now {
            // Intervals without arrivals: the link had nothing to do.
            self.capacity = self.link_rate;
            self.ends_at = moment.now + self.interval;
        }
    }
}

impl PortAgent<Header<Fields>> for D3Router {
    const NEEDS: PathNeeds = PathNeeds::OnePerFlow;

    fn build(transport: &Values, port: PortInfo) -> D3Router {
        let link_rate = i64::from(kbps(port.rate));
        let interval = transport.time("rtt");
        D3Router {
            link_rate,
            capacity: link_rate,
            alpha: transport.number("alpha"),
            beta: transport.number("beta"),
            base_rate: i64::from(base_rate(transport)),
            flows: 0,
            demand: 0,
            allocated: 0,
            interval,
            ends_at: interval,
            offered_bytes: 0,
            is_used: false,
        }
    }

    fn forward(&mut self, moment: Moment, packet: &mut Packet<Header<Fields>>) {
        self.catch_up(moment);
        self.offered_bytes += u64::from(packet.size_bytes);
        self.is_used |= packet.kind == Kind::Data;
        let mut fields = packet.header.fields;
        let hop = usize::from(fields.hop);
        if packet.kind == Kind::Ack || fields.request == Request::None || hop >= HOPS {
            return;
        }
        fields.grants[hop] = self.grant(&fields, fields.grants[hop]);
        fields.hop += 1;
        packet.header.fields = fields;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router() -> D3Router {
        D3Router {
            link_rate: 1_000_000,
            capacity: 1_000_000,
            alpha: 0.1,
            beta: 1.0,
            base_rate: 1_000,
            flows: 0,
            demand: 0,
            allocated: 0,
            interval: Time::from_us(100),
            ends_at: Time::NEVER,
            offered_bytes: 0,
            is_used: false,
        }
    }

    fn first(wanted: Kbps) -> Fields {
        Fields { wanted, request: Request::First, ..Fields::default() }
    }

    #[test]
    fn whoever_comes_first_is_granted_first() {
        let mut router = router();
        // Alone it gets what it wants and all that is left.
        assert_eq!(router.grant(&first(600_000), 0), 1_000_000);
        // The second finds nothing left but the base rate, however urgent it is.
        assert_eq!(router.grant(&first(900_000), 0), 1_000);
        // When the first renews its request, demand leaves no fair share.
        let renewed =
            Fields { wanted: 600_000, wanted_before: 600_000, request: Request::Renewed, ..first(0) };
        assert_eq!(router.grant(&renewed, 1_000_000), 600_000);
        // Now 400 Mb/s less the base rate are left.
        let renewed =
            Fields { wanted: 900_000, wanted_before: 900_000, request: Request::Renewed, ..first(0) };
        assert_eq!(router.grant(&renewed, 1_000), 400_000);
    }

    #[test]
    fn flows_without_deadlines_share_what_is_left() {
        let mut router = router();
        let renew = |router: &mut D3Router, wanted, before| {
            router.grant(
                &Fields { wanted, wanted_before: wanted, request: Request::Renewed, ..first(0) },
                before,
            )
        };
        let mut grants =
            [router.grant(&first(400_000), 0), router.grant(&first(0), 0), router.grant(&first(0), 0)];
        for _ in 0..3 {
            for (grant, wanted) in grants.iter_mut().zip([400_000, 0, 0]) {
                *grant = renew(&mut router, wanted, *grant);
            }
        }
        assert_eq!(grants, [600_000, 200_000, 200_000]);
    }

    #[test]
    fn grants_that_nobody_uses_are_forgotten() {
        let mut router = router();
        router.grant(&first(1_000_000), 0); // its end is never announced
        assert_eq!(router.grant(&first(500_000), 0), 1_000);
        router.ends_at = Time::from_us(100);
        router.catch_up(Moment { now: Time::from_us(100), drained_at: Time::from_us(100) });
        assert_eq!(router.allocated, 1_001_000, "what was granted in this interval is used in the next");
        router.catch_up(Moment { now: Time::from_us(200), drained_at: Time::from_us(205) });
        assert_eq!(router.allocated, 1_001_000, "data waits");
        router.catch_up(Moment { now: Time::from_us(300), drained_at: Time::from_us(300) });
        let renewed =
            Fields { wanted: 500_000, wanted_before: 500_000, request: Request::Renewed, ..first(0) };
        assert!(router.grant(&renewed, 1_000) >= 500_000);
    }

    #[test]
    fn a_flow_that_ends_gives_back_what_it_had() {
        let mut router = router();
        let granted = router.grant(&first(300_000), 0);
        let returned = Fields { wanted_before: 300_000, request: Request::Returned, ..Fields::default() };
        router.grant(&returned, granted);
        assert_eq!((router.flows, router.demand, router.allocated), (0, 0, 0));
    }
}
