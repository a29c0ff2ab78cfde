//! Faulty scenarios, and the messages about them.

use super::super::testing::{self, GRID, SMALL, read, said, said_of, scenario};
use super::*;
use std::path::PathBuf;

#[test]
fn unknown_keys_name_the_nearest_and_all_known() {
    assert_eq!(
        said("hosts = 4", "host = 4"),
        "fabric.toml:3: topology.host: unknown key \"host\"; did you mean \"hosts\"? Known: hosts, link"
    );
    assert_eq!(
        said("delay =", "latency ="),
        "fabric.toml:4: topology.link.latency: unknown key \"latency\". Known: rate, delay"
    );
    assert_eq!(
        said("[run]", "[runs]"),
        "fabric.toml:14: runs: unknown key \"runs\"; did you mean \"run\"? \
         Known: format, name, description, topology, workload, fault, scheme, run, measure"
    );
}

#[test]
fn a_format_is_this_one_or_unwritten_and_a_newer_one_is_the_only_mistake() {
    let written = scenario(&format!("format = {FORMAT}\n{SMALL}"));
    let identity = |scenario: &Scenario| scenario.cases().next().unwrap().identity();
    assert_eq!(identity(&written), identity(&scenario(SMALL)));
    let newer = format!("format = {}\nsomething = \"new\"\n{SMALL}", FORMAT + 1);
    assert_eq!(
        said_of(&newer, Path::new("")),
        format!(
            "fabric.toml:1: format: {} is newer than this packetloom ({}), which reads format {FORMAT}; \
             install a newer one",
            FORMAT + 1,
            env!("CARGO_PKG_VERSION")
        )
    );
    let said = said_of(&format!("format = \"one\"\n{SMALL}"), Path::new(""));
    assert!(said.starts_with("fabric.toml:1: format: "), "{said}");
    assert!(said.ends_with("is not a whole number; write a whole number, at least 1"), "{said}");
}

#[test]
fn a_scenario_as_a_whole_has_neither_kind_nor_alternatives() {
    let said = said_of(&format!("kind = \"fat-tree\"\n{SMALL}"), Path::new(""));
    assert!(said.starts_with("fabric.toml:1: kind: unknown key \"kind\""), "{said}");
    let said = said_of(&SMALL.replace("[topology]", "[[topology]]"), Path::new(""));
    assert!(said.starts_with("fabric.toml:2: topology: a list is no topology; write "), "{said}");
}

#[test]
fn unknown_kinds_name_the_nearest_and_all_known() {
    assert_eq!(
        said("\"drop-tail\"", "\"droptail\""),
        "fabric.toml:12: scheme[0].queue: unknown queue kind \"droptail\"; did you mean \"drop-tail\"? \
         Known: drop-tail, ecn"
    );
    assert_eq!(
        said("hosts = 4", "kind = \"fat-tree\""),
        "fabric.toml:3: topology: unknown topology kind \"fat-tree\". Known: rack"
    );
}

#[test]
fn a_kind_must_be_said_where_there_are_several() {
    assert_eq!(
        said("\"drop-tail\"", "{ capacity = \"22.5KB\" }"),
        "fabric.toml:12: scheme[0].queue: which queue? Write kind = one of drop-tail, ecn"
    );
    assert_eq!(
        said("\"drop-tail\"", "{ kind = [\"drop-tail\"] }"),
        "fabric.toml:12: scheme[0].queue.kind: a list is no kind of queue; write one in quotes"
    );
    assert_eq!(
        said("\"drop-tail\"", "225"),
        "fabric.toml:12: scheme[0].queue: 225 is no queue; \
         write its kind, such as \"drop-tail\", or a table with a kind"
    );
    assert_eq!(
        said("link = { rate = \"10Gbps\", delay = \"1us\" }", "link = 10"),
        "fabric.toml:4: topology.link: 10 is no link; write a table"
    );
}

#[test]
fn missing_keys_say_what_to_write() {
    assert_eq!(
        said("rate = \"10Gbps\", ", ""),
        "fabric.toml:4: topology.link.rate: is missing; write rate = \"10Gbps\""
    );
    assert_eq!(
        said("transport = \"tcp\"", ""),
        "fabric.toml:9: scheme[0].transport: is missing; write transport = \"tcp\""
    );
    assert_eq!(
        said_of("", Path::new("")),
        "fabric.toml: topology: is missing; write a [topology] table\n\
         fabric.toml: workload: is missing; write at least one [[workload]] table\n\
         fabric.toml: scheme: is missing; write at least one [[scheme]] table"
    );
    assert_eq!(
        said("[[workload]]\nsizes = \"constant\"", ""),
        "fabric.toml: workload: is missing; write at least one [[workload]] table"
    );
    assert_eq!(
        said_of(&format!("scheme = []\n{}", SMALL.split("[[scheme]]").next().unwrap()), Path::new("")),
        "fabric.toml:1: scheme: is empty; write at least one [[scheme]] table"
    );
}

