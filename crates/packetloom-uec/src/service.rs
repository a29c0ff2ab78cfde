//! Ultra Ethernet's delivery services (Ultra Ethernet specification 1.0, §3.5.7): what each promises, and what goes
//! with it.
//!
//! | Service | order | lost packets | its own file |
//! |---|---|---|---|
//! | RUD | any; sprayed | repeated one by one | `sender.rs`, `sack.rs` |
//! | ROD | kept; one path | repeated with all after them | `ordered.rs` |
//! | RUDI | any; sprayed | repeated one by one; may be delivered twice | `idempotent.rs` |
//! | UUD | any; sprayed | lost for good | `unreliable.rs` |

use crate::spec::{Complaint, Kind, Param, Values, param};

/// A delivery service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Reliable, unordered delivery.
    Rud,
    /// Reliable, ordered delivery.
    Rod,
    /// Reliable, unordered delivery of operations that may be done twice.
    Rudi,
    /// Unreliable, unordered delivery.
    Uud,
}

/// The parameter.
pub const PARAM: Param = param! {
    "service" = "rud": Kind::Choice(&["rud", "rod", "rudi", "uud"]),
    "The delivery service. \"rud\": reliable and unordered, over all paths. \"rod\": reliable and in order, by one path, going back to what is missing. \"rudi\": reliable and unordered, each packet answered by itself, and delivered twice if it comes twice. \"uud\": unreliable, without answers; what is lost stays lost.",
    "Ultra Ethernet specification 1.0, §3.5.7.1 to §3.5.7.4; when NACKs of rod go is assumed"
};

impl Service {
    /// The one that was chosen.
    pub fn of(values: &Values) -> Service {
        values.meaning(
            "service",
            &[("rud", Service::Rud), ("rod", Service::Rod), ("rudi", Service::Rudi), ("uud", Service::Uud)],
        )
    }

    /// Whether Ultra Ethernet's congestion control governs it (§3.5.7.3 and §3.5.7.4: not RUDI nor UUD).
    pub fn is_controlled(self) -> bool {
        matches!(self, Service::Rud | Service::Rod)
    }
}

/// Who controls congestion: what was written, or what the service goes with.
pub fn control(values: &Values) -> Option<String> {
    let usual = Service::of(values).is_controlled().then(|| "nscc".to_owned());
    values.optional_text("control").or(usual)
}

/// What must hold of a service and what is beside it.
pub fn check(values: &Values) -> Result<(), Complaint> {
    let (service, control) = (Service::of(values), values.optional_text("control"));
    let name = values.text("service");
    match (service, control.as_deref()) {
        (Service::Uud, Some(control)) => {
            let message = format!(
                "{control} goes by answers, and receivers of service = \"uud\" send none; leave it out, or write service = \"rud\""
            );
            return Err(Complaint::new("control", message));
        }
        (Service::Rudi, Some(control @ ("rccc" | "both"))) => {
            let message = format!(
                "{control} has receivers give credit, and those of service = \"rudi\" keep nothing of a flow; leave it out, or write control = \"nscc\""
            );
            return Err(Complaint::new("control", message));
        }
        _ => {}
    }
    if values.flag("sleek") && service != Service::Rud {
        let message = format!(
            "goes by what arrived beyond a gap, which senders do not learn with service = \"{name}\"; leave it out, or write service = \"rud\""
        );
        return Err(Complaint::new("sleek", message));
    }
    Ok(())
}
