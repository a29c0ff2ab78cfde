//! What the tests of both models share, and theory for a single link.

use super::{Job, max_min, srpt};
use crate::flow::{FlowId, HostId};
use crate::random::{Purpose, Stream};
use crate::units::Time;

pub fn job(id: FlowId, src: HostId, dst: HostId, work_ps: u64, start_ps: u64) -> Job {
    Job { id, src, dst, work: Time(work_ps), start: Time(start_ps) }
}

/// Jobs of up to 30 ps between random hosts, with mean gaps of `gap_ps`: many coincide.
pub fn random_jobs(seed: u64, count: u32, hosts: u32, gap_ps: f64) -> Vec<Job> {
    let mut stream = Stream::new(seed, Purpose::Arrivals, 0);
    let mut start_ps = 0;
    let next = |id| {
        start_ps += (gap_ps * stream.exponential()) as u64;
        let src = stream.below(hosts);
        let dst = (src + 1 + stream.below(hosts - 1)) % hosts;
        job(id, src, dst, 1 + u64::from(stream.below(30)), start_ps)
    };
    (0..count).map(next).collect()
}

const LOAD: f64 = 0.7;
const MEAN_WORK_PS: f64 = 1e6;
const JOBS: u32 = 400_000;

/// Poisson arrivals of exponential work at [`LOAD`] on a single link.
fn one_link_jobs() -> impl Iterator<Item = Job> {
    let mut gaps = Stream::new(4, Purpose::Arrivals, 0);
    let mut works = Stream::new(4, Purpose::Sizes, 0);
    let mut start_ps = 0.0;
    (0..JOBS).map(move |id| {
        start_ps += gaps.exponential() * MEAN_WORK_PS / LOAD;
        job(id, 0, 1, (works.exponential() * MEAN_WORK_PS).round() as u64, start_ps as u64)
    })
}

type Model = fn(u32, Box<dyn Iterator<Item = Job>>, &mut dyn FnMut(FlowId, Time));

/// The mean of finish − start, in mean work times.
fn mean_response(model: Model) -> f64 {
    let starts: Vec<Time> = one_link_jobs().map(|job| job.start).collect();
    let (mut total_ps, mut count) = (0.0, 0);
    model(2, Box::new(one_link_jobs()), &mut |id, finish| {
        total_ps += finish.since(starts[id as usize]).as_ps() as f64;
        count += 1;
    });
    assert_eq!(count, JOBS);
    total_ps / f64::from(JOBS) / MEAN_WORK_PS
}

/// Schrage and Miller, "The queue M/G/1 with the shortest remaining processing time discipline" (1966), for
/// exponential work of mean 1: the mean over x of
/// λ(∫₀ˣt²dF + x²(1−F(x))) / 2(1−ρ(x))² + ∫₀ˣ dt/(1−ρ(t)), where ρ(x) = λ∫₀ˣ t dF.
fn srpt_mean_response() -> f64 {
    const STEP: f64 = 1e-4;
    let (mut mean, mut residence) = (0.0, 0.0);
    for step in 0..400_000 {
        let x = (f64::from(step) + 0.5) * STEP;
        let tail = (-x).exp();
        let free = 1.0 - LOAD * (1.0 - tail * (1.0 + x));
        let second_moment = 2.0 - tail * (x * x + 2.0 * x + 2.0);
        let waiting = LOAD * (second_moment + x * x * tail) / (2.0 * free * free);
        mean += tail * (waiting + residence + STEP / 2.0 / free) * STEP;
        residence += STEP / free;
    }
    mean
}

#[test]
fn srpt_on_one_link_is_as_schrage_and_miller_say() {
    let theory = srpt_mean_response();
    let measured = mean_response(|hosts, jobs, finished| srpt::run(hosts, jobs, finished));
    assert!((measured / theory - 1.0).abs() < 0.02, "{measured} for {theory}");
}

#[test]
fn max_min_on_one_link_is_processor_sharing() {
    // M/M/1-PS: mean work / (1 − ρ).
    let theory = 1.0 / (1.0 - LOAD);
    let measured =
        mean_response(|hosts, jobs, finished| max_min::run(&vec![1.0; hosts as usize], jobs, finished));
    assert!((measured / theory - 1.0).abs() < 0.025, "{measured} for {theory}");
}
