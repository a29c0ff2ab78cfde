//! Rate controls of queue pairs that users write as Python classes ([`crate::user_class`]): one whose packets carry
//! when they were sent, and one whose packets collect telemetry, too, as HPCC's do. `calls.rs` is the interface to
//! their methods.

mod calls;

pub use calls::{LAYOUTS, symbols};

use super::config::Notification;
use super::control::{AckInfo, Control, FlowPath, Loss};
use super::header::Header;
use super::hpcc::{Hop, Hops, MOST_HOPS, Telemetry};
use super::params::{DATA_CLASS, Defaults, check, core, default_of};
use crate::engine::{Leaving, Moment, PathNeeds, PortAgent, PortInfo};
use crate::packet::Packet;
use crate::spec::{Component, Kind, Needs, Param, Values, param};
use crate::units::{Rate, Time};
use crate::user_class::{Code, Exception, Method, PLACE, Role, named, signed};
use crate::user_class::{ControlError, SchemeError};
use calls::{
    AnswerView, Answered, BASE, ClockView, DropView, Lost, Pace, Passed, RouteView, Sent, SentView, Start,
    TELEMETRY_BASE,
};
use std::marker::PhantomData;

/// A transport whose rate a Python class sets.
pub type PythonRate = super::Rdma<PythonControl<()>>;

/// The same with telemetry.
pub type PythonTelemetry = super::Rdma<PythonControl<Hops>>;

/// What classes are.
pub static RATE: Role = Role { base: BASE, component: PythonControl::<()>::COMPONENT };
/// What classes are that look at telemetry.
pub static TELEMETRY: Role = Role { base: TELEMETRY_BASE, component: PythonControl::<Hops>::COMPONENT };

const MARKED: &[Needs] =
    &[Needs::That(|site| goes_by_marks(site.own), "the class does not go by marks (ecn = True)")];

const CNP: &[Param] = &[
    param! {
        "cnp" = "ack": Kind::Choice(&["ack", "packet"]),
        "If the class uses marks: how they come back, with each marked packet's ACK, or in CNPs, at most one per flow and cnp_interval.",
        "HPCC's simulator: the CNP flag; DCQCN (SIGCOMM 2015) §3.1: NP"; acts MARKED
    },
    param! {
        "cnp_interval" = "50us": Kind::Time,
        "With cnp = \"packet\": the least time between a flow's CNPs.",
        "DCQCN §3.1: N = 50 us"; acts &[MARKED[0], Needs::Is("cnp", &["packet"])]
    },
];

/// What packets carry: when they were sent, and what switches write.
#[derive(Clone, Copy, Debug)]
pub struct Stamped<T> {
    /// `NEVER` in what answers no packet.
    sent_at: Time,
    written: T,
}

impl<T: Default> Default for Stamped<T> {
    fn default() -> Stamped<T> {
        Stamped { sent_at: Time::NEVER, written: T::default() }
    }
}

/// What switches write into packets.
pub trait Written: Copy + Default + std::fmt::Debug + Send + 'static {
    /// Who writes it.
    type Agent: PortAgent<Header<Stamped<Self>>>;
    /// The transport.
    const COMPONENT: Component;
    /// The most switches for which there is space.
    const MOST_SWITCHES: usize;

    /// What a class is.
    fn role() -> &'static Role;

    /// The hops of a packet.
    fn hops(&self) -> &[Hop];
}

impl Written for () {
    type Agent = ();
    const MOST_SWITCHES: usize = usize::MAX;
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "python-rate",
        doc: "A rate control of RDMA queue pairs of your own: a Python class, compiled when the scenario is read. Its packets carry a time stamp of 8 B. Beside these it has the parameters that the class declares.",
        source: "docs/your-own-scheme.md",
        params: &[
            &core(Defaults {
                header: ("56B", "HPCC's simulator: 48 B and a time stamp of 8 B"),
                class: DATA_CLASS,
                ..default_of()
            }),
            CNP,
            PLACE,
        ],
        check,
    };

    fn role() -> &'static Role {
        &RATE
    }

    fn hops(&self) -> &[Hop] {
        &[]
    }
}

impl Written for Hops {
    type Agent = Writer;
    const MOST_SWITCHES: usize = MOST_HOPS;
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "python-telemetry",
        doc: "A rate control of RDMA queue pairs of your own, as python-rate, whose packets collect telemetry (INT): each switch writes its queue, the bytes that it sent, the time and its rate, as for HPCC.",
        source: "docs/your-own-scheme.md",
        params: &[
            &core(Defaults {
                header: ("98B", "HPCC's simulator: 48 B, INT of 42 B and a time stamp of 8 B"),
                ack: ("88B", "HPCC's simulator: 14 B Ethernet, 20 B IPv4, 12 B and INT of 42 B"),
                class: DATA_CLASS,
                ..default_of()
            }),
            CNP,
            PLACE,
        ],
        check,
    };

    fn role() -> &'static Role {
        &TELEMETRY
    }

    fn hops(&self) -> &[Hop] {
        self.written()
    }
}

/// Writes a switch's port into packets.
#[derive(Clone, Debug)]
pub struct Writer(Telemetry);

impl PortAgent<Header<Stamped<Hops>>> for Writer {
    const ACTIVE: bool = false;
    const SEES_DEPARTURES: bool = true;
    const NEEDS: PathNeeds = PathNeeds::OnePerFlow;

    fn build(_: &Values, port: PortInfo) -> Writer {
        Writer(Telemetry::exact(port))
    }

