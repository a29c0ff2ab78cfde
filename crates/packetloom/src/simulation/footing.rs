//! In what schemes that are compared differ beside themselves: sizes of packets, acknowledgements, buffers, constants of
//! other line rates. Where such a thing differs, it may decide a comparison instead of the schemes.

use super::is_fluid;
use crate::narrow::saturated;
use crate::queue::Specification;
use crate::routing;
use crate::scenario::Case;
use crate::spec::{Value, Values};
use crate::topology::Topology;
use crate::transport::{self, FixedRate, PacketFormat};
use crate::units::Rate;
use std::collections::BTreeSet;

/// Something that differs between schemes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unequal {
    /// What it is.
    pub what: &'static str,
    /// Each scheme that has it, with what it has.
    pub values: Vec<(String, String)>,
    /// What to write so that all have the same; nothing where it belongs to what the schemes are.
    pub remedy: Vec<String>,
    /// Whether it belongs to none of the schemes, so that the comparison should not rest on it.
    pub is_foreign: bool,
}

/// What one scheme has.
struct Held {
    /// For people.
    text: String,
    /// What is compared.
    sameness: String,
    /// Whether a scheme would not be what it is without it.
    is_own: bool,
    /// How it is written: what gives it to another scheme, if it is not this scheme's own.
    written: Option<(&'static str, String)>,
    /// The same in full packets, for a scheme that counts these.
    in_packets: Option<u64>,
    /// What this scheme itself would have to write, whatever others have.
    own_remedy: Vec<String>,
}

/// A scheme, with what its network has to do with it.
struct Side<'a> {
    case: &'a Case,
    transport: Values,
    queue: Option<Specification>,
    /// The most ports of a switch; nothing where the network's file is gone.
    ports: Option<u64>,
    /// The rate of a host's link.
    host_rate: Option<Rate>,
    /// Whether two hosts may have several paths.
    has_paths: bool,
}

/// A thing that schemes can differ in.
struct Aspect {
    what: &'static str,
    held: fn(&Side<'_>) -> Option<Held>,
}

const ASPECTS: &[Aspect] = &[
    Aspect { what: "payload of a packet", held: payload },
    Aspect { what: "header of a packet", held: header },
    Aspect { what: "acknowledgements", held: acknowledgements },
    Aspect { what: "buffer of a switch's port", held: buffer },
    Aspect { what: "first window of a flow", held: first_window },
    Aspect { what: "shortest retransmission timeout", held: least_timeout },
    Aspect { what: "priority queues of a port", held: priorities },
    Aspect { what: "choice of paths", held: paths },
    Aspect { what: "line rate that constants were made for", held: constants },
];

/// In what the schemes of these cases differ beside themselves, the first case of each scheme being asked.
pub fn unequal(cases: &[Case]) -> Vec<Unequal> {
    let mut seen = BTreeSet::new();
    let sides: Vec<Side<'_>> =
        cases.iter().filter(|case| seen.insert(case.scheme.text("name"))).map(Side::of).collect();
    ASPECTS.iter().filter_map(|aspect| aspect.among(&sides)).collect()
}

impl Side<'_> {
    fn of(case: &Case) -> Side<'_> {
        let topology = Topology::build(&case.topology).ok();
        let switches = topology.iter().flat_map(|network| &network.nodes[network.hosts as usize..]);
        let ports = switches.map(|node| node.ports.len() as u64).max();
        let host_rate = topology.as_ref().map(Topology::nic_rate);
        let has_paths =
            topology.as_ref().is_none_or(|one| routing::has_choice(one) || one.nic_ports(0).len() > 1);
        let transport = case.scheme.component("transport");
        let queue = case.scheme.optional_component("queue").filter(|_| !is_fluid(&transport.kind));
        let queue = queue.map(|queue| Specification::of(&queue));
        Side { case, transport, queue, ports, host_rate, has_paths }
    }
}

