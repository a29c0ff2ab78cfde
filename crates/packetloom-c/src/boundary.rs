//! What the header declares. The only unsafe code of the library: each function turns the caller's pointers into
//! references or copies, checks that none is null, and leaves the rest to `handles.rs`.
//!
//! What it relies on, and the header promises: a text ends with a zero byte; a pointer that is not null points to as much
//! as the header says, which nobody changes during the call.

#![allow(unsafe_code)]

use crate::handles::{self, Failure, guarded, wrong};
use packetloom::units::Time;
use packetloom_network::{Event, EventKind, Message, Next, Options, SwitchPort};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

/// The version of the interface.
pub const ABI: u32 = 1;

const JSON: u32 = 1;
const AUDIT: u32 = 2;
const THREADS: u32 = 0xff00;

/// `packetloom_message`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CMessage {
    /// See the header, as for all that follows.
    pub src: u32,
    /// .
    pub dst: u32,
    /// .
    pub bytes: u64,
    /// .
    pub tag: u64,
    /// .
    pub user: u64,
    /// .
    pub delay_ps: u64,
    /// .
    pub channel: u32,
    /// .
    pub traffic_class: u32,
}

/// `packetloom_event`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CEvent {
    /// See the header, as for all that follows.
    pub kind: u32,
    /// .
    pub channel: u32,
    /// .
    pub at_ps: u64,
    /// .
    pub id: u64,
    /// .
    pub user: u64,
    /// .
    pub tag: u64,
    /// .
    pub bytes: u64,
    /// .
    pub src: u32,
    /// .
    pub dst: u32,
}

/// `packetloom_progress`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CProgress {
    /// See the header, as for all that follows.
    pub arrived_bytes: u64,
    /// .
    pub in_flight_bytes: u64,
    /// .
    pub window_bytes: f64,
    /// .
    pub rate_bps: f64,
    /// .
    pub rtt_ns: f64,
    /// .
    pub retransmissions: u32,
    /// .
    pub reserved: u32,
}

/// `packetloom_port`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CPort {
    /// See the header, as for all that follows.
    pub link: u32,
    /// .
    pub node: u32,
    /// .
    pub queued_bytes: u64,
    /// .
    pub sent_bytes: u64,
    /// .
    pub marks: u64,
    /// .
    pub drops: u64,
}

impl From<&SwitchPort> for CPort {
    fn from(port: &SwitchPort) -> CPort {
        let SwitchPort { link, switch, queued_bytes, counters } = *port;
        CPort {
            link,
            node: switch,
            queued_bytes,
            sent_bytes: counters.bytes,
            marks: counters.marks,
            drops: counters.drops,
        }
    }
}

impl CMessage {
    fn message(self) -> Result<Message, Failure> {
        let CMessage { src, dst, bytes, tag, user, delay_ps, channel, traffic_class } = self;
        let class = u8::try_from(traffic_class)
            .map_err(|_| wrong(format!("traffic_class: {traffic_class}; write 0 to 255")))?;
        Ok(Message { src, dst, bytes, tag, channel, class, delay: Time(delay_ps), user })
    }
}

impl From<Event> for CEvent {
    fn from(event: Event) -> CEvent {
        let Event { kind, at, id, user, src, dst, bytes, tag, channel } = event;
        let kind = match kind {
            EventKind::Sent => 1,
            EventKind::Received => 2,
            EventKind::Timer => 3,
        };
        CEvent { kind, channel, at_ps: at.as_ps(), id, user, tag, bytes, src, dst }
    }
}

/// A text of the caller's.
///
/// # Safety
/// `text` is null, or ends with a zero byte and stays as it is while the result is used.
unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(wrong(format!("{name} is NULL")));
    }
    // SAFETY: not null, and the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| wrong(format!("{name} is not UTF-8")))
}

/// The caller's things.
///
/// # Safety
/// `from` is null, or points to `count` of them that stay as they are while the result is used.
unsafe fn slice<'a, T>(name: &str, from: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return Err(wrong(format!("{name} is NULL")));
    }
    if count.saturating_mul(size_of::<T>()) > isize::MAX.unsigned_abs() {
        return Err(wrong(format!("count: no memory holds {count} {name}")));
    }
    // SAFETY: neither null nor longer than memory, and the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(from, count) })
}

/// Writes a result to where the caller wants it.
///
/// # Safety
/// `to` is null, or points to room for a `T`.
unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, and the rest is the caller's promise.
        unsafe { to.write(value) };
    }
}

