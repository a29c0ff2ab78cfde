//! GOAL schedules as LogGOPSim packs them, and whatever else begins with their number.
#![no_main]

use packetloom::formats::goal;

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    let _ = goal::read(content, &goal::Options::default());
});
