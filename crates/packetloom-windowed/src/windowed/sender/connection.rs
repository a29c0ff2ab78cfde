//! What a sender has of its connection: from the handshake, or from the flow before, and for the flow after it.

use super::Sender;
use crate::connections::{Opened, Restart, Step};
use crate::engine::Context;
use crate::flow::Flow;
use crate::rto::Rto;
use crate::units::Time;
use crate::windowed::config::Config;
use crate::windowed::header::Header;
use crate::windowed::window::{Congestion, Window};

/// RFC 6298 §5.7 has 3 s after a SYN that was lost, where it has 1 s before.
const LONGER_AFTER_LOST_SYN: u64 = 3;

/// What an idle connection keeps for its next flow.
#[derive(Clone, Debug)]
pub struct Idle<C> {
    window: Window,
    congestion: C,
    rto: Rto,
    /// When the packet was sent whose acknowledgement ended the flow.
    last_sent: Time,
}

impl<C: Congestion> Sender<C> {
    /// What the flow leaves behind on its connection.
    pub fn into_idle(self, last_sent: Time) -> Idle<C> {
        Idle { window: self.window, congestion: self.congestion, rto: self.rto, last_sent }
    }

    /// The flow goes on where another left a connection.
    pub fn resume(&mut self, idle: Idle<C>, restart: Restart, (flow, now): (&Flow, Time), config: &Config) {
        Idle { window: self.window, congestion: self.congestion, rto: self.rto, .. } = idle;
        if C::RESTARTS {
            let waited = now.since(idle.last_sent);
            restart.apply(&mut self.window, &config.window(), waited, self.rto.current(&config.rto));
        }
        self.congestion.resumed(flow, &mut self.window);
    }

    /// The flow's connection was opened by a handshake. The window of a connection whose SYN was lost is one packet
    /// (RFC 5681 §3.1).
    pub fn opened(&mut self, opened: &Opened, syn_rto: Time, config: &Config) {
        let unmeasured = syn_rto.times(LONGER_AFTER_LOST_SYN);
        self.rto = Rto::after_handshake(opened.rtt, unmeasured, &config.rto);
        if let Some(rtt) = opened.rtt {
            self.congestion.knows_round_trip(rtt);
        }
        self.report.timeouts += opened.timeouts;
        if opened.timeouts > 0 && C::RESTARTS {
            self.window.collapse();
        }
    }

    /// Sends the flow's first packet in place of a SYN (RFC 7413).
    pub fn send_in_syn(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if let Some(seq) = self.choose(context.now) {
            self.pipe += 1;
            self.send_data(seq, Step::Syn, config, context);
        }
    }
}
