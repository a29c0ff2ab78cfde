//! A flow at its receiver: each subflow acknowledges for itself; together they put the flow in order.

use crate::engine::Context;
use crate::packet::Packet;
use crate::reassembly::Reassembly;
use crate::windowed::{Config, Header, Receiver};

/// What arrived of a flow, and its subflows.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    arrived: Reassembly,
    subflows: Vec<Option<Receiver>>,
}

impl Arrivals {
    /// The number of packets, if all are there.
    pub fn whole(&self) -> Option<u32> {
        self.arrived.whole()
    }

    /// A data packet came. Once the flow is whole, no acknowledgement waits: nothing more comes to send it with, and
    /// a subflow does not know by itself that the flow ended on another.
    pub fn data(&mut self, packet: &Packet<Header>, config: &Config, context: &mut Context<'_, Header>) {
        self.arrived.add(packet.header.ack, packet.header.last);
        self.subflow(packet).data(packet, config, context);
        if self.whole().is_some() {
            self.acknowledge_waiting(config, context);
        }
    }

    fn acknowledge_waiting(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let data_ack = self.arrived.next();
        for subflow in self.subflows.iter_mut().flatten() {
            subflow.set_data_ack(data_ack);
            subflow.acknowledge_waiting(config, context);
        }
    }

    /// A probe requests an acknowledgement on its subflow.
    pub fn probed(&mut self, packet: &Packet<Header>, config: &Config, context: &mut Context<'_, Header>) {
        let Header { seq, sent_at, .. } = packet.header;
        self.subflow(packet).acknowledge(seq, sent_at, config, context);
    }

    /// The delay of a subflow's acknowledgement is over.
    pub fn delay_over(&mut self, subflow: u8, config: &Config, context: &mut Context<'_, Header>) {
        if let Some(Some(subflow)) = self.subflows.get_mut(usize::from(subflow)) {
            subflow.delay_over(config, context);
        }
    }

    /// The packet's subflow, whose acknowledgements carry how much of the flow has arrived.
    fn subflow(&mut self, packet: &Packet<Header>) -> &mut Receiver {
        let number = usize::from(packet.header.subflow);
        if self.subflows.len() <= number {
            self.subflows.resize(number + 1, None);
        }
        let receiver = self.subflows[number].get_or_insert_with(|| Receiver::new(packet, packet.class));
        receiver.set_data_ack(self.arrived.next());
        receiver
    }
}
