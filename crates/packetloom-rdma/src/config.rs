//! The settings of queue pairs.

use super::connections;
use super::control::FlowPath;
use super::network::Network;
use super::params::class_key;
use crate::finished::Finished;
use crate::flow::Flow;
use crate::narrow::exact;
use crate::packet_format::PacketFormat;
use crate::spec::{Value, Values};
use crate::units::{Rate, Time};

/// How receivers report marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Not at all.
    None,
    /// In the acknowledgements of marked packets.
    InAcks,
    /// In packets of their own (CNPs), of each [`CnpScope`] at most one in such a time.
    Packets(Time),
}

/// What of a receiver sends at most one CNP in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CnpScope {
    /// A flow; a queue pair, where it carries several.
    Flow,
    /// All that a host sends to one other host.
    Destination,
    /// All that a host sends.
    Port,
}

/// What happens to packets beyond a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// They are dropped, and sent again.
    GoBackN {
        /// Go back to the start of a chunk of so many packets; 1: to the missing packet.
        chunk: u32,
        /// Between NACKs for the same packet.
        nack_interval: Time,
        /// Whether what came before is acknowledged again.
        ack_duplicates: bool,
        /// [`Time::NEVER`]: there is no timeout.
        rto: Time,
    },
    /// They are kept.
    Selective {
        /// The timeouts, with few packets in flight and with others.
        rtos: [Time; 2],
        /// From how many packets in flight the second holds.
        many: u32,
        /// So many packets may be in flight; `None`: as the network says.
        cap: Option<u32>,
    },
    /// They are dropped, nobody learns of it, and nothing is acknowledged (InfiniBand specification vol. 1, §9.8.2:
    /// the unreliable connection).
    None,
}

/// What bounds the bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    None,
    Bdp,
    Fixed(u64),
}

/// What is the same whatever the congestion control.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) format: PacketFormat,
    pub(super) class: u8,
    pub(super) ack_class: u8,
    pub(super) recovery: Recovery,
    pub(super) nack_is_cnp: bool,
    pub(super) notification: Notification,
    pub(super) cnp_scope: CnpScope,
    pub(super) ack_every: u32,
    pub(super) ack_delay: Time,
    /// How queue pairs are connected and kept; `None` where they are open.
    pub(super) connections: Option<connections::Rule>,
    /// How many queue pairs all flows from one host to another share, where they do.
    pub(super) in_order: Option<u16>,
    window: Window,
    variable_window: bool,
    base_rtt: Option<Time>,
    initial_rate: Option<Rate>,
    network: Option<Network>,
    /// Whether switches hash flows by queue pairs of the routing's own, and not by those that flows have here.
    shares_paths: bool,
}

impl Config {
    pub(super) fn of(values: &Values, notification: Notification) -> Config {
        let recovery = match values.text("recovery").as_str() {
            "irn" => Recovery::Selective {
                rtos: [values.time("rto_low"), values.time("rto_high")],
                many: values.count_u32("rto_low_packets"),
                cap: values.optional_count_u32("bdp_cap"),
            },
            "none" => Recovery::None,
            _ => Recovery::GoBackN {
                chunk: values.optional_count_u32("chunk").unwrap_or(1),
                nack_interval: values.time("nack_interval"),
                ack_duplicates: values.flag("ack_duplicates"),
                rto: values.optional_time("rto").unwrap_or(Time::NEVER),
            },
        };
        Config {
            format: PacketFormat::of(values),
            class: exact::<u8>(values.count(class_key(values))),
            ack_class: exact::<u8>(values.count("ack_class")),
            recovery,
            nack_is_cnp: values.flag("nack_is_cnp"),
            notification,
            cnp_scope: match values.entries.get("cnp_per") {
                Some(Value::Text(word)) if word == "destination" => CnpScope::Destination,
                Some(Value::Text(word)) if word == "port" => CnpScope::Port,
                _ => CnpScope::Flow,
            },
            ack_every: values.count_u32("ack_every"),
            ack_delay: values.time("ack_delay"),
            connections: connections::Rule::of(values),
            in_order: connections::shared(values),
            window: match values.get("window_bytes") {
                Value::Bytes(bytes) => Window::Fixed(*bytes),
                _ => values.meaning("window", &[("none", Window::None), ("bdp", Window::Bdp)]),
            },
            variable_window: values.flag("variable_window"),
            base_rtt: values.optional_time("base_rtt"),
            initial_rate: values.optional_rate("initial_rate"),
            network: None,
            shares_paths: false,
        }
    }

