//! A window that a caller drives: its hosts take their turns in order of time, so that whoever is told that a flow has
//! ended may have any host start another at that very moment.
//!
//! All hosts take their turns on one thread, whichever shard they are of; each shard's switches have a thread of their
//! own, where there is enough to do.
//!
//! Within a window hosts do not depend on each other (see the head of this module's parent), so their order changes no
//! result; only those who look on from outside see it. A host does what happens there until another one is earlier, or
//! until a flow ends there: what follows at that host waits until the caller has reacted. Switches have their turns when
//! the window ends.

use super::Tally;
use super::agent::PortAgent;
use super::arrival;
use super::host::Around;
use super::lane::Lane;
use super::log::Log;
use super::port::Discipline;
use super::shard::Shard;
use super::thread_pool::Window;
use crate::flow::{Flow, HostId};
use crate::narrow::{exact, narrow};
use crate::spec::Values;
use crate::units::Time;
use cpu_time::ThreadTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::resume_unwind;
use std::time::Duration;

/// How far a driven engine came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// At this moment flows have ended, as the log says, and all happened that happens up to then and at it, but for
    /// what the caller has start now.
    Ended(Time),
    /// All happened up to the time that was given and at it.
    Reached,
    /// A window is over, and no flow has ended since the last step. What was done so far, but for departures from
    /// buffers.
    WindowOver(Tally),
    /// Nothing is left to happen.
    Idle,
}

/// A window under way, if there is one.
#[derive(Debug, Default)]
pub(super) struct Driven {
    window: Option<Window>,
    /// Of each host, what is left of the window.
    hosts: Vec<Left>,
    /// What arrives at the hosts of each shard.
    lanes: Vec<Lane>,
    /// When hosts act by themselves in the window. An entry is valid if the host's own `acts_at` says the same.
    queue: BinaryHeap<Reverse<(Time, HostId)>>,
    /// The hosts that have had something to do, or were to start something.
    touched: Vec<HostId>,
    /// When the flows ended that the caller is to be told of.
    ended: Option<Time>,
    /// Rules of marking that hold from the end of the window under way on, each with its port's link.
    rules: Vec<(u32, Discipline)>,
    /// Values of balancers that hold from then on, too, each with its switch: its shard, and its place among the
    /// shard's switches.
    balancing: Vec<((u32, u32), Values)>,
    /// The processor time of the threads of switches.
    helpers_took: Duration,
}

/// What is left of a window at a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// When the host next does something without a packet; [`Time::NEVER`]: not in this window.
    acts_at: Time,
    /// Its arrivals, as places among all of its shard's.
    pub(super) arrivals: (u32, u32),
    is_touched: bool,
}

const NOTHING: Left = Left { acts_at: Time::NEVER, arrivals: (0, 0), is_touched: false };

/// The shards, and of each node the one that it is in, with its place there.
pub(super) struct Nodes<'a, 't, H, A> {
    pub(super) shards: &'a mut [Shard<'t, H, A>],
    pub(super) places: &'a [(u32, u32)],
}

impl<'t, H, A> Nodes<'_, 't, H, A> {
    fn of(&mut self, host: HostId) -> (&mut Shard<'t, H, A>, u32) {
        let (shard, place) = self.places[host as usize];
        (&mut self.shards[shard as usize], place)
    }
}

impl Driven {
    /// Goes on until flows end, a window is over, or all happened up to `until`; nothing happens at `max_time` or after.
    pub(super) fn step<H: Copy + Default + Send, A: PortAgent<H>>(
        &mut self,
        mut nodes: Nodes<'_, '_, H, A>,
        (until, max_time): (Time, Time),
        log: &mut Log,
    ) -> (Step, Option<Time>) {
        let window = match self.window {
            Some(window) => window,
            None => {
                let clock = nodes.shards[0].link_table.calendar.clock();
                let next = nodes.shards.iter().filter_map(Shard::next_window).min();
                let Some(number) = next else { return (Step::Idle, None) };
                let (start, end) = (clock.start_of(number), clock.start_of(number + 1).min(max_time));
                if start > until || start >= max_time {
                    return (Step::Reached, None);
                }
                self.open(&mut nodes, Window { number, start, end })
            }
        };
        self.run_hosts(&mut nodes, window, until, log);
        if let Some(at) = self.ended.take() {
            (Step::Ended(at), None)
        } else if until < window.end {
            (Step::Reached, None)
        } else {
            self.close(nodes, window, log);
            (Step::WindowOver(Tally::default()), Some(window.end))
        }
    }

