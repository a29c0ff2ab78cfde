//! From layers to a program: each rank goes over them, forward and back, as its policy has it.

use super::super::names::Names;
use super::Options;
use super::header::{Header, Policy};
use super::layer::{self, Group, Layer, Phase};
use crate::job::{Dependency, Operation, Program, Rank, Sizes, Work};
use crate::narrow::exact;
use crate::units::Time;
use std::collections::BTreeMap;

const COMPUTE: u16 = 0;
const WAITED_FOR: u16 = 1;
const BESIDE: u16 = 2;
const STAGES: u16 = 3;

/// Makes the program.
pub fn program(header: &Header, layers: &[Layer], options: &Options) -> Result<Program, String> {
    let visits = u64::from(header.ranks).saturating_mul(u64::from(options.passes));
    if visits.saturating_mul(layers.len() as u64) > options.most_operations {
        return Err(too_many(header, layers, options));
    }
    let slices = slices(header, layers.len());
    let mut builder = Builder {
        header,
        layers,
        slices,
        names: Names::default(),
        groups: BTreeMap::new(),
        // As in astra-sim.
        program: Program { sends_block: true, ..Program::default() },
        labels: Vec::new(),
    };
    builder.label();
    let mut left = options.most_operations;
    for number in 0..header.ranks {
        let rank = builder.rank(number, options.passes, left)?;
        let count = rank.operations().len() as u64;
        // The first rank has as few as any: a stage at an end has fewer messages.
        if count.saturating_mul(u64::from(header.ranks - number)) > left {
            return Err(too_many(header, layers, options));
        }
        left -= count;
        builder.program.ranks.push(rank);
    }
    builder.program.names = builder.names.all();
    Ok(builder.program)
}

fn too_many(header: &Header, layers: &[Layer], options: &Options) -> String {
    format!(
        "{} layers at {} ranks are more than {} operations, the most that are read; write fewer layers or ranks",
        layers.len(),
        header.ranks,
        options.most_operations
    )
}

/// How many slices a pass is cut into: no more than layers.
fn slices(header: &Header, layers: usize) -> usize {
    if header.pp == 1 { 1 } else { layers.min(header.slices as usize) }
}

/// The places of a layer's names.
#[derive(Clone, Copy)]
struct Labels {
    forward: (u32, u32),
    input_gradient: (u32, u32),
    weight_gradient: (u32, u32),
    update: u32,
}

struct Builder<'a> {
    header: &'a Header,
    layers: &'a [Layer],
    slices: usize,
    names: Names,
    /// The groups that are used, by kind and by what their ranks have in common.
    groups: BTreeMap<(Group, [u32; 3]), u32>,
    program: Program,
    labels: Vec<Labels>,
}

/// Where a rank stands.
#[derive(Clone, Copy)]
struct Place {
    tp: u32,
    dp: u32,
    pp: u32,
}

impl Builder<'_> {
    fn label(&mut self) {
        let names = &mut self.names;
        let mut pair = |layer: &Layer, phase: &Phase, name: &str| {
            let computation = names.place(&format!("{} {name}", layer.name));
            let operation = phase.operation.map_or(computation, |operation| {
                names.place(&format!("{} {name} {}", layer.name, operation.collective.name()))
            });
            (computation, operation)
        };
        for layer in self.layers {
            self.labels.push(Labels {
                forward: pair(layer, &layer.forward, "forward"),
                input_gradient: pair(layer, &layer.input_gradient, "input gradient"),
                weight_gradient: pair(layer, &layer.weight_gradient, "weight gradient"),
                update: 0,
            });
        }
        for (layer, labels) in self.layers.iter().zip(&mut self.labels) {
            labels.update = self.names.place(&format!("{} update", layer.name));
        }
    }

    fn rank(&mut self, number: u32, passes: u32, most: u64) -> Result<Rank, String> {
        let dp = self.header.dp();
        let (tp, rest) = (number % self.header.tp, number / self.header.tp);
        let place = Place { tp, dp: rest % dp, pp: rest / dp };
        let beside = vec![None; self.layers.len()];
        let mut walk = Walk {
            builder: self,
            place,
            rank: Rank::default(),
            last: Vec::new(),
            beside,
            tables: None,
            most,
        };
        for pass in 0..passes {
            walk.pass(pass)?;
        }
        Ok(walk.rank)
    }

    /// The group of a rank, if it has others in it.
    fn group(&mut self, kind: Group, place: Place) -> Option<u32> {
        let Header { tp, ep, ranks, .. } = *self.header;
        let dp = self.header.dp();
        let Place { tp: t, dp: d, pp: p } = place;
        let package = self.header.package.unwrap_or(1);
        // Where there are packages, ranks differ in nothing but their number, which is d.
        let (in_package, of_package) = (d % package, d / package);
        let key = match kind {
            Group::All => [0; 3],
            Group::Tp => [p, d, 0],
            Group::Dp => [p, t, 0],
            Group::Ep => [p, t, d / ep],
            Group::DpEp => [p, t, d % ep],
            Group::Package => [of_package, 0, 0],
            Group::Across => [in_package, 0, 0],
        };
        if let Some(&group) = self.groups.get(&(kind, key)) {
            return Some(group);
        }
        let rank = |d: u32, t: u32| (p * dp + d) * tp + t;
        let members: Vec<u32> = match kind {
            Group::All => (0..ranks).collect(),
            Group::Tp => (0..tp).map(|t| rank(d, t)).collect(),
            Group::Dp => (0..dp).map(|d| rank(d, t)).collect(),
            Group::Ep => (0..ep).map(|e| rank(d / ep * ep + e, t)).collect(),
            Group::DpEp => (0..dp / ep).map(|outer| rank(outer * ep + d % ep, t)).collect(),
            Group::Package => (0..package).map(|place| of_package * package + place).collect(),
            Group::Across => (0..ranks / package).map(|other| other * package + in_package).collect(),
        };
        if members.len() < 2 {
            return None;
        }
        let group = exact::<u32>(self.program.groups.len());
        self.program.groups.push(members);
        self.groups.insert((kind, key), group);
        Some(group)
    }
}

