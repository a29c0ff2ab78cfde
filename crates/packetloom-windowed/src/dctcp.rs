//! DCTCP (RFC 8257): the window shrinks by the share of marked packets.

use super::marked_share::{self, MarkedShare};
use super::windowed::{
    Acked, Congestion, Defaults, Reacts, Window, Windowed, check, core, default_of, increase,
};
use crate::flow::Flow;
use crate::spec::{Component, Values};

/// DCTCP.
pub type Dctcp = Windowed<DctcpControl>;

/// RFC 8257's sender.
#[derive(Clone, Copy, Debug)]
pub struct DctcpControl(MarkedShare);

impl Congestion for DctcpControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "dctcp",
        doc: "DCTCP: TCP whose window shrinks in proportion to the share of marked packets; needs a queue that marks.",
        source: "RFC 8257",
        params: &[
            &core(Defaults { reacts: Reacts::Marks, ..default_of() }),
            marked_share::PARAMS,
            &[increase::PARAM],
        ],
        check,
    };
    const ECN: bool = true;
    const SHORTENS: bool = true;
    const SETTABLE: &'static [&'static str] = &["g"];

    fn set(&mut self, values: &Values) {
        self.0.set(values);
    }

    fn new(values: &Values) -> DctcpControl {
        DctcpControl(MarkedShare::new(values))
    }

    fn resumed(&mut self, _: &Flow, _: &mut Window) {
        self.0.resumed();
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.0.acknowledged(acked, window);
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, _: &mut Window) {
        self.0.count(acked);
    }
}
