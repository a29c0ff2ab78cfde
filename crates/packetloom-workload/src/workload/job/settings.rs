//! How jobs are executed, as scenarios have it.

use super::library::{self, Nccl, library_of};
use super::pattern::{ALGORITHMS, Algorithm};
use super::plan::{Costs, Life, Settings};
use super::whole::Whole;
use crate::flow::{Flow, HostId};
use crate::job::Collective;
use crate::random::Stream;
use crate::spec::{Complaint, Kind, Needs, Param, Value, Values, param};
use crate::units::{Rate, Time};
use crate::workload::Wire;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// GOAL has messages only.
const COLLECTIVE: Needs = Needs::That(|site| site.own.kind != "goal", "GOAL has no collective operations");

const BY_SERVERS: &[Needs] = &[Needs::That(
    |site| {
        if library_of(site.own).is_some() {
            return true;
        }
        let keys = OPERATIONS.iter().map(|(key, _)| *key).chain(["algorithm"]);
        let mut algorithms = keys.filter(|key| site.own.has(key)).map(|key| site.own.text(key));
        site.own.kind != "goal"
            && algorithms.any(|name| ["hierarchical", "rail-ring"].contains(&name.as_str()))
    },
    "no algorithm here goes by servers, as \"hierarchical\" and \"rail-ring\" do",
)];

/// Of training's operations some come with a way to share the work out only.
const SHARDED: &[Needs] = &[
    COLLECTIVE,
    library::PLAIN,
    Needs::That(
        |site| site.own.kind != "training" || site.own.flag("sharded"),
        "training has this operation with sharded = true only",
    ),
];

const EXPERTS: &[Needs] = &[
    COLLECTIVE,
    library::PLAIN,
    Needs::That(
        |site| site.own.kind != "training" || site.own.count("experts") > 1,
        "training has this operation with experts above 1 only",
    ),
];

const OF_TRACES: &[Needs] = &[
    COLLECTIVE,
    library::PLAIN,
    Needs::That(|site| site.own.kind != "training", "training has no such operation"),
];

/// Which hosts have which ranks, how often a job is executed, and what messages cost: what every job has.
pub const PLACEMENT_PARAMS: &[Param] = &[
    param! {
        "order" = "by-number": Kind::Choice(&["by-number", "by-rail", "random"]),
        "In which order hosts have their ranks: as they are numbered, server by server; rail by rail, first the \
              first host of every server; or drawn for each seed.",
        "packetloom"
    },
    param! {
        "placement": Kind::List(&Kind::Count(0)),
        "The number of each rank's host, instead of an order.", "packetloom"
    },
    param! {
        "server": Kind::Count(1),
        "How many consecutive ranks share a server, for hierarchical and rail-ring, and for NCCL. Left out: as \
              the topology and the placement say.",
        "packetloom"; acts BY_SERVERS
    },
    param! {
        "repeat" = "1": Kind::Count(1),
        "How often the job is repeated. A rank begins again when all of its own operations have ended.",
        "packetloom"
    },
    param! {
        "channels" = "1": Kind::Count(1),
        "The number of equal parts of a collective operation that are under way at once.",
        "NCCL"; acts &[COLLECTIVE, library::PLAIN]
    },
    param! {
        "chunks" = "1": Kind::Count(1),
        "The number of pieces, one after the other, of each part: a rank passes on one piece while it receives \
              the next. At most two are between two ranks at once. With 1, a rank that is late sends all steps of a \
              ring that it can at once, side by side, and such a ring may take three times as long.",
        "NCCL"; acts &[COLLECTIVE, library::PLAIN]
    },
    param! {
        "send_cost" = "0us": Kind::Time,
        "Time that a host takes for each message that it sends, one after the other: LogP's o.",
        "Culler et al., PPoPP 1993"; acts &[library::SENT]
    },
    param! {
        "receive_cost" = "0us": Kind::Time,
        "Time that a host takes for each message that it receives, before the rank has it.",
        "Culler et al., PPoPP 1993"; acts &[library::SENT]
    },
    param! {
        "byte_cost" = "0us": Kind::Time,
        "What is added to send_cost and receive_cost for each byte of a message after the first: LogGOPS's O.",
        "Hoefler et al., LogGOPSim 2010"; acts &[library::SENT]
    },
    param! {
        "gap" = "0us": Kind::Time,
        "How long a host's NIC pauses between two messages that it sends, and between two that it receives: \
              LogP's g. The host can compute meanwhile.",
        "Culler et al., PPoPP 1993; LogGOPSim: sends and receives have a gap each"; acts &[library::SENT]
    },
];