/// A rank on its way over the layers.
struct Walk<'a, 'b> {
    builder: &'a mut Builder<'b>,
    place: Place,
    rank: Rank,
    /// What the next operation waits for.
    last: Vec<u32>,
    /// By layer the end of the operation that goes on beside, for which the next pass waits.
    beside: Vec<Option<u32>>,
    /// Of DLRM, the end of what the first layer exchanges beside.
    tables: Option<u32>,
    most: u64,
}

impl Walk<'_, '_> {
    fn pass(&mut self, pass: u32) -> Result<(), String> {
        if self.builder.header.policy == Policy::Micro {
            self.last.clear();
            self.weight_operation(0, None);
            return Ok(());
        }
        let (count, slices) = (self.builder.layers.len(), self.builder.slices);
        let (stage, stages) = (self.place.pp, self.builder.header.pp);
        // The layers of a slice, all slices of equally many, or one more.
        let bounds = |slice: usize| slice * count / slices..(slice + 1) * count / slices;
        for slice in 0..slices {
            if stage > 0 {
                self.receive(stage - 1, self.tag(pass, slice, false)?);
            }
            for layer in bounds(slice) {
                self.forward(layer)?;
            }
            if stage + 1 < stages {
                self.send(stage + 1, self.tag(pass, slice, false)?);
            }
        }
        if self.builder.header.policy == Policy::DistributedInference {
            return Ok(());
        }
        for slice in (0..slices).rev() {
            if stage + 1 < stages {
                self.receive(stage + 1, self.tag(pass, slice, true)?);
            }
            for layer in bounds(slice).rev() {
                self.backward(layer)?;
            }
            if stage > 0 {
                self.send(stage - 1, self.tag(pass, slice, true)?);
            }
        }
        Ok(())
    }

    fn forward(&mut self, layer: usize) -> Result<(), String> {
        if self.rank.operations().len() as u64 > self.most {
            let Builder { header, layers, .. } = &*self.builder;
            let (layers, ranks) = (layers.len(), header.ranks);
            return Err(format!("{layers} layers at {ranks} ranks are more operations than are read"));
        }
        if let Some(beside) = self.beside[layer] {
            self.last.push(beside);
        }
        let (phase, labels) = (self.builder.layers[layer].forward, self.builder.labels[layer]);
        self.compute(phase.time, labels.forward.0);
        if !self.builder.header.policy.is_dlrm() {
            self.waited_for(layer, phase, labels.forward.1);
            return Ok(());
        }
        let exchange = self.beside(layer, phase, labels.forward.1, Some(WAITED_FOR));
        if layer == 0 {
            self.tables = exchange;
        }
        if layer == self.builder.header.last_bottom {
            self.last.extend(self.tables.take());
        }
        Ok(())
    }

    fn backward(&mut self, layer: usize) -> Result<(), String> {
        let (what, labels) = (self.builder.layers[layer].clone(), self.builder.labels[layer]);
        let (input, weight) = (what.input_gradient, what.weight_gradient);
        match self.builder.header.policy {
            Policy::Data => {
                self.compute(weight.time, labels.weight_gradient.0);
                self.weight_operation(layer, Some(BESIDE));
                if layer > 0 {
                    self.compute(input.time, labels.input_gradient.0);
                }
            }
            Policy::Model | Policy::HybridDataModel | Policy::HybridModelData | Policy::HybridCustomized => {
                self.backward_beside(layer, input, weight)
            }
            Policy::Dlrm | Policy::DlrmEnhanced => {
                self.compute(weight.time, labels.weight_gradient.0);
                self.weight_operation(layer, Some(BESIDE));
                self.exchange_back(layer, input.time);
            }
            Policy::Micro | Policy::DistributedInference => {}
            Policy::Transformer | Policy::TransformerFwdInBckwd => {
                if self.builder.header.initiates.contains(&layer)
                    && let Some(checkpoint) = self.builder.header.checkpoint_before(layer)
                {
                    for again in checkpoint..layer {
                        self.forward(again)?;
                    }
                }
                self.compute(input.time, labels.input_gradient.0);
                self.waited_for(layer, input, labels.input_gradient.1);
                self.compute(weight.time, labels.weight_gradient.0);
                self.weight_operation(layer, Some(BESIDE));
            }
        }
        Ok(())
    }

