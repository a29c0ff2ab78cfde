//! Graphs of operations, and where they come from.
//!
//! | Start at | for |
//! |---|---|
//! | [`job`] | a graph of operations of one rank |
//! | [`nccl`] | what NCCL makes of a call: algorithm, protocol, channels, messages |
//! | [`formats`] | other simulators' files |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod formats;
pub mod job;
pub mod nccl;

use packetloom_base::{files, narrow, spec, units};
