//! A line of a layer.

use super::super::FileError;
use super::super::fields::Line;
use super::header::{Header, Policy};
use crate::job::{Collective, LONGEST, MOST_BYTES};
use crate::units::Time;

/// Among whom an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// All ranks.
    All,
    /// Those that share tensors.
    Tp,
    /// Those with the same part of the tensors.
    Dp,
    /// Those among which experts are spread.
    Ep,
    /// Those with the same experts.
    DpEp,
    /// Those in the same package, whose numbers follow each other.
    Package,
    /// Those at the same place of each package.
    Across,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Which.
    pub collective: Collective,
    /// Among whom.
    pub group: Group,
    /// How much.
    pub bytes: u64,
}

/// A computation and the operation after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// How long it computes.
    pub time: Time,
    /// The operation, if there is one.
    pub operation: Option<Operation>,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// On the way forward.
    pub forward: Phase,
    /// Back, the gradient of its input.
    pub input_gradient: Phase,
    /// Back, the gradient of its weights.
    pub weight_gradient: Phase,
    /// What follows each operation.
    pub update: Time,
}

const COLUMNS: &str = "name dependency forward_ns forward_comm forward_bytes input_gradient_ns input_gradient_comm \
                       input_gradient_bytes weight_gradient_ns weight_gradient_comm weight_gradient_bytes update_ns";

const OPERATIONS: [(&str, Collective); 4] = [
    ("ALLREDUCE", Collective::AllReduce),
    ("ALLGATHER", Collective::AllGather),
    ("REDUCESCATTER", Collective::ReduceScatter),
    ("ALLTOALL", Collective::AllToAll),
];

impl Layer {
    /// Reads the line of the nth layer.
    pub(super) fn read(line: &Line<'_>, nth: usize, header: &Header) -> Result<Layer, FileError> {
        let is_customized = header.policy == Policy::HybridCustomized;
        let columns = if is_customized { format!("{COLUMNS} policy") } else { COLUMNS.to_owned() };
        line.expect(&columns)?;
        if line.fields[1] != "-1" {
            let message =
                format!("the dependency is {:?}; write -1: layers follow each other", line.fields[1]);
            return Err(line.error(message));
        }
        let policy = if is_customized { own_policy(line, header)? } else { header.policy };
        let among = policy.among();
        let phase = |first: usize, name: &str, bare: Option<Group>| {
            let time = nanoseconds(line, first, &format!("{name}_ns"))?;
            Ok(Phase { time, operation: operation(line, first + 1, name, bare, policy)? })
        };
        let layer = Layer {
            name: line.fields[0].to_owned(),
            forward: phase(2, "forward", among.forward)?,
            input_gradient: phase(5, "input_gradient", among.input_gradient)?,
            weight_gradient: phase(8, "weight_gradient", among.weight_gradient)?,
            update: nanoseconds(line, 11, "update_ns")?,
        };
        if header.policy.is_dlrm() {
            layer.check_dlrm(line, nth)?;
        }
        Ok(layer)
    }

    /// That there are no operations which SimAI leaves out under DLRM.
    fn check_dlrm(&self, line: &Line<'_>, nth: usize) -> Result<(), FileError> {
        if let Some(forward) = self.forward.operation
            && forward.collective != Collective::AllToAll
        {
            let message =
                format!("forward_comm is {}; DLRM executes ALLTOALL only, or write NONE", line.fields[3]);
            return Err(line.error(message));
        }
        if self.input_gradient.operation.is_some() && nth > 0 {
            let message = format!(
                "input_gradient_comm is {}; DLRM executes that of the first layer only, write NONE",
                line.fields[6]
            );
            return Err(line.error(message));
        }
        Ok(())
    }
}

fn nanoseconds(line: &Line<'_>, index: usize, name: &str) -> Result<Time, FileError> {
    let ns: u64 = line.count(index, name)?;
    let ps = ns.checked_mul(1_000).filter(|&ps| ps <= LONGEST.as_ps());
    ps.map(Time).ok_or_else(|| line.error(format!("{name} is {ns}; the longest there may be is {LONGEST}")))
}

/// The policy of a layer that has one of its own, in the last column.
fn own_policy(line: &Line<'_>, header: &Header) -> Result<Policy, FileError> {
    const OWN: [Policy; 4] = [Policy::Data, Policy::Model, Policy::HybridDataModel, Policy::HybridModelData];
    let text = line.fields[line.fields.len() - 1];
    let policy = Policy::named(text).filter(|policy| OWN.contains(policy)).ok_or_else(|| {
        let names = OWN.map(Policy::name).join(", ");
        line.error(format!("the policy of the layer is {text:?}; write one of {names}"))
    })?;
    header.needs_packages(policy).map_err(|message| line.error(message))?;
    Ok(policy)
}

/// The operation, whose bytes are in the next column. That of no bytes is none.
fn operation(
    line: &Line<'_>,
    index: usize,
    name: &str,
    bare: Option<Group>,
    policy: Policy,
) -> Result<Option<Operation>, FileError> {
    let text = line.fields[index];
    let bytes: u64 = line.count(index + 1, &format!("{name}_bytes"))?;
    if text == "NONE" {
        return Ok(None);
    }
    let known =
        OPERATIONS.iter().find_map(|(known, collective)| Some((text.strip_prefix(known)?, collective)));
    let found = known.and_then(|(suffix, &collective)| {
        let group = match suffix {
            "" => None,
            "_EP" => Some(Group::Ep),
            "_DP_EP" => Some(Group::DpEp),
            _ => return None,
        };
        Some((collective, group))
    });
    let Some((collective, named)) = found else {
        let more = if text.starts_with("ALLREDUCEALLTOALL") {
            "; SimAI itself takes this one for an ALLREDUCE without a group"
        } else {
            ""
        };
        return Err(line.error(format!(
            "{name}_comm is {text:?}; write NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, perhaps with _EP or \
             _DP_EP{more}"
        )));
    };
    if bytes > MOST_BYTES {
        return Err(line.error(format!("{name}_bytes is {bytes}; write at most {MOST_BYTES}")));
    }
    if bare.is_none() && bytes > 0 {
        let name_of = policy.name();
        return Err(
            line.error(format!("{name}_comm is {text}, which {name_of} does not execute; write NONE"))
        );
    }
    if named.is_some() && !policy.is_transformer() {
        return Err(line.error(format!("{name}_comm is {text}, but this policy has no such groups")));
    }
    let group = named.or(bare).filter(|_| bytes > 0);
    Ok(group.map(|group| Operation { collective, group, bytes }))
}
