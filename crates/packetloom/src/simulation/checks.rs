//! What parts of a case do not go together.

use super::circles::form_circles;
use super::queues;
use crate::central;
use crate::engine::FlowWatch;
use crate::engine::PathNeeds;
use crate::fault::{self, Faults};
use crate::flow::{FlowId, MOST_PACKETS};
use crate::narrow::saturated;
use crate::packet::Format;
use crate::queue::{self, Specification};
use crate::routing::{self, Judged};
use crate::scenario::{Case, ROLES};
use crate::spec::{Complaint, Value, Values};
use crate::topology::{MessageCosts, Topology};
use crate::transport;
use crate::units::Time;
use crate::user_class::{self, Role};
use crate::workload::{Spread, Workload};
use std::collections::BTreeSet;

/// Has the classes of users compiled that a scheme names. The scenario's reader has done so, but perhaps in another
/// process.
pub(super) fn load_classes(scheme: &Values) -> Result<(), Complaint> {
    let parts = [("transport", "transport"), ("queue", "queue"), ("nic", "queue"), ("routing", "routing")];
    for (key, section) in parts {
        if let Some(values) = scheme.optional_component(key) {
            load_class(section, &format!("scheme.{key}"), &values)?;
        }
    }
    Ok(())
}

/// The same of a component, and of the queues in a queue.
fn load_class(section: &str, key: &str, values: &Values) -> Result<(), Complaint> {
    let is_it = |role: &&Role| (role.component.section, role.component.kind) == (section, &values.kind);
    if let Some(role) = ROLES.into_iter().find(is_it) {
        user_class::named(role, values).map_err(|message| Complaint::new(&format!("{key}.file"), message))?;
    }
    for (name, value) in values.entries.iter().filter(|_| section == "queue") {
        if let Value::Component(inner) = value {
            load_class(section, &format!("{key}.{name}"), inner)?;
        }
    }
    Ok(())
}

/// Credits must be enough to send a packet, and must not be lost.
pub(super) fn check_credits(
    case: &Case,
    workload: &Workload,
    (topology, faults): (&Topology, &Faults),
    format: Format,
) -> Result<(), Complaint> {
    let Some([queue, nic]) = queues(case, workload) else { return Ok(()) };
    queue::check_credits(&queue, &nic, topology, format.mss_bytes + format.header_bytes)?;
    check_pauses(case, (&queue, &nic), topology, format)?;
    check_slow_hosts(
        (topology, faults),
        &nic,
        transport::largest_bytes(&case.scheme.component("transport"), format),
    )?;
    let transport = case.scheme.component("transport").kind;
    if transport::needs(&transport).no_losses && !queue.traits.loses_nothing {
        let message = format!("{transport} does not repair losses; write \"daq\", which has none");
        return Err(Complaint::new("scheme.queue", message));
    }
    check_backpressure(&transport, (&queue, &nic))?;
    check_windows(case, (&queue, &nic), (topology, faults))?;
    let pauses_flows = queue.backpressure.is_some();
    if queue.credit_bytes().is_none() && !pauses_flows {
        return Ok(());
    }
    if case.faults.iter().any(|fault| fault::happens(fault) && !fault::is_of_rank(fault)) {
        let message = format!(
            "a lost {} never comes back, so its link would stall; leave faults out where the queue is {:?}",
            if pauses_flows { "RESUME" } else { "credit" },
            queue.kind()
        );
        return Err(Complaint::new("fault", message));
    }
    if topology.error_rates.iter().any(|rate| *rate > 0.0) {
        let message = "a lost credit or RESUME never comes back, so its link would stall, and some links of this network lose packets; \
                       write error rates of 0 in its file, or another queue, such as \"drop-tail\"";
        return Err(Complaint::new("scheme.queue", message));
    }
    Ok(())
}

