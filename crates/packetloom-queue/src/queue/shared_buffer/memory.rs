//! The memory manager of a switch: what is admitted, which link is charged for it, and when a link is paused and
//! resumed.

use super::filters::{At, Filters, RESUME_BELOW_BYTES};
use super::limits::GUARANTEED_BYTES;
use super::{CLASSES, Pfc, Sharing, class_in, doublings};
use crate::narrow::{narrow, saturated};
use crate::units::Rate;
use std::ops::Range;

/// What of a link's classes is to be paused or resumed, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// To be paused.
    pub pause: u8,
    /// To be resumed.
    pub resume: u8,
}

/// What a link's class has in the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    /// In the reserve and the shared part.
    bytes: u64,
    /// In the headroom. With [`Sharing::Pools`] this is counted among the former, too.
    headroom: u64,
}

/// A link into the switch.
#[derive(Clone, Debug)]
struct Ingress {
    headroom_limit: u64,
    /// Out of 2^16.
    alpha_q16: u64,
    /// Over all classes.
    bytes: u64,
    /// The classes that are paused.
    paused: u8,
}

/// The buffer of a switch.
#[derive(Clone, Debug)]
pub struct Memory {
    sharing: Sharing,
    buffer: u64,
    shared_limit: u64,
    reserve: u64,
    resume_offset: u64,
    egress_alpha_q16: Option<u64>,
    /// What all queues may hold together, where lossless ones are limited at egress too.
    egress_limit: Option<u64>,
    /// Whether a link is paused again with each packet that it is paused for.
    pauses_again: bool,
    /// What a lossless class of a link may have at most before it is paused, where that does not go by what is free.
    pause_above: Option<u64>,
    lossless: u8,
    /// Used of the shared part; with [`Sharing::Pools`] all that is in the buffer.
    used: u64,
    links: Vec<Ingress>,
    /// What each link has there, class by class, so that those of the few classes in use lie together.
    charges: Vec<Charge>,
    lossless_drops: u64,
    /// How many links have a class that is paused.
    paused_links: u32,
    /// Of all links and classes together.
    headroom_used: u64,
    /// The smallest of the links' alphas.
    least_alpha_q16: u64,
    /// With [`Sharing::Filters`].
    filters: Option<Box<Filters>>,
}

fn q16(alpha: f64) -> u64 {
    saturated::<u64>(alpha * 65_536.0)
}

impl Memory {
    /// An empty buffer of a switch with links of these rates and headroom.
    pub fn build(pfc: &Pfc, links_in: &[(Rate, u64)], host_rate: Rate) -> Memory {
        let shares = &pfc.shares;
        let alpha = shares.alpha.unwrap_or_else(|| shares.by_mmu(0.125, 0.0625));
        let by_rate = shares.alpha_by_rate.unwrap_or_else(|| shares.by_mmu(true, false));
        let headroom: Vec<u64> = links_in.iter().map(|(_, headroom)| *headroom).collect();
        let ingress = |&(rate, headroom_limit): &(Rate, u64)| {
            let times = if by_rate { doublings(rate, host_rate) } else { 0 };
            let most = alpha.max(1.0);
            Ingress {
                headroom_limit,
                alpha_q16: q16((alpha * 2.0_f64.powi(narrow::<i32>(times))).min(most)),
                bytes: 0,
                paused: 0,
            }
        };
        let links: Vec<Ingress> = links_in.iter().map(ingress).collect();
        let egress_alpha = shares.egress_alpha.or_else(|| shares.by_mmu(None, Some(1.0)));
        let offset = shares.by_mmu(3_072, saturated::<u64>(16.0 * alpha));
        Memory {
            sharing: shares.sharing,
            buffer: shares.buffer_bytes,
            shared_limit: pfc.shared_bytes(&headroom).unwrap_or(0),
            reserve: shares.reserve(),
            resume_offset: shares.resume_offset_bytes.unwrap_or(offset),
            egress_alpha_q16: egress_alpha.map(q16),
            egress_limit: shares.limits_all.then(|| shares.shared_bytes_without_headroom(links.len())),
            pauses_again: pfc.pauses.run_out,
            pause_above: shares.pause_above_bytes,
            lossless: pfc.pauses.lossless,
            used: 0,
            charges: vec![Charge::default(); links.len() * CLASSES],
            lossless_drops: 0,
            paused_links: 0,
            headroom_used: 0,
            least_alpha_q16: links.iter().map(|link| link.alpha_q16).min().unwrap_or(0),
            filters: shares.filter.map(|filter| Box::new(Filters::build(&filter, links.len()))),
            links,
        }
    }

