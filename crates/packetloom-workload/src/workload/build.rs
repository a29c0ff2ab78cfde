//! From a `[[workload]]` section to a source of flows, or to chains.

use super::arrivals::{Arrivals, follow_load};
use super::chain::{Chain, ChainPlan};
use super::deadlines::Deadlines;
use super::entity;
use super::facts::SourceFacts;
use super::generator::{Built, Environment, OpenLoop, Planned, PlannedJob};
use super::job::settings::Site;
use super::job::{self, Disturbances, RankFault, disturb};
use super::jobs;
use super::list::FlowList;
use super::members::Members;
use super::pattern::{Pattern, Turn};
use super::replay;
use super::requests;
use super::sizes::Sizes;
use super::source::{DrawnSource, Events, Label, ListSource, OpenSource, Parts};
use crate::flow::{Flow, HostId, MOST_PACKETS};
use crate::formats::{self, FileError, hpcc_flows, htsim_connections};
use crate::narrow::exact;
use crate::random::{Purpose, Stream};
use crate::spec::{Complaint, Values};
use crate::units::Time;
use std::sync::Arc;

/// What rounding leaves when shares such as 0.1 + 0.2 + 0.7 are added up.
const SHARE_TOLERANCE: f64 = 1e-9;

/// The complaint, its key put inside `section`; one about a fault stays where it is.
pub fn inside(section: &str, complaint: Complaint) -> Complaint {
    if complaint.key.starts_with("fault[") {
        return complaint;
    }
    Complaint { key: format!("{section}.{}", complaint.key), message: complaint.message }
}

/// What must hold of all sources together, and of the scenario around them.
pub fn check_together(specs: &[Values], env: &Environment) -> Result<(), Complaint> {
    if env.hosts < 2 {
        return Err(Complaint::new("topology", "flows need two hosts at least; write a larger topology"));
    }
    if specs.len() > 256 {
        return Err(Complaint::new("workload", "more than 256 sources; write fewer [[workload]] sections"));
    }
    check_background(specs)?;
    let follows = |spec: &&Values| follow_load(&spec.component("arrivals"));
    // A source with hosts of its own shares their links with no other.
    let shares_links = |spec: &&Values| spec.optional_number("hosts").is_none();
    let shares: f64 =
        specs.iter().filter(follows).filter(shares_links).map(|spec| spec.number("share")).sum();
    if shares > 1.0 + SHARE_TOLERANCE {
        let message = format!(
            "the sources' shares of the load add up to {shares}; give each [[workload]] a share so that they add up to 1"
        );
        return Err(Complaint::new("workload", message));
    }
    Ok(())
}

/// A case ends when its foreground is over, so there must be one, and one that can be known to be over.
fn check_background(specs: &[Values]) -> Result<(), Complaint> {
    let is_background = |spec: &Values| spec.flag("background");
    if specs.iter().all(is_background) {
        let message = "all sources are background, so the case would never end; leave it out of one";
        return Err(Complaint::new("workload", message));
    }
    let is_closed = |spec: &Values| spec.component("arrivals").kind == "closed";
    let endless = specs.iter().position(|spec| is_closed(spec) && !is_background(spec));
    match endless {
        Some(index) if specs.iter().any(is_background) => Err(Complaint::new(
            &format!("workload[{index}].arrivals"),
            "background traffic ends with the flows that go by the clock; write \"closed\" for the background only",
        )),
        _ => Ok(()),
    }
}

/// What every kind of source needs.
struct Common {
    label: Label,
    deadlines: Deadlines,
    start: Time,
    end: Time,
    own_flows: Option<u64>,
    is_background: bool,
    members: Members,
}

/// The source number `index`.
///
/// # Errors
/// A complaint with a key of the section.
pub fn source(spec: &Values, env: &Environment, index: u8, members: Members) -> Result<Built, Complaint> {
    let env = &Environment { hosts: members.count(), ..env.clone() };
    let common = Common {
        label: Label { source: index, class: exact::<u8>(spec.count("class")) },
        deadlines: Deadlines::build(&spec.component("deadlines")),
        start: spec.time("start"),
        end: env.duration.unwrap_or(Time::NEVER),
        own_flows: spec.optional_count("flows"),
        is_background: spec.flag("background"),
        members,
    };
    match Arrivals::build(&spec.component("arrivals")) {
        Arrivals::List { file, is_hpcc } => listed(common, &file, is_hpcc, env),
        Arrivals::Connections { file, start_unit, trigger_delay } => {
            connections(&common, (&file, start_unit), trigger_delay, env)
        }
        Arrivals::Job => job(&common, &spec.component("arrivals"), env),
        Arrivals::Serving => serving(&common, &spec.component("arrivals"), env),
        Arrivals::Closed { concurrent, think_time } => closed(common, spec, env, concurrent, think_time),
        arrivals => drawn(common, spec, env, &arrivals),
    }
}

