//! The two transports: EQDS and Ultra Ethernet.

use crate::config::Config;
use crate::params;
use crate::spec::{Component, Values};

/// What one of the two is not the other.
pub trait Variant: Send {
    /// How it describes itself.
    const COMPONENT: Component;

    /// Reads its parameters.
    fn read(values: &Values) -> Settings;

    /// Whether it goes by marks.
    fn goes_by_marks(_values: &Values) -> bool {
        false
    }
}

/// Parameters that were read.
#[derive(Clone, Debug)]
pub struct Settings(pub(super) Config);
/// EQDS's part.
#[derive(Debug)]
pub struct OfEqds;

impl Variant for OfEqds {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "eqds",
        doc: "EQDS: a first window at line rate, then by credit that each receiver hands out at the pace of its link; packets take all paths, and switches trim (queue = \"ndp\").",
        source: "EQDS, NSDI 2022; rules and constants as in htsim_eqds",
        params: &[params::COMMON, params::EQDS],
        check: params::check_eqds,
    };

    fn read(values: &Values) -> Settings {
        Settings(params::eqds(values))
    }
}

/// Ultra Ethernet's part.
#[derive(Debug)]
pub struct OfUec;

impl Variant for OfUec {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "uec",
        doc: "Ultra Ethernet: packets take all paths, switches trim (queue = \"ndp\") and mark. Congestion is controlled by a window at the sender (NSCC), by credit from the receiver (RCCC), or by both. SLEEK recovers losses where nothing is trimmed.",
        source: "Ultra Ethernet specification 1.0; rules and constants as in htsim_uec",
        params: &[params::COMMON, params::UEC],
        check: params::check_uec,
    };

    fn read(values: &Values) -> Settings {
        Settings(params::uec(values))
    }

    fn goes_by_marks(values: &Values) -> bool {
        params::goes_by_marks(values)
    }
}
