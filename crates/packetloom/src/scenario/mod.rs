//! The one declarative description of an experiment: read, checked, and laid out as cases.
//!
//! A scenario is written in TOML, or built from Python objects (JSON). What it can contain follows only from the
//! components that the modules declare ([`crate::spec::Component`]): [`registry`] lists them, [`Scenario`] reads a
//! text against them, [`explain`] and [`schema`] describe them to people and editors. A scenario that was read is a
//! grid of [`Case`]s, each complete in itself.

mod assemble;
mod canonical;
mod case;
mod consistency;
mod describe;
pub mod explain;
mod files;
mod former;
mod grid;
mod hash;
mod idle;
mod longer;
mod presets;
mod problem;
pub mod quantity;
mod read;
pub mod registry;
mod scalar;
pub mod schema;
pub mod sections;
mod seeds;
pub mod setting;
mod suggest;
#[cfg(test)]
mod testing;
mod tree;
mod unique;
mod unused;
mod variant;

pub use case::Case;
pub use files::Library;
pub use grid::{Precision, Scenario};
pub use hash::hex as hash_of;
pub use problem::{Problem, Problems};
pub use registry::{ROLES, Registry};
pub use variant::Axis;
