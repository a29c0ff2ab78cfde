//! Whether flows stand still.
//!
//! At each sample it is noted how much of each flow has arrived and how much is in flight. Flows that nothing tells
//! apart are counted together, as peers: in the long run they have the same rate, and it is that of all of them which
//! shows soon whether it is still. (Four DCTCP flows at one bottleneck fill it to the packet, while each is 20 % off
//! its share for a hundred round trips.) A window of samples stands still if, between its two halves,
//!
//! - the rate of no group of peers differs by more than the tolerance, and that of all together by no more than a tenth
//!   of it;
//! - what is in flight in all differs by no more than the tolerance: at the same rates it is the queues that change;
//!
//! and in the whole of it
//!
//! - no flow sends less than half of what its peers send on the mean, or more than twice that: so one that has just
//!   begun, or waits for a timeout, is not taken for one of them yet;
//! - of eight parts of it, the standard error of a group's rate is half the tolerance at most;
//! - peers of which one is ahead of the others by more than that, in all of its parts, count each by itself;
//! - there are as many round trips as are to be watched, of those that flows have now: what is in flight over the rate.
//!
//! A change that is too small to matter in the window would matter if it went on for long, as when one flow slowly
//! takes over from another. So it is told how rates change from half to half.
//!
//! What senders hold of their paths tells of a slow recovery before a packet more arrives. It ends with the next cut, of
//! which arrivals tell nothing, so where it goes on nothing stands still.
//!
//! Counts are of whole packets, so one packet more or less is no difference. Windows are tried from the shortest on,
//! each twice as long as the last: what swings, such as a saw-tooth, stands still over a window of many swings. As
//! long as nothing stands still samples get further apart, so that windows get longer and looks fewer.

use super::SteadyRung;
use crate::units::Time;

/// How many samples apart the ends of the shortest window are.
pub const SHORTEST: usize = 16;

/// And those of the longest; an even number, so that the last sample is kept when every other one is dropped.
const LONGEST: usize = 64;

/// Into how many parts a window is divided to know how sure its rates are.
const PARTS: usize = 8;

/// What was seen at a moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// Of each flow, how many packets have arrived.
    pub arrived: Vec<u32>,
    /// What each sender holds of its path.
    pub senders: Vec<Sender>,
    /// How many packets of all flows are in flight.
    pub in_flight: u64,
}

/// What a sender has, and what it will go by later.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender {
    /// How fast it lets packets leave, in bits per second; 0 of one without a rate.
    pub rate: f64,
    /// How congested it holds its path to be, from 0 to 1; 0 of one that keeps no estimate.
    pub congestion: f64,
}

/// A window that stands still.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// How long it was.
    pub lasted: Time,
    /// How many packets of each flow arrived in it, on the mean of its peers.
    pub arrived: Vec<f64>,
    /// By which part of it the rate of each flow changed from one half to the other, on the mean of its peers.
    pub drift: Vec<f64>,
}

/// Samples of the same flows.
#[derive(Debug, Default)]
pub struct Calm {
    samples: Vec<Sample>,
    /// How many were added since everything was forgotten, or every other one.
    added: usize,
}