impl Aspect {
    fn among(&self, sides: &[Side<'_>]) -> Option<Unequal> {
        let held: Vec<(String, Held)> = sides
            .iter()
            .filter_map(|side| Some((side.case.scheme.text("name"), (self.held)(side)?)))
            .collect();
        let kinds = |only_foreign: bool| -> BTreeSet<&str> {
            let counted = held.iter().filter(|(_, one)| !(only_foreign && one.is_own));
            counted.map(|(_, one)| one.sameness.as_str()).collect()
        };
        if kinds(false).len() < 2 {
            return None;
        }
        let is_foreign = kinds(true).len() > 1;
        let remedy = if is_foreign { remedy(&held) } else { Vec::new() };
        let values = held.into_iter().map(|(name, one)| (name, one.text)).collect();
        Some(Unequal { what: self.what, values, remedy, is_foreign })
    }
}

/// What makes all alike: what schemes have to change by themselves, or else what the last one has that is written.
fn remedy(held: &[(String, Held)]) -> Vec<String> {
    let foreign = || held.iter().filter(|(_, one)| !one.is_own);
    let by_themselves: Vec<String> = foreign()
        .flat_map(|(name, one)| one.own_remedy.iter().map(move |setting| format!("scheme.{name}.{setting}")))
        .collect();
    if !by_themselves.is_empty() {
        return by_themselves;
    }
    let Some((_, like)) = foreign().rev().find(|(_, one)| one.written.is_some()) else { return Vec::new() };
    let others = foreign().filter(|(_, one)| one.sameness != like.sameness);
    others
        .map(|(name, one)| Some(format!("scheme.{name}.{}", one.as_in(like)?)))
        .collect::<Option<_>>()
        .unwrap_or_default()
}

impl Held {
    /// How this scheme writes what another has, if it can: in bytes or in packets, as it counts.
    fn as_in(&self, like: &Held) -> Option<String> {
        let ((key, mine), (others_key, value)) = (self.written.as_ref()?, like.written.as_ref()?);
        if key != others_key {
            return None;
        }
        match (mine.ends_with('B') == value.ends_with('B'), like.in_packets) {
            (true, _) => Some(format!("{key}={value}")),
            (false, Some(packets)) if value.ends_with('B') => Some(format!("{key}={packets}")),
            _ => None,
        }
    }

    /// What belongs to none of the schemes.
    fn foreign(text: String, sameness: String) -> Held {
        Held { text, sameness, is_own: false, written: None, in_packets: None, own_remedy: Vec::new() }
    }

    /// What a scheme would not be what it is without.
    fn own(text: String) -> Held {
        Held { is_own: true, ..Held::foreign(text.clone(), text) }
    }
}

impl Side<'_> {
    /// The sizes of packets, of what has packets of a size.
    fn format(&self) -> Option<PacketFormat> {
        self.transport.entries.contains_key("mss").then(|| PacketFormat::of(&self.transport))
    }
}

fn payload(side: &Side<'_>) -> Option<Held> {
    let text = format!("{}B", side.format()?.data.mss_bytes);
    Some(Held { written: Some(("transport.mss", text.clone())), ..Held::foreign(text.clone(), text) })
}

fn header(side: &Side<'_>) -> Option<Held> {
    let format = side.format()?.data;
    let share = 100.0 * format.mss_bytes as f64 / (format.mss_bytes + format.header_bytes) as f64;
    let own = Held::own(format!("{}B", format.header_bytes));
    Some(Held { text: format!("{}, so {share:.1} % of a full packet is payload", own.text), ..own })
}

/// How much each acknowledgement is of, where a transport lets that be set.
fn acknowledgements(side: &Side<'_>) -> Option<Held> {
    let format = side.format()?;
    let mss = format.data.mss_bytes;
    let (bytes, written) =
        match (side.transport.entries.get("ack_every"), side.transport.entries.get("delayed_ack")) {
            (Some(Value::Count(packets)), _) => (packets * mss, ("transport.ack_every", packets.to_string())),
            (Some(Value::Bytes(bytes)), _) => (*bytes, ("transport.ack_every", format!("{bytes}B"))),
            (_, Some(Value::Flag(is_delayed))) => {
                let packets = if *is_delayed { 2 } else { 1 };
                (packets * mss, ("transport.delayed_ack", is_delayed.to_string()))
            }
            _ => return None,
        };
    // What is counted in bytes has its headers.
    let full_bytes = if written.1.ends_with('B') { mss + format.data.header_bytes } else { mss };
    let of = if bytes <= full_bytes { "each packet".to_owned() } else { format!("every {bytes}B") };
    let in_packets = Some((bytes / mss).max(1));
    let held = Held::foreign(format!("{of}, of {}B", format.ack_bytes), of);
    Some(Held { written: Some(written), in_packets, ..held })
}

