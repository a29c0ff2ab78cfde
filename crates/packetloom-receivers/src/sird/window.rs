//! What a receiver keeps of each sender: the credit that is outstanding, and how much of it may be. Two loops set that,
//! each by its own mark, the smaller one counts (SIRD §4; R2p2CCHybrid::update_sender_state).

use super::config::Config;
use crate::narrow::{narrow, saturated};

/// A sender, as its receiver sees it.
#[derive(Clone, Debug)]
pub struct Window {
    /// Credit, its own allotments counted, for which no data has come. Below zero where data that was sent for an allotment
    /// overtakes the message that tells of it.
    pub outstanding_bytes: i64,
    /// All that it was ever given, but for what it allotted itself.
    pub total_bytes: u64,
    /// The smaller one of the two loops' windows.
    window_bytes: u64,
    network: Loop,
    sender: Loop,
    /// Packets since the shares of marked ones were last reckoned, and how many there are to be until then.
    packets: u32,
    reckon_at: u32,
}

/// A loop of additive increase and multiplicative decrease.
#[derive(Clone, Debug)]
struct Loop {
    window_bytes: u64,
    /// The smoothed share of packets that are marked.
    share: f64,
    marked: u32,
    /// Packets since the window was last cut, and how many there have to be before the next time.
    since_cut: u32,
    cut_at: u32,
}

impl Window {
    /// Of a sender from which nothing has come.
    pub fn new(config: &Config) -> Window {
        let both = Loop {
            window_bytes: config.bdp_bytes,
            share: 0.0,
            marked: 0,
            since_cut: 0,
            cut_at: packets(config.bdp_bytes, config),
        };
        Window {
            outstanding_bytes: 0,
            total_bytes: 0,
            window_bytes: config.bdp_bytes,
            network: both.clone(),
            sender: both,
            packets: 0,
            reckon_at: 1,
        }
    }

    /// Whether the sender may have so much credit more.
    #[inline]
    pub fn has_room(&self, bytes: u64, config: &Config) -> bool {
        let [window, bdp, more] = [self.window_bytes, config.bdp_bytes, bytes].map(narrow::<i64>);
        self.outstanding_bytes <= window && self.outstanding_bytes + more <= bdp
    }

    /// A packet of the sender came, of any kind.
    #[inline]
    pub fn note(&mut self, network_mark: bool, sender_mark: bool, config: &Config) {
        self.packets += 1;
        let reckons = self.packets >= self.reckon_at;
        let is_quiet = !reckons && !network_mark && !sender_mark;
        if is_quiet && self.network.is_open(config) && self.sender.is_open(config) {
            self.network.since_cut += 1;
            self.sender.since_cut += 1;
            return;
        }
        let of = reckons.then_some(self.packets);
        self.network.note(network_mark, of, self.window_bytes, config.least_network_bytes, config);
        self.sender.note(sender_mark, of, self.window_bytes, config.least_sender_bytes, config);
        self.window_bytes = self.network.window_bytes.min(self.sender.window_bytes);
        if reckons {
            self.packets = 0;
            self.reckon_at = packets(self.window_bytes, config).max(1);
        }
    }
}

impl Loop {
    /// Whether its window is as large as it can be.
    #[inline]
    fn is_open(&self, config: &Config) -> bool {
        self.window_bytes == config.bdp_bytes
    }

    /// A packet came, the last of so many of which the share of marked ones is reckoned.
    fn note(&mut self, mark: bool, of: Option<u32>, window: u64, least: u64, config: &Config) {
        self.since_cut += 1;
        self.marked += u32::from(mark);
        if let Some(packets) = of {
            let share = f64::from(self.marked) / f64::from(packets);
            self.share = (1.0 - config.gain) * self.share + config.gain * share;
            self.marked = 0;
        }
        // Each packet adds, marked or not: the test that is to leave marked ones out sets its flag before it asks for it.
        let full = config.layout.full_bytes();
        let mut change = (full * full / window.max(1)) as f64;
        if mark && self.since_cut >= self.cut_at {
            change -= self.window_bytes as f64 * self.share / 2.0;
            self.since_cut = 0;
            self.cut_at = packets(window + window / 2, config);
        }
        let changed = saturated::<u64>(self.window_bytes as f64 + change);
        self.window_bytes = changed.max(least).min(config.bdp_bytes);
    }
}

/// How many full packets a window is.
fn packets(window_bytes: u64, config: &Config) -> u32 {
    u32::try_from(window_bytes / config.layout.full_bytes()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    fn after(packets: usize, network: bool, sender: bool) -> Window {
        let config = config();
        let mut window = Window::new(&config);
        (0..packets).for_each(|_| window.note(network, sender, &config));
        window
    }

    #[test]
    fn a_window_is_a_bdp_until_marks_come() {
        assert_eq!(after(10_000, false, false).window_bytes, 100_000);
    }

    #[test]
    fn one_loops_marks_leave_the_other_loop_alone() {
        let window = after(3_000, false, true);
        assert_eq!(window.network.window_bytes, 100_000);
        assert!(window.window_bytes < 30_000, "{window:?}");
        let window = after(3_000, true, false);
        assert_eq!(window.sender.window_bytes, 100_000);
        assert!(window.window_bytes < 30_000, "{window:?}");
    }

    #[test]
    fn the_share_of_marks_is_reckoned_once_a_window_and_cuts_it_by_half_of_itself() {
        let config = config();
        let mut window = Window::new(&config);
        // The first packet alone is reckoned: 8 % of one.
        window.note(false, true, &config);
        assert!((window.sender.share - 0.08).abs() < 1e-12);
        // 65 full packets are a window of 100 kB: the next 64 change nothing but what they add.
        (0..63).for_each(|_| window.note(false, true, &config));
        assert_eq!(window.sender.window_bytes, 100_000);
        // The 65th since the start: 23 B (1538^2 / 100 000) more, 4 % of 100 000 B less.
        window.note(false, true, &config);
        assert_eq!(window.sender.window_bytes, 100_000 + 23 - 4_000);
        // The share of the 65 after the first, all of them marked.
        window.note(false, true, &config);
        assert!((window.sender.share - (0.92 * 0.08 + 0.08)).abs() < 1e-12);
    }

    #[test]
    fn a_window_stays_above_its_least() {
        let config = config();
        let mut window = Window::new(&config);
        (0..200_000).for_each(|_| window.note(true, true, &config));
        assert!(window.network.window_bytes >= 3_000 && window.sender.window_bytes >= 10_000);
    }

    #[test]
    fn there_is_room_while_what_is_outstanding_is_within_the_window_and_a_bdp() {
        let config = config();
        let mut window = Window::new(&config);
        window.outstanding_bytes = 98_000;
        assert!(window.has_room(1_538, &config));
        window.outstanding_bytes = 98_500;
        assert!(!window.has_room(1_538, &config));
        let mut cut = after(3_000, false, true);
        cut.outstanding_bytes = narrow(cut.window_bytes);
        assert!(cut.has_room(1_538, &config), "the one that reaches beyond the window");
        cut.outstanding_bytes += 1;
        assert!(!cut.has_room(84, &config));
    }
}
