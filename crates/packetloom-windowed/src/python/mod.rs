//! A congestion control that a user writes as a Python class.
//!
//! [`crate::user_class`] has the class; `calls.rs` is the interface to its methods, `bench.rs` drives a control by
//! hand.

mod bench;
mod calls;

pub use bench::{Bench, BenchError};
pub use calls::{LAYOUTS, symbols};

use super::tcp::NewReno;
use super::windowed::{
    Acked, Congestion, Defaults, Header, Limit, Reacts, Window, Windowed, check, core, default_of,
};
use crate::flow::Flow;
use crate::narrow::{exact, narrow, saturated};
use crate::packet::Packet;
use crate::spec::{Component, Values};
use crate::units::{Rate, Time};
use crate::user_class::{Code, Exception, Hook, Method, PLACE, Role, named, signed};
use crate::user_class::{ControlError, LabelError, SchemeError, WindowError};
use calls::{
    AckView, Acknowledged, AcknowledgedInRecovery, DataView, FlowView, Label, Labels, LossView, Lost,
    Recovered, Resumed, Start, Steering, TimedOut,
};

/// The name of the transport.
pub const KIND: &str = "python";

/// A transport whose congestion control is a Python class.
pub type Python = Windowed<PythonControl>;

/// What a class is.
pub static ROLE: Role = Role { base: calls::BASE, component: PythonControl::COMPONENT };

/// One flow's state, and what works on it; what the class does not define is NewReno's.
#[derive(Clone, Debug)]
pub struct PythonControl {
    methods: Methods,
    /// The class's parameters, then its fields.
    state: Box<[u64]>,
    /// What starts the flow; called with the window as soon as there is one.
    flow: Option<Box<FlowView>>,
    /// What its methods set beside the window.
    pacing: Option<Rate>,
    error: Option<ControlError>,
}

#[derive(Clone, Copy, Debug)]
struct Methods {
    class: &'static str,
    start: Option<Method<Start>>,
    resumed: Option<Method<Resumed>>,
    acknowledged: Option<Method<Acknowledged>>,
    acknowledged_in_recovery: Option<Method<AcknowledgedInRecovery>>,
    lost: Option<Method<Lost>>,
    recovered: Option<Method<Recovered>>,
    timed_out: Option<Method<TimedOut>>,
    label: Option<Method<Label>>,
    /// How many classes `label` sorts packets into; none if it leaves that to the workload.
    classes: u16,
}

impl Methods {
    fn of(code: &Code) -> Methods {
        Methods {
            class: code.name,
            start: code.method(),
            resumed: code.method(),
            acknowledged: code.method(),
            acknowledged_in_recovery: code.method(),
            lost: code.method(),
            recovered: code.method(),
            timed_out: code.method(),
            label: code.method(),
            classes: exact::<u16>(code.constant("classes").clamp(0, 256)),
        }
    }
}

impl Congestion for PythonControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: KIND,
        doc: "A congestion control of your own: a Python class, compiled when the scenario is read. Beside these it has the parameters that the class declares.",
        source: "docs/your-own-scheme.md",
        params: &[&core(Defaults { reacts: Reacts::Marks, ..default_of() }), PLACE],
        check,
    };
    const ECN: bool = false;
    const MEASURES: bool = true;
    const PACES: bool = true;

    fn ecn(values: &Values) -> bool {
        named(&ROLE, values).is_ok_and(|code| code.constant("ecn") != 0)
    }

    fn new(values: &Values) -> PythonControl {
        let code = named(&ROLE, values).expect("it was loaded with the scenario");
        let (methods, state) = (Methods::of(code), code.state(values));
        PythonControl { methods, state, flow: None, pacing: None, error: None }
    }

    fn serve(&mut self, flow: &Flow) {
        self.flow = self.methods.start.map(|_| Box::new(FlowView::of(flow)));
    }

    fn measures(values: &Values) -> bool {
        named(&ROLE, values).is_ok_and(|code| code.constant("measures") != 0)
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn started(&mut self, window: &mut Window) {
        if let (Some(start), Some(flow)) = (self.methods.start, self.flow.take()) {
            self.call(start, &flow, window);
        }
    }

    fn resumed(&mut self, flow: &Flow, window: &mut Window) {
        self.flow = None;
        if let Some(resumed) = self.methods.resumed {
            self.call(resumed, &FlowView::of(flow), window);
        }
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        match self.methods.acknowledged {
            Some(method) => self.call(method, &AckView::of(&acked), window),
            None => NewReno.acknowledged(acked, window),
        }
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, window: &mut Window) {
        if let Some(method) = self.methods.acknowledged_in_recovery {
            self.call(method, &AckView::of(&acked), window);
        }
    }

    fn lost(&mut self, in_flight: u32, window: &mut Window) {
        match self.methods.lost {
            Some(method) => self.call(method, &LossView::of(in_flight, false), window),
            None => NewReno.lost(in_flight, window),
        }
    }

    #[inline]
    fn recovered(&mut self, window: &mut Window) {
        if let Some(recovered) = self.methods.recovered {
            self.call(recovered, &(), window);
        }
    }

    fn timed_out(&mut self, in_flight: u32, again: bool, window: &mut Window) {
        match self.methods.timed_out {
            Some(method) => self.call(method, &LossView::of(in_flight, again), window),
            None => NewReno.timed_out(in_flight, again, window),
        }
    }

    fn classes(values: &Values) -> Option<u64> {
        let classes = named(&ROLE, values).map_or(0, |code| code.constant("classes"));
        u64::try_from(classes).ok().filter(|&classes| classes > 0)
    }

    #[inline]
    fn label(&mut self, sent_bytes: u64, packet: &mut Packet<Header>) {
        let Some(method) = self.methods.label else { return };
        let data = DataView { sent_bytes: signed(sent_bytes), size_bytes: packet.size_bytes.into() };
        let mut labels = Labels { traffic_class: packet.class.into(), priority: packet.priority.into() };
        let done = method.call(&mut self.state, &data, &mut labels);
        let done = done.map_err(|Exception| SchemeError::Exception);
        let checked = || labels.checked(packet.class, self.methods.classes).map_err(SchemeError::Label);
        match done.and_then(|()| checked()) {
            Ok(found) => (packet.class, packet.priority) = found,
            Err(error) => self.note(Label::NAME, error),
        }
    }

    #[inline]
    fn take_error(&mut self) -> Option<ControlError> {
        self.error.take()
    }
}

