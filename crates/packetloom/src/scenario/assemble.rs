//! From a text to a [`Scenario`], section by section.

use super::consistency;
use super::grid::Scenario;
use super::presets;
use super::problem::Problems;
use super::read::Reader;
use super::registry::Registry;
use super::scalar;
use super::sections::{FORMAT, SCENARIO};
use super::seeds;
use super::tree::{Entry, Item, Node};
use super::variant::Variant;
use crate::files::{self, MOST_SCENARIO_BYTES};
use crate::spec::{Kind, Value, Values};
use std::path::Path;

type Variants = Vec<Variant<Values>>;

impl Scenario {
    /// Reads a scenario from a file: JSON if it is called so, else TOML.
    pub fn read(path: &Path) -> Result<Scenario, Problems> {
        let source = path.display().to_string();
        let text = files::read_text(path, MOST_SCENARIO_BYTES)
            .map_err(|error| Problems::one(&source, None, format!("cannot read this file: {error}")))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        if path.extension().is_some_and(|extension| extension == "json") {
            Scenario::from_json(&text, &source, directory)
        } else {
            Scenario::from_toml(&text, &source, directory)
        }
    }

    /// Reads a scenario from the text of a TOML file. Messages call it `source`; the files that it names are sought
    /// in `directory`.
    pub fn from_toml(text: &str, source: &str, directory: &Path) -> Result<Scenario, Problems> {
        assemble(Node::from_toml(text, source)?, source, directory, &Registry::default())
    }

    /// Reads a scenario from JSON of the same structure.
    pub fn from_json(text: &str, source: &str, directory: &Path) -> Result<Scenario, Problems> {
        assemble(Node::from_json(text, source)?, source, directory, &Registry::default())
    }

    /// Reads a scenario, TOML or JSON, whose traffic somebody sends who drives the run: without any `[[workload]]`.
    pub fn without_traffic(
        text: &str,
        source: &str,
        directory: &Path,
        is_json: bool,
    ) -> Result<Scenario, Problems> {
        let mut tree = if is_json { Node::from_json(text, source)? } else { Node::from_toml(text, source)? };
        if tree.get("workload").is_some() {
            let message =
                "workload: whoever opens a network sends its traffic; leave the [[workload]] tables out";
            return Err(Problems::one(source, tree.line_of("workload"), message.to_owned()));
        }
        if let Item::Table(entries) = &mut tree.item {
            entries.push(Entry::new("workload", Node { line: None, item: Item::List(Vec::new()) }));
        }
        let registry = Registry::default();
        let mut reader = Reader::new(&registry, directory);
        reader.is_driven = true;
        assemble_by(reader, tree, source, &registry)
    }
}

/// Reads a scenario's tree against a registry.
pub(super) fn assemble(
    tree: Node,
    source: &str,
    directory: &Path,
    registry: &Registry,
) -> Result<Scenario, Problems> {
    assemble_by(Reader::new(registry, directory), tree, source, registry)
}

fn assemble_by(
    mut reader: Reader<'_>,
    tree: Node,
    source: &str,
    registry: &Registry,
) -> Result<Scenario, Problems> {
    match read(&mut reader, tree, source) {
        Some(mut scenario) if reader.problems.is_empty() => {
            scenario.warnings = consistency::warnings(&scenario, registry);
            Ok(scenario)
        }
        _ => Err(Problems::new(source, reader.problems)),
    }
}