/// Which hosts have which ranks, of those.
pub const HOST_PARAMS: &[Param] = PLACEMENT_PARAMS.split_at(2).0;

/// How each collective operation of a job is carried out.
pub const ALGORITHM_PARAMS: &[Param] = &[
    algorithm(
        "all_reduce",
        &["ring", "halving-doubling", "tree", "direct", "hierarchical", "rail-ring"],
        "ring",
    )
    .acts(&[COLLECTIVE, library::PLAIN]),
    algorithm("all_gather", &["ring", "halving-doubling", "direct", "hierarchical", "rail-ring"], "ring")
        .acts(SHARDED),
    algorithm("reduce_scatter", &["ring", "halving-doubling", "direct", "hierarchical", "rail-ring"], "ring")
        .acts(SHARDED),
    algorithm("all_to_all", &["direct", "in-turn", "hierarchical"], "direct").acts(EXPERTS),
    algorithm("broadcast", &["ring", "tree"], "ring").acts(OF_TRACES),
    algorithm("reduce", &["ring", "tree"], "ring").acts(OF_TRACES),
];

const fn algorithm(name: &'static str, all: &'static [&'static str], usual: &'static str) -> Param {
    param! {
        name = usual: Kind::Choice(all),
        "How this operation is carried out: see the arrivals \"collective\".", "Thakur et al. §4; NCCL"
    }
}

/// The parameters of [`ALGORITHM_PARAMS`], and what they are for.
const OPERATIONS: [(&str, Collective); 6] = [
    ("all_reduce", Collective::AllReduce),
    ("all_gather", Collective::AllGather),
    ("reduce_scatter", Collective::ReduceScatter),
    ("all_to_all", Collective::AllToAll),
    ("broadcast", Collective::Broadcast),
    ("reduce", Collective::Reduce),
];

/// The algorithm of this name.
pub fn algorithm_called(name: &str) -> Option<Algorithm> {
    ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
}

/// More is of no use, and numbers of messages grow with it.
const MOST_PARTS: u64 = 1_024;

/// What must hold of [`PLACEMENT_PARAMS`] on any network.
///
/// # Errors
/// What does not, by its key.
pub fn check(values: &Values) -> Result<(), Complaint> {
    for key in ["channels", "chunks"] {
        if values.count(key) > MOST_PARTS {
            return Err(Complaint::new(key, format!("write {MOST_PARTS} at most")));
        }
    }
    if values.optional_list("placement").is_some() && values.text("order") != "by-number" {
        return Err(Complaint::new("placement", "says which host has which rank; leave order out"));
    }
    Ok(())
}

/// Refuses to cut collective operations into parts where there are none that can be: `why`.
///
/// # Errors
/// The first of the keys that says so.
pub fn check_without_parts(values: &Values, why: &str) -> Result<(), Complaint> {
    match ["channels", "chunks"].into_iter().find(|key| values.count(key) > 1) {
        Some(key) => Err(Complaint::new(key, format!("{why}, not in parts; leave this out"))),
        None => Ok(()),
    }
}

/// What a job runs on.
pub struct Site<'a> {
    /// The hosts that take part, in order.
    pub hosts: &'a [HostId],
    /// How many neighbours share a server.
    pub server: Option<u32>,
    /// The rate at which every host is connected, if they are alike.
    pub rate: Option<Rate>,
    /// What the empty network takes.
    pub wire: Wire,
    /// The nodes in servers' switches that reduce, server by server, if there are any.
    pub nodes: &'a [HostId],
    /// Which operations are carried out as wholes.
    pub whole: Whole,
}

