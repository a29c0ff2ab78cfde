//! A source of flows that start by the clock, made one by one as they are needed.

use super::deadlines::Deadlines;
use super::entity;
use super::list::ListedFlow;
use super::members::Members;
use super::pattern::{Pattern, Turn};
use super::query::{Query, QuerySpec, Start};
use super::sizes::Sizes;
use crate::flow::{Flow, HostId};
use crate::narrow::saturated;
use crate::random::{Purpose, Stream};
use crate::units::Time;
use std::collections::{BTreeMap, VecDeque};

/// What every flow of a source has in common.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// The source's number.
    pub source: u8,
    /// The traffic class.
    pub class: u8,
}

/// When the next arrivals are.
#[derive(Debug)]
pub enum Events {
    /// Gaps drawn from an exponential distribution.
    Poisson {
        /// The mean gap.
        gap_ps: f64,
        /// The next arrival.
        next: Time,
        /// Where gaps are drawn from.
        stream: Stream,
    },
    /// Equal gaps.
    Periodic {
        /// The gap; multiplied by the number of arrivals, so that its rounding does not add up.
        gap_ps: f64,
        /// The first arrival.
        first: Time,
    },
    /// All at one time.
    AtOnce {
        /// When.
        at: Time,
        /// How many.
        count: u64,
    },
}

impl Events {
    /// Poisson arrivals after `start`.
    pub fn poisson(gap_ps: f64, start: Time, seed: u64, source: u8) -> Events {
        let mut stream = Stream::new(seed, Purpose::Arrivals, entity::source(source));
        let next = start.saturating_add(exponential_gap(gap_ps, &mut stream));
        Events::Poisson { gap_ps, next, stream }
    }

    /// The time of the `number`-th arrival, the next one; `None` after the last.
    fn peek(&self, number: u64) -> Option<Time> {
        match *self {
            Events::Poisson { next, .. } => Some(next),
            Events::Periodic { gap_ps, first } => {
                Some(first.saturating_add(Time(saturated::<u64>((gap_ps * number as f64).round()))))
            }
            Events::AtOnce { at, count } => (number < count).then_some(at),
        }
    }

    fn advance(&mut self) {
        if let Events::Poisson { gap_ps, next, stream } = self {
            *next = next.saturating_add(exponential_gap(*gap_ps, stream));
        }
    }
}

fn exponential_gap(mean_ps: f64, stream: &mut Stream) -> Time {
    Time(saturated::<u64>((mean_ps * stream.exponential()).round()))
}

/// Flows drawn from distributions. They come in order of start, and of being drawn where they start together.
#[derive(Debug)]
pub struct DrawnSource {
    label: Label,
    members: Members,
    events: Events,
    turn: Turn,
    pattern: Pattern,
    sizes: Sizes,
    deadlines: Deadlines,
    streams: Streams,
    events_made: u64,
    flows_made: u64,
    most_flows: u64,
    end: Time,
    /// What was drawn and not yet taken, by start and number. Jitter can put a flow after later events' flows.
    pending: BTreeMap<(Time, u64), Start>,
    pairs: Vec<(HostId, HostId)>,
}

/// A stream for each purpose, so that changing one kind of draw leaves the others as they were.
#[derive(Debug)]
struct Streams {
    pattern: Stream,
    jitter: Stream,
    sizes: Stream,
    deadlines: Stream,
}

/// The parts of a [`DrawnSource`].
pub struct Parts {
    /// What its flows have in common.
    pub label: Label,
    /// The hosts that take part.
    pub members: Members,
    /// When they start.
    pub events: Events,
    /// How the next source or pair is chosen.
    pub turn: Turn,
    /// From where to where.
    pub pattern: Pattern,
    /// How large.
    pub sizes: Sizes,
    /// By when.
    pub deadlines: Deadlines,
    /// How many at most.
    pub most_flows: u64,
    /// Flows start before this.
    pub end: Time,
}

impl DrawnSource {
    /// A source under `seed`.
    pub fn new(parts: Parts, seed: u64) -> DrawnSource {
        let source = parts.label.source;
        let stream = |purpose| Stream::new(seed, purpose, entity::source(source));
        let streams = Streams {
            pattern: stream(Purpose::Pattern),
            jitter: Stream::new(seed, Purpose::Arrivals, entity::jitter(source)),
            sizes: stream(Purpose::Sizes),
            deadlines: stream(Purpose::Deadlines),
        };
        let Parts { label, members, events, turn, pattern, sizes, deadlines, most_flows, end } = parts;
        let mut drawn = DrawnSource {
            label,
            members,
            events,
            turn,
            pattern,
            sizes,
            deadlines,
            streams,
            events_made: 0,
            flows_made: 0,
            most_flows,
            end,
            pending: BTreeMap::new(),
            pairs: Vec::new(),
        };
        drawn.fill();
        drawn
    }

    fn peek_start(&self) -> Option<Time> {
        self.pending.first_key_value().map(|(&(start, _), _)| start)
    }

    fn next_start(&mut self) -> Option<Start> {
        let (_, start) = self.pending.pop_first()?;
        self.fill();
        Some(start)
    }

