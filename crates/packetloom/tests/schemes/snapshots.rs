//! What each scheme does in its small case, written down in `tests/snapshots/`. `determinism.rs` detects that
//! something changed; these show what.
//!
//! `UPDATE_SNAPSHOTS=1 cargo test -p packetloom --test schemes snapshots` writes them anew. Read the difference
//! before it is committed: that is what they are for.

use crate::common::simulate;
use crate::settings::{self, Setting};
use crate::{diff, table, watched};
use packetloom::scenario::Registry;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const HOW: &str = "UPDATE_SNAPSHOTS=1 cargo test -p packetloom --test schemes snapshots";

/// More than a person reads.
const MOST_LINES: usize = 65;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

fn registered() -> BTreeSet<&'static str> {
    let registry = Registry::default();
    registry.section("transport").into_iter().map(|component| component.kind).collect()
}

fn found(setting: &Setting) -> String {
    let case = setting.case();
    match watched::watch(&case) {
        Some((outcome, steps)) => table::of(setting, &outcome, Some(&steps)),
        None => table::of(setting, &simulate(case), None),
    }
}

#[test]
fn every_registered_transport_does_what_its_snapshot_says() {
    let is_update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut differences = String::new();
    registered().into_iter().for_each(|kind| _ = settings::of(kind));
    for setting in settings::SETTINGS {
        let name = setting.name();
        let file = folder().join(format!("{name}.txt"));
        let found = found(setting);
        if is_update {
            std::fs::create_dir_all(folder()).expect("a folder to write to");
            std::fs::write(&file, found).expect("a file to write to");
            continue;
        }
        let kept = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}\nto write it: {HOW}", file.display()));
        if kept != found {
            differences += &format!("\n{name}.txt (- as kept, + as found):\n{}", diff::lines(&kept, &found));
        }
    }
    assert!(differences.is_empty(), "{differences}\nif that is as it should be: {HOW}");
}

#[test]
fn every_snapshot_is_of_a_small_case_and_can_be_read() {
    let known: BTreeSet<String> = settings::SETTINGS.iter().map(Setting::name).collect();
    for entry in std::fs::read_dir(folder()).expect("the snapshots") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(known.contains(name), "{}: no small case is called {name}", path.display());
        let text = std::fs::read_to_string(&path).expect("text");
        let rows = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!((4..=MOST_LINES).contains(&rows), "{}: {rows} lines", path.display());
    }
}

/// An observer changes nothing: the pins' runs and these are the same.
#[test]
fn to_be_watched_changes_nothing() {
    for setting in settings::SETTINGS {
        let case = setting.case();
        if let Some((outcome, _)) = watched::watch(&case) {
            let plain = simulate(case);
            assert_eq!((outcome.flows, outcome.tally), (plain.flows, plain.tally), "{}", setting.name());
        }
    }
}
