//! The order of packets at a host's link: flows take turns, a packet each, and control packets share the link with
//! them.

use super::header::Header;
use crate::flow::FlowId;
use crate::packet::Packet;
use crate::units::Time;
use std::collections::VecDeque;

/// What waits at a host's link.
#[derive(Clone, Debug)]
pub struct Nic {
    flows: VecDeque<FlowId>,
    control: VecDeque<Packet<Header>>,
    /// The flows that were passed over in this turn, at a host with several links.
    aside: Vec<FlowId>,
    /// So many control packets go for each data packet while both wait.
    per_data: u32,
    /// How many have since the last.
    in_a_row: u32,
    /// When the earliest timer goes off that is set to serve.
    pub serves_at: Time,
    /// At a host with several links, until when none of those is free by which all of this goes.
    pub blocked_until: Time,
}

impl Nic {
    /// Nothing waits.
    pub fn new(per_data: u32) -> Nic {
        Nic {
            flows: VecDeque::new(),
            control: VecDeque::new(),
            aside: Vec::new(),
            per_data,
            in_a_row: 0,
            serves_at: Time::NEVER,
            blocked_until: Time::ZERO,
        }
    }

    /// A flow has something to send.
    #[inline]
    pub fn add_flow(&mut self, flow: FlowId) {
        self.flows.push_back(flow);
    }

    /// A control packet is to go.
    #[inline]
    pub fn add_control(&mut self, packet: Packet<Header>) {
        self.control.push_back(packet);
    }

    /// Whether anything waits.
    #[inline]
    pub fn has_any(&self) -> bool {
        !(self.flows.is_empty() && self.control.is_empty())
    }

    /// How many flows wait.
    #[inline]
    pub fn flows(&self) -> usize {
        self.flows.len() + self.aside.len()
    }

    /// The next control packet, unless it is a flow's turn.
    #[inline]
    pub fn take_control(&mut self) -> Option<Packet<Header>> {
        if self.flows.is_empty() {
            self.in_a_row = 0;
        } else if self.in_a_row == self.per_data {
            return None;
        } else if !self.control.is_empty() {
            self.in_a_row += 1;
        }
        self.control.pop_front()
    }

    /// Whether it is not a flow's turn.
    pub fn is_controls_turn(&self) -> bool {
        self.flows.is_empty() || self.in_a_row < self.per_data
    }

    /// The next control packet, whosever turn it is.
    pub fn next_control(&self) -> Option<&Packet<Header>> {
        self.control.front()
    }

    /// Takes it.
    pub fn take_next_control(&mut self) -> Option<Packet<Header>> {
        self.in_a_row = if self.flows.is_empty() { 0 } else { self.in_a_row + 1 };
        self.control.pop_front()
    }

    /// The next flow, if one waits, which may have to go on waiting.
    pub fn next_flow(&mut self) -> Option<FlowId> {
        self.flows.pop_front()
    }

    /// A flow has to go on waiting, and another may send before it.
    pub fn set_aside(&mut self, flow: FlowId) {
        self.aside.push(flow);
    }

    /// The turn is over. What was set aside waits before all others again, in its order.
    pub fn end_turn(&mut self, has_sent: bool) {
        while let Some(flow) = self.aside.pop() {
            self.flows.push_front(flow);
        }
        self.in_a_row = if has_sent { 0 } else { self.in_a_row };
    }

    /// The next flow, if one waits; it may turn out to have nothing to send.
    #[inline]
    pub fn take_flow(&mut self) -> Option<FlowId> {
        self.in_a_row = 0;
        self.flows.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_control_packets_go_for_each_of_data() {
        let mut nic = Nic::new(10);
        (0..25).for_each(|_| nic.add_control(Packet::default()));
        (0..3).for_each(|flow| nic.add_flow(flow));
        let mut runs = Vec::new();
        while nic.has_any() {
            let controls = std::iter::from_fn(|| nic.take_control()).count();
            runs.push((controls, nic.take_flow()));
        }
        assert_eq!(runs, [(10, Some(0)), (10, Some(1)), (5, Some(2))]);
    }
}
