//! The grid: one value where a scenario has one, several where it lists several.

use crate::spec::Value;
use crate::units::Time;
use serde_json::Value as Json;

/// One of the ways in which a part of a scenario resolves, and the choices that led there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variant<T> {
    pub value: T,
    pub axes: Vec<Axis>,
}

/// A choice on an axis of the grid: the column of the results table for it, and its entry there.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The dotted key with its unit, such as `scheme.transport.min_rto_ns`.
    pub name: String,
    /// A number, a text or a flag.
    pub value: Json,
}

impl<T> Variant<T> {
    /// The only way.
    pub fn only(value: T) -> Vec<Variant<T>> {
        vec![Variant { value, axes: Vec::new() }]
    }

    /// The same choices, of something that holds the value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Variant<U> {
        Variant { value: f(self.value), axes: self.axes }
    }
}

/// Every pair of a left and a right one, the right ones varying faster.
pub(super) fn product<A: Clone, B>(
    lefts: &[Variant<A>],
    rights: &[Variant<B>],
    join: impl Fn(&mut A, &B),
) -> Vec<Variant<A>> {
    let pairs = lefts.iter().flat_map(|left| rights.iter().map(move |right| (left, right)));
    pairs
        .map(|(left, right)| {
            let mut pair = left.clone();
            join(&mut pair.value, &right.value);
            pair.axes.extend_from_slice(&right.axes);
            pair
        })
        .collect()
}

/// Every way to pick one from each list, the last list varying fastest.
pub(super) fn combinations<T>(lists: Vec<&[Variant<T>]>) -> impl Iterator<Item = Vec<&Variant<T>>> {
    let total: usize = lists.iter().map(|list| list.len()).product();
    (0..total).map(move |index| {
        let mut rest = index;
        let mut pick: Vec<&Variant<T>> = Vec::with_capacity(lists.len());
        for list in lists.iter().rev() {
            pick.push(&list[rest % list.len()]);
            rest /= list.len();
        }
        pick.reverse();
        pick
    })
}

/// The axes' entries for the values listed at `key`, which were written as `words`.
pub(super) fn axis(key: &str, values: &[&Value], words: &[String]) -> Vec<Axis> {
    // Where something may never be, there is no number for it, and all are words.
    let is_number = !values.contains(&&Value::Time(Time::NEVER));
    let choice = |(value, word): (&&Value, &String)| match is_number {
        true => choice(key, value, word),
        false => Axis { name: key.to_owned(), value: word.as_str().into() },
    };
    let mut choices: Vec<Axis> = values.iter().zip(words).map(choice).collect();
    let plain = choices.clone();
    for (index, choice) in choices.iter_mut().enumerate() {
        let same = |other: &&Axis| **other == plain[index];
        if plain.iter().filter(same).count() > 1 {
            let number = plain[..=index].iter().filter(same).count();
            choice.value = format!("{}#{number}", words[index]).into();
        }
    }
    choices
}

fn choice(key: &str, value: &Value, word: &str) -> Axis {
    let (unit, value): (&str, Json) = match value {
        Value::Time(time) => ("_ns", time.as_ns_f64().into()),
        Value::Bytes(bytes) => ("_bytes", (*bytes).into()),
        Value::Packets(packets) => ("_packets", (*packets).into()),
        Value::Rate(rate) => ("_gbps", (rate.as_bps() as f64 / 1e9).into()),
        Value::Count(count) => ("", (*count).into()),
        Value::Number(number) => ("", (*number).into()),
        Value::Flag(flag) => ("", (*flag).into()),
        Value::Text(_) | Value::Component(_) | Value::List(_) | Value::Absent => ("", word.into()),
    };
    Axis { name: format!("{key}{unit}"), value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Values;
    use crate::units::Rate;

    fn two(name: &str) -> Vec<Variant<String>> {
        (0..2)
            .map(|n| Variant {
                value: format!("{name}{n}"),
                axes: vec![Axis { name: name.to_owned(), value: n.into() }],
            })
            .collect()
    }

    #[test]
    fn the_last_varies_fastest() {
        let pairs = product(&two("a"), &two("b"), |left, right| left.push_str(right));
        let values: Vec<&str> = pairs.iter().map(|pair| pair.value.as_str()).collect();
        assert_eq!(values, ["a0b0", "a0b1", "a1b0", "a1b1"]);
        assert_eq!(pairs[2].axes.iter().map(|axis| axis.value.clone()).collect::<Vec<_>>(), [1, 0]);

        let (a, b, c) = (two("a"), two("b"), two("c"));
        let picks: Vec<String> = combinations(vec![&a, &b, &c])
            .map(|pick| pick.iter().map(|variant| variant.value.as_str()).collect())
            .collect();
        assert_eq!(picks[..3], ["a0b0c0", "a0b0c1", "a0b1c0"]);
        assert_eq!(picks.len(), 8);
    }

    #[test]
    fn columns_carry_their_unit() {
        let of = |value: Value| {
            let axis = axis("x", &[&value], &["word".to_owned()]).remove(0);
            (axis.name, axis.value)
        };
        assert_eq!(of(Value::Time(Time(400_500))), ("x_ns".to_owned(), 400.5.into()));
        assert_eq!(of(Value::Rate(Rate::from_gbps(10))), ("x_gbps".to_owned(), 10.0.into()));
        assert_eq!(of(Value::Bytes(22_500)), ("x_bytes".to_owned(), 22_500.into()));
        assert_eq!(of(Value::Packets(8)), ("x_packets".to_owned(), 8.into()));
        assert_eq!(of(Value::Component(Values::default())), ("x".to_owned(), "word".into()));
    }

    #[test]
    fn components_of_one_kind_are_numbered() {
        let component = Value::Component(Values::default());
        let words = ["ecn", "drop-tail", "ecn"].map(str::to_owned);
        let values_shown: Vec<Json> =
            axis("queue", &[&component; 3], &words).into_iter().map(|axis| axis.value).collect();
        assert_eq!(values_shown, ["ecn#1", "drop-tail", "ecn#2"]);
    }
}
