//! Lists of flows: packetloom's own CSV.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = packetloom::workload::list::FlowList::read(text, 16);
});
