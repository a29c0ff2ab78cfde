//! SLEEK: how Ultra Ethernet finds losses where switches do not trim (as in htsim_uec).
//!
//! Spraying reorders packets all the time, so a gap means a loss only when much has arrived beyond it: about a
//! window. Where less is in flight, a probe decides: it overtakes data, and if it met no queue, what is missing is
//! lost.

use crate::narrow::{narrow, saturated};
use crate::units::Time;

/// When something is held to be lost.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Beyond a gap must have arrived so many windows, and so many packets.
    pub windows: f64,
    pub packets: i64,
    /// A probe goes after so many base round-trip times of silence while there is more to send, and so many after
    /// another.
    pub first_after: u64,
    pub next_after: u64,
}

/// A flow's recovery.
#[derive(Clone, Copy, Debug)]
pub struct Sleek {
    settings: Settings,
    /// Recovery lasts until every packet before this one has arrived.
    until: Option<u32>,
    /// Every packet before this one was looked at.
    examined: u32,
    /// When the next probe is due.
    pub probes_at: Time,
    /// The last probe's number, and when it went.
    number: u32,
    probed_at: Time,
}

/// A sender's window and what is in flight.
#[derive(Clone, Copy, Debug)]
pub struct FlightState {
    /// Every packet before this one arrived.
    pub first: u32,
    /// The next that was never sent.
    pub next: u32,
    /// Packets that arrived beyond a gap.
    pub out_of_order: u32,
    /// The window, the largest window and a packet's payload, in bytes.
    pub cwnd: i64,
    pub largest: i64,
    pub mss: i64,
    /// Whether packets wait to be sent again.
    pub has_lost: bool,
}

impl Sleek {
    /// Of a flow that has lost nothing.
    pub fn new(settings: Settings) -> Sleek {
        Sleek { settings, until: None, examined: 0, probes_at: Time::NEVER, number: 0, probed_at: Time::ZERO }
    }

    /// Whether what was lost goes again whatever the window.
    pub fn is_recovering(&self) -> bool {
        self.until.is_some()
    }

    /// An answer arrived; the next probe is due so much later. `has_more`: whether there is something that was
    /// never sent.
    pub fn acknowledged(
        &mut self,
        now: Time,
        is_waiting: bool,
        has_more: bool,
        (base_rtt, target): (Time, Time),
    ) {
        let patience = if has_more { base_rtt.times(self.settings.first_after) } else { base_rtt + target };
        self.probes_at = if is_waiting { now + patience } else { Time::NEVER };
    }

    /// The number of a probe that goes now.
    pub fn probe(&mut self, now: Time, base_rtt: Time) -> u32 {
        self.number += 1;
        self.probed_at = now;
        self.probes_at = now + base_rtt.times(self.settings.next_after);
        self.number
    }

    /// How long the answer to a probe took, if it was the last one.
    pub fn round_trip(&self, now: Time, number: u32) -> Option<Time> {
        (number == self.number).then(|| now.since(self.probed_at))
    }

    /// The answer to a probe met no queue, and still something is missing.
    pub fn probe_met_no_queue(&mut self, state: &FlightState) {
        self.until = Some(state.next);
        self.examined = state.first;
    }

    /// The packets that are to be looked at now: those still on their way are lost.
    pub fn look(&mut self, state: &FlightState) -> std::ops::Range<u32> {
        let FlightState { first, next, out_of_order, cwnd, largest, mss, has_lost } = *state;
        if self.until.is_some_and(|until| first >= until) {
            self.until = None;
        }
        if self.until.is_none() {
            let windows = saturated::<i64>(self.settings.windows * cwnd as f64).min(largest);
            let bar = windows.max(self.settings.packets * mss) / mss;
            if i64::from(out_of_order) < bar || has_lost {
                return 0..0;
            }
            self.until = Some(next);
        }
        let Some(until) = self.until else { return 0..0 };
        let to = until.min(first + narrow::<u32>(cwnd / mss));
        let from = self.examined.max(first);
        self.examined = self.examined.max(to);
        from..to.max(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings { windows: 1.5, packets: 5, first_after: 3, next_after: 5 };

    fn state(first: u32, next: u32, out_of_order: u32) -> FlightState {
        FlightState { first, next, out_of_order, cwnd: 10_000, largest: 30_000, mss: 1_000, has_lost: false }
    }

    #[test]
    fn a_gap_is_a_loss_when_a_window_and_a_half_arrived_beyond_it() {
        let mut sleek = Sleek::new(SETTINGS);
        assert!(sleek.look(&state(3, 30, 14)).is_empty() && !sleek.is_recovering());
        // At most a window of what was sent by then is looked at, and each once.
        assert_eq!(sleek.look(&state(3, 30, 15)), 3..13);
        assert!(sleek.look(&state(3, 31, 16)).is_empty());
        assert_eq!(sleek.look(&state(8, 32, 12)), 13..18);
        assert_eq!(sleek.look(&state(25, 40, 2)), 25..30);
        assert!(sleek.is_recovering());
        assert!(sleek.look(&state(30, 40, 2)).is_empty() && !sleek.is_recovering());
    }

    #[test]
    fn few_packets_are_never_enough() {
        let mut sleek = Sleek::new(SETTINGS);
        let small = |out_of_order| FlightState { cwnd: 1_000, ..state(0, 9, out_of_order) };
        assert!(sleek.look(&small(4)).is_empty());
        assert_eq!(sleek.look(&small(5)), 0..1);
    }

    #[test]
    fn probes_go_after_silence_and_tell_of_the_queues() {
        let mut sleek = Sleek::new(SETTINGS);
        let (rtt, target) = (Time::from_us(10), Time::from_us(7));
        sleek.acknowledged(Time::ZERO, true, true, (rtt, target));
        assert_eq!(sleek.probes_at, Time::from_us(30));
        sleek.acknowledged(Time::ZERO, true, false, (rtt, target));
        assert_eq!(sleek.probes_at, Time::from_us(17));
        let number = sleek.probe(Time::from_us(17), rtt);
        assert_eq!(sleek.probes_at, Time::from_us(67));
        assert_eq!(sleek.round_trip(Time::from_us(28), number), Some(Time::from_us(11)));
        assert_eq!(sleek.round_trip(Time::from_us(28), number - 1), None);
        sleek.probe_met_no_queue(&state(4, 9, 1));
        assert_eq!(sleek.look(&state(4, 9, 1)), 4..9);
        sleek.acknowledged(Time::ZERO, false, false, (rtt, target));
        assert_eq!(sleek.probes_at, Time::NEVER);
    }
}
