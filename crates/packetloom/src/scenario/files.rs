//! What a scenario takes from outside of itself: files beside it, and the distributions of flow sizes that
//! packetloom carries. What was read goes into the case, whole or as a hash, so that a case is the same wherever it
//! runs.

use super::hash;
use super::quantity;
use super::read::Reader;
use super::suggest;
use super::tree::{Entry, Item, Node};
use crate::files::{self, MOST_LIST_BYTES, MOST_SCENARIO_BYTES};
use crate::formats::chakra;
use crate::spec::{Kind, Param};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// The section whose components may be written as the name of a distribution or of a file.
pub(super) const SIZES: &str = "sizes";

/// The flow-size distributions that packetloom carries, and how one of the user's own is read.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// The names that the component "cdf" of the section "sizes" knows.
    pub names: fn() -> Vec<&'static str>,
    /// The keys of that component that a file's text is read as; or the line and what is wrong there.
    pub read: fn(&str) -> Result<Json, (usize, String)>,
}

/// The parameter that is what the names of several files begin with, one for each rank.
pub(super) const PREFIX: &str = "files";

/// Whether a parameter names files beside the scenario.
pub(super) fn is_named_by(param: &Param) -> bool {
    param.kind == Kind::Text && ["file", "groups", PREFIX].contains(&param.name)
}

/// What the names of files begin with that a scenario in `directory` names, and a hash of what they hold.
pub(super) fn prefix_and_hash(directory: &Path, prefix: &str) -> Result<(PathBuf, String), String> {
    let path = beside(directory, prefix)?;
    let mut hashes = String::new();
    for name in chakra::file_names(&path.display().to_string())? {
        hashes += &path_and_hash(directory, &name)?.1;
    }
    Ok((path, hash::hex(hashes.as_bytes())))
}

/// The path of a file that a scenario in `directory` names, and a hash of what it holds.
pub(super) fn path_and_hash(directory: &Path, name: &str) -> Result<(PathBuf, String), String> {
    let path = beside(directory, name)?;
    let content = files::read(&path, MOST_LIST_BYTES).map_err(|error| unreadable(&path, &error))?;
    Ok((path, hash::hex(&content)))
}

fn beside(directory: &Path, name: &str) -> Result<PathBuf, String> {
    let path = directory.join(name);
    std::path::absolute(&path).map_err(|error| unreadable(&path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}; a path is relative to the scenario's folder", path.display())
}

impl Reader<'_> {
    /// The meaning of a text in place of a component of the section "sizes", where it is none of `kinds`: a
    /// distribution by its name, or the points of a file.
    pub(super) fn sizes_named(
        &self,
        name: &str,
        line: Option<usize>,
        kinds: &[&str],
    ) -> Result<Node, String> {
        let library = self.registry.library();
        let names = (library.names)();
        let keys = if names.contains(&name) {
            json!({ "name": name })
        } else if is_path(name) {
            let text = self.text_beside(name)?;
            (library.read)(&text).map_err(|(line, message)| format!("{name} line {line}: {message}"))?
        } else if quantity::bytes(name).is_ok() {
            return Err(format!(
                "{name:?} is a size, and no distribution; for flows that all have it write \
                 sizes = {{ kind = \"constant\", size = {name:?} }}"
            ));
        } else {
            let message = suggest::unknown("flow sizes", name, &[kinds, &names].concat());
            return Err(format!("{message}; or write the path of a CDF file, such as \"sizes.csv\""));
        };
        let mut node = Node::of_json(&keys);
        if let Item::Table(entries) = &mut node.item {
            entries.push(Entry::new("kind", Node { line, item: Item::Text("cdf".to_owned()) }));
        }
        Ok(node.on_line(line))
    }

    fn text_beside(&self, name: &str) -> Result<String, String> {
        let path = beside(self.directory, name)?;
        files::read_text(&path, MOST_SCENARIO_BYTES).map_err(|error| unreadable(&path, &error))
    }
}

/// Distributions have names of letters, digits, dashes and underscores; files have a suffix or a folder.
fn is_path(name: &str) -> bool {
    name.contains(['.', '/', '\\'])
}
