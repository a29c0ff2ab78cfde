//! Scenarios with jobs: of every kind, one or two, beside flows or not, with every transport that can carry them, on
//! every network that accelerators have, with faults.

use super::draw::{component, of_component, texts, value_of};
use packetloom::scenario::registry;
use packetloom::spec::{Component, Fallback, Kind, Param};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value as Json, json};

/// A transport, and what it can run over. Where it needs a routing of its own, that is named.
#[derive(Clone, Debug)]
pub struct Carrier {
    transport: &'static Component,
    /// Queues, with the routing that they need.
    over: Vec<(&'static Component, Option<Json>)>,
}

impl Carrier {
    /// Its transport.
    pub fn kind(&self) -> &'static str {
        self.transport.kind
    }
}

fn of_section(section: &'static str) -> impl Iterator<Item = &'static Component> {
    registry::components().into_iter().filter(move |one| one.section == section)
}

/// Transports of which the check accepts a small job over some queue, as they are found among all components.
pub fn carriers(accepts: impl Fn(&Json) -> bool) -> Vec<Carrier> {
    let all = of_section("transport").map(|transport| {
        let over = |routing: Option<Json>| {
            let fits = |queue: &&'static Component| accepts(&smallest(transport, queue, routing.as_ref()));
            let queues = of_section("queue").filter(fits);
            queues.map(|queue| (queue, routing.clone())).collect::<Vec<_>>()
        };
        let usual = over(None);
        let own = if usual.is_empty() {
            routings().flat_map(|routing| over(Some(routing))).collect()
        } else {
            usual
        };
        Carrier { transport, over: own }
    });
    all.filter(|carrier| !carrier.over.is_empty()).collect()
}

/// Every routing with nothing changed, and with each of its flags set: symmetric paths are such.
fn routings() -> impl Iterator<Item = Json> {
    of_section("routing").flat_map(|routing| {
        let flags = routing.params().filter(|param| matches!(param.kind, Kind::Flag));
        let with = |name: &'static str| {
            let mut one = plain(routing);
            one[name] = json!(true);
            one
        };
        let with: Vec<Json> = flags.map(|param| with(param.name)).collect();
        std::iter::once(plain(routing)).chain(with)
    })
}

/// A job that all can carry who can carry any.
fn smallest(transport: &'static Component, queue: &'static Component, routing: Option<&Json>) -> Json {
    let mut scheme = json!({ "name": "it", "transport": plain(transport), "queue": plain(queue) });
    if let Some(routing) = routing {
        scheme["routing"] = routing.clone();
    }
    json!({
        "topology": { "kind": "leaf-spine", "spines": 2, "leaves": 2, "hosts_per_leaf": 2 },
        "workload": [{ "arrivals": { "kind": "collective", "operation": "all-reduce", "size": "30KB" } }],
        "scheme": [scheme],
    })
}

/// A component with nothing changed; what is required is the first that there is.
fn plain(component: &'static Component) -> Json {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut object = json!({ "kind": component.kind });
    for param in component.params().filter(|param| matches!(param.default, Fallback::Required)) {
        let value = value_of(component, param).new_tree(&mut runner).expect("a value").current();
        object[param.name] = value;
    }
    object
}

/// Scenarios with jobs under a transport.
pub fn scenario(carrier: &Carrier) -> BoxedStrategy<Json> {
    let jobs = prop::collection::vec(job_source(), 1..=2);
    let beside = prop::option::weighted(0.4, component("workload"));
    let faults = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec((component("fault"), 0..8_usize), 1..=2)];
    let run = (
        1_u32..20,
        select(vec!["300us", "2ms"]),
        1_u32..1_000,
        prop::option::weighted(0.1, component("fidelity")),
    );
    let measure = (component("measure"), prop::bool::weighted(0.3), prop::bool::weighted(0.2));
    (network(), jobs, beside, faults, scheme(carrier), measure, run)
        .prop_map(|((topology, places), jobs, beside, faults, scheme, (mut measure, operations, alone), run)| {
            let (flows, max_time, seed, rung) = run;
            let mut workload = jobs;
            workload.extend(beside.map(in_background));
            let mut run = json!({ "flows": flows, "max_time": max_time, "seeds": [seed], "loads": [0.3] });
            if let Some(rung) = rung {
                run["fidelity"] = rung;
            }
            if operations {
                measure["operations"] = json!(true);
            }
            if alone && workload.len() > 1 {
                measure["alone"] = json!(true);
            }
            let faults: Vec<Json> = faults.into_iter().map(|(fault, turn)| places.of(fault, turn)).collect();
            let mut scenario = json!({
                "topology": topology, "workload": workload, "scheme": [scheme], "measure": measure, "run": run,
            });
            if !faults.is_empty() {
                scenario["fault"] = faults.into();
            }
            // A load belongs to sources that follow it.
            if scenario["workload"].as_array().is_some_and(|all| all.iter().all(is_job)) {
                scenario["run"].as_object_mut().expect("a run").remove("loads");
            }
            scenario
        })
        .boxed()
}

