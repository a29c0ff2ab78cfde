//! A network that a program drives, in batches: arrays of messages in, arrays of events out.

use crate::arrays::{Array, array};
use crate::outcome::Outcome;
use crate::{ArgumentError, ScenarioError};
use cpu_time::ThreadTime;
use packetloom::units::Time;
use packetloom_network::{
    Change, Error, Event, EventKind, Label, Message, Network as Core, Next, Options, open,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

pyo3::import_exception!(packetloom.errors, InvariantError);

/// A network on its way, and what it took so far.
struct Running {
    core: Core,
    cpu: Duration,
    wall: Duration,
}

/// A network on its way through time.
#[pyclass(frozen, module = "packetloom._core")]
pub struct Network(Mutex<Option<Running>>);

fn error(error: Error) -> PyErr {
    match error {
        Error::Scenario(text) => ScenarioError::new_err(text),
        Error::Argument(text) => ArgumentError::new_err(text),
        Error::Violated(text) => InvariantError::new_err(text),
    }
}

impl Network {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<Running>>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::WouldBlock) => {
                Err(ArgumentError::new_err("another thread uses this network; use it from one at a time"))
            }
            Err(TryLockError::Poisoned(_)) => {
                Err(InvariantError::new_err("the network broke in an earlier call"))
            }
        }
    }

    /// Does something with the network, and counts the time that it takes.
    fn with<R>(&self, act: impl FnOnce(&mut Core) -> Result<R, Error>) -> PyResult<R> {
        let mut guard = self.lock()?;
        let running = guard.as_mut().ok_or_else(closed)?;
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        let result = act(&mut running.core).map_err(error);
        running.cpu += cpu.elapsed();
        running.wall += wall.elapsed();
        result
    }
}

fn borrowed(written: &[(String, String)]) -> Vec<(&str, &str)> {
    written.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect()
}

fn closed() -> PyErr {
    ArgumentError::new_err("the network was closed; open another")
}

/// The state of a message at its sender.
type Sender = (u64, u64, f64, f64, f64, u32);

