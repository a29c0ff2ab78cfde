//! Flows that last, and messages of jobs that do.

use super::calm::{Calm, SHORTEST, Sample, Sender, Window};
use super::jumps::Jumps;
use super::peers::peers;
use super::{Stand, SteadyRung};
use crate::engine::{Event, FlowStatus, Log, PortCounters, Report};
use crate::flow::{Flow, FlowId};
use crate::narrow::saturated;
use crate::packet::Format;
use crate::simulation::Setting;
use crate::topology::Topology;
use crate::topology::best_fct;
use crate::units::Time;
use std::collections::BTreeMap;

/// Watches flows, and skips what they would do.
pub struct Flows {
    rung: SteadyRung,
    format: Format,
    /// From sample to sample: the least, and now.
    least_interval: Time,
    interval: Time,
    next_at: Time,
    /// Flows started and ended when samples began.
    seen: (u64, u64),
    calm: Calm,
    /// Of which flows samples are.
    ids: Vec<FlowId>,
    peers: Vec<Vec<usize>>,
    /// The rates at the last skip of these flows, in packets per second, and how often they have held since.
    held: (Vec<f64>, u32),
    /// Where samples began.
    first: First,
    /// What was left out of each flow that is under way.
    left_out: BTreeMap<FlowId, LeftOut>,
}

/// What was counted when samples began.
#[derive(Default)]
struct First {
    at: Time,
    ports: Vec<PortCounters>,
    reports: Vec<(FlowId, Report)>,
}

/// What was left out of a flow.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    packets: u32,
    report: Report,
}

/// What is skipped.
struct Skip {
    time: Time,
    /// Of each flow, how many packets.
    packets: Vec<u32>,
}

impl Flows {
    pub fn new(rung: SteadyRung, setting: &Setting) -> Flows {
        let Setting { topology, format, .. } = setting;
        // There, and back: on an empty network, between the two hosts that are likely to be furthest apart.
        let round_trip = best_fct(topology, *format, 0, topology.hosts - 1, format.mss_bytes).times(2);
        let interval = Time(round_trip.times(rung.round_trips).as_ps() / SHORTEST as u64);
        Flows {
            rung,
            format: *format,
            least_interval: interval,
            interval,
            next_at: interval,
            seen: (0, 0),
            calm: Calm::default(),
            ids: Vec::new(),
            peers: Vec::new(),
            held: (Vec::new(), 0),
            first: First::default(),
            left_out: BTreeMap::new(),
        }
    }

    /// Puts into the log what was left out.
    pub fn restore(&mut self, log: &mut Log, jumps: &Jumps) {
        if jumps.skipped() == Time::ZERO {
            return;
        }
        for event in &mut log.events {
            match event {
                Event::Started(flow) => {
                    flow.start += jumps.skipped();
                    flow.deadline = flow.deadline.saturating_add(jumps.skipped());
                }
                Event::Closed { flow, at, report } => {
                    *at += jumps.skipped();
                    *report = self.restored_report(*flow, *report);
                    self.left_out.remove(flow);
                }
                Event::Delivered { at, .. } | Event::RankEnded { at, .. } | Event::Refused { at, .. } => {
                    *at += jumps.skipped();
                }
            }
        }
    }

    pub fn restored_report(&self, flow: FlowId, report: Report) -> Report {
        let Some(LeftOut { report: more, .. }) = self.left_out.get(&flow) else { return report };
        Report {
            packets_sent: report.packets_sent + more.packets_sent,
            retransmissions: report.retransmissions + more.retransmissions,
            timeouts: report.timeouts + more.timeouts,
            trims: report.trims + more.trims,
            returns: report.returns + more.returns,
            ..report
        }
    }

    pub fn restored_status(&self, status: FlowStatus) -> FlowStatus {
        let packets = self.left_out.get(&status.flow).map_or(0, |left_out| left_out.packets);
        FlowStatus { arrived: status.arrived + packets, packets: status.packets + packets, ..status }
    }

    /// Whether it is time for a sample.
    #[inline]
    pub fn is_due(&mut self, now: Time, seen: (u64, u64)) -> bool {
        if seen != self.seen {
            self.seen = seen;
            self.start_anew(now);
        }
        now >= self.next_at
    }

    /// What was watched so far says nothing of what comes.
    pub fn start_anew(&mut self, now: Time) {
        self.calm.clear();
        self.next_at = now + self.interval;
    }

