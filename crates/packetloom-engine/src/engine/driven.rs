//! A window that a caller drives: its hosts take their turns in order of time, so that whoever is told that a flow has
//! ended may have any host start another at that very moment.
//!
//! Within a window hosts do not depend on each other (see the head of this module's parent), so their order changes no
//! result; only those who look on from outside see it. A host does what happens there until another one is earlier, or
//! until a flow ends there: what follows at that host waits until the caller has reacted. Switches have their turns when
//! the window ends.

use super::Tally;
use super::agent::PortAgent;
use super::arrival;
use super::host::Around;
use super::log::Log;
use super::port::Discipline;
use super::shard::Shard;
use super::thread_pool::Window;
use crate::flow::Flow;
use crate::narrow::exact;
use crate::spec::Values;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
    /// Of each host of the shard, what is left of the window.
    hosts: Vec<Left>,
    /// When hosts next do something in the window. An entry is valid if the host's own `next_at` says the same.
    queue: BinaryHeap<Reverse<(Time, u32)>>,
    /// The hosts that have had something to do, or were to start something.
    touched: Vec<u32>,
    /// Which of the nodes with something due is the first switch.
    first_switch: usize,
    /// When the flows ended that the caller is to be told of.
    ended: Option<Time>,
    /// Rules of marking that hold from the end of the window under way on, each with its port's link.
    rules: Vec<(u32, Discipline)>,
    /// Values of balancers that hold from then on, too, each with its switch among the shard's.
    balancing: Vec<(u32, Values)>,
}

/// What is left of a window at a host.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// When the host next does something; [`Time::NEVER`]: not in this window.
    next_at: Time,
    /// Its arrivals, as places among all of the window's.
    arrivals: (u32, u32),
    is_touched: bool,
}

const NOTHING: Left = Left { next_at: Time::NEVER, arrivals: (0, 0), is_touched: false };