/// BFC is between the transport and the queues of switches and hosts.
fn check_backpressure(
    transport: &str,
    (queue, nic): (&Specification, &Specification),
) -> Result<(), Complaint> {
    match (transport == "bfc", queue.backpressure.is_some()) {
        (true, false) => {
            let message = format!(
                "switches pause the flows of \"bfc\", and {:?} pauses none; write queue = \"bfc\", or transport = \"roce\"",
                queue.kind()
            );
            Err(Complaint::new("scheme.queue", message))
        }
        (false, true) => {
            let message = format!(
                "\"bfc\" pauses hosts flow by flow, which {transport} does not heed; write transport = \"bfc\""
            );
            Err(Complaint::new("scheme.queue", message))
        }
        _ if queue.backpressure != nic.backpressure => {
            let message = "hosts and switches have the same queue where that is \"bfc\"; leave nic out";
            Err(Complaint::new("scheme.nic", message))
        }
        _ => Ok(()),
    }
}

/// Floodgate is between switches; hosts heed what it says to them, and lost window has to be asked for.
fn check_windows(
    case: &Case,
    (queue, nic): (&Specification, &Specification),
    (topology, faults): (&Topology, &Faults),
) -> Result<(), Complaint> {
    let transport = &case.scheme.component("transport").kind;
    let Some(windows) = &queue.windows else {
        let message = "switches have no windows for destinations, and hosts need none; write the same queue for both, or leave nic out";
        return nic.windows.map_or(Ok(()), |_| Err(Complaint::new("scheme.nic", message)));
    };
    if windows.pauses_hosts() && !transport::needs(transport).heeds_destinations {
        let message = format!(
            "hosts with {transport} do not heed pauses of a destination, which RDMA's transports do; leave this out, and write \
             another variant than \"ideal\""
        );
        return Err(Complaint::new("scheme.queue.pause_hosts_above", message));
    }
    let are_shared = windows.voqs.is_some_and(|voqs| voqs < topology.hosts);
    if are_shared && form_circles(topology) != Some(false) {
        let message = format!(
            "fewer VOQs than hosts are shared by destinations, which may wait for each other without end where paths form \
             circles of links, as here; write {}",
            topology.hosts
        );
        return Err(Complaint::new("scheme.queue.voqs", message));
    }
    let breaks = case.faults.iter().any(|fault| fault::happens(fault) && !fault::loses_nothing(fault));
    let errs = topology.error_rates.iter().any(|rate| *rate > 0.0);
    if !breaks && !errs {
        return Ok(());
    }
    let (key, message) = if windows.pauses_hosts() {
        (
            "scheme.queue.pause_hosts_above",
            "a lost resumption never comes back, so a host would stall; leave this out, or what loses packets",
        )
    } else if windows.resync_after.is_none() {
        (
            "scheme.queue.resync_after",
            "window for lost packets never comes back unless the switch asks for it; write a time, such as \"1ms\"",
        )
    } else if !(faults.dead_for_good().is_empty() || faults.stand()) {
        (
            "fault",
            "window for what was sent on a link that stays dead never comes back; write when the link is mended",
        )
    } else {
        return Ok(());
    };
    Err(Complaint::new(key, message))
}

/// Hosts must heed pauses, and buffers be large enough for them.
fn check_pauses(
    case: &Case,
    (queue, nic): (&Specification, &Specification),
    topology: &Topology,
    format: Format,
) -> Result<(), Complaint> {
    if queue.pfc.is_some() != nic.pfc.is_some() {
        let message = "pauses are between the two ends of a link, so hosts and switches both have a queue that pauses, or neither: \
                       \"shared-buffer\", or \"egress\" with flow_control = \"pfc\"; leave nic out";
        return Err(Complaint::new("scheme.nic", message));
    }
    // A NIC heeds any pause, and sends some only where its host is slow: with no class of its own it never does.
    if let Some(pfc) = nic.pfc.filter(|_| nic.pauses() && nic.paused_classes() != queue.paused_classes()) {
        let message = "hosts and switches pause other classes than each other; write the same lossless classes for both, \
                       lossless = [] for hosts that pause nothing, or leave nic out";
        let key = format!("scheme.nic.{}", pfc.written_as("lossless"));
        return Err(Complaint::new(&key, message));
    }
    let loses = !case.faults.iter().filter(|fault| fault::happens(fault)).all(fault::loses_nothing)
        || topology.error_rates.iter().any(|rate| *rate > 0.0);
    let packet_bytes = transport::largest_bytes(&case.scheme.component("transport"), format);
    queue::check_limits(queue, topology, packet_bytes, loses)
}

