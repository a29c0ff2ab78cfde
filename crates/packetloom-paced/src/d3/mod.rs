//! D3 (Wilson, Ballani, Karagiannis and Rowstron, "Better never than late", SIGCOMM 2011): flows request the rate
//! that meets their deadline, and routers grant it first come, first served.
//!
//! Routers keep three numbers and no list of flows: each request carries what the flow requested and was granted
//! before.

mod router;

use super::paced::{CORE, Header, Kbps, Paced, RateControl, SenderState, check, time_at};
use crate::flow::Flow;
use crate::packet::Packet;
use crate::spec::{Complaint, Component, Kind, Values, check_period, param};
use crate::units::Time;
use router::D3Router;

/// D3.
pub type D3 = Paced<D3Control>;

/// The most links on a path: six in a fat-tree.
const HOPS: usize = 6;

/// What a packet requests from the routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Request {
    /// Nothing.
    #[default]
    None,
    /// A rate, for a flow that routers don't know yet.
    First,
    /// A rate instead of the one granted before.
    Renewed,
    /// Nothing any more: what was granted is given back.
    Returned,
}

/// The fields of D3's congestion header (§5.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields {
    /// The rate wanted from the next round trip on, and the one that was wanted before.
    wanted: Kbps,
    wanted_before: Kbps,
    /// What each router on the path granted before; it writes what it grants now in its place.
    grants: [Kbps; HOPS],
    /// Routers passed.
    hop: u8,
    request: Request,
}

const _: () = assert!(size_of::<Packet<Header<Fields>>>() <= 96, "what moves most should be small");

/// A flow.
#[derive(Clone, Copy, Debug)]
pub struct D3Control {
    deadline: Time,
    quenches: bool,
    /// The round-trip time that it assumes before one is known.
    rtt: Time,
    /// A flow that is granted no more than this sends requests only.
    base_rate: Kbps,
    rate: Kbps,
    /// The last request: what it wanted, what came of it, when it was sent, and whether the answer is still to come.
    last: Fields,
    requested_at: Time,
    is_waiting: bool,
    /// Whether routers know the flow.
    is_known: bool,
}

impl RateControl for D3Control {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "d3",
        doc: "D3: every round trip flows request the rate that meets their deadline; routers grant in order of arrival, and share out what is left.",
        source: "D3, SIGCOMM 2011, §4, §5",
        params: &[
            CORE,
            &[
                param! {
                    "alpha" = "0.1": Kind::Number(0.0, 10.0),
                    "How strongly spare capacity raises what a router hands out.", "D3 §5.2, after RCP: 0.1"
                },
                param! {
                    "beta" = "1": Kind::Number(0.0, 10.0),
                    "How strongly the queue lowers it.", "D3 §5.2, after RCP: 1"
                },
                param! {
                    "rtt" = "200us": Kind::Time,
                    "The round-trip time by which routers count, and which flows assume before they know one.",
                    "packetloom"
                },
                param! {
                    "quench" = "true": Kind::Flag,
                    "Give a flow up when its deadline has passed, or needs more than the host's link.",
                    "D3 §5.3"
                },
            ],
        ],
        check: check_d3,
    };
    type Fields = Fields;
    type Agent = D3Router;

    fn new(values: &Values, flow: &Flow) -> D3Control {
        D3Control {
            deadline: flow.deadline,
            quenches: values.flag("quench"),
            rtt: values.time("rtt"),
            base_rate: base_rate(values),
            rate: 0,
            last: Fields::default(),
            requested_at: Time::ZERO,
            is_waiting: false,
            is_known: false,
        }
    }

    fn request(&mut self, state: &SenderState, closes: bool) -> Fields {
        if closes {
            return Fields {
                wanted: 0,
                wanted_before: self.last.wanted,
                request: Request::Returned,
                ..self.last
            };
        }
        // One request per round trip, and none while an answer may come: that carries the grants that routers count
        // now.
        let patience = if self.is_waiting { state.rto } else { self.round_trip(state) };
        if self.is_known && state.now < self.requested_at + patience {
            return Fields::default();
        }
        self.requested_at = state.now;
        self.is_waiting = true;
        let request = if self.is_known { Request::Renewed } else { Request::First };
        let wanted = self.wanted(state).min(state.host_rate);
        self.last = Fields { wanted, wanted_before: self.last.wanted, hop: 0, request, ..self.last };
        self.last
    }

    fn feedback(&mut self, fields: &Fields, _: &SenderState) {
        if fields.request == Request::None {
            return;
        }
        self.is_waiting = false;
        self.is_known = true;
        self.last.grants = fields.grants;
        let granted = fields.grants[..usize::from(fields.hop).min(HOPS)].iter().copied().min().unwrap_or(0);
        // §4.2: at the base rate a flow sends a header per round trip, which only renews its request.
        self.rate = if granted > self.base_rate { granted } else { 0 };
    }

    fn rate(&self) -> Kbps {
        self.rate
    }

    fn is_hopeless(&self, state: &SenderState) -> bool {
        // §5.3: the deadline has passed, or the host's whole link would not meet it. While an answer is due, the
        // flow does not know what it has to give back.
        self.quenches
            && !self.is_waiting
            && state.now + time_at(state.host_rate, state.unsent_bytes) > self.deadline
    }
}

impl D3Control {
    fn round_trip(&self, state: &SenderState) -> Time {
        if state.rtt == Time::ZERO { self.rtt } else { state.rtt }
    }

    /// What is left after this round trip, over the time left when the grant is in force (§4.1: r = (s − a·rtt) /
    /// (d − 2·rtt)). In the last two round trips, when no answer would come in time, what was wanted before.
    fn wanted(&self, state: &SenderState) -> Kbps {
        if self.deadline == Time::NEVER {
            return 0;
        }
        let rtt = self.round_trip(state);
        let sent_until_then = u128::from(self.rate) * u128::from(rtt.as_ps()) / 8_000_000_000;
        let left_bytes = u128::from(state.unsent_bytes).saturating_sub(sent_until_then);
        let left = self.deadline.since(state.now + rtt.times(2)).as_ps();
        match left {
            0 if self.is_known => self.last.wanted,
            0 => state.host_rate,
            _ => Kbps::try_from(left_bytes * 8_000_000_000 / u128::from(left)).unwrap_or(Kbps::MAX),
        }
    }
}

/// A header per round trip (§4.2).
fn base_rate(values: &Values) -> Kbps {
    let rate = values.bytes("ack") * 8_000_000_000 / values.time("rtt").as_ps();
    u32::try_from(rate).unwrap_or(u32::MAX)
}

fn check_d3(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    check_period("rtt", values.time("rtt"), "200us")
}