#[pymethods]
impl Network {
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        origin: &str,
        format: &str,
        audit: bool,
        threads: u32,
    ) -> PyResult<Network> {
        let directory = Path::new(origin).parent().unwrap_or(Path::new(""));
        let source = if origin.is_empty() { "scenario" } else { origin };
        let options = Options { source, directory, is_json: format == "json", audit, threads };
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        let core = py.detach(|| open(text, &options)).map_err(error)?;
        Ok(Network(Mutex::new(Some(Running { core, cpu: cpu.elapsed(), wall: wall.elapsed() }))))
    }

    #[getter]
    fn hosts(&self) -> PyResult<u32> {
        self.with(|core| Ok(core.hosts()))
    }

    #[getter]
    fn now_ps(&self) -> PyResult<u64> {
        self.with(|core| Ok(core.now().as_ps()))
    }

    #[getter]
    fn open_messages(&self) -> PyResult<u64> {
        self.with(|core| Ok(core.open_messages()))
    }

    /// Sends messages, a row of each array; all of them, or none. Returns the number of the first.
    #[expect(clippy::too_many_arguments, reason = "an array each")]
    fn send(
        &self,
        src: Array<u32>,
        dst: Array<u32>,
        bytes: Array<u64>,
        tag: Array<u64>,
        channel: Array<u32>,
        class: Array<u8>,
        delay_ps: Array<u64>,
        user: Array<u64>,
    ) -> PyResult<u64> {
        let count = src.len();
        let lengths =
            [dst.len(), bytes.len(), tag.len(), channel.len(), class.len(), delay_ps.len(), user.len()];
        if lengths.iter().any(|length| *length != count) {
            return Err(ArgumentError::new_err("the arrays differ in length; give each as many entries"));
        }
        let message = |row: usize| Message {
            src: src[row],
            dst: dst[row],
            bytes: bytes[row],
            tag: tag[row],
            channel: channel[row],
            class: class[row],
            delay: Time(delay_ps[row]),
            user: user[row],
        };
        self.with(|core| {
            (0..count).try_for_each(|row| core.may_send(&message(row)))?;
            let mut first = None;
            for row in 0..count {
                first = first.or(Some(u64::from(core.send(&message(row))?)));
            }
            Ok(first.unwrap_or(0))
        })
    }

    /// Sets timers; returns the number of the first.
    fn timers(&self, at_ps: Array<u64>, user: Array<u64>) -> PyResult<u64> {
        if at_ps.len() != user.len() {
            return Err(ArgumentError::new_err("the arrays differ in length; give each as many entries"));
        }
        self.with(|core| {
            (0..at_ps.len()).try_for_each(|row| core.may_set_timer(Time(at_ps[row])))?;
            let mut first = None;
            for row in 0..at_ps.len() {
                first = first.or(Some(core.timer(Time(at_ps[row]), user[row])?));
            }
            Ok(first.unwrap_or(0))
        })
    }

    /// Goes on until an event comes, or to `until_ps`. Returns the events, of one moment and at most so many later ones
    /// as `most` has room for, and why no more came, if not for that.
    fn next<'py>(
        &self,
        py: Python<'py>,
        until_ps: u64,
        most: usize,
    ) -> PyResult<(Bound<'py, PyDict>, &'static str, String)> {
        let mut events = Vec::new();
        let (why, text) = py.detach(|| {
            self.with(|core| {
                while events.len() < most {
                    match core.next(Time(until_ps))? {
                        Next::Event(event) => events.push(event),
                        Next::Reached => return Ok(("reached", String::new())),
                        Next::End => return Ok(("end", String::new())),
                        Next::Stalled(text) => return Ok(("stalled", text)),
                    }
                }
                Ok(("events", String::new()))
            })
        })?;
        Ok((columns(py, &events)?, why, text))
    }

    /// The state of a message at its sender: arrived and in-flight bytes, window, rate, RTT and retransmissions.
    fn progress(&self, message: u32) -> PyResult<Option<Sender>> {
        self.with(|core| {
            Ok(core.progress(message).map(|found| {
                let rate = found.rate_bps.map_or(f64::NAN, |rate| rate as f64);
                let rtt = found.rtt.map_or(f64::NAN, Time::as_ns_f64);
                let window = found.window_bytes.unwrap_or(f64::NAN);
                (found.arrived_bytes, found.in_flight_bytes, window, rate, rtt, found.retransmissions)
            }))
        })
    }

    /// The transport's parameters that may be set, the queue's, and the routing's.
    #[getter]
    fn settable(&self) -> PyResult<[Vec<&'static str>; 3]> {
        self.with(|core| Ok(core.settable().map(<[_]>::to_vec)))
    }

    #[getter]
    fn switches(&self) -> PyResult<(u32, u32)> {
        self.with(|core| Ok(core.switches()))
    }

    /// Sets parameters of the transport at hosts, of the queue at switches, and of the routing where they act.
    #[expect(clippy::needless_pass_by_value, reason = "they come from Python")]
    fn set(
        &self,
        hosts: Vec<u32>,
        transport: Vec<(String, String)>,
        switches: Vec<u32>,
        queue: Vec<(String, String)>,
        routing: Vec<(String, String)>,
    ) -> PyResult<()> {
        let [transport, queue, routing] = [&transport, &queue, &routing].map(|written| borrowed(written));
        let change = Change {
            hosts: &hosts,
            transport: &transport,
            switches: &switches,
            queue: &queue,
            routing: &routing,
        };
        self.with(|core| core.set(&change))
    }

    /// The ports of switches as the last window ended: when that was, and columns.
    fn switch_ports<'py>(&self, py: Python<'py>) -> PyResult<(u64, Bound<'py, PyDict>)> {
        let (at, ports) = self.with(|core| Ok(core.switch_ports()))?;
        let table = PyDict::new(py);
        table.set_item("link", array(py, ports.iter().map(|port| port.link))?)?;
        table.set_item("switch", array(py, ports.iter().map(|port| port.switch))?)?;
        table.set_item("queued_bytes", array(py, ports.iter().map(|port| port.queued_bytes))?)?;
        table.set_item("sent_bytes", array(py, ports.iter().map(|port| port.counters.bytes))?)?;
        table.set_item("marks", array(py, ports.iter().map(|port| port.counters.marks))?)?;
        table.set_item("drops", array(py, ports.iter().map(|port| port.counters.drops))?)?;
        Ok((at.as_ps(), table))
    }

    /// The name of a link.
    fn link_name(&self, link: u32) -> PyResult<String> {
        self.with(|core| core.link_name(link))
    }

    /// The case, as JSON.
    #[getter]
    fn case_json(&self) -> PyResult<String> {
        self.with(|core| Ok(core.case().to_json().to_string()))
    }

    /// Ends the run; returns its outcome, and the caller's labels of all messages: tags, channels, and users.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Outcome, Bound<'py, PyDict>)> {
        let running = self.lock()?.take().ok_or_else(closed)?;
        let (wall, clock) = (Instant::now(), ThreadTime::now());
        let finished = py.detach(|| running.core.finish()).map_err(error)?;
        let (cpu, wall) = (running.cpu + clock.elapsed(), running.wall + wall.elapsed());
        let labels = PyDict::new(py);
        let of = |of: fn(&Label) -> u64| array(py, finished.labels.iter().map(of));
        labels.set_item("tag", of(|label| label.tag)?)?;
        labels.set_item("user", of(|label| label.user)?)?;
        labels.set_item("channel", array(py, finished.labels.iter().map(|label| label.channel))?)?;
        Ok((Outcome::new(finished.outcome, cpu.as_secs_f64(), wall.as_secs_f64()), labels))
    }

    /// Closes the network without an outcome.
    fn close(&self) -> PyResult<()> {
        self.lock()?.take();
        Ok(())
    }
}

fn columns<'py>(py: Python<'py>, events: &[Event]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let kind = |event: &Event| match event.kind {
        EventKind::Sent => 1_u8,
        EventKind::Received => 2,
        EventKind::Timer => 3,
    };
    table.set_item("kind", array(py, events.iter().map(kind))?)?;
    table.set_item("at_ps", array(py, events.iter().map(|event| event.at.as_ps()))?)?;
    table.set_item("id", array(py, events.iter().map(|event| event.id))?)?;
    table.set_item("user", array(py, events.iter().map(|event| event.user))?)?;
    table.set_item("src", array(py, events.iter().map(|event| event.src))?)?;
    table.set_item("dst", array(py, events.iter().map(|event| event.dst))?)?;
    table.set_item("bytes", array(py, events.iter().map(|event| event.bytes))?)?;
    table.set_item("tag", array(py, events.iter().map(|event| event.tag))?)?;
    table.set_item("channel", array(py, events.iter().map(|event| event.channel))?)?;
    Ok(table)
}
