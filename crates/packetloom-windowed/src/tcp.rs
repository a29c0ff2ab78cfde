//! TCP NewReno with selective acknowledgements (RFC 5681, RFC 6675).

use super::windowed::{Congestion, Windowed, check, core, default_of, increase};
use crate::spec::{Component, Values};

/// TCP.
pub type Tcp = Windowed<NewReno>;

/// Slow start and additive increase.
#[derive(Clone, Copy, Debug)]
pub struct NewReno;

impl Congestion for NewReno {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "tcp",
        doc: "TCP NewReno with selective acknowledgements.",
        source: "RFC 5681, RFC 6675, RFC 6298",
        params: &[&core(default_of()), &[increase::PARAM]],
        check,
    };
    const ECN: bool = false;
    const SHORTENS: bool = true;

    fn new(_: &Values) -> NewReno {
        NewReno
    }
}