    /// The threshold of a link's class: its alpha times what is free of the shared part; or so many bytes, as long as
    /// the shared part has them.
    fn threshold(&self, link: usize, class: usize) -> u64 {
        let free = self.shared_limit.saturating_sub(self.used);
        if let Some(bytes) = self.pause_above.filter(|_| self.is_lossless(class)) {
            return bytes.min(self.beyond(link, class) + free);
        }
        narrow::<u64>((u128::from(free) * u128::from(self.links[link].alpha_q16)) >> 16)
    }

    #[inline]
    fn charge(&self, link: usize, class: usize) -> Charge {
        self.charges[class * self.links.len() + link]
    }

    #[inline]
    fn charge_mut(&mut self, link: usize, class: usize) -> &mut Charge {
        &mut self.charges[class * self.links.len() + link]
    }

    /// What a class of a link has beyond what it may always have.
    fn beyond(&self, link: usize, class: usize) -> u64 {
        let guaranteed = match self.sharing {
            Sharing::Thresholds | Sharing::Filters => self.reserve,
            // switch-mmu.cc, CheckShouldPause: the link's and the class's own.
            Sharing::Pools => GUARANTEED_BYTES,
        };
        self.charge(link, class).bytes.saturating_sub(guaranteed)
    }

    /// A packet of a charged class came by a link, and is to leave by a port where so much of its class waits.
    /// Returns whether it fits, and the signals to send to the link.
    pub fn arrive(
        &mut self,
        (link, out): (u32, u32),
        class: u8,
        size_bytes: u16,
        waiting: u64,
    ) -> (bool, Signals) {
        let (link, class, size) = (link as usize, class_in(class), u64::from(size_bytes));
        let has_room = match self.sharing {
            Sharing::Filters => self.charge_by_filter((link, out as usize), class, size),
            _ => self.has_room(link, class, size, waiting),
        };
        if !has_room {
            self.lossless_drops += u64::from(self.is_lossless(class));
            return (false, Signals::default());
        }
        match self.sharing {
            Sharing::Thresholds => self.charge_by_threshold(link, class, size),
            Sharing::Pools => self.charge_to_pool(link, class, size),
            Sharing::Filters => {}
        }
        let candidates = match self.sharing {
            Sharing::Thresholds | Sharing::Filters => 1 << class,
            Sharing::Pools => u8::MAX,
        };
        let mut signals = Signals { pause: self.to_pause(link, candidates), resume: 0 };
        if self.sharing == Sharing::Pools {
            signals.resume = self.to_resume(link, candidates & !signals.pause);
        }
        (true, self.note(link, signals))
    }

    /// Whether a packet that comes by a link and leaves at the same instant surely leaves the buffer as it was, and
    /// is no cause to pause the link or resume it.
    #[inline]
    pub fn passes(&self, link: u32, class: u8, size_bytes: u16) -> bool {
        let (link, class, size) = (link as usize, class_in(class), u64::from(size_bytes));
        let Ingress { paused, alpha_q16, .. } = &self.links[link];
        let Charge { bytes, headroom } = self.charge(link, class);
        let beyond = (bytes + size).saturating_sub(self.reserve);
        let free = self.shared_limit.saturating_sub(self.used + size);
        self.sharing == Sharing::Thresholds
            && self.is_lossless(class)
            && (*paused, headroom) == (0, 0)
            && match self.pause_above {
                Some(bytes) => size + beyond < bytes && size < free,
                None => u128::from(size + beyond) < (u128::from(free) * u128::from(*alpha_q16)) >> 16,
            }
    }

    /// A packet that came by a link has left by a port. Returns the signals to send to the link.
    pub fn leave(&mut self, (link, out): (u32, u32), class: u8, size_bytes: u16) -> Signals {
        let (link, class, size) = (link as usize, class_in(class), u64::from(size_bytes));
        match self.sharing {
            Sharing::Thresholds => self.discharge_by_threshold(link, class, size),
            Sharing::Pools => self.discharge_from_pool(link, class, size),
            Sharing::Filters => self.discharge_by_filter((link, out as usize), class, size),
        }
        let candidates = match self.sharing {
            Sharing::Thresholds | Sharing::Filters => 1 << class,
            Sharing::Pools => u8::MAX,
        };
        let resume = self.to_resume(link, candidates);
        self.note(link, Signals { pause: 0, resume })
    }

    fn note(&mut self, link: usize, signals: Signals) -> Signals {
        let paused = &mut self.links[link].paused;
        let was_paused = *paused != 0;
        *paused = (*paused | signals.pause) & !signals.resume;
        self.paused_links = self.paused_links + u32::from(*paused != 0) - u32::from(was_paused);
        signals
    }

