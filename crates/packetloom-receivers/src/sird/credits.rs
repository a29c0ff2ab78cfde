//! A receiver's credit: its budget, what each sender may have of it, and the pace at which it goes out, that of the
//! receiver's link (R2p2CCHybrid::send_grants).

use super::config::Config;
use super::incoming::{Incoming, Rank};
use super::window::Window;
use crate::flow::{FlowId, HostId};
use crate::flow_table::FlowTable;
use crate::narrow::narrow;
use crate::units::Time;
use std::collections::BTreeSet;

/// All of a host's.
#[derive(Clone, Debug, Default)]
pub struct Credits {
    /// What is outstanding to all senders.
    outstanding_bytes: i64,
    senders: FlowTable<Window>,
    /// The messages that need credit.
    waiting: BTreeSet<Rank>,
    /// When the data for all credit so far could have come at the rate of the host's link.
    free_at: Time,
    /// How many turns there were: of each message that began, and each credit that was given.
    turns: u64,
}

/// What to do about credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This message gets some now.
    Give(FlowId),
    /// One will when this time has come.
    Later(Time),
    /// None can, until something comes.
    Nothing,
}

impl Credits {
    /// A sender's window.
    pub fn sender(&mut self, host: HostId, config: &Config) -> &mut Window {
        if !self.senders.contains(host) {
            self.senders.insert(host, Window::new(config));
        }
        self.senders.get_mut(host).unwrap_or_else(|| unreachable!("it was just inserted"))
    }

    /// The turn behind all others.
    pub fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Credit is outstanding to a sender.
    pub fn deduct(&mut self, host: HostId, bytes: u64, config: &Config) {
        self.outstanding_bytes += narrow::<i64>(bytes);
        self.sender(host, config).outstanding_bytes += narrow::<i64>(bytes);
    }

    /// Data came for it.
    pub fn give_back(&mut self, host: HostId, bytes: u64, config: &Config) {
        self.outstanding_bytes -= narrow::<i64>(bytes);
        self.sender(host, config).outstanding_bytes -= narrow::<i64>(bytes);
    }

    /// Puts a message where it now belongs among those that need credit.
    pub fn requeue(&mut self, message: &mut Incoming, config: &Config) {
        let rank = message.rank_now(config);
        if rank != message.rank {
            if let Some(before) = message.rank {
                self.waiting.remove(&before);
            }
            self.waiting.extend(rank);
            message.rank = rank;
        }
    }

    /// The message that gets credit: the first for which the budget and its sender's window have room.
    pub fn next(&self, messages: &FlowTable<Incoming>, config: &Config, now: Time) -> Next {
        let left = narrow::<i64>(config.budget_bytes) - self.outstanding_bytes;
        if left < narrow::<i64>(config.layout.least_bytes) {
            return Next::Nothing;
        }
        let can_have = |&(.., flow): &Rank| {
            let message = messages.get(flow)?;
            let needs = message.needs(config);
            let has_room =
                || self.senders.get(message.src).is_none_or(|sender| sender.has_room(needs, config));
            (narrow::<i64>(needs) <= left && has_room()).then_some(flow)
        };
        match self.waiting.iter().find_map(can_have) {
            None => Next::Nothing,
            Some(_) if self.free_at > now + config.slack => {
                Next::Later(Time(self.free_at.as_ps() - config.slack.as_ps()))
            }
            Some(flow) => Next::Give(flow),
        }
    }

    /// Gives a message credit for its next packet, the data for which takes so long on the link; returns all that its sender
    /// was ever given.
    pub fn give(&mut self, message: &mut Incoming, takes: Time, config: &Config, now: Time) -> u64 {
        let bytes = message.needs(config);
        message.credit(self.turn(), now);
        self.requeue(message, config);
        self.free_at = self.free_at.max(now) + takes;
        self.deduct(message.src, bytes, config);
        let sender = self.sender(message.src, config);
        sender.total_bytes += bytes;
        sender.total_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    const PACKET: Time = Time(123_040);

    /// Messages 1, 2, ... from these hosts, each of its size.
    fn receiver(messages: &[(HostId, u64)], config: &Config) -> (Credits, FlowTable<Incoming>) {
        let (mut credits, mut table) = (Credits::default(), FlowTable::default());
        for (flow, &(src, size_bytes)) in (1..).zip(messages) {
            let turn = credits.turn();
            let mut message = Incoming::new((flow, src), (size_bytes, 0), turn, config, Time::ZERO);
            credits.requeue(&mut message, config);
            table.insert(flow, message);
        }
        (credits, table)
    }

    /// To which messages credit goes before any data comes, and when the last did.
    fn given(credits: &mut Credits, table: &mut FlowTable<Incoming>, config: &Config) -> (Vec<FlowId>, Time) {
        let (mut flows, mut now) = (Vec::new(), Time::ZERO);
        loop {
            match credits.next(table, config, now) {
                Next::Nothing => return (flows, now),
                Next::Later(at) => now = at,
                Next::Give(flow) => {
                    credits.give(table.get_mut(flow).unwrap(), PACKET, config, now);
                    flows.push(flow);
                }
            }
        }
    }

    #[test]
    fn one_sender_gets_a_bdp_and_all_together_the_budget_at_the_pace_of_the_link() {
        let config = config();
        let (mut credits, mut table) = receiver(&[(1, 1_000_000)], &config);
        let (flows, last) = given(&mut credits, &mut table, &config);
        assert_eq!((flows.len(), last), (65, PACKET.times(64)));
        let (mut credits, mut table) = receiver(&[(1, 1_000_000), (2, 900_000), (3, 2_000_000)], &config);
        let (flows, _) = given(&mut credits, &mut table, &config);
        let to = |flow| flows.iter().filter(|&&one| one == flow).count();
        // The shortest first: 97 full packets are 149,186 B.
        assert_eq!([to(2), to(1), to(3)], [65, 32, 0]);
    }

    #[test]
    fn in_turn_each_message_gets_as_much() {
        let config = Config { in_turn: true, ..config() };
        let (mut credits, mut table) = receiver(&[(1, 1_000_000), (2, 900_000), (3, 2_000_000)], &config);
        let (flows, _) = given(&mut credits, &mut table, &config);
        assert_eq!(flows[..7], [1, 2, 3, 1, 2, 3, 1]);
    }

    #[test]
    fn data_makes_room_for_more() {
        let config = config();
        let (mut credits, mut table) = receiver(&[(1, 1_000_000)], &config);
        given(&mut credits, &mut table, &config);
        credits.give_back(1, 1_538, &config);
        assert_eq!(given(&mut credits, &mut table, &config).0, [1]);
    }
}
