//! What a queue says of a buffer that is charged to links, and of pauses: as parameters of "shared-buffer", be it that or
//! a port of parts, whose buffer may be Reverie's.

use super::COMPONENT;
use crate::queue::egress::{self, REVERIE};
use crate::queue::flow_control::PFC;
use crate::spec::{Value, Values};
use std::borrow::Cow;

/// The parameters that "shared-buffer" has, if a queue is that or the same in parts.
pub fn pfc(queue: &Values) -> Option<Cow<'_, Values>> {
    if queue.kind == COMPONENT.kind {
        return Some(Cow::Borrowed(queue));
    }
    let (buffer, flow_control) = (queue.part("buffer")?, queue.part("flow_control")?);
    if flow_control.kind != PFC.kind || !egress::is_charged(&buffer) {
        return None;
    }
    let renamed = |(key, value)| if key == "size" { ("buffer".to_owned(), value) } else { (key, value) };
    let mut entries = flow_control.entries;
    if buffer.kind == REVERIE.kind {
        entries.extend(egress::fixed().map(|(key, value)| (key.to_owned(), value)));
    }
    entries.extend(buffer.entries.into_iter().map(renamed));
    // Replays of ns-3 have "shared-buffer".
    entries.insert("ties".to_owned(), Value::Text("rotate".to_owned()));
    Some(Cow::Owned(Values { kind: COMPONENT.kind.to_owned(), entries }))
}

/// Where a queue says what is this parameter of "shared-buffer".
pub fn written_as(queue: &Values, key: &str) -> String {
    let is_pauses = queue.part("flow_control").is_some_and(|part| part.entries.contains_key(key));
    match key {
        _ if queue.kind == COMPONENT.kind => key.to_owned(),
        _ if is_pauses => format!("flow_control.{key}"),
        "buffer" => "buffer.size".to_owned(),
        _ => format!("buffer.{key}"),
    }
}
