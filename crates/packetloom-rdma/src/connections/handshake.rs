//! How a queue pair is connected: the states of both ends (InfiniBand specification vol. 1, chapter 12, as Linux's
//! cm.c has them).
//!
//! A REQ is sent again until its REP comes, a REP until the RTU or data comes, each after a timeout that does not
//! grow. A REQ that comes again while a REP waits for its answer is ignored, and a REP that comes again is answered by
//! another RTU. Linux gives up after 15 tries; here no attempt is given up, and queue pairs are not closed.
//!
//! Nothing here knows packets, so it is compiled once for all transports.

use super::Rule;
use crate::flow::{Flow, FlowId, HostId};
use crate::rota::Turn;
use crate::units::Time;
use std::collections::BTreeMap;

/// Where a queue pair is: its turn at the NIC, and which one of its two hosts it is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub turn: Turn,
    pub number: u16,
}

/// A queue pair that is being connected, at the end that asks.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    pub flow: Flow,
    pub place: Place,
    /// How often no answer came in time.
    pub timeouts: u32,
    pub expires: Time,
}

/// The same at the other end, from the REQ until it is known to be connected.
#[derive(Clone, Copy, Debug)]
pub struct Answering {
    /// Who asked, and by which queue pair.
    pub to: HostId,
    pub port: u16,
    pub expires: Time,
}

/// A host's handshakes.
#[derive(Clone, Debug)]
pub struct Handshakes {
    req_timeout: Time,
    rep_timeout: Time,
    asking: BTreeMap<FlowId, Asking>,
    answering: BTreeMap<FlowId, Answering>,
}

impl Handshakes {
    /// Before the first.
    pub fn new(rule: &Rule) -> Handshakes {
        Handshakes {
            req_timeout: rule.req_timeout,
            rep_timeout: rule.rep_timeout,
            asking: BTreeMap::new(),
            answering: BTreeMap::new(),
        }
    }

    /// A REQ is sent for a flow.
    pub fn ask(&mut self, flow: Flow, place: Place, now: Time) -> Asking {
        let asking = Asking { flow, place, timeouts: 0, expires: now + self.req_timeout };
        self.asking.insert(flow.id, asking);
        asking
    }

    /// A REP came. Returns the queue pair that it connects, if it is the first.
    pub fn answered(&mut self, flow: FlowId) -> Option<Asking> {
        self.asking.remove(&flow)
    }

    /// A timer of the end that asks went off. Returns what is sent again, if it is.
    pub fn asking_timer(&mut self, flow: FlowId, now: Time) -> Option<Asking> {
        let asking = self.asking.get_mut(&flow).filter(|asking| asking.expires <= now)?;
        asking.timeouts += 1;
        asking.expires = now + self.req_timeout;
        Some(*asking)
    }

    /// A REQ came. Returns what is answered, if that does not wait for its own answer already.
    pub fn asked(&mut self, flow: FlowId, to: HostId, port: u16, now: Time) -> Option<Answering> {
        if self.answering.contains_key(&flow) {
            return None;
        }
        let answering = Answering { to, port, expires: now + self.rep_timeout };
        self.answering.insert(flow, answering);
        Some(answering)
    }

    /// An RTU came, or data.
    pub fn established(&mut self, flow: FlowId) {
        self.answering.remove(&flow);
    }

    /// A timer of the other end went off. Returns what is answered again, if it is.
    pub fn answering_timer(&mut self, flow: FlowId, now: Time) -> Option<Answering> {
        let answering = self.answering.get_mut(&flow).filter(|answering| answering.expires <= now)?;
        answering.expires = now + self.rep_timeout;
        Some(*answering)
    }

    /// What is asked for a flow, if its queue pair is not connected yet.
    pub fn of(&self, flow: FlowId) -> Option<&Asking> {
        self.asking.get(&flow)
    }

    /// All that is asked for.
    pub fn waiting(&self) -> impl Iterator<Item = &Asking> {
        self.asking.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rota::Rotas;

    fn handshakes() -> Handshakes {
        let [req_timeout, rep_timeout] = [50, 40].map(Time::from_us);
        Handshakes::new(&Rule { message_bytes: 322, req_timeout, rep_timeout, kept: None })
    }

    #[test]
    fn a_request_is_repeated_in_equal_times_until_it_is_answered() {
        let mut here = handshakes();
        let place = Place { turn: Rotas::default().create(), number: 3 };
        let (start, deadline) = (Time::ZERO, Time::NEVER);
        let flow =
            Flow { id: 7, src: 1, dst: 2, size_bytes: 1, start, deadline, class: 0, source: 0, chain: None };
        assert_eq!(here.ask(flow, place, Time::ZERO).expires, Time::from_us(50));
        assert!(here.asking_timer(7, Time::from_us(49)).is_none());
        for tries in 1..=4 {
            let again = here.asking_timer(7, Time::from_us(50).times(tries)).expect("it expired");
            let next = Time::from_us(50).times(tries + 1);
            assert_eq!((u64::from(again.timeouts), again.expires), (tries, next));
        }
        assert_eq!(here.answered(7).map(|opened| (opened.timeouts, opened.place.number)), Some((4, 3)));
        assert!(here.answered(7).is_none(), "another answer connects nothing");
        assert!(here.asking_timer(7, Time::from_us(250)).is_none());
    }

    #[test]
    fn an_answer_is_repeated_by_its_own_timeout_and_not_by_another_request() {
        let mut there = handshakes();
        let asked = there.asked(7, 2, 3, Time::ZERO).expect("it is the first");
        assert_eq!((asked.to, asked.port, asked.expires), (2, 3, Time::from_us(40)));
        assert!(there.asked(7, 2, 3, Time::from_us(10)).is_none());
        let again = there.answering_timer(7, Time::from_us(40)).expect("it expired");
        assert_eq!((again.to, again.expires), (2, Time::from_us(80)));
        there.established(7);
        assert!(there.answering_timer(7, Time::from_us(80)).is_none());
    }
}
