//! What SYN and ASY have in common: packets, and what the paper leaves out of the way to the controller and back.

use crate::random::{Purpose, Stream};
use crate::spec::{ALWAYS, Complaint, Fallback, Kind, Needs, Param, Values, check_period, param};
use crate::units::Time;

const fn ours(name: &'static str, kind: Kind, default: Fallback, doc: &'static str) -> Param {
    Param {
        name,
        kind,
        default,
        doc,
        source: "packetloom: SYN and ASY §III-C has a perfect controller",
        acts: ALWAYS,
    }
}

/// The shared parameters.
pub const PARAMS: &[Param] = &[
    param! {
        "lengths" = "full": Kind::Component("lengths"),
        "How long packets are, headers included; a flow's size counts these bytes.", "SYN and ASY §III-C"
    },
    ours(
        "latency",
        Kind::Time,
        Fallback::Value("0us"),
        "The time from a change of a server's queue until the controller's decision about it reaches the servers.",
    ),
    ours(
        "message",
        Kind::Bytes,
        Fallback::Value("8B"),
        "The size of a report of one queue, a grant or a rate; control traffic is counted, not sent through the network.",
    ),
    ours(
        "loss",
        Kind::Number(0.0, 0.99),
        Fallback::Value("0.0"),
        "The share of the controller's messages that are lost.",
    ),
    ours(
        "retry",
        Kind::Time,
        Fallback::Value("100us"),
        "A server whose message was lost gets the next one after this.",
    )
    .acts(&[Needs::Above("loss", 0)]),
    ours("fails_at", Kind::Time, Fallback::Absent, "The controller decides nothing from here on."),
    ours(
        "back_at",
        Kind::Time,
        Fallback::Absent,
        "The controller that failed is back; left out: it never is.",
    ),
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    check_period("retry", values.time("retry"), "100us")?;
    match (values.optional_time("fails_at"), values.optional_time("back_at")) {
        (None, Some(_)) => Err(Complaint::new("back_at", "the controller does not fail; write fails_at too")),
        (Some(fails), Some(back)) if back <= fails => {
            Err(Complaint::new("back_at", format!("the controller fails at {fails}; write a later time")))
        }
        _ => Ok(()),
    }
}

/// The way to the controller and back.
#[derive(Clone, Debug)]
pub struct Channel {
    /// There and back.
    pub latency: Time,
    loss: f64,
    /// When a lost message is made up for.
    pub retry: Time,
    fails_at: Time,
    back_at: Time,
    message_bytes: u64,
    random: Stream,
    /// Reports of servers to the controller so far, and its messages to them.
    pub reports: u64,
    pub grants: u64,
}

impl Channel {
    /// From the parameters.
    pub fn new(values: &Values, seed: u64) -> Channel {
        Channel {
            latency: values.time("latency"),
            loss: values.number("loss"),
            retry: values.time("retry"),
            fails_at: values.optional_time("fails_at").unwrap_or(Time::NEVER),
            back_at: values.optional_time("back_at").unwrap_or(Time::NEVER),
            message_bytes: values.bytes("message"),
            random: Stream::new(seed, Purpose::Control, 0),
            reports: 0,
            grants: 0,
        }
    }

    /// When the controller can decide: now, or when it is back.
    pub fn up_from(&self, now: Time) -> Time {
        if now >= self.fails_at && now < self.back_at { self.back_at } else { now }
    }

    /// Sends a grant; whether it is lost.
    pub fn loses(&mut self) -> bool {
        self.grants += 1;
        self.drops()
    }

    /// Whether what is sent to a server now is lost.
    pub fn drops(&mut self) -> bool {
        self.loss > 0.0 && self.random.unit() < self.loss
    }

    /// What reports and grants took.
    pub fn traffic(&self) -> ControlTraffic {
        ControlTraffic {
            report_bytes: self.reports * self.message_bytes,
            grant_bytes: self.grants * self.message_bytes,
            reports: self.reports,
            grants: self.grants,
        }
    }
}

/// What went between servers and controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlTraffic {
    /// Messages about a queue's state, to the controller.
    pub reports: u64,
    /// What they took.
    pub report_bytes: u64,
    /// Grants of a slot, or new rates, from the controller.
    pub grants: u64,
    /// What they took.
    pub grant_bytes: u64,
}
