//! How many links upwards a switch has, given its oversubscription.

use crate::narrow::saturated;
use crate::spec::{Complaint, Kind, Values};
use crate::units::Rate;

/// What is below a switch over what is above it.
pub(super) const KIND: Kind = Kind::Number(0.01, 100.0);

/// That the number of spines is written beside an oversubscription which comes to so many of them.
pub(super) fn said_twice(values: &Values, uplinks: Result<u64, Complaint>) -> Complaint {
    let of = match uplinks {
        Ok(spines) => format!(": {} comes to spines = {spines}", values.number("oversubscription")),
        Err(_) => String::new(),
    };
    Complaint::new(
        "spines",
        format!("oversubscription says how many there are, too{of}; leave one of them out"),
    )
}

/// The uplinks of a switch with so many links downwards of a rate; `what`: what each of them leads to.
///
/// # Errors
/// Where it takes no whole number of them.
pub(super) fn uplinks(
    values: &Values,
    key: &str,
    what: &str,
    (below, rate): (u64, Rate),
    up: Rate,
) -> Result<u64, Complaint> {
    let ratio = values.number(key);
    let at_one = below as f64 * rate.as_bps() as f64 / up.as_bps() as f64;
    let links = at_one / ratio;
    // A ratio such as 3 or 2.909 may be a little off.
    if links.round() >= 1.0 && (links.round() - links).abs() <= 2e-3 * links {
        return Ok(saturated::<u64>(links.round()));
    }
    let fewer = links.floor().max(1.0);
    let ratio_of = |links: f64| (at_one / links * 1e4).round() / 1e4;
    let message = format!(
        "{ratio} takes {links:.3} {what}; write {} for {fewer}, or {} for {}",
        ratio_of(fewer),
        ratio_of(fewer + 1.0),
        fewer + 1.0
    );
    Err(Complaint::new(key, message))
}
