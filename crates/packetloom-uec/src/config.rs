//! The transports' settings.

use super::credit;
use super::nscc;
use super::oversubscribed;
use super::pacer;
use super::service::Service;
use super::sleek;
use super::window::{Rule, Window};
use crate::flow::HostId;
use crate::narrow::{exact, saturated};
use crate::packet_format::PacketFormat;
use crate::topology::{Link, Topology};
use crate::units::{Rate, Time};
use packetloom_transport::ways::{distinct_pairs, path};
use std::sync::Arc;

/// How long a timeout is.
#[derive(Clone, Copy, Debug)]
pub enum Timeout {
    /// So long.
    Fixed(Time),
    /// This, and so many queues of a bandwidth-delay product, in full packets, on a host's link.
    Queues(Time, u64),
    /// This, and what so many full packets take on a host's link.
    Packets(Time, u64),
}

/// The credit that receivers give.
#[derive(Clone, Copy, Debug)]
pub struct Credits {
    /// Bytes of a quantum.
    pub quantum: i64,
    /// The most credit of a sender: in full packets, or in bandwidth-delay products.
    pub most: Most,
    /// How receivers pull.
    pub pacer: pacer::Settings,
    /// The share of the link that pulls are to fill (Ultra Ethernet); or of a pull's credit's time between two (EQDS).
    pub share: f64,
    /// Bytes that a packet takes on the link beside its own (EQDS).
    pub framing_bytes: u64,
}

/// The most credit that a sender may have.
#[derive(Clone, Copy, Debug)]
pub enum Most {
    Packets(i64),
    Bdps(f64),
}

/// The window that senders have.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    pub rule: Rule,
    pub nscc: nscc::Settings,
    /// The largest window, in bandwidth-delay products.
    pub largest: f64,
    /// The first, in packets, if not the largest.
    pub initial: Option<i64>,
    /// The delay aimed at: given, or in base round-trip times.
    pub target: Option<Time>,
    pub target_trips: f64,
}

/// The parameters, read.
#[derive(Clone, Debug)]
pub struct Config {
    pub service: Service,
    pub format: PacketFormat,
    /// Bytes that are acknowledged together.
    pub ack_after: u32,
    /// Control packets for each data packet at a host's link.
    pub control_per_data: u32,
    pub timeout: Timeout,
    pub base_rtt: Option<Time>,
    pub windows: Option<Windows>,
    pub credits: Option<Credits>,
    pub is_eqds: bool,
    pub oversubscribed: Option<oversubscribed::Settings>,
    pub sleek: Option<sleek::Settings>,
    /// Whether retransmissions repeat the previous credit target.
    pub keeps_target: bool,
    /// Whether a packet that was trimmed on its last link counts in favour of its path.
    pub spares_last_hop: bool,
    /// From the network: bytes that each packet takes on a link beside its own.
    pub link_framing: u64,
    /// From the network: the longest round trip without queues, the timeout, and how often a sender may request
    /// credit.
    pub network_rtt: Time,
    pub rto: Time,
    pub request_interval: Time,
    /// The rules of windows by links of the rate that most hosts have, so that all flows there share them.
    pub rules: Option<(Rate, Arc<nscc::Rules>)>,
}

impl Config {
    /// On a network.
    pub fn on(mut self, topology: &Topology) -> Config {
        self.link_framing = topology.framing_bytes;
        let sizes = self.sizes();
        let rtt = self.base_rtt.unwrap_or_else(|| longest_rtt_of(distinct_pairs(topology), topology, sizes));
        self.at(rtt, topology.nic_rate())
    }

    /// On a network with this longest round trip, by a link of this rate.
    pub fn at(mut self, rtt: Time, link_rate: Rate) -> Config {
        let mtu = exact::<u64>(self.mtu());
        self.network_rtt = rtt;
        self.rto = match self.timeout {
            Timeout::Fixed(rto) => rto,
            Timeout::Queues(rto, queues) => {
                let packets = saturated::<u64>((self.bdp(link_rate) / mtu as f64).ceil());
                rto + link_rate.time_for(queues * packets * (mtu + self.link_framing))
            }
            Timeout::Packets(rto, packets) => rto + link_rate.time_for(packets * (mtu + self.link_framing)),
        };
        self.request_interval = if self.is_eqds { self.rto } else { self.network_rtt };
        self.rules = self.windows.map(|windows| (link_rate, Arc::new(self.rules(&windows, link_rate))));
        self
    }

