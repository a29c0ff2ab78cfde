//! The switch of the sender (ConWeave §3.2): one probe on its way for each flow, and a change of path when it is
//! late.

use super::super::flowlets::{OfFlows, stream_of};
use super::{Count, EdgePaths, Passing, RoundTrip, Settings, Signal, Tag, Ways};
use crate::narrow::narrow;
use crate::random::Stream;
use crate::units::Time;
use std::collections::BTreeMap;

/// From how many flows on those that are over are looked for.
const MANY: usize = 1_024;

/// A flow of data.
#[derive(Clone, Copy, Debug)]
struct Flow {
    path: Option<u16>,
    epoch: u32,
    /// Whether it changed its path in this epoch.
    is_rerouted: bool,
    /// Whether the answer to the last probe, or to the last change of path, came in time.
    is_stable: bool,
    /// When the answer to the probe is late; [`Time::NEVER`]: none is awaited.
    reply_by: Time,
    last_at: Time,
    /// When its last packet by the old path was sent.
    tail_at: Time,
}

/// What was done for flows.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    probes: u64,
    /// Probes whose answer came in time.
    answers: u64,
    /// Flows that had a last packet by their path.
    tails: u64,
    /// Those of them that were given another that was not marked.
    reroutes: u64,
}

/// All flows from here.
pub(super) struct Sender {
    settings: Settings,
    flows: OfFlows<Flow>,
    most: usize,
    /// By switch and path: until when no flow moves there.
    bad_until: BTreeMap<(u32, u16), Time>,
    done: Done,
    random: Stream,
}

impl Sender {
    pub(super) fn new(settings: Settings, random: Stream) -> Sender {
        Sender {
            settings,
            flows: OfFlows::default(),
            most: MANY,
            bad_until: BTreeMap::new(),
            done: Done::default(),
            random,
        }
    }

    pub(super) fn go_by(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// What was done for flows from here.
    pub(super) fn counts(&self) -> [(&'static str, Count); 4] {
        let Done { probes, answers, tails, reroutes } = self.done;
        [
            ("conweave_probes", Count::Sum(probes)),
            ("conweave_replies_in_time", Count::Sum(answers)),
            ("conweave_tails", Count::Sum(tails)),
            ("conweave_reroutes", Count::Sum(reroutes)),
        ]
    }

    /// The tag of a packet that comes from its sender.
    pub(super) fn send(
        &mut self,
        packet: &Passing,
        paths: &mut EdgePaths,
        ways: Ways<'_>,
        round_trip: &RoundTrip,
    ) -> Tag {
        let now = packet.now;
        let Some(all) = paths.to(packet.dst) else { return Tag::default() };
        let mut flow = self.flow(packet);
        let is_open = flow.path.is_some_and(|path| paths.is_open(packet, path, ways));
        let has_expired = !is_open || flow.last_at + self.settings.expiry < now;
        let mut tag = Tag { sent_at: now, ..Tag::default() };
        if has_expired || flow.is_stable {
            flow.reply_by = now + round_trip.of(packet.size_bytes) + self.settings.reply_extra;
            flow.epoch += 1;
            (flow.is_rerouted, flow.tail_at) = (false, Time::ZERO);
            tag.signal = Signal::Probe;
            self.done.probes += 1;
        } else if flow.reply_by < now {
            flow.reply_by = Time::NEVER;
            flow.tail_at = now;
            tag.signal = Signal::Tail;
            self.done.tails += 1;
        }
        (flow.is_stable, flow.last_at) = (false, now);
        let edge = paths.edge_of(packet.dst);
        let old = flow.path;
        if has_expired || tag.signal == Signal::Tail {
            let open = |path: &u16| paths.is_open(packet, *path, ways);
            let (drawn, good) = self.candidates(now, edge, &all, open);
            self.done.reroutes += u64::from(!has_expired && good.is_some());
            // Without a good one a flow stays where it is; a new one goes by what was drawn, or by what there is.
            let stays = flow.path.filter(|_| is_open);
            flow.path = good.or(stays).or(drawn).or_else(|| all.iter().copied().find(open));
        }
        tag.epoch = flow.epoch;
        tag.tail_at = flow.tail_at;
        tag.is_rerouted = flow.is_rerouted;
        tag.path = flow.path;
        if tag.signal == Signal::Tail {
            // The last by the old path; whatever follows goes by the new one.
            tag.path = old;
            flow.is_rerouted = true;
        }
        self.flows.insert(stream_of(packet), flow);
        tag
    }

    /// What is known of a packet's flow. One that was silent for long begins anew; that is after the switch of the
    /// receiver has forgotten it, so that its epochs may, too.
    fn flow(&mut self, packet: &Passing) -> Flow {
        let forgotten = |flow: &Flow| packet.now.since(flow.last_at) > self.settings.forgets_after().times(2);
        if self.flows.len() >= self.most {
            self.flows.retain(|_, flow| !forgotten(flow));
            self.most = MANY.max(2 * self.flows.len());
        }
        let known = self.flows.get(&stream_of(packet)).filter(|flow| !forgotten(flow));
        known.copied().unwrap_or(Flow {
            path: None,
            epoch: 0,
            is_rerouted: false,
            is_stable: false,
            reply_by: Time::NEVER,
            last_at: packet.now,
            tail_at: Time::ZERO,
        })
    }

    /// Of two paths drawn at random, the first that leads to the destination, and the first that is not congested,
    /// either.
    fn candidates(
        &mut self,
        now: Time,
        edge: u32,
        all: &[u16],
        is_open: impl Fn(&u16) -> bool,
    ) -> (Option<u16>, Option<u16>) {
        let drawn = [(); 2].map(|()| all[self.random.below(narrow::<u32>(all.len())) as usize]);
        let is_good = |path: &u16| self.bad_until.get(&(edge, *path)).is_none_or(|&until| until < now);
        let open = || drawn.into_iter().filter(&is_open);
        (open().next(), open().find(is_good))
    }

    /// A notice comes from the switch of a receiver.
    pub(super) fn receive_notice(&mut self, notice: &Passing, tag: &Tag, edge: u32) {
        let now = notice.now;
        if let (Signal::Notify, Some(path)) = (tag.signal, tag.path) {
            self.bad_until.insert((edge, path), now + self.settings.path_pause);
            return;
        }
        // Notices go the way of answers: their receiver sent the data.
        let stream = (notice.flow, notice.dst, notice.subflow);
        let Some(flow) = self.flows.get_mut(&stream).filter(|flow| flow.epoch == tag.epoch) else { return };
        let is_in_time = match tag.signal {
            Signal::ProbeReply => !flow.is_rerouted && flow.reply_by != Time::NEVER && now <= flow.reply_by,
            Signal::Clear => flow.is_rerouted,
            _ => false,
        };
        if is_in_time {
            self.done.answers += u64::from(tag.signal == Signal::ProbeReply);
            (flow.is_stable, flow.reply_by) = (true, Time::NEVER);
        }
    }
}
