//! What packetloom's transports share: how a scheme is registered, and parts that several of them use.
//!
//! | Start at | for |
//! |---|---|
//! | [`Scheme`], [`family!`] | a transport's setup, and the list of a family |
//! | [`packet_format`], [`priority`] | packet sizes; the priority that packets carry |
//! | [`reassembly`], [`seq_set`], [`finished`] | what arrived of a flow; packet numbers; whole flows |
//! | [`pool`] | connections that flows leave to those after them |
//! | [`rto`] | the retransmission timeout |
//! | [`ways`] | path lengths and round-trip times of a network |
//! | [`Sending`] | a sender's state, for samples, tables and tests |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod finished;
pub mod packet_format;
pub mod pool;
pub mod priority;
pub mod reassembly;
pub mod rto;
pub mod seq_set;
pub mod ways;

pub use packet_format::{PARAMS as FORMAT_PARAMS, PacketFormat, check as check_format};
pub use packetloom_base::flow_table;
pub use packetloom_engine::engine::Sending;

use packetloom_base::packet::Packet;
use packetloom_base::spec::{Complaint, Component, Values};
use packetloom_base::units::Rate;
use packetloom_base::{flow, narrow, packet, prefetch, spec, units};
use packetloom_engine::engine::{AnyEngine, Engine, PathNeeds, Plan, PortAgent, Transport};
use packetloom_fabric::routing::Judged;
use packetloom_fabric::topology;
use packetloom_fabric::topology::Topology;
use packetloom_queue::queue;

/// A transport with all that a simulation needs to set it up.
pub trait Scheme: Transport {
    /// How it describes itself.
    const COMPONENT: Component;
    /// Its parameters, read.
    type Config;
    /// Whether it knows of one link at each host only; one that takes part at ports does not even ask.
    const ONE_LINK_A_HOST: bool = false;
    /// What it needs of the paths, where no agent of its own at ports says so.
    const PATHS: PathNeeds = PathNeeds::Nothing;
    /// Whether it goes by trimmed packets.
    const GOES_BY_TRIMS: bool = false;
    /// Whether its packets carry weights, by which switches share their links.
    const GOES_BY_WEIGHTS: bool = false;
    /// Whether it goes by credits that ports drop.
    const GOES_BY_LOST_CREDITS: bool = false;
    /// What it reports to the routing.
    const JUDGED: Judged = Judged::Nothing;
    /// Whether its parameters depend on the flow sizes of the scenario.
    const GOES_BY_SIZES: bool = false;
    /// Why no link can be simulated apart from the others, if none can: what decides when a flow sends knows of
    /// several links.
    const NEEDS_WHOLE: Option<&'static str> = None;

    /// The parameter after which silence it takes packets for lost, where nothing else tells it that they are.
    const LOST_AFTER: Option<&'static str> = None;

    /// Reads its parameters.
    fn configure(values: &Values) -> Self::Config;

    /// What its parameters come to on a network, of schemes that know more of it than its hosts: once in a run.
    fn on_network(config: Self::Config, _topology: &Topology) -> Self::Config {
        config
    }

    /// What they come to in a case as a whole, of a scheme that also knows how switches choose paths, and what
    /// switches will know of faults.
    fn on_plan(config: Self::Config, plan: &Plan<'_>) -> Self::Config {
        Self::on_network(config, plan.topology)
    }

    /// Its parameters, with those that it computes from the flow sizes, if it [does](Scheme::GOES_BY_SIZES); each
    /// size comes with its share of all the scenario's flows.
    fn on_sizes(values: &Values, _topology: &Topology, _shares: &[(u64, f64)]) -> Values {
        values.clone()
    }

    /// What must hold of its parameters on a network.
    ///
    /// # Errors
    /// What does not, by its key in the scenario.
    fn check_network(_values: &Values, _topology: &Topology) -> Result<(), Complaint> {
        Ok(())
    }

    /// What must hold of the routing, with its parameters on a network.
    ///
    /// # Errors
    /// What does not, by its key in the scenario.
    fn check_routing(_values: &Values, _routing: &Values, _topology: &Topology) -> Result<(), Complaint> {
        Ok(())
    }

