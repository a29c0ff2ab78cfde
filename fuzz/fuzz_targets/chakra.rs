//! A rank's Chakra trace, in Protocol Buffers and as JSON.
#![no_main]

use packetloom::formats::chakra::{Groups, Options, Source, import};

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    for name in ["t.0.et", "t.0.json"] {
        let source = Source { name: name.to_owned(), content: content.to_vec() };
        if let Ok(imported) = import(1, [Ok(source)].into_iter(), &Groups::new(), &Options::default()) {
            let _ = imported.report.to_string();
            let _ = imported.check();
        }
    }
});