    /// Bytes of a full packet and of its answer.
    pub fn sizes(&self) -> [u64; 2] {
        [exact::<u64>(self.mtu()), u64::from(self.format.ack_bytes)]
    }

    /// Bytes of a full packet.
    pub fn mtu(&self) -> i64 {
        exact::<i64>(self.format.data.mss_bytes + self.format.data.header_bytes)
    }

    fn bdp(&self, rate: Rate) -> f64 {
        self.network_rtt.as_secs_f64() * (rate.as_bps() as f64 / 8.0)
    }

    /// A new flow's window, if senders have one.
    pub fn window(&self, rate: Rate) -> Option<Window> {
        let windows = self.windows.as_ref()?;
        let rules = match &self.rules {
            Some((of, rules)) if *of == rate => Arc::clone(rules),
            _ => Arc::new(self.rules(windows, rate)),
        };
        let initial = windows.initial.map(|packets| packets * self.mtu());
        Some(Window::new(windows.rule, rules, initial))
    }

    fn rules(&self, windows: &Windows, rate: Rate) -> nscc::Rules {
        let network = nscc::Network {
            rtt: self.network_rtt,
            bdp_bytes: self.bdp(rate).floor(),
            target: windows.target.unwrap_or_else(|| {
                Time(saturated::<u64>(self.network_rtt.as_ps() as f64 * windows.target_trips)).max(Time(1))
            }),
            mss_bytes: self.format.data.mss_bytes as f64,
            mtu_bytes: self.mtu(),
            rate: rate.as_bps() as f64,
            largest: windows.largest,
        };
        nscc::Rules::new(&windows.nscc, &network)
    }

    /// A new flow's credit, if receivers give some.
    pub fn credit(&self, rate: Rate) -> Option<credit::Settings> {
        let Credits { quantum, most, .. } = self.credits?;
        let most = match most {
            Most::Packets(packets) => packets * self.mtu(),
            Most::Bdps(bdps) => saturated::<i64>(bdps * self.bdp(rate)),
        };
        Some(credit::Settings { quantum, most: most.max(self.mtu()), mtu: self.mtu(), is_eqds: self.is_eqds })
    }

    /// How a host with a link of this rate pulls.
    pub fn pacer(&self, rate: Rate) -> Option<pacer::Settings> {
        let credits = self.credits?;
        let most = self.credit(rate)?.most;
        let most_slow = exact::<u32>((most / credits.quantum).clamp(0, i64::from(u32::MAX)));
        Some(pacer::Settings { most_slow, ..credits.pacer })
    }

    /// How long a quantum of credit takes, or a full pull, in whole picoseconds as htsim has it.
    pub fn pull_takes(&self, rate: Rate) -> Time {
        let Some(credits) = self.credits else { return Time::ZERO };
        let seconds = |bytes: u64| 8.0 * bytes as f64 * 1e12 / rate.as_bps() as f64;
        let takes = match self.is_eqds {
            true => {
                let credit = u64::from(credits.pacer.quanta) * exact::<u64>(credits.quantum);
                credits.share * seconds(credit + self.format.data.header_bytes + credits.framing_bytes)
            }
            // A packet takes more of the link than the credit that it costs.
            false => {
                let mtu = exact::<u64>(self.mtu());
                let framed = (mtu + self.link_framing) as f64 / mtu as f64;
                seconds(exact::<u64>(credits.quantum)) * framed / credits.share
            }
        };
        Time(saturated::<u64>(takes).max(1))
    }

    /// What a full packet is in quanta.
    pub fn packet_quanta(&self) -> u32 {
        self.credits.map_or(0, |credits| {
            exact::<u32>(exact::<u64>(self.mtu()).div_ceil(exact::<u64>(credits.quantum)))
        })
    }
}

/// The longest round trip of a full packet and its answer where nothing waits, between some pairs of hosts.
pub fn longest_rtt_of(
    pairs: impl IntoIterator<Item = (HostId, HostId)>,
    topology: &Topology,
    [there, back]: [u64; 2],
) -> Time {
    let way = |links: &[&Link], bytes| -> u64 {
        let on_link = bytes + topology.framing_bytes;
        let takes = links.iter().map(|link| link.latency + link.rate.time_for(on_link));
        takes.map(Time::as_ps).sum()
    };
    let rtt = |(src, dst)| way(&path(topology, src, dst), there) + way(&path(topology, dst, src), back);
    Time(pairs.into_iter().map(rtt).max().unwrap_or(1))
}
