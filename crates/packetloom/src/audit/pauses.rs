//! Invariants of a shared buffer: a link is charged for exactly what waits of it, headroom is never exceeded, no
//! lossless packet is dropped, and every PAUSE has its end.

use super::{Terms, Verdict, ensure};
use crate::engine::{Inspection, SharedBuffer};
use std::collections::BTreeMap;

/// What holds of all shared buffers.
#[derive(Debug)]
pub(super) struct Pauses {
    /// Whether all that a class needs is kept for it, and no frame is lost.
    is_safe: bool,
}

impl Pauses {
    pub(super) fn new(terms: Terms<'_>) -> Pauses {
        let is_kept = terms.queue.pfc.is_some_and(|pfc| pfc.is_lossless());
        Pauses { is_safe: is_kept && !terms.has_faults }
    }

    pub(super) fn compare(&self, seen: &Inspection, name: impl Fn(u32) -> String) -> Verdict {
        for buffer in &seen.shared_buffers {
            self.charges_what_waits(buffer, seen, &name)?;
        }
        let mut paused = seen.links.iter().enumerate().filter(|(_, link)| link.paused != 0);
        let endless = paused.next().filter(|_| seen.is_idle && self.is_safe);
        ensure(endless.is_none(), "every PAUSE has its end", seen.now, || {
            let (link, classes) = endless.map_or((0, 0), |(link, state)| (link, state.paused));
            format!("link {link} remains paused, classes {classes:#b}, and nothing will resume it")
        })
    }

    fn charges_what_waits(
        &self,
        buffer: &SharedBuffer,
        seen: &Inspection,
        name: impl Fn(u32) -> String,
    ) -> Verdict {
        let mut waits: BTreeMap<(u32, u8), u64> = BTreeMap::new();
        for packet in seen.waiting(buffer.links_out.clone()).chain(&buffer.held) {
            if let Some(class) = packet.charged_class {
                *waits.entry((packet.ingress, class)).or_default() += u64::from(packet.size_bytes);
            }
        }
        for charge in &buffer.charges {
            let waiting = waits.remove(&(charge.link, charge.class)).unwrap_or(0);
            let of = || format!("{}, link {} in, class {}", name(buffer.node), charge.link, charge.class);
            ensure(charge.bytes == waiting, "a link is charged with what waits of it", seen.now, || {
                format!("{}: {} B charged, {waiting} B wait", of(), charge.bytes)
            })?;
            let (used, limit) = charge.headroom;
            let is_within = used <= limit || !self.is_safe;
            ensure(is_within, "headroom is never exceeded", seen.now, || {
                format!("{}: {used} B of {limit} B", of())
            })?;
        }
        let all: u64 = buffer.charges.iter().map(|charge| charge.bytes).sum();
        ensure(all <= buffer.size_bytes, "a buffer never holds more than its size", seen.now, || {
            format!("{}: {all} B in {} B", name(buffer.node), buffer.size_bytes)
        })?;
        let strange = waits.keys().next();
        ensure(strange.is_none(), "a link is charged with what waits of it", seen.now, || {
            let (link, class) = strange.copied().unwrap_or_default();
            format!(
                "{}: packets of link {link} in, class {class}, wait and are charged to no link",
                name(buffer.node)
            )
        })?;
        let is_kept = buffer.lossless_drops == 0 || !self.is_safe;
        ensure(is_kept, "nothing lossless is ever dropped", seen.now, || {
            format!("{}: {} packets", name(buffer.node), buffer.lossless_drops)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Held, LinkCharge, LinkState};

    /// A switch with one port, at which a packet of class 3 waits that came by link 1.
    fn sound() -> Inspection {
        let packet = Held { size_bytes: 1_500, ingress: 1, charged_class: Some(3), ..Held::default() };
        let port = LinkState { queued: vec![packet], ..LinkState::default() };
        let charge = |link, bytes| LinkCharge { link, class: 3, bytes, headroom: (0, 5_000) };
        let buffer = SharedBuffer {
            node: 2,
            links_out: 0..1,
            held: Vec::new(),
            charges: vec![charge(0, 0), charge(1, 1_500)],
            size_bytes: 10_000,
            lossless_drops: 0,
        };
        Inspection { links: vec![port], shared_buffers: vec![buffer], is_idle: true, ..Inspection::default() }
    }

    #[test]
    fn every_law_of_shared_buffers_is_seen_to_be_broken() {
        type Change = fn(&mut Inspection);
        let changes: [(Option<&str>, Change); 7] = [
            (None, |_| ()),
            (Some("a link is charged with what waits of it"), |seen| {
                seen.shared_buffers[0].charges[0].bytes = 1;
            }),
            (Some("a link is charged with what waits of it"), |seen| seen.links[0].queued[0].ingress = 2),
            (Some("headroom is never exceeded"), |seen| seen.shared_buffers[0].charges[1].headroom.0 = 5_001),
            (Some("nothing lossless is ever dropped"), |seen| seen.shared_buffers[0].lossless_drops = 1),
            (Some("a buffer never holds more than its size"), |seen| {
                seen.shared_buffers[0].size_bytes = 1_499
            }),
            (Some("every PAUSE has its end"), |seen| seen.links[0].paused = 1 << 3),
        ];
        for (invariant, change) in changes {
            let mut seen = sound();
            change(&mut seen);
            let verdict = Pauses { is_safe: true }.compare(&seen, |node| format!("switch{node}"));
            assert_eq!(verdict.err().map(|violation| violation.invariant), invariant);
        }
    }
}
