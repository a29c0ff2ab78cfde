//! How many more packets are acknowledged at once than the bandwidth accounts for: of these BBR keeps as many more in
//! flight, so that it still sends while none are (draft-ietf-ccwg-bbr-06 §5.5.9; Linux: bbr_update_ack_aggregation).

use super::filter::Filter;
use super::windowed::Acked;
use crate::units::Time;

/// The estimate, and what was delivered since it began anew.
#[derive(Clone, Debug)]
pub struct Aggregation {
    extra: Filter<f64>,
    delivered: f64,
    began: Time,
}

impl Aggregation {
    /// Nothing is acknowledged yet.
    pub fn from(start: Time) -> Aggregation {
        Aggregation { extra: Filter::default(), delivered: 0.0, began: start }
    }

    /// What is delivered counts from now on.
    pub fn restart(&mut self, now: Time) {
        (self.delivered, self.began) = (0.0, now);
    }

    /// What comes at once, at most: the greatest of the rounds that count.
    pub fn extra_packets(&self) -> f64 {
        self.extra.best().unwrap_or(0.0)
    }

    /// An acknowledgement in a round; `since`: the first round that counts; `expected`: what the bandwidth delivers in a
    /// time.
    pub fn note(
        &mut self,
        acked: &Acked,
        expected: impl Fn(Time) -> f64,
        cwnd: f64,
        (round, since): (u64, u64),
    ) {
        let mut beyond = self.delivered - expected(acked.now.since(self.began));
        if beyond <= 0.0 {
            (self.delivered, self.began, beyond) = (0.0, acked.now, 0.0);
        }
        self.delivered += f64::from(acked.packets);
        let extra = (beyond + f64::from(acked.packets)).min(cwnd);
        self.extra.note_greatest(round, extra, since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet a microsecond.
    fn expected(took: Time) -> f64 {
        took.as_secs_f64() * 1e6
    }

    fn acked(at_us: u64, packets: u32) -> Acked {
        Acked { now: Time::from_us(at_us), packets, ..Acked::default() }
    }

    #[test]
    fn what_comes_together_counts_beyond_the_bandwidth() {
        let mut aggregation = Aggregation::from(Time::ZERO);
        for at_us in (20..=200).step_by(20) {
            aggregation.note(&acked(at_us, 20), expected, 100.0, (0, 0));
        }
        assert_eq!(aggregation.extra_packets(), 20.0);
        // In two halves of an instant it is the same; a window bounds it.
        aggregation.note(&acked(221, 30), expected, 100.0, (1, 0));
        aggregation.note(&acked(221, 30), expected, 100.0, (1, 0));
        assert_eq!(aggregation.extra_packets(), 60.0);
        aggregation.note(&acked(400, 90), expected, 70.0, (2, 0));
        assert_eq!(aggregation.extra_packets(), 70.0);
    }

    #[test]
    fn acknowledgements_at_the_bandwidth_add_one_packet_and_old_rounds_are_forgotten() {
        let mut aggregation = Aggregation::from(Time::ZERO);
        aggregation.note(&acked(50, 30), expected, 100.0, (0, 0));
        for at_us in 100..150 {
            aggregation.note(&acked(at_us, 1), expected, 100.0, (11, 2));
        }
        assert_eq!(aggregation.extra_packets(), 1.0);
    }
}
