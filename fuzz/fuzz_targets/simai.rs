//! SimAI's workloads.
#![no_main]

use packetloom::formats::simai;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let options = simai::Options { most_operations: 1 << 16, ..simai::Options::default() };
    let _ = simai::read(text, &options);
});
