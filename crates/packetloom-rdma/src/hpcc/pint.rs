//! HPCC-PINT: instead of a line for each switch, a packet carries how much of its fullest link is in use, in a byte
//! or two (Ben Basat et al., "PINT", SIGCOMM 2020, §4.3; HPCC's simulator, CC_MODE 10: switch-node.cc, pint.cc).
//!
//! Switches keep the average that senders keep otherwise, over all packets instead of one flow's. What is sent of it
//! is a power of a base, drawn up or down so that its mean is right. The simulator's switches take logarithms and
//! products from tables of 16 and 20 bits, as hardware must; here they are exact.

use crate::engine::{Leaving, PortInfo};
use crate::narrow::saturated;
use crate::random::{Purpose, Stream};
use crate::spec::Values;
use crate::units::{Rate, Time};

/// The least that is told is a link's share of one of so many flows (the simulator's max_concurrent).
const SHARES: f64 = 512.0;

/// How a scenario wants utilisation written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    base: f64,
}

impl Code {
    /// A scenario's, if it has one.
    pub fn of(transport: &Values) -> Option<Code> {
        transport.flag("pint").then(|| Code { base: transport.number("pint_base") })
    }

    /// The utilisation that a packet tells.
    pub fn decode(self, power: u16) -> f64 {
        libm::pow(self.base, power.into()) / SHARES
    }

    /// The power for a utilisation; `draw` lies between 0 and 1.
    fn encode(self, in_use: f64, draw: f64) -> u16 {
        let shares = libm::ceil(in_use * SHARES).max(1.0);
        let below = libm::floor(libm::log(shares) / libm::log(self.base));
        let (low, high) = (libm::pow(self.base, below), libm::pow(self.base, below + 1.0));
        let is_high = draw < (shares - low) / (high - low);
        saturated::<u16>(below) + u16::from(is_high)
    }
}

/// What a switch's port keeps.
#[derive(Clone, Debug)]
pub struct Average {
    code: Code,
    base_rtt: Time,
    rate: Rate,
    in_use: f64,
    /// When the last packet started, and its size.
    last: (Time, f64),
    random: Stream,
}

impl Average {
    /// That of a port.
    pub fn of(transport: &Values, port: PortInfo) -> Option<Average> {
        let base_rtt = transport.optional_time("base_rtt")?;
        Some(Average {
            code: Code::of(transport)?,
            base_rtt,
            rate: port.rate,
            in_use: 0.0,
            last: (Time::ZERO, 0.0),
            random: Stream::new(port.seed, Purpose::Transport, port.link.into()),
        })
    }

    /// A packet of this size starts; returns what it is to tell of this link.
    pub fn after(&mut self, leaving: Leaving, size_bytes: u16) -> u16 {
        let (at, bytes) = self.last;
        let base_rtt = self.base_rtt.as_ps() as f64;
        let gap = (leaving.at.since(at).as_ps() as f64).min(base_rtt);
        // What the link carries in a base round trip.
        let whole = self.rate.as_bps() as f64 * base_rtt / 8e12;
        let newest = leaving.left.bytes as f64 / whole * gap / base_rtt + bytes / whole;
        self.in_use = newest + self.in_use * (base_rtt - gap) / base_rtt;
        self.last = (leaving.at, size_bytes.into());
        self.code.encode(self.in_use, self.random.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packetloom_queue::queue::Occupancy;

    const CODE: Code = Code { base: 1.05 };

    #[test]
    fn what_is_told_is_right_in_the_mean_and_within_a_step() {
        let mut random = Stream::new(1, Purpose::Transport, 0);
        for in_use in [0.1, 0.5, 0.95, 1.0, 2.3] {
            let shares = libm::ceil(in_use * SHARES) / SHARES;
            let mut sum = 0.0;
            for _ in 0..20_000 {
                let told = CODE.decode(CODE.encode(in_use, random.unit()));
                assert!(told > shares / 1.0501 && told < shares * 1.0501, "{told} for {in_use}");
                sum += told;
            }
            let mean = sum / 20_000.0;
            assert!((mean / shares - 1.0).abs() < 1e-3, "{mean} for {in_use}");
        }
        assert_eq!(CODE.decode(CODE.encode(0.0, 0.99)), 1.0 / SHARES);
    }

    #[test]
    fn a_ports_average_is_what_it_sends_and_what_waits() {
        let mut average = Average {
            code: CODE,
            base_rtt: Time::from_ns(4_160),
            rate: Rate::from_gbps(100),
            in_use: 0.0,
            last: (Time::ZERO, 0.0),
            random: Stream::new(1, Purpose::Transport, 0),
        };
        let mut send = |gap_ps: u64, queue_bytes: u64| {
            let mut at = average.last.0;
            for _ in 0..2_000 {
                at += Time(gap_ps);
                let left = Occupancy { packets: 0, bytes: queue_bytes };
                average.after(Leaving { at, left, sent_bytes: 0 }, 1_000);
            }
            average.in_use
        };
        // Back to back; at half of the rate; and with a base round trip's bytes waiting.
        for (gap_ps, queue_bytes, expected) in [(80_000, 0, 1.0), (160_000, 0, 0.5), (80_000, 52_000, 2.0)] {
            let found = send(gap_ps, queue_bytes);
            assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
        }
    }
}
