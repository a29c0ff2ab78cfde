//! Whether a case still goes anywhere. Packets may move for ever without a flow coming nearer to its end: flows that ask
//! again and again for a rate that nobody grants, or that send again and again into a dead link.
//!
//! Nothing is counted per packet for this. After so many packet-hops without an end or a start of a flow, the run is
//! stopped for a moment, hosts are asked how their flows stand, and it goes on if that has changed since.

use crate::engine::Standing;
use crate::flow::FlowId;
use crate::units::Time;

/// Packet-hops after which hosts are asked: in all, and per unfinished flow.
const PATIENCE_HOPS: u64 = 1_000_000;
const PATIENCE_HOPS_PER_FLOW: u64 = 1_000;

/// Flows that wait while only background flows move are given so much longer.
const PATIENCE_FOR_BACKGROUND: u64 = 100;

/// Flows named in a message.
const NAMED: usize = 5;

/// Watches whether a case comes nearer to its end.
#[derive(Debug)]
pub struct StallWatch {
    /// Until then a fault may yet be lifted.
    hopeful_until: Time,
    /// Flows started and ended when something last changed.
    seen: (u64, u64),
    /// When to ask next.
    ask_at_hops: u64,
    standings: Vec<Standing>,
    /// How the flows stand that the case waits for, and how often that was found unchanged.
    awaited: Vec<Standing>,
    unchanged: u64,
}

impl StallWatch {
    /// At the beginning of a case whose last fault ends at `last_fault`.
    pub fn new(last_fault: Time) -> StallWatch {
        StallWatch {
            hopeful_until: last_fault,
            seen: (0, 0),
            ask_at_hops: PATIENCE_HOPS,
            standings: Vec::new(),
            awaited: Vec::new(),
            unchanged: 0,
        }
    }

    /// Whether it is time to ask how flows stand.
    #[inline]
    pub fn is_suspicious(&mut self, now: Time, packet_hops: u64, started: u64, finished: u64) -> bool {
        if self.seen != (started, finished) || now <= self.hopeful_until {
            self.seen = (started, finished);
            self.unchanged = 0;
            self.ask_at_hops = packet_hops + patience(started - finished);
        }
        packet_hops >= self.ask_at_hops
    }

    /// Whether nothing has changed since hosts were last asked.
    pub fn is_stalled(
        &mut self,
        packet_hops: u64,
        standings: Vec<Standing>,
        is_awaited: impl Fn(FlowId) -> bool,
    ) -> bool {
        let awaited: Vec<Standing> = standings.iter().filter(|one| is_awaited(one.flow)).cloned().collect();
        self.unchanged = if !awaited.is_empty() && awaited == self.awaited { self.unchanged + 1 } else { 0 };
        let all_stand = !standings.is_empty() && standings == self.standings;
        self.ask_at_hops = packet_hops + patience(standings.len() as u64);
        self.standings = standings;
        self.awaited = awaited;
        all_stand || self.unchanged >= PATIENCE_FOR_BACKGROUND
    }
}

fn patience(flows: u64) -> u64 {
    PATIENCE_HOPS.max(PATIENCE_HOPS_PER_FLOW * flows)
}

/// What a user is told: which flows, and what each waits for.
pub fn message(
    why: &str,
    now: Time,
    standings: &[Standing],
    pair: impl Fn(FlowId) -> Option<(u32, u32)>,
) -> String {
    let told = standings.iter().take(NAMED).map(|one| {
        let ends = pair(one.flow).map_or(String::new(), |(src, dst)| format!(" (host {src} to host {dst})"));
        let Standing { flow, arrived, packets, waits_for } = one;
        format!("flow {flow}{ends}: {arrived} of {packets} packets arrived; waits for {waits_for}")
    });
    let told: Vec<String> = told.collect();
    let more = match standings.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("no progress: {why} at {now}. {}{more}", told.join("; "))
}