/// A slow host must be able to pause its links, and its NIC have room for what comes until they heed that.
fn check_slow_hosts(
    (topology, faults): (&Topology, &Faults),
    nic: &Specification,
    packet_bytes: u64,
) -> Result<(), Complaint> {
    for (host, slow) in faults.slow_hosts() {
        let Some(pfc) = nic.pfc.filter(|_| nic.pauses()) else {
            let message = format!(
                "{} is a slow receiver, and with {} nothing is ever paused; write queue = {{ kind = \"shared-buffer\" }} \
                 with a lossless class in the scheme, or leave this fault out",
                topology.node_name(host),
                if nic.pfc.is_some() {
                    "lossless = []".to_owned()
                } else {
                    format!("the NIC {:?}", nic.kind())
                },
            );
            return Err(Complaint::new(&format!("fault[{}].kind", slow.fault), message));
        };
        let key = format!("fault[{}].buffer", slow.fault);
        let headroom = format!("scheme.nic.{}", pfc.written_as("headroom"));
        queue::check_host_limits(&slow.buffer(pfc), topology, host, packet_bytes, [&headroom, &key])?;
    }
    Ok(())
}

/// Senders must be able to number the packets of every flow.
pub(super) fn check_sizes(workload: &Workload, format: Format) -> Result<(), Complaint> {
    for (number, source) in workload.describe().iter().enumerate() {
        let (largest, most) = (source.spread.largest(), MOST_PACKETS.saturating_mul(format.mss_bytes));
        if largest > most {
            let key = if matches!(source.spread, Spread::Drawn(_)) { "sizes" } else { "arrivals" };
            let message = format!(
                "flows may have {largest} B, which are {} packets of {} B, and senders number {MOST_PACKETS} at most; write \
                 sizes up to {most} B, larger packets (mss), or run.fidelity = \"flows\"",
                format.packets(largest),
                format.mss_bytes
            );
            return Err(Complaint::new(&format!("workload[{number}].{key}"), message));
        }
    }
    Ok(())
}

/// The queue that a scenario names for switches, or for hosts.
pub(super) fn specified(case: &Case, key: &str) -> Option<Specification> {
    case.scheme.optional_component(key).map(|queue| Specification::of(&queue))
}

/// Queues must be able to hold packets of this format, and have the classes that the workloads name.
pub(super) fn check_queues(case: &Case, format: Format) -> Result<(), Complaint> {
    let queues = ["queue", "nic"].map(|key| (key, specified(case, key)));
    for (key, queue) in queues.iter().filter_map(|(key, queue)| Some((key, queue.as_ref()?))) {
        queue
            .check(format.mss_bytes + format.header_bytes)
            .map_err(|complaint| Complaint { key: format!("scheme.{key}.{}", complaint.key), ..complaint })?;
    }
    check_weights(case)?;
    check_classes(case, queues[0].1.as_ref().and_then(|queue| queue.classes))
}

/// A class without a weight would have no share.
fn check_weights(case: &Case) -> Result<(), Complaint> {
    let Some(classes) = transport::weighted_classes(&case.scheme.component("transport")) else {
        return Ok(());
    };
    let Some(number) = case.workloads.iter().position(|workload| workload.count("class") >= classes) else {
        return Ok(());
    };
    let last = classes - 1;
    let message = format!(
        "the scheme {:?} has weights for {classes} classes, 0 to {last}; write {last} at most, or give it more weights",
        case.scheme.text("name"),
    );
    Err(Complaint::new(&format!("workload[{number}].class"), message))
}

