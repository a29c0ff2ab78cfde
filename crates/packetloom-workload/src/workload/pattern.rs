//! From where to where flows go.

use super::entity;
use super::query::QuerySpec;
use crate::flow::HostId;
use crate::narrow::exact;
use crate::random::{Purpose, Stream};
use crate::spec::{Complaint, Component, Kind, Needs, Param, Values, anything, check_period, param};
use crate::units::Time;
use std::sync::Arc;

const STAGGER: Param = param! {
    "stagger" = "0us": Kind::Time,
    "The second flow of an event starts this much after the first, the third as much after the second, and so on.",
    "packetloom"
};
const JITTER: Param = param! {
    "jitter" = "0us": Kind::Time,
    "Each flow starts later by a time drawn uniformly between 0 and this.", "packetloom"
};

/// What a scenario can write as `pattern`.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "pattern",
        kind: "random-pairs",
        doc: "Every flow goes from a random host to another; pairs are drawn uniformly.",
        source: "pFabric §3",
        params: &[],
        check: anything,
    },
    Component {
        section: "pattern",
        kind: "permutation",
        doc: "Every host sends to one other host and receives from one: a permutation without fixed points, drawn \
              uniformly for each seed.",
        source: "NDP §6",
        params: &[],
        check: anything,
    },
    Component {
        section: "pattern",
        kind: "all-to-all",
        doc: "Every host sends to every other. In order, the i-th round has a flow from each host to the i-th host \
              after it; with Poisson arrivals pairs are drawn uniformly.",
        source: "packetloom",
        params: &[],
        check: anything,
    },
    Component {
        section: "pattern",
        kind: "incast",
        doc: "Events: a number of random hosts send to one receiver together. Arrivals count events, not flows. \
              With a fixed receiver the load is that of its link.",
        source: "NDP §6",
        params: &[&[
            param! {
                required "fan_in": Kind::Count(1),
                "How many hosts send in an event; all different, none the receiver.", "packetloom"
            },
            param! {
                "receiver": Kind::Count(0),
                "The receiving host. Left out: drawn anew for each event.", "packetloom"
            },
            STAGGER,
            JITTER,
            param! {
                "query": Kind::Bytes,
                "Size on the wire of the query by which the receiver requests each host's flow; it carries \
                      how many hosts are queried. The flow starts when the query arrives, and the jitter later. Left out: hosts start \
                      by themselves.",
                "DAQ §II-B"
            },
            param! {
                "query_timeout" = "10ms": Kind::Time,
                "A query that is not acknowledged for this long is sent again.",
                "packetloom"; acts &[Needs::Set("query")]
            },
        ]],
        check: check_query,
    },
    Component {
        section: "pattern",
        kind: "outcast",
        doc: "Events: one sender sends to a number of random hosts together. Arrivals count events, not flows. \
              With a fixed sender the load is that of its link.",
        source: "NDP in a fat-tree §6: future work",
        params: &[&[
            param! {
                required "fan_out": Kind::Count(1),
                "How many hosts receive in an event; all different, none the sender.", "packetloom"
            },
            param! {
                "sender": Kind::Count(0),
                "The sending host. Left out: drawn anew for each event.", "packetloom"
            },
            STAGGER,
            JITTER,
        ]],
        check: anything,
    },
    Component {
        section: "pattern",
        kind: "pair",
        doc: "All flows go from one host to another. The load is that of the sender's link.",
        source: "packetloom",
        params: &[&[
            param! { required "src": Kind::Count(0), "The sending host.", "packetloom" },
            param! { required "dst": Kind::Count(0), "The receiving host.", "packetloom" },
        ]],
        check: check_pair,
    },
];

fn check_query(values: &Values) -> Result<(), Complaint> {
    if values.optional_bytes("query").is_some_and(|bytes| !(1..=9_000).contains(&bytes)) {
        return Err(Complaint::new("query", "a packet's size: write one from 1B to 9000B"));
    }
    check_period("query_timeout", values.time("query_timeout"), "10ms")
}

