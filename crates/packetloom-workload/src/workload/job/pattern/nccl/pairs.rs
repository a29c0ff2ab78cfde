//! All-to-all: pairs in the library's order, so many together on each channel, with PXN or without.
//!
//! A channel's batches follow each other: a rank begins with the next once it has all of this one. With PXN what leaves
//! a server goes first to the neighbour whose NIC is on the receiver's rail, which passes it on, in a lane beside.

use super::super::{Labour, Message, Pattern, Stage};
use crate::narrow::exact;
use crate::nccl::{Parts, STEPS, TOGETHER, group, in_order};
use std::sync::Arc;

/// `NCCL_SHARED_STEPS` (src/include/device.h): the connections of a proxy share a buffer of so many steps.
const SHARED_STEPS: u32 = 16;

/// Who exchanges with whom, and how.
#[derive(Clone, Copy, Debug)]
pub struct Pairing {
    /// How many ranks.
    pub ranks: u32,
    /// How many of them share a server.
    pub server: u32,
    /// What each has for each other at most.
    pub bytes: u64,
    /// How many channels there are: a power of two.
    pub channels: u32,
    /// How the bytes of a pair are cut up.
    pub parts: Parts,
    /// Whether what leaves a server does so by the NIC on the receiver's rail.
    pub pxn: bool,
}

/// A channel, or what its ranks pass on for their neighbours.
#[derive(Clone, Debug)]
struct Channel {
    pairing: Pairing,
    /// How far ahead the peers are: of groups, and of ranks in them. Sorted as they come, in batches of eight.
    deltas: Arc<[(u32, u32)]>,
    /// Ranks of a group.
    group: u32,
    /// Messages of each pair.
    chunks: u32,
    is_relay: bool,
}

/// A lane for each channel that has a pair, and with PXN another beside it.
pub fn pairs(pairing: Pairing) -> Vec<Box<dyn Pattern>> {
    let Pairing { ranks, server, channels, parts, .. } = pairing;
    let group = group(server);
    let rounds: Vec<(u32, u32)> = in_order(ranks / group, group).collect();
    let chunks = pairing.bytes.div_ceil(u64::from(parts.channels)).div_ceil(parts.chunk_bytes).max(1);
    let of_channel = |channel: u32| {
        let mine = |nth: u32| {
            let parts = 0..parts.channels;
            parts.map(|part| channel_of(channels, base(nth, &pairing), part)).any(|one| one == channel)
        };
        // The first is the rank itself.
        let deltas = (0_u32..).zip(&rounds).skip(1).filter(|&(nth, _)| mine(nth)).map(|(_, delta)| *delta);
        let deltas: Arc<[(u32, u32)]> = deltas.collect();
        if deltas.is_empty() {
            return Vec::new();
        }
        let one = move |is_relay| -> Box<dyn Pattern> {
            let deltas = Arc::clone(&deltas);
            Box::new(Channel { pairing, deltas, group, chunks: exact::<u32>(chunks), is_relay })
        };
        if pairing.pxn { vec![one(false), one(true)] } else { vec![one(false)] }
    };
    (0..channels).flat_map(of_channel).collect()
}

/// The first channel of a round (src/include/channel.h: ncclP2pChannelBaseForRound).
fn base(round: u32, pairing: &Pairing) -> u32 {
    if pairing.ranks == pairing.server {
        return round;
    }
    let (node, local) = (round / pairing.server, round % pairing.server);
    node * pairing.server.div_ceil(TOGETHER) + local / TOGETHER
}

/// The channel of a part: parts are far from each other (src/include/device.h: ncclP2pChannelForPart).
fn channel_of(channels: u32, base: u32, part: u32) -> u32 {
    let bits = channels.ilog2();
    let reversed = if bits == 0 { 0 } else { part.reverse_bits() >> (u32::BITS - bits) };
    (base + reversed) % channels
}

impl Channel {
    fn pairs(&self) -> u32 {
        exact::<u32>(self.deltas.len())
    }

    fn batches(&self) -> u32 {
        self.pairs().div_ceil(TOGETHER)
    }

    /// How many pairs a batch has.
    fn width(&self, batch: u32) -> u32 {
        (self.pairs() - batch * TOGETHER).min(TOGETHER)
    }

    /// How many messages of a pair may be under way: what is sent by a proxy shares its buffer.
    fn depth(&self) -> u32 {
        let together = self.pairs().min(TOGETHER);
        if self.pairing.ranks == self.pairing.server { STEPS } else { (SHARED_STEPS / together).min(STEPS) }
    }

    /// To whom a rank sends in a place of a batch.
    fn target(&self, rank: u32, batch: u32, place: u32) -> u32 {
        let (groups, (ahead, local)) =
            (self.pairing.ranks / self.group, self.deltas[(batch * TOGETHER + place) as usize]);
        let own = (rank / self.group, rank % self.group);
        (own.0 + ahead) % groups * self.group + (own.1 + local) % self.group
    }

