//! What there is, for people: every component with its parameters, defaults and sources, as JSON to be rendered.

use super::describe;
use super::files;
use super::registry::{ROLES, Registry};
use super::suggest;
use crate::spec::{Component, Fallback, Kind, Needs, Param};
use crate::transport::presets::{self, Given, Preset};
use crate::user_class::{self, Place};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Every component, section by section.
pub fn everything(registry: &Registry) -> Json {
    registry.components().iter().map(|component| of_component(component, registry)).collect()
}

/// The components that `name` names: by kind ("dctcp"), by section and kind ("transport/dctcp"), or a whole section
/// ("transport"). If there is none, a message with the nearest.
pub fn explain(name: &str, registry: &Registry) -> Result<Json, String> {
    let found: Vec<&Component> = registry
        .components()
        .iter()
        .copied()
        .filter(|component| {
            let full = format!("{}/{}", component.section, component.kind);
            [component.kind, component.section, &full].contains(&name)
        })
        .collect();
    if found.is_empty() {
        return Err(unknown(name, registry));
    }
    Ok(found.iter().map(|component| of_component(component, registry)).collect())
}

/// What a class of a user's file can have set, as [`explain`] has it. If it can't be read, a message says why.
pub fn explain_class(file: &str, class: &str, registry: &Registry) -> Result<Json, String> {
    let (path, file_hash) = files::path_and_hash(Path::new(""), file)?;
    let place = Place { file: &path.display().to_string(), file_hash: &file_hash, class };
    let code = user_class::load(&ROLES, place)?;
    Ok([&code.component].map(|component| of_component(component, registry)).into_iter().collect())
}

fn unknown(name: &str, registry: &Registry) -> String {
    match name.split_once('/') {
        Some((section, kind)) if registry.sections().contains(&section) => {
            suggest::unknown(section, kind, &registry.kinds(section))
        }
        _ => {
            let mut known = registry.sections();
            known.extend(registry.components().iter().map(|component| component.kind));
            known.sort_unstable();
            known.dedup();
            suggest::unknown("component", name, &known)
        }
    }
}

fn of_component(component: &Component, registry: &Registry) -> Json {
    json!({
        "section": component.section,
        "kind": component.kind,
        "doc": component.doc,
        "source": component.source,
        "params": component.params().map(|param| of_param(param, registry)).collect::<Json>(),
        "presets": presets_of(component).iter().map(of_preset).collect::<Json>(),
    })
}

fn presets_of(component: &Component) -> &'static [Preset] {
    if component.section == "transport" { presets::presets(component.kind) } else { &[] }
}

fn of_preset(preset: &Preset) -> Json {
    json!({
        "name": preset.name,
        "doc": preset.doc,
        "sets": preset.given().map(of_given).collect::<Json>(),
    })
}

/// With `at_gbps` where the value is for hosts' links of that rate, and in proportion to it.
fn of_given(given: &Given) -> Json {
    let at_gbps = given.at.map(|rate| rate.as_bps() as f64 / 1e9);
    json!({ "key": given.key, "value": given.value, "at_gbps": at_gbps, "source": given.source })
}

fn of_param(param: &Param, registry: &Registry) -> Json {
    let default = match param.default {
        Fallback::Value(text) => Some(text),
        Fallback::Required | Fallback::Absent => None,
    };
    let section = match param.kind {
        Kind::Component(section) | Kind::List(&Kind::Component(section)) => Some(section),
        _ => None,
    };
    json!({
        "name": param.name,
        "kind": describe::kind(&param.kind, registry),
        "section": section,
        "default": default,
        "required": param.default == Fallback::Required,
        "doc": param.doc,
        "source": param.source,
        "needs": param.acts.iter().map(of_need).collect::<Json>(),
    })
}

fn of_need(need: &Needs) -> Json {
    match need {
        Needs::Is(key, words) => json!({ "key": key, "is": words }),
        Needs::Set(key) => json!({ "key": key }),
        Needs::Above(key, bound) => json!({ "key": key, "above": bound }),
        Needs::That(_, why) => json!({ "else": why }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn a_component_is_found_by_kind_by_section_and_by_both() {
        let registry = testing::registry();
        let by_kind = explain("ecn", &registry).unwrap();
        assert_eq!(by_kind, explain("queue/ecn", &registry).unwrap());
        assert_eq!(by_kind[0]["params"][1]["name"], "mark_above");
        assert_eq!(by_kind[0]["params"][1]["default"], "22.5KB");
        assert_eq!(by_kind[0]["params"][1]["kind"], "a size, such as \"22.5KB\" or \"8packets\"");
        assert_eq!(explain("queue", &registry).unwrap().as_array().unwrap().len(), 2);
    }

    #[test]
    fn defaults_and_inner_components_are_told() {
        let scheme = explain("scheme", &testing::registry()).unwrap();
        let param = |name: &str| {
            let params = scheme[0]["params"].as_array().unwrap();
            params.iter().find(|param| param["name"] == name).unwrap().clone()
        };
        assert_eq!((&param("name")["required"], &param("name")["default"]), (&true.into(), &Json::Null));
        assert_eq!(param("routing")["default"], "ecmp");
        assert_eq!(param("queue")["kind"], "a queue: drop-tail, ecn");
        assert_eq!(param("queue")["section"], "queue");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let registry = testing::registry();
        let message = explain("drop_tial", &registry).unwrap_err();
        assert!(message.starts_with("unknown component \"drop_tial\"; did you mean \"drop-tail\"? Known: "));
        let message = explain("queue/enc", &registry).unwrap_err();
        assert_eq!(message, "unknown queue \"enc\"; did you mean \"ecn\"? Known: drop-tail, ecn");
    }

    #[test]
    fn everything_is_everything() {
        let registry = testing::registry();
        assert_eq!(everything(&registry).as_array().unwrap().len(), registry.components().len());
    }
}
