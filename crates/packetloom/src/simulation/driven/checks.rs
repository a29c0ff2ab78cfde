//! What a network that a program drives can have.

use super::super::fidelity::Fidelity;
use super::super::is_fluid;
use crate::scenario::Case;
use crate::spec::Complaint;
use crate::topology::Topology;
use crate::{central, routing, transport};

/// What of a case can't be driven.
pub(super) fn check(case: &Case) -> Result<(), Complaint> {
    let complain = |key: &str, message: &str| Err(Complaint::new(key, message));
    for key in ["flows", "duration"] {
        if case.run.has(key) {
            return complain(&format!("run.{key}"), "whoever sends says what starts, and when; leave it out");
        }
    }
    if case.load.is_some() {
        return complain("run.loads", "whoever sends says how much; leave it out");
    }
    check_scheme(case)?;
    check_sizes(case)
}

/// What of a scheme can't be driven, and of how closely it is simulated.
pub(in crate::simulation) fn check_scheme(case: &Case) -> Result<(), Complaint> {
    let complain = |key: &str, message: &str| Err(Complaint::new(key, message));
    if Fidelity::of(&case.run) != Fidelity::Packets {
        return complain("run.fidelity", "estimates need to know all traffic beforehand; leave it out");
    }
    let transport = case.scheme.component("transport");
    let kind = &transport.kind;
    if is_fluid(kind) || central::is_central(kind) {
        let message = format!("{kind:?} needs to know all flows beforehand; write a scheme with packets");
        return complain("scheme.transport", &message);
    }
    if routing::first_destination_port(&case.scheme.component("routing")).is_some() {
        let message = "\"hpcc-ns3\" numbers flows before they start; leave it out";
        return complain("scheme.routing.hash", message);
    }
    if routing::numbers_ports(&case.scheme.component("routing")) {
        return complain("scheme.routing.ports", "numbers flows before they start; leave it out");
    }
    Ok(())
}

/// A transport that works something out of how large flows are has to be told it.
fn check_sizes(case: &Case) -> Result<(), Complaint> {
    let transport = case.scheme.component("transport");
    if !transport::needs(&transport.kind).sizes {
        return Ok(());
    }
    let topology = Topology::build(&case.topology)
        .map_err(|complaint| Complaint { key: format!("topology.{}", complaint.key), ..complaint })?;
    let of_size = |bytes| transport::on_sizes(transport.clone(), &topology, || vec![(bytes, 1.0)]);
    if of_size(1) == of_size(10_000_000) {
        return Ok(());
    }
    let message = format!(
        "{} works out its priorities from how large messages will be, which nobody knows here; write cutoffs and \
         scheduled_levels",
        transport.kind
    );
    Err(Complaint::new("scheme.transport", message))
}
