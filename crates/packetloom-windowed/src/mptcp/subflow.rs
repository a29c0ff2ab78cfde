//! A subflow: which of the flow's packets it carries, and how its window grows beside the others' (RFC 6356's LIA).

use super::PARAMS;
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::spec::{Component, Values};
use crate::units::Time;
use crate::windowed::{Acked, Congestion, Header, Sender, Window, core, default_of};
use std::collections::VecDeque;

/// One packet, or a ratio of one, in fixed point.
const ONE: u64 = 1 << 20;

/// Windows count as 2^16 packets at most, so that sums and squares fit: a step is next to nothing there.
const LARGEST_WINDOW_Q20: u64 = ONE << 16;

/// A packet of the flow that a subflow carries.
#[derive(Clone, Copy, Debug)]
struct Carried {
    /// Its number in the flow.
    data_seq: u32,
    /// Whether another subflow has been given it too.
    reinjected: bool,
}

/// What a subflow is beside a TCP sender.
#[derive(Clone, Debug, Default)]
pub struct Subflow {
    /// What it carries, from its packet `first` on.
    carried: VecDeque<Carried>,
    first: u32,
    /// The flow's last packet, and the wire sizes of that and of all others.
    last: u32,
    last_bytes: u16,
    full_bytes: u16,
    /// Whether the flow has no other subflow.
    is_alone: bool,
    /// How much each acknowledged packet adds to the window at most, in units of 2^-20 of a packet.
    step_q20: u64,
}

impl Subflow {
    /// Sets the size and number of the flow's packets, and whether there are other subflows.
    pub fn describe(&mut self, packets: u32, full_bytes: u16, last_bytes: u16, is_alone: bool) {
        (self.last, self.full_bytes, self.last_bytes) = (packets - 1, full_bytes, last_bytes);
        self.is_alone = is_alone;
    }

    /// The next packet of the subflow is this one of the flow.
    pub fn carry(&mut self, data_seq: u32) {
        self.carried.push_back(Carried { data_seq, reinjected: false });
    }

    /// Forgets what it carried before its packet `una`.
    pub fn forget_below(&mut self, una: u32) {
        while self.first < una && self.carried.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// Hands its packet `seq` to others; returns its number in the flow, unless that was done before.
    pub fn reinject(&mut self, seq: u32) -> Option<u32> {
        let carried = &mut self.carried[(seq - self.first) as usize];
        (!std::mem::replace(&mut carried.reinjected, true)).then_some(carried.data_seq)
    }

    /// Sets the step of [`coupled_step`].
    pub fn set_step(&mut self, step_q20: u64) {
        self.step_q20 = step_q20;
    }
}

impl Congestion for Subflow {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "mptcp",
        doc: "Multipath TCP: subflows on paths of their own (per-flow ECMP), whose windows grow together no faster than TCP's would on the best path. Data goes to any subflow whose window allows it; after a timeout what it carried goes to the others too.",
        source: "RFC 8684; RFC 6356: LIA",
        params: &[&core(default_of()), PARAMS],
        check: super::check,
    };
    const ECN: bool = false;

    fn new(_: &Values) -> Subflow {
        Subflow::default()
    }

    /// What it carried was the last flow's.
    fn resumed(&mut self, _: &Flow, _: &mut Window) {
        *self = Subflow::default();
    }

    /// RFC 6356 §3: 1 MSS instead of 2 where there is more than one path.
    fn least_threshold(&self) -> u32 {
        if self.is_alone { 2 } else { 1 }
    }

    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        if acked.advanced {
            window.grow_coupled(acked.packets, self.step_q20);
        }
    }

    fn label(&mut self, _: u64, packet: &mut Packet<Header>) {
        let data_seq = self.carried[(packet.header.seq - self.first) as usize].data_seq;
        packet.header.ack = data_seq;
        packet.header.last = data_seq == self.last;
        packet.size_bytes = if packet.header.last { self.last_bytes } else { self.full_bytes };
    }
}

