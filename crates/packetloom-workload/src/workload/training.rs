//! A step of training: the operations of a transformer on tensor, pipeline and data parallel ranks, as
//! Narayanan et al. describe them ("Efficient large-scale language model training on GPU clusters using
//! Megatron-LM", SC 2021).

use super::job::{library, settings};
use crate::job::{Collective, Dependency, Operation, Program, Rank, Sizes, Work};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};
use crate::units::Time;
use std::collections::BTreeSet;

/// What a scenario can write as `arrivals`.
pub const COMPONENT: Component = Component {
    section: "arrivals",
    kind: "training",
    doc: "Steps of training on tensor × data × pipeline ranks, which are numbered in that order, tensor parallel ones \
          next to each other. Micro-batches go through the stages of the pipeline one forward, one backward. In each \
          layer the tensor parallel ranks reduce what attention and the feed-forward network gave, forward and \
          backward; a layer's gradients are reduced among the data parallel ranks after its last backward pass.",
    source: "Narayanan et al., SC 2021 §2; Shoeybi et al., Megatron-LM 2019 §3",
    params: &[
        &[
            param! {
                "tensor" = "1": Kind::Count(1),
                "The degree of tensor parallelism.", "Narayanan et al. §2.3"
            },
            param! {
                "data" = "1": Kind::Count(1),
                "The degree of data parallelism.", "Narayanan et al. §2.1"
            },
            param! {
                "pipeline" = "1": Kind::Count(1),
                "How many stages the pipeline has.", "Narayanan et al. §2.2"
            },
            param! {
                "experts" = "1": Kind::Count(1),
                "The degree of expert parallelism: this many neighbouring data parallel ranks exchange tokens \
                      in each layer, to the experts and back, forward and backward.",
                "Lepikhin et al., GShard 2020"
            },
            param! {
                required "layers": Kind::Count(1),
                "Layers of the model, in equal parts on the stages.", "packetloom"
            },
            param! {
                "microbatches" = "1": Kind::Count(1),
                "Micro-batches of a step at each data parallel rank.", "Narayanan et al. §2.2"
            },
            param! {
                required "forward": Kind::Time,
                "Computing time of a layer's forward pass of a micro-batch.", "packetloom"
            },
            param! {
                "backward": Kind::Time,
                "Computing time of the backward pass. Left out: twice that of the forward pass.",
                "Narayanan et al. §3.1: twice the forward pass"
            },
            param! {
                "update" = "0us": Kind::Time,
                "Computing time at the end of the step, once all gradients are reduced.", "packetloom"
            },
            param! {
                required "activations": Kind::Bytes,
                "Bytes of a micro-batch's activations between layers: what tensor parallel ranks reduce, what \
                      goes from stage to stage, and what each rank exchanges with experts.",
                "Narayanan et al. §3.2: 2·b·s·h"
            },
            param! {
                required "gradients": Kind::Bytes,
                "Bytes of a layer's gradients at a rank.", "packetloom"
            },
            param! {
                "overlap" = "true": Kind::Flag,
                "Reduce a layer's gradients while earlier layers are computed, not after all of them.",
                "Li et al., PyTorch Distributed, VLDB 2020"
            },
            param! {
                "sharded" = "false": Kind::Flag,
                "Scatter the reduced gradients, and gather the weights after the update, instead of an all-reduce.",
                "Rajbhandari et al., ZeRO, SC 2020"
            },
        ],
        library::PARAMS,
        settings::PLACEMENT_PARAMS,
        settings::ALGORITHM_PARAMS,
    ],
    check,
};

/// More operations than that take more memory than a machine has.
const MOST_OPERATIONS: u64 = 1 << 26;

fn check(values: &Values) -> Result<(), Complaint> {
    let count = |key| values.count(key);
    if !count("layers").is_multiple_of(count("pipeline")) {
        let message =
            format!("{} layers do not fill {} stages; write a multiple", count("layers"), count("pipeline"));
        return Err(Complaint::new("layers", message));
    }
    if !count("data").is_multiple_of(count("experts")) {
        let message =
            format!("{} data parallel ranks are no whole groups of {}", count("data"), count("experts"));
        return Err(Complaint::new("experts", message));
    }
    for key in ["activations", "gradients"] {
        if values.bytes(key) == 0 {
            return Err(Complaint::new(key, "a message has 1 B at least; write more"));
        }
    }
    let factors = [count("tensor"), count("data"), count("layers"), count("microbatches"), 16];
    let operations = factors.into_iter().try_fold(1_u64, u64::checked_mul);
    if operations.is_none_or(|operations| operations > MOST_OPERATIONS) {
        let message = format!("this makes more than {MOST_OPERATIONS} operations; write fewer");
        return Err(Complaint::new("microbatches", message));
    }
    settings::check(values)
}

