//! What sets a flow's rate.

use super::header::Header;
use crate::engine::PortAgent;
use crate::flow::Flow;
use crate::spec::{Component, Values};
use crate::units::{Rate, Time};

/// A rate in kb/s: what fits a header.
pub type Kbps = u32;

/// A link's rate in kb/s.
pub fn kbps(rate: Rate) -> Kbps {
    u32::try_from(rate.as_bps() / 1_000).unwrap_or(u32::MAX).max(1)
}

/// What so many bytes take at a rate; never more than half of all time, so that it can be added to.
#[inline]
pub fn time_at(rate: Kbps, bytes: u64) -> Time {
    const BYTE_AT_1_KBPS_PS: u64 = 8_000_000_000;
    let time_ps = match bytes.checked_mul(BYTE_AT_1_KBPS_PS) {
        Some(at_1_kbps_ps) => at_1_kbps_ps / u64::from(rate),
        // Beyond 2.3 GB.
        None => {
            let time_ps = u128::from(bytes) * u128::from(BYTE_AT_1_KBPS_PS) / u128::from(rate);
            u64::try_from(time_ps).unwrap_or(u64::MAX)
        }
    };
    Time(time_ps.min(u64::MAX / 2))
}

/// The state of a flow's sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// The moment.
    pub now: Time,
    /// The smoothed round-trip time; zero before the first answer.
    pub rtt: Time,
    /// After how long a packet without an answer counts as lost.
    pub rto: Time,
    /// Wire bytes never sent or to be sent again.
    pub unsent_bytes: u64,
    /// What the host's link can carry.
    pub host_rate: Kbps,
}

/// A rate control: the requests that it sends, and how it reacts to the answers.
pub trait RateControl: Sized + Send {
    /// The transport that it makes.
    const COMPONENT: Component;
    /// Its header fields.
    type Fields: Copy + Default + std::fmt::Debug + Send + 'static;
    /// Its part at the ports.
    type Agent: PortAgent<Header<Self::Fields>>;

    /// At a flow's start.
    fn new(values: &Values, flow: &Flow) -> Self;

    /// The fields of the next packet; a flow that [closes](super::Role::Close) gives back what it has.
    fn request(&mut self, state: &SenderState, closes: bool) -> Self::Fields;

    /// An answer brought back what the network made of it.
    fn feedback(&mut self, fields: &Self::Fields, state: &SenderState);

    /// What may be sent now; 0: nothing.
    fn rate(&self) -> Kbps;

    /// When to ask again while nothing may be sent.
    fn probe_after(&self, rtt: Time) -> Time {
        rtt
    }

    /// Whether the flow can't be whole by its deadline, so that going on would only cost others.
    fn is_hopeless(&self, _state: &SenderState) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_flows_take_long() {
        let rate = kbps(Rate::from_gbps(10));
        for bytes in [1_250, 1_250_000_000, 1_250_000_000_000] {
            assert_eq!(time_at(rate, bytes), Time(bytes * 800));
        }
        assert_eq!(time_at(1, 1 << 53), Time(u64::MAX / 2));
    }
}
