//! Flowlets: packets of a flow that follow each other closely keep to one way (Sinha, Kandula and Katabi, HotNets
//! 2004).

use super::super::ns3::Ports;
use super::{Home, Passing};
use crate::flow::{FlowId, HostId};
use crate::random::mix;
use crate::spec::{Complaint, Kind, Param, Values, param};
use crate::units::Time;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A flow in one direction, and which of its subflows.
pub(super) type Stream = (FlowId, HostId, u16);

/// That of a packet.
pub(super) fn stream_of(packet: &Passing) -> Stream {
    (packet.flow, packet.src, packet.subflow)
}

/// A hash that is the same in every run. Nothing depends on the order that it gives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = mix(self.0 ^ u64::from(*byte)));
    }

    fn write_u32(&mut self, word: u32) {
        self.0 = mix(self.0 << 1 ^ u64::from(word));
    }

    fn write_u16(&mut self, word: u16) {
        self.0 = mix(self.0 << 1 ^ u64::from(word));
    }
}

/// What a switch remembers of flows.
pub(super) type OfFlows<T> = HashMap<Stream, T, BuildHasherDefault<Mixed>>;

/// By what switches distinguish flows.
pub(super) const KEY: Param = param! {
    "flowlet_key" = "flow": Kind::Choice(&["flow", "conweave-ns3"]),
    "What flowlets belong to: a flow; or, to replay ConWeave's ns-3 simulator, what has the same receiver, source port, and destination port ORed with the class. Flows of several senders may share that, and with it a flowlet; with hash = \"hpcc-ns3\" only.",
    "LetFlow §4, CONGA §3.4: a flow's five-tuple; ConWeave's ns-3 simulator, letflow-routing.cc and conga-routing.cc"
};

/// What must hold of it.
pub(super) fn check(values: &Values) -> Result<(), Complaint> {
    if values.text("flowlet_key") == "conweave-ns3" && values.text("hash") != "hpcc-ns3" {
        let message = "flows have ports only with hash = \"hpcc-ns3\"; write both, or leave this out";
        return Err(Complaint::new("flowlet_key", message));
    }
    Ok(())
}

/// From how many entries on those that are old are looked for.
const MANY: usize = 1_024;

#[derive(Clone, Copy, Debug)]
struct Flowlet<W> {
    last_at: Time,
    way: W,
}

/// The flowlets that come by a switch, and the way that each takes.
#[derive(Clone, Debug)]
pub(super) struct Flowlets<W> {
    gap: Time,
    /// Where not flows are distinguished: the ports that are.
    ports: Option<Ports>,
    of_flows: OfFlows<Flowlet<W>>,
    /// How many entries there may be before old ones are looked for.
    most: usize,
}

impl<W: Copy> Flowlets<W> {
    /// A flowlet ends where nothing comes for longer than `gap`; [`Time::NEVER`]: it lasts as long as its flow.
    pub(super) fn new(gap: Time) -> Flowlets<W> {
        Flowlets { gap, ports: None, of_flows: OfFlows::default(), most: MANY }
    }

    /// Those of a routing with [`KEY`].
    pub(super) fn of(values: &Values, home: &Home<'_>) -> Flowlets<W> {
        let by_ports = values.text("flowlet_key") == "conweave-ns3";
        let ports = by_ports.then(|| Ports::of(values, home.flow_ports.cloned()));
        Flowlets { ports, ..Flowlets::new(values.time("flowlet_gap")) }
    }

    /// Flowlets end by another gap from now on. What was forgotten of a flow by the old one stays forgotten.
    pub(super) fn set_gap(&mut self, gap: Time) {
        self.gap = gap;
    }

    /// What a packet's flowlet belongs to. By ports, it is no stream, but three numbers as those have.
    fn key(&self, packet: &Passing) -> Stream {
        let Some(ports) = &self.ports else { return stream_of(packet) };
        let (source, destination) = ports.of_packet(packet.flow, packet.subflow, packet.kind);
        (packet.dst, source.into(), destination | u16::from(packet.class))
    }

    /// The way of the flowlet that a packet belongs to; or, if it begins a new one, that of the flow's last one, if
    /// it is remembered.
    pub(super) fn way(&mut self, packet: &Passing) -> Result<W, Option<W>> {
        let key = self.key(packet);
        let Some(flowlet) = self.of_flows.get_mut(&key) else { return Err(None) };
        let silence = packet.now.since(flowlet.last_at);
        flowlet.last_at = packet.now;
        if silence > self.gap { Err(Some(flowlet.way)) } else { Ok(flowlet.way) }
    }

    /// Has the packet's flowlet take a way.
    pub(super) fn set(&mut self, packet: &Passing, way: W) {
        if self.of_flows.len() >= self.most {
            self.forget(packet.now);
        }
        self.of_flows.insert(self.key(packet), Flowlet { last_at: packet.now, way });
    }

    /// Forgets the flowlets that are over: their flows' next packets begin new ones in any case.
    fn forget(&mut self, now: Time) {
        let gap = self.gap;
        self.of_flows.retain(|_, flowlet| now.since(flowlet.last_at) <= gap);
        self.most = MANY.max(2 * self.of_flows.len());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::passing;
    use super::*;
    use crate::packet::Kind as PacketKind;

    fn at(now_us: u64) -> Passing {
        Passing { now: Time::from_us(now_us), ..passing(7) }
    }

    #[test]
    fn a_flowlet_ends_with_a_longer_silence() {
        let mut flowlets = Flowlets::new(Time::from_us(100));
        assert_eq!(flowlets.way(&at(0)), Err(None));
        flowlets.set(&at(0), 3);
        assert_eq!(flowlets.way(&at(100)), Ok(3));
        assert_eq!(flowlets.way(&at(200)), Ok(3));
        assert_eq!(flowlets.way(&at(301)), Err(Some(3)));
        let other = Passing { flow: 8, ..at(301) };
        assert_eq!(flowlets.way(&other), Err(None));
    }

    #[test]
    fn by_conweaves_ports_flows_of_two_senders_may_share_a_flowlet() {
        // The first flow of each sender, the first four and the fifth to the same host: destination ports 100 to
        // 104, which are 103 and 107 with class 3.
        let of_flows =
            Some([(0, 0), (0, 1), (0, 3), (0, 4), (1, 2)].map(|(from, to)| (Some(from), to)).into());
        let ports = Some(Ports { first_destination: 100, of_flows });
        let of = |flow: u32, class| Passing { flow, src: flow, class, ..at(0) };
        let shared = |flowlets: &mut Flowlets<u32>, class| {
            flowlets.set(&of(0, class), 3);
            [1, 2, 3, 4].map(|flow| flowlets.way(&of(flow, class)) == Ok(3))
        };
        let gap = Time::from_us(100);
        let by_ports = || Flowlets { ports: ports.clone(), ..Flowlets::new(gap) };
        assert_eq!(shared(&mut by_ports(), 3), [true, true, false, false]);
        assert_eq!(shared(&mut by_ports(), 0), [false; 4]);
        assert_eq!(shared(&mut Flowlets::new(gap), 3), [false; 4]);
        // Answers have the ports exchanged.
        let answer = Passing { kind: PacketKind::Ack, ..of(0, 0) };
        assert_eq!(by_ports().key(&answer), (9, 100, 10_000));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut flowlets = Flowlets::new(Time::from_us(1));
        for flow in 0..100_000 {
            flowlets.set(&Passing { flow, ..at(u64::from(flow)) }, 0);
        }
        assert!(flowlets.of_flows.len() <= MANY);
    }
}
