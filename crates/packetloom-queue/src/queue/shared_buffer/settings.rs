//! What a scenario says of a buffer that is charged to links, and of pauses: of "shared-buffer", or of the parts of a port
//! that are the same, whose buffer may be Reverie's.

use super::lossless;
use crate::spec::{Complaint, Values};
use crate::units::Time;

/// How a buffer is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum Sharing {
    /// HPCC's simulator: a class beyond its threshold goes into its link's headroom.
    Thresholds,
    /// ConWeave's: all classes go into the headroom once the shared pool is full.
    Pools,
    /// Reverie's: as the first, by filters of what links and ports have, of one pool.
    Filters,
}

/// The filters of Reverie's buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::queue) struct Filter {
    /// What is left of a filter as a packet leaves.
    pub(in crate::queue) gamma: f64,
    pub(in crate::queue) alpha: f64,
    /// What is one congested queue.
    pub(in crate::queue) saturation_bytes: u64,
}

/// What links may have of a buffer. What is left out is as the simulator has it whose sharing it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::queue) struct Shares {
    pub(in crate::queue) sharing: Sharing,
    /// With [`Sharing::Filters`].
    pub(in crate::queue) filter: Option<Filter>,
    pub(in crate::queue) buffer_bytes: u64,
    pub(in crate::queue) reserve_bytes: Option<u64>,
    pub(in crate::queue) headroom_bytes: Option<u64>,
    /// Whether that may be less than a link needs.
    pub(in crate::queue) unsafe_headroom: bool,
    pub(in crate::queue) alpha: Option<f64>,
    pub(in crate::queue) alpha_by_rate: Option<bool>,
    pub(in crate::queue) pause_above_bytes: Option<u64>,
    pub(in crate::queue) egress_alpha: Option<f64>,
    /// Whether lossless classes are limited at egress, too.
    pub(in crate::queue) limits_all: bool,
    pub(in crate::queue) resume_offset_bytes: Option<u64>,
}

impl Shares {
    /// Of a buffer of this size.
    pub(in crate::queue) fn of(values: &Values, buffer_bytes: u64) -> Shares {
        Shares {
            sharing: values
                .meaning("mmu", &[("hpcc-ns3", Sharing::Thresholds), ("conweave-ns3", Sharing::Pools)]),
            filter: None,
            buffer_bytes,
            reserve_bytes: values.optional_bytes("reserve"),
            headroom_bytes: values.optional_bytes("headroom"),
            unsafe_headroom: values.flag("unsafe_headroom"),
            alpha: values.optional_number("alpha"),
            alpha_by_rate: values.optional_flag("alpha_by_rate"),
            pause_above_bytes: values.optional_bytes("pause_above"),
            egress_alpha: values.optional_number("egress_alpha"),
            limits_all: values.meaning("egress_limits", &[("lossy", false), ("all", true)]),
            resume_offset_bytes: values.optional_bytes("resume_offset"),
        }
    }

    /// The default of a switch in either simulator.
    pub(super) fn by_mmu<T>(&self, hpcc: T, conweave: T) -> T {
        if self.sharing == Sharing::Pools { conweave } else { hpcc }
    }
}

/// How links are paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// The classes that are, a bit for each.
    pub lossless: u8,
    /// The size of a PAUSE or RESUME.
    pub frame_bytes: u64,
    /// How long a PAUSE holds; `None`: until a RESUME.
    pub lasts: Option<Time>,
    /// Whether pauses are repeated by arrivals only, and run out without.
    pub run_out: bool,
    /// After how long a class that is kept back is emptied.
    pub watchdog: Option<Time>,
}

impl Pauses {
    /// Of a queue, or of its flow control.
    pub(in crate::queue) fn of(values: &Values) -> Pauses {
        Pauses {
            lossless: lossless(values),
            frame_bytes: values.bytes("pause_frame"),
            lasts: values.optional_time("pause_time"),
            run_out: values.meaning("pause_repeats", &[("in-time", false), ("arrivals", true)]),
            watchdog: values.optional_time("watchdog"),
        }
    }
}

/// A buffer that is charged to links, which it pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pfc {
    pub(in crate::queue) shares: Shares,
    /// How it pauses them.
    pub pauses: Pauses,
    /// Whether of packets that come at one instant the one goes first that does in ns-3.
    pub ties_as_ns3: bool,
    /// Whether it is written as parts of a port, and whether within another queue.
    is_of_parts: bool,
    is_within: bool,
}

