//! htsim's .cm files.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::formats::htsim_connections::read(text, Some(packetloom::units::Time::from_us(1)));
});
