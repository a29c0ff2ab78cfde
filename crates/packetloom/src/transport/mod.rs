//! Transports: a crate for each family, which are compiled side by side; what several of them use is in
//! `packetloom-transport`. This is the list of families.

pub use packetloom_transport::{
    Entry, FORMAT_PARAMS, FixedRate, Needs, PacketFormat, Scheme, Sending, WithScheme, check_format,
};

pub use packetloom_rdma::{CONNECTION_COMPONENTS as QUEUE_PAIR_COMPONENTS, presets, python as python_rate};
pub use packetloom_windowed::{CONNECTION_COMPONENTS, python};

use crate::packet::Format;
use crate::spec::{Complaint, Component, Value, Values};
use crate::topology::Topology;

/// The transport called `kind`, if there is one.
pub fn find(kind: &str) -> Option<&'static Entry> {
    FAMILIES.iter().flat_map(|family| family.iter()).find(|entry| entry.component.kind == kind)
}

/// What the transport called `kind` needs of the network.
pub fn needs(kind: &str) -> Needs {
    find(kind).map(|entry| entry.needs).unwrap_or_default()
}

/// Whether a transport goes by marks.
pub fn goes_by_marks(transport: &Values) -> bool {
    find(&transport.kind).is_some_and(|entry| (entry.goes_by_marks)(transport))
}

/// Whether queues may mark a transport's data, if it has packets.
pub fn is_markable(transport: &Values) -> bool {
    find(&transport.kind).is_none_or(|entry| (entry.is_markable)(transport))
}

/// Whether a transport's data says which of it no receiver has called for.
pub fn sends_unscheduled(transport: &Values) -> bool {
    find(&transport.kind).is_some_and(|entry| (entry.sends_unscheduled)(transport))
}

/// The size of a transport's smallest packet.
pub fn smallest_bytes(transport: &Values) -> u64 {
    let usual = || PacketFormat::of(transport).smallest_bytes();
    find(&transport.kind).map_or_else(usual, |entry| (entry.smallest_bytes)(transport))
}

/// The largest packet that a transport sends: one of data, or an acknowledgement that is larger.
pub fn largest_bytes(transport: &Values, format: Format) -> u64 {
    let ack = match transport.entries.get("ack") {
        Some(Value::Bytes(bytes)) => *bytes,
        _ => 0,
    };
    ack.max(format.mss_bytes + format.header_bytes)
}

/// How many traffic classes a transport sorts its packets into, if it does.
pub fn classes(transport: &Values) -> Option<u64> {
    (find(&transport.kind)?.classes)(transport)
}

/// How many traffic classes a transport has weights for, if it goes by them.
pub fn weighted_classes(transport: &Values) -> Option<u64> {
    (find(&transport.kind)?.weighted_classes)(transport)
}

/// A transport's parameters with what it works out of how large flows are, if it goes by that.
pub fn on_sizes(transport: Values, topology: &Topology, shares: impl FnOnce() -> Vec<(u64, f64)>) -> Values {
    match find(&transport.kind).filter(|entry| entry.needs.sizes) {
        Some(entry) => (entry.on_sizes)(&transport, topology, &shares()),
        None => transport,
    }
}

/// What must hold of a transport on a network.
///
/// # Errors
/// What does not, by its key in the scenario.
pub fn check_network(transport: &Values, topology: &Topology) -> Result<(), Complaint> {
    find(&transport.kind).map_or(Ok(()), |entry| (entry.check_network)(transport, topology))
}

/// What must hold of a routing on a network, for a transport.
///
/// # Errors
/// What does not, by its key in the scenario.
pub fn check_routing(transport: &Values, routing: &Values, topology: &Topology) -> Result<(), Complaint> {
    find(&transport.kind).map_or(Ok(()), |entry| (entry.check_routing)(transport, routing, topology))
}

macro_rules! families {
    ($($family:ident,)*) => {
        /// Every transport, family by family.
        static FAMILIES: &[&&[Entry]] = &[$(&$family::ENTRIES),*];

        /// How all of them describe themselves.
        pub const COMPONENTS: &[Component] = &concatenated(&[$($family::COMPONENTS),*]);

        const COUNT: usize = 0 $(+ $family::COMPONENTS.len())*;

        /// Does something with the scheme called `kind`, if there is one.
        pub fn with_scheme<W: WithScheme>(kind: &str, work: W) -> Option<W::Output> {
            $(let work = match $family::with_scheme(kind, work) {
                Ok(output) => return Some(output),
                Err(work) => work,
            };)*
            drop(work);
            None
        }
    };
}

families! {
    packetloom_windowed,
    packetloom_receivers,
    packetloom_paced,
    packetloom_rdma,
    packetloom_uec,
}

const fn concatenated(families: &[&[Component]]) -> [Component; COUNT] {
    let mut components = [families[0][0]; COUNT];
    let (mut family, mut nth, mut at) = (0, 0, 0);
    while at < COUNT {
        if nth == families[family].len() {
            (family, nth) = (family + 1, 0);
        }
        components[at] = families[family][nth];
        (nth, at) = (nth + 1, at + 1);
    }
    components
}
