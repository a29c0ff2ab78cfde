//! Other simulators' flows, made into ours.

use super::dependencies::{Done, Plan, PlannedTrigger, Shot};
use super::generator::Environment;
use super::list::{FlowList, ListedFlow};
use crate::flow::{Flow, HostId};
use crate::formats::htsim_connections::{self, Matrix, Start};
use crate::formats::{FileError, hpcc_flows};
use crate::narrow::exact;
use crate::units::Time;
use std::collections::BTreeMap;

/// The flows of a `flow.txt`, whose nodes have the numbers of the topology's file. A priority group is a traffic
/// class.
pub fn from_hpcc(flows: &[hpcc_flows::Flow], env: &Environment) -> Result<FlowList, FileError> {
    let flow = |listed: &hpcc_flows::Flow| {
        let error = |message: String| FileError::new(listed.line, message);
        let flow = ListedFlow {
            src: host(listed.src, env).map_err(error)?,
            dst: host(listed.dst, env).map_err(error)?,
            size_bytes: listed.size_bytes,
            start: listed.start,
            deadline: None,
            class: Some(listed.group),
            port: listed.port,
        };
        flow.check().map_err(error)?;
        Ok(flow)
    };
    Ok(FlowList { flows: flows.iter().map(flow).collect::<Result<_, _>>()?, has_deadlines: false })
}

/// The host that has a number in the topology's file.
fn host(id: u32, env: &Environment) -> Result<HostId, String> {
    let found = match &env.host_ids[..] {
        [] => (id < env.hosts).then_some(id),
        ids => ids.binary_search(&id).ok().map(|place| exact::<HostId>(place)),
    };
    found.ok_or_else(|| format!("no host is numbered {id} in this topology"))
}

/// The flows of a connection matrix, like one that has what they have in common; triggers at other hosts take
/// `delay`.
pub fn from_htsim(matrix: &Matrix, env: &Environment, like: Flow, delay: Time) -> Result<Plan, FileError> {
    let flows = matrix.connections.iter().map(|connection| {
        let error = |message: String| FileError::new(connection.line, message);
        let start = match connection.start {
            Start::At(at) => at.saturating_add(like.start),
            Start::On(_) => Time::NEVER,
        };
        let listed = ListedFlow {
            src: host(connection.src, env).map_err(error)?,
            dst: host(connection.dst, env).map_err(error)?,
            size_bytes: connection.size_bytes,
            start,
            deadline: None,
            class: None,
            port: None,
        };
        listed.check().map_err(error)?;
        Ok(Flow { src: listed.src, dst: listed.dst, size_bytes: listed.size_bytes, start, ..like })
    });
    let flows = flows.collect::<Result<_, _>>()?;
    Ok(Plan { flows, triggers: triggers(matrix), delay })
}

fn triggers(matrix: &Matrix) -> Vec<PlannedTrigger> {
    let shot = |shot: &htsim_connections::Shot| match shot {
        htsim_connections::Shot::Oneshot => Shot::AllAfter(1),
        htsim_connections::Shot::Multishot => Shot::NextEachTime,
        htsim_connections::Shot::Barrier(count) => Shot::AllAfter(*count),
    };
    let new = |(id, kind): (&u32, _)| {
        (*id, PlannedTrigger { shot: shot(kind), awaits: Vec::new(), starts: Vec::new() })
    };
    let mut triggers: BTreeMap<u32, PlannedTrigger> = matrix.triggers.iter().map(new).collect();
    for (place, connection) in matrix.connections.iter().enumerate() {
        let awaited = [(connection.send_done, Done::Sent), (connection.recv_done, Done::Received)];
        for (trigger, done) in awaited {
            if let Some(trigger) = trigger.and_then(|id| triggers.get_mut(&id)) {
                trigger.awaits.push((place, done));
            }
        }
        if let Start::On(id) = connection.start
            && let Some(trigger) = triggers.get_mut(&id)
        {
            trigger.starts.push(place);
        }
    }
    triggers.into_values().collect()
}
