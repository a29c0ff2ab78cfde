//! Global First Fit (Hedera §4.3): a flow takes the first path all of whose links have room for its demand, which
//! they then keep for it.

use super::demands::NOTHING;
use super::network::Network;
use super::scheduler::Large;

/// A path for each flow, given the rates of all links; nothing where none has room, or there is no choice. What was
/// placed before stays where it is, unless its path is dead.
///
/// The paper asks for a path with more room than the flow needs (`<`). A flow that fills its host's link would then
/// never be placed where all links are alike; here room that is just enough will do.
pub(super) fn place(network: &mut Network, rates: &[f64], flows: &[(Large, f64)]) -> Vec<Option<u16>> {
    let mut room = rates.to_vec();
    let mut links = Vec::new();
    let mut placed = vec![None; flows.len()];
    for ((flow, demand), path) in flows.iter().zip(&mut placed) {
        let Some(old) = flow.path else { continue };
        network.links(flow.ends(), old, &mut links);
        if links.iter().all(|&link| rates[link] > 0.0) {
            links.iter().for_each(|&link| room[link] -= demand);
            *path = Some(old);
        }
    }
    for ((flow, demand), path) in flows.iter().zip(&mut placed).filter(|(_, path)| path.is_none()) {
        let (src, dst) = flow.ends();
        let Some(paths) = network.paths(src, dst) else { continue };
        *path = paths.iter().copied().find(|&path| {
            network.links((src, dst), path, &mut links);
            links.iter().all(|&link| room[link] + NOTHING >= *demand)
        });
        if path.is_some() {
            links.iter().for_each(|&link| room[link] -= demand);
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::super::scheduler::testing::{flow, links_of, tree};
    use super::*;
    use std::collections::BTreeSet;

    /// The links of the paths that flows got, all of which are placed.
    fn placed(network: &mut Network, flows: &[(Large, f64)]) -> Vec<Vec<usize>> {
        let rates = network.rates(crate::units::Time::ZERO);
        let paths = place(network, &rates, flows);
        flows
            .iter()
            .zip(paths)
            .map(|((flow, _), path)| links_of(network, flow, path.expect("a path")))
            .collect()
    }

    #[test]
    fn flows_that_would_collide_get_paths_apart() {
        // From the first pod of a fat-tree of 16 hosts to the others: the four hosts fill all that leads out of it.
        let mut network = tree();
        let flows = [(0, 4), (1, 8), (2, 12), (3, 5)].map(|(src, dst)| (flow(src, dst, None), 1.0));
        let paths = placed(&mut network, &flows);
        assert!(paths.iter().all(|links| links.len() == 4), "{paths:?}");
        let links: BTreeSet<usize> = paths.iter().flatten().copied().collect();
        assert_eq!(links.len(), 16);
    }

    #[test]
    fn small_demands_share_a_path_until_it_is_full() {
        let mut network = tree();
        let flows = [(0, 4), (0, 5), (0, 6)].map(|(src, dst)| (flow(src, dst, None), 0.5));
        let firsts: Vec<usize> = placed(&mut network, &flows).iter().map(|links| links[0]).collect();
        assert!(firsts[0] == firsts[1] && firsts[1] != firsts[2], "{firsts:?}");
    }

    #[test]
    fn what_is_placed_stays_and_what_has_no_room_or_no_choice_is_left() {
        let mut network = tree();
        let rates = network.rates(crate::units::Time::ZERO);
        let paths = network.paths(0, 4).expect("several");
        let last = paths[3];
        let flows = [(flow(0, 4, Some(last)), 0.2), (flow(1, 5, None), 1.0), (flow(0, 1, None), 1.0)];
        let placed = place(&mut network, &rates, &flows);
        assert_eq!((placed[0], placed[1], placed[2]), (Some(last), Some(paths[0]), None));
        let full: Vec<_> = (0..3).map(|_| (flow(0, 4, None), 0.8)).collect();
        assert_eq!(place(&mut network, &rates, &full), [Some(paths[0]), Some(paths[2]), None]);
    }
}
