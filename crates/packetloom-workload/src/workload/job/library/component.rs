//! What a scenario can write as `library`.

use crate::spec::{Complaint, Component, Kind, Needs, Param, Values, anything, param};

const TUNING: &str = "NCCL 2.30.7, src/graph/tuning.cc";

/// Who carries out collective operations.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "library",
        kind: "plain",
        doc: "The workload's own parameters say how collective operations are carried out.",
        source: "packetloom",
        params: &[],
        check: anything,
    },
    Component {
        section: "library",
        kind: "nccl",
        doc: "NCCL chooses algorithm, protocol and channels of each operation by its cost model, from the accelerators, NICs and servers of the ranks. `packetloom check` says what it chooses, and why.",
        source: "NVIDIA/nccl 2.30.7 (5067397c)",
        params: &[PARAMS],
        check,
    },
];

const PARAMS: &[Param] = &[
    param! {
        "mode" = "packets": Kind::Choice(&["packets", "tuner"]),
        "\"packets\": channels send their chunks in slices, with at most eight steps of a connection under way. Operations use rings, trees, PAT, switches in servers that reduce (the topology's reduction), and pairs in the library's order. \"tuner\": nothing is sent. An operation takes the cost model's time from the moment when its last rank has begun. All-to-all and sends are not in the model, and are refused.",
        "NCCL 2.30.7, src/enqueue.cc: calcCollChunking; src/graph/tuning.cc: ncclTopoGetAlgoTime"
    },
    param! {
        "generation" = "hopper": Kind::Choice(&["volta", "ampere", "hopper", "blackwell"]),
        "The accelerators, by whose generation the library's constants differ: V100, A100, H100 and H200, B200.",
        TUNING
    },
    param! {
        "cpu" = "intel": Kind::Choice(&["intel", "amd", "arm"]),
        "Who made the servers' CPUs: with AMD's, the library counts twice as long for posting to the network, \
              and less bandwidth for LL.",
        "NCCL 2.30.7, src/graph/tuning.cc: getNetOverhead, llMaxBws"
    },
    param! {
        "inside" = "nvlink": Kind::Choice(&["nvlink", "pcie"]),
        "What joins the accelerators of a server. How fast NVLink is follows from the generation.",
        "NCCL 2.30.7, src/graph/topo.h: SM90_NVLINK_BW and its kin, PCI_BW"
    },
    param! {
        "nvlinks": Kind::Count(1),
        "How many NVLinks an accelerator has to the others of an operation, as the cost model sees them; packets \
              take the topology's. Left out: all of its generation (6, 12, 18, 18). Without switches, fewer ranks have fewer.",
        "NCCL 2.30.7, src/graph/topo.h; the accelerators' data sheets"; acts &[Needs::Is("inside", &["nvlink"])]
    },
    param! {
        "nics": Kind::Count(1),
        "How many NICs of a server an operation uses, each at the rate of a host's. Left out: one for each rank \
              there.",
        "packetloom"
    },
    param! {
        "algorithm" = "auto": Kind::Choice(&["auto", "tree", "ring", "nvls", "nvls-tree", "pat"]),
        "The only algorithm that may be chosen.", "NCCL_ALGO"
    },
    param! {
        "protocol" = "auto": Kind::Choice(&["auto", "ll", "ll128", "simple"]),
        "The only protocol that may be chosen.", "NCCL_PROTO"
    },
    param! {
        "min_channels" = "1": Kind::Count(1),
        "The least number of channels, as far as an operation's size fills them.", "NCCL_MIN_NCHANNELS"
    },
    param! {
        "max_channels" = "64": Kind::Count(1),
        "The greatest number of channels.", "NCCL_MAX_NCHANNELS; MAXCHANNELS of src/include/device.h"
    },
    param! {
        "nvls" = "true": Kind::Flag,
        "Switches inside servers reduce and multicast, from Hopper on, where there is NVLink.",
        "NCCL_NVLS_ENABLE"; acts &[Needs::Is("generation", &["hopper", "blackwell"]), Needs::Is("inside", &["nvlink"])]
    },
    param! {
        "pat" = "true": Kind::Flag,
        "All-gather and reduce-scatter may take PAT where each server has one rank.", "NCCL_PAT_ENABLE"
    },
    param! {
        "pxn" = "true": Kind::Flag,
        "What an all-to-all sends to another server goes over NVLink to the neighbour on the receiver's rail first, \
              which passes it on by its own NIC.",
        "NCCL_PXN_DISABLE"; acts &[PACKETS, Needs::Is("inside", &["nvlink"])]
    },
    param! {
        "call_cost": Kind::Time,
        "The time before a rank begins an operation: the launch, and the other costs of a call. Left out: the \
              cost model's base latency of the algorithm and protocol.",
        "NCCL 2.30.7, src/graph/tuning.cc: baseLatencies; of sends, which it has not, a ring's"; acts &[PACKETS]
    },
    param! {
        "network_cost": Kind::Time,
        "The time from the arrival of a message from another server until the accelerator has passed it on: \
              proxy, flags, and the accelerator's own work. Left out: the cost model's latency of a hop between \
              servers, less the time of a byte to the nearest host of another server, which the network adds itself.",
        "NCCL 2.30.7, src/graph/tuning.cc: hwLatencies"; acts &[PACKETS]
    },
    param! {
        "inside_cost": Kind::Time,
        "The same as network_cost for a message from the same server, less the time of a byte to a neighbour.",
        "NCCL 2.30.7, src/graph/tuning.cc: hwLatencies, and what posting takes in rings among servers"; acts &[PACKETS]
    },
    param! {
        "clear_to_send" = "false": Kind::Flag,
        "A receiver on another server grants each buffer by a message of 64 B, once its content is passed on. The first eight steps of an operation are granted before it. If false, a buffer is free again when its message is acknowledged.",
        "NCCL 2.30.7, src/transport/net_ib: the FIFO that a receiver writes into its sender's memory"; acts &[PACKETS]
    },
    param! {
        "channel_rate": Kind::Rate,
        "The greatest rate at which an accelerator's threads move the data of a channel: they send, pass on or take one piece after the other. Left out: the library's own bound by generation and protocol (Hopper with Simple: 38.7 GB/s, half of it for each direction of trees and pairs). Switches that reduce have none then.",
        "NCCL 2.30.7, src/graph/tuning.cc: perChMaxTreeBws, perChMaxRingLL128Bws, perChMaxTreeLL128Bws, llMaxBws"; acts &[PACKETS]
    },
];

