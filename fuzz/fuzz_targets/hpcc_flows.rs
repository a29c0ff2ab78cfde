//! HPCC's flow files.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::formats::hpcc_flows::read(text);
});
