//! Parameters that a program sets under way.

use super::super::packets::Parts;
use super::{Change, Driven};
use crate::engine::at_switches;
use crate::flow::HostId;
use crate::queue::Specification;
use crate::scenario::setting;
use crate::spec::{Complaint, Values};
use crate::units::Time;
use crate::{queue, routing, transport};

/// What may be changed under way.
impl Driven {
    /// The transport's parameters that may be set, the queue's, and the routing's.
    pub fn settable(&self) -> [&'static [&'static str]; 3] {
        let Parts { transport, queue, routing, .. } = &self.parts;
        let of_transport = transport::find(&transport.kind).map_or(&[][..], |entry| entry.settable);
        [of_transport, queue::settable(queue.kind()), routing::settable(&routing.kind)]
    }

    /// Whether the routing's are set at hosts, and not at switches.
    pub fn routes_at_hosts(&self) -> bool {
        routing::are_set_at_hosts(&self.parts.routing.kind)
    }

    /// Has hosts' transports, and their choice of paths, go on with other values of some parameters from now on, up to
    /// which all has happened; and switches mark and balance by other values of some of theirs, from the end of the
    /// engine's window under way on, at most the least time from a node to the next one later. All of it, or nothing.
    ///
    /// # Errors
    /// What can't be set, by its key in the scenario.
    pub fn set(&mut self, change: &Change<'_>, now: Time) -> Result<(), Complaint> {
        let transports = if change.transport.is_empty() { Vec::new() } else { self.transports(change)? };
        let queues = if change.queue.is_empty() { Vec::new() } else { self.queues(change)? };
        let routings = if change.routing.is_empty() { Vec::new() } else { self.routings(change)? };
        for (host, values) in transports {
            self.engine.set(host, &values, now);
            self.set_at.insert(host, values);
        }
        for (switch, values) in queues {
            let queue = Specification::of(&values);
            self.engine.mark_by(at_switches(&self.setting.topology, &queue, Some(switch)));
            self.marks_at.insert(switch, values);
        }
        for (node, values) in routings {
            if node < self.hosts() {
                self.engine.choose_by(node, &values);
            } else {
                self.engine.balance_by(node, &values);
            }
            self.routes_at.insert(node, values);
        }
        Ok(())
    }

    /// What the values of transports become.
    fn transports(&self, change: &Change<'_>) -> Result<Vec<(HostId, Values)>, Complaint> {
        let own = &self.parts.transport;
        let entry = transport::find(&own.kind).filter(|entry| !entry.settable.is_empty());
        let entry = entry.ok_or_else(|| nothing_to_set("transport", &own.kind, &transports_set()))?;
        if own.part("connections").is_some_and(|connections| connections.kind != "open") {
            let message = "only of connections that are open can parameters be set; write \"open\"";
            return Err(Complaint::new("transport.connections", message));
        }
        let set = |&host: &HostId| {
            let values = self.set_at.get(&host).unwrap_or(own);
            let set = setting::set(&entry.component, values, entry.settable, change.transport);
            set.map(|values| (host, values)).map_err(|complaint| below("transport", complaint))
        };
        change.hosts.iter().map(set).collect()
    }

    /// What the values of switches' queues become.
    pub(super) fn queues(&self, change: &Change<'_>) -> Result<Vec<(u32, Values)>, Complaint> {
        let own = self.parts.queue.values();
        let may = queue::settable(&own.kind);
        let component = queue::COMPONENTS.iter().find(|one| one.kind == own.kind && !may.is_empty());
        let component = component.ok_or_else(|| nothing_to_set("queue", &own.kind, &queues_set()))?;
        let set = |&switch: &u32| {
            let values = self.marks_at.get(&switch).unwrap_or(own);
            let set = setting::set(component, values, may, change.queue);
            set.map(|values| (switch, values)).map_err(|complaint| below("queue", complaint))
        };
        change.switches.iter().map(set).collect()
    }

    /// What the values of routings become, at the hosts or switches that go by them.
    fn routings(&self, change: &Change<'_>) -> Result<Vec<(u32, Values)>, Complaint> {
        let own = &self.parts.routing;
        let may = routing::settable(&own.kind);
        let component = routing::COMPONENTS.iter().find(|one| one.kind == own.kind && !may.is_empty());
        let component = component.ok_or_else(|| nothing_to_set("routing", &own.kind, &routings_set()))?;
        let set = |&node: &u32| {
            let values = self.routes_at.get(&node).unwrap_or(own);
            let set = setting::set(component, values, may, change.routing);
            set.map(|values| (node, values)).map_err(|complaint| below("routing", complaint))
        };
        let nodes = if self.routes_at_hosts() { change.hosts } else { change.switches };
        nodes.iter().map(set).collect()
    }
}

/// That a component has nothing that can be set, and which have.
fn nothing_to_set(section: &str, kind: &str, those: &[&str]) -> Complaint {
    let message = format!(
        "{kind:?} has no parameters that can be set while it runs; those that do: {}",
        those.join(", ")
    );
    Complaint::new(section, message)
}

fn below(section: &str, Complaint { key, message }: Complaint) -> Complaint {
    Complaint { key: format!("{section}.{key}"), message }
}

fn transports_set() -> Vec<&'static str> {
    let kinds = transport::COMPONENTS.iter().map(|component| component.kind);
    kinds.filter(|kind| transport::find(kind).is_some_and(|entry| !entry.settable.is_empty())).collect()
}

fn queues_set() -> Vec<&'static str> {
    let kinds = queue::COMPONENTS.iter().map(|component| component.kind);
    kinds.filter(|kind| !queue::settable(kind).is_empty()).collect()
}

fn routings_set() -> Vec<&'static str> {
    let kinds = routing::COMPONENTS.iter().map(|component| component.kind);
    kinds.filter(|kind| !routing::settable(kind).is_empty()).collect()
}