/// Nothing would serve a class that the queue has not.
fn check_classes(case: &Case, of_queue: Option<u64>) -> Result<(), Complaint> {
    let Some(classes) = of_queue else { return Ok(()) };
    let transport = case.scheme.component("transport");
    // A transport with classes of its own does not use the workloads'.
    let is_used = transport::classes(&transport).is_none();
    let of_workloads = case.workloads.iter().enumerate().filter(|_| is_used);
    let of_workloads =
        of_workloads.map(|(number, one)| (format!("workload[{number}].class"), one.count("class")));
    let of_transport =
        ["class", "data_class", "ack_class"].into_iter().filter_map(|key| match transport.entries.get(key) {
            Some(Value::Count(class)) => Some((format!("scheme.transport.{key}"), *class)),
            _ => None,
        });
    let Some((key, _)) = of_workloads.chain(of_transport).find(|(_, class)| *class >= classes) else {
        return Ok(());
    };
    let last = classes - 1;
    let message = format!(
        "the scheme {:?} has a queue of {classes} classes, 0 to {last}; write {last} at most, or give the queue more",
        case.scheme.text("name")
    );
    Err(Complaint::new(&key, message))
}

/// More samples than a case's memory, and its table, can hold: some 40 bytes each.
const MOST_SAMPLES: u64 = 100_000_000;

/// Memory must hold samples of every port for as long as the case lasts at least.
pub(super) fn check_samples(case: &Case, workload: &Workload, topology: &Topology) -> Result<(), Complaint> {
    let Some(interval) = case.measure.optional_time("series_interval") else { return Ok(()) };
    let (lasts, ports) = (lasts_at_least(case, workload, topology), topology.links.len());
    let samples = lasts / interval.as_secs_f64() * ports as f64;
    if samples <= MOST_SAMPLES as f64 {
        return Ok(());
    }
    let longer = Time::from_ns(saturated::<u64>((lasts * 1e9 * ports as f64 / MOST_SAMPLES as f64).ceil()));
    let message = format!(
        "{interval} makes {samples:.0} samples of {ports} ports in the {lasts:.6} s that the case takes at least; there is \
         room for {MOST_SAMPLES}: write {longer} or more"
    );
    Err(Complaint::new("measure.series_interval", message))
}

/// How many seconds a case takes at least: until its flows have started, or their bytes have left their hosts.
fn lasts_at_least(case: &Case, workload: &Workload, topology: &Topology) -> f64 {
    let of_hosts = topology.links.iter().filter(|link| link.src < topology.hosts);
    let all_bps: f64 = of_hosts.map(|link| link.rate.as_bps() as f64).sum();
    let flow_limit = case.run.optional_count("flows");
    let until_all_started = workload.describe().iter().filter_map(|source| {
        let flows = source.flows.or(flow_limit)? as f64;
        let of_rate = source.flows_per_second.map(|rate| flows / rate);
        Some(of_rate.unwrap_or(flows * source.mean_wire_bytes * 8.0 / all_bps))
    });
    let ends = ["duration", "max_time"].into_iter().filter_map(|key| case.run.optional_time(key));
    ends.map(Time::as_secs_f64).chain(until_all_started.reduce(f64::min)).reduce(f64::min).unwrap_or(0.0)
}

/// The links whose packets are to be captured.
pub(super) fn captured(
    case: &Case,
    topology: &Topology,
    is_fluid: bool,
) -> Result<BTreeSet<usize>, Complaint> {
    let key = "measure.capture";
    let mut links = BTreeSet::new();
    for port in case.measure.optional_list("capture").into_iter().flatten() {
        let Value::Text(port) = &port else { panic!("a port's name is {port:?}") };
        links.extend(topology.links_called(port, key)?);
    }
    if is_fluid && !links.is_empty() {
        let message = "a flow-level model has no packets to capture; leave this, or the scheme, out";
        return Err(Complaint::new(key, message));
    }
    Ok(links)
}

