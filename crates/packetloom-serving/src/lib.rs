//! Requests to a language model that is served: see [`serving`].

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod serving;

use packetloom_base::{flow, narrow, random, spec, units};
use packetloom_jobs::formats;