/// What costs of messages need.
const PACKETS: Needs = Needs::Is("mode", &["packets"]);

/// More channels there are not (MAXCHANNELS).
const MOST_CHANNELS: u64 = 64;
/// A ring for each, and no more rings there are.
const MOST_NICS: u64 = 32;

fn check(values: &Values) -> Result<(), Complaint> {
    for key in ["min_channels", "max_channels"] {
        if values.count(key) > MOST_CHANNELS {
            return Err(Complaint::new(key, format!("write {MOST_CHANNELS} at most")));
        }
    }
    if values.optional_count("nics").is_some_and(|nics| nics > MOST_NICS) {
        return Err(Complaint::new("nics", format!("write {MOST_NICS} at most")));
    }
    if values.count("min_channels") > values.count("max_channels") {
        return Err(Complaint::new("min_channels", "is more than max_channels; write fewer"));
    }
    let [algorithm, protocol, generation, inside] =
        ["algorithm", "protocol", "generation", "inside"].map(|key| values.text(key));
    let is_simple_only = ["nvls", "nvls-tree", "pat"].contains(&algorithm.as_str());
    if is_simple_only && !["auto", "simple"].contains(&protocol.as_str()) {
        let message = format!("{algorithm} has Simple alone; write \"simple\" or \"auto\"");
        return Err(Complaint::new("protocol", message));
    }
    if protocol == "ll128" && inside == "pcie" {
        let message = "the library takes LL128 over NVLink only; write \"ll\", \"simple\" or \"auto\"";
        return Err(Complaint::new("protocol", message));
    }
    if algorithm.starts_with("nvls") {
        let has_switches = ["hopper", "blackwell"].contains(&generation.as_str()) && inside == "nvlink";
        if !has_switches {
            let message = "switches reduce from \"hopper\" on, over \"nvlink\"; write \"ring\" or \"tree\"";
            return Err(Complaint::new("algorithm", message));
        }
        if !values.flag("nvls") {
            return Err(Complaint::new("nvls", format!("algorithm = {algorithm:?} needs it; write true")));
        }
    }
    if algorithm == "pat" && !values.flag("pat") {
        return Err(Complaint::new("pat", "algorithm = \"pat\" needs it; write true"));
    }
    Ok(())
}
