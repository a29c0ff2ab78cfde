//! MinTCP: pFabric's TCP "returned to its roots" (pFabric §2.3, §3): a window that starts at a bandwidth-delay
//! product, no fast retransmit, a fixed timeout; and its ns-2 code's probe after repeated timeouts.

use super::windowed::{Congestion, Defaults, Reacts, Windowed, check, core, increase};
use crate::spec::{Component, Fallback, Values};

/// MinTCP.
pub type MinTcp = Windowed<MinTcpControl>;

/// Slow start and additive increase, as in TCP.
#[derive(Clone, Copy, Debug)]
pub struct MinTcpControl;

impl Congestion for MinTcpControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "min-tcp",
        doc: "pFabric's stripped-down TCP: starts at line rate, decreases only on a timeout, and the timeout is fixed.",
        source: "pFabric §2.3, §3",
        params: &[
            &core(Defaults {
                initial_window: ("12", "pFabric §3: 12 packet initial window size"),
                min_rto: ("40us", "pFabric §3: RTO is fixed at 40 us"),
                rto_estimation: ("false", "pFabric §3: no retransmission timeout estimation"),
                fast_retransmit: ("false", "pFabric §3: no fast retransmission"),
                probe_after: (Fallback::Value("5"), "pFabric's ns-2 code"),
                priority: ("remaining", "pFabric §3: packets contain the remaining flow size"),
                reacts: Reacts::Losses,
            }),
            &[increase::PARAM],
        ],
        check,
    };
    const ECN: bool = false;

    fn new(_: &Values) -> MinTcpControl {
        MinTcpControl
    }
}
