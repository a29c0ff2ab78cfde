//! The first line: the policy, and the degrees of parallelism.

use super::super::FileError;
use super::super::fields::Line;
use super::Options;
use super::layer::Group;
use std::collections::{BTreeMap, BTreeSet};

/// Which operations there are, and what waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `DATA`.
    Data,
    /// `MODEL`.
    Model,
    /// `MICRO`.
    Micro,
    /// `HYBRID_TRANSFORMER`.
    Transformer,
    /// `HYBRID_TRANSFORMER_FWD_IN_BCKWD`.
    TransformerFwdInBckwd,
    /// `HYBRID_DLRM`.
    Dlrm,
    /// `HYBRID_DLRM_ENHANCED`.
    DlrmEnhanced,
    /// `HYBRID_DATA_MODEL`.
    HybridDataModel,
    /// `HYBRID_MODEL_DATA`.
    HybridModelData,
    /// `HYBRID_CUSTOMIZED`.
    HybridCustomized,
    /// `DISTRIBUTED_INFERENCE`.
    DistributedInference,
}

/// Among whom the operations of each phase are that name no group; nobody where they are not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Among {
    pub(super) forward: Option<Group>,
    pub(super) input_gradient: Option<Group>,
    pub(super) weight_gradient: Option<Group>,
}

impl Policy {
    /// The policy of this name.
    pub(super) fn named(name: &str) -> Option<Policy> {
        POLICIES.iter().find(|(known, _)| *known == name).map(|&(_, policy)| policy)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        POLICIES.iter().find(|(_, policy)| *policy == self).map_or("", |(name, _)| name)
    }

    /// Among whom its operations are.
    pub(super) fn among(self) -> Among {
        let all = Some(Group::All);
        let (forward, input_gradient, weight_gradient) = match self {
            Policy::Data | Policy::Micro => (None, None, all),
            Policy::Model => (all, all, None),
            Policy::DistributedInference => (all, None, None),
            Policy::Dlrm | Policy::DlrmEnhanced => (all, all, all),
            Policy::HybridDataModel => (Some(Group::Package), Some(Group::Package), Some(Group::Across)),
            Policy::HybridModelData => (Some(Group::Across), Some(Group::Across), Some(Group::Package)),
            // Each of its layers has a policy of its own.
            Policy::HybridCustomized => (None, None, None),
            Policy::Transformer | Policy::TransformerFwdInBckwd => {
                (Some(Group::Tp), Some(Group::Tp), Some(Group::Dp))
            }
        };
        Among { forward, input_gradient, weight_gradient }
    }

    /// Whether layers with it are divided into packages.
    pub(super) fn is_by_packages(self) -> bool {
        matches!(self, Policy::HybridDataModel | Policy::HybridModelData)
    }

    /// Whether it has layers of tables below those that are computed.
    pub(super) fn is_dlrm(self) -> bool {
        matches!(self, Policy::Dlrm | Policy::DlrmEnhanced)
    }

    /// Whether it has degrees of parallelism.
    pub(super) fn is_transformer(self) -> bool {
        matches!(self, Policy::Transformer | Policy::TransformerFwdInBckwd)
    }

    /// Whether more ranks are more copies of the same model.
    fn is_by_data(self) -> bool {
        self.is_transformer() || self == Policy::Data
    }

    /// Whether a key of the first line means something to it.
    fn takes(self, key: &str) -> bool {
        match key {
            "all_gpus:" => true,
            LAST_BOTTOM => self.is_dlrm(),
            _ => self.is_transformer(),
        }
    }
}

const POLICIES: [(&str, Policy); 12] = [
    ("DATA", Policy::Data),
    ("MODEL", Policy::Model),
    ("MICRO", Policy::Micro),
    ("HYBRID_TRANSFORMER", Policy::Transformer),
    ("TRANSFORMER", Policy::Transformer),
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::TransformerFwdInBckwd),
    ("HYBRID_DLRM", Policy::Dlrm),
    ("HYBRID_DLRM_ENHANCED", Policy::DlrmEnhanced),
    ("HYBRID_DATA_MODEL", Policy::HybridDataModel),
    ("HYBRID_MODEL_DATA", Policy::HybridModelData),
    ("HYBRID_CUSTOMIZED", Policy::HybridCustomized),
    ("DISTRIBUTED_INFERENCE", Policy::DistributedInference),
];

/// What the first line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The policy.
    pub policy: Policy,
    /// How many ranks there are.
    pub ranks: u32,
    /// How many ranks are in a package, where that was said.
    pub package: Option<u32>,
    /// Ranks that share a layer's tensors.
    pub tp: u32,
    /// Ranks among which experts are spread, within those with the same data.
    pub ep: u32,
    /// Stages of the pipeline.
    pub pp: u32,
    /// Slices of a pass: micro-batches times the chunks of a stage.
    pub slices: u32,
    /// Bytes of a message between stages.
    pub pp_comm: u64,
    /// From where layers are computed again on the way back.
    pub checkpoints: BTreeSet<usize>,
    /// The layers before which this happens.
    pub initiates: BTreeSet<usize>,
    /// Of DLRM, the last layer that does without what the first one exchanges.
    pub last_bottom: usize,
}

