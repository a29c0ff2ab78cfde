//! Stop-and-wait: one packet at a time, sent again until it is acknowledged. The whole transport of
//! docs/adding-a-scheme.md, which copies it into a family; here it is compiled with every change.

use packetloom_base::flow::{Flow, FlowId};
use packetloom_base::narrow::exact;
use packetloom_base::packet::{Kind, Packet};
use packetloom_base::spec::{Component, Kind as Holds, Values, param};
use packetloom_base::units::Time;
use packetloom_engine::engine::{Context, Report, Timer, Transport};
use packetloom_transport::Scheme;
use packetloom_transport::finished::Finished;
use packetloom_transport::flow_table::FlowTable;
use packetloom_transport::packet_format::{self, PacketFormat};

/// The packet header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// The packet's number in its flow; its acknowledgement repeats it.
    seq: u32,
    /// Whether it is the flow's last.
    last: bool,
}

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    format: PacketFormat,
    rto: Time,
}

struct Sender {
    flow: Flow,
    packets: u32,
    /// The packet on its way, and when it was sent.
    seq: u32,
    sent_at: Time,
    report: Report,
}

/// All stop-and-wait flows at one host.
pub struct StopAndWait {
    config: Config,
    senders: FlowTable<Sender>,
    /// The next packet each flow to this host will bring.
    expected: FlowTable<u32>,
    finished: Finished,
}

impl Scheme for StopAndWait {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "stop-and-wait",
        doc: "One packet at a time, sent again until it is acknowledged.",
        source: "packetloom",
        params: &[&[
            packet_format::MSS,
            packet_format::HEADER,
            packet_format::ACK,
            param! {
                "rto" = "1ms": Holds::Time,
                "A packet not acknowledged for so long is sent again.", "packetloom"
            },
        ]],
        check: packet_format::check,
    };
    type Config = Config;

    fn configure(values: &Values) -> Config {
        Config { format: PacketFormat::of(values), rto: values.time("rto") }
    }

    fn new(config: &Config) -> StopAndWait {
        StopAndWait {
            config: *config,
            senders: FlowTable::default(),
            expected: FlowTable::default(),
            finished: Finished::new(config.rto.times(8)),
        }
    }
}

impl Transport for StopAndWait {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let mut sender = Sender {
            flow,
            packets: exact(self.config.format.data.packets(flow.size_bytes)),
            seq: 0,
            sent_at: context.now,
            report: Report::default(),
        };
        sender.send(&self.config, context);
        self.senders.insert(flow.id, sender);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match packet.kind {
            Kind::Data => self.arrived(&packet, context),
            Kind::Ack => self.acknowledged(&packet, context),
            // A packet that a switch trimmed is as good as lost.
            _ => {}
        }
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.senders.states().map(|sender| (sender.flow.id, sender.report)).collect()
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        // Timers are not cancelled: this one may be of a packet that was acknowledged.
        if let Some(sender) = self.senders.get_mut(timer.key)
            && sender.sent_at + self.config.rto <= context.now
        {
            sender.report.timeouts += 1;
            sender.report.retransmissions += 1;
            sender.send(&self.config, context);
        }
    }
}

impl StopAndWait {
    fn arrived(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let (flow, header) = (packet.flow, packet.header);
        if self.finished.packets(flow).is_none() {
            let expected = self.expected.get_mut(flow).copied().unwrap_or(0);
            if header.seq == expected && header.last {
                self.expected.remove(flow);
                self.finished.add(context.now, flow, expected + 1);
                context.delivered(flow);
            } else if header.seq == expected {
                self.expected.insert(flow, expected + 1);
            }
        }
        context.send(self.config.format.ack(packet, header));
    }

    fn acknowledged(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(packet.flow) else { return };
        if packet.header.seq != sender.seq {
            return;
        }
        if packet.header.last {
            context.closed(&sender.flow, sender.report);
            self.senders.remove(packet.flow);
        } else {
            sender.seq += 1;
            sender.send(&self.config, context);
        }
    }
}

impl Sender {
    fn send(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        self.sent_at = context.now;
        self.report.packets_sent += 1;
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: 1,
            size_bytes: config.format.wire_bytes(self.seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            header: Header { seq: self.seq, last: self.seq + 1 == self.packets },
            ..Packet::default()
        });
        context.set_timer(context.now + config.rto, self.flow.id, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packetloom_base::spec::Value;

    #[test]
    fn a_scenario_sets_its_timeout() {
        let sizes = [("mss", 1460), ("header", 40), ("ack", 40)];
        let mut entries: std::collections::BTreeMap<_, _> =
            sizes.map(|(name, bytes)| (name.to_owned(), Value::Bytes(bytes))).into();
        entries.insert("rto".to_owned(), Value::Time(Time::from_us(300)));
        let values = Values { kind: "stop-and-wait".to_owned(), entries };
        let config = StopAndWait::configure(&values);
        assert_eq!(config.rto, Time::from_us(300));
        assert!(StopAndWait::new(&config).reports().is_empty());
    }
}
