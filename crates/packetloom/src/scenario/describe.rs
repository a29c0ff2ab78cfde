//! Descriptions of kinds: what a value must be, and how it is written.

use super::quantity::{BYTES, Dimension, PACKETS, RATE, TIME};
use super::registry::Registry;
use crate::spec::Kind;

/// A value of this kind as it would be written in TOML.
pub(super) fn example(kind: &Kind) -> String {
    match kind {
        Kind::Time | Kind::TimeOr(_) => format!("{:?}", TIME.example),
        Kind::Bytes | Kind::Buffer => format!("{:?}", BYTES.example),
        Kind::Rate => format!("{:?}", RATE.example),
        Kind::Count(least) => least.to_string(),
        Kind::Number(least, most) => ((least + most) / 2.0).to_string(),
        Kind::Flag => "true".to_owned(),
        Kind::Text => "\"some text\"".to_owned(),
        Kind::Choice(words) => format!("{:?}", words.first().copied().unwrap_or_default()),
        Kind::Component(_) => "a table".to_owned(),
        Kind::List(element) => format!("[{}]", example(element)),
    }
}

/// What belongs where a parameter is of this kind.
pub(super) fn kind(kind: &Kind, registry: &Registry) -> String {
    let quantity = |dimension: &Dimension| format!("{}, such as {:?}", dimension.noun, dimension.example);
    match kind {
        Kind::Time => quantity(&TIME),
        Kind::TimeOr(word) => format!("{}, or {word:?}", quantity(&TIME)),
        Kind::Bytes => quantity(&BYTES),
        Kind::Buffer => format!("{} or {:?}", quantity(&BYTES), PACKETS.example),
        Kind::Rate => quantity(&RATE),
        Kind::Count(0) => "a whole number".to_owned(),
        Kind::Count(least) => format!("a whole number, at least {least}"),
        Kind::Number(least, most) => format!("a number from {least} to {most}"),
        Kind::Flag => "true or false".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Component(section) => match registry.kinds(section).as_slice() {
            [only] if only == section => format!("a table ({section})"),
            kinds => format!("a {section}: {}", kinds.join(", ")),
        },
        Kind::List(element) => format!("a list, each {}", self::kind(element, registry)),
    }
}