/// From the components' values, for so many ranks.
///
/// # Errors
/// What can't be, by its key.
pub fn settings(
    values: &Values,
    ranks: u32,
    site: &Site<'_>,
    like: Flow,
    draws: &mut Stream,
) -> Result<Settings, Complaint> {
    let algorithms = OPERATIONS.iter().filter(|(key, _)| values.entries.contains_key(*key));
    let named =
        |&(key, operation): &(&str, Collective)| Some((operation, algorithm_called(&values.text(key))?));
    let hosts = place(values, ranks, site, draws)?;
    let server = values.optional_count("server").map(|server| bounded("server", server)).transpose()?;
    let own = server.map(|server| (0..ranks).map(|rank| rank / server).collect());
    let mut hosts = hosts;
    let of_topology = || site.server.map(|server| hosts.iter().map(|host| host / server).collect());
    let mut servers: Option<Vec<u32>> = own.or_else(of_topology);
    let library = Nccl::of(values, site)?;
    let mut nodes_from = None;
    if let Some(servers) = servers.as_mut().filter(|_| library.as_ref().is_some_and(Nccl::has_nodes)) {
        nodes_from = Some(ranks);
        servers.extend((0..).take(site.nodes.len()));
        hosts.extend(site.nodes);
    }
    Ok(Settings {
        servers,
        hosts,
        nodes_from,
        like,
        repeat: bounded("repeat", values.count("repeat"))?,
        algorithms: algorithms.filter_map(named).collect::<BTreeMap<_, _>>(),
        channels: bounded("channels", values.count("channels"))?,
        chunks: bounded("chunks", values.count("chunks"))?,
        costs: costs(values, site)?,
        library,
        whole: site.whole,
        number: like.source,
        disturbances: Arc::default(),
        life: Life::Whole,
    })
}

fn bounded(key: &'static str, count: u64) -> Result<u32, Complaint> {
    u32::try_from(count).map_err(|_| Complaint::new(key, format!("write {} at most", u32::MAX)))
}

fn costs(values: &Values, site: &Site<'_>) -> Result<Costs, Complaint> {
    let rate = || {
        let message = "hosts are connected at several rates, so messages have no one time; leave this out";
        site.rate.ok_or_else(|| Complaint::new("gap", message))
    };
    let gap = Some(values.time("gap")).filter(|&gap| gap > Time::ZERO);
    Ok(Costs {
        send: values.time("send_cost"),
        receive: values.time("receive_cost"),
        per_byte: values.time("byte_cost"),
        gap: gap.map(|gap| Ok((gap, rate()?))).transpose()?,
        eager: None,
    })
}

/// That so many ranks have hosts of their own.
///
/// # Errors
/// By `key` if not.
pub fn check_ranks(key: &str, ranks: u64, hosts: u64) -> Result<(), Complaint> {
    if ranks > hosts {
        return Err(Complaint::new(key, format!("{ranks} ranks among {hosts} hosts; write fewer")));
    }
    Ok(())
}

/// The host of each rank.
///
/// # Errors
/// What can't be, by its key.
pub fn place(
    values: &Values,
    ranks: u32,
    site: &Site<'_>,
    draws: &mut Stream,
) -> Result<Vec<HostId>, Complaint> {
    let mut hosts = site.hosts.to_vec();
    match ["ranks", "file", "files"].into_iter().find(|key| values.entries.contains_key(*key)) {
        Some(key) if key != "ranks" && ranks as usize > hosts.len() => {
            let key = if values.kind == "chakra" && values.count("copies") > 1 { "copies" } else { key };
            let message = format!("{ranks} ranks among {} hosts; write a topology of as many", hosts.len());
            return Err(Complaint::new(key, message));
        }
        key => check_ranks(key.unwrap_or("placement"), u64::from(ranks), hosts.len() as u64)?,
    }
    if let Some(list) = values.optional_list("placement") {
        return listed(&list, ranks, &hosts);
    }
    match (values.text("order").as_str(), site.server) {
        ("random", _) => draws.shuffle(&mut hosts),
        ("by-rail", Some(server)) => hosts.sort_by_key(|host| (host % server, host / server)),
        ("by-rail", None) => {
            let message = "this topology has no servers of several hosts; write \"by-number\"";
            return Err(Complaint::new("order", message));
        }
        _ => {}
    }
    hosts.truncate(ranks as usize);
    Ok(hosts)
}

fn listed(list: &[Value], ranks: u32, hosts: &[HostId]) -> Result<Vec<HostId>, Complaint> {
    let complain = |message: String| Complaint::new("placement", message);
    if list.len() != ranks as usize {
        return Err(complain(format!("has {} hosts for {ranks} ranks; write one for each", list.len())));
    }
    let mut taken = BTreeSet::new();
    let host = |value: &Value| {
        let number = value.as_count();
        let host = hosts.iter().copied().find(|&host| u64::from(host) == number);
        let host =
            host.ok_or_else(|| complain(format!("there is no host {number} among {}", hosts.len())))?;
        if !taken.insert(host) {
            return Err(complain(format!("host {number} has two ranks; write each host once")));
        }
        Ok(host)
    };
    list.iter().map(host).collect()
}
