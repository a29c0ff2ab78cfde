//! The estimate of the marked share of packets that DCTCP introduced (RFC 8257 §3.3).

use super::window::Acked;
use crate::spec::{Fallback, Kind, Param, Values};

/// One, in the fixed point of alpha and g.
pub const ONE: u64 = 1 << 20;

/// Its parameters.
pub const MARK_PARAMS: &[Param] = &[
    Param {
        name: "g",
        kind: Kind::Number(0.000_001, 1.0),
        default: Fallback::Value("0.0625"),
        doc: "The weight of a new observation in the estimate alpha of the marked share.",
        source: "RFC 8257 §4.2: 1/16",
    },
    Param {
        name: "initial_alpha",
        kind: Kind::Number(0.0, 1.0),
        default: Fallback::Value("1"),
        doc: "The estimate at a flow's start.",
        source: "RFC 8257 §3.3: 1",
    },
];

/// A flow's estimate.
#[derive(Clone, Copy, Debug)]
pub struct MarkedShare {
    alpha: u64,
    g: u64,
    /// Packets acknowledged in this observation window, and those of them that were marked.
    acked: u32,
    marked: u32,
    /// The observation window ends as this packet is acknowledged.
    observed_until: u32,
    /// No second reduction until this packet is acknowledged.
    reduced_until: u32,
}

impl MarkedShare {
    /// The estimate at a flow's start.
    pub fn new(values: &Values) -> MarkedShare {
        let fixed_point = |key| (values.number(key) * ONE as f64) as u64;
        MarkedShare {
            alpha: fixed_point("initial_alpha"),
            g: fixed_point("g"),
            acked: 0,
            marked: 0,
            observed_until: 0,
            reduced_until: 0,
        }
    }

    /// The estimate, of [`ONE`].
    #[inline]
    pub fn alpha(&self) -> u64 {
        self.alpha
    }

    /// Takes an acknowledgement in; once per window the estimate follows.
    #[inline]
    pub fn note(&mut self, acked: &Acked) {
        self.acked += acked.packets;
        self.marked += if acked.echo { acked.packets } else { 0 };
        if acked.una > self.observed_until {
            self.observe();
            self.observed_until = acked.next;
        }
    }

    /// Whether this acknowledgement calls for a reduction: it echoes a mark, and none was answered in this window.
    #[inline]
    pub fn calls_for_reduction(&mut self, acked: &Acked) -> bool {
        let calls = acked.echo && acked.una >= self.reduced_until;
        if calls {
            self.reduced_until = acked.next;
        }
        calls
    }

    /// alpha = alpha × (1 − g) + g × M (RFC 8257 §3.3).
    fn observe(&mut self) {
        let share = ONE * u64::from(self.marked) / u64::from(self.acked.max(1));
        self.alpha = self.alpha - (self.alpha * self.g) / ONE + (share * self.g) / ONE;
        self.acked = 0;
        self.marked = 0;
    }
}
