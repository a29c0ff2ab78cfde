//! Chakra execution traces (mlcommons/chakra, `schema/protobuf/et_def.proto`, 2026-05): a file of nodes for each
//! rank, `PREFIX.0.et` and so on, perhaps packed by gzip; or in JSON, `PREFIX.0.json`.
//!
//! Executed as by astra-sim (`astra-sim/workload/Workload.cc` and `HardwareResource.cc`): a node begins when the
//! nodes that it depends on have ended and its resource is free. A rank has three, which are streams here: the CPU
//! (0), the GPU's computation (1) and its communication (2), which memory nodes of the GPU hold too. `COMM_RECV`
//! holds none. Of nodes that wait for one resource, the lowest id goes first, as in astra-sim and in Chakra's feeder. A
//! `COMM_SEND` holds its resource until its sender knows that the message has arrived: a way back later than in
//! astra-sim's analytical network, where senders know it at once, and as in its ns-3 network, where a queue pair
//! ends with its last acknowledgement (`network_frontend/ns3/entry.h`). Computation and memory nodes take their
//! `duration_micros`; nothing is worked out from `num_ops`, and 0 is 0 where astra-sim takes a nanosecond.
//! `METADATA` takes no time and holds nothing.
//!
//! `comm_size` of an all-gather is what each rank contributes: astra-sim sends so much at each step
//! (`collective_algorithm/Ring.cc` and the like), and Chakra's converter writes the bytes of the inputs.
//!
//! Messages are matched by source, destination and tag, in order; astra-sim compares sizes too. `BROADCAST` and
//! `REDUCE` have no root in the schema: it is the group's first rank. `GATHER` and `SCATTER` are refused.
//!
//! What is kept of a file is bounded: 2^23 nodes a rank, 2^26 of all ranks, and 1 GiB of a file when it is unpacked,
//! 256 MiB if it is JSON.

mod import;
mod json;
mod node;
mod protobuf;
mod report;
mod wire;
mod write;

pub use import::{Import, import};
pub use report::{RankReport, Report};
pub use write::{Written, write};

use super::FileError;
use crate::files::{self, MOST_LIST_BYTES};
use crate::job::Program;
use crate::narrow::exact;
use crate::spec::Complaint;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// How traces are read, where the schema leaves it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether a node without the attribute `is_cpu_op` is the CPU's. The default is that of Chakra's feeder: it is
    /// not.
    pub is_cpu_op: bool,
    /// What the size of an all-gather is.
    pub all_gather_size: AllGatherSize,
    /// What becomes of communication that is said to be the CPU's.
    pub cpu_communication: CpuCommunication,
    /// Whether dependencies by control are followed.
    pub control: Control,
    /// What becomes of dependencies on nodes that are not there.
    pub missing: Missing,
    /// What becomes of GPU nodes that nothing depends on though their stream goes on.
    pub loose: Loose,
    /// In which order a rank takes part in the collective operations of a group.
    pub order: Order,
}

/// What `comm_size` of an all-gather is; the schema does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllGatherSize {
    /// What each rank has before, as in astra-sim and in what Chakra's converter writes.
    #[default]
    PerRank,
    /// What each rank has afterwards.
    Total,
}

/// What becomes of communication nodes of the CPU. Older converters mark so the call that starts the GPU's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuCommunication {
    /// They are refused, as by astra-sim.
    #[default]
    Refuse,
    /// They take their duration on the CPU and move nothing.
    Compute,
}

/// Whether dependencies by control are followed. Older converters note the caller of an operation as one, which has
/// not ended when the operation begins: then nodes may depend on themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// They are, as by astra-sim.
    #[default]
    Follow,
    /// They are not, as by Chakra's own feeder (`src/feeder/et_feeder.cpp`).
    Ignore,
}

/// What becomes of dependencies on nodes that are not there. Converters leave nodes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// They are refused.
    #[default]
    Refuse,
    /// They are dropped.
    Drop,
}

/// What becomes of GPU nodes that nothing depends on and that are not the last of their stream by their start times:
/// what followed them there might begin too early (chakra's issue 215).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loose {
    /// They are refused.
    #[default]
    Refuse,
    /// Each GPU node depends on the one before it on its stream, in the order of their start times.
    ChainStreams,
    /// They are left alone.
    Keep,
}

/// In which order nodes stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As in the file.
    #[default]
    File,
    /// By start time.
    Start,
}

/// Process groups by name.
pub type Groups = BTreeMap<String, Vec<u32>>;

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// In which file, or in all files of which prefix.
    pub file: String,
    /// Where, and what.
    pub error: FileError,
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.error.of(&self.file))
    }
}

/// A rank's file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, for messages. If it ends in `.json`, the file is JSON.
    pub name: String,
    /// What it holds.
    pub content: Vec<u8>,
}

