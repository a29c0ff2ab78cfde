//! The one list of everything that a scenario can name.

use super::files::Library;
use super::sections;
use crate::spec::Component;
use crate::user_class::Role;
use crate::workload::cdf::{Cdf, Rounding};
use crate::{central, fault, queue, routing, simulation, topology, transport, workload};
use serde_json::{Value as Json, json};

/// The components of every module. A new module is a new line.
const ROOMS: &[&[Component]] = &[
    sections::COMPONENTS,
    topology::COMPONENTS,
    topology::LINK_COMPONENTS,
    topology::FORWARDING_COMPONENTS,
    topology::PROCESSING_COMPONENTS,
    topology::RETRY_COMPONENTS,
    workload::COMPONENTS,
    transport::COMPONENTS,
    transport::CONNECTION_COMPONENTS,
    transport::QUEUE_PAIR_COMPONENTS,
    simulation::FLUID_COMPONENTS,
    simulation::FIDELITY_COMPONENTS,
    central::COMPONENTS,
    central::LENGTH_COMPONENTS,
    queue::COMPONENTS,
    queue::SCHEDULER_COMPONENTS,
    queue::AQM_COMPONENTS,
    queue::BUFFER_COMPONENTS,
    queue::FLOW_CONTROL_COMPONENTS,
    routing::COMPONENTS,
    routing::WEIGHT_COMPONENTS,
    fault::COMPONENTS,
];

/// Every component, section by section.
pub fn components() -> Vec<&'static Component> {
    Registry::default().components
}

/// The flow-size distributions that packetloom carries.
const LIBRARY: Library = Library { names: || workload::library::names().collect(), read: read_distribution };

/// The keys of the component "cdf" that a file's text is read as.
fn read_distribution(text: &str) -> Result<Json, (usize, String)> {
    let cdf = Cdf::read(text).map_err(|error| (error.line, error.message))?;
    let mut keys = json!({
        "points": cdf.points.iter().map(|&(bytes, share)| [bytes, share]).collect::<Vec<_>>(),
        "interpolation": cdf.interpolation.word(),
        "rounding": cdf.rounding.word(),
    });
    if let Rounding::UpToPackets(bytes) | Rounding::ToPackets(bytes) = cdf.rounding {
        keys["packet"] = format!("{bytes}B").into();
    }
    Ok(keys)
}

/// What a user's class can be. Its parameters complete those of the role's component.
pub static ROLES: [&Role; 5] = [
    &transport::python::ROLE,
    &transport::python_rate::RATE,
    &transport::python_rate::TELEMETRY,
    &queue::PYTHON,
    &routing::PYTHON,
];

/// Everything that a scenario can name.
#[derive(Clone, Debug)]
pub struct Registry {
    components: Vec<&'static Component>,
    library: Library,
}

impl Default for Registry {
    /// All that packetloom has.
    fn default() -> Registry {
        Registry::of(ROOMS, LIBRARY)
    }
}

impl Registry {
    /// The components of some modules, and some distributions.
    pub fn of(rooms: &[&'static [Component]], library: Library) -> Registry {
        Registry { components: rooms.iter().flat_map(|room| room.iter()).collect(), library }
    }

    /// The distributions of flow sizes.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What a class has to be that completes a component, if one does.
    pub fn completed_by_class(component: &Component) -> Option<&'static Role> {
        let name = |component: &Component| (component.section, component.kind);
        ROLES.into_iter().find(|role| name(&role.component) == name(component))
    }

    /// Every component.
    pub fn components(&self) -> &[&'static Component] {
        &self.components
    }

    /// The names of the sections, in the order in which they first come.
    pub fn sections(&self) -> Vec<&'static str> {
        let mut sections = Vec::new();
        for component in &self.components {
            if !sections.contains(&component.section) {
                sections.push(component.section);
            }
        }
        sections
    }

    /// The components of a section.
    pub fn section(&self, section: &str) -> Vec<&'static Component> {
        self.components.iter().copied().filter(|component| component.section == section).collect()
    }

    /// The names of a section's components.
    pub fn kinds(&self, section: &str) -> Vec<&'static str> {
        self.section(section).iter().map(|component| component.kind).collect()
    }

    /// One component.
    pub fn find(&self, section: &str, kind: &str) -> Option<&'static Component> {
        self.section(section).into_iter().find(|component| component.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::Reader;
    use super::super::testing;
    use super::*;
    use crate::spec::{Fallback, Kind, Needs};
    use std::path::Path;

    /// The invariants of a registry, wherever its components come from.
    fn assert_sound(registry: &Registry) {
        for component in registry.components() {
            let name = format!("{}/{}", component.section, component.kind);
            assert!(!component.doc.is_empty() && !component.source.is_empty(), "{name} is not described");
            let twins = registry.section(component.section);
            let twins = twins.iter().filter(|twin| twin.kind == component.kind).count();
            assert_eq!(twins, 1, "{name} is declared {twins} times");
            for param in component.params() {
                let name = format!("{name}: {}", param.name);
                assert_ne!(param.name, "kind", "{name} would hide the component's own kind");
                assert!(!param.doc.is_empty() && !param.source.is_empty(), "{name} is not described");
                if let Kind::Component(section) | Kind::List(&Kind::Component(section)) = param.kind {
                    assert!(!registry.section(section).is_empty(), "{name}: no component in {section:?}");
                }
                for need in param.acts {
                    assert_needs_what_there_is(component, need, &name);
                }
                if matches!(param.default, Fallback::Value(_)) {
                    let mut reader = Reader::new(registry, Path::new(""));
                    assert!(reader.default_of(param, &name).is_some(), "{:?}", reader.problems);
                }
            }
        }
    }

    fn assert_needs_what_there_is(component: &Component, need: &Needs, name: &str) {
        let (Needs::Is(key, _) | Needs::Set(key) | Needs::Above(key, _)) = need else { return };
        let needed = component.params().find(|param| param.name == *key);
        let needed = needed.unwrap_or_else(|| panic!("{name} needs {key}, which there is not"));
        if let (Needs::Is(_, words), Kind::Choice(all)) = (need, needed.kind) {
            assert!(words.iter().all(|word| all.contains(word)), "{name} needs {key} to be one of {words:?}");
        }
    }

    #[test]
    fn every_component_is_described_and_every_default_can_be_read() {
        assert_sound(&testing::registry());
    }

    #[test]
    fn what_parameters_need_is_there() {
        assert_sound(&Registry::default());
    }

    #[test]
    fn sections_come_once_and_in_order() {
        let registry = testing::registry();
        assert_eq!(registry.sections()[..2], ["scenario", "run"]);
        assert_eq!(registry.kinds("queue"), ["drop-tail", "ecn"]);
        assert!(registry.find("queue", "ecn").is_some());
        assert!(registry.find("routing", "ecn").is_none());
    }
}
