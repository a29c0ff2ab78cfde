//! A simulated network that a program sends messages over while it is simulated.
//!
//! A [`Network`] is opened from a scenario without traffic. Its caller sends messages and sets timers at any simulated
//! time from now on, and asks for what happens next ([`Network::next`]): a message was received, its sender is done with
//! it, a timer went off. Nothing calls the caller. At the end [`Network::finish`] returns the usual outcome.
//!
//! # What happens when
//!
//! - Events come in order of time; those of one moment in the order in which their messages and timers were made, and of
//!   one message first that it was received.
//! - When an event is returned, everything has happened at all hosts up to its time and at it, and nothing after. So any
//!   host may send at that time; such a message starts after all else that its host does then.
//! - How far each call of [`Network::next`] goes, and how often it is called, changes no event and no result.
//! - A message from a host to itself, and one of zero bytes, crosses no link: it is received, and its sender done, when
//!   it starts. It is in no table of flows.
//!
//! A message is a flow: it has a connection, or a queue pair, as the scenario's transport gives one to each flow.

mod message;
mod open;

pub use message::{Event, EventKind, Label, Message};
pub use open::{Options, open};

use message::{Due, Pending, What};
use packetloom::flow::{Flow, FlowId};
use packetloom::flow_table::FlowTable;
use packetloom::scenario::Case;
pub use packetloom::simulation::{Change, SwitchPort};
use packetloom::simulation::{Driven, Failure, Moment, Outcome};
use packetloom::spec::Complaint;
use packetloom::units::Time;
use packetloom::workload::Done;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

/// Messages are numbered below this.
const MOST_MESSAGES: u32 = u32::MAX;

/// What a caller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Something happened, and the present time is its.
    Event(Event),
    /// Nothing more happens up to the time that was given, which is the present time now.
    Reached,
    /// All messages are over and no timer is set; or the scenario's `max_time` is reached.
    End,
    /// Messages never come to their ends: which, and what they wait for. The run can only be finished.
    Stalled(String),
}

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The scenario, or what was opened with it, is wrong.
    Scenario(String),
    /// What the caller asks for can't be.
    Argument(String),
    /// An invariant is violated, which is a fault of packetloom. The run is worth nothing.
    Violated(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Scenario(message) | Error::Argument(message) | Error::Violated(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Error {}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Violated(message) => Error::Violated(message),
            Failure::Refused(message) => Error::Scenario(message),
        }
    }
}

/// How far a message is at its sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Bytes that the sender knows to have arrived.
    pub arrived_bytes: u64,
    /// Bytes that the sender holds to be in flight.
    pub in_flight_bytes: u64,
    /// The congestion window, of a scheme that has one.
    pub window_bytes: Option<f64>,
    /// How fast packets may leave, of a scheme that has a rate.
    pub rate_bps: Option<u64>,
    /// The round-trip time, of a scheme that measures it.
    pub rtt: Option<Time>,
    /// Packets sent again so far.
    pub retransmissions: u32,
}

/// What is known at the end.
#[derive(Debug)]
pub struct Finished {
    /// The usual outcome; a message's row has the message's number as its flow's.
    pub outcome: Outcome,
    /// The caller's labels of all messages, by their number.
    pub labels: Vec<Label>,
}

/// A network on its way through time.
pub struct Network {
    driven: Driven,
    now: Time,
    /// Messages that are not over.
    messages: FlowTable<Pending>,
    labels: Vec<Label>,
    /// How many messages are not over.
    open: u64,
    /// How many messages and timers were made.
    made: u64,
    timers: u64,
    /// Timers, and messages that cross no link.
    due: BinaryHeap<Reverse<Due>>,
    /// Events of the present time that were not returned yet.
    ready: VecDeque<Event>,
    ended: Vec<(FlowId, Done)>,
    found: Vec<(u64, u8, Event)>,
    /// Why the run is worth nothing, if it is.
    broken: Option<Error>,
}

impl Network {
    fn new(driven: Driven) -> Network {
        Network {
            driven,
            now: Time::ZERO,
            messages: FlowTable::default(),
            labels: Vec::new(),
            open: 0,
            made: 0,
            timers: 0,
            due: BinaryHeap::new(),
            ready: VecDeque::new(),
            ended: Vec::new(),
            found: Vec::new(),
            broken: None,
        }
    }

