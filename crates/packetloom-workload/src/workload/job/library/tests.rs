//! Jobs that the cost model times.

use super::*;
use crate::flow::Flow;
use crate::job::{Dependency, Operation, Program, Rank, Sizes, Work};
use crate::units::{Rate, Time};
use crate::workload::Wire;
use crate::workload::job::{Costs, Life, Plan, Settings, Whole, carry_out};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Eight Hopper accelerators in a server, each with 400 Gb/s.
pub fn hopper() -> Nccl {
    Nccl {
        generation: Generation::Hopper,
        cpu: Cpu::Intel,
        inside: Inside::NvLink,
        nvlinks: None,
        nics: None,
        nic_gbytes: 50.0,
        wishes: Wishes::default(),
        has_nvls: true,
        has_pat: true,
        channels: (1, 64),
        is_modelled: true,
        pxn: true,
        has_grants: false,
        written: [None; 3],
        channel_rate: None,
        has_nodes: false,
        wire: Wire::default(),
    }
}

fn settings(ranks: u32, server: u32) -> Settings {
    let like = Flow {
        id: 0,
        src: 0,
        dst: 0,
        size_bytes: 0,
        start: Time::from_us(5),
        deadline: Time::NEVER,
        class: 0,
        source: 0,
        chain: None,
    };
    Settings {
        hosts: (0..ranks).collect(),
        like,
        library: Some(hopper()),
        whole: Whole::None,
        repeat: 2,
        algorithms: BTreeMap::new(),
        servers: Some((0..ranks).map(|rank| rank / server).collect()),
        channels: 1,
        chunks: 1,
        costs: Costs::default(),
        number: 0,
        disturbances: Arc::default(),
        life: Life::Whole,
        nodes_from: None,
    }
}

/// Each rank computes for its number of µs, and then all reduce so many bytes.
fn staggered(ranks: u32, bytes: u64) -> Program {
    let mut program = Program { groups: vec![(0..ranks).collect()], ..Program::default() };
    let name = program.name("step");
    program.ranks = (0..ranks)
        .map(|number| {
            let mut rank = Rank::default();
            let work = Work::Compute { duration: Time::from_us(number.into()) };
            let first = rank.add(Operation { work, stream: Some(0), name }, []);
            let sizes = Sizes::Whole(bytes);
            let work = Work::Collective { operation: Collective::AllReduce, group: 0, sizes };
            rank.add(Operation { work, stream: Some(1), name }, [Dependency::on_end(first)]);
            rank
        })
        .collect();
    program
}

#[test]
fn an_operation_takes_what_the_model_says_once_its_last_rank_has_begun() {
    let mut plan = Plan::new(staggered(16, 1 << 30), settings(16, 8)).expect("it can be done");
    plan.number_from(0);
    assert_eq!((plan.messages(), plan.choices().len()), (0, 1));
    let spans = carry_out(&Arc::new(plan), Time::NEVER);
    // 11.9 us of a tree of switches, and 1 GiB at half of what eight NICs give twice.
    let takes = hopper().call(Collective::AllReduce, 1 << 30, hopper().machine(16, 2)).expect("done").takes();
    let takes = takes.expect("the model knows it");
    let begin = Time::from_us(5 + 15);
    for (_, spans) in &spans {
        let ends: Vec<Time> = spans.iter().filter(|span| span.place == 1).map(|span| span.end).collect();
        assert_eq!(ends, [begin + takes, begin + takes + Time::from_us(15) + takes]);
    }
    // What is cut off is not over.
    let plan = Plan::new(staggered(16, 1 << 30), settings(16, 8)).expect("it can be done");
    let spans = carry_out(&Arc::new(plan), begin + takes);
    assert!(spans.iter().all(|(_, spans)| spans.iter().any(|span| span.end == Time::NEVER)));
}

#[test]
fn what_the_model_has_not_is_refused() {
    let refused = |program, settings| Plan::new(program, settings).expect_err("refused");
    assert_eq!(
        refused(staggered(12, 1 << 20), settings(12, 8)),
        "NCCL is modelled for equally many ranks of a group in each server; write ranks or a placement for which that is so, or library = \"plain\""
    );
    let mut barrier = staggered(16, 1);
    for rank in &mut barrier.ranks {
        let mut other = Rank::default();
        let (operation, sizes) = (Collective::Barrier, Sizes::Whole(0));
        let work = Work::Collective { operation, group: 0, sizes };
        other.add(Operation { work, stream: None, name: 0 }, []);
        *rank = other;
    }
    assert_eq!(
        refused(barrier, settings(16, 8)),
        "NCCL has no barrier; write an all-reduce of a few bytes, or library = \"plain\""
    );
    let wishes = Wishes { algorithm: Some(Algorithm::Pat), protocol: None };
    let library = Some(Nccl { wishes, ..hopper() });
    assert_eq!(
        refused(staggered(16, 1 << 20), Settings { library, ..settings(16, 8) }),
        "NCCL has no all-reduce among 16 ranks on 2 servers by algorithm \"pat\" and protocol \"auto\"; write \"auto\" for both"
    );
}

impl Nccl {
    /// By packets, as wished, over one channel; a message of another server costs a receiver so much, and nothing else.
    pub fn sent(wishes: Wishes, network_cost: Time, has_grants: bool) -> Nccl {
        let written = [Some(Time::ZERO), Some(network_cost), Some(Time::ZERO)];
        Nccl {
            wishes,
            has_grants,
            is_modelled: false,
            has_nvls: false,
            channels: (1, 1),
            channel_rate: Some(Rate(u64::MAX)),
            written,
            ..hopper()
        }
    }

    /// The same whose threads move a channel's data at a rate.
    pub fn with_threads(self, rate: Rate) -> Nccl {
        Nccl { channel_rate: Some(rate), ..self }
    }

    /// By packets and switches that reduce, in so many servers; messages cost this inside servers and between them, and
    /// nothing else.
    pub fn by_switches(servers: u32, (inside, network): (Time, Time), has_grants: bool) -> Nccl {
        let written = [Some(Time::ZERO), Some(network), Some(inside)];
        let algorithm = Some(if servers > 1 { Algorithm::NvlsTree } else { Algorithm::Nvls });
        let wishes = Wishes { algorithm, protocol: None };
        Nccl { is_modelled: false, has_nodes: true, has_grants, written, wishes, ..hopper() }
    }
}
