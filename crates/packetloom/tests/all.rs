//! The tests of whole simulations through the public API: a file for each subject, in one program, so that it is
//! linked once and a long test of one file runs beside those of others.

#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod aeolus;
mod background;
mod balancing;
mod best_fct;
mod bfc;
mod captures;
mod cbfc;
mod central;
mod collectives;
mod common;
mod connections;
mod critical_path;
mod daq;
mod dcpim;
mod deadlines;
mod determinism;
mod expresspass;
mod fastpass;
mod faults;
mod fidelity;
mod files;
mod floodgate;
mod flow_samples;
mod flowtune;
mod graphs;
mod homa;
mod invariants;
mod jobs;
mod jobs_on_flows;
mod limits;
mod link_retry;
mod measuring;
mod messages;
mod multipath;
mod ndp;
mod ns2_rules;
mod numfabric;
mod perftest;
mod pfc;
mod processing;
mod properties;
mod queue_pairs;
mod queues;
mod ranks;
mod rdma;
mod recovery;
mod routing;
mod several_links;
mod sird;
mod slow_alone;
mod stall;
mod steady;
mod theory;
mod together;
mod topologies;
mod transports;
mod uec;
mod uec_links;
mod uet_services;
mod wholes;

/// A file that is no module here would not be run.
#[test]
fn every_file_is_here() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).expect("the folder of this file") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        // The first is this file, `schemes` a program of its own, and `snapshots` what it compares with.
        let is_here = ["all", "schemes", "snapshots"].contains(&name.as_str());
        assert!(
            is_here || include_str!("all.rs").contains(&format!("mod {name};\n")),
            "mod {name}; in all.rs"
        );
    }
}
