//! The scheduler: what switches report at a poll, and what it makes of that.

use super::super::flowlets::Stream;
use super::annealing::Annealing;
use super::network::Network;
use super::{demands, first_fit};
use crate::flow::HostId;
use crate::units::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A large flow, as the switch of its sender reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Large {
    pub(super) stream: Stream,
    pub(super) dst: HostId,
    /// The path that it was given.
    pub(super) path: Option<u16>,
}

impl Large {
    pub(super) fn src(&self) -> HostId {
        self.stream.1
    }

    pub(super) fn ends(&self) -> (HostId, HostId) {
        (self.src(), self.dst)
    }
}

/// How flows are placed.
pub(super) enum Placement {
    FirstFit,
    Annealing(Annealing),
}

/// Paths by flow.
type Paths = BTreeMap<Stream, u16>;

struct State {
    network: Network,
    placement: Placement,
    /// What was reported at which poll.
    reports: BTreeMap<u64, Vec<Large>>,
    /// The poll that was decided last, and what came of it. All who ask for it do so before the next is decided.
    decided: Option<(u64, Paths)>,
}

/// The one scheduler of a network, which all switches share.
///
/// Switches report at a poll, and ask for its decision a set time later, which is no less than a window: so all
/// reports are in when the first asks, whatever the order of the switches' turns and the threads that these are in.
/// Decisions hang on reports alone, in the order of the flows, so it does not matter who is first, either.
pub struct Scheduler(Mutex<State>);

impl Scheduler {
    pub(super) fn new(network: Network, placement: Placement) -> Scheduler {
        Scheduler(Mutex::new(State { network, placement, reports: BTreeMap::new(), decided: None }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a switch's report at a poll.
    pub(super) fn report(&self, poll: u64, flows: impl IntoIterator<Item = Large>) {
        self.state().reports.entry(poll).or_default().extend(flows);
    }

    /// The paths that flows got after a poll; nothing for those that are left to ECMP.
    pub(super) fn paths_of(&self, (poll, now): (u64, Time), flows: &[Stream]) -> Vec<Option<u16>> {
        let mut state = self.state();
        let paths = match state.decided.take() {
            Some((decided, paths)) if decided == poll => paths,
            _ => state.decide(poll, now),
        };
        let (_, paths) = state.decided.insert((poll, paths));
        flows.iter().map(|stream| paths.get(stream).copied()).collect()
    }
}

impl State {
    fn decide(&mut self, poll: u64, now: Time) -> Paths {
        let mut flows = self.reports.remove(&poll).unwrap_or_default();
        flows.sort_by_key(|flow| flow.stream);
        self.reports.retain(|&other, _| other > poll);
        let ends: Vec<_> = flows.iter().map(Large::ends).collect();
        let demands = demands::estimate(&ends, |host| self.network.host_rate(host));
        let flows: Vec<(Large, f64)> = flows.into_iter().zip(demands).collect();
        let rates = self.network.rates(now);
        let paths = match &mut self.placement {
            Placement::FirstFit => first_fit::place(&mut self.network, &rates, &flows),
            Placement::Annealing(annealing) => annealing.place(&mut self.network, &rates, &flows),
        };
        let placed = flows.iter().zip(paths);
        placed.filter_map(|((flow, _), path)| Some((flow.stream, path?))).collect()
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::topology::Topology;

    /// A fat-tree of 16 hosts.
    pub(in super::super) fn tree() -> Network {
        Network::of(&Topology::of_counts("fat-tree", &[("k", 4)]), Vec::new())
    }

    pub(in super::super) fn flow(src: HostId, dst: HostId, path: Option<u16>) -> Large {
        Large { stream: (100 * src + dst, src, 0), dst, path }
    }

    /// The links between switches on a flow's path.
    pub(in super::super) fn links_of(network: &Network, flow: &Large, path: u16) -> Vec<usize> {
        let mut links = Vec::new();
        network.links(flow.ends(), path, &mut links);
        links
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{flow, tree};
    use super::*;
    use crate::units::Rate;

    fn paths_of(order: [usize; 3]) -> Vec<Option<u16>> {
        let flows = [flow(0, 4, None), flow(1, 8, None), flow(2, 12, None)];
        let scheduler = Scheduler::new(tree(), Placement::FirstFit);
        order.iter().for_each(|&number| scheduler.report(7, [flows[number]]));
        scheduler.paths_of((7, Time::ZERO), &flows.map(|flow| flow.stream))
    }

    #[test]
    fn the_order_of_reports_does_not_matter() {
        let paths = paths_of([0, 1, 2]);
        assert!(paths.iter().all(Option::is_some));
        assert_eq!(paths, paths_of([2, 0, 1]));
    }

    #[test]
    fn a_path_that_is_known_to_be_dead_is_left() {
        let topology = crate::topology::Topology::of_counts("fat-tree", &[("k", 4)]);
        let mut whole = tree();
        let first = whole.paths(0, 4).expect("several")[0];
        let links = testing::links_of(&whole, &flow(0, 4, None), first);
        let dead = vec![(Time::from_us(5), BTreeMap::from([(links[1], Rate(0))]))];
        let placed = |now, path| {
            let network = Network::of(&topology, dead.clone());
            let scheduler = Scheduler::new(network, Placement::FirstFit);
            scheduler.report(0, [flow(0, 4, path)]);
            scheduler.paths_of((0, Time::from_us(now)), &[flow(0, 4, path).stream])[0].expect("a path")
        };
        assert_eq!(placed(4, None), first);
        assert_ne!(placed(5, None), first);
        assert_ne!(placed(5, Some(first)), first);
    }
}
