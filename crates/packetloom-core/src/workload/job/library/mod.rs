//! Libraries that decide how collective operations are carried out.

mod call;
mod component;
pub mod modelled;
#[cfg(test)]
mod tests;

pub use call::Call;
pub use component::COMPONENTS;

use super::settings::Site;
use crate::job::Collective;
use crate::nccl::{
    ALGORITHMS, Algorithm, Choice, Cpu, Generation, Graphs, Inside, Machine, PROTOCOLS, Protocol, Wishes,
    choose,
};
use crate::spec::Fallback::Value as Default;
use crate::spec::{ALWAYS, Complaint, Kind, Needs, Param, Values};

/// Who carries out a workload's collective operations.
pub const PARAMS: &[Param] = &[Param {
    name: "library",
    kind: Kind::Component("library"),
    default: Default("plain"),
    doc: "Who decides how collective operations are carried out.",
    source: "packetloom",
    acts: ALWAYS,
}];

/// What the workload's own parameters for collective operations need.
pub const PLAIN: Needs = Needs::That(
    |site| library_of(site.own).is_none(),
    "the library decides that, and has parameters of its own (`packetloom explain library/nccl`)",
);

/// What costs of messages need.
pub const SENT: Needs = Needs::That(
    |site| library_of(site.own).is_none_or(|library| library.text("mode") != "tuner"),
    "the library's cost model (mode = \"tuner\") has no messages",
);

/// The library of a job's values, if it is not plain.
pub fn library_of(values: &Values) -> Option<Values> {
    values.part("library").filter(|library| library.kind != "plain")
}

/// NCCL, as a scenario has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Nccl {
    generation: Generation,
    cpu: Cpu,
    inside: Inside,
    nics: Option<u32>,
    nic_gbytes: f64,
    wishes: Wishes,
    has_nvls: bool,
    has_pat: bool,
    channels: (u32, u32),
}

impl Nccl {
    /// From a job's values.
    ///
    /// # Errors
    /// What can't be, by its key.
    pub fn of(values: &Values, site: &Site<'_>) -> Result<Option<Nccl>, Complaint> {
        let Some(library) = library_of(values) else { return Ok(None) };
        for key in ["channels", "chunks"] {
            if values.count(key) > 1 {
                let message = "the library decides that; leave this out, or write library.min_channels";
                return Err(Complaint::new(key, message));
            }
        }
        let rate = site.rate.ok_or_else(|| {
            let message =
                "hosts are connected at several rates, and the library knows of one; write \"plain\"";
            Complaint::new("library", message)
        })?;
        let generation = library.meaning(
            "generation",
            &[
                ("volta", Generation::Volta),
                ("ampere", Generation::Ampere),
                ("hopper", Generation::Hopper),
                ("blackwell", Generation::Blackwell),
            ],
        );
        let inside = library.meaning("inside", &[("nvlink", Inside::NvLink), ("pcie", Inside::Pcie)]);
        let named = |key| Some(library.text(key)).filter(|name| name != "auto");
        let algorithm =
            |name: String| ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, one)| *one);
        let protocol = |name: String| PROTOCOLS.iter().find(|(known, _)| *known == name).map(|(_, one)| *one);
        Ok(Some(Nccl {
            generation,
            cpu: library.meaning("cpu", &[("intel", Cpu::Intel), ("amd", Cpu::Amd), ("arm", Cpu::Arm)]),
            inside,
            nics: library.optional_count_u32("nics"),
            nic_gbytes: rate.as_bps() as f64 / 8e9,
            wishes: Wishes {
                algorithm: named("algorithm").and_then(algorithm),
                protocol: named("protocol").and_then(protocol),
            },
            has_nvls: library.flag("nvls") && generation >= Generation::Hopper && inside == Inside::NvLink,
            has_pat: library.flag("pat"),
            channels: (library.count_u32("min_channels"), library.count_u32("max_channels")),
        }))
    }

    /// What the library knows of ranks on so many servers, equally many on each.
    pub fn machine(&self, ranks: u32, servers: u32) -> Machine {
        let (min_channels, max_channels) = self.channels;
        Machine {
            generation: self.generation,
            cpu: self.cpu,
            inside: self.inside,
            ranks,
            servers,
            nics: self.nics.unwrap_or(ranks / servers),
            nic_gbytes: self.nic_gbytes,
            has_nvls: self.has_nvls,
            has_pat: self.has_pat,
            min_channels,
            max_channels,
        }
    }

    /// How it carries out an operation on so many bytes.
    ///
    /// # Errors
    /// Why it can't.
    pub fn call(&self, operation: Collective, bytes: u64, machine: Machine) -> Result<Call, String> {
        let name = operation.name();
        if matches!(operation, Collective::Barrier | Collective::AllToAll) {
            return Err(format!(
                "NCCL's cost model (mode = \"tuner\") has no {name}; write library = \"plain\" for this workload"
            ));
        }
        let choice = choose(operation, bytes, self.wishes, &machine, &Graphs::of(&machine));
        let choice: Choice = choice.ok_or_else(|| {
            let wished = |name: Option<&'static str>| name.unwrap_or("any");
            format!(
                "NCCL has no {name} among {} ranks on {} servers by algorithm {:?} and protocol {:?}; write \"auto\" for one of them",
                machine.ranks,
                machine.servers,
                wished(self.wishes.algorithm.map(Algorithm::name)),
                wished(self.wishes.protocol.map(Protocol::name)),
            )
        })?;
        Ok(Call { choice, machine })
    }
}
