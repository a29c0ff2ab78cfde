//! GOAL schedules as text.
#![no_main]

use packetloom::formats::goal;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = goal::read_text(text, &goal::Options::default());
});