/// Flows are sampled at senders that choose when to send. The default interval is short; a longer flow has its samples
/// further apart.
pub(super) fn watched(case: &Case, has_senders: bool) -> Result<Option<FlowWatch>, Complaint> {
    let Some(flows) = case.measure.optional_list("flows") else { return Ok(None) };
    let transport = case.scheme.component("transport").kind;
    if !has_senders {
        let message =
            format!("{transport:?} has no senders that could be sampled; leave this, or the scheme, out");
        return Err(Complaint::new("measure.flows", message));
    }
    let number = |flow: &Value| match flow {
        Value::Count(flow) => FlowId::try_from(*flow).ok(),
        _ => None,
    };
    let numbers: Option<Vec<FlowId>> = flows.iter().map(number).collect();
    let too_large = || Complaint::new("measure.flows", format!("a flow's number is {} at most", FlowId::MAX));
    let interval = case.measure.optional_time("flows_interval").unwrap_or(Time::from_us(1));
    Ok(Some(FlowWatch::new(numbers.ok_or_else(too_large)?, interval)))
}

/// Where there are no packets, none takes a time of its own. Who plans ahead when a flow's packets leave does not
/// know of what its host takes first.
pub(super) fn check_processing(
    topology: &Topology,
    (is_fluid, is_central): (bool, bool),
) -> Result<(), Complaint> {
    if is_fluid && topology.processing.is_some() {
        let message = "a flow-level model has no packets to process; write \"none\", or leave the scheme out";
        return Err(Complaint::new("topology.processing_per_packet", message));
    }
    if (is_fluid || is_central) && topology.message_costs != MessageCosts::default() {
        let key = if topology.message_costs.send > Time::ZERO { "send" } else { "receive" };
        let message = if is_fluid {
            "a flow-level model has no hosts that take time; write \"0us\", or leave the scheme out"
        } else {
            "the controller plans departures without it; write \"0us\", or leave the scheme out"
        };
        return Err(Complaint::new(&format!("topology.{key}_per_message"), message));
    }
    Ok(())
}

/// Links send again only what is damaged on them.
pub(super) fn check_retry(topology: &Topology, faults: &Faults) -> Result<(), Complaint> {
    if topology.link_retry.is_some() && !faults.damage_packets() {
        let message =
            "has no meaning where nothing damages packets; leave it out, or add a fault \"corruption\"";
        return Err(Complaint::new("topology.link_retry", message));
    }
    Ok(())
}

/// Headers go back only from switches, and only NDP's senders know what to do with them.
pub(super) fn check_returns(case: &Case) -> Result<(), Complaint> {
    let returns = |key| specified(case, key).is_some_and(|queue| queue.returns_to_sender);
    let transport = case.scheme.component("transport").kind;
    if returns("nic") {
        let message = "a host's own queue returns nothing; leave return_to_sender out of it";
        return Err(Complaint::new("scheme.nic", message));
    }
    if returns("queue") && transport != "ndp" {
        let message = format!("{transport} does not know headers that come back; leave return_to_sender out");
        return Err(Complaint::new("scheme.queue", message));
    }
    Ok(())
}

/// Where senders do not say which data no receiver has called for, all of it would count as such.
pub(super) fn check_unscheduled(case: &Case) -> Result<(), Complaint> {
    let transport = case.scheme.component("transport");
    let drops = |key: &&str| specified(case, key).is_some_and(|queue| queue.drops_unscheduled);
    let says = transport::sends_unscheduled(&transport);
    let Some(key) = ["queue", "nic"].into_iter().find(drops).filter(|_| !says) else { return Ok(()) };
    let instead = if transport.entries.contains_key("aeolus") {
        format!("write transport = {{ kind = {:?}, aeolus = true }}", transport.kind)
    } else {
        "write a transport that does, such as { kind = \"expresspass\", aeolus = true }".to_owned()
    };
    let message = format!(
        "drops data that no receiver has called for before the rest, and {} does not say which that is; {instead}, or \
         leave the threshold for it out",
        transport.kind
    );
    Err(Complaint::new(&format!("scheme.{key}"), message))
}

