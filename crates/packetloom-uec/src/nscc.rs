//! NSCC, Ultra Ethernet's window at the sender (Ultra Ethernet specification 1.0, §3.6.13; constants and order as in
//! htsim_uec).
//!
//! Delay measures the queues on one packet's path, a mark shows that its path is crowded. Where both agree the
//! window moves; where they do not, the path is the cause, and the choice of entropies deals with it.

use crate::narrow::{narrow, saturated};
use crate::units::Time;
use std::sync::Arc;

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The bandwidth-delay product of the reference network, in bytes, and its round-trip time.
    pub reference_bytes: f64,
    pub reference_rtt: Time,
    /// Proportional increase, fair increase, and what is added in any case, in packets.
    pub alpha: f64,
    pub fair: f64,
    pub eta: f64,
    /// Fast increase, of what was acknowledged; below which delay.
    pub fast: f64,
    pub fast_below: Time,
    /// Multiplicative decrease, and the most of it.
    pub gamma: f64,
    pub least_factor: f64,
    /// The weight of a new delay.
    pub gain: f64,
    /// Quick adaptation: below the largest window over two to the power of this; above so many target delays.
    pub gate: u32,
    pub threshold: f64,
    /// The window is adjusted after so many packets' bytes.
    pub adjust_packets: u64,
}

/// What a flow's window knows of its network.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// The longest round trip without queues, and what a host's link carries in it.
    pub rtt: Time,
    pub bdp_bytes: f64,
    /// The delay in queues that is aimed at.
    pub target: Time,
    pub mss_bytes: f64,
    pub mtu_bytes: i64,
    /// Bits per second of the host's link.
    pub rate: f64,
    /// The largest window, in bandwidth-delay products.
    pub largest: f64,
}

impl Network {
    /// The largest window by a bandwidth-delay product. Less than a packet would send nothing.
    fn largest_for(&self, bdp_bytes: f64) -> i64 {
        saturated::<i64>(self.largest * bdp_bytes).max(self.mtu_bytes)
    }
}

/// Gains at this network's scale.
#[derive(Clone, Copy, Debug)]
struct Scaled {
    /// Bytes per picosecond.
    alpha: f64,
    fair: f64,
    eta: f64,
    fast: f64,
    threshold: f64,
    adjust_bytes: u64,
}

impl Scaled {
    fn of(settings: &Settings, network: &Network) -> Scaled {
        let bandwidth = network.bdp_bytes / settings.reference_bytes;
        // The target's ratio to the reference is divided by the target: it is there in the specification's own
        // terms.
        let delay = network.target.as_ps() as f64 / settings.reference_rtt.as_ps() as f64;
        let packet = network.mss_bytes * bandwidth;
        Scaled {
            alpha: settings.alpha * packet * delay / network.target.as_ps() as f64,
            fair: settings.fair * packet,
            eta: settings.eta * packet,
            fast: settings.fast * bandwidth,
            threshold: settings.threshold * network.target.as_ps() as f64,
            adjust_bytes: settings.adjust_packets * narrow::<u64>(network.mtu_bytes),
        }
    }
}

/// What does not change, nor differs from flow to flow by links of one rate.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    settings: Settings,
    network: Network,
    scaled: Scaled,
}

impl Rules {
    /// On a network.
    pub fn new(settings: &Settings, network: &Network) -> Rules {
        Rules { settings: *settings, network: *network, scaled: Scaled::of(settings, network) }
    }

    /// Bytes of a full packet.
    pub fn mtu_bytes(&self) -> i64 {
        self.network.mtu_bytes
    }
}

/// A flow's window.
#[derive(Clone, Debug)]
pub struct Nscc {
    rules: Arc<Rules>,
    cwnd: i64,
    largest: i64,
    /// The shortest round trip so far.
    base_rtt: Time,
    /// The smoothed delay in queues.
    delay: Time,
    /// What is to be added, times the window.
    increase: u64,
    /// Bytes acknowledged since the last adjustment, and since the last quick adaptation was considered.
    received: u64,
    achieved: i64,
    /// Bytes to be ignored after a quick adaptation, and those that were.
    to_ignore: i64,
    ignored: i64,
    /// Bytes acknowledged without delay; whether that makes the window grow fast.
    without_delay: i64,
    is_fast: bool,
    was_trimmed: bool,
    adapts_at: Option<Time>,
    adjusted_at: Time,
    decreased_at: Time,
}

impl Nscc {
    /// A flow's, of which nothing is known yet.
    pub fn new(rules: Arc<Rules>, cwnd: Option<i64>) -> Nscc {
        let network = rules.network;
        let largest = network.largest_for(network.bdp_bytes);
        Nscc {
            rules,
            cwnd: cwnd.unwrap_or(largest).max(network.mtu_bytes),
            largest,
            base_rtt: network.rtt,
            delay: Time::ZERO,
            increase: 0,
            received: 0,
            achieved: 0,
            to_ignore: 0,
            ignored: 0,
            without_delay: 0,
            is_fast: false,
            was_trimmed: false,
            adapts_at: None,
            adjusted_at: Time::ZERO,
            decreased_at: Time::ZERO,
        }
    }

    /// The window in bytes.
    pub fn cwnd(&self) -> i64 {
        self.cwnd
    }

    /// The largest that it may be.
    pub fn largest(&self) -> i64 {
        self.largest
    }

    /// The shortest round trip so far.
    pub fn base_rtt(&self) -> Time {
        self.base_rtt
    }

    /// The delay that is aimed at.
    pub fn target(&self) -> Time {
        self.rules.network.target
    }

