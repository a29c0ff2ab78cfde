//! Values as JSON and back: nothing lost, nothing rounded, always the same text for the same values.
//!
//! A quantity is an object of one key, which is its unit: `{"ps": 400000}`, `{"bytes": 22500}`, `{"packets": 8}`,
//! `{"bps": 10000000000}`. A component is an object with its `kind`. A count is an integer and a number always has a
//! decimal point. Keys are sorted.

use super::former;
use crate::spec::{Value, Values};
use crate::units::{Rate, Time};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// A component as JSON.
pub(super) fn component_to_json(values: &Values) -> Json {
    let stored = |key: &str| former::first(&values.kind, key).to_owned();
    let entries = values.entries.iter().map(|(key, value)| (stored(key), value_to_json(value)));
    sorted(entries.chain([("kind".to_owned(), values.kind.clone().into())]))
}

/// An object with its keys sorted.
pub(super) fn sorted(entries: impl IntoIterator<Item = (String, Json)>) -> Json {
    let entries: BTreeMap<String, Json> = entries.into_iter().collect();
    Json::Object(Map::from_iter(entries))
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::Time(time) => json!({ "ps": time.as_ps() }),
        Value::Bytes(bytes) => json!({ "bytes": bytes }),
        Value::Packets(packets) => json!({ "packets": packets }),
        Value::Rate(rate) => json!({ "bps": rate.as_bps() }),
        Value::Count(count) => (*count).into(),
        Value::Number(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Component(values) => component_to_json(values),
        Value::List(values) => values.iter().map(value_to_json).collect(),
        Value::Absent => Json::Null,
    }
}

/// The component that was written as JSON.
pub(super) fn component_from_json(json: &Json) -> Result<Values, String> {
    let object = json.as_object().ok_or_else(|| format!("{json} is no component"))?;
    let kind = object.get("kind").and_then(Json::as_str).ok_or_else(|| format!("{json} has no kind"))?;
    let entries = object
        .iter()
        .filter(|(key, _)| *key != "kind")
        .map(|(key, value)| Ok((former::now(kind, key).to_owned(), value_from_json(value)?)))
        .collect::<Result<_, String>>()?;
    Ok(Values { kind: kind.to_owned(), entries })
}

fn value_from_json(json: &Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::Absent),
        Json::Bool(flag) => Ok(Value::Flag(*flag)),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Array(items) => items.iter().map(value_from_json).collect::<Result<_, _>>().map(Value::List),
        Json::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(count), _) => Ok(Value::Count(count)),
            (None, Some(number)) => Ok(Value::Number(number)),
            (None, None) => Err(format!("{json} is no number")),
        },
        Json::Object(object) if object.contains_key("kind") => {
            component_from_json(json).map(Value::Component)
        }
        Json::Object(object) => quantity_from_json(object).ok_or_else(|| format!("{json} is no quantity")),
    }
}

fn quantity_from_json(object: &Map<String, Json>) -> Option<Value> {
    let (unit, amount) = object.iter().next().filter(|_| object.len() == 1)?;
    let amount = amount.as_u64()?;
    match unit.as_str() {
        "ps" => Some(Value::Time(Time(amount))),
        "bytes" => Some(Value::Bytes(amount)),
        "packets" => Some(Value::Packets(amount)),
        "bps" => Some(Value::Rate(Rate(amount))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn every_kind_of_value_survives_the_text() {
        let inner = Values { kind: "ecn".to_owned(), entries: BTreeMap::new() };
        let values = [
            ("a_time", Value::Time(Time(u64::MAX))),
            ("bytes", Value::Bytes(22_500)),
            ("count", Value::Count(i64::MAX as u64)),
            ("flag", Value::Flag(true)),
            ("number", Value::Number(0.1)),
            ("nothing", Value::Absent),
            ("packets", Value::Packets(8)),
            ("points", Value::List(vec![Value::List(vec![Value::Number(1.0), Value::Number(1e-9)])])),
            ("queue", Value::Component(inner)),
            ("rate", Value::Rate(Rate::from_gbps(10))),
            ("text", Value::Text("\"µ\"".to_owned())),
        ];
        let entries = values.map(|(key, value)| (key.to_owned(), value)).into();
        let component = Values { kind: "all".to_owned(), entries };
        let text = component_to_json(&component).to_string();
        assert!(
            text.starts_with(r#"{"a_time":{"ps":18446744073709551615},"bytes":{"bytes":22500},"#),
            "{text}"
        );
        assert!(text.contains(r#""points":[[1.0,1e-9]]"#), "{text}");
        let back = component_from_json(&serde_json::from_str(&text).unwrap());
        assert_eq!(back, Ok(component));
    }

    #[test]
    fn numbers_survive_to_the_last_bit() {
        let mut stream = Stream::new(1, Purpose::Sizes, 0);
        for _ in 0..10_000 {
            let number = Value::Number(1e6 * stream.unit());
            let text = value_to_json(&number).to_string();
            assert_eq!(value_from_json(&serde_json::from_str(&text).unwrap()), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_component_is_refused() {
        let message = |json: Json| component_from_json(&json).unwrap_err();
        assert_eq!(message(json!([])), "[] is no component");
        assert_eq!(message(json!({})), "{} has no kind");
        assert_eq!(
            message(json!({ "kind": "x", "y": { "furlongs": 1 } })),
            "{\"furlongs\":1} is no quantity"
        );
        assert_eq!(message(json!({ "kind": "x", "y": { "ps": -1 } })), "{\"ps\":-1} is no quantity");
    }
}
