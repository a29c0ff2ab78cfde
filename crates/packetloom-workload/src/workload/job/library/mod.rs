//! Libraries that decide how collective operations are carried out.

mod call;
mod component;
pub mod modelled;
#[cfg(test)]
pub mod tests;

pub use call::{Call, HopCosts};
pub use component::COMPONENTS;

use super::pattern::Pattern;
use super::pattern::nccl::{
    Halves, Pairing, SWITCHED_LANES, Switched, pairs, pat, pipelines, rings, switched, trees,
};
use super::settings::Site;
use super::threads::Threads;
use crate::job::Collective;
use crate::narrow::{exact, saturated};
use crate::nccl::{
    ALGORITHMS, Algorithm, Choice, Cpu, Generation, Graphs, Inside, Machine, PROTOCOLS, Parts, Pieces,
    Protocol, Switching, Wishes, call_us, channels_per_peer, choose, ring_hop_us, threads_gbytes,
};
use crate::spec::{Complaint, Kind, Needs, Param, Values, param};
use crate::units::{Rate, Time};
use crate::workload::Wire;
use call::of_us;

/// Who carries out a workload's collective operations.
pub const PARAMS: &[Param] = &[param! {
    "library" = "plain": Kind::Component("library"),
    "Who decides how collective operations are carried out.", "packetloom"
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
    nvlinks: Option<u32>,
    nics: Option<u32>,
    nic_gbytes: f64,
    wishes: Wishes,
    has_nvls: bool,
    has_pat: bool,
    channels: (u32, u32),
    is_modelled: bool,
    pxn: bool,
    has_grants: bool,
    /// What is written of costs: of a call, of a message between servers and inside.
    written: [Option<Time>; 3],
    channel_rate: Option<Rate>,
    /// Whether there are nodes in servers' switches that reduce.
    has_nodes: bool,
    /// What the empty network takes.
    wire: Wire,
}

/// The lanes of an operation.
pub struct Lanes {
    /// Their patterns, one after the other.
    pub patterns: Vec<Box<dyn Pattern>>,
    /// How many.
    pub lanes: u32,
    /// The bytes of each.
    pub bytes: LaneBytes,
}

/// Which bytes a lane has of an operation's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneBytes {
    /// One of so many parts; so many lanes beside each other have the same.
    Part(u32, u32),
    /// So many, whatever the whole.
    Each(u64),
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
            nvlinks: library.optional_count_u32("nvlinks"),
            nics: library.optional_count_u32("nics"),
            nic_gbytes: rate.as_bps() as f64 / 8e9,
            wishes: Wishes {
                algorithm: named("algorithm").and_then(algorithm),
                protocol: named("protocol").and_then(protocol),
            },
            has_nvls: library.flag("nvls") && generation >= Generation::Hopper && inside == Inside::NvLink,
            has_pat: library.flag("pat"),
            channels: (library.count_u32("min_channels"), library.count_u32("max_channels")),
            is_modelled: library.text("mode") == "tuner",
            pxn: library.flag("pxn"),
            has_grants: library.flag("clear_to_send"),
            written: ["call_cost", "network_cost", "inside_cost"].map(|key| library.optional_time(key)),
            channel_rate: library.optional_rate("channel_rate"),
            has_nodes: !site.nodes.is_empty() && values.optional_count("server").is_none(),
            wire: site.wire,
        }))
    }

    /// What the library knows of ranks on so many servers, equally many on each.
    pub fn machine(&self, ranks: u32, servers: u32) -> Machine {
        let (min_channels, max_channels) = self.channels;
        Machine {
            generation: self.generation,
            cpu: self.cpu,
            inside: self.inside,
            nvlinks: self.nvlinks,
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

    /// Whether operations take what the cost model says, and nothing is sent.
    pub fn is_modelled(&self) -> bool {
        self.is_modelled
    }

    /// Whether nodes in servers' switches may take part in its operations.
    pub fn has_nodes(&self) -> bool {
        self.has_nodes && self.has_nvls && !self.is_modelled
    }

    /// Whether receivers on other servers grant buffers by messages.
    pub fn has_grants(&self) -> bool {
        self.has_grants && !self.is_modelled
    }

    /// What accelerators' threads do for the messages of an operation, if that is known; the server of each place.
    pub fn threads(&self, call: &Call, servers: &[u32]) -> Option<Threads> {
        let own = || {
            let algorithm = call.best.map(|best| best.algorithm);
            let named = PROTOCOLS.iter().find(|(name, _)| *name == call.protocol);
            threads_gbytes(&call.machine, algorithm, named?.1)
        };
        let rate = || own().map(|gbytes| Rate(saturated::<u64>((gbytes * 8e9).round())));
        let rate = self.channel_rate.or_else(rate).filter(|_| !self.is_modelled)?;
        Some(Threads {
            rate,
            are_fenced: call.protocol == Protocol::Simple.name(),
            mib_inside: Time(self.wire.mib_inside.as_ps() * u64::from(call.channels)),
            servers: servers.to_vec(),
        })
    }

    /// How it carries out an operation on so many bytes.
    ///
    /// # Errors
    /// Why it can't.
    pub fn call(&self, operation: Collective, bytes: u64, machine: Machine) -> Result<Call, String> {
        let name = operation.name();
        match operation {
            Collective::Barrier => {
                let message =
                    "NCCL has no barrier; write an all-reduce of a few bytes, or library = \"plain\"";
                return Err(message.to_owned());
            }
            Collective::AllToAll if self.is_modelled => {
                return Err(format!(
                    "NCCL's cost model (mode = \"tuner\") has no {name}; write mode = \"packets\", or library = \"plain\""
                ));
            }
            Collective::AllToAll => return Ok(self.exchange(bytes, machine)),
            _ => {}
        }
        let choice = choose(operation, bytes, self.wishes, &machine, &Graphs::of(&machine));
        let Choice { best, next, channels } = choice.ok_or_else(|| {
            let wished = |name: Option<&'static str>| name.unwrap_or("auto");
            format!(
                "NCCL has no {name} among {} ranks on {} servers by algorithm {:?} and protocol {:?}; write \"auto\" for both",
                machine.ranks,
                machine.servers,
                wished(self.wishes.algorithm.map(Algorithm::name)),
                wished(self.wishes.protocol.map(Protocol::name)),
            )
        })?;
        if is_switched(best.algorithm) && !self.is_modelled && !self.has_nodes {
            return Err(format!(
                "NCCL would carry out this {name} by {}, which mode = \"packets\" has where switches in servers reduce (topology.reduction); write that, or nvls = false, an algorithm, or mode = \"tuner\"",
                best.algorithm.name()
            ));
        }
        Ok(Call {
            algorithm: best.algorithm.name(),
            protocol: best.protocol.name(),
            channels,
            best: Some(best),
            next,
            parts: None,
            machine,
            costs: self.costs(&machine, (best.algorithm, best.protocol)),
        })
    }

    /// Sends and receives of all pairs.
    fn exchange(&self, bytes: u64, machine: Machine) -> Call {
        let channels = Graphs::of(&machine).channels.next_power_of_two();
        let inside = (machine.servers == 1).then_some(machine.inside);
        let gbytes = saturated::<u32>(machine.nic_gbytes.floor());
        let each = match inside {
            // src/graph/paths.cc: twice the NVLinks between two, which a switch has for all; two by PCIe.
            Some(Inside::NvLink) => channels,
            Some(Inside::Pcie) => 2.min(channels),
            None => channels_per_peer(channels, machine.ranks, gbytes),
        };
        let to_each = bytes.div_ceil(u64::from(machine.ranks));
        let parts = Parts::of(to_each, machine.ranks, (each, channels), inside);
        let protocol = if parts.is_ll { Protocol::Ll } else { Protocol::Simple };
        Call {
            algorithm: "pairs",
            protocol: protocol.name(),
            channels,
            best: None,
            next: None,
            parts: Some(parts),
            machine,
            costs: self.costs(&machine, (Algorithm::Ring, protocol)),
        }
    }

    /// What hosts take: what the cost model has for a hop, less what the network takes anyway; or what is written.
    fn costs(&self, machine: &Machine, (algorithm, protocol): (Algorithm, Protocol)) -> HopCosts {
        let (mut inside, network) = ring_hop_us(machine, algorithm, protocol);
        if is_switched(algorithm) {
            // Half of it until a head has the sum, half until all have it; on the wire each half is twice a neighbour's.
            inside = inside / 2.0 - self.wire.inside.as_secs_f64() * 1e6;
        }
        let [call, by_network, by_inside] = self.written;
        HopCosts {
            call: call.unwrap_or(of_us(call_us(machine, algorithm, protocol))),
            network: by_network.unwrap_or(of_us(network).since(self.wire.nearest)),
            inside: by_inside.unwrap_or(of_us(inside.max(0.0)).since(self.wire.inside)),
        }
    }

    /// What the channels of an operation send.
    ///
    /// # Errors
    /// Where ranks do not fill servers.
    pub fn lanes(&self, operation: Collective, bytes: u64, call: &Call) -> Result<Lanes, String> {
        let Machine { ranks, servers, nics, .. } = call.machine;
        let (shape, channels) = ((ranks, ranks / servers), call.channels);
        if let Some(parts) = call.parts {
            let to_each = bytes.div_ceil(u64::from(ranks));
            let pxn = self.pxn && servers > 1 && shape.1 > 1 && call.machine.inside == Inside::NvLink;
            let patterns = pairs(Pairing { ranks, server: shape.1, bytes: to_each, channels, parts, pxn });
            let lanes = exact::<u32>(patterns.len());
            return Ok(Lanes { patterns, lanes, bytes: LaneBytes::Each(to_each) });
        }
        let how =
            call.best.map_or((Algorithm::Ring, Protocol::Simple), |best| (best.algorithm, best.protocol));
        if is_switched(how.0) {
            return Ok(by_switches(operation, bytes, (how.0, channels), &call.machine));
        }
        let pieces = Pieces::of(operation, how, (bytes, channels), (ranks, servers));
        let each = (bytes.div_ceil(u64::from(channels)), pieces);
        if how.0 == Algorithm::Tree {
            let patterns = trees(shape, nics, channels, each);
            return Ok(Lanes { patterns, lanes: 2 * channels, bytes: LaneBytes::Part(channels, 2) });
        }
        let patterns = match operation {
            _ if how.0 == Algorithm::Pat => vec![pat(operation, ranks, each)],
            Collective::AllReduce => rings(shape, nics, 2, each)?,
            Collective::Broadcast => pipelines(shape, nics, false, each)?,
            Collective::Reduce => pipelines(shape, nics, true, each)?,
            _ => rings(shape, nics, 1, each)?,
        };
        Ok(Lanes { patterns, lanes: channels, bytes: LaneBytes::Part(channels, 1) })
    }
}

/// Whether switches in servers reduce, or multicast.
fn is_switched(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree)
}

/// What the channels of such an operation send.
fn by_switches(
    operation: Collective,
    bytes: u64,
    (algorithm, channels): (Algorithm, u32),
    machine: &Machine,
) -> Lanes {
    let (ranks, servers, server) = (machine.ranks, machine.servers, machine.local());
    let heads = if servers > 1 { machine.nics.min(server) } else { server };
    let most = Switching::of(machine);
    let pieces = Pieces::switched(algorithm == Algorithm::NvlsTree, bytes, (channels, heads), most);
    let halves = Halves {
        reduces: operation != Collective::AllGather,
        multicasts: operation != Collective::ReduceScatter,
    };
    let parts = channels * heads;
    let all = Switched { ranks, server, heads, channels, halves };
    let patterns = switched(all, (bytes.div_ceil(u64::from(parts)), pieces));
    Lanes { patterns, lanes: SWITCHED_LANES * parts, bytes: LaneBytes::Part(parts, SWITCHED_LANES) }
}
