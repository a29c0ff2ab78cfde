//! A scenario as it was written, TOML or JSON alike: a tree in which everything knows its line.

use super::problem::{Problems, quoted, shortened};
use super::unique::Unique;
use serde_json::Value as Json;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value, and its line (from 1; none in JSON, which programs write).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub line: Option<usize>,
    pub item: Item,
}

/// The value itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Text(String),
    Integer(i128),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    /// In the order written.
    Table(Vec<Entry>),
    /// What no parameter takes: a date of TOML, a null in a list of JSON.
    Other(String),
}

/// So many digits are shown of a number that nothing can hold.
const MOST_DIGITS: usize = 40;

/// A key, its line, and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub key: String,
    pub line: Option<usize>,
    pub value: Node,
}

impl Node {
    /// Reads a TOML document, a table.
    pub fn from_toml(text: &str, source: &str) -> Result<Node, Problems> {
        let lines = Lines::of(text);
        match DeTable::parse(text) {
            Ok(table) => Ok(Node { line: None, item: Item::Table(lines.entries(table.get_ref())) }),
            Err(error) => {
                let line = error.span().map(|span| lines.number(span.start));
                let place = error.span().and_then(|span| text.get(span)).unwrap_or_default();
                let at = if place.is_empty() { String::new() } else { format!(" at {}", quoted(place)) };
                Err(Problems::one(source, line, format!("this is not TOML: {}{at}", error.message())))
            }
        }
    }

    /// Reads a value as it would be written behind a `key =` of TOML.
    pub fn from_toml_value(text: &str) -> Option<Node> {
        let value = DeValue::parse(text).ok()?;
        let mut node = Lines::of(text).node(&value);
        node.forget_lines();
        Some(node)
    }

    /// Reads a JSON document. A null is a key left out.
    pub fn from_json(text: &str, source: &str) -> Result<Node, Problems> {
        match serde_json::from_str::<Unique>(text) {
            Ok(Unique(json)) => Ok(Node::of_json(&json)),
            Err(error) => {
                Err(Problems::one(source, Some(error.line()), format!("this is not JSON: {error}")))
            }
        }
    }

    /// The tree of a JSON value.
    pub fn of_json(json: &Json) -> Node {
        let item = match json {
            Json::Null => Item::Other("null".to_owned()),
            Json::Bool(flag) => Item::Flag(*flag),
            Json::String(text) => Item::Text(text.clone()),
            Json::Number(number) => match number.as_i128() {
                Some(integer) => Item::Integer(integer),
                None => Item::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::Array(items) => Item::List(items.iter().map(Node::of_json).collect()),
            Json::Object(entries) => Item::Table(
                entries
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(key, value)| Entry::new(key, Node::of_json(value)))
                    .collect(),
            ),
        };
        Node { line: None, item }
    }

