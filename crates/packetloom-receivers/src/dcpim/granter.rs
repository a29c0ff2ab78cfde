//! A sender's part in a matching: it answers the requests of a round, and counts the channels that receivers took.

use super::choice::{Channels, Offer, Offers};
use super::header::Round;
use super::rounds::Rounds;
use crate::random::Stream;
use crate::units::Time;

/// What a sender knows of the matching that is made, and of the one before.
#[derive(Clone, Debug, Default)]
pub struct Granter {
    /// The round whose requests there are.
    round: Round,
    requests: Offers,
    last: Taken,
    current: Taken,
}

/// The channels of an epoch that receivers took.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    epoch: u32,
    all: u8,
    /// As the next epoch began: those that it may not use promptly. What was taken in the last round comes later.
    by_the_end: u8,
    /// Channels that are in use before the data phase begins, or were taken to be.
    prompt: u8,
}

impl Granter {
    /// A request came; returns whether it is the first of its round. One that is late is left out.
    pub fn request(&mut self, round: Round, offer: Offer) -> bool {
        if round < self.round {
            return false;
        }
        if round > self.round {
            self.requests.clear();
            self.round = round;
        }
        let is_first = self.requests.is_empty();
        self.requests.push(offer);
        is_first
    }

    /// The middle of a round: the round, and the channels that are free. What is granted in a round is not taken yet.
    pub fn free(&mut self, channels: u8) -> (Round, Channels) {
        let taken = *self.taken(self.round.epoch);
        let free = |taken: u8| channels.saturating_sub(taken);
        (self.round, Channels { all: free(taken.all), prompt: free(taken.prompt) })
    }

    /// Ranks the requests of the round as the authors' simulator does.
    pub fn rank(&mut self) {
        self.requests.rank();
    }

    /// The next grant of the round.
    pub fn grant(&mut self, by_size: bool, free: &mut Channels, random: &mut Stream) -> Option<Offer> {
        let grant = self.requests.take(by_size, free, random);
        if grant.is_none() {
            self.requests.clear();
        }
        grant
    }

    /// A receiver took channels. Returns those that there are not (PimEpoch::receive_accept_pkt).
    pub fn accept(
        &mut self,
        Round { epoch, .. }: Round,
        mut took: Channels,
        channels: u8,
        (rounds, now): (&Rounds, Time),
    ) -> Channels {
        if epoch < self.last.epoch {
            return Channels::default();
        }
        let in_time = now < rounds.at(Round { epoch: epoch + 1, nth: 0 });
        let taken = self.taken(epoch);
        let all = (taken.all + took.all).saturating_sub(channels);
        took.all -= all.min(took.all);
        let prompt = took.prompt.saturating_sub(took.all);
        took.prompt -= prompt;
        taken.all += took.all;
        taken.prompt += took.prompt;
        taken.by_the_end += if in_time { took.all } else { 0 };
        Channels { all, prompt }
    }

    /// Of an epoch, which is the current one, the one before, or a new one.
    fn taken(&mut self, epoch: u32) -> &mut Taken {
        if epoch > self.current.epoch {
            let before = Taken { epoch: epoch - 1, ..Taken::default() };
            self.last = if self.current.epoch + 1 == epoch { self.current } else { before };
            self.current = Taken { epoch, prompt: self.last.by_the_end, ..Taken::default() };
        }
        if epoch == self.current.epoch { &mut self.current } else { &mut self.last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const FIRST: Round = Round { epoch: 1, nth: 0 };
    const SECOND: Round = Round { epoch: 1, nth: 1 };

    fn request(flow: u32, all: u8) -> Offer {
        Offer { flow, peer: flow, left: flow, start: Time::ZERO, channels: Channels { all, prompt: all } }
    }

    fn rounds() -> Rounds {
        Rounds::new(Time(10), 4, Time(40))
    }

    /// All the grants of the round.
    fn grants(granter: &mut Granter) -> Vec<(u32, u8, u8)> {
        let mut random = Stream::new(1, Purpose::Pattern, 0);
        let (_, mut free) = granter.free(4);
        let each = std::iter::from_fn(|| granter.grant(true, &mut free, &mut random));
        each.map(|grant| (grant.flow, grant.channels.all, grant.channels.prompt)).collect()
    }

    #[test]
    fn what_was_granted_and_not_taken_is_granted_again() {
        let mut granter = Granter::default();
        assert!(granter.request(FIRST, request(1, 3)));
        assert!(!granter.request(FIRST, request(2, 3)));
        assert_eq!(grants(&mut granter), [(1, 3, 3), (2, 1, 1)]);
        let took = Channels { all: 1, prompt: 1 };
        assert_eq!(granter.accept(FIRST, took, 4, (&rounds(), Time(10))), Channels::default());
        assert!(granter.request(SECOND, request(3, 4)));
        assert!(!granter.request(FIRST, request(1, 4)), "late");
        assert_eq!(grants(&mut granter), [(3, 3, 3)]);
    }

    #[test]
    fn channels_of_the_running_phase_are_not_prompt_and_those_taken_last_are_not_known_yet() {
        let mut granter = Granter::default();
        let (took, rounds) = (Channels { all: 1, prompt: 0 }, rounds());
        granter.accept(FIRST, took, 4, (&rounds, Time(10)));
        granter.accept(Round { nth: 3, ..FIRST }, took, 4, (&rounds, Time(41)));
        granter.request(Round { epoch: 2, nth: 0 }, request(1, 4));
        assert_eq!(grants(&mut granter), [(1, 4, 3)]);
    }

    #[test]
    fn what_is_taken_twice_is_released() {
        let mut granter = Granter::default();
        let three = Channels { all: 3, prompt: 3 };
        granter.accept(FIRST, three, 4, (&rounds(), Time(10)));
        assert_eq!(granter.accept(SECOND, three, 4, (&rounds(), Time(20))), Channels { all: 2, prompt: 2 });
        assert_eq!(granter.free(4).1, Channels { all: 4, prompt: 4 }, "of no epoch");
        granter.request(Round { nth: 2, ..FIRST }, request(9, 1));
        assert_eq!(grants(&mut granter), []);
    }
}
