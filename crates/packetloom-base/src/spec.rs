//! How a part of a scenario describes itself.
//!
//! Every component (a transport, a queue, a topology, a workload's sizes, ...) states its parameters once, as a
//! [`Component`]: their names, kinds, defaults and sources. Reading and checking a scenario, `explain`, the JSON
//! Schema and the reference pages all come from that one statement. A scenario that was read is a tree of
//! [`Values`].

use crate::narrow::saturated;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// What a parameter holds and how it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A time with its unit: `"40us"`.
    Time,
    /// A time, or this word; [`NEVER`] is read as [`Time::NEVER`].
    TimeOr(&'static str),
    /// A size with its unit: `"22.5KB"`.
    Bytes,
    /// A buffer, in bytes or in packets: `"22.5KB"`, `"8packets"`.
    Buffer,
    /// A rate with its unit: `"10Gbps"`; above zero.
    Rate,
    /// A whole number of at least this.
    Count(u64),
    /// A number between two others, both included.
    Number(f64, f64),
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A component of a section: a table with `kind`, or the kind alone as text.
    Component(&'static str),
    /// A list of these. (Any other kind given as a list spans a grid.)
    List(&'static Kind),
}

/// What holds when a parameter is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fallback {
    /// Leaving it out is an error.
    Required,
    /// It may be left out, and then does nothing.
    Absent,
    /// This, as it would be written: `"40us"`, `12`, `true`.
    Value(&'static str),
}

/// One parameter of a component.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its key in the scenario.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What holds without it.
    pub default: Fallback,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Where the default comes from: paper and section, RFC, or "packetloom".
    pub source: &'static str,
    /// What must hold for it to change anything; [`ALWAYS`] if nothing must.
    pub acts: &'static [Needs],
}

/// A row of a component's parameters: its key, its value if left out, its kind; what it does; where the default is from.
///
/// `"key" = "value": kind` has a default, `"key": kind` may be left out, `required "key": kind` may not. What it needs
/// to change anything follows the source: `; acts NEEDS`.
#[macro_export]
macro_rules! param {
    (required $name:tt: $($rest:tt)*) => {
        $crate::param!(@row $name, $crate::spec::Fallback::Required, $($rest)*)
    };
    ($name:tt = $default:tt: $($rest:tt)*) => {
        $crate::param!(@row $name, $crate::spec::Fallback::Value($default), $($rest)*)
    };
    ($name:tt: $($rest:tt)*) => {
        $crate::param!(@row $name, $crate::spec::Fallback::Absent, $($rest)*)
    };
    (@row $name:expr, $default:expr, $kind:expr, $doc:expr, $source:expr) => {
        $crate::param!(@row $name, $default, $kind, $doc, $source; acts $crate::spec::ALWAYS)
    };
    (@row $name:expr, $default:expr, $kind:expr, $doc:expr, $source:expr; acts $acts:expr) => {
        $crate::spec::Param {
            #[allow(unused_parens)] // A key or default of several tokens stands in parentheses.
            name: $name,
            kind: $kind,
            #[allow(unused_parens)]
            default: $default,
            doc: $doc,
            source: $source,
            acts: $acts,
        }
    };
}
pub use crate::param;

/// What a parameter needs to change anything. Where it is written without that, a warning says so.
#[derive(Clone, Copy, Debug)]
pub enum Needs {
    /// Another parameter of its component is one of these, as written; of a component inside, its kind.
    Is(&'static str, &'static [&'static str]),
    /// Another parameter of its component is not left out.
    Set(&'static str),
    /// Another parameter of its component is a number above this.
    Above(&'static str, u64),
    /// Anything else: whether it holds, and what is said where it does not.
    That(fn(&Site<'_>) -> bool, &'static str),
}

/// What is written for a point in time that does not come.
pub const NEVER: &str = "never";

/// What a parameter that always acts needs.
pub const ALWAYS: &[Needs] = &[];

/// Where a parameter stands: what its need can depend on.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Its component.
    pub own: &'a Values,
    /// All that the scenario says around it.
    pub scene: &'a Scene<'a>,
}

/// A scenario, section by section, in all variants of its grid. Of a scheme's parameter, the scheme is its own alone.
#[derive(Clone, Debug, Default)]
pub struct Scene<'a> {
    /// The networks.
    pub topologies: Vec<&'a Values>,
    /// The sources of traffic.
    pub workloads: Vec<&'a Values>,
    /// What breaks.
    pub faults: Vec<&'a Values>,
    /// The schemes.
    pub schemes: Vec<&'a Values>,
    /// Under `[run]`.
    pub runs: Vec<&'a Values>,
}

impl Scene<'_> {
    /// The queues of all schemes' switches and hosts, and the queues inside these.
    pub fn queues(&self) -> impl Iterator<Item = Values> {
        let keys = ["queue", "nic"];
        let mut found: Vec<Values> =
            self.schemes.iter().flat_map(|scheme| keys.map(|key| scheme.part(key))).flatten().collect();
        let mut next = 0;
        while next < found.len() {
            let inner: Vec<Values> =
                ["queue", "port"].iter().filter_map(|key| found[next].part(key)).collect();
            found.extend(inner);
            next += 1;
        }
        found.into_iter()
    }
}

impl Needs {
    /// Whether it is met.
    pub fn are_met(&self, site: &Site<'_>) -> bool {
        let value = |key: &str| site.own.entries.get(key).filter(|value| **value != Value::Absent);
        match self {
            Needs::Is(key, words) => {
                value(key).is_some_and(|value| words.iter().any(|word| value.is_called(word)))
            }
            Needs::Set(key) => site.own.has(key),
            Needs::Above(key, bound) => value(key).is_some_and(|value| value.is_above(*bound)),
            Needs::That(holds, _) => holds(site),
        }
    }

    /// What to write, for one that is not met.
    pub fn advice(&self) -> String {
        match self {
            Needs::Is(key, words) => {
                let quoted = |word: &&str| match *word {
                    "true" | "false" => (*word).to_owned(),
                    word => format!("{word:?}"),
                };
                let words: Vec<String> = words.iter().map(quoted).collect();
                format!("it needs {key} = {}; write that, too, or leave this out", words.join(" or "))
            }
            Needs::Set(key) => format!("it needs {key}; write that, too, or leave this out"),
            Needs::Above(key, bound) => {
                format!("it needs a {key} above {bound}; write that, too, or leave this out")
            }
            Needs::That(_, why) => format!("{why}; leave it out"),
        }
    }
}

impl Param {
    /// The same, which acts where all of these hold.
    #[must_use]
    pub const fn acts(self, needs: &'static [Needs]) -> Param {
        Param { acts: needs, ..self }
    }
}

/// What is wrong with a value that has the right form.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint {
    /// The parameter at fault; may name one inside: `link.rate`.
    pub key: String,
    /// What is wrong and what to write.
    pub message: String,
}

impl Complaint {
    /// A complaint about `key`.
    pub fn new(key: &str, message: impl Into<String>) -> Complaint {
        Complaint { key: key.to_owned(), message: message.into() }
    }
}

/// What must hold of the time between what is done again and again, such as timeouts that end in a timeout.
///
/// # Errors
/// Where a run would not end.
pub fn check_period(key: &str, period: Time, example: &str) -> Result<(), Complaint> {
    if period >= Time::LEAST_PERIOD {
        return Ok(());
    }
    let message = format!("is too short to be repeated: write at least 100ns, such as {example:?}");
    Err(Complaint::new(key, message))
}

/// A part that a scenario can name: what it is and what can be set on it.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The section that it belongs to: "topology", "transport", "queue", "routing", "sizes", ...
    pub section: &'static str,
    /// Its name there: "fat-tree", "dctcp", "pfabric", ...
    pub kind: &'static str,
    /// What it is, in a sentence or two.
    pub doc: &'static str,
    /// Paper and section, RFC, or "packetloom".
    pub source: &'static str,
    /// What can be set: its own parameters, after those that it shares with others.
    pub params: &'static [&'static [Param]],
    /// What must hold beyond the kinds of the values.
    pub check: fn(&Values) -> Result<(), Complaint>,
}

