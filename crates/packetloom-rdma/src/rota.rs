//! Whose turn it is at a NIC: queue pairs are served one packet each, in turn, as soon as they may send. Each link of a host
//! goes round by itself, as each NIC of HPCC's simulator does.
//!
//! Nothing here knows packets, so it is compiled once for all transports.

use crate::flow::FlowId;
use crate::narrow::narrow;
use crate::units::Time;
use smallvec::SmallVec;

/// A queue pair's state in the rota. Its number is its index in the order of turns: that of creation.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    number: u32,
    /// The link of its host by which it sends.
    link: u32,
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

/// The queue pairs of a host that have something to send, by the link that they take.
#[derive(Clone, Debug, Default)]
pub struct Rotas {
    created: u32,
    links: SmallVec<[Rota; 1]>,
}

impl Rotas {
    /// A new queue pair's turn.
    pub fn create(&mut self) -> Turn {
        self.created += 1;
        Turn { number: self.created, link: 0, waits: Waits::Outside }
    }

    /// How many links have had something to send.
    pub fn links(&self) -> u32 {
        narrow::<u32>(self.links.len())
    }

    /// A queue pair may send from then on, by a link; `None`: not before something happens to it.
    pub fn place(&mut self, turn: &mut Turn, flow: FlowId, link: u32, may_send_at: Option<Time>, now: Time) {
        if turn.link != link {
            self.take_out(turn, flow);
            turn.link = link;
        }
        if self.links.len() <= link as usize {
            self.links.resize_with(link as usize + 1, Rota::default);
        }
        self.links[link as usize].place(turn, flow, may_send_at, now);
    }

    /// A queue pair has nothing to send.
    pub fn take_out(&mut self, turn: &mut Turn, flow: FlowId) {
        if let Some(rota) = self.links.get_mut(turn.link as usize) {
            rota.take_out(turn, flow);
        }
        turn.waits = Waits::Outside;
    }

    /// The turns at a link.
    pub fn at(&mut self, link: u32) -> &mut Rota {
        &mut self.links[link as usize]
    }

    /// A queue pair was served.
    pub fn served(&mut self, turn: &Turn) {
        self.links[turn.link as usize].last = turn.number;
    }
}

/// Those of one link. Few at a time, so lists in order serve best; often there is but one, which takes no memory of its
/// own.
#[derive(Clone, Debug, Default)]
pub struct Rota {
    /// Who was served last.
    last: u32,
    /// Those that may send now, in the order of their numbers.
    ready: SmallVec<[(u32, FlowId); 2]>,
    /// Those that may send later: the latest first.
    paced: SmallVec<[(Time, u32, FlowId); 1]>,
}

impl Rota {
    fn place(&mut self, turn: &mut Turn, flow: FlowId, may_send_at: Option<Time>, now: Time) {
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

    /// Admits those that may send by now.
    #[inline]
    fn admit(&mut self, now: Time) {
        while let Some(&(at, number, flow)) = self.paced.last()
            && at <= now
        {
            self.paced.pop();
            self.add_ready(number, flow);
        }
    }

    /// Whose turn it is, of those that may send by now.
    pub fn next(&mut self, now: Time) -> Option<FlowId> {
        self.admit(now);
        let place = self.ready.partition_point(|&(number, _)| number <= self.last);
        self.ready.get(place).or_else(|| self.ready.first()).map(|&(_, flow)| flow)
    }

    /// When the next may send of those that wait for their pace.
    pub fn next_pace(&self) -> Time {
        self.paced.last().map_or(Time::NEVER, |&(at, ..)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packetloom_base::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    /// When it may send, and by which link.
    type Model = BTreeMap<u32, (u32, Option<Time>)>;

    /// The rule in its plainest form: walk the numbers of a link from the one after the last served there.
    fn oracle(pairs: &Model, link: u32, last: u32, now: Time) -> Option<u32> {
        let may = |(&number, &(by, at)): (&u32, &(u32, Option<Time>))| {
            (by == link && at.is_some_and(|at| at <= now)).then_some(number)
        };
        pairs.range(last + 1..).find_map(may).or_else(|| pairs.iter().find_map(may))
    }

    #[test]
    fn turns_go_round_at_each_link_in_the_order_of_creation_whatever_the_paces() {
        const LINKS: u32 = 3;
        let mut random = Stream::new(7, Purpose::Transport, 0);
        let mut rotas = Rotas::default();
        let mut turns: BTreeMap<u32, Turn> = BTreeMap::new();
        let mut model = Model::new();
        let (mut now, mut last) = (Time::ZERO, [0; LINKS as usize]);
        for step in 0..20_000 {
            if turns.len() < 8 || random.below(50) == 0 {
                let turn = rotas.create();
                model.insert(turn.number, (0, None));
                turns.insert(turn.number, turn);
            }
            let number = *turns.keys().nth(random.below(turns.len() as u32) as usize).expect("one");
            let turn = turns.get_mut(&number).expect("it was created");
            let at = match random.below(4) {
                0 => None,
                _ => Some(now + Time(random.below(30).into())),
            };
            // Now and then it goes by another link: a route has changed.
            let link = if random.below(10) == 0 { random.below(LINKS) } else { turn.link };
            rotas.place(turn, number * 3, link, at, now);
            model.insert(number, (link, at));
            now += Time(random.below(4).into());
            for link in 0..rotas.links() {
                let next = oracle(&model, link, last[link as usize], now);
                assert_eq!(rotas.at(link).next(now), next.map(|number| number * 3), "step {step}");
                let of_link = model.values().filter(|&&(by, _)| by == link).filter_map(|&(_, at)| at);
                let later = of_link.filter(|&at| at > now).min();
                assert_eq!(rotas.at(link).next_pace(), later.unwrap_or(Time::NEVER));
                if let Some(number) = next {
                    let turn = turns.get_mut(&number).expect("it was created");
                    rotas.served(turn);
                    last[link as usize] = number;
                    let again = Some(now + Time(random.below(9).into()));
                    rotas.place(turn, number * 3, link, again, now);
                    model.insert(number, (link, again));
                }
            }
            if random.below(60) == 0 {
                let mut turn = turns.remove(&number).expect("it was created");
                rotas.take_out(&mut turn, number * 3);
                model.remove(&number);
            }
        }
    }
}
