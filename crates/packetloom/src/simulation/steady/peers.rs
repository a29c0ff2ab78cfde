//! Which flows have the same rate in the long run, as nothing tells them apart.

use super::super::connection_numbers;
use super::Setting;
use crate::flow::{Flow, FlowId};
use crate::routing::{Tracer, has_choice, path_per_flow};
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// A link of a flow's path: itself if other flows cross it, too; otherwise what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Shared(u32),
    Own(Rate, Time),
    /// A link of the way back that other flows' packets cross, too, so that acknowledgements wait for these.
    Back(u32),
}

/// Groups of flows, as places in the list. Flows that share the same links, whose acknowledgements wait at the same
/// links, and whose other links are alike, are peers. Where the packets of a flow take several paths, or one that depends
/// on how many flows came before, each stands alone.
pub fn peers(flows: &[Flow], setting: &Setting) -> Vec<Vec<usize>> {
    let routing = setting.case.scheme.component("routing");
    let (is_one, _) = path_per_flow(&routing, &setting.topology);
    let may_differ = has_choice(&setting.topology) && connection_numbers(&setting.case.scheme).matter();
    if !is_one || may_differ {
        return (0..flows.len()).map(|nth| vec![nth]).collect();
    }
    let mut tracer = Tracer::new(&setting.topology, &routing, setting.flow_ports.as_ref(), setting.case.seed);
    let mut path = |id: FlowId, src, dst| tracer.path(id, 0, src, dst);
    let paths: Vec<[Vec<u32>; 2]> =
        flows.iter().map(|&Flow { id, src, dst, .. }| [path(id, src, dst), path(id, dst, src)]).collect();
    let mut users: BTreeMap<u32, u32> = BTreeMap::new();
    paths.iter().flat_map(|[there, _]| there).for_each(|&link| *users.entry(link).or_default() += 1);
    let step = |link: &u32| {
        let own = &setting.topology.links[*link as usize];
        if users[link] > 1 { Step::Shared(*link) } else { Step::Own(own.rate, own.latency) }
    };
    let waits_at = |link: &&u32| users.contains_key(link);
    let mut groups: BTreeMap<(u8, Vec<Step>), Vec<usize>> = BTreeMap::new();
    for (nth, (flow, [there, back])) in flows.iter().zip(&paths).enumerate() {
        let back = back.iter().filter(waits_at).map(|link| Step::Back(*link));
        groups.entry((flow.class, there.iter().map(step).chain(back).collect())).or_default().push(nth);
    }
    groups.into_values().collect()
}
