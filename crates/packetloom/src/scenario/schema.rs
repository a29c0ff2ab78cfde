//! A JSON Schema (2020-12) of the whole format, so that editors complete and check a scenario while it is written.

use super::files::SIZES;
use super::quantity::{BYTES, Dimension, PACKETS, RATE, TIME};
use super::read::default_node;
use super::registry::Registry;
use super::sections::{FORMAT, SCENARIO};
use super::tree::{Item, Node};
use crate::narrow::exact;
use crate::spec::{Component, Fallback, Kind, Param};
use serde_json::{Map, Value as Json, json};

/// The schema of a scenario.
pub fn schema(registry: &Registry) -> Json {
    let quantities = [
        ("time", quantity(&[&TIME])),
        ("bytes", quantity(&[&BYTES])),
        ("buffer", quantity(&[&BYTES, &PACKETS])),
        ("rate", quantity(&[&RATE])),
    ];
    let mut definitions: Map<String, Json> =
        quantities.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    for section in registry.sections() {
        definitions.insert(format!("section-{section}"), of_section(section, registry));
    }
    let mut schema = table(&SCENARIO, false);
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("$id".to_owned(), format!("urn:packetloom:scenario:{FORMAT}").into());
    schema.insert("title".to_owned(), "A packetloom scenario".into());
    schema["properties"]["format"]["maximum"] = FORMAT.into();
    schema.insert("$defs".to_owned(), definitions.into());
    schema.into()
}

/// A component of the section: its kind alone where no other key is required, or a table.
fn of_section(section: &str, registry: &Registry) -> Json {
    let components = registry.section(section);
    let mut ways: Vec<Json> =
        components.iter().map(|component| with_kind(component, components.len() > 1)).collect();
    let short: Vec<&str> = components
        .iter()
        .filter(|component| component.params().all(|param| param.default != Fallback::Required))
        .map(|component| component.kind)
        .collect();
    if section == SIZES {
        let mut names = (registry.library().names)();
        names.extend(short);
        let doc = "A distribution that packetloom carries, a kind, or the path of a CDF file.";
        ways.push(json!({ "type": "string", "description": doc, "examples": names }));
    } else if !short.is_empty() && components.len() > 1 {
        ways.push(json!({ "enum": short }));
    }
    json!({ "oneOf": ways })
}

/// The table of a component in its section. Its kind is required only where there is a choice.
fn with_kind(component: &Component, is_one_of_several: bool) -> Json {
    let mut schema = table(component, true);
    let kind = json!({ "const": component.kind, "description": component.doc });
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        properties.shift_insert(0, "kind".to_owned(), kind);
    }
    if is_one_of_several && let Some(Json::Array(required)) = schema.get_mut("required") {
        required.insert(0, "kind".into());
    }
    schema.into()
}

/// A table of a component's parameters. Only inside the sections of a scenario may a list span a grid.
fn table(component: &Component, may_span: bool) -> Map<String, Json> {
    let required = component.params().filter(|param| param.default == Fallback::Required);
    let properties = component.params().map(|param| (param.name.to_owned(), of_param(param, may_span)));
    let description = format!("{} ({})", component.doc, component.source);
    Map::from_iter([
        ("type".to_owned(), "object".into()),
        ("description".to_owned(), description.into()),
        ("properties".to_owned(), Json::Object(properties.collect())),
        ("required".to_owned(), required.map(|param| param.name).collect()),
        // What a user's class declares is not known here.
        ("additionalProperties".to_owned(), Registry::completed_by_class(component).is_some().into()),
    ])
}

fn of_param(param: &Param, may_span: bool) -> Json {
    let mut schema = match param.kind {
        Kind::List(element) => one_or_several(of_kind(element)),
        kind if may_span => one_or_several(of_kind(&kind)),
        kind => of_kind(&kind),
    };
    let mut description = param.doc.to_owned();
    if let Fallback::Value(text) = param.default {
        schema["default"] = to_json(&default_node(&param.kind, text));
        description = format!("{description} Default: {text} ({}).", param.source);
    }
    schema["description"] = description.into();
    schema
}

/// For a list, which may be written as its only element; and for anything else, as a list spans a grid.
fn one_or_several(one: Json) -> Json {
    json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
}

