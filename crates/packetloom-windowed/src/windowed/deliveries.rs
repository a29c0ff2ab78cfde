//! Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation-02; draft-ietf-ccwg-bbr-02 §4.5): how fast
//! packets arrive, from what was delivered between a packet's transmission and its acknowledgement.

use super::view::{Delivery, Limit, Lost, Sample};
use crate::narrow::narrow;
use crate::units::{Rate, Time};
use std::collections::VecDeque;

/// A packet's last transmission, and the connection as it was then. In brackets the draft's names.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// P.sent_time
    at: Time,
    bytes: u32,
    /// P.first_sent_time
    first_sent_at: Time,
    /// P.delivered
    delivered_bytes: u64,
    /// P.delivered_time
    delivered_at: Time,
    /// P.lost
    lost_bytes: u64,
    /// P.tx_in_flight
    in_flight: u32,
    /// P.is_app_limited
    is_app_limited: bool,
}

/// What a sender knows of its deliveries.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// The packets from `first` on, which are those that are not cumulatively acknowledged.
    sent: VecDeque<Sent>,
    first: u32,
    /// C.delivered, C.delivered_time, C.first_sent_time, C.lost
    delivered_bytes: u64,
    delivered_at: Time,
    first_sent_at: Time,
    lost_bytes: u64,
    /// C.app_limited: samples are application-limited until more than so much is delivered.
    app_limited_until: Option<u64>,
    min_rtt: Option<Time>,
    limit: Limit,
    /// Of what is newly acknowledged: what was sent last.
    newest: Option<(u32, Sent)>,
    /// C.lost at the last acknowledgement.
    lost_before_bytes: u64,
}

impl Deliveries {
    /// A packet of so much payload is sent: the next new one, or one again. `in_flight` counts it (§3.2).
    pub fn sent(&mut self, seq: u32, bytes: u32, in_flight: u32, now: Time) {
        if in_flight <= 1 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let sent = Sent {
            at: now,
            bytes,
            first_sent_at: self.first_sent_at,
            delivered_bytes: self.delivered_bytes,
            delivered_at: self.delivered_at,
            lost_bytes: self.lost_bytes,
            in_flight,
            is_app_limited: self.app_limited_until.is_some(),
        };
        match self.sent.get_mut((seq - self.first) as usize) {
            Some(before) => *before = sent,
            None => self.sent.push_back(sent),
        }
    }

    /// A packet turns out to have arrived (§3.3: UpdateRateSample).
    pub fn delivered(&mut self, seq: u32, now: Time) {
        let sent = self.sent[(seq - self.first) as usize];
        self.delivered_bytes += u64::from(sent.bytes);
        self.delivered_at = now;
        if self.newest.is_none_or(|(newest, before)| (before.at, newest) < (sent.at, seq)) {
            self.newest = Some((seq, sent));
            self.first_sent_at = sent.at;
        }
    }

    /// Every packet before this one arrived.
    pub fn acknowledged(&mut self, una: u32) {
        self.sent.drain(..(una - self.first) as usize);
        self.first = una;
    }

    /// A packet is held lost.
    pub fn lost(&mut self, seq: u32, now: Time) -> Lost {
        let sent = self.sent[(seq - self.first) as usize];
        self.lost_bytes += u64::from(sent.bytes);
        Lost {
            seq,
            now,
            bytes: sent.bytes,
            lost_bytes: self.lost_bytes - sent.lost_bytes,
            sent_in_flight: sent.in_flight,
            delivered_bytes: self.delivered_bytes,
            is_app_limited: sent.is_app_limited,
        }
    }