impl PythonControl {
    /// Calls a method, which may set the window and the pacing rate.
    #[inline]
    fn call<H: Hook<Tools = Steering>>(&mut self, method: Method<H>, event: &H::Event, window: &mut Window) {
        let pacing_rate_bps = self.pacing.map_or(0.0, |rate| rate.as_bps() as f64);
        let mut steering = Steering { window: *window, pacing_rate_bps };
        let done = method.call(&mut self.state, event, &mut steering);
        *window = steering.window;
        self.set_pacing(steering.pacing_rate_bps, H::NAME);
        self.look_at(window, H::NAME, done);
    }

    #[inline]
    fn set_pacing(&mut self, bps: f64, method: &'static str) {
        if bps == 0.0 {
            self.pacing = None;
        } else if bps > 0.0 {
            self.pacing = Some(Rate(saturated::<u64>(bps).max(1)));
        } else {
            self.note(method, WindowError::Pacing.into());
        }
    }

    #[inline]
    fn look_at(&mut self, window: &mut Window, method: &'static str, done: Result<(), Exception>) {
        if let Some(error) = window.repair() {
            self.note(method, error.into());
        }
        if done.is_err() {
            self.note(method, SchemeError::Exception);
        }
    }

    #[cold]
    fn note(&mut self, method: &'static str, error: SchemeError) {
        self.error = Some(ControlError { class: self.methods.class, method, error });
    }
}

impl Labels {
    /// The class and the priority, if they can be those of a packet whose flow is of `class`.
    #[inline]
    fn checked(&self, class: u8, classes: u16) -> Result<(u8, u32), LabelError> {
        let is_one = match classes {
            0 => self.traffic_class == i64::from(class),
            _ => (0..i64::from(classes)).contains(&self.traffic_class),
        };
        if !is_one {
            return Err(LabelError::Class { class: self.traffic_class, classes });
        }
        let priority = u32::try_from(self.priority).map_err(|_| LabelError::Priority(self.priority))?;
        Ok((narrow::<u8>(self.traffic_class), priority))
    }
}

impl FlowView {
    fn of(flow: &Flow) -> FlowView {
        FlowView {
            id: flow.id.into(),
            src: flow.src.into(),
            dst: flow.dst.into(),
            size_bytes: signed(flow.size_bytes),
            start_ps: signed(flow.start.as_ps()),
            deadline_ps: if flow.deadline == Time::NEVER { -1 } else { signed(flow.deadline.as_ps()) },
        }
    }
}

impl AckView {
    #[inline]
    fn of(acked: &Acked) -> AckView {
        let sample = &acked.sample;
        AckView {
            packets: acked.packets.into(),
            advanced: acked.advanced.into(),
            marked: acked.echo.into(),
            una: acked.una.into(),
            next: acked.next.into(),
            now_ps: signed(acked.now.as_ps()),
            rtt_ps: signed(acked.rtt.as_ps()),
            rtt_sample_ps: signed(sample.rtt.unwrap_or(Time::ZERO).as_ps()),
            min_rtt_ps: signed(sample.min_rtt.unwrap_or(Time::ZERO).as_ps()),
            outstanding: sample.in_flight.into(),
            delivered_bytes: signed(sample.delivered_bytes),
            lost_bytes: signed(sample.lost_bytes),
            prior_delivered_bytes: sample.delivery.map_or(0, |one| signed(one.prior_delivered_bytes)),
            delivery_rate_bps: sample
                .delivery
                .and_then(|one| one.rate)
                .map_or(0.0, |rate| rate.as_bps() as f64),
            app_limited: sample.delivery.is_some_and(|one| one.is_app_limited).into(),
            limited_by: match sample.limit {
                Limit::Application => 0,
                Limit::Window => 1,
                Limit::Pacing => 2,
            },
        }
    }
}

impl LossView {
    fn of(in_flight: u32, again: bool) -> LossView {
        LossView { in_flight: in_flight.into(), again: again.into() }
    }
}
