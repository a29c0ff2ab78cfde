//! A flow at its receiver: what came of it, and for what it gets tokens.

use super::config::Config;
use super::header::Header;
use crate::flow::{FlowId, HostId};
use crate::packet::Packet;
use crate::reassembly::Reassembly;
use crate::units::Time;

/// Whether a flow may get tokens at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// Among those that get tokens: by how many packets have not come, then by age.
    Ready(u32, u64),
    /// It gets none before this time.
    Asleep(Time),
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub(super) flow: FlowId,
    pub(super) src: HostId,
    pub(super) class: u8,
    number: u64,
    packets: u32,
    have: Reassembly,
    /// How many tokens there were, the free ones counted, and how many there are to be.
    tokens: u32,
    goal: u32,
    /// One more than the largest number of a token for which data came.
    answered: u32,
    /// The packet of the last token.
    last_seq: Option<u32>,
    last_token_at: Time,
    /// Until when it gets no more, since there was one for each packet.
    quiet_until: Option<Time>,
    pub(super) state: Option<TokenState>,
}

impl Receiver {
    /// The flow of so many packets that a packet announces.
    pub(super) fn new(
        packet: &Packet<Header>,
        packets: u32,
        number: u64,
        config: &Config,
        (now, packet_time): (Time, Time),
    ) -> Receiver {
        let free = config.free(packets);
        Receiver {
            flow: packet.flow,
            src: packet.src,
            class: packet.class,
            number,
            packets,
            have: Reassembly::default(),
            tokens: free,
            goal: packets,
            answered: 0,
            last_seq: free.checked_sub(1),
            last_token_at: now,
            quiet_until: (free == packets).then(|| now + packet_time.times(2 * u64::from(free))),
            state: None,
        }
    }

    /// How many packets have not come.
    pub(super) fn left(&self) -> u32 {
        self.packets - self.have.next() - self.have.above().len()
    }

    /// Takes in the packet of a token.
    pub(super) fn note(&mut self, seq: u32, token: u32) {
        self.have.add(seq, seq + 1 == self.packets);
        self.answered = self.answered.max(token.saturating_add(1)).min(self.tokens);
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    /// Whether its tokens are too far ahead of what came for them.
    fn is_ahead(&self, config: &Config) -> bool {
        self.tokens + 1 - self.answered > config.window
    }

    /// Whether it gets tokens now, and its rank among those that do.
    pub(super) fn token_state(&self, config: &Config, packet_time: Time) -> TokenState {
        if let Some(until) = self.quiet_until {
            TokenState::Asleep(until)
        } else if self.is_ahead(config) {
            TokenState::Asleep(self.last_token_at + config.window_timeout(packet_time))
        } else {
            TokenState::Ready(self.left(), self.number)
        }
    }

    /// The time has come until which it got no tokens: what has not come gets new ones.
    pub(super) fn wake(&mut self, config: &Config, now: Time, packet_time: Time) {
        if self.quiet_until.is_some_and(|until| until <= now) {
            self.quiet_until = None;
            self.goal += self.left();
        }
        let waited_until = self.last_token_at + config.window_timeout(packet_time);
        if self.quiet_until.is_none() && self.is_ahead(config) && now >= waited_until {
            self.answered = self.tokens + 1 - config.window;
        }
    }

    /// The next token: for the packet that has not come after that of the last token, going round.
    pub(super) fn token(&mut self, config: &Config, now: Time, packet_time: Time) -> Header {
        let from = self.last_seq.map_or(0, |last| last + 1).max(self.have.next());
        let seq = Some(self.have.above().first_absent(from)).filter(|&seq| seq < self.packets);
        let seq = seq.unwrap_or_else(|| self.have.next());
        let header = Header::Token { number: self.tokens, seq, left: self.left() };
        self.last_seq = Some(seq);
        self.last_token_at = now;
        self.tokens += 1;
        if self.tokens == self.goal {
            self.quiet_until = Some(now + config.resend_timeout(packet_time));
        }
        header
    }
}
