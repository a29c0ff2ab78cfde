//! The transport of centrally controlled flows: packets go when and where the controller decided.
//!
//! Decisions do not depend on the network: the controller knows the queues at servers, not those of switches. So
//! all departures are known beforehand, and the engine carries the packets.

use super::traffic::{Departures, Traffic};
use crate::engine::{Context, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::units::Time;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What every host knows.
#[derive(Debug)]
pub struct Book {
    /// The flows and their packets.
    pub traffic: Traffic,
    /// When they leave.
    pub departures: Departures,
    /// How long each packet was in the network, in ps: for measuring alone.
    pub latencies_ps: Mutex<Vec<u64>>,
}

/// The packet header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// When it left its server.
    sent: Time,
    /// How many packets its flow has.
    packets: u32,
}

/// All flows at one host.
pub struct Carrier {
    book: Arc<Book>,
    /// The index of each flow that is being sent, and its next packet.
    sending: BTreeMap<FlowId, (Flow, usize, usize)>,
    /// How many packets of each flow are still to come.
    missing: BTreeMap<FlowId, u32>,
}

impl Carrier {
    /// The transport of one host.
    pub fn new(book: Arc<Book>) -> Carrier {
        Carrier { book, sending: BTreeMap::new(), missing: BTreeMap::new() }
    }

    fn wait_for_next(&self, flow: FlowId, packet: usize, context: &mut Context<'_, Header>) {
        let at = self.book.departures.at[packet];
        if at != Time::NEVER {
            context.set_timer(at, flow, 0);
        }
    }
}

impl Transport for Carrier {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let packets = self.book.traffic.packets_of(self.book.traffic.index_of(flow.id));
        self.sending.insert(flow.id, (flow, packets.start, packets.end));
        self.wait_for_next(flow.id, packets.start, context);
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        let Some(&(flow, packet, end)) = self.sending.get(&timer.key) else { return };
        debug_assert_eq!(self.book.departures.at[packet], context.now, "a packet without a grant");
        let packets = narrow::<u32>(self.book.traffic.packets_of(self.book.traffic.index_of(flow.id)).len());
        context.send_by(
            self.book.departures.path[packet],
            Packet {
                flow: flow.id,
                dst: flow.dst,
                size_bytes: self.book.traffic.bytes[packet],
                class: flow.class,
                header: Header { sent: context.now, packets },
                ..Packet::default()
            },
        );
        if packet + 1 == end {
            self.sending.remove(&flow.id);
            context.closed(&flow, Report { packets_sent: packets, ..Report::default() });
        } else {
            self.sending.insert(flow.id, (flow, packet + 1, end));
            self.wait_for_next(flow.id, packet + 1, context);
        }
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        let report = |(&flow, &(_, next, _)): (&FlowId, &(Flow, usize, usize))| {
            let first = self.book.traffic.packets_of(self.book.traffic.index_of(flow)).start;
            (flow, Report { packets_sent: narrow::<u32>(next - first), ..Report::default() })
        };
        self.sending.iter().map(report).collect()
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        // What a queue has trimmed is as lost as what it has dropped: nothing is sent twice.
        if packet.kind != Kind::Data {
            return;
        }
        let missing = self.missing.entry(packet.flow).or_insert(packet.header.packets);
        *missing -= 1;
        if *missing == 0 {
            self.missing.remove(&packet.flow);
            context.delivered(packet.flow);
        }
        if let Ok(mut latencies_ps) = self.book.latencies_ps.lock() {
            latencies_ps.push((context.now - packet.header.sent).as_ps());
        }
    }
}
