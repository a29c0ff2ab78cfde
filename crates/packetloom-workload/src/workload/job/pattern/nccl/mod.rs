//! What NCCL's channels send. Each channel is a lane, in which a rank does one thing after the other: it takes a message
//! and passes on, in the order of loops, chunks and slices. At most eight steps of a connection are under way.

mod nvls;
mod pairs;
mod pat;
mod pipeline;
mod ring;
#[cfg(test)]
mod tests;
mod tree;

pub use nvls::{Halves, LANES as SWITCHED_LANES, Switched, switched};
pub use pairs::{Pairing, pairs};
pub use pat::pat;
pub use pipeline::pipelines;
pub use ring::rings;
pub use tree::trees;

use super::rail_ring::RailRing;
use super::ring::Ring;

/// The rings of an operation, of which channels take one after the other: one for each NIC of a server, evenly spread.
fn tours((ranks, server): (u32, u32), nics: u32, steps: u32) -> Result<Vec<RailRing>, String> {
    let all = RailRing::all(Ring { ranks, steps }, Some(server))?;
    let used = nics.min(server);
    Ok((0..used).map(|nth| all[(nth * server / used) as usize]).collect())
}