fn listed(common: Common, file: &str, is_hpcc: bool, env: &Environment) -> Result<Built, Complaint> {
    let list = formats::read(file, |text| {
        if is_hpcc {
            replay::from_hpcc(&hpcc_flows::read(text)?, env)
        } else {
            FlowList::read(text, env.hosts).map_err(|error| FileError::new(error.line, error.message))
        }
    });
    let list = list.map_err(|complaint| inside("arrivals", complaint))?;
    if list.has_deadlines && common.deadlines != Deadlines::None {
        return Err(Complaint::new("deadlines", format!("{file} has a column of deadlines; leave this out")));
    }
    let facts = SourceFacts::of_list(file, &list.flows, env);
    let most_flows = common.own_flows.unwrap_or(u64::MAX);
    let source = ListSource::new(
        list.flows,
        common.label,
        common.start,
        common.deadlines,
        env.seed,
        most_flows,
        common.end,
    );
    let count = Some(source.count());
    Ok(open(OpenSource::Listed(source), &common, count, facts, env))
}

/// What the flows of a source have in common that are planned together.
fn like(common: &Common) -> Flow {
    Flow {
        id: 0,
        src: 0,
        dst: 0,
        size_bytes: 0,
        start: common.start,
        deadline: Time::NEVER,
        class: common.label.class,
        source: common.label.source,
        chain: None,
    }
}

/// Flows that wait for one another take all their source has to say.
fn check_planned(common: &Common) -> Result<(), Complaint> {
    if common.deadlines != Deadlines::None {
        return Err(Complaint::new("deadlines", "flows that wait for others have none; leave this out"));
    }
    if common.own_flows.is_some() {
        return Err(Complaint::new("flows", "flows that wait for others can't be left out; leave this out"));
    }
    Ok(())
}

fn connections(
    common: &Common,
    (file, start_unit): (&str, Option<Time>),
    trigger_delay: Time,
    env: &Environment,
) -> Result<Built, Complaint> {
    check_planned(common)?;
    let plan = formats::read(file, |text| {
        let matrix = htsim_connections::read(text, start_unit)?;
        replay::from_htsim(&matrix, env, like(common), trigger_delay)
    });
    let plan = plan.map_err(|complaint| inside("arrivals", complaint))?;
    let sizes: Vec<u64> = plan.flows.iter().map(|flow| flow.size_bytes).collect();
    let facts = SourceFacts::of_plan(&sizes, &format!("as listed in {file}"), "as listed", env);
    Ok(Built::Planned(Planned { plan, is_background: common.is_background }, facts))
}

/// Where the ranks of a source may be, which has these hosts.
fn site<'a>(hosts: &'a [HostId], env: &'a Environment) -> Site<'a> {
    Site {
        nodes: &env.nodes,
        hosts,
        server: env.server_hosts,
        rate: env.host_rate,
        wire: env.wire,
        whole: env.whole,
    }
}

fn serving(common: &Common, values: &Values, env: &Environment) -> Result<Built, Complaint> {
    check_planned(common)?;
    let hosts: Vec<HostId> = (0..env.hosts).map(|member| common.members.host(member)).collect();
    let made = requests::plan(values, &site(&hosts, env), like(common), env.seed);
    let (plan, pattern) = made.map_err(|complaint| inside("arrivals", complaint))?;
    let mut sizes: Vec<u64> = plan.transfers().take(MOST_SIZES).collect();
    sizes.extend(plan.largest_all_reduce());
    let facts = SourceFacts::of_plan(&sizes, "as prompts have them", &pattern, env);
    let messages = plan.transfers().count() as u64;
    // What is sent of all-reduces depends on who is served together.
    let facts = SourceFacts { flows: (!plan.exchanges()).then_some(messages), ..facts };
    Ok(Built::Serving(Box::new(plan), facts))
}

