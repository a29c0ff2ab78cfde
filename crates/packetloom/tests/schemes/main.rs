//! Every registered scheme, one by one: what it does in a small case, as a table to read (`snapshots`), and its
//! invariants, whatever the network does (`invariants`). `rates` and `flowtune` follow the rates of some.

#[path = "../common/mod.rs"]
mod common;

mod diff;
mod flowtune;
mod invariants;
mod rates;
mod settings;
mod snapshots;
mod table;
mod watched;