fn check_pair(values: &Values) -> Result<(), Complaint> {
    let (src, dst) = (values.count("src"), values.count("dst"));
    if src == dst {
        return Err(Complaint::new("dst", format!("host {src} would send to itself; write another host")));
    }
    Ok(())
}

/// When the flows of an event start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Each so much after the one before it.
    pub stagger: Time,
    /// And each so much later at most.
    pub jitter: Time,
}

impl Spread {
    fn of(values: &Values) -> Spread {
        Spread { stagger: values.time("stagger"), jitter: values.time("jitter") }
    }
}

/// From where to where flows go, among a known number of hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Any two different hosts.
    RandomPairs,
    /// Host i sends to the i-th of these.
    Permutation(Arc<[HostId]>),
    /// Every host to every other.
    AllToAll,
    /// Several to one.
    Incast {
        /// How many senders an event has.
        fan_in: u32,
        /// The receiver, where it is always the same.
        receiver: Option<HostId>,
        /// When the event's flows start.
        spread: Spread,
        /// The receiver's queries, if it sends any.
        query: Option<QuerySpec>,
    },
    /// One to several.
    Outcast {
        /// How many receivers an event has.
        fan_out: u32,
        /// The sender, where it is always the same.
        sender: Option<HostId>,
        /// When the event's flows start.
        spread: Spread,
    },
    /// One to another.
    Pair {
        /// The sender.
        src: HostId,
        /// The receiver.
        dst: HostId,
    },
}

/// How the next source or pair is chosen: Poisson arrivals draw it, periodic and simultaneous ones take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A random host, or pair.
    Drawn,
    /// The next one in turn.
    Round,
}

impl Pattern {
    /// From a `pattern` component that was read, for the traffic source `source` under `seed`; `hosts` is 2 at
    /// least.
    ///
    /// # Errors
    /// Where it needs more hosts than there are.
    pub fn build(values: &Values, hosts: u32, seed: u64, source: u8) -> Result<Pattern, Complaint> {
        match values.kind.as_str() {
            "random-pairs" => Ok(Pattern::RandomPairs),
            "permutation" => {
                let mut stream = Stream::new(seed, Purpose::Pattern, entity::permutation(source));
                Ok(Pattern::Permutation(derangement(hosts, &mut stream).into()))
            }
            "all-to-all" => Ok(Pattern::AllToAll),
            "incast" => build_incast(values, hosts),
            "outcast" => build_outcast(values, hosts),
            "pair" => Ok(Pattern::Pair {
                src: host(values.count("src"), hosts, "src")?,
                dst: host(values.count("dst"), hosts, "dst")?,
            }),
            other => panic!("no pattern is called {other}"),
        }
    }

    /// How many flows start together at each arrival.
    pub fn flows_per_event(&self) -> u32 {
        match self {
            Pattern::Incast { fan_in: flows, .. } | Pattern::Outcast { fan_out: flows, .. } => *flows,
            _ => 1,
        }
    }

    /// How many arrivals a round has: until every host, pair or event had its turn.
    pub fn events_per_round(&self, hosts: u32) -> u64 {
        match self {
            Pattern::RandomPairs | Pattern::Permutation(_) => u64::from(hosts),
            Pattern::AllToAll => u64::from(hosts) * u64::from(hosts - 1),
            Pattern::Incast { .. } | Pattern::Outcast { .. } | Pattern::Pair { .. } => 1,
        }
    }

    /// Over how many host links the load is spread.
    pub fn loaded_links(&self, hosts: u32) -> u32 {
        match self {
            Pattern::Pair { .. }
            | Pattern::Incast { receiver: Some(_), .. }
            | Pattern::Outcast { sender: Some(_), .. } => 1,
            _ => hosts,
        }
    }