impl Component {
    /// All that can be set.
    pub fn params(&self) -> impl Iterator<Item = &'static Param> + use<> {
        self.params.iter().copied().flatten()
    }
}

/// A component and what makes it. A registry that lists both together cannot offer what it does not make.
#[derive(Clone, Copy, Debug)]
pub struct Registered<M: 'static> {
    /// How it describes itself.
    pub component: Component,
    /// What makes it, or what else the registry must know of it.
    pub factory: M,
}

/// The components of a registry.
pub const fn components<M: Copy, const N: usize>(room: &[Registered<M>]) -> [Component; N] {
    let mut components = [room[0].component; N];
    let mut place = 0;
    while place < N {
        components[place] = room[place].component;
        place += 1;
    }
    components
}

/// How a registry makes what is called `kind`.
///
/// # Panics
/// If its list has no such component: a scenario that was read names none.
pub fn factory<M: Copy>(room: &[Registered<M>], kind: &str) -> M {
    let made = room.iter().find(|made| made.component.kind == kind);
    made.unwrap_or_else(|| panic!("nothing here is called {kind}")).factory
}

/// A check for components that need none.
pub fn anything(_: &Values) -> Result<(), Complaint> {
    Ok(())
}

/// One value that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A time.
    Time(Time),
    /// A size in bytes.
    Bytes(u64),
    /// A size in packets.
    Packets(u64),
    /// A rate.
    Rate(Rate),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// A name or text.
    Text(String),
    /// A component inside.
    Component(Values),
    /// A list.
    List(Vec<Value>),
    /// Left out, with no default.
    Absent,
}

