//! A window that never changes: traffic of a known shape, for measuring a fabric and an engine.

use super::windowed::{Acked, Congestion, Defaults, Reacts, Window, Windowed, check, core};
use crate::spec::{Component, Fallback, Values};

/// Fixed-window flows.
pub type FixedWindow = Windowed<Constant>;

/// Answers nothing.
#[derive(Clone, Copy, Debug)]
pub struct Constant;

impl Congestion for Constant {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "fixed-window",
        doc: "A fixed number of packets in flight, whatever happens; what is lost is sent again after a timeout.",
        source: "packetloom",
        params: &[&core(Defaults {
            initial_window: ("20", "packetloom"),
            min_rto: ("10ms", "packetloom"),
            rto_estimation: ("false", "packetloom"),
            fast_retransmit: ("false", "packetloom"),
            probe_after: (Fallback::Absent, "packetloom"),
            priority: ("none", "packetloom"),
            reacts: Reacts::Nothing,
        })],
        check,
    };
    const ECN: bool = false;
    const SHORTENS: bool = true;
    const RESTARTS: bool = false;

    fn new(_: &Values) -> Constant {
        Constant
    }

    #[inline]
    fn acknowledged(&mut self, _: Acked, _: &mut Window) {}

    fn lost(&mut self, _: u32, _: &mut Window) {}

    fn timed_out(&mut self, _: u32, _: bool, _: &mut Window) {}
}
