//! htsim's .cm files.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::formats::htsim_connections::read(text);
});
