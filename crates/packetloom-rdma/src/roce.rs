//! RoCE without congestion control: flows send at their link's rate, and PFC alone keeps packets from being lost.

use super::control::{AckInfo, Control, FlowPath};
use super::header::Header;
use super::params::{check, core, default_of};
use crate::spec::{Component, Values};
use crate::units::Rate;

/// RoCE.
pub type Roce = super::Rdma<Unlimited>;

/// No control.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited(Rate);

impl Control for Unlimited {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "roce",
        doc: "RDMA over Ethernet without congestion control: flows take turns at their host's link and send at its rate. PFC, or a window, bounds what is on its way.",
        source: "HPCC's simulator: CC_MODE 0",
        params: &[&core(default_of())],
        check,
    };
    const SHORTENS: bool = true;
    type Fields = ();
    type Agent = ();
    type Settings = ();

    fn settings(_: &Values) {}

    fn new((): &(), path: &FlowPath) -> Unlimited {
        Unlimited(path.initial_rate)
    }

    fn acknowledged(&mut self, (): &(), _: &AckInfo, (): &()) {}

    fn rate(&self) -> Rate {
        self.0
    }
}

const _: () = assert!(size_of::<crate::packet::Packet<Header<()>>>() <= 64, "a packet must fit a cache line");