/// The keys of one value each, and those of a list that begins with its length.
const KEYS: [&str; 8] =
    ["model_parallel_NPU_group:", "ep:", "pp:", "vpp:", "ga:", "all_gpus:", "pp_comm:", LAST_BOTTOM];
const LAST_BOTTOM: &str = "DLRM_LAST_BOTTOM_LAYER:";
const LISTS: [&str; 2] = ["checkpoints:", "checkpoint_initiates:"];

#[derive(Default)]
struct Values {
    numbers: BTreeMap<&'static str, u64>,
    lists: BTreeMap<&'static str, BTreeSet<usize>>,
}

impl Header {
    /// Reads the line.
    pub(super) fn read(line: &Line<'_>, options: &Options) -> Result<Header, FileError> {
        let name = line.fields[0];
        let Some(policy) = Policy::named(name) else {
            let known: Vec<_> = POLICIES.iter().map(|(name, _)| *name).collect();
            return Err(line.error(format!("the policy is {name:?}; supported are {}", known.join(", "))));
        };
        let values = Values::read(line)?;
        let given = values.numbers.get("all_gpus:").copied();
        let ranks = match (given, options.ranks) {
            (Some(given), Some(ranks)) if given != u64::from(ranks) && !policy.is_by_data() => {
                return Err(line.error(format!(
                    "all_gpus: is {given}, but ranks is {ranks}, and {name} does not say which ranks have other data; \
                     leave out ranks"
                )));
            }
            (Some(_), Some(ranks)) => Some(ranks),
            (Some(given), None) => u32::try_from(given).ok().filter(|&ranks| ranks > 0),
            (None, Some(ranks)) => Some(ranks),
            (None, None) => return Err(line.error("all_gpus: is missing; write how many ranks there are")),
        };
        let ranks = ranks.ok_or_else(|| line.error("all_gpus: is not from 1 to 4294967295"))?;
        let mut header = Header {
            policy,
            ranks,
            package: options.ranks_per_package,
            tp: 1,
            ep: 1,
            pp: 1,
            slices: 1,
            pp_comm: 0,
            checkpoints: BTreeSet::new(),
            initiates: BTreeSet::new(),
            last_bottom: 0,
        };
        if let Some(key) = values.numbers.keys().chain(values.lists.keys()).find(|key| !policy.takes(key)) {
            return Err(line.error(format!("{key} is not for {name}")));
        }
        if policy.is_transformer() {
            header.transformer(line, values, options)?;
        } else if policy.is_dlrm() {
            let last = values.numbers.get(LAST_BOTTOM).copied();
            let last = last.ok_or_else(|| line.error(format!("{LAST_BOTTOM} is missing")))?;
            header.last_bottom = usize::try_from(last).unwrap_or(usize::MAX);
        }
        header.check_packages(line)?;
        Ok(header)
    }

    fn check_packages(&self, line: &Line<'_>) -> Result<(), FileError> {
        let Some(package) = self.package else {
            return self.needs_packages(self.policy).map_err(|message| line.error(message));
        };
        if !self.policy.is_by_packages() && self.policy != Policy::HybridCustomized {
            let message = format!("{} has no packages; leave out ranks_per_package", line.fields[0]);
            return Err(line.error(message));
        }
        if package == 0 || !self.ranks.is_multiple_of(package) {
            let message = format!("{} ranks are no multiple of ranks_per_package, {package}", self.ranks);
            return Err(line.error(message));
        }
        Ok(())
    }

    /// That packages are known if layers with this policy are divided into them.
    pub(super) fn needs_packages(&self, policy: Policy) -> Result<(), String> {
        if policy.is_by_packages() && self.package.is_none() {
            let name = policy.name();
            return Err(format!(
                "{name} divides ranks into packages, but the file does not say of how many; \
                                write ranks_per_package beside it"
            ));
        }
        Ok(())
    }