    /// How many hosts there are; they are numbered from 0.
    pub fn hosts(&self) -> u32 {
        self.driven.hosts()
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What is simulated.
    pub fn case(&self) -> &Case {
        self.driven.case()
    }

    /// How many messages are not over.
    pub fn open_messages(&self) -> u64 {
        self.open
    }

    /// Sends a message; returns its number. Messages are numbered from 0 in the order of these calls.
    ///
    /// # Errors
    /// Hosts, sizes, classes or times that can't be.
    pub fn send(&mut self, message: &Message) -> Result<u32, Error> {
        let start = self.check(message)?;
        let Message { src, dst, bytes, tag, channel, class, user, .. } = *message;
        let id = u32::try_from(self.labels.len()).unwrap_or(MOST_MESSAGES);
        if id == MOST_MESSAGES {
            return Err(Error::Argument(format!(
                "{MOST_MESSAGES} messages were sent, and no more have numbers"
            )));
        }
        let label = Label { tag, user, channel };
        self.labels.push(label);
        let made = self.next_made();
        let is_local = src == dst || bytes == 0;
        self.messages.insert(id, Pending { made, src, dst, bytes, label, received: false, sent: false });
        self.open += 1;
        if is_local {
            self.due.push(Reverse(Due { at: start, made, what: What::Local(id) }));
        } else {
            self.driven.add(Flow {
                id,
                src,
                dst,
                size_bytes: bytes,
                start,
                deadline: Time::NEVER,
                class,
                source: 0,
                chain: None,
            });
        }
        Ok(id)
    }

    /// Has [`EventKind::Timer`] come at a time; returns the timer's number. Timers are numbered from 0.
    ///
    /// # Errors
    /// A time in the past, or so late that nothing could come after it.
    pub fn timer(&mut self, at: Time, user: u64) -> Result<u64, Error> {
        self.may_set_timer(at)?;
        let number = self.timers;
        self.timers += 1;
        let made = self.next_made();
        self.due.push(Reverse(Due { at, made, what: What::Timer { number, user } }));
        Ok(number)
    }

    /// Whether a timer may be set.
    ///
    /// # Errors
    /// Why not.
    pub fn may_set_timer(&self, at: Time) -> Result<(), Error> {
        self.alive()?;
        self.check_time(at, "a timer")
    }

    /// Goes on to what happens next, but not beyond `until`.
    ///
    /// # Errors
    /// A time in the past; or why the run is worth nothing.
    pub fn next(&mut self, until: Time) -> Result<Next, Error> {
        self.alive()?;
        if until < self.now {
            return Err(Error::Argument(format!("until: {until} has passed: it is {}", self.now)));
        }
        if let Some(event) = self.ready.pop_front() {
            return Ok(Next::Event(event));
        }
        let next = self.go_on(until);
        if let Err(error) = &next {
            self.broken = Some(error.clone());
        }
        next
    }

    /// How far a message is at its sender; `None` before it starts and when the sender is done, and of a scheme whose
    /// flows have no such state.
    pub fn progress(&mut self, message: u32) -> Option<Progress> {
        let size = self.messages.get(message)?.bytes;
        let state = self.driven.sending(message)?;
        let mss = self.driven.mss_bytes();
        let bytes = |packets: u32| (u64::from(packets) * mss).min(size);
        Some(Progress {
            arrived_bytes: bytes(state.arrived),
            in_flight_bytes: bytes(state.in_flight),
            window_bytes: state.window.map(|packets| packets * mss as f64),
            rate_bps: state.rate.map(|rate| rate.as_bps()),
            rtt: state.rtt,
            retransmissions: state.report.retransmissions,
        })
    }

    /// The transport's parameters that may be set, the queue's, and the routing's.
    pub fn settable(&self) -> [&'static [&'static str]; 3] {
        self.driven.settable()
    }

    /// Whether the routing's parameters are set at hosts, and not at switches.
    pub fn routes_at_hosts(&self) -> bool {
        self.driven.routes_at_hosts()
    }

    /// The number of the first switch among the network's nodes, which is that of hosts, and the one after the last.
    pub fn switches(&self) -> (u32, u32) {
        self.driven.switches()
    }

    /// Has hosts' transports, and their choice of paths, go on with other values of some parameters from the present time
    /// on, and switches mark and balance by other values of some of theirs: all of it, or nothing. What was planned before, such as a timer's alarm or
    /// the time of the next packet, stays. Switches do so from the end of the engine's window under way on, at most the
    /// least time from a node to the next one later.
    ///
    /// # Errors
    /// What can't be set, by its key in the scenario.
    pub fn set(&mut self, change: &Change<'_>) -> Result<(), Error> {
        self.alive()?;
        let (first, end) = self.switches();
        if let Some(host) = change.hosts.iter().find(|host| **host >= first) {
            return Err(Error::Argument(format!("there is no host {host}; write 0 to {}", first - 1)));
        }
        if let Some(node) = change.switches.iter().find(|node| !(first..end).contains(node)) {
            return Err(Error::Argument(format!("there is no switch {node}; write {first} to {}", end - 1)));
        }
        let refused = |Complaint { key, message }| Error::Argument(format!("{key}: {message}"));
        self.driven.set(change, self.now).map_err(refused)
    }

    /// What the ports of switches were like as the engine's last window ended, and when that was: at most the least time
    /// from a node to the next one ago, while anything happens.
    pub fn switch_ports(&mut self) -> (Time, Vec<SwitchPort>) {
        self.driven.switch_ports()
    }

    /// The name of a link: from where to where.
    ///
    /// # Errors
    /// If there is no such link.
    pub fn link_name(&self, link: u32) -> Result<String, Error> {
        let last = self.driven.links() - 1;
        let refused = || Error::Argument(format!("there is no link {link}; write 0 to {last}"));
        self.driven.link_name(link).ok_or_else(refused)
    }

