//! A thread's networks by their handles, and its last error.

use crate::table;
use packetloom::units::Time;
use packetloom_network::{Change, Error, Message, Network, Next, Options, Progress, SwitchPort, open};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a call failed: what it returns, and the text.
#[derive(Debug)]
pub struct Failure {
    /// A negative number of the header.
    pub code: i32,
    /// What was wrong.
    pub text: String,
}

/// The scenario is wrong.
pub const WRONG_SCENARIO: i32 = -1;
/// An argument is wrong.
pub const WRONG_ARGUMENT: i32 = -2;
/// There is no such network.
pub const NO_NETWORK: i32 = -3;
/// The run is worth nothing.
pub const BROKEN: i32 = -4;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match error {
            Error::Scenario(_) => WRONG_SCENARIO,
            Error::Argument(_) => WRONG_ARGUMENT,
            Error::Violated(_) => BROKEN,
        };
        Failure { code, text: error.to_string() }
    }
}

/// No two networks of a process have the same handle, whichever threads they belong to.
static NEXT_HANDLE: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static NETWORKS: RefCell<BTreeMap<u64, Network>> = const { RefCell::new(BTreeMap::new()) };
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// Calls `act`; what goes wrong leaves its text behind, and not even a panic leaves this function.
pub fn guarded(act: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    let failure = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(code)) => return code,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            let text = text.unwrap_or_default();
            Failure { code: BROKEN, text: format!("a fault of packetloom: {text}") }
        }
    };
    note(&failure.text);
    failure.code
}

/// Keeps a text for [`last_error`].
pub fn note(text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST_ERROR.with_borrow_mut(|last| *last = text);
}

/// Gives `read` this thread's last error.
pub fn last_error<R>(read: impl FnOnce(&CStr) -> R) -> R {
    LAST_ERROR.with_borrow(|last| read(last))
}

/// An argument that can't be.
pub fn wrong(text: impl Into<String>) -> Failure {
    Failure { code: WRONG_ARGUMENT, text: text.into() }
}

/// Opens a network.
///
/// # Errors
/// What of the scenario is wrong.
pub fn open_text(text: &str, options: &Options<'_>) -> Result<u64, Failure> {
    let network = open(text, options)?;
    let handle = NEXT_HANDLE.fetch_add(1, Ordering::Relaxed);
    NETWORKS.with_borrow_mut(|networks| networks.insert(handle, network));
    Ok(handle)
}

/// Opens the network of a scenario in a file.
///
/// # Errors
/// What of the file or of the scenario is wrong.
pub fn open_file(path: &str, audit: bool, threads: u32) -> Result<u64, Failure> {
    let file = Path::new(path);
    let text =
        packetloom::files::read_text(file, packetloom::files::MOST_SCENARIO_BYTES).map_err(|error| {
            Failure { code: WRONG_SCENARIO, text: format!("{path}: cannot read this file: {error}") }
        })?;
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    let directory = file.parent().unwrap_or(Path::new(""));
    open_text(&text, &Options { source: path, directory, is_json, audit, threads })
}

/// Closes a network.
///
/// # Errors
/// There is none of this handle.
pub fn take(handle: u64) -> Result<Network, Failure> {
    NETWORKS.with_borrow_mut(|networks| networks.remove(&handle)).ok_or_else(|| none(handle))
}

/// Does something with a network.
///
/// # Errors
/// There is none of this handle, or what is done fails.
pub fn with<R>(handle: u64, act: impl FnOnce(&mut Network) -> Result<R, Failure>) -> Result<R, Failure> {
    NETWORKS.with_borrow_mut(|networks| match networks.get_mut(&handle) {
        Some(network) => act(network),
        None => Err(none(handle)),
    })
}

/// Sends messages: all of them, or none; returns the number of the first.
///
/// # Errors
/// The first of them that can't be sent.
pub fn send(
    handle: u64,
    messages: impl Iterator<Item = Result<Message, Failure>> + Clone,
) -> Result<u64, Failure> {
    with(handle, |network| {
        for message in messages.clone() {
            network.may_send(&message?)?;
        }
        let mut first = None;
        for message in messages {
            let id = u64::from(network.send(&message?)?);
            first = first.or(Some(id));
        }
        Ok(first.unwrap_or(0))
    })
}

/// See [`Network::next`].
///
/// # Errors
/// A time in the past, or why the run is worth nothing.
pub fn next(handle: u64, until_ps: u64) -> Result<Next, Failure> {
    with(handle, |network| Ok(network.next(Time(until_ps))?))
}

/// See [`Network::progress`].
///
/// # Errors
/// There is no such network.
pub fn progress(handle: u64, message: u64) -> Result<Option<Progress>, Failure> {
    with(handle, |network| Ok(u32::try_from(message).ok().and_then(|message| network.progress(message))))
}

/// See [`Network::switches`].
///
/// # Errors
/// There is no such network.
pub fn switches(handle: u64) -> Result<Range<u32>, Failure> {
    with(handle, |network| {
        let (first, end) = network.switches();
        Ok(first..end)
    })
}

/// See [`Network::switch_ports`].
///
/// # Errors
/// There is no such network.
pub fn switch_ports(handle: u64) -> Result<(Time, Vec<SwitchPort>), Failure> {
    with(handle, |network| Ok(network.switch_ports()))
}

/// Sets a parameter of the transport at hosts, of the queue at switches, or of the routing at those of both that go by
/// it; at all if `nodes` is `None`.
///
/// # Errors
/// What can't be set.
pub fn set(handle: u64, key: &str, value: &str, nodes: Option<&[u32]>) -> Result<(), Failure> {
    let switches = switches(handle)?;
    let at = |all: Range<u32>| nodes.map_or_else(|| all.collect(), <[u32]>::to_vec);
    let nothing = Change::default();
    with(handle, |network| match key.split_once('.') {
        Some(("transport", name)) => {
            let (hosts, transport) = (at(0..switches.start), [(name, value)]);
            Ok(network.set(&Change { hosts: &hosts, transport: &transport, ..nothing })?)
        }
        Some(("queue", name)) => {
            let (switches, queue) = (at(switches), [(name, value)]);
            Ok(network.set(&Change { switches: &switches, queue: &queue, ..nothing })?)
        }
        Some(("routing", name)) if network.routes_at_hosts() => {
            let (hosts, routing) = (at(0..switches.start), [(name, value)]);
            Ok(network.set(&Change { hosts: &hosts, routing: &routing, ..nothing })?)
        }
        Some(("routing", name)) => {
            let (switches, routing) = (at(switches), [(name, value)]);
            Ok(network.set(&Change { switches: &switches, routing: &routing, ..nothing })?)
        }
        _ => Err(wrong(format!("key: {key}; write transport.NAME, queue.NAME or routing.NAME"))),
    })
}

/// Ends a run, and writes the table of its flows.
///
/// # Errors
/// Why the run is worth nothing, or the file can't be written.
pub fn finish(handle: u64, path: Option<&str>) -> Result<(), Failure> {
    let finished = take(handle)?.finish()?;
    let Some(path) = path else { return Ok(()) };
    let written = std::fs::File::create(path).and_then(|file| table::write(&finished, file));
    written.map_err(|error| wrong(format!("path: cannot write {path}: {error}")))
}

fn none(handle: u64) -> Failure {
    let text = format!("there is no network {handle}: it was closed, or another thread opened it");
    Failure { code: NO_NETWORK, text }
}