fn buffer(side: &Side<'_>) -> Option<Held> {
    let queue = side.queue.as_ref()?;
    let format = side.format()?.data;
    if let Some(credit) = &queue.credit {
        return Some(Held::own(format!("{}B for each lossless class of a link, as credit", credit.bytes)));
    }
    let held = match (queue.switch_bytes(), side.ports) {
        (Some(_), None) => return None,
        (Some(bytes), Some(ports)) => {
            let each = format!("{}B", bytes / ports.max(1));
            Held::foreign(format!("{each} ({bytes}B for the {ports} ports of a switch)"), each)
        }
        (None, _) => match queue.most_bytes(format.mss_bytes + format.header_bytes) {
            None => Held::foreign("unlimited".to_owned(), "unlimited".to_owned()),
            Some(u64::MAX) => Held::own("what its class lets wait".to_owned()),
            Some(bytes) => {
                let text = format!("{bytes}B");
                let written = queue.has_capacity().then(|| ("queue.capacity", text.clone()));
                Held { written, ..Held::foreign(text.clone(), text) }
            }
        },
    };
    // Under credits a buffer is what credit is given for.
    let is_own = queue.is_sized_by_design || queue.credit_bytes().is_some();
    Some(Held { is_own, ..held })
}

fn first_window(side: &Side<'_>) -> Option<Held> {
    let mss = side.format()?.data.mss_bytes;
    let entries = &side.transport.entries;
    if let Some(Value::Bytes(bytes)) = entries.get("blind") {
        return Some(Held::own(format!("{bytes}B before the receiver grants any")));
    }
    match (entries.get("initial_window"), entries.get("initial_rate")) {
        (Some(Value::Count(packets)), _) => Some(format!("{packets} packets, {}B", packets * mss)),
        (_, Some(Value::Rate(rate))) => Some(format!("none, begins at {rate}")),
        (_, Some(Value::Absent)) => Some("none, begins at line rate".to_owned()),
        _ => None,
    }
    .map(Held::own)
}

/// Of senders that estimate their timeout: under incast it may decide all. Others' constant is a part of what they are.
fn least_timeout(side: &Side<'_>) -> Option<Held> {
    let entries = &side.transport.entries;
    let estimates = entries.get("rto_estimation") == Some(&Value::Flag(true));
    let Some(Value::Time(least)) = entries.get("min_rto").filter(|_| estimates) else { return None };
    let text = least.to_string();
    Some(Held { written: Some(("transport.min_rto", text.clone())), ..Held::foreign(text.clone(), text) })
}

fn priorities(side: &Side<'_>) -> Option<Held> {
    Some(Held::own(side.queue.as_ref()?.levels.to_string()))
}

/// How packets choose among paths: collisions of flows on a link may decide more than transports do.
fn paths(side: &Side<'_>) -> Option<Held> {
    let has_choice = !is_fluid(&side.transport.kind) && side.has_paths;
    has_choice.then(|| Held::own(side.case.scheme.component("routing").kind))
}