fn job(common: &Common, values: &Values, env: &Environment) -> Result<Built, Complaint> {
    check_planned(common)?;
    let hosts: Vec<HostId> = (0..env.hosts).map(|member| common.members.host(member)).collect();
    let site = site(&hosts, env);
    let mut draws = Stream::new(env.seed, Purpose::Pattern, entity::source(common.label.source));
    let made = jobs::plan(values, &site, like(common), &mut draws);
    let (mut plan, pattern) = made.map_err(|complaint| inside("arrivals", complaint))?;
    let rest = disturbed(&mut plan, values, common.label.source, env)?;
    let sizes = plan.sizes(MOST_SIZES);
    let said = if plan.is_modelled() { "nothing is sent" } else { "as the operations have them" };
    let facts = SourceFacts::of_plan(&sizes, said, &pattern, env);
    let facts = SourceFacts { flows: Some(plan.messages()), ..facts };
    let job = PlannedJob { plan, rest, is_background: common.is_background };
    Ok(Built::Job(Box::new(job), facts))
}

/// Has the faults of its ranks happen to a job; returns what goes on when one has failed.
fn disturbed(
    plan: &mut job::Plan,
    values: &Values,
    source: u8,
    env: &Environment,
) -> Result<Option<job::Plan>, Complaint> {
    let faults: Vec<RankFault> =
        env.rank_faults.iter().filter(|fault| fault.source == source).cloned().collect();
    let Some(first) = faults.first() else { return Ok(None) };
    let disturbances = Disturbances::of(&faults, plan, |rank| jobs::replica(values, rank))?;
    let complain = |message| Complaint::new(&format!("fault[{}]", first.number), message);
    disturb(plan, disturbances).map_err(complain)
}

/// The sizes of so many messages tell how large a job's are.
const MOST_SIZES: usize = 1_000_000;

fn drawn(common: Common, spec: &Values, env: &Environment, arrivals: &Arrivals) -> Result<Built, Complaint> {
    let sizes = build_sizes(spec, env)?;
    let pattern = build_pattern(spec, env, common.label.source)?;
    let flows_per_event = pattern.flows_per_event();
    let (events, turn, gap_ps, count) = match arrivals {
        Arrivals::AtOnce { rounds } => {
            let count = rounds.saturating_mul(pattern.events_per_round(env.hosts));
            let flows = count.saturating_mul(u64::from(flows_per_event));
            (Events::AtOnce { at: common.start, count }, Turn::Round, None, Some(flows))
        }
        _ => {
            require_end(&common, env)?;
            let gap_ps = gap_ps(arrivals, &sizes, &pattern, spec.number("share"), env)?;
            let (events, turn) = if matches!(arrivals, Arrivals::Poisson { .. }) {
                (Events::poisson(gap_ps, common.start, env.seed, common.label.source), Turn::Drawn)
            } else {
                (Events::Periodic { gap_ps, first: common.start }, Turn::Round)
            };
            (events, turn, Some(gap_ps), None)
        }
    };
    let flows_per_second = gap_ps.map(|gap_ps| 1e12 * f64::from(flows_per_event) / gap_ps);
    let facts = SourceFacts::of_draws(&sizes, &pattern, flows_per_second, env);
    let most_flows = common.own_flows.unwrap_or(u64::MAX);
    let parts = Parts {
        label: common.label,
        members: common.members.clone(),
        events,
        turn,
        pattern,
        sizes,
        deadlines: common.deadlines,
        most_flows,
        end: common.end,
    };
    let source = OpenSource::Drawn(Box::new(DrawnSource::new(parts, env.seed)));
    Ok(open(source, &common, count, facts, env))
}

/// Puts the number of flows together: the source's own, `count` where it ends by itself, and the run's.
fn open(
    source: OpenSource,
    common: &Common,
    count: Option<u64>,
    facts: SourceFacts,
    env: &Environment,
) -> Built {
    let smaller = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    let shares_limit = common.own_flows.is_none() && !common.is_background;
    let count = smaller(count, common.own_flows);
    let flows = if shares_limit { smaller(count, env.flow_limit) } else { count };
    let is_background = common.is_background;
    Built::Open(OpenLoop { source, shares_limit, is_background, left: count }, SourceFacts { flows, ..facts })
}

/// More chains than there is memory for: each takes some 200 bytes before its first flow.
const MOST_CHAINS: u64 = 10_000_000;

