//! Traces of requests to a language model.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::serving::trace::read(text);
});