    fn forward(&mut self, _: Moment, _: &mut Packet<Header<Stamped<Hops>>>) {}

    fn depart(&mut self, leaving: Leaving, packet: &mut Packet<Header<Stamped<Hops>>>) {
        if let Some(hop) = self.0.hop(leaving, packet.kind) {
            packet.header.fields.written.push(hop);
        }
    }
}

/// The class's methods.
#[derive(Clone, Copy, Debug)]
struct Methods {
    start: Option<Method<Start>>,
    answered: Option<Method<Answered>>,
    lost: Option<Method<Lost>>,
    passed: Option<Method<Passed>>,
    sent: Option<Method<Sent>>,
}

/// A class and what a scenario sets of it.
#[derive(Clone, Debug)]
pub struct Settings {
    class: &'static str,
    methods: Methods,
    state: Box<[u64]>,
    moves_pending: bool,
}

impl Settings {
    fn of(code: &Code, values: &Values) -> Settings {
        let methods = Methods {
            start: code.method(),
            answered: code.method(),
            lost: code.method(),
            passed: code.method(),
            sent: code.method(),
        };
        let moves_pending = code.constant("moves_pending") != 0;
        Settings { class: code.name, methods, state: code.state(values), moves_pending }
    }
}

/// One flow's state; what the class does not define changes nothing.
#[derive(Clone, Debug)]
pub struct PythonControl<T> {
    /// The class's parameters, then its fields.
    state: Box<[u64]>,
    pace: Pace,
    error: Option<ControlError>,
    written: PhantomData<T>,
}

impl<T: Written> Control for PythonControl<T> {
    const COMPONENT: Component = T::COMPONENT;
    type Fields = Stamped<T>;
    type Agent = T::Agent;
    type Settings = Settings;

    fn most_switches(_: &Values) -> usize {
        T::MOST_SWITCHES
    }

    fn settings(values: &Values) -> Settings {
        Settings::of(code::<T>(values), values)
    }

    fn notification(values: &Values) -> Notification {
        match values.text("cnp").as_str() {
            _ if code::<T>(values).constant("ecn") == 0 => Notification::None,
            "packet" => Notification::Packets(values.time("cnp_interval")),
            _ => Notification::InAcks,
        }
    }

    fn moves_pending(settings: &Settings) -> bool {
        settings.moves_pending
    }

    fn new(settings: &Settings, path: &FlowPath) -> PythonControl<T> {
        let (state, pace) = (settings.state.clone(), Pace::of(path));
        let mut new = PythonControl { state, pace, error: None, written: PhantomData };
        if let Some(start) = settings.methods.start {
            let done = start.call(&mut new.state, &RouteView::of(path), &mut new.pace);
            new.look_at(settings, "start", done);
        }
        new
    }

    fn fields(&self, now: Time) -> Stamped<T> {
        Stamped { sent_at: now, written: T::default() }
    }

    fn sent(&mut self, settings: &Settings, now: Time, wire_bytes: u16) {
        if let Some(sent) = settings.methods.sent {
            let packet = SentView { size_bytes: wire_bytes.into(), now_ps: signed(now.as_ps()) };
            let done = sent.call(&mut self.state, &packet, &mut self.pace);
            self.look_at(settings, "sent", done);
        }
    }

    fn acknowledged(&mut self, settings: &Settings, ack: &AckInfo, fields: &Stamped<T>) {
        let Some(answered) = settings.methods.answered else { return };
        let answer = AnswerView::of(ack, Some(fields.sent_at).filter(|&at| at != Time::NEVER));
        let state = &mut self.state;
        let done = self.pace.with_hops(fields.written.hops(), |pace| answered.call(state, &answer, pace));
        self.look_at(settings, "answered", done);
    }

    fn lost(&mut self, settings: &Settings, now: Time, loss: Loss) {
        if let Some(lost) = settings.methods.lost {
            let drop = DropView { timeout: (loss == Loss::Timeout).into(), now_ps: signed(now.as_ps()) };
            let done = lost.call(&mut self.state, &drop, &mut self.pace);
            self.look_at(settings, "lost", done);
        }
    }

    fn advance(&mut self, settings: &Settings, now: Time) {
        if let Some(passed) = settings.methods.passed {
            let done =
                passed.call(&mut self.state, &ClockView { now_ps: signed(now.as_ps()) }, &mut self.pace);
            self.look_at(settings, "passed", done);
        }
    }

    fn rate(&self) -> Rate {
        self.pace.rate()
    }

    fn window_bytes(&self) -> u64 {
        self.pace.window_bytes()
    }

    fn take_error(&mut self) -> Option<ControlError> {
        self.error.take()
    }
}

impl<T> PythonControl<T> {
    fn look_at(&mut self, settings: &Settings, method: &'static str, done: Result<(), Exception>) {
        let repaired = self.pace.repair().map(SchemeError::from);
        let raised = done.err().map(|Exception| SchemeError::Exception);
        if let Some(error) = raised.or(repaired) {
            self.error = Some(ControlError { class: settings.class, method, error });
        }
    }
}

/// Whether a transport is a class of these that goes by marks.
pub(super) fn goes_by_marks(values: &Values) -> bool {
    let is_it = |role: &&Role| role.component.kind == values.kind;
    let code = [&RATE, &TELEMETRY].into_iter().find(is_it).and_then(|role| named(role, values).ok());
    code.is_some_and(|code| code.constant("ecn") != 0)
}

fn code<T: Written>(values: &Values) -> &'static Code {
    named(T::role(), values).expect("it was loaded with the scenario")
}
