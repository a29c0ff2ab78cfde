//! What a case will cost: its first packets are simulated to see what a packet costs here, and how many bytes cross
//! links for each.

use super::fidelity::Fidelity;
use super::{Demand, Monitor, Simulation};
use crate::flow::Flow;
use crate::narrow::saturated;
use crate::spec::Complaint;
use crate::units::Time;
use crate::workload::Workload;
use cpu_time::ThreadTime;
use std::time::Duration;

/// A trial goes on for so many packet-hops at least,
const FEWEST_HOPS: u64 = 400_000;
/// for so many for each host, until acknowledgements are as frequent as data,
const HOPS_PER_HOST: u64 = 500;
/// and for this share of what a long case has to carry, but no more than so much: a few hundredths of a second tell less
/// on a machine that is not idle.
const SHARE_OF_HOPS: f64 = 0.02;
const MOST_HOPS: u64 = 3_000_000;
/// Where background flows go on until others are done, traffic does not tell how much there is: only a trial that comes
/// to an end, or to a good share of it, does.
const FEWEST_HOPS_UNTOLD: u64 = 4_000_000;
/// But for no more processor time than this,
const LONGEST: Duration = Duration::from_millis(1500);
/// unless hosts have sent next to nothing by then.
const LEAST_HOPS_PER_HOST: u64 = 10;
/// Of flow-level models, which nothing ends, so many flows are tried.
const MOST_FLUID_FLOWS: usize = 5_000;
/// A share done tells what the whole costs from here on: what begins a case may be unlike the rest of it.
const LEAST_SHARE: f64 = 0.05;

/// The beginning of a case.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    packet_hops: u64,
    wire_bytes: u64,
    took: Duration,
    /// What of it does not depend on how much is carried: to build the network and to read what it counted; and what a
    /// controller took to plan the whole case.
    fixed: Duration,
    /// How far it came, in the case's own time.
    simulated: Time,
    /// How many flows have started.
    started: usize,
    share_done: f64,
    is_whole: bool,
    goes_by_packets: bool,
    /// How many flows were tried, if they were not all.
    flows: Option<f64>,
    /// When a case of this scheme ends, whatever is under way.
    max_time: Time,
}

/// What a case costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Packets times links.
    pub packet_hops: f64,
    /// Processor time of the simulation.
    pub cpu_s: f64,
    /// How long it lasts, in its own time.
    pub simulated_s: f64,
    /// Flows that start.
    pub flows: f64,
}

impl Simulation {
    /// Runs the beginning of the case, which has so much to carry.
    ///
    /// # Errors
    /// What of the case can't be simulated.
    pub fn trial(mut self, demand: Option<Demand>) -> Result<Trial, Complaint> {
        self.setting.threads = 1;
        self.setting.is_audited = false;
        let rung = Fidelity::of(&self.setting.case.run);
        let is_untold = self.workload.background().contains(&true);
        let fewest = if is_untold { FEWEST_HOPS_UNTOLD } else { FEWEST_HOPS };
        let share = demand.map_or(0.0, |demand| SHARE_OF_HOPS * demand.packet_hops);
        let hops =
            fewest.max(HOPS_PER_HOST * u64::from(self.hosts())).max(saturated::<u64>(share).min(MOST_HOPS));
        let (hosts, flows) = (self.hosts(), self.shorten_if_fluid());
        let max_time = self.setting.max_time();
        let monitor = Monitor::until((LEAST_HOPS_PER_HOST * u64::from(hosts), hops), LONGEST);
        let clock = ThreadTime::now();
        let outcome = self.run_together(&monitor)?;
        let took = clock.elapsed() + outcome.helpers_took;
        let wire_bytes = outcome.ports.iter().map(|row| row.counters.bytes).sum();
        let packet_hops = outcome.tally.packet_hops;
        Ok(Trial {
            packet_hops,
            wire_bytes,
            took,
            fixed: monitor.carried().map_or(Duration::ZERO, |carried| took.saturating_sub(carried)),
            simulated: outcome.simulated,
            started: outcome.flows.len(),
            share_done: monitor.progress().share,
            is_whole: !outcome.cancelled && flows.is_none(),
            // A controller may have planned for as long as the trial lasts: what crosses links is known, no packet has.
            goes_by_packets: rung == Fidelity::Packets && wire_bytes > 0 && packet_hops > 0,
            flows,
            max_time,
        })
    }

    /// Leaves the first flows alone, if a model would simulate all of them without a pause.
    fn shorten_if_fluid(&mut self) -> Option<f64> {
        if !super::is_fluid(&self.transport().kind) {
            return None;
        }
        let drawn = std::iter::from_fn(|| self.workload.next_flow()).take(MOST_FLUID_FLOWS + 1);
        let mut flows: Vec<Flow> = drawn.collect();
        let is_short = flows.len() > MOST_FLUID_FLOWS;
        flows.truncate(MOST_FLUID_FLOWS);
        flows.iter_mut().zip(0..).for_each(|(flow, number)| flow.id = number);
        self.workload = Workload::of_flows(flows);
        is_short.then_some(MOST_FLUID_FLOWS as f64)
    }
}

