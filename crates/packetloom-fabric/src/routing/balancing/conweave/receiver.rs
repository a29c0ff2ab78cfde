//! The switch of the receiver (ConWeave §3.3): packets that overtook those by the old path wait in a queue of their
//! flow's own until the last of these has come, or should have.

use super::super::flowlets::{OfFlows, Stream, stream_of};
use super::{Actions, Count, Pass, Passing, Settings, Signal, Tag};
use crate::packets::PacketId;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// From how many flows on those that are over are looked for.
const MANY: usize = 1_024;

/// A flow of data that comes here.
#[derive(Clone, Debug)]
struct Flow {
    epoch: u32,
    /// Whether all packets by the old path have come.
    is_rerouted: bool,
    /// When the last packet by the old path that has come was sent, and when it came.
    old_path: Option<(Time, Time)>,
    /// When the last of all by the old path was sent, as those say that overtook it.
    tail_at: Time,
    /// The packets that wait, each with its port, and their bytes.
    waiting: Vec<(PacketId, u32)>,
    waiting_bytes: u64,
    /// When they are released at the latest.
    flush_at: Time,
    last_at: Time,
}

/// The reorder queues here, and how many and how large they have been.
#[derive(Clone, Debug, Default)]
struct Queues {
    /// By port: how many flows' packets wait for it.
    at_ports: Vec<u32>,
    most_at_a_port: u32,
    /// Bytes that wait, for all ports together.
    bytes: u64,
    most_bytes: u64,
    /// Packets that have had to wait.
    packets: u64,
    flushes: u64,
    forced_flushes: u64,
}

impl Queues {
    fn begin(&mut self, port: u32) {
        let port = port as usize;
        if port >= self.at_ports.len() {
            self.at_ports.resize(port + 1, 0);
        }
        self.at_ports[port] += 1;
        self.most_at_a_port = self.most_at_a_port.max(self.at_ports[port]);
    }

    fn end(&mut self, port: u32, bytes: u64) {
        self.at_ports[port as usize] -= 1;
        self.bytes -= bytes;
    }

    fn add(&mut self, size_bytes: u16) {
        self.packets += 1;
        self.bytes += u64::from(size_bytes);
        self.most_bytes = self.most_bytes.max(self.bytes);
    }
}

/// All flows to here.
pub(super) struct Receiver {
    settings: Settings,
    flows: OfFlows<Flow>,
    most: usize,
    queues: Queues,
    /// When flows' packets are to be released; of each flow the last entry counts.
    flushes: BinaryHeap<Reverse<(Time, Stream)>>,
}

impl Receiver {
    pub(super) fn new(settings: Settings) -> Receiver {
        Receiver {
            settings,
            flows: OfFlows::default(),
            most: MANY,
            queues: Queues::default(),
            flushes: BinaryHeap::new(),
        }
    }

