//! What queue pairs know of their network: its longest base round-trip time, and the rates of hosts' links.

use crate::flow::HostId;
use crate::narrow::narrow;
use crate::topology::{Link, Topology};
use crate::units::{ByteTime, Rate, Time};
use packetloom_transport::ways::{distinct_pairs, path};

/// The network, as queue pairs know it from the start.
#[derive(Clone, Debug)]
pub struct Network {
    topology: Topology,
    /// The longest base round trip of two hosts.
    pub base_rtt: Time,
    /// The most switches between two hosts.
    pub switches: usize,
    /// Whether some host has several links.
    pub has_several_links: bool,
}

impl Network {
    /// Of packets with so much payload.
    pub fn of(topology: &Topology, mss_bytes: u64) -> Network {
        let (mut base_rtt, mut switches) = (Time::ZERO, 0);
        for (src, dst) in distinct_pairs(topology) {
            let (there, back) = (path(topology, src, dst), path(topology, dst, src));
            let latency = |links: &[&Link]| Time(links.iter().map(|link| link.latency.as_ps()).sum());
            let rtt = latency(&there) + latency(&back) + serialisation(&there, mss_bytes);
            base_rtt = base_rtt.max(rtt);
            switches = switches.max(there.len().saturating_sub(1));
        }
        Network {
            topology: topology.clone(),
            base_rtt,
            switches,
            has_several_links: topology.has_hosts_with_several_links(),
        }
    }

    /// What one of the links carries by which a host reaches another; a flow keeps to one.
    pub fn line_rate(&self, src: HostId, dst: HostId) -> Rate {
        let ports = self.topology.ports_between(src, dst);
        let rates = ports.map(|port| self.topology.links[port as usize].rate);
        rates.max().unwrap_or(Rate(1))
    }

    /// In replays by whole nanoseconds: how long so many bytes are on a host's link.
    pub fn answers_take(&self, bytes: u16) -> Option<Time> {
        let link = &self.topology.links[0];
        let takes = || link.latency + ByteTime::in_whole_ns(link.rate).of(bytes.into());
        self.topology.whole_ns.then(takes)
    }

    /// How many links lie between two hosts.
    pub fn hops(&self, src: HostId, dst: HostId) -> u32 {
        narrow::<u32>(self.topology.path(src, dst).len())
    }
}

/// One full payload on each link, in whole nanoseconds (HPCC's third.cc: BDPs are of payload only).
fn serialisation(links: &[&Link], mss_bytes: u64) -> Time {
    let nanoseconds = |link: &&Link| mss_bytes * 8 * 1_000_000_000 / link.rate.as_bps();
    Time::from_ns(links.iter().map(nanoseconds).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use packetloom_base::spec::{Value, Values};

    /// A cable of 1 us.
    fn cable(gbps: u64) -> Value {
        let entries =
            [("rate", Value::Rate(Rate::from_gbps(gbps))), ("delay", Value::Time(Time::from_us(1)))];
        Value::Component(values("link", entries))
    }

    fn values<const N: usize>(kind: &str, entries: [(&str, Value); N]) -> Values {
        Values { kind: kind.to_owned(), entries: entries.map(|(key, value)| (key.to_owned(), value)).into() }
    }

    /// The topology `kind`, by default with cables of 100 Gb/s.
    fn topology<const N: usize>(kind: &str, own: [(&str, Value); N]) -> Topology {
        let mut all = values(
            kind,
            [
                ("link", cable(100)),
                ("host_link", Value::Absent),
                ("core_link", Value::Absent),
                ("oversubscription", Value::Absent),
                ("switch_delay", Value::Time(Time::ZERO)),
                ("switch_delays", Value::Absent),
                ("host_delay", Value::Time(Time::ZERO)),
                ("processing_per_packet", Value::Component(values("none", []))),
                ("link_retry", Value::Component(values("none", []))),
                ("send_per_message", Value::Time(Time::ZERO)),
                ("receive_per_message", Value::Time(Time::ZERO)),
                ("framing", Value::Bytes(0)),
                ("whole_ns", Value::Flag(false)),
                ("forwarding", Value::Component(values("store-and-forward", []))),
            ],
        );
        all.entries.extend(values(kind, own).entries);
        Topology::build(&all).expect("a topology")
    }

    fn base_rtt(topology: &Topology) -> Time {
        Network::of(topology, 1_000).base_rtt
    }

    #[test]
    fn base_round_trips_are_those_of_hpccs_simulator() {
        // star17 and ls32 of the reference runs: T = 4160 and 8200 ns.
        let star = topology("rack", [("hosts", Value::Count(17))]);
        assert_eq!(base_rtt(&star), Time::from_ns(4_160));
        let counts = [("spines", 2), ("leaves", 4), ("hosts_per_leaf", 8)];
        let [spines, leaves, hosts] = counts.map(|(key, count)| (key, Value::Count(count)));
        let leaf_spine =
            topology("leaf-spine", [spines, leaves, hosts, ("link", cable(400)), ("host_link", cable(100))]);
        assert_eq!(base_rtt(&leaf_spine), Time::from_ns(8_200));
    }

    #[test]
    fn a_large_fat_tree_takes_no_time_and_its_longest_way_has_six_links() {
        let tree = topology("fat-tree", [("k", Value::Count(16))]);
        let network = Network::of(&tree, 1_000);
        assert_eq!((network.base_rtt, network.switches), (Time::from_ns(12_000 + 6 * 80), 5));
        assert_eq!((network.hops(0, 1), network.hops(0, 1_023)), (2, 6));
        assert_eq!(network.line_rate(5, 0), Rate::from_gbps(100));
    }

    #[test]
    fn on_any_graph_it_is_the_longest_of_all_pairs() {
        let directory = std::env::temp_dir().join(format!("packetloom-rdma-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a folder");
        let file = directory.join("graph.txt");
        std::fs::write(
            &file,
            "8 3 9\n5 6 7\n0 5 10Gbps 1000ns 0\n1 5 10Gbps 1000ns 0\n2 6 25Gbps 3000ns 0\n3 7 10Gbps 1000ns 0\n\
             4 7 10Gbps 500ns 0\n5 6 40Gbps 1000ns 0\n6 7 40Gbps 2000ns 0\n4 5 10Gbps 1000ns 0\n1 6 10Gbps 1000ns 0\n",
        )
        .expect("a file");
        let topology = topology("hpcc", [("file", Value::Text(file.to_str().expect("text").to_owned()))]);
        let network = Network::of(&topology, 1_000);
        let pairs = (0..topology.hosts).flat_map(|src| (0..topology.hosts).map(move |dst| (src, dst)));
        let rtt = |(src, dst): (HostId, HostId)| {
            let (there, back) = (path(&topology, src, dst), path(&topology, dst, src));
            let latency: u64 = there.iter().chain(&back).map(|link| link.latency.as_ps()).sum();
            Time(latency) + serialisation(&there, 1_000)
        };
        assert_eq!(Some(network.base_rtt), pairs.map(rtt).max());
        std::fs::remove_dir_all(directory).expect("a folder to remove");
    }
}
