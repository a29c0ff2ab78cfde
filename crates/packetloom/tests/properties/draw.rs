//! Scenarios drawn from every component's description of its parameters: nothing here knows a scheme, so a new one
//! is drawn as soon as it is registered.

use packetloom::scenario::registry;
use packetloom::spec::{Component, Fallback, Kind, Param};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

/// How often a parameter that has a default is given another value.
const CHANGED: f64 = 0.07;

/// How often one that holds a component is given another: some components make sense only with another one.
const ANOTHER_KIND: f64 = 0.5;

/// How often a rung is named.
const RUNG: f64 = 0.2;

/// A scenario, small enough to run in milliseconds, that may not make sense.
pub fn scenario() -> BoxedStrategy<Json> {
    let workloads = prop::collection::vec(component("workload"), 1..=2);
    let faults = prop_oneof![Just(Vec::new()), prop::collection::vec(component("fault"), 1..=2)];
    let loads = select(vec![None, Some(0.3), Some(0.9)]);
    let rung = prop::option::weighted(RUNG, component("fidelity"));
    let run = (loads, 1_u32..60, select(vec!["300us", "2ms", "10ms"]), 1_u32..1_000, rung);
    (component("topology"), workloads, faults, component("scheme"), component("measure"), run)
        .prop_map(|(topology, workload, fault, scheme, measure, (load, flows, max_time, seed, rung))| {
            let mut run = json!({ "flows": flows, "max_time": max_time, "seeds": [seed] });
            if let Some(load) = load {
                run["loads"] = json!([load]);
            }
            if let Some(rung) = rung {
                run["fidelity"] = rung;
            }
            let mut scenario = json!({
                "topology": topology, "workload": workload, "scheme": [scheme], "measure": measure, "run": run,
            });
            keep_small(&mut scenario["topology"]);
            let damages = fault.iter().any(|one: &Json| one["kind"] == "corruption");
            if !fault.is_empty() {
                scenario["fault"] = fault.into();
            }
            // Where nothing is damaged nothing is sent again.
            if !damages && scenario["topology"]["kind"] != "hpcc" {
                scenario["topology"].as_object_mut().expect("a topology").remove("link_retry");
            }
            scenario
        })
        .boxed()
}

/// A dragonfly whose other numbers follow from its hosts at a router has 16,512 hosts with eight, a minute's work.
fn keep_small(topology: &mut Json) {
    const MOST_HOSTS: u64 = 2_000;
    let number = |key: &str| topology[key].as_u64();
    let Some(at_router) = number("hosts_per_router") else { return };
    let routers = number("routers").unwrap_or(2 * at_router);
    let global_links = number("global_links").unwrap_or(at_router);
    let groups = number("groups").unwrap_or(routers * global_links + 1);
    if at_router * routers * groups > MOST_HOSTS {
        topology["hosts_per_router"] = json!(at_router.min(3));
    }
}

/// The same with EQDS or Ultra Ethernet on hosts with several links: planes, a switch inside each server, any graph.
pub fn on_several_links() -> BoxedStrategy<Json> {
    let rails = (1_u32..4, 1_u32..4, 1_u32..4, any::<bool>()).prop_map(|(pairs, accelerators, planes, inside)| {
        let mut rails = json!({
            "kind": "rail-optimised", "servers": 2 * pairs, "accelerators": accelerators, "planes": planes,
        });
        if inside {
            rails["scale_up"] = json!({ "rate": "100Gbps", "delay": "0.2us" });
        }
        rails
    });
    let topology = prop_oneof![3 => rails, 1 => Just(json!({ "kind": "hpcc", "file": "drawn.hpcc-graph" }))];
    let is_sprayed = |component: &&Component| {
        component.section == "transport" && ["eqds", "uec"].contains(&component.kind)
    };
    let transport = proptest::strategy::Union::new(
        registry::components().into_iter().filter(is_sprayed).map(of_component),
    );
    let queue = select(vec![
        json!("ndp"),
        json!({ "kind": "ndp", "capacity": "20KB", "ecn_min": "5KB", "ecn_max": "15KB" }),
    ]);
    (scenario(), topology, transport, queue, component("routing"))
        .prop_map(|(mut scenario, topology, transport, queue, routing)| {
            scenario["topology"] = topology;
            let scheme = &mut scenario["scheme"][0];
            (scheme["transport"], scheme["queue"], scheme["routing"]) = (transport, queue, routing);
            scenario
        })
        .boxed()
}

