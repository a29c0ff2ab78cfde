//! Flow-size distributions.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::workload::cdf::Cdf::read(text);
});
