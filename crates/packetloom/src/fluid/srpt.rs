//! pFabric's Ideal (§2.1): flows are served in nondecreasing order of remaining size, in a maximal manner. At any
//! time a flow is blocked if and only if its sender's or its receiver's link serves one that comes before it.
//!
//! Exact, in whole picoseconds. Between arrivals and completions the schedule does not change: a served flow can
//! fall below a blocked one in remaining work, but the flow that blocks the latter is served and still comes before
//! it.

use super::Job;
use crate::flow::{FlowId, HostId};
use crate::units::Time;

/// Runs `jobs`, given in order of start, among `hosts` hosts. Calls `finished` for each completion, in order of
/// time. Of flows with equal remaining work, the one with the lower number comes first.
///
/// # Panics
/// If a job starts before the one given before it, or names a host that there is not.
pub fn run(hosts: u32, jobs: impl IntoIterator<Item = Job>, mut finished: impl FnMut(FlowId, Time)) {
    let mut schedule = Schedule::new(hosts);
    let mut jobs = jobs.into_iter().peekable();
    let mut now = Time::ZERO;
    loop {
        let arrival = jobs.peek().map(|job| job.start);
        let completion = schedule.served.first().map(|flow| now + flow.remaining);
        let Some(next) = arrival.into_iter().chain(completion).min() else { return };
        assert!(next >= now, "jobs must be given in order of start");
        schedule.serve_for(next - now);
        now = next;
        schedule.complete(|id| finished(id, now));
        while let Some(job) = jobs.next_if(|job| job.start == now) {
            schedule.arrive(&job);
        }
        schedule.reschedule();
    }
}

/// A flow under way.
#[derive(Clone, Copy, Debug)]
struct Active {
    remaining: Time,
    id: FlowId,
    src: HostId,
    dst: HostId,
}

impl Active {
    fn rank(&self) -> (Time, FlowId) {
        (self.remaining, self.id)
    }
}

/// Which flows are served and which blocked, each list in order of rank. All served flows shrink alike and no
/// blocked one does, so both lists stay in order by themselves, and the order of all is one merge away.
struct Schedule {
    served: Vec<Active>,
    blocked: Vec<Active>,
    sender_busy: Vec<bool>,
    receiver_busy: Vec<bool>,
    // What rescheduling needs, kept for its memory.
    served_before: Vec<Active>,
    preempted: Vec<Active>,
    unblocked: Vec<usize>,
}

impl Schedule {
    fn new(hosts: u32) -> Schedule {
        Schedule {
            served: Vec::new(),
            blocked: Vec::new(),
            sender_busy: vec![false; hosts as usize],
            receiver_busy: vec![false; hosts as usize],
            served_before: Vec::new(),
            preempted: Vec::new(),
            unblocked: Vec::new(),
        }
    }

    fn serve_for(&mut self, span: Time) {
        for flow in &mut self.served {
            flow.remaining = flow.remaining - span;
        }
    }

    fn complete(&mut self, finished: impl FnMut(FlowId)) {
        let done = self.served.partition_point(|flow| flow.remaining == Time::ZERO);
        self.served.drain(..done).map(|flow| flow.id).for_each(finished);
    }

    fn arrive(&mut self, job: &Job) {
        self.block(Active { remaining: job.work, id: job.id, src: job.src, dst: job.dst });
    }

    fn block(&mut self, flow: Active) {
        let place = self.blocked.partition_point(|other| other.rank() < flow.rank());
        self.blocked.insert(place, flow);
    }