    /// Whether it can be that nothing pauses or resumes a link for a while, see [`Memory::stays_quiet`].
    pub fn may_be_quiet(&self) -> bool {
        self.sharing == Sharing::Thresholds && self.egress_limit.is_none()
    }

    /// Whether no link is paused, and none will be while so many bytes arrive of these classes, whatever link they come
    /// by and whatever leaves meanwhile. What is charged and discharged then comes to the same in any order.
    #[inline]
    pub fn stays_quiet(&self, arriving_bytes: u64, classes: u8) -> bool {
        // No link has more beyond its reserve than all links have of the shared part.
        let used = self.used + arriving_bytes;
        let free = self.shared_limit.saturating_sub(used);
        let threshold = match self.pause_above {
            Some(bytes) => bytes.min(free),
            None => narrow::<u64>((u128::from(free) * u128::from(self.least_alpha_q16)) >> 16),
        };
        (self.paused_links, self.headroom_used) == (0, 0) && classes & !self.lossless == 0 && used < threshold
    }

    /// A packet of a charged class came by a link, and the buffer stays quiet.
    #[inline]
    pub fn arrive_quietly(&mut self, link: u32, class: u8, size_bytes: u16) {
        let reserve = self.reserve;
        let charge = self.charge_mut(link as usize, class_in(class));
        let before = charge.bytes.saturating_sub(reserve);
        charge.bytes += u64::from(size_bytes);
        let after = charge.bytes.saturating_sub(reserve);
        self.used += after - before;
    }

    /// A packet that came by a link has left, and the buffer stays quiet.
    #[inline]
    pub fn leave_quietly(&mut self, link: u32, class: u8, size_bytes: u16) {
        self.discharge_by_threshold(link as usize, class_in(class), u64::from(size_bytes));
    }

    /// The links into the switch, by their numbers there.
    pub fn links(&self) -> Range<u32> {
        0..narrow::<u32>(self.links.len())
    }

    /// How large the buffer is.
    pub fn size_bytes(&self) -> u64 {
        self.buffer
    }

    /// Packets of lossless classes that did not fit.
    pub fn lossless_drops(&self) -> u64 {
        self.lossless_drops
    }

    /// The classes of a link that are paused.
    pub fn paused(&self, link: u32) -> u8 {
        self.links[link as usize].paused
    }

    /// What a link's class has in the buffer.
    pub fn charged(&self, link: u32, class: usize) -> u64 {
        let charge = self.charge(link as usize, class);
        match self.sharing {
            Sharing::Thresholds | Sharing::Filters => charge.bytes + charge.headroom,
            Sharing::Pools => charge.bytes,
        }
    }

    /// What of a link's headroom its class uses, and how much there is.
    pub fn headroom(&self, link: u32, class: usize) -> (u64, u64) {
        let link = link as usize;
        (self.charge(link, class).headroom, self.links[link].headroom_limit)
    }

    fn is_lossless(&self, class: usize) -> bool {
        self.lossless >> class & 1 == 1
    }

    fn has_room(&self, link: usize, class: usize, size: u64, waiting: u64) -> bool {
        let Ingress { headroom_limit, bytes, .. } = &self.links[link];
        let charge = self.charge(link, class);
        let headroom = if self.is_lossless(class) { *headroom_limit } else { 0 };
        let fits_headroom = size + charge.headroom <= headroom;
        let is_in_time = match self.sharing {
            Sharing::Thresholds | Sharing::Filters => {
                size + self.beyond(link, class) <= self.threshold(link, class)
            }
            Sharing::Pools => {
                let is_guaranteed = charge.bytes + size <= self.reserve || bytes + size <= self.reserve;
                self.used + size <= self.buffer && (is_guaranteed || self.used <= self.shared_limit)
            }
        };
        let is_within = self.sharing == Sharing::Thresholds || self.used + size <= self.buffer;
        (is_in_time || (fits_headroom && is_within))
            && ((self.is_lossless(class) && self.egress_limit.is_none()) || self.leaves(size, waiting))
    }

    /// Whether a queue with so much waiting may grow, where that is limited at egress.
    fn leaves(&self, size: u64, waiting: u64) -> bool {
        let free = self.egress_limit.unwrap_or(self.shared_limit).saturating_sub(self.used);
        self.egress_alpha_q16.is_none_or(|alpha| waiting + size <= (free * alpha) >> 16)
    }

    fn charge_by_threshold(&mut self, link: usize, class: usize, size: u64) {
        let threshold = self.threshold(link, class);
        let reserve = self.reserve;
        let is_lossless = self.is_lossless(class);
        let charge = self.charge_mut(link, class);
        let with_it = charge.bytes + size;
        if with_it <= reserve {
            charge.bytes = with_it;
        } else if with_it - reserve > threshold && is_lossless {
            charge.headroom += size;
            self.headroom_used += size;
        } else {
            charge.bytes = with_it;
            self.used += size.min(with_it - reserve);
        }
    }

