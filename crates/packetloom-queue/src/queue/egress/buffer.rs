//! What may wait at a port.

use super::abm::{self, ByQueues};
use super::{lossless, reverie};
use crate::queue::admission::{ADMITS, CAPACITY, Limit, Marking, check_admits};
use crate::queue::scheduler::Specification;
use crate::queue::shared_buffer::Shares;
use crate::queue::specification::Bound;
use crate::queue::{Admission, PoolSettings};
use crate::spec::{self, Component, Kind, Param, Registered, Values, param};

const PRIVATE: Registered<Read> = Registered {
    component: Component {
        section: "buffer",
        kind: "private",
        doc: "A buffer of the port's own.",
        source: "packetloom",
        params: &[&[CAPACITY, ADMITS]],
        check: check_admits,
    },
    factory: Room::own,
};

/// What all ports of a switch share.
pub(super) const SIZE: Param =
    param! { required "size": Kind::Bytes, "The buffer of a switch.", "packetloom" };

const POOL: Registered<Read> = Registered {
    component: Component {
        section: "buffer",
        kind: "pool",
        doc: "A buffer that all ports of a switch share: a port's queue may grow to alpha times what is free of it (dynamic thresholds). Hosts' ports do not use it.",
        source: "Choudhury and Hahne, ToN 1998",
        params: &[&[
            SIZE,
            param! {
                "alpha" = "1": Kind::Number(0.001, 1024.0),
                "A port's queue may grow to this many times what is free.",
                "Choudhury and Hahne, ToN 1998: alpha = 1"
            },
            CAPACITY,
            ADMITS,
        ]],
        check: check_admits,
    },
    factory: |values| Room::with_pool(values, Division::Dynamic(values.number("alpha"))),
};

const BUFFERS: &[Registered<Read>] = &[PRIVATE, POOL, abm::BUFFER, lossless::INGRESS, reverie::BUFFER];

/// Every component of the section "buffer".
pub const COMPONENTS: &[Component] = &spec::components::<_, { BUFFERS.len() }>(BUFFERS);

/// How a buffer is read.
pub(super) type Read = fn(&Values) -> Room;

/// The buffer of a port, as a scenario specifies it.
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// What a port alone admits.
    pub(super) own: Admission,
    /// What ports share, where links are charged for it, so that they can be paused.
    pub(super) shares: Option<Shares>,
    /// What they share without that.
    pub(super) pool: Option<Pool>,
}

/// What the ports of a switch share.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    size_bytes: u64,
    division: Division,
}

/// Among whom a pool is divided.
#[derive(Clone, Debug)]
pub(super) enum Division {
    /// Ports: the queue of one may grow to so many times what is free of it.
    Dynamic(f64),
    /// The queues of ports.
    ByQueues(abm::Settings),
}

impl Room {
    /// All packets are admitted.
    pub(super) const ANY: Room = Room { own: Admission::UNLIMITED, shares: None, pool: None };

    /// From a component that was read.
    pub(super) fn of(values: &Values) -> Room {
        spec::factory(BUFFERS, &values.kind)(values)
    }

    /// A port's own.
    fn own(values: &Values) -> Room {
        Room { own: Admission::of(values, Marking::Never), ..Room::ANY }
    }

    /// One of which links are charged for what they have.
    pub(super) fn charged(shares: Shares) -> Room {
        Room { shares: Some(shares), ..Room::ANY }
    }

    /// A port's own, of what all ports share.
    pub(super) fn with_pool(values: &Values, division: Division) -> Room {
        Room { pool: Some(Pool { size_bytes: values.bytes("size"), division }), ..Room::own(values) }
    }

    /// How it is divided among the queues of ports, if it is.
    pub(super) fn by_queues(&self) -> Option<&abm::Settings> {
        match &self.pool.as_ref()?.division {
            Division::ByQueues(settings) => Some(settings),
            Division::Dynamic(_) => None,
        }
    }

    /// What ports with this scheduler share, but for what links are charged for.
    pub(super) fn pool_of(&self, scheduler: &Specification) -> Option<PoolSettings> {
        let Pool { size_bytes, division } = self.pool.as_ref()?;
        match division {
            Division::Dynamic(alpha) => Some(PoolSettings::dynamic(*size_bytes, *alpha)),
            Division::ByQueues(settings) => {
                let by_queues = ByQueues { settings: settings.clone(), queues: scheduler.queues? };
                Some(PoolSettings::by_queues(*size_bytes, by_queues))
            }
        }
    }

    /// The most that may wait at a port, the pool aside.
    pub(super) fn bound(&self) -> Option<Bound> {
        self.shares.map_or_else(|| self.own.bound(), |shares| Some(Bound::bytes(shares.buffer_bytes)))
    }

    /// The parameters that say how much may wait, and how much that is.
    pub(super) fn rooms(&self) -> Vec<(&'static str, Limit)> {
        let size = self.shares.map(|shares| shares.buffer_bytes);
        let size = size.or(self.pool.as_ref().map(|pool| pool.size_bytes));
        let own = self.shares.is_none().then(|| ("buffer.capacity", self.own.capacity()));
        own.into_iter().chain(size.map(|bytes| ("buffer.size", Limit::Bytes(bytes)))).collect()
    }
}
