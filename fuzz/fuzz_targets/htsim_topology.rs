//! htsim's .topo files.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::formats::htsim_topology::read(text);
});