    /// The size of its smallest packet: no transport may send a smaller one (see `engine`'s windows).
    fn smallest_bytes(values: &Values) -> u64 {
        PacketFormat::of(values).smallest_bytes()
    }

    /// Whether it goes by marks.
    fn goes_by_marks(_values: &Values) -> bool {
        false
    }

    /// Whether queues may mark its data. Marks may serve a routing where the transport does not go by them.
    fn is_markable(values: &Values) -> bool {
        Self::goes_by_marks(values)
    }

    /// Whether its data says which of it no receiver has called for, so that queues can drop that first (Aeolus).
    fn sends_unscheduled(_values: &Values) -> bool {
        false
    }

    /// Rates that are as they are whatever the link's, of those that a scenario leaves out.
    fn fixed_rates(_values: &Values) -> Vec<FixedRate> {
        Vec::new()
    }

    /// Whether senders wait for their receivers' answers. One that does not is done with a flow when its last packet
    /// has left, and packets that are lost never come.
    fn is_answered(_values: &Values) -> bool {
        true
    }

    /// Whether each flow to a host has a connection of its own, whose number among all that its sender has opened to that
    /// host is the [`path`](crate::packet::Packet::path) of its packets, so that switches hash it.
    fn numbers_connections(_values: &Values) -> bool {
        false
    }

    /// How many traffic classes it sorts its packets into, if it does.
    fn classes(_values: &Values) -> Option<u64> {
        None
    }

    /// How many traffic classes it has weights for, if it goes by them.
    fn weighted_classes(_values: &Values) -> Option<u64> {
        None
    }

    /// The transport of one host.
    fn new(config: &Self::Config) -> Self;

    /// The number of a data packet in its flow, for tables of what happened. Of other packets it means nothing.
    fn number(_packet: &Packet<Self::Header>) -> Option<u32> {
        None
    }
}

/// A rate that a transport goes by whatever the link's, such as what a step of increase adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRate {
    /// The parameter that sets it.
    pub key: &'static str,
    /// What it is where the parameter is left out.
    pub value: Rate,
    /// The line rate that its source chose it for.
    pub line_rate: Rate,
}

/// An operation on a scheme whose type is known, for callers that wrap the type in another.
pub trait WithScheme {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<T: Scheme>(self) -> Self::Output;
}

/// What a transport needs of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Of its paths.
    pub paths: PathNeeds,
    /// Nothing may be lost.
    pub no_losses: bool,
    /// What it does at hosts, it does for one link.
    pub one_link_a_host: bool,
    /// Some queue trims packets.
    pub trims: bool,
    /// Some queue goes by the weights in packets.
    pub weights: bool,
    /// Some queue drops credits.
    pub lost_credits: bool,
    /// No requirement: what it reports to the routing.
    pub judged: Judged,
    /// To know how large flows are.
    pub sizes: bool,
    /// All links of the network together; why.
    pub whole: Option<&'static str>,
    /// No requirement: packets of its flows can be left out.
    pub shortens: bool,
    /// No requirement: it heeds pauses of destinations.
    pub heeds_destinations: bool,
}