fn needed<T>(name: &str, to: *mut T) -> Result<(), Failure> {
    if to.is_null() { Err(wrong(format!("{name} is NULL"))) } else { Ok(()) }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn packetloom_abi() -> u32 {
    ABI
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn packetloom_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn packetloom_error() -> *const c_char {
    handles::last_error(CStr::as_ptr)
}

/// See the header.
///
/// # Safety
/// As the head of this file says; so for all that follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_open(
    scenario: *const c_char,
    directory: *const c_char,
    flags: u32,
    network: *mut u64,
) -> c_int {
    guarded(|| {
        needed("network", network)?;
        // SAFETY: the caller's promise.
        let scenario = unsafe { text("scenario", scenario) }?;
        let directory = match directory.is_null() {
            true => "",
            // SAFETY: the caller's promise.
            false => unsafe { text("directory", directory) }?,
        };
        let threads = checked(flags)?;
        let (is_json, audit) = (flags & JSON != 0, flags & AUDIT != 0);
        let options =
            Options { source: "scenario", directory: Path::new(directory), is_json, audit, threads };
        let handle = handles::open_text(scenario, &options)?;
        // SAFETY: the caller's promise.
        unsafe { put(network, handle) };
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_open_file(path: *const c_char, flags: u32, network: *mut u64) -> c_int {
    guarded(|| {
        needed("network", network)?;
        // SAFETY: the caller's promise.
        let path = unsafe { text("path", path) }?;
        let threads = checked(flags)?;
        let handle = handles::open_file(path, flags & AUDIT != 0, threads)?;
        // SAFETY: the caller's promise.
        unsafe { put(network, handle) };
        Ok(0)
    })
}

/// How many threads simulate, by the flags.
fn checked(flags: u32) -> Result<u32, Failure> {
    let unknown = flags & !(JSON | AUDIT | THREADS);
    if unknown != 0 {
        return Err(wrong(format!("flags: there is no {unknown:#x}")));
    }
    Ok(((flags & THREADS) >> THREADS.trailing_zeros()).max(1))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn packetloom_close(network: u64) -> c_int {
    guarded(|| handles::take(network).map(|_| 0))
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_hosts(network: u64, hosts: *mut u32) -> c_int {
    guarded(|| {
        let count = handles::with(network, |network| Ok(network.hosts()))?;
        // SAFETY: the caller's promise.
        unsafe { put(hosts, count) };
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_now(network: u64, now_ps: *mut u64) -> c_int {
    guarded(|| {
        let now = handles::with(network, |network| Ok(network.now().as_ps()))?;
        // SAFETY: the caller's promise.
        unsafe { put(now_ps, now) };
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above; `messages` points to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_send(
    network: u64,
    messages: *const CMessage,
    count: usize,
    first_id: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let messages = unsafe { slice("messages", messages, count) }?;
        let first = handles::send(network, messages.iter().map(|message| message.message()))?;
        // SAFETY: the caller's promise.
        unsafe { put(first_id, first) };
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_timer(network: u64, at_ps: u64, user: u64, id: *mut u64) -> c_int {
    guarded(|| {
        let number = handles::with(network, |network| Ok(network.timer(Time(at_ps), user)?))?;
        // SAFETY: the caller's promise.
        unsafe { put(id, number) };
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_next(network: u64, until_ps: u64, event: *mut CEvent) -> c_int {
    guarded(|| {
        needed("event", event)?;
        Ok(match handles::next(network, until_ps)? {
            Next::Event(happened) => {
                let happened = CEvent::from(happened);
                // SAFETY: the caller's promise.
                unsafe { put(event, happened) };
                c_int::try_from(happened.kind).unwrap_or_default()
            }
            Next::Reached => 4,
            Next::End => 5,
            Next::Stalled(reason) => {
                handles::note(&reason);
                6
            }
        })
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_message_progress(
    network: u64,
    id: u64,
    progress: *mut CProgress,
) -> c_int {
    guarded(|| {
        needed("progress", progress)?;
        let Some(found) = handles::progress(network, id)? else { return Ok(0) };
        let found = CProgress {
            arrived_bytes: found.arrived_bytes,
            in_flight_bytes: found.in_flight_bytes,
            window_bytes: found.window_bytes.unwrap_or(f64::NAN),
            rate_bps: found.rate_bps.map_or(f64::NAN, |rate| rate as f64),
            rtt_ns: found.rtt.map_or(f64::NAN, Time::as_ns_f64),
            retransmissions: found.retransmissions,
            reserved: 0,
        };
        // SAFETY: the caller's promise.
        unsafe { put(progress, found) };
        Ok(1)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_switches(network: u64, first: *mut u32, end: *mut u32) -> c_int {
    guarded(|| {
        let switches = handles::switches(network)?;
        // SAFETY: the caller's promise.
        unsafe { put(first, switches.start) };
        // SAFETY: the caller's promise.
        unsafe { put(end, switches.end) };
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_switch_ports(
    network: u64,
    ports: *mut CPort,
    most: usize,
    count: *mut usize,
    at_ps: *mut u64,
) -> c_int {
    guarded(|| {
        if most > 0 {
            needed("ports", ports)?;
        }
        let (at, found) = handles::switch_ports(network)?;
        for (place, port) in found.iter().take(most).enumerate() {
            // SAFETY: the caller's promise: there is room for `most`.
            unsafe { ports.add(place).write(CPort::from(port)) };
        }
        // SAFETY: the caller's promise.
        unsafe { put(count, found.len()) };
        // SAFETY: the caller's promise.
        unsafe { put(at_ps, at.as_ps()) };
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_set(
    network: u64,
    key: *const c_char,
    value: *const c_char,
    nodes: *const u32,
    count: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (key, value) = unsafe { (text("key", key)?, text("value", value)?) };
        // SAFETY: the caller's promise.
        let at = unsafe { slice("nodes", nodes, count) }?;
        handles::set(network, key, value, (!nodes.is_null()).then_some(at))?;
        Ok(0)
    })
}

/// See the header.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetloom_finish(network: u64, path: *const c_char) -> c_int {
    guarded(|| {
        let path = match path.is_null() {
            true => None,
            // SAFETY: the caller's promise.
            false => Some(unsafe { text("path", path) }?),
        };
        handles::finish(network, path)?;
        Ok(0)
    })
}