    /// Takes a sample, and skips time if flows stand still.
    pub fn look(&mut self, stand: &mut Stand<'_>, jumps: &mut Jumps) {
        let now = stand.engine.now();
        self.next_at = now + self.interval;
        let until_next = stand.until_next(now).min(stand.engine.ranks_act_at().since(now));
        if self.calm.is_empty() && until_next < self.interval.times(2 * SHORTEST as u64) {
            // It would be over before anything could be gained.
            self.next_at = now.saturating_add(until_next).saturating_add(Time(1));
            return;
        }
        let statuses = stand.engine.statuses();
        let reports = in_order(stand.engine.reports());
        if statuses.is_empty() {
            self.next_at = Time::NEVER;
            return;
        }
        if !self.ids.iter().eq(statuses.iter().map(|one| &one.flow)) {
            self.calm.clear();
        }
        if self.calm.is_empty() {
            self.ids = statuses.iter().map(|one| one.flow).collect();
            let Some(flows) = self.flows(stand) else { return };
            self.peers = peers(&flows, stand.setting);
            self.held = (Vec::new(), 0);
            // It takes about as long as the last time until they are known.
            self.interval = Time(self.interval.as_ps() / 2).max(self.least_interval);
            self.first = First { at: now, ports: stand.counters(), reports: reports.clone() };
        }
        let arrived = statuses.iter().map(|one| one.arrived).collect();
        let senders = self.senders(stand);
        let in_flight = in_flight(&statuses, &reports);
        let in_all = in_flight.iter().map(|&one| u64::from(one)).sum();
        if self.calm.add(Sample { at: now, arrived, senders, in_flight: in_all }) {
            self.interval = self.interval.times(2);
        }
        let Some(window) = self.calm.window(&self.peers, self.rung) else { return };
        if let Some(flows) = self.flows(stand)
            && let Some(skip) =
                self.skip(&window, &statuses, &in_flight, (&flows, &stand.setting.topology), until_next)
        {
            self.held = self.held_by(&window);
            self.carry_out(&skip, &flows, reports, stand, jumps);
        }
    }

    /// What senders hold of their paths.
    fn senders(&self, stand: &Stand<'_>) -> Vec<Sender> {
        let of = |id: &FlowId| {
            let src = stand.collector.open(*id)?.src;
            let state = stand.engine.sending(src, *id, stand.engine.now())?;
            let rate = state.rate.map_or(0.0, |rate| rate.as_bps() as f64);
            Some(Sender { rate, congestion: state.congestion.unwrap_or(0.0) })
        };
        self.ids.iter().map(|id| of(id).unwrap_or_default()).collect()
    }

    /// The flows, as long as they are for the engine; nothing if one of them has not started.
    fn flows(&self, stand: &Stand<'_>) -> Option<Vec<Flow>> {
        let as_engine_has = |id: &FlowId| {
            let flow = stand.collector.open(*id)?;
            let packets = self.left_out.get(id).map_or(0, |left_out| left_out.packets);
            Some(Flow { size_bytes: flow.size_bytes - u64::from(packets) * self.format.mss_bytes, ..*flow })
        };
        self.ids.iter().map(as_engine_has).collect()
    }

    /// What can be skipped, if it is worth it.
    fn skip(
        &self,
        window: &Window,
        statuses: &[FlowStatus],
        in_flight: &[u32],
        (flows, topology): (&[Flow], &Topology),
        until_next: Time,
    ) -> Option<Skip> {
        let lasted = window.lasted.as_ps() as f64;
        let most = lasted * self.trusted(window);
        let mut most = most.min(self.holds(window));
        for (nth, status) in statuses.iter().enumerate() {
            let arrived = window.arrived[nth];
            // So much is sent in the least that is watched.
            let stays = f64::from(in_flight[nth]) * self.rung.round_trips as f64;
            let left = f64::from(status.packets.saturating_sub(status.arrived + in_flight[nth])) - stays;
            most = most.min(left / arrived * lasted);
        }
        // Counted by the flow that is known best; it may be slower by the packet that it is not known by.
        let fastest = window.arrived.iter().copied().fold(1.0, f64::max);
        let most = (most.min(until_next.as_ps() as f64) * (1.0 - 1.0 / fastest)).max(0.0);
        let count = (most * fastest / lasted).floor();
        let time = Time(saturated::<u64>((count * lasted / fastest).round()));
        let share = time.as_ps() as f64 / lasted;
        let packets: Vec<u32> =
            window.arrived.iter().map(|arrived| saturated::<u32>((arrived * share).round())).collect();
        if time.times(2) < window.lasted {
            return None;
        }
        // A flow that has a link to itself is known exactly.
        let exact =
            flows.iter().zip(&packets).map(|(flow, &packets)| self.least_time(flow, packets, topology));
        let exact = exact.max()?;
        let is_that = exact.as_ps().abs_diff(time.as_ps()) as f64 <= time.as_ps() as f64 / fastest;
        Some(Skip { time: if is_that { exact } else { time }, packets })
    }