    /// On a network.
    pub(super) fn on(self, network: Network) -> Config {
        Config { network: Some(network), ..self }
    }

    /// Under a routing.
    pub(super) fn under(self, routing: &Values) -> Config {
        let shares_paths = matches!(routing.entries.get("queue_pairs"), Some(Value::Count(_)));
        Config { shares_paths, ..self }
    }

    /// What the packets of a queue pair have in the place of a port that switches hash.
    pub(super) fn port_of(&self, number: u16) -> u16 {
        if self.shares_paths { 0 } else { number }
    }

    fn network(&self) -> &Network {
        self.network.as_ref().expect("a config is put on its network before it is used")
    }

    /// In replays by whole nanoseconds: how long an answer is on the last link to its host.
    pub(super) fn answers_take(&self) -> Option<Time> {
        self.network().answers_take(self.format.ack_bytes)
    }

    /// Whether some host has several links.
    pub(super) fn has_several_links(&self) -> bool {
        self.network().has_several_links
    }

    /// A memory of finished flows that is long enough for its senders.
    pub(super) fn finished(&self) -> Finished {
        let silence = match self.recovery {
            Recovery::GoBackN { rto: Time::NEVER, .. } | Recovery::None => Time::ZERO,
            Recovery::GoBackN { rto, .. } => rto,
            Recovery::Selective { rtos: [low, high], .. } => low.max(high),
        };
        Finished::new(Time(silence.as_ps().saturating_mul(8)))
    }

    /// What a flow knows of its way.
    pub(super) fn path(&self, flow: &Flow) -> FlowPath {
        let network = self.network();
        let rate = network.line_rate(flow.src, flow.dst);
        let base_rtt = self.base_rtt.unwrap_or(network.base_rtt);
        let window_bytes = match self.window {
            Window::Fixed(bytes) => bytes,
            Window::None | Window::Bdp => bdp_bytes(rate, base_rtt),
        };
        let mss_bytes = self.format.data.mss_bytes;
        let initial_rate = self.initial_rate.map_or(rate, |initial| initial.min(rate));
        FlowPath {
            rate,
            initial_rate,
            base_rtt,
            window_bytes,
            mss_bytes,
            hops: network.hops(flow.src, flow.dst),
        }
    }

    /// How many bytes a flow may have in flight at a rate.
    pub(super) fn window_bytes(&self, path: &FlowPath, rate: Rate) -> u64 {
        // Of chunks only whole ones are acknowledged.
        let least = match self.recovery {
            Recovery::GoBackN { chunk, .. } if chunk > 1 => u64::from(chunk) * path.mss_bytes,
            _ => 1,
        };
        match self.window {
            Window::None => u64::MAX,
            _ if self.variable_window => {
                let scaled = u128::from(path.window_bytes) * u128::from(rate.as_bps());
                exact::<u64>(scaled / u128::from(path.rate.as_bps())).max(least)
            }
            _ => path.window_bytes.max(least),
        }
    }

    /// How many packets a flow may have in flight.
    pub(super) fn packets_cap(&self, path: &FlowPath) -> u32 {
        match self.recovery {
            Recovery::GoBackN { .. } | Recovery::None => u32::MAX,
            Recovery::Selective { cap: Some(cap), .. } => cap,
            Recovery::Selective { cap: None, .. } => bdp_bytes(path.rate, path.base_rtt)
                .div_ceil(self.format.data.mss_bytes)
                .clamp(1, 1 << 30) as u32,
        }
    }
}

/// What a link carries in a time.
pub(super) fn bdp_bytes(rate: Rate, time: Time) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(time.as_ps()) / 1_000_000_000_000;
    exact::<u64>(bits / 8).max(1)
}