/// By how much a window may grow for each acknowledged packet, in units of 2^-20 of a packet: alpha / cwnd_total,
/// where alpha = cwnd_total × max(cwnd_i / rtt_i²) / (Σ cwnd_i / rtt_i)² (RFC 6356 §3). A subflow that has not
/// measured its round-trip time counts as one with the shortest.
pub fn coupled_step<'a>(subflows: impl Iterator<Item = &'a Sender<Subflow>> + Clone) -> u64 {
    let paths = subflows.map(|subflow| (subflow.window().packets_q20(), subflow.smoothed_rtt()));
    step_of(paths)
}

fn step_of(paths: impl Iterator<Item = (u64, Option<Time>)> + Clone) -> u64 {
    let shortest = paths.clone().filter_map(|(_, rtt)| rtt).min();
    let (mut best, mut sum) = (0, 0);
    for (window_q20, rtt) in paths {
        let window = u128::from(window_q20.min(LARGEST_WINDOW_Q20));
        // The shortest round-trip time over this one: it cancels, and numbers stay small.
        let quickness = match (shortest, rtt) {
            (Some(shortest), Some(rtt)) => {
                u128::from(shortest.as_ps()) * u128::from(ONE) / u128::from(rtt.as_ps())
            }
            _ => u128::from(ONE),
        };
        best = best.max(window * quickness * quickness);
        sum += window * quickness;
    }
    // best is in units of 2^-60, the square of sum of 2^-80.
    narrow::<u64>((best << 40) / (sum * sum).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(paths: &[(f64, u64)]) -> f64 {
        let paths = paths
            .iter()
            .map(|&(window, rtt_us)| ((window * ONE as f64) as u64, Some(Time::from_ns(rtt_us * 1_000))));
        step_of(paths) as f64 / ONE as f64
    }

    /// RFC 6356 §3, in floating point.
    fn formula(paths: &[(f64, u64)]) -> f64 {
        let total: f64 = paths.iter().map(|(window, _)| window).sum();
        let best = paths.iter().map(|&(window, rtt)| window / (rtt * rtt) as f64).fold(0.0, f64::max);
        let sum: f64 = paths.iter().map(|&(window, rtt)| window / rtt as f64).sum();
        let alpha = total * best / (sum * sum);
        alpha / total
    }

    #[test]
    fn a_subflow_alone_is_tcp() {
        for window in [1.0, 2.5, 10.0, 1_000.0] {
            assert!((step(&[(window, 100)]) * window - 1.0).abs() < 1e-3, "{window}");
        }
    }

    #[test]
    fn the_step_is_the_formula_s() {
        // Two alike: 10 / (10 + 10)² for each packet, a quarter of what each would add alone, so half of that in
        // all.
        assert!((step(&[(10.0, 100), (10.0, 100)]) - 1.0 / 40.0).abs() < 1e-6);
        for paths in [
            vec![(10.0, 100), (40.0, 100)],
            vec![(10.0, 50), (10.0, 200)],
            vec![(3.0, 10), (700.0, 1_000), (1.0, 333)],
            vec![(20_000.0, 5); 64],
        ] {
            let (ours, exact) = (step(&paths), formula(&paths));
            assert!((ours - exact).abs() <= exact * 1e-4 + 1.0 / ONE as f64, "{paths:?}: {ours}, {exact}");
        }
    }

    #[test]
    fn nothing_overflows() {
        let largest = (u64::MAX, Some(Time(1)));
        assert!(step_of(std::iter::repeat_n(largest, 64)) < ONE);
        assert_eq!(step_of([(ONE, None), (ONE, None)].into_iter()), ONE / 4);
        assert!(step_of([(ONE, Some(Time(1))), (ONE, Some(Time(u64::MAX)))].into_iter()) <= ONE);
    }
}