    /// The smoothed delay in queues.
    pub fn average_delay(&self) -> Time {
        self.delay
    }

    /// A round trip took so long: perhaps there is a shorter way than was thought, which has a smaller largest
    /// window.
    pub fn learn_base(&mut self, rtt: Time) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            let bdp = saturated::<i64>(rtt.as_ps() as f64 / 1e6 * self.rules.network.rate / 8e6);
            self.largest = self.rules.network.largest_for(bdp as f64);
        }
    }

    /// A round trip took so much longer than the shortest.
    pub fn learn_delay(&mut self, delay: Time, marked: bool) {
        let sample = if !marked && delay > self.rules.network.target {
            // What waited but was not marked since is of the past.
            self.base_rtt.as_ps() as f64 * 0.25
        } else {
            delay.as_ps() as f64
        };
        let gain = self.rules.settings.gain;
        self.delay = Time(saturated::<u64>(gain * sample + (1.0 - gain) * self.delay.as_ps() as f64));
    }

    /// Bytes were acknowledged, whatever follows from that.
    pub fn count(&mut self, bytes: i64) {
        self.achieved += bytes;
        self.received += narrow::<u64>(bytes);
        self.ignored += bytes;
    }

    /// An acknowledgement of so many bytes of a packet that was delayed so long, and perhaps marked.
    pub fn acknowledged(&mut self, now: Time, bytes: i64, delay: Time, marked: bool, in_flight: i64) {
        if self.adapts_quickly(now, false, marked, delay, in_flight) {
            return;
        }
        match (marked, delay >= self.rules.network.target) {
            (false, true) => self.increase += saturated::<u64>(self.rules.scaled.fair * bytes as f64),
            (false, false) => self.grow(bytes, delay),
            (true, true) => self.decrease(now),
            // The path was crowded, and is left.
            (true, false) => {}
        }
        self.bound();
        if self.received > self.rules.scaled.adjust_bytes
            || now.since(self.adjusted_at) > self.rules.network.rtt
        {
            self.adjust(now);
        }
        self.bound();
    }

    /// A packet of so many bytes was trimmed; `spares`: it is for the receiver's credit to see to that.
    pub fn trimmed(&mut self, now: Time, bytes: i64, spares: bool, in_flight: i64) {
        self.ignored += bytes;
        // Where a packet was trimmed a whole queue waited.
        self.learn_delay(self.rules.network.rtt, true);
        self.was_trimmed = true;
        if !self.adapts_quickly(now, true, true, Time::ZERO, in_flight) && !spares {
            self.cwnd -= bytes;
            self.bound();
        }
    }

    /// A packet of so many bytes timed out.
    pub fn lost(&mut self, bytes: i64) {
        self.cwnd = (self.cwnd - bytes).max(self.rules.network.mtu_bytes);
    }

    /// Quick adaptation: once in a round trip with a full queue, whether so little arrived that the window should be
    /// just that.
    fn adapts_quickly(&mut self, now: Time, lost: bool, marked: bool, delay: Time, in_flight: i64) -> bool {
        let mut is_done = self.ignored < self.to_ignore && marked;
        if !is_done && self.adapts_at.is_none_or(|at| now > at) {
            let is_bad = self.was_trimmed || lost || delay.as_ps() as f64 > self.rules.scaled.threshold;
            let is_little = self.achieved < self.largest >> self.rules.settings.gate;
            if self.adapts_at.is_some() && is_bad && is_little {
                self.cwnd = self.achieved.max(self.rules.network.mtu_bytes);
                self.to_ignore = in_flight;
                self.ignored = 0;
                self.was_trimmed = false;
                is_done = true;
            }
            self.achieved = 0;
            self.adapts_at = Some(now + self.base_rtt + self.rules.network.target);
        }
        if is_done {
            self.increase = 0;
            self.received = 0;
        }
        is_done
    }

    fn grow(&mut self, bytes: i64, delay: Time) {
        if delay < self.rules.settings.fast_below {
            self.without_delay += bytes;
            self.is_fast |= self.without_delay > self.cwnd;
        } else {
            self.without_delay = 0;
            self.is_fast = false;
        }
        if self.is_fast {
            self.cwnd = saturated::<i64>(self.cwnd as f64 + bytes as f64 * self.rules.scaled.fast);
        } else {
            let room = self.rules.network.target.since(delay).as_ps() as f64;
            self.increase += saturated::<u64>(self.rules.scaled.alpha * bytes as f64 * room);
        }
    }

    fn decrease(&mut self, now: Time) {
        self.is_fast = false;
        self.without_delay = 0;
        if self.delay > self.rules.network.target && now.since(self.decreased_at) > self.base_rtt {
            let over = self.delay.since(self.rules.network.target).as_ps() as f64 / self.delay.as_ps() as f64;
            let factor = (1.0 - self.rules.settings.gamma * over).max(self.rules.settings.least_factor);
            self.cwnd = saturated::<i64>(self.cwnd as f64 * factor);
            self.decreased_at = now;
        }
    }

    /// Adds what was collected, a window's share of it (the specification's fulfil adjustment).
    fn adjust(&mut self, now: Time) {
        self.cwnd += narrow::<i64>(self.increase) / self.cwnd;
        if now.since(self.adjusted_at) >= self.rules.network.rtt {
            self.cwnd = saturated::<i64>(self.cwnd as f64 + self.rules.scaled.eta);
            self.adjusted_at = now;
        }
        self.increase = 0;
        self.received = 0;
    }

    fn bound(&mut self) {
        self.cwnd = self.cwnd.min(self.largest).max(self.rules.network.mtu_bytes);
    }
}
