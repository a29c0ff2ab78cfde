//! Published examples, which are not kept here: `PACKETLOOM_TRACES=FOLDER cargo test -p packetloom-jobs examples --
//! --ignored --nocapture` reads all that a folder holds and says what they are.

use super::{chakra, goal, read_bytes, simai};
use crate::job::{Program, Work};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn summary(program: &Program) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for operation in program.ranks.iter().flat_map(|rank| rank.operations()) {
        let kind = match operation.work {
            Work::Compute { .. } => "compute",
            Work::Send { .. } => "send",
            Work::Receive { .. } => "receive",
            Work::Collective { operation, .. } => operation.name(),
        };
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
    format!("{} ranks, {} groups, {counts:?}", program.ranks.len(), program.groups.len())
}

fn all_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { all_files(&path, found) } else { found.push(path) }
    }
}

fn outcome(file: &str) -> Option<Result<Program, String>> {
    if let Some(prefix) = file.strip_suffix(".0.et").or_else(|| file.strip_suffix(".0.json")) {
        let strict = chakra::read_files(prefix, None, &chakra::Options::default());
        let strict =
            strict.map_err(|complaint| println!("{prefix}: by default refused: {}", complaint.message));
        let lenient = chakra::Options {
            control: chakra::Control::Ignore,
            missing: chakra::Missing::Drop,
            loose: chakra::Loose::ChainStreams,
            cpu_communication: chakra::CpuCommunication::Compute,
            ..chakra::Options::default()
        };
        let read = strict.or_else(|()| chakra::read_files(prefix, None, &lenient));
        let read = read.map_err(|complaint| complaint.message);
        return Some(read.map(|(program, report)| {
            print!("{report}");
            program
        }));
    }
    let read = if file.ends_with(".goal") || file.ends_with(".bin") {
        read_bytes(file, |content| goal::read(content, &goal::Options::default()))
    } else if file.ends_with(".txt") {
        read_bytes(file, |content| simai::read(super::text(content)?, &simai::Options::default()))
    } else {
        return None;
    };
    Some(read.map_err(|complaint| complaint.message))
}

#[test]
#[ignore = "reads the files in the folder that PACKETLOOM_TRACES names"]
fn examples_are_read() {
    let folder = std::env::var("PACKETLOOM_TRACES").expect("PACKETLOOM_TRACES names a folder");
    let mut files = Vec::new();
    all_files(Path::new(&folder), &mut files);
    files.sort();
    let mut refused = Vec::new();
    for file in files.iter().filter_map(|file| file.to_str()) {
        match outcome(file) {
            Some(Ok(program)) => println!("{file}: {}", summary(&program)),
            Some(Err(message)) => refused.push(message),
            None => {}
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
