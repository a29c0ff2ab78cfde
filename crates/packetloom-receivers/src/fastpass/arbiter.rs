//! The arbiter: what flows still need, and a matching for every slot.

use super::{Config, Header, IDLE, MOST_SLOTS, Purpose};
use crate::control::Pair;
use crate::control::matching::{Candidate, Head, greedy};
use crate::engine::Context;
use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::priority;
use std::collections::{BTreeMap, BTreeSet};

/// A flow's request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub flow: FlowId,
    pub src: HostId,
    pub dst: HostId,
    /// What its sender calls the flow.
    pub number: u16,
    /// What it still needs.
    pub slots: u32,
}

/// What the arbiter knows of a flow. Times are counted in slots.
#[derive(Clone, Copy, Debug)]
struct Demand {
    flow: FlowId,
    left: u32,
    asked: u64,
    /// When its next packet became its next.
    head_since: u64,
}

/// The arbiter's memory; at all hosts but one it stays empty.
#[derive(Debug, Default)]
pub struct Arbiter {
    /// Flows that need slots, by pair and by the sender's number.
    demands: BTreeMap<(Pair, u16), Demand>,
    /// When each pair was last given a slot.
    last_served: BTreeMap<Pair, u64>,
    /// Whether a batch is going to be given out.
    is_due: bool,
}

impl Arbiter {
    /// What a flow needs from now on.
    pub fn requested(&mut self, request: Request, config: &Config, context: &mut Context<'_, Header>) {
        let key = (Pair::new(request.src, request.dst), request.number);
        if request.slots == 0 {
            self.demands.remove(&key);
            return;
        }
        let now = context.now.as_ps() / config.slot(context).as_ps();
        let new = Demand { flow: request.flow, left: 0, asked: now, head_since: now };
        self.demands.entry(key).or_insert(new).left = request.slots;
        if !self.is_due {
            self.is_due = true;
            let batch = config.batch_time(context);
            let next = batch.times(context.now.as_ps().div_ceil(batch.as_ps()));
            context.set_timer(next, 0, Purpose::Batch as u8);
        }
    }

    /// Allocates a batch of slots, and notifies every sender that has any.
    pub fn allocate(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let batch_time = config.batch_time(context);
        let batch = context.now.as_ps() / batch_time.as_ps();
        let mut allocations: BTreeMap<HostId, (FlowId, [u16; MOST_SLOTS])> = BTreeMap::new();
        for slot in 0..config.batch as usize {
            for (pair, number, flow) in self.match_slot(batch * u64::from(config.batch) + slot as u64, config)
            {
                let (_, slots) = allocations.entry(pair.src).or_insert((flow, [IDLE; MOST_SLOTS]));
                slots[slot] = number;
            }
        }
        for (src, (flow, slots)) in allocations {
            context.send(Packet {
                flow,
                dst: src,
                priority: priority::FIRST,
                size_bytes: config.format.ack_bytes,
                kind: Kind::Control,
                header: Header::Allocation { batch: narrow::<u32>(batch), slots },
                ..Packet::default()
            });
        }
        self.is_due = !self.demands.is_empty();
        if self.is_due {
            context.set_timer(context.now + batch_time, 0, Purpose::Batch as u8);
        }
    }

    /// A maximal matching among the flows that need slots; takes what it grants off their needs.
    fn match_slot(&mut self, now: u64, config: &Config) -> Vec<(Pair, u16, FlowId)> {
        let keys: Vec<(Pair, u16)> = self.demands.keys().copied().collect();
        let candidates: Vec<Candidate> = self
            .demands
            .iter()
            .map(|(&(pair, _), demand)| {
                let head = Head {
                    arrived: demand.asked,
                    head_since: demand.head_since,
                    last_served: self.last_served.get(&pair).copied().unwrap_or(0),
                    remaining_bytes: demand.left.into(),
                };
                Candidate { key: config.order.key(&head), pair }
            })
            .collect();
        let servers = candidates.iter().map(|one| one.pair.src.max(one.pair.dst) + 1).max().unwrap_or(0);
        let granted: Vec<(Pair, u16)> =
            greedy(servers, &candidates).into_iter().map(|place| keys[place as usize]).collect();
        debug_assert!(is_matching(&granted), "a server twice in a slot");
        let granted = granted.into_iter();
        granted.map(|(pair, number)| (pair, number, self.grant(pair, number, now))).collect()
    }

    fn grant(&mut self, pair: Pair, number: u16, now: u64) -> FlowId {
        self.last_served.insert(pair, now);
        let demand = self.demands.get_mut(&(pair, number)).expect("a flow that needs slots");
        demand.left -= 1;
        demand.head_since = now;
        let flow = demand.flow;
        if demand.left == 0 {
            self.demands.remove(&(pair, number));
        }
        flow
    }
}

fn is_matching(granted: &[(Pair, u16)]) -> bool {
    let senders: BTreeSet<HostId> = granted.iter().map(|(pair, _)| pair.src).collect();
    let receivers: BTreeSet<HostId> = granted.iter().map(|(pair, _)| pair.dst).collect();
    (senders.len(), receivers.len()) == (granted.len(), granted.len())
}
