//! The control algorithms on arrays. Lengths and ranges are checked here: the algorithms would panic.

use crate::ArgumentError;
use crate::arrays::{Array, array};
use packetloom::control::colouring::{EulerSplit, Paull, largest_degree};
use packetloom::control::matching::{Batch, Candidate, Demand, Grant, HopcroftKarp, greedy};
use packetloom::control::{Ceiling, MaxMin, Ned, Normaliser, Pair, Routes};
use packetloom::narrow::exact;
use pyo3::prelude::*;

type Indices = Array<u32>;
type Numbers = Array<f64>;

fn wrong<T>(message: String) -> PyResult<T> {
    Err(ArgumentError::new_err(message))
}

/// The pairs, all below `bound`.
fn pairs(src: &Indices, dst: &Indices, bound: u32) -> PyResult<Vec<Pair>> {
    same_length("src", src.len(), "dst", dst.len())?;
    if let Some(number) = src.iter().chain(&**dst).find(|number| **number >= bound) {
        return wrong(format!("src and dst are below {bound}, not {number}"));
    }
    Ok(src.iter().zip(&**dst).map(|(&src, &dst)| Pair::new(src, dst)).collect())
}

fn same_length(one: &str, one_length: usize, other: &str, other_length: usize) -> PyResult<()> {
    if one_length == other_length {
        return Ok(());
    }
    wrong(format!("{one} has {one_length} entries, {other} has {other_length}; they need as many"))
}

/// Entries of 8 B in each of Paull's tables.
const LARGEST_TABLE: u64 = 1 << 26;

/// What an array of numbers may hold.
#[derive(Clone, Copy)]
enum Range {
    /// 0 or more.
    NotNegative,
    /// Above 0.
    Positive,
    /// 0 or more, infinity too.
    Limit,
}

/// The numbers, as many as there are of `like`.
fn numbers(name: &str, values: &Numbers, like: (&str, usize), range: Range) -> PyResult<Vec<f64>> {
    same_length(name, values.len(), like.0, like.1)?;
    let (words, fits): (&str, fn(f64) -> bool) = match range {
        Range::NotNegative => ("0 or more and finite", |value| value >= 0.0 && value.is_finite()),
        Range::Positive => ("above 0 and finite", |value| value > 0.0 && value.is_finite()),
        Range::Limit => ("0 or more", |value| value >= 0.0),
    };
    match values.iter().find(|value| !fits(**value)) {
        Some(value) => wrong(format!("{name} is {words}, not {value}")),
        None => Ok(values.to_vec()),
    }
}

#[pyfunction]
pub fn greedy_matching<'py>(
    py: Python<'py>,
    src: Indices,
    dst: Indices,
    key: Array<u64>,
    servers: u32,
) -> PyResult<Bound<'py, PyAny>> {
    let pairs = pairs(&src, &dst, servers)?;
    same_length("key", key.len(), "src", pairs.len())?;
    let candidates: Vec<Candidate> =
        pairs.into_iter().zip(&*key).map(|(pair, &key)| Candidate { key, pair }).collect();
    array(py, py.detach(|| greedy(servers, &candidates)).into_iter())
}

#[pyfunction]
pub fn batch_matching<'py>(
    py: Python<'py>,
    src: Indices,
    dst: Indices,
    packets: Indices,
    servers: u32,
    slots: u8,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let pairs = pairs(&src, &dst, servers)?;
    same_length("packets", packets.len(), "src", pairs.len())?;
    if !(1..=64).contains(&slots) {
        return wrong(format!("slots is from 1 to 64, not {slots}"));
    }
    let mut demands: Vec<Demand> =
        pairs.into_iter().zip(&*packets).map(|(pair, &packets)| Demand { pair, packets }).collect();
    let mut grants = Vec::new();
    py.detach(|| Batch::new(servers).grant(slots, &mut demands, &mut grants));
    let column = |of: fn(&Grant) -> u32| array(py, grants.iter().map(of));
    Ok((column(|one| one.pair.src)?, column(|one| one.pair.dst)?, column(|one| one.slot.into())?))
}

#[pyfunction]
pub fn maximum_matching<'py>(
    py: Python<'py>,
    src: Indices,
    dst: Indices,
    servers: u32,
) -> PyResult<Bound<'py, PyAny>> {
    let pairs = pairs(&src, &dst, servers)?;
    let mut matched = Vec::new();
    py.detach(|| HopcroftKarp::new(servers).match_all(&pairs, &mut matched));
    array(py, matched.into_iter())
}

