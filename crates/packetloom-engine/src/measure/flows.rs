//! Flow records, assembled from the reports of senders and receivers.

use super::known::Known;
use super::order::sort_by_identity;
use crate::engine::{Event, Log, Report};
use crate::flow::{Flow, FlowId};
use crate::flow_table::FlowTable;
use crate::narrow::narrow;
use crate::packet::Format;
use crate::random::mix;
use crate::topology::{MessageCosts, Topology, best_fct, best_fct_over_links};
use crate::units::Time;
use crate::user_class::ControlError;

/// A flow and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// The flow.
    pub flow: Flow,
    /// When its last byte reached the receiver; [`Time::NEVER`] if it did not.
    pub delivered: Time,
    /// When the sender knew; [`Time::NEVER`] if it did not.
    pub closed: Time,
    /// Its completion time alone on an empty network.
    pub best_fct: Time,
    /// What the sender did.
    pub report: Report,
    /// Whether it counts: it is no background, and started neither in the warm-up nor in the cool-down.
    pub measured: bool,
}

impl FlowRow {
    /// Whether nothing more will happen to it: it completed, and its sender knows, or its sender gave up.
    pub fn is_over(&self) -> bool {
        self.closed != Time::NEVER && (self.delivered != Time::NEVER || self.report.given_up)
    }

    /// When it was over: the later of when it was whole and when its sender was done, as far as these came.
    pub fn ended(&self) -> Time {
        let ends = [self.delivered, self.closed].into_iter().filter(|at| *at != Time::NEVER);
        ends.max().unwrap_or(Time::NEVER)
    }

    /// The flow completion time, if it completed.
    pub fn fct(&self) -> Option<Time> {
        (self.delivered != Time::NEVER).then(|| self.delivered - self.flow.start)
    }

    /// From its start to the last acknowledgement at the sender, if that came.
    pub fn sender_fct(&self) -> Option<Time> {
        (self.closed != Time::NEVER).then(|| self.closed - self.flow.start)
    }

    /// Application bits over FCT in Gb/s, if it completed.
    pub fn goodput_gbps(&self) -> Option<f64> {
        self.fct().map(|fct| self.flow.size_bytes as f64 * 8.0 / fct.as_ns_f64())
    }

    /// Its deadline as a point in time, if it has one.
    pub fn deadline(&self) -> Option<Time> {
        (self.flow.deadline != Time::NEVER).then_some(self.flow.deadline)
    }

    /// Whether it completed by its deadline; `false` without one.
    pub fn met_deadline(&self) -> bool {
        self.deadline().is_some_and(|deadline| self.delivered <= deadline)
    }

    /// FCT / best FCT, if it completed.
    pub fn slowdown(&self) -> Option<f64> {
        self.fct().map(|fct| fct.as_ps() as f64 / self.best_fct.as_ps() as f64)
    }
}

/// Gathers flow records. What it keeps of a flow that is over is its row.
#[derive(Debug)]
pub struct Collector {
    format: Format,
    alive: FlowTable<FlowRow>,
    done: Vec<FlowRow>,
    best_known: Known,
    /// For each traffic source, whether the case does not wait for its flows.
    background: Vec<bool>,
    started: u64,
    finished: u64,
    /// When the last of these was over at both ends, or the last rank of a job.
    ended: Time,
    refused: Option<(Time, FlowId, ControlError)>,
}

impl Collector {
    /// For flows in packets of this format, of sources of which some are `background`.
    pub fn new(format: Format, background: Vec<bool>) -> Collector {
        Collector {
            format,
            alive: FlowTable::default(),
            done: Vec::new(),
            best_known: Known::default(),
            background,
            started: 0,
            finished: 0,
            ended: Time::ZERO,
            refused: None,
        }
    }

    /// Takes room for the rows of so many flows, if they come. Memory that is not used is not touched; rows that move to a
    /// larger place touch it twice.
    pub fn expect(&mut self, flows: u64) {
        const MOST: u64 = 1 << 24;
        self.done.reserve_exact(narrow::<usize>(flows.min(MOST)));
    }

    /// Reads the log and empties it.
    pub fn read(&mut self, log: &mut Log, topology: &Topology) {
        for event in log.events.drain(..) {
            match event {
                Event::Started(flow) => self.start(flow, topology),
                Event::Delivered { flow, at } => self.update(flow, |row| row.delivered = at),
                Event::Closed { flow, at, report } => self.update(flow, |row| {
                    row.closed = at;
                    row.report = report;
                }),
                Event::RankEnded { at, .. } => self.ended = self.ended.max(at),
                Event::Refused { flow, at, error } => self.refuse(flow, at, error),
            }
        }
    }

    /// Keeps the first error of a user's class; of several at one time, that of the first flow.
    fn refuse(&mut self, flow: FlowId, at: Time, error: ControlError) {
        let is_first = self.refused.is_none_or(|(at_before, before, _)| (at, flow) < (at_before, before));
        if is_first {
            self.refused = Some((at, flow, error));
        }
    }

    /// The first error of a user's class: when, of which flow, and what.
    pub fn refused(&self) -> Option<(Time, FlowId, ControlError)> {
        self.refused
    }

    /// A flow starts.
    pub fn start(&mut self, flow: Flow, topology: &Topology) {
        let best_fct = self.best_of(&flow, topology);
        let is_background = self.is_background(&flow);
        let row = FlowRow {
            flow,
            delivered: Time::NEVER,
            closed: Time::NEVER,
            best_fct,
            report: Report::default(),
            measured: !is_background,
        };
        self.started += u64::from(!is_background);
        self.alive.insert(flow.id, row);
    }

