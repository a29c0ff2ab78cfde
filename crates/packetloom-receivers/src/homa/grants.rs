//! Which senders a host grants to (Homa §3.3 to §3.5): those of the messages with the least left, one message of
//! each, as many at once as the overcommitment allows.

use super::PACE;
use super::config::{Config, Grants};
use super::header::Header;
use super::receiver::Receiver;
use crate::engine::Context;
use crate::flow::{FlowId, HostId};
use crate::flow_table::FlowTable;
use crate::narrow::narrow;
use crate::units::Time;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// A message's rank: by what is left of it, then by the tie-break.
pub type Rank = (u64, u64, u64, FlowId);

const FIRST: Rank = (0, 0, 0, 0);
const LAST: Rank = (u64::MAX, u64::MAX, u64::MAX, FlowId::MAX);

/// How fast a sender is granted to.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// When the packet that it was granted last would be off its link.
    free_at: Time,
    /// With which level.
    level: u8,
    /// Until when a timer is set.
    timer_at: Time,
}

/// The messages to a host that need grants.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// All of them, sender by sender.
    messages: BTreeSet<(HostId, Rank)>,
    /// Each sender's first.
    firsts: BTreeSet<(Rank, HostId)>,
    /// By age, where the oldest has a share of its own.
    ages: BTreeSet<(u64, FlowId)>,
    paces: FlowTable<Pace>,
    /// What is on its way to this host, and what was granted since the oldest message had its share.
    incoming_bytes: u64,
    since_fifo: u64,
    /// How often a message was put where it belongs.
    moves: u64,
    /// How often it was looked for messages that may be granted to.
    pub(super) pass: u64,
}

impl Scheduler {
    /// A message has begun.
    pub fn begin(&mut self, message: &Receiver, config: &Config) {
        self.incoming_bytes += message.incoming_bytes(config);
    }

    /// So much of what was on its way has come.
    pub fn arrived(&mut self, bytes: u64) {
        self.incoming_bytes -= bytes;
    }

    /// Puts a message where it belongs: of what was last moved, ns-3 has the latest behind its equals.
    pub fn requeue(&mut self, message: &mut Receiver, config: &Config) {
        let rank = (!message.is_granted()).then(|| {
            if config.is_ns3 {
                self.moves += 1;
                let left = message.size_bytes - message.arrived_bytes;
                (left, self.moves, 0, message.flow)
            } else {
                (message.left_to_grant(config), message.size_bytes, message.number, message.flow)
            }
        });
        if rank == message.rank {
            return;
        }
        let src = message.src;
        let before = self.first_of(src);
        if let Some(old) = message.rank {
            self.messages.remove(&(src, old));
        }
        self.messages.extend(rank.map(|rank| (src, rank)));
        let after = self.first_of(src);
        if before != after {
            if let Some(before) = before {
                self.firsts.remove(&(before, src));
            }
            self.firsts.extend(after.map(|after| (after, src)));
        }
        if let Grants::Shared { .. } = config.grants {
            let age = (message.number, message.flow);
            if rank.is_some() {
                self.ages.insert(age);
            } else {
                self.ages.remove(&age);
            }
        }
        message.rank = rank;
    }

    fn first_of(&self, src: HostId) -> Option<Rank> {
        self.messages.range((src, FIRST)..=(src, LAST)).next().map(|&(_, rank)| rank)
    }

    /// Grants what may be granted now.
    pub fn grant(
        &mut self,
        receivers: &mut FlowTable<Receiver>,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        self.pass += 1;
        loop {
            let active = self.firsts.len();
            let chosen: SmallVec<[FlowId; 8]> =
                self.firsts.iter().take(config.overcommitment).map(|&((.., flow), _)| flow).collect();
            let mut has_left = false;
            for (nth, &flow) in chosen.iter().enumerate() {
                let Some(message) = receivers.get_mut(flow) else { continue };
                let level = scheduled_level(nth, active, config);
                if self.grant_to(message, (level, chosen.len()), config, context) {
                    has_left |= message.is_granted();
                    self.requeue(message, config);
                }
            }
            // A fully granted message makes way for another; in ns-3 from the next packet on.
            if !has_left || config.is_ns3 {
                break;
            }
        }
        self.grant_to_oldest(receivers, config, context);
    }

