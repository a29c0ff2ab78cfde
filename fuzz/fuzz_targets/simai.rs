//! SimAI's workloads.
#![no_main]

use packetloom::formats::simai;

libfuzzer_sys::fuzz_target!(|text: &str| {
    for ranks_per_package in [None, Some(2)] {
        let options =
            simai::Options { most_operations: 1 << 16, ranks_per_package, ..simai::Options::default() };
        let _ = simai::read(text, &options);
    }
});
