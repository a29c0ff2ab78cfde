//! Entropies: numbers by which hosts steer their packets without knowing any path. A source writes one of
//! `entropies` into each packet, and switches hash it with the flow, as they would a port number (per-flow ECMP).
//! So each entropy selects a path without numbering it, and two of them may select the same.
//!
//! How the next one is chosen, and what is learnt of those that were, is a [`Selector`] for each flow: a file each.

mod bitmap;
mod mixed;
mod oblivious;
mod plb;
mod python;
mod reps;
mod reps_legacy;

use super::{Feedback, Judged};
use crate::flow::{FlowId, HostId};
use crate::flow_table::FlowTable;
use crate::narrow::{exact, narrow};
use crate::packet::{Kind, Packet};
use crate::random::{Purpose, Stream};
use crate::spec::{self, Complaint, Component, Kind as Holds, Param, Registered, Values, param};
use crate::units::Time;
use bitmap::Bitmap;
use mixed::Mixed;
use oblivious::Walk;
use plb::Plb;
use python::Chosen;
pub use python::{LAYOUTS, ROLE as PYTHON, symbols};
use reps::Reps;
use reps_legacy::Recycled;

/// How many there are.
const ENTROPIES: Param = param! {
    "entropies" = "64": Holds::Count(1),
    "How many entropies a flow uses, 0, 1, 2 and so on: a power of two up to 65536.", "htsim_uec: -paths 64"
};

fn check(values: &Values) -> Result<(), Complaint> {
    let entropies = values.count("entropies");
    if entropies.is_power_of_two() && entropies <= 1 << 16 {
        return Ok(());
    }
    Err(Complaint::new("entropies", "write a power of two up to 65536, such as 64"))
}

/// Whether a path can be taken at this moment.
pub type Fits<'a> = dyn FnMut(u16) -> bool + 'a;

/// One drawn of all up to `last`, which is a mask.
fn drawn(last: u16, random: &mut Stream) -> u16 {
    narrow(random.bits() & u64::from(last))
}

/// One drawn among those up to `last` that fit: the first from one drawn of all.
fn draw_among(last: u16, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
    let first = drawn(last, random);
    (0..=last).map(|step| first.wrapping_add(step) & last).find(|&entropy| fits(entropy))
}

/// How a flow chooses.
trait Select {
    /// A flow begins.
    fn start(&mut self, _flow: FlowId, _random: &mut Stream) {}

    /// The entropy of its next packet.
    fn next(&mut self, now: Time, random: &mut Stream) -> u16;

    /// The same among those that fit: where a host has several links, those of a link that is free. None if the flow
    /// rather waits for another link.
    fn next_among(&mut self, now: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16>;

    /// What became of one of its packets.
    fn update(&mut self, _now: Time, _feedback: &Feedback, _random: &mut Stream) {}

    /// Goes on with other values of the parameters that may be set.
    fn set(&mut self, _values: &Values) {}

    /// The entropy that it keeps to until it fares badly, if it does.
    fn kept(&self) -> Option<u16> {
        None
    }
}

/// A way to choose, as the registry keeps it beside its component.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Builds it for a flow that has not begun.
    build: fn(&Values) -> Selector,
    /// By what becomes of what it goes.
    judged: fn(&Values) -> Judged,
    /// The parameters that may be set while it runs.
    settable: &'static [&'static str],
}

macro_rules! ways {
    ($($name:ident($type:ty) = $way:path,)*) => {
        const WAYS: &[Registered<Way>] = &[$($way),*];

        /// How one flow chooses.
        #[derive(Clone, Debug)]
        enum Selector {
            $($name($type)),*
        }

        impl Select for Selector {
            fn start(&mut self, flow: FlowId, random: &mut Stream) {
                match self {
                    $(Selector::$name(way) => way.start(flow, random)),*
                }
            }

            #[inline]
            fn next(&mut self, now: Time, random: &mut Stream) -> u16 {
                match self {
                    $(Selector::$name(way) => way.next(now, random)),*
                }
            }

            fn next_among(&mut self, now: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
                match self {
                    $(Selector::$name(way) => way.next_among(now, fits, random)),*
                }
            }

            #[inline]
            fn update(&mut self, now: Time, feedback: &Feedback, random: &mut Stream) {
                match self {
                    $(Selector::$name(way) => way.update(now, feedback, random)),*
                }
            }

            fn set(&mut self, values: &Values) {
                match self {
                    $(Selector::$name(way) => way.set(values)),*
                }
            }

            fn kept(&self) -> Option<u16> {
                match self {
                    $(Selector::$name(way) => way.kept()),*
                }
            }
        }
    };
}

