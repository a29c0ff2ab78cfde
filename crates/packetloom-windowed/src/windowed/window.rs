//! The congestion window, and what controls it.

use super::header::Header;
use super::increase;
use super::view::{Acked, Lost};
use crate::flow::Flow;
use crate::narrow::{narrow, saturated};
use crate::packet::Packet;
use crate::spec::{Component, Values};
use crate::units::{Rate, Time};
use crate::user_class::{ControlError, WindowError};
use std::mem::offset_of;

/// One packet, in the window's fixed-point units: 2^-20 of a packet.
const PACKET: u64 = 1 << 20;

/// Where a window begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct WindowLimits {
    initial: u32,
    largest: u32,
    initial_ssthresh: u32,
    /// Whether it grows by whole packets above ssthresh.
    counts: bool,
}

impl WindowLimits {
    pub(super) fn of(values: &Values) -> WindowLimits {
        let packets = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        WindowLimits {
            initial: packets(values.count("initial_window")),
            largest: values.optional_count("max_window").map_or(u32::MAX, packets),
            initial_ssthresh: packets(values.count("initial_ssthresh")),
            counts: increase::counts(values),
        }
    }

    /// A flow that starts with so many packets, in slow start.
    #[cfg(test)]
    pub(super) fn for_tests(initial: u32) -> WindowLimits {
        WindowLimits { initial, largest: u32::MAX, initial_ssthresh: 1_000_000, counts: false }
    }
}

/// A congestion window with its slow-start threshold, in exact fractions of packets.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Window {
    cwnd: u64,
    ssthresh: u64,
    largest: u64,
    /// Acknowledgements above ssthresh since it last grew, if they are counted.
    counted: u32,
    counts: bool,
}

const _: () = assert!(
    offset_of!(Window, cwnd) == 0
        && offset_of!(Window, ssthresh) == 8
        && offset_of!(Window, largest) == 16
        && offset_of!(Window, counted) == 24
        && size_of::<Window>() == 32,
    "a class in Python has the fields of a window in this order"
);

impl Window {
    pub(super) fn new(limits: &WindowLimits) -> Window {
        let largest = u64::from(limits.largest) * PACKET;
        Window {
            cwnd: (u64::from(limits.initial) * PACKET).min(largest),
            ssthresh: u64::from(limits.initial_ssthresh) * PACKET,
            largest,
            counted: 0,
            counts: limits.counts,
        }
    }

    /// A window of so many packets, in congestion avoidance.
    #[cfg(test)]
    pub fn of_packets(packets: u32) -> Window {
        let cwnd = u64::from(packets) * PACKET;
        Window { cwnd, ssthresh: cwnd, largest: u64::MAX, counted: 0, counts: false }
    }

    /// Whole packets that may be in flight; at least one.
    #[inline]
    pub fn packets(&self) -> u32 {
        narrow::<u32>((self.cwnd / PACKET).max(1))
    }

    /// Whether it is below ssthresh.
    #[inline]
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows for an acknowledgement of new data: by a packet below ssthresh; above by 1/cwnd, or by a packet for as
    /// many acknowledgements as the window has packets (RFC 5681 §3.1).
    #[inline]
    pub fn grow(&mut self) {
        let step = if self.is_in_slow_start() {
            PACKET
        } else if self.counts {
            self.counted_step()
        } else {
            PACKET * PACKET / self.cwnd
        };
        self.cwnd = (self.cwnd + step).min(self.largest);
    }

    #[cold]
    fn counted_step(&mut self) -> u64 {
        self.counted += 1;
        if u64::from(self.counted) * PACKET < self.cwnd {
            return 0;
        }
        self.counted = 0;
        PACKET
    }

    /// The window in units of 2^-20 of a packet.
    pub fn packets_q20(&self) -> u64 {
        self.cwnd
    }

    /// Grows to so many 2^-20 of a packet, if that is more.
    #[inline]
    pub fn rise_to(&mut self, packets_q20: u64) {
        self.cwnd = packets_q20.max(self.cwnd).min(self.largest);
    }

    /// Grows as RFC 6356 §3 has it, for so many packets acknowledged: as [`Window::grow`] does below ssthresh;
    /// above, by `step_q20` of 2^20 for each, but by no more than 1/cwnd.
    pub fn grow_coupled(&mut self, packets: u32, step_q20: u64) {
        if self.is_in_slow_start() {
            self.grow();
        } else {
            let step = step_q20.min(PACKET * PACKET / self.cwnd);
            self.cwnd = (self.cwnd + u64::from(packets) * step).min(self.largest);
        }
    }

