//! The hosts: the ranks of jobs at each, and the time that it takes for each message that it sends or receives.

use crate::flow::{Flow, FlowId, HostId};
use crate::topology::{MessageCosts, Topology};
use crate::units::Time;
use crate::workload::job::{Ranks, Told, Walker};
use crate::workload::{Done, Workload};

/// What a host keeps.
#[derive(Debug)]
struct Host {
    ranks: Ranks,
    /// When it is woken for them; never, if it is not.
    wakes_at: Time,
    /// Until when it is occupied with sending messages, and with receiving them.
    free: (Time, Time),
}

/// All hosts of a network.
#[derive(Debug)]
pub(super) struct Hosts {
    all: Vec<Host>,
    costs: MessageCosts,
}

/// What comes of a rank's turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The messages that are to start.
    pub(super) start: Vec<Flow>,
    /// The source of each rank that has ended.
    pub(super) ended: Vec<u8>,
    /// The operations that ranks have begun and that end when they are told: source, rank, operation.
    pub(super) begun: Vec<(u8, u32, Told)>,
    /// When the host has to be woken, if it is not to be woken before anyway.
    pub(super) wake: Option<Time>,
}

impl Hosts {
    /// With the ranks of all jobs, which are theirs from now on.
    pub(super) fn of(topology: &Topology, workload: &mut Workload) -> Hosts {
        let host =
            |_| Host { ranks: Ranks::default(), wakes_at: Time::NEVER, free: (Time::ZERO, Time::ZERO) };
        let mut all: Vec<Host> = (0..topology.hosts).map(host).collect();
        for (host, walker) in workload.take_ranks() {
            all[host as usize].ranks.add(walker);
        }
        Hosts { all, costs: topology.message_costs }
    }

    /// When each has to be woken first.
    pub(super) fn first_wakes(&mut self) -> Vec<(Time, HostId)> {
        let wake = |(id, host): (HostId, &mut Host)| Some((host.note_wake()?, id));
        (0..).zip(&mut self.all).filter_map(wake).collect()
    }

    /// Wakes a host's ranks, unless they were woken since, and for later.
    pub(super) fn wake(&mut self, id: HostId, now: Time) -> Turn {
        let host = &mut self.all[id as usize];
        if host.wakes_at != now {
            return Turn::default();
        }
        host.wakes_at = Time::NEVER;
        host.turn(|ranks, start| ranks.wake(now, |flow| start.push(flow)))
    }

    /// A flow has ended at a host.
    pub(super) fn notify(&mut self, id: HostId, flow: FlowId, done: Done, now: Time) -> Turn {
        let host = &mut self.all[id as usize];
        host.turn(|ranks, start| ranks.notify(flow, done, now, |flow| start.push(flow)))
    }

    /// An operation of a rank at a host is over that ends when it is told.
    pub(super) fn end_told(&mut self, id: HostId, rank: (u8, u32), told: Told, now: Time) -> Turn {
        let host = &mut self.all[id as usize];
        host.turn(|ranks, start| ranks.end_told(rank, told, now, |flow| start.push(flow)))
    }

    /// When a host has sent a message off that it begins with now: it sends one at a time.
    pub(super) fn sent_off(&mut self, id: HostId, now: Time) -> Time {
        occupy(&mut self.all[id as usize].free.0, now, self.costs.send)
    }

    /// When a host has taken in a message that arrives now: it takes in one at a time.
    pub(super) fn taken_in(&mut self, id: HostId, now: Time) -> Time {
        occupy(&mut self.all[id as usize].free.1, now, self.costs.receive)
    }

    /// The ranks of all jobs, which are done.
    pub(super) fn into_walkers(self) -> impl Iterator<Item = Walker> {
        self.all.into_iter().flat_map(|host| host.ranks.into_walkers())
    }

    /// The ranks of all jobs.
    pub(super) fn walkers(&self) -> impl Iterator<Item = &Walker> {
        self.all.iter().flat_map(|host| host.ranks.walkers())
    }
}

impl Host {
    fn turn(&mut self, act: impl FnOnce(&mut Ranks, &mut Vec<Flow>)) -> Turn {
        let mut turn = Turn::default();
        act(&mut self.ranks, &mut turn.start);
        turn.ended.extend(self.ranks.take_ended());
        self.ranks.take_begun(|source, rank, told| turn.begun.push((source, rank, told)));
        turn.wake = self.note_wake();
        turn
    }

    /// When it has to be woken, if it is not to be woken before anyway.
    fn note_wake(&mut self) -> Option<Time> {
        let next = self.ranks.next_at();
        let is_sooner = next < self.wakes_at;
        is_sooner.then(|| {
            self.wakes_at = next;
            next
        })
    }
}

/// A host is occupied with a message after those before it; until when.
fn occupy(free: &mut Time, now: Time, cost: Time) -> Time {
    if cost > Time::ZERO {
        *free = now.max(*free).saturating_add(cost);
        return *free;
    }
    now
}