/// Streams of a rank: what it computes, what it reduces or exchanges meanwhile, and messages between stages.
const COMPUTE: u16 = 0;
const TENSOR: u16 = 1;
const GRADIENTS: u16 = 2;
const STAGES: u16 = 3;

/// The degrees of parallelism.
#[derive(Clone, Copy)]
struct Degrees {
    tensor: u32,
    data: u32,
    pipeline: u32,
    experts: u32,
}

impl Degrees {
    fn rank(&self, tensor: u32, data: u32, stage: u32) -> u32 {
        (stage * self.data + data) * self.tensor + tensor
    }

    /// Groups of tensor parallel ranks, of data parallel ones, and of those that share experts.
    fn groups(&self) -> Vec<Vec<u32>> {
        let Degrees { tensor, data, pipeline, experts } = *self;
        let stages = || (0..pipeline).flat_map(move |stage| (0..data).map(move |data| (stage, data)));
        let of_tensor =
            stages().map(|(stage, data)| (0..tensor).map(|one| self.rank(one, data, stage)).collect());
        let columns = || (0..pipeline).flat_map(move |stage| (0..tensor).map(move |one| (stage, one)));
        let of_data =
            columns().map(|(stage, one)| (0..data).map(|data| self.rank(one, data, stage)).collect());
        let of_experts = columns().flat_map(|(stage, one)| {
            (0..data / experts).map(move |group| {
                (group * experts..(group + 1) * experts).map(|data| self.rank(one, data, stage)).collect()
            })
        });
        of_tensor.chain(of_data).chain(of_experts).collect()
    }

    fn tensor_group(&self, data: u32, stage: u32) -> u32 {
        stage * self.data + data
    }

    fn data_group(&self, tensor: u32, stage: u32) -> u32 {
        self.pipeline * self.data + stage * self.tensor + tensor
    }

    fn expert_group(&self, tensor: u32, data: u32, stage: u32) -> u32 {
        let groups = self.data / self.experts;
        self.pipeline * (self.data + self.tensor)
            + (stage * self.tensor + tensor) * groups
            + data / self.experts
    }
}

/// What a layer takes.
struct Costs {
    layers: u32,
    microbatches: u32,
    forward: Time,
    backward: Time,
    update: Time,
    activations: u64,
    gradients: u64,
    overlap: bool,
    sharded: bool,
}

/// The names of operations, as they are in the program.
#[derive(Clone, Copy)]
struct Names {
    forward: u32,
    backward: u32,
    update: u32,
    tensor: u32,
    experts: u32,
    gradients: u32,
    weights: u32,
    send: u32,
    receive: u32,
}

/// The program of a step, and what it is in words.
pub fn program(values: &Values) -> (Program, String) {
    let count = |key| exact::<u32>(values.count(key));
    let degrees = Degrees {
        tensor: count("tensor"),
        data: count("data"),
        pipeline: count("pipeline"),
        experts: count("experts"),
    };
    let forward = values.time("forward");
    let costs = Costs {
        layers: count("layers") / degrees.pipeline,
        microbatches: count("microbatches"),
        forward,
        backward: values.optional_time("backward").unwrap_or(forward.times(2)),
        update: values.time("update"),
        activations: values.bytes("activations"),
        gradients: values.bytes("gradients"),
        overlap: values.flag("overlap"),
        sharded: values.flag("sharded"),
    };
    let mut program = Program { groups: degrees.groups(), ..Program::default() };
    let names = Names {
        forward: program.name("forward"),
        backward: program.name("backward"),
        update: program.name("update"),
        tensor: program.name("reduce activations"),
        experts: program.name("exchange tokens"),
        gradients: program.name("reduce gradients"),
        weights: program.name("gather weights"),
        send: program.name("send to stage"),
        receive: program.name("receive from stage"),
    };
    for stage in 0..degrees.pipeline {
        for data in 0..degrees.data {
            for tensor in 0..degrees.tensor {
                let place = (tensor, data, stage);
                let writer = Writer {
                    degrees,
                    costs: &costs,
                    names,
                    place,
                    rank: Rank::default(),
                    last: Vec::new(),
                    gradients: Vec::new(),
                };
                let mut rank = writer.step();
                rank.shrink_to_fit();
                if let Some(last) = program.ranks.last() {
                    rank.share_graph(last);
                }
                program.ranks.push(rank);
            }
        }
    }
    let Degrees { tensor, data, pipeline, .. } = degrees;
    let what = format!("training on {tensor} × {data} × {pipeline} ranks (tensor, data, pipeline)");
    (program, what)
}

