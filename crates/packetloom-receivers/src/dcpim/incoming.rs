//! A flow at its receiver: what came of it, and for what it gets tokens.

use super::config::Config;
use crate::flow::{FlowId, HostId};
use crate::reassembly::Reassembly;
use crate::units::Time;

/// A flow.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub flow: FlowId,
    pub src: HostId,
    pub packets: u32,
    pub start: Time,
    have: Reassembly,
    /// How many tokens there were, those that a short flow has from the start counted.
    tokens: u32,
    /// One more than the largest number of a token for which data came, or one that is taken for it.
    answered: u32,
    /// The packet of the last token, and when that was.
    last_seq: Option<u32>,
    last_token_at: Time,
    /// Until when it gets none, as there was one for each packet that has not come.
    quiet_until: Time,
}

impl Incoming {
    /// Of which nothing has come. The tokens of a short flow are given already (PimFlow::receive_short_flow).
    pub fn new(
        (flow, src): (FlowId, HostId),
        (packets, start): (u32, Time),
        config: &Config,
        now: Time,
    ) -> Incoming {
        let own = config.own_tokens(packets);
        let sent_by = now + config.packet_time.times(own.into());
        Incoming {
            flow,
            src,
            packets,
            start,
            have: Reassembly::default(),
            tokens: own,
            answered: 0,
            last_seq: own.checked_sub(1),
            last_token_at: Time::ZERO,
            quiet_until: if own > 0 { sent_by + config.resend_timeout } else { now },
        }
    }

    /// How many packets have not come.
    #[inline]
    pub fn left(&self) -> u32 {
        self.packets - self.have.next() - self.have.above().len()
    }

    /// Takes in the packet of a token.
    pub fn note(&mut self, seq: u32, token: u32) {
        if seq < self.packets {
            self.have.add(seq, seq + 1 == self.packets);
        }
        self.answered = self.answered.max(token.saturating_add(1));
    }

    /// Whether it may be asked for.
    #[inline]
    pub fn is_open(&self, now: Time) -> bool {
        self.quiet_until <= now
    }

    /// How many tokens were sent beyond the last one that was answered.
    #[inline]
    pub fn ahead(&self) -> u32 {
        self.tokens.saturating_sub(self.answered)
    }

    /// Whether it may have a token over so many channels. Their share of the window may be full; if nothing was sent
    /// for long, that is forgiven (PIM_Vlink::send_token, PimFlow::relax_token_gap). Otherwise when to check again.
    #[inline]
    pub fn may_have_token(&mut self, channels: u8, config: &Config, now: Time) -> Result<(), Time> {
        let (channels, of, window) =
            (u64::from(channels), u64::from(config.channels), u64::from(config.window));
        let (ahead, whole_share) = (u64::from(self.ahead()), window / of * channels);
        if ahead <= whole_share {
            return Ok(());
        }
        let waits_until = self.last_token_at + config.window_timeout;
        if now >= waits_until {
            self.answered = self.tokens.saturating_sub(u32::try_from(whole_share).unwrap_or(0)) + 1;
            return Ok(());
        }
        if ahead * of > window * channels { Err(waits_until) } else { Ok(()) }
    }

    /// The next token: its number, and its packet. If all that have not come have had theirs, it is quiet for a time.
    pub fn token(&mut self, config: &Config, now: Time) -> (u32, u32) {
        let seq = self.next_seq();
        let number = self.tokens;
        self.tokens += 1;
        self.last_seq = Some(seq);
        self.last_token_at = now;
        if self.next_seq() <= seq {
            self.quiet_until = now + config.resend_timeout;
        }
        (number, seq)
    }

    /// The first packet after that of the last token that has not come, going round.
    fn next_seq(&self) -> u32 {
        let from = self.last_seq.map_or(0, |last| last + 1).max(self.have.next());
        let seq = self.have.above().first_absent(from);
        if seq < self.packets { seq } else { self.have.next() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    fn flow(packets: u32, config: &Config) -> Incoming {
        Incoming::new((1, 2), (packets, Time::ZERO), config, Time::ZERO)
    }

    #[test]
    fn tokens_go_round_what_has_not_come_with_a_pause_after_each_round() {
        let config = config();
        let mut long = flow(30, &config);
        let seqs: Vec<u32> = (0..30).map(|_| long.token(&config, Time(1)).1).collect();
        assert_eq!(seqs, (0..30).collect::<Vec<_>>());
        // A bandwidth-delay product of 19 packets of 120 ns.
        let pause = Time::from_ns(19 * 120);
        assert!(!long.is_open(pause) && long.is_open(Time(1) + pause));
        (0..30).filter(|seq| ![4, 11, 29].contains(seq)).for_each(|seq| long.note(seq, seq));
        assert_eq!(long.left(), 3);
        let again = [0, 1, 2, 3].map(|_| long.token(&config, Time(2)));
        assert_eq!(again, [(30, 4), (31, 11), (32, 29), (33, 4)]);
    }

    #[test]
    fn a_short_flow_has_had_its_tokens_and_time_to_send_for_them() {
        let config = config();
        let mut short = flow(19, &config);
        assert_eq!(short.ahead(), 19);
        let pause = Time::from_ns((19 + 19) * 120);
        assert!(!short.is_open(pause - Time(1)) && short.is_open(pause));
        (0..18).for_each(|seq| short.note(seq, seq));
        assert_eq!(short.token(&config, pause), (19, 18));
        assert!(flow(20, &config).is_open(Time::ZERO), "a long one");
    }

    #[test]
    fn tokens_are_ahead_of_data_by_the_window_until_that_is_forgiven() {
        let config = config();
        let mut long = flow(1_000, &config);
        let mut sent = 0;
        while long.may_have_token(4, &config, Time(0)).is_ok() {
            long.token(&config, Time(0));
            sent += 1;
        }
        // 19 packets may be ahead of the last that came before a token is sent.
        assert_eq!(sent, 20);
        let forgiven = Time::from_ns(19 * 132);
        assert_eq!(long.may_have_token(4, &config, Time(1)), Err(forgiven));
        assert_eq!(long.may_have_token(4, &config, forgiven), Ok(()));
        assert_eq!(long.ahead(), 15, "less than four times 4, of 19 a quarter in whole packets");
        // A channel alone has a quarter of it.
        let mut slow = flow(1_000, &config);
        (0..5).for_each(|_| {
            assert!(
                slow.may_have_token(1, &config, Time(0)).is_ok_and(|()| slow.token(&config, Time(0)).0 < 5)
            )
        });
        assert_eq!(slow.may_have_token(1, &config, Time(1)), Err(forgiven));
    }
}