    /// The pattern's name, with its main parameters.
    pub fn describe(&self) -> String {
        match self {
            Pattern::RandomPairs => "random pairs".to_owned(),
            Pattern::Permutation(_) => "permutation".to_owned(),
            Pattern::AllToAll => "all to all".to_owned(),
            Pattern::Incast { fan_in, receiver: None, .. } => format!("incast of {fan_in} to a random host"),
            Pattern::Incast { fan_in, receiver: Some(receiver), .. } => {
                format!("incast of {fan_in} to host {receiver}")
            }
            Pattern::Outcast { fan_out, sender: None, .. } => {
                format!("outcast of {fan_out} from a random host")
            }
            Pattern::Outcast { fan_out, sender: Some(sender), .. } => {
                format!("outcast of {fan_out} from host {sender}")
            }
            Pattern::Pair { src, dst } => format!("host {src} to host {dst}"),
        }
    }

    /// The (source, destination) of each flow of the `event`-th arrival, into `pairs`.
    pub fn event(
        &self,
        event: u64,
        turn: Turn,
        hosts: u32,
        stream: &mut Stream,
        pairs: &mut Vec<(HostId, HostId)>,
    ) {
        let others = u64::from(hosts - 1);
        let in_turn = exact::<HostId>(event % u64::from(hosts));
        pairs.clear();
        match self {
            Pattern::Pair { src, dst } => pairs.push((*src, *dst)),
            Pattern::Permutation(partner) => {
                let src = if turn == Turn::Drawn { stream.below(hosts) } else { in_turn };
                pairs.push((src, partner[src as usize]));
            }
            Pattern::AllToAll if turn == Turn::Round => {
                let shift = 1 + event / u64::from(hosts) % others;
                pairs.push((in_turn, exact::<HostId>((u64::from(in_turn) + shift) % u64::from(hosts))));
            }
            Pattern::RandomPairs | Pattern::AllToAll => {
                let src = stream.below(hosts);
                pairs.push((src, another(src, hosts, stream)));
            }
            Pattern::Incast { fan_in, receiver, .. } => {
                let dst = receiver.unwrap_or_else(|| stream.below(hosts));
                draw_senders(*fan_in, dst, hosts, stream, pairs);
            }
            Pattern::Outcast { fan_out, sender, .. } => {
                let src = sender.unwrap_or_else(|| stream.below(hosts));
                draw_senders(*fan_out, src, hosts, stream, pairs);
                for (src, dst) in pairs {
                    std::mem::swap(src, dst);
                }
            }
        }
    }

    /// The receiver's queries, if it sends any.
    pub fn query(&self) -> Option<QuerySpec> {
        match self {
            Pattern::Incast { query, .. } => *query,
            _ => None,
        }
    }

    /// When the flows of an event start.
    pub fn spread(&self) -> Spread {
        match self {
            Pattern::Incast { spread, .. } | Pattern::Outcast { spread, .. } => *spread,
            _ => Spread::default(),
        }
    }

    /// The hosts that keep chains going in a closed loop, in order.
    ///
    /// # Errors
    /// Where the pattern has no fixed hosts to choose them by.
    pub fn closed_loop_senders(&self, hosts: u32, stream: &mut Stream) -> Result<Vec<HostId>, Complaint> {
        match self {
            Pattern::Pair { src, .. } | Pattern::Outcast { sender: Some(src), .. } => Ok(vec![*src]),
            Pattern::Outcast { sender: None, .. } => Err(Complaint::new(
                "sender",
                "a closed loop has no common events at which to draw a sender; write one",
            )),
            Pattern::Incast { receiver: None, .. } => Err(Complaint::new(
                "receiver",
                "a closed loop has no common events at which to draw a receiver; write one",
            )),
            Pattern::Incast { query: Some(_), .. } => {
                Err(Complaint::new("query", "a closed loop's flows start by themselves; leave this out"))
            }
            Pattern::Incast { fan_in, receiver: Some(dst), .. } => {
                let mut pairs = Vec::new();
                draw_senders(*fan_in, *dst, hosts, stream, &mut pairs);
                let mut senders: Vec<HostId> = pairs.into_iter().map(|(src, _)| src).collect();
                senders.sort_unstable();
                Ok(senders)
            }
            _ => Ok((0..hosts).collect()),
        }
    }

