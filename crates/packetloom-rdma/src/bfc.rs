//! BFC at hosts (Goyal et al., NSDI 2022): no control of rates. A flow sends at its link's rate, in turn with the others,
//! unless the switch has paused it. Each flow has a queue of its own at the NIC, so a pause names the flow.
//!
//! The rest is in the switches: `packetloom-queue/src/queue/bfc/`, which says where each rule is from.
//!
//! | Rule | from |
//! |---|---|
//! | line rate, flows in turn, a packet each | the authors' simulator: `DequeueQCN` |
//! | no window | the same: `EnableWindow` false; the paper, from memory, has one end-to-end BDP: `window = "bdp"` |
//! | flows of one packet go first at switches, unpaused | the paper, from memory; the simulator has no such queue |
//! | acknowledgements go first, unpaused | the simulator: the queue `qCnt - 1` |
//! | go-back-N | the simulator, where nothing is lost |

use super::control::{AckInfo, Control, FlowPath};
use super::header::Header;
use super::params::{Defaults, check, core, default_of};
use super::presets;
use crate::spec::{Complaint, Component, Kind, Values, param};
use crate::units::Rate;

/// BFC.
pub type Bfc = super::Rdma<Backpressed>;

/// The class that goes first, and that no switch pauses.
const FIRST: u8 = 0;

/// A flow's state.
#[derive(Clone, Copy, Debug)]
pub struct Backpressed {
    rate: Rate,
    is_paused: bool,
}

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    lone_packets_first: bool,
}

fn check_class(values: &Values) -> Result<(), Complaint> {
    if values.count("class") == u64::from(FIRST) {
        let message = "class 0 is never paused; write another, such as 3, or leave it out";
        return Err(Complaint::new("class", message));
    }
    check(values)
}

impl Control for Backpressed {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "bfc",
        doc: "Backpressure Flow Control: RDMA flows take turns at their host's link and send at its rate, except those that the switch has paused. It needs queue = \"bfc\" at switches and hosts.",
        source: "BFC (NSDI 2022)",
        params: &[
            &core(Defaults {
                ack_class: ("0", "BFC's simulator (BFC_NS3_NSDI2022): the queue qCnt - 1, which goes first"),
                window: ("none", "BFC's simulator: EnableWindow false"),
                presets: presets::WORDS_OF_BFC,
                ..default_of()
            }),
            &[param! {
                "lone_packets_first" = "true": Kind::Flag,
                "Flows of one packet go before all others at switches, which never pause them.",
                "BFC (NSDI 2022), from memory: the high-priority queue; BFC's simulator: false"
            }],
        ],
        check: check_class,
    };
    const SHORTENS: bool = true;
    const HEEDS_QUEUES: bool = true;
    type Fields = ();
    type Agent = ();
    type Settings = Settings;

    fn settings(values: &Values) -> Settings {
        Settings { lone_packets_first: values.flag("lone_packets_first") }
    }

    fn new(_: &Settings, path: &FlowPath) -> Backpressed {
        Backpressed { rate: path.initial_rate, is_paused: false }
    }

    fn acknowledged(&mut self, _: &Settings, _: &AckInfo, (): &()) {}

    fn rate(&self) -> Rate {
        self.rate
    }

    fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    fn is_paused(&self) -> bool {
        self.is_paused
    }

    fn class(settings: &Settings, packets: u32, class: u8) -> u8 {
        if settings.lone_packets_first && packets == 1 { FIRST } else { class }
    }
}

const _: () = assert!(size_of::<crate::packet::Packet<Header<()>>>() <= 64, "a packet must fit a cache line");