fn of_kind(kind: &Kind) -> Json {
    let definition = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    match kind {
        Kind::Time => definition("time"),
        Kind::TimeOr(word) => json!({ "anyOf": [definition("time"), { "const": word }] }),
        Kind::Bytes => definition("bytes"),
        Kind::Buffer => definition("buffer"),
        Kind::Rate => definition("rate"),
        Kind::Count(least) => json!({ "type": "integer", "minimum": least }),
        Kind::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Component(section) => definition(&format!("section-{section}")),
        Kind::List(element) => json!({ "type": "array", "items": of_kind(element) }),
    }
}

fn quantity(dimensions: &[&Dimension]) -> Json {
    let units: Vec<&str> =
        dimensions.iter().flat_map(|dimension| dimension.units).map(|(unit, _)| *unit).collect();
    let examples: Vec<&str> = dimensions.iter().map(|dimension| dimension.example).collect();
    let nouns: Vec<&str> = dimensions.iter().map(|dimension| dimension.noun).collect();
    json!({
        "type": "string",
        "description": format!("{} with its unit: {}", nouns.join(" or "), units.join(", ")),
        "pattern": format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", units.join("|")),
        "examples": examples,
    })
}

fn to_json(node: &Node) -> Json {
    match &node.item {
        Item::Text(text) | Item::Other(text) => text.as_str().into(),
        Item::Integer(integer) => json!(exact::<i64>(*integer)),
        Item::Number(number) => json!(number),
        Item::Flag(flag) => json!(flag),
        Item::List(items) => items.iter().map(to_json).collect(),
        Item::Table(entries) => {
            Json::Object(entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn all_references<'a>(json: &'a Json, into: &mut Vec<&'a str>) {
        match json {
            Json::Object(entries) => {
                for (key, value) in entries {
                    if let ("$ref", Json::String(target)) = (key.as_str(), value) {
                        into.push(target);
                    }
                    all_references(value, into);
                }
            }
            Json::Array(items) => items.iter().for_each(|item| all_references(item, into)),
            _ => {}
        }
    }

    #[test]
    fn every_component_and_every_key_is_there() {
        let registry = testing::registry();
        let schema = schema(&registry);
        for component in registry.components() {
            let ways = &schema["$defs"][format!("section-{}", component.section)]["oneOf"];
            let is_it = |way: &&Json| way["properties"]["kind"]["const"] == component.kind;
            let way = ways.as_array().unwrap().iter().find(is_it).expect(component.kind);
            for param in component.params() {
                let description = way["properties"][param.name]["description"].as_str().unwrap();
                assert!(description.starts_with(param.doc), "{description}");
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let schema = schema(&testing::registry());
        let mut references = Vec::new();
        all_references(&schema, &mut references);
        assert!(references.contains(&"#/$defs/section-queue"));
        for reference in references {
            assert!(schema.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }

    #[test]
    fn it_is_named_after_the_format_and_refuses_a_newer_one() {
        let schema = schema(&testing::registry());
        assert_eq!(schema["$id"], format!("urn:packetloom:scenario:{FORMAT}"));
        let format = &schema["properties"]["format"];
        assert_eq!((&format["minimum"], &format["maximum"]), (&json!(1), &json!(FORMAT)));
    }

    #[test]
    fn what_may_be_short_and_what_must_be_said() {
        let schema = schema(&testing::registry());
        assert_eq!(schema["required"], json!(["topology", "workload", "scheme"]));
        let queue = schema["$defs"]["section-queue"]["oneOf"].as_array().unwrap();
        assert_eq!(queue.last().unwrap(), &json!({ "enum": ["drop-tail", "ecn"] }));
        assert_eq!(queue[0]["required"], json!(["kind"]));
        let link = schema["$defs"]["section-link"]["oneOf"].as_array().unwrap();
        assert_eq!(link.len(), 1);
        assert_eq!(link[0]["required"], json!(["rate"]));
        let sizes = schema["$defs"]["section-sizes"]["oneOf"].as_array().unwrap();
        assert!(sizes.last().unwrap()["examples"].as_array().unwrap().contains(&"web-search".into()));
        let run = &schema["$defs"]["section-run"]["oneOf"][0]["properties"];
        assert_eq!(run["warm_up"]["default"], "0us");
        assert_eq!(run["seeds"]["default"], json!([1]));
    }
}