    /// Where the `turn`-th flow of a closed loop's chain at `src` goes.
    pub fn closed_loop_receiver(&self, src: HostId, turn: u64, hosts: u32, stream: &mut Stream) -> HostId {
        match self {
            Pattern::RandomPairs | Pattern::Outcast { .. } => another(src, hosts, stream),
            Pattern::Permutation(partner) => partner[src as usize],
            Pattern::AllToAll => {
                let shift = 1 + turn % u64::from(hosts - 1);
                exact::<HostId>((u64::from(src) + shift) % u64::from(hosts))
            }
            Pattern::Incast { receiver, .. } => receiver.expect("closed_loop_senders asked for one"),
            Pattern::Pair { dst, .. } => *dst,
        }
    }
}

fn build_incast(values: &Values, hosts: u32) -> Result<Pattern, Complaint> {
    let fan_in = values.count("fan_in");
    if fan_in >= u64::from(hosts) {
        let most = hosts - 1;
        let message = format!("{fan_in} senders and a receiver among {hosts} hosts; write {most} at most");
        return Err(Complaint::new("fan_in", message));
    }
    let receiver = values.optional_count("receiver").map(|receiver| host(receiver, hosts, "receiver"));
    Ok(Pattern::Incast {
        fan_in: exact::<u32>(fan_in),
        receiver: receiver.transpose()?,
        spread: Spread::of(values),
        query: build_query(values, fan_in)?,
    })
}

fn build_query(values: &Values, fan_in: u64) -> Result<Option<QuerySpec>, Complaint> {
    let Some(size_bytes) = values.optional_bytes("query") else { return Ok(None) };
    let Ok(workers) = u16::try_from(fan_in) else {
        return Err(Complaint::new("fan_in", "a query can name 65535 workers; write fewer"));
    };
    Ok(Some(QuerySpec {
        workers,
        size_bytes: exact::<u16>(size_bytes),
        timeout: values.time("query_timeout"),
    }))
}

fn build_outcast(values: &Values, hosts: u32) -> Result<Pattern, Complaint> {
    let fan_out = values.count("fan_out");
    if fan_out >= u64::from(hosts) {
        let most = hosts - 1;
        let message = format!("{fan_out} receivers and a sender among {hosts} hosts; write {most} at most");
        return Err(Complaint::new("fan_out", message));
    }
    let sender = values.optional_count("sender").map(|sender| host(sender, hosts, "sender"));
    Ok(Pattern::Outcast {
        fan_out: exact::<u32>(fan_out),
        sender: sender.transpose()?,
        spread: Spread::of(values),
    })
}

fn host(id: u64, hosts: u32, key: &str) -> Result<HostId, Complaint> {
    if id >= u64::from(hosts) {
        let message = format!("there is no host {id}; hosts are numbered 0 to {}", hosts - 1);
        return Err(Complaint::new(key, message));
    }
    Ok(exact::<HostId>(id))
}

/// A uniform host other than `host`.
fn another(host: HostId, hosts: u32, stream: &mut Stream) -> HostId {
    let drawn = stream.below(hosts - 1);
    if drawn < host { drawn } else { drawn + 1 }
}

/// Draws `fan_in` different hosts other than `dst`, by Floyd's algorithm: each set of them alike.
fn draw_senders(
    fan_in: u32,
    dst: HostId,
    hosts: u32,
    stream: &mut Stream,
    pairs: &mut Vec<(HostId, HostId)>,
) {
    let others = hosts - 1;
    let skip_dst = |drawn: u32| if drawn < dst { drawn } else { drawn + 1 };
    for last in others - fan_in..others {
        let drawn = (skip_dst(stream.below(last + 1)), dst);
        let sender = if pairs.contains(&drawn) { (skip_dst(last), dst) } else { drawn };
        pairs.push(sender);
    }
}