impl Calm {
    /// Whether there is nothing to go by.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.samples.clear();
        self.added = 0;
    }

    /// Forgets everything but the last sample.
    pub fn restart(&mut self) {
        self.samples.drain(..self.samples.len().saturating_sub(1));
        self.added = self.samples.len();
    }

    /// Adds a sample. Returns whether there are so many now that every other one was dropped: the next ones should be
    /// twice as far apart.
    pub fn add(&mut self, sample: Sample) -> bool {
        self.samples.push(sample);
        self.added += 1;
        let is_thinned = self.samples.len() > LONGEST;
        if is_thinned {
            let mut nth = 0;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.added = 0;
        }
        is_thinned
    }

    /// The shortest window up to now that stands still, of flows in these groups of peers.
    pub fn window(&self, peers: &[Vec<usize>], rung: SteadyRung) -> Option<Window> {
        let lengths = std::iter::successors(Some(SHORTEST), |length| Some(length * 2));
        let lengths = lengths.take_while(|&length| length <= LONGEST && length < self.samples.len());
        // A long window hardly changes with one sample.
        let mut lengths = lengths.filter(|length| self.added.is_multiple_of(length / SHORTEST));
        let (length, groups, drifts) = lengths.find_map(|length| {
            let groups = self.groups(peers, length, rung);
            let drifts = self.drifts(&groups, length, rung)?;
            Some((length, groups, drifts))
        })?;
        let (first, last) = (self.back(length), self.back(0));
        let (mut arrived, mut drift) = (vec![0.0; last.arrived.len()], vec![0.0; last.arrived.len()]);
        for (group, of_group) in groups.iter().zip(drifts) {
            let sum: f64 =
                group.iter().map(|&flow| f64::from(last.arrived[flow] - first.arrived[flow])).sum();
            for &flow in group {
                (arrived[flow], drift[flow]) = (sum / group.len() as f64, of_group);
            }
        }
        Some(Window { lasted: last.at - first.at, arrived, drift })
    }

    /// The sample so many before the last.
    fn back(&self, samples: usize) -> &Sample {
        &self.samples[self.samples.len() - 1 - samples]
    }

    /// By which part of it the rate of each group changes from one half of a window to the other, if it stands still.
    fn drifts(&self, groups: &[Vec<usize>], length: usize, rung: SteadyRung) -> Option<Vec<f64>> {
        let half = length / 2;
        let (mut older, mut newer, mut drifts) = (0.0, 0.0, Vec::with_capacity(groups.len()));
        for group in groups {
            let (before, after) = (self.rate(group, length, half), self.rate(group, half, 0));
            if !is_near(before, after, rung.tolerance)
                || !self.is_sure(group, length, rung.tolerance / 2.0)
                || !self.are_alike(group, length)
                || !self.rests(group, half, rung)
            {
                return None;
            }
            (older, newer) = (older + before, newer + after);
            // Counts are of whole packets.
            let beyond_a_packet = ((after - before).abs() - 1.0).max(0.0);
            drifts.push(beyond_a_packet.copysign(after - before) / before.max(1.0));
        }
        let in_flight = |from: usize| {
            (from..from + half).map(|nth| self.back(nth).in_flight as f64).sum::<f64>() / half as f64
        };
        let (queued_before, queued) = (in_flight(half), in_flight(0));
        let is_long = older + newer >= rung.round_trips as f64 * (queued_before + queued) / 2.0;
        let is_still =
            is_near(older, newer, rung.together()) && is_near(queued_before, queued, rung.tolerance);
        (is_long && is_still).then_some(drifts)
    }

    /// Whether the rate that senders of a group allow themselves, and the congestion that they go by, stay within the
    /// tolerance for the longest skip, if they go on changing as from one half to the other. What may be chance, as
    /// samples tell, is no change.
    fn rests(&self, group: &[usize], half: usize, rung: SteadyRung) -> bool {
        let halves = |of: fn(&Sender) -> f64| {
            [half, 0].map(|from| {
                let sum = |sample: &Sample| group.iter().map(|&flow| of(&sample.senders[flow])).sum::<f64>();
                Spread::of((from..from + half).map(|nth| sum(self.back(nth)) / group.len() as f64))
            })
        };
        let (rates, congestion) = (halves(|sender| sender.rate), halves(|sender| sender.congestion));
        let of_rates = if rates[0].mean > 0.0 { rates[1].beyond(&rates[0]) / rates[0].mean } else { 0.0 };
        let most = rung.tolerance / (2 * rung.stretch) as f64;
        of_rates.abs() <= most && congestion[1].beyond(&congestion[0]).abs() <= most
    }

    /// Peers, but those each alone of which one is ahead of the others, or behind, in the whole of a window. Of senders
    /// without a rate that is no reason: DCTCP's are for a hundred round trips, and even out.
    fn groups(&self, peers: &[Vec<usize>], length: usize, rung: SteadyRung) -> Vec<Vec<usize>> {
        let mut groups = Vec::with_capacity(peers.len());
        for group in peers {
            let have_rates = group.iter().all(|&flow| self.back(0).senders[flow].rate > 0.0);
            if have_rates && group.iter().any(|&flow| self.is_apart(flow, group, length, rung)) {
                groups.extend(group.iter().map(|&flow| vec![flow]));
            } else {
                groups.push(group.clone());
            }
        }
        groups
    }

    /// Whether a flow differs from the mean of its peers by more than the tolerance, and by more than chance, as the parts
    /// of a window tell: twice the error of its mean difference.
    fn is_apart(&self, flow: usize, group: &[usize], length: usize, rung: SteadyRung) -> bool {
        let part = length / PARTS;
        let differences = (0..PARTS).map(|nth| {
            let rate = |flows: &[usize]| self.rate(flows, (nth + 1) * part, nth * part);
            let mean = rate(group) / group.len() as f64;
            (rate(&[flow]) - mean) / mean.max(1.0)
        });
        let Spread { mean, variance } = Spread::of(differences);
        mean.abs() > rung.tolerance && mean.abs() > 2.0 * variance.sqrt()
    }

    /// Whether no flow is far from what its peers do.
    fn are_alike(&self, group: &[usize], length: usize) -> bool {
        let mean = self.rate(group, length, 0) / group.len() as f64;
        group.iter().all(|&flow| (mean / 2.0..=mean * 2.0).contains(&self.rate(&[flow], length, 0)))
    }

    /// How many packets of some flows arrived between two samples, if they had been as far apart as samples are on the
    /// whole.
    fn rate(&self, group: &[usize], from: usize, to: usize) -> f64 {
        let (first, last) = (self.back(from), self.back(to));
        let whole = self.back(0).at - self.samples[0].at;
        let usual = whole.as_ps() as f64 / (self.samples.len() - 1) as f64 * (from - to) as f64;
        let arrived: f64 =
            group.iter().map(|&flow| f64::from(last.arrived[flow] - first.arrived[flow])).sum();
        arrived * usual / (last.at - first.at).as_ps().max(1) as f64
    }

    /// Whether the standard error of a group's rate is at most a share of it.
    fn is_sure(&self, group: &[usize], length: usize, share: f64) -> bool {
        let part = length / PARTS;
        let counts = (0..PARTS).map(|nth| self.rate(group, (nth + 1) * part, nth * part));
        let counts: Vec<f64> = counts.collect();
        let mean = counts.iter().sum::<f64>() / PARTS as f64;
        // A packet that just came, or did not, is no more than one in each part.
        let beyond = |count: &f64| ((count - mean).abs() - 1.0).max(0.0);
        let variance =
            counts.iter().map(|count| beyond(count) * beyond(count)).sum::<f64>() / (PARTS - 1) as f64;
        mean > 0.0 && (variance / PARTS as f64).sqrt() <= share * mean
    }
}