    fn best_of(&mut self, flow: &Flow, topology: &Topology) -> Time {
        let Flow { src, dst, size_bytes, .. } = *flow;
        self.best_known.time(flow, || {
            let MessageCosts { send, receive } = topology.message_costs;
            send + best_fct(topology, self.format, src, dst, size_bytes) + receive
        })
    }

    fn update(&mut self, flow: FlowId, change: impl FnOnce(&mut FlowRow)) {
        let Some(row) = self.alive.get_mut(flow) else { return };
        change(row);
        if row.is_over() {
            if row.measured {
                self.finished += 1;
                self.ended = self.ended.max(row.ended());
            }
            self.done.extend(self.alive.remove(flow));
        }
    }

    /// What a flow that is over did happened again, with these identities and sizes, and so much later each time.
    ///
    /// # Panics
    /// If the flow is not over.
    pub fn repeat(
        &mut self,
        flow: FlowId,
        again: impl Iterator<Item = (FlowId, u64, Time)>,
        topology: &Topology,
    ) {
        let row = self.done.iter().rfind(|row| row.flow.id == flow).copied().expect("it is over");
        for (id, size_bytes, later) in again {
            let flow = Flow { id, size_bytes, start: row.flow.start + later, ..row.flow };
            let best_fct = self.best_of(&flow, topology);
            self.started += u64::from(row.measured);
            let (delivered, closed) = (row.delivered.saturating_add(later), row.closed + later);
            let again = FlowRow { flow, delivered, closed, best_fct, ..row };
            if again.measured {
                self.finished += 1;
                self.ended = self.ended.max(again.ended());
            }
            self.done.push(again);
        }
    }

    /// A flow that has started and is not over.
    pub fn open(&self, flow: FlowId) -> Option<&Flow> {
        self.alive.get(flow).map(|row| &row.flow)
    }

    /// What a sender did so far for a flow that it has not finished.
    pub fn note(&mut self, flow: FlowId, report: Report) {
        self.update(flow, |row| row.report = report);
    }

    fn is_background(&self, flow: &Flow) -> bool {
        self.background.get(usize::from(flow.source)).is_some_and(|&is_background| is_background)
    }

    /// A flow is over, for models in which sender and receiver know at once.
    pub fn finish(&mut self, flow: FlowId, at: Time) {
        self.update(flow, |row| {
            row.delivered = at;
            row.closed = at;
        });
    }

    /// The best completion time of a flow that is not over; zero for any other.
    pub fn best_fct(&self, flow: FlowId) -> Time {
        self.alive.get(flow).map_or(Time::ZERO, |row| row.best_fct)
    }

    /// Whether the case waits for a flow.
    pub fn awaits(&self, flow: FlowId) -> bool {
        self.alive.get(flow).is_some_and(|row| row.measured)
    }

    /// Whether a flow has started and is not over.
    pub fn knows(&self, flow: FlowId) -> bool {
        self.alive.get(flow).is_some()
    }

    /// Whether the case waits for a flow whose sender is not done with it.
    pub fn has_open(&self) -> bool {
        self.alive.states().any(|row| row.measured && row.closed == Time::NEVER)
    }

    /// The source and destination of a flow that is not over.
    pub fn pair(&self, flow: FlowId) -> Option<(u32, u32)> {
        self.alive.get(flow).map(|row| (row.flow.src, row.flow.dst))
    }

    /// How many flows started that the case waits for.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// How many of them are over.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// When all was over that is over by now, of what the case waits for.
    pub fn ended(&self) -> Time {
        self.ended
    }

    /// Every row, in order of identity; unfinished flows too.
    pub fn into_rows(mut self, topology: &Topology) -> Vec<FlowRow> {
        self.done.extend(self.alive.states());
        sort_by_identity(&mut self.done);
        if topology.has_hosts_with_several_links() {
            self.use_all_links(topology);
        }
        self.done
    }

    /// While a case runs, best FCTs are of one path, which estimates go by. Alone, a flow can use all of its host's
    /// links.
    fn use_all_links(&mut self, topology: &Topology) {
        let mut known = Known::default();
        for row in &mut self.done {
            let Flow { src, dst, size_bytes, .. } = row.flow;
            let sooner = known.time(&row.flow, || {
                let one = best_fct(topology, self.format, src, dst, size_bytes);
                one.since(best_fct_over_links(topology, self.format, (src, dst), size_bytes))
            });
            row.best_fct = row.best_fct.since(sooner);
        }
    }
}

/// A hash over all flow records: two runs with the same fingerprint did the same.
pub fn fingerprint(rows: &[FlowRow]) -> u64 {
    rows.iter().fold(0, |hash, row| {
        let flow = &row.flow;
        let fields = [
            u64::from(flow.id),
            u64::from(flow.src) << 32 | u64::from(flow.dst),
            flow.size_bytes,
            flow.start.as_ps(),
            row.delivered.as_ps(),
            row.closed.as_ps(),
            u64::from(row.report.packets_sent) << 32 | u64::from(row.report.retransmissions),
            u64::from(row.report.timeouts),
        ];
        fields.into_iter().fold(hash, |hash: u64, field| mix(hash.rotate_left(5) ^ field).wrapping_add(field))
    })
}
