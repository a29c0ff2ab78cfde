//! dcPIM (Cai et al., SIGCOMM 2022): receivers and senders are matched in rounds of request, grant and accept, while
//! the data phase of the matching before runs. A host has several channels, each a part of its link, so that it may be
//! matched with as many peers. In a data phase a receiver clocks tokens, and a sender sends a packet for each. Short
//! flows are sent at once.
//!
//! | Start at | for |
//! |---|---|
//! | `rounds.rs` | when rounds and data phases are |
//! | `receiver.rs`, `links.rs` | requests, accepts, tokens over the channels that were taken |
//! | `sender.rs`, `granter.rs`, `outbox.rs` | grants, and what tokens are used for |
//! | `choice.rs`, `unstable.rs` | whom a host chooses in a round |
//! | `incoming.rs`, `inbox.rs`, `outgoing.rs` | a flow at its two ends; what is lost of it |
//!
//! Names such as PimEpoch::send_all_req are of the authors' simulator (Terabit-Ethernet/dcPIM, simulator/ext/), where
//! the rules were read that the paper leaves open. A host here takes part in a round only if it has something to
//! receive, or was asked; theirs wake in each one. Theirs loses no control packets; here a sender announces a flow
//! again after a silence. Lost data is asked for by further tokens, as theirs is.

mod choice;
mod config;
mod granter;
mod header;
mod inbox;
mod incoming;
mod links;
#[cfg(test)]
mod matching_tests;
mod outbox;
mod outgoing;
mod receiver;
mod rounds;
mod sender;
mod unstable;

use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Plan, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Complaint, Component, Values};
use crate::topology::Topology;
use crate::units::Time;
use config::Config;
use header::Header;
use outgoing::Outgoing;
use receiver::Receiver;
use sender::{Sender, Token};

/// A timer's purpose: the NIC is free.
const SERVE: u8 = 0;
/// A timer's purpose: the middle of a round, when senders answer.
const GRANT: u8 = 1;
/// A timer's purpose: a round begins.
const ROUND: u8 = 2;
/// A timer's purpose: a token is due to a sender, in the data phase that runs.
const RUNNING: u8 = 3;
/// A timer's purpose: the same over channels of the matching that is made.
const FORMING: u8 = 4;
/// A timer's purpose: a sender may have to announce a flow again.
const RETRY: u8 = 5;

/// All dcPIM flows at one host.
pub struct DcPim {
    config: Config,
    sender: Sender,
    receiver: Receiver,
}

impl Scheme for DcPim {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "dcpim",
        doc: "dcPIM: receivers and senders are matched in rounds, several at once over channels of their links; receivers clock tokens over these, and short flows are sent at once. The workload's classes go unused.",
        source: "dcPIM (SIGCOMM 2022); the authors' simulator (Terabit-Ethernet/dcPIM, simulator/)",
        params: &[config::PARAMS],
        check: config::check,
    };
    /// Known once the network is.
    type Config = Option<Config>;
    const ONE_LINK_A_HOST: bool = true;
    const NEEDS_WHOLE: Option<&'static str> = Some("its hosts are matched with each other");

    fn configure(_: &Values) -> Option<Config> {
        None
    }

    fn on_plan(_: Option<Config>, plan: &Plan<'_>) -> Option<Config> {
        Some(Config::of(plan.transport, plan.topology))
    }

    fn check_network(_: &Values, topology: &Topology) -> Result<(), Complaint> {
        config::check_network(topology)
    }

    fn classes(_: &Values) -> Option<u64> {
        Some(config::LEVELS)
    }

    fn new(config: &Option<Config>) -> DcPim {
        let config = config.expect("a plan has a network");
        DcPim { config, sender: Sender::new(&config), receiver: Receiver::new(&config) }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        if let Header::Data { seq, .. } = packet.header { Some(seq) } else { None }
    }
}

impl Transport for DcPim {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        self.sender.start(flow, &self.config, context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        // This transport doesn't know trimming: to it the packet is lost.
        if matches!(packet.kind, Kind::Trimmed | Kind::Returned) {
            return;
        }
        let DcPim { config, sender, receiver } = self;
        match packet.header {
            Header::Announce { packets, start } => {
                receiver.announced(&packet, (packets, start), config, context);
            }
            Header::Data { seq, packets, token } => {
                receiver.arrived(&packet, (seq, packets, token), config, context);
            }
            Header::Grant { round, channels, left } => {
                receiver.granted(&packet, (round, channels, left), config, context.now);
            }
            Header::Release { round, channels } => receiver.released(packet.src, round, channels, config),
            Header::Request { round, channels, left } => {
                sender.requested(&packet, (round, channels, left), config, context);
            }
            Header::Accept { round, channels } => sender.accepted(&packet, round, channels, config, context),
            Header::Token { number, seq, left, level, until } => {
                let token = Token { number, seq, left, level, until };
                sender.received(packet.flow, token, config, context);
            }
            Header::Done => sender.done(packet.flow, context),
        }
    }

    #[inline]
    fn expect(&self, packet: &Packet<Header>) {
        match packet.kind {
            Kind::Data => self.receiver.expect(packet.flow),
            _ => self.sender.flows.prefetch(packet.flow),
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        let DcPim { config, sender, receiver } = self;
        match timer.purpose {
            SERVE => sender.serve_at(timer.at, config, context),
            GRANT => sender.grant(timer.at, config, context),
            ROUND => receiver.round(timer.at, config, context),
            RUNNING | FORMING => receiver.due(timer.purpose, timer.key, timer.at, config, context),
            _ => sender.may_announce(timer.key, config, context),
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.sender.flows.get(flow).map(Outgoing::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.sender.reports()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.sender.flows.states().map(Outgoing::status).collect()
    }
}