/// The same over ports of parts with flow control: pauses, or credits, where an AQM may drop what needs none.
pub fn with_flow_control() -> BoxedStrategy<Json> {
    let of = |section: &'static str, kinds: &'static [&'static str]| {
        let are_meant = move |one: &&Component| one.section == section && kinds.contains(&one.kind);
        proptest::strategy::Union::new(registry::components().into_iter().filter(are_meant).map(of_component))
    };
    let dwrr = (0_u32..2, prop::collection::vec(1_u32..9, 4..=7));
    let dwrr =
        dwrr.prop_map(|(strict, weights)| json!({ "kind": "dwrr", "strict": strict, "weights": weights }));
    let scheduler = prop_oneof![Just(json!("strict")), dwrr, Just(json!("fifo"))];
    let marking: &[&str] = &["none", "threshold", "red", "sojourn"];
    let pauses = (of("aqm", marking), of("buffer", &["ingress", "reverie"]), of("flow_control", &["pfc"]));
    let any: &[&str] = &["none", "threshold", "red", "sojourn", "codel", "pie"];
    let credits = (of("aqm", any), of("buffer", &["private"]), of("flow_control", &["cbfc"]));
    let queue = (scheduler, prop_oneof![pauses, credits]).prop_map(|(scheduler, (aqm, buffer, flow_control))| {
        json!({
            "kind": "egress", "scheduler": scheduler, "aqm": aqm, "buffer": buffer, "flow_control": flow_control,
        })
    });
    let transport = of("transport", &["roce", "dcqcn", "hpcc", "dctcp", "line-rate"]);
    (scenario(), transport, queue)
        .prop_map(|(mut scenario, transport, queue)| {
            let scheme = scenario["scheme"][0].as_object_mut().expect("a scheme");
            scheme.remove("nic");
            scheme.insert("transport".to_owned(), transport);
            scheme.insert("queue".to_owned(), queue);
            scenario
        })
        .boxed()
}

/// The same under backpressure flow control, which is between the transport and the queues of switches and hosts.
pub fn with_backpressure() -> BoxedStrategy<Json> {
    let of = |section: &'static str| {
        let is_it = move |one: &&Component| one.section == section && one.kind == "bfc";
        proptest::strategy::Union::new(registry::components().into_iter().filter(is_it).map(of_component))
    };
    // Queues that are shared, and pauses all the time, are what there is to go wrong.
    let few =
        (of("queue"), 1_u32..5, select(vec![0.02, 0.3, 1.5])).prop_map(|(queue, queues, pause_above)| {
            let mut queue = if queue.is_object() { queue } else { json!({ "kind": queue }) };
            (queue["queues"], queue["pause_above"]) = (json!(queues), json!(pause_above));
            queue
        });
    (scenario(), of("transport"), prop_oneof![of("queue"), few])
        .prop_map(|(mut scenario, transport, queue)| {
            scenario.as_object_mut().expect("a scenario").remove("fault");
            let scheme = scenario["scheme"][0].as_object_mut().expect("a scheme");
            scheme.remove("nic");
            scheme.insert("transport".to_owned(), transport);
            scheme.insert("queue".to_owned(), queue);
            scenario
        })
        .boxed()
}

