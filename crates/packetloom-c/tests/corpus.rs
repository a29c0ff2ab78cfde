//! The kept corpus of the fuzz target `library`: each file is a caller who gets errors at worst.

#![allow(unsafe_code, clippy::cast_possible_truncation)]

#[path = "../../../fuzz/fuzz_targets/library_calls.rs"]
mod library_calls;

use std::path::Path;

#[test]
fn callers_of_the_kept_corpus_get_errors_at_worst() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/library");
    let files: Vec<_> =
        std::fs::read_dir(corpus).expect("a corpus").map(|file| file.expect("a file")).collect();
    files.iter().for_each(|file| library_calls::make(&std::fs::read(file.path()).expect("a file")));
    assert!(files.len() > 3, "only {} callers", files.len());
}
