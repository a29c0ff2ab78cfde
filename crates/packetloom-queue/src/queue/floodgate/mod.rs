//! Floodgate (Liu et al., CoNEXT 2021): a switch has a window for each destination host, of what it may send there before
//! the switches behind it have sent that on. Data beyond the window waits in a virtual output queue (VOQ), out of the way
//! of all other data.
//!
//! The port's part is here (`port.rs`): what waits in VOQs for it, and what left. The switch's is in
//! `engine/switch/windows/`; hosts heed its pauses in `packetloom-rdma/src/sending.rs`.
//!
//! Where each rule is from: P is the paper, with its section; C is the authors' simulator (Floodgate-NS3: `switch-node.cc`,
//! `switch-mmu.cc`, `voq-group.cc`, `third.cc`); U is unspecified, and chosen here.
//!
//! | Rule | `variant = "paper"` | `"ideal"` | `"floodgate-ns3"` |
//! |---|---|---|---|
//! | whose window | one of a switch for each destination (P §7.2, C) | the same | the same |
//! | its size | BDP + rate × T (P §4.2) | 1.5 BDP (P §3.2, §6) | 1.5 BDP + rate × T (C) |
//! | BDP | twice the latency of the next link, times its rate (C) | the same | the same |
//! | at least | a full packet (U) | the same | the same |
//! | no window | before hosts (P §3.2, C) | the same | nor in the middle, downwards (C) |
//! | window back | as the packet leaves for the next hop (C; P says forwards) | the same | the same |
//! | it is sent | each T = 10 us (P §4.1, §6) | packet by packet (P §3.2) | each T, or 10240 B (C) |
//! | T counts | from the first packet that left, and then from what was sent (C) | | the same |
//! | not while a VOQ holds | 10 BDP of the fastest link (P §6; which BDP: C) | (never) | 1.5 BDP (C) |
//! | VOQs of a switch | 100 (P §6) upwards, and downwards (P §4.2) | one for each destination (P §3.2) | 100 (C) |
//! | none is empty | the one that the destination hashes to (P §4.2, C) | | the same |
//! | from a VOQ | in order, as far as the window of its first packet goes (C) | the same | the same |
//! | PAUSE of a destination | not sent (P §6) | above one BDP of the host's link (P §4.3) | not sent (C) |
//! | marks, and pauses of links | by what is in VOQs, too (P §8, C) | the same | the same |
//! | INT | VOQs count for what has a VOQ alone (P §8, C) | the same | the same |
//! | lost bytes | numbered, and asked for (P §4.3, C): `resync_after` | the same | the same |
//! | refused at the next switch | its window goes back (U; C: lost, unless numbered) | the same | the same |
//!
//! Unimplemented: one credit packet for all destinations of a link (C), as the paper's has one; VOQs that take turns behind
//! what has no VOQ (P §7.2), as in the simulator what leaves a VOQ joins the port's queue; PFC for each destination (C) in
//! the place of the paper's pauses; and ACKs that carry window back (C).

mod port;

use super::specification::Making;
use super::{Buffer, Built, Specification};
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Needs, Registered, Values, param};
use crate::units::{Rate, Time};
pub use port::{Gated, Left};

const IN_STEPS: &[Needs] =
    &[Needs::That(|site| Settings::of(site.own).every != Time::ZERO, "window goes back packet by packet")];