/// The same with a window for each destination at switches, under RDMA's transports, which heed pauses of destinations.
pub fn with_windows() -> BoxedStrategy<Json> {
    let of = |section: &'static str, kinds: &'static [&'static str]| {
        let are_meant = move |one: &&Component| one.section == section && kinds.contains(&one.kind);
        proptest::strategy::Union::new(registry::components().into_iter().filter(are_meant).map(of_component))
    };
    // Small windows, VOQs that are shared, and pauses all the time, are what there is to go wrong.
    let few = (of("queue", &["floodgate"]), 1_u32..4, select(vec![0.01, 0.3, 1.5]), any::<bool>());
    let few = few.prop_map(|(queue, voqs, window, pauses)| {
        let mut queue = if queue.is_object() { queue } else { json!({ "kind": queue }) };
        (queue["voqs"], queue["window"]) = (json!(voqs), json!(window));
        queue["credit_every"] = json!(if pauses { "0s" } else { "2us" });
        if pauses {
            queue["pause_hosts_above"] = json!(0.1);
        }
        queue["queue"] = json!({ "kind": "shared-buffer" });
        queue
    });
    let transport = of("transport", &["roce", "dcqcn", "timely", "hpcc"]);
    (scenario(), transport, prop_oneof![of("queue", &["floodgate"]), few])
        .prop_map(|(mut scenario, transport, queue)| {
            let scheme = scenario["scheme"][0].as_object_mut().expect("a scheme");
            scheme.remove("nic");
            scheme.insert("transport".to_owned(), transport);
            scheme.insert("queue".to_owned(), queue);
            scenario
        })
        .boxed()
}

/// Any component of a section. (Every section's first is the simplest to shrink to.)
pub fn component(section: &'static str) -> BoxedStrategy<Json> {
    let all = registry::components().into_iter().filter(|component| component.section == section);
    proptest::strategy::Union::new(all.map(of_component)).boxed()
}

/// This component, with some of its parameters changed.
pub fn of_component(component: &'static Component) -> BoxedStrategy<Json> {
    let params = component.params().filter(|param| param.name != "capture");
    let entries: Vec<BoxedStrategy<Option<(String, Json)>>> =
        params.map(|param| entry(component, param)).collect();
    // Sections that hold one kind of thing are written without a kind.
    let kind = (component.kind != component.section).then(|| ("kind".to_owned(), json!(component.kind)));
    let object = move |entries: Vec<Option<(String, Json)>>| {
        Json::Object(kind.clone().into_iter().chain(entries.into_iter().flatten()).collect::<Map<_, _>>())
    };
    entries.prop_map(object).boxed()
}

fn entry(component: &'static Component, param: &'static Param) -> BoxedStrategy<Option<(String, Json)>> {
    let often = match (component.section, param.name) {
        // Files of flows, and jobs, have sizes of their own.
        ("workload", "sizes") => 0.8,
        ("scheme", "queue") => 0.98,
        ("sizes", "name") => 0.9,
        // The usual one is never full here.
        ("queue", "buffer") => 0.8,
        ("buffer", "size") => 0.8,
        _ if matches!(param.kind, Kind::Component(_)) => ANOTHER_KIND,
        _ => CHANGED,
    };
    let value = value_of(component, param).prop_map(|value| (param.name.to_owned(), value));
    match param.default {
        Fallback::Required => value.prop_map(Some).boxed(),
        _ => prop::option::weighted(often, value).boxed(),
    }
}

/// What a parameter may be.
pub fn value_of(component: &'static Component, param: &'static Param) -> BoxedStrategy<Json> {
    value(component, param.name, &param.kind)
}