fn read(reader: &mut Reader<'_>, tree: Node, source: &str) -> Option<Scenario> {
    if !matches!(tree.item, Item::Table(_)) {
        reader.report(tree.line, "", "this is no scenario; write tables such as [topology]");
        return None;
    }
    // Before anything else: what a newer format has is not known here, and would be called a mistake.
    if let Some(message) = tree.get("format").and_then(|node| unknown_format(&node.item)) {
        reader.report(tree.line_of("format"), "format", message);
        return None;
    }
    reader.keys_are_right(&SCENARIO, &tree, "");
    let name = text(reader, &tree, "name", |item| match scalar::read(item, &Kind::Text)? {
        Value::Text(name) => Ok(name),
        other => unreachable!("{other:?} is no text"),
    });
    let description = text(reader, &tree, "description", scalar::prose);
    let topology = tree.get("topology").and_then(|node| reader.component(node, "topology", "topology"));
    let workloads = if reader.is_driven { Some(Vec::new()) } else { sections(reader, &tree, "workload") };
    let faults = match tree.get("fault") {
        Some(_) => sections(reader, &tree, "fault"),
        None => Some(Vec::new()),
    };
    let schemes = sections(reader, &tree, "scheme");
    let run = run(reader, &tree);
    let measure = reader.component(&section_or_default(&tree, "measure"), "measure", "measure");
    let mut scenario = Scenario {
        name,
        description,
        warnings: Vec::new(),
        precision: None,
        alike: 0.0,
        source: source.to_owned(),
        tree,
        topology: topology?,
        host_rates: Vec::new(),
        workloads: workloads?,
        faults: faults?,
        schemes: schemes?,
        loads: Vec::new(),
        seeds: Vec::new(),
        run: run?,
        measure: measure?,
    };
    seeds::take_loads_and_seeds(reader, &mut scenario);
    // Rules between sections are checked only where each section is sound.
    if reader.problems.is_empty() {
        consistency::check(reader, &scenario);
        scenario.host_rates = presets::host_rates(&scenario.topology, &scenario.schemes);
    }
    Some(scenario)
}

/// Why a scenario of this format cannot be read.
fn unknown_format(item: &Item) -> Option<String> {
    match scalar::read(item, &Kind::Count(1)) {
        Ok(Value::Count(format)) if format > FORMAT => Some(format!(
            "{format} is newer than this packetloom ({}), which reads format {FORMAT}; install a newer one",
            env!("CARGO_PKG_VERSION")
        )),
        Ok(_) => None,
        Err(message) => Some(message),
    }
}

fn text(
    reader: &mut Reader<'_>,
    tree: &Node,
    key: &str,
    read: impl Fn(&Item) -> Result<String, String>,
) -> Option<String> {
    let node = tree.get(key)?;
    read(&node.item).map_err(|message| reader.report(node.line, key, message)).ok()
}

/// The tables of `[[section]]`; a single `[section]` is one of them.
pub(super) fn section_tables<'a>(tree: &'a Node, section: &str) -> &'a [Node] {
    match tree.get(section) {
        Some(Node { item: Item::List(tables), .. }) => tables,
        Some(table) => std::slice::from_ref(table),
        None => &[],
    }
}

fn sections(reader: &mut Reader<'_>, tree: &Node, section: &str) -> Option<Vec<Variants>> {
    let tables = section_tables(tree, section);
    if let (Some(node), []) = (tree.get(section), tables) {
        reader.report(node.line, section, format!("is empty; write at least one [[{section}]] table"));
    }
    let read: Vec<Option<Variants>> = tables
        .iter()
        .enumerate()
        .map(|(index, table)| {
            let path = format!("{section}[{index}]");
            let mut variants = reader.component(table, &path, section)?;
            // Columns are shared by all schemes; a source has its own unless it is the only one.
            if section == "scheme" || tables.len() == 1 {
                rename_axes(&mut variants, &path, section);
            }
            Some(variants)
        })
        .collect();
    read.into_iter().collect::<Option<Vec<_>>>().filter(|sections| !sections.is_empty())
}

fn rename_axes(variants: &mut Variants, from: &str, to: &str) {
    for axis in variants.iter_mut().flat_map(|variant| &mut variant.axes) {
        if let Some(rest) = axis.name.strip_prefix(from) {
            axis.name = format!("{to}{rest}");
        }
    }
}

fn section_or_default(tree: &Node, section: &str) -> Node {
    tree.get(section).cloned().unwrap_or(Node { line: None, item: Item::Table(Vec::new()) })
}

fn run(reader: &mut Reader<'_>, tree: &Node) -> Option<Variants> {
    let mut node = section_or_default(tree, "run");
    if let Item::Table(entries) = &mut node.item {
        for entry in entries.iter_mut().filter(|entry| entry.key == "seeds") {
            seeds::count_out(reader, entry)?;
        }
    }
    reader.component(&node, "run", "run")
}

#[cfg(test)]
mod tests;
