//! What compiled methods are given, and what they call back: a pair's pace, and the telemetry of an answer. The one
//! place of this crate with `unsafe` code.
#![allow(unsafe_code)]

use crate::config::bdp_bytes;
use crate::control::{AckInfo, FlowPath};
use crate::hpcc::Hop;
use crate::narrow::{narrow, saturated};
use crate::units::{Rate, Time};
use crate::user_class::RateError;
use crate::user_class::signed;

/// The bytes in flight are not bounded by the class.
const NO_WINDOW: i64 = i64::MAX;

packetloom_base::records! {
    /// The way of a flow that starts, as a method sees it.
    #[derive(Clone, Copy, Debug)]
    pub struct RouteView {
        rate_bps: f64,
        base_rtt_ps: i64,
        bdp_bytes: i64,
        mss_bytes: i64,
        links: i64,
    }
}

impl RouteView {
    pub(super) fn of(path: &FlowPath) -> RouteView {
        RouteView {
            rate_bps: path.rate.as_bps() as f64,
            base_rtt_ps: signed(path.base_rtt.as_ps()),
            bdp_bytes: signed(bdp_bytes(path.rate, path.base_rtt)),
            mss_bytes: signed(path.mss_bytes),
            links: path.hops.into(),
        }
    }
}

packetloom_base::records! {
    /// An answer, as a method sees it.
    #[derive(Clone, Copy, Debug)]
    pub struct AnswerView {
        packets: i64,
        marked: i64,
        acked_bytes: i64,
        sent_bytes: i64,
        now_ps: i64,
        rtt_ps: i64,
    }
}

impl AnswerView {
    /// Of an answer to what was sent then, which a CNP does not say.
    pub(super) fn of(ack: &AckInfo, sent_at: Option<Time>) -> AnswerView {
        AnswerView {
            packets: ack.arrived.into(),
            marked: ack.marked.into(),
            acked_bytes: signed(ack.acked_bytes),
            sent_bytes: signed(ack.sent_bytes),
            now_ps: signed(ack.now.as_ps()),
            rtt_ps: signed(sent_at.map_or(0, |sent_at| ack.now.since(sent_at).as_ps())),
        }
    }
}

packetloom_base::records! {
    /// A loss, as a method sees it.
    #[derive(Clone, Copy, Debug)]
    pub struct DropView {
        pub(super) timeout: i64,
        pub(super) now_ps: i64,
    }
}

packetloom_base::records! {
    /// A moment, as a method sees it.
    #[derive(Clone, Copy, Debug)]
    pub struct ClockView {
        pub(super) now_ps: i64,
    }
}

packetloom_base::records! {
    /// A packet that starts, as a method sees it.
    #[derive(Clone, Copy, Debug)]
    pub struct SentView {
        pub(super) size_bytes: i64,
        pub(super) now_ps: i64,
    }
}

packetloom_base::records! {
    /// What a method sets, and what it may look at.
    #[derive(Clone, Copy, Debug)]
    pub struct Pace {
        rate_bps: f64,
        window_bytes: i64,
        line_rate_bps: f64,
        base_rtt_ps: i64,
        hop_count: i64,
        hops: *const Hop,
    }
}

// SAFETY: `hops` is null but while a method runs.
unsafe impl Send for Pace {}

impl Pace {
    /// That of a flow which starts.
    pub(super) fn of(path: &FlowPath) -> Pace {
        Pace {
            rate_bps: path.initial_rate.as_bps() as f64,
            window_bytes: NO_WINDOW,
            line_rate_bps: path.rate.as_bps() as f64,
            base_rtt_ps: signed(path.base_rtt.as_ps()),
            hop_count: 0,
            hops: std::ptr::null(),
        }
    }

    pub(super) fn rate(&self) -> Rate {
        Rate(saturated::<u64>(self.rate_bps))
    }

    pub(super) fn window_bytes(&self) -> u64 {
        if self.window_bytes == NO_WINDOW { u64::MAX } else { narrow::<u64>(self.window_bytes) }
    }

    /// Lets a method look at an answer's telemetry.
    pub(super) fn with_hops<R>(&mut self, hops: &[Hop], work: impl FnOnce(&mut Pace) -> R) -> R {
        (self.hop_count, self.hops) = (narrow::<i64>(hops.len()), hops.as_ptr());
        let done = work(self);
        (self.hop_count, self.hops) = (0, std::ptr::null());
        done
    }

    /// Says what of it can't be, if anything, and makes that something that can.
    pub(super) fn repair(&mut self) -> Option<RateError> {
        let error = if self.rate_bps.is_nan() {
            RateError::NoNumber
        } else if self.rate_bps < 1.0 {
            RateError::Zero
        } else if self.rate_bps > self.line_rate_bps {
            RateError::TooLarge { line_rate: Rate(saturated::<u64>(self.line_rate_bps)) }
        } else if self.window_bytes < 1 {
            RateError::Window
        } else {
            return None;
        };
        (self.rate_bps, self.window_bytes) = (self.line_rate_bps, NO_WINDOW);
        Some(error)
    }
}

/// The base class in Python, and that of one whose packets collect telemetry.
pub const BASE: &str = "RateControl";
pub const TELEMETRY_BASE: &str = "TelemetryControl";

packetloom_base::hooks! {
    &[BASE, TELEMETRY_BASE] =>
    pub Start = "start"(RouteView, Pace);
    pub Answered = "answered"(AnswerView, Pace);
    pub Lost = "lost"(DropView, Pace);
    pub Passed = "passed"(ClockView, Pace);
    pub Sent = "sent"(SentView, Pace);
}

/// What methods can call, by the names under which compiled code refers to it.
pub fn symbols() -> [(&'static str, usize); 5] {
    [
        ("packetloom_pace_hop_link", hop_link as *const () as usize),
        ("packetloom_pace_hop_queue_bytes", hop_queue_bytes as *const () as usize),
        ("packetloom_pace_hop_sent_bytes", hop_sent_bytes as *const () as usize),
        ("packetloom_pace_hop_time_ps", hop_time_ps as *const () as usize),
        ("packetloom_pace_hop_rate_bps", hop_rate_bps as *const () as usize),
    ]
}

macro_rules! of_hops {
    ($($name:ident = |$hop:ident| $value:expr;)*) => {$(
        /// Of the hop of a number; -1 if there is none.
        unsafe extern "C" fn $name(pace: *const Pace, number: i64) -> i64 {
            // SAFETY: compiled code passes on the pointer that it was called with, and the hops stay while it runs.
            let hop = unsafe {
                let pace = &*pace;
                (0..pace.hop_count).contains(&number).then(|| &*pace.hops.add(narrow(number)))
            };
            hop.map_or(-1, |$hop| $value)
        }
    )*};
}

of_hops! {
    hop_link = |hop| hop.link.into();
    hop_queue_bytes = |hop| hop.queue_bytes.into();
    hop_sent_bytes = |hop| signed(hop.sent_bytes);
    hop_time_ps = |hop| signed(hop.at.as_ps());
    hop_rate_bps = |hop| signed(hop.rate.as_bps());
}
