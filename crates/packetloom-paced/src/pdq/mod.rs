//! PDQ (Hong, Caesar and Godfrey, "Finishing flows quickly with preemptive scheduling", SIGCOMM 2012): switches let
//! the most critical flows send and pause the others; the earliest deadline first, then the shortest job.

mod list;
mod switch;

use super::paced::{CORE, Header, Kbps, Paced, RateControl, SenderState, check, time_at};
use crate::flow::Flow;
use crate::packet::Packet;
use crate::spec::{Complaint, Component, Kind, Values, check_period, param};
use crate::units::Time;
use switch::PdqSwitch;

/// PDQ.
pub type Pdq = Paced<PdqControl>;

/// The port that paused a flow: its link's number plus one; 0 if none did.
const NOBODY: u32 = 0;

/// A round trip, in the units of [`Fields::probe_every`].
const ROUND_TRIP: u32 = 1_000;

/// The fields of PDQ's scheduling header (§3.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields {
    /// R_H: the rate that the path so far allows.
    rate: Kbps,
    /// P_H: the port that paused the flow.
    paused_by: u32,
    /// D_H: the deadline, as a point in time.
    deadline: Time,
    /// T_H: what the rest takes at the greatest rate.
    needs: Time,
    /// RTT_H, in nanoseconds.
    rtt_ns: u32,
    /// I_H: round trips between two probes, in thousandths.
    probe_every: u32,
    /// Whether the port that paused the flow is still on its path, or none had paused it. Otherwise, after a
    /// detour, no port would ever resume it.
    is_decided: bool,
}

const _: () = assert!(size_of::<Packet<Header<Fields>>>() <= 96, "what moves most should be small");

/// A flow.
#[derive(Clone, Copy, Debug)]
pub struct PdqControl {
    deadline: Time,
    terminates_early: bool,
    /// The round-trip time that it assumes before one is known.
    rtt: Time,
    rate: Kbps,
    paused_by: u32,
    probe_every: u32,
}

impl RateControl for PdqControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "pdq",
        doc: "PDQ: switches let the most critical flows (earliest deadline, then shortest job) have the link and pause the others; answers must come back by the same path (routing ecmp with symmetric = true, or a rack).",
        source: "PDQ, SIGCOMM 2012, §3",
        params: &[
            CORE,
            &[
                param! {
                    "early_start" = "2": Kind::Number(0.0, 100.0),
                    "K: sending flows that will all end within this many round trips in total no longer hold the next one back.",
                    "PDQ §3.3.2: K = 2"
                },
                param! {
                    "early_termination" = "true": Kind::Flag,
                    "Give a flow up when it can't meet its deadline.", "PDQ §3.2"
                },
                param! {
                    "probe_spacing" = "0.2": Kind::Number(0.0, 100.0),
                    "X: a paused flow probes every X round trips for each flow before it in a switch's list, and no more often than once per round trip.",
                    "PDQ §3.3.2: X = 0.2"
                },
                param! {
                    "dampening" = "20us": Kind::Time,
                    "After a switch let a paused flow resume, it lets no other one resume for this long.",
                    "packetloom; PDQ §3.3.1: a small period of time"
                },
                param! {
                    "rtt" = "200us": Kind::Time,
                    "The round-trip time that is assumed before any is known.", "packetloom"
                },
            ],
        ],
        check: check_pdq,
    };
    type Fields = Fields;
    type Agent = PdqSwitch;

    fn new(values: &Values, flow: &Flow) -> PdqControl {
        PdqControl {
            deadline: flow.deadline,
            terminates_early: values.flag("early_termination"),
            rtt: values.time("rtt"),
            rate: 0,
            paused_by: NOBODY,
            probe_every: ROUND_TRIP,
        }
    }

    fn request(&mut self, state: &SenderState, _: bool) -> Fields {
        let rtt = if state.rtt == Time::ZERO { self.rtt } else { state.rtt };
        Fields {
            rate: state.host_rate,
            paused_by: self.paused_by,
            deadline: self.deadline,
            needs: time_at(state.host_rate, state.unsent_bytes),
            rtt_ns: u32::try_from(rtt.as_ps() / 1_000).unwrap_or(u32::MAX),
            probe_every: ROUND_TRIP,
            is_decided: false,
        }
    }

    fn feedback(&mut self, fields: &Fields, _: &SenderState) {
        self.paused_by = if fields.is_decided { fields.paused_by } else { NOBODY };
        self.probe_every = fields.probe_every.max(ROUND_TRIP);
        self.rate = if fields.paused_by == NOBODY { fields.rate } else { 0 };
    }

    fn rate(&self) -> Kbps {
        self.rate
    }

    fn probe_after(&self, rtt: Time) -> Time {
        Time(rtt.as_ps() / u64::from(ROUND_TRIP) * u64::from(self.probe_every))
    }

    /// §3.2: the deadline has passed; or the rest takes longer than is left; or the flow is paused and what is left
    /// is less than a round trip.
    fn is_hopeless(&self, state: &SenderState) -> bool {
        if !self.terminates_early || self.deadline == Time::NEVER {
            return false;
        }
        let whole_at = state.now + time_at(state.host_rate, state.unsent_bytes);
        let is_paused = self.rate == 0 && state.rtt > Time::ZERO;
        whole_at > self.deadline || (is_paused && state.now + state.rtt > self.deadline)
    }
}

fn check_pdq(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    check_period("rtt", values.time("rtt"), "200us")
}