/// The line rate that constants are for. A scheme that has no such constants is alike to one whose fit.
fn constants(side: &Side<'_>) -> Option<Held> {
    let here = side.host_rate?;
    let fixed = transport::find(&side.transport.kind).map(|entry| (entry.fixed_rates)(&side.transport));
    let misfits: Vec<_> = fixed.into_iter().flatten().filter(|one| one.line_rate != here).collect();
    let Some(first) = misfits.first() else {
        return Some(Held::foreign("the hosts'".to_owned(), "the hosts'".to_owned()));
    };
    let scaled = |one: &FixedRate| {
        let scaled = one.value.as_bps() as f64 * here.as_bps() as f64 / one.line_rate.as_bps() as f64;
        format!("transport.{}={}", one.key, Rate(saturated::<u64>(scaled.round())))
    };
    let own_remedy = misfits.iter().map(scaled).collect();
    let text = format!("{}, while hosts have {here}", first.line_rate);
    Some(Held { own_remedy, ..Held::foreign(text, first.line_rate.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    /// What differs between schemes on a leaf-spine network with links of a rate.
    fn between(rate: &str, schemes: &str) -> Vec<Unequal> {
        let toml = format!(
            "[topology]\nkind = \"leaf-spine\"\nspines = 2\nleaves = 2\nhosts_per_leaf = 2\nlink = {{ rate = \"{rate}\", delay = \"1us\" }}\n\
             [[workload]]\nsizes = {{ kind = \"constant\", size = \"1MB\" }}\narrivals = \"at-once\"\npattern = \"permutation\"\n{schemes}"
        );
        let scenario = Scenario::from_toml(&toml, "test", Path::new("")).unwrap();
        unequal(&scenario.cases().collect::<Vec<_>>())
    }

    fn scheme(name: &str, transport: &str, queue: &str) -> String {
        format!("[[scheme]]\nname = \"{name}\"\ntransport = {transport}\nqueue = {queue}\n")
    }

    fn foreign(found: &[Unequal]) -> Vec<&str> {
        found.iter().filter(|one| one.is_foreign).map(|one| one.what).collect()
    }

    const LOSSLESS: &str = "{ kind = \"shared-buffer\", buffer = \"4MB\" }";

    #[test]
    fn what_decides_dcqcn_beside_uec_is_named_with_what_to_write() {
        let schemes = scheme("A", "\"dcqcn\"", LOSSLESS)
            + &scheme("B", "\"uec\"", "{ kind = \"ndp\", capacity = \"36KB\" }");
        let found = between("400Gbps", &schemes);
        let of = |what: &str| found.iter().find(|one| one.what == what).unwrap();
        assert_eq!(
            foreign(&found),
            ["payload of a packet", "acknowledgements", "line rate that constants were made for"]
        );
        assert_eq!(of("payload of a packet").remedy, ["scheme.A.transport.mss=4096B"]);
        assert_eq!(of("acknowledgements").remedy, ["scheme.A.transport.ack_every=4"]);
        let text = of("header of a packet").values[0].1.clone();
        assert_eq!(text, "48B, so 95.4 % of a full packet is payload");
        assert_eq!(
            of("line rate that constants were made for").remedy,
            ["scheme.A.transport.additive_increase=400Mbps", "scheme.A.transport.hyper_increase=4Gbps"]
        );
        assert!(!of("buffer of a switch's port").is_foreign, "PFC's buffer and NDP's trimming are their own");
        assert_eq!(
            of("buffer of a switch's port").values[0].1,
            "1000000B (4000000B for the 4 ports of a switch)"
        );
    }

    #[test]
    fn what_was_made_equal_is_not_named() {
        let alike = "{ kind = \"dcqcn\", mss = \"4096B\", ack_every = 4, additive_increase = \"400Mbps\", hyper_increase = \"4Gbps\" }";
        let schemes =
            scheme("A", alike, LOSSLESS) + &scheme("B", "\"uec\"", "{ kind = \"ndp\", capacity = \"36KB\" }");
        assert!(foreign(&between("400Gbps", &schemes)).is_empty());
        let at_its_rate = scheme("A", "\"dcqcn\"", LOSSLESS) + &scheme("B", "\"timely\"", LOSSLESS);
        assert!(foreign(&between("40Gbps", &at_its_rate)).is_empty());
    }

    #[test]
    fn the_step_of_powertcps_simulator_is_for_25_gbps() {
        let beside_hpcc = |rate: &str, variant: &str| {
            let transport = format!("{{ kind = \"powertcp\", variant = \"{variant}\" }}");
            let schemes = scheme("A", &transport, LOSSLESS) + &scheme("B", "\"hpcc\"", LOSSLESS);
            let found = between(rate, &schemes);
            let step = found.into_iter().find(|one| one.what == "line rate that constants were made for");
            step.map(|one| one.remedy)
        };
        let remedy = Some(vec!["scheme.A.transport.additive_increase=600Mbps".to_owned()]);
        assert_eq!(beside_hpcc("100Gbps", "ns3-datacenter"), remedy);
        assert_eq!(beside_hpcc("25Gbps", "ns3-datacenter"), None);
        assert_eq!(beside_hpcc("100Gbps", "paper"), None);
    }

    #[test]
    fn buffers_of_queues_that_only_hold_are_nobodys_own() {
        let queue = |capacity: &str| format!("{{ kind = \"drop-tail\", capacity = \"{capacity}\" }}");
        let two = |other: &str| scheme("A", "\"tcp\"", &queue("100KB")) + &scheme("B", "\"tcp\"", other);
        let found = between("10Gbps", &two(&queue("200KB")));
        assert_eq!(foreign(&found), ["buffer of a switch's port"]);
        assert_eq!(found[0].remedy, ["scheme.A.queue.capacity=200000B"]);
        assert!(between("10Gbps", &two(&queue("100KB"))).is_empty());
        let pfabric = scheme("A", "\"tcp\"", &queue("100KB"))
            + &scheme("B", "\"min-tcp\"", "{ kind = \"pfabric\", capacity = \"15KB\" }");
        assert!(foreign(&between("10Gbps", &pfabric)).is_empty());
        assert_eq!(foreign(&between("10Gbps", &two("\"drop-tail\""))), ["buffer of a switch's port"]);
        let pool = "{ kind = \"drop-tail\", pool = \"400KB\" }";
        let found =
            between("10Gbps", &(scheme("A", "\"tcp\"", pool) + &scheme("B", "\"tcp\"", &queue("100KB"))));
        assert!(found.is_empty(), "100 KB for each of four ports: {found:?}");
        let shared = |kind: &str| format!("{{ kind = \"{kind}\", buffer = \"4MB\" }}");
        let pausing =
            scheme("A", "\"roce\"", &shared("shared-buffer")) + &scheme("B", "\"bfc\"", &shared("bfc"));
        let found = between("10Gbps", &pausing);
        let are_told = found.iter().any(|one| one.what == "buffer of a switch's port");
        assert!(!are_told, "1 MB for each of four ports: {found:?}");
    }

    #[test]
    fn under_credits_a_buffer_is_what_credit_is_given_for() {
        let schemes = scheme("A", "\"roce\"", LOSSLESS)
            + &scheme("B", "\"roce\"", "{ kind = \"cbfc\", credits = \"256KB\" }");
        let found = between("100Gbps", &schemes);
        assert!(foreign(&found).is_empty());
        assert_eq!(found[0].values[1].1, "256000B for each lossless class of a link, as credit");
    }

    #[test]
    fn a_preset_gives_constants_the_hosts_rate() {
        let deployed = "{ kind = \"dcqcn\", preset = \"deployed\" }";
        let schemes = scheme("A", deployed, LOSSLESS)
            + &scheme("B", "\"uec\"", "{ kind = \"ndp\", capacity = \"36KB\" }");
        for rate in ["25Gbps", "400Gbps"] {
            assert!(foreign(&between(rate, &schemes)).is_empty());
        }
    }

    #[test]
    fn paths_are_named_where_there_is_a_choice() {
        let differ = |topology: &str| {
            let toml = format!(
                "[topology]\n{topology}\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"1MB\" }}\narrivals = \"at-once\"\n\
                 pattern = \"permutation\"\n{}routing = \"ecmp\"\n{}routing = \"spray-random\"\n",
                scheme("A", "\"tcp\"", "\"drop-tail\""),
                scheme("B", "\"tcp\"", "\"drop-tail\"")
            );
            let scenario = Scenario::from_toml(&toml, "test", Path::new("")).unwrap();
            unequal(&scenario.cases().collect::<Vec<_>>()).iter().any(|one| one.what == "choice of paths")
        };
        assert!(differ("kind = \"leaf-spine\"\nspines = 2\nleaves = 2\nhosts_per_leaf = 2"));
        assert!(!differ("kind = \"leaf-spine\"\nspines = 1\nleaves = 2\nhosts_per_leaf = 2"));
        assert!(!differ("kind = \"rack\"\nhosts = 4"));
        assert!(!differ("kind = \"dumbbell\"\nleft = 2\nright = 2"));
        assert!(!differ("kind = \"dragonfly\"\nhosts_per_router = 1"));
    }

    #[test]
    fn shortest_timeouts_that_were_set_are_named() {
        let patient = "{ kind = \"dctcp\", min_rto = \"10ms\" }";
        let ecn = "\"ecn\"";
        let found = between("10Gbps", &(scheme("A", "\"tcp\"", ecn) + &scheme("B", patient, ecn)));
        assert_eq!(foreign(&found), ["shortest retransmission timeout"]);
        assert_eq!(found[0].remedy, ["scheme.A.transport.min_rto=10ms"]);
        let own = scheme("A", patient, ecn) + &scheme("B", "\"min-tcp\"", ecn);
        assert!(foreign(&between("10Gbps", &own)).is_empty(), "MinTCP's constant is its own");
    }

    #[test]
    fn delayed_acknowledgements_are_named() {
        let schemes = scheme("A", "\"tcp\"", "\"drop-tail\"")
            + &scheme("B", "{ kind = \"tcp\", delayed_ack = true }", "\"drop-tail\"");
        let found = between("10Gbps", &schemes);
        assert_eq!(foreign(&found), ["acknowledgements"]);
        assert_eq!(found[0].remedy, ["scheme.A.transport.delayed_ack=true"]);
    }
}