const COMPONENT: Component = Component {
    section: "queue",
    kind: "floodgate",
    doc: "Floodgate: of the data for a host, a switch sends no more than a window before the next switches have sent it on. What is beyond waits in queues of their own (VOQs), so that an incast waits where it enters the network, and is in nobody's way. Hosts' last switches need no window. Any transport sends through it. At a host, it is the NIC.",
    source: "Floodgate (CoNEXT 2021)",
    params: &[&[
        param! {
            "variant" = "paper": Kind::Choice(&["paper", "ideal", "floodgate-ns3"]),
            "Whose rules: the paper's practical design, its ideal one, or the practical one of its authors' simulator. They differ in what is left out below; that simulator's switches in the middle keep no window downwards.",
            "packetloom"
        },
        param! {
            "queue" = "shared-buffer": Kind::Component("queue"),
            "The ports behind the VOQs, and the buffer of the switch, which the VOQs share.",
            "Floodgate (CoNEXT 2021), §6: a shared buffer of 20 MB, with PFC"
        },
        param! {
            "window": Kind::Number(0.01, 1_000.0),
            "The window for a destination, in bandwidth-delay products (BDP) of the next link, to which credit_every adds what the link sends in that time. A full packet always fits. Left out: 1 (paper), 1.5 (ideal, floodgate-ns3).",
            "Floodgate (CoNEXT 2021), §4.2 and §6: m = 1.5; Floodgate's simulator: SWITCH_WIN_M 1.5"
        },
        param! {
            "credit_every": Kind::Time,
            "How far apart the switch gives window back to a link, for all that has left since. 0s: packet by packet. Left out: 10us (paper, floodgate-ns3), 0s (ideal).",
            "Floodgate (CoNEXT 2021), §4.1 and §6: T = 10 us"
        },
        param! {
            "credit_after": Kind::Bytes,
            "With credit_every: window goes back sooner once so much is to be given. Left out: never (paper), 10240B (floodgate-ns3).",
            "Floodgate's simulator: SWTICH_BYTE_COUNTER 10240"; acts IN_STEPS
        },
        param! {
            "delay_above": Kind::Number(0.0, 1_000_000.0),
            "Window for a destination does not go back while the switch's own VOQ has more than this for it, in BDP of its fastest link. Left out: 10 (paper), any amount (ideal), 1.5 (floodgate-ns3).",
            "Floodgate (CoNEXT 2021), §4.1 and §6: 10 BDP; Floodgate's simulator: SWITCH_ACK_TH_M 1.5"
        },
        param! {
            "voqs": Kind::Count(1),
            "The VOQs of a switch, upwards and downwards each, 65535 at most. Destinations share one where there are too few. Left out: 100 (paper, floodgate-ns3), one for each destination (ideal).",
            "Floodgate (CoNEXT 2021), §6: 100"
        },
        param! {
            "pause_hosts_above": Kind::Number(0.0, 1_000_000.0),
            "A host is to send nothing more to a destination while its switch's VOQ has more than this for it, in BDP of the host's link. Left out: hosts are not paused (paper, floodgate-ns3), 1 (ideal).",
            "Floodgate (CoNEXT 2021), §4.3: dstPause, one BDP of the hop"
        },
        param! {
            "credit_size" = "64B": Kind::Bytes,
            "Bytes on the wire of what gives window back, asks for it, or pauses a destination.",
            "packetloom: Ethernet's smallest frame"
        },
        param! {
            "resync_after": Kind::Time,
            "Bytes are numbered, and a switch that has got no window back for this long asks the next for it. So lost packets take no window for ever. Left out: bytes are not numbered.",
            "Floodgate (CoNEXT 2021), §4.3: PSN and switchSYN; Floodgate's simulator: switch_syn_timeout_us, 1000"
        },
    ]],
    check,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let settings = Settings::of(values);
    let inner = Specification::of(&values.component("queue"));
    let port = match inner.buffer() {
        Buffer::Shared(port) => Gated::new(*port, settings.resync_after.is_some()),
        _ => unreachable!("it was checked"),
    };
    let rooms = inner.rooms.iter().map(|room| room.within("queue")).collect();
    Specification {
        values: values.clone(),
        port: Some(Built::Held(Buffer::Gated(Box::new(port)))),
        rooms,
        pfc: inner.pfc.map(|pfc| pfc.within_another()),
        windows: Some(settings),
        ..inner
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    let inner = values.component("queue");
    if inner.kind != "shared-buffer" {
        let message = format!(
            "VOQs lie in a buffer that links share, which {:?} is not; write \"shared-buffer\"",
            inner.kind
        );
        return Err(Complaint::new("queue", message));
    }
    if inner.optional_time("watchdog").is_some() {
        let message = "a watchdog drops packets of which no window comes back; leave it out";
        return Err(Complaint::new("queue.watchdog", message));
    }
    if inner.text("ties") == "ns-3" {
        let message = "is not known here of what leaves VOQs; leave it out";
        return Err(Complaint::new("queue.ties", message));
    }
    if values.optional_count("voqs").is_some_and(|voqs| voqs > MOST_VOQS) {
        return Err(Complaint::new("voqs", format!("write {MOST_VOQS} at most")));
    }
    if !(1..=65_535).contains(&values.bytes("credit_size")) {
        return Err(Complaint::new("credit_size", "write a size from 1B to 65535B"));
    }
    let settings = Settings::of(values);
    if settings.after_bytes == Some(0) {
        return Err(Complaint::new("credit_after", "write a size above zero, or credit_every = \"0s\""));
    }
    if settings.resync_after == Some(Time::ZERO) {
        return Err(Complaint::new(
            "resync_after",
            "write a time above zero, such as \"1ms\", or leave it out",
        ));
    }
    Ok(())
}

/// More VOQs than any switch has.
const MOST_VOQS: u64 = 65_535;

/// What a scenario says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    window_bdps: f64,
    /// How far apart window goes back to a link; zero: packet by packet.
    pub every: Time,
    /// Of how much it goes back sooner.
    pub after_bytes: Option<u64>,
    delay_above_bdps: Option<f64>,
    /// The VOQs of a switch, upwards and downwards each; `None`: any number.
    pub voqs: Option<u32>,
    pause_above_bdps: Option<f64>,
    /// The size of a message.
    pub message_bytes: u64,
    /// After what silence a switch asks for window, if bytes are numbered.
    pub resync_after: Option<Time>,
    /// Whether switches in the middle keep windows downwards, too.
    pub has_windows_downwards: bool,
}

