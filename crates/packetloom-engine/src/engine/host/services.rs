//! The services of a host: what it does beside its transport. Each has a next time, and a turn then. Most hosts have
//! none.

use super::intake::Intake;
use super::messages::Messages;
use super::processing::Processing;
use super::queries::Queries;
use super::sampler::Sampler;
use super::step::Step;
use super::{Around, Starting};
use crate::engine::log::Log;
use crate::packets::PacketId;
use crate::queue::Signals;
use crate::units::Time;
use crate::workload::job::Ranks;
use crate::workload::{Done, Triggers};

/// What has a time at which it next has something to do.
pub(super) trait Due {
    /// That time.
    fn next_at(&self) -> Time;
}

/// Something that a host does beside its transport.
pub(super) trait Service<H, A>: Due {
    /// Does what is due first; `host`: its number among the nodes of its shard; `starting`: flows to start here.
    fn turn(
        &mut self,
        now: Time,
        host: u32,
        starting: &mut Starting,
        around: &mut Around<'_, H, A>,
    ) -> Turned;
}

/// What follows from a service's turn at its host.
pub(super) enum Turned {
    /// Nothing.
    Done,
    /// The transport has a turn.
    Steps(Step),
    /// What the service wrote into the log is made known here.
    Logged,
    /// A packet has come for the host itself, by this link.
    Met(PacketId, u32),
    /// A link pauses and resumes classes; and a packet that waited has come in by it.
    Pauses(u32, Signals, Option<PacketId>),
}

/// What a host has of them.
#[derive(Default)]
pub(super) struct Services {
    /// Ranks of jobs.
    pub(super) ranks: Option<Box<Ranks>>,
    /// What starts flows here when others have ended here.
    pub(super) triggers: Option<Box<Triggers>>,
    pub(super) queries: Option<Box<Queries>>,
    /// The messages that it is sending or receiving, if those take a time of its own.
    pub(super) messages: Option<Box<Messages>>,
    /// What it is processing, if that takes a time of its own for each packet.
    pub(super) processing: Option<Box<Processing>>,
    /// What arrives and waits, if the host is slow at times.
    pub(super) intake: Option<Box<Intake>>,
    /// Samples of the flows that start here, if some are chosen.
    pub(super) sampler: Option<Box<Sampler>>,
}

impl Services {
    /// When one of them next has something to do: samples aside, for which a host is not woken; and with them.
    pub(super) fn next_at(&self) -> (Time, Time) {
        let wakes = next_of(&self.ranks).min(next_of(&self.messages));
        let wakes = wakes.min(next_of(&self.processing)).min(next_of(&self.intake));
        (wakes, wakes.min(next_of(&self.sampler)))
    }

    /// Gives the first that is due its turn. At equal times they have this order.
    #[inline(never)]
    pub(super) fn turn<H: Copy + Default, A>(
        &mut self,
        now: Time,
        host: u32,
        starting: &mut Starting,
        around: &mut Around<'_, H, A>,
    ) -> Turned {
        let Services { sampler, ranks, messages, processing, intake, .. } = self;
        let in_order: [Option<&mut dyn Service<H, A>>; 5] = [
            sampler.as_deref_mut().map(|service| service as _),
            ranks.as_deref_mut().map(|service| service as _),
            messages.as_deref_mut().map(|service| service as _),
            processing.as_deref_mut().map(|service| service as _),
            intake.as_deref_mut().map(|service| service as _),
        ];
        let first = in_order.into_iter().flatten().find(|service| service.next_at() <= now);
        first.map_or(Turned::Done, |service| service.turn(now, host, starting, around))
    }

    /// Makes known what happened to flows here: what is in the log from `logged` on. Returns whether the answers of
    /// this host to queries are all over now.
    pub(super) fn notify(
        &mut self,
        now: Time,
        logged: usize,
        log: &mut Log,
        starting: &mut Starting,
    ) -> bool {
        let mut are_answers_over = false;
        for at in logged..log.events.len() {
            if let Some(sampler) = &mut self.sampler {
                sampler.notify(&log.events[at], now);
            }
            let Some((flow, done)) = log.events[at].done() else { continue };
            if let Some(ranks) = &mut self.ranks {
                ranks.notify(flow, done, now, |flow| starting.add(flow));
                ranks.take_ended().for_each(|source| log.rank_ended(source, now));
            }
            if let Some(triggers) = &mut self.triggers {
                triggers.notify(flow, done, now, |flow| starting.add_at(now, flow));
            }
            if done == Done::Sent && self.queries.as_mut().is_some_and(|queries| queries.is_last(flow)) {
                are_answers_over = true;
            }
        }
        are_answers_over
    }
}

fn next_of<S: Due>(service: &Option<Box<S>>) -> Time {
    service.as_ref().map_or(Time::NEVER, |service| service.next_at())
}

impl Due for Ranks {
    fn next_at(&self) -> Time {
        Ranks::next_at(self)
    }
}

impl<H, A> Service<H, A> for Ranks {
    fn turn(&mut self, now: Time, _: u32, starting: &mut Starting, around: &mut Around<'_, H, A>) -> Turned {
        self.wake(now, |flow| starting.add(flow));
        self.take_ended().for_each(|source| around.log.rank_ended(source, now));
        around.tally.events += 1;
        Turned::Done
    }
}