    /// Has a host start a flow, not before all that has happened.
    pub(super) fn add_flow<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        mut nodes: Nodes<'_, '_, H, A>,
        flow: Flow,
    ) {
        let (shard, place) = nodes.of(flow.src);
        match self.window {
            Some(window) if flow.start < window.end => {
                shard.hosts[place as usize].add_flow_at_once(flow);
                self.touch(flow.src);
                let left = &mut self.hosts[flow.src as usize];
                if flow.start < left.acts_at {
                    left.acts_at = flow.start;
                    self.queue.push(Reverse((flow.start, flow.src)));
                }
            }
            _ => shard.add_flow(flow),
        }
    }

    /// Has ports of switches mark by other rules. Switches have their turns as the window ends, so that what arrived
    /// there before now is still to be marked by the old ones.
    pub(super) fn mark_by<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shards: &mut [Shard<'_, H, A>],
        rules: Vec<(u32, Discipline)>,
    ) {
        self.rules.extend(rules);
        if self.window.is_none() {
            self.follow_rules(shards);
        }
    }

    /// Has the balancer of a switch go by other values: when, is as for marking.
    pub(super) fn balance_by<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shards: &mut [Shard<'_, H, A>],
        (shard, place): (u32, u32),
        values: Values,
    ) {
        let hosts = narrow::<u32>(shards[shard as usize].hosts.len());
        self.balancing.push(((shard, place - hosts), values));
        if self.window.is_none() {
            self.follow_rules(shards);
        }
    }

    fn follow_rules<H: Copy + Default, A: PortAgent<H>>(&mut self, shards: &mut [Shard<'_, H, A>]) {
        for (link, rule) in self.rules.drain(..) {
            for Shard { ports, links, .. } in shards.iter_mut() {
                let of_hosts = links.len() - ports.len();
                if let Some(port) = links[of_hosts..].iter().position(|of_port| *of_port == link) {
                    ports[port].mark_by(&rule);
                }
            }
        }
        for ((shard, switch), values) in self.balancing.drain(..) {
            shards[shard as usize].switches[switch as usize].balance_by(&values);
        }
    }

    /// The processor time of the threads of switches.
    pub(super) fn helpers_took(&self) -> Duration {
        self.helpers_took
    }

    /// Ends the window under way, if there is one, before `end`: what arrives then or later stays on its link.
    pub(super) fn cut<H: Copy + Default + Send, A: PortAgent<H>>(
        &mut self,
        mut nodes: Nodes<'_, '_, H, A>,
        end: Time,
        log: &mut Log,
    ) {
        let Some(window) = self.window.filter(|window| end < window.end) else { return };
        for &host in &self.touched {
            let (first, last) = self.hosts[host as usize].arrivals;
            let (shard, _) = nodes.of(host);
            for place in first..last {
                shard.link_table.calendar.put_back(shard.due.arrivals[place as usize]);
            }
        }
        let cut = Window { end, ..window };
        for (shard, lane) in nodes.shards.iter_mut().zip(&self.lanes) {
            shard.cut_switches(lane.first_switch, cut);
        }
        self.close(nodes, cut, log);
    }

    fn open<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        nodes: &mut Nodes<'_, '_, H, A>,
        window: Window,
    ) -> Window {
        let hosts = nodes.shards.iter().map(|shard| shard.hosts.len()).sum();
        self.hosts.resize(hosts, NOTHING);
        self.lanes.resize_with(nodes.shards.len(), Lane::default);
        for nth in 0..nodes.shards.len() {
            let shard = &mut nodes.shards[nth];
            shard.link_table.calendar.open(window.number, window.end, &mut shard.due);
            let lane = &mut self.lanes[nth];
            lane.open(shard);
            for place in 0..lane.first_switch {
                let first = shard.due.nodes[place].1;
                let (node, arrivals) = shard.due.node(place);
                arrival::sort(arrivals);
                self.lanes[nth].add(arrivals);
                let host = shard.first_host + node;
                self.touch(host);
                self.hosts[host as usize].arrivals = (first, first + exact::<u32>(arrivals.len()));
                self.wait(host, shard.hosts[node as usize].acts_by_itself_at(), window);
            }
            self.lanes[nth].sort();
        }
        self.window = Some(window);
        window
    }

    /// Hosts take turns until flows end, or no host has anything to do up to `until`.
    fn run_hosts<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        nodes: &mut Nodes<'_, '_, H, A>,
        window: Window,
        until: Time,
        log: &mut Log,
    ) {
        while let Some((at, host)) = self.first(nodes, window) {
            if at > until || self.ended.is_some_and(|ended| at > ended) {
                break;
            }
            let others = self.others(nodes, window, (at, host));
            let own_end = Time(window.end.as_ps() - 1);
            let until = others.min(until).min(own_end).min(self.ended.unwrap_or(Time::NEVER));
            let (number, place) = nodes.places[host as usize];
            let shard = &mut nodes.shards[number as usize];
            self.lanes[number as usize].prepare(shard);
            let Shard { hosts, transports, link_table, due, tally, .. } = shard;
            let left = &mut self.hosts[host as usize];
            let arrivals = &due.arrivals[left.arrivals.0 as usize..left.arrivals.1 as usize];
            let host_there = &mut hosts[place as usize];
            let around = Around { link_table, transports: &mut **transports, log, tally };
            let (arrived, ended) = host_there.advance((window.start, until), arrivals, around);
            left.arrivals.0 += exact::<u32>(arrived);
            self.ended = self.ended.or(ended);
            let acts_at = host_there.acts_by_itself_at();
            self.wait(host, acts_at, window);
        }
    }

    fn close<H: Copy + Default + Send, A: PortAgent<H>>(
        &mut self,
        mut nodes: Nodes<'_, '_, H, A>,
        window: Window,
        log: &mut Log,
    ) {
        for host in self.touched.drain(..) {
            let (shard, place) = nodes.of(host);
            shard.hosts[place as usize].end_window(window.end, &mut shard.link_table);
            self.hosts[host as usize] = NOTHING;
        }
        let first = |lane: &Lane| lane.first_switch;
        match &mut *nodes.shards {
            [only] => only.run_switches(first(&self.lanes[0]), window, log),
            shards => {
                let firsts = self.lanes.iter().map(first).collect::<Vec<_>>();
                self.helpers_took += run_switches(shards, &firsts, window, log);
                hand_over(shards);
            }
        }
        self.queue.clear();
        self.window = None;
        if !self.rules.is_empty() || !self.balancing.is_empty() {
            self.follow_rules(nodes.shards);
        }
    }

    /// The host that does something first, and when.
    fn first<H, A>(&mut self, nodes: &Nodes<'_, '_, H, A>, window: Window) -> Option<(Time, HostId)> {
        while let Some(&Reverse((at, host))) = self.queue.peek()
            && self.hosts[host as usize].acts_at != at
        {
            self.queue.pop();
        }
        let acts = self.queue.peek().map(|&Reverse(first)| first);
        let arrives = self.lanes.iter_mut().zip(nodes.shards.iter());
        let arrives = arrives.filter_map(|(lane, shard)| lane.first(&self.hosts, shard, window));
        arrives.chain(acts).min()
    }

    /// When a host other than the first, which has its turn, may do something.
    fn others<H, A>(
        &mut self,
        nodes: &Nodes<'_, '_, H, A>,
        window: Window,
        (at, host): (Time, HostId),
    ) -> Time {
        if self.queue.peek() == Some(&Reverse((at, host))) {
            self.queue.pop();
            self.hosts[host as usize].acts_at = Time::NEVER;
        }
        let acts = self.queue.peek().map(|Reverse((at, _))| *at);
        let arrives = self.lanes.iter().zip(nodes.shards.iter());
        let arrives = arrives.filter_map(|(lane, shard)| lane.first_beside(host, shard, window));
        // What arrived at a host before its turn was over may still be in a lane.
        arrives.chain(acts).min().unwrap_or(Time::NEVER).max(at)
    }

    /// A host next does something by itself at a time.
    fn wait(&mut self, host: HostId, acts_at: Time, window: Window) {
        let acts_at = if acts_at < window.end { acts_at } else { Time::NEVER };
        let before = std::mem::replace(&mut self.hosts[host as usize].acts_at, acts_at);
        if acts_at != before && acts_at != Time::NEVER {
            self.queue.push(Reverse((acts_at, host)));
        }
    }

    fn touch(&mut self, host: HostId) {
        let left = &mut self.hosts[host as usize];
        if !std::mem::replace(&mut left.is_touched, true) {
            self.touched.push(host);
        }
    }
}

