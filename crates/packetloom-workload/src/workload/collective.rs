//! A collective operation among hosts: the smallest job.

use super::job::pattern::Algorithm;
use super::job::{library, settings};
use crate::job::{Collective, Operation, Program, Rank, Sizes, Work};
use crate::spec::{Complaint, Component, Kind, Values, param};

/// What a scenario can write as `arrivals`.
pub const COMPONENT: Component = Component {
    section: "arrivals",
    kind: "collective",
    doc: "A collective operation among hosts: its flows wait for one another as its algorithm requires. Results have its completion time and bus bandwidth.",
    source: "Thakur et al., IJHPCA 2005",
    params: &[
        &[
            param! {
                required "operation": Kind::Choice(&["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce", "barrier", ]),
                "What the hosts do together.", "MPI 4.1 §6"
            },
            param! {
                "algorithm": Kind::Choice(&["ring", "halving-doubling", "tree", "direct", "in-turn", "hierarchical", "rail-ring", ]),
                "How it is carried out. \"ring\" (the default): round a ring; broadcast and reduce along a \
                      chain, pipelined by chunks. \"halving-doubling\": by recursive halving and doubling. \"tree\": \
                      all-reduce by two binary trees, broadcast and reduce by a binomial one. \"direct\" (the \
                      default of all-to-all): everything to everyone at once. \"in-turn\": to one after the other, \
                      the next neighbour first. \"hierarchical\": first inside servers, then among the hosts at the \
                      same place in all servers. \"rail-ring\": round as many rings as servers have hosts, each \
                      leaving the servers by another NIC.",
                "Thakur et al. §4; Sanders et al. 2009; BlueConnect, MLSys 2019; NCCL's channels"
            },
            param! {
                "size": Kind::Bytes,
                "The size of the whole vector that each host has before or after the operation; for all-to-all, of what each host has for all hosts, itself included. A barrier has none.",
                "packetloom"
            },
            param! {
                "ranks": Kind::Count(2),
                "How many of the source's hosts take part; left out: all.", "packetloom"
            },
        ],
        library::PARAMS,
        settings::PLACEMENT_PARAMS,
    ],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    let operation = operation(values);
    if library::library_of(values).is_some() && values.has("algorithm") {
        let message = "the library decides that; leave this out, or write library.algorithm";
        return Err(Complaint::new("algorithm", message));
    }
    let all = Algorithm::of(operation);
    let has_size = values.optional_bytes("size").is_some();
    match chosen(values) {
        Some(algorithm) if !all.contains(&algorithm) => {
            let names: Vec<&str> = all.iter().map(|one| one.name()).collect();
            let message = format!("{} is not done so; write {}", operation.name(), names.join(" or "));
            Err(Complaint::new("algorithm", message))
        }
        _ if operation == Collective::Barrier && has_size => {
            Err(Complaint::new("size", "a barrier has none; leave this out"))
        }
        _ if operation != Collective::Barrier && !has_size => {
            Err(Complaint::new("size", "is missing; write one such as \"8MB\""))
        }
        _ => {
            if operation == Collective::Barrier {
                settings::check_without_parts(values, "a barrier is done at once")?;
            }
            settings::check(values)
        }
    }
}

fn operation(values: &Values) -> Collective {
    Collective::named(&values.text("operation")).expect("the choices are names")
}

fn chosen(values: &Values) -> Option<Algorithm> {
    values.optional_text("algorithm").and_then(|name| settings::algorithm_called(&name))
}

/// How the operation is carried out.
pub fn algorithm(values: &Values) -> (Collective, Algorithm) {
    let operation = operation(values);
    (operation, chosen(values).unwrap_or(Algorithm::usual(operation)))
}

/// The program of a `collective` among so many ranks.
///
/// # Errors
/// What can't be among so many, by its key.
pub fn program(values: &Values, ranks: u32) -> Result<Program, Complaint> {
    let operation = operation(values);
    let size = values.optional_bytes("size").unwrap_or(0);
    if operation != Collective::Barrier && size < u64::from(ranks) {
        return Err(Complaint::new("size", format!("{ranks} hosts can't share {size} B; write more")));
    }
    let mut program = Program { groups: vec![(0..ranks).collect()], ..Program::default() };
    let work = Work::Collective { operation, group: 0, sizes: Sizes::Whole(size) };
    let name = program.name(operation.name());
    program.ranks = (0..ranks)
        .map(|_| {
            let mut rank = Rank::default();
            rank.add(Operation { work, stream: Some(0), name }, []);
            rank
        })
        .collect();
    Ok(program)
}