    /// Goes through all flows in order of rank and serves each whose links are both still free.
    fn reschedule(&mut self) {
        self.sender_busy.fill(false);
        self.receiver_busy.fill(false);
        std::mem::swap(&mut self.served, &mut self.served_before);
        self.served.clear();
        let (mut before, mut waiting) = (0, 0);
        loop {
            let was_served = match (self.served_before.get(before), self.blocked.get(waiting)) {
                (Some(served), Some(blocked)) => served.rank() < blocked.rank(),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let flow = if was_served { self.served_before[before] } else { self.blocked[waiting] };
            match (was_served, self.take_links(&flow)) {
                (true, false) => self.preempted.push(flow),
                (false, true) => self.unblocked.push(waiting),
                _ => {}
            }
            before += usize::from(was_served);
            waiting += usize::from(!was_served);
        }
        self.move_between_lists();
    }

    /// Serves the flow if both its links are free; whether they were.
    fn take_links(&mut self, flow: &Active) -> bool {
        let sender_busy = &mut self.sender_busy[flow.src as usize];
        let receiver_busy = &mut self.receiver_busy[flow.dst as usize];
        let free = !*sender_busy && !*receiver_busy;
        if free {
            (*sender_busy, *receiver_busy) = (true, true);
            self.served.push(*flow);
        }
        free
    }

    fn move_between_lists(&mut self) {
        while let Some(index) = self.unblocked.pop() {
            self.blocked.remove(index);
        }
        while let Some(flow) = self.preempted.pop() {
            self.block(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{job, random_jobs};
    use super::*;

    fn finishes(hosts: u32, jobs: &[Job]) -> Vec<(FlowId, u64)> {
        let mut all = Vec::new();
        run(hosts, jobs.iter().copied(), |id, finish| all.push((id, finish.as_ps())));
        all
    }

    #[test]
    fn a_smaller_flow_preempts_and_frees_the_others() {
        // 1 takes host 0's link from flow 0, and blocks 2 at host 2; both go on when it has finished.
        let jobs = [job(0, 0, 1, 10, 0), job(1, 0, 2, 4, 2), job(2, 3, 2, 5, 2)];
        assert_eq!(finishes(4, &jobs), [(1, 6), (2, 11), (0, 14)]);
    }

    #[test]
    fn a_served_flow_may_pass_a_blocked_one() {
        // 1 waits for 0 at host 0; 2, the largest, is served meanwhile, and by then has less left than 1.
        let jobs = [job(0, 0, 1, 10, 0), job(1, 0, 2, 12, 0), job(2, 3, 2, 15, 0)];
        assert_eq!(finishes(4, &jobs), [(0, 10), (2, 15), (1, 27)]);
    }

    #[test]
    fn ties_go_by_number_and_directions_do_not_conflict() {
        assert_eq!(finishes(2, &[job(1, 0, 1, 5, 0), job(0, 0, 1, 5, 0)]), [(0, 5), (1, 10)]);
        assert_eq!(finishes(2, &[job(0, 0, 1, 5, 0), job(1, 1, 0, 5, 0)]), [(0, 5), (1, 5)]);
        assert_eq!(finishes(2, &[job(0, 0, 1, 0, 3), job(1, 0, 1, 0, 3)]), [(0, 3), (1, 3)]);
    }

    #[test]
    #[should_panic(expected = "in order of start")]
    fn jobs_out_of_order_are_refused() {
        finishes(2, &[job(0, 0, 1, 5, 3), job(1, 0, 1, 5, 2)]);
    }

    /// The same model in its plainest form: sort everything at every event.
    fn finishes_by_sorting(jobs: &[Job]) -> Vec<(FlowId, u64)> {
        let mut active: Vec<Active> = Vec::new();
        let mut arrivals = jobs.iter().copied().peekable();
        let (mut now, mut all) = (0, Vec::new());
        loop {
            active.sort_by_key(Active::rank);
            let mut served: Vec<usize> = Vec::new();
            for (index, flow) in active.iter().enumerate() {
                if served.iter().all(|&other| active[other].src != flow.src && active[other].dst != flow.dst)
                {
                    served.push(index);
                }
            }
            let completion = served.iter().map(|&index| now + active[index].remaining.as_ps()).min();
            let arrival = arrivals.peek().map(|job| job.start.as_ps());
            let Some(next) = arrival.into_iter().chain(completion).min() else { return all };
            for &index in &served {
                active[index].remaining = active[index].remaining - Time(next - now);
            }
            now = next;
            all.extend(
                served.iter().map(|&i| &active[i]).filter(|f| f.remaining.0 == 0).map(|f| (f.id, now)),
            );
            active.retain(|flow| flow.remaining > Time::ZERO);
            while let Some(Job { id, src, dst, work, .. }) = arrivals.next_if(|job| job.start.as_ps() == now)
            {
                active.push(Active { remaining: work, id, src, dst });
            }
        }
    }

    #[test]
    fn the_merged_order_serves_as_sorting_does() {
        for seed in 0..20 {
            let jobs = random_jobs(seed, 400, 6, 3.0);
            assert_eq!(finishes(6, &jobs), finishes_by_sorting(&jobs), "seed {seed}");
        }
    }
}
