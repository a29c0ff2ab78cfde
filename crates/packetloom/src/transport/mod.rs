//! Transports: one room per scheme. What two of them share has a room of its own.

mod cubic;
mod d2tcp;
mod d3;
mod daq;
mod dctcp;
mod fastpass;
mod finished;
mod fixed_window;
mod flow_table;
mod line_rate;
mod marked_share;
mod min_tcp;
mod mptcp;
mod ndp;
mod paced;
mod packet_format;
mod pdq;
mod pias;
mod priority;
mod rcp;
mod rdma;
mod reassembly;
mod rto;
mod sending;
mod seq_set;
mod tcp;
mod windowed;

pub use packet_format::{PARAMS as FORMAT_PARAMS, PacketFormat, check as check_format};
pub use sending::Sending;

use crate::engine::{AnyEngine, Engine, PathNeeds, Plan, PortAgent, Transport};
use crate::flow::FlowId;
use crate::packet::Packet;
use crate::spec::{Complaint, Component, Values};
use crate::topology::Topology;

/// A transport with all that a simulation needs to set it up.
pub trait Scheme: Transport {
    /// How it describes itself.
    const COMPONENT: Component;
    /// Its parameters, read.
    type Config;
    /// Whether it knows of one link at each host only; one that takes part at ports does not even ask.
    const ONE_LINK_A_HOST: bool = false;
    /// Whether it goes by marks.
    const GOES_BY_MARKS: bool = false;
    /// Whether it goes by trimmed packets.
    const GOES_BY_TRIMS: bool = false;

    /// Reads its parameters.
    fn configure(values: &Values) -> Self::Config;

    /// What its parameters come to on a network, of schemes that know more of it than its hosts: once in a run.
    fn on_network(config: Self::Config, _topology: &Topology) -> Self::Config {
        config
    }

    /// What must hold of its parameters on a network.
    ///
    /// # Errors
    /// What does not, by its key in the scenario.
    fn check_network(_values: &Values, _topology: &Topology) -> Result<(), Complaint> {
        Ok(())
    }

    /// How many traffic classes it sorts its packets into, if it does.
    fn classes(_values: &Values) -> Option<u64> {
        None
    }

    /// The transport of one host.
    fn new(config: &Self::Config) -> Self;

    /// How a flow stands that this host has not finished sending. Only tests and tables ask; see [`Sending`].
    fn sending(&self, _flow: FlowId) -> Option<Sending> {
        None
    }

    /// The number of a data packet in its flow, for the same tables. Of other packets it means nothing.
    fn number(_packet: &Packet<Self::Header>) -> Option<u32> {
        None
    }
}

/// Something to do with a scheme once its type is known, for whoever wraps the type in another.
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
    /// Some queue marks packets.
    pub marks: bool,
    /// Some queue trims packets.
    pub trims: bool,
}

/// A transport as the rest of the program knows it, which is compiled once and not for each of them.
#[derive(Clone, Copy)]
pub struct Entry {
    /// How it describes itself.
    pub component: Component,
    /// What it needs of the network.
    pub needs: Needs,
    classes: fn(&Values) -> Option<u64>,
    check_network: fn(&Values, &Topology) -> Result<(), Complaint>,
    engine: fn(&Plan<'_>) -> Box<dyn AnyEngine>,
}

impl Entry {
    /// A scheme's.
    pub const fn of<T: Scheme + 'static>() -> Entry {
        Entry {
            component: T::COMPONENT,
            needs: Needs {
                paths: T::Agent::NEEDS,
                no_losses: !T::Agent::REPAIRS_LOSSES,
                one_link_a_host: T::Agent::ACTIVE || T::ONE_LINK_A_HOST,
                marks: T::GOES_BY_MARKS,
                trims: T::GOES_BY_TRIMS,
            },
            classes: T::classes,
            check_network: T::check_network,
            engine: |plan| {
                let config = T::on_network(T::configure(plan.transport), plan.topology);
                Box::new(Engine::new(plan, || T::new(&config)))
            },
        }
    }

    /// A network at rest with this transport, which the plan names.
    pub fn engine(&self, plan: &Plan<'_>) -> Box<dyn AnyEngine> {
        (self.engine)(plan)
    }
}

/// The transport called `kind`, if there is one.
pub fn find(kind: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.component.kind == kind)
}

/// What the transport called `kind` needs of the network.
pub fn needs(kind: &str) -> Needs {
    find(kind).map(|entry| entry.needs).unwrap_or_default()
}

/// How many traffic classes a transport sorts its packets into, if it does.
pub fn classes(transport: &Values) -> Option<u64> {
    (find(&transport.kind)?.classes)(transport)
}

/// What must hold of a transport on a network.
///
/// # Errors
/// What does not, by its key in the scenario.
pub fn check_network(transport: &Values, topology: &Topology) -> Result<(), Complaint> {
    find(&transport.kind).map_or(Ok(()), |entry| (entry.check_network)(transport, topology))
}

macro_rules! registry {
    ($($scheme:ty,)*) => {
        /// Every transport.
        pub const ENTRIES: &[Entry] = &[$(Entry::of::<$scheme>()),*];

        /// Does something with the scheme called `kind`, if there is one.
        pub fn with_scheme<W: WithScheme>(kind: &str, work: W) -> Option<W::Output> {
            $(if kind == <$scheme>::COMPONENT.kind {
                return Some(work.run::<$scheme>());
            })*
            None
        }
    };
}

registry! {
    tcp::Tcp,
    cubic::Cubic,
    dctcp::Dctcp,
    d2tcp::D2tcp,
    min_tcp::MinTcp,
    line_rate::LineRate,
    fixed_window::FixedWindow,
    ndp::Ndp,
    rcp::Rcp,
    d3::D3,
    pdq::Pdq,
    daq::Daq,
    mptcp::Mptcp,
    pias::Pias,
    fastpass::Fastpass,
    rdma::Roce,
    rdma::Dcqcn,
    rdma::Timely,
    rdma::Hpcc,
    rdma::Swift,
    rdma::RateDctcp,
}

/// How all of them describe themselves.
pub const COMPONENTS: &[Component] = &components();

const fn components() -> [Component; ENTRIES.len()] {
    let mut components = [ENTRIES[0].component; ENTRIES.len()];
    let mut nth = 0;
    while nth < ENTRIES.len() {
        components[nth] = ENTRIES[nth].component;
        nth += 1;
    }
    components
}
