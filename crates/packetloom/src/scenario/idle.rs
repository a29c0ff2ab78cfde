//! Parameters that are written where they change nothing, as their components declare it ([`Needs`]).

use super::assemble::section_tables;
use super::grid::Scenario;
use super::read::{Reader, join};
use super::registry::Registry;
use super::tree::{Item, Node};
use super::variant::Variant;
use crate::spec::{Component, Kind, Needs, Param, Scene, Site, Value, Values};
use std::path::Path;

/// A component in one of its variants, and the scheme that it belongs to, if it does.
#[derive(Clone)]
struct Candidate<'a> {
    own: Values,
    scheme: Option<&'a Values>,
}

/// Looks for such parameters, section by section.
struct Search<'a> {
    registry: &'a Registry,
    scene: Scene<'a>,
    found: Vec<(String, String)>,
}

/// Each key that is written and changes nothing in any variant of the grid, and why.
pub(super) fn idle(scenario: &Scenario, registry: &Registry) -> Vec<(String, String)> {
    let mut search = Search { registry, scene: scene(scenario), found: Vec::new() };
    let tree = &scenario.tree;
    for (section, variants) in
        [("topology", &scenario.topology), ("run", &scenario.run), ("measure", &scenario.measure)]
    {
        if let Some(node) = tree.get(section) {
            search.section(section, section, node, variants);
        }
    }
    for (section, all) in
        [("workload", &scenario.workloads), ("fault", &scenario.faults), ("scheme", &scenario.schemes)]
    {
        for (index, (node, variants)) in section_tables(tree, section).iter().zip(all).enumerate() {
            search.section(section, &format!("{section}[{index}]"), node, variants);
        }
    }
    search.found
}

fn scene(scenario: &Scenario) -> Scene<'_> {
    fn all(sections: &[Vec<Variant<Values>>]) -> Vec<&Values> {
        sections.iter().flatten().map(|variant| &variant.value).collect()
    }
    fn one(section: &[Variant<Values>]) -> Vec<&Values> {
        section.iter().map(|variant| &variant.value).collect()
    }
    Scene {
        topologies: one(&scenario.topology),
        workloads: all(&scenario.workloads),
        faults: all(&scenario.faults),
        schemes: all(&scenario.schemes),
        runs: one(&scenario.run),
    }
}

impl Search<'_> {
    fn section(&mut self, section: &str, path: &str, node: &Node, variants: &[Variant<Values>]) {
        let scheme = |values| (section == "scheme").then_some(values);
        let candidates: Vec<Candidate<'_>> = variants
            .iter()
            .map(|variant| Candidate { own: variant.value.clone(), scheme: scheme(&variant.value) })
            .collect();
        self.node(section, path, node, &candidates);
    }

    /// What is written at a place: a component, or a list of them that spans an axis.
    fn node(&mut self, section: &str, path: &str, node: &Node, candidates: &[Candidate<'_>]) {
        match &node.item {
            Item::List(items) => items.iter().for_each(|item| self.node(section, path, item, candidates)),
            Item::Table(_) => self.table(section, path, node, candidates),
            _ => {}
        }
    }

    fn table(&mut self, section: &str, path: &str, node: &Node, candidates: &[Candidate<'_>]) {
        let written = match node.get("kind").map(|kind| &kind.item) {
            Some(Item::Text(kind)) => Some(kind.as_str()),
            _ => None,
        };
        let is_here = |one: &&Candidate<'_>| written.is_none_or(|kind| one.own.kind == kind);
        let here: Vec<Candidate<'_>> = candidates.iter().filter(is_here).cloned().collect();
        let Some(first) = here.first() else { return };
        let Some(component) = self.registry.find(section, &first.own.kind) else { return };
        for param in component.params().filter(|param| node.get(param.name).is_some()) {
            let path = join(path, param.name);
            if let Some(unmet) = self.unmet(component, param, &here) {
                self.found.push((path, format!("changes nothing: {}", unmet.advice())));
            } else if let (Kind::Component(section), Some(inner)) = (param.kind, node.get(param.name)) {
                let parts = here.iter().filter_map(|one| {
                    one.own.part(param.name).map(|own| Candidate { own, scheme: one.scheme })
                });
                let inside: Vec<Candidate<'_>> = parts.collect();
                self.node(section, &path, inner, &inside);
            }
        }
    }

    /// What a parameter lacks, if it acts nowhere. What is written as it is anyway changes nothing, as expected.
    fn unmet(&self, component: &Component, param: &Param, here: &[Candidate<'_>]) -> Option<Needs> {
        let lacks = |one: &Candidate<'_>| {
            let schemes = one.scheme.map_or_else(|| self.scene.schemes.clone(), |scheme| vec![scheme]);
            let scene = Scene { schemes, ..self.scene.clone() };
            let site = Site { own: &one.own, scene: &scene };
            param.acts.iter().find(|need| !need.are_met(&site)).copied()
        };
        if param.acts.is_empty() {
            return None;
        }
        let first = lacks(here.first()?)?;
        let acts_somewhere = here[1..].iter().any(|one| lacks(one).is_none());
        (!acts_somewhere && !self.is_usual(component, param, here)).then_some(first)
    }

    fn is_usual(&self, component: &Component, param: &Param, here: &[Candidate<'_>]) -> bool {
        let mut reader = Reader::new(self.registry, Path::new(""));
        let usual = reader.default_of(param, component.kind);
        let usual = usual.and_then(|usual| usual.into_iter().next()).map(|variant| variant.value);
        let value = |one: &Candidate<'_>| one.own.entries.get(param.name).cloned().unwrap_or(Value::Absent);
        usual.is_some_and(|usual| here.iter().all(|one| value(one) == usual))
    }
}
