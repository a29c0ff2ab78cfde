//! A flow at its sender: its packets are dealt out to the subflows that are open, as their windows allow.

use super::subflow::{Subflow, coupled_step};
use crate::Sending;
use crate::connections::{Opened, Restart};
use crate::engine::{Context, FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::units::Time;
use crate::windowed::{Config, Header, Idle, Sender, Setup};
use std::collections::VecDeque;

/// A flow's subflows, and what none of them carries yet.
#[derive(Clone, Debug)]
pub struct Connection {
    flow: Flow,
    packets: u32,
    /// The receiver has every packet before this one.
    una: u32,
    /// The next packet that no subflow was given.
    next: u32,
    /// Packets that a subflow carries whose path may be dead, and that subflow.
    reinjected: VecDeque<(u32, u8)>,
    reinjections: u32,
    subflows: Vec<Sender<Subflow>>,
    /// Which of the subflows may send.
    open: Vec<bool>,
    /// The subflow that is offered the next packet.
    turn: usize,
}

impl Connection {
    /// Of a flow whose subflows are all open, or will all have to be opened.
    pub fn new(flow: Flow, subflows: u8, is_open: bool, setup: &Setup<Subflow>) -> Connection {
        let format = setup.format();
        let packets = format.data.count(flow.size_bytes);
        let mut connection = Connection {
            flow,
            packets,
            una: 0,
            next: 0,
            reinjected: VecDeque::new(),
            reinjections: 0,
            subflows: (0..subflows).map(|number| Sender::new(flow, 0, number, setup)).collect(),
            open: vec![is_open; subflows.into()],
            turn: 0,
        };
        connection.describe(setup);
        connection
    }

    /// Tells the subflows what they carry parts of.
    fn describe(&mut self, config: &Config) {
        let (packets, size_bytes) = (self.packets, self.flow.size_bytes);
        let wire_bytes = |seq| config.format().wire_bytes(seq, packets, size_bytes);
        let is_alone = self.subflows.len() == 1;
        for subflow in &mut self.subflows {
            subflow.congestion().describe(packets, wire_bytes(0), wire_bytes(packets - 1), is_alone);
        }
    }

    /// The flow goes on where another left its subflows.
    pub fn resume(&mut self, idle: Vec<Idle<Subflow>>, restart: Restart, now: Time, config: &Config) {
        for (subflow, idle) in self.subflows.iter_mut().zip(idle) {
            subflow.resume(idle, restart, (&self.flow, now), config);
        }
        self.describe(config);
    }

    /// What the flow leaves behind.
    pub fn into_idle(self, last_sent: Time) -> Vec<Idle<Subflow>> {
        self.subflows.into_iter().map(|subflow| subflow.into_idle(last_sent)).collect()
    }

    /// A subflow was opened. Its window begins where a new connection's does.
    pub fn opened(&mut self, opened: &Opened, syn_rto: Time, config: &Config) {
        let number = usize::from(opened.subflow);
        self.open[number] = true;
        self.subflows[number].opened(opened, syn_rto, config);
    }

    /// The subflows that are not open.
    pub fn unopened(&self) -> impl Iterator<Item = u8> {
        let unopened = self.open.iter().enumerate().filter(|(_, open)| !**open);
        unopened.map(|(number, _)| narrow::<u8>(number))
    }

    fn step_q20(&self) -> u64 {
        let open = self.subflows.iter().zip(&self.open).filter(|(_, open)| **open);
        coupled_step(open.map(|(subflow, _)| subflow))
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Whether the receiver has every packet.
    pub fn is_done(&self) -> bool {
        self.una == self.packets
    }

    pub fn status(&self) -> FlowStatus {
        FlowStatus {
            flow: self.flow.id,
            arrived: self.una,
            packets: self.packets,
            waits_for: "an acknowledgement on any subflow, or a timeout",
        }
    }

    /// What all subflows together may send, and have sent.
    pub fn sending(&self) -> Sending {
        let subflows = || self.subflows.iter().map(Sender::sending);
        Sending {
            window: subflows().map(|subflow| subflow.window).sum(),
            rate: None,
            rtt: None,
            congestion: None,
            in_flight: subflows().map(|subflow| subflow.in_flight).sum(),
            acknowledged: self.una,
            arrived: self.una,
            report: self.report(),
        }
    }

    pub fn report(&self) -> Report {
        let start = Report { retransmissions: self.reinjections, ..Report::default() };
        self.subflows.iter().map(Sender::report).fold(start, |sum, one| Report {
            packets_sent: sum.packets_sent + one.packets_sent,
            retransmissions: sum.retransmissions + one.retransmissions,
            timeouts: sum.timeouts + one.timeouts,
            trims: sum.trims + one.trims,
            returns: 0,
            given_up: false,
        })
    }

    /// Gives packets to the subflows in turn, as long as a window allows one.
    pub fn deal(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let mut refusals = 0;
        while refusals < self.subflows.len() {
            let turn = self.turn;
            self.turn = (turn + 1) % self.subflows.len();
            if !self.open[turn] || !self.subflows[turn].wants_more(config) {
                refusals += 1;
                continue;
            }
            let Some(data_seq) = self.next_packet_for(narrow::<u8>(turn)) else {
                refusals += 1;
                continue;
            };
            let subflow = &mut self.subflows[turn];
            subflow.congestion().carry(data_seq);
            subflow.extend();
            subflow.transmit(config, context);
            refusals = 0;
        }
    }

    /// A packet for a subflow whose window allows one: one that another subflow seems to have lost, or else a new
    /// one.
    fn next_packet_for(&mut self, subflow: u8) -> Option<u32> {
        self.reinjected.retain(|&(data_seq, _)| data_seq >= self.una);
        if let Some(place) = self.reinjected.iter().position(|&(_, lost_by)| lost_by != subflow) {
            self.reinjections += 1;
            return self.reinjected.remove(place).map(|(data_seq, _)| data_seq);
        }
        (self.next < self.packets).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// An acknowledgement of a subflow came.
    pub fn acknowledged(&mut self, header: &Header, config: &Config, context: &mut Context<'_, Header>) {
        self.una = self.una.max(header.seq);
        if self.is_done() {
            return;
        }
        let step_q20 = self.step_q20();
        let subflow = &mut self.subflows[usize::from(header.subflow)];
        subflow.congestion().set_step(step_q20);
        subflow.acknowledged(header, config, context);
        let una = subflow.una();
        subflow.congestion().forget_below(una);
        self.deal(config, context);
    }

    /// The alarm of a subflow's retransmission timer went off. If that is a timeout, the other subflows carry what
    /// it carries as well: its path may be dead.
    pub fn timer(&mut self, number: u8, config: &Config, context: &mut Context<'_, Header>) {
        let subflow = &mut self.subflows[usize::from(number)];
        let timeouts = subflow.report().timeouts;
        subflow.timer(config, context);
        if subflow.report().timeouts == timeouts {
            return;
        }
        let outstanding: Vec<u32> = subflow.outstanding().collect();
        for seq in outstanding {
            let data_seq = subflow.congestion().reinject(seq);
            self.reinjected.extend(data_seq.map(|data_seq| (data_seq, number)));
        }
        self.deal(config, context);
    }
}
