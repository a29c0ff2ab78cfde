//! Traces in JSON, in the two forms that Chakra's tools have: the objects that its jsonizer writes one after the
//! other, which are the messages of the other format; and one object with a list `workload_graph`, which its feeder
//! reads.

use super::super::{At, FileError};
use super::node::{About, Attributes, Kind, Node, Value};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;

/// Reads the nodes of a file, in its order; returns what it says of itself.
///
/// # Errors
/// What is wrong, with the line, the byte or the node; and what `each` returns.
pub fn read(
    text: &str,
    mut each: impl FnMut(Node<'static>) -> Result<(), FileError>,
) -> Result<About, FileError> {
    let mut about = About::default();
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let mut is_first = true;
    loop {
        let at = objects.byte_offset() as u64;
        let Some(object) = objects.next() else { break };
        let object = object.map_err(|error| syntax(&error))?;
        let Json::Object(mut object) = object else {
            return Err(FileError::at_byte(at, "not an object in braces"));
        };
        if is_first && let Some(graph) = object.remove("workload_graph") {
            graph_nodes(graph, &mut each)?;
        } else if !is_first {
            each(message(object).map_err(|message| FileError::at_byte(at, message))?.located(At::Byte(at)))?;
        } else if object.contains_key("schema") {
            let message = "PyTorch's own execution trace; Chakra's converter makes a Chakra trace of it";
            return Err(FileError::whole(message));
        } else {
            attributes(object.remove("attr"), |name, value| about.note(name, &value))
                .map_err(|message| FileError::at_byte(at, message))?;
        }
        is_first = false;
    }
    if is_first { Err(FileError::at_byte(0, "the file is empty")) } else { Ok(about) }
}

/// What is wrong with the JSON itself.
pub fn syntax(error: &serde_json::Error) -> FileError {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    FileError::new(error.line().max(1), format!("it is not JSON: {}", &message[..end]))
}

fn graph_nodes(
    graph: Json,
    each: &mut impl FnMut(Node<'static>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let Json::Array(graph) = graph else {
        return Err(FileError::whole("workload_graph is no list"));
    };
    for (index, one) in graph.into_iter().enumerate() {
        let node = match one {
            Json::Object(one) => graph_node(one),
            _ => Err("not an object in braces".to_owned()),
        };
        let node = node.map_err(|message| FileError::whole(format!("workload_graph[{index}]: {message}")))?;
        each(node)?;
    }
    Ok(())
}

/// A node as the feeder takes it.
fn graph_node(mut object: Map<String, Json>) -> Result<Node<'static>, String> {
    let id = required(integer(&object, "Id")?, "Id")?;
    let kind = Kind::numbered(required(integer(&object, "NodeType")?, "NodeType")?)?;
    let mut control = integers(&object, "ctrl_deps")?;
    control.extend(integers(&object, "ctrlDeps")?);
    let data = integers(&object, "data_deps")?;
    let name = text(object.remove("Name"), "Name")?;
    let duration_micros = integer(&object, "runtime")?.unwrap_or(0);
    let start_micros = integer(&object, "start_time_micros")?.unwrap_or(0);
    let mut attributes = Attributes::default();
    for (name, value) in object {
        attributes.note(&name, value_of(value))?;
    }
    let values = Cow::default();
    let at = At::Whole;
    Ok(Node { id, name, kind, control, data, start_micros, duration_micros, values, attributes, at })
}

/// A node as Protocol Buffers' own mapping to JSON has it: 64-bit integers are texts, and what is 0 is left out.
fn message(mut object: Map<String, Json>) -> Result<Node<'static>, String> {
    let id = integer(&object, "id")?.unwrap_or(0);
    let kind = match object.get("type") {
        Some(Json::String(name)) => Kind::named(name),
        _ => Kind::numbered(integer(&object, "type")?.unwrap_or(0)),
    };
    let kind = kind.map_err(|message| format!("node {id}: {message}"))?;
    let control = integers(&object, "ctrlDeps")?;
    let data = integers(&object, "dataDeps")?;
    let name = text(object.remove("name"), "name")?;
    let start_micros = integer(&object, "startTimeMicros")?.unwrap_or(0);
    let duration_micros = integer(&object, "durationMicros")?.unwrap_or(0);
    let values = object.get_mut("inputs").and_then(|inputs| inputs.as_object_mut()?.remove("values"));
    let values = text(values, "the inputs' values")?;
    let mut own = Attributes::default();
    attributes(object.remove("attr"), |name, value| own.note(name, value))?;
    let (attributes, at) = (own, At::Whole);
    Ok(Node { id, name, kind, control, data, start_micros, duration_micros, values, attributes, at })
}

