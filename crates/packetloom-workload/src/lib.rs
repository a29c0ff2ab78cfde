//! The traffic of a scenario: see [`workload`].

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod workload;

use packetloom_base::{flow, narrow, random, spec, units};
use packetloom_jobs::{formats, job, nccl};
use packetloom_serving::serving;