    /// Ends the run: if all messages are over, when all that they left under way has come to rest; if not, at the present
    /// time, and those messages stay unfinished in the table.
    ///
    /// # Errors
    /// Why the run is worth nothing.
    pub fn finish(self) -> Result<Finished, Error> {
        self.alive()?;
        Ok(Finished { outcome: self.driven.finish()?, labels: self.labels })
    }

    /// Whether a message may be sent now.
    ///
    /// # Errors
    /// Why not.
    pub fn may_send(&self, message: &Message) -> Result<(), Error> {
        self.check(message).map(|_| ())
    }

    fn alive(&self) -> Result<(), Error> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn next_made(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// When a message starts that may be sent.
    fn check(&self, message: &Message) -> Result<Time, Error> {
        self.alive()?;
        let hosts = self.hosts();
        for (what, host) in [("src", message.src), ("dst", message.dst)] {
            if host >= hosts {
                let text = format!("{what}: there is no host {host}; write 0 to {}", hosts - 1);
                return Err(Error::Argument(text));
            }
        }
        let most = self.driven.most_bytes();
        if message.bytes > most {
            let text =
                format!("bytes: {} are more than a message may have; write {most} at most", message.bytes);
            return Err(Error::Argument(text));
        }
        if let Some(classes) = self.driven.classes().filter(|classes| u64::from(message.class) >= *classes) {
            let text =
                format!("class: the scheme has no class {}; write 0 to {}", message.class, classes - 1);
            return Err(Error::Argument(text));
        }
        let start = self.now.saturating_add(message.delay);
        self.check_time(start, "a message")?;
        Ok(start)
    }

    fn check_time(&self, at: Time, what: &str) -> Result<(), Error> {
        if at < self.now {
            return Err(Error::Argument(format!("{what} at {at}, which has passed: it is {}", self.now)));
        }
        if at >= Time::LATEST {
            return Err(Error::Argument(format!("{what} at {at}; write a time before {}", Time::LATEST)));
        }
        Ok(())
    }

    fn go_on(&mut self, until: Time) -> Result<Next, Error> {
        loop {
            if self.open == 0 && self.due.is_empty() {
                return Ok(Next::End);
            }
            let due = self.due.peek().map_or(Time::NEVER, |Reverse(due)| due.at);
            let last = Time(self.driven.max_time().as_ps().saturating_sub(1));
            let limit = until.min(due).min(last);
            let moment = self.driven.advance(limit, &mut self.ended)?;
            let comes_due = due <= until.min(last);
            match moment {
                Moment::Ended(at) => self.gather(at),
                Moment::Reached | Moment::Idle(_) if comes_due => self.gather(due),
                Moment::Idle(Some(reason)) if due == Time::NEVER => {
                    return Ok(self.ends(Next::Stalled(reason)));
                }
                Moment::Stalled(reason) => return Ok(self.ends(Next::Stalled(reason))),
                // What was lost of a transport without acknowledgements never comes.
                Moment::Idle(_) if due == Time::NEVER => return Ok(self.ends(Next::End)),
                Moment::Reached | Moment::Idle(_) if until <= last => {
                    self.now = until;
                    return Ok(Next::Reached);
                }
                Moment::Reached | Moment::Idle(_) => {
                    self.now = last;
                    return Ok(Next::End);
                }
            }
            if let Some(event) = self.ready.pop_front() {
                return Ok(Next::Event(event));
            }
        }
    }

    /// Nothing is left to happen, or nothing that brings a message nearer to its end.
    fn ends(&mut self, next: Next) -> Next {
        self.now = self.now.max(self.driven.now());
        next
    }

    /// Makes events of all that happened at a moment.
    fn gather(&mut self, at: Time) {
        self.now = at;
        let mut ended = std::mem::take(&mut self.ended);
        for (id, done) in ended.drain(..) {
            self.note(id, if done == Done::Received { EventKind::Received } else { EventKind::Sent });
        }
        self.ended = ended;
        while self.due.peek().is_some_and(|Reverse(due)| due.at <= at)
            && let Some(Reverse(Due { made, what, .. })) = self.due.pop()
        {
            match what {
                What::Local(id) => {
                    self.note(id, EventKind::Received);
                    self.note(id, EventKind::Sent);
                }
                What::Timer { number, user } => {
                    self.found.push((made, 0, Event::timer(at, number, user)));
                }
            }
        }
        if self.found.len() > 1 {
            self.found.sort_unstable_by_key(|&(made, rank, _)| (made, rank));
        }
        self.ready.extend(self.found.drain(..).map(|(.., event)| event));
    }

    fn note(&mut self, id: u32, kind: EventKind) {
        let Some(message) = self.messages.get_mut(id) else { return };
        let rank = match kind {
            EventKind::Received => {
                message.received = true;
                0
            }
            _ => {
                message.sent = true;
                1
            }
        };
        self.found.push((message.made, rank, Event::of(self.now, kind, id, message)));
        if message.received && message.sent {
            self.messages.remove(id);
            self.open -= 1;
        }
    }
}
