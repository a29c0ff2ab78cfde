//! What sets a queue pair's rate and window.

use super::config::Notification;
use super::header::Header;
use crate::engine::PortAgent;
use crate::spec::{Component, Values};
use crate::units::{Rate, Time};
use crate::user_class::ControlError;
use packetloom_transport::FixedRate;

/// What a queue pair knows of its path at its start.
#[derive(Clone, Copy, Debug)]
pub struct FlowPath {
    /// What the host's link carries.
    pub rate: Rate,
    /// At what rate a flow starts.
    pub initial_rate: Rate,
    /// The network's longest base round trip.
    pub base_rtt: Time,
    /// What that link carries in such a round trip, or the window that was set instead.
    pub window_bytes: u64,
    /// Payload of a full packet.
    pub mss_bytes: u64,
    /// How many links lead to the receiver.
    pub hops: u32,
}

/// What an ACK, a NACK or a CNP tells a sender.
#[derive(Clone, Copy, Debug)]
pub struct AckInfo {
    /// The moment.
    pub now: Time,
    /// How far the receiver has all, in bytes that the queue pair has carried: those of the flow, where it has one of
    /// its own.
    pub acked_bytes: u64,
    /// How far the sender has sent, in the same.
    pub sent_bytes: u64,
    /// How many packets are newly known to have arrived.
    pub arrived: u32,
    /// A mark came back.
    pub marked: bool,
}

/// How a sender learns of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// From a NACK.
    Nack,
    /// No answer came for too long.
    Timeout,
}

/// When the next packet may follow one that starts now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// As long after it as it takes at this rate.
    Rate(Rate),
    /// So much later, unless an answer comes before that after which it follows at a rate.
    After(Time),
}

/// A congestion control of queue pairs. Rates are whole bits per second; products are of doubles, cut off (ns-3's
/// `DataRate`).
pub trait Control: Sized + Send {
    /// The transport that it makes.
    const COMPONENT: Component;
    /// The header fields that data carry and answers return.
    type Fields: Copy + Default + std::fmt::Debug + Send + 'static;
    /// Its part at the ports.
    type Agent: PortAgent<Header<Self::Fields>>;
    /// Its parameters, read.
    type Settings: Send + Sync;
    /// Whether [`Control::echo`] uses how long an answer waits at its NIC.
    const ECHOES_WAITS: bool = false;
    /// Whether it goes neither by a flow's size nor by how many bytes of it were sent, so that packets can be left out.
    const SHORTENS: bool = false;
    /// Whether switches pause its flows, each by itself: data names its flow to the first one in its priority.
    const HEEDS_QUEUES: bool = false;
    /// The parameters that may be set while a case runs; all are of its settings.
    const SETTABLE: &'static [&'static str] = &[];
    /// Reads its parameters.
    fn settings(values: &Values) -> Self::Settings;

    /// How receivers report marks; where they do, packets may be marked.
    fn notification(_values: &Values) -> Notification {
        Notification::None
    }

    /// Rates that are as they are whatever the link's, of those that a scenario leaves out.
    fn fixed_rates(_values: &Values) -> Vec<FixedRate> {
        Vec::new()
    }

    /// The most switches that fit into its header.
    fn most_switches(_values: &Values) -> usize {
        usize::MAX
    }

    /// Whether a new rate moves a packet that waits for its pace; otherwise it holds from the packet after that one.
    #[inline]
    fn moves_pending(_settings: &Self::Settings) -> bool {
        false
    }

    /// At a flow's start.
    fn new(settings: &Self::Settings, path: &FlowPath) -> Self;

    /// The fields of the next packet.
    fn fields(&self, _now: Time) -> Self::Fields {
        Self::Fields::default()
    }

    /// At the receiver: the fields to return in an answer that waits so long for the NIC.
    fn echo(_fields: &mut Self::Fields, _waits: Time) {}

    /// A packet of this size starts.
    fn sent(&mut self, _settings: &Self::Settings, _now: Time, _wire_bytes: u16) {}

    /// An answer came.
    fn acknowledged(&mut self, settings: &Self::Settings, ack: &AckInfo, fields: &Self::Fields);

    /// A packet was lost.
    fn lost(&mut self, _settings: &Self::Settings, _now: Time, _loss: Loss) {}

    /// Lets the time pass up to now.
    fn advance(&mut self, _settings: &Self::Settings, _now: Time) {}

    /// The rate.
    fn rate(&self) -> Rate;

    /// What the rate is by now, of one that only makes up for the time that has passed when somebody looks: for
    /// observers, who change nothing.
    fn rate_at(&self, _settings: &Self::Settings, _now: Time) -> Rate {
        self.rate()
    }

    /// How congested it holds its path to be by now, from 0 to 1, if it keeps an estimate: for observers.
    fn congestion_at(&self, _settings: &Self::Settings, _now: Time) -> Option<f64> {
        None
    }

    /// The last round-trip time, if it measures them.
    fn rtt(&self) -> Option<Time> {
        None
    }

    /// When the next packet may follow one that starts now.
    fn spacing(&self, _settings: &Self::Settings) -> Spacing {
        Spacing::Rate(self.rate())
    }

    /// The switch pauses the flow, or lets it go on, where switches do so.
    #[inline]
    fn pause(&mut self, _is_paused: bool) {}

    /// Whether it may not send whatever its rate and its window say.
    #[inline]
    fn is_paused(&self) -> bool {
        false
    }

    /// The traffic class of a flow of so many packets, which is the configured one unless it says otherwise.
    #[inline]
    fn class(_settings: &Self::Settings, _packets: u32, class: u8) -> u8 {
        class
    }

    /// An error of its own that it has made since this was last called.
    #[inline]
    fn take_error(&mut self) -> Option<ControlError> {
        None
    }

    /// How many bytes may be in flight, if it bounds them itself.
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }
}
