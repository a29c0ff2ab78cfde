//! A node of a trace, as a file has it.

use super::super::{At, FileError};
use std::borrow::Cow;

/// What a node is, numbered as in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Says something of others: of process groups here.
    Metadata = 1,
    /// Loads from a memory.
    MemLoad,
    /// Stores to a memory.
    MemStore,
    /// Computes.
    Comp,
    /// Sends a message.
    CommSend,
    /// Receives one.
    CommRecv,
    /// Takes part in a collective operation.
    CommColl,
}

/// Their names in JSON.
const KINDS: [(&str, Kind); 7] = [
    ("METADATA_NODE", Kind::Metadata),
    ("MEM_LOAD_NODE", Kind::MemLoad),
    ("MEM_STORE_NODE", Kind::MemStore),
    ("COMP_NODE", Kind::Comp),
    ("COMM_SEND_NODE", Kind::CommSend),
    ("COMM_RECV_NODE", Kind::CommRecv),
    ("COMM_COLL_NODE", Kind::CommColl),
];

impl Kind {
    /// The one of a number.
    pub fn numbered(number: u64) -> Result<Kind, String> {
        let found = KINDS.iter().find(|(_, kind)| *kind as u64 == number);
        found.map(|&(_, kind)| kind).ok_or_else(|| match number {
            0 => "it is of no type, or of the type INVALID_NODE".to_owned(),
            _ => format!("it is of the type {number}; there are 1 (METADATA_NODE) to 7 (COMM_COLL_NODE)"),
        })
    }

    /// The one of a name.
    pub fn named(name: &str) -> Result<Kind, String> {
        let found = KINDS.iter().find(|(known, _)| *known == name);
        found.map(|&(_, kind)| kind).ok_or_else(|| format!("it is of the type {name:?}, which there is not"))
    }

    /// Whether it moves bytes between ranks.
    pub fn is_communication(self) -> bool {
        matches!(self, Kind::CommSend | Kind::CommRecv | Kind::CommColl)
    }
}

/// An attribute's value, whichever of the schema's kinds it has.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer of any kind.
    Integer(i128),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(Cow<'a, str>),
    /// A list of yes and no.
    Bools(Vec<bool>),
    /// What no attribute that is used here has.
    Other,
}

/// A node with what is used of it.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// Its number, by which others depend on it.
    pub id: u64,
    /// Its name.
    pub name: Cow<'a, str>,
    /// What it is.
    pub kind: Kind,
    /// The nodes that it depends on by control.
    pub control: Vec<u64>,
    /// The nodes that it depends on by data.
    pub data: Vec<u64>,
    /// When it began, where that was measured.
    pub start_micros: u64,
    /// How long it took.
    pub duration_micros: u64,
    /// Of its inputs the values: a list of process groups in JSON.
    pub values: Cow<'a, str>,
    /// What its attributes say.
    pub attributes: Attributes<'a>,
    /// Where in the file it is.
    pub at: At,
}

/// The attributes that are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// Whether the CPU executes it.
    pub is_cpu_op: Option<bool>,
    /// Which collective operation.
    pub comm_type: Option<u64>,
    /// How much is moved.
    pub comm_size: Option<u64>,
    /// Who sends.
    pub comm_src: Option<u64>,
    /// Who receives.
    pub comm_dst: Option<u64>,
    /// What messages are told apart by.
    pub comm_tag: Option<u64>,
    /// Which process group.
    pub pg_name: Option<Cow<'a, str>>,
    /// Which of the GPU's streams.
    pub stream: Option<u64>,
    /// How many operations a computation has, where its time is to be worked out.
    pub num_ops: Option<u64>,
    /// The exact duration in picoseconds, which packetloom writes where it is not in whole microseconds.
    pub duration_ps: Option<u64>,
    /// The bytes that all ranks of an all-gather have together, which packetloom writes where ranks have unequal parts.
    pub total_bytes: Option<u64>,
    /// The stream, `Some(None)` if it holds none, which packetloom writes where the node's kind does not tell it.
    pub own_stream: Option<Option<u16>>,
    /// Whether a dimension of the network is left out.
    pub leaves_out_dimension: bool,
}