    /// From whom it receives.
    fn source(&self, rank: u32, batch: u32, place: u32) -> u32 {
        let (groups, (ahead, local)) =
            (self.pairing.ranks / self.group, self.deltas[(batch * TOGETHER + place) as usize]);
        let own = (rank / self.group, rank % self.group);
        (own.0 + groups - ahead) % groups * self.group + (own.1 + self.group - local) % self.group
    }

    fn server_of(&self, rank: u32) -> u32 {
        rank / self.pairing.server
    }

    /// Who passes on what a rank sends to another, if not the rank itself.
    fn relay(&self, from: u32, to: u32) -> Option<u32> {
        let Pairing { server, pxn, .. } = self.pairing;
        let relay = self.server_of(from) * server + to % server;
        (pxn && self.server_of(from) != self.server_of(to) && relay != from).then_some(relay)
    }

    /// Of what a rank passes on in a place of a batch, where it goes.
    fn passed_on(&self, relay: u32, batch: u32, place: u32) -> Option<u32> {
        let server = self.pairing.server;
        let neighbours = (0..server).map(|nth| self.server_of(relay) * server + nth);
        let mut targets = neighbours.map(|from| (from, self.target(from, batch, place)));
        targets.find(|&(from, to)| self.relay(from, to) == Some(relay)).map(|(_, to)| to)
    }

    /// The stage at which a rank begins with a batch, or is over.
    fn begins(&self, batch: u32) -> u32 {
        batch * self.chunks
    }

    /// The bytes on the wire of a message; bytes of the lane are what a rank has for each other.
    fn bytes(&self, bytes: u64, chunk: u32) -> u64 {
        let parts = self.pairing.parts;
        let part = bytes.div_ceil(u64::from(parts.channels));
        let data = part.saturating_sub(u64::from(chunk) * parts.chunk_bytes).min(parts.chunk_bytes).max(1);
        if parts.is_ll { 2 * data } else { data }
    }

    fn relay_stage(&self, batch: u32, chunk: u32, place: u32) -> u32 {
        (self.begins(batch) + chunk) * TOGETHER + place
    }
}

impl Pattern for Channel {
    fn slots(&self) -> u32 {
        self.chunks.saturating_mul(self.batches()).saturating_mul(TOGETHER)
    }

    fn stages(&self, _: u32) -> u32 {
        let stages = self.begins(self.batches());
        if self.is_relay { stages * TOGETHER } else { stages }
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        if self.is_relay {
            let (batch, place) = (stage / TOGETHER / self.chunks, stage % TOGETHER);
            let is_there = batch < self.batches() && place < self.width(batch);
            let passes_on = is_there && self.passed_on(rank, batch, place).is_some();
            let slots = if passes_on { stage..stage + 1 } else { 0..0 };
            return Stage { awaits: u32::from(passes_on), awaits_own: 0, slots };
        }
        let (batch, chunk) = (stage / self.chunks, stage % self.chunks);
        let awaits = if chunk == 0 && batch > 0 { self.width(batch - 1) * self.chunks } else { 0 };
        let first = stage * TOGETHER;
        let slots = if batch < self.batches() { first..first + self.width(batch) } else { 0..0 };
        Stage { awaits, awaits_own: 0, slots }
    }

    fn most_under_way(&self) -> Option<u32> {
        Some(self.depth())
    }

    /// What comes is copied to where it belongs.
    fn frees_on_arrival(&self) -> bool {
        true
    }

    fn room(&self, _: u32, stage: u32) -> Option<u32> {
        let before = self.depth() * if self.is_relay { TOGETHER } else { 1 };
        stage.checked_sub(before)
    }

    /// What is relayed a proxy sends.
    fn labour(&self) -> Labour {
        if self.is_relay { Labour::None } else { Labour::Beside(self.pairs().min(TOGETHER)) }
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let (stage, place) = (slot / TOGETHER, slot % TOGETHER);
        let (batch, chunk) = (stage / self.chunks, stage % self.chunks);
        let bytes = self.bytes(bytes, chunk);
        let then = self.begins(batch + 1);
        if self.is_relay {
            let to = self.passed_on(rank, batch, place).unwrap_or(rank);
            return Message { beside: 1, ..Message::new(to, bytes, slot, then) };
        }
        let to = self.target(rank, batch, place);
        debug_assert_eq!(self.source(to, batch, place), rank);
        match self.relay(rank, to) {
            Some(relay) => {
                let stage_there = self.relay_stage(batch, chunk, place);
                Message { beside: 1, ..Message::new(relay, bytes, stage, stage_there) }
            }
            None => Message::new(to, bytes, stage, then),
        }
    }
}