    /// Sets ssthresh to half of what is in flight, and no less than so many packets (RFC 5681 §3.1).
    pub fn halve_threshold(&mut self, in_flight: u32, least: u32) {
        self.set_threshold(u64::from(in_flight) * PACKET / 2, least);
    }

    /// Sets ssthresh to so many 2^-20 of a packet, and no less than so many packets.
    pub fn set_threshold(&mut self, packets_q20: u64, least: u32) {
        self.ssthresh = packets_q20.max(u64::from(least) * PACKET);
        self.counted = 0;
    }

    /// Continues from ssthresh (fast recovery).
    pub fn fall_to_threshold(&mut self) {
        self.cwnd = self.ssthresh.min(self.largest);
    }

    /// Starts again from one packet (a timeout).
    pub fn collapse(&mut self) {
        self.cwnd = PACKET;
    }

    /// Is halved so many times, down to a packet, and ssthresh remembers three quarters of what it was (RFC 2861
    /// §3.1).
    pub fn decay(&mut self, halvings: u32) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        self.cwnd = self.cwnd.checked_shr(halvings).unwrap_or(0).max(PACKET);
    }

    /// Sets it to so many 2^-20 of a packet, a packet at least.
    pub fn set_packets_q20(&mut self, packets_q20: u64) {
        self.cwnd = packets_q20.max(PACKET).min(self.largest);
    }

    /// The same for what a model computes.
    pub fn set_packets(&mut self, packets: f64) {
        self.set_packets_q20(saturated::<u64>(packets * PACKET as f64));
    }

    /// Is as large as another, if it was larger.
    pub fn fall_to(&mut self, other: &Window) {
        self.cwnd = self.cwnd.min(other.cwnd);
    }

    /// Is as large as another.
    pub fn resize_to(&mut self, other: &Window) {
        self.cwnd = other.cwnd;
    }

    /// Is as large as another, with which counting begins anew.
    pub fn restart(&mut self, other: &Window) {
        self.cwnd = other.cwnd;
        self.counted = 0;
    }

    /// Is so many packets, if it was less.
    pub fn make_room(&mut self, packets: u32) {
        self.rise_to(u64::from(packets) * PACKET);
    }

    /// Shrinks by `fraction_q20` of 2^20, ends slow start, and stays at two packets or more.
    pub fn shrink(&mut self, fraction_q20: u64) {
        let cut = narrow::<u64>((u128::from(self.cwnd) * u128::from(fraction_q20)) >> 20);
        self.cwnd = (self.cwnd - cut).max(2 * PACKET).min(self.largest);
        self.ssthresh = self.cwnd;
        self.counted = 0;
    }
}

/// What a value that is no number is stored as; no window is so large.
const NO_NUMBER: u64 = u64::MAX;

/// For congestion controls that set the window to what they have computed, which may be anything.
impl Window {
    /// The window in packets.
    pub fn cwnd_packets(&self) -> f64 {
        self.cwnd as f64 / PACKET as f64
    }

    /// Sets the window. What can't be one stays until [`Window::repair`] finds it.
    pub fn set_cwnd_packets(&mut self, packets: f64) {
        self.cwnd = if packets.is_nan() { NO_NUMBER } else { saturated::<u64>(packets * PACKET as f64) };
    }

    /// The slow-start threshold in packets.
    pub fn ssthresh_packets(&self) -> f64 {
        self.ssthresh as f64 / PACKET as f64
    }

    /// Sets the slow-start threshold. What can't be one stays until [`Window::repair`] finds it.
    pub fn set_ssthresh_packets(&mut self, packets: f64) {
        self.ssthresh = if packets >= 0.0 { saturated::<u64>(packets * PACKET as f64) } else { NO_NUMBER };
    }

    /// Says what of it can't be, if anything, and makes that one packet.
    pub fn repair(&mut self) -> Option<WindowError> {
        let error = if self.ssthresh == NO_NUMBER {
            WindowError::Threshold
        } else if self.cwnd == NO_NUMBER {
            WindowError::NoNumber
        } else if self.cwnd == 0 {
            WindowError::Zero
        } else if self.cwnd > self.largest {
            WindowError::TooLarge { packets: self.cwnd / PACKET, largest: self.largest / PACKET }
        } else {
            return None;
        };
        (self.cwnd, self.ssthresh) = (PACKET, PACKET);
        Some(error)
    }
}

/// A congestion control: how the window reacts to acknowledgements and losses (by default, as in RFC 5681), and
/// what its packets carry of it.
pub trait Congestion: Clone + Send + Sync {
    /// The transport that it makes.
    const COMPONENT: Component;
    /// Whether its data packets may be marked.
    const ECN: bool;
    /// Whether it knows nothing of how large its flow is, so that packets can be left out of it.
    const SHORTENS: bool = false;

