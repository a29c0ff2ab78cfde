//! How the window grows in congestion avoidance: a parameter of the controls that grow it as RFC 5681 does.

use crate::spec::{Kind, Param, Value, Values, param};

/// The parameter.
pub const PARAM: Param = param! {
    "increase" = "each-ack": Kind::Choice(&["each-ack", "each-window"]),
    "How the window grows above ssthresh: by 1/cwnd with each acknowledgement of new data; or by a whole packet, each time that as many of them have come as it has packets.",
    "RFC 5681 §3.1: equation 3, or counting; ns-2 counts"
};

/// Whether acknowledgements are counted. (Of a control without the parameter they are not.)
pub fn counts(values: &Values) -> bool {
    matches!(values.entries.get(PARAM.name), Some(Value::Text(word)) if word == "each-window")
}
