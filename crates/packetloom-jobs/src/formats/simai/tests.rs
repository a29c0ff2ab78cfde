use super::*;
use crate::formats::At;
use crate::job::{Collective, Program, Sizes, Work};
use crate::units::Time;

const KEYS: &str =
    "model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0";

fn layers(header: &str, layers: &[&str]) -> String {
    format!("{header}\n{}\n{}\n", layers.len(), layers.join("\n"))
}

fn sound(text: &str) -> Program {
    read(text, &Options::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// A rank's operations as text: name, stream, and what they wait for.
fn told(program: &Program, rank: usize) -> Vec<String> {
    let rank = &program.ranks[rank];
    let one = |(place, operation): (u32, &crate::job::Operation)| {
        let name = &program.names[operation.name as usize];
        let stream = operation.stream.map_or("-".to_owned(), |stream| stream.to_string());
        let on: Vec<String> = rank.dependencies(place).iter().map(|one| one.on.to_string()).collect();
        format!("{name} | {stream} | {}", on.join(" "))
    };
    (0..).zip(rank.operations()).map(one).collect()
}

fn collectives(program: &Program, rank: usize) -> Vec<(Collective, Vec<u32>, u64)> {
    let each = |one: &crate::job::Operation| match one.work {
        Work::Collective { operation, group, sizes: Sizes::Whole(bytes) } => {
            Some((operation, program.groups[group as usize].clone(), bytes))
        }
        _ => None,
    };
    program.ranks[rank].operations().iter().filter_map(each).collect()
}

/// Two layers of which each has an all-reduce: of 16 and 64 MiB, one after the other.
#[test]
fn two_layers_are_two_dependent_all_reduces() {
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 8 \
                  checkpoints: 0 checkpoint_initiates: 0";
    let text = layers(
        header,
        &[
            "first   -1 556000  ALLREDUCE   16777216      1       NONE 0        1      NONE   0      1 ",
            "second  -1 556000  ALLREDUCE   67108864      1       NONE 0        1      NONE   0      1 ",
        ],
    );
    let program = sound(&text);
    assert_eq!(program.groups, [[0, 1, 2, 3, 4, 5, 6, 7]]);
    assert_eq!(program.ranks.len(), 8);
    assert_eq!(
        told(&program, 3),
        [
            "first forward | 0 | ",
            "first forward all-reduce | 1 | 0",
            "first update | - | 1",
            "second forward | 0 | 2",
            "second forward all-reduce | 1 | 3",
            "second update | - | 4",
            "second input gradient | 0 | 5",
            "second weight gradient | 0 | 6",
            "first input gradient | 0 | 7",
            "first weight gradient | 0 | 8",
        ]
    );
    let operations = program.ranks[3].operations();
    assert_eq!(operations[0].work, Work::Compute { duration: Time::from_us(556) });
    let sizes = Sizes::Whole(64 << 20);
    assert_eq!(operations[4].work, Work::Collective { operation: Collective::AllReduce, group: 0, sizes });
}

#[test]
fn groups_are_tensor_data_expert_and_the_rest() {
    let text = layers(
        &format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD {KEYS}"),
        &[
            "a -1 0 ALLREDUCE 1 0 ALLGATHER 2 0 REDUCESCATTER 3 0",
            "b -1 0 ALLTOALL_EP 4 0 ALLREDUCE_DP_EP 5 0 NONE 6 0",
        ],
    );
    let program = sound(&text);
    // TP 2, DP 4 of EP 2 and two of each expert: rank 5 is at TP 1, DP 2, so at EP 0 of the second two.
    use Collective::{AllGather, AllReduce, AllToAll, ReduceScatter};
    assert_eq!(
        collectives(&program, 5),
        [
            (AllReduce, vec![4, 5], 1),
            (AllToAll, vec![5, 7], 4),
            (AllReduce, vec![1, 5], 5),
            (AllGather, vec![4, 5], 2),
            (ReduceScatter, vec![1, 3, 5, 7], 3),
        ]
    );
    // A group of one has nothing to do, and neither have operations of no bytes.
    let alone = text
        .replace("model_parallel_NPU_group: 2", "model_parallel_NPU_group: 1")
        .replace("ALLTOALL_EP 4", "ALLTOALL_EP 0");
    assert_eq!(collectives(&sound(&alone), 5).len(), 2);
}

#[test]
fn weight_gradients_are_waited_for_by_the_next_pass() {
    let text = layers(
        &format!("HYBRID_TRANSFORMER {}", KEYS.replace(" checkpoints: 0 checkpoint_initiates: 0", "")),
        &["a -1 1 NONE 0 2 ALLREDUCE 8 3 ALLREDUCE 9 4"],
    );
    let program = read(&text, &Options { passes: 2, ..Options::default() }).expect("a sound file");
    let pass = |first: usize, before: &str| {
        [
            format!("a forward | 0 | {before}"),
            format!("a input gradient | 0 | {first}"),
            format!("a input gradient all-reduce | 1 | {}", first + 1),
            format!("a update | - | {}", first + 2),
            format!("a weight gradient | 0 | {}", first + 3),
            format!("a weight gradient all-reduce | 2 | {}", first + 4),
            format!("a update | - | {}", first + 5),
        ]
    };
    assert_eq!(told(&program, 0), [pass(0, ""), pass(7, "4 6")].concat());
}

#[test]
fn each_policy_has_its_order() {
    let two = |policy: &str, forward: &str, input: &str, weight: &str| {
        let line = |name: &str| format!("{name} -1 1 {forward} 2 {input} 3 {weight} 0");
        told(&sound(&layers(&format!("{policy} all_gpus: 4"), &[&line("a"), &line("b")])), 1)
    };
    assert_eq!(
        two("DATA", "NONE 0", "NONE 0", "ALLREDUCE 8"),
        [
            "a forward | 0 | ",
            "b forward | 0 | 0",
            "b weight gradient | 0 | 1",
            "b weight gradient all-reduce | 2 | 2",
            "b input gradient | 0 | 2",
            "a weight gradient | 0 | 4",
            "a weight gradient all-reduce | 2 | 5",
        ]
    );
    assert_eq!(
        two("MODEL", "ALLREDUCE 8", "ALLTOALL 8", "NONE 0"),
        [
            "a forward | 0 | ",
            "a forward all-reduce | 1 | 0",
            "b forward | 0 | 1",
            "b forward all-reduce | 1 | 2",
            "b input gradient | 0 | 3",
            "b input gradient all-to-all | 1 | 4",
            "b weight gradient | 0 | 4",
            "a input gradient | 0 | 6 5",
            "a weight gradient | 0 | 7",
        ]
    );
    let micro = layers("MICRO", &["m -1 7 NONE 0 7 NONE 0 7 ALLTOALL 64 0"]);
    let program =
        read(&micro, &Options { passes: 2, ranks: Some(3), ..Options::default() }).expect("a sound file");
    assert_eq!(
        told(&program, 2),
        ["m weight gradient all-to-all | - | ", "m weight gradient all-to-all | - | "]
    );
    assert_eq!(program.groups, [[0, 1, 2]]);
}

/// ASTRA-sim's sample of two policies, whose packages are here of two ranks.
fn packages(policy: &str) -> Program {
    let line = |name: &str| format!("{name} -1 1 ALLGATHER 8 2 REDUCESCATTER 16 3 ALLREDUCE 24 0");
    let text = layers(&format!("{policy} all_gpus: 6"), &[&line("a"), &line("b")]);
    let options = Options { ranks_per_package: Some(2), passes: 2, ..Options::default() };
    read(&text, &options).expect("a sound file")
}

/// Order and waits are those of `iterate_hybrid_parallel_data_model`, followed by hand; those of
/// `iterate_hybrid_parallel_model_data` and `iterate_hybrid_parallel_customized` are the same.
#[test]
fn hybrids_exchange_gradients_beside_each_other() {
    let program = packages("HYBRID_DATA_MODEL");
    let told = told(&program, 3);
    assert_eq!(
        told[..11],
        [
            "a forward | 0 | ",
            "a forward all-gather | 1 | 0",
            "b forward | 0 | 1",
            "b forward all-gather | 1 | 2",
            "b input gradient | 0 | 3",
            "b input gradient reduce-scatter | 1 | 4",
            "b weight gradient | 0 | 4",
            "b weight gradient all-reduce | 2 | 6",
            "a input gradient | 0 | 6 5",
            "a weight gradient | 0 | 8",
            "a weight gradient all-reduce | 2 | 9",
        ]
    );
    assert_eq!(told[11], "a forward | 0 | 9 10", "a layer waits for what its weights exchange");
    assert_eq!(told[13], "b forward | 0 | 12 7");
    assert_eq!(told.len(), 22);
    for (program, within, across) in [
        (program, Collective::AllGather, Collective::AllReduce),
        (packages("HYBRID_MODEL_DATA"), Collective::AllReduce, Collective::AllGather),
    ] {
        let of = |collective| {
            let found = collectives(&program, 3).into_iter().find(|(one, ..)| *one == collective);
            found.map(|(_, group, _)| group)
        };
        assert_eq!(of(within), Some(vec![2, 3]));
        assert_eq!(of(across), Some(vec![1, 3, 5]));
        assert_eq!(of(Collective::ReduceScatter), of(Collective::AllGather));
    }
}

#[test]
fn one_package_or_packages_of_one_rank_exchange_one_way() {
    let text = layers("HYBRID_DATA_MODEL all_gpus: 4", &["a -1 1 ALLGATHER 8 2 NONE 0 3 ALLREDUCE 24 0"]);
    let all = vec![0, 1, 2, 3];
    for (package, exchange) in
        [(4, (Collective::AllGather, all.clone(), 8)), (1, (Collective::AllReduce, all, 24))]
    {
        let options = Options { ranks_per_package: Some(package), ..Options::default() };
        assert_eq!(collectives(&read(&text, &options).expect("a sound file"), 2), [exchange]);
    }
}

/// After ASTRA-sim's `sample_per_layer_parallel_HybridCustomized.txt`, whose sizes are here small and different.
#[test]
fn layers_have_policies_of_their_own() {
    let text = layers(
        "HYBRID_CUSTOMIZED all_gpus: 4",
        &[
            "a -1 1 ALLGATHER 1 1 REDUCESCATTER 2 1 ALLREDUCE 3 0 HYBRID_DATA_MODEL",
            "b -1 1 ALLGATHER 4 1 REDUCESCATTER 5 1 ALLREDUCE 6 0 HYBRID_MODEL_DATA",
            "c -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 7 0 DATA",
            "d -1 1 ALLGATHER 8 1 REDUCESCATTER 9 1 NONE 0 0 MODEL",
        ],
    );
    let options = Options { ranks_per_package: Some(2), ..Options::default() };
    let program = read(&text, &options).expect("a sound file");
    use Collective::{AllGather, AllReduce, ReduceScatter};
    let (package, across, all) = (vec![2, 3], vec![0, 2], vec![0, 1, 2, 3]);
    assert_eq!(
        collectives(&program, 2),
        [
            (AllGather, package.clone(), 1),
            (AllGather, across.clone(), 4),
            (AllGather, all.clone(), 8),
            (ReduceScatter, all.clone(), 9),
            (AllReduce, all, 7),
            (ReduceScatter, across.clone(), 5),
            (AllReduce, package, 6),
            (AllReduce, across, 3),
        ]
    );
    // A layer of data has the order of all: its input gradient is computed first, though under DATA it is last.
    let told = told(&program, 2);
    let at = |name: &str| told.iter().position(|line| line.starts_with(name)).expect("it is there");
    assert!(at("c input gradient") < at("c weight gradient"));
    let without = text.replace("HYBRID_DATA_MODEL", "MODEL").replace("HYBRID_MODEL_DATA", "DATA");
    let without = without.replace("3 0 MODEL", "0 0 MODEL").replace("4 1", "0 1").replace("5 1", "0 1");
    sound(&without);
}

/// Order and waits are those of `iterate_distributed_inference`, followed by hand.
#[test]
fn inference_goes_forward_only() {
    let text = layers(
        "DISTRIBUTED_INFERENCE all_gpus: 4",
        &["a -1 1 ALLREDUCE 8 9 NONE 0 9 NONE 0 5", "b -1 1 ALLTOALL 8 9 NONE 0 9 NONE 0 0"],
    );
    let program = read(&text, &Options { passes: 2, ..Options::default() }).expect("a sound file");
    assert_eq!(program.groups, [[0, 1, 2, 3]]);
    assert_eq!(
        told(&program, 1),
        [
            "a forward | 0 | ",
            "a forward all-reduce | 1 | 0",
            "a update | - | 1",
            "b forward | 0 | 2",
            "b forward all-to-all | 1 | 3",
            "a forward | 0 | 4",
            "a forward all-reduce | 1 | 5",
            "a update | - | 6",
            "b forward | 0 | 7",
            "b forward all-to-all | 1 | 8",
        ]
    );
}

#[test]
fn packages_and_layers_policies_have_to_fit() {
    let text = layers(
        "HYBRID_CUSTOMIZED all_gpus: 6",
        &[
            "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0 DATA",
            "b -1 1 ALLREDUCE 8 1 NONE 0 1 ALLREDUCE 8 0 HYBRID_DATA_MODEL",
        ],
    );
    let packages = |of| Options { ranks_per_package: of, ..Options::default() };
    assert!(read(&text, &packages(Some(3))).is_ok());
    let own = "write one of DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA";
    for (from, to, of, line, message) in [
        ("", "", Some(4), 1, "6 ranks are no multiple of ranks_per_package, 4".to_owned()),
        ("", "", Some(0), 1, "6 ranks are no multiple of ranks_per_package, 0".to_owned()),
        ("", "", None, 4, NO_PACKAGES.to_owned()),
        (
            "0 DATA",
            "0 DISTRIBUTED_INFERENCE",
            Some(2),
            3,
            format!("the policy of the layer is \"DISTRIBUTED_INFERENCE\"; {own}"),
        ),
        ("0 DATA", "0 data", Some(2), 3, format!("the policy of the layer is \"data\"; {own}")),
        (
            "0 DATA",
            "0 MODEL",
            Some(2),
            3,
            "weight_gradient_comm is ALLREDUCE, which MODEL does not execute; write NONE".to_owned(),
        ),
        (
            "1 ALLREDUCE 8 1",
            "1 ALLREDUCE_EP 8 1",
            Some(2),
            4,
            "forward_comm is ALLREDUCE_EP, but this policy has no such groups".to_owned(),
        ),
        (
            " all_gpus",
            " model_parallel_NPU_group: 2 all_gpus",
            Some(2),
            1,
            "model_parallel_NPU_group: is not for HYBRID_CUSTOMIZED".to_owned(),
        ),
    ] {
        let error = read(&text.replacen(from, to, 1), &packages(of)).expect_err(to);
        assert_eq!(error, FileError::new(line, message), "{to}");
    }
    let whole =
        |policy: &str| layers(&format!("{policy} all_gpus: 4"), &["a -1 1 NONE 0 1 NONE 0 1 NONE 0 0"]);
    let error = read(&whole("HYBRID_DATA_MODEL"), &packages(None));
    assert_eq!(error, Err(FileError::new(1, NO_PACKAGES)));
    let error = read(&whole("DATA"), &packages(Some(2)));
    assert_eq!(error, Err(FileError::new(1, "DATA has no packages; leave out ranks_per_package")));
    let gradients = whole("DISTRIBUTED_INFERENCE").replace("1 NONE 0 0", "1 ALLREDUCE 8 0");
    let message =
        "weight_gradient_comm is ALLREDUCE, which DISTRIBUTED_INFERENCE does not execute; write NONE";
    assert_eq!(read(&gradients, &packages(None)), Err(FileError::new(3, message)));
}

const NO_PACKAGES: &str = "HYBRID_DATA_MODEL divides ranks into packages, but the file does not say of how many; \
                           write ranks_per_package beside it";

/// Tables, a bottom layer and two on top, by two passes.
fn dlrm(policy: &str) -> Vec<String> {
    let text = layers(
        &format!("{policy} DLRM_LAST_BOTTOM_LAYER: 1 all_gpus: 4"),
        &[
            "t -1 1 ALLTOALL 8 9 ALLTOALL 8 1 NONE 0 0",
            "b -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0",
            "u -1 1 NONE 0 1 NONE 0 1 NONE 0 0",
            "v -1 1 NONE 0 1 NONE 0 1 NONE 0 0",
        ],
    );
    let program = read(&text, &Options { passes: 2, ..Options::default() }).expect("a sound file");
    assert_eq!(program.groups, [[0, 1, 2, 3]]);
    told(&program, 2)
}

/// Order and waits are those of `iterate_hybrid_parallel_DLRM`, followed by hand.
#[test]
fn tables_are_exchanged_beside_the_bottom_layers() {
    let first = [
        "t forward | 0 | ",
        "t forward all-to-all | 1 | 0",
        "b forward | 0 | 0",
        "u forward | 0 | 2 1",
        "v forward | 0 | 3",
        "v weight gradient | 0 | 4",
        "v input gradient | 0 | 5",
        "u weight gradient | 0 | 6",
        "u input gradient | 0 | 7",
        "t input gradient all-to-all | 1 | 8",
        "b weight gradient | 0 | 8",
        "b weight gradient all-reduce | 2 | 10",
        "b input gradient | 0 | 10",
        "t weight gradient | 0 | 12",
    ];
    let told = dlrm("HYBRID_DLRM");
    assert_eq!(told[..14], first);
    assert_eq!(told[14], "t forward | 0 | 13 9", "the next pass waits for the tables' gradients");
    assert_eq!(told[16], "b forward | 0 | 14 11", "and a layer for those of its weights");
    let enhanced = dlrm("HYBRID_DLRM_ENHANCED");
    assert_eq!(enhanced[..14], first);
    assert_eq!(enhanced[14], "t forward | 0 | 13", "which HYBRID_DLRM_ENHANCED leaves out");
    assert_eq!(enhanced[16], told[16]);
}

#[test]
fn what_dlrm_would_leave_out_is_refused() {
    let text = layers(
        "HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 0 all_gpus: 4",
        &["t -1 1 ALLTOALL 8 9 ALLTOALL 8 1 NONE 0 0", "u -1 1 NONE 0 1 NONE 0 1 NONE 0 0"],
    );
    sound(&text);
    for (from, to, line, message) in [
        (" DLRM_LAST_BOTTOM_LAYER: 0", "", 1, "DLRM_LAST_BOTTOM_LAYER: is missing"),
        (
            "LAYER: 0",
            "LAYER: 1",
            1,
            "DLRM_LAST_BOTTOM_LAYER: is 1 of 2 layers, which are numbered from 0; one at least has to follow it",
        ),
        ("LAYER: 0", "LAYER: 0 pp: 1", 1, "pp: is not for HYBRID_DLRM"),
        (
            "1 ALLTOALL",
            "1 ALLREDUCE",
            3,
            "forward_comm is ALLREDUCE; DLRM executes ALLTOALL only, or write NONE",
        ),
        (
            "u -1 1 NONE 0 1 NONE 0",
            "u -1 1 NONE 0 1 ALLTOALL 8",
            4,
            "input_gradient_comm is ALLTOALL; DLRM executes that of the first layer only, write NONE",
        ),
        (
            "9 ALLTOALL 8",
            "9 ALLTOALL_EP 8",
            3,
            "input_gradient_comm is ALLTOALL_EP, but this policy has no such groups",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = read(&text.replacen(from, to, 1), &Options::default()).expect_err(to);
        assert_eq!(error.at, At::Line(line), "{to}");
        assert!(error.message.starts_with(message), "{}", error.message);
    }
}

#[test]
fn layers_are_computed_again_from_their_checkpoint() {
    let header = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD {KEYS}")
        .replace("checkpoints: 0", "checkpoints: 2 0 2")
        .replace("initiates: 0", "initiates: 2 2 3");
    let line = |name: &str| format!("{name} -1 1 NONE 0 1 NONE 0 1 NONE 0 0");
    let text = layers(
        &header
            .replace("checkpoints: 2 0 2", "checkpoints: 1 1")
            .replace("initiates: 2 2 3", "initiates: 1 3"),
        &[&line("a"), &line("b"), &line("c"), &line("d")],
    );
    let names = |text: &str| -> Vec<String> {
        let short = |line: String| line.split(" | ").next().unwrap_or_default().replace(" gradient", "");
        told(&sound(text), 0).into_iter().map(short).collect()
    };
    assert_eq!(
        names(&text),
        [
            "a forward",
            "b forward",
            "c forward",
            "d forward",
            "b forward",
            "c forward",
            "d input",
            "d weight",
            "c input",
            "c weight",
            "b input",
            "b weight",
            "a input",
            "a weight",
        ]
    );
    for (header, message) in [
        (header.clone(), "layer 2 initiates and is a checkpoint itself"),
        (
            header.replace("checkpoints: 2 0 2", "checkpoints: 1 0"),
            "layer 3 initiates from the checkpoint at 0, between which layer 2 does so",
        ),
        (
            header.replace("checkpoints: 2 0 2", "checkpoints: 1 3"),
            "layer 2 initiates, but no layer before it is a checkpoint",
        ),
        (
            header.replace("checkpoints: 2 0 2", "checkpoints: 1 4"),
            "there is no layer 4; they are numbered 0 to 3",
        ),
    ] {
        let text = layers(&header, &[&line("a"), &line("b"), &line("c"), &line("d")]);
        assert_eq!(read(&text, &Options::default()), Err(FileError::new(1, message)));
    }
}

#[test]
fn stages_send_to_each_other_after_each_slice() {
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 3 vpp: 1 ga: 2 all_gpus: 6 \
                  checkpoints: 0 checkpoint_initiates: 0 pp_comm 4096";
    let text = layers(header, &["a -1 1 NONE 0 1 NONE 0 0 NONE 0 0", "b -1 1 NONE 0 1 NONE 0 0 NONE 0 0"]);
    let program = sound(&text);
    // Rank 3 is in the middle stage, between ranks 1 and 5.
    assert_eq!(
        told(&program, 3),
        [
            "message from a stage | 3 | ",
            "a forward | 0 | 0",
            "message to a stage | 3 | 1",
            "message from a stage | 3 | 1",
            "b forward | 0 | 3",
            "message to a stage | 3 | 4",
            "message from a stage | 3 | 4",
            "b input gradient | 0 | 6",
            "message to a stage | 3 | 7",
            "message from a stage | 3 | 7",
            "a input gradient | 0 | 9",
            "message to a stage | 3 | 10",
        ]
    );
    let operations = program.ranks[3].operations();
    assert_eq!(operations[3].work, Work::Receive { peer: Some(1), bytes: 4096, tag: Some(2) });
    assert_eq!(operations[5].work, Work::Send { peer: 5, bytes: 4096, tag: 2 });
    assert_eq!(operations[6].work, Work::Receive { peer: Some(5), bytes: 4096, tag: Some(3) });
    assert_eq!(operations[11].work, Work::Send { peer: 1, bytes: 4096, tag: 1 });
    // More slices than layers: as many bytes in fewer messages.
    let more = sound(&text.replace("ga: 2", "ga: 5"));
    assert_eq!(more.ranks[3].operations()[5].work, Work::Send { peer: 5, bytes: 10240, tag: 2 });
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let header = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD {KEYS}");
    let text = layers(
        &header,
        &["a -1 10 ALLREDUCE 64 11 NONE 0 12 NONE 0 13", "b -1 10 NONE 0 11 NONE 0 12 NONE 0 13"],
    );
    sound(&text);
    let comm = "write NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, perhaps with _EP or _DP_EP";
    for (from, to, line, message) in [
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
            "HYBRID_DATA",
            1,
            "the policy is \"HYBRID_DATA\"; supported are DATA, MODEL, MICRO, HYBRID_TRANSFORMER, TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_DLRM, HYBRID_DLRM_ENHANCED, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, HYBRID_CUSTOMIZED, DISTRIBUTED_INFERENCE",
        ),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "DATA", 1, "ep: is not for DATA"),
        (
            " ep: 2",
            " ep: 2 DLRM_LAST_BOTTOM_LAYER: 0",
            1,
            "DLRM_LAST_BOTTOM_LAYER: is not for HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
            "HYBRID_TRANSFORMER",
            1,
            "checkpoints: is for HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        (" ep: 2", "", 1, "ep: is missing"),
        (" ga: 1", "", 1, "ga: is missing"),
        (" all_gpus: 8", "", 1, "all_gpus: is missing; write how many ranks there are"),
        (" checkpoints: 0", "", 1, "checkpoints: is missing"),
        (" ep: 2", " ep: 0", 1, "ep: is 0; write 1 to 4294967295"),
        (" ep: 2", " ep: two", 1, "ep: is \"two\"; write a whole number"),
        (" ep: 2", " ep: 2 ep: 2", 1, "ep: is there twice"),
        (
            " ep: 2",
            " cp: 2",
            1,
            "\"cp:\" is no key; there are model_parallel_NPU_group: ep: pp: vpp: ga: all_gpus: pp_comm: DLRM_LAST_BOTTOM_LAYER: checkpoints: checkpoint_initiates:",
        ),
        (" ep: 2", " ep: 3", 1, "4 ranks of the same data are no multiple of ep: 3"),
        (" pp: 1", " pp: 3", 1, "all_gpus: 8 is no multiple of 2 times pp: 3"),
        (" pp: 1", " pp: 2", 1, "pp_comm: is missing; write the bytes of a message between stages"),
        (" ga: 1", " ga: 1 pp_comm: 9", 1, "pp_comm: with pp: 1, where no stage has another to send to"),
        (" vpp: 1 ga: 1", " vpp: 65536 ga: 65536", 1, "vpp: times ga: is too large"),
        ("all_gpus: 8", "all_gpus: 0", 1, "all_gpus: is not from 1 to 4294967295"),
        (
            "checkpoint_initiates: 0",
            "checkpoint_initiates: 1",
            1,
            "nothing after checkpoint_initiates:; write its value",
        ),
        (
            "checkpoint_initiates: 0",
            "checkpoint_initiates: 18446744073709551615 1",
            1,
            "nothing after checkpoint_initiates:; write its value",
        ),
        (
            "all_gpus: 8",
            "all_gpus: 4294967280",
            1,
            "2 layers at 4294967280 ranks are more than 67108864 operations, the most that are read; write fewer layers or ranks",
        ),
        ("\n2\n", "\n3\n", 2, "2 layers where the second line says 3"),
        ("\n2\n", "\ntwo\n", 2, "the number of layers is \"two\"; write a whole number"),
        ("a -1 10", "a 0 10", 3, "the dependency is \"0\"; write -1: layers follow each other"),
        ("a -1 10", "a -1 -10", 3, "forward_ns is -10; it cannot be negative"),
        (
            "a -1 10",
            "a -1 18446744073709551615",
            3,
            "forward_ns is 18446744073709551615; the longest there may be is 4611686.018427388s",
        ),
        ("ALLREDUCE 64", "ALLREDUCES 64", 3, &format!("forward_comm is \"ALLREDUCES\"; {comm}")),
        (
            "ALLREDUCE 64",
            "ALLREDUCEALLTOALL 64",
            3,
            &format!(
                "forward_comm is \"ALLREDUCEALLTOALL\"; {comm}; SimAI itself takes this one for an ALLREDUCE without a group"
            ),
        ),
        ("ALLREDUCE 64", "ALLREDUCE 6.4", 3, "forward_bytes is \"6.4\"; write a whole number"),
        (
            "ALLREDUCE 64",
            "ALLREDUCE 1099511627777",
            3,
            "forward_bytes is 1099511627777; write at most 1099511627776",
        ),
        (
            "b -1 10 NONE 0",
            "b -1 10 NONE",
            4,
            "11 fields where there should be 12: name dependency forward_ns forward_comm forward_bytes input_gradient_ns input_gradient_comm input_gradient_bytes weight_gradient_ns weight_gradient_comm weight_gradient_bytes update_ns",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = read(&text.replacen(from, to, 1), &Options::default()).expect_err(to);
        assert_eq!(error, FileError::new(line, message), "{to}");
    }
    for (text, line, message) in [
        ("", 1, "no policy; begin with one and its keys"),
        ("MICRO all_gpus: 2\n", 1, "no number of layers in the second line"),
        ("MICRO all_gpus: 2\n0\n", 2, "no layers; write one a line"),
        (
            "MICRO all_gpus: 2\n1\na -1 0 ALLREDUCE 8 0 NONE 0 0 NONE 0 0\n",
            3,
            "forward_comm is ALLREDUCE, which MICRO does not execute; write NONE",
        ),
        (
            "MODEL all_gpus: 2\n1\na -1 0 NONE 8 0 NONE 0 0 ALLGATHER 8 0\n",
            3,
            "weight_gradient_comm is ALLGATHER, which MODEL does not execute; write NONE",
        ),
        (
            "DATA all_gpus: 2\n1\na -1 0 NONE 0 0 NONE 0 0 ALLREDUCE_EP 8 0\n",
            3,
            "weight_gradient_comm is ALLREDUCE_EP, but this policy has no such groups",
        ),
        (
            "MICRO all_gpus: 2\n2\na -1 0 NONE 0 0 NONE 0 0 NONE 0 0\na -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n",
            2,
            "2 layers; MICRO is of one",
        ),
    ] {
        assert_eq!(read(text, &Options::default()), Err(FileError::new(line, message)));
    }
    let few = read(&text, &Options { most_operations: 60, ..Options::default() }).expect_err("too many");
    assert_eq!(few.at, At::Line(1));
    assert_eq!(
        few.message,
        "2 layers at 8 ranks are more than 60 operations, the most that are read; write fewer layers or ranks"
    );
}

/// No change of a byte and no cut makes the reader panic, or keep more than is stated.
#[test]
fn mutated_files_are_read_or_refused() {
    let stages = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 1 ga: 2 all_gpus: 16 \
                  checkpoints: 1 0 checkpoint_initiates: 1 2 pp_comm: 4096";
    let stages = layers(
        stages,
        &[
            "a -1 10 ALLREDUCE 64 5 NONE 0 5 ALLGATHER 128 1",
            "b -1 10 ALLGATHER 64 5 REDUCESCATTER 64 5 REDUCESCATTER_DP_EP 128 1",
            "c -1 10 ALLTOALL_EP 64 5 ALLTOALL_EP 64 5 NONE 0 1",
        ],
    );
    let own = layers(
        "HYBRID_CUSTOMIZED all_gpus: 16",
        &[
            "a -1 10 ALLREDUCE 64 5 NONE 0 5 ALLGATHER 128 1 HYBRID_DATA_MODEL",
            "b -1 10 NONE 0 5 NONE 0 5 REDUCESCATTER 128 1 DATA",
        ],
    );
    for (text, ranks_per_package) in [(stages, None), (own, Some(4))] {
        let options = Options { ranks_per_package, most_operations: 2_000, ..Options::default() };
        read(&text, &options).expect("a sound file");
        for at in 0..text.len() {
            let _ = read(&text[..at], &options);
            for byte in [b' ', b'\n', b'0', b'1', b'9', b'-', b':', b'A'] {
                let mut mutated = text.clone().into_bytes();
                mutated[at] = byte;
                let mutated = String::from_utf8(mutated).expect("a text");
                if let Ok(program) = read(&mutated, &options) {
                    assert!(program.operations() <= 2_000);
                }
            }
        }
    }
}
