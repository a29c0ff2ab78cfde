//! Flows whose subflows are not just open. The first is opened as a TCP connection is; the others join once it is
//! open (RFC 8684 §3.1, §3.2).

use super::connection::Connection;
use super::subflow::Subflow;
use crate::connections::{Handshakes, Opened, Rule};
use crate::engine::Context;
use crate::flow::Flow;
use crate::pool::{Pool, Taken};
use crate::units::Time;
use crate::windowed::{Config, Header, Idle, Setup};

/// The connections of a host.
pub struct Connected {
    pub handshakes: Handshakes,
    rule: Rule,
    pool: Option<Pool<Vec<Idle<Subflow>>>>,
}

impl Connected {
    /// None where connections are open.
    pub fn new(config: &Config) -> Option<Box<Connected>> {
        let rule = config.connections()?.clone();
        let handshakes = Handshakes::new(rule.syn_rto);
        Some(Box::new(Connected { handshakes, pool: rule.kept.map(|kept| Pool::new(kept.pool)), rule }))
    }

    /// A flow starts.
    pub fn start(
        &mut self,
        flow: Flow,
        subflows: u8,
        setup: &Setup<Subflow>,
        context: &mut Context<'_, Header>,
    ) -> Connection {
        if let (Some(pool), Some(kept)) = (&mut self.pool, self.rule.kept) {
            match pool.take(flow.dst) {
                Taken::Used(idle) => {
                    let mut connection = Connection::new(flow, subflows, true, setup);
                    connection.resume(idle, kept.restart, context.now, setup);
                    return connection;
                }
                Taken::Untouched => return Connection::new(flow, subflows, true, setup),
                Taken::Nothing => {}
            }
        }
        self.handshakes.open(flow, (0, flow.class), setup, context);
        Connection::new(flow, subflows, false, setup)
    }

    /// A subflow was opened; the first one lets the others join.
    pub fn opened(
        &mut self,
        opened: &Opened,
        connection: &mut Connection,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        connection.opened(opened, self.rule.syn_rto, config);
        if opened.subflow == 0 {
            for joining in connection.unopened() {
                self.handshakes.open(opened.flow, (joining, opened.flow.class), config, context);
            }
        }
    }

    /// A flow is over; its connection is idle if such are kept. Subflows that were still joining count as open by the
    /// time the next flow comes.
    pub fn ended(&mut self, connection: Connection, last_sent: Time) {
        let (flow, host) = (connection.flow().id, connection.flow().dst);
        for subflow in connection.unopened() {
            self.handshakes.forget(flow, subflow);
        }
        if let Some(pool) = &mut self.pool {
            pool.keep(host, connection.into_idle(last_sent));
        }
    }
}
