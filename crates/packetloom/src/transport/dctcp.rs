//! DCTCP (RFC 8257): the window shrinks by the share of marked packets.

use super::windowed::{
    Acked, Congestion, MARK_PARAMS, MarkedShare, Window, Windowed, check, core, default_of,
};
use crate::flow::Flow;
use crate::spec::{Component, Values};

/// DCTCP.
pub type Dctcp = Windowed<DctcpControl>;

/// RFC 8257's sender.
#[derive(Clone, Copy, Debug)]
pub struct DctcpControl {
    marks: MarkedShare,
}

impl Congestion for DctcpControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "dctcp",
        doc: "DCTCP: TCP whose window shrinks in proportion to the share of marked packets; needs a queue that marks.",
        source: "RFC 8257",
        params: &[&core(default_of()), MARK_PARAMS],
        check,
    };
    const ECN: bool = true;

    fn new(values: &Values, _: &Flow) -> DctcpControl {
        DctcpControl { marks: MarkedShare::new(values) }
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.marks.note(&acked);
        if !acked.echo {
            if acked.advanced {
                window.grow();
            }
        } else if self.marks.calls_for_reduction(&acked) {
            window.shrink(self.marks.alpha() / 2);
        }
    }
}
