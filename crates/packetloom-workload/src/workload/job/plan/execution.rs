//! How a program is executed: by whom, how fast, and which ranks share servers.

use crate::flow::{Flow, HostId};
use crate::job::Collective;
use crate::narrow::exact;
use crate::units::{Rate, Time};
use crate::workload::job::disturbance::Disturbances;
use crate::workload::job::library::Nccl;
use crate::workload::job::pattern::Algorithm;
use crate::workload::job::whole::Whole;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a program is executed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The host of each rank.
    pub hosts: Vec<HostId>,
    /// What all messages have in common: start of the job, class, source.
    pub like: Flow,
    /// How often; a rank begins anew when all of its operations have ended.
    pub repeat: u32,
    /// How each operation is carried out, where not as usual.
    pub algorithms: BTreeMap<Collective, Algorithm>,
    /// The server of each rank, if hosts share servers.
    pub servers: Option<Vec<u32>>,
    /// In how many parts that are under way at once a collective operation is carried out.
    pub channels: u32,
    /// In how many pieces, one after the other, each of those.
    pub chunks: u32,
    /// What a host takes to send a message, and to receive one; it does one at a time of each.
    pub costs: Costs,
    /// The library that decides how each operation is carried out, if one does.
    pub library: Option<Nccl>,
    /// The operations of which no message is sent by itself.
    pub whole: Whole,
    /// The number of the job (`Job::source`).
    pub number: u8,
    /// What goes wrong with its ranks.
    pub disturbances: Arc<Disturbances>,
    /// Which part of the job it is.
    pub life: Life,
    /// The first of the ranks, the last ones, that are nodes in servers' switches: one for each server, by number. They
    /// have no operations of their own.
    pub nodes_from: Option<u32>,
}

/// A rank that fails divides its job into two parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// No rank fails.
    #[default]
    Whole,
    /// It ends when one fails.
    UntilFailure,
    /// It goes on from the first repetition that was not finished then.
    AfterFailure,
}

/// What a host takes for a message: the parameters of LogGOPS that are not the network's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// To send it: o.
    pub send: Time,
    /// To receive it: o.
    pub receive: Time,
    /// To send or receive each byte after the first: O.
    pub per_byte: Time,
    /// Between two messages that its NIC sends, and between two that it receives: g, and the rate at which the bytes
    /// themselves pass.
    pub gap: Option<(Time, Rate)>,
    /// A send of more bytes ends when its receiver has said that a receive has taken the message: S.
    pub eager: Option<u64>,
}

impl Costs {
    fn bytes(&self, bytes: u64) -> Time {
        Time(self.per_byte.as_ps().saturating_mul(bytes.saturating_sub(1)))
    }

    /// What the host takes to send a message.
    pub fn to_send(&self, bytes: u64) -> Time {
        self.send.saturating_add(self.bytes(bytes))
    }

    /// What it takes to receive one.
    pub fn to_receive(&self, bytes: u64) -> Time {
        self.receive.saturating_add(self.bytes(bytes))
    }

    /// How long the NIC has to do with a message before the next; nothing where messages have no gap.
    pub fn occupied(&self, bytes: u64) -> Time {
        let Some((gap, rate)) = self.gap else { return Time::ZERO };
        let bytes = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.as_bps().max(1));
        gap.saturating_add(Time(u64::try_from(bytes).unwrap_or(u64::MAX)))
    }

    /// Whether the sender waits for the receiver's word.
    pub fn is_answered(&self, bytes: u64) -> bool {
        self.eager.is_some_and(|eager| bytes > eager)
    }
}

impl Settings {
    /// Whether operations of a group are carried out as wholes.
    pub(super) fn is_whole(&self, group: &[u32]) -> bool {
        let Costs { gap, .. } = self.costs;
        gap.is_none() && self.whole.holds(group.iter().map(|&rank| self.hosts[rank as usize]))
    }

    /// On how many servers a group is, equally many ranks on each.
    pub(super) fn servers_of(&self, group: &[u32]) -> Result<u32, String> {
        let ranks = exact::<u32>(group.len());
        if self.servers.is_none() {
            return Ok(ranks);
        }
        let seating = self.seating(group).ok_or(
            "NCCL is modelled for equally many ranks of a group in each server; write ranks or a placement for which that is so, or library = \"plain\"",
        )?;
        Ok(ranks / seating.ranks)
    }

    /// The nodes in the switches of a group's servers, in the order in which patterns have servers.
    pub(super) fn nodes(&self, group: &[u32]) -> Vec<u32> {
        let Some((first, servers)) = self.nodes_from.zip(self.servers.as_ref()) else { return Vec::new() };
        let Some(Seating { ranks, members }) = self.seating(group) else { return Vec::new() };
        let place = |at: usize| members.as_ref().map_or(at, |members| members[at] as usize);
        let heads = (0..group.len()).step_by(ranks as usize);
        heads.map(|at| first + servers[group[place(at)] as usize]).collect()
    }

    /// Which of a group share servers, if these have equally many.
    pub(super) fn seating(&self, group: &[u32]) -> Option<Seating> {
        let servers = self.servers.as_ref()?;
        // In the order in which the group comes to them.
        let (mut order, mut seats) = (Vec::new(), BTreeMap::<u32, Vec<u32>>::new());
        for (place, &rank) in (0..).zip(group) {
            let server = servers[rank as usize];
            let seats = seats.entry(server).or_insert_with(|| {
                order.push(server);
                Vec::new()
            });
            seats.push(place);
        }
        let ranks = seats.values().next()?.len();
        if seats.values().any(|seats| seats.len() != ranks) {
            return None;
        }
        let mut members: Vec<u32> = order.iter().flat_map(|server| &seats[server]).copied().collect();
        let are_neighbours = members.is_sorted();
        // By host: those of one place in all servers share a rail.
        let host = |&place: &u32| self.hosts[group[place as usize] as usize];
        members.chunks_mut(ranks).for_each(|seats| seats.sort_by_key(host));
        Some(Seating { ranks: exact::<u32>(ranks), members: (!are_neighbours).then_some(members) })
    }
}

/// Which ranks of a group share servers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seating {
    /// How many share each.
    pub(super) ranks: u32,
    /// The places in the group, server by server, where those of a server are not next to each other.
    pub(super) members: Option<Vec<u32>>,
}
