//! Invariants of the flow records at the end.

use super::{Verdict, ensure};
use crate::flow::Flow;
use crate::measure::FlowRow;
use crate::packet::Format;
use crate::topology::best_fct;
use crate::topology::{Link, Topology};
use crate::units::Time;

/// Checks every flow's record; `one_path`: whether all packets of a flow take one path; `answered`: whether a
/// sender waits for its receiver's answer; `cut_up`: whether packets are shorter than they must be, so that more of
/// them are in flight at once than the best FCT assumes.
///
/// # Errors
/// A flow that ended before it began, or was faster than it can be.
pub fn check_rows(
    rows: &[FlowRow],
    topology: &Topology,
    format: Format,
    (one_path, answered, cut_up): (bool, bool, bool),
) -> Verdict {
    let (are_paths_alike, narrows) = (are_paths_alike(topology), narrows(topology));
    let by_fewest_links = topology.by_fewest_links();
    let shortest = by_fewest_links.as_ref().unwrap_or(topology);
    for row in rows {
        let FlowRow { flow, delivered, closed, mut best_fct, .. } = *row;
        if by_fewest_links.is_some() {
            best_fct = best_fct.min(best_of(flow, flow.size_bytes, shortest, format));
        }
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
        let bound = if cut_up {
            time_on_own_link(row, topology, format)
        } else if one_path && are_paths_alike {
            best_fct
        } else if are_paths_alike && !narrows {
            best_when_spread(row, shortest, format).min(best_fct)
        } else {
            time_on_own_link(row, topology, format)
        };
        ensure(fct >= bound, "no flow is faster than its best FCT", delivered, || {
            format!("flow {} of {} B took {fct}, its best is {bound}", flow.id, flow.size_bytes)
        })?;
    }
    Ok(())
}

/// Whether all shortest paths between two hosts are as fast: the best FCT is that by the first of them. Only files
/// have others.
fn are_paths_alike(topology: &Topology) -> bool {
    let alike = |a: &Link, b: &Link| (a.rate, a.latency) == (b.rate, b.latency);
    topology.routes().is_none() || topology.links.windows(2).all(|pair| alike(&pair[0], &pair[1]))
}

/// Whether a link between switches is slower than a host's, or hosts have several: then they carry more together
/// than one path.
fn narrows(topology: &Topology) -> bool {
    let is_hosts = |link: &&Link| link.src < topology.hosts;
    let fastest = topology.links.iter().filter(is_hosts).map(|link| link.rate).max();
    let between = topology.links.iter().filter(|link| !is_hosts(link));
    topology.has_hosts_with_several_links() || between.map(|link| Some(link.rate)).any(|rate| rate < fastest)
}

/// What a flow's full packets take on its host's own link, or links, by whatever paths they go on.
fn time_on_own_link(row: &FlowRow, topology: &Topology, format: Format) -> Time {
    let full = format.packets(row.flow.size_bytes) - 1;
    let bytes = format.mss_bytes + format.header_bytes + topology.framing_bytes;
    let (src, dst) = (row.flow.src, row.flow.dst);
    // Round a dead link to the switch in its server it takes the NIC.
    let byte_time = topology.byte_time(topology.rate_of(src).max(topology.rate_between(src, dst)));
    // What is rounded is each packet's time.
    if topology.whole_ns { byte_time.of(bytes).times(full) } else { byte_time.of(full * bytes) }
}

/// The best FCT is that of packets which follow each other on one path. Where they are spread a short last packet
/// can overtake the full ones on a path of its own, and these then are what takes longest.
fn best_when_spread(row: &FlowRow, topology: &Topology, format: Format) -> Time {
    match format.packets(row.flow.size_bytes) - 1 {
        0 => row.best_fct,
        full => best_of(row.flow, full * format.mss_bytes, topology, format),
    }
}

/// The best FCT of so many bytes between a flow's hosts.
fn best_of(flow: Flow, size_bytes: u64, topology: &Topology, format: Format) -> Time {
    best_fct(topology, format, flow.src, flow.dst, size_bytes)
}
