//! A link, simulated with the flows that cross it.
//!
//! The network is a star. Where the link is a host's own, that host sends over it to a receiver for each kind of path.
//! Elsewhere each sender has a link of the lowest rate that its flows have met before, and the one receiver is behind
//! the link. All other links are so fast that nothing waits there. Latencies make up for the rest of the path, so that
//! a full packet takes as long to the receiver as on the whole path, and an acknowledgement as long back.
//!
//! Acknowledgements of other flows take their part of the link's rate: it is lower by the share of the time that they
//! keep it busy.
//!
//! Senders' links make flows wait for others of the same sender. That belongs to another link's delay, the sender's
//! own, so it is left out here: such flows are run once more with nothing but the senders' links in their way, and the
//! delay is what they take beyond that.

use super::super::{Monitor, Setting, Simulation};
use super::alone::Alone;
use super::crossings::{Crossings, Way};
use crate::engine::Tally;
use crate::fault::Faults;
use crate::flow::{Flow, HostId};
use crate::measure::{FlowRow, Format, best_fct};
use crate::scenario::Case;
use crate::spec::{Complaint, Value, Values};
use crate::topology::{self, Arm, Topology};
use crate::transport::PacketFormat;
use crate::units::{ByteTime, Rate, Time};
use crate::workload::{Environment, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// How much faster than any other link those are where nothing is to wait.
const FASTER: u64 = 10;

/// The most of a link that acknowledgements take: more would be no network to measure.
const MOST_FOR_ACKS: f64 = 0.5;

/// What came of a link.
pub(super) struct Found {
    /// The delay of each of its flows in ps, in their order; infinite if the flow did not end.
    pub(super) delays_ps: Vec<f64>,
    pub(super) tally: Tally,
    /// What went wrong, if something did.
    pub(super) problem: Option<String>,
}

/// What all of these simulations have in common.
pub(super) struct Apart<'a> {
    setting: &'a Setting,
    pub(super) crossings: &'a Crossings,
    environment: &'a Environment,
    monitor: &'a Monitor,
    /// The case, but for what belongs to the whole network.
    case: Case,
    ack: Format,
    /// For each kind of path what a full packet takes to the receiver, and an acknowledgement back.
    one_way: Vec<(Time, Time)>,
}

/// A star, and its flows.
struct Star {
    arms: Vec<Arm>,
    flows: Vec<Flow>,
    /// Which arm the link leads to, if it is not a host's own.
    target: Option<usize>,
}