/// The switches of all shards have their turns: at the same time, if there is enough to do. Returns the processor time of
/// all threads but this.
fn run_switches<H: Copy + Default + Send, A: PortAgent<H>>(
    shards: &mut [Shard<'_, H, A>],
    firsts: &[usize],
    window: Window,
    log: &mut Log,
) -> Duration {
    // To start a thread takes as long as some hundred packets.
    if !shards.iter().all(|shard| shard.due.is_crowded()) {
        for (shard, &first) in shards.iter_mut().zip(firsts) {
            shard.run_switches(first, window, log);
        }
        return Duration::ZERO;
    }
    std::thread::scope(|scope| {
        let (own, others) = shards.split_first_mut().expect("at least one shard");
        let begin = |(shard, &first)| scope.spawn(move || run_apart::<H, A>(shard, first, window));
        let threads: Vec<_> = others.iter_mut().zip(&firsts[1..]).map(begin).collect();
        own.run_switches(firsts[0], window, log);
        let end = |took: Duration, thread: std::thread::ScopedJoinHandle<'_, (Log, Duration)>| {
            let (mut own, of_thread) = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            log.events.append(&mut own.events);
            took + of_thread
        };
        threads.into_iter().fold(Duration::ZERO, end)
    })
}

fn run_apart<H: Copy + Default, A: PortAgent<H>>(
    shard: &mut Shard<'_, H, A>,
    first: usize,
    window: Window,
) -> (Log, Duration) {
    let (mut log, clock) = (Log::default(), ThreadTime::now());
    shard.run_switches(first, window, &mut log);
    (log, clock.elapsed())
}

/// What shards sent each other goes to its calendars: all of it arrives after the window.
fn hand_over<H: Copy + Default, A: PortAgent<H>>(shards: &mut [Shard<'_, H, A>]) {
    for from in 0..shards.len() {
        for to in 0..shards.len() {
            let mut crossing = std::mem::take(&mut shards[from].link_table.outboxes[to]);
            shards[to].link_table.take_in(&mut crossing);
            shards[from].link_table.outboxes[to] = crossing;
        }
        shards[from].link_table.earliest_crossing = Time::NEVER;
    }
}