impl Pfc {
    pub(in crate::queue) fn new(shares: Shares, pauses: Pauses) -> Pfc {
        Pfc { shares, pauses, ties_as_ns3: false, is_of_parts: false, is_within: false }
    }

    /// The same in parts.
    pub(in crate::queue) fn of_parts(shares: Shares, pauses: Pauses) -> Pfc {
        Pfc { is_of_parts: true, ..Pfc::new(shares, pauses) }
    }

    /// The same of a queue that is written within another.
    pub(in crate::queue) fn within_another(self) -> Pfc {
        Pfc { is_within: true, ..self }
    }

    /// The buffer of a switch.
    pub fn buffer_bytes(&self) -> u64 {
        self.shares.buffer_bytes
    }

    /// The same with a buffer of so many bytes.
    #[must_use]
    pub fn holding(self, buffer_bytes: u64) -> Pfc {
        Pfc { shares: Shares { buffer_bytes, ..self.shares }, ..self }
    }

    /// Whether it keeps lossless classes from every loss, if it has any.
    pub fn is_lossless(&self) -> bool {
        let Pfc { shares, pauses, .. } = self;
        !(shares.unsafe_headroom || shares.limits_all || pauses.run_out || pauses.watchdog.is_some())
    }

    /// Whether pauses may hold each other forever: where some class is lossless and no watchdog breaks it.
    pub fn may_deadlock(&self) -> bool {
        self.pauses.lossless != 0 && self.pauses.watchdog.is_none()
    }

    /// Where a scenario says what is this parameter of "shared-buffer".
    pub fn written_as(&self, key: &str) -> String {
        let is_of_pauses = key == "lossless" || super::FRAMES.iter().any(|param| param.name == key);
        match key {
            _ if self.is_within => format!("queue.{key}"),
            _ if !self.is_of_parts => key.to_owned(),
            _ if is_of_pauses => format!("flow_control.{key}"),
            "buffer" => "buffer.size".to_owned(),
            _ => format!("buffer.{key}"),
        }
    }

    /// What must hold of the buffer and its pauses.
    pub(in crate::queue) fn check(&self) -> Result<(), Complaint> {
        let complaint = |key: &str, message: &str| Err(Complaint::new(&self.written_as(key), message));
        let Pfc { shares, pauses, .. } = self;
        if shares.buffer_bytes > super::LARGEST_BUFFER {
            return complaint("buffer", &format!("write at most {}B", super::LARGEST_BUFFER));
        }
        if !(1..=65_535).contains(&pauses.frame_bytes) {
            return complaint("pause_frame", "write a size from 1B to 65535B");
        }
        let meaningless = [
            ("headroom", shares.headroom_bytes.is_some()),
            ("pause_above", shares.pause_above_bytes.is_some()),
            ("pause_time", pauses.lasts.is_some()),
            ("watchdog", pauses.watchdog.is_some()),
        ];
        let has_lossless = pauses.lossless != 0;
        if let Some((key, _)) = meaningless.iter().find(|(_, is_written)| *is_written && !has_lossless) {
            return complaint(key, "has no meaning where no class is lossless; leave it out");
        }
        if shares.limits_all && shares.sharing == Sharing::Thresholds && shares.egress_alpha.is_none() {
            let message = "\"hpcc-ns3\" limits nothing at egress; write egress_alpha, too, or leave this out";
            return complaint("egress_limits", message);
        }
        if shares.limits_all && !has_lossless {
            return complaint("egress_limits", "no class is lossless, so all are limited; leave it out");
        }
        if pauses.run_out && pauses.lasts.is_none() {
            let message =
                "a pause that does not end is not repeated; write pause_time, too, or leave this out";
            return complaint("pause_repeats", message);
        }
        if shares.pause_above_bytes == Some(0) {
            let message = "every link would be paused for ever; write a size above zero";
            return complaint("pause_above", message);
        }
        let by_alpha = [("alpha", shares.alpha.is_some()), ("alpha_by_rate", shares.alpha_by_rate.is_some())];
        let is_fixed = shares.pause_above_bytes.is_some();
        match by_alpha.iter().find(|(_, is_written)| *is_written && is_fixed) {
            Some((key, _)) => {
                complaint(key, "pause_above says when links are paused; leave one of the two out")
            }
            None => Ok(()),
        }
    }
}