    fn transformer(
        &mut self,
        line: &Line<'_>,
        mut values: Values,
        options: &Options,
    ) -> Result<(), FileError> {
        let required = |key: &str| {
            let number = values.numbers.get(key).copied();
            let number = number.ok_or_else(|| line.error(format!("{key} is missing")))?;
            let degree = u32::try_from(number).ok().filter(|&degree| degree > 0);
            degree.ok_or_else(|| line.error(format!("{key} is {number}; write 1 to 4294967295")))
        };
        (self.tp, self.ep, self.pp) =
            (required("model_parallel_NPU_group:")?, required("ep:")?, required("pp:")?);
        let (vpp, ga) = (required("vpp:")?, required("ga:")?);
        self.slices = vpp.checked_mul(ga).ok_or_else(|| line.error("vpp: times ga: is too large"))?;
        let size = u64::from(self.tp).checked_mul(u64::from(self.pp));
        if size.is_none_or(|size| !u64::from(self.ranks).is_multiple_of(size)) {
            let key = if options.ranks.is_some() { "ranks" } else { "all_gpus:" };
            let message = format!("{key} {} is no multiple of {} times pp: {}", self.ranks, self.tp, self.pp);
            return Err(line.error(message));
        }
        if !self.dp().is_multiple_of(self.ep) {
            let message = format!("{} ranks of the same data are no multiple of ep: {}", self.dp(), self.ep);
            return Err(line.error(message));
        }
        self.pp_comm = match (self.pp, values.numbers.get("pp_comm:").copied().unwrap_or(0)) {
            (1, 0) => 0,
            (1, _) => return Err(line.error("pp_comm: with pp: 1, where no stage has another to send to")),
            (_, 0) => {
                return Err(line.error("pp_comm: is missing; write the bytes of a message between stages"));
            }
            (_, bytes) => bytes,
        };
        for (key, list) in LISTS.iter().zip([&mut self.checkpoints, &mut self.initiates]) {
            match (self.policy, values.lists.remove(key)) {
                (Policy::TransformerFwdInBckwd, Some(layers)) => *list = layers,
                (Policy::TransformerFwdInBckwd, None) => return Err(line.error(format!("{key} is missing"))),
                (_, Some(_)) => {
                    return Err(line.error(format!("{key} is for HYBRID_TRANSFORMER_FWD_IN_BCKWD")));
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// How many ranks of a stage have the same part of the tensors.
    pub(super) fn dp(&self) -> u32 {
        self.ranks / self.tp / self.pp
    }

    /// The checkpoint that a layer which initiates goes back to.
    pub(super) fn checkpoint_before(&self, layer: usize) -> Option<usize> {
        self.checkpoints.range(..layer).next_back().copied()
    }

    /// That layers which initiate have a checkpoint to go back to, and none between that initiates too; and that a
    /// layer follows those at the bottom.
    pub(super) fn check_layers(&self, line: &Line<'_>, count: usize) -> Result<(), FileError> {
        if self.policy.is_dlrm() && self.last_bottom.saturating_add(1) >= count {
            return Err(line.error(format!(
                "{LAST_BOTTOM} is {} of {count} layers, which are numbered from 0; one at least has to follow it",
                self.last_bottom
            )));
        }
        if let Some(layer) = self.checkpoints.union(&self.initiates).find(|&&layer| layer >= count) {
            return Err(
                line.error(format!("there is no layer {layer}; they are numbered 0 to {}", count - 1))
            );
        }
        for &layer in &self.initiates {
            let Some(checkpoint) = self.checkpoint_before(layer) else {
                let message = format!("layer {layer} initiates, but no layer before it is a checkpoint");
                return Err(line.error(message));
            };
            if self.checkpoints.contains(&layer) {
                return Err(line.error(format!("layer {layer} initiates and is a checkpoint itself")));
            }
            if let Some(other) = self.initiates.range(checkpoint + 1..layer).next() {
                let message = format!(
                    "layer {layer} initiates from the checkpoint at {checkpoint}, between which layer {other} does so"
                );
                return Err(line.error(message));
            }
        }
        Ok(())
    }
}

impl Values {
    fn read(line: &Line<'_>) -> Result<Values, FileError> {
        let mut values = Values::default();
        let mut index = 1;
        while index < line.fields.len() {
            // AICB writes this one without its colon.
            let key = if line.fields[index] == "pp_comm" { "pp_comm:" } else { line.fields[index] };
            index += 1;
            let mut number = |name: &str| {
                if index == line.fields.len() {
                    return Err(line.error(format!("nothing after {name}; write its value")));
                }
                index += 1;
                line.count::<u64>(index - 1, name)
            };
            let twice = || Err(line.error(format!("{key} is there twice")));
            if let Some(key) = KEYS.into_iter().find(|known| *known == key) {
                if values.numbers.insert(key, number(key)?).is_some() {
                    return twice();
                }
            } else if let Some(key) = LISTS.into_iter().find(|known| *known == key) {
                let count = number(key)?;
                let mut layers = BTreeSet::new();
                for _ in 0..count {
                    layers.insert(usize::try_from(number(key)?).unwrap_or(usize::MAX));
                }
                if values.lists.insert(key, layers).is_some() {
                    return twice();
                }
            } else {
                let known = KEYS.into_iter().chain(LISTS).collect::<Vec<_>>().join(" ");
                return Err(line.error(format!("{key:?} is no key; there are {known}")));
            }
        }
        Ok(values)
    }
}
