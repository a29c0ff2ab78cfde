//! A transport under observation, which may also lose, mark or delay what arrives. It is the scheme itself on the
//! engine itself: only what reaches a host passes through here first.

use packetloom::engine::{Context, FlowStatus, Report, Timer, Transport};
use packetloom::flow::{Flow, FlowId, HostId};
use packetloom::packet::{Kind, Packet};
use packetloom::record::Segment;
use packetloom::scenario::Case;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::transport::{Scheme, Sending, WithScheme, with_scheme};
use packetloom::units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// A timer's purpose that no transport has: a packet that was held back is let go.
const RELEASE: u8 = u8::MAX;

/// Why a transport was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A flow started.
    Start,
    /// A packet came.
    Packet {
        /// Its flow.
        flow: FlowId,
        /// Data, ACK and so on.
        kind: Kind,
    },
    /// A timer went off that the scheme had set under this number: nearly always its flow's.
    Timer(u32),
}

/// What a call changed of a flow at its sender.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// When.
    pub at: Time,
    /// Of which flow.
    pub flow: FlowId,
    /// Why.
    pub cause: Cause,
    /// Before the call; nothing was sent before the flow's start.
    pub before: Sending,
    /// After it; `None`: the sender is done.
    pub after: Option<Sending>,
    /// How many of its packets, whole or trimmed, its receiver was given up to now.
    pub arrived: u32,
}

impl Step {
    /// Data packets that the call sent.
    pub fn sent(&self) -> u32 {
        self.after.map_or(0, |after| after.report.packets_sent - self.before.report.packets_sent)
    }

    /// How many of them were sent before.
    pub fn sent_again(&self) -> u32 {
        self.after.map_or(0, |after| after.report.retransmissions - self.before.report.retransmissions)
    }
}

/// What happens to a packet at the host that it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    Arrives,
    /// It is lost.
    Lost,
    /// Its header arrives, as if a switch had trimmed it.
    Trimmed,
    /// It is marked, if its sender understands marks.
    Marked,
    /// It comes so much later, behind others.
    Late(Time),
    /// It is lost, and so is all that comes to this host for so long.
    Silence(Time),
}

/// What was seen, and what is still to be done.
#[derive(Debug, Default)]
pub struct Witness {
    /// What is to happen to the packets that reach senders and receivers, in order; then nothing any more.
    pub to_senders: VecDeque<Fate>,
    /// The same of receivers.
    pub to_receivers: VecDeque<Fate>,
    /// What senders did.
    pub steps: Vec<Step>,
    /// When the last fate but [`Fate::Arrives`] was over.
    pub struck_at: Time,
    /// Data packets, whole or trimmed, that receivers were given.
    pub arrived: BTreeMap<FlowId, u32>,
}

/// The scheme of a host, observed.
struct Watched<T: Scheme> {
    inner: T,
    witness: Arc<Mutex<Witness>>,
    /// The flows that started here and are not done.
    flows: BTreeMap<FlowId, Sending>,
    held: BTreeMap<u32, Packet<T::Header>>,
    held_so_far: u32,
    silent_until: Time,
}

impl<T: Scheme> Watched<T> {
    /// Notes what a call changed of this host's flows.
    fn note(&mut self, at: Time, cause: Cause) {
        let inner = &self.inner;
        self.flows.retain(|&flow, before| {
            let after = inner.sending(flow, at);
            let concerns = match cause {
                Cause::Packet { flow: of, .. } | Cause::Timer(of) => of == flow,
                Cause::Start => false,
            };
            if concerns || after != Some(*before) {
                let mut witness = self.witness.lock().expect("nobody panicked");
                let arrived = witness.arrived.get(&flow).copied().unwrap_or(0);
                witness.steps.push(Step { at, flow, cause, before: *before, after, arrived });
            }
            *before = after.unwrap_or_default();
            after.is_some()
        });
    }

    fn fate(&mut self, now: Time, packet: &Packet<T::Header>) -> Fate {
        let mut witness = self.witness.lock().expect("nobody panicked");
        let is_answer = self.flows.contains_key(&packet.flow);
        let script = if is_answer { &mut witness.to_senders } else { &mut witness.to_receivers };
        let fate =
            if now < self.silent_until { Fate::Lost } else { script.pop_front().unwrap_or(Fate::Arrives) };
        if let Fate::Silence(span) = fate {
            self.silent_until = now + span;
        }
        let over_at = match fate {
            Fate::Arrives => Time::ZERO,
            Fate::Lost | Fate::Trimmed | Fate::Marked => now,
            Fate::Late(span) | Fate::Silence(span) => now + span,
        };
        witness.struck_at = witness.struck_at.max(over_at);
        fate
    }

