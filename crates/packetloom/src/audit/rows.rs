//! Laws of what is said of flows in the end.

use super::{Verdict, ensure};
use crate::measure::{FlowRow, Format, best_fct};
use crate::topology::Topology;
use crate::units::Time;

/// Checks what is said of every flow; `one_path`: whether all packets of a flow take one path; `answered`: whether a sender
/// waits for its receiver's word.
///
/// # Errors
/// A flow that ended before it began, or was faster than it can be.
pub fn check_rows(
    rows: &[FlowRow],
    topology: &Topology,
    format: Format,
    (one_path, answered): (bool, bool),
) -> Verdict {
    for row in rows {
        let FlowRow { flow, delivered, closed, best_fct, .. } = *row;
        ensure(
            delivered >= flow.start && closed >= flow.start,
            "time never goes backwards",
            delivered,
            || {
                format!(
                    "flow {} started at {}, was delivered at {delivered}, closed at {closed}",
                    flow.id, flow.start
                )
            },
        )?;
        let knows = !answered || row.report.given_up || closed >= delivered;
        ensure(knows, "a sender can't know before the receiver", closed, || {
            format!("flow {} was delivered at {delivered}, closed at {closed}", flow.id)
        })?;
        let Some(fct) = row.fct() else { continue };
        let bound = if one_path { best_fct } else { best_when_spread(row, topology, format).min(best_fct) };
        ensure(fct >= bound, "no flow is faster than its best FCT", delivered, || {
            format!("flow {} of {} B took {fct}, its best is {bound}", flow.id, flow.size_bytes)
        })?;
    }
    Ok(())
}

/// The best FCT is that of packets which follow each other on one path. Where they are spread a short last packet can
/// overtake the full ones on a path of its own, and these then are what takes longest.
fn best_when_spread(row: &FlowRow, topology: &Topology, format: Format) -> Time {
    let flow = &row.flow;
    match format.packets(flow.size_bytes) - 1 {
        0 => row.best_fct,
        full => best_fct(topology, format, flow.src, flow.dst, full * format.mss_bytes),
    }
}
