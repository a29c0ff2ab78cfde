//! Best completion times that were worked out before.

use crate::flow::{Flow, HostId};
use crate::narrow::narrow;
use crate::random::mix;
use crate::units::Time;

/// Times that follow from flows' ends and sizes. Each sender has some places, at which a hash puts its flows: a job's are to
/// few others and of few sizes.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<[Option<(HostId, u64, Time)>; Known::PLACES]>);

impl Known {
    const PLACES: usize = 8;

    /// The time of a flow, which is worked out unless the last one at its place was alike.
    pub(super) fn time(&mut self, flow: &Flow, work_out: impl FnOnce() -> Time) -> Time {
        let Flow { src, dst, size_bytes, .. } = *flow;
        let senders = self.0.len().max(src as usize + 1);
        self.0.resize(senders, [None; Known::PLACES]);
        let hash = mix(u64::from(dst) << 32 ^ size_bytes);
        let place = &mut self.0[src as usize][narrow::<usize>(hash % Known::PLACES as u64)];
        match *place {
            Some((to, size, time)) if (to, size) == (dst, size_bytes) => time,
            _ => place.insert((dst, size_bytes, work_out())).2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow((src, dst): (HostId, HostId), size_bytes: u64) -> Flow {
        let (id, start, deadline, class, source, chain) = (0, Time::ZERO, Time::NEVER, 0, 0, None);
        Flow { id, src, dst, size_bytes, start, deadline, class, source, chain }
    }

    #[test]
    fn times_are_worked_out_for_the_flow_that_is_asked_for() {
        let mut known = Known::default();
        let asked = |known: &mut Known, src: u32, dst: u32, size_bytes: u64| {
            let flow = flow((src, dst), size_bytes);
            known.time(&flow, || Time(u64::from(src) * 1_000_000 + u64::from(dst) * 1_000 + size_bytes))
        };
        for again in 0..3 {
            for (src, dst, size) in [(0, 1, 10), (0, 1, 20), (0, 2, 10), (5, 1, 10), (5, 70, 999)] {
                let right = Time(u64::from(src) * 1_000_000 + u64::from(dst) * 1_000 + size);
                assert_eq!(asked(&mut known, src, dst, size), right, "{again}");
            }
        }
        // More kinds than there are places.
        for size in (1..100).chain(1..100) {
            assert_eq!(asked(&mut known, 3, 4, size), Time(3_004_000 + size));
        }
    }
}