/// A transport as the rest of the program knows it, which is compiled once and not for each of them.
#[derive(Clone, Copy)]
pub struct Entry {
    /// How it describes itself.
    pub component: Component,
    /// What it needs of the network.
    pub needs: Needs,
    /// The size of its smallest packet.
    pub smallest_bytes: fn(&Values) -> u64,
    /// Whether it goes by marks, so that some queue has to set them.
    pub goes_by_marks: fn(&Values) -> bool,
    /// Whether queues may mark its data.
    pub is_markable: fn(&Values) -> bool,
    /// Whether its data says which of it no receiver has called for.
    pub sends_unscheduled: fn(&Values) -> bool,
    /// Its rates that are as they are whatever the link's.
    pub fixed_rates: fn(&Values) -> Vec<FixedRate>,
    /// Whether its senders wait for answers.
    pub is_answered: fn(&Values) -> bool,
    /// Whether the number of a flow's connection is hashed with it.
    pub numbers_connections: fn(&Values) -> bool,
    /// The parameter after which silence it takes packets for lost, if that is how it tells.
    pub lost_after: Option<&'static str>,
    /// The parameters that may be set while a case runs.
    pub settable: &'static [&'static str],
    /// How many traffic classes it sorts its packets into, if it does.
    pub classes: fn(&Values) -> Option<u64>,
    /// How many traffic classes it has weights for, if it goes by them.
    pub weighted_classes: fn(&Values) -> Option<u64>,
    /// What must hold of its parameters on a network.
    pub check_network: fn(&Values, &Topology) -> Result<(), Complaint>,
    /// What must hold of the routing, with its parameters on a network.
    pub check_routing: fn(&Values, &Values, &Topology) -> Result<(), Complaint>,
    /// Its parameters with what it works out of how large flows are.
    pub on_sizes: fn(&Values, &Topology, &[(u64, f64)]) -> Values,
    engine: fn(&Plan<'_>) -> Box<dyn AnyEngine>,
}

impl Entry {
    /// A scheme's.
    pub const fn of<T: Scheme + 'static>() -> Entry {
        Entry {
            component: T::COMPONENT,
            needs: Needs {
                paths: if let PathNeeds::Nothing = T::PATHS { T::Agent::NEEDS } else { T::PATHS },
                no_losses: !T::Agent::REPAIRS_LOSSES,
                one_link_a_host: T::Agent::ACTIVE || T::ONE_LINK_A_HOST,
                trims: T::GOES_BY_TRIMS,
                weights: T::GOES_BY_WEIGHTS,
                lost_credits: T::GOES_BY_LOST_CREDITS,
                judged: T::JUDGED,
                sizes: T::GOES_BY_SIZES,
                whole: match T::NEEDS_WHOLE {
                    None if T::Agent::ACTIVE => Some("its switches decide about all links of a path"),
                    why => why,
                },
                shortens: T::SHORTENS,
                heeds_destinations: T::HEEDS_DESTINATIONS,
            },
            smallest_bytes: T::smallest_bytes,
            goes_by_marks: T::goes_by_marks,
            is_markable: T::is_markable,
            sends_unscheduled: T::sends_unscheduled,
            fixed_rates: T::fixed_rates,
            is_answered: T::is_answered,
            numbers_connections: T::numbers_connections,
            lost_after: T::LOST_AFTER,
            settable: T::SETTABLE,
            classes: T::classes,
            weighted_classes: T::weighted_classes,
            check_network: T::check_network,
            check_routing: T::check_routing,
            on_sizes: T::on_sizes,
            engine: |plan| {
                let config = T::on_plan(T::configure(plan.transport), plan);
                Box::new(Engine::new(plan, || T::new(&config)))
            },
        }
    }

    /// A network at rest with this transport, which the plan names.
    pub fn engine(&self, plan: &Plan<'_>) -> Box<dyn AnyEngine> {
        (self.engine)(plan)
    }
}

/// A family of schemes: what the rest of the program knows of them, and a way to each one's type.
///
/// `ENTRIES` is a static so that the engine of each scheme is compiled in the family's own crate, not in one that
/// names it; the family's unit tests do without, and so need no engine to be compiled.
#[macro_export]
macro_rules! family {
    ($($scheme:ty,)*) => {
        /// Every scheme of this family.
        #[cfg(not(test))]
        pub static ENTRIES: &[$crate::Entry] = &[$($crate::Entry::of::<$scheme>()),*];

        /// How they describe themselves.
        pub const COMPONENTS: &[packetloom_base::spec::Component] =
            &[$(<$scheme as $crate::Scheme>::COMPONENT),*];

        /// Does something with the scheme called `kind`, or gives it back if it is of another family.
        ///
        /// # Errors
        /// What was to be done, if there is no such scheme.
        pub fn with_scheme<W: $crate::WithScheme>(kind: &str, work: W) -> Result<W::Output, W> {
            $(if kind == <$scheme as $crate::Scheme>::COMPONENT.kind {
                return Ok(work.run::<$scheme>());
            })*
            Err(work)
        }
    };
}
