//! Jobs that were recorded, or written for other simulators.

use super::job::{library, settings};
use crate::formats::chakra::{self, AllGatherSize, Control, CpuCommunication, Loose, Missing, Order};
use crate::formats::{self, goal, simai};
use crate::job::Program;
use crate::spec::{Complaint, Component, Kind, Values, param};

/// What a scenario can write as `arrivals`.
pub const GOAL: Component = Component {
    section: "arrivals",
    kind: "goal",
    doc: "A schedule in GOAL, as text or packed by LogGOPSim's txt2bin. Operations of one cpu are executed one at a \
          time; a send holds it for send_cost, and a receive for receive_cost once its message is there. Messages of one \
          sender and tag are received in the order in which they were sent. The numbers after nic are not used.",
    source: "Hoefler et al., LogGOPSim 2010",
    params: &[
        &[
            param! { required "file": Kind::Text, "The file.", "packetloom" },
            param! {
                "unit" = "1ns": Kind::Time,
                "The time of one unit of calc.", "LogGOPSim's defaults are in ns"
            },
            param! {
                "eager": Kind::Bytes,
                "LogGOPS's S: a send of more bytes ends when its receiver has confirmed, by a message of 1 B, \
                      that a receive took the message. Left out: a send ends when it is handed to the transport.",
                "Hoefler et al., LogGOPSim 2010, where that word takes no time"
            },
        ],
        settings::PLACEMENT_PARAMS,
        settings::ALGORITHM_PARAMS,
    ],
    check: settings::check,
};

/// What a scenario can write as `arrivals`.
pub const CHAKRA: Component = Component {
    section: "arrivals",
    kind: "chakra",
    doc: "Chakra execution traces, a file for each rank: PREFIX.0.et and so on, packed by gzip or not, or PREFIX.0.json. \
          A rank's CPU, its GPU's computation and its GPU's communication each execute one node at a time: of those \
          that are ready, the one with the lowest id. A send lasts until its sender knows that the message has \
          arrived.",
    source: "MLCommons Chakra; astra-sim",
    params: &[
        &[
            param! {
                required "files": Kind::Text,
                "The files' common prefix: what stands before .0.et.", "packetloom"
            },
            param! {
                "groups": Kind::Text,
                "A JSON file of process groups, {\"0\": [0, 1]}, where the traces name groups and do not say who is in \
                      them.",
                "astra-sim's comm-group-configuration"
            },
            param! {
                "is_cpu_op" = "false": Kind::Flag,
                "Whether a node without this attribute is executed by the CPU.",
                "Chakra's feeder; the default of some versions is true"
            },
            param! {
                "all_gather_size" = "per-rank": Kind::Choice(&["per-rank", "total"]),
                "Whether the size of an all-gather is what each rank has before, or afterwards.",
                "astra-sim (Ring.cc, HalvingDoubling.cc) and Chakra's converter: per-rank; the schema leaves it open"
            },
            param! {
                "cpu_communication" = "refuse": Kind::Choice(&["refuse", "compute"]),
                "What happens to communication nodes that are marked as the CPU's: they are refused, or take their recorded duration.",
                "astra-sim refuses it"
            },
            param! {
                "control" = "follow": Kind::Choice(&["follow", "ignore"]),
                "Whether dependencies by control are followed.",
                "astra-sim follows them; Chakra's feeder does not"
            },
            param! {
                "missing" = "refuse": Kind::Choice(&["refuse", "drop"]),
                "How dependencies on missing nodes are treated.", "packetloom"
            },
            param! {
                "repair" = "refuse": Kind::Choice(&["refuse", "chain-streams", "keep"]),
                "How GPU nodes are treated on which nothing depends although their stream continues. They are refused; or each node depends on the one before it on its stream; or they are left alone.",
                "Chakra's issue 215"
            },
            param! {
                "order_nodes" = "file": Kind::Choice(&["file", "start"]),
                "In which order a rank takes part in the collective operations of a group: as in its file, or by \
                      start time.",
                "packetloom"
            },
        ],
        library::PARAMS,
        settings::PLACEMENT_PARAMS,
        settings::ALGORITHM_PARAMS,
    ],
    check: settings::check,
};

