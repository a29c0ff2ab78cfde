//! Collective operations among hosts, as flows that wait for one another.
//!
//! Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (IJHPCA 2005): the
//! ring, and recursive halving and doubling. A host sends on what it has received, so what a flow waits for is
//! always at its own sender.

use super::dependencies::{Done, Plan, PlannedTrigger, Shot};
use crate::flow::{Flow, HostId};
use crate::spec::Fallback::{Absent, Required, Value as Default};
use crate::spec::{Complaint, Component, Kind, Param, Values};
use crate::units::Time;
use std::ops::Range;

/// What a scenario can write as `arrivals`.
pub const COMPONENT: Component = Component {
    section: "arrivals",
    kind: "collective",
    doc: "A collective operation among hosts: its flows wait for one another as its algorithm has it. Results have its completion time and bus bandwidth.",
    source: "Thakur et al., IJHPCA 2005",
    params: &[&[
        Param {
            name: "operation",
            kind: Kind::Choice(&["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]),
            default: Required,
            doc: "What the hosts do together.",
            source: "MPI 4.1 §6",
        },
        Param {
            name: "algorithm",
            kind: Kind::Choice(&["ring", "halving-doubling", "direct", "in-turn"]),
            default: Absent,
            doc: "How: round the ring (the default), or by recursive halving and doubling; for all-to-all all flows at once (\"direct\", the default), or each host's one after the other, to its next neighbour first (\"in-turn\").",
            source: "Thakur et al. §4",
        },
        Param {
            name: "size",
            kind: Kind::Bytes,
            default: Required,
            doc: "Bytes of the whole: of the vector that each host has before or after; for all-to-all of what each host has for all, itself included.",
            source: "packetloom",
        },
        Param {
            name: "ranks",
            kind: Kind::Count(2),
            default: Absent,
            doc: "How many of the source's hosts take part; left out: all.",
            source: "packetloom",
        },
        Param {
            name: "order",
            kind: Kind::Choice(&["by-number", "random"]),
            default: Default("by-number"),
            doc: "In which order hosts have their ranks: as they are numbered, or drawn for each seed.",
            source: "packetloom",
        },
        Param {
            name: "repeat",
            kind: Kind::Count(1),
            default: Default("1"),
            doc: "How often it is done; a host begins anew when it has received all of the last time.",
            source: "packetloom",
        },
    ]],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    let operation = values.text("operation");
    let is_all_to_all = operation == "all-to-all";
    let algorithms: &[&str] =
        if is_all_to_all { &["direct", "in-turn"] } else { &["ring", "halving-doubling"] };
    match values.optional_text("algorithm") {
        Some(algorithm) if !algorithms.contains(&algorithm.as_str()) => {
            let message = format!("{operation} is not done so; write {}", algorithms.join(" or "));
            Err(Complaint::new("algorithm", message))
        }
        _ => Ok(()),
    }
}

/// An operation, as the scenario has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// "all-reduce" and so on.
    pub operation: String,
    /// "ring" and so on.
    pub algorithm: String,
    /// Bytes of the whole.
    pub size_bytes: u64,
    /// How many hosts take part, if not all.
    pub ranks: Option<u64>,
    /// Whether ranks are drawn.
    pub shuffled: bool,
    /// How often.
    pub repeat: u64,
}

/// More flows than anyone waits for.
const MOST_FLOWS: u64 = 50_000_000;

/// A flow of an operation: from which rank to which, its bytes, and at which step its sender sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    src: u32,
    dst: u32,
    bytes: u64,
    step: u32,
}

impl Collective {
    /// From an `arrivals` component that was read.
    pub fn build(values: &Values) -> Collective {
        let operation = values.text("operation");
        let usual = if operation == "all-to-all" { "direct" } else { "ring" };
        Collective {
            algorithm: values.optional_text("algorithm").unwrap_or_else(|| usual.to_owned()),
            operation,
            size_bytes: values.bytes("size"),
            ranks: values.optional_count("ranks"),
            shuffled: values.meaning("order", &[("by-number", false), ("random", true)]),
            repeat: values.count("repeat"),
        }
    }