impl Value {
    /// A time; panics if it is none: the kind of the parameter says so.
    pub fn as_time(&self) -> Time {
        match self {
            Value::Time(time) => *time,
            other => panic!("{other:?} is no time"),
        }
    }

    /// Whether a word says it: a name, a flag, or the kind of a component.
    fn is_called(&self, word: &str) -> bool {
        match self {
            Value::Text(text) => text == word,
            Value::Flag(flag) => flag.to_string() == word,
            Value::Component(inside) => inside.kind == word,
            _ => false,
        }
    }

    /// Whether it is a number above a bound.
    fn is_above(&self, bound: u64) -> bool {
        match self {
            Value::Count(count) => *count > bound,
            Value::Number(number) => *number > bound as f64,
            Value::Time(time) => *time > Time::from_ns(bound),
            Value::Bytes(bytes) => *bytes > bound,
            _ => false,
        }
    }

    /// A whole number; panics if it is none: the kind of the parameter says so.
    pub fn as_count(&self) -> u64 {
        match self {
            Value::Count(count) => *count,
            other => panic!("{other:?} is no whole number"),
        }
    }
}

/// A component that was read: its kind, and a value for each of its parameters.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Values {
    /// Which component it is.
    pub kind: String,
    /// Its parameters, every one, defaults filled in.
    pub entries: BTreeMap<String, Value>,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident, $optional:ident: $variant:ident => $type:ty;)*) => {$(
        $(#[$doc])*
        /// Panics if the component does not declare it so: that is a fault of the program, not of a scenario.
        pub fn $name(&self, key: &str) -> $type {
            self.$optional(key).unwrap_or_else(|| panic!("{}.{key} is absent", self.kind))
        }

        $(#[$doc])*
        /// `None` where it was left out.
        pub fn $optional(&self, key: &str) -> Option<$type> {
            match self.get(key) {
                Value::$variant(value) => Some(value.clone()),
                Value::Absent => None,
                other => panic!("{}.{key} is {other:?}", self.kind),
            }
        }
    )*};
}

impl Values {
    /// The value of `key`; panics if the component does not declare it.
    pub fn get(&self, key: &str) -> &Value {
        self.entries.get(key).unwrap_or_else(|| panic!("{} declares no {key}", self.kind))
    }

    /// Whether the component declares `key`, and it is not left out.
    pub fn has(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|value| *value != Value::Absent)
    }

    /// The component `key`, if there is one.
    pub fn part(&self, key: &str) -> Option<Values> {
        match self.entries.get(key) {
            Some(Value::Component(inside)) => Some(inside.clone()),
            _ => None,
        }
    }

    /// The same with a part of all its sizes, and of those of the components inside; something of each.
    #[must_use]
    pub fn part_of_sizes(&self, part: f64) -> Values {
        let size = |size: u64| saturated::<u64>((size as f64 * part).round()).max(1);
        let entry = |(key, value): (&String, &Value)| {
            let value = match value {
                Value::Bytes(bytes) => Value::Bytes(size(*bytes)),
                Value::Packets(packets) => Value::Packets(size(*packets)),
                Value::Component(inside) => Value::Component(inside.part_of_sizes(part)),
                other => other.clone(),
            };
            (key.clone(), value)
        };
        Values { entries: self.entries.iter().map(entry).collect(), ..self.clone() }
    }

    /// The meaning of the name under `key`; panics at a name without a meaning: that is a fault of the program.
    pub fn meaning<M: Copy>(&self, key: &str, meanings: &[(&str, M)]) -> M {
        let word = self.text(key);
        let found = meanings.iter().find(|(known, _)| *known == word);
        found.unwrap_or_else(|| panic!("{}.{key}: {word} has no meaning", self.kind)).1
    }

    /// The whole number `key` where nothing counts beyond 32 bits: packets of a flow, timeouts, acknowledgements. More is
    /// as good as the most of these.
    pub fn count_u32(&self, key: &str) -> u32 {
        most_u32(self.count(key))
    }

    /// `None` where it was left out.
    pub fn optional_count_u32(&self, key: &str) -> Option<u32> {
        self.optional_count(key).map(most_u32)
    }

    getters! {
        /// The time `key`.
        time, optional_time: Time => Time;
        /// The size `key` in bytes.
        bytes, optional_bytes: Bytes => u64;
        /// The rate `key`.
        rate, optional_rate: Rate => Rate;
        /// The whole number `key`.
        count, optional_count: Count => u64;
        /// The number `key`.
        number, optional_number: Number => f64;
        /// The flag `key`.
        flag, optional_flag: Flag => bool;
        /// The text `key`.
        text, optional_text: Text => String;
        /// The component `key`.
        component, optional_component: Component => Values;
        /// The list `key`.
        list, optional_list: List => Vec<Value>;
    }
}

fn most_u32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "ecn.ties: lifo has no meaning")]
    fn a_word_that_means_nothing_does_not_mean_another() {
        let entries = [("ties".to_owned(), Value::Text("lifo".to_owned()))].into();
        let values = Values { kind: "ecn".to_owned(), entries };
        values.meaning("ties", &[("random", true), ("order", false)]);
    }

    #[test]
    fn a_part_of_sizes_is_one_of_those_inside_too_and_of_nothing_else() {
        let of = |kind: &str, entries: &[(&str, Value)]| Values {
            kind: kind.to_owned(),
            entries: entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
        };
        let values = |whole, half| {
            let inside = of("ecn", &[("capacity", Value::Bytes(whole)), ("most", Value::Packets(half))]);
            of("classes", &[("queue", Value::Component(inside)), ("strict", Value::Count(2))])
        };
        assert_eq!(values(500_000, 1).part_of_sizes(0.1), values(50_000, 1));
    }
}
