//! A caller of the C library that sends anything in any order: an error at worst, never a crash.

#![no_main]

mod library_calls;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| library_calls::make(data));
