//! Mixture of experts: tokens go to the ranks of their experts and back, as many to each as the routing gives it.

use super::job::settings;
use crate::job::{Collective, Dependency, Operation, Program, Rank, Sizes, Work};
use crate::random::Stream;
use crate::spec::Fallback::{Required, Value as Default};
use crate::spec::{Complaint, Component, Kind, Param, Values};

/// What a scenario can write as `arrivals`.
pub const COMPONENT: Component = Component {
    section: "arrivals",
    kind: "moe",
    doc: "A mixture of experts: in each layer every rank sends its tokens to the ranks of their experts, which compute \
          and send them back. Each rank begins with tokens × top_k × bytes_per_token bytes; those for its own experts \
          stay there.",
    source: "Lepikhin et al., GShard 2020; draft-calabria-bmwg-ai-fabric-inference-bench",
    params: &[
        &[
            Param {
                name: "experts",
                kind: Kind::Count(1),
                default: Required,
                doc: "How many there are: so many on each rank that all have equally many.",
                source: "packetloom",
            },
            Param {
                name: "top_k",
                kind: Kind::Count(1),
                default: Default("2"),
                doc: "To how many experts a token goes.",
                source: "GShard: 2",
            },
            Param {
                name: "tokens",
                kind: Kind::Count(1),
                default: Required,
                doc: "Tokens of each rank.",
                source: "packetloom",
            },
            Param {
                name: "bytes_per_token",
                kind: Kind::Bytes,
                default: Required,
                doc: "Bytes of a token: hidden size times bytes per value.",
                source: "packetloom",
            },
            Param {
                name: "skew",
                kind: Kind::Number(0.0, 10.0),
                default: Default("0"),
                doc: "How unevenly experts are chosen: the n-th most popular with weight n^-skew, which one that is drawn \
                      anew for each layer. 0: all alike.",
                source: "packetloom; Zipf's distribution",
            },
            Param {
                name: "layers",
                kind: Kind::Count(1),
                default: Default("1"),
                doc: "Layers, one after the other.",
                source: "packetloom",
            },
            Param {
                name: "compute",
                kind: Kind::Time,
                default: Default("0us"),
                doc: "What a rank computes in a layer between the two exchanges.",
                source: "packetloom",
            },
            Param {
                name: "ranks",
                kind: Kind::Count(2),
                default: crate::spec::Fallback::Absent,
                doc: "How many of the source's hosts take part; left out: all.",
                source: "packetloom",
            },
        ],
        settings::PLACEMENT_PARAMS,
    ],
    check: settings::check,
};

/// More draws than that take too long.
const MOST_CHOICES: u64 = 1 << 28;

/// The program among so many ranks, and what it is in words.
///
/// # Errors
/// What can't be among so many, by its key.
pub fn program(values: &Values, ranks: u32, draws: &mut Stream) -> Result<(Program, String), Complaint> {
    let (experts, top_k) = (values.count("experts"), values.count("top_k"));
    let (tokens, layers) = (values.count("tokens"), values.count("layers"));
    if !experts.is_multiple_of(u64::from(ranks)) {
        let message = format!("{experts} experts are not equally many on {ranks} ranks; write a multiple");
        return Err(Complaint::new("experts", message));
    }
    if top_k > experts {
        return Err(Complaint::new("top_k", format!("a token can't go to {top_k} of {experts} experts")));
    }
    let factors = [u64::from(ranks), tokens, top_k, layers];
    if factors.into_iter().try_fold(1_u64, u64::checked_mul).is_none_or(|choices| choices > MOST_CHOICES) {
        return Err(Complaint::new(
            "tokens",
            format!("more than {MOST_CHOICES} choices of experts; write fewer"),
        ));
    }
    let mut program = Program { groups: vec![(0..ranks).collect()], ..Program::default() };
    program.ranks = vec![Rank::default(); ranks as usize];
    let names = ["dispatch", "experts", "combine"].map(|name| program.name(name));
    let routing = Routing { experts, top_k, tokens, skew: values.number("skew") };
    for _ in 0..layers {
        let sent = routing.draw(ranks, values.bytes("bytes_per_token"), draws);
        let back = transposed(&sent, ranks);
        let first = program.matrices.len() as u32;
        program.matrices.extend([sent, back]);
        let exchange = |matrix| Work::Collective {
            operation: Collective::AllToAll,
            group: 0,
            sizes: Sizes::Matrix(matrix),
        };
        let compute = Work::Compute { duration: values.time("compute") };
        for rank in &mut program.ranks {
            for ((work, stream), name) in
                [(exchange(first), 1), (compute, 0), (exchange(first + 1), 1)].into_iter().zip(names)
            {
                let last = rank.operations().len() as u32;
                let after = last.checked_sub(1).map(Dependency::on_end);
                rank.add(Operation { work, stream: Some(stream), name }, after);
            }
        }
    }
    let what =
        format!("mixture of {experts} experts among {ranks} ranks, {tokens} tokens of each to {top_k}");
    Ok((program, what))
}