    fn discharge_by_threshold(&mut self, link: usize, class: usize, size: u64) {
        let reserve = self.reserve;
        let charge = self.charge_mut(link, class);
        let from_headroom = charge.headroom.min(size);
        charge.headroom -= from_headroom;
        let rest = size - from_headroom;
        let from_shared = rest.min(charge.bytes.saturating_sub(reserve));
        charge.bytes -= rest;
        self.used -= from_shared;
        self.headroom_used -= from_headroom;
    }

    /// Where a packet is counted: what is lossless by the link that it came by, the rest by its port.
    fn counted_at(&self, (link, out): (usize, usize), class: usize) -> At {
        if self.is_lossless(class) { At::In(link) } else { At::Out(out) }
    }

    /// Charges a packet to the pool or to its link's headroom, if it fits.
    fn charge_by_filter(&mut self, way: (usize, usize), class: usize, size: u64) -> bool {
        let (at, is_lossless) = (self.counted_at(way, class), self.is_lossless(class));
        let (with_it, headroom) = (self.used + size, self.charge(way.0, class).headroom);
        let Some(filters) = &self.filters else { return false };
        let smoothed = filters.smoothed(at, class);
        let may_say = |used: u64| filters.threshold(at, class, self.shared_limit.saturating_sub(used));
        let is_within = with_it <= self.shared_limit
            && match is_lossless {
                true => headroom == 0 && smoothed <= may_say(with_it),
                false => smoothed + size as f64 <= may_say(self.used),
            };
        if is_within {
            self.used = with_it;
            self.charge_mut(way.0, class).bytes += size;
        } else if is_lossless && headroom + size <= self.links[way.0].headroom_limit {
            self.headroom_used += size;
            self.charge_mut(way.0, class).headroom += size;
        } else {
            return false;
        }
        self.filters.iter_mut().for_each(|filters| filters.join(at, class, size));
        true
    }

    fn discharge_by_filter(&mut self, way: (usize, usize), class: usize, size: u64) {
        let at = self.counted_at(way, class);
        // The reserve is nothing.
        self.discharge_by_threshold(way.0, class, size);
        self.filters.iter_mut().for_each(|filters| filters.leave(at, class, size));
    }

    fn charge_to_pool(&mut self, link: usize, class: usize, size: u64) {
        self.used += size;
        let is_full = self.used > self.shared_limit;
        self.links[link].bytes += size;
        let charge = self.charge_mut(link, class);
        charge.bytes += size;
        if is_full {
            charge.headroom += size;
        }
    }

    fn discharge_from_pool(&mut self, link: usize, class: usize, size: u64) {
        self.used -= size;
        self.links[link].bytes -= size;
        let charge = self.charge_mut(link, class);
        charge.bytes -= size;
        charge.headroom = charge.headroom.saturating_sub(size);
    }

    fn to_pause(&self, link: usize, candidates: u8) -> u8 {
        let is_over = |class: usize| {
            let charge = self.charge(link, class);
            let beyond = self.beyond(link, class);
            match self.sharing {
                Sharing::Thresholds => charge.headroom > 0 || beyond >= self.threshold(link, class),
                Sharing::Filters => charge.headroom > 0,
                Sharing::Pools => beyond > 0 && (charge.headroom > 0 || beyond > self.threshold(link, class)),
            }
        };
        let settled = if self.pauses_again { 0 } else { self.links[link].paused };
        self.classes(candidates & self.lossless & !settled, is_over)
    }

    fn to_resume(&self, link: usize, candidates: u8) -> u8 {
        let is_under = |class: usize| {
            if let Some(filters) = &self.filters {
                let smoothed = filters.smoothed(At::In(link), class);
                let free = self.shared_limit.saturating_sub(self.used);
                let may_say = filters.threshold(At::In(link), class, free);
                return self.charge(link, class).headroom == 0
                    && (smoothed < RESUME_BELOW_BYTES || smoothed + self.resume_offset as f64 <= may_say);
            }
            let charge = self.charge(link, class);
            let beyond = self.beyond(link, class);
            charge.headroom == 0
                && (beyond == 0 || beyond + self.resume_offset <= self.threshold(link, class))
        };
        self.classes(candidates & self.links[link].paused, is_under)
    }

    fn classes(&self, candidates: u8, is_meant: impl Fn(usize) -> bool) -> u8 {
        let mut meant = 0;
        let mut left = candidates;
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            left &= left - 1;
            meant |= u8::from(is_meant(class)) << class;
        }
        meant
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