#[test]
fn quantities_must_have_their_unit_and_make_sense() {
    assert_eq!(
        said("transport = \"tcp\"", "transport = { kind = \"tcp\", min_rto = \"200\" }"),
        "fabric.toml:11: scheme[0].transport.min_rto: \"200\" has no unit; write a time such as \"200us\""
    );
    assert_eq!(
        said("\"10Gbps\"", "10"),
        "fabric.toml:4: topology.link.rate: 10 has no unit; write a rate such as \"10Gbps\""
    );
    assert_eq!(
        said("\"10Gbps\"", "\"0Gbps\""),
        "fabric.toml:4: topology.link.rate: \"0Gbps\" is zero; write a rate above zero, such as \"10Gbps\""
    );
    assert_eq!(
        said("\"10Gbps\"", "\"-1Gbps\""),
        "fabric.toml:4: topology.link.rate: \"-1Gbps\" is negative; write a rate such as \"10Gbps\""
    );
    assert_eq!(
        said("\"1us\"", "\"1KB\""),
        "fabric.toml:4: topology.link.delay: unknown unit \"KB\". The units of a time are ps, ns, us, ms, s"
    );
}

#[test]
fn what_a_component_complains_of_gets_its_line() {
    let queue = "\n[scheme.queue]\nkind = \"ecn\"\ncapacity = \"10KB\"\nmark_above = \"20KB\"\n";
    assert_eq!(
        said("queue = \"drop-tail\"", queue),
        "fabric.toml:16: scheme[0].queue.mark_above: nothing is marked above the capacity; write less"
    );
    let by_default = "queue = { kind = \"ecn\", capacity = \"10KB\" }";
    assert!(
        said("queue = \"drop-tail\"", by_default).starts_with("fabric.toml:12: scheme[0].queue.mark_above: ")
    );
}

#[test]
fn a_check_sees_every_combination_of_a_grid() {
    let queue =
        "queue = { kind = \"ecn\", capacity = [\"100KB\", \"10KB\"], mark_above = [\"5KB\", \"20KB\"] }";
    assert_eq!(
        said("queue = \"drop-tail\"", queue),
        "fabric.toml:12: scheme[0].queue.mark_above: nothing is marked above the capacity; write less"
    );
}

#[test]
fn all_problems_come_at_once_in_the_order_of_lines() {
    let toml = SMALL.replace("hosts = 4", "hosts = 1").replace("\"tcp\"", "\"tpc\"").replace("[0.5]", "[11]");
    let problems = read(&toml, Path::new("")).unwrap_err().problems;
    let places: Vec<_> =
        problems.iter().map(|problem| (problem.line.unwrap(), problem.key.as_str())).collect();
    assert_eq!(places, [(3, "topology.hosts"), (11, "scheme[0].transport"), (15, "run.loads[0]")]);
}

#[test]
fn lists_that_make_no_grid_are_refused() {
    assert_eq!(
        said("hosts = 4", "hosts = []"),
        "fabric.toml:3: topology.hosts: an empty list spans no case; write a value, or leave the key out"
    );
    assert_eq!(
        said("hosts = 4", "hosts = [4, 8, 4]"),
        "fabric.toml:3: topology.hosts: 4 is in the list twice"
    );
    assert_eq!(said("[0.5]", "[0.5, 0.5]"), "fabric.toml:15: run.loads: 0.5 is in the list twice");
    assert_eq!(said("[0.5]", "[0.5]\nseeds = [7, 7]"), "fabric.toml:16: run.seeds: 7 is in the list twice");
    assert_eq!(said("[0.5]", "[]"), "fabric.toml:15: run.loads: is empty; write at least one");
}

#[test]
fn a_grid_has_an_end() {
    let hosts: Vec<String> = (2..1002).map(|hosts| hosts.to_string()).collect();
    let hosts = format!("hosts = [{}]", hosts.join(", "));
    let toml = SMALL.replace("hosts = 4", &hosts).replace("[0.5]", "[0.5]\nseeds = 1000");
    assert_eq!(said_of(&toml, Path::new("")), "fabric.toml: this spans 1000000 cases; write at most 100000");
    let delays: Vec<String> = (1..=101).map(|delay| format!("\"{delay}us\"")).collect();
    let toml = SMALL.replace("hosts = 4", &hosts).replace("\"1us\"", &format!("[{}]", delays.join(", ")));
    assert_eq!(
        said_of(&toml, Path::new("")),
        "fabric.toml:2: topology: the lists here span more than 100000 cases; write fewer"
    );
}

