//! How the operations of a program are carried out: by the patterns of an algorithm, or as a library does.

use super::Plan;
use super::execution::Seating;
use super::execution::Settings;
use super::operation::Operation;
use crate::job::{Collective, Sizes};
use crate::narrow::exact;
use crate::workload::job::library::{LaneBytes, Lanes, Nccl};
use crate::workload::job::pattern::{self, Algorithm, Awaited, Pairs, Pattern, Reordered};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Of the pieces of a channel, so many may be under way at once: the next one begins while the last is being
/// acknowledged.
const PIECES_UNDER_WAY: u32 = 2;

/// The patterns among which the lanes of an operation are divided.
pub(super) type Strands = Arc<Vec<Box<dyn Pattern>>>;

/// Patterns that were made, so that operations which are alike share one.
#[derive(Default)]
pub(super) struct Patterns {
    /// By operation, algorithm, number of ranks, and how they share servers where the algorithm goes by that.
    made: BTreeMap<(Collective, Algorithm, u32, Option<Seating>), Strands>,
}

impl Patterns {
    pub(super) fn operation(
        &mut self,
        plan: &Plan,
        kind: Collective,
        group: u32,
        sizes: Sizes,
    ) -> Result<Operation, String> {
        let Settings { algorithms, channels, chunks, library, .. } = &plan.settings;
        let ranks = exact::<u32>(plan.program.groups[group as usize].len());
        if let Some(library) = library.as_ref().filter(|_| ranks > 1) {
            return by_library(plan, library, (kind, group, sizes));
        }
        let algorithm = algorithms.get(&kind).copied().unwrap_or(Algorithm::usual(kind));
        let (bytes, patterns, pieces) = match sizes {
            Sizes::Matrix(matrix) => {
                let matrix = &plan.program.matrices[matrix as usize];
                let pairs: Box<dyn Pattern> = Box::new(Pairs::new(ranks, matrix));
                let most = matrix.chunks(ranks as usize).map(|row| row.iter().sum::<u64>()).max();
                (most.unwrap_or(0), Arc::new(vec![pairs]), (1, 1))
            }
            Sizes::Whole(bytes) => {
                let members = &plan.program.groups[group as usize];
                let seating = if algorithm.knows_servers() { plan.settings.seating(members) } else { None };
                let patterns = match self.made.entry((kind, algorithm, ranks, seating)) {
                    Entry::Occupied(known) => Arc::clone(known.get()),
                    Entry::Vacant(new) => {
                        let patterns = patterns(kind, algorithm, ranks, new.key().3.as_ref())?;
                        Arc::clone(new.insert(Arc::new(patterns)))
                    }
                };
                let pieces = if kind == Collective::Barrier { (1, 1) } else { (*channels, *chunks) };
                (bytes, patterns, pieces)
            }
        };
        let strands = exact::<u32>(patterns.len());
        let (channels, chunks) = pieces;
        let lanes = [chunks, strands].into_iter().try_fold(channels, u32::checked_mul);
        let lanes = lanes.ok_or_else(|| {
            format!("{} has more parts than can be numbered; write fewer channels or chunks", kind.name())
        })?;
        let gate = (chunks > PIECES_UNDER_WAY).then_some(channels * strands * PIECES_UNDER_WAY);
        let slots = patterns.iter().map(|pattern| pattern.slots()).max().unwrap_or(0);
        let (call, is_modelled) = (None, false);
        let is_simple = gate.is_none() && patterns.iter().all(|one| one.phases().is_some());
        let is_whole = ranks > 1 && is_simple && plan.settings.is_whole(&plan.program.groups[group as usize]);
        Ok(Operation {
            kind,
            algorithm,
            group,
            ranks,
            places: ranks,
            bytes,
            matrix: if let Sizes::Matrix(matrix) = sizes { Some(matrix) } else { None },
            channels,
            lanes,
            call,
            is_modelled,
            is_whole,
            gate,
            lane_bytes: LaneBytes::Part(lanes, 1),
            patterns,
            slots,
            grants: None,
            threads: None,
        })
    }
}

/// An operation as a library carries it out.
fn by_library(
    plan: &Plan,
    library: &Nccl,
    (kind, group, sizes): (Collective, u32, Sizes),
) -> Result<Operation, String> {
    let members = &plan.program.groups[group as usize];
    let ranks = exact::<u32>(members.len());
    let Sizes::Whole(bytes) = sizes else {
        let message =
            "NCCL is modelled for all-to-all of one size; write library = \"plain\" for this workload";
        return Err(message.to_owned());
    };
    let machine = library.machine(ranks, plan.settings.servers_of(members)?);
    let call = library.call(kind, bytes, machine)?;
    let is_modelled = library.is_modelled();
    let Lanes { patterns, lanes, bytes: lane_bytes } = if is_modelled {
        Lanes { patterns: vec![Box::new(Awaited)], lanes: 1, bytes: LaneBytes::Part(1, 1) }
    } else {
        library.lanes(kind, bytes, &call)?
    };
    let seating = plan.settings.seating(members);
    let patterns = match seating.as_ref().and_then(|seating| seating.members.as_ref()) {
        Some(members) => reordered(patterns, members),
        None => patterns,
    };
    let slots = patterns.iter().map(|pattern| pattern.slots()).max().unwrap_or(0);
    let server = |rank: &u32| plan.settings.servers.as_ref().map_or(*rank, |servers| servers[*rank as usize]);
    let nodes: &[u32] = if call.is_switched() { &plan.nodes[group as usize] } else { &[] };
    let servers: Vec<u32> = members.iter().chain(nodes).map(server).collect();
    let threads = library.threads(&call, &servers);
    let grants = library.has_grants().then_some(servers);
    Ok(Operation {
        kind,
        algorithm: Algorithm::usual(kind),
        group,
        ranks,
        places: ranks + exact::<u32>(nodes.len()),
        bytes,
        matrix: None,
        channels: call.channels,
        lanes,
        call: Some(call),
        is_modelled,
        is_whole: false,
        gate: None,
        lane_bytes,
        patterns: Arc::new(patterns),
        slots,
        grants,
        threads,
    })
}

/// The patterns of an operation among ranks that share servers so.
fn patterns(
    kind: Collective,
    algorithm: Algorithm,
    ranks: u32,
    seating: Option<&Seating>,
) -> Result<Vec<Box<dyn Pattern>>, String> {
    let made = pattern::patterns(kind, algorithm, ranks, seating.map(|seating| seating.ranks))?;
    let Some(members) = seating.and_then(|seating| seating.members.as_ref()) else { return Ok(made) };
    Ok(reordered(made, members))
}

/// Patterns of ranks that have another order than their group.
fn reordered(made: Vec<Box<dyn Pattern>>, members: &[u32]) -> Vec<Box<dyn Pattern>> {
    made.into_iter().map(|one| -> Box<dyn Pattern> { Box::new(Reordered::new(one, members)) }).collect()
}
