//! What a scheme does inside the network: an agent at every port, which reads and writes the headers that pass.

use crate::packet::Packet;
use crate::queue::Occupancy;
use crate::spec::Values;
use crate::units::{Rate, Time};

/// The port of an agent.
#[derive(Clone, Copy, Debug)]
pub struct PortInfo {
    /// The link that it sends into.
    pub link: u32,
    /// That link's rate.
    pub rate: Rate,
    /// Whether it is a port of a switch; else of a host.
    pub is_switch: bool,
    /// The case's, for what is drawn here.
    pub seed: u64,
}

/// A port at the moment when a packet comes by.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The moment.
    pub now: Time,
    /// When the link will have sent all that waits, as far as that is known at this moment. If nothing came since, it
    /// would have been so at any time before.
    pub drained_at: Time,
}

/// A port at the moment when a packet starts on its link.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The moment.
    pub at: Time,
    /// What it leaves behind in the queue.
    pub left: Occupancy,
    /// Bytes that were put onto the link before it, headers included, framing not.
    pub sent_bytes: u64,
}

/// What agents need of the paths that packets take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathNeeds {
    /// Any will do.
    #[default]
    Nothing,
    /// All packets of a flow come through the same ports.
    OnePerFlow,
    /// And answers come back through the same ports.
    Symmetric,
    /// And should come back through the same ports, to do what the scheme is for.
    BetterSymmetric,
}

/// A scheme's part at one port, of a switch or of a host. It has no clock of its own: periodic work is done when
/// the next packet comes. That is early enough, because no packet sees the agent's state before then.
///
/// The state is decided at compile time: ports of schemes without an agent, whose agent is `()`, carry none and call
/// nothing.
pub trait PortAgent<H>: Sized + Send {
    /// Whether there is anything to call.
    const ACTIVE: bool = true;
    /// Whether it sees packets as they start ([`PortAgent::depart`]). Packets then wait in a buffer until they do: a
    /// FIFO that hands them on as they come would have to show them too soon. One that is active, too, sees those
    /// that have started by a moment before the packet that joins at it.
    const SEES_DEPARTURES: bool = false;
    /// What it needs of the paths.
    const NEEDS: PathNeeds = PathNeeds::Nothing;
    /// Whether its hosts send again what is lost.
    const REPAIRS_LOSSES: bool = true;

    /// The agent of a port, from the parameters of its transport.
    fn build(transport: &Values, port: PortInfo) -> Self;

    /// A packet joins the port's queue, or is dropped by it next: of the transport or not, as all take the link's
    /// time.
    fn forward(&mut self, moment: Moment, packet: &mut Packet<H>);

    /// A packet starts on the port's link: the moment of telemetry (INT), and of marks by the queue that is left.
    fn depart(&mut self, _leaving: Leaving, _packet: &mut Packet<H>) {}

    /// A packet came from the far end of the port's link. Where a flow's two directions take the same path, these
    /// are the answers to what was sent through this port.
    fn backward(&mut self, _packet: &mut Packet<H>) {}
}

impl<H> PortAgent<H> for () {
    const ACTIVE: bool = false;

    fn build(_: &Values, _: PortInfo) {}

    #[inline]
    fn forward(&mut self, _: Moment, _: &mut Packet<H>) {}
}
