//! Whose turn it is at a NIC: queue pairs are served one packet each, in turn, as soon as they may send.
//!
//! Nothing here knows packets, so it is compiled once for all transports.

use crate::flow::FlowId;
use crate::units::Time;
use smallvec::SmallVec;

/// A queue pair's state in the rota. Its number is its index in the order of turns: that of creation.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    number: u32,
    waits: Waits,
}

/// What a queue pair waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Something that happens to it: an answer, a timeout.
    Outside,
    /// Its turn at the NIC.
    Nic,
    /// The time at which its pace lets the next packet go.
    Pace(Time),
}

impl Turn {
    /// What it waits for.
    pub fn waits(&self) -> Waits {
        self.waits
    }
}

/// The queue pairs of a host that have something to send. Few at a time, so lists in order serve best; often there is
/// but one, which takes no memory of its own.
#[derive(Clone, Debug, Default)]
pub struct Rota {
    created: u32,
    /// Who was served last.
    last: u32,
    /// Those that may send now, in the order of their numbers.
    ready: SmallVec<[(u32, FlowId); 2]>,
    /// Those that may send later: the latest first.
    paced: SmallVec<[(Time, u32, FlowId); 1]>,
}

impl Rota {
    /// A new queue pair's turn.
    pub fn create(&mut self) -> Turn {
        self.created += 1;
        Turn { number: self.created, waits: Waits::Outside }
    }

    /// A queue pair may send from then on; `None`: not before something happens to it.
    pub fn place(&mut self, turn: &mut Turn, flow: FlowId, may_send_at: Option<Time>, now: Time) {
        let waits = match may_send_at {
            None => Waits::Outside,
            Some(at) if at <= now => Waits::Nic,
            Some(at) => Waits::Pace(at),
        };
        // What has waited for its pace is found among those that are ready, once the time has come.
        if waits == turn.waits && !matches!(waits, Waits::Pace(_)) {
            return;
        }
        self.take_out(turn, flow);
        turn.waits = waits;
        match waits {
            Waits::Outside => {}
            Waits::Nic => self.add_ready(turn.number, flow),
            Waits::Pace(at) => {
                let place = self.paced.partition_point(|&other| other > (at, turn.number, flow));
                self.paced.insert(place, (at, turn.number, flow));
            }
        }
    }

    fn take_out(&mut self, turn: &Turn, flow: FlowId) {
        if let Waits::Pace(at) = turn.waits {
            let place = self.paced.partition_point(|&other| other > (at, turn.number, flow));
            if self.paced.get(place) == Some(&(at, turn.number, flow)) {
                self.paced.remove(place);
                return;
            }
        }
        if turn.waits != Waits::Outside
            && let Ok(place) = self.ready.binary_search_by_key(&turn.number, |&(number, _)| number)
        {
            self.ready.remove(place);
        }
    }

    fn add_ready(&mut self, number: u32, flow: FlowId) {
        let place = self.ready.partition_point(|&(other, _)| other < number);
        self.ready.insert(place, (number, flow));
    }

    /// Admits those that may send by now; returns how many may.
    pub fn ready(&mut self, now: Time) -> usize {
        while let Some(&(at, number, flow)) = self.paced.last()
            && at <= now
        {
            self.paced.pop();
            self.add_ready(number, flow);
        }
        self.ready.len()
    }

    /// Whose turn it is after `skipped` others, of those that may send.
    pub fn next(&self, skipped: usize) -> Option<FlowId> {
        let first = self.ready.partition_point(|&(number, _)| number <= self.last);
        let place = first + skipped;
        let place = if place < self.ready.len() { place } else { place - self.ready.len() };
        self.ready.get(place).map(|&(_, flow)| flow)
    }

    /// A queue pair was served.
    pub fn served(&mut self, turn: &Turn) {
        self.last = turn.number;
    }

    /// When the next may send of those that wait for their pace.
    pub fn next_pace(&self) -> Time {
        self.paced.last().map_or(Time::NEVER, |&(at, ..)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packetloom_core::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    /// The rule in its plainest form: walk the numbers from the one after the last served.
    fn oracle(pairs: &BTreeMap<u32, Option<Time>>, last: u32, now: Time) -> Option<u32> {
        let may = |(&number, &at): (&u32, &Option<Time>)| at.is_some_and(|at| at <= now).then_some(number);
        pairs.range(last + 1..).find_map(may).or_else(|| pairs.iter().find_map(may))
    }

    #[test]
    fn turns_go_round_in_the_order_of_creation_whatever_the_paces() {
        let mut random = Stream::new(7, Purpose::Transport, 0);
        let mut rota = Rota::default();
        let mut turns: BTreeMap<u32, Turn> = BTreeMap::new();
        let mut model = BTreeMap::new();
        let (mut now, mut last) = (Time::ZERO, 0);
        for step in 0..20_000 {
            if turns.len() < 5 || random.below(50) == 0 {
                let turn = rota.create();
                model.insert(turn.number, None);
                turns.insert(turn.number, turn);
            }
            let number = *turns.keys().nth(random.below(turns.len() as u32) as usize).expect("one");
            let turn = turns.get_mut(&number).expect("it was created");
            let at = match random.below(4) {
                0 => None,
                _ => Some(now + Time(random.below(30).into())),
            };
            rota.place(turn, number * 3, at, now);
            model.insert(number, at);
            now += Time(random.below(4).into());
            let due = model.values().filter(|at| at.is_some_and(|at| at <= now)).count();
            assert_eq!(rota.ready(now), due, "step {step}");
            let next = oracle(&model, last, now);
            assert_eq!(rota.next(0), next.map(|number| number * 3), "step {step}");
            let later = model.values().flatten().filter(|&&at| at > now).min();
            assert_eq!(rota.next_pace(), later.copied().unwrap_or(Time::NEVER));
            if let Some(number) = next {
                let turn = turns.get_mut(&number).expect("it was created");
                rota.served(turn);
                last = number;
                let again = Some(now + Time(random.below(9).into()));
                rota.place(turn, number * 3, again, now);
                model.insert(number, again);
            }
            if random.below(60) == 0 {
                let mut turn = turns.remove(&number).expect("it was created");
                rota.place(&mut turn, number * 3, None, now);
                model.remove(&number);
            }
        }
    }

    #[test]
    fn those_that_are_skipped_keep_their_turn() {
        let mut rota = Rota::default();
        let mut turns: Vec<Turn> = (0..3).map(|_| rota.create()).collect();
        for (flow, turn) in (0..).zip(&mut turns) {
            rota.place(turn, flow, Some(Time::ZERO), Time::ZERO);
        }
        rota.served(&turns[1]);
        assert_eq!([0, 1, 2].map(|skipped| rota.next(skipped)), [Some(2), Some(0), Some(1)]);
    }
}