/// Reads a trace and refuses what could not be executed as it was.
///
/// # Errors
/// What is malformed; what the report has against it; and what [`Program::check`] finds.
pub fn read(
    prefix: &str,
    ranks: u32,
    sources: impl Iterator<Item = Result<Source, TraceError>>,
    groups: &Groups,
    options: &Options,
) -> Result<(Program, Report), TraceError> {
    let import = import(ranks, sources, groups, options)?;
    let refuse = |message| TraceError { file: prefix.to_owned(), error: FileError::whole(message) };
    import.report.problem(options).map_or(Ok(()), |message| Err(refuse(message)))?;
    import.check()?;
    Ok((import.program, import.report))
}

/// Reads the files that a scenario names by their prefix under the key `files`: `PREFIX.0.et` and so on, or
/// `PREFIX.0.json`; and perhaps a file of process groups.
///
/// # Errors
/// As [`read`]; or a file is missing, or can't be read.
pub fn read_files(
    prefix: &str,
    groups: Option<&str>,
    options: &Options,
) -> Result<(Program, Report), Complaint> {
    let complain = |message: String| Complaint::new("files", message);
    let groups = match groups {
        Some(file) => super::read_bytes(file, read_groups)
            .map_err(|complaint| Complaint::new("groups", complaint.message))?,
        None => Groups::new(),
    };
    let names = file_names(prefix).map_err(complain)?;
    let ranks = exact::<u32>(names.len());
    let sources = names.into_iter().map(|name| {
        let content = files::read(Path::new(&name), MOST_LIST_BYTES);
        match content {
            Ok(content) => Ok(Source { name, content }),
            Err(error) => Err(TraceError { error: FileError::whole(error.to_string()), file: name }),
        }
    });
    read(prefix, ranks, sources, &groups, options).map_err(|error| complain(error.to_string()))
}

/// The names of the files of a prefix, by rank.
///
/// # Errors
/// There is none, or one is missing.
pub fn file_names(prefix: &str) -> Result<Vec<String>, String> {
    let (ranks, extension) = ranks_of(prefix)?;
    Ok((0..ranks).map(|rank| format!("{prefix}.{rank}.{extension}")).collect())
}

/// How many files of the prefix there are, and how their names end.
fn ranks_of(prefix: &str) -> Result<(u32, &'static str), String> {
    let path = Path::new(prefix);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(format!("{prefix:?} is no prefix of files; write what stands before .0.et"));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut ranks: BTreeMap<&'static str, Vec<u32>> = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
        let file = entry.file_name();
        let Some(rest) = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix('.')) else {
            continue;
        };
        for extension in ["et", "json"] {
            let number = rest.strip_suffix(extension).and_then(|rest| rest.strip_suffix('.'));
            if let Some(rank) = number.and_then(|number| number.parse().ok()) {
                ranks.entry(extension).or_default().push(rank);
            }
        }
    }
    let Some((&extension, found)) = ranks.iter_mut().next() else {
        return Err(format!("there is no {prefix}.0.et and no {prefix}.0.json"));
    };
    found.sort_unstable();
    match (0..).zip(found.iter()).find(|&(expected, &found)| expected != found) {
        Some((expected, found)) => {
            Err(format!("there is no {prefix}.{expected}.{extension}, but there is one of rank {found}"))
        }
        None => Ok((exact::<u32>(found.len()), extension)),
    }
}

/// Reads a file of process groups, as astra-sim's option `comm-group-configuration` names:
/// `{"0": [0, 1], "1": [2, 3]}`.
///
/// # Errors
/// What is wrong.
pub fn read_groups(content: &[u8]) -> Result<Groups, FileError> {
    let text = super::text(content)?;
    let groups: serde_json::Value = serde_json::from_str(text).map_err(|error| json::syntax(&error))?;
    let shape = || FileError::whole("write groups by name with their ranks, as in {\"0\": [0, 1, 2, 3]}");
    let groups = groups.as_object().ok_or_else(shape)?;
    let group = |(name, ranks): (&String, &serde_json::Value)| {
        let ranks = ranks.as_array().ok_or_else(shape)?;
        Ok((name.clone(), ranks.iter().map(rank).collect::<Option<_>>().ok_or_else(shape)?))
    };
    groups.iter().map(group).collect()
}

fn rank(value: &serde_json::Value) -> Option<u32> {
    value.as_u64().and_then(|rank| u32::try_from(rank).ok())
}

/// What a file holds, unpacked if it is packed by gzip.
fn unpacked(content: &[u8]) -> Result<Cow<'_, [u8]>, FileError> {
    if !content.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(content));
    }
    let mut all = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(content).take(MOST_LIST_BYTES + 1);
    decoder
        .read_to_end(&mut all)
        .map_err(|error| FileError::whole(format!("it is packed by gzip, but {error}")))?;
    if all.len() as u64 > MOST_LIST_BYTES {
        let most = MOST_LIST_BYTES >> 20;
        return Err(FileError::whole(format!(
            "unpacked it is larger than {most} MiB, the most that is read"
        )));
    }
    Ok(Cow::Owned(all))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
