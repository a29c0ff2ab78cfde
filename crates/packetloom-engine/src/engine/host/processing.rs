//! A host that takes a time of its own for each packet (`topology::Processing`). A packet has reached the host by
//! then, and its transport has not seen it.
//!
//! It is a delay, as `host_delay` is: packets do not wait for each other to be processed, so hosts keep up with their
//! links whatever the times. But a host hands packets on in the order in which they came: none passes another.

use super::services::{Due, Service, Turned};
use super::step::Step;
use super::{Around, Starting};
use crate::flow::HostId;
use crate::packets::PacketId;
use crate::random::{Purpose, Stream};
use crate::topology;
use crate::units::Time;
use std::collections::VecDeque;

/// What a host is processing.
pub(in crate::engine) struct Processing {
    takes: topology::Processing,
    random: Stream,
    /// Packets with when they are done and the link that they came by, in the order in which they came.
    at_hand: VecDeque<(Time, PacketId, u32)>,
    /// When the last packet is done, or was.
    done_at: Time,
}

impl Processing {
    /// Nothing at hand.
    pub(in crate::engine) fn new(takes: topology::Processing, seed: u64, host: HostId) -> Processing {
        Processing {
            takes,
            random: Stream::new(seed, Purpose::Processing, host.into()),
            at_hand: VecDeque::new(),
            done_at: Time::ZERO,
        }
    }

    /// Begins with a packet; returns whether it is done at once.
    pub(super) fn begin(&mut self, now: Time, id: PacketId, link: u32) -> bool {
        self.done_at = self.done_at.max(now.saturating_add(self.takes.draw(&mut self.random)));
        let is_done = self.done_at == now && self.at_hand.is_empty();
        if !is_done {
            self.at_hand.push_back((self.done_at, id, link));
        }
        is_done
    }
}

impl Due for Processing {
    fn next_at(&self) -> Time {
        self.at_hand.front().map_or(Time::NEVER, |(at, ..)| *at)
    }
}

impl<H: Copy + Default, A> Service<H, A> for Processing {
    /// The next packet is done.
    fn turn(&mut self, _: Time, _: u32, _: &mut Starting, around: &mut Around<'_, H, A>) -> Turned {
        let Some((_, id, link)) = self.at_hand.pop_front() else { return Turned::Done };
        if around.link_table.packets.get(id).kind.is_transports() {
            return Turned::Steps(Step::Taken(id));
        }
        around.tally.events += 1;
        Turned::Met(id, link)
    }
}
