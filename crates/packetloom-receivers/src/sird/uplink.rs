//! A sender's link: its receivers' credit that is not spent, and whose message goes next (Receivers::update_policy_state,
//! select_msg_to_send). Credit belongs to a receiver, and serves any message to it.

use super::config::{Config, WHOLE_SHARE};
use super::outgoing::{Outgoing, Turn};
use crate::flow::{FlowId, HostId};
use crate::flow_table::FlowTable;
use std::collections::BTreeSet;

/// A receiver, as its sender sees it.
#[derive(Clone, Debug, Default)]
struct Peer {
    unspent_bytes: u64,
    /// All credit that it is known to have given.
    total_bytes: u64,
    /// The messages to it that have something to send, and those of them that it was not told of.
    waiting: BTreeSet<Turn>,
    unannounced: BTreeSet<Turn>,
}

/// A receiver to which something may be sent.
#[derive(Clone, Copy, Debug)]
struct Ready {
    host: HostId,
    flow: FlowId,
    unsent_bytes: u64,
    /// What is owed to it, of [`WHOLE_SHARE`]: a packet.
    owed: u64,
}

/// All of a host's.
#[derive(Clone, Debug, Default)]
pub struct Uplink {
    peers: FlowTable<Peer>,
    ready: Vec<Ready>,
    /// What is unspent of all receivers' credit.
    unspent_bytes: u64,
    /// How many messages have something to send.
    waiting: u32,
}

impl Uplink {
    fn peer(&mut self, host: HostId) -> &mut Peer {
        if !self.peers.contains(host) {
            self.peers.insert(host, Peer::default());
        }
        self.peers.get_mut(host).unwrap_or_else(|| unreachable!("it was just inserted"))
    }

    /// A receiver's credit that is not spent.
    pub fn unspent_of(&self, host: HostId) -> u64 {
        self.peers.get(host).map_or(0, |peer| peer.unspent_bytes)
    }

    /// A receiver's credit grows.
    pub fn add(&mut self, host: HostId, bytes: u64) {
        self.peer(host).unspent_bytes += bytes;
        self.unspent_bytes += bytes;
    }

    /// Credit is given up that was for packets to be sent again, as far as other messages have not spent it.
    pub fn give_up(&mut self, host: HostId, bytes: u64) {
        let peer = self.peer(host);
        let bytes = bytes.min(peer.unspent_bytes);
        peer.unspent_bytes -= bytes;
        self.unspent_bytes -= bytes;
    }

    /// A receiver says how much credit it ever gave.
    pub fn learn(&mut self, host: HostId, total_bytes: u64) {
        let peer = self.peer(host);
        let more = total_bytes.saturating_sub(peer.total_bytes);
        peer.total_bytes += more;
        self.add(host, more);
    }

    /// Puts a message where it now belongs among those to its receiver.
    pub fn requeue(&mut self, message: &mut Outgoing) {
        let turn = message.turn_now();
        let (before, is_announced) = (message.turn.take(), message.is_announced);
        message.turn = turn;
        self.waiting += u32::from(turn.is_some());
        self.waiting -= u32::from(before.is_some());
        let peer = self.peer(message.flow().dst);
        if let Some(before) = before {
            peer.waiting.remove(&before);
            peer.unannounced.remove(&before);
        }
        peer.waiting.extend(turn);
        if !is_announced {
            peer.unannounced.extend(turn);
        }
    }

    /// Forgets a message.
    pub fn remove(&mut self, message: &mut Outgoing) {
        if let Some(turn) = message.turn.take() {
            self.waiting -= 1;
            let peer = self.peer(message.flow().dst);
            peer.waiting.remove(&turn);
            peer.unannounced.remove(&turn);
        }
    }

    /// The message that would be sent to a receiver: the shortest for which there is credit; but one that the receiver does
    /// not know yet goes first, as its own allotment is used up otherwise, and the receiver doesn't know.
    fn choice(&self, host: HostId, messages: &FlowTable<Outgoing>, config: &Config) -> Option<(FlowId, u64)> {
        let peer = self.peers.get(host)?;
        let fits = |&&(unsent_bytes, _, flow): &&Turn| {
            let needs = messages.get(flow)?.needs(config);
            (needs <= peer.unspent_bytes).then_some((flow, unsent_bytes))
        };
        let shortest = peer.waiting.iter().find_map(|turn| fits(&turn))?;
        let unknown = peer.unannounced.iter().rev().find_map(|turn| fits(&turn));
        unknown.or(Some(shortest))
    }

    /// A receiver's credit or messages changed: what may be sent to it. A receiver to which nothing may be is owed nothing.
    pub fn refresh(&mut self, host: HostId, messages: &FlowTable<Outgoing>, config: &Config) {
        let choice = self.choice(host, messages, config);
        let place = self.ready.iter().position(|ready| ready.host == host);
        match (choice, place) {
            (Some((flow, unsent_bytes)), Some(place)) => {
                (self.ready[place].flow, self.ready[place].unsent_bytes) = (flow, unsent_bytes);
            }
            (Some((flow, unsent_bytes)), None) => {
                self.ready.push(Ready { host, flow, unsent_bytes, owed: 0 });
            }
            (None, Some(place)) => {
                self.ready.swap_remove(place);
            }
            (None, None) => {}
        }
    }

    /// The message of some receiver that is ready, if one is.
    pub fn any(&self) -> Option<FlowId> {
        self.ready.first().map(|ready| ready.flow)
    }

