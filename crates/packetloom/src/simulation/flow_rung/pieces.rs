//! The pieces of a network on which packets tell what a transport makes of full links. The definition is fixed, and
//! knows nothing of the operations of jobs that are to be estimated.
//!
//! Messages of one size are sent among the first hosts of the network:
//! - **shifts**: each host sends to the one half the hosts further on, beyond its own switches; a half of the hosts send,
//!   three quarters, and all;
//! - **a permutation**: each host sends to one drawn at random;
//! - **incasts** of 2 to 32 hosts to one, drawn at random, as many at once as there are hosts for;
//! - **in servers** that have a network of their own: each host sends to the next of its server.
//!
//! All messages start together. The shift of all hosts, the permutation and what stays in servers are also carried
//! **apart**: each host sends several messages, one in half as much again as the estimate has it take when all start
//! together, and each up to a third of that later. So transports meet others' messages in their midst, as they do in
//! jobs.

use super::super::bare::SEED;
use crate::flow::{Flow, HostId};
use crate::narrow::{exact, saturated};
use crate::random::{Purpose, Stream};
use crate::topology::Topology;
use crate::units::Time;
use std::collections::BTreeMap;

/// About so many hosts take part: more where two groups below one switch each have more.
const HOSTS: u32 = 64;
/// How many send to one in incasts.
pub(super) const FAN_INS: [u32; 5] = [2, 4, 8, 16, 32];
/// Messages are at least and at most so long, and each size is four times the one before.
const SMALLEST: u64 = 16 << 10;
const LARGEST: u64 = 16 << 20;
const STEP: u64 = 4;
/// All messages of a piece have at most so many bytes together.
const MOST_BYTES: u64 = 1 << 30;
/// Messages that are apart: of each host, and of all together at least; how much of the time that they take lies between
/// the starts of a host's, and how much of that they are late at most.
const APART: u32 = 6;
const APART_IN_ALL: u32 = 512;
const PERIOD: f64 = 1.5;
const LATE: f64 = 1.0 / 3.0;

/// Who sends to whom.
type Pairs = Vec<(HostId, HostId)>;

/// A piece.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) pairs: Pairs,
    /// Whether it is carried apart, too.
    pub(super) is_apart: bool,
}

impl Piece {
    /// How many messages it has in all.
    pub(super) fn messages(&self) -> usize {
        self.pairs.len() * if self.is_apart { 1 + rounds(&self.pairs) as usize } else { 1 }
    }
}

/// The pieces of a network.
pub(super) fn pieces(topology: &Topology) -> Vec<Piece> {
    let hosts = taking_part(topology);
    if hosts < 2 {
        return Vec::new();
    }
    let mut random = Stream::new(SEED, Purpose::Pattern, 0);
    let shift = |&from: &HostId| (from, (from + hosts / 2) % hosts);
    let mut all: Vec<Piece> = Vec::new();
    let mut add = |pairs: Pairs, is_apart| all.push(Piece { pairs, is_apart });
    for share in [2, 3, 4] {
        let order = shuffled(hosts, &mut random);
        let sending = &order[..(hosts * share / 4) as usize];
        add(sending.iter().map(shift).collect(), share == 4);
    }
    add(permutation(hosts, &mut random), true);
    if let Some(server) = own_network(topology) {
        let next = |from: HostId| (from, from / server * server + (from + 1) % server);
        add((0..hosts / server * server).map(next).filter(|(from, to)| from != to).collect(), true);
    }
    for fan_in in FAN_INS {
        add(incasts(hosts, fan_in, &mut random), false);
    }
    all.retain(|piece| !piece.pairs.is_empty());
    all
}

/// How many hosts a server has, if they have a network of their own.
fn own_network(topology: &Topology) -> Option<u32> {
    topology.server_hosts.filter(|server| topology.has_scale_up() && *server > 1)
}

/// Whether a message stays in a server that has a network of its own.
pub(super) fn stays_in_server(topology: &Topology, (src, dst): (HostId, HostId)) -> bool {
    own_network(topology).is_some_and(|server| src / server == dst / server)
}

/// The sizes of messages between these.
pub(super) fn sizes(topology: &Topology, least: u64, most: u64) -> Vec<u64> {
    let largest = LARGEST.min(MOST_BYTES / u64::from(taking_part(topology).max(1)));
    let mut sizes = vec![SMALLEST];
    while let Some(&last) = sizes.last()
        && last < most
        && last * STEP <= largest
    {
        sizes.push(last * STEP);
    }
    let unneeded = sizes.windows(2).take_while(|pair| pair[1] <= least).count();
    sizes.drain(..unneeded);
    sizes
}

/// The messages of a piece that start together.
pub(super) fn together(pairs: &[(HostId, HostId)], size_bytes: u64) -> Vec<Flow> {
    pairs.iter().zip(0..).map(|(&pair, id)| flow(id, pair, size_bytes, Time::ZERO)).collect()
}

