//! What the flows at a host share that go by the same of its links. Where hosts have one link each, that is one lane.

use super::Host;
use super::config::Config;
use super::links::Links;
use super::nic::Nic;
use super::oversubscribed::Oversubscribed;
use super::pacer::Pacer;
use crate::flow::HostId;
use crate::narrow::narrow;
use crate::units::{Rate, Time};
use std::sync::Arc;

/// The flows by some of a host's links.
#[derive(Debug)]
pub struct Lane {
    pub config: Arc<Config>,
    /// What a flow can have of these links; nothing where it is what the host has.
    pub rate: Option<Rate>,
    pub nic: Nic,
    pub pacer: Option<Pacer>,
    /// When the timer goes off for the next pull, if one is set.
    pub pulls_at: Time,
    pub oversubscribed: Option<Box<Oversubscribed>>,
    pub is_in_period: bool,
}

impl Lane {
    fn new(config: Arc<Config>, rate: Option<Rate>) -> Lane {
        Lane {
            nic: Nic::new(config.control_per_data),
            pacer: None,
            pulls_at: Time::NEVER,
            oversubscribed: config.oversubscribed.map(Oversubscribed::new).map(Box::new),
            is_in_period: false,
            rate,
            config,
        }
    }

    /// What a flow can have of the links, at a host.
    #[inline]
    pub fn rate_at(&self, host: &Host<'_>) -> Rate {
        self.rate.unwrap_or_else(|| host.nic_rate())
    }
}

/// All of a host's.
#[derive(Debug)]
pub struct Lanes {
    /// The first lies in the host's state itself.
    first: Lane,
    others: Vec<Lane>,
    /// Of each, the host's ports that it is for; none where hosts have one link each.
    ports: Vec<Box<[u32]>>,
    links: Option<Arc<Links>>,
    /// Peers and the lanes that lead to them, each at the place that its number has modulo [`RECENT`]: a rank's messages go to
    /// and come from a few. Nothing where hosts have one link each.
    recent: Vec<Option<(HostId, u16)>>,
    /// Whose turn it is.
    turn: u16,
}

/// So many peers' lanes are kept at hand.
const RECENT: usize = 8;

impl Lanes {
    /// A host's.
    pub fn new(config: Arc<Config>, links: Option<Arc<Links>>) -> Lanes {
        let recent = if links.is_some() { vec![None; RECENT] } else { Vec::new() };
        Lanes {
            first: Lane::new(config, None),
            others: Vec::new(),
            ports: Vec::new(),
            links,
            recent,
            turn: 0,
        }
    }

    /// Whether there may be others than the first.
    #[inline]
    pub fn may_be_several(&self) -> bool {
        self.links.is_some()
    }

    /// The lane that leads from a host to another.
    #[inline]
    pub fn to(&mut self, host: HostId, peer: HostId) -> u16 {
        match self.recent.get(peer as usize % RECENT) {
            None => 0,
            Some(&Some((known, lane))) if known == peer => lane,
            Some(_) => {
                let lane = self.find(host, peer);
                self.recent[peer as usize % RECENT] = Some((peer, lane));
                lane
            }
        }
    }

    #[inline(never)]
    fn find(&mut self, host: HostId, peer: HostId) -> u16 {
        let Some(links) = &self.links else { return 0 };
        let ports = links.ports(host, peer);
        if let Some(known) = self.ports.iter().position(|known| **known == *ports) {
            return narrow::<u16>(known);
        }
        let ways = links.ways(host, peer);
        let lane = Lane::new(Arc::new(self.first.config.on_ways(&ways)), Some(ways.rate));
        self.ports.push(ports.into());
        if self.ports.len() == 1 {
            self.first = lane;
        } else {
            self.others.push(lane);
        }
        narrow::<u16>(self.ports.len()) - 1
    }

    /// One of them.
    #[inline]
    pub fn get(&self, lane: u16) -> &Lane {
        if lane == 0 { &self.first } else { self.other(lane) }
    }

    #[cold]
    #[inline(never)]
    fn other(&self, lane: u16) -> &Lane {
        &self.others[usize::from(lane) - 1]
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, lane: u16) -> &mut Lane {
        if lane == 0 { &mut self.first } else { self.other_mut(lane) }
    }

    #[cold]
    #[inline(never)]
    fn other_mut(&mut self, lane: u16) -> &mut Lane {
        &mut self.others[usize::from(lane) - 1]
    }

    /// How many there are.
    pub fn count(&self) -> u16 {
        narrow::<u16>(self.ports.len().max(1))
    }

    /// The one whose turn it is.
    pub fn take_turn(&mut self) -> u16 {
        let lane = self.turn;
        self.turn = if lane + 1 >= self.count() { 0 } else { lane + 1 };
        lane
    }
}
