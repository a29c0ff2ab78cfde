//! The order of packets at a host with several links. As htsim's NIC does, any port that is free takes the next packet
//! (uec.cpp, `UecNIC::findFreePort`); of the paths it takes one that begins there.

use super::sender::Taken;
use super::{Host, Lane, SERVE, Sprayed, Variant};
use crate::units::Time;

impl<V: Variant> Sprayed<V> {
    /// Sends what waits for links that are free, and comes back when others are. Lanes take turns, a packet each, as
    /// they may share links.
    #[inline(never)]
    pub(super) fn serve_several(&mut self, context: &mut Host<'_>) {
        let mut idle = 0;
        while idle < self.lanes.count() {
            let lane = self.lanes.take_turn();
            idle = if self.serve_lane(lane, context) { 0 } else { idle + 1 };
        }
    }

    /// Sends the next packet of a lane, if it can; what flows can't use is for control packets.
    fn serve_lane(&mut self, lane: u16, context: &mut Host<'_>) -> bool {
        let nic = &self.lanes.get(lane).nic;
        if !nic.has_any() {
            return false;
        }
        if context.now < nic.blocked_until {
            let until = nic.blocked_until;
            self.serve_lane_at(lane, until, context);
            return false;
        }
        nic.is_controls_turn() && self.send_next_control(lane, context)
            || self.send_next_data(lane, context)
            || self.send_next_control(lane, context)
    }

    fn send_next_control(&mut self, lane: u16, context: &mut Host<'_>) -> bool {
        let nic = &mut self.lanes.get_mut(lane).nic;
        let Some(packet) = nic.next_control() else { return false };
        let (is_free, free_at) = context.links_free_to(packet.dst, 0);
        if !is_free {
            self.block(lane, free_at, context);
            self.serve_lane_at(lane, free_at, context);
            return false;
        }
        if let Some(packet) = nic.take_next_control() {
            match context.free_path(&packet) {
                Some(path) => context.send_by(path, packet),
                // It has no path there: it waits behind others elsewhere.
                None => _ = context.send(packet),
            }
        }
        true
    }

    fn send_next_data(&mut self, lane: u16, context: &mut Host<'_>) -> bool {
        let mut comes_back_at = Time::NEVER;
        let mut has_sent = false;
        while let Some(flow) = self.lanes.get_mut(lane).nic.next_flow() {
            let Some(sender) = self.senders.get_mut(flow) else { continue };
            let (is_free, free_at) = context.links_free_to(sender.flow().dst, 0);
            if !is_free {
                // The others of the lane go by the same links.
                self.lanes.get_mut(lane).nic.set_aside(flow);
                self.block(lane, free_at, context);
                comes_back_at = comes_back_at.min(free_at);
                break;
            }
            let Lane { config, nic, .. } = self.lanes.get_mut(lane);
            let flows = nic.flows() + 1;
            sender.is_queued = false;
            match sender.take_turn_by_free_link(flows, config, context) {
                Taken::Sent => {
                    has_sent = true;
                    self.settle(flow, context);
                    break;
                }
                Taken::Nothing => {}
                Taken::Waits => {
                    sender.is_queued = true;
                    nic.set_aside(flow);
                    comes_back_at = comes_back_at.min(free_at);
                }
            }
        }
        self.lanes.get_mut(lane).nic.end_turn(has_sent);
        if !has_sent {
            self.serve_lane_at(lane, comes_back_at, context);
        }
        has_sent
    }

    /// None of a lane's links is free before then: it is not looked at again for each packet that arrives.
    fn block(&mut self, lane: u16, until: Time, context: &Host<'_>) {
        if context.keeps_links() {
            self.lanes.get_mut(lane).nic.blocked_until = until;
        }
    }

    /// A pause has ended: any link may be free.
    pub(super) fn unblock(&mut self) {
        for lane in 0..self.lanes.count() {
            self.lanes.get_mut(lane).nic.blocked_until = Time::ZERO;
        }
    }

    /// Comes back then to a lane.
    pub(super) fn serve_lane_at(&mut self, lane: u16, at: Time, context: &mut Host<'_>) {
        let nic = &mut self.lanes.get_mut(lane).nic;
        if at < nic.serves_at {
            nic.serves_at = at;
            context.set_timer(at, lane.into(), SERVE);
        }
    }
}
