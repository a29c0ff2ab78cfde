//! Credits are conserved: what a port has sent beyond the credit that came back is on its link, waits in a buffer
//! of the far end, or is covered by a credit message on its way back.

use super::{Terms, Verdict, ensure};
use crate::engine::{Held, Inspection};
use crate::packet::Kind;
use crate::queue;

/// A link as its credits see it.
#[derive(Clone, Debug)]
struct Loop {
    link: usize,
    name: String,
    /// Its number among the links into its far end.
    number: u32,
    /// The links out of its far end.
    buffers: std::ops::Range<usize>,
    /// The link by which notifications come back.
    back: usize,
}

/// Every link that sends behind credits.
#[derive(Debug)]
pub(super) struct Credits(Vec<Loop>);

impl Credits {
    pub(super) fn new(terms: Terms<'_>) -> Credits {
        let (topology, hosts) = (terms.topology, terms.topology.hosts);
        if queue::credit_bytes(terms.queue).is_none() {
            return Credits(Vec::new());
        }
        let links = topology.links.iter().enumerate().filter(|(_, link)| link.dst >= hosts);
        let loops = links.map(|(number, link)| {
            let ports = &topology.nodes[link.dst as usize].ports;
            Loop {
                link: number,
                name: topology.link_name(number as u32),
                number: topology.links[..number].iter().filter(|other| other.dst == link.dst).count() as u32,
                buffers: ports.start as usize..ports.end as usize,
                back: topology.link_back(number),
            }
        });
        Credits(loops.collect())
    }

    pub(super) fn compare(&self, seen: &Inspection) -> Verdict {
        for Loop { link, name, number, buffers, back } in &self.0 {
            for (class, &used) in seen.links[*link].credit_used.iter().enumerate() {
                let is_owed = |packet: &&Held| packet.kind == Kind::Data && packet.credit_class == class;
                let on_link = seen.links[*link].on_link.iter().map(|(_, packet)| packet);
                let waiting = seen.waiting(buffers.clone()).filter(|packet| packet.ingress == *number);
                let owed: u64 =
                    on_link.chain(waiting).filter(is_owed).map(|packet| u64::from(packet.size_bytes)).sum();
                let coming = &seen.links[*back];
                let coming = coming.on_link.iter().map(|(_, packet)| packet).chain(&coming.queued);
                let returning = coming.filter_map(|packet| packet.credit).filter(|credit| credit.0 == class);
                let returning: u64 = returning.map(|(_, bytes)| bytes).sum();
                ensure(used == owed + returning, "credits are conserved", seen.now, || {
                    format!(
                        "{name}, class {class}: {used} B used, {owed} B at the far end, {returning} B on their way back"
                    )
                })?;
            }
        }
        Ok(())
    }
}
