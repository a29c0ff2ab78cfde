//! When a host's receiver may send its next CNP, where its NIC limits them together and not each flow's by itself.

use super::config::{CnpScope, Config, Notification};
use crate::flow::HostId;
use crate::units::Time;
use std::collections::BTreeMap;

/// Until when there is none.
#[derive(Clone, Debug)]
pub enum Quiet {
    /// To all.
    Port(Time),
    /// To each host that one was sent to.
    Destinations(BTreeMap<HostId, Time>),
}

impl Quiet {
    /// Of a host, unless its flows are limited each by itself.
    pub fn new(config: &Config) -> Option<Box<Quiet>> {
        match (config.notification, config.cnp_scope) {
            (Notification::Packets(_), CnpScope::Port) => Some(Box::new(Quiet::Port(Time::ZERO))),
            (Notification::Packets(_), CnpScope::Destination) => {
                Some(Box::new(Quiet::Destinations(BTreeMap::new())))
            }
            _ => None,
        }
    }

    /// Until when none goes to this host.
    pub fn until(&self, to: HostId) -> Time {
        match self {
            Quiet::Port(until) => *until,
            Quiet::Destinations(hosts) => hosts.get(&to).copied().unwrap_or(Time::ZERO),
        }
    }

    /// One may have gone to this host: none goes before.
    pub fn be_until(&mut self, to: HostId, at: Time) {
        match self {
            Quiet::Port(until) => *until = at,
            Quiet::Destinations(hosts) => {
                if at > Time::ZERO {
                    hosts.insert(to, at);
                }
            }
        }
    }
}
