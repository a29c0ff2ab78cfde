//! Max-min fair sharing of the hosts' links: at any time no flow's rate can be raised without lowering that of a flow
//! whose rate is no higher.

use super::Job;
use crate::control::{MaxMin, Pair, Routes};
use crate::flow::{FlowId, HostId};
use crate::narrow::{narrow, saturated};
use crate::units::Time;

/// Within so many picoseconds of its end a flow is complete: finishes are rounded to whole ones.
const ROUNDING_PS: f64 = 0.51;

/// Runs `jobs`, given in order of start, among hosts whose links have these rates, in any unit. Calls `finished`
/// for each completion, in order of time, and of number where they coincide. Finishes are rounded to the nearest
/// picosecond.
///
/// # Panics
/// If a job starts before the one given before it, or names a host that there is not.
pub fn run(rates: &[f64], jobs: impl IntoIterator<Item = Job>, mut finished: impl FnMut(FlowId, Time)) {
    let mut sharing = Sharing::new(rates);
    let mut jobs = jobs.into_iter().peekable();
    let mut now = Time::ZERO;
    loop {
        let arrival = jobs.peek().map(|job| job.start);
        let completion = sharing.next_completion().map(|span| now.saturating_add(span));
        let Some(next) = arrival.into_iter().chain(completion).min() else { return };
        assert!(next >= now, "jobs must be given in order of start");
        sharing.serve_for(next - now);
        now = next;
        sharing.complete(|id| finished(id, now));
        while let Some(job) = jobs.next_if(|job| job.start == now) {
            sharing.arrive(&job);
        }
        sharing.fill();
    }
}

/// A flow under way.
#[derive(Clone, Copy, Debug)]
struct Active {
    id: FlowId,
    src: HostId,
    dst: HostId,
    /// What is left, as the time that it takes at a rate of 1.
    remaining_ps: f64,
    rate: f64,
}

/// The flows under way, in order of arrival.
struct Sharing {
    /// Of each host's link out, then of each one's link in.
    capacities: Vec<f64>,
    flows: Vec<Active>,
    filling: MaxMin,
    rates: Vec<f64>,
    /// A 1 and an infinity for each flow.
    ones: Vec<f64>,
    no_limits: Vec<f64>,
}

impl Sharing {
    fn new(rates: &[f64]) -> Sharing {
        Sharing {
            capacities: rates.repeat(2),
            flows: Vec::new(),
            filling: MaxMin::default(),
            rates: Vec::new(),
            ones: Vec::new(),
            no_limits: Vec::new(),
        }
    }

    fn next_completion(&self) -> Option<Time> {
        let spans = self.flows.iter().map(|flow| flow.remaining_ps / flow.rate);
        spans.min_by(f64::total_cmp).map(|span_ps| Time(saturated::<u64>(span_ps.round())))
    }

    fn serve_for(&mut self, span: Time) {
        for flow in &mut self.flows {
            flow.remaining_ps -= flow.rate * span.as_ps() as f64;
        }
    }

    fn complete(&mut self, finished: impl FnMut(FlowId)) {
        let done = |flow: &Active| flow.remaining_ps <= flow.rate * ROUNDING_PS;
        let mut ids: Vec<FlowId> = self.flows.iter().filter(|flow| done(flow)).map(|flow| flow.id).collect();
        ids.sort_unstable();
        ids.into_iter().for_each(finished);
        self.flows.retain(|flow| !done(flow));
    }

    fn arrive(&mut self, job: &Job) {
        let alone = self.capacities[job.src as usize].min(self.capacities[job.dst as usize]);
        let remaining_ps = job.work.as_ps() as f64 * alone;
        self.flows.push(Active { id: job.id, src: job.src, dst: job.dst, remaining_ps, rate: 0.0 });
    }

    /// Sets every flow's rate.
    fn fill(&mut self) {
        let flows = self.flows.len();
        let hosts = narrow::<u32>(self.capacities.len()) / 2;
        let pairs = self.flows.iter().map(|flow| Pair::new(flow.src, flow.dst));
        let routes = Routes::between_servers(hosts, pairs);
        self.ones.resize(flows.max(self.ones.len()), 1.0);
        self.no_limits.resize(flows.max(self.no_limits.len()), f64::INFINITY);
        self.rates.resize(flows, 0.0);
        let (weights, limits) = (&self.ones[..flows], &self.no_limits[..flows]);
        self.filling.allocate(&routes, &self.capacities, weights, limits, &mut self.rates);
        for (flow, rate) in self.flows.iter_mut().zip(&self.rates) {
            flow.rate = *rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::*;

    fn finishes(hosts: u32, jobs: &[Job]) -> Vec<(FlowId, u64)> {
        let mut all = Vec::new();
        run(&vec![1.0; hosts as usize], jobs.iter().copied(), |id, finish| all.push((id, finish.as_ps())));
        all
    }

    #[test]
    fn flows_on_one_link_share_it_equally() {
        // Together until 60, when 0 has had its 30; 1 has 20 left then and the link to itself.
        assert_eq!(finishes(2, &[job(0, 0, 1, 30, 0), job(1, 0, 1, 50, 0)]), [(0, 60), (1, 80)]);
        // Alone until 10; 20 left each is shared until 50.
        assert_eq!(finishes(2, &[job(0, 0, 1, 30, 0), job(1, 0, 1, 20, 10)]), [(0, 50), (1, 50)]);
    }

    #[test]
    fn what_a_bottleneck_leaves_goes_to_the_others() {
        // Three flows into host 2 have a third each; flow 0 has the other two thirds of host 0's link.
        let jobs = [job(0, 0, 1, 600, 0), job(1, 0, 2, 300, 0), job(2, 3, 2, 300, 0), job(3, 4, 2, 300, 0)];
        assert_eq!(finishes(5, &jobs), [(0, 900), (1, 900), (2, 900), (3, 900)]);
    }

    #[test]
    fn links_of_unequal_rates_are_shared_by_what_they_carry() {
        // Host 0 has twice the rate of 1 and 2. Its flows to them have half of it each, which is all that they can
        // take.
        let mut all = Vec::new();
        let jobs = [job(0, 0, 1, 30, 0), job(1, 0, 2, 40, 0), job(2, 3, 0, 50, 0)];
        run(&[2.0, 1.0, 1.0, 2.0], jobs, |id, finish| all.push((id, finish.as_ps())));
        assert_eq!(all, [(0, 30), (1, 40), (2, 50)]);
    }

    #[test]
    fn finishes_round_to_the_nearest_picosecond() {
        // Thirds of a link: 10 ps of work takes 30, and the last 1 ps of a fourth is alone.
        let jobs = [job(0, 0, 1, 10, 0), job(1, 0, 1, 10, 0), job(2, 0, 1, 11, 0)];
        assert_eq!(finishes(2, &jobs), [(0, 30), (1, 30), (2, 31)]);
        // 7 ps alone, then halves: 0 has 1 left, 1 has 5: 0 ends at 9, 1 has 4 left.
        assert_eq!(finishes(2, &[job(0, 0, 1, 8, 0), job(1, 0, 1, 5, 7)]), [(0, 9), (1, 13)]);
    }
}