    /// The operation of the input gradient goes on beside all of the weight gradient, and the layer before waits for
    /// it. The first layer has none.
    fn backward_beside(&mut self, layer: usize, input: Phase, weight: Phase) {
        let labels = self.builder.labels[layer];
        self.compute(input.time, labels.input_gradient.0);
        let exchange = if layer > 0 {
            self.beside(layer, input, labels.input_gradient.1, Some(WAITED_FOR))
        } else {
            None
        };
        self.compute(weight.time, labels.weight_gradient.0);
        self.weight_operation(layer, Some(BESIDE));
        self.last.extend(exchange);
    }

    /// Of DLRM, what follows a layer's weight gradient.
    fn exchange_back(&mut self, layer: usize, takes: Time) {
        let Header { policy, last_bottom, .. } = *self.builder.header;
        if layer == 0 {
            let exchange = self.tables.take();
            self.last.extend(exchange.filter(|_| policy == Policy::Dlrm));
            return;
        }
        self.compute(takes, self.builder.labels[layer].input_gradient.0);
        if layer == last_bottom + 1 {
            let (first, name) =
                (self.builder.layers[0].input_gradient, self.builder.labels[0].input_gradient.1);
            self.tables = self.beside(0, first, name, Some(WAITED_FOR));
        }
    }

    fn add(&mut self, work: Work, stream: Option<u16>, name: u32) -> u32 {
        let last = self.last.iter().map(|&on| Dependency::on_end(on));
        self.rank.add(Operation { work, stream, name }, last)
    }

    fn then(&mut self, work: Work, stream: Option<u16>, name: u32) {
        let place = self.add(work, stream, name);
        self.last.clear();
        self.last.push(place);
    }

    fn compute(&mut self, duration: Time, name: u32) {
        if duration > Time::ZERO {
            self.then(Work::Compute { duration }, Some(COMPUTE), name);
        }
    }

    fn collective(&mut self, operation: layer::Operation) -> Option<Work> {
        let group = self.builder.group(operation.group, self.place)?;
        Some(Work::Collective {
            operation: operation.collective,
            group,
            sizes: Sizes::Whole(operation.bytes),
        })
    }

    fn waited_for(&mut self, layer: usize, phase: Phase, name: u32) {
        let Some(work) = phase.operation.and_then(|operation| self.collective(operation)) else { return };
        self.then(work, Some(WAITED_FOR), name);
        self.update(layer);
    }

    /// The operation of the weight gradient, for which nothing waits but the layer's next forward computation.
    fn weight_operation(&mut self, layer: usize, stream: Option<u16>) {
        let phase = self.builder.layers[layer].weight_gradient;
        let name = self.builder.labels[layer].weight_gradient.1;
        if let Some(end) = self.beside(layer, phase, name, stream) {
            self.beside[layer] = Some(end);
        }
    }

    /// An operation for which what comes next does not wait; returns its end.
    fn beside(&mut self, layer: usize, phase: Phase, name: u32, stream: Option<u16>) -> Option<u32> {
        let work = phase.operation.and_then(|operation| self.collective(operation))?;
        let before = self.last.clone();
        self.then(work, stream, name);
        self.update(layer);
        let end = std::mem::replace(&mut self.last, before);
        end.last().copied()
    }

    fn update(&mut self, layer: usize) {
        let duration = self.builder.layers[layer].update;
        if duration > Time::ZERO {
            self.then(Work::Compute { duration }, None, self.builder.labels[layer].update);
        }
    }

    /// What a message between stages has: all bytes of a pass are as many as its slices should have.
    fn message_bytes(&self) -> u64 {
        let header = self.builder.header;
        let all = u128::from(header.pp_comm) * u128::from(header.slices);
        u64::try_from(all.div_ceil(self.builder.slices as u128)).unwrap_or(u64::MAX)
    }

    fn tag(&self, pass: u32, slice: usize, is_back: bool) -> Result<u32, String> {
        let tag = (u64::from(pass) * self.builder.slices as u64 + slice as u64) * 2 + u64::from(is_back);
        u32::try_from(tag).map_err(|_| "too many passes and slices".to_owned())
    }

    /// The rank of another stage with the same place in it.
    fn peer(&self, stage: u32) -> u32 {
        let in_stage = self.place.dp * self.builder.header.tp + self.place.tp;
        stage * self.builder.header.dp() * self.builder.header.tp + in_stage
    }

    fn send(&mut self, stage: u32, tag: u32) {
        let name = self.builder.names.place("message to a stage");
        let (peer, bytes) = (self.peer(stage), self.message_bytes());
        self.add(Work::Send { peer, bytes, tag }, Some(STAGES), name);
    }

    fn receive(&mut self, stage: u32, tag: u32) {
        let name = self.builder.names.place("message from a stage");
        let (peer, bytes) = (Some(self.peer(stage)), self.message_bytes());
        self.then(Work::Receive { peer, bytes, tag: Some(tag) }, Some(STAGES), name);
    }
}