fn value(component: &'static Component, name: &'static str, kind: &'static Kind) -> BoxedStrategy<Json> {
    match *kind {
        Kind::Time => texts(&["1us", "0ns", "100ns", "10us", "100us", "1ms"]),
        Kind::TimeOr("auto") => texts(&["auto", "0ns", "1us", "100us"]),
        Kind::TimeOr("never") => texts(&["0ns", "10us", "100us", "1ms", "never"]),
        Kind::TimeOr(_) => texts(&["0ns", "1us", "100us"]),
        Kind::Bytes
            if name == "buffer" || ["ingress", "reverie"].contains(&component.kind) && name == "size" =>
        {
            texts(&["200KB", "300KB", "1MB"])
        }
        Kind::Bytes => texts(&["1.5KB", "0B", "1B", "40B", "9KB", "30KB", "100KB"]),
        Kind::Buffer => texts(&["30KB", "1packets", "8packets", "100packets", "1B", "1.5KB"]),
        Kind::Rate => texts(&["10Gbps", "1Gbps", "40Gbps", "9.953Gbps"]),
        Kind::Count(least) => prop_oneof![least..=least + 8, Just(4)].prop_map(|count| json!(count)).boxed(),
        Kind::Number(low, high) => {
            let (low, high) = (low.max(-10.0), high.min(low.max(-10.0) + 10.0));
            prop_oneof![Just(low), Just(high), low..=high].prop_map(|number| json!(number)).boxed()
        }
        Kind::Flag => any::<bool>().prop_map(|flag| json!(flag)).boxed(),
        Kind::Choice(words) => texts(words),
        Kind::Text => texts(text_for(component, name)),
        Kind::Component(section) => component_of(section),
        Kind::List(_) if name == "between" => {
            select(NEIGHBOURS.to_vec()).prop_map(|pair| json!(pair)).boxed()
        }
        Kind::List(inner) => {
            prop::collection::vec(value(component, name, inner), 1..=3).prop_map(Json::from).boxed()
        }
    }
}

/// Lazily, because components may hold components of their own section.
fn component_of(section: &'static str) -> BoxedStrategy<Json> {
    Just(()).prop_flat_map(move |()| component(section)).boxed()
}

/// One of these words.
pub fn texts(words: &'static [&'static str]) -> BoxedStrategy<Json> {
    select(words).prop_map(|word| json!(word)).boxed()
}

/// Nodes and tiers with links between them, on one network or another.
const NEIGHBOURS: [[&str; 2]; 16] = [
    ["host0", "switch0"],
    ["host", "switch"],
    ["host0", "edge0"],
    ["edge0", "aggregation0"],
    ["aggregation", "core"],
    ["host3", "leaf0"],
    ["leaf0", "spine0"],
    ["host0", "switch4"],
    ["host2", "host3"],
    ["switch0", "switch1"],
    ["leaf", "aggregation1"],
    ["host1", "rail1"],
    ["rail0", "spine0"],
    ["host0", "scale-up0"],
    ["host1", "router0"],
    ["router0", "router1"],
];

/// Names of what there is to name: nodes, distributions, and the files that `write_files` makes.
fn text_for(component: &Component, name: &str) -> &'static [&'static str] {
    match (component.section, component.kind, name) {
        ("weight", _, "port") => &["leaf to spine0", "leaf0", "edge", "aggregation0 to core1", "switch4"],
        ("fault", _, "host") => &["host0", "host", "host1", "host3"],
        (_, _, "node") => &[
            "switch0",
            "edge1",
            "aggregation0",
            "core0",
            "leaf0",
            "spine0",
            "switch4",
            "rail0",
            "scale-up0",
            "router3",
        ],
        ("sizes", "cdf", "name") => &["web-search", "data-mining"],
        ("topology", "hpcc", "file") => &["drawn.hpcc-topology", "drawn.hpcc-graph"],
        ("topology", "htsim", "file") => &["drawn.topo"],
        ("arrivals", "hpcc", "file") => &["drawn.hpcc-flows"],
        ("arrivals", "htsim", "file") => &["drawn.cm"],
        ("arrivals", "goal", "file") => &["drawn.goal"],
        ("arrivals", "simai", "file") => &["drawn.simai"],
        ("arrivals", "chakra", "files") => &["drawn"],
        ("arrivals", "chakra", "groups") => &["drawn-groups.json"],
        ("transport" | "queue" | "routing", kind, "file") if kind.starts_with("python") => &["drawn.py"],
        ("transport", "python-rate", "class") => &["RateControl"],
        ("transport", "python-telemetry", "class") => &["TelemetryControl"],
        ("queue", "python", "class") => &["QueueRule"],
        ("routing", "python", "class") => &["PathChoice"],
        ("transport", "python", "class") => &["Any"],
        (_, _, "file") => &["drawn.csv"],
        _ => &["any"],
    }
}

