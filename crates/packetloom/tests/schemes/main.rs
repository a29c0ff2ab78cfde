//! Every registered scheme, one by one: what it does in a small case, as a table to read (`snapshots`), and its
//! invariants, whatever the network does (`invariants`).

#[path = "../common/mod.rs"]
mod common;

mod diff;
mod invariants;
mod rates;
mod settings;
mod snapshots;
mod table;
mod watched;