/// The bytes that a link carries in a time.
fn bytes_in(time: Time, rate: Rate) -> f64 {
    rate.as_bps() as f64 * time.as_secs_f64() / 8.0
}

impl Settings {
    /// What is left out is as the variant has it.
    fn of(values: &Values) -> Settings {
        let [is_ideal, is_ns3] = ["ideal", "floodgate-ns3"].map(|variant| values.text("variant") == variant);
        let by_design = |ideal, paper, ns3| match (is_ideal, is_ns3) {
            (true, _) => ideal,
            (_, true) => ns3,
            _ => paper,
        };
        let us = Time::from_us;
        let number = |key, or| values.optional_number(key).map_or(or, Some);
        let every =
            values.optional_time("credit_every").unwrap_or(if is_ideal { Time::ZERO } else { us(10) });
        Settings {
            window_bdps: number("window", by_design(Some(1.5), Some(1.0), Some(1.5))).unwrap_or(1.0),
            every,
            after_bytes: values.optional_bytes("credit_after").or(if is_ns3 { Some(10_240) } else { None }),
            delay_above_bdps: number("delay_above", by_design(None, Some(10.0), Some(1.5))),
            voqs: match values.optional_count("voqs") {
                Some(voqs) => Some(saturated_count(voqs)),
                None => {
                    if is_ideal {
                        None
                    } else {
                        Some(100)
                    }
                }
            },
            pause_above_bdps: number("pause_hosts_above", by_design(Some(1.0), None, None)),
            message_bytes: values.bytes("credit_size"),
            resync_after: values.optional_time("resync_after"),
            has_windows_downwards: !is_ns3,
        }
    }

    /// The window for destinations behind a link: a full packet at least.
    pub fn window_bytes(&self, latency: Time, rate: Rate, packet_bytes: u64) -> u64 {
        let bytes = self.window_bdps * bytes_in(latency.times(2), rate) + bytes_in(self.every, rate);
        saturated::<u64>(bytes.ceil()).max(packet_bytes)
    }

    /// Above how much in its VOQ a destination's window does not go back, with this BDP of the fastest link.
    pub fn delay_above_bytes(&self, latency: Time, rate: Rate) -> u64 {
        self.delay_above_bdps.map_or(u64::MAX, |bdps| saturated(bdps * bytes_in(latency.times(2), rate)))
    }

    /// Above how much in its VOQ a destination is paused at a host behind a link, if it is.
    pub fn pause_above_bytes(&self, latency: Time, rate: Rate) -> Option<u64> {
        self.pause_above_bdps.map(|bdps| saturated(bdps * bytes_in(latency.times(2), rate)))
    }

    /// Whether hosts are paused.
    pub fn pauses_hosts(&self) -> bool {
        self.pause_above_bdps.is_some()
    }
}

fn saturated_count(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
