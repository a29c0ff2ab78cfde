//! Detects a case without progress. Packets may move forever without a flow coming nearer to its end: flows that
//! request again and again a rate that is never granted, or that send again and again into a dead link.
//!
//! Nothing is counted per packet for this. After so many events (arrivals of packets, timers) without an end or a
//! start of a flow, the run is stopped for a moment and the flows' statuses are collected. It goes on if they have
//! changed since the last time. If not, news may still be under way: where windows are huge, an acknowledgement waits in
//! a FIFO until all data before it has gone. So the case ends only if nothing has changed either when all that was
//! under way has come through as many queues as there are on a packet's way and back.

use crate::engine::{AnyEngine, FlowStatus, PauseCycle};
use crate::flow::FlowId;
use crate::units::Time;

/// Events after which statuses are collected: in all, and per unfinished flow.
const PATIENCE_EVENTS: u64 = 1_000_000;
const PATIENCE_EVENTS_PER_FLOW: u64 = 1_000;

/// Flows that wait while only background flows move are given so much longer.
const PATIENCE_FOR_BACKGROUND: u64 = 100;

/// How long a packet may be under way after its sender was done: 125 MB before a link of 10 Gb/s.
const LONGEST_WAIT: Time = Time::from_us(100_000);

/// Flows named where a cycle holds them.
const NAMED_IN_CYCLES: usize = 5;

/// Flows named in a message.
const NAMED: usize = 2;

/// Queues that a packet and its answer go through, one after the other.
const QUEUES_ON_WAY: u32 = 16;

/// Detects whether a case comes nearer to its end.
#[derive(Debug)]
pub struct StallWatch {
    /// Until then a fault may yet be lifted.
    hopeful_until: Time,
    /// Flows started and ended when something last changed.
    seen: (u64, u64),
    /// When to ask next.
    ask_at_events: u64,
    statuses: Vec<FlowStatus>,
    /// How many queues were waited for since something last changed, and until when the last of them is.
    queues_awaited: u32,
    awaits_until: Time,
    /// The statuses of the flows that the case waits for, and how often they were found unchanged.
    awaited: Vec<FlowStatus>,
    unchanged: u64,
    /// When no sender was found at work any more.
    idle_since: Option<Time>,
}

impl StallWatch {
    /// At the beginning of a case whose last fault ends at `last_fault`.
    pub fn new(last_fault: Time) -> StallWatch {
        StallWatch {
            hopeful_until: last_fault,
            seen: (0, 0),
            ask_at_events: PATIENCE_EVENTS,
            statuses: Vec::new(),
            queues_awaited: 0,
            awaits_until: Time::ZERO,
            awaited: Vec::new(),
            unchanged: 0,
            idle_since: None,
        }
    }

    /// The last fault ends then.
    pub fn hope_until(&mut self, last_fault: Time) {
        self.hopeful_until = last_fault;
    }

    /// Whether it is time to collect statuses.
    #[inline]
    pub fn is_suspicious(&mut self, now: Time, events: u64, started: u64, finished: u64) -> bool {
        if self.seen != (started, finished) || now <= self.hopeful_until {
            self.seen = (started, finished);
            self.unchanged = 0;
            self.queues_awaited = 0;
            self.ask_at_events = events + patience(started - finished);
        }
        if self.queues_awaited > 0 { now >= self.awaits_until } else { events >= self.ask_at_events }
    }

    /// Whether what is missing of flows is lost for good: their senders have been done for long. `works`: one is not.
    pub fn is_lost(&mut self, now: Time, works: bool) -> bool {
        self.idle_since = if works { None } else { self.idle_since.or(Some(now)) };
        self.idle_since.is_some_and(|since| now >= since + LONGEST_WAIT)
    }

