//! What links carried of jobs' messages, and which of them bound it.
//!
//! Where every flow keeps to one path, it is the one that the routing takes. Otherwise a flow counts on all of its
//! paths, as if every switch had spread it evenly.

use super::super::jobs::JobRow;
use super::super::{Setting, connection_numbers, flow_rung, takes_one_path};
use crate::flow::Flow;
use crate::measure::FlowRow;
use crate::narrow::{exact, saturated};
use crate::packet::Format;
use crate::routing::{ConnectionNumbers, FlowPorts, Tracer};
use crate::spec::Values;
use crate::topology::Topology;
use crate::units::Time;
use crate::workload::job::Job;
use std::collections::{BTreeMap, BTreeSet};

/// The link that bounds a collective operation: no routing of the same messages over it is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The link that takes longest for what it has to carry; the first of several.
    pub link: u32,
    /// How long, at its full rate, headers included.
    pub takes: Time,
    /// How many links take 99 % of that, or more.
    pub alike: u32,
}

/// A link takes as long as another if it takes this share of its time.
const ALIKE: f64 = 0.99;

/// How flows find their paths, as far as a case says it.
pub(in crate::simulation) struct Paths {
    routing: Values,
    flow_ports: Option<FlowPorts>,
    seed: u64,
    format: Format,
    one_path: bool,
    connections: ConnectionNumbers,
    /// When switches know which links to be dead.
    outages: Vec<(Time, BTreeSet<usize>)>,
}

impl Paths {
    pub(in crate::simulation) fn of(setting: &Setting) -> Paths {
        let scheme = &setting.case.scheme;
        Paths {
            routing: scheme.component("routing"),
            flow_ports: setting.flow_ports.clone(),
            seed: setting.case.seed,
            format: setting.format,
            one_path: takes_one_path(scheme, &setting.topology),
            connections: connection_numbers(scheme),
            outages: setting.faults.known_outages(),
        }
    }
}

/// The flows that crossed each link. Flows between the same hosts mostly have the same paths, so these are kept once.
pub struct Carried<'a> {
    topology: &'a Topology,
    flows: &'a [FlowRow],
    /// Of each flow, its bytes on the wire, and its route.
    bytes: Vec<u64>,
    route_of: Vec<u32>,
    routes: Vec<Route>,
    /// Of each link, the routes that cross it, with the share of their bytes.
    by_link: Vec<Vec<(u32, f64)>>,
}

/// Links that some flows cross.
#[derive(Clone, Debug, Default)]
struct Route {
    /// With the share of their bytes.
    links: Vec<(u32, f64)>,
    /// The flows that were delivered, in order of their start, each with the last end of it and those before it.
    flows: Vec<(u32, Time)>,
}