#[test]
fn seeds_are_counted_or_listed() {
    let seeds = |written: &str| scenario(&SMALL.replace("[0.5]", &format!("[0.5]\nseeds = {written}"))).seeds;
    assert_eq!(seeds("3"), [1, 2, 3]);
    assert_eq!(seeds("[3, 0]"), [3, 0]);
    assert_eq!(scenario(SMALL).seeds, [1]);
    assert_eq!(
        said("[0.5]", "[0.5]\nseeds = 0"),
        "fabric.toml:16: run.seeds: 0 seeds; write how many, from 1 to 10000, or a list of them"
    );
}

#[test]
fn a_load_may_stand_alone() {
    assert_eq!(scenario(&SMALL.replace("[0.5]", "0.5")).loads, [Some(0.5)]);
    assert_eq!(scenario(&SMALL.replace("loads = [0.5]", "")).loads, [None]);
    assert_eq!(
        said("[0.5]", "[50]"),
        "fabric.toml:15: run.loads[0]: 50 is out of range; write a number from 0 to 10"
    );
}

#[test]
fn schemes_have_names_of_their_own() {
    let twin = GRID.replace("\"marked\"", "\"plain\"");
    assert_eq!(
        said_of(&twin, Path::new("")),
        "fabric.toml:16: scheme[1].name: \"plain\" is another scheme's name; write one of its own"
    );
    for alike in ["\" plain\"", "\"pla\u{ad}in\"", "\"plain\u{200b}\"", "\"plain\u{fe0f}\""] {
        let twin = GRID.replace("\"marked\"", alike);
        assert!(said_of(&twin, Path::new("")).contains("\"plain\" is another scheme's name"), "{alike}");
    }
    assert!(said("\"one\"", "\"\u{3164}\"").contains("scheme[0].name: is empty"));
    assert_eq!(
        said("\"one\"", "\" \""),
        "fabric.toml:10: scheme[0].name: is empty; write what tables and figures shall call the scheme"
    );
}

#[test]
fn an_open_loop_needs_an_end() {
    let message = "fabric.toml:14: run: says neither how many flows start nor until when; \
                   write flows = 10000, or duration = \"100ms\"";
    assert_eq!(said("flows = 100", ""), message);
    let finite =
        SMALL.replace("\"constant\"", "\"constant\"\narrivals = \"at-once\"").replace("flows = 100", "");
    assert_eq!(scenario(&finite).case_count(), 1);
}

#[test]
fn times_of_a_run_must_leave_something() {
    assert_eq!(
        said("flows = 100", "duration = \"2ms\"\nwarm_up = \"1ms\"\ncool_down = \"1ms\""),
        "fabric.toml:16: run.duration: 2ms leaves nothing to measure beside 2ms of warm_up and cool_down; \
         write more than 2ms"
    );
    assert_eq!(
        said("flows = 100", "flows = 100\nmax_time = \"0us\""),
        "fabric.toml:17: run.max_time: a time to stop of zero leaves nothing; write more"
    );
    assert_eq!(
        said("[run]", "[measure]\nseries_interval = \"0ns\"\n[run]"),
        "fabric.toml:15: measure.series_interval: an interval of zero never ends; write one such as \"10us\""
    );
}

#[test]
fn what_is_odd_but_allowed_is_a_warning() {
    let warnings = |old: &str, new: &str| scenario(&SMALL.replace(old, new)).warnings;
    assert!(scenario(SMALL).warnings.is_empty());
    assert_eq!(
        warnings("[0.5]", "[0.5, 1.2]"),
        ["fabric.toml:15: run.loads: load 1.2 is above 1: the run will not settle"]
    );
    assert_eq!(warnings("[0.5]", "[0]"), ["fabric.toml:15: run.loads: a load of 0 starts no flow"]);
    assert_eq!(
        warnings("flows = 100", "duration = \"2ms\"\nmax_time = \"1ms\""),
        ["fabric.toml:17: run.max_time: 1ms ends the run before the duration of 2ms does"]
    );
    assert_eq!(
        warnings("flows = 100", "duration = \"2ms\"\nmax_time = \"2ms\""),
        [
            "fabric.toml:17: run.max_time: 2ms ends the run with its duration, and flows that are under way then do \
             not finish"
        ]
    );
}

#[test]
fn defaults_are_filled_in() {
    let case = scenario(SMALL).cases().next().unwrap();
    assert_eq!(case.scheme.component("routing").kind, "ecmp");
    assert_eq!(case.scheme.component("queue").get("capacity"), &Value::Bytes(225_000));
    assert_eq!(case.scheme.optional_component("nic"), None);
    assert_eq!(case.workloads[0].component("arrivals").kind, "poisson");
    assert_eq!(case.run.time("warm_up").as_ps(), 0);
    assert!(!case.measure.flag("queues"));
}