    /// The parameters that may be set while a case runs.
    const SETTABLE: &'static [&'static str] = &[];

    /// Goes on with these values, of which some of [`Congestion::SETTABLE`] are others than before.
    fn set(&mut self, _values: &Values) {}

    /// The same of one that knows it only from its parameters.
    fn ecn(_values: &Values) -> bool {
        Self::ECN
    }

    /// Whether it goes by [samples](super::Sample) and by each packet that is lost. The sender of one that does not
    /// keeps nothing for it.
    const MEASURES: bool = false;
    /// Whether it has a [pacing rate](Congestion::pacing_rate) beside the window. One that has measures, too.
    const PACES: bool = false;
    /// Whether a model of the path sets its window: nothing else may reduce it.
    const MODELS: bool = false;

    /// [`Congestion::MEASURES`] of one that knows it only from its parameters.
    fn measures(_values: &Values) -> bool {
        Self::MEASURES
    }

    /// How fast packets may leave, in bits of payload per second; `None`: as fast as the window lets them.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether it holds itself back on purpose, so that its deliveries say little of the path.
    #[inline]
    fn is_restrained(&self) -> bool {
        false
    }

    /// Whether it is an L4S sender: its packets say ECT(1) (RFC 9331 §4.1), and receivers count those that were marked
    /// (accurate ECN), which [`Sample::marked`](super::Sample) tells. One that is measures, too.
    const L4S: bool = false;

    /// Whether it decides by chance.
    const DRAWS: bool = false;

    /// The seed of its random numbers, from its host's stream.
    fn seed(&mut self, _bits: u64) {}

    /// Before anything is sent a round-trip time is known.
    fn knows_round_trip(&mut self, _rtt: Time) {}

    /// A packet is held lost, whether or not that begins a recovery. For one that [measures](Congestion::MEASURES).
    fn packet_lost(&mut self, _lost: &Lost, _window: &mut Window) {}

    /// Whether its pace lets a packet go, of one whose pace comes from elsewhere. When it does, somebody has to
    /// call [`Sender::transmit`](super::Sender::transmit) again.
    #[inline]
    fn may_send(&self, _now: Time) -> bool {
        true
    }

    /// An error of its own that it has made since this was last called.
    #[inline]
    fn take_error(&mut self) -> Option<ControlError> {
        None
    }

    /// How many traffic classes it sorts packets into, if it does.
    fn classes(_values: &Values) -> Option<u64> {
        None
    }

    /// What every flow starts with, read once for a case: each has a copy.
    fn new(values: &Values) -> Self;

    /// Is this flow's from now on.
    fn serve(&mut self, _flow: &Flow) {}

    /// The least slow-start threshold after a loss, in packets (RFC 5681 §3.1).
    fn least_threshold(&self) -> u32 {
        2
    }

    /// The connection goes on with another flow, whose packets are numbered from 0 again.
    fn resumed(&mut self, _flow: &Flow, _window: &mut Window) {}

    /// Whether the window of a connection that was idle is reduced.
    const RESTARTS: bool = true;

    /// The flow starts with this window.
    #[inline]
    fn started(&mut self, _window: &mut Window) {}

    /// An acknowledgement came, outside of loss recovery.
    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        if acked.advanced {
            window.grow();
        }
    }

    /// An acknowledgement came in loss recovery, where the window stays by default.
    #[inline]
    fn acknowledged_in_recovery(&mut self, _acked: Acked, _window: &mut Window) {}

    /// Later packets' acknowledgements proved a loss, while so many packets were in flight.
    fn lost(&mut self, in_flight: u32, window: &mut Window) {
        window.halve_threshold(in_flight, self.least_threshold());
        window.fall_to_threshold();
    }

    /// Loss recovery ends: all that was sent before it is acknowledged.
    #[inline]
    fn recovered(&mut self, _window: &mut Window) {}

    /// The retransmission timer expired while so many packets were in flight; `again`: nothing arrived since it
    /// expired before. Then ssthresh stays (RFC 5681 §3.1).
    fn timed_out(&mut self, in_flight: u32, again: bool, window: &mut Window) {
        if !again {
            window.halve_threshold(in_flight, self.least_threshold());
        }
        window.collapse();
        if again {
            self.starving();
        }
    }

    /// The retransmission timer expired again, and nothing arrived in between.
    fn starving(&mut self) {}

    /// Sets the last fields of a data packet, with which the flow has sent so many bytes, retransmissions not
    /// counted.
    #[inline]
    fn label(&mut self, _sent_bytes: u64, _packet: &mut Packet<Header>) {}

    /// The class of what carries no data, acknowledgements, probes and SYNs, where the data or the flow are of `class`.
    fn bare_class(class: u8) -> u8 {
        class
    }
}
