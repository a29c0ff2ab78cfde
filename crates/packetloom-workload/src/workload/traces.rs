//! Jobs that were recorded, or written for other simulators.

use super::job::{library, settings};
use crate::formats::chakra::{self, AllGatherSize, Control, CpuCommunication, Loose, Missing, Order};
use crate::formats::{self, goal, simai};
use crate::job::Program;
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Needs, Value, Values, param};
use std::collections::BTreeSet;

const COPIED: &[Needs] =
    &[Needs::That(|site| site.own.count("copies") > 1, "there is one copy of the trace")];

/// What a scenario can write as `arrivals`.
pub const GOAL: Component = Component {
    section: "arrivals",
    kind: "goal",
    doc: "A schedule in GOAL, as text or packed by LogGOPSim's txt2bin. Operations of one cpu are executed one at a \
          time; a send holds it for send_cost, and a receive for receive_cost once its message is there. Messages of one \
          sender and tag are received in the order in which they were sent. The numbers after nic are not used. A \
          schedule has no groups that say which ranks have other data, so it can't be put onto more ranks.",
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
            param! {
                "copies" = "1": Kind::Count(1),
                "How many times as many ranks do the job: each copy of the trace's has the same work with other data. \
                      The ranks of a copy follow those of the one before.",
                "packetloom"
            },
            param! {
                "across": Kind::List(&Kind::Text),
                "With copies: the names of process groups of data parallel ranks, one of each shape; \"all\" is that of \
                      all ranks. Groups of these shapes, and those that consist of such, span all copies, and their \
                      operations keep their sizes. All else stays within a copy.",
                "packetloom"; acts COPIED
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
                "How many ranks there are. Where the file says all_gpus, there are more or fewer data parallel copies then, \
                      each with the same work.",
                "packetloom"
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
    let mut copied = String::new();
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
            match values.count("copies") {
                1 => program,
                copies => {
                    let (program, spanning) = copies_of(&program, &report.group_names, values)?;
                    copied = format!("{copies} copies of {file}, which {spanning} groups span: ");
                    program
                }
            }
        }
    };
    let of = if copied.is_empty() { format!("{file}: ") } else { copied };
    let mut what = format!("{of}{} ranks, {} operations", program.ranks.len(), program.operations());
    if !left_out.is_empty() {
        what = format!("{what}; {left_out}");
    }
    Ok((program, what))
}

/// So many groups, and so many ranks of one, are told.
const MOST_TOLD: usize = 8;

/// Several copies of a trace, joined by the groups that the scenario names.
fn copies_of(program: &Program, names: &[String], values: &Values) -> Result<(Program, usize), Complaint> {
    let (copies, most) = (values.count("copies"), program.most_copies());
    if copies > most {
        let message = format!("the trace has {} operations; write {most} at most", program.operations());
        return Err(Complaint::new("copies", message));
    }
    let name_of = |place: u32| match names[place as usize].as_str() {
        "" => "all",
        name => name,
    };
    let complain = |message: String| {
        let told = |&(place, count): &(u32, usize)| {
            let others = if count > 1 { format!(" ({} others alike)", count - 1) } else { String::new() };
            let group = &program.groups[place as usize];
            let ranks = match group.len() {
                0..=MOST_TOLD => format!("{group:?}"),
                count => format!("{count} ranks from {:?} on", &group[..2]),
            };
            format!("{:?} {ranks}{others}", name_of(place))
        };
        let shapes: Vec<String> = program.shapes().iter().take(MOST_TOLD).map(told).collect();
        let known = if shapes.is_empty() { "none".to_owned() } else { shapes.join(", ") };
        Err(Complaint::new("across", format!("{message}; the trace's groups by shape: {known}")))
    };
    let across = values.optional_list("across").unwrap_or_default();
    if across.is_empty() {
        return complain("names no groups of data parallel ranks, which join the copies".to_owned());
    }
    let mut joined = BTreeSet::new();
    for name in &across {
        let Value::Text(name) = name else { panic!("a group's name is {name:?}") };
        let before = joined.len();
        joined.extend((0..exact::<u32>(names.len())).filter(|&place| name_of(place) == name));
        if joined.len() == before {
            return complain(format!("there is no group {name:?}, or it was named before"));
        }
    }
    program.copies(exact::<u32>(copies), &joined).or_else(complain)
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
