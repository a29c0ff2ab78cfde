//! What packets showed of a transport, as it acts on messages: each has a pace of its own below that of its links, and
//! takes longer where it shares its bottleneck with others.

use super::measured::{ALONE, Measured};
use super::pieces;
use crate::flow::{Flow, FlowId};
use crate::fluid::on_links::{Sharing, Transfer};
use crate::narrow::saturated;
use crate::random::{Purpose, Stream};
use crate::topology::Topology;
use crate::units::Time;
use std::sync::Arc;

/// What held a message back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The network of a server, which it stayed in.
    Server,
    /// A host's link.
    Host,
    /// A link between switches.
    Fabric,
}

/// What a message crosses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Across {
    /// The network of a server.
    Server,
    /// One switch.
    Switch,
    /// The fabric; how full the fullest of its links was that it crosses, when it started.
    Fabric(f64),
}

/// What is found of a message of a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub(super) flow: FlowId,
    pub(super) took: Time,
    pub(super) across: Across,
    /// How many times what it takes alone its bits took.
    pub(super) shared_by: f64,
    pub(super) place: Place,
}

/// A message under way.
#[derive(Clone, Debug)]
pub(super) struct Own {
    size_bytes: u64,
    is_in_server: bool,
    /// A link that nobody else crosses, as fast as the message may be.
    cap: u32,
    /// What its bits take alone, in ps.
    alone_ps: f64,
    /// Its links between switches, with its shares.
    fabric: Vec<(u32, f64)>,
    use_of_fabric: Option<f64>,
    /// How many times what its links let it take.
    slowed: f64,
    /// Where it is in the distribution of what packets showed of shared links.
    draw: f64,
}

impl Own {
    fn across(&self) -> Across {
        match self.use_of_fabric {
            _ if self.is_in_server => Across::Server,
            None => Across::Switch,
            Some(used) => Across::Fabric(used),
        }
    }
}

/// All messages' paces.
#[derive(Debug, Default)]
pub(super) struct Pace {
    measured: Option<Arc<Measured>>,
    noted: Option<Vec<Noted>>,
    seed: u64,
    /// By shared link: whether it is between switches.
    is_fabric: Vec<bool>,
    /// By shared link: the shares of the messages that cross it, and the same times how much they are slowed.
    slowed: Vec<(f64, f64)>,
    /// Links for single messages that none has now.
    free: Vec<u32>,
}

impl Pace {
    /// Of a case; `stands`: which shared link each of the network's is.
    pub(super) fn of(
        measured: Option<Arc<Measured>>,
        seed: u64,
        topology: &Topology,
        stands: impl Fn(u32) -> u32,
    ) -> Pace {
        if measured.is_none() {
            return Pace::default();
        }
        Pace { measured, seed, ..Pace::noting(topology, stands) }
    }

    /// Of a piece.
    pub(super) fn noting(topology: &Topology, stands: impl Fn(u32) -> u32) -> Pace {
        let mut is_fabric = Vec::new();
        for (link, nth) in topology.links.iter().zip(0..) {
            let stands = stands(nth) as usize;
            is_fabric.resize(is_fabric.len().max(stands + 1), false);
            is_fabric[stands] = link.src >= topology.hosts && link.dst >= topology.hosts;
        }
        let slowed = vec![(0.0, 0.0); is_fabric.len()];
        Pace { noted: Some(Vec::new()), is_fabric, slowed, ..Pace::default() }
    }

    /// A message is to start: gives it a link of its own, if it has a pace.
    pub(super) fn begin(
        &mut self,
        flow: &Flow,
        transfer: &mut Transfer,
        (topology, sharing): (&Topology, &mut Sharing),
    ) -> Option<Box<Own>> {
        if self.measured.is_none() && self.noted.is_none() {
            return None;
        }
        let rates = transfer.links.iter().map(|&(link, share)| sharing.capacity(link) / share);
        let alone = rates.fold(f64::INFINITY, f64::min);
        let cap = match self.free.pop() {
            Some(cap) => {
                sharing.set_capacity(cap, alone);
                cap
            }
            None => sharing.add_link(alone),
        };
        let is_fabric = |&&(link, _): &&(u32, f64)| self.is_fabric.get(link as usize) == Some(&true);
        let fabric = transfer.links.iter().filter(is_fabric).copied().collect();
        transfer.links.push((cap, 1.0));
        let alone_ps = transfer.bits / alone;
        let size_bytes = flow.size_bytes;
        let is_in_server = pieces::stays_in_server(topology, (flow.src, flow.dst));
        Some(Box::new(Own {
            size_bytes,
            is_in_server,
            cap,
            alone_ps,
            fabric,
            use_of_fabric: None,
            slowed: 1.0,
            draw: 0.0,
        }))
    }

    /// Looks what the fabric's links carry for a message, once all that start with it have started.
    pub(super) fn look(&self, own: &mut Own, sharing: &mut Sharing) {
        sharing.settled();
        let of_link = |&(link, _): &(u32, f64)| {
            let (shares, slowed) = self.slowed[link as usize];
            // Of a link that is less full because its messages are slowed.
            let times = if shares > 1e-9 { slowed / shares } else { 1.0 };
            (sharing.use_of(link) * times).min(1.0)
        };
        own.use_of_fabric = own.fabric.iter().map(of_link).max_by(f64::total_cmp);
    }

    /// And sets its pace, once all have looked.
    pub(super) fn set(&mut self, flow: FlowId, own: &mut Own, sharing: &mut Sharing) {
        let Some(measured) = &self.measured else { return };
        let mut random = Stream::new(self.seed, Purpose::Estimates, flow.into());
        own.slowed = measured.alone(own.size_bytes, own.across(), random.unit());
        own.draw = random.unit();
        if own.slowed > 1.0 {
            sharing.set_capacity(own.cap, sharing.capacity(own.cap) / own.slowed);
        }
        for &(link, share) in &own.fabric {
            let (shares, slowed) = &mut self.slowed[link as usize];
            *shares += share;
            *slowed += share * own.slowed;
        }
    }

    /// A message's bits have been moved in so much time, and a link held it back the longest; returns how much longer it
    /// takes. `took`: what it takes without that.
    pub(super) fn end(
        &mut self,
        flow: FlowId,
        own: &Own,
        (moving, held_by): (Time, u32),
        took: Time,
    ) -> Time {
        self.free.push(own.cap);
        let moving_ps = moving.as_ps() as f64;
        let shared_by = moving_ps / own.alone_ps.max(1.0);
        let in_fabric = self.is_fabric.get(held_by as usize) == Some(&true);
        let place = match own.is_in_server {
            true => Place::Server,
            false if in_fabric => Place::Fabric,
            false => Place::Host,
        };
        if let Some(measured) = &self.measured {
            for &(link, share) in &own.fabric {
                let (shares, slowed) = &mut self.slowed[link as usize];
                *shares -= share;
                *slowed -= share * own.slowed;
            }
            if shared_by < own.slowed * ALONE {
                return Time::ZERO;
            }
            let ratio = measured.shared(own.size_bytes, place, shared_by, own.draw);
            return Time(saturated::<u64>(((ratio - 1.0) * moving_ps).round()));
        }
        if let Some(noted) = &mut self.noted {
            noted.push(Noted { flow, took, across: own.across(), shared_by, place });
        }
        Time::ZERO
    }

    pub(super) fn into_noted(self) -> Vec<Noted> {
        self.noted.unwrap_or_default()
    }
}
