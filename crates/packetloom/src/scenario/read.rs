//! Reads components against their declarations: every key known, every value of its kind, every default filled in.

use super::describe;
use super::files;
use super::former;
use super::presets;
use super::problem::Problem;
use super::registry::Registry;
use super::scalar;
use super::suggest;
use super::tree::{Entry, Item, Node};
use super::variant::{self, Variant};
use crate::spec::{Component, Fallback, Kind, Param, Value, Values};
use crate::user_class::{self, Place, Role};
use std::collections::BTreeMap;
use std::path::Path;

/// A grid beyond this is a slip, not an experiment.
pub(super) const MOST_CASES: usize = 100_000;

/// More mistakes are not looked for; a list may have a hundred thousand.
const MOST_PROBLEMS: usize = 200;

/// Reads a scenario's values, and notes what is wrong with them.
///
/// What can't be read gives `None`, and at least one problem: so all problems of a scenario come at once.
pub(super) struct Reader<'a> {
    pub registry: &'a Registry,
    pub directory: &'a Path,
    pub problems: Vec<Problem>,
    /// Whether the scenario has no traffic, as somebody else sends it.
    pub is_driven: bool,
    file_hashes: BTreeMap<String, String>,
}

impl<'a> Reader<'a> {
    /// A reader that finds files in `directory`.
    pub fn new(registry: &'a Registry, directory: &'a Path) -> Reader<'a> {
        Reader { registry, directory, problems: Vec::new(), is_driven: false, file_hashes: BTreeMap::new() }
    }

    /// Notes a problem, once.
    pub fn report(&mut self, line: Option<usize>, key: &str, message: impl Into<String>) {
        if self.problems.len() == MOST_PROBLEMS {
            return;
        }
        let problem = Problem { line, key: key.to_owned(), message: message.into() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// The value of a step that may fail; notes why it did.
    fn noted<T>(&mut self, result: Result<T, String>, line: Option<usize>, key: &str) -> Option<T> {
        result.map_err(|message| self.report(line, key, message)).ok()
    }

    /// The component of `section` that `node` writes at `path`, in all its variants.
    pub fn component(&mut self, node: &Node, path: &str, section: &str) -> Option<Vec<Variant<Values>>> {
        let spelt_out = self.spell_out(node, path, section)?;
        let node = spelt_out.as_ref().unwrap_or(node);
        let renamed = former::renamed(node);
        let node = renamed.as_ref().unwrap_or(node);
        let (component, entries) = self.declaration(node, path, section)?;
        let mut sound = self.keys_are_right(component, node, path);
        let start = Values { kind: component.kind.to_owned(), entries: BTreeMap::new() };
        let mut variants = Variant::only(start);
        for entry in entries {
            let Some(param) = declared(component, &entry.key) else { continue };
            match self.param(&entry.value, &join(path, param.name), param) {
                Some(values) => variants = self.extend(&variants, param, &values, node.line, path)?,
                None => sound = false,
            }
        }
        for param in component.params().filter(|param| node.get(param.name).is_none()) {
            if let Some(value) = self.default_of(param, &join(path, param.name)) {
                variants = self.extend(&variants, param, &value, node.line, path)?;
            }
        }
        for variant in &mut variants {
            presets::fill(self, component, node, path, &mut variant.value);
        }
        (sound && self.passes_check(component, &variants, node, path)).then_some(variants)
    }

    /// The table that a text of the section "sizes" is short for, where it is no kind; `None` inside if it is one.
    fn spell_out(&mut self, node: &Node, path: &str, section: &str) -> Option<Option<Node>> {
        match &node.item {
            Item::Text(name) if section == files::SIZES => {
                let kinds = self.registry.kinds(section);
                if kinds.contains(&name.as_str()) {
                    return Some(None);
                }
                let table = self.sizes_named(name, node.line, &kinds);
                self.noted(table, node.line, path).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Which component `node` names, and what it sets there.
    fn declaration<'n>(
        &mut self,
        node: &'n Node,
        path: &str,
        section: &str,
    ) -> Option<(&'static Component, &'n [Entry])> {
        let (kind, line, entries): (Option<&str>, Option<usize>, &[Entry]) = match &node.item {
            Item::Text(kind) => (Some(kind), node.line, &[]),
            Item::Table(entries) => match node.get("kind") {
                None => (None, node.line, entries),
                Some(Node { item: Item::Text(kind), line }) => (Some(kind), *line, entries),
                Some(Node { item, line }) => {
                    let message = format!("{item} is no kind of {section}; write one in quotes");
                    self.report(*line, &join(path, "kind"), message);
                    return None;
                }
            },
            item => {
                let message = format!("{item} is no {section}; write {}", self.how_to_write(section));
                self.report(node.line, path, message);
                return None;
            }
        };
        let component = self.kind_of(section, kind);
        let component = self.noted(component, line, path)?;
        match Registry::completed_by_class(component) {
            Some(role) => self.completed(component, role, node, path),
            None => Some(component),
        }
        .map(|component| (component, entries))
    }

    /// What a component is with the parameters that a class of a user's file declares.
    fn completed(
        &mut self,
        component: &'static Component,
        role: &Role,
        node: &Node,
        path: &str,
    ) -> Option<&'static Component> {
        let mut texts = Vec::new();
        for key in ["file", "class"] {
            match node.get(key) {
                Some(Node { item: Item::Text(text), .. }) => texts.push(text.as_str()),
                Some(Node { item, line }) => {
                    let message =
                        format!("{item} is no {key}; write one in quotes, and a [[scheme]] for each");
                    self.report(*line, &join(path, key), message);
                    return None;
                }
                // That it is missing is said of every required key.
                None => return Some(component),
            }
        }
        let (line, at) = (node.line_of("file"), join(path, "file"));
        let found = files::path_and_hash(self.directory, texts[0]);
        let (file, file_hash) = self.noted(found, line, &at)?;
        let file = file.display().to_string();
        let found = user_class::load(&[role], Place { file: &file, file_hash: &file_hash, class: texts[1] });
        self.noted(found.map(|code| &code.component), line, &at)
    }

    fn kind_of(&self, section: &str, kind: Option<&str>) -> Result<&'static Component, String> {
        let kinds = self.registry.kinds(section);
        match (kind, self.registry.section(section).as_slice()) {
            (None, [only]) => Ok(*only),
            (None, _) => Err(format!("which {section}? Write kind = one of {}", kinds.join(", "))),
            (Some(kind), _) => self
                .registry
                .find(section, kind)
                .ok_or_else(|| suggest::unknown(&format!("{section} kind"), kind, &kinds)),
        }
    }

    fn how_to_write(&self, section: &str) -> String {
        match self.registry.kinds(section).as_slice() {
            [] | [_] => "a table".to_owned(),
            [first, ..] => format!("its kind, such as {first:?}, or a table with a kind"),
        }
    }

    /// Whether every key of `node` is declared, and every required one is there.
    pub fn keys_are_right(&mut self, component: &Component, node: &Node, path: &str) -> bool {
        let before = self.problems.len();
        let known: Vec<&str> = component.params().map(|param| param.name).collect();
        if let Item::Table(entries) = &node.item {
            for entry in entries {
                // A scenario as a whole is of no kind.
                let is_known =
                    known.contains(&entry.key.as_str()) || (entry.key == "kind" && !path.is_empty());
                if !is_known {
                    let message = former::twice(component.kind, &entry.key)
                        .unwrap_or_else(|| suggest::unknown("key", &entry.key, &known));
                    self.report(entry.line, &join(path, &entry.key), message);
                }
            }
        }
        for param in component.params().filter(|param| param.default == Fallback::Required) {
            if node.get(param.name).is_none() {
                let message = format!("is missing; write {}", self.example(param, path.is_empty()));
                self.report(node.line, &join(path, param.name), message);
            }
        }
        self.problems.len() == before
    }

    /// How a parameter could be written, for one that is missing.
    fn example(&self, param: &Param, is_top_level: bool) -> String {
        let name = param.name;
        match param.kind {
            Kind::List(Kind::Component(_)) => format!("at least one [[{name}]] table"),
            Kind::Component(_) if is_top_level => format!("a [{name}] table"),
            Kind::Component(section) => match self.registry.kinds(section).first() {
                Some(kind) if *kind != section => format!("{name} = {kind:?}"),
                _ => format!("{name} = {{ ... }}"),
            },
            kind => format!("{name} = {}", describe::example(&kind)),
        }
    }

    /// The value of `node` for `param`: one, or a list of them that spans an axis of the grid.
    fn param(&mut self, node: &Node, path: &str, param: &Param) -> Option<Vec<Variant<Value>>> {
        match (&node.item, param.kind) {
            (Item::List(items), kind) if !matches!(kind, Kind::List(_)) => {
                self.axis(items, node.line, path, param)
            }
            _ => self.value(node, path, param),
        }
    }

    fn axis(
        &mut self,
        items: &[Node],
        line: Option<usize>,
        path: &str,
        param: &Param,
    ) -> Option<Vec<Variant<Value>>> {
        if items.is_empty() {
            self.report(line, path, "an empty list spans no case; write a value, or leave the key out");
            return None;
        }
        // Every item is read before any failure counts, so that all problems are found.
        let read: Vec<_> = items.iter().map(|item| self.value(item, path, param)).collect();
        let read: Vec<Vec<Variant<Value>>> = read.into_iter().collect::<Option<_>>()?;
        for (index, item) in items.iter().enumerate() {
            if read[..index].iter().flatten().any(|earlier| earlier.value == read[index][0].value) {
                self.report(item.line, path, format!("{} is in the list twice", item.item));
                return None;
            }
        }
        let words: Vec<String> = items.iter().map(word).collect();
        let firsts: Vec<&Value> = read.iter().map(|variants| &variants[0].value).collect();
        let choices = variant::axis(path, &firsts, &words);
        let mut all = Vec::new();
        for (choice, variants) in choices.into_iter().zip(read) {
            for mut variant in variants {
                variant.axes.insert(0, choice.clone());
                all.push(variant);
            }
        }
        Some(all)
    }

    fn value(&mut self, node: &Node, path: &str, param: &Param) -> Option<Vec<Variant<Value>>> {
        if files::is_named_by(param) {
            return self.file(node, path, param.name);
        }
        self.value_of_kind(node, path, &param.kind)
    }

    /// The one value of `node` for `param`.
    pub fn plain_value(&mut self, node: &Node, path: &str, param: &Param) -> Option<Value> {
        self.value(node, path, param)?.into_iter().next().map(|variant| variant.value)
    }

    fn value_of_kind(&mut self, node: &Node, path: &str, kind: &Kind) -> Option<Vec<Variant<Value>>> {
        match kind {
            Kind::Component(section) => {
                let variants = self.component(node, path, section)?;
                Some(variants.into_iter().map(|variant| variant.map(Value::Component)).collect())
            }
            Kind::List(element) => self.list(node, path, element),
            _ => self.noted(scalar::read(&node.item, kind), node.line, path).map(Variant::only),
        }
    }

    /// A list; what is not one is taken as the only element of one, unless that would be a list itself.
    fn list(&mut self, node: &Node, path: &str, element: &Kind) -> Option<Vec<Variant<Value>>> {
        let Item::List(items) = &node.item else {
            if matches!(element, Kind::List(_)) {
                self.report(node.line, path, format!("{} is not a list; write one", node.item));
                return None;
            }
            let variants = self.value_of_kind(node, path, element)?;
            return Some(
                variants.into_iter().map(|variant| variant.map(|value| Value::List(vec![value]))).collect(),
            );
        };
        let read: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.value_of_kind(item, &format!("{path}[{index}]"), element))
            .collect();
        let mut lists = Variant::only(Vec::new());
        for values in read.into_iter().collect::<Option<Vec<_>>>()? {
            if !self.fits(lists.len(), values.len(), node.line, path) {
                return None;
            }
            // A list of plain values is not copied for each of them: there may be very many.
            if let ([list], [one]) = (&mut lists[..], &values[..]) {
                list.value.push(one.value.clone());
                list.axes.extend(one.axes.iter().cloned());
                continue;
            }
            lists =
                variant::product(&lists, &values, |list: &mut Vec<Value>, value| list.push(value.clone()));
        }
        Some(lists.into_iter().map(|variant| variant.map(Value::List)).collect())
    }

    /// A file beside the scenario, or the prefix of several: its absolute path; a hash of the content is kept for the
    /// case.
    fn file(&mut self, node: &Node, path: &str, key: &str) -> Option<Vec<Variant<Value>>> {
        let name = scalar::read(&node.item, &Kind::Text);
        let Value::Text(name) = self.noted(name, node.line, path)? else { return None };
        let found = if key == files::PREFIX {
            files::prefix_and_hash(self.directory, &name)
        } else {
            files::path_and_hash(self.directory, &name)
        };
        let (file, hash) = self.noted(found, node.line, path)?;
        let file = file.display().to_string();
        self.file_hashes.insert(file.clone(), hash);
        Some(Variant::only(Value::Text(file)))
    }

    /// What `param` is where it is left out; `None` if it must not be.
    pub fn default_of(&mut self, param: &Param, path: &str) -> Option<Vec<Variant<Value>>> {
        match param.default {
            Fallback::Required => None,
            Fallback::Absent => Some(Variant::only(Value::Absent)),
            Fallback::Value(text) => self.value(&default_node(&param.kind, text), path, param),
        }
    }

    /// Sets `param` in all variants, to all its values.
    fn extend(
        &mut self,
        variants: &[Variant<Values>],
        param: &Param,
        values: &[Variant<Value>],
        line: Option<usize>,
        path: &str,
    ) -> Option<Vec<Variant<Values>>> {
        if !self.fits(variants.len(), values.len(), line, path) {
            return None;
        }
        let hashes = &self.file_hashes;
        Some(variant::product(variants, values, |component, value| {
            component.entries.insert(param.name.to_owned(), value.clone());
            if let (Value::Text(file), true) = (value, files::is_named_by(param)) {
                let hash = Value::Text(hashes[file].clone());
                component.entries.insert(format!("{}_hash", param.name), hash);
            }
        }))
    }

    fn fits(&mut self, left: usize, right: usize, line: Option<usize>, path: &str) -> bool {
        let fits = left.saturating_mul(right) <= MOST_CASES;
        if !fits {
            self.report(line, path, format!("the lists here span more than {MOST_CASES} cases; write fewer"));
        }
        fits
    }

    fn passes_check(
        &mut self,
        component: &Component,
        variants: &[Variant<Values>],
        node: &Node,
        path: &str,
    ) -> bool {
        let before = self.problems.len();
        for variant in variants {
            if let Err(complaint) = (component.check)(&variant.value) {
                let line = node.line_of(&complaint.key);
                self.report(line, &join(path, &complaint.key), complaint.message);
            }
        }
        self.problems.len() == before
    }
}

pub(super) fn declared<'a>(component: &'a Component, key: &str) -> Option<&'a Param> {
    component.params().find(|param| param.name == key)
}

/// What a value on an axis is called: itself, or the kind of a table.
fn word(node: &Node) -> String {
    match &node.item {
        Item::Text(text) => text.clone(),
        Item::Table(_) => match node.get("kind").map(|kind| &kind.item) {
            Some(Item::Text(kind)) => kind.clone(),
            _ => String::new(),
        },
        item => item.to_string(),
    }
}

/// A default as if it were written: text needs no quotes in a declaration.
///
/// Panics if the declaration is not of its kind's form: that is a fault of the program, not of a scenario.
pub(super) fn default_node(kind: &Kind, text: &str) -> Node {
    let is_toml = match kind {
        Kind::Count(_) | Kind::Number(..) | Kind::Flag | Kind::List(_) => true,
        _ => text.starts_with(['{', '"']),
    };
    if is_toml {
        Node::from_toml_value(text).unwrap_or_else(|| panic!("the default {text:?} can't be read"))
    } else {
        Node { line: None, item: Item::Text(text.to_owned()) }
    }
}

/// A key inside what `path` names.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
