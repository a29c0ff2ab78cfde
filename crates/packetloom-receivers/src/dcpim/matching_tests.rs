//! Whole matchings by rounds, without packets, beside those of a controller that knows all (`packetloom-control`).

use super::choice::{Channels, Offer, Offers};
use super::granter::Granter;
use super::header::Round;
use super::links::Matching;
use super::rounds::Rounds;
use crate::control::Pair;
use crate::control::matching::HopcroftKarp;
use crate::random::{Purpose, Stream};
use crate::units::Time;

const SERVERS: u32 = 64;

/// Who of each pair gets a channel from whom, after so many rounds in which hosts choose at random. Each pair needs
/// one.
fn matched(pairs: &[Pair], rounds: u8, channels: u8, seed: u64) -> Vec<Pair> {
    let mut random = Stream::new(seed, Purpose::Pattern, 0);
    let times = Rounds::new(Time(10), rounds, Time(1_000));
    let mut senders = vec![Granter::default(); SERVERS as usize];
    let mut receivers = vec![Matching::default(); SERVERS as usize];
    receivers.iter_mut().for_each(|one| one.begin(1, &Matching::default()));
    for nth in 0..rounds {
        let round = Round { epoch: 1, nth };
        let mut grants = vec![Offers::default(); SERVERS as usize];
        for (flow, pair) in (0..).zip(pairs) {
            let receiver = &receivers[pair.dst as usize];
            if receiver.free(channels).all > 0 && receiver.held(pair.src) == 0 {
                let (channels, start) = (Channels { all: 1, prompt: 1 }, Time::ZERO);
                let offer = Offer { flow, peer: pair.dst, left: 1, start, channels };
                senders[pair.src as usize].request(round, offer);
            }
        }
        for (peer, sender) in (0..).zip(&mut senders) {
            let (of, mut free) = sender.free(channels);
            while let Some(grant) = sender.grant(false, &mut free, &mut random).filter(|_| of == round) {
                grants[grant.peer as usize].push(Offer { peer, ..grant });
            }
        }
        for (receiver, grants) in receivers.iter_mut().zip(&mut grants) {
            let mut free = receiver.free(channels);
            while let Some(taken) = grants.take(false, &mut free, &mut random) {
                receiver.take(taken.peer, 1, taken.channels, Time::ZERO);
                let sender = &mut senders[taken.peer as usize];
                let excess = sender.accept(round, taken.channels, channels, (&times, Time::ZERO));
                assert_eq!(excess, Channels::default(), "no channel is taken twice");
            }
        }
    }
    let links =
        |(dst, one): (u32, Matching)| one.links.into_iter().map(move |link| Pair::new(link.sender, dst));
    (0..).zip(receivers).flat_map(links).collect()
}

/// So many pairs at random, each once.
fn demand(seed: u64, count: usize) -> Vec<Pair> {
    let mut random = Stream::new(seed, Purpose::Pattern, 1);
    let mut all: Vec<Pair> =
        (0..count).map(|_| Pair::new(random.below(SERVERS), random.below(SERVERS))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn most(pairs: &[Pair]) -> usize {
    let mut largest = Vec::new();
    HopcroftKarp::new(SERVERS).match_all(pairs, &mut largest);
    largest.len()
}

/// How often each server occurs at its end.
fn degrees(matching: &[Pair]) -> (Vec<u8>, Vec<u8>) {
    let mut degrees = (vec![0; SERVERS as usize], vec![0; SERVERS as usize]);
    for pair in matching {
        degrees.0[pair.src as usize] += 1;
        degrees.1[pair.dst as usize] += 1;
    }
    degrees
}

#[test]
fn with_rounds_enough_the_matching_is_maximal() {
    for (seed, channels) in (0..40).zip([1, 2, 4, 8].into_iter().cycle()) {
        let pairs = demand(seed, 60 * (1 + seed as usize));
        let matching = matched(&pairs, 64, channels, seed);
        let (sources, destinations) = degrees(&matching);
        assert!(sources.iter().chain(&destinations).all(|&degree| degree <= channels));
        for pair in &pairs {
            let is_full =
                sources[pair.src as usize] == channels || destinations[pair.dst as usize] == channels;
            assert!(is_full || matching.contains(pair), "seed {seed}: {pair:?} could be added");
        }
        if channels == 1 {
            assert!(2 * matching.len() >= most(&pairs), "a maximal matching is half of the largest at least");
        }
    }
}

#[test]
fn a_few_rounds_give_what_theory_says() {
    // Of the requests that may still be granted, a round of PIM settles three quarters at least, on average (Anderson
    // et al., TOCS 1993). So of what more rounds would match after r of them, there is 1 / 4^r of the pairs at most.
    for (count, rounds) in [(128, 1), (128, 2), (128, 4), (512, 3), (512, 4), (2_000, 4)] {
        let (mut found, mut due) = (0.0, 0.0);
        for seed in 0..50 {
            let pairs = demand(seed, count);
            found += matched(&pairs, rounds, 1, seed).len() as f64;
            let settled = matched(&pairs, 64, 1, 100 + seed).len();
            due += settled as f64 - pairs.len() as f64 / f64::from(4_u32.pow(rounds.into()));
        }
        assert!(found >= due, "{count} pairs, {rounds} rounds: {found} matched, at least {due} due");
    }
}

#[test]
fn four_rounds_match_nearly_all_that_can_be() {
    let sizes = [1, 2, 3, 4, 8]
        .map(|rounds| (0..20).map(|seed| matched(&demand(seed, 512), rounds, 1, seed).len()).sum::<usize>());
    assert!(sizes.windows(2).all(|two| two[0] <= two[1]) && sizes[0] < sizes[2], "{sizes:?}");
    assert!(sizes[3] * 100 >= sizes[4] * 99, "{sizes:?}");
}
