//! Every registered scheme, one by one: what it does in a small case, as a table to read (`snapshots`), and what must hold
//! of it whatever the network does (`laws`).

#[path = "../common/mod.rs"]
mod common;

mod diff;
mod laws;
mod rates;
mod settings;
mod snapshots;
mod table;
mod watched;