    /// The message to send from. Every receiver that is ready is owed its part of the even share, that with the shortest
    /// message the other share as well, as often as it takes until one is owed a packet; who is owed the most gets it.
    pub fn next(&mut self, config: &Config) -> Option<FlowId> {
        if let [only] = &self.ready[..] {
            return Some(only.flow);
        }
        let shortest = self.ready.iter().min_by_key(|ready| (ready.unsent_bytes, ready.host))?.host;
        let even = (WHOLE_SHARE - config.srpt_share) / self.ready.len() as u64;
        let part = |ready: &Ready| even + if ready.host == shortest { config.srpt_share } else { 0 };
        let rounds = |ready: &Ready| WHOLE_SHARE.saturating_sub(ready.owed).div_ceil(part(ready).max(1));
        let rounds = self.ready.iter().map(rounds).min()?.max(1);
        for ready in &mut self.ready {
            ready.owed += part(ready) * rounds;
        }
        let most = self.ready.iter_mut().max_by_key(|ready| (ready.owed, u32::MAX - ready.host))?;
        most.owed -= WHOLE_SHARE.min(most.owed);
        Some(most.flow)
    }

    /// Spends a receiver's credit on a packet; returns whether that packet says that the sender holds too much: never of its
    /// only message.
    pub fn spend(&mut self, host: HostId, bytes: u64, config: &Config) -> bool {
        let peer = self.peer(host);
        peer.unspent_bytes -= bytes;
        self.unspent_bytes -= bytes;
        self.waiting >= 2 && self.unspent_bytes > config.mark_above_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::super::outgoing::testing::message;
    use super::*;
    use crate::units::Time;

    /// Messages to hosts 1, 2, ..., each of its size, with credit for everything.
    fn uplink(sizes: &[u64], config: &Config) -> (Uplink, FlowTable<Outgoing>) {
        let (mut uplink, mut messages) = (Uplink::default(), FlowTable::default());
        for (dst, &size_bytes) in (1..).zip(sizes) {
            let mut message = message(dst, dst, size_bytes, config);
            message.is_announced = true;
            uplink.add(dst, 10_000_000);
            uplink.requeue(&mut message);
            messages.insert(dst, message);
            uplink.refresh(dst, &messages, config);
        }
        (uplink, messages)
    }

    /// How many of a thousand packets go to each receiver.
    fn shares(sizes: &[u64], config: &Config) -> Vec<usize> {
        let (mut uplink, _) = uplink(sizes, config);
        let sent: Vec<_> = (0..1_000).filter_map(|_| uplink.next(config)).collect();
        (1..=sizes.len() as u32).map(|host| sent.iter().filter(|&&flow| flow == host).count()).collect()
    }

    #[test]
    fn half_of_the_link_goes_to_the_shortest_and_half_to_all() {
        let config = config();
        assert_eq!(shares(&[1_000_000, 900_000], &config), [250, 750]);
        let four = shares(&[900_000, 1_000_000, 1_000_000, 1_000_000], &config);
        assert!(
            four.iter().zip([625, 125, 125, 125]).all(|(&found, due)| found.abs_diff(due) <= 1),
            "{four:?}"
        );
        assert_eq!(shares(&[7], &config), [1_000]);
    }

    #[test]
    fn the_shares_are_the_scenarios() {
        let even = Config { srpt_share: 0, ..config() };
        assert_eq!(shares(&[1_000_000, 900_000], &even), [500, 500]);
        let srpt = Config { srpt_share: WHOLE_SHARE, ..config() };
        assert_eq!(shares(&[1_000_000, 900_000], &srpt), [0, 1_000]);
    }

    #[test]
    fn a_sender_of_one_message_never_marks_and_one_of_two_does_above_the_threshold() {
        let config = config();
        let (mut one, _) = uplink(&[1_000_000], &config);
        assert!(!one.spend(1, 1_538, &config));
        let (mut two, _) = uplink(&[1_000_000, 900_000], &config);
        assert!(two.spend(1, 1_538, &config));
        assert!(two.spend(2, 10_000_000 - 40_000, &config));
        assert!(!two.spend(1, 10_000_000 - 1_538 - 8_114, &config), "48,114 B are not above it");
        two.add(2, 1);
        assert!(two.spend(2, 0, &config));
    }

    #[test]
    fn the_next_credit_makes_up_for_a_lost_one_and_one_that_was_overtaken_adds_nothing() {
        let mut uplink = Uplink::default();
        uplink.learn(1, 1_538);
        uplink.learn(1, 3 * 1_538);
        uplink.learn(1, 2 * 1_538);
        assert_eq!(uplink.unspent_of(1), 3 * 1_538);
    }

    #[test]
    fn a_message_that_its_receiver_does_not_know_goes_first_to_it() {
        let config = config();
        let (mut uplink, mut messages) = uplink(&[5_000], &config);
        let mut large = message(9, 1, 80_000, &config);
        uplink.requeue(&mut large);
        messages.insert(9, large);
        uplink.refresh(1, &messages, &config);
        assert_eq!(uplink.next(&config), Some(9));
        let large = messages.get_mut(9).unwrap();
        large.take(false, &config, Time::ZERO);
        large.is_announced = true;
        uplink.requeue(large);
        uplink.refresh(1, &messages, &config);
        assert_eq!(uplink.next(&config), Some(1), "the shorter one");
    }

    #[test]
    fn what_there_is_no_credit_for_waits() {
        let config = config();
        let (mut uplink, messages) = uplink(&[5_000], &config);
        uplink.spend(1, 10_000_000 - 1_537, &config);
        uplink.refresh(1, &messages, &config);
        assert_eq!((uplink.next(&config), uplink.any()), (None, None));
        uplink.add(1, 1);
        uplink.refresh(1, &messages, &config);
        assert_eq!(uplink.next(&config), Some(1));
    }
}
