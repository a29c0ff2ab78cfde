//! Windows for destinations are conserved: what is missing of one waits at its switch to be sent, is on a link, waits at
//! the next switch, is owed by that, or comes back.

use super::{Terms, Verdict, ensure};
use crate::engine::{Held, Inspection, WindowState, WindowUse};
use crate::narrow::exact;
use crate::packet::Kind;
use crate::topology::Topology;
use std::collections::BTreeMap;
use std::ops::Range;

/// A link from switch to switch.
#[derive(Clone, Debug)]
struct Way {
    link: usize,
    /// The links out of its far end, and its number among those into it.
    far_links: Range<usize>,
    number: u32,
    /// The link by which window comes back.
    back: usize,
}

/// Every switch with windows, by the first of its links out.
#[derive(Debug)]
pub(super) struct Windows {
    ways: BTreeMap<usize, Vec<Way>>,
}

impl Windows {
    pub(super) fn new(terms: Terms<'_>) -> Windows {
        let mut ways: BTreeMap<usize, Vec<Way>> = BTreeMap::new();
        let topology = terms.topology;
        let between = |(_, link): &(usize, &crate::topology::Link)| {
            link.src >= topology.hosts && link.dst >= topology.hosts && terms.queue.windows.is_some()
        };
        for (number, link) in topology.links.iter().enumerate().filter(between) {
            let first = topology.nodes[link.src as usize].ports.start as usize;
            ways.entry(first).or_default().push(way(topology, number));
        }
        Windows { ways }
    }

    pub(super) fn compare(&self, seen: &Inspection) -> Verdict {
        for (first, state) in seen.windows.iter().filter(|(_, state)| !state.is_numbered) {
            let ways = self.ways.get(first).map_or(&[][..], Vec::as_slice);
            let ways = || ways.iter().filter(|way| state.has_window[way.link - first]);
            let mut found: BTreeMap<u32, u64> = BTreeMap::new();
            let mut count = |dst, bytes: u64| *found.entry(dst).or_default() += bytes;
            for way in ways() {
                let sent = &seen.links[way.link];
                let on_link = sent.on_link.iter().map(|(_, packet)| packet);
                let there = seen.waiting(way.far_links.clone()).filter(|packet| packet.ingress == way.number);
                let data = sent.queued.iter().chain(on_link).chain(there);
                data.filter(|packet| packet.kind == Kind::Data)
                    .for_each(|packet| count(packet.dst, packet.size_bytes.into()));
                let back = &seen.links[way.back];
                let back = back.on_link.iter().map(|(_, packet)| packet).chain(&back.queued);
                back.filter_map(|packet: &Held| packet.window).for_each(|(dst, bytes)| count(dst, bytes));
                let owed = seen.windows.get(&way.far_links.start).into_iter().flat_map(|far| &far.owed);
                owed.filter(|(link, ..)| *link == way.number).for_each(|&(_, dst, bytes)| count(dst, bytes));
            }
            check(state, &mut found, *first, seen)?;
        }
        Ok(())
    }
}

fn check(state: &WindowState, found: &mut BTreeMap<u32, u64>, first: usize, seen: &Inspection) -> Verdict {
    for &WindowUse { dst, missing_bytes, aside_bytes } in &state.destinations {
        let found = found.remove(&dst).unwrap_or(0);
        ensure(found == missing_bytes + aside_bytes, "windows are conserved", seen.now, || {
            format!(
                "the switch whose first link is {first}: {missing_bytes} B are missing of the window for host {dst}, \
                 {aside_bytes} B wait in VOQs, and {found} B are on their way"
            )
        })?;
    }
    let strange = found.iter().find(|(_, bytes)| **bytes > 0);
    ensure(strange.is_none(), "windows are conserved", seen.now, || {
        let (dst, bytes) = strange.map_or((0, 0), |(dst, bytes)| (*dst, *bytes));
        format!(
            "the switch whose first link is {first} has no window for host {dst}, and {bytes} B are on their way"
        )
    })
}

fn way(topology: &Topology, number: usize) -> Way {
    let link = &topology.links[number];
    let ports = &topology.nodes[link.dst as usize].ports;
    let before = topology.links[..number].iter().filter(|other| other.dst == link.dst).count();
    Way {
        link: number,
        far_links: ports.start as usize..ports.end as usize,
        number: exact::<u32>(before),
        back: topology.link_back(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::LinkState;

    /// A link from one switch to another, and back: 1000 B are on it, 500 B wait behind it, 200 B are owed, and 64 B come
    /// back; 300 B wait in a VOQ.
    fn sound() -> (Windows, Inspection) {
        let data =
            |size_bytes, ingress| Held { dst: 9, size_bytes, ingress, kind: Kind::Data, ..Held::default() };
        let window = Held { kind: Kind::Link, window: Some((9, 64)), ..Held::default() };
        let on_link = |packet| vec![(crate::units::Time::ZERO, packet)];
        let out = LinkState {
            queued: vec![data(300, 0)],
            on_link: on_link(data(1_000, 0)),
            ..LinkState::default()
        };
        let far = LinkState {
            queued: vec![data(500, 3), data(77, 2)],
            on_link: on_link(window),
            ..LinkState::default()
        };
        let of = WindowUse { dst: 9, missing_bytes: 1_764, aside_bytes: 300 };
        let state = WindowState { destinations: vec![of], has_window: vec![true], ..WindowState::default() };
        let next = WindowState {
            owed: vec![(3, 9, 200), (2, 9, 11)],
            has_window: vec![false],
            ..WindowState::default()
        };
        let way = Way { link: 0, far_links: 1..2, number: 3, back: 1 };
        let seen = Inspection {
            links: vec![out, far],
            windows: [(0, state), (1, next)].into(),
            ..Inspection::default()
        };
        (Windows { ways: [(0, vec![way])].into() }, seen)
    }

    #[test]
    fn a_window_that_leaks_is_seen() {
        type Change = fn(&mut Inspection);
        let changes: [(bool, Change); 6] = [
            (true, |_| ()),
            (false, |seen| seen.links[0].on_link.clear()),
            (false, |seen| seen.links[1].queued[0].ingress = 2),
            (false, |seen| seen.links[1].on_link[0].1.window = Some((9, 63))),
            (false, |seen| seen.windows.get_mut(&1).expect("a switch").owed.clear()),
            (false, |seen| seen.links[0].queued[0].dst = 8),
        ];
        for (holds, change) in changes {
            let (windows, mut seen) = sound();
            change(&mut seen);
            assert_eq!(windows.compare(&seen).is_ok(), holds);
        }
    }
}
