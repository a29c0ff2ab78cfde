//! The window of a connection that was idle.

use crate::spec::Values;
use crate::units::Time;
use crate::windowed::Window;

/// What becomes of it as the next flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Halved for each retransmission timeout that has passed; ssthresh remembers three quarters (RFC 2861 §3.1).
    Decay,
    /// After a retransmission timeout: the initial window, if that is less (RFC 5681 §4.1).
    AtMostInitial,
    /// After a retransmission timeout: the initial window (ns-2's FullTcp).
    Initial,
    /// The initial window, however short the time (pFabric's ns-2 code).
    EachFlow,
    /// Nothing.
    Never,
}

impl Restart {
    /// As a scenario has it.
    pub fn of(values: &Values) -> Restart {
        values.meaning(
            "idle_restart",
            &[
                ("rfc2861", Restart::Decay),
                ("rfc5681", Restart::AtMostInitial),
                ("initial-window", Restart::Initial),
                ("each-flow", Restart::EachFlow),
                ("never", Restart::Never),
            ],
        )
    }

    /// The window after so long without a packet sent; `initial` is the window of a flow on a new connection.
    pub fn apply(self, window: &mut Window, initial: &Window, idle: Time, rto: Time) {
        if self != Restart::EachFlow && idle <= rto {
            return;
        }
        match self {
            Restart::Decay => {
                let timeouts = idle.as_ps() / rto.as_ps().max(1);
                window.decay(u32::try_from(timeouts).unwrap_or(u32::MAX));
            }
            Restart::AtMostInitial => window.fall_to(initial),
            Restart::Initial | Restart::EachFlow => window.resize_to(initial),
            Restart::Never => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Time = Time::from_us(200);

    /// The window and the threshold, in packets, after so long.
    fn after(restart: Restart, packets: u32, idle_us: u64) -> (u32, f64) {
        let mut window = Window::of_packets(packets);
        restart.apply(&mut window, &Window::of_packets(10), Time::from_us(idle_us), RTO);
        (window.packets(), window.ssthresh_packets())
    }

    #[test]
    fn nothing_changes_within_a_timeout() {
        for restart in [Restart::Decay, Restart::AtMostInitial, Restart::Initial, Restart::Never] {
            assert_eq!(after(restart, 80, 200), (80, 80.0), "{restart:?}");
        }
        assert_eq!(after(Restart::EachFlow, 80, 1), (10, 80.0));
    }

    #[test]
    fn beyond_it_each_rule_does_as_its_source_says() {
        // Three timeouts have passed: 80, 40, 20, 10.
        assert_eq!(after(Restart::Decay, 80, 700), (10, 80.0));
        assert_eq!(after(Restart::AtMostInitial, 80, 201), (10, 80.0));
        assert_eq!(after(Restart::AtMostInitial, 4, 201), (4, 4.0));
        assert_eq!(after(Restart::Initial, 4, 201), (10, 4.0));
        assert_eq!(after(Restart::Never, 80, 1_000_000), (80, 80.0));
    }

    #[test]
    fn decay_ends_at_one_packet_and_remembers_three_quarters() {
        let mut window = Window::of_packets(80);
        window.set_ssthresh_packets(10.0);
        Restart::Decay.apply(&mut window, &Window::of_packets(10), Time::from_us(1_000_000), RTO);
        assert_eq!((window.packets(), window.ssthresh_packets()), (1, 60.0));
    }
}