/// Some schemes know of one link at each host: their controllers plan for it, or they keep its books.
pub(super) fn check_links(scheme: &Values, topology: &Topology, is_fluid: bool) -> Result<(), Complaint> {
    let transport = scheme.component("transport").kind;
    if is_fluid && topology.has_scale_up() {
        let message = format!(
            "{transport} is a flow-level model, which knows of hosts' NICs only; leave scale_up, or this scheme, out"
        );
        return Err(Complaint::new("topology.scale_up", message));
    }
    let knows_one = central::is_central(&transport) || transport::needs(&transport).one_link_a_host;
    if !knows_one || !topology.has_hosts_with_several_links() {
        return Ok(());
    }
    let message = format!(
        "{transport} knows of one link at each host, and here some have several; write another, such as \"dctcp\""
    );
    Err(Complaint::new("scheme.transport", message))
}

/// The routing by which answers come back by the path of the data.
const SYMMETRIC: &str = "{ kind = \"ecmp\", symmetric = true }";

/// What a scheme loses whose answers should come back by the path of the data, where they do not.
pub(super) fn asymmetry(transport: &str, routing: &Values, topology: &Topology) -> Option<String> {
    let (_, symmetric) = routing::path_per_flow(routing, topology);
    let is_missed = transport::needs(transport).paths == PathNeeds::BetterSymmetric && !symmetric;
    is_missed.then(|| {
        format!(
            "{transport} limits credits at the ports whose way back the data take, and here the two take different paths; write routing = {SYMMETRIC}"
        )
    })
}

/// What switches remember of a flow is right only if its packets keep coming by.
pub(super) fn check_paths(transport: &str, routing: &Values, topology: &Topology) -> Result<(), Complaint> {
    if routing::judged(routing) > transport::needs(transport).judged {
        let (what, such_as) = match routing::judged(routing) {
            Judged::Packets => ("the fate of each packet", "\"uec\""),
            _ => ("the marks and timeouts of each flow", "\"dctcp\" or \"uec\""),
        };
        let message = format!(
            "{} needs {what}, which {transport} does not report; write one that does not, such as \"oblivious\", or a transport that reports it, such as {such_as}",
            routing.kind
        );
        return Err(Complaint::new("scheme.routing", message));
    }
    let (one_per_flow, symmetric) = routing::path_per_flow(routing, topology);
    let (is_met, what, instead) = match transport::needs(transport).paths {
        PathNeeds::Nothing => return Ok(()),
        PathNeeds::OnePerFlow => (one_per_flow, "all of a flow's packets to take one path", "\"ecmp\""),
        PathNeeds::Symmetric => (symmetric, "answers to come back by the path of the data", SYMMETRIC),
        PathNeeds::BetterSymmetric => (one_per_flow, "all of a flow's packets to take one path", SYMMETRIC),
    };
    if is_met {
        return Ok(());
    }
    Err(Complaint::new("scheme.routing", format!("{transport} needs {what}; write {instead}")))
}

/// Models that are told of all flows before they run: what starts only as others end has no time of its own by then.
pub(super) fn check_traffic(
    workload: &Workload,
    model: &str,
    allows_background: bool,
) -> Result<(), Complaint> {
    let refused = |why: &str| Err(Complaint::new("workload", format!("{why} under {model:?}; leave it out")));
    if workload.has_chains() {
        return refused("a closed loop can't drive flows");
    }
    if workload.has_dependencies() || !workload.jobs().is_empty() {
        return refused("flows that wait for others, as those of collectives, can't be started");
    }
    if workload.background().contains(&true) && !allows_background {
        return refused("every flow runs to its end, and background has none");
    }
    if workload.query_specs().next().is_some() {
        return refused("there are no queries");
    }
    Ok(())
}
