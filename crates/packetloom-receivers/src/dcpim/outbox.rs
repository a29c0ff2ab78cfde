//! The tokens of a sender, and which goes next. A token that waits for too long is of no use.

use crate::flow::FlowId;
use crate::units::Time;

/// Tokens of a flow that came one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    pub flow: FlowId,
    /// The number of the first, and its packet; those after it are for the packets after it.
    pub number: u32,
    pub seq: u32,
    pub count: u32,
    pub level: u8,
    pub until: Time,
    /// How many packets of the flow have not come, and when it began.
    pub left: u32,
    pub start: Time,
}

/// The tokens, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    waiting: Vec<Tokens>,
    /// Whether a token goes before an earlier one only if its level is smaller *and* less of its flow is left
    /// (PimTokenComparator, CustomPriorityQueue::top). Otherwise the level decides, then what is left, then age.
    needs_both: bool,
}

impl Outbox {
    pub fn new(needs_both: bool) -> Outbox {
        Outbox { waiting: Vec::new(), needs_both }
    }

    /// Takes in a token, or several. They tell how many packets of their flow have not come.
    pub fn push(&mut self, tokens: Tokens) {
        for other in self.waiting.iter_mut().filter(|other| other.flow == tokens.flow) {
            other.left = tokens.left;
        }
        if let Some(last) = self.waiting.last_mut()
            && last.is_followed_by(&tokens)
        {
            last.count += tokens.count;
            return;
        }
        self.waiting.push(tokens);
    }

    /// The flow of some token, where there is one.
    pub fn any(&self) -> Option<FlowId> {
        self.waiting.first().map(|tokens| tokens.flow)
    }

    /// Takes out the token that goes next, by itself.
    pub fn take(&mut self, now: Time) -> Option<Tokens> {
        loop {
            let place = self.next()?;
            let tokens = &mut self.waiting[place];
            let token = Tokens { count: 1, ..*tokens };
            if token.until < now {
                self.waiting.remove(place);
                continue;
            }
            tokens.number += 1;
            tokens.seq += 1;
            tokens.count -= 1;
            if tokens.count == 0 {
                self.waiting.remove(place);
            }
            return Some(token);
        }
    }

    fn next(&self) -> Option<usize> {
        let mut best = self.waiting.first()?;
        let mut place = 0;
        for (other, tokens) in self.waiting.iter().enumerate().skip(1) {
            if self.beats(tokens, best) {
                (place, best) = (other, tokens);
            }
        }
        Some(place)
    }

    fn beats(&self, later: &Tokens, earlier: &Tokens) -> bool {
        if self.needs_both {
            later.level < earlier.level && later.left < earlier.left
        } else {
            (later.level, later.left, later.start) < (earlier.level, earlier.left, earlier.start)
        }
    }

    /// Forgets a flow.
    pub fn remove(&mut self, flow: FlowId) {
        self.waiting.retain(|tokens| tokens.flow != flow);
    }
}

impl Tokens {
    /// Whether others go on where these end, and expire with them.
    fn is_followed_by(&self, other: &Tokens) -> bool {
        let next = Tokens { number: self.number + self.count, seq: self.seq + self.count, ..*self };
        next == Tokens { count: self.count, ..*other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(flow: FlowId, seq: u32, level: u8, left: u32) -> Tokens {
        let (until, start) = (Time(100), Time(flow.into()));
        Tokens { flow, number: seq, seq, count: 1, level, until, left, start }
    }

    fn order(needs_both: bool, tokens: &[Tokens], now: Time) -> Vec<(FlowId, u32)> {
        let mut outbox = Outbox::new(needs_both);
        tokens.iter().for_each(|&one| outbox.push(one));
        std::iter::from_fn(|| outbox.take(now)).map(|one| (one.flow, one.seq)).collect()
    }

    #[test]
    fn the_level_decides_then_what_is_left_then_age() {
        let tokens = [token(1, 0, 3, 5), token(2, 0, 2, 90), token(3, 0, 2, 40), token(4, 0, 2, 40)];
        assert_eq!(order(false, &tokens, Time(0)), [(3, 0), (4, 0), (2, 0), (1, 0)]);
    }

    #[test]
    fn in_the_simulator_a_token_overtakes_only_by_level_and_by_what_is_left() {
        let tokens = [token(1, 0, 3, 50), token(2, 0, 2, 90), token(3, 0, 3, 10), token(4, 0, 2, 40)];
        assert_eq!(order(true, &tokens, Time(0)), [(4, 0), (1, 0), (2, 0), (3, 0)]);
    }

    #[test]
    fn tokens_in_a_row_are_kept_as_one_and_leave_in_order() {
        let mut outbox = Outbox::new(false);
        outbox.push(Tokens { count: 3, until: Time::NEVER, ..token(1, 0, 1, 3) });
        (0..3).for_each(|seq| outbox.push(token(2, seq, 2, 9)));
        assert_eq!(outbox.waiting.len(), 2);
        let all: Vec<_> =
            std::iter::from_fn(|| outbox.take(Time(0))).map(|one| (one.flow, one.seq)).collect();
        assert_eq!(all, [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]);
    }

    #[test]
    fn what_has_expired_is_not_used() {
        let tokens = [token(1, 0, 1, 5), Tokens { until: Time::NEVER, ..token(2, 7, 9, 90) }];
        assert_eq!(order(false, &tokens, Time(100)), [(1, 0), (2, 7)]);
        assert_eq!(order(false, &tokens, Time(101)), [(2, 7)]);
    }
}