/// What a scenario can write as `arrivals`.
pub const SIMAI: Component = Component {
    section: "arrivals",
    kind: "simai",
    doc: "A workload of SimAI: layers with what they compute and exchange, forward and backward.",
    source: "SimAI, NSDI 2025",
    params: &[
        &[
            param! { required "file": Kind::Text, "The file.", "packetloom" },
            param! {
                "ranks": Kind::Count(2),
                "How many ranks there are, where the file does not say all_gpus.", "packetloom"
            },
            param! {
                "ranks_per_package": Kind::Count(1),
                "Where the policy is HYBRID_DATA_MODEL, HYBRID_MODEL_DATA or HYBRID_CUSTOMIZED: how many ranks are \
                      in a package, which the file does not say. Ranks whose numbers follow each other are in the same.",
                "the first dimension of ASTRA-sim's network"
            },
            param! {
                "passes" = "1": Kind::Count(1),
                "How many passes over the layers are made.", "SimAI's --num-passes"
            },
        ],
        library::PARAMS,
        settings::PLACEMENT_PARAMS,
        settings::ALGORITHM_PARAMS,
    ],
    check: settings::check,
};

/// The program of a trace, and what it is in words.
///
/// # Errors
/// What is wrong with the files, by its key.
pub fn program(values: &Values) -> Result<(Program, String), Complaint> {
    let file = values.text(if values.kind == "chakra" { "files" } else { "file" });
    let mut left_out = String::new();
    let program = match values.kind.as_str() {
        "goal" => {
            let options = goal::Options { unit: values.time("unit") };
            formats::read_bytes(&file, |content| goal::read(content, &options))?
        }
        "simai" => {
            let small = |key: &'static str| {
                let small = |count: u64| {
                    u32::try_from(count)
                        .map_err(|_| Complaint::new(key, format!("write {} at most", u32::MAX)))
                };
                values.optional_count(key).map(small).transpose()
            };
            let (ranks, ranks_per_package) = (small("ranks")?, small("ranks_per_package")?);
            let passes = small("passes")?.unwrap_or(1);
            let options = simai::Options { ranks, ranks_per_package, passes, ..simai::Options::default() };
            formats::read(&file, |text| simai::read(text, &options))?
        }
        _ => {
            let groups = values.optional_text("groups");
            let (program, report) = chakra::read_files(&file, groups.as_deref(), &chakra_options(values))?;
            left_out = report.left_out();
            program
        }
    };
    let mut what = format!("{file}: {} ranks, {} operations", program.ranks.len(), program.operations());
    if !left_out.is_empty() {
        what = format!("{what}; {left_out}");
    }
    Ok((program, what))
}

fn chakra_options(values: &Values) -> chakra::Options {
    chakra::Options {
        is_cpu_op: values.flag("is_cpu_op"),
        all_gather_size: values.meaning(
            "all_gather_size",
            &[("per-rank", AllGatherSize::PerRank), ("total", AllGatherSize::Total)],
        ),
        cpu_communication: values.meaning(
            "cpu_communication",
            &[("refuse", CpuCommunication::Refuse), ("compute", CpuCommunication::Compute)],
        ),
        control: values.meaning("control", &[("follow", Control::Follow), ("ignore", Control::Ignore)]),
        missing: values.meaning("missing", &[("refuse", Missing::Refuse), ("drop", Missing::Drop)]),
        loose: values.meaning(
            "repair",
            &[("refuse", Loose::Refuse), ("chain-streams", Loose::ChainStreams), ("keep", Loose::Keep)],
        ),
        order: values.meaning("order_nodes", &[("file", Order::File), ("start", Order::Start)]),
    }
}
