//! packetloom's network as a C library: `include/packetloom.h` declares and explains what `boundary.rs` exports.
//!
//! Of the code here only `boundary.rs` is unsafe: it reads the caller's texts and messages, and writes to where the
//! caller wants results. Networks are named by numbers, so a handle that is not valid is found out and not followed.

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod boundary;
pub mod handles;
mod table;
