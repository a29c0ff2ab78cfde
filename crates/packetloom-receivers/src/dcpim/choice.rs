//! How a host chooses among requests, or among grants: in the first rounds those of the flows with the least left,
//! later any (PimEpoch::handle_all_req, handle_all_grants).

use super::unstable;
use crate::flow::{FlowId, HostId};
use crate::random::Stream;
use crate::units::Time;

/// Channels of a host's link. Those that are prompt may be used before the data phase that they are for begins, as they
/// are idle in the one that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    pub all: u8,
    pub prompt: u8,
}

/// A request, or a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    pub flow: FlowId,
    /// Who made it.
    pub peer: HostId,
    /// How many packets of the flow have not come, and when it began.
    pub left: u32,
    pub start: Time,
    pub channels: Channels,
}

/// The offers of a round.
#[derive(Clone, Debug, Default)]
pub struct Offers(Vec<Offer>);

impl Offers {
    pub fn push(&mut self, offer: Offer) {
        self.0.push(offer);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Brings them into the order in which the authors' simulator takes those of the flows with the least left.
    pub fn rank(&mut self) {
        unstable::sort(&mut self.0, |offer| (offer.left, offer.start));
    }

    /// The next one that is taken, with the channels that it gets of those that are free.
    pub fn take(&mut self, by_size: bool, free: &mut Channels, random: &mut Stream) -> Option<Offer> {
        if free.all == 0 || self.0.is_empty() {
            return None;
        }
        let place =
            if by_size { self.least() } else { random.below(u32::try_from(self.0.len()).ok()?) as usize };
        let mut offer = self.0.remove(place);
        let all = offer.channels.all.min(free.all);
        let prompt = offer.channels.prompt.min(all).min(free.prompt);
        offer.channels = Channels { all, prompt };
        free.all -= all;
        free.prompt -= prompt;
        Some(offer)
    }

    /// Where that of the flow with the least left is; of equals, that of the earlier flow; of flows that began at one
    /// time, the offer that came first, unless they were ranked.
    fn least(&self) -> usize {
        let rank = |&place: &usize| (self.0[place].left, self.0[place].start);
        (0..self.0.len()).min_by_key(rank).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn offer(flow: FlowId, left: u32, all: u8, prompt: u8) -> Offer {
        Offer { flow, peer: flow, left, start: Time::ZERO, channels: Channels { all, prompt } }
    }

    fn taken(offers: &[Offer], by_size: bool, mut free: Channels) -> Vec<(FlowId, u8, u8)> {
        let mut random = Stream::new(1, Purpose::Pattern, 0);
        let mut all = Offers(offers.to_vec());
        let each = std::iter::from_fn(|| all.take(by_size, &mut free, &mut random));
        each.map(|offer| (offer.flow, offer.channels.all, offer.channels.prompt)).collect()
    }

    #[test]
    fn the_flow_with_the_least_left_gets_all_it_asks_for_and_the_next_what_is_left() {
        let offers = [offer(1, 90, 4, 4), offer(2, 20, 2, 1), offer(3, 50, 1, 1)];
        assert_eq!(taken(&offers, true, Channels { all: 4, prompt: 2 }), [(2, 2, 1), (3, 1, 1), (1, 1, 0)]);
        assert_eq!(taken(&offers, true, Channels { all: 2, prompt: 0 }), [(2, 2, 0)]);
        assert_eq!(taken(&offers, false, Channels::default()), []);
    }

    #[test]
    fn of_equals_the_earlier_flow_goes_first() {
        let late = Offer { start: Time(1), ..offer(1, 20, 4, 0) };
        assert_eq!(taken(&[late, offer(2, 20, 4, 0)], true, Channels { all: 4, prompt: 4 }), [(2, 4, 0)]);
    }

    #[test]
    fn of_many_equals_the_simulator_takes_another_than_the_first() {
        let all = Channels { all: 4, prompt: 0 };
        for (count, first) in [(16, 0), (25, 12)] {
            let mut offers = Offers((0..count).map(|flow| offer(flow, 69, 4, 0)).collect());
            offers.rank();
            let mut random = Stream::new(1, Purpose::Pattern, 0);
            assert_eq!(offers.take(true, &mut all.clone(), &mut random).map(|offer| offer.flow), Some(first));
        }
    }

    #[test]
    fn at_random_each_is_as_likely() {
        let mut random = Stream::new(1, Purpose::Pattern, 0);
        let mut firsts = [0; 4];
        for _ in 0..4_000 {
            let mut all = Offers((0..4).map(|flow| offer(flow, flow, 4, 0)).collect());
            let mut free = Channels { all: 4, prompt: 0 };
            firsts[all.take(false, &mut free, &mut random).unwrap().flow as usize] += 1;
        }
        assert!(firsts.iter().all(|count| (900..1_100).contains(count)), "{firsts:?}");
    }
}
