//! Which requests come, and when.

use super::tokens::Tokens;
use crate::narrow::saturated;
use crate::random::Stream;
use crate::spec::Values;
use crate::units::Time;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it comes.
    pub arrival: Time,
    /// Tokens of its prompt.
    pub prompt: u64,
    /// Tokens of its answer.
    pub answer: u64,
}

/// The random streams of requests.
#[derive(Clone, Debug)]
pub struct Draws {
    /// Of the times between them.
    pub arrivals: Stream,
    /// Of prompts' lengths.
    pub prompts: Stream,
    /// Of answers' lengths.
    pub answers: Stream,
}

/// Requests that come at random.
pub fn drawn(values: &Values, count: u64, start: Time, mut draws: Draws) -> Vec<Request> {
    let mean_ps = 1e12 / values.number("rate_per_second");
    let [prompt, answer] = ["prompt", "answer"].map(|key| Tokens::build(&values.component(key)));
    let mut arrival = start;
    let request = |_| {
        let gap = Time(saturated::<u64>((mean_ps * draws.arrivals.exponential()).round()));
        arrival = arrival.saturating_add(gap);
        Request { arrival, prompt: prompt.draw(&mut draws.prompts), answer: answer.draw(&mut draws.answers) }
    };
    (0..count).map(request).collect()
}

/// Those of a trace, from a time on, so many times as fast.
pub fn sped_up(listed: Vec<Request>, count: u64, start: Time, speed: f64) -> Vec<Request> {
    let first = listed.iter().map(|one| one.arrival).min().unwrap_or(Time::ZERO);
    let at = |arrival: Time| Time(saturated::<u64>((arrival.since(first).as_ps() as f64 / speed).round()));
    let mut all: Vec<Request> = listed
        .into_iter()
        .map(|one| Request { arrival: start.saturating_add(at(one.arrival)), ..one })
        .collect();
    all.sort_by_key(|one| one.arrival);
    all.truncate(saturated::<usize>(count as f64));
    all
}
