//! Mixture of experts: tokens go to the ranks of their experts and back, as many to each as the routing gives it.

use super::job::settings;
use crate::job::{Collective, Dependency, MOST_BYTES, Operation, Program, Rank, Sizes, Work};
use crate::narrow::exact;
use crate::random::Stream;
use crate::spec::{Complaint, Component, Kind, Values, param};

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
            param! {
                required "experts": Kind::Count(1),
                "The number of experts, equally many on each rank.", "packetloom"
            },
            param! { "top_k" = "2": Kind::Count(1), "To how many experts a token goes.", "GShard: 2" },
            param! { required "tokens": Kind::Count(1), "Tokens of each rank.", "packetloom" },
            param! {
                required "bytes_per_token": Kind::Bytes,
                "Bytes of a token: hidden size times bytes per value.", "packetloom"
            },
            param! {
                "skew" = "0": Kind::Number(0.0, 10.0),
                "How unevenly experts are chosen: the n-th most popular has the weight n^-skew, and the order \
                      of popularity is drawn anew for each layer. 0: evenly.",
                "packetloom; Zipf's distribution"
            },
            param! { "layers" = "1": Kind::Count(1), "Layers, one after the other.", "packetloom" },
            param! {
                "compute" = "0us": Kind::Time,
                "Computing time of a rank in a layer, between the two exchanges.", "packetloom"
            },
            param! {
                "ranks": Kind::Count(2),
                "How many of the source's hosts take part; left out: all.", "packetloom"
            },
        ],
        settings::PLACEMENT_PARAMS,
    ],
    check,
};

/// More draws than that take too long.
const MOST_CHOICES: u64 = 1 << 28;
/// More than any model has, and few enough to be gone through for a token.
const MOST_EXPERTS: u64 = 1 << 16;
/// So often is an expert drawn for a token that has it already; after that those left are drawn without such tries.
/// With a skew of 2 and eight experts a token, so many tries as good as never fail.
const MOST_TRIES: usize = 256;

fn check(values: &Values) -> Result<(), Complaint> {
    if values.count("experts") > MOST_EXPERTS {
        return Err(Complaint::new("experts", format!("write {MOST_EXPERTS} at most")));
    }
    if values.bytes("bytes_per_token") == 0 {
        return Err(Complaint::new("bytes_per_token", "a token has 1 B at least; write more"));
    }
    settings::check_without_parts(values, "tokens go to each rank at once")?;
    settings::check(values)
}

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
    let pairs = u64::from(ranks).pow(2);
    if pairs.checked_mul(layers).is_none_or(|pairs| pairs > MOST_CHOICES) {
        let message = format!("more than {MOST_CHOICES} pairs of ranks in all layers; write fewer");
        return Err(Complaint::new("layers", message));
    }
    let bytes = values.bytes("bytes_per_token");
    if (tokens * top_k).checked_mul(bytes).is_none_or(|bytes| bytes > MOST_BYTES) {
        let message = format!("a rank sends more than {MOST_BYTES} B in a layer; write fewer");
        return Err(Complaint::new("bytes_per_token", message));
    }
    let mut program = Program { groups: vec![(0..ranks).collect()], ..Program::default() };
    program.ranks = vec![Rank::default(); ranks as usize];
    let names = ["dispatch", "experts", "combine"].map(|name| program.name(name));
    let routing = Routing { experts, top_k, tokens, skew: values.number("skew") };
    for _ in 0..layers {
        let sent = routing.draw(ranks, bytes, draws);
        let back = transposed(&sent, ranks);
        let first = exact::<u32>(program.matrices.len());
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
                let last = exact::<u32>(rank.operations().len());
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
        let per_rank = exact::<usize>(self.experts / u64::from(ranks));
        let ranks = ranks as usize;
        let mut matrix = vec![0; ranks * ranks];
        let mut choice = Choice { is_taken: vec![false; exact::<usize>(self.experts)], chosen: Vec::new() };
        for rank in 0..ranks {
            for _ in 0..self.tokens {
                self.choose(&bounds, &mut choice, draws);
                for expert in &choice.chosen {
                    matrix[rank * ranks + expert / per_rank] += bytes;
                }
            }
        }
        matrix
    }

    /// The experts of a token: each is drawn among those that were not chosen, in proportion to their weights.
    fn choose(&self, bounds: &[(f64, usize)], choice: &mut Choice, draws: &mut Stream) {
        choice.clear();
        while (choice.chosen.len() as u64) < self.top_k {
            let mut tries = (0..MOST_TRIES).map(|_| pick(bounds, draws));
            match tries.find(|&expert| !choice.is_taken[expert]) {
                Some(expert) => choice.take(expert),
                None => return self.choose_the_rest(bounds, choice, draws),
            }
        }
    }

    /// The same without tries: of those left, the ones whose exponential times with rates like their weights are
    /// the shortest (Efraimidis and Spirakis, Information Processing Letters 97, 2006).
    fn choose_the_rest(&self, bounds: &[(f64, usize)], choice: &mut Choice, draws: &mut Stream) {
        let left = (0..).zip(bounds).filter(|(_, (_, expert))| !choice.is_taken[*expert]);
        let mut times: Vec<(f64, usize)> =
            left.map(|(nth, &(_, expert))| (draws.exponential() / self.weight(nth), expert)).collect();
        times.sort_by(|one, other| one.0.total_cmp(&other.0));
        let open = exact::<usize>(self.top_k) - choice.chosen.len();
        times.iter().take(open).for_each(|&(_, expert)| choice.take(expert));
    }

    /// Of the n-th most popular expert, counted from 0.
    fn weight(&self, nth: usize) -> f64 {
        libm::pow((nth + 1) as f64, -self.skew)
    }

    /// Where each expert's part of the line from 0 to 1 ends, and whose it is.
    fn bounds(&self, draws: &mut Stream) -> Vec<(f64, usize)> {
        let mut order: Vec<usize> = (0..exact::<usize>(self.experts)).collect();
        draws.shuffle(&mut order);
        let all: f64 = (0..order.len()).map(|nth| self.weight(nth)).sum();
        let mut sum = 0.0;
        let bound = |(nth, expert): (usize, usize)| {
            sum += self.weight(nth) / all;
            (sum, expert)
        };
        order.into_iter().enumerate().map(bound).collect()
    }
}