/// Notes each of a list of attributes.
fn attributes(
    list: Option<Json>,
    mut note: impl FnMut(&str, Value<'static>) -> Result<(), String>,
) -> Result<(), String> {
    match list {
        None => Ok(()),
        Some(Json::Array(all)) => all.into_iter().try_for_each(|one| attribute(one, &mut note)),
        Some(_) => Err("attr is no list".to_owned()),
    }
}

fn attribute(
    one: Json,
    note: &mut impl FnMut(&str, Value<'static>) -> Result<(), String>,
) -> Result<(), String> {
    let Json::Object(one) = one else { return Err("an attribute is not an object in braces".to_owned()) };
    let name = one.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
    for (key, value) in one {
        let value = match key.as_str() {
            "name" | "docString" => continue,
            "boolVal" | "stringVal" => value_of(value),
            "boolList" => match value {
                Json::Object(mut list) => value_of(list.remove("values").unwrap_or_default()),
                _ => Value::Other,
            },
            "int32Val" | "int64Val" | "uint32Val" | "uint64Val" | "sint32Val" | "sint64Val"
            | "fixed32Val" | "fixed64Val" | "sfixed32Val" | "sfixed64Val" => {
                Value::Integer(whole(&value).ok_or_else(|| format!("{name} is no integer"))?)
            }
            _ => Value::Other,
        };
        note(&name, value)?;
    }
    Ok(())
}

fn value_of(value: Json) -> Value<'static> {
    match value {
        Json::Bool(value) => Value::Bool(value),
        Json::String(text) => Value::Text(text.into()),
        Json::Array(list) => {
            let bools: Option<Vec<bool>> = list.iter().map(Json::as_bool).collect();
            bools.map_or(Value::Other, Value::Bools)
        }
        other => whole(&other).map_or(Value::Other, Value::Integer),
    }
}

fn whole(value: &Json) -> Option<i128> {
    match value {
        Json::Number(number) => number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from)),
        Json::String(text) => {
            text.parse::<i64>().map(i128::from).or_else(|_| text.parse::<u64>().map(i128::from)).ok()
        }
        _ => None,
    }
}

fn integer(object: &Map<String, Json>, key: &str) -> Result<Option<u64>, String> {
    let number = |value: &Json| whole(value).and_then(|number| u64::try_from(number).ok());
    let Some(value) = object.get(key) else { return Ok(None) };
    number(value).map(Some).ok_or_else(|| format!("{key} is {value}; write a whole number"))
}

fn integers(object: &Map<String, Json>, key: &str) -> Result<Vec<u64>, String> {
    let message = || format!("{key} is no list of whole numbers");
    match object.get(key) {
        None => Ok(Vec::new()),
        Some(Json::Array(all)) => all
            .iter()
            .map(|value| whole(value).and_then(|number| u64::try_from(number).ok()).ok_or_else(message))
            .collect(),
        Some(_) => Err(message()),
    }
}

fn text(value: Option<Json>, what: &str) -> Result<Cow<'static, str>, String> {
    match value {
        None => Ok(Cow::default()),
        Some(Json::String(text)) => Ok(text.into()),
        Some(_) => Err(format!("{what} is no text")),
    }
}

fn required(value: Option<u64>, key: &str) -> Result<u64, String> {
    value.ok_or_else(|| format!("{key} is missing"))
}

impl Node<'static> {
    fn located(self, at: At) -> Node<'static> {
        Node { at, ..self }
    }
}