impl Driven {
    /// Goes on until flows end, a window is over, or all happened up to `until`; nothing happens at `max_time` or after.
    pub(super) fn step<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        (until, max_time): (Time, Time),
        log: &mut Log,
    ) -> (Step, Option<Time>) {
        let window = match self.window {
            Some(window) => window,
            None => {
                let clock = shard.link_table.calendar.clock();
                let Some(number) = shard.next_window() else { return (Step::Idle, None) };
                let (start, end) = (clock.start_of(number), clock.start_of(number + 1).min(max_time));
                if start > until || start >= max_time {
                    return (Step::Reached, None);
                }
                self.open(shard, Window { number, start, end })
            }
        };
        self.run_hosts(shard, window, until, log);
        if let Some(at) = self.ended.take() {
            (Step::Ended(at), None)
        } else if until < window.end {
            (Step::Reached, None)
        } else {
            self.close(shard, window, log);
            (Step::WindowOver(shard.tally), Some(window.end))
        }
    }

    /// Has a host start a flow, not before all that has happened.
    pub(super) fn add_flow<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        flow: Flow,
    ) {
        match self.window {
            Some(window) if flow.start < window.end => {
                let host = flow.src - shard.first_host;
                shard.hosts[host as usize].add_flow_at_once(flow);
                self.touch(host);
                let left = &mut self.hosts[host as usize];
                if flow.start < left.next_at {
                    left.next_at = flow.start;
                    self.queue.push(Reverse((flow.start, host)));
                }
            }
            _ => shard.add_flow(flow),
        }
    }

    /// Has ports of switches mark by other rules. Switches have their turns as the window ends, so that what arrived
    /// there before now is still to be marked by the old ones.
    pub(super) fn mark_by<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        rules: Vec<(u32, Discipline)>,
    ) {
        self.rules.extend(rules);
        if self.window.is_none() {
            self.follow_rules(shard);
        }
    }

    /// Has the balancer of a switch go by other values: when, is as for marking.
    pub(super) fn balance_by<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        switch: u32,
        values: Values,
    ) {
        self.balancing.push((switch, values));
        if self.window.is_none() {
            self.follow_rules(shard);
        }
    }

    fn follow_rules<H: Copy + Default, A: PortAgent<H>>(&mut self, shard: &mut Shard<'_, H, A>) {
        let Shard { switches, ports, links, .. } = shard;
        let of_hosts = links.len() - ports.len();
        for (link, rule) in self.rules.drain(..) {
            if let Some(port) = links[of_hosts..].iter().position(|of_port| *of_port == link) {
                ports[port].mark_by(&rule);
            }
        }
        for (switch, values) in self.balancing.drain(..) {
            switches[switch as usize].balance_by(&values);
        }
    }

    /// Ends the window under way, if there is one, before `end`: what arrives then or later stays on its link.
    pub(super) fn cut<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        end: Time,
        log: &mut Log,
    ) {
        let Some(window) = self.window.filter(|window| end < window.end) else { return };
        let hosts = std::mem::take(&mut self.hosts);
        for left in hosts.iter().filter(|left| left.is_touched) {
            for place in left.arrivals.0..left.arrivals.1 {
                shard.link_table.calendar.put_back(shard.due.arrivals[place as usize]);
            }
        }
        self.hosts = hosts;
        let cut = Window { end, ..window };
        shard.cut_switches(self.first_switch, cut);
        self.close(shard, cut, log);
    }

    fn open<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        window: Window,
    ) -> Window {
        let Shard { hosts, link_table, due, .. } = shard;
        self.hosts.resize(hosts.len(), NOTHING);
        link_table.calendar.open(window.number, window.end, due);
        self.first_switch = due.nodes.partition_point(|&(node, _)| (node as usize) < hosts.len());
        for nth in 0..self.first_switch {
            let first = due.nodes[nth].1;
            let (node, arrivals) = due.node(nth);
            arrival::sort(arrivals);
            let arrives_at = arrivals.first().map_or(Time::NEVER, |arrival| arrival.at(window.start));
            let next_at = arrives_at.min(hosts[node as usize].acts_by_itself_at());
            self.touch(node);
            let left = &mut self.hosts[node as usize];
            left.arrivals = (first, first + exact::<u32>(arrivals.len()));
            self.wait(node, next_at, window);
        }
        self.window = Some(window);
        window
    }

    /// Hosts take turns until flows end, or no host has anything to do up to `until`.
    fn run_hosts<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        window: Window,
        until: Time,
        log: &mut Log,
    ) {
        let Shard { hosts, transports, link_table, due, tally, .. } = shard;
        while let Some((at, host)) = self.first() {
            if at > until || self.ended.is_some_and(|ended| at > ended) {
                break;
            }
            self.queue.pop();
            let others = self.first().map_or(Time::NEVER, |(at, _)| at);
            let own_end = Time(window.end.as_ps() - 1);
            let until = others.min(until).min(own_end).min(self.ended.unwrap_or(Time::NEVER));
            let left = &mut self.hosts[host as usize];
            let arrivals = &due.arrivals[left.arrivals.0 as usize..left.arrivals.1 as usize];
            let span = (window.start, until);
            let host_there = &mut hosts[host as usize];
            let around = Around { link_table, transports: &mut **transports, log, tally };
            let (arrived, ended) = host_there.advance(span, arrivals, around);
            left.arrivals.0 += exact::<u32>(arrived);
            let arrives_at = arrivals.get(arrived).map_or(Time::NEVER, |arrival| arrival.at(window.start));
            self.ended = self.ended.or(ended);
            self.wait(host, arrives_at.min(host_there.acts_by_itself_at()), window);
        }
    }

    fn close<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        shard: &mut Shard<'_, H, A>,
        window: Window,
        log: &mut Log,
    ) {
        for host in self.touched.drain(..) {
            shard.hosts[host as usize].end_window(window.end, &mut shard.link_table);
            self.hosts[host as usize] = NOTHING;
        }
        shard.due.pass(self.first_switch);
        shard.run_nodes(self.first_switch, window, log);
        self.queue.clear();
        self.window = None;
        if !self.rules.is_empty() || !self.balancing.is_empty() {
            self.follow_rules(shard);
        }
    }

    /// The host that does something first.
    fn first(&mut self) -> Option<(Time, u32)> {
        while let Some(&Reverse((at, host))) = self.queue.peek() {
            if self.hosts[host as usize].next_at == at {
                return Some((at, host));
            }
            self.queue.pop();
        }
        None
    }

    /// A host next does something at a time.
    fn wait(&mut self, host: u32, next_at: Time, window: Window) {
        let is_in_window = next_at < window.end;
        self.hosts[host as usize].next_at = if is_in_window { next_at } else { Time::NEVER };
        if is_in_window {
            self.queue.push(Reverse((next_at, host)));
        }
    }

    fn touch(&mut self, host: u32) {
        let left = &mut self.hosts[host as usize];
        if !std::mem::replace(&mut left.is_touched, true) {
            self.touched.push(host);
        }
    }
}
