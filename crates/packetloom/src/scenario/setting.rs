//! Parameters of a component that is there already, set by their texts.

use super::scalar;
use super::suggest;
use super::tree::Item;
use crate::spec::{Complaint, Component, Needs, Param, Scene, Site, Values};

/// A component's values with some of them set: only those that `may` be, each written as in a scenario, without quotes.
///
/// # Errors
/// What can't be, by its key.
pub fn set(
    component: &Component,
    values: &Values,
    may: &[&'static str],
    written: &[(&str, &str)],
) -> Result<Values, Complaint> {
    let mut set = values.clone();
    for &(key, text) in written {
        if !may.contains(&key) {
            return Err(Complaint::new(key, suggest::unknown("parameter that can be set", key, may)));
        }
        let param = component.params().find(|param| param.name == key);
        let param = param.ok_or_else(|| Complaint::new(key, "is no parameter"))?;
        let value = scalar::read(&item(text), &param.kind).map_err(|message| Complaint::new(key, message))?;
        set.entries.insert(key.to_owned(), value);
    }
    for param in written.iter().filter_map(|(key, _)| component.params().find(|param| param.name == *key)) {
        if let Some(why) = idle(param, &set) {
            return Err(Complaint::new(param.name, why));
        }
    }
    (component.check)(&set)?;
    Ok(set)
}

/// Why a parameter would change nothing beside the component's others, if so.
fn idle(param: &Param, values: &Values) -> Option<String> {
    let site = Site { own: values, scene: &Scene::default() };
    let unmet = |need: &&Needs| !matches!(need, Needs::That(..)) && !need.are_met(&site);
    param.acts.iter().find(unmet).map(|need| format!("changes nothing here; {}", need.advice()))
}

/// A number, a truth value or a text, as it reads.
fn item(text: &str) -> Item {
    if let Ok(integer) = text.parse() {
        Item::Integer(integer)
    } else if let Ok(number) = text.parse() {
        Item::Number(number)
    } else if let Ok(flag) = text.parse() {
        Item::Flag(flag)
    } else {
        Item::Text(text.to_owned())
    }
}
