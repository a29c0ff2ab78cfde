//! Credits are conserved: what a port has sent beyond the credit that came back is on its link, waits in a buffer
//! of the far end, or is covered by a credit message on its way back.

use super::{Terms, Verdict, ensure};
use crate::engine::{Held, Inspection};
use crate::narrow::exact;
use crate::packet::Kind;
use crate::queue::Charge;

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
pub(super) struct Credits {
    loops: Vec<Loop>,
    /// What packets take, where that is not their bytes.
    charge: Option<Charge>,
}

impl Credits {
    pub(super) fn new(terms: Terms<'_>) -> Credits {
        let (topology, hosts) = (terms.topology, terms.topology.hosts);
        if terms.queue.credit_bytes().is_none() {
            return Credits { loops: Vec::new(), charge: None };
        }
        let links = topology.links.iter().enumerate().filter(|(_, link)| link.dst >= hosts);
        let loops = links.map(|(number, link)| {
            let ports = &topology.nodes[link.dst as usize].ports;
            Loop {
                link: number,
                name: topology.link_name(exact::<u32>(number)),
                number: exact::<u32>(
                    topology.links[..number].iter().filter(|other| other.dst == link.dst).count(),
                ),
                buffers: ports.start as usize..ports.end as usize,
                back: topology.link_back(number),
            }
        });
        Credits { loops: loops.collect(), charge: terms.queue.credit.map(|credit| credit.charge) }
    }

    pub(super) fn compare(&self, seen: &Inspection) -> Verdict {
        for Loop { link, name, number, buffers, back } in &self.loops {
            for (class, &used) in seen.links[*link].credit_used.iter().enumerate() {
                let on_link = seen.links[*link].on_link.iter().map(|(_, packet)| packet);
                let waiting = seen.waiting(buffers.clone()).filter(|packet| packet.ingress == *number);
                let owed: u64 = on_link.chain(waiting).map(|packet| self.bytes_of(packet, class)).sum();
                let collected = seen.owed_credit.get(&buffers.start);
                let collected = collected.map_or(0, |links| u64::from(links[*number as usize][class]));
                let coming = &seen.links[*back];
                let coming = coming.on_link.iter().map(|(_, packet)| packet).chain(&coming.queued);
                let returning = coming.filter_map(|packet| packet.credit).filter(|credit| credit.0 == class);
                let returning: u64 = returning.map(|(_, bytes)| bytes).sum();
                ensure(used == owed + collected + returning, "credits are conserved", seen.now, || {
                    format!(
                        "{name}, class {class}: {used} B used, {owed} B at the far end, {collected} B collected there, \
                         {returning} B on their way back"
                    )
                })?;
            }
        }
        Ok(())
    }

    /// What a packet takes of a class.
    fn bytes_of(&self, packet: &Held, class: usize) -> u64 {
        let Some(charge) = self.charge else {
            let is_it = packet.kind == Kind::Data && packet.credit_class == class;
            return if is_it { packet.size_bytes.into() } else { 0 };
        };
        let taken = charge.bytes(packet.charged_class, packet.size_bytes);
        taken.filter(|(taken, _)| usize::from(*taken) == class).map_or(0, |(_, bytes)| bytes)
    }
}
