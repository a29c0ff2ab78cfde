//! The watchdog of priority flow control: a class that a port has been kept from sending for too long is emptied,
//! so that a storm of pauses, or a cycle of them, does not hold the network forever (SONiC's PFC watchdog, action
//! drop).

use super::Switch;
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::queue::departure;
use crate::units::Time;

impl Switch {
    /// A class was paused at the port that leads back along a link: if that began now, the watchdog will look at it.
    pub(super) fn watch<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        class: u8,
        ports: &[Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let back = self.ways_back[link as usize];
        let patience = self.pauses().map_or(Time::NEVER, |pauses| pauses.patience());
        let since = ports[back as usize].paused().and_then(|paused| paused.since(class));
        if patience != Time::NEVER && since == Some(now) {
            link_table.remind((self.node, link), now + patience, LinkMessage::Watchdog { class });
        }
    }

    /// The watchdog looks: a class that has been paused all the time since is emptied.
    pub(super) fn look_after<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        class: u8,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let back = self.ways_back[link as usize] as usize;
        let patience = self.pauses().map_or(Time::NEVER, |pauses| pauses.patience());
        let since = ports[back].paused().and_then(|paused| paused.since(class));
        if since.is_none_or(|since| since.saturating_add(patience) > now) {
            return;
        }
        for id in ports[back].give_up(now, class, &mut link_table.packets) {
            let left = departure(id, &link_table.packets);
            ports[back].refuse(id, link_table);
            if let Some(left) = left {
                self.discharge(now, (left, narrow::<u32>(back)), ports, link_table);
            }
        }
        ports[back].note_emptied(now);
    }
}

/// Whether a port drops what comes for it, as its watchdog has given the class up.
pub(super) fn drops<H: Copy + Default, A: PortAgent<H>>(port: &Port<H, A>, packet: &Packet<H>) -> bool {
    port.paused().is_some_and(|paused| paused.is_given_up(packet.class))
}
