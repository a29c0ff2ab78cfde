//! A congestion control that a user writes as a Python class.
//!
//! The class is compiled when the scenario is read (by `packetloom.schemes`, through numba), and its methods are
//! called by their addresses: no interpreter takes part in a run. `calls.rs` is the interface to them, `code.rs`
//! keeps what was compiled, `bench.rs` drives a control by hand.

mod bench;
mod calls;
mod code;

pub use bench::{Bench, BenchError};
pub use calls::{Method, symbols};
pub use code::{Class, ClassParam, Code, Place, load, set_loader};

use super::tcp::NewReno;
use super::windowed::{Acked, Congestion, Window, Windowed, check, core, default_of};
use crate::engine::ControlError;
use crate::flow::Flow;
use crate::spec::{Complaint, Component, Value, Values};
use crate::units::Time;
use calls::{AckView, FlowView, LossView};

/// The name of the transport.
pub const KIND: &str = "python";

/// A transport whose congestion control is a Python class.
pub type Python = Windowed<PythonControl>;

/// One flow's state, and what works on it; what the class does not define is NewReno's.
#[derive(Clone, Debug)]
pub struct PythonControl {
    code: &'static Code,
    /// The class's parameters, then its fields.
    state: Box<[u64]>,
    /// What starts the flow; called with the window as soon as there is one.
    flow: Option<Box<FlowView>>,
    error: Option<ControlError>,
}

impl Congestion for PythonControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: KIND,
        doc: "A congestion control of your own: a Python class, compiled when the scenario is read. Beside these it has the parameters that the class declares.",
        source: "docs/your-own-scheme.md",
        params: &[&core(default_of()), code::PLACE],
        check,
    };
    const ECN: bool = false;

    fn ecn(values: &Values) -> bool {
        code::with_place(values, load).is_ok_and(|code| code.class.ecn)
    }

    fn prepare(values: &Values) -> Result<(), Complaint> {
        let loaded = code::with_place(values, load);
        loaded.map(|_| ()).map_err(|message| Complaint::new("scheme.transport.file", message))
    }

    fn new(values: &Values, flow: &Flow) -> PythonControl {
        let code = code::with_place(values, load).expect("it was prepared");
        let params = code.class.params.iter().map(|param| bits(values.get(&param.name)));
        let state = params.chain(code.class.initial.iter().copied()).collect();
        let view = code.class.start.map(|_| Box::new(FlowView::of(flow)));
        PythonControl { code, state, flow: view, error: None }
    }

    fn started(&mut self, window: &mut Window) {
        if let (Some(start), Some(flow)) = (self.code.class.start, self.flow.take()) {
            start.call(&mut self.state, &flow, window);
            self.look_at(window, "start");
        }
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        match self.code.class.acknowledged {
            Some(method) => {
                method.call(&mut self.state, &AckView::of(&acked), window);
                self.look_at(window, "acknowledged");
            }
            None => NewReno.acknowledged(acked, window),
        }
    }

    fn lost(&mut self, in_flight: u32, window: &mut Window) {
        if let Some(method) = self.code.class.lost {
            method.call(&mut self.state, &LossView::of(in_flight, false), window);
            self.look_at(window, "lost");
        } else {
            NewReno.lost(in_flight, window);
        }
    }

    fn timed_out(&mut self, in_flight: u32, again: bool, window: &mut Window) {
        if let Some(method) = self.code.class.timed_out {
            method.call(&mut self.state, &LossView::of(in_flight, again), window);
            self.look_at(window, "timed_out");
        } else {
            NewReno.timed_out(in_flight, again, window);
        }
    }

    #[inline]
    fn take_error(&mut self) -> Option<ControlError> {
        self.error.take()
    }
}

impl PythonControl {
    #[inline]
    fn look_at(&mut self, window: &mut Window, method: &'static str) {
        if let Some(error) = window.repair() {
            self.error = Some(ControlError { method, error });
        }
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
        AckView {
            packets: acked.packets.into(),
            advanced: acked.advanced.into(),
            marked: acked.echo.into(),
            una: acked.una.into(),
            next: acked.next.into(),
            now_ps: signed(acked.now.as_ps()),
            rtt_ps: signed(acked.rtt.as_ps()),
        }
    }
}

impl LossView {
    fn of(in_flight: u32, again: bool) -> LossView {
        LossView { in_flight: in_flight.into(), again: again.into() }
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A parameter's value as a method finds it: floating point for a number, else a whole number in its unit.
fn bits(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.to_bits(),
        Value::Time(time) => time.as_ps(),
        Value::Rate(rate) => rate.as_bps(),
        Value::Bytes(count) | Value::Packets(count) | Value::Count(count) => *count,
        Value::Flag(flag) => (*flag).into(),
        other => panic!("{other:?} is no parameter of a class"),
    }
}