    /// For how long no flow's rate leaves the tolerance, in picoseconds, if all change as in what was watched.
    fn holds(&self, window: &Window) -> f64 {
        let drift = window.drift.iter().fold(0.0, |most: f64, drift| most.max(drift.abs()));
        window.lasted.as_ps() as f64 / 2.0 * self.rung.tolerance / drift
    }

    /// How many times what was watched may be skipped. How several groups of peers share a link may change more slowly
    /// than a window shows, so of those it is once at first, and twice as often each time that they turn out to do
    /// as before.
    fn trusted(&self, window: &Window) -> f64 {
        let most = self.rung.stretch as f64;
        if self.peers.len() < 2 {
            return most;
        }
        let (_, times) = self.held_by(window);
        f64::from(2_u32.saturating_pow(times)).min(most)
    }

    /// The rates of now, and how often they have held.
    fn held_by(&self, window: &Window) -> (Vec<f64>, u32) {
        let rates: Vec<f64> =
            window.arrived.iter().map(|arrived| arrived / window.lasted.as_secs_f64()).collect();
        let (before, times) = &self.held;
        let is_near = |(now, before): (&f64, &f64)| (now - before).abs() <= self.rung.tolerance * before;
        let holds = before.len() == rates.len() && rates.iter().zip(before).all(is_near);
        (rates, if holds { times + 1 } else { 0 })
    }

    /// What so many packets of a flow take on the slowest link of its path.
    fn least_time(&self, flow: &Flow, packets: u32, topology: &Topology) -> Time {
        let best = |size_bytes| best_fct(topology, self.format, flow.src, flow.dst, size_bytes);
        best(flow.size_bytes).since(best(flow.size_bytes - u64::from(packets) * self.format.mss_bytes))
    }

    fn carry_out(
        &mut self,
        skip: &Skip,
        flows: &[Flow],
        reports: Vec<(FlowId, Report)>,
        stand: &mut Stand<'_>,
        jumps: &mut Jumps,
    ) {
        // One that has fewer left than it seemed is no flow that stands still.
        let mut all = flows.iter().zip(&skip.packets);
        if !all.clone().all(|(flow, _)| stand.engine.shorten(flow.src, flow.id, 0))
            || !all.all(|(flow, &packets)| stand.engine.shorten(flow.src, flow.id, packets))
        {
            debug_assert!(false, "a flow was shortened by more than it had left");
            self.calm.clear();
            return;
        }
        let now = stand.engine.now();
        let watched = now - self.first.at;
        let share = skip.time.as_ps() as f64 / watched.as_ps().max(1) as f64;
        for (flow, &packets) in flows.iter().zip(&skip.packets) {
            let of = |reports: &[(FlowId, Report)]| {
                let place = reports.binary_search_by_key(&flow.id, |one| one.0);
                place.map_or(Report::default(), |place| reports[place].1)
            };
            let left_out = self.left_out.entry(flow.id).or_default();
            left_out.packets += packets;
            left_out.report = sum(left_out.report, of(&self.first.reports), of(&reports), (packets, share));
            if let Some(audit) = &mut stand.audit {
                audit.shorten(flow.id, u64::from(packets) * self.format.mss_bytes);
            }
        }
        stand.bring_forward(skip.time);
        stand.engine.bring_ranks_forward(skip.time);
        let ports = stand.counters();
        jumps.add(now, skip.time, (&self.first.ports, &ports), watched);
        self.calm.restart();
        self.first = First { at: now, ports, reports };
    }
}

/// What was left out so far, and what is now: so many packets, and a share of what was counted from one report to
/// the other.
fn sum(so_far: Report, before: Report, after: Report, (packets, share): (u32, f64)) -> Report {
    let more = |before: u32, after: u32| saturated::<u32>((f64::from(after - before) * share).round());
    let again = more(before.retransmissions, after.retransmissions);
    Report {
        packets_sent: so_far.packets_sent + packets + again,
        retransmissions: so_far.retransmissions + again,
        timeouts: so_far.timeouts + more(before.timeouts, after.timeouts),
        trims: so_far.trims + more(before.trims, after.trims),
        returns: so_far.returns + more(before.returns, after.returns),
        given_up: false,
    }
}

fn in_order(mut reports: Vec<(FlowId, Report)>) -> Vec<(FlowId, Report)> {
    reports.sort_unstable_by_key(|&(flow, _)| flow);
    reports
}

/// Of each flow, how many packets were sent for the first time and have not arrived.
fn in_flight(statuses: &[FlowStatus], reports: &[(FlowId, Report)]) -> Vec<u32> {
    let of = |status: &FlowStatus| {
        let place = reports.binary_search_by_key(&status.flow, |&(flow, _)| flow);
        let report = place.map_or(Report::default(), |place| reports[place].1);
        (report.packets_sent - report.retransmissions).saturating_sub(status.arrived)
    };
    statuses.iter().map(of).collect()
}
