//! Traces in Protocol Buffers: messages with their length before them, first one about the whole, then the nodes.

use super::super::{At, FileError};
use super::node::{About, Attributes, Kind, Node, Value};
use super::wire::{self, Field, Wire};
use crate::narrow::exact;
use std::borrow::Cow;

/// Reads the nodes of a file, in its order; returns what it says of itself.
///
/// # Errors
/// What is wrong, with the byte; and what `each` returns.
pub fn read<'a>(
    content: &'a [u8],
    mut each: impl FnMut(Node<'a>) -> Result<(), FileError>,
) -> Result<About, FileError> {
    let mut wire = Wire::new(content);
    if wire.is_empty() {
        return Err(FileError::at_byte(0, "the file is empty"));
    }
    let about = about(wire.delimited("a message")?)?;
    while !wire.is_empty() {
        let message = wire.delimited("a message")?;
        if message.is_empty() {
            return match wire.is_empty() {
                true => Ok(about),
                false => {
                    Err(FileError::at_byte(wire.at(), "more after a message of length 0, which ends a trace"))
                }
            };
        }
        each(node(message)?)?;
    }
    Ok(about)
}

/// The first message: a version and attributes.
fn about(mut message: Wire<'_>) -> Result<About, FileError> {
    let mut about = About::default();
    while let Some(field) = message.field()? {
        match field.number {
            1 => drop(field.text("the version")?),
            2 => {
                let (name, value) = attribute(field.message("an attribute")?)?;
                about.note(name, &value).map_err(|message| field.error(message))?;
            }
            _ => {}
        }
    }
    Ok(about)
}

fn node(mut message: Wire<'_>) -> Result<Node<'_>, FileError> {
    let at = message.at();
    let (mut id, mut name, mut kind) = (0, "", 0);
    let (mut control, mut data) = (Vec::new(), Vec::new());
    let (mut start_micros, mut duration_micros, mut values) = (0, 0, "");
    let mut attributes = Attributes::default();
    while let Some(field) = message.field()? {
        match field.number {
            1 => id = field.integer("the id")?,
            2 => name = field.text("the name")?,
            3 => kind = field.integer("the type")?,
            4 => field.integers("ctrl_deps", &mut control)?,
            5 => field.integers("data_deps", &mut data)?,
            6 => start_micros = field.integer("start_time_micros")?,
            7 => duration_micros = field.integer("duration_micros")?,
            8 => values = input_values(field.message("inputs")?)?,
            10 => {
                let (name, value) = attribute(field.message("an attribute")?)?;
                attributes.note(name, value).map_err(|message| field.error(message))?;
            }
            _ => {}
        }
    }
    let kind = Kind::numbered(kind);
    let kind = kind.map_err(|message| FileError::at_byte(at, format!("node {id}: {message}")))?;
    let (name, values) = (Cow::Borrowed(name), Cow::Borrowed(values));
    let at = At::Byte(at);
    Ok(Node { id, name, kind, control, data, start_micros, duration_micros, values, attributes, at })
}

fn input_values(mut message: Wire<'_>) -> Result<&str, FileError> {
    let mut values = "";
    while let Some(field) = message.field()? {
        if field.number == 1 {
            values = field.text("the values")?;
        }
    }
    Ok(values)
}

fn attribute(mut message: Wire<'_>) -> Result<(&str, Value<'_>), FileError> {
    let (mut name, mut value) = ("", Value::Other);
    while let Some(field) = message.field()? {
        match field.number {
            1 => name = field.text("an attribute's name")?,
            // A comment.
            2 => {}
            _ => value = attribute_value(field)?,
        }
    }
    Ok((name, value))
}

/// The field's number says which kind it is: a kind and a list of it in turn, from 3 on.
fn attribute_value(field: Field<'_>) -> Result<Value<'_>, FileError> {
    let zigzag = |number: u64| exact::<i64>(number >> 1) ^ -exact::<i64>(number & 1);
    let value = match (field.number, field.value) {
        // Of int32 and int64, and of uint32 and uint64.
        (7 | 9, wire::Value::Varint(number)) => Value::Integer(i128::from(number.cast_signed())),
        (11 | 13, wire::Value::Varint(number)) => Value::Integer(i128::from(number)),
        // Of sint32 and sint64.
        (15 | 17, wire::Value::Varint(number)) => Value::Integer(i128::from(zigzag(number))),
        // Of fixed32 and fixed64, and of sfixed32 and sfixed64.
        (19, wire::Value::Fixed32(number)) => Value::Integer(i128::from(number)),
        (21, wire::Value::Fixed64(number)) => Value::Integer(i128::from(number)),
        (23, wire::Value::Fixed32(number)) => Value::Integer(i128::from(number.cast_signed())),
        (25, wire::Value::Fixed64(number)) => Value::Integer(i128::from(number.cast_signed())),
        (27, wire::Value::Varint(number)) => Value::Bool(number != 0),
        (28, wire::Value::Bytes(list)) => Value::Bools(bools(list)?),
        (29, _) => Value::Text(Cow::Borrowed(field.text("an attribute's text")?)),
        (7 | 9 | 11 | 13 | 15 | 17 | 19 | 21 | 23 | 25 | 27 | 28, _) => {
            return Err(field.error("an attribute's value is not of the wire type of its kind"));
        }
        _ => Value::Other,
    };
    Ok(value)
}

fn bools(mut list: Wire<'_>) -> Result<Vec<bool>, FileError> {
    let mut values = Vec::new();
    while let Some(field) = list.field()? {
        if field.number == 1 {
            field.integers("the bools", &mut values)?;
        }
    }
    Ok(values.into_iter().map(|value| value != 0).collect())
}
