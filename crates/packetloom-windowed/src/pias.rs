//! PIAS (Bai et al., NSDI 2015): DCTCP whose packets carry how much their flow has sent, for switches that serve
//! priority queues strictly. Together they are a multi-level feedback queue: a flow begins at the highest priority
//! and is demoted as it goes on, so small flows overtake large ones although no flow's size is known.

use super::marked_share::{self, MarkedShare};
use super::windowed::{
    Acked, Congestion, Defaults, Header, Reacts, Window, Windowed, check as check_core, core, default_of,
};
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::spec::{Complaint, Component, Kind, Value, Values, param};
use std::sync::Arc;

/// PIAS.
pub type Pias = Windowed<PiasControl>;

/// More thresholds than there can be classes.
const MOST_THRESHOLDS: usize = 255;

/// DCTCP's window, and the flow's priority.
#[derive(Clone, Debug)]
pub struct PiasControl {
    share: MarkedShare,
    /// In bytes, ascending.
    thresholds: Arc<[u64]>,
    ages: bool,
    /// What the flow had sent as of its last packet, and when it last aged.
    sent_bytes: u64,
    forgotten_bytes: u64,
}

impl Congestion for PiasControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "pias",
        doc: "PIAS: DCTCP whose packets' class is how many demotion thresholds the flow has passed in bytes sent; needs a queue of strict priorities that marks. Sizes need not be known. Acknowledgements, SYNs and probes are of class 0; the workload's classes go unused.",
        source: "PIAS, NSDI 2015, §3, §4.1",
        params: &[
            &core(Defaults { reacts: Reacts::Marks, ..default_of() }),
            marked_share::PARAMS,
            &[
                param! {
                    "thresholds" = r#"["1327140B", "1940340B", "2406080B", "2861600B", "3128780B", "3412020B", "3626640B"]"#: Kind::List(&Kind::Bytes),
                    "A flow that sends more than this many bytes is demoted to the next class.",
                    "PIAS's ns-2 code: 8 priorities, web search at a load of 0.8"
                },
                param! {
                    "aging" = "true": Kind::Flag,
                    "A flow with two timeouts in a row is starving: what it has sent is forgotten, and it is back at the highest priority.",
                    "PIAS §4.1; its code: 2 consecutive timeouts"
                },
            ],
        ],
        check,
    };
    const ECN: bool = true;

    fn classes(values: &Values) -> Option<u64> {
        Some(thresholds(values).len() as u64 + 1)
    }

    fn new(values: &Values) -> PiasControl {
        PiasControl {
            share: MarkedShare::new(values),
            thresholds: thresholds(values).into(),
            ages: values.flag("aging"),
            sent_bytes: 0,
            forgotten_bytes: 0,
        }
    }

    fn resumed(&mut self, _: &Flow, _: &mut Window) {
        self.share.resumed();
        (self.sent_bytes, self.forgotten_bytes) = (0, 0);
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.share.acknowledged(acked, window);
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, _: &mut Window) {
        self.share.count(acked);
    }

    fn starving(&mut self) {
        if self.ages {
            self.forgotten_bytes = self.sent_bytes;
        }
    }

    #[inline]
    fn label(&mut self, sent_bytes: u64, packet: &mut Packet<Header>) {
        self.sent_bytes = sent_bytes;
        let counted = sent_bytes - self.forgotten_bytes;
        packet.class = narrow::<u8>(self.thresholds.partition_point(|&threshold| threshold < counted));
    }

    fn bare_class(_: u8) -> u8 {
        0
    }
}

fn thresholds(values: &Values) -> Vec<u64> {
    let bytes = |value: &Value| match value {
        Value::Bytes(bytes) => *bytes,
        other => panic!("a threshold is {other:?}"),
    };
    values.list("thresholds").iter().map(bytes).collect()
}

fn check(values: &Values) -> Result<(), Complaint> {
    check_core(values)?;
    let thresholds = thresholds(values);
    if thresholds.len() > MOST_THRESHOLDS {
        return Err(Complaint::new("thresholds", format!("write {MOST_THRESHOLDS} at most")));
    }
    if !thresholds.is_sorted_by(|lower, higher| lower < higher) {
        return Err(Complaint::new(
            "thresholds",
            "each must be above the one before it; write them in ascending order",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(thresholds: &[u64], ages: bool) -> PiasControl {
        let thresholds = thresholds.iter().map(|&bytes| Value::Bytes(bytes)).collect();
        let entries = [
            ("g", Value::Number(0.0625)),
            ("initial_alpha", Value::Number(1.0)),
            ("thresholds", Value::List(thresholds)),
            ("aging", Value::Flag(ages)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        PiasControl::new(&Values { kind: "pias".to_owned(), entries })
    }

    fn class(control: &mut PiasControl, sent_bytes: u64) -> u8 {
        let mut packet = Packet::default();
        control.label(sent_bytes, &mut packet);
        packet.class
    }

    #[test]
    fn a_flow_is_demoted_as_it_sends_and_starts_anew_when_it_starves() {
        let mut flow = control(&[10_000, 100_000], true);
        let classes = [1_000, 10_000, 10_001, 100_000, 100_001, 5_000_000].map(|sent| class(&mut flow, sent));
        assert_eq!(classes, [0, 0, 1, 1, 2, 2]);
        flow.starving();
        assert_eq!([5_010_000, 5_010_001].map(|sent| class(&mut flow, sent)), [0, 1]);
        let mut ageless = control(&[10_000], false);
        assert_eq!(class(&mut ageless, 20_000), 1);
        ageless.starving();
        assert_eq!(class(&mut ageless, 20_000), 1);
    }

    #[test]
    fn by_default_there_are_eight_priorities() {
        let mut params = PiasControl::COMPONENT.params();
        let default = params.find(|param| param.name == "thresholds").expect("a parameter").default;
        let crate::spec::Fallback::Value(text) = default else { panic!("{default:?}") };
        let written = text.split(|sign: char| !sign.is_ascii_digit()).filter(|digits| !digits.is_empty());
        let thresholds: Vec<u64> = written.map(|digits| digits.parse().unwrap()).collect();
        let mut flow = control(&thresholds, true);
        assert_eq!((class(&mut flow, 1_327_140), class(&mut flow, u64::MAX)), (0, 7));
    }
}