ways! {
    Oblivious(Walk) = oblivious::WAY,
    Bitmap(Bitmap) = bitmap::WAY,
    Reps(Reps) = reps::WAY,
    RepsLegacy(Recycled) = reps_legacy::WAY,
    Mixed(Mixed) = mixed::WAY,
    Plb(Plb) = plb::WAY,
    Python(Chosen) = python::WAY,
}

/// How all of them describe themselves.
pub(super) const COMPONENTS: [Component; WAYS.len()] = spec::components(WAYS);

/// Of each of them, the parameters that may be set while it runs.
pub(super) const SETTABLE: [&[&str]; WAYS.len()] = {
    let mut all: [&[&str]; WAYS.len()] = [&[]; WAYS.len()];
    let mut nth = 0;
    while nth < all.len() {
        all[nth] = WAYS[nth].factory.settable;
        nth += 1;
    }
    all
};

/// What a routing's transport has to report.
pub(super) fn judged(routing: &Values) -> Judged {
    (spec::factory(WAYS, &routing.kind).judged)(routing)
}

/// Whether a flow keeps to an entropy until it fares badly.
pub(super) fn keeps_flows(routing: &Values) -> bool {
    (spec::factory(WAYS, &routing.kind).build)(routing).kept().is_some()
}

/// A host's choice of entropies.
#[derive(Clone, Debug)]
pub struct Entropies {
    flows: FlowTable<Selector>,
    /// What each flow begins with.
    template: Selector,
    /// Answers, pulls and the like take the entropies in turn.
    last_other: u16,
    mask: u16,
    random: Stream,
}

impl Entropies {
    /// Those of `host`.
    pub(super) fn new(routing: &Values, host: HostId, seed: u64) -> Entropies {
        Entropies {
            flows: FlowTable::default(),
            template: (spec::factory(WAYS, &routing.kind).build)(routing),
            last_other: 0,
            mask: exact::<u16>(routing.count("entropies") - 1),
            random: Stream::new(seed, Purpose::Paths, host.into()),
        }
    }

    /// The entropy for a packet.
    #[inline(never)]
    pub(super) fn next<H>(&mut self, packet: &Packet<H>, now: Time) -> u16 {
        if packet.kind != Kind::Data {
            self.last_other = self.last_other.wrapping_add(1) & self.mask;
            return self.last_other;
        }
        if self.flows.get(packet.flow).is_none() {
            self.begin(packet.flow);
        }
        self.flows.get_mut(packet.flow).map_or(0, |selector| selector.next(now, &mut self.random))
    }

    /// The same among those that fit, if the flow does not rather wait for others.
    pub(super) fn next_among<H>(
        &mut self,
        packet: &Packet<H>,
        now: Time,
        fits: &mut Fits<'_>,
    ) -> Option<u16> {
        if packet.kind != Kind::Data {
            let in_turn = (0..=self.mask).map(|step| self.last_other.wrapping_add(1 + step) & self.mask);
            let found = in_turn.into_iter().find(|&entropy| fits(entropy))?;
            self.last_other = found;
            return Some(found);
        }
        if self.flows.get(packet.flow).is_none() {
            self.begin(packet.flow);
        }
        self.flows.get_mut(packet.flow)?.next_among(now, fits, &mut self.random)
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, flow: FlowId) {
        let mut selector = self.template.clone();
        selector.start(flow, &mut self.random);
        self.flows.insert(flow, selector);
    }

