//! HPCC's topology files.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::formats::hpcc_topology::read(text);
});
