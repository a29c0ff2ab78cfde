//! A flow's TCP: a window of its own until the allocator has sent a rate, then the pace of that.

use super::params::{DEFAULTS, PARAMS, check};
use crate::flow::Flow;
use crate::packet::Packet;
use crate::spec::{Component, Values};
use crate::units::{Rate, Time};
use crate::windowed::{Acked, Congestion, Header, Window, core};

/// NewReno, or a pace.
///
/// Flowtune §6: a flow starts as a regular TCP connection, and with a rate opens its window and paces its packets.
/// What a loss does then the text that was at hand does not say: here the rate stays the allocator's, and what is
/// lost is sent again at it. After a timeout the window is one packet, as nothing is known of the path (RFC 6298 §5);
/// the next acknowledgement, or the next rate, opens it.
#[derive(Clone, Debug)]
pub struct Pace {
    /// In kb/s; 0: none has come.
    kbps: u32,
    mss_bytes: u64,
    /// All of the flow's packets: a window that is open.
    open: u32,
    /// What the last packet took beside framing, and when it left.
    sent_bytes: u16,
    sent_at: Time,
    framing_bytes: u64,
    whole_ns: bool,
    /// When the next packet may go.
    due: Time,
    /// The earliest timer that is set for that.
    pub alarm: Time,
}

impl Pace {
    /// What packets take on links beside their own bytes, and whether the network's clock counts whole nanoseconds.
    pub fn describe(&mut self, framing_bytes: u64, whole_ns: bool) {
        (self.framing_bytes, self.whole_ns) = (framing_bytes, whole_ns);
    }

    /// The allocator has sent a rate.
    pub fn set_rate(&mut self, kbps: u32, window: &mut Window) {
        self.kbps = kbps.max(1);
        self.due = self.sent_at + self.gap();
        self.open_up(window);
    }

    /// What it may send at, once there is a rate.
    pub fn rate(&self) -> Option<Rate> {
        (self.kbps > 0).then(|| Rate(u64::from(self.kbps) * 1_000))
    }

    /// When the next packet may go.
    pub fn due(&self) -> Time {
        self.due
    }

    fn open_up(&self, window: &mut Window) {
        window.make_room(self.open);
    }

    /// How long after the last packet the next one may go.
    fn gap(&self) -> Time {
        let Some(rate) = self.rate().filter(|_| self.sent_bytes > 0) else { return Time::ZERO };
        let time = rate.time_for(u64::from(self.sent_bytes) + self.framing_bytes);
        if self.whole_ns { Time::from_ns(time.as_ps() / 1_000) } else { time }
    }
}

impl Congestion for Pace {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "flowtune",
        doc: "Flowtune: an allocator, which is a host, is notified as flowlets start and end. It computes their rates every 10 us, and sends those that have changed. Flows pace themselves by them, and are TCP's until the first arrives.",
        source: "Flowtune (NSDI 2017) §4-§6; TCP as transport tcp has it",
        params: &[&core(DEFAULTS), PARAMS],
        check,
    };
    const ECN: bool = false;

    fn new(values: &Values) -> Pace {
        Pace {
            kbps: 0,
            mss_bytes: values.bytes("mss"),
            open: 0,
            sent_bytes: 0,
            sent_at: Time::ZERO,
            framing_bytes: 0,
            whole_ns: false,
            due: Time::ZERO,
            alarm: Time::NEVER,
        }
    }

    fn serve(&mut self, flow: &Flow) {
        self.open = flow.size_bytes.div_ceil(self.mss_bytes).try_into().unwrap_or(u32::MAX);
    }

    #[inline]
    fn may_send(&self, now: Time) -> bool {
        self.due <= now
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        if self.kbps > 0 {
            self.open_up(window);
        } else if acked.advanced {
            window.grow();
        }
    }

    fn lost(&mut self, in_flight: u32, window: &mut Window) {
        if self.kbps == 0 {
            window.halve_threshold(in_flight, self.least_threshold());
            window.fall_to_threshold();
        }
    }

    #[inline]
    fn label(&mut self, _: u64, packet: &mut Packet<Header>) {
        (self.sent_at, self.sent_bytes) = (packet.header.sent_at, packet.size_bytes);
        self.due = self.sent_at + self.gap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;

    fn pace(bytes: u64) -> Pace {
        let flow = Flow {
            id: 0,
            src: 0,
            dst: 1,
            size_bytes: bytes,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        let entries = [("mss".to_owned(), Value::Bytes(1_460))].into();
        let mut pace = Pace::new(&Values { kind: "flowtune".to_owned(), entries });
        pace.serve(&flow);
        pace
    }

    fn sends(pace: &mut Pace, at: Time, size_bytes: u16) {
        let header = Header { sent_at: at, ..Header::default() };
        pace.label(0, &mut Packet { size_bytes, header, ..Packet::default() });
    }

    #[test]
    fn packets_keep_the_pace_of_the_rate_and_a_new_rate_holds_at_once() {
        let (mut pace, mut window) = (pace(14_600), Window::of_packets(2));
        sends(&mut pace, Time::from_us(5), 1_500);
        assert!(pace.may_send(Time::from_us(5)) && pace.rate().is_none());
        // 1500 B and 24 B of framing at 1 Gb/s are 12.192 us.
        pace.describe(24, false);
        pace.set_rate(1_000_000, &mut window);
        assert_eq!((pace.due(), window.packets()), (Time::from_ns(17_192), 10));
        sends(&mut pace, Time::from_us(20), 1_500);
        assert_eq!(pace.due(), Time::from_ns(32_192));
        pace.set_rate(4_000_000, &mut window);
        assert!(!pace.may_send(Time::from_ns(23_047)) && pace.may_send(Time::from_ns(23_048)));
        // 1524 B at 3.9 Gb/s are 3126.15 ns.
        pace.describe(24, true);
        pace.set_rate(3_900_000, &mut window);
        assert_eq!(pace.due(), Time::from_ns(23_126));
    }

    #[test]
    fn without_a_rate_it_is_tcp_and_with_one_only_a_timeout_closes_the_window() {
        let (mut pace, mut window) = (pace(146_000), Window::of_packets(20));
        pace.lost(20, &mut window);
        assert_eq!(window.packets(), 10);
        pace.set_rate(1_000_000, &mut window);
        pace.lost(100, &mut window);
        assert_eq!(window.packets(), 100);
        pace.timed_out(100, false, &mut window);
        assert_eq!(window.packets(), 1);
        let (rtt, now) = (Time::from_us(10), Time::from_us(99));
        let acked = Acked {
            packets: 1,
            advanced: true,
            echo: false,
            una: 1,
            next: 100,
            now,
            rtt,
            ..Acked::default()
        };
        pace.acknowledged(acked, &mut window);
        assert_eq!(window.packets(), 100);
    }
}