/// A permutation without fixed points, each of them alike: shuffles until there is one, e times on average.
fn derangement(hosts: u32, stream: &mut Stream) -> Vec<HostId> {
    loop {
        let mut partner: Vec<HostId> = (0..hosts).collect();
        stream.shuffle(&mut partner);
        if (0..).zip(&partner).all(|(src, &dst)| src != dst) {
            return partner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn stream(entity: u64) -> Stream {
        Stream::new(5, Purpose::Pattern, entity)
    }

    fn draw(pattern: &Pattern, events: u64, turn: Turn, hosts: u32) -> Vec<(HostId, HostId)> {
        let (mut stream, mut pairs, mut all) = (stream(0), Vec::new(), Vec::new());
        for event in 0..events {
            pattern.event(event, turn, hosts, &mut stream, &mut pairs);
            all.extend_from_slice(&pairs);
        }
        all
    }

    #[test]
    fn a_permutation_is_a_derangement_and_differs_by_source() {
        for hosts in [2, 3, 54] {
            let partner = derangement(hosts, &mut stream(1));
            let receivers: BTreeSet<HostId> = partner.iter().copied().collect();
            assert_eq!(receivers.len(), hosts as usize);
            assert!((0..).zip(&partner).all(|(src, &dst)| src != dst));
        }
        assert_ne!(derangement(54, &mut stream(1)), derangement(54, &mut stream(2)));
    }

    #[test]
    fn derangements_of_four_are_all_drawn_alike() {
        let mut stream = stream(1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..9_000 {
            *seen.entry(derangement(4, &mut stream)).or_insert(0) += 1;
        }
        // Nine derangements, 1000 times each; five standard deviations are 149.
        assert_eq!(seen.len(), 9);
        assert!(seen.values().all(|&count: &i32| (count - 1000).abs() < 149), "{seen:?}");
    }

    #[test]
    fn random_pairs_are_uniform_over_ordered_pairs() {
        let pairs = draw(&Pattern::RandomPairs, 60_000, Turn::Drawn, 4);
        for src in 0..4 {
            for dst in 0..4 {
                let count = pairs.iter().filter(|&&pair| pair == (src, dst)).count() as i64;
                // 5000 each; five standard deviations are 339.
                let expected = if src == dst { 0 } else { 5000 };
                assert!((count - expected).abs() < 339, "{src} {dst}: {count}");
            }
        }
    }

    #[test]
    fn all_to_all_goes_round_every_ordered_pair() {
        let pairs = draw(&Pattern::AllToAll, 5 * 4, Turn::Round, 5);
        assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), 20);
        assert!(pairs.iter().all(|(src, dst)| src != dst));
        let receivers: BTreeSet<HostId> = pairs[5..10].iter().map(|&(_, dst)| dst).collect();
        assert_eq!(receivers.len(), 5, "a stretch is a permutation");
        let closed = (0..4).map(|turn| Pattern::AllToAll.closed_loop_receiver(3, turn, 5, &mut stream(0)));
        assert_eq!(closed.collect::<Vec<_>>(), [4, 0, 1, 2]);
    }

    #[test]
    fn incast_senders_are_different_and_uniform() {
        let incast = Pattern::Incast { fan_in: 3, receiver: Some(2), spread: Spread::default(), query: None };
        let pairs = draw(&incast, 10_000, Turn::Drawn, 6);
        for event in pairs.chunks(3) {
            let senders: BTreeSet<HostId> = event.iter().map(|&(src, _)| src).collect();
            assert_eq!((senders.len(), senders.contains(&2)), (3, false));
        }
        for host in [0, 1, 3, 4, 5] {
            let count = pairs.iter().filter(|&&(src, dst)| src == host && dst == 2).count() as i64;
            // 6000 each; five standard deviations are 245.
            assert!((count - 6000).abs() < 245, "{host}: {count}");
        }
    }

    #[test]
    fn a_random_receiver_is_any_host() {
        let incast = Pattern::Incast { fan_in: 3, receiver: None, spread: Spread::default(), query: None };
        let pairs = draw(&incast, 200, Turn::Drawn, 4);
        assert_eq!(pairs.iter().map(|&(_, dst)| dst).collect::<BTreeSet<_>>().len(), 4);
        assert!(pairs.iter().all(|(src, dst)| src != dst));
    }
}