impl<'a> Apart<'a> {
    pub(super) fn new(
        setting: &'a Setting,
        crossings: &'a Crossings,
        environment: &'a Environment,
        monitor: &'a Monitor,
    ) -> Apart<'a> {
        let mut case = setting.case.clone();
        case.run.entries.remove("fidelity");
        for key in ["flows", "duration"] {
            case.run.entries.insert(key.to_owned(), Value::Absent);
        }
        // Nothing has a choice in a star.
        let routing = Values { kind: "spray-random".to_owned(), ..Values::default() };
        case.scheme.entries.insert("routing".to_owned(), Value::Component(routing));
        let ack_bytes = PacketFormat::of(&case.scheme.component("transport")).ack_bytes.into();
        let ack = Format { mss_bytes: ack_bytes, header_bytes: 0 };
        let one_way = |way: &Way| {
            let chain = setting.topology.chain(&way.there, &way.back);
            (one_packet(&chain, setting.format, 0, 1), one_packet(&chain, ack, 1, 0))
        };
        let one_way = crossings.ways.iter().map(one_way).collect();
        Apart { setting, crossings, environment, monitor, case, ack, one_way }
    }

    /// What a flow of so many full packets takes beyond its best FCT when it is alone on a kind of path, in ps.
    ///
    /// # Errors
    /// What can't be simulated.
    pub(super) fn alone(&self, way: usize, packets: u64) -> Result<(f64, Tally), Complaint> {
        let Way { there, back } = &self.crossings.ways[way];
        let flow = Flow {
            id: 0,
            src: 0,
            dst: 1,
            size_bytes: packets * self.setting.format.mss_bytes,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        let (rows, tally, _) = self.run(self.setting.topology.chain(there, back), vec![flow])?;
        Ok((rows.first().map_or(f64::INFINITY, more_ps), tally))
    }

    /// The delays of a link.
    ///
    /// # Errors
    /// What can't be simulated.
    pub(super) fn delays(&self, link: u32, alone: &Alone) -> Result<Found, Complaint> {
        let star = self.star(link);
        let network = self.setting.topology.star(&star.arms);
        let (rows, mut tally, mut problem) = self.run(network, star.flows.clone())?;
        let at = self.crossings.at(link);
        let mut delays_ps: Vec<f64> = rows
            .iter()
            .zip(at)
            .map(|(row, &flow)| more_ps(row) - alone.excess_ps(self.crossings, flow as usize))
            .collect();
        delays_ps.resize(at.len(), f64::INFINITY);
        let again = if star.target.is_some() { overlapping(&rows) } else { Vec::new() };
        if !again.is_empty() {
            let network = self.without_target(&star);
            let flows = again.iter().map(|&nth| star.flows[nth]).collect();
            let (without, more, problem_there) = self.run(network, flows)?;
            for (&nth, row) in again.iter().zip(&without) {
                delays_ps[nth] = more_ps(&rows[nth]) - more_ps(row);
            }
            tally = tally + more;
            problem = problem.or(problem_there);
        }
        Ok(Found { delays_ps, tally, problem })
    }

    /// Runs flows packet by packet; returns a row for each that started, what was done, and what went wrong.
    fn run(
        &self,
        topology: Topology,
        flows: Vec<Flow>,
    ) -> Result<(Vec<FlowRow>, Tally, Option<String>), Complaint> {
        let setting = Setting {
            faults: Faults::build(&[], &topology)?,
            case: self.case.clone(),
            topology,
            captured: BTreeSet::new(),
            watched: None,
            flow_ports: None,
            format: self.setting.format,
            longest_window: self.setting.longest_window,
            threads: 1,
            is_audited: self.setting.is_audited,
        };
        let workload = Workload::of_flows(flows);
        let simulation = Simulation { setting, workload, environment: self.environment.clone() };
        let outcome = simulation.run(&self.monitor.under())?;
        let problem = outcome.violation.map(|violation| violation.to_string()).or(outcome.stalled);
        Ok((outcome.flows, outcome.tally, problem))
    }

    fn star(&self, link: u32) -> Star {
        let topology = &self.setting.topology;
        let target = &topology.links[link as usize];
        let part = self.left_by_acks(link);
        let figures = (self.reduced(target.rate, part), target.latency);
        if target.src < topology.hosts {
            self.at_host(link, figures)
        } else {
            self.at_switch(link, figures, part)
        }
    }

    /// The part of a link's rate that acknowledgements of others leave.
    fn left_by_acks(&self, link: u32) -> f64 {
        let data = self.crossings.data_time[link as usize];
        let busy = self.crossings.ack_time[link as usize].as_ps() as f64;
        let share = busy / self.crossings.span.max(data).as_ps().max(1) as f64;
        1.0 - share.min(MOST_FOR_ACKS)
    }

    /// A part of a rate, as far down as there are rates.
    fn reduced(&self, rate: Rate, part: f64) -> Rate {
        let slowest =
            if self.setting.topology.whole_ns { ByteTime::SLOWEST_IN_WHOLE_NS } else { topology::SLOWEST };
        Rate((rate.as_bps() as f64 * part).round() as u64).max(slowest.min(rate))
    }

    /// A host's own link: it is the first of all paths, and receivers are as far as the paths are long.
    fn at_host(&self, link: u32, target: (Rate, Time)) -> Star {
        let at = self.crossings.at(link);
        let mut receivers: BTreeMap<u32, HostId> = BTreeMap::new();
        for &flow in at {
            let next = receivers.len() as HostId + 1;
            receivers.entry(self.crossings.way_of[flow as usize]).or_insert(next);
        }
        let fast = Rate(target.0.as_bps() * FASTER);
        let shortest = receivers.keys().map(|&way| self.one_way[way as usize].1).min();
        let first_back = (fast, halved(shortest));
        let mut arms = vec![Arm { out: target, back: first_back }];
        arms.resize(receivers.len() + 1, Arm { out: (fast, Time::ZERO), back: (fast, Time::ZERO) });
        let network = self.setting.topology.star(&arms);
        for (&way, &receiver) in &receivers {
            let (there, back) = self.left(&network, way, 0, receiver);
            (arms[receiver as usize].back.1, arms[receiver as usize].out.1) = (there, back);
        }
        let flows = at.iter().map(|&flow| Flow {
            src: 0,
            dst: receivers[&self.crossings.way_of[flow as usize]],
            ..self.crossings.flows[flow as usize]
        });
        Star { flows: flows.collect(), arms, target: None }
    }

    /// A link of a switch: senders are before it, with what their flows have met until then.
    ///
    /// Acknowledgements take their `part` of those links, too: if not, a single flow would fill the queue of a link
    /// that is as fast as its sender's.
    fn at_switch(&self, link: u32, target: (Rate, Time), part: f64) -> Star {
        let at = self.crossings.at(link);
        let before = |flow: u32| {
            let links = self.crossings.path(flow as usize).iter().take_while(|&&other| other != link);
            let rates = links.map(|&other| self.setting.topology.links[other as usize].rate);
            rates.min().map_or(target.0, |rate| self.reduced(rate, part))
        };
        let key = |flow: u32| {
            let way = self.crossings.way_of[flow as usize];
            (self.crossings.flows[flow as usize].src, way, before(flow))
        };
        let mut senders: BTreeMap<(HostId, u32, Rate), HostId> = BTreeMap::new();
        let places: Vec<HostId> = at
            .iter()
            .map(|&flow| {
                let next = senders.len() as HostId + 1;
                *senders.entry(key(flow)).or_insert(next)
            })
            .collect();
        let fastest = senders.keys().map(|&(_, _, rate)| rate).max().unwrap_or(target.0).max(target.0);
        let fast = Rate(fastest.as_bps() * FASTER);
        let shortest = senders.keys().map(|&(_, way, _)| self.one_way[way as usize].1).min();
        let mut arms = vec![Arm { out: (fast, halved(shortest)), back: target }];
        arms.resize(senders.len() + 1, Arm { out: (fast, Time::ZERO), back: (fast, Time::ZERO) });
        for (&(_, _, rate), &sender) in &senders {
            arms[sender as usize].out.0 = rate;
        }
        let network = self.setting.topology.star(&arms);
        for (&(_, way, _), &sender) in &senders {
            let (there, back) = self.left(&network, way, sender, 0);
            (arms[sender as usize].out.1, arms[sender as usize].back.1) = (there, back);
        }
        let flow = |(&flow, src): (&u32, HostId)| Flow { src, dst: 0, ..self.crossings.flows[flow as usize] };
        Star { flows: at.iter().zip(places).map(flow).collect(), arms, target: Some(0) }
    }

    /// The same network, but nothing waits at the link. What a full packet takes there stays as it was, so that
    /// flows for which the link made no difference fare as they did.
    fn without_target(&self, star: &Star) -> Topology {
        let mut arms = star.arms.clone();
        let fastest = arms.iter().flat_map(|arm| [arm.out.0, arm.back.0]).max();
        if let (Some(target), Some(fastest)) = (star.target, fastest) {
            let bytes = self.setting.format.mss_bytes + self.setting.format.header_bytes;
            let bytes = bytes + self.setting.topology.framing_bytes;
            let takes = |rate| self.setting.topology.byte_time(rate).of(bytes);
            let (rate, latency) = arms[target].back;
            arms[target].back = (fastest, latency + takes(rate).since(takes(fastest)));
        }
        self.setting.topology.star(&arms)
    }

    /// What is missing from a kind of path's times in a star, to the receiver and back.
    fn left(&self, star: &Topology, way: u32, src: HostId, dst: HostId) -> (Time, Time) {
        let (there, back) = self.one_way[way as usize];
        let there_now = one_packet(star, self.setting.format, src, dst);
        (there.since(there_now), back.since(one_packet(star, self.ack, dst, src)))
    }
}

fn halved(time: Option<Time>) -> Time {
    Time(time.unwrap_or(Time::ZERO).as_ps() / 2)
}

/// What a full packet takes from one host to another.
fn one_packet(topology: &Topology, format: Format, src: HostId, dst: HostId) -> Time {
    best_fct(topology, format, src, dst, format.mss_bytes)
}

/// What a flow took beyond its best FCT, in ps.
fn more_ps(row: &FlowRow) -> f64 {
    row.fct().map_or(f64::INFINITY, |fct| fct.as_ps() as f64 - row.best_fct.as_ps() as f64)
}

/// The flows that were under way together with others of their sender.
fn overlapping(rows: &[FlowRow]) -> Vec<usize> {
    let mut latest: BTreeMap<HostId, (Time, usize)> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (nth, row) in rows.iter().enumerate() {
        let (until, before) = latest.entry(row.flow.src).or_insert((Time::ZERO, nth));
        if row.flow.start < *until {
            found.extend([*before, nth]);
        }
        if row.delivered > *until {
            (*until, *before) = (row.delivered, nth);
        }
    }
    found.into_iter().collect()
}
