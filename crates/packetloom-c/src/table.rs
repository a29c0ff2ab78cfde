//! The table of flows as text.

use packetloom::measure::FlowRow;
use packetloom::units::Time;
use packetloom_network::Finished;
use std::io::{BufWriter, Result, Write};

/// The columns of `flows.parquet` that a message has, in its units, and the caller's own.
const HEAD: &str = "flow_id,src,dst,size_bytes,start_ns,fct_ns,best_fct_ns,slowdown,sender_fct_ns,class,packets_sent,\
                    retransmissions,timeouts,tag,channel,user";

/// Writes a table. What did not happen is empty.
pub(crate) fn write(finished: &Finished, to: impl Write) -> Result<()> {
    let mut to = BufWriter::new(to);
    writeln!(to, "{HEAD}")?;
    let ns = |time: Option<Time>| time.map_or(String::new(), |time| time.as_ns_f64().to_string());
    for row in &finished.outcome.flows {
        let FlowRow { flow, report, best_fct, .. } = row;
        let label = finished.labels[flow.id as usize];
        let slowdown = row.slowdown().map_or(String::new(), |slowdown| slowdown.to_string());
        writeln!(
            to,
            "{},{},{},{},{},{},{},{slowdown},{},{},{},{},{},{},{},{}",
            flow.id,
            flow.src,
            flow.dst,
            flow.size_bytes,
            flow.start.as_ns_f64(),
            ns(row.fct()),
            best_fct.as_ns_f64(),
            ns(row.sender_fct()),
            flow.class,
            report.packets_sent,
            report.retransmissions,
            report.timeouts,
            label.tag,
            label.channel,
            label.user
        )?;
    }
    to.flush()
}