#[pyfunction]
pub fn edge_colouring<'py>(
    py: Python<'py>,
    src: Indices,
    dst: Indices,
    leaves: u32,
    euler_split: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let edges = pairs(&src, &dst, leaves)?;
    let degree = largest_degree(leaves, &edges);
    if u64::from(leaves) * u64::from(degree) > LARGEST_TABLE {
        return wrong(format!("{leaves} leaves of {degree} edges take more than 1 GiB; give fewer"));
    }
    let mut colours = vec![0; edges.len()];
    py.detach(|| {
        if euler_split {
            EulerSplit::new(leaves).colour(&edges, &mut colours);
        } else {
            Paull::new(leaves, degree).colour(&edges, &mut colours);
        }
    });
    array(py, colours.into_iter())
}

#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "a function of Python's, where they have names")]
pub fn normalise_rates<'py>(
    py: Python<'py>,
    src: Indices,
    dst: Indices,
    offered: Numbers,
    servers: u32,
    rounds: u32,
    tolerance: f64,
    up_to_offered: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let pairs = pairs(&src, &dst, servers)?;
    let mut rates = numbers("offered", &offered, ("src", pairs.len()), Range::NotNegative)?;
    let ceiling = if up_to_offered { Ceiling::Offered } else { Ceiling::Link };
    py.detach(|| Normaliser::new(servers, rounds, tolerance).normalise(&pairs, ceiling, &mut rates));
    array(py, rates.into_iter())
}

fn routes(first_link: &Indices, links: &Indices, link_count: usize) -> PyResult<Routes> {
    let ends = (first_link.first().copied(), first_link.last().map(|&last| last as usize));
    if ends != (Some(0), Some(links.len())) || !first_link.is_sorted() {
        return wrong("first_link goes up from 0 to the number of entries of links".to_owned());
    }
    if let Some(link) = links.iter().find(|link| **link as usize >= link_count) {
        return wrong(format!("links are below {link_count}, the number of capacities, not {link}"));
    }
    Ok(Routes::new(first_link.to_vec(), links.to_vec(), exact::<u32>(link_count)))
}

fn capacities(values: &Numbers) -> PyResult<Vec<f64>> {
    numbers("capacity", values, ("capacity", values.len()), Range::Positive)
}

#[pyfunction]
pub fn max_min_rates<'py>(
    py: Python<'py>,
    first_link: Indices,
    links: Indices,
    capacity: Numbers,
    weight: Numbers,
    limit: Numbers,
) -> PyResult<Bound<'py, PyAny>> {
    let capacities = capacities(&capacity)?;
    let routes = routes(&first_link, &links, capacities.len())?;
    let flows = ("the flows", routes.flow_count());
    let weights = numbers("weight", &weight, flows, Range::Positive)?;
    let limits = numbers("limit", &limit, flows, Range::Limit)?;
    let mut rates = vec![0.0; routes.flow_count()];
    py.detach(|| MaxMin::default().allocate(&routes, &capacities, &weights, &limits, &mut rates));
    array(py, rates.into_iter())
}

#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "a function of Python's, where they have names")]
pub fn ned_rates<'py>(
    py: Python<'py>,
    first_link: Indices,
    links: Indices,
    capacity: Numbers,
    weight: Numbers,
    price: Numbers,
    rounds: u32,
    step: f64,
    normalise: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let capacities = capacities(&capacity)?;
    let routes = routes(&first_link, &links, capacities.len())?;
    let weights = numbers("weight", &weight, ("the flows", routes.flow_count()), Range::Positive)?;
    let prices = numbers("price", &price, ("capacity", capacities.len()), Range::NotNegative)?;
    if !(step > 0.0 && step <= 1.0) {
        return wrong(format!("step is above 0 and at most 1, not {step}"));
    }
    let mut ned = Ned::new(capacities.len(), step);
    ned.set_prices(&prices);
    let mut rates = vec![0.0; routes.flow_count()];
    py.detach(|| {
        for _ in 0..rounds {
            ned.round(&routes, &capacities, &weights, &mut rates);
        }
        if normalise {
            ned.normalise(&routes, &capacities, &mut rates);
        }
    });
    Ok((array(py, rates.into_iter())?, array(py, ned.prices().iter().copied())?))
}

/// Adds the functions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(greedy_matching, module)?)?;
    module.add_function(wrap_pyfunction!(batch_matching, module)?)?;
    module.add_function(wrap_pyfunction!(maximum_matching, module)?)?;
    module.add_function(wrap_pyfunction!(edge_colouring, module)?)?;
    module.add_function(wrap_pyfunction!(normalise_rates, module)?)?;
    module.add_function(wrap_pyfunction!(max_min_rates, module)?)?;
    module.add_function(wrap_pyfunction!(ned_rates, module)?)
}
