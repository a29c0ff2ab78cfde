//! What is known of a simulation before it runs.

use super::checks::asymmetry;
use super::flow_rung::measured;
use super::network_facts::{RoundTrips, network_facts, round_trips};
use super::preset_fact::preset_fact;
use super::settling::Settling;
use super::{Setting, Simulation};
use crate::central;
use crate::queue::Specification;
use crate::spec::Values;
use crate::transport::PacketFormat;
use crate::workload::SourceFacts;

/// What is known before it runs.
impl Simulation {
    /// How many hosts the network has.
    pub fn hosts(&self) -> u32 {
        self.setting.topology.hosts
    }

    /// What each source of traffic comes to.
    pub fn facts(&self) -> &[SourceFacts] {
        self.workload.describe()
    }

    /// How many ports the network has, those of hosts among them.
    pub fn ports(&self) -> usize {
        self.setting.topology.links.len()
    }

    /// How many operations the ranks of all jobs have, in all repetitions.
    pub fn operations(&self) -> u64 {
        let of_jobs = self.workload.jobs().iter().map(|job| {
            let ranks = job.plan.program.ranks.iter().map(|rank| rank.operations().len() as u64);
            ranks.sum::<u64>() * u64::from(job.plan.settings.repeat)
        });
        of_jobs.sum()
    }

    /// How long queues take to settle, and whether the case can be steady; nothing where no flow arrives by the clock.
    pub fn settling(&self) -> Option<Settling> {
        let Setting { case, topology, .. } = &self.setting;
        Settling::of(case, &self.workload, &self.environment, topology)
    }

    /// Seconds until all is carried that arrives by the clock, at least.
    pub fn least_end(&self) -> Option<f64> {
        let routing = self.setting.case.scheme.component("routing");
        self.settling()?.least_end(&routing, self.setting.max_time())
    }

    /// What a library chooses for each operation of jobs, and why.
    pub fn library_facts(&self) -> Vec<String> {
        self.workload.jobs().iter().flat_map(|job| job.plan.choices()).collect()
    }

    /// What is not in the scenario, but follows for the scheme: marking thresholds of other rates, and whether credit
    /// lasts for a round trip.
    pub fn scheme_facts(&self) -> Vec<String> {
        let Setting { case, topology, format, .. } = &self.setting;
        let mut facts: Vec<String> =
            preset_fact(&case.scheme.component("transport"), topology.nic_rate()).into_iter().collect();
        facts.extend(measured::announced(&self.setting, &self.workload));
        let Some([queue, _]) = Specification::of_scheme(&case.scheme) else { return facts };
        let rates = topology.links.iter().filter(|link| link.src >= topology.hosts).map(|link| link.rate);
        let thresholds = queue.interpolated(&rates.collect(), topology.nic_rate());
        let full_packet_bytes = format.mss_bytes + format.header_bytes;
        let credit = queue.credit.and_then(|credit| credit.short_of_round_trip(topology, full_packet_bytes));
        let routing = case.scheme.component("routing");
        let asymmetry = asymmetry(&case.scheme.component("transport").kind, &routing, topology);
        facts.extend(thresholds.into_iter().chain(credit).chain(asymmetry));
        facts
    }

    /// What the network comes to: its switches, cables and capacity.
    pub fn network_facts(&self) -> Vec<String> {
        network_facts(&self.setting.topology)
    }

    /// How long the scheme's packets take across it and back; nothing where no packet is answered, or hosts are too many.
    pub fn round_trips(&self) -> Option<RoundTrips> {
        let transport = self.setting.case.scheme.component("transport");
        let is_answered = !central::is_central(&transport.kind);
        is_answered.then(|| round_trips(&self.setting.topology, PacketFormat::of(&transport))).flatten()
    }

    /// The transport's parameters, with what it has worked out of how large flows are.
    pub fn transport(&self) -> Values {
        self.setting.case.scheme.component("transport")
    }
}
