//! Cases whose packets a controller plans.

use super::{Control, Monitor, Outcome, Simulation};
use crate::central::{self, Carrier, Plan};
use crate::engine::Engine;
use crate::flow::Flow;
use crate::spec::Complaint;
use crate::workload::Workload;

/// Runs a centrally controlled transport: first all of the controller's decisions, then the packets.
pub(super) fn run_central(simulation: Simulation, monitor: &Monitor) -> Result<Outcome, Complaint> {
    let Simulation { setting, mut workload, environment } = simulation;
    let flows: Vec<Flow> = std::iter::from_fn(|| workload.next_flow()).collect();
    let case = &setting.case;
    let transport = case.scheme.component("transport");
    let until = setting.max_time();
    let recorder = setting.recorder();
    let plan = Plan::new(&transport, flows, &setting.topology, case.seed, until, recorder.as_ref());
    // The same flows once more: the first ones went to the controller.
    let workload = Workload::build(&case.workloads, &environment)?;
    let book = plan.book.clone();
    let carrier = || Carrier::new(book.clone());
    let mut outcome = setting.run_packets(workload, central::SMALLEST_PACKET_BYTES, monitor, |plan| {
        Box::new(Engine::new(plan, carrier))
    });
    for row in &mut outcome.flows {
        row.best_fct = plan.book.traffic.best_fct(plan.book.traffic.index_of(row.flow.id), &outcome.topology);
    }
    // A server's queue is its transmission queues: what its NIC holds was counted there.
    let servers = plan.servers.iter().flatten();
    for (port, queue) in outcome.ports.iter_mut().zip(servers) {
        port.queue = Some(queue.closed(outcome.simulated));
    }
    let mut server_latencies_ps = plan.server_latencies_ps();
    let network = plan.book.latencies_ps.lock().map(|latencies| latencies.clone());
    let mut network_latencies_ps = network.unwrap_or_default();
    server_latencies_ps.sort_unstable();
    network_latencies_ps.sort_unstable();
    outcome.control = Some(Control {
        traffic: plan.control,
        normalisations: plan.normalisations,
        server_latencies_ps,
        network_latencies_ps,
    });
    Ok(outcome)
}