    /// What must hold of it among so many hosts.
    ///
    /// # Errors
    /// What does not, by its key.
    pub fn check(&self, ranks: u32) -> Result<(), Complaint> {
        let complain = |key, message: String| Err(Complaint::new(key, message));
        if self.algorithm == "halving-doubling" && !ranks.is_power_of_two() {
            let message =
                format!("halving and doubling needs a power of two of hosts, not {ranks}; write 16");
            return complain("ranks", message);
        }
        if self.size_bytes < u64::from(ranks) {
            return complain("size", format!("{ranks} hosts can't share {} B; write more", self.size_bytes));
        }
        if u64::from(ranks).pow(2).saturating_mul(2 * self.repeat) > MOST_FLOWS {
            return complain("repeat", format!("this makes more than {MOST_FLOWS} flows; write less"));
        }
        Ok(())
    }

    /// For algorithm bandwidth S/t, how much of it a link carries (NCCL tests, PERFORMANCE.md): what makes
    /// operations and numbers of hosts comparable.
    pub fn bus_factor(&self, ranks: u32) -> f64 {
        let share = f64::from(ranks - 1) / f64::from(ranks);
        if self.operation == "all-reduce" { 2.0 * share } else { share }
    }

    /// Its flows among `hosts`, by rank, and which of them belong to each repetition. `like` says what all have in
    /// common.
    pub fn plan(&self, hosts: &[HostId], like: Flow) -> (Plan, Vec<Range<usize>>) {
        let moves = self.moves(hosts.len() as u32);
        let mut plan = Plan::default();
        let mut repetitions = Vec::new();
        for repetition in 0..self.repeat {
            let base = plan.flows.len();
            let first = if repetition == 0 { like.start } else { Time::NEVER };
            plan.flows.extend(moves.iter().map(|one| Flow {
                src: hosts[one.src as usize],
                dst: hosts[one.dst as usize],
                size_bytes: one.bytes,
                start: if self.waits(one) { Time::NEVER } else { first },
                ..like
            }));
            self.chain_steps(&moves, base, &mut plan);
            if repetition > 0 {
                self.chain_repetitions(&moves, base, hosts.len() as u32, &mut plan);
            }
            repetitions.push(base..plan.flows.len());
        }
        (plan, repetitions)
    }

    /// Whether a flow waits for others of its repetition.
    fn waits(&self, one: &Move) -> bool {
        one.step > 0 && self.algorithm != "direct"
    }

    /// A host sends at each step what it has received, or, for all-to-all in turn, once it has sent, at the step
    /// before.
    fn chain_steps(&self, moves: &[Move], base: usize, plan: &mut Plan) {
        let done = if self.algorithm == "in-turn" { Done::Sent } else { Done::Received };
        let end = |one: &Move| if done == Done::Sent { one.src } else { one.dst };
        let mut awaited: Vec<(u32, u32, usize)> =
            moves.iter().enumerate().map(|(place, one)| (end(one), one.step + 1, place)).collect();
        awaited.sort_unstable();
        for (place, one) in moves.iter().enumerate().filter(|(_, one)| self.waits(one)) {
            let from = awaited.partition_point(|&(rank, step, _)| (rank, step) < (one.src, one.step));
            let these =
                awaited[from..].iter().take_while(|&&(rank, step, _)| (rank, step) == (one.src, one.step));
            let awaits: Vec<_> = these.map(|&(_, _, other)| (base + other, done)).collect();
            let shot = Shot::AllAfter(awaits.len() as u32);
            plan.triggers.push(PlannedTrigger { shot, awaits, starts: vec![base + place] });
        }
    }

    /// A host begins a repetition when it has received all of the last.
    fn chain_repetitions(&self, moves: &[Move], base: usize, ranks: u32, plan: &mut Plan) {
        let before = base - moves.len();
        let mut triggers: Vec<PlannedTrigger> = (0..ranks)
            .map(|_| PlannedTrigger { shot: Shot::AllAfter(0), awaits: Vec::new(), starts: Vec::new() })
            .collect();
        for (place, one) in moves.iter().enumerate() {
            triggers[one.dst as usize].awaits.push((before + place, Done::Received));
            if !self.waits(one) {
                triggers[one.src as usize].starts.push(base + place);
            }
        }
        for trigger in &mut triggers {
            trigger.shot = Shot::AllAfter(trigger.awaits.len() as u32);
        }
        plan.triggers.extend(triggers);
    }