/// The experts that a token has so far.
struct Choice {
    is_taken: Vec<bool>,
    chosen: Vec<usize>,
}

impl Choice {
    fn clear(&mut self) {
        for expert in self.chosen.drain(..) {
            self.is_taken[expert] = false;
        }
    }

    fn take(&mut self, expert: usize) {
        self.is_taken[expert] = true;
        self.chosen.push(expert);
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

    /// With such a skew, all but the most popular expert are as good as never drawn.
    #[test]
    fn a_token_has_different_experts_however_uneven_their_popularity() {
        let mut values = values(10.0);
        values.entries.insert("top_k".to_owned(), crate::spec::Value::Count(8));
        let mut draws = Stream::new(7, Purpose::Pattern, 0);
        let (program, _) = program(&values, 16, &mut draws).expect("a sound program");
        for matrix in program.matrices.iter().step_by(2) {
            // An expert a rank: a rank sends no more than a token's bytes for each of its thousand tokens to one.
            assert!(matrix.iter().all(|&bytes| bytes <= 100_000));
            assert!(matrix.chunks(16).all(|row| row.iter().sum::<u64>() == 800_000));
        }
    }

    /// Of experts with weights 1, 1/2 and 1/3, those left after the first are drawn three to two.
    #[test]
    fn what_is_drawn_without_tries_goes_by_weight() {
        let routing = Routing { experts: 3, top_k: 2, tokens: 1, skew: 1.0 };
        let bounds = [(0.0, 0), (0.0, 1), (0.0, 2)];
        let mut draws = Stream::new(7, Purpose::Pattern, 0);
        let mut seconds = 0;
        for _ in 0..60_000 {
            let mut choice = Choice { is_taken: vec![false; 3], chosen: Vec::new() };
            choice.take(0);
            routing.choose_the_rest(&bounds, &mut choice, &mut draws);
            seconds += u32::from(choice.chosen == [0, 1]);
        }
        // 3/5 of 60 000; the standard deviation is 120.
        assert!((35_400..36_600).contains(&seconds), "{seconds}");
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
