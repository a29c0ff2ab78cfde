//! Samples of chosen flows at their senders, over time.
//!
//! A sender's state changes only in its host's turns. So nothing is woken for a sample: a host takes it in a turn that
//! it has anyway, before whatever happens after the sample's time. Samples therefore depend neither on windows nor on
//! threads, and whether they are taken changes nothing else. Hosts find out that one is due as they find out that a
//! rank of a job has something to do, so hosts without samples do not even ask.

use super::services::{Due, Service, Turned};
use super::{Around, Starting};
use crate::engine::flow_samples::{FlowSamples, FlowWatch};
use crate::engine::log::Event;
use crate::engine::sending::Sending;
use crate::flow::FlowId;
use crate::units::Time;

/// The chosen flows that start at a host.
#[derive(Debug)]
pub(super) struct Sampler {
    watch: FlowWatch,
    /// Those under way.
    open: Vec<Open>,
    ended: Vec<FlowSamples>,
    /// When the next sample is due: [`Time::NEVER`] while none is under way.
    next_at: Time,
}

/// A flow under way.
#[derive(Debug)]
struct Open {
    next_at: Time,
    samples: FlowSamples,
}

impl Sampler {
    pub(super) fn new(watch: FlowWatch) -> Sampler {
        Sampler { watch, open: Vec::new(), ended: Vec::new(), next_at: Time::NEVER }
    }

    /// Something happened to a flow here.
    pub(super) fn notify(&mut self, event: &Event, now: Time) {
        match *event {
            Event::Started(flow) if self.watch.has(flow.id) => {
                let samples = FlowSamples::new(flow.id, self.watch.interval());
                self.open.push(Open { next_at: samples.first_at(now), samples });
            }
            Event::Closed { flow, .. } => {
                let Some(place) = self.open.iter().position(|open| open.samples.flow() == flow) else {
                    return;
                };
                self.ended.push(self.open.remove(place).samples);
            }
            _ => return,
        }
        self.note_next();
    }

    /// Takes the samples that are due; `state`: of a flow here, at a moment.
    pub(super) fn take(&mut self, now: Time, state: impl Fn(FlowId, Time) -> Option<Sending>) {
        for open in self.open.iter_mut().filter(|open| open.next_at <= now) {
            open.next_at = open.samples.take(now, state(open.samples.flow(), now));
        }
        self.note_next();
    }

    /// All samples up to `end`, where the run ended.
    pub(super) fn close(
        &mut self,
        end: Time,
        state: impl Fn(FlowId, Time) -> Option<Sending>,
    ) -> Vec<FlowSamples> {
        while self.next_at <= end {
            self.take(self.next_at, &state);
        }
        let open = self.open.iter().map(|open| &open.samples);
        open.chain(&self.ended).map(|samples| samples.until(end)).collect()
    }

    fn note_next(&mut self) {
        self.next_at = self.open.iter().map(|open| open.next_at).min().unwrap_or(Time::NEVER);
    }
}

impl Due for Sampler {
    fn next_at(&self) -> Time {
        self.next_at
    }
}

impl<H, A> Service<H, A> for Sampler {
    fn turn(&mut self, now: Time, host: u32, _: &mut Starting, around: &mut Around<'_, H, A>) -> Turned {
        self.take(now, |flow, now| around.transports.sending(host, flow, now));
        Turned::Done
    }
}