/// The name of the attribute with the exact duration.
pub const DURATION_PS: &str = "packetloom_duration_ps";
/// The name of the attribute with the bytes of all ranks.
pub const TOTAL_BYTES: &str = "packetloom_total_bytes";
/// The name of the attribute with the stream; -1 is none.
pub const STREAM: &str = "packetloom_stream";
/// The name of the attribute of a file that says when its sends end. Files that packetloom wrote have it.
pub const SENDS: &str = "packetloom_sends";

/// When a send ends, as [`SENDS`] says.
pub fn sends(block: bool) -> &'static str {
    if block { "acknowledged" } else { "handed-over" }
}

/// What a file says of itself as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Whether its sends block, if packetloom wrote it.
    pub sends_block: Option<bool>,
}

impl About {
    /// Notes an attribute of the whole file.
    pub fn note(&mut self, name: &str, value: &Value<'_>) -> Result<(), String> {
        if name != SENDS {
            return Ok(());
        }
        let Value::Text(text) = value else { return Err(format!("{SENDS} is no text")) };
        let found = [true, false].into_iter().find(|&block| sends(block) == text.as_ref());
        self.sends_block =
            Some(found.ok_or_else(|| {
                format!("{SENDS} is {text:?}; write {:?} or {:?}", sends(true), sends(false))
            })?);
        Ok(())
    }
}

impl<'a> Attributes<'a> {
    /// Notes an attribute. Those that are not used are passed over: traces carry many for other tools.
    pub fn note(&mut self, name: &str, value: Value<'a>) -> Result<(), String> {
        let place = match name {
            "is_cpu_op" => {
                self.is_cpu_op = Some(boolean(name, &value)?);
                return Ok(());
            }
            "pg_name" => {
                self.pg_name = match value {
                    Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
                    Value::Integer(number) => Some(number.to_string().into()),
                    _ => return Err("pg_name is no text".to_owned()),
                };
                return Ok(());
            }
            "involved_dim" => {
                let Value::Bools(dimensions) = value else {
                    return Err("involved_dim is no list of bools".to_owned());
                };
                self.leaves_out_dimension = dimensions.contains(&false);
                return Ok(());
            }
            STREAM => {
                let stream = match value {
                    Value::Integer(-1) => Some(None),
                    Value::Integer(number) => u16::try_from(number).ok().map(Some),
                    _ => None,
                };
                let stream =
                    stream.ok_or_else(|| format!("{STREAM} is no stream; write -1 to {}", u16::MAX))?;
                self.own_stream = Some(stream);
                return Ok(());
            }
            "comm_type" => &mut self.comm_type,
            "comm_size" => &mut self.comm_size,
            "comm_src" => &mut self.comm_src,
            "comm_dst" => &mut self.comm_dst,
            "comm_tag" => &mut self.comm_tag,
            "stream" => &mut self.stream,
            "num_ops" => &mut self.num_ops,
            DURATION_PS => &mut self.duration_ps,
            TOTAL_BYTES => &mut self.total_bytes,
            _ => return Ok(()),
        };
        let Value::Integer(number) = value else { return Err(format!("{name} is no integer")) };
        let number =
            u64::try_from(number).map_err(|_| format!("{name} is {number}; it cannot be negative"))?;
        *place = Some(number);
        Ok(())
    }
}

fn boolean(name: &str, value: &Value<'_>) -> Result<bool, String> {
    match value {
        Value::Bool(value) => Ok(*value),
        Value::Integer(number @ (0 | 1)) => Ok(*number == 1),
        _ => Err(format!("{name} is neither true nor false")),
    }
}

impl Node<'_> {
    /// An error about this node.
    pub fn error(&self, message: impl std::fmt::Display) -> FileError {
        FileError { at: self.at, message: format!("node {}: {message}", self.id) }
    }
}
