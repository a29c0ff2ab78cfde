//! Components for tests, made without the scenario reader: what is not given falls back to its declared default.

use super::COMPONENTS;
use crate::spec::{Fallback, Kind, Value, Values};
use crate::units::Time;

/// The component `kind` of `section` with these parameters set; panics on a key that it does not declare.
pub fn values<const N: usize>(section: &str, kind: &str, set: [(&str, Value); N]) -> Values {
    let component = COMPONENTS
        .iter()
        .find(|component| component.section == section && component.kind == kind)
        .unwrap_or_else(|| panic!("no {section} is called {kind}"));
    let mut entries: std::collections::BTreeMap<String, Value> =
        component.params().map(|param| (param.name.to_owned(), default(param.kind, param.default))).collect();
    for (key, value) in set {
        assert!(entries.insert(key.to_owned(), value).is_some(), "{kind} declares no {key}");
    }
    Values { kind: kind.to_owned(), entries }
}

/// As [`values`], as a value inside another component.
pub fn component<const N: usize>(section: &str, kind: &str, set: [(&str, Value); N]) -> Value {
    Value::Component(values(section, kind, set))
}

fn default(kind: Kind, fallback: Fallback) -> Value {
    match (fallback, kind) {
        // A test that leaves out what is required fails when the value is used.
        (Fallback::Absent | Fallback::Required, _) => Value::Absent,
        (Fallback::Value("0us"), Kind::Time) => Value::Time(Time::ZERO),
        (Fallback::Value("10ms"), Kind::Time) => Value::Time(Time::from_us(10_000)),
        (Fallback::Value("1460B"), Kind::Bytes) => Value::Bytes(1460),
        (Fallback::Value(text), Kind::Count(_)) => Value::Count(text.parse().unwrap()),
        (Fallback::Value(text), Kind::Number(..)) => Value::Number(text.parse().unwrap()),
        (Fallback::Value(text), Kind::Flag) => Value::Flag(text.parse().unwrap()),
        (Fallback::Value(text), Kind::Component(section)) => component(section, text, []),
        (Fallback::Value(text), _) => panic!("this test helper does not know the default {text}"),
    }
}
