//! DCTCP's answer to marks, for the transports that share it: an estimate of the share of marked packets, and a
//! window that shrinks in proportion.

use super::windowed::{Acked, Window};
use crate::narrow::saturated;
use crate::spec::{Kind, Param, Values, param};

/// Its parameters.
pub const PARAMS: &[Param] = &[
    param! {
        "g" = "0.0625": Kind::Number(0.000_001, 1.0),
        "The weight of a new observation in the estimate alpha of the marked share.", "RFC 8257 §4.2: 1/16"
    },
    param! {
        "initial_alpha" = "1": Kind::Number(0.0, 1.0),
        "The estimate at a flow's start.", "RFC 8257 §3.3: 1"
    },
];

/// One, in the fixed point of alpha and g.
pub const ONE: u64 = 1 << 20;

/// RFC 8257's sender.
#[derive(Clone, Copy, Debug)]
pub struct MarkedShare {
    alpha: u64,
    g: u64,
    /// Packets acknowledged in this observation window, and those of them that were marked.
    acked: u32,
    marked: u32,
    /// The observation window ends as this packet is acknowledged.
    observed_until: u32,
    /// No second reduction until this packet, the first sent after the last one, is acknowledged (RFC 3168 §6.1.2).
    reduced_until: u32,
}

impl MarkedShare {
    /// At a flow's start.
    pub fn new(values: &Values) -> MarkedShare {
        let fixed_point = |key| saturated::<u64>(values.number(key) * ONE as f64);
        MarkedShare {
            alpha: fixed_point("initial_alpha"),
            g: fixed_point("g"),
            acked: 0,
            marked: 0,
            observed_until: 0,
            reduced_until: 0,
        }
    }

    /// Another weight of new observations holds from now on; alpha stays.
    pub fn set(&mut self, values: &Values) {
        self.g = MarkedShare::new(values).g;
    }

    /// The connection goes on with another flow, whose packets are numbered from 0 again. Alpha stays.
    pub fn resumed(&mut self) {
        (self.acked, self.marked) = (0, 0);
        (self.observed_until, self.reduced_until) = (0, 0);
    }

    /// An acknowledgement came, outside of loss recovery.
    #[inline]
    pub fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.acknowledged_under(acked, window, |alpha, _| alpha);
    }

    /// The same, where what the window shrinks by, of [`ONE`] and halved, is not alpha but made from it.
    #[inline]
    pub fn acknowledged_under(
        &mut self,
        acked: Acked,
        window: &mut Window,
        penalty: impl FnOnce(u64, &Window) -> u64,
    ) {
        self.count(acked);
        if !acked.echo {
            if acked.advanced {
                window.grow();
            }
        } else if acked.una > self.reduced_until {
            window.shrink(penalty(self.alpha, window) / 2);
            self.reduced_until = acked.next;
        }
    }

    /// Every acknowledgement counts, in loss recovery, too (RFC 8257 §3.3, steps 1 to 8).
    #[inline]
    pub fn count(&mut self, acked: Acked) {
        self.acked += acked.packets;
        self.marked += if acked.echo { acked.packets } else { 0 };
        if acked.una > self.observed_until {
            self.observe();
            self.observed_until = acked.next;
        }
    }

    /// alpha = alpha × (1 − g) + g × M (RFC 8257 §3.3).
    fn observe(&mut self) {
        let share = ONE * u64::from(self.marked) / u64::from(self.acked.max(1));
        self.alpha = self.alpha - (self.alpha * self.g) / ONE + (share * self.g) / ONE;
        self.acked = 0;
        self.marked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_of_marked_packets_shrinks_the_window_once() {
        let mut share =
            MarkedShare { alpha: ONE, g: 0, acked: 0, marked: 0, observed_until: 0, reduced_until: 0 };
        let mut window = Window::of_packets(100);
        let mut after = |una| {
            share.acknowledged(
                Acked { packets: 1, advanced: true, echo: true, una, next: una + 100, ..Acked::default() },
                &mut window,
            );
            window.packets()
        };
        // The first marked packet was 10; 11 to 109 were on their way when the window shrank.
        assert!((11..=110).all(|una| after(una) == 50));
        assert_eq!(after(111), 50, "packet 110 was sent with the last of the old window");
        assert_eq!(after(112), 25);
    }

    #[test]
    fn marks_in_loss_recovery_count() {
        let mut share =
            MarkedShare { alpha: 0, g: ONE / 16, acked: 0, marked: 0, observed_until: 10, reduced_until: 0 };
        let acked = |una, echo| Acked { packets: 1, advanced: true, echo, una, next: 40, ..Acked::default() };
        let mut window = Window::of_packets(100);
        for una in 3..=10 {
            share.count(acked(una, true));
        }
        assert_eq!(share.alpha, 0, "within a round trip");
        share.acknowledged(acked(11, false), &mut window);
        // Eight of nine were marked.
        assert_eq!(share.alpha, ONE * 8 / 9 / 16);
        assert_eq!(window.packets(), 100);
    }
}
