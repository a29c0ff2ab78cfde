//! The transports of a shard's hosts, whatever their type: an engine is compiled once for each packet format and agent,
//! not for each transport.

use super::agenda::Timer;
use super::arrival::Arrival;
use super::endpoint::{Context, FlowStatus, Transport};
use super::log::Report;
use super::sending::Sending;
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::Packet;
use crate::packets::Packets;
use crate::prefetch::prefetch_whole;
use crate::spec::Values;
use crate::units::Time;

/// One transport for each host of a shard, called by the host's place there.
///
/// They lie side by side behind one pointer and not each behind its own, so that a host's can be prefetched before the
/// host is read.
pub(super) trait Transports<H, A>: Send {
    /// See [`Transport::start`].
    fn start(&mut self, host: u32, flow: Flow, context: &mut Context<'_, H, A>);

    /// See [`Transport::receive`].
    fn receive(&mut self, host: u32, packet: Packet<H>, context: &mut Context<'_, H, A>);

    /// See [`Transport::timer`].
    fn timer(&mut self, host: u32, timer: Timer, context: &mut Context<'_, H, A>);

    /// See [`Transport::resumed`].
    fn resumed(&mut self, host: u32, context: &mut Context<'_, H, A>);

    /// See [`Transport::paused`].
    fn paused(&mut self, host: u32, flow: FlowId, is_paused: bool, context: &mut Context<'_, H, A>);

    /// See [`Transport::paused_to`].
    fn paused_to(&mut self, host: u32, dst: HostId, is_paused: bool, context: &mut Context<'_, H, A>);

    /// Prefetches the transports of the hosts among these arrivals' nodes. This and what follows are called for many
    /// arrivals at once, as a call costs about as much as a prefetch.
    fn prefetch(&self, arrivals: &[Arrival]);

    /// See [`Transport::expect`]; of the arrivals at hosts.
    fn expect(&self, arrivals: &[Arrival], packets: &Packets<H>);

    /// See [`Transport::expect_soon`]; of the arrivals at hosts.
    fn expect_soon(&self, arrivals: &[Arrival], packets: &Packets<H>);

    /// See [`Transport::shorten`].
    fn shorten(&mut self, host: u32, flow: FlowId, packets: u32) -> bool;

    /// See [`Transport::sending`].
    fn sending(&self, host: u32, flow: FlowId, now: Time) -> Option<Sending>;

    /// See [`Transport::set`].
    fn set(&mut self, host: u32, values: &Values, now: Time);

    /// See [`Transport::reports`]; of all hosts.
    fn reports(&self) -> Vec<(FlowId, Report)>;

    /// See [`Transport::statuses`]; of all hosts.
    fn statuses(&self) -> Vec<FlowStatus>;
}

impl<T: Transport> Transports<T::Header, T::Agent> for Vec<T> {
    fn start(&mut self, host: u32, flow: Flow, context: &mut Context<'_, T::Header, T::Agent>) {
        self[host as usize].start(flow, context);
    }

    fn receive(
        &mut self,
        host: u32,
        packet: Packet<T::Header>,
        context: &mut Context<'_, T::Header, T::Agent>,
    ) {
        self[host as usize].receive(packet, context);
    }

    fn timer(&mut self, host: u32, timer: Timer, context: &mut Context<'_, T::Header, T::Agent>) {
        self[host as usize].timer(timer, context);
    }

    fn resumed(&mut self, host: u32, context: &mut Context<'_, T::Header, T::Agent>) {
        self[host as usize].resumed(context);
    }

    fn paused(
        &mut self,
        host: u32,
        flow: FlowId,
        is_paused: bool,
        context: &mut Context<'_, T::Header, T::Agent>,
    ) {
        self[host as usize].paused(flow, is_paused, context);
    }

    fn paused_to(
        &mut self,
        host: u32,
        dst: HostId,
        is_paused: bool,
        context: &mut Context<'_, T::Header, T::Agent>,
    ) {
        self[host as usize].paused_to(dst, is_paused, context);
    }

    fn prefetch(&self, arrivals: &[Arrival]) {
        let mut last = u32::MAX;
        for arrival in arrivals {
            // A host's arrivals follow each other.
            if std::mem::replace(&mut last, arrival.node) != arrival.node
                && let Some(transport) = self.get(arrival.node as usize)
            {
                prefetch_whole(transport);
            }
        }
    }

    fn expect(&self, arrivals: &[Arrival], packets: &Packets<T::Header>) {
        for arrival in arrivals {
            if let Some(transport) = self.get(arrival.node as usize) {
                transport.expect(packets.get(arrival.id));
            }
        }
    }

    fn expect_soon(&self, arrivals: &[Arrival], packets: &Packets<T::Header>) {
        for arrival in arrivals {
            if let Some(transport) = self.get(arrival.node as usize) {
                transport.expect_soon(packets.get(arrival.id));
            }
        }
    }

    fn shorten(&mut self, host: u32, flow: FlowId, packets: u32) -> bool {
        self[host as usize].shorten(flow, packets)
    }

    fn sending(&self, host: u32, flow: FlowId, now: Time) -> Option<Sending> {
        self[host as usize].sending(flow, now)
    }

    fn set(&mut self, host: u32, values: &Values, now: Time) {
        self[host as usize].set(values, now);
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.iter().flat_map(Transport::reports).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.iter().flat_map(Transport::statuses).collect()
    }
}
