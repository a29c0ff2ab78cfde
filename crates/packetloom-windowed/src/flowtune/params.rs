//! The parameters.

use super::connection::Terms;
use super::network::Network;
use super::pace::Pace;
use super::{CONNECTION, allocator};
use crate::connections;
use crate::flow::HostId;
use crate::narrow::exact;
use crate::rto::RtoRule;
use crate::spec::{Complaint, Kind, Param, Value, Values, check_period, param};
use crate::units::Time;
use crate::windowed::{self, Defaults, Setup, default_of};
use packetloom_control::{Filling, Ned};
use std::sync::Arc;

/// TCP's own. What a flow sends before it has a rate comes on top of all that is given out, and only the threshold's
/// part of a link is there to drain it; so its first window matters.
pub const DEFAULTS: Defaults = Defaults {
    initial_window: (
        "2",
        "ns-2's windowInit_, as Flowtune §6 simulates there; connections open by a handshake there, which takes as long as a rate",
    ),
    ..default_of()
};

/// What Flowtune has beside TCP.
pub const PARAMS: &[Param] = &[
    param! {
        "allocator" = "0": Kind::Count(0),
        "The host that is the allocator. Flows may start and end there, but then share its link with its messages.",
        "packetloom"
    },
    param! {
        "interval" = "10us": Kind::Time,
        "How often the allocator changes prices, and with them rates, while it knows of flowlets.",
        "Flowtune §6: an iteration every 10 us"
    },
    param! {
        "gamma" = "0.4": Kind::Number(0.0, 2.0),
        "How far an iteration goes.", "Flowtune §6: 0.4, and from 0.2 to 1.5 alike"
    },
    param! {
        "normalisation" = "f-norm": Kind::Choice(&["f-norm", "u-norm"]),
        "How rates are scaled so that links are not overloaded: each flow's by the most loaded link of its path, or all by the most loaded link of the network.",
        "Flowtune §5"
    },
    param! {
        "threshold" = "0.01": Kind::Number(0.0, 0.9),
        "A flow's rate is sent to it when it has changed by more than this fraction. The same fraction of every link is kept free.",
        "Flowtune §6: 0.01, with 99 % of the links given out"
    },
    param! {
        "weights": Kind::List(&Kind::Number(0.0, 1e6)),
        "The weights of flows by traffic class, from class 0 on; 1 for classes that are not in the list, and where it is left out.",
        "Flowtune §4: utility w log(rate)"
    },
    param! {
        "control_min_rto" = "20us": Kind::Time,
        "The least time after which a message to or from the allocator is sent again.",
        "Flowtune §6: minRTO 20 us"
    },
    param! {
        "control_max_rto" = "30us": Kind::Time,
        "The greatest retransmission timeout.", "Flowtune §6: maxRTO 30 us"
    },
    param! {
        "computation" = "0us": Kind::Time,
        "From when an iteration begins until its rates are sent; at most the interval.",
        "packetloom; the allocator's own speed in Flowtune is measured apart from its simulations"
    },
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    windowed::check(values)?;
    if values.component(connections::PARAM.name).kind != "open" {
        let message = "flowlets are known to the allocator from their start, before a handshake would end; leave it out";
        return Err(Complaint::new(connections::PARAM.name, message));
    }
    let interval = values.time("interval");
    check_period("interval", interval, "10us")?;
    if values.time("computation") > interval {
        let message = format!("an iteration may take as long as until the next, {interval}; write no more");
        return Err(Complaint::new("computation", message));
    }
    if values.number("gamma") == 0.0 {
        return Err(Complaint::new("gamma", "prices would never change; write a number such as 0.4"));
    }
    if weights(values).contains(&0.0) {
        return Err(Complaint::new("weights", "a flow without weight would get no rate; write more than 0"));
    }
    let (least, greatest) = (values.time("control_min_rto"), values.time("control_max_rto"));
    check_period("control_min_rto", least, "20us")?;
    if least > greatest {
        let message = "control_min_rto must not be above control_max_rto";
        return Err(Complaint::new("control_min_rto", message));
    }
    Ok(())
}

fn weights(values: &Values) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Number(number) => *number,
        other => panic!("a weight is {other:?}"),
    };
    values.optional_list("weights").iter().flatten().map(number).collect()
}

/// The parameters, read.
#[derive(Clone, Debug)]
pub struct Settings {
    pub tcp: Arc<Setup<Pace>>,
    pub allocator: HostId,
    /// Of connections to and from it.
    pub terms: Terms,
    pub computation: Time,
    pub allocation: allocator::Settings,
    /// What the allocator knows of the network, once there is one.
    pub network: Option<Network>,
}

impl Settings {
    pub fn of(values: &Values, tcp: Arc<Setup<Pace>>) -> Settings {
        let rto = RtoRule::between(values.time("control_min_rto"), values.time("control_max_rto"));
        let fillings = [("f-norm", Filling::PerFlow), ("u-norm", Filling::Uniform)];
        Settings {
            allocator: exact::<HostId>(values.count("allocator")),
            terms: Terms { format: *tcp.format(), rto, purpose: CONNECTION },
            computation: values.time("computation"),
            allocation: allocator::Settings {
                interval: values.time("interval"),
                gamma: values.number("gamma"),
                filling: values.meaning("normalisation", &fillings),
                threshold: values.number("threshold"),
                weights: weights(values).into(),
            },
            network: None,
            tcp,
        }
    }
}

const _: () = assert!(Ned::STEP == 0.4, "the default of gamma");