/// Numbers that scatter.
struct Spread {
    mean: f64,
    /// The variance of the mean.
    variance: f64,
}

impl Spread {
    fn of(all: impl Iterator<Item = f64> + Clone) -> Spread {
        let count = all.clone().count() as f64;
        let mean = all.clone().sum::<f64>() / count;
        let variance = all.map(|one| (one - mean) * (one - mean)).sum::<f64>() / (count - 1.0);
        Spread { mean, variance: variance / count }
    }

    /// How far its mean is from another's; 0 if that is at most twice its error.
    fn beyond(&self, other: &Spread) -> f64 {
        let difference = self.mean - other.mean;
        if difference.abs() > 2.0 * (self.variance + other.variance).sqrt() { difference } else { 0.0 }
    }
}

/// Whether two counts differ by no more than a share of them, or by a packet.
fn is_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= share * (one + other) / 2.0 + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNG: SteadyRung = SteadyRung { tolerance: 0.02, round_trips: 64, stretch: 200 };

    /// After samples of two flows that send so many packets from one to the next.
    fn after(samples: usize, sent: impl Fn(usize) -> [u32; 2], in_flight: impl Fn(usize) -> u64) -> Calm {
        with_rates(samples, sent, in_flight, |_| [0.0; 2])
    }

    /// The same of senders that have rates.
    fn with_rates(
        samples: usize,
        sent: impl Fn(usize) -> [u32; 2],
        in_flight: impl Fn(usize) -> u64,
        rates: impl Fn(usize) -> [f64; 2],
    ) -> Calm {
        let (mut calm, mut arrived) = (Calm::default(), [0, 0]);
        for nth in 0..=samples {
            calm.add(Sample {
                at: Time(nth as u64 * 1_000),
                arrived: arrived.to_vec(),
                senders: rates(nth).map(|rate| Sender { rate, congestion: 0.0 }).to_vec(),
                in_flight: in_flight(nth),
            });
            arrived = std::array::from_fn(|flow| arrived[flow] + sent(nth)[flow]);
        }
        calm
    }

    #[test]
    fn flows_at_one_rate_stand_still_after_the_shortest_window() {
        let of = |samples| after(samples, |_| [100, 50], |_| 20).window(&[vec![0], vec![1]], RUNG);
        assert_eq!(of(SHORTEST - 1), None);
        let window = Window { lasted: Time(16_000), arrived: vec![1_600.0, 800.0], drift: vec![0.0; 2] };
        assert_eq!(of(SHORTEST), Some(window));
    }

    #[test]
    fn rates_and_queues_that_change_do_not() {
        let window = |calm: Calm| calm.window(&[vec![0], vec![1]], RUNG);
        // One flow gets what the other loses, 1 % at each sample.
        assert_eq!(window(after(64, |nth| [1_000 + nth as u32 * 10, 1_000 - nth as u32 * 10], |_| 20)), None);
        // All together rise by 0.5 % from half to half.
        assert_eq!(window(after(16, |nth| [10_000 + nth as u32 * 6; 2], |_| 20)), None);
        assert_eq!(window(after(16, |_| [100, 50], |nth| 200 + nth as u64)), None);
    }

    #[test]
    fn a_sender_whose_rate_recovers_is_seen_before_a_packet_more_arrives() {
        let of = |step: f64| {
            let calm = with_rates(16, |_| [100, 50], |_| 20, |nth| [1e9 + nth as f64 * step, 0.0]);
            calm.window(&[vec![0], vec![1]], RUNG).is_some()
        };
        // Eight samples later; 0.02 over 400 halves are 5e-5 a half.
        assert_eq!((of(1e9 * 4e-5 / 8.0), of(1e9 * 6e-5 / 8.0)), (true, false));
    }

    #[test]
    fn what_swings_stands_still_over_many_swings() {
        let swings = |nth: usize| if nth % 8 < 4 { [120, 80] } else { [80, 120] };
        let window = after(64, swings, |_| 20).window(&[vec![0], vec![1]], RUNG).expect("long enough");
        assert_eq!(window.lasted, Time(64_000), "eight parts of a swing each");
    }

    #[test]
    fn peers_are_still_together() {
        let swings = |nth: usize| if nth % 32 < 16 { [120, 80] } else { [80, 120] };
        let window = after(24, swings, |_| 20).window(&[vec![0, 1]], RUNG).expect("it is still");
        assert_eq!(window, Window { lasted: Time(16_000), arrived: vec![1_600.0; 2], drift: vec![0.0; 2] });
        // One of them has only begun.
        let calm = after(24, |_| [180, 20], |_| 20);
        assert_eq!(calm.window(&[vec![0, 1]], RUNG), None);
        // By their rates one is ahead all the time, so each goes on as it does.
        let calm = with_rates(24, |_| [180, 20], |_| 20, |_| [9e9, 1e9]);
        let apart = calm.window(&[vec![0, 1]], RUNG).expect("it is still");
        assert_eq!(apart.arrived, [2_880.0, 320.0]);
    }
}