    /// Grants to a message what may be granted to it; returns whether that was anything.
    fn grant_to(
        &mut self,
        message: &mut Receiver,
        (level, active): (u8, usize),
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> bool {
        if message.first_lost().is_some() {
            return self.grant_lost(message, level, config, context);
        }
        let (to, level) = match config.grants {
            Grants::Packets => {
                let level = boosted(level, message, config);
                if !self.may_pace(message, level, config, context) {
                    return false;
                }
                (message.granted + 1, level)
            }
            Grants::Window => (message.arrived + config.window_packets(), level),
            Grants::Shared { most_bytes, .. } => {
                let window = most_bytes / (active as u64 + 1);
                let room = most_bytes.saturating_sub(self.incoming_bytes);
                let payload = config.layout.payload_bytes;
                let within = message.arrived + narrow::<u32>((window / payload).max(1));
                (within.min(message.granted + narrow::<u32>(room / payload)), level)
            }
        };
        let to = to.min(message.packets);
        to > message.granted && {
            self.send_grant(message, to, level, config, context);
            true
        }
    }

    /// Grants a packet again that was lost without a grant, if one may be granted.
    fn grant_lost(
        &mut self,
        message: &mut Receiver,
        level: u8,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> bool {
        let level = boosted(level, message, config);
        if !self.may_pace(message, level, config, context) {
            return false;
        }
        let Some(seq) = message.grant_lost(level, config, context.now) else { return false };
        context.send(config.control(message.flow, message.src, Header::Again { seq, level }));
        true
    }

    fn send_grant(
        &mut self,
        message: &mut Receiver,
        to: u32,
        level: u8,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        message.pass = self.pass;
        let bytes = message.grant(to, level, config, context.now);
        self.incoming_bytes += bytes;
        self.since_fifo += bytes;
        context.send(config.control(message.flow, message.src, Header::Grant { to, level }));
    }

    /// Whether a packet may be granted: the window allows it, and the sender's last packet is off its link, unless
    /// this one is more urgent. If the window allows another, it is granted when this one is off the link, for
    /// which a timer is set; if not, as soon as something arrives.
    fn may_pace(
        &mut self,
        message: &Receiver,
        level: u8,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> bool {
        if message.on_wire >= config.window_bytes {
            return false;
        }
        let now = context.now;
        if self.paces.get(message.src).is_none() {
            self.paces.insert(message.src, Pace { free_at: now, level, timer_at: now });
        }
        let Some(pace) = self.paces.get_mut(message.src) else { return false };
        if pace.free_at > now && level >= pace.level {
            if pace.timer_at < pace.free_at {
                pace.timer_at = pace.free_at;
                context.set_timer(pace.free_at, message.src, PACE);
            }
            return false;
        }
        let next = message.first_lost().unwrap_or(message.granted);
        let bytes = config.layout.packet_bytes(next, message.size_bytes);
        let on_wire = message.on_wire + bytes + config.layout.framing_bytes;
        (pace.free_at, pace.level) = (now, level);
        if on_wire < config.window_bytes {
            pace.free_at += context.nic_time_for(bytes);
            pace.timer_at = pace.free_at;
            context.set_timer(pace.free_at, message.src, PACE);
        }
        true
    }

    /// The oldest message has a part of all that is granted, so that it does not starve.
    fn grant_to_oldest(
        &mut self,
        receivers: &mut FlowTable<Receiver>,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let Grants::Shared { fifo_every, fifo_bytes, .. } = config.grants else { return };
        if self.since_fifo < fifo_every {
            return;
        }
        let Some(&(_, flow)) = self.ages.first() else { return };
        let Some(message) = receivers.get_mut(flow) else { return };
        self.since_fifo = 0;
        let more = narrow::<u32>((fifo_bytes / config.layout.payload_bytes).max(1));
        let to = message.granted.saturating_add(more).min(message.packets);
        let level = config.levels - 1;
        self.send_grant(message, to, level, config, context);
        self.requeue(message, config);
    }
}

/// The level of the `nth` of so many senders that need grants. With fewer than there are levels they have the last
/// ones, so that a message that comes and is shorter goes before what is on its way (§3.4); in ns-3 the first.
#[inline]
fn scheduled_level(nth: usize, active: usize, config: &Config) -> u8 {
    let scheduled = usize::from(config.scheduled_levels);
    let skipped =
        if config.from_top { 0 } else { scheduled - active.min(config.overcommitment).min(scheduled) };
    let place = (skipped + nth).min(scheduled - 1);
    config.levels - config.scheduled_levels + narrow::<u8>(place)
}

/// The end of a message goes at the level that it would have without a grant, if that is better (HomaSimulation:
/// getSchedPktPrio).
#[inline]
fn boosted(level: u8, message: &Receiver, config: &Config) -> u8 {
    let layout = &config.layout;
    let wire = layout.wire_bytes(message.packets, message.size_bytes)
        - layout.wire_bytes(message.granted, message.size_bytes);
    if wire >= config.tail_bytes {
        return level;
    }
    level.min(config.level_without_grant(message.left_to_grant(config), message.size_bytes))
}