    /// Whether nothing has changed since statuses were last collected.
    pub fn is_stalled(
        &mut self,
        events: u64,
        statuses: Vec<FlowStatus>,
        is_awaited: impl Fn(FlowId) -> bool,
    ) -> bool {
        let awaited: Vec<FlowStatus> = statuses.iter().filter(|one| is_awaited(one.flow)).cloned().collect();
        let is_asked_anew = u64::from(self.queues_awaited == 0);
        let stand = !awaited.is_empty() && awaited == self.awaited;
        self.unchanged = if stand { self.unchanged + is_asked_anew } else { 0 };
        let all_stand = !statuses.is_empty() && statuses == self.statuses;
        self.ask_at_events = events + patience(statuses.len() as u64);
        self.statuses = statuses;
        self.awaited = awaited;
        let is_stalled = all_stand || self.unchanged >= PATIENCE_FOR_BACKGROUND;
        if !is_stalled {
            self.queues_awaited = 0;
        }
        is_stalled
    }

    /// Whether news may yet come, if nothing has changed: what is under way is at the next node by `arrives_by`.
    pub fn awaits_news(&mut self, arrives_by: Time) -> bool {
        let awaits = self.queues_awaited < QUEUES_ON_WAY;
        if awaits {
            (self.queues_awaited, self.awaits_until) = (self.queues_awaited + 1, arrives_by);
        }
        awaits
    }
}

/// How often cycles of paused ports are looked for, in simulated time.
const BETWEEN_CYCLES: Time = Time::from_us(1_000);

/// Detects pauses that hold each other.
#[derive(Debug)]
pub struct CycleWatch {
    /// When to look next; [`Time::NEVER`]: never.
    next: Time,
}

impl CycleWatch {
    /// Enabled, or not.
    pub fn new(watches: bool) -> CycleWatch {
        CycleWatch { next: if watches { BETWEEN_CYCLES } else { Time::NEVER } }
    }

    /// Whether it is time to look.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Looks.
    pub fn look(&mut self, now: Time, engine: &dyn AnyEngine) -> Option<PauseCycle> {
        if self.next == Time::NEVER {
            return None;
        }
        self.next = now + BETWEEN_CYCLES;
        engine.pause_cycle()
    }
}

/// The message about such a cycle; `name`: of a link.
pub fn deadlock(cycle: &PauseCycle, now: Time, name: impl Fn(u32) -> String) -> String {
    let ports: Vec<String> =
        cycle.ports.iter().map(|&(link, class)| format!("{} (class {class})", name(link))).collect();
    let named: Vec<String> = cycle.flows.iter().take(NAMED_IN_CYCLES).map(ToString::to_string).collect();
    let more = if cycle.flows.len() > NAMED_IN_CYCLES { ", ..." } else { "" };
    format!(
        "deadlock: a cycle of paused ports at {}, of which each waits for the next: {}; in them wait {} flows: \
         flows {}{more}. A watchdog, or paths without cycles, would break it",
        now.said(),
        ports.join(", "),
        cycle.flows.len(),
        named.join(", ")
    )
}

fn patience(flows: u64) -> u64 {
    PATIENCE_EVENTS.max(PATIENCE_EVENTS_PER_FLOW * flows)
}