    /// The sender stopped sending because of this.
    pub fn stopped(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// It sends less than the path would carry: until all is delivered that is in flight now, so much payload, samples
    /// say little of the path (§3.4).
    pub fn mark_app_limited(&mut self, in_flight_bytes: u64) {
        self.app_limited_until = Some(self.delivered_bytes + in_flight_bytes);
    }

    /// What an acknowledgement says that came just now; `in_flight` are the packets before and after it.
    pub fn sample(&mut self, rtt: Option<Time>, in_flight: (u32, u32)) -> Sample {
        if self.app_limited_until.is_some_and(|until| self.delivered_bytes > until) {
            self.app_limited_until = None;
        }
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let newly_lost_bytes = self.lost_bytes - self.lost_before_bytes;
        self.lost_before_bytes = self.lost_bytes;
        let newest = self.newest.take();
        Sample {
            rtt,
            min_rtt: self.min_rtt,
            in_flight_before: in_flight.0,
            in_flight: in_flight.1,
            delivered_bytes: self.delivered_bytes,
            lost_bytes: self.lost_bytes,
            newly_lost_bytes,
            marked: 0,
            limit: self.limit,
            delivery: newest.map(|(_, sent)| self.delivery(&sent)),
        }
    }

    /// §3.3: GenerateRateSample. Acknowledgements may come faster than packets can, and packets may leave faster than
    /// they can arrive; so the interval is the longer of the two.
    fn delivery(&self, sent: &Sent) -> Delivery {
        let interval = sent.at.since(sent.first_sent_at).max(self.delivered_at.since(sent.delivered_at));
        let bytes = self.delivered_bytes - sent.delivered_bytes;
        let is_valid = interval > Time::ZERO && self.min_rtt.is_none_or(|least| interval >= least);
        Delivery {
            rate: is_valid.then(|| rate_of(bytes, interval)),
            bytes,
            interval,
            prior_delivered_bytes: sent.delivered_bytes,
            is_app_limited: sent.is_app_limited,
            sent_in_flight: sent.in_flight,
            lost_bytes: self.lost_bytes - sent.lost_bytes,
        }
    }
}

/// So many bytes in a time that is not zero.
fn rate_of(bytes: u64, interval: Time) -> Rate {
    let bit_ps = u128::from(bytes) * 8 * 1_000_000_000_000;
    Rate(narrow::<u64>((bit_ps / u128::from(interval.as_ps())).min(u128::from(u64::MAX))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_us;
    const BYTES: u32 = 1_250;

    fn rate_gbps(sample: &Sample) -> f64 {
        let rate = sample.delivery.and_then(|delivery| delivery.rate).expect("a rate");
        rate.as_bps() as f64 / 1e9
    }

    /// Packets of 1250 B at 10 Gb/s are a microsecond apart; the round trip is 10 us.
    #[test]
    fn a_window_that_leaves_at_once_is_delivered_at_the_rate_at_which_it_arrives() {
        let mut flow = Deliveries::default();
        (0..10).for_each(|seq| flow.sent(seq, BYTES, seq + 1, AT(0)));
        // The first packet's sample counts itself over the whole round trip.
        flow.delivered(0, AT(10));
        flow.acknowledged(1);
        let first = flow.sample(Some(AT(10)), (10, 9));
        assert!((rate_gbps(&first) - 1.0).abs() < 1e-9);
        // From here on each leaves as another arrives, a microsecond apart. A round trip later the burst at the start
        // is not in the interval any more: packet 29 left at 29 us, when 20 packets had been delivered; the last that
        // was acknowledged before it, 19, left at 19 us.
        let mut last = None;
        for seq in 1..30_u32 {
            flow.sent(seq + 9, BYTES, 10, AT(9 + u64::from(seq)));
            let now = AT(10 + u64::from(seq));
            flow.delivered(seq, now);
            flow.acknowledged(seq + 1);
            last = Some(flow.sample(Some(AT(10)), (10, 9)));
        }
        let last = last.expect("samples");
        let delivery = last.delivery.expect("news");
        assert_eq!((delivery.bytes, delivery.interval), (12_500, AT(10)));
        assert!((rate_gbps(&last) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn acknowledgements_that_come_together_do_not_make_a_rate_higher_than_packets_were_sent() {
        let mut flow = Deliveries::default();
        // Sent 2 us apart, at half the rate; their acknowledgements all come at 30 us.
        (0..10_u32).for_each(|seq| flow.sent(seq, BYTES, seq + 1, AT(2 * u64::from(seq))));
        (0..10).for_each(|seq| flow.delivered(seq, AT(30)));
        let sample = flow.sample(Some(AT(12)), (10, 0));
        // Ten packets in 30 us from the first one's departure.
        assert!((rate_gbps(&sample) - 10.0 / 3.0).abs() < 1e-6);
        // An interval shorter than the least round trip is none: the sample still says what was delivered before.
        flow.acknowledged(10);
        flow.sent(10, BYTES, 1, AT(31));
        flow.delivered(10, AT(32));
        let early = flow.sample(None, (1, 0)).delivery.expect("news");
        assert_eq!((early.rate, early.prior_delivered_bytes), (None, 12_500));
    }

    #[test]
    fn a_flow_with_nothing_more_to_send_says_so_until_that_is_delivered() {
        let mut flow = Deliveries::default();
        flow.sent(0, BYTES, 1, AT(0));
        flow.stopped(Limit::Application);
        flow.mark_app_limited(1_250);
        flow.sent(1, BYTES, 2, AT(1));
        flow.delivered(0, AT(10));
        let sample = flow.sample(Some(AT(10)), (2, 1));
        assert!(!sample.delivery.expect("news").is_app_limited, "it was sent before");
        assert_eq!(sample.limit, Limit::Application);
        flow.delivered(1, AT(11));
        assert!(flow.sample(Some(AT(10)), (1, 0)).delivery.expect("news").is_app_limited);
        // More than was in flight is delivered: from here on packets are not limited.
        flow.sent(2, BYTES, 1, AT(12));
        flow.delivered(2, AT(22));
        assert!(!flow.sample(Some(AT(10)), (1, 0)).delivery.expect("news").is_app_limited);
    }

    #[test]
    fn losses_count_from_when_a_packet_was_sent() {
        let mut flow = Deliveries::default();
        (0..4).for_each(|seq| flow.sent(seq, BYTES, seq + 1, AT(0)));
        let lost = flow.lost(1, AT(10));
        assert_eq!((lost.lost_bytes, lost.sent_in_flight), (1_250, 2));
        assert_eq!(flow.lost(2, AT(10)).lost_bytes, 2_500);
        flow.sent(1, BYTES, 3, AT(11));
        flow.delivered(1, AT(21));
        let sample = flow.sample(None, (3, 2));
        assert_eq!((sample.lost_bytes, sample.newly_lost_bytes), (2_500, 2_500));
        assert_eq!(sample.delivery.expect("news").lost_bytes, 0, "both were lost before it was sent again");
        assert_eq!(flow.sample(None, (2, 2)).newly_lost_bytes, 0);
    }
}
