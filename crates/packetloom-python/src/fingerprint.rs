//! The fingerprint of flow records that were read back from a file.

use crate::arrays::Array;
use packetloom::engine::Report;
use packetloom::flow::{Flow, FlowId, HostId};
use packetloom::measure::{FlowRow, fingerprint};
use packetloom::narrow::saturated;
use packetloom::units::Time;
use pyo3::buffer::Element;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The fingerprint of a `flows` table, from its columns.
#[pyfunction]
pub fn fingerprint_of(columns: &Bound<'_, PyDict>) -> PyResult<String> {
    let src = column::<u32>(columns, "src")?;
    let dst = column::<u32>(columns, "dst")?;
    let size_bytes = column::<u64>(columns, "size_bytes")?;
    let start = column::<f64>(columns, "start_ns")?;
    let fct = column::<f64>(columns, "fct_ns")?;
    let sender_fct = column::<f64>(columns, "sender_fct_ns")?;
    let reports = reports(columns)?;
    let rows: Vec<FlowRow> = column::<u32>(columns, "flow_id")?
        .iter()
        .enumerate()
        .map(|(row, &id)| {
            let start_ps = picoseconds(start[row]);
            FlowRow {
                flow: flow(id, (src[row], dst[row]), size_bytes[row], Time(start_ps)),
                delivered: after(start_ps, fct[row]),
                closed: after(start_ps, sender_fct[row]),
                best_fct: Time::ZERO,
                report: reports[row],
                measured: true,
            }
        })
        .collect();
    Ok(format!("{:016x}", fingerprint(&rows)))
}

fn reports(columns: &Bound<'_, PyDict>) -> PyResult<Vec<Report>> {
    let packets_sent = column::<u32>(columns, "packets_sent")?;
    let retransmissions = column::<u32>(columns, "retransmissions")?;
    let timeouts = column::<u32>(columns, "timeouts")?;
    let report = |row: usize| Report {
        packets_sent: packets_sent[row],
        retransmissions: retransmissions[row],
        timeouts: timeouts[row],
        ..Report::default()
    };
    Ok((0..packets_sent.len()).map(report).collect())
}

/// A flow with what the fingerprint covers; the rest is empty.
fn flow(id: FlowId, (src, dst): (HostId, HostId), size_bytes: u64, start: Time) -> Flow {
    Flow { id, src, dst, size_bytes, start, deadline: Time::NEVER, class: 0, source: 0, chain: None }
}

fn column<E: Element>(columns: &Bound<'_, PyDict>, name: &str) -> PyResult<Array<E>> {
    columns.as_any().get_item(name)?.extract()
}

/// A table's times are whole picoseconds, written in nanoseconds.
fn picoseconds(ns: f64) -> u64 {
    saturated::<u64>((ns * 1e3).round())
}

/// So long after the start; never, where the table has NaN.
fn after(start_ps: u64, ns: f64) -> Time {
    if ns.is_nan() { Time::NEVER } else { Time(start_ps.saturating_add(picoseconds(ns))) }
}