/// Those that start apart; `took`: what each takes when all start together, by its place among `pairs`.
pub(super) fn apart(pairs: &[(HostId, HostId)], size_bytes: u64, took: &BTreeMap<u32, Time>) -> Vec<Flow> {
    let mut random = Stream::new(SEED, Purpose::Arrivals, size_bytes);
    let mut starts: Vec<(Time, (HostId, HostId))> = Vec::new();
    for (&pair, nth) in pairs.iter().zip(0..) {
        let Some(took) = took.get(&nth) else { continue };
        for round in 0..rounds(pairs) {
            let periods = f64::from(round) + LATE * random.unit();
            starts.push((Time(saturated::<u64>(took.as_ps() as f64 * PERIOD * periods)), pair));
        }
    }
    starts.sort_unstable();
    starts.into_iter().zip(0..).map(|((start, pair), id)| flow(id, pair, size_bytes, start)).collect()
}

/// How many messages of a host are apart.
fn rounds(pairs: &[(HostId, HostId)]) -> u32 {
    APART.max(APART_IN_ALL / exact::<u32>(pairs.len().max(1)))
}

fn flow(id: u32, (src, dst): (HostId, HostId), size_bytes: u64, start: Time) -> Flow {
    Flow { id, src, dst, size_bytes, start, deadline: Time::NEVER, class: 0, source: 0, chain: None }
}

/// How many hosts take part, from the first: whole groups of those below one switch, as many on either side of a shift.
fn taking_part(topology: &Topology) -> u32 {
    let hosts = topology.working_hosts();
    let first = topology.links.iter().find(|link| link.src == 0).map(|link| link.dst);
    let below =
        topology.links.iter().filter(|link| Some(link.dst) == first && link.src < hosts).map(|link| link.src);
    let server = topology.server_hosts.unwrap_or(1).max(1);
    let group = (below.max().unwrap_or(0) + 1).div_ceil(server) * server;
    let both = 2 * group;
    if both > hosts { hosts.min(HOSTS) / 2 * 2 } else { both * (HOSTS.min(hosts) / both).max(1) }
}

fn shuffled(count: u32, random: &mut Stream) -> Vec<HostId> {
    let mut order: Vec<HostId> = (0..count).collect();
    random.shuffle(&mut order);
    order
}

/// Round a circle of all in random order, so that nobody sends to itself.
fn permutation(hosts: u32, random: &mut Stream) -> Pairs {
    let order = shuffled(hosts, random);
    let next = order.iter().cycle().skip(1);
    order.iter().copied().zip(next.copied()).filter(|(from, to)| from != to).collect()
}

fn incasts(hosts: u32, fan_in: u32, random: &mut Stream) -> Pairs {
    let order = shuffled(hosts, random);
    let groups = order.chunks_exact(fan_in as usize + 1);
    groups.flat_map(|group| group[1..].iter().map(|&from| (from, group[0]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    fn network(topology: &str) -> Topology {
        let toml = format!(
            "[topology]\n{topology}\n[[workload]]\narrivals = {{ kind = \"collective\", operation = \"all-reduce\", \
             size = \"1MB\" }}\n[[scheme]]\nname = \"any\"\ntransport = \"tcp\"\nqueue = \"drop-tail\"\n"
        );
        let scenario = Scenario::from_toml(&toml, "test", Path::new(".")).expect("a scenario");
        Topology::build(&scenario.cases().next().expect("a case").topology).expect("a network")
    }

    #[test]
    fn whole_groups_take_part_and_shifts_leave_them() {
        // Two leaves of 48 are more than 64; of leaves of 12 four have place.
        for (leaf, all, expected) in [(48, 4, 96), (12, 20, 48)] {
            let topology = network(&format!(
                "kind = \"leaf-spine\"\nspines = 2\nleaves = {all}\nhosts_per_leaf = {leaf}"
            ));
            let pieces = pieces(&topology);
            assert_eq!(pieces[2].pairs.len(), expected);
            assert!(
                pieces[..3].iter().flat_map(|piece| &piece.pairs).all(|(from, to)| from / leaf != to / leaf)
            );
            assert!(pieces.iter().flat_map(|piece| &piece.pairs).all(|(from, to)| from != to));
        }
    }

    #[test]
    fn sizes_enclose_those_of_the_traffic() {
        let topology = network("kind = \"rack\"\nhosts = 8");
        assert_eq!(sizes(&topology, 100_000, 900_000), [64 << 10, 256 << 10, 1 << 20]);
        assert_eq!(sizes(&topology, 1, 2), [16 << 10]);
        assert_eq!(sizes(&topology, 1 << 30, 1 << 30), [16 << 20]);
    }

    #[test]
    fn a_host_has_one_message_at_a_time_that_is_apart() {
        let took = BTreeMap::from([(0, Time::from_us(10)), (1, Time::from_us(4))]);
        let flows = apart(&[(0, 1), (1, 0)], 1_000, &took);
        assert_eq!(flows.len(), 512);
        for (host, took) in [(0, Time::from_us(10)), (1, Time::from_us(4))] {
            let starts: Vec<Time> =
                flows.iter().filter(|flow| flow.src == host).map(|flow| flow.start).collect();
            assert!(starts.windows(2).all(|pair| pair[1].since(pair[0]) >= took));
        }
    }
}