fn closed(
    common: Common,
    spec: &Values,
    env: &Environment,
    concurrent: u64,
    think_time: Time,
) -> Result<Built, Complaint> {
    let Ok(concurrent) = u16::try_from(concurrent) else {
        return Err(Complaint::new("arrivals.concurrent", "more than 65535 chains per host; write fewer"));
    };
    require_end(&common, env)?;
    let source = common.label.source;
    let sizes = build_sizes(spec, env)?;
    let pattern = build_pattern(spec, env, source)?;
    let mut stream = Stream::new(env.seed, Purpose::Pattern, entity::senders(source));
    let senders = pattern
        .closed_loop_senders(env.hosts, &mut stream)
        .map_err(|complaint| inside("pattern", complaint))?;
    let chains = senders.len() as u64 * u64::from(concurrent);
    if chains > MOST_CHAINS {
        let message =
            format!("{chains} flows at once over all hosts; write fewer: {MOST_CHAINS} in all at most");
        return Err(Complaint::new("arrivals.concurrent", message));
    }
    let limit = common.own_flows.or(env.flow_limit.filter(|_| !common.is_background));
    let facts = SourceFacts { flows: limit, ..SourceFacts::of_draws(&sizes, &pattern, None, env) };
    let plan = Arc::new(ChainPlan {
        label: common.label,
        members: common.members.clone(),
        pattern,
        sizes,
        deadlines: common.deadlines,
        start: common.start,
        think_time,
        end: common.end,
    });
    let slots = senders.iter().flat_map(|&src| (0..concurrent).map(move |slot| (src, slot)));
    let made = slots.zip(0..).map(|((src, slot), index)| {
        let most_flows = limit.map_or(u64::MAX, |limit| limit / chains + u64::from(index < limit % chains));
        Chain::new(&plan, src, slot, most_flows, env.seed)
    });
    Ok(Built::Closed(made.collect(), facts))
}

fn build_sizes(spec: &Values, env: &Environment) -> Result<Sizes, Complaint> {
    let sizes = spec.optional_component("sizes").expect("the component's check asks for sizes");
    let sizes = Sizes::build(&sizes).map_err(|complaint| inside("sizes", complaint))?;
    Ok(sizes.ending_at(MOST_PACKETS.saturating_mul(env.mss)))
}

fn build_pattern(spec: &Values, env: &Environment, source: u8) -> Result<Pattern, Complaint> {
    Pattern::build(&spec.component("pattern"), env.hosts, env.seed, source)
        .map_err(|complaint| inside("pattern", complaint))
}

/// A source that would go on forever must be given an end.
fn require_end(common: &Common, env: &Environment) -> Result<(), Complaint> {
    if common.is_background || common.own_flows.or(env.flow_limit).is_some() || env.duration.is_some() {
        return Ok(());
    }
    Err(Complaint::new(
        "flows",
        "this source would never end; write how many flows, here or in [run], or a duration",
    ))
}

/// The mean picoseconds between arrivals: the source's own, or those that offer its share of the load, where
/// load = mean bytes offered per host and second, headers included / host link rate.
fn gap_ps(
    arrivals: &Arrivals,
    sizes: &Sizes,
    pattern: &Pattern,
    share: f64,
    env: &Environment,
) -> Result<f64, Complaint> {
    let flows_per_event = f64::from(pattern.flows_per_event());
    match arrivals {
        Arrivals::Poisson { rate_per_second: Some(rate) } => return Ok(1e12 / rate),
        Arrivals::Periodic { interval: Some(interval) } => return Ok(interval.as_ps() as f64),
        _ => {}
    }
    match env.load {
        Some(load) if load > 0.0 => {
            let bps = loaded_bps(pattern.loaded_links(env.hosts), env);
            let bits_per_second = load * share * bps.expect("there are loads only where hosts are alike");
            let event_bits = 8.0 * flows_per_event * sizes.mean_wire_bytes(env.mss, env.header);
            Ok(1e12 * event_bits / bits_per_second)
        }
        Some(load) => {
            Err(Complaint::new("arrivals", format!("a load of {load} offers no flows; write one above 0")))
        }
        None => Err(Complaint::new(
            "arrivals",
            "no load to follow; write one in [run], or a rate or interval of its own",
        )),
    }
}

/// The rate of so many hosts' links, over which load is spread, if hosts are alike.
pub fn loaded_bps(hosts: u32, env: &Environment) -> Option<f64> {
    env.host_rate.map(|rate| f64::from(hosts) * rate.as_bps() as f64)
}
