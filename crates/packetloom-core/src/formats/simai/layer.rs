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
        line.expect(COLUMNS)?;
        if line.fields[1] != "-1" {
            let message =
                format!("the dependency is {:?}; write -1: layers follow each other", line.fields[1]);
            return Err(line.error(message));
        }
        let phase = |first: usize, name: &str, bare: Group| {
            let time = nanoseconds(line, first, &format!("{name}_ns"))?;
            Ok(Phase { time, operation: operation(line, first + 1, name, bare, header)? })
        };
        let layer = Layer {
            name: line.fields[0].to_owned(),
            forward: phase(2, "forward", Group::Tp)?,
            input_gradient: phase(5, "input_gradient", Group::Tp)?,
            weight_gradient: phase(8, "weight_gradient", Group::Dp)?,
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

/// The operation, whose bytes are in the next column. That of no bytes is none.
fn operation(
    line: &Line<'_>,
    index: usize,
    name: &str,
    bare: Group,
    header: &Header,
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
            "" => bare,
            "_EP" => Group::Ep,
            "_DP_EP" => Group::DpEp,
            _ => return None,
        };
        Some((collective, group))
    });
    let Some((collective, group)) = found else {
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
    let without = match header.policy {
        Policy::Data | Policy::Micro => bare == Group::Tp,
        Policy::Model => bare == Group::Dp,
        Policy::Transformer | Policy::TransformerFwdInBckwd | Policy::Dlrm | Policy::DlrmEnhanced => false,
    };
    if without && bytes > 0 {
        return Err(
            line.error(format!("{name}_comm is {text}, which this policy does not execute; write NONE"))
        );
    }
    let is_transformer = header.policy.is_transformer();
    if !is_transformer && group != bare {
        return Err(line.error(format!("{name}_comm is {text}, but this policy has no such groups")));
    }
    let group = if is_transformer { group } else { Group::All };
    Ok((bytes > 0).then_some(Operation { collective, group, bytes }))
}