/// The files that scenarios may name.
pub const FILES: [(&str, &str); 12] = [
    ("drawn.py", ""),
    (
        "drawn.hpcc-graph",
        // Hosts with two links, to two switches, the same or each other; a cycle of switches, one of them without
        // hosts.
        "8 4 14\n4 5 6 7\n0 4 10Gbps 1000ns 0\n0 5 10Gbps 2000ns 0\n1 4 10Gbps 1000ns 0\n1 4 10Gbps 1000ns 0\n\
         2 6 10Gbps 1000ns 0\n2 3 10Gbps 500ns 0\n3 5 10Gbps 1000ns 0\n4 5 40Gbps 1000ns 0\n4 5 10Gbps 1000ns 0\n\
         5 6 25Gbps 1000ns 0.001\n6 7 10Gbps 1000ns 0\n7 4 10Gbps 3000ns 0\n4 6 10Gbps 1000ns 0\n7 5 10Gbps 1000ns 0\n",
    ),
    (
        "drawn.hpcc-topology",
        "6 2 5\n4 5\n0 4 10Gbps 1000ns 0\n1 4 10Gbps 1000ns 0\n2 5 10Gbps 1000ns 0\n3 5 10Gbps 1000ns 0\n4 5 40Gbps 1000ns 0\n",
    ),
    ("drawn.hpcc-flows", "3\n0 1 3 100 20000 0.000001\n1 2 3 100 1000 0.000002\n3 0 3 100 50000 0.000002\n"),
    (
        "drawn.topo",
        "Nodes 16\nTiers 3\nPodsize 4\n\
         Tier 0\nDownlink_speed_Gbps 10\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 400\nBundle 1\n\
         Tier 1\nDownlink_speed_Gbps 10\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 400\nBundle 1\n\
         Tier 2\nDownlink_speed_Gbps 10\nRadix_Down 4\nDownlink_Latency_ns 400\nBundle 1\n",
    ),
    ("drawn.cm", "Nodes 4\nConnections 2\n0->1 start 0 size 20000\n2->3 start 100 size 3000\n"),
    (
        "drawn.goal",
        "num_ranks 4\nrank 0 {\na: send 3000b to 1 tag 1\nb: recv 500b from -1 tag 2\nb requires a\n\
         c: calc 900 cpu 1\nc irequires b\n}\nrank 1 {\nr: recv 3000b from 0 tag -1\ns: calc 2000\ns requires r\n\
         t: send 500b to 0 tag 2\nt requires s\n}\nrank 2 {\nsend 20000b to 3 cpu 1\n}\nrank 3 {\nrecv 20000b from 2\n}\n",
    ),
    (
        "drawn.simai",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 \
         checkpoint_initiates: 0\n2\none -1 1000 ALLREDUCE 30000 1000 NONE 0 1000 ALLREDUCE 50000 100\n\
         two -1 1000 ALLGATHER 30000 1000 REDUCESCATTER 30000 1000 NONE 0 100\n",
    ),
    ("drawn.0.json", DRAWN_CHAKRA),
    ("drawn.1.json", DRAWN_CHAKRA),
    ("drawn-groups.json", "{\"0\": [0, 1]}"),
    ("drawn.csv", "src,dst,size_bytes,start_ns\n0,1,20000,0\n1,0,3000,1000.5\n3,2,100,1000.5\n"),
];

/// A rank of a trace: it computes, and reduces with the others.
const DRAWN_CHAKRA: &str = "{\"workload_graph\": [\
    {\"Id\": 1, \"Name\": \"compute\", \"NodeType\": 4, \"runtime\": 3, \"is_cpu_op\": false, \"data_deps\": []},\
    {\"Id\": 2, \"Name\": \"reduce\", \"NodeType\": 7, \"is_cpu_op\": false, \"data_deps\": [1], \"comm_type\": 0,\
     \"comm_size\": 40000}]}";
