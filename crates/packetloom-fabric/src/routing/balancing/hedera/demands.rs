//! What large flows would carry if nothing but the hosts' links limited them (Hedera §4.2).

use crate::flow::HostId;
use std::collections::BTreeMap;

/// What is less than this is nothing: floating point does not tell 1/3 + 2/3 from 1.
pub(super) const NOTHING: f64 = 1e-9;

#[derive(Clone, Copy, Debug)]
struct Flow {
    demand: f64,
    /// Its receiver limits it.
    is_settled: bool,
}

/// The demands of flows, each from one host to another; `rate`: that of a host's link, in the unit that demands get.
///
/// Senders share their links out evenly to the flows that no receiver limits yet, then receivers that are to get
/// more than they can cut the largest down to an even share; and so on until nothing changes.
pub(super) fn estimate(flows: &[(HostId, HostId)], rate: impl Fn(HostId) -> f64) -> Vec<f64> {
    let mut all = vec![Flow { demand: 0.0, is_settled: false }; flows.len()];
    let mut of_senders: BTreeMap<HostId, Vec<usize>> = BTreeMap::new();
    let mut of_receivers: BTreeMap<HostId, Vec<usize>> = BTreeMap::new();
    for (number, &(src, dst)) in flows.iter().enumerate() {
        of_senders.entry(src).or_default().push(number);
        of_receivers.entry(dst).or_default().push(number);
    }
    loop {
        let mut changed = false;
        for (&host, own) in &of_senders {
            changed |= share_out(&mut all, own, rate(host));
        }
        for (&host, own) in &of_receivers {
            changed |= cut_down(&mut all, own, rate(host));
        }
        if !changed {
            return all.iter().map(|flow| flow.demand).collect();
        }
    }
}

/// EST-SRC: what settled flows leave of a sender's link is shared out to the others. Whether any demand changed.
fn share_out(all: &mut [Flow], own: &[usize], rate: f64) -> bool {
    let taken: f64 = own.iter().filter(|&&flow| all[flow].is_settled).map(|&flow| all[flow].demand).sum();
    let open = own.iter().filter(|&&flow| !all[flow].is_settled).count();
    let share = (rate - taken).max(0.0) / open.max(1) as f64;
    let mut changed = false;
    for &flow in own {
        let flow = &mut all[flow];
        if !flow.is_settled {
            changed |= (flow.demand - share).abs() > NOTHING;
            flow.demand = share;
        }
    }
    changed
}

/// EST-DST: where a receiver is to get more than its link carries, the flows that send more than an even share of
/// what the smaller ones leave are cut down to it, and settled. Whether any demand changed, or any flow settled.
fn cut_down(all: &mut [Flow], own: &[usize], rate: f64) -> bool {
    let total: f64 = own.iter().map(|&flow| all[flow].demand).sum();
    if total <= rate + NOTHING {
        return false;
    }
    let mut limited = own.to_vec();
    let mut left = rate;
    let share = loop {
        let share = left / limited.len().max(1) as f64;
        let before = limited.len();
        limited.retain(|&flow| {
            let is_limited = all[flow].demand > share - NOTHING;
            left -= if is_limited { 0.0 } else { all[flow].demand };
            is_limited
        });
        if limited.len() == before {
            break share;
        }
    };
    let mut changed = false;
    for flow in limited {
        let flow = &mut all[flow];
        changed |= !flow.is_settled || (flow.demand - share).abs() > NOTHING;
        *flow = Flow { demand: share, is_settled: true };
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn the_papers_example_comes_out() {
        // Hedera, figure 5: four hosts; two flows from 1 to 0, and two from 3 to 1. The figure is from memory, as
        // the paper's text was not at hand; its flows are also those of an implementation for POX (`demand.py`).
        let flows = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 0), (1, 2), (2, 0), (2, 3), (3, 1), (3, 1)];
        let third = 1.0 / 3.0;
        let expected = [third, third, third, third, third, third, third, 2.0 * third, third, third];
        assert_near(&estimate(&flows, |_| 1.0), &expected);
    }

    #[test]
    fn one_sender_or_one_receiver_is_shared_evenly() {
        assert_near(&estimate(&[(0, 1), (0, 2), (0, 3), (0, 4)], |_| 1.0), &[0.25; 4]);
        assert_near(&estimate(&[(1, 0), (2, 0), (3, 0), (4, 0)], |_| 1.0), &[0.25; 4]);
        assert_near(&estimate(&[(0, 1), (2, 3)], |_| 1.0), &[1.0; 2]);
        assert_near(&estimate(&[], |_| 1.0), &[]);
    }

    #[test]
    fn hosts_may_have_links_of_different_rates() {
        // Host 0 has a tenth: what it does not send host 1 gets of the other.
        let rate = |host| if host == 0 { 0.1 } else { 1.0 };
        assert_near(&estimate(&[(0, 1), (2, 1)], rate), &[0.1, 0.9]);
    }

    #[test]
    fn demands_fit_every_link_and_leave_nothing_that_a_flow_could_take() {
        let mut random = crate::random::Stream::new(3, crate::random::Purpose::Pattern, 0);
        for _ in 0..200 {
            let flows: Vec<_> = (0..40).map(|_| (random.below(9), random.below(9))).collect();
            let demands = estimate(&flows, |_| 1.0);
            let sum = |is_mine: &dyn Fn(&(HostId, HostId)) -> bool| -> f64 {
                let mine = flows.iter().zip(&demands).filter(|(flow, _)| is_mine(flow));
                mine.map(|(_, demand)| demand).sum()
            };
            for &(src, dst) in &flows {
                let (sent, got) = (sum(&|flow| flow.0 == src), sum(&|flow| flow.1 == dst));
                assert!(sent < 1.0 + 1e-6 && got < 1.0 + 1e-6, "{sent} {got}");
                assert!(sent > 1.0 - 1e-6 || got > 1.0 - 1e-6, "{src} to {dst}: {sent} {got}");
            }
        }
    }
}