fn is_job(source: &Json) -> bool {
    source["arrivals"]["kind"].as_str().is_some_and(|kind| job_kinds().any(|job| job.kind == kind))
}

/// Flows for which no job waits, of sizes that take no time to work out.
fn in_background(mut source: Json) -> Json {
    source["background"] = json!(true);
    if source.get("sizes").is_some() || source.get("arrivals").is_none() {
        source["sizes"] = json!({ "kind": "uniform", "minimum": "1B", "maximum": "50KB" });
    }
    source
}

fn scheme(carrier: &Carrier) -> BoxedStrategy<Json> {
    let transport = of_component(carrier.transport);
    let over =
        select(carrier.over.clone()).prop_flat_map(|(queue, routing)| (of_component(queue), Just(routing)));
    // Most routings and NICs do not fit a transport: half of all schemes have the usual ones.
    (transport, over, prop_oneof![Just(json!({ "name": "it" })), component("scheme")])
        .prop_map(|(transport, (queue, routing), mut scheme)| {
            scheme["transport"] = transport;
            scheme["queue"] = queue;
            if let Some(routing) = routing {
                scheme["routing"] = routing;
            }
            scheme
        })
        .boxed()
}

/// Jobs are what has ranks, whose hosts may take a time for each message.
fn job_kinds() -> impl Iterator<Item = &'static Component> {
    of_section("arrivals").filter(|one| one.params().any(|param| param.name == "send_cost"))
}

/// A source of traffic that is a job.
fn job_source() -> BoxedStrategy<Json> {
    let jobs = proptest::strategy::Union::new(job_kinds().map(job));
    let source = prop_oneof![3 => Just(json!({})), 1 => component("workload")];
    (source, jobs)
        .prop_map(|(mut source, job)| {
            let entries = source.as_object_mut().expect("a workload");
            for key in ["sizes", "pattern", "share", "deadlines"] {
                entries.remove(key);
            }
            source["arrivals"] = job;
            source
        })
        .boxed()
}

/// A job of few ranks and bytes, whose other parameters change more often than those of what is under it.
fn job(kind: &'static Component) -> BoxedStrategy<Json> {
    let has = |name: &str| kind.params().any(|param| param.name == name);
    let params = kind.params().filter(|param| param.name != "placement").map(move |param| {
        let value = of_a_job(kind, param).prop_map(|value| (param.name, value));
        match (param.default, param.name) {
            (Fallback::Required, _) => value.prop_map(Some).boxed(),
            (_, "size") => prop::option::weighted(0.9, value).boxed(),
            (_, "algorithm") => prop::option::weighted(0.6, value).boxed(),
            _ => prop::option::weighted(0.2, value).boxed(),
        }
    });
    let placed = if has("ranks") {
        prop::option::weighted(0.2, subsequence((0..6).collect::<Vec<u32>>(), 2..=4).prop_shuffle()).boxed()
    } else {
        Just(None).boxed()
    };
    (params.collect::<Vec<_>>(), placed)
        .prop_map(move |(params, placed)| {
            let mut job = json!({ "kind": kind.kind });
            for (name, value) in params.into_iter().flatten() {
                job[name] = value;
            }
            if let Some(hosts) = placed {
                job["ranks"] = json!(hosts.len());
                job["placement"] = json!(hosts);
                job.as_object_mut().expect("a job").remove("order");
            }
            job
        })
        .boxed()
}

fn of_a_job(kind: &'static Component, param: &'static Param) -> BoxedStrategy<Json> {
    match param.kind {
        Kind::Bytes => texts(&["1.5KB", "9KB", "30KB", "100KB", "1B"]),
        Kind::Time => texts(&["1us", "0ns", "100ns", "10us"]),
        Kind::Count(least) => (least..=least + 2).prop_map(|count| json!(count)).boxed(),
        _ => value_of(kind, param),
    }
}