    fn hand_on(&mut self, packet: Packet<T::Header>, context: &mut Context<'_, T::Header, T::Agent>) {
        let cause = Cause::Packet { flow: packet.flow, kind: packet.kind };
        let now = context.now;
        if matches!(packet.kind, Kind::Data | Kind::Trimmed) {
            let mut witness = self.witness.lock().expect("nobody panicked");
            *witness.arrived.entry(packet.flow).or_default() += 1;
        }
        self.inner.receive(packet, context);
        self.note(now, cause);
    }
}

impl<T: Scheme> Transport for Watched<T> {
    type Header = T::Header;
    const HAS_PULLS: bool = T::HAS_PULLS;
    type Agent = T::Agent;

    fn start(&mut self, flow: Flow, context: &mut Context<'_, T::Header, T::Agent>) {
        let now = context.now;
        self.flows.insert(flow.id, Sending::default());
        self.inner.start(flow, context);
        self.note(now, Cause::Start);
    }

    fn receive(&mut self, mut packet: Packet<T::Header>, context: &mut Context<'_, T::Header, T::Agent>) {
        match self.fate(context.now, &packet) {
            Fate::Lost | Fate::Silence(_) => {}
            Fate::Late(span) => {
                context.set_timer(context.now + span, self.held_so_far, RELEASE);
                self.held.insert(self.held_so_far, packet);
                self.held_so_far += 1;
            }
            fate => {
                packet.congestion_experienced |= fate == Fate::Marked && packet.is_ecn_capable();
                if fate == Fate::Trimmed && packet.kind == Kind::Data {
                    packet.kind = Kind::Trimmed;
                }
                self.hand_on(packet, context);
            }
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, T::Header, T::Agent>) {
        if timer.purpose == RELEASE {
            let packet = self.held.remove(&timer.key).expect("a packet that is held");
            self.hand_on(packet, context);
        } else {
            let now = context.now;
            self.inner.timer(timer, context);
            self.note(now, Cause::Timer(timer.key));
        }
    }

    fn paused(&mut self, flow: FlowId, is_paused: bool, context: &mut Context<'_, T::Header, T::Agent>) {
        let now = context.now;
        self.inner.paused(flow, is_paused, context);
        self.note(now, Cause::Start);
    }

    fn paused_to(&mut self, dst: HostId, is_paused: bool, context: &mut Context<'_, T::Header, T::Agent>) {
        let now = context.now;
        self.inner.paused_to(dst, is_paused, context);
        self.note(now, Cause::Start);
    }

    fn resumed(&mut self, context: &mut Context<'_, T::Header, T::Agent>) {
        let now = context.now;
        self.inner.resumed(context);
        self.note(now, Cause::Start);
    }

    /// Captured data have their number, whatever the scheme.
    fn segment(packet: &Packet<T::Header>) -> Segment {
        let is_data = matches!(packet.kind, Kind::Data | Kind::Trimmed);
        let number = if is_data { T::number(packet) } else { None };
        number.map_or(Segment::Datagram, |seq| Segment::Data { seq })
    }

    fn sending(&self, flow: FlowId, now: Time) -> Option<Sending> {
        self.inner.sending(flow, now)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.inner.reports()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.inner.statuses()
    }
}

struct Run<'a>(&'a Case, Witness);

impl WithScheme for Run<'_> {
    type Output = (Outcome, Witness);

    fn run<T: Scheme>(self) -> (Outcome, Witness) {
        let Run(case, witness) = self;
        let simulation = Simulation::new(case.clone()).unwrap_or_else(|complaint| panic!("{complaint:?}"));
        let config = T::configure(&simulation.transport());
        let witness = Arc::new(Mutex::new(witness));
        let outcome = simulation.run_on(&Monitor::default(), |plan| {
            let config = T::on_plan(config, plan);
            let witness = witness.clone();
            move || Watched {
                inner: T::new(&config),
                witness: witness.clone(),
                flows: BTreeMap::new(),
                held: BTreeMap::new(),
                held_so_far: 0,
                silent_until: Time::ZERO,
            }
        });
        let witness = std::mem::take(&mut *witness.lock().expect("nobody panicked"));
        (outcome, witness)
    }
}

/// Runs a case with its transport observed; `None`: it is no scheme with packets of its own.
pub fn run(case: &Case, witness: Witness) -> Option<(Outcome, Witness)> {
    let kind = case.scheme.component("transport").kind;
    with_scheme(&kind, Run(case, witness))
}

/// Looks on without doing anything: what comes of it is what would have come without.
pub fn watch(case: &Case) -> Option<(Outcome, Vec<Step>)> {
    run(case, Witness::default()).map(|(outcome, witness)| (outcome, witness.steps))
}