    pub(super) fn go_by(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// A packet comes that is to leave by a port.
    pub(super) fn take(&mut self, packet: &Passing, tag: &Tag, port: u32, actions: &mut Actions) -> Pass {
        self.forget(packet.now);
        let stream = stream_of(packet);
        let settings = self.settings;
        let flow = self.flows.entry(stream).or_insert_with(|| Flow::new(packet.now));
        if flow.waiting.is_empty() && packet.now.since(flow.last_at) > settings.forgets_after() {
            *flow = Flow::new(packet.now);
        }
        flow.last_at = packet.now;
        if tag.epoch < flow.epoch {
            return Pass::By(port);
        }
        if tag.epoch > flow.epoch {
            (flow.epoch, flow.is_rerouted, flow.old_path) = (tag.epoch, tag.signal == Signal::Tail, None);
        }
        if !tag.is_rerouted {
            flow.old_path = Some((tag.sent_at, packet.now));
            if tag.signal == Signal::Tail {
                // Those that wait follow it.
                flow.flush(actions, &mut self.queues);
            } else if !flow.waiting.is_empty() {
                self.rearm(packet.now, stream);
            }
            return Pass::By(port);
        }
        if flow.is_rerouted {
            return Pass::By(port);
        }
        flow.waiting.push((packet.id, port));
        flow.waiting_bytes += u64::from(packet.size_bytes);
        self.queues.add(packet.size_bytes);
        if flow.waiting.len() == 1 {
            self.queues.begin(port);
            flow.tail_at = tag.tail_at;
            self.rearm(packet.now, stream);
        }
        Pass::Held
    }

    /// The packet that came last did not fit.
    pub(super) fn drop_last(&mut self, packet: &Passing) {
        let flow = self.flows.get_mut(&stream_of(packet));
        if let Some((flow, (_, port))) = flow.and_then(|flow| flow.waiting.pop().map(|last| (flow, last))) {
            let bytes = u64::from(packet.size_bytes);
            flow.waiting_bytes -= bytes;
            self.queues.packets -= 1;
            if flow.waiting.is_empty() {
                self.queues.end(port, bytes);
            } else {
                self.queues.bytes -= bytes;
            }
        }
    }

    /// Sets when a flow's packets are released at the latest: when its last packet by the old path should have
    /// come, if that takes as long as the one before it.
    fn rearm(&mut self, now: Time, stream: Stream) {
        let Some(flow) = self.flows.get_mut(&stream) else { return };
        let expected = match flow.old_path {
            Some((sent_at, came_at)) => came_at + flow.tail_at.since(sent_at),
            None => now + self.settings.flush_default,
        };
        flow.flush_at = (expected + self.settings.flush_extra).max(now);
        self.flushes.push(Reverse((flow.flush_at, stream)));
    }

    /// When the next packets may have to be released.
    pub(super) fn next_at(&self) -> Time {
        self.flushes.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Releases what is due.
    pub(super) fn wake(&mut self, now: Time, actions: &mut Actions) {
        while let Some(&Reverse((at, stream))) = self.flushes.peek().filter(|Reverse((at, _))| *at <= now) {
            self.flushes.pop();
            let flow = self.flows.get_mut(&stream);
            if let Some(flow) = flow.filter(|flow| flow.flush_at == at && !flow.waiting.is_empty()) {
                self.queues.forced_flushes += 1;
                flow.flush(actions, &mut self.queues);
            }
        }
    }

    /// The packets that wait.
    pub(super) fn held(&self) -> Vec<PacketId> {
        self.flows.values().flat_map(|flow| flow.waiting.iter().map(|&(id, _)| id)).collect()
    }

    /// What came of the reorder queues here.
    pub(super) fn counts(&self) -> [(&'static str, Count); 5] {
        let Queues { packets, flushes, forced_flushes, most_at_a_port, most_bytes, .. } = self.queues;
        [
            ("conweave_held_packets", Count::Sum(packets)),
            ("conweave_flushes", Count::Sum(flushes)),
            ("conweave_forced_flushes", Count::Sum(forced_flushes)),
            ("conweave_max_queues", Count::Most(most_at_a_port.into())),
            ("conweave_max_held_bytes", Count::Most(most_bytes)),
        ]
    }

    fn forget(&mut self, now: Time) {
        if self.flows.len() < self.most {
            return;
        }
        let age = self.settings.forgets_after();
        self.flows.retain(|_, flow| !flow.waiting.is_empty() || now.since(flow.last_at) <= age);
        self.most = MANY.max(2 * self.flows.len());
    }
}

impl Flow {
    fn new(now: Time) -> Flow {
        Flow {
            epoch: 0,
            is_rerouted: false,
            old_path: None,
            tail_at: Time::ZERO,
            waiting: Vec::new(),
            waiting_bytes: 0,
            flush_at: Time::NEVER,
            last_at: now,
        }
    }

    /// Releases what waits, in order; what comes from now on need not wait.
    fn flush(&mut self, actions: &mut Actions, queues: &mut Queues) {
        if let Some(&(_, port)) = self.waiting.first() {
            queues.flushes += 1;
            queues.end(port, std::mem::take(&mut self.waiting_bytes));
        }
        actions.released.append(&mut self.waiting);
        self.is_rerouted = true;
        self.flush_at = Time::NEVER;
    }
}
