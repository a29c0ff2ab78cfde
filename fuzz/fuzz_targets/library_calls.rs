//! Calls of the C library in any order, with any numbers, as bytes say: for the fuzz target, and for the test that replays
//! its corpus (`crates/packetloom-c/tests/corpus.rs`).

use packetloom_c::boundary::{
    CEvent, CMessage, CProgress, packetloom_close, packetloom_finish, packetloom_message_progress,
    packetloom_next, packetloom_now, packetloom_open, packetloom_send, packetloom_set,
    packetloom_switch_ports, packetloom_timer,
};
use std::ptr::null;

const SCENARIO: &std::ffi::CStr = c"[topology]
kind = \"rack\"
hosts = 4
[[scheme]]
name = \"one\"
transport = \"dctcp\"
queue = { kind = \"ecn\", capacity = \"225KB\" }
[run]
max_time = \"10ms\"
";

/// Numbers near the ends of their ranges and small ones, as callers get them wrong.
fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let number = u64::from_le_bytes(whole);
    match number % 5 {
        0 => number >> 56,
        1 => u64::MAX - (number >> 60),
        2 => 1 << (number >> 58),
        3 => (number >> 8) % 20_000_000,
        _ => number,
    }
}

/// Makes the calls on a network, and ends it.
pub fn make(data: &[u8]) {
    let mut network = 0;
    // SAFETY: texts that end with zero, and room for all results.
    unsafe {
        assert_eq!(packetloom_open(SCENARIO.as_ptr(), null(), 2, &mut network), 0);
        for call in data.chunks(13).take(64) {
            let (what, mut event) = (call[0], CEvent::default());
            let (one, two) = (number(&call[1..]), number(call.get(7..).unwrap_or_default()));
            let handle = if what & 0x80 == 0 { network } else { one };
            match what & 7 {
                0..=2 => {
                    let message = CMessage {
                        src: (one >> 3) as u32 & if what & 8 == 0 { 3 } else { u32::MAX },
                        dst: one as u32 & if what & 16 == 0 { 3 } else { u32::MAX },
                        bytes: if what & 32 == 0 { two % 100_000 } else { two },
                        delay_ps: if what & 64 == 0 { one % 1_000_000 } else { one },
                        traffic_class: one as u32 >> 29,
                        ..CMessage::default()
                    };
                    packetloom_send(
                        handle,
                        [message; 3].as_ptr(),
                        usize::from(what & 3),
                        std::ptr::null_mut(),
                    );
                }
                3 => drop(packetloom_timer(handle, one, two, std::ptr::null_mut())),
                4 => drop(packetloom_message_progress(handle, one, &mut CProgress::default())),
                5 => drop(packetloom_now(handle, &mut 0)),
                6 if what & 0x78 == 0x78 => drop(packetloom_close(handle)),
                7 if what & 0x18 == 0x18 => {
                    let key =
                        [c"transport.g", c"queue.mark_above", c"queue.capacity", c""][(one % 4) as usize];
                    let value = [c"0.5", c"20KB", c"1e999", c"nothing"][(two % 4) as usize];
                    let nodes = [one as u32, two as u32];
                    packetloom_set(
                        handle,
                        key.as_ptr(),
                        value.as_ptr(),
                        nodes.as_ptr(),
                        usize::from(what >> 5 & 1),
                    );
                    packetloom_switch_ports(handle, std::ptr::null_mut(), 0, std::ptr::null_mut(), &mut 0);
                }
                _ => drop(packetloom_next(handle, one, &mut event)),
            }
        }
        let code = packetloom_finish(network, null());
        assert!(code == 0 || code == -3, "the run is sound, or was closed");
        assert_eq!(packetloom_close(network), -3);
    }
}
