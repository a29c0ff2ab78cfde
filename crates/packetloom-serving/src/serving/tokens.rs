//! How long prompts and answers are, in tokens.

use super::component::MOST_TOKENS;
use crate::narrow::saturated;
use crate::random::Stream;
use crate::spec::{Complaint, Component, Kind, Param, Value, Values, param};

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    param! { required name: kind, doc, "packetloom" }
}

pub const FIXED: Component = Component {
    section: "tokens",
    kind: "fixed",
    doc: "All prompts, or all answers, have the same length.",
    source: "packetloom",
    params: &[&[required("tokens", Kind::Count(1), "The length in tokens.")]],
    check: check_most,
};

pub const LOGNORMAL: Component = Component {
    section: "tokens",
    kind: "lognormal",
    doc: "The logarithm of the length is normal. Lengths are rounded to the nearest, 1 at least.",
    source: "packetloom",
    params: &[&[
        required("median", Kind::Count(1), "The median length in tokens: half are shorter."),
        required("sigma", Kind::Number(0.0, 10.0), "The standard deviation of the natural logarithm."),
        required(
            "most",
            Kind::Count(1),
            "The greatest length in tokens, the model's context: longer draws are cut to it.",
        ),
    ]],
    check: check_most,
};

const POINT: Kind = Kind::List(&Kind::Number(0.0, MOST_TOKENS as f64));

pub const CDF: Component = Component {
    section: "tokens",
    kind: "cdf",
    doc: "Lengths from an empirical distribution, linear between its points. They are rounded to the nearest, 1 at least.",
    source: "packetloom",
    params: &[&[required(
        "points",
        Kind::List(&POINT),
        "Pairs [tokens, cumulative probability], both rising, the last one ending in 1.",
    )]],
    check: check_points,
};

fn check_most(values: &Values) -> Result<(), Complaint> {
    for key in ["tokens", "median", "most"] {
        if values.entries.contains_key(key) && values.count(key) > MOST_TOKENS {
            return Err(Complaint::new(key, format!("write {MOST_TOKENS} at most")));
        }
    }
    Ok(())
}

fn points(values: &Values) -> Option<Vec<(f64, f64)>> {
    let pair = |point: &Value| match point {
        Value::List(pair) => match pair.as_slice() {
            [Value::Number(tokens), Value::Number(share)] => Some((*tokens, *share)),
            _ => None,
        },
        _ => None,
    };
    values.optional_list("points")?.iter().map(pair).collect()
}

fn check_points(values: &Values) -> Result<(), Complaint> {
    let complain = |message: &str| Err(Complaint::new("points", message));
    let Some(points) = points(values) else {
        return complain("a point is a pair [tokens, cumulative probability]");
    };
    if points.windows(2).any(|pair| pair[1].0 < pair[0].0 || pair[1].1 <= pair[0].1) {
        return complain("tokens and probabilities must rise from point to point");
    }
    match points.last() {
        Some(&(_, 1.0)) => Ok(()),
        _ => complain("the last point's probability must be 1"),
    }
}

/// A length, as the scenario has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tokens {
    Fixed(u64),
    Lognormal { log_median: f64, sigma: f64, most: u64 },
    Cdf(Vec<(f64, f64)>),
}

impl Tokens {
    pub fn build(values: &Values) -> Tokens {
        match values.kind.as_str() {
            "fixed" => Tokens::Fixed(values.count("tokens")),
            "lognormal" => Tokens::Lognormal {
                log_median: libm::log(values.count("median") as f64),
                sigma: values.number("sigma"),
                most: values.count("most"),
            },
            "cdf" => Tokens::Cdf(points(values).unwrap_or_default()),
            other => panic!("no tokens are called {other}"),
        }
    }

    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Tokens::Fixed(tokens) => *tokens,
            Tokens::Lognormal { log_median, sigma, most } => {
                let drawn = libm::exp(log_median + sigma * stream.normal());
                whole(drawn).min(*most)
            }
            Tokens::Cdf(points) => whole(quantile(points, stream.unit())),
        }
    }
}

fn whole(tokens: f64) -> u64 {
    saturated::<u64>(tokens.round()).max(1)
}

/// The length that a share of all does not exceed. What lies below the first point's share has its length.
fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
    let next = points.partition_point(|point| point.1 <= share).min(points.len() - 1);
    let (tokens, upper) = points[next];
    let Some(&(before, lower)) = next.checked_sub(1).and_then(|previous| points.get(previous)) else {
        return tokens;
    };
    before + (tokens - before) * (share - lower) / (upper - lower)
}
