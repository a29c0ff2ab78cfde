//! Presets of transports: what is left out of a component that names one is set as it is read; what is in proportion to
//! the rate of the hosts' links follows once the network is known.

use super::read::{Reader, declared, default_node, join};
use super::tree::Node;
use super::variant::Variant;
use crate::spec::{Component, Value, Values};
use crate::topology::Topology;
use crate::transport::presets::{KEY, named, presets};
use crate::units::Rate;
use std::collections::BTreeMap;

/// Sets what the preset that `values` names sets and `node` leaves out. What is in proportion to a rate has the value of
/// the preset's own rate for now, and stays under the preset's name.
pub(super) fn fill(
    reader: &mut Reader<'_>,
    component: &Component,
    node: &Node,
    path: &str,
    values: &mut Values,
) {
    if component.section != "transport" {
        return;
    }
    let Some(preset) = named(values) else { return };
    let mut scaled = BTreeMap::new();
    for given in preset.given().filter(|given| node.get(given.key).is_none()) {
        let Some(param) = declared(component, given.key) else { continue };
        let written = default_node(&param.kind, given.value);
        let Some(value) = reader.plain_value(&written, &join(path, given.key), param) else { continue };
        if given.at.is_some() {
            scaled.insert(given.key.to_owned(), value.clone());
        }
        values.entries.insert(given.key.to_owned(), value);
    }
    let pending = Values { kind: preset.name.to_owned(), entries: scaled };
    values.entries.insert(KEY.to_owned(), Value::Component(pending));
}

/// The rate of the hosts' links of each network, if some scheme's preset goes by that. A network that can't be built says
/// so where it is checked.
pub(super) fn host_rates(
    topologies: &[Variant<Values>],
    schemes: &[Vec<Variant<Values>>],
) -> Vec<Option<Rate>> {
    let pending = |variant: &Variant<Values>| {
        let transport = variant.value.part("transport");
        transport.and_then(|own| own.part(KEY)).is_some_and(|preset| !preset.entries.is_empty())
    };
    if !schemes.iter().flatten().any(pending) {
        return Vec::new();
    }
    let rate = |variant: &Variant<Values>| Some(Topology::build(&variant.value).ok()?.nic_rate());
    topologies.iter().map(rate).collect()
}

/// A scheme on hosts' links of a rate. One that names no preset is what it was before there were any.
pub(super) fn resolved(mut scheme: Values, host_rate: Option<Rate>) -> Values {
    let Some(Value::Component(transport)) = scheme.entries.get_mut("transport") else { return scheme };
    if presets(&transport.kind).is_empty() {
        return scheme;
    }
    let preset = named(transport);
    let pending = transport.entries.remove(KEY);
    let Some((preset, Value::Component(pending))) = preset.zip(pending) else { return scheme };
    for given in preset.given() {
        if let (Some(value), Some(host)) = (pending.entries.get(given.key), host_rate) {
            transport.entries.insert(given.key.to_owned(), given.on(host, value));
        }
    }
    transport.entries.insert(KEY.to_owned(), Value::Text(pending.kind));
    scheme
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Case, Scenario};
    use crate::spec::Value;
    use crate::units::Rate;
    use std::path::Path;

    fn cases(rates: &str, transport: &str) -> Vec<Case> {
        let toml = format!(
            "[topology]\nkind = \"rack\"\nhosts = 4\nlink = {{ rate = {rates}, delay = \"1us\" }}\n\
             [[workload]]\nsizes = {{ kind = \"constant\", size = \"1MB\" }}\narrivals = \"at-once\"\npattern = \"permutation\"\n\
             [[scheme]]\nname = \"one\"\ntransport = {transport}\nqueue = {{ kind = \"shared-buffer\", buffer = \"4MB\", ecn_min = \"40KB\", ecn_max = \"160KB\" }}\n"
        );
        Scenario::from_toml(&toml, "test", Path::new("")).expect("a scenario").cases().collect()
    }

    fn steps(case: &Case) -> Option<Rate> {
        case.scheme.component("transport").optional_rate("additive_increase")
    }

    #[test]
    fn a_preset_sets_what_is_left_out_by_the_rate_of_each_network() {
        let found =
            cases("[\"40Gbps\", \"400Gbps\"]", "{ kind = \"dcqcn\", preset = \"deployed\", ack_every = 2 }");
        let gbps = |gbps: f64| Some(Rate((gbps * 1e9) as u64));
        assert_eq!(found.iter().map(steps).collect::<Vec<_>>(), [gbps(0.04), gbps(0.4)]);
        let own = found[1].scheme.component("transport");
        assert_eq!((own.bytes("mss"), own.count("ack_class"), own.count("ack_every")), (4096, 0, 2));
        assert_eq!(own.rate("hyper_increase"), Rate::from_gbps(4));
        assert_eq!(own.text("preset"), "deployed");
        let again = Case::from_json(&found[1].to_json());
        assert_eq!(again, Ok(found[1].clone()));
    }

    #[test]
    fn what_is_written_stands() {
        let written =
            "{ kind = \"dcqcn\", preset = \"deployed\", additive_increase = \"7Mbps\", mss = \"1KB\" }";
        let own = cases("\"400Gbps\"", written)[0].scheme.component("transport");
        assert_eq!((own.bytes("mss"), own.rate("additive_increase")), (1000, Rate(7_000_000)));
        assert_eq!(own.rate("hyper_increase"), Rate::from_gbps(4));
    }

    #[test]
    fn a_preset_may_name_the_variant_that_its_values_are_of() {
        let own = cases("\"100Gbps\"", "{ kind = \"hpcc\", preset = \"hpcc-ns3\" }")[0]
            .scheme
            .component("transport");
        assert_eq!(
            (own.text("variant").as_str(), own.rate("additive_increase")),
            ("hpcc-ns3", Rate(40_000_000))
        );
    }

    #[test]
    fn a_scheme_without_one_is_what_it_was() {
        let [plain, none] = ["\"dcqcn\"", "{ kind = \"dcqcn\", preset = \"none\" }"]
            .map(|one| cases("\"400Gbps\"", one).remove(0));
        assert_eq!(plain.identity(), none.identity());
        assert!(!plain.scheme.component("transport").entries.contains_key("preset"));
        assert_eq!(steps(&plain), None);
    }

    #[test]
    fn the_grid_may_have_both() {
        let both = cases("\"40Gbps\"", "{ kind = \"roce\", preset = [\"none\", \"deployed\"] }");
        let payloads: Vec<Value> =
            both.iter().map(|case| case.scheme.component("transport").get("mss").clone()).collect();
        assert_eq!(payloads, [Value::Bytes(1000), Value::Bytes(4096)]);
        assert_eq!(both[1].axes[0].name, "scheme.transport.preset");
    }
}
