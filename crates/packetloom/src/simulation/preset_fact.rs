//! What a scheme's preset comes to on its network: what `packetloom check` prints of it.

use crate::spec::{Value, Values};
use crate::transport::presets::named;
use crate::units::Rate;

/// Each parameter that the preset sets, with the value that it has, the preset's or one that is written beside it.
pub(super) fn preset_fact(transport: &Values, host_rate: Rate) -> Option<String> {
    let preset = named(transport)?;
    let held = |key: &str| Some(format!("{key} {}", text(transport.entries.get(key)?)?));
    let all: Vec<String> = preset.given().filter_map(|given| held(given.key)).collect();
    Some(format!("preset \"{}\" with hosts' links of {host_rate}: {}", preset.name, all.join(", ")))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => Some(format!("{bytes}B")),
        Value::Rate(rate) => Some(rate.to_string()),
        Value::Time(time) => Some(time.to_string()),
        Value::Count(count) => Some(count.to_string()),
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}
