//! What compiled methods are given, and what they call back: what a [`Window`] can do. The one place of this crate
//! with `unsafe` code.
#![allow(unsafe_code)]

use crate::narrow::{narrow, saturated};
use crate::user_class::Record;
use crate::windowed::Window;

packetloom_base::records! {
    /// A flow, as a method sees it.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct FlowView {
        /// Its number.
        pub id: i64,
        /// The host that sends it.
        pub src: i64,
        /// The host that receives it.
        pub dst: i64,
        /// Its size.
        pub size_bytes: i64,
        /// When it starts.
        pub start_ps: i64,
        /// Its deadline, counted from the run's beginning; -1 without one.
        pub deadline_ps: i64,
    }
}

packetloom_base::records! {
    /// An acknowledgement, as a method sees it.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct AckView {
        /// Packets that it newly acknowledges.
        pub packets: i64,
        /// 1 if the cumulative acknowledgement moved, and the window is not just being reduced.
        pub advanced: i64,
        /// 1 if it echoes a mark.
        pub marked: i64,
        /// The first packet that is not acknowledged.
        pub una: i64,
        /// The next packet that was never sent.
        pub next: i64,
        /// When it came.
        pub now_ps: i64,
        /// The smoothed round-trip time; 0 where none is known.
        pub rtt_ps: i64,
        /// The round-trip time that it measures; 0 if it measures none.
        pub rtt_sample_ps: i64,
        /// The least round-trip time of the flow so far; 0 where none is known.
        pub min_rtt_ps: i64,
        /// Packets in flight that it does not acknowledge.
        pub outstanding: i64,
        /// Payload delivered so far.
        pub delivered_bytes: i64,
        /// Payload held lost so far.
        pub lost_bytes: i64,
        /// What was delivered when the packet was sent that it acknowledges.
        pub prior_delivered_bytes: i64,
        /// Payload per second from then to now; 0 where none is known.
        pub delivery_rate_bps: f64,
        /// 1 if the sender had nothing else to send when it sent the packet.
        pub app_limited: i64,
        /// What kept the sender from sending more: nothing to send is 0, the window 1, the pacing rate 2.
        pub limited_by: i64,
    }
}

/// The window as a method has it, with the pacing rate beside it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Steering {
    /// The window, which functions of the simulator read and set.
    pub window: Window,
    /// Bits of payload per second; 0 without pacing.
    pub pacing_rate_bps: f64,
}

impl Record for Steering {
    const FIELDS: &'static [(&'static str, bool)] = &[
        ("cwnd_q20", false),
        ("ssthresh_q20", false),
        ("largest_q20", false),
        ("counting", false),
        ("pacing_rate_bps", true),
    ];
}

const _: () = assert!(
    size_of::<Steering>() == 8 * Steering::FIELDS.len() && std::mem::offset_of!(Steering, window) == 0,
    "a field of a record has eight bytes"
);

packetloom_base::records! {
    /// A loss or a timeout, as a method sees it.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct LossView {
        /// Packets that were in flight.
        pub in_flight: i64,
        /// 1 if the timer expired before, and nothing has arrived since.
        pub again: i64,
    }
}

packetloom_base::records! {
    /// A data packet that is about to be sent, as a method sees it.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct DataView {
        /// What the flow has sent with it, retransmissions not counted.
        pub sent_bytes: i64,
        /// Its size on the wire.
        pub size_bytes: i64,
    }
}

packetloom_base::records! {
    /// What a method writes into a packet.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Labels {
        /// The traffic class.
        pub traffic_class: i64,
        /// The priority.
        pub priority: i64,
    }
}

/// The base class in Python.
pub const BASE: &str = "CongestionControl";

packetloom_base::hooks! {
    &[BASE] =>
    /// When a flow starts.
    pub Start = "start"(FlowView, Steering);
    /// When a connection goes on with another flow.
    pub Resumed = "resumed"(FlowView, Steering);
    /// When an acknowledgement comes, outside of loss recovery.
    pub Acknowledged = "acknowledged"(AckView, Steering);
    /// When one comes in loss recovery.
    pub AcknowledgedInRecovery = "acknowledged_in_recovery"(AckView, Steering);
    /// When a loss is found.
    pub Lost = "lost"(LossView, Steering);
    /// When loss recovery ends.
    pub Recovered = "recovered"((), Steering);
    /// When the retransmission timer expires.
    pub TimedOut = "timed_out"(LossView, Steering);
    /// When a data packet is about to be sent.
    pub Label = "label"(DataView, Labels);
}

/// What a method can call, by the names under which compiled code refers to it.
pub fn symbols() -> [(&'static str, usize); 8] {
    [
        ("packetloom_window_grow", window_grow as *const () as usize),
        ("packetloom_window_shrink", window_shrink as *const () as usize),
        ("packetloom_window_halve_ssthresh", window_halve_ssthresh as *const () as usize),
        ("packetloom_window_restart", window_restart as *const () as usize),
        ("packetloom_window_cwnd", window_cwnd as *const () as usize),
        ("packetloom_window_set_cwnd", window_set_cwnd as *const () as usize),
        ("packetloom_window_ssthresh", window_ssthresh as *const () as usize),
        ("packetloom_window_set_ssthresh", window_set_ssthresh as *const () as usize),
    ]
}

macro_rules! exported {
    ($($(#[$doc:meta])* fn $name:ident($window:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        unsafe extern "C" fn $name($window: *mut Window $(, $argument: $type)*) $(-> $result)? {
            // SAFETY: compiled code passes on the pointer that it was called with, to a `Steering`, which begins with
            // the window.
            let $window = unsafe { &mut *$window };
            $body
        }
    )*};
}

exported! {
    fn window_grow(window) {
        window.grow();
    }
    fn window_shrink(window, fraction: f64) {
        if fraction.is_nan() {
            window.set_cwnd_packets(fraction);
        } else {
            window.shrink(saturated::<u64>(fraction.clamp(0.0, 1.0) * f64::from(1 << 20)));
        }
    }
    fn window_halve_ssthresh(window, in_flight: i64, least: i64) {
        window.halve_threshold(small(in_flight), small(least));
    }
    fn window_restart(window) {
        window.collapse();
    }
    fn window_cwnd(window) -> f64 {
        window.cwnd_packets()
    }
    fn window_set_cwnd(window, packets: f64) {
        window.set_cwnd_packets(packets);
    }
    fn window_ssthresh(window) -> f64 {
        window.ssthresh_packets()
    }
    fn window_set_ssthresh(window, packets: f64) {
        window.set_ssthresh_packets(packets);
    }
}

fn small(count: i64) -> u32 {
    narrow::<u32>(count.clamp(0, i64::from(u32::MAX)))
}