#[test]
fn python_objects_say_the_same_without_lines() {
    let json = r#"{
        "topology": { "hosts": 4, "link": { "rate": "10Gbps", "delay": "1us" } },
        "workload": { "sizes": "constant", "class": null },
        "scheme": [{ "name": "one", "transport": "tcp", "queue": "drop-tail" }],
        "run": { "loads": [0.5], "flows": 100 }
    }"#;
    let of = |json: &str| {
        assemble(Node::from_json(json, "scenario").unwrap(), "scenario", Path::new(""), &testing::registry())
    };
    let (from_json, from_toml) = (of(json).unwrap().cases().next(), scenario(SMALL).cases().next());
    assert_eq!(from_json, from_toml);
    assert_eq!(
        of(&json.replace("\"1us\"", "1")).unwrap_err().to_string(),
        "scenario: topology.link.delay: 1 has no unit; write a time such as \"1us\""
    );
    assert_eq!(
        of("[]").unwrap_err().to_string(),
        "scenario: this is no scenario; write tables such as [topology]"
    );
}

/// A folder of its own for a test, with some files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("packetloom-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

#[test]
fn sizes_may_be_the_name_of_a_distribution_or_of_a_file() {
    let folder = folder("sizes", &[("mine.csv", "1000 1\n"), ("falls.csv", "oops")]);
    let with = |sizes: &str| SMALL.replace("\"constant\"", sizes);
    let sizes = |sizes: &str| {
        read(&with(sizes), &folder).unwrap().cases().next().unwrap().workloads[0].component("sizes")
    };
    let bundled = sizes("\"web-search\"");
    assert_eq!((bundled.kind.as_str(), bundled.text("name").as_str()), ("cdf", "web-search"));
    let own = sizes("\"mine.csv\"");
    assert_eq!((own.kind.as_str(), own.list("points").len()), ("cdf", 2));

    let said = |sizes: &str| said_of(&with(sizes), &folder);
    assert_eq!(
        said("\"websearch\""),
        "fabric.toml:7: workload[0].sizes: unknown flow sizes \"websearch\"; did you mean \"web-search\"? \
         Known: constant, cdf, web-search, data-mining; or write the path of a CDF file, such as \"sizes.csv\""
    );
    assert_eq!(
        said("\"15KB\""),
        "fabric.toml:7: workload[0].sizes: \"15KB\" is a size, and no distribution; for flows that all have it write \
         sizes = { kind = \"constant\", size = \"15KB\" }"
    );
    assert_eq!(
        said("\"falls.csv\""),
        "fabric.toml:7: workload[0].sizes: falls.csv line 2: the probabilities fall from 0.5 to 0.4; they must not"
    );
    let missing = said("\"none.csv\"");
    assert!(missing.starts_with("fabric.toml:7: workload[0].sizes: cannot read "), "{missing}");
    assert!(missing.ends_with("; a path is relative to the scenario's folder"), "{missing}");

    let axes: Vec<_> = read(&with("[\"web-search\", \"mine.csv\"]"), &folder)
        .unwrap()
        .cases()
        .map(|case| case.parameters().pop().unwrap())
        .collect();
    let axis = |value: &str| ("workload.sizes".to_owned(), value.into());
    assert_eq!(axes, [axis("web-search"), axis("mine.csv")]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_of_flows_is_known_by_its_path_and_its_content() {
    let files = [("a.csv", "src,dst,size_bytes,start_ns\n0,1,1000,0\n")];
    let folder = folder("list", &files);
    let with = |file: &str| {
        SMALL.replace(
            "\"constant\"",
            &format!("\"constant\"\narrivals = {{ kind = \"list\", file = {file} }}"),
        )
    };
    let case = || read(&with("\"a.csv\""), &folder).unwrap().cases().next().unwrap();
    let before = case();
    let arrivals = before.workloads[0].component("arrivals");
    assert_eq!(arrivals.text("file"), folder.join("a.csv").display().to_string());
    assert_eq!(arrivals.text("file_hash"), super::super::hash::hex(files[0].1.as_bytes()));
    std::fs::write(folder.join("a.csv"), "src,dst,size_bytes,start_ns\n0,1,1001,0\n").unwrap();
    assert_ne!(case().identity(), before.identity());

    let missing = said_of(&with("[\"a.csv\", \"b.csv\"]"), &folder);
    assert!(missing.starts_with("fabric.toml:8: workload[0].arrivals.file: cannot read "), "{missing}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_missing_scenario_is_named() {
    let problems = Scenario::read(Path::new("no/such.toml")).unwrap_err().to_string();
    assert!(problems.starts_with("no/such.toml: cannot read this file: "), "{problems}");
}