/// How tokens choose experts.
struct Routing {
    experts: u64,
    top_k: u64,
    tokens: u64,
    skew: f64,
}

impl Routing {
    /// Bytes from each rank to each other.
    fn draw(&self, ranks: u32, bytes: u64, draws: &mut Stream) -> Vec<u64> {
        let bounds = self.bounds(draws);
        let per_rank = (self.experts / u64::from(ranks)) as usize;
        let mut matrix = vec![0; (ranks * ranks) as usize];
        let mut chosen = Vec::new();
        for rank in 0..ranks as usize {
            for _ in 0..self.tokens {
                chosen.clear();
                while (chosen.len() as u64) < self.top_k {
                    let expert = pick(&bounds, draws);
                    if !chosen.contains(&expert) {
                        chosen.push(expert);
                        matrix[rank * ranks as usize + expert / per_rank] += bytes;
                    }
                }
            }
        }
        matrix
    }

    /// Where each expert's part of the line from 0 to 1 ends, and whose it is.
    fn bounds(&self, draws: &mut Stream) -> Vec<(f64, usize)> {
        let mut order: Vec<usize> = (0..self.experts as usize).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, draws.below(last as u32 + 1) as usize);
        }
        let weight = |nth: usize| libm::pow((nth + 1) as f64, -self.skew);
        let all: f64 = (0..order.len()).map(weight).sum();
        let mut sum = 0.0;
        let bound = |(nth, expert): (usize, usize)| {
            sum += weight(nth) / all;
            (sum, expert)
        };
        order.into_iter().enumerate().map(bound).collect()
    }
}

fn pick(bounds: &[(f64, usize)], draws: &mut Stream) -> usize {
    let at = draws.unit();
    let found = bounds.partition_point(|&(bound, _)| bound <= at);
    bounds[found.min(bounds.len() - 1)].1
}

fn transposed(matrix: &[u64], ranks: u32) -> Vec<u64> {
    let ranks = ranks as usize;
    (0..ranks * ranks).map(|at| matrix[at % ranks * ranks + at / ranks]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn values(skew: f64) -> Values {
        use crate::spec::Value;
        let entries = [
            ("experts", Value::Count(16)),
            ("top_k", Value::Count(2)),
            ("tokens", Value::Count(1_000)),
            ("bytes_per_token", Value::Bytes(100)),
            ("skew", Value::Number(skew)),
            ("layers", Value::Count(3)),
            ("compute", Value::Time(crate::units::Time::from_us(1))),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        Values { kind: "moe".to_owned(), entries }
    }

    #[test]
    fn tokens_go_to_experts_and_back() {
        for (skew, most) in [(0.0, 1.1..1.3), (1.0, 1.5..3.0)] {
            let mut draws = Stream::new(7, Purpose::Pattern, 0);
            let (program, _) = program(&values(skew), 8, &mut draws).expect("a sound program");
            program.check().expect("a sound program");
            assert_eq!((program.ranks.len(), program.matrices.len()), (8, 6));
            let mut busiest = 0.0_f64;
            for pair in program.matrices.chunks(2) {
                assert_eq!(transposed(&pair[0], 8), pair[1]);
                // Each rank has 1000 tokens for two experts each.
                assert!(pair[0].chunks(8).all(|row| row.iter().sum::<u64>() == 200_000));
                let column = |to: usize| pair[0].iter().skip(to).step_by(8).sum::<u64>();
                let mean = 200_000.0;
                busiest = (0..8).map(|to| column(to) as f64 / mean).fold(busiest, f64::max);
            }
            assert!(most.contains(&busiest) || skew == 0.0 && busiest < 1.1, "{skew}: {busiest}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut draws = Stream::new(7, Purpose::Pattern, 0);
        let complaint = program(&values(0.0), 6, &mut draws).expect_err("a mistake");
        assert_eq!(
            (complaint.key.as_str(), complaint.message.as_str()),
            ("experts", "16 experts are not equally many on 6 ranks; write a multiple")
        );
    }
}