    fn moves(&self, ranks: u32) -> Vec<Move> {
        let chunks = Chunks { size_bytes: self.size_bytes, ranks };
        match (self.operation.as_str(), self.algorithm.as_str()) {
            ("all-to-all", _) => chunks.to_all(),
            ("all-reduce", "ring") => chunks.ring(2 * (ranks - 1)),
            (_, "ring") => chunks.ring(ranks - 1),
            ("all-reduce", _) => {
                let steps = ranks.ilog2();
                chunks.halving().chain(chunks.doubling(steps)).collect()
            }
            ("reduce-scatter", _) => chunks.halving().collect(),
            _ => chunks.doubling(0).collect(),
        }
    }
}

/// The whole in as many chunks as there are hosts.
#[derive(Clone, Copy)]
struct Chunks {
    size_bytes: u64,
    ranks: u32,
}

impl Chunks {
    /// The bytes of some neighbouring chunks.
    fn bytes(self, chunks: Range<u32>) -> u64 {
        let before =
            |chunk: u32| (u128::from(self.size_bytes) * u128::from(chunk) / u128::from(self.ranks)) as u64;
        before(chunks.end) - before(chunks.start)
    }

    /// At each step every host sends a chunk to the next, the one that it received at the step before.
    fn ring(self, steps: u32) -> Vec<Move> {
        let ranks = self.ranks;
        let one = |(step, src): (u32, u32)| {
            let chunk = (src + ranks - step % ranks) % ranks;
            Move { src, dst: (src + 1) % ranks, bytes: self.bytes(chunk..chunk + 1), step }
        };
        (0..steps).flat_map(|step| (0..ranks).map(move |src| (step, src))).map(one).collect()
    }

    /// The aligned block of so many chunks that a rank is in.
    fn block(rank: u32, chunks: u32) -> Range<u32> {
        let first = rank / chunks * chunks;
        first..first + chunks
    }

    /// Hosts at half the distance each time send each other the half that the other keeps.
    fn halving(self) -> impl Iterator<Item = Move> {
        let steps = self.ranks.ilog2();
        let one = move |(step, src): (u32, u32)| {
            let distance = self.ranks >> (step + 1);
            let dst = src ^ distance;
            Move { src, dst, bytes: self.bytes(Chunks::block(dst, distance)), step }
        };
        (0..steps).flat_map(move |step| (0..self.ranks).map(move |src| (step, src))).map(one)
    }

    /// Hosts at twice the distance each time send each other all that they have.
    fn doubling(self, first_step: u32) -> impl Iterator<Item = Move> {
        let steps = self.ranks.ilog2();
        let one = move |(step, src): (u32, u32)| {
            let distance = 1 << step;
            let bytes = self.bytes(Chunks::block(src, distance));
            Move { src, dst: src ^ distance, bytes, step: first_step + step }
        };
        (0..steps).flat_map(move |step| (0..self.ranks).map(move |src| (step, src))).map(one)
    }

