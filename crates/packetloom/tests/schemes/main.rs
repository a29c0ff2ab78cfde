//! Every registered scheme, one by one: what it does in a small case, as a table to read (`snapshots`), and its
//! invariants, whatever the network does (`invariants`). `rates` and `flowtune` follow the rates of some,
//! `services` what Ultra Ethernet does with a packet that is lost, `unreliable` what RDMA's unreliable connection does.

#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

#[path = "../common/mod.rs"]
mod common;

mod diff;
mod flowtune;
mod invariants;
mod rates;
mod services;
mod settings;
mod snapshots;
mod table;
mod unreliable;
mod watched;
