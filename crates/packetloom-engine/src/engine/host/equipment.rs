//! What a host is given when it is built, and by the workload; and what it tells of it afterwards.

use super::sampler::Sampler;
use super::services::Services;
use super::{Host, Intake, Messages, Processing, Starting, Turns};
use crate::engine::agenda::Agenda;
use crate::engine::agent::PortAgent;
use crate::engine::endpoint::FlowStatus;
use crate::engine::flow_samples::{FlowSamples, FlowWatch};
use crate::engine::link_table::LinkTable;
use crate::engine::nic::Nic;
use crate::engine::transports::Transports;
use crate::flow::{FlowId, HostId};
use crate::random::{Purpose, Stream};
use crate::record::{QueueRecorder, Reordering};
use crate::routing::PathChoice;
use crate::spec::Values;
use crate::units::Time;
use crate::workload::job::Walker;
use crate::workload::{Chain, Query, Triggers};
use std::collections::BTreeMap;

impl<H: Copy + Default, A: PortAgent<H>> Host<H, A> {
    pub(in crate::engine) fn new(
        id: HostId,
        (nic, ways_back): (Nic<H, A>, Vec<u32>),
        paths: Option<PathChoice>,
        node: u32,
        seed: u64,
    ) -> Host<H, A> {
        let turns = Turns {
            id,
            node,
            agenda: Agenda::default(),
            starting: Starting::default(),
            ended_chains: Vec::new(),
            listens: false,
            takes_late: false,
            wakes_at: Time::NEVER,
            acts_at: Time::NEVER,
            wake_at: Time::NEVER,
        };
        Host {
            nic,
            turns,
            paths,
            chains: BTreeMap::new(),
            services: Services::default(),
            random: Stream::new(seed, Purpose::Transport, u64::from(id)),
            pulls: None,
            arrivals: None,
            ways_back,
        }
    }

    /// Has it choose paths by other values.
    pub(in crate::engine) fn choose_by(&mut self, values: &Values) {
        if let Some(paths) = &mut self.paths {
            paths.set(values);
        }
    }

    /// Has it take what arrives as slowly as this.
    pub(in crate::engine) fn slow_down(&mut self, intake: Intake) {
        self.services.intake = Some(Box::new(intake));
        self.turns.takes_late = true;
    }

    /// Has it take a time of its own for each packet.
    pub(in crate::engine) fn process(&mut self, processing: Processing) {
        self.services.processing = Some(Box::new(processing));
        self.turns.takes_late = true;
    }

    /// Has it take a time of its own for each message.
    pub(in crate::engine) fn charge_messages(&mut self, messages: Messages) {
        self.services.messages = Some(Box::new(messages));
        self.turns.listens = true;
    }

    /// Has the transport's queue of pulls recorded.
    pub(in crate::engine) fn watch_pulls(&mut self, recorder: QueueRecorder) {
        self.pulls = Some(Box::new(recorder));
    }

    /// Has it measured in which order packets arrive.
    pub(in crate::engine) fn measure_order(&mut self) {
        self.arrivals = Some(Box::default());
    }

    /// Has those of these flows sampled that start here.
    pub(in crate::engine) fn sample(&mut self, watch: &FlowWatch) {
        self.services.sampler = Some(Box::new(Sampler::new(watch.clone())));
        self.turns.listens = true;
    }

    /// Gives the host a closed loop to keep going.
    pub(in crate::engine) fn add_chain(&mut self, mut chain: Chain, link_table: &mut LinkTable<H>) {
        if let Some(flow) = chain.next(chain.start()) {
            self.add_flow(flow, link_table);
        }
        self.chains.insert(chain.number, chain);
    }

    /// Gives the host triggers for flows that wait for others.
    pub(in crate::engine) fn add_triggers(&mut self, triggers: Triggers) {
        self.services.triggers = Some(Box::new(triggers));
        self.turns.listens = true;
    }

    /// Gives the host a rank of a job.
    pub(in crate::engine) fn add_rank(&mut self, rank: Walker, link_table: &mut LinkTable<H>) {
        link_table.calendar.wake(self.turns.node, rank.next_at());
        self.services.ranks.get_or_insert_default().add(rank);
        self.turns.listens = true;
        self.note_next_act();
    }

    /// Gives the host a query that it sends in the window about to be processed or later, or that will come.
    pub(in crate::engine) fn add_query(&mut self, query: Query, link_table: &mut LinkTable<H>) {
        self.services.queries.get_or_insert_default().add(self.turns.id, query);
        self.turns.listens = true;
        if query.flow.dst == self.turns.id {
            self.turns.starting.add_at(query.at, query.flow);
            link_table.calendar.wake(self.turns.node, query.at);
        }
    }

    /// What it has yet to learn of faults it learns sooner, and what makes it slow comes sooner.
    pub(in crate::engine) fn bring_faults_forward(&mut self, now: Time, by: Time) {
        self.services.intake.iter_mut().for_each(|intake| intake.shift_earlier(now, by));
        self.nic.bring_faults_forward(now, by);
    }

    /// Its ranks do sooner what they do by themselves.
    pub(in crate::engine) fn bring_ranks_forward(
        &mut self,
        now: Time,
        by: Time,
        link_table: &mut LinkTable<H>,
    ) {
        let ranks = self.ranks_mut();
        if ranks.is_empty() {
            return;
        }
        ranks.iter_mut().for_each(|rank| rank.bring_forward(now, by));
        self.note_next_act();
        self.schedule_wake(now, link_table);
    }

    /// What arrives and waits, if the host is slow at times.
    pub(in crate::engine) fn intake(&self) -> Option<&Intake> {
        self.services.intake.as_deref()
    }

    /// The ranks of jobs here.
    pub(in crate::engine) fn ranks(&self) -> &[Walker] {
        self.services.ranks.as_ref().map_or(&[], |ranks| ranks.walkers())
    }

    /// The same, to be changed.
    pub(in crate::engine) fn ranks_mut(&mut self) -> &mut [Walker] {
        self.services.ranks.as_mut().map_or(&mut [], |ranks| ranks.walkers_mut())
    }

    /// The status of its unfinished queries.
    pub(in crate::engine) fn statuses(&self) -> impl Iterator<Item = FlowStatus> {
        self.services.queries.iter().flat_map(|queries| queries.statuses())
    }

    /// The record of the transport's queue of pulls until `end`.
    pub(in crate::engine) fn pulls(&self, end: Time) -> Option<QueueRecorder> {
        self.pulls.as_deref().map(|recorder| recorder.closed(end))
    }

    /// The samples of its flows until `end`, if there are any.
    pub(in crate::engine) fn flow_samples(
        &mut self,
        end: Time,
        transports: &dyn Transports<H, A>,
    ) -> Vec<FlowSamples> {
        let host = self.turns.node;
        let state = |flow, now| transports.sending(host, flow, now);
        self.services.sampler.as_mut().map_or(Vec::new(), |sampler| sampler.close(end, state))
    }

    /// In which order the packets of each flow arrived, if that was measured.
    pub(in crate::engine) fn reordering(&self) -> impl Iterator<Item = (FlowId, Reordering)> {
        self.arrivals.iter().flat_map(|arrivals| arrivals.flows())
    }
}
