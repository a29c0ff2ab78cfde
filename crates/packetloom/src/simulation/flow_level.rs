//! Cases without packets.

use super::{Monitor, Outcome, Simulation};
use crate::engine::Tally;
use crate::flow::Flow;
use crate::fluid;
use crate::measure::Collector;
use crate::units::Time;

/// A flow-level model, which gets the rates of the hosts' links, the flows, and a function to call at each flow's
/// end.
pub(super) type Model = fn(&[f64], &mut dyn Iterator<Item = fluid::Job>, &mut dyn FnMut(u32, Time));

/// Runs a flow-level model, which gets the rates of the hosts' links as parts of the first one's: each flow's work
/// is its time on the slower of its two; what its first packet takes to cross the fabric is added to its completion.
pub(super) fn run_fluid(simulation: Simulation, model: Model, monitor: &Monitor) -> Outcome {
    let Simulation { setting, mut workload, .. } = simulation;
    let flows: Vec<Flow> = std::iter::from_fn(|| workload.next_flow()).collect();
    let mut collector = Collector::new(setting.format, Vec::new());
    for flow in &flows {
        collector.start(*flow, &setting.topology);
    }
    let mut jobs = flows.iter().map(|flow| fluid::Job {
        id: flow.id,
        src: flow.src,
        dst: flow.dst,
        work: setting.work(flow),
        start: flow.start,
    });
    let max_time = setting.max_time();
    let mut finished = 0;
    let bps = |host| setting.topology.rate_of(host).as_bps() as f64;
    let rates: Vec<f64> = (0..setting.topology.hosts).map(|host| bps(host) / bps(0)).collect();
    model(&rates, &mut jobs, &mut |flow, at| {
        let index = flows.partition_point(|other| other.id < flow);
        let latency = collector.best_fct(flow).since(setting.work(&flows[index]));
        if at + latency <= max_time {
            collector.finish(flow, at + latency);
        }
        finished += 1;
        monitor.report(0, f64::from(finished) / flows.len() as f64, at);
    });
    let tally = Tally { packet_hops: 0, events: 2 * flows.len() as u64 };
    setting.outcome(collector, &[], tally)
}
