//! Homa's parameters, and the values of those who have built it.

mod checks;
mod params;

use super::cutoffs::{self, Counted, Weights};
use super::header::Header;
use super::layout::Layout;
use crate::flow::{FlowId, HostId};
use crate::narrow::{exact, saturated};
use crate::packet::{Kind, Packet};
use crate::priority;
use crate::spec::{Value, Values};
use crate::topology::Topology;
use crate::units::Time;
pub use checks::check;
pub use params::PARAMS;
use params::Variant;

/// A request that brings nothing new is repeated after up to 2 to this power times as long.
const MOST_DOUBLINGS: u32 = 4;

/// More than any switch has.
const MOST_LEVELS: u64 = 64;

/// How a receiver grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// A packet at a time; one sender's no faster than its packets come (simulator).
    Packets,
    /// Up to a window beyond what arrived, in one grant (ns-3).
    Window,
    /// The same, with a window that all messages share out between them (Linux).
    Shared {
        /// What may be on its way to a host.
        most_bytes: u64,
        /// Of so many granted bytes, `fifo_bytes` go to the oldest message.
        fifo_every: u64,
        fifo_bytes: u64,
    },
}

/// Which of its messages a sender sends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderOrder {
    /// The one with the least left to send.
    Left,
    /// The one with the least left when all but a window of what was granted has arrived.
    Granted,
}

/// The parameters, read.
#[derive(Clone, Debug)]
pub struct Config {
    pub layout: Layout,
    pub levels: u8,
    pub scheduled_levels: u8,
    pub unscheduled_levels: u8,
    pub cutoffs: Vec<u64>,
    pub learns: bool,
    pub by_packet: bool,
    pub tail_bytes: u64,
    pub overcommitment: usize,
    pub from_top: bool,
    pub window_bytes: u64,
    pub grants: Grants,
    pub order: SenderOrder,
    pub keeps_levels: bool,
    pub is_ns3: bool,
    pub acknowledges: bool,
    /// Whether blind packets may be dropped before others, and a probe goes behind them.
    pub aeolus: bool,
    pub resend_after: Time,
}

impl Config {
    pub fn of(values: &Values) -> Config {
        let variant = Variant::of(values);
        let levels = values.count("levels");
        let scheduled = scheduled_levels(values).unwrap_or(levels / 2);
        let grants = match variant.grants {
            Grants::Shared { most_bytes, fifo_bytes, .. } => {
                let fifo_bytes = values.optional_bytes("fifo_grant").unwrap_or(fifo_bytes);
                let share = values.optional_number("fifo_share").unwrap_or(0.05);
                Grants::Shared {
                    most_bytes: values.optional_bytes("max_incoming").unwrap_or(most_bytes),
                    fifo_every: if share > 0.0 {
                        saturated::<u64>(fifo_bytes as f64 / share)
                    } else {
                        u64::MAX
                    },
                    fifo_bytes,
                }
            }
            grants => grants,
        };
        Config {
            layout: layout(values, variant, 0),
            levels: exact::<u8>(levels),
            scheduled_levels: exact::<u8>(scheduled),
            unscheduled_levels: exact::<u8>(unscheduled_levels(values, scheduled)),
            cutoffs: given_cutoffs(values).unwrap_or_default(),
            learns: learns(values),
            by_packet: by_packet(values, variant),
            tail_bytes: tail_bytes(values, variant),
            overcommitment: exact::<usize>(
                values.optional_count("overcommitment").or(variant.overcommitment).unwrap_or(scheduled),
            ),
            from_top: values.optional_text("fill").map_or(variant.from_top, |fill| fill == "top"),
            window_bytes: values.optional_bytes("window").unwrap_or(variant.window_bytes),
            grants,
            order: variant.order,
            keeps_levels: variant.keeps_levels,
            is_ns3: variant.is_ns3,
            acknowledges: values.flag("acknowledge"),
            aeolus: sends_unscheduled(values),
            resend_after: values.optional_time("resend_after").unwrap_or(Time::from_us(variant.resend_us)),
        }
    }

    /// With what links add to packets.
    pub fn on(mut self, topology: &Topology) -> Config {
        self.layout.framing_bytes = topology.framing_bytes;
        self
    }

    /// What left its sender so lately may still wait in the network.
    #[inline]
    pub fn half_resend_after(&self) -> Time {
        Time((self.resend_after.as_ps() / 2).max(1))
    }

    /// Before a link that was free so lately waits only what left its sender since, in less than half of `resend_after`
    /// with the way there and that of a request back.
    pub fn quarter_resend_after(&self) -> Time {
        Time((self.resend_after.as_ps() / 4).max(1))
    }

    /// After so long a silence a sender requests a status.
    pub fn patience(&self) -> Time {
        self.resend_after.times(2)
    }

    /// The time after which to ask again, doubled for each time that nothing new came of it.
    #[inline]
    pub fn after_requests(&self, first: Time, requests: u32) -> Time {
        first.times(1 << requests.min(MOST_DOUBLINGS))
    }

    /// More than passes between two packets of a sender that waits for an answer.
    pub fn longest_silence(&self) -> Time {
        self.after_requests(self.patience(), MOST_DOUBLINGS).times(2)
    }

    /// The size of a packet that is full, without framing.
    pub fn full_packet_bytes(&self) -> u64 {
        self.layout.payload_bytes + self.layout.header_bytes
    }

    /// After so long a silence a sender forgets a message that it has sent, where receivers do not acknowledge.
    pub fn forget_after(&self) -> Time {
        self.patience().times(5)
    }