    /// Draws events until no later one can have an earlier flow than the first pending one.
    fn fill(&mut self) {
        while self.flows_made < self.most_flows {
            let Some(at) = self.events.peek(self.events_made).filter(|&at| at < self.end) else { return };
            if self.peek_start().is_some_and(|start| start <= at) {
                return;
            }
            self.draw_event(at);
            self.events.advance();
        }
    }

    fn draw_event(&mut self, at: Time) {
        let mut pairs = std::mem::take(&mut self.pairs);
        let hosts = self.members.count();
        self.pattern.event(self.events_made, self.turn, hosts, &mut self.streams.pattern, &mut pairs);
        self.events_made += 1;
        for (number, &(src, dst)) in (0..).zip(&pairs) {
            let at = at.saturating_add(self.pattern.spread().stagger.times(number));
            let start = at.saturating_add(self.draw_jitter());
            if self.flows_made < self.most_flows && start < self.end {
                let flow = self.draw_flow(self.members.host(src), self.members.host(dst), start);
                let queried = |spec| Start::Query(Query { at, spec, flow });
                let start = self.pattern.query().map_or(Start::Flow(flow), queried);
                self.pending.insert((start.at(), self.flows_made), start);
                self.flows_made += 1;
            }
        }
        self.pairs = pairs;
    }

    fn draw_jitter(&mut self) -> Time {
        match self.pattern.spread().jitter {
            Time::ZERO => Time::ZERO,
            jitter => Time(saturated::<u64>((self.streams.jitter.unit() * jitter.as_ps() as f64).round())),
        }
    }

    fn draw_flow(&mut self, src: HostId, dst: HostId, start: Time) -> Flow {
        Flow {
            id: 0,
            src,
            dst,
            size_bytes: self.sizes.sample(&mut self.streams.sizes),
            start,
            deadline: self.deadlines.draw(start, &mut self.streams.deadlines),
            class: self.label.class,
            source: self.label.source,
            chain: None,
        }
    }
}

/// Flows as a file lists them, sorted by start.
#[derive(Debug)]
pub struct ListSource {
    flows: VecDeque<Flow>,
    /// The flows' destination ports, of a list that has them.
    ports: Vec<u16>,
}

impl ListSource {
    /// The flows that start before `end`, `most_flows` at most, each moved by `offset`; those without a deadline
    /// draw it.
    pub fn new(
        listed: Vec<ListedFlow>,
        label: Label,
        offset: Time,
        deadlines: Deadlines,
        seed: u64,
        most_flows: u64,
        end: Time,
    ) -> ListSource {
        let mut stream = Stream::new(seed, Purpose::Deadlines, entity::source(label.source));
        let ports = listed.iter().filter_map(|flow| flow.port).collect();
        let flow = |listed: ListedFlow| {
            let start = listed.start.saturating_add(offset);
            let drawn = deadlines.draw(start, &mut stream);
            Flow {
                id: 0,
                src: listed.src,
                dst: listed.dst,
                size_bytes: listed.size_bytes,
                start,
                deadline: listed.deadline.map_or(drawn, |deadline| deadline.saturating_add(offset)),
                class: listed.class.unwrap_or(label.class),
                source: label.source,
                chain: None,
            }
        };
        let flows = listed.into_iter().map(flow).take_while(|flow| flow.start < end);
        ListSource { flows: flows.take(usize::try_from(most_flows).unwrap_or(usize::MAX)).collect(), ports }
    }

    /// These flows, which are in order of start.
    pub fn of(flows: Vec<Flow>) -> ListSource {
        ListSource { flows: flows.into(), ports: Vec::new() }
    }

    /// How many flows there are.
    pub fn count(&self) -> u64 {
        self.flows.len() as u64
    }
}

/// Any source of flows that start by the clock.
#[derive(Debug)]
pub enum OpenSource {
    /// Drawn from distributions.
    Drawn(Box<DrawnSource>),
    /// Read from a file.
    Listed(ListSource),
}

impl OpenSource {
    /// When its next flow starts.
    pub fn peek_start(&self) -> Option<Time> {
        match self {
            OpenSource::Drawn(source) => source.peek_start(),
            OpenSource::Listed(source) => source.flows.front().map(|flow| flow.start),
        }
    }

    /// The number of the source, of a list that has flows left.
    pub fn number(&self) -> Option<u8> {
        match self {
            OpenSource::Drawn(_) => None,
            OpenSource::Listed(source) => source.flows.front().map(|flow| flow.source),
        }
    }

    /// The destination ports of its flows in order, if it is a list that has them; of a list, all flows have one or
    /// none has.
    pub fn ports(&self) -> &[u16] {
        match self {
            OpenSource::Drawn(_) => &[],
            OpenSource::Listed(source) => &source.ports,
        }
    }

    /// What starts next, not yet numbered.
    pub fn next_start(&mut self) -> Option<Start> {
        match self {
            OpenSource::Drawn(source) => source.next_start(),
            OpenSource::Listed(source) => source.flows.pop_front().map(Start::Flow),
        }
    }

    /// The query settings, if its flows are queried for.
    pub fn query(&self) -> Option<QuerySpec> {
        match self {
            OpenSource::Drawn(source) => source.pattern.query(),
            OpenSource::Listed(_) => None,
        }
    }
}