/// The ranks of the data parallel copy of the model that a rank belongs to.
///
/// # Errors
/// Why the others can't do without it.
pub fn replica(values: &Values, rank: u32) -> Result<BTreeSet<u32>, &'static str> {
    let [tensor, data, pipeline] = ["tensor", "data", "pipeline"].map(|key| exact::<u32>(values.count(key)));
    if data < 2 {
        return Err("data = 1: there is no other copy of the model");
    }
    if values.count("experts") > 1 {
        return Err("each copy has experts that the others need");
    }
    let copy = rank / tensor % data;
    Ok((0..tensor * data * pipeline).filter(|rank| rank / tensor % data == copy).collect())
}

/// Writes the operations of a rank.
struct Writer<'a> {
    degrees: Degrees,
    costs: &'a Costs,
    names: Names,
    /// Its tensor and data parallel places and its stage.
    place: (u32, u32, u32),
    rank: Rank,
    /// What the next operation on the way of computing depends on.
    last: Vec<u32>,
    /// Operations that reduce gradients.
    gradients: Vec<u32>,
}

impl Writer<'_> {
    /// One forward, one backward: stages begin with as many forward passes as stages follow them.
    fn step(mut self) -> Rank {
        let (_, _, stage) = self.place;
        let all = self.costs.microbatches;
        let ahead = (self.degrees.pipeline - stage - 1).min(all);
        (0..ahead).for_each(|microbatch| self.forward(microbatch));
        for microbatch in 0..all {
            if microbatch + ahead < all {
                self.forward(microbatch + ahead);
            }
            self.backward(microbatch);
        }
        self.update();
        self.rank
    }

    fn add(&mut self, work: Work, stream: u16, name: u32, after: impl IntoIterator<Item = u32>) -> u32 {
        let after: Vec<Dependency> = after.into_iter().map(Dependency::on_end).collect();
        self.rank.add(Operation { work, stream: Some(stream), name }, after)
    }

    /// Adds an operation to the way of computing.
    fn next(&mut self, work: Work, stream: u16, name: u32) {
        let after = std::mem::take(&mut self.last);
        self.last = vec![self.add(work, stream, name, after)];
    }

    fn collective(&mut self, operation: Collective, group: u32, bytes: u64, stream: u16, name: u32) {
        if self.degrees_of(group) > 1 {
            self.next(Work::Collective { operation, group, sizes: Sizes::Whole(bytes) }, stream, name);
        }
    }

    fn degrees_of(&self, group: u32) -> u32 {
        let Degrees { tensor, data, pipeline, experts } = self.degrees;
        match group {
            group if group < pipeline * data => tensor,
            group if group < pipeline * (data + tensor) => data,
            _ => experts,
        }
    }

    /// What tensor parallel ranks and experts exchange in a layer, either way.
    fn exchange(&mut self) {
        let (tensor, data, stage) = self.place;
        let bytes = self.costs.activations;
        let [group, experts] =
            [self.degrees.tensor_group(data, stage), self.degrees.expert_group(tensor, data, stage)];
        for _ in 0..2 {
            self.collective(Collective::AllReduce, group, bytes, TENSOR, self.names.tensor);
        }
        for _ in 0..2 {
            self.collective(Collective::AllToAll, experts, bytes, TENSOR, self.names.experts);
        }
    }

    /// The same place of another stage.
    fn at_stage(&self, stage: u32) -> u32 {
        let (tensor, data, _) = self.place;
        self.degrees.rank(tensor, data, stage)
    }

    /// Receives a micro-batch from a stage: the next computation depends on it, too.
    fn receive(&mut self, peer: u32, tag: u32) {
        let work = Work::Receive { peer: Some(peer), bytes: self.costs.activations, tag: Some(tag) };
        let came = self.add(work, STAGES, self.names.receive, None);
        self.last.push(came);
    }

    fn send(&mut self, peer: u32, tag: u32) {
        let after = self.last.clone();
        let work = Work::Send { peer, bytes: self.costs.activations, tag };
        self.add(work, STAGES, self.names.send, after);
    }

    fn forward(&mut self, microbatch: u32) {
        let (_, _, stage) = self.place;
        if stage > 0 {
            self.receive(self.at_stage(stage - 1), 2 * microbatch);
        }
        for _ in 0..self.costs.layers {
            self.next(Work::Compute { duration: self.costs.forward }, COMPUTE, self.names.forward);
            self.exchange();
        }
        if stage + 1 < self.degrees.pipeline {
            self.send(self.at_stage(stage + 1), 2 * microbatch);
        }
    }

    fn backward(&mut self, microbatch: u32) {
        let (_, _, stage) = self.place;
        if stage + 1 < self.degrees.pipeline {
            self.receive(self.at_stage(stage + 1), 2 * microbatch + 1);
        }
        let is_last = microbatch + 1 == self.costs.microbatches;
        let mut computed = Vec::new();
        for _ in 0..self.costs.layers {
            self.next(Work::Compute { duration: self.costs.backward }, COMPUTE, self.names.backward);
            computed.extend(self.last.iter().copied());
            self.exchange();
        }
        if stage > 0 {
            self.send(self.at_stage(stage - 1), 2 * microbatch + 1);
        }
        if is_last {
            self.reduce_gradients(computed);
        }
    }

    fn reduce_gradients(&mut self, computed: Vec<u32>) {
        let (tensor, _, stage) = self.place;
        if self.degrees.data < 2 {
            return;
        }
        let operation = if self.costs.sharded { Collective::ReduceScatter } else { Collective::AllReduce };
        let group = self.degrees.data_group(tensor, stage);
        let sizes = Sizes::Whole(self.costs.gradients);
        let end = self.last.clone();
        for layer in computed {
            let after = if self.costs.overlap { vec![layer] } else { end.clone() };
            let work = Work::Collective { operation, group, sizes };
            let reduced = self.add(work, GRADIENTS, self.names.gradients, after);
            self.gradients.push(reduced);
        }
    }

    fn update(&mut self) {
        let mut after = std::mem::take(&mut self.last);
        after.append(&mut self.gradients);
        let work = Work::Compute { duration: self.costs.update };
        let updated = self.add(work, COMPUTE, self.names.update, after);
        if self.costs.sharded && self.degrees.data > 1 {
            let (tensor, _, stage) = self.place;
            let group = self.degrees.data_group(tensor, stage);
            let sizes = Sizes::Whole(self.costs.gradients);
            for _ in 0..self.costs.layers {
                let work = Work::Collective { operation: Collective::AllGather, group, sizes };
                self.add(work, GRADIENTS, self.names.weights, [updated]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;

    fn values(degrees: [u64; 4], microbatches: u64, sharded: bool) -> Values {
        let [tensor, data, pipeline, experts] = degrees.map(Value::Count);
        let entries = [
            ("tensor", tensor),
            ("data", data),
            ("pipeline", pipeline),
            ("experts", experts),
            ("layers", Value::Count(4)),
            ("microbatches", Value::Count(microbatches)),
            ("forward", Value::Time(Time::from_us(10))),
            ("backward", Value::Absent),
            ("update", Value::Time(Time::from_us(5))),
            ("activations", Value::Bytes(1_000)),
            ("gradients", Value::Bytes(5_000)),
            ("overlap", Value::Flag(true)),
            ("sharded", Value::Flag(sharded)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        Values { kind: "training".to_owned(), entries }
    }

    fn count(rank: &Rank, is: impl Fn(&Work) -> bool) -> usize {
        rank.operations().iter().filter(|operation| is(&operation.work)).count()
    }

    #[test]
    fn every_program_is_sound_and_has_what_its_degrees_ask_for() {
        for degrees in [[1, 1, 1, 1], [2, 1, 1, 1], [1, 4, 1, 2], [1, 1, 4, 1], [2, 4, 2, 2], [3, 2, 4, 1]] {
            for (microbatches, sharded) in [(1, false), (3, true), (8, false)] {
                let (program, _) = program(&values(degrees, microbatches, sharded));
                program.check().unwrap_or_else(|problem| panic!("{degrees:?}: {problem}"));
                let [tensor, data, pipeline, experts] = degrees;
                assert_eq!(program.ranks.len() as u64, tensor * data * pipeline);
                let layers = 4 / pipeline;
                let passes = layers * microbatches * 2;
                // A stage's ranks depend on each other's messages alike, and keep that once.
                let of_stage = (tensor * data) as usize;
                for stage in program.ranks.chunks(of_stage) {
                    assert!(stage.iter().all(|rank| rank.shares_graph(&stage[0])), "{degrees:?}");
                }
                for rank in &program.ranks {
                    let computes = count(rank, |work| matches!(work, Work::Compute { .. }));
                    assert_eq!(computes as u64, passes + 1);
                    let of = |kind| {
                        count(
                            rank,
                            |work| matches!(work, Work::Collective { operation, .. } if *operation == kind),
                        ) as u64
                    };
                    let is_data = u64::from(data > 1);
                    let tensor_reduces = if tensor > 1 { 2 * passes } else { 0 };
                    let gradients = if sharded { 0 } else { is_data * layers };
                    assert_eq!(of(Collective::AllReduce), tensor_reduces + gradients);
                    assert_eq!(of(Collective::AllToAll), if experts > 1 { 2 * passes } else { 0 });
                    let scattered = if sharded { is_data * layers } else { 0 };
                    assert_eq!(of(Collective::ReduceScatter), scattered);
                    assert_eq!(of(Collective::AllGather), scattered);
                }
                let sends = |rank: &Rank| count(rank, |work| matches!(work, Work::Send { .. })) as u64;
                let all: u64 = program.ranks.iter().map(sends).sum();
                assert_eq!(all, 2 * microbatches * (pipeline - 1) * tensor * data);
            }
        }
    }
}