    /// What of messages counts where cutoffs are learned.
    pub fn counted(&self) -> Counted {
        Counted {
            layout: self.layout,
            tail_bytes: self.tail_bytes,
            acknowledged: self.acknowledges,
            by_packet: self.by_packet,
        }
    }

    /// The level of a packet that no grant gives one, with so much left before it of a message of this size.
    #[inline]
    pub fn level_without_grant(&self, left_bytes: u64, size_bytes: u64) -> u8 {
        cutoffs::level(&self.cutoffs, if self.by_packet { left_bytes } else { size_bytes })
    }

    /// How many full packets a window is.
    pub fn window_packets(&self) -> u32 {
        exact::<u32>((self.window_bytes / self.layout.payload_bytes).max(1))
    }

    /// A packet without payload, which goes before all data.
    pub fn control(&self, flow: FlowId, dst: HostId, header: Header) -> Packet<Header> {
        Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: exact::<u16>(self.layout.control_bytes),
            kind: if let Header::Done = header { Kind::Ack } else { Kind::Control },
            class: 0,
            header,
            ..Packet::default()
        }
    }
}

fn layout(values: &Values, variant: &Variant, framing_bytes: u64) -> Layout {
    Layout {
        payload_bytes: values.bytes("mss"),
        header_bytes: values.bytes("header"),
        blind_header_bytes: values.optional_bytes("blind_header").unwrap_or(variant.blind_header_bytes),
        blind_bytes: values.optional_bytes("blind").unwrap_or(variant.blind_bytes),
        framing_bytes,
        control_bytes: values.bytes("ack"),
    }
}

fn by_packet(values: &Values, variant: &Variant) -> bool {
    values.optional_text("levels_by").map_or(variant.by_packet, |by| by == "packet")
}

fn tail_bytes(values: &Values, variant: &Variant) -> u64 {
    values.optional_bytes("tail_boost").unwrap_or(variant.tail_bytes)
}

/// `None`: as the workload's sizes have it. Where a scenario says how many levels are for blind packets, the others
/// are for granted ones, so that no level is for both (HomaSimulation: prioResolverPrioLevels = prioLevels -
/// adaptiveSchedPrioLevels).
fn scheduled_levels(values: &Values) -> Option<u64> {
    let own = values.optional_count("scheduled_levels").or(Variant::of(values).scheduled_levels);
    own.or_else(|| Some(values.count("levels").saturating_sub(given_blind_levels(values)?)))
}

/// How many levels are for blind packets by the number of them, or of cutoffs, that is given.
fn given_blind_levels(values: &Values) -> Option<u64> {
    let by_cutoffs = || Some(given_cutoffs(values)?.len() as u64 + 1);
    values.optional_count("unscheduled_levels").or_else(by_cutoffs)
}

fn unscheduled_levels(values: &Values, scheduled: u64) -> u64 {
    let rest = values.count("levels").saturating_sub(scheduled);
    values.optional_count("unscheduled_levels").unwrap_or(rest)
}

fn learns(values: &Values) -> bool {
    values.text("cutoffs_from") == "seen" && given_cutoffs(values).is_none()
}

/// Those of the scenario, or of the variant.
fn given_cutoffs(values: &Values) -> Option<Vec<u64>> {
    let bytes = |value: &Value| match value {
        Value::Bytes(bytes) => *bytes,
        other => panic!("a cutoff is {other:?}"),
    };
    let written = values.optional_list("cutoffs").map(|list| list.iter().map(bytes).collect());
    written.or_else(|| Variant::of(values).cutoffs.map(<[u64]>::to_vec))
}

/// The parameters with what is worked out of a workload's sizes, each with its share of all messages.
pub fn on_sizes(values: &Values, topology: &Topology, shares: &[(u64, f64)]) -> Values {
    let mut values = values.clone();
    let variant = Variant::of(&values);
    let layout = layout(&values, variant, topology.framing_bytes);
    let levels = values.count("levels");
    let scheduled =
        scheduled_levels(&values).unwrap_or_else(|| levels - cutoffs::blind_levels(shares, &layout, levels));
    values.entries.insert("scheduled_levels".to_owned(), Value::Count(scheduled));
    if given_cutoffs(&values).is_none() && !learns(&values) {
        let counted = Counted {
            layout,
            tail_bytes: tail_bytes(&values, variant),
            acknowledged: values.flag("acknowledge"),
            by_packet: by_packet(&values, variant),
        };
        let cut = Weights::of(shares, &counted).cut(unscheduled_levels(&values, scheduled));
        let cut = cut.into_iter().map(Value::Bytes).collect();
        values.entries.insert("cutoffs".to_owned(), Value::List(cut));
    }
    values
}

/// Whether blind packets say that nothing has granted them.
pub(super) fn sends_unscheduled(values: &Values) -> bool {
    values.flag("aeolus")
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// The simulator's, with four levels for granted packets.
    pub fn config(keeps_levels: bool) -> Config {
        Config {
            layout: Layout {
                payload_bytes: 1_456,
                header_bytes: 44,
                blind_header_bytes: 14,
                blind_bytes: 9_328,
                framing_bytes: 38,
                control_bytes: 46,
            },
            levels: 8,
            scheduled_levels: 4,
            unscheduled_levels: 4,
            cutoffs: Vec::new(),
            learns: false,
            by_packet: true,
            tail_bytes: 0,
            overcommitment: 4,
            from_top: false,
            window_bytes: 10_000,
            grants: Grants::Packets,
            order: SenderOrder::Left,
            keeps_levels,
            is_ns3: false,
            acknowledges: true,
            aeolus: false,
            resend_after: Time::from_us(1_000),
        }
    }
}