impl Trial {
    /// What it costs to carry so much to the end, without what is `fixed` of it.
    fn carried(&self, demand: Option<Demand>) -> Option<Cost> {
        let fixed_s = self.fixed_s();
        let tried = Cost {
            packet_hops: self.packet_hops as f64,
            cpu_s: self.took.as_secs_f64() - fixed_s,
            simulated_s: self.simulated.as_secs_f64(),
            flows: self.started as f64,
        };
        if self.is_whole {
            return Some(tried);
        }
        if let Some(flows) = self.flows {
            return demand
                .map(|demand| Cost { packet_hops: tried.packet_hops, ..tried.times(demand.flows / flows) });
        }
        match demand.filter(|_| self.goes_by_packets) {
            Some(demand) => Some(tried.times((demand.wire_bytes / self.wire_bytes as f64).max(1.0))),
            None => (self.share_done >= LEAST_SHARE).then(|| tried.times(1.0 / self.share_done)),
        }
    }

    /// Of fluid models, where there is no carrying apart from planning, nothing.
    fn fixed_s(&self) -> f64 {
        if self.is_whole || self.flows.is_some() { 0.0 } else { self.fixed.as_secs_f64() }
    }

    /// What a case costs whose scheme is that of the case that was tried, by what the two have the network carry, and by
    /// how many seconds it lasts at least, where flows start by the clock.
    pub fn cost_of(
        &self,
        own: Option<Demand>,
        other: Option<Demand>,
        least_end_s: Option<f64>,
    ) -> Option<Cost> {
        let times = match (own, other) {
            (Some(own), Some(other)) if own.wire_bytes > 0.0 => other.wire_bytes / own.wire_bytes,
            _ => 1.0,
        };
        let carried = self.carried(own)?.times(times);
        // A trial sees queues that fill, and less carried in its time than later. Arrivals tell better when they end.
        let ends_s = least_end_s.map_or(carried.simulated_s, |least| least.min(carried.simulated_s));
        let there = carried.until(ends_s, self.max_time);
        let least_s = least_end_s.unwrap_or(0.0).min(self.max_time.as_secs_f64());
        let cpu_s = there.cpu_s + self.fixed_s() * times;
        Some(Cost { cpu_s, simulated_s: there.simulated_s.max(least_s), ..there })
    }
}

impl Cost {
    /// The part of it that lies before the case is ended, if by itself it ends at a time.
    fn until(self, ends_s: f64, end: Time) -> Cost {
        let end_s = end.as_secs_f64();
        let cut = if ends_s > end_s { self.times(end_s / ends_s) } else { self };
        Cost { simulated_s: cut.simulated_s.min(end_s), ..cut }
    }

    /// So many times as much of all.
    fn times(self, times: f64) -> Cost {
        Cost {
            packet_hops: self.packet_hops * times,
            cpu_s: self.cpu_s * times,
            simulated_s: self.simulated_s * times,
            flows: self.flows * times,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows of hours in a case of 20 ms: what they would send in hours is not sent.
    #[test]
    fn nothing_is_foreseen_beyond_the_time_to_stop() {
        let trial = Trial {
            packet_hops: 1_000,
            wire_bytes: 1_000_000,
            took: Duration::from_millis(10),
            fixed: Duration::ZERO,
            simulated: Time::from_us(2_000),
            started: 4,
            share_done: 0.1,
            is_whole: false,
            goes_by_packets: true,
            flows: None,
            max_time: Time::from_us(20_000),
        };
        let demand = |wire_bytes: f64| Some(Demand { flows: 4.0, wire_bytes, ..Demand::default() });
        let cost = |trial: Trial, demand, least_end_s| trial.cost_of(demand, demand, least_end_s);
        let hops = |cost: Option<Cost>| cost.map(|cost| cost.packet_hops.round());
        assert_eq!(hops(cost(trial, demand(5e6), None)), Some(5_000.0), "all of it is sent");
        assert_eq!(hops(cost(trial, demand(1e15), None)), Some(10_000.0), "ten times as long");
        assert_eq!(hops(trial.cost_of(demand(5e6), demand(1e15), None)), Some(10_000.0));
        let lasts =
            |least_s| trial.cost_of(demand(5e6), demand(5e6), Some(least_s)).map(|cost| cost.simulated_s);
        assert_eq!(lasts(0.0).map(|s| (s * 1e3).round()), Some(10.0));
        assert_eq!(
            (lasts(0.015), lasts(1.0)),
            (Some(0.015), Some(0.02)),
            "links that are overloaded, and the end"
        );
        let planned = Trial { fixed: Duration::from_millis(6), ..trial };
        let cpu_ms = |cost: Option<Cost>| cost.map(|cost| (cost.cpu_s * 1e3).round());
        assert_eq!(
            cpu_ms(cost(planned, demand(5e6), None)),
            Some(26.0),
            "the plan is of all of it, the packets of a fifth"
        );
        assert_eq!(
            hops(cost(trial, demand(20e6), Some(0.02))),
            Some(20_000.0),
            "flows arrive until the end: all that they send is carried, though the trial was slower"
        );
        assert_eq!(hops(cost(trial, demand(20e6), Some(0.04))), Some(10_000.0), "links carry half of it");
        let endless = Trial { max_time: Time::NEVER, ..trial };
        assert_eq!(hops(cost(endless, demand(1e9), None)), Some(1e6));
    }
}