    /// The value of `key`, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.item {
            Item::Table(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The line of what a dotted key such as `scheme[1].queue` names, or of as much of it as is written here.
    pub fn line_of(&self, dotted: &str) -> Option<usize> {
        let mut node = self;
        for part in dotted.split('.') {
            let (key, index) = match part.split_once('[') {
                Some((key, index)) => (key, index.trim_end_matches(']').parse().ok()),
                None => (part, None),
            };
            let Some(inner) = node.get(key) else { break };
            node = match (&inner.item, index) {
                (Item::List(items), Some(index)) => items.get::<usize>(index).unwrap_or(inner),
                _ => inner,
            };
        }
        node.line
    }

    /// Puts everything on one line: that of the name which is short for it.
    pub fn on_line(mut self, line: Option<usize>) -> Node {
        self.forget_lines();
        self.line = line;
        if let Item::Table(entries) = &mut self.item {
            for entry in entries {
                entry.line = line;
                entry.value.line = line;
            }
        }
        self
    }

    fn forget_lines(&mut self) {
        self.line = None;
        match &mut self.item {
            Item::List(items) => items.iter_mut().for_each(Node::forget_lines),
            Item::Table(entries) => {
                for entry in entries {
                    entry.line = None;
                    entry.value.forget_lines();
                }
            }
            _ => {}
        }
    }
}

impl Entry {
    /// A key and its value, on the value's line.
    pub fn new(key: &str, value: Node) -> Entry {
        Entry { key: key.to_owned(), line: value.line, value }
    }
}

impl fmt::Display for Item {
    /// As it was written, or what it is where that is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Text(text) => f.write_str(&quoted(text)),
            Item::Integer(integer) => write!(f, "{integer}"),
            Item::Number(number) => write!(f, "{number}"),
            Item::Flag(flag) => write!(f, "{flag}"),
            Item::List(_) => f.write_str("a list"),
            Item::Table(_) => f.write_str("a table"),
            Item::Other(text) => f.write_str(&shortened(text, MOST_DIGITS)),
        }
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The number, from 1, of the line that holds a byte.
    fn number(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte)
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        Node { line: Some(self.number(value.span().start)), item: self.item(value.get_ref()) }
    }

    fn item(&self, value: &DeValue<'_>) -> Item {
        match value {
            DeValue::String(text) => Item::Text(text.to_string()),
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .map_or_else(|_| Item::Other(integer.to_string()), Item::Integer),
            DeValue::Float(number) => {
                number.as_str().parse().map_or_else(|_| Item::Other(number.to_string()), Item::Number)
            }
            DeValue::Boolean(flag) => Item::Flag(*flag),
            DeValue::Datetime(date) => Item::Other(date.to_string()),
            DeValue::Array(items) => Item::List(items.iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => Item::Table(self.entries(table)),
        }
    }

    /// The entries of a table in the order written; the parser sorts them by name.
    fn entries(&self, table: &DeTable<'_>) -> Vec<Entry> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
            .into_iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                line: Some(self.number(key.span().start)),
                value: self.node(value),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FABRIC: &str = "name = 'a'\n\n[topology]\nk = 1_000\nlink.rate = '10Gbps'\nlink.delay = \"\"\"\n1us\"\"\"\n\
                          [[scheme]]\nqueue = { kind = 'ecn' }\n[[scheme]]\n[scheme.transport]\ng = 0.5\n";

    #[test]
    fn everything_knows_its_line_and_its_order() {
        let tree = Node::from_toml(FABRIC, "fabric.toml").unwrap();
        let topology = tree.get("topology").unwrap();
        assert_eq!(topology.line, Some(3));
        assert_eq!(*topology.get("k").unwrap(), Node { line: Some(4), item: Item::Integer(1000) });
        assert_eq!(topology.line_of("link.rate"), Some(5));
        assert_eq!(topology.line_of("k.unwritten"), Some(4));
        assert_eq!(tree.line_of("scheme[1].transport.g"), Some(12));
        assert_eq!(tree.line_of("scheme[2].transport.g"), Some(8));
        let Item::List(schemes) = &tree.get("scheme").unwrap().item else { panic!() };
        assert_eq!(schemes[0].line, Some(8));
        assert_eq!(schemes[0].line_of("queue.kind"), Some(9));
        assert_eq!(schemes[1].line, Some(10));
        assert_eq!(schemes[1].get("transport").unwrap().line, Some(11));
        assert_eq!(schemes[1].line_of("transport.g"), Some(12));
        let Item::Table(entries) = &tree.item else { panic!() };
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["name", "topology", "scheme"]);
    }

    #[test]
    fn a_slip_in_the_syntax_names_its_line() {
        let problems = Node::from_toml("a = 1\nb = \"x\nc = 2\n", "fabric.toml").unwrap_err().to_string();
        assert!(problems.starts_with("fabric.toml:2: this is not TOML: "), "{problems}");
        let problems = Node::from_toml("a = 1\n\na = 2\n", "fabric.toml").unwrap_err().to_string();
        assert_eq!(problems, "fabric.toml:3: this is not TOML: duplicate key at \"a\"");
        let problems = Node::from_json("{\"a\": 1,\n oops}", "scenario").unwrap_err().to_string();
        assert!(problems.starts_with("scenario:2: this is not JSON: "), "{problems}");
        let twice = "{\"a\": 1,\n \"b\": {\"c\": 1,\n \"c\": 2}}";
        let problems = Node::from_json(twice, "scenario").unwrap_err().to_string();
        let expected = "scenario:3: this is not JSON: the key \"c\" is there twice; leave one out";
        assert!(problems.starts_with(expected), "{problems}");
    }

    #[test]
    fn json_gives_the_same_tree_without_lines() {
        let json = r#"{"b": [1, 2.5, true, "x"], "a": null, "big": 18446744073709551615}"#;
        let tree = Node::from_json(json, "scenario").unwrap();
        assert_eq!(tree.get("a"), None);
        assert_eq!(tree.get("big").unwrap().item, Item::Integer(u64::MAX.into()));
        let toml = Node::from_toml_value("[1, 2.5, true, 'x']").unwrap();
        assert_eq!(tree.get("b"), Some(&toml));
    }
}