    /// Whether a flow keeps to an entropy until it fares badly.
    #[inline]
    pub(super) fn keeps_flows(&self) -> bool {
        self.template.kept().is_some()
    }

    /// The entropy that a flow keeps to now, if it does.
    pub(super) fn kept(&self, flow: FlowId) -> Option<u16> {
        self.flows.get(flow)?.kept()
    }

    /// Prefetches what a flow knows of its paths.
    #[inline]
    pub(super) fn prefetch(&self, flow: FlowId) {
        self.flows.prefetch(flow);
    }

    /// Learns what became of a packet.
    #[inline(never)]
    pub(super) fn update(&mut self, now: Time, feedback: &Feedback) {
        if let Some(selector) = self.flows.get_mut(feedback.flow) {
            selector.update(now, feedback, &mut self.random);
        }
    }

    /// Flows under way, and those to come, go on with other values.
    pub(super) fn set(&mut self, values: &Values) {
        self.flows.states_mut().for_each(|selector| selector.set(values));
        self.template.set(values);
    }

    /// A flow of this host has ended.
    pub(super) fn forget(&mut self, flow: FlowId) {
        self.flows.remove(flow);
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::routing::Fate;
    use crate::spec::{Fallback, Value};

    /// A flow's selector with its defaults but for these.
    pub(super) fn selector(kind: &str, own: &[(&str, Value)]) -> (Selector, Stream) {
        let made = WAYS.iter().find(|made| made.component.kind == kind).expect("a way");
        let mut values = Values { kind: kind.to_owned(), ..Values::default() };
        for param in made.component.params() {
            let value = match (param.kind, param.default) {
                (Holds::Count(_), Fallback::Value(count)) => Value::Count(count.parse().expect("a count")),
                (Holds::Number(..), Fallback::Value(number)) => {
                    Value::Number(number.parse().expect("a number"))
                }
                (Holds::Choice(_), Fallback::Value(word)) => Value::Text(word.to_owned()),
                (Holds::Time, Fallback::Value(time)) => {
                    let (number, ps) = match time.strip_suffix("ms") {
                        Some(number) => (number, 1_000_000_000),
                        None => (time.trim_end_matches('s'), 1_000_000_000_000),
                    };
                    Value::Time(Time(number.parse::<u64>().expect("a time") * ps))
                }
                other => panic!("{other:?}"),
            };
            values.entries.insert(param.name.to_owned(), value);
        }
        values.entries.extend(own.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let mut random = Stream::new(1, Purpose::Paths, 0);
        let mut selector = (made.factory.build)(&values);
        selector.start(1, &mut random);
        (selector, random)
    }

    pub(super) fn feedback(path: u16, fate: Fate) -> Feedback {
        Feedback { flow: 1, dst: 2, path, sent_at: Time::ZERO, fate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;

    #[test]
    fn a_flow_has_a_choice_of_its_own_until_it_ends_and_answers_take_turns() {
        let entries = [("entropies", Value::Count(4))];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let routing = Values { kind: "oblivious".to_owned(), entries };
        let mut host = Entropies::new(&routing, 3, 1);
        let mut packet = Packet::<()> { flow: 7, kind: Kind::Ack, ..Packet::default() };
        let answers: Vec<u16> = (0..5).map(|_| host.next(&packet, Time::ZERO)).collect();
        assert_eq!(answers, [1, 2, 3, 0, 1]);
        packet.kind = Kind::Data;
        let mut round: Vec<u16> = (0..4).map(|_| host.next(&packet, Time::ZERO)).collect();
        round.sort_unstable();
        assert_eq!(round, [0, 1, 2, 3]);
        assert!(host.flows.get(7).is_some());
        host.forget(7);
        assert!(host.flows.get(7).is_none());
    }

    #[test]
    fn only_powers_of_two_can_be_walked() {
        for (entropies, is_sound) in [(1, true), (64, true), (65_536, true), (48, false), (131_072, false)] {
            let entries = [("entropies".to_owned(), Value::Count(entropies))].into();
            assert_eq!(check(&Values { kind: "reps".to_owned(), entries }).is_ok(), is_sound);
        }
    }
}