/// What there is to break on a network: links between these, and these switches.
#[derive(Clone, Copy, Debug)]
struct Places {
    links: &'static [[&'static str; 2]],
    switches: &'static [&'static str],
}

impl Places {
    /// The fault, at a place of this network instead of one that it may not have.
    fn of(self, mut fault: Json, turn: usize) -> Json {
        if fault.get("between").is_some() {
            fault["between"] = json!(self.links[turn % self.links.len()]);
        }
        if fault.get("node").is_some() {
            fault["node"] = json!(self.switches[turn % self.switches.len()]);
        }
        // Jobs have few ranks, and the first is one.
        if fault.get("rank").is_some() {
            fault["rank"] = json!(turn % 4);
            fault["job"] = json!(0);
        }
        fault
    }
}

/// A network of some twelve hosts at most, and its places.
fn network() -> BoxedStrategy<(Json, Places)> {
    let rails = (1_u32..4, 1_u32..4, 1_u32..3, any::<bool>()).prop_map(|(pairs, accelerators, planes, inside)| {
        let mut rails = json!({
            "kind": "rail-optimised", "servers": 2 * pairs, "accelerators": accelerators, "planes": planes,
        });
        if inside {
            rails["scale_up"] = json!({ "rate": "100Gbps", "delay": "0.2us" });
        }
        let links: &[[&str; 2]] = &[["rail0", "spine0"], ["host0", "rail0"], ["host0", "scale-up0"], ["rail", "spine"]];
        (rails, Places { links, switches: &["rail0", "spine0", "scale-up0"] })
    });
    let clos = (1_u32..3, 1_u32..3, select(vec![1.0, 2.0])).prop_map(|(leaves, hosts, over)| {
        let clos = json!({
            "kind": "clos", "pods": 2, "leaves": leaves, "hosts_per_leaf": hosts, "oversubscription": over,
        });
        let links: &[[&str; 2]] = &[
            ["aggregation0", "core0"],
            ["leaf0", "aggregation0"],
            ["host1", "leaf0"],
            ["aggregation", "core"],
        ];
        (clos, Places { links, switches: &["aggregation0", "core0", "leaf0"] })
    });
    let dragonfly = (1_u32..3, 2_u32..5, any::<bool>()).prop_map(|(hosts, groups, consecutive)| {
        let arrangement = if consecutive { "consecutive" } else { "palm-tree" };
        let dragonfly = json!({
            "kind": "dragonfly", "hosts_per_router": hosts, "routers": 2, "groups": groups, "global_links": 2,
            "arrangement": arrangement,
        });
        (dragonfly, Places { links: &[["router0", "router1"], ["host0", "router0"]], switches: &["router1"] })
    });
    let leaf_spine = (1_u32..4, 2_u32..4, 1_u32..4).prop_map(|(spines, leaves, hosts)| {
        let tree =
            json!({ "kind": "leaf-spine", "spines": spines, "leaves": leaves, "hosts_per_leaf": hosts });
        let links: &[[&str; 2]] = &[["leaf0", "spine0"], ["host0", "leaf0"], ["leaf", "spine"]];
        (tree, Places { links, switches: &["leaf0", "spine0"] })
    });
    let small = select(vec![
        (
            json!({ "kind": "rack", "hosts": 6 }),
            Places { links: &[["host0", "switch0"]], switches: &["switch0"] },
        ),
        (
            json!({ "kind": "dumbbell", "left": 3, "right": 3 }),
            Places { links: &[["switch0", "switch1"]], switches: &["switch1"] },
        ),
        (
            json!({ "kind": "fat-tree", "k": 4 }),
            Places {
                links: &[["edge0", "aggregation0"], ["aggregation", "core"], ["host0", "edge0"]],
                switches: &["edge1", "aggregation0", "core0"],
            },
        ),
        (
            json!({ "kind": "hpcc", "file": "drawn.hpcc-graph" }),
            Places { links: &[["host0", "switch4"], ["host2", "host3"]], switches: &["switch4"] },
        ),
    ]);
    prop_oneof![3 => rails, 2 => clos, 2 => dragonfly, 2 => leaf_spine, 2 => small].boxed()
}