impl Carried<'_> {
    /// Those of a case's flows, which take the paths that switches know when they start.
    pub(in crate::simulation) fn of<'a>(
        topology: &'a Topology,
        paths: &Paths,
        flows: &'a [FlowRow],
    ) -> Carried<'a> {
        let mut all = Carried {
            topology,
            flows,
            bytes: flows.iter().map(|row| flow_rung::wire_bytes(paths.format, topology, &row.flow)).collect(),
            route_of: Vec::with_capacity(flows.len()),
            routes: Vec::new(),
            by_link: vec![Vec::new(); topology.links.len()],
        };
        all.find_routes(paths);
        for (route, number) in all.routes.iter().zip(0..) {
            for &(link, share) in &route.links {
                all.by_link[link as usize].push((number, share));
            }
        }
        all.sort_flows();
        all
    }

    fn find_routes(&mut self, paths: &Paths) {
        let numbers = numbers(self.flows, paths.connections.clone());
        let Carried { topology, flows, route_of, routes, .. } = self;
        let mut tracer = Tracer::new(topology, &paths.routing, paths.flow_ports.as_ref(), paths.seed)
            .with_outages(&paths.outages, paths.seed);
        let mut known: BTreeMap<(usize, Vec<u32>), u32> = BTreeMap::new();
        for (FlowRow { flow, .. }, number) in flows.iter().zip(numbers) {
            tracer.at(flow.start);
            let learned = paths.outages.iter().filter(|(at, _)| *at <= flow.start).count();
            // Where flows are spread, all between two hosts are alike, but for the link by which they leave the first.
            let is_known = !paths.one_path && topology.nic_ports(flow.src).len() == 1;
            let found = (!is_known).then(|| links(&mut tracer, paths.one_path, flow, number));
            let key = match &found {
                None => vec![flow.src, flow.dst],
                Some(found) if paths.one_path => found.iter().map(|(link, _)| *link).collect(),
                Some(found) => vec![flow.src, flow.dst, found[0].0],
            };
            let route = *known.entry((learned, key)).or_insert_with(|| {
                let links = found.unwrap_or_else(|| links(&mut tracer, paths.one_path, flow, number));
                routes.push(Route { links, flows: Vec::new() });
                exact::<u32>(routes.len()) - 1
            });
            route_of.push(route);
        }
    }

    fn sort_flows(&mut self) {
        let mut by_start: Vec<u32> = (0..exact::<u32>(self.flows.len())).collect();
        by_start.retain(|&row| self.flows[row as usize].delivered != Time::NEVER);
        by_start.sort_unstable_by_key(|&row| (self.flows[row as usize].flow.start, row));
        for row in by_start {
            let end = self.flows[row as usize].delivered;
            let flows = &mut self.routes[self.route_of[row as usize] as usize].flows;
            let latest = flows.last().map_or(end, |(_, before)| end.max(*before));
            flows.push((row, latest));
        }
    }

    fn links(&self, row: u32) -> &[(u32, f64)] {
        &self.routes[self.route_of[row as usize] as usize].links
    }

    /// Of the links that a flow crossed, the one that was used most in a span of time, and the share of its rate: as
    /// if every flow had sent evenly from its start to its delivery.
    pub(super) fn busiest(&self, row: u32, span: (Time, Time)) -> Option<(u32, f64)> {
        let used = self.links(row).iter().map(|&(link, _)| (link, self.used(link, span)));
        used.reduce(|most, one| if one.1 > most.1 { one } else { most })
    }

    fn used(&self, link: u32, (start, end): (Time, Time)) -> f64 {
        let routes = self.by_link[link as usize].iter();
        let bytes = routes.map(|&(route, share)| share * self.carried(route, (start, end)));
        let rate = self.topology.links[link as usize].rate.as_bps() as f64;
        bytes.sum::<f64>() * 8e12 / rate / end.since(start).as_ps().max(1) as f64
    }

    /// The bytes that flows of a route sent in a span of time.
    fn carried(&self, route: u32, (start, end): (Time, Time)) -> f64 {
        let flows = &self.routes[route as usize].flows;
        let until = flows.partition_point(|(row, _)| self.flows[*row as usize].flow.start < end);
        let under_way = flows[..until].iter().rev().take_while(|(_, latest)| *latest > start);
        let bytes = under_way.map(|&(row, _)| {
            let FlowRow { flow, delivered, .. } = &self.flows[row as usize];
            let common = delivered.min(&end).since(flow.start.max(start));
            let life = delivered.since(flow.start).as_ps().max(1);
            self.bytes[row as usize] as f64 * common.as_ps() as f64 / life as f64
        });
        bytes.sum()
    }

    /// Finds for each collective operation which link bounds it.
    pub fn bound(&self, jobs: &[Job], rows: &mut [JobRow]) {
        let mut flows: BTreeMap<(u8, u32, u32), Vec<u32>> = BTreeMap::new();
        // A source has a job, or none; of one of which a rank fails there are two parts.
        let mut parts: BTreeMap<u8, Vec<&Job>> = BTreeMap::new();
        jobs.iter().for_each(|job| parts.entry(job.of_source()).or_default().push(job));
        for (row, FlowRow { flow, .. }) in (0..).zip(self.flows) {
            let mut parts = parts.get(&flow.source).into_iter().flatten();
            let at = parts.find_map(|job| Some((job.source, job.plan.locate(flow.id)?)));
            if let Some((source, at)) = at {
                flows.entry((source, at.iteration, at.exchange)).or_default().push(row);
            }
        }
        let mut bytes = vec![0.0; self.topology.links.len()];
        for row in rows {
            if let Some(flows) = flows.get(&(row.source, row.repetition, row.exchange)) {
                row.bound = self.bound_of(flows, &mut bytes);
            }
        }
    }

    /// `bytes`: zero for each link, before and after.
    fn bound_of(&self, flows: &[u32], bytes: &mut [f64]) -> Option<Bound> {
        let mut used = Vec::new();
        for &row in flows {
            for &(link, share) in self.links(row) {
                if bytes[link as usize] == 0.0 {
                    used.push(link);
                }
                bytes[link as usize] += self.bytes[row as usize] as f64 * share;
            }
        }
        used.sort_unstable();
        let takes =
            |link: u32| bytes[link as usize] * 8e12 / self.topology.links[link as usize].rate.as_bps() as f64;
        let most = used.iter().map(|&link| takes(link)).fold(0.0, f64::max);
        let mut alike = used.iter().filter(|&&link| takes(link) >= ALIKE * most);
        let count = exact::<u32>(alike.clone().count());
        let bound = alike.next().map(|&link| Bound {
            link,
            takes: Time(saturated::<u64>(most.round())),
            alike: count,
        });
        used.iter().for_each(|&link| bytes[link as usize] = 0.0);
        bound
    }
}

/// The links that a flow crosses, with the share of its bytes.
fn links(tracer: &mut Tracer<'_>, one_path: bool, flow: &Flow, number: u16) -> Vec<(u32, f64)> {
    if one_path {
        let path = tracer.path(flow.id, number, flow.src, flow.dst);
        return path.into_iter().map(|link| (link, 1.0)).collect();
    }
    tracer.spread(flow.id, number, flow.src, flow.dst)
}

/// The number of each flow's connection, by the order in which they started.
fn numbers(flows: &[FlowRow], mut connections: ConnectionNumbers) -> Vec<u16> {
    let mut numbers = vec![0; flows.len()];
    if connections.matter() {
        let mut by_start: Vec<usize> = (0..flows.len()).collect();
        by_start.sort_by_key(|&row| (flows[row].flow.start, flows[row].flow.id));
        for row in by_start {
            let Flow { src, dst, .. } = flows[row].flow;
            numbers[row] = connections.next(src, dst);
        }
    }
    numbers
}
