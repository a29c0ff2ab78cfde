//! Telemetry that counts what arrives at a port, where HPCC's counts what leaves it.

use super::super::header::Header;
use super::super::hpcc::{Hops, Telemetry, Widths, widths};
use crate::engine::{Leaving, Moment, PathNeeds, PortAgent, PortInfo};
use crate::packet::Packet;
use crate::spec::Values;

/// A port's part. What was enqueued is what was sent and what waits, so that its growth is the queue's and the link's
/// together: PowerTCP's current.
#[derive(Clone, Debug)]
pub struct ArrivalTelemetry {
    telemetry: Telemetry,
    widths: Option<Widths>,
}

impl PortAgent<Header<Hops>> for ArrivalTelemetry {
    const ACTIVE: bool = false;
    const SEES_DEPARTURES: bool = true;
    const NEEDS: PathNeeds = PathNeeds::OnePerFlow;

    fn build(transport: &Values, port: PortInfo) -> ArrivalTelemetry {
        ArrivalTelemetry { telemetry: Telemetry::exact(port), widths: widths(transport) }
    }

    fn forward(&mut self, _: Moment, _: &mut Packet<Header<Hops>>) {}

    fn depart(&mut self, leaving: Leaving, packet: &mut Packet<Header<Hops>>) {
        let Some(mut hop) = self.telemetry.hop(leaving, packet.kind) else { return };
        hop.sent_bytes += u64::from(packet.size_bytes) + leaving.left.bytes;
        packet.header.fields.push(self.widths.map_or(hop, |widths| widths.cut(hop)));
    }
}