/// The message to the user: which flows, and what each waits for.
pub fn message(
    why: &str,
    now: Time,
    statuses: &[FlowStatus],
    pair: impl Fn(FlowId) -> Option<(u32, u32)>,
) -> String {
    let flows = statuses.iter().take(NAMED).map(|one| {
        let ends = pair(one.flow).map_or(String::new(), |(src, dst)| format!(" (host {src} to host {dst})"));
        let FlowStatus { flow, arrived, packets, waits_for } = one;
        format!("flow {flow}{ends}: {arrived} of {packets} packets arrived; waits for {waits_for}")
    });
    let flows: Vec<String> = flows.collect();
    let more = match statuses.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("no progress: {why} at {}. {}{more}", now.said(), flows.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(flow: FlowId, arrived: u32) -> FlowStatus {
        FlowStatus { flow, arrived, packets: 100, waits_for: "an answer" }
    }

    #[test]
    fn hosts_are_asked_only_after_long_silence() {
        let mut watch = StallWatch::new(Time(50));
        assert!(!watch.is_suspicious(Time(10), 5_000_000, 3, 0), "a fault may yet be lifted");
        assert!(!watch.is_suspicious(Time(60), 5_999_999, 3, 0));
        assert!(watch.is_suspicious(Time(61), 6_000_000, 3, 0));
        assert!(!watch.is_suspicious(Time(62), 6_000_001, 3, 1), "a flow ended");
        assert!(!watch.is_suspicious(Time(63), 7_000_000, 3, 1));
    }

    #[test]
    fn only_what_has_not_changed_since_the_last_time_stands_still() {
        let mut watch = StallWatch::new(Time::ZERO);
        let everything = |_: FlowId| true;
        assert!(!watch.is_stalled(1, vec![status(1, 5), status(2, 0)], everything));
        assert!(!watch.is_stalled(2, vec![status(1, 6), status(2, 0)], everything));
        assert!(watch.is_stalled(3, vec![status(1, 6), status(2, 0)], everything));
        // A transport that reports no statuses counts as making progress.
        assert!(!watch.is_stalled(4, Vec::new(), everything));
        assert!(!watch.is_stalled(5, Vec::new(), everything));
    }

    #[test]
    fn what_is_under_way_is_awaited_through_every_queue_and_no_longer() {
        let mut watch = StallWatch::new(Time::ZERO);
        let ask = |watch: &mut StallWatch, now: u64, arrived: u32| {
            watch.is_suspicious(Time(now), 2_000_000, 1, 0)
                && watch.is_stalled(2_000_000, vec![status(1, arrived)], |_| true)
                && watch.awaits_news(Time(now + 500))
        };
        assert!(!watch.is_suspicious(Time(1), 0, 1, 0));
        assert!(!ask(&mut watch, 10, 5), "it has not stood yet");
        watch.ask_at_events = 0;
        let mut now = 1_000;
        for queue in 0..QUEUES_ON_WAY {
            assert!(queue == 0 || !ask(&mut watch, now - 1, 5), "queue {queue}: not yet");
            assert!(ask(&mut watch, now, 5), "queue {queue}");
            now += 500;
        }
        assert!(watch.is_suspicious(Time(now), 2_000_000, 1, 0));
        assert!(watch.is_stalled(2_000_000, vec![status(1, 5)], |_| true) && !watch.awaits_news(Time(now)));
        assert!(!watch.is_stalled(2_000_000, vec![status(1, 6)], |_| true), "it came");
        assert!(!watch.is_suspicious(Time(now), 2_000_000, 1, 0));
    }

    #[test]
    fn flows_that_starve_beside_the_background_are_given_longer() {
        let mut watch = StallWatch::new(Time::ZERO);
        let is_foreground = |flow: FlowId| flow == 1;
        let mut asked = 0;
        while !watch.is_stalled(asked, vec![status(1, 5), status(2, asked as u32)], is_foreground) {
            asked += 1;
        }
        assert_eq!(asked, PATIENCE_FOR_BACKGROUND);
    }

    #[test]
    fn what_is_missing_is_lost_when_senders_have_been_done_for_long() {
        let mut watch = StallWatch::new(Time::ZERO);
        let at = |ms: u64| Time::from_us(ms * 1_000);
        assert!(!watch.is_lost(at(10), false) && !watch.is_lost(at(109), false));
        assert!(watch.is_lost(at(110), false));
        assert!(!watch.is_lost(at(111), true) && !watch.is_lost(at(112), false), "another began");
    }

    #[test]
    fn the_message_names_the_first_flows() {
        let statuses: Vec<FlowStatus> = (0..7).map(|flow| status(flow, 5)).collect();
        let text =
            message("nothing is left to happen", Time(3_141_592_653_589), &statuses, |flow| Some((flow, 9)));
        assert!(
            text.contains("flow 1 (host 1 to host 9): 5 of 100 packets arrived; waits for an answer"),
            "{text}"
        );
        assert!(text.starts_with("no progress: nothing is left to happen at 3.14 s. "), "{text}");
        assert!(!text.contains("flow 2") && text.ends_with("; and 5 more"), "{text}");
    }
}