    /// Every host has a chunk for every other.
    fn to_all(self) -> Vec<Move> {
        let ranks = self.ranks;
        let one = |(step, src): (u32, u32)| {
            let dst = (src + step + 1) % ranks;
            Move { src, dst, bytes: self.bytes(dst..dst + 1), step }
        };
        (0..ranks - 1).flat_map(|step| (0..ranks).map(move |src| (step, src))).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collective(operation: &str, algorithm: &str) -> Collective {
        Collective {
            operation: operation.to_owned(),
            algorithm: algorithm.to_owned(),
            size_bytes: 1_003,
            ranks: None,
            shuffled: false,
            repeat: 2,
        }
    }

    /// What each rank has of each chunk in the end, as the set of ranks whose part is in it; sends and receives step
    /// by step.
    fn after(collective: &Collective, ranks: u32, start: impl Fn(u32, u32) -> u64) -> Vec<Vec<u64>> {
        let chunks = Chunks { size_bytes: collective.size_bytes, ranks };
        let mut has: Vec<Vec<u64>> =
            (0..ranks).map(|rank| (0..ranks).map(|chunk| start(rank, chunk)).collect()).collect();
        let moves = collective.moves(ranks);
        for step in 0..=moves.iter().map(|one| one.step).max().unwrap_or(0) {
            let before = has.clone();
            for one in moves.iter().filter(|one| one.step == step) {
                let sent = chunks_of(collective, ranks, one);
                assert_eq!(sent.clone().map(|chunk| chunks.bytes(chunk..chunk + 1)).sum::<u64>(), one.bytes);
                for chunk in sent {
                    has[one.dst as usize][chunk as usize] |= before[one.src as usize][chunk as usize];
                }
            }
        }
        has
    }

    /// Which chunks a move carries, computed anew from its step.
    fn chunks_of(collective: &Collective, ranks: u32, one: &Move) -> Range<u32> {
        let steps = ranks.ilog2();
        match (collective.operation.as_str(), collective.algorithm.as_str()) {
            (_, "ring") => {
                let chunk = (one.src + 2 * ranks - one.step) % ranks;
                chunk..chunk + 1
            }
            ("all-gather", _) => Chunks::block(one.src, 1 << one.step),
            ("all-reduce", _) if one.step >= steps => Chunks::block(one.src, 1 << (one.step - steps)),
            _ => Chunks::block(one.dst, ranks >> (one.step + 1)),
        }
    }

    #[test]
    fn operations_do_what_they_should() {
        for ranks in [2, 4, 8] {
            let everyone = (1_u64 << ranks) - 1;
            let own = |rank: u32, _: u32| 1 << rank;
            for algorithm in ["ring", "halving-doubling"] {
                let all = after(&collective("all-reduce", algorithm), ranks, own);
                assert!(all.iter().flatten().all(|&parts| parts == everyone), "{algorithm} {ranks}: {all:?}");
                let scattered = after(&collective("reduce-scatter", algorithm), ranks, own);
                let whole = |of: &Vec<u64>| of.iter().filter(|&&parts| parts == everyone).count();
                assert!(scattered.iter().all(|of| whole(of) == 1), "{algorithm} {ranks}: {scattered:?}");
                let gathered = after(&collective("all-gather", algorithm), ranks, |rank, chunk| {
                    u64::from(rank == chunk)
                });
                assert!(gathered.iter().flatten().all(|&has| has == 1), "{algorithm} {ranks}: {gathered:?}");
            }
        }
    }

    #[test]
    fn each_host_sends_its_share() {
        let like = Flow {
            id: 0,
            src: 0,
            dst: 0,
            size_bytes: 0,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        let hosts: Vec<HostId> = (10..18).collect();
        for (operation, algorithm, per_host) in [
            ("all-reduce", "ring", 2 * 7 * 1_003 / 8),
            ("all-reduce", "halving-doubling", 2 * 7 * 1_003 / 8),
            ("all-gather", "ring", 7 * 1_003 / 8),
            ("all-to-all", "direct", 7 * 1_003 / 8),
            ("all-to-all", "in-turn", 7 * 1_003 / 8),
        ] {
            let (plan, repetitions) = collective(operation, algorithm).plan(&hosts, like);
            assert!(!plan.has_remote(), "{operation} {algorithm}");
            assert_eq!(repetitions.len(), 2);
            for host in &hosts {
                let sent = plan.flows[repetitions[0].clone()].iter().filter(|flow| flow.src == *host);
                let sent: u64 = sent.map(|flow| flow.size_bytes).sum();
                assert!(sent.abs_diff(per_host) <= 2, "{operation} {algorithm}: {sent} is not {per_host}");
            }
            // Every flow starts by the clock, or by one trigger.
            let by_trigger = plan.triggers.iter().map(|trigger| trigger.starts.len()).sum::<usize>();
            let by_clock = plan.flows.iter().filter(|flow| flow.start == Time::ZERO).count();
            assert_eq!(by_trigger + by_clock, plan.flows.len());
        }
    }
}
