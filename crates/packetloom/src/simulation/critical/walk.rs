//! From the end of a repetition back to its beginning.

use super::messages::{Messages, OfCollective};
use super::{Part, Spans, Spent, UnderWay};
use crate::flow::FlowId;
use crate::job::{Event, Work};
use crate::narrow::exact;
use crate::simulation::jobs::IterationRow;
use crate::units::Time;
use crate::workload::job::{ANSWER, Exchange, Located, MESSAGE, Operation, Span};

/// Something that happened at a rank, at a time, because of something else.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// An operation ended.
    End { rank: u32, place: u32 },
    /// It got its stream.
    Begin { rank: u32, place: u32 },
    /// All had happened that it depends on.
    Ready { rank: u32, place: u32 },
    /// A message started: its row.
    Sent(u32),
}

/// A walk, and what was found so far, from the end on.
pub(super) struct Walk<'a> {
    spans: &'a Spans<'a>,
    messages: &'a Messages<'a>,
    iteration: u32,
    /// When the first rank began.
    start: Time,
    /// From when on the path is known.
    now: Time,
    next: Option<Moment>,
    parts: Vec<Part>,
    /// So many steps at most, should two things that happened at one time seem to depend on each other.
    steps_left: usize,
}

impl<'a> Walk<'a> {
    /// From the last operation that ended.
    pub(super) fn new(spans: &'a Spans<'a>, messages: &'a Messages<'a>, row: &IterationRow) -> Walk<'a> {
        let (iteration, rank) = (row.iteration, row.last_rank);
        let last = spans.ending(rank, iteration, row.end);
        Walk {
            spans,
            messages,
            iteration,
            start: row.start,
            now: row.end,
            next: last.map(|place| Moment::End { rank, place }),
            parts: Vec::new(),
            steps_left: 4 * (messages.flows.len() + spans.plan.program.operations() + 1),
        }
    }

    /// The path's parts, from the last to the first.
    pub(super) fn parts(mut self) -> Vec<Part> {
        while let Some(moment) = self.next.take() {
            if self.steps_left == 0 {
                break;
            }
            self.steps_left -= 1;
            match moment {
                Moment::End { rank, place } => self.before_end(rank, place),
                Moment::Begin { rank, place } => self.before_begin(rank, place),
                Moment::Ready { rank, place } => self.before_ready(rank, place),
                Moment::Sent(row) => self.before_sent(row),
            }
        }
        self.parts
    }

    fn span(&self, rank: u32, place: u32) -> Option<Span> {
        self.spans.get(rank, self.iteration, place).copied()
    }

    fn work(&self, rank: u32, place: u32) -> Work {
        self.spans.plan.program.ranks[rank as usize].operations()[place as usize].work
    }

    /// The path's part from `start` to what is known.
    fn spend(&mut self, spent: Spent, (rank, place): (u32, u32), start: Time, message: Option<UnderWay>) {
        let start = start.max(self.start);
        if start < self.now {
            self.parts.push(Part { spent, rank, place, start, end: self.now, message });
            self.now = start;
        }
    }

    fn before_end(&mut self, rank: u32, place: u32) {
        let Some(span) = self.span(rank, place) else { return };
        match self.work(rank, place) {
            Work::Compute { .. } => {
                self.spend(Spent::Compute, (rank, place), span.begin, None);
                self.next = Some(Moment::Begin { rank, place });
            }
            Work::Send { .. } => self.before_send_ended(rank, place, &span),
            Work::Receive { .. } => self.before_received(rank, place, &span),
            Work::Collective { .. } => {
                let exchange = self.spans.plan.exchange_of(rank, place);
                let Exchange::Collective(operation) = self.spans.plan.exchange(exchange) else { return };
                if operation.is_whole {
                    return self.before_whole_ended((rank, place), exchange, operation.group);
                }
                let is_pieces = operation.gate.is_some();
                let own = |one: &OfCollective| is_pieces || one.awaited_by.is_some();
                self.enabled((rank, place), exchange, &span, |_| true, own);
            }
        }
    }

    /// An operation that was carried out as a whole waited for the rank that began last; of several for the first.
    fn before_whole_ended(&mut self, waited: (u32, u32), exchange: u32, group: u32) {
        let ranks = self.spans.plan.program.groups[group as usize].iter();
        let begun = ranks.filter_map(|&rank| {
            let place = self.place_of(rank, exchange)?;
            Some((self.span(rank, place)?.begin, rank, place))
        });
        let last = begun.reduce(|last, one| if one.0 > last.0 { one } else { last });
        let Some((begin, rank, place)) = last else { return };
        self.spend(Spent::Message, waited, begin, Some(UnderWay::Whole(rank, exchange)));
        self.next = Some(Moment::Begin { rank, place });
    }

    /// A send ended when it was handed over, or when it was acknowledged.
    fn before_send_ended(&mut self, rank: u32, place: u32, span: &Span) {
        let answer =
            span.message.and_then(|flow| self.spans.plan.locate(flow)).filter(|at| at.index == ANSWER);
        if let Some(row) = answer.and_then(|at| self.messages.row_of(self.spans.plan.number(at))) {
            return self.follow(row, (rank, place), Spent::Message);
        }
        if self.spans.plan.program.sends_block
            && let Some(row) = self.row_of_send(rank, place, span)
        {
            let from = self.messages.start(row);
            self.spend(Spent::Acknowledgement, (rank, place), from, Some(UnderWay::Message(rank, row)));
        }
        self.spend(Spent::Host, (rank, place), span.begin, None);
        self.next = Some(Moment::Begin { rank, place });
    }

    fn row_of_send(&self, rank: u32, place: u32, span: &Span) -> Option<u32> {
        let plan = self.spans.plan;
        let own = || {
            plan.number(Located {
                iteration: self.iteration,
                exchange: plan.exchange_of(rank, place),
                index: MESSAGE,
            })
        };
        self.messages.row_of(span.message.unwrap_or_else(own))
    }

    /// The operation of a rank with this message.
    fn with_message(&self, rank: u32, message: FlowId) -> Option<u32> {
        let spans = self.spans.of_rank(rank).iter();
        let mut own = spans.filter(|span| span.iteration == self.iteration && span.message == Some(message));
        own.next().map(|span| span.place)
    }

    /// A receive ended when the host had processed the message; that began when the message had come, the receive
    /// was posted, and the stream was free.
    fn before_received(&mut self, rank: u32, place: u32, span: &Span) {
        let row = span.message.and_then(|flow| self.messages.row_of(flow));
        let came = row.map(|row| self.messages.flows[row as usize].delivered);
        if self.spans.plan.settings.costs.receive > Time::ZERO {
            self.spend(Spent::Host, (rank, place), span.begin, None);
            if span.begin > span.ready && came.is_some_and(|came| came < span.begin) {
                self.next = Some(Moment::Begin { rank, place });
                return;
            }
        }
        match row.filter(|_| came.is_some_and(|came| came >= span.ready)) {
            Some(row) => self.follow(row, (rank, place), Spent::Message),
            None => self.next = Some(Moment::Ready { rank, place }),
        }
    }

    /// The path goes on with a message: who waited for it, and where it came from.
    fn follow(&mut self, row: u32, waited: (u32, u32), spent: Spent) {
        let start = self.messages.start(row);
        let from = self.sender(row);
        self.spend(spent, waited, start, Some(UnderWay::Message(from, row)));
        self.next = Some(Moment::Sent(row));
    }

    fn sender(&self, row: u32) -> u32 {
        let plan = self.spans.plan;
        let Some(at) = plan.locate(self.messages.flows[row as usize].flow.id) else { return 0 };
        match plan.exchange(at.exchange) {
            &Exchange::Send { rank, place } => match self.work(rank, place) {
                Work::Send { peer, .. } if at.index == ANSWER => peer,
                _ => rank,
            },
            Exchange::Collective(operation) => plan.rank_at(operation.group, operation.part(at.index).from),
        }
    }

    fn before_begin(&mut self, rank: u32, place: u32) {
        let Some(span) = self.span(rank, place) else { return };
        // Where it had to wait for its stream, `after` is the one that had it.
        self.next = match span.after {
            Some(before) if span.begin > span.ready => Some(Moment::End { rank, place: before }),
            _ => Some(Moment::Ready { rank, place }),
        };
    }

    fn before_ready(&mut self, rank: u32, place: u32) {
        let Some(span) = self.span(rank, place) else { return };
        let Some(before) = span.after else {
            // It depended on nothing but the end of the repetition before.
            return self.spend(Spent::Earlier, (rank, place), self.start, None);
        };
        let dependencies = self.spans.plan.program.ranks[rank as usize].dependencies(place);
        let is_end = dependencies.iter().any(|one| one.on == before && one.event == Event::Ends);
        self.next = Some(match self.work(rank, before) {
            _ if is_end => Moment::End { rank, place: before },
            Work::Receive { .. } => Moment::Ready { rank, place: before },
            _ => Moment::Begin { rank, place: before },
        });
    }

    fn before_sent(&mut self, row: u32) {
        let plan = self.spans.plan;
        let Some(at) = plan.locate(self.messages.flows[row as usize].flow.id) else { return };
        match plan.exchange(at.exchange) {
            &Exchange::Send { .. } if at.index == ANSWER => {
                // It was said when the message had come and a receive was there.
                let rank = self.sender(row);
                let message = plan.number(Located { index: MESSAGE, ..at });
                let Some(place) = self.with_message(rank, message) else { return };
                let Some(span) = self.span(rank, place) else { return };
                let row = self.messages.row_of(message);
                let came = row.map(|row| self.messages.flows[row as usize].delivered);
                match row.filter(|_| came.is_some_and(|came| came >= span.ready)) {
                    Some(row) => self.follow(row, (rank, place), Spent::Message),
                    None => self.next = Some(Moment::Ready { rank, place }),
                }
            }
            &Exchange::Send { rank, place } => {
                let named = self.messages.flows[row as usize].flow.id;
                let place = self.with_message(rank, named).unwrap_or(place);
                if let Some(span) = self.span(rank, place) {
                    self.spend(Spent::Host, (rank, place), span.begin, None);
                }
                self.next = Some(Moment::Begin { rank, place });
            }
            Exchange::Collective(operation) => {
                let part = operation.part(at.index);
                let (lane, stage) = (part.lane, part.message.stage);
                let rank = plan.rank_at(operation.group, part.from);
                if plan.is_node(rank) {
                    let to = plan.rank_at(operation.group, part.message.to);
                    return self.before_node((rank, to), at.exchange, (lane, stage));
                }
                let Some(place) = self.place_of(rank, at.exchange) else { return };
                let Some(span) = self.span(rank, place) else { return };
                let is_awaited = |one: &OfCollective| {
                    one.lane == lane && one.awaited_by.is_some_and(|awaiting| awaiting <= stage)
                };
                // The piece before that may have let it go on, too; or an earlier message that is no longer under way.
                let received = |one: &OfCollective| is_awaited(one) || opens(operation, one, lane);
                let most = operation.pattern(lane).most_under_way();
                let makes_room = |one: &OfCollective| {
                    one.lane == lane && most.is_some_and(|most| one.stage + most <= stage)
                };
                let own = |one: &OfCollective| received(one) || makes_room(one);
                self.enabled((rank, place), at.exchange, &span, received, own);
            }
        }
    }

    /// A node in a switch sent what it had of all once the last of that had come; it has no operation of its own, so its
    /// receiver's is taken for it.
    fn before_node(&mut self, (rank, to): (u32, u32), exchange: u32, (lane, stage): (u32, u32)) {
        let is_last = |one: &OfCollective| {
            one.exchange == exchange
                && one.lane == lane
                && one.awaited_by.is_some_and(|awaiting| awaiting <= stage)
        };
        let last = self.messages.last_received(rank, self.now, is_last);
        if let Some((last, place)) = last.zip(self.place_of(to, exchange)) {
            self.follow(last.row, (to, place), Spent::Message);
        }
    }

    fn place_of(&self, rank: u32, exchange: u32) -> Option<u32> {
        let count = exact::<u32>(self.spans.plan.program.ranks[rank as usize].operations().len());
        (0..count).find(|&place| self.spans.plan.exchange_of(rank, place) == exchange)
    }

    /// A rank went on with a collective operation, or was done with it, because of what happened last of: a message
    /// came that is one of the `received`, one of its `own` was acknowledged, it began.
    fn enabled(
        &mut self,
        (rank, place): (u32, u32),
        exchange: u32,
        span: &Span,
        received: impl Fn(&OfCollective) -> bool,
        own: impl Fn(&OfCollective) -> bool,
    ) {
        let received =
            self.messages.last_received(rank, self.now, |one| one.exchange == exchange && received(one));
        let own = self.messages.last_acknowledged(rank, self.now, |one| one.exchange == exchange && own(one));
        let own = own.filter(|own| received.is_none_or(|received| own.at > received.at));
        let (last, spent) = match own {
            Some(own) => (Some(own), Spent::Acknowledgement),
            None => (received, Spent::Message),
        };
        match last.filter(|last| last.at > span.begin) {
            Some(last) => {
                self.spend(Spent::Host, (rank, place), last.at, None);
                self.follow(last.row, (rank, place), spent);
            }
            None => {
                self.spend(Spent::Host, (rank, place), span.begin, None);
                self.next = Some(Moment::Begin { rank, place });
            }
        }
    }
}

/// Whether a message is of the piece that another lane waits for.
fn opens(operation: &Operation, one: &OfCollective, lane: u32) -> bool {
    operation.gate.is_some_and(|gate| one.lane + gate == lane)
}
