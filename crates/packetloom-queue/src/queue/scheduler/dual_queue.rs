//! The two queues of RFC 9332 (DualQ): L4S packets in one, all others in the other. Linux's weighted round robin between
//! them (sch_dualpi2.c, `dequeue_packet`).

use super::{AnyScheduler, Read, Scheduler, Specification};
use crate::narrow::narrow;
use crate::packet::{Ecn, Kind as PacketKind};
use crate::packets::{PacketId, Packets};
use crate::queue::flow_control::Gates;
use crate::queue::list::List;
use crate::queue::{Env, Occupancy, Traits};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};

const COMPONENT: Component = Component {
    section: "scheduler",
    kind: "dual-queue",
    doc: "Two queues that share the link by bytes: packets of L4S senders (ECT(1)), or that are marked already, wait in one, all others in the other. First in, first out inside each. With aqm = \"dualpi2\" this is DualPI2.",
    source: "RFC 9332 §2.3, Appendix A; Linux sch_dualpi2.c",
    params: &[&[
        param! {
            "classic_percent" = "10": Kind::Count(0),
            "The share of the link that the packets that are not L4S have when both queues wait.",
            "Linux: classic_protection 10; RFC 9332 Appendix A.1: a small weight, such as 1/16"
        },
        param! {
            "l4s" = "ect1": Kind::Choice(&["ect1", "any-ect"]),
            "Which packets are L4S, beside marked ones: those with ECT(1), or all that may be marked.",
            "RFC 9331 §5.1: ECT(1); Linux: l4s_ect, any_ect"
        },
        param! {
            "quantum" = "1514B": Kind::Bytes,
            "The size of a full packet, by which the queue with the larger share goes ahead after a quiet time.",
            "Linux: the MTU with its header"
        },
    ]],
    check,
};

/// The scheduler.
pub const SCHEDULER: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| Specification {
        queues: Some(2),
        is_dual: true,
        ..Specification::new(AnyScheduler::DualQueue(DualQueue::build(values)), Traits::CLASSES)
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    if values.count("classic_percent") > 100 {
        return Err(Complaint::new("classic_percent", "write 100 at most"));
    }
    super::check_quantum(values)
}

/// The queue of L4S packets.
pub const L4S: usize = 0;
/// That of all others.
pub const CLASSIC: usize = 1;

/// The queues of a port.
#[derive(Clone, Debug)]
pub struct DualQueue {
    queues: [List; 2],
    /// Whether everything that may be marked is L4S.
    any_ect: bool,
    /// Of the link in percent.
    classic_share: i64,
    /// The classic queue sends while this is above zero, the other one while it is not. In hundredths of bytes.
    credit: i64,
    initial_credit: i64,
}

impl DualQueue {
    fn build(values: &Values) -> DualQueue {
        let classic_share = narrow::<i64>(values.count("classic_percent"));
        let initial_credit = narrow::<i64>(values.bytes("quantum")) * (2 * classic_share - 100);
        DualQueue {
            queues: [List::default(); 2],
            any_ect: values.meaning("l4s", &[("ect1", false), ("any-ect", true)]),
            classic_share,
            credit: initial_credit,
            initial_credit,
        }
    }
}

impl Scheduler for DualQueue {
    fn queue_for<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> usize {
        let packet = packets.get(id);
        // The ECN field of a trimmed packet says something else, and none is marked.
        let is_l4s = packet.kind != PacketKind::Trimmed
            && (packet.congestion_experienced
                || packet.ecn == Ecn::Ect1
                || self.any_ect && packet.is_ecn_capable());
        if is_l4s { L4S } else { CLASSIC }
    }

    fn queued_in(&self, queue: usize) -> Occupancy {
        self.queues[queue].queued()
    }

    fn queued(&self) -> Occupancy {
        self.queues[L4S].queued() + self.queues[CLASSIC].queued()
    }

    fn first<H: Copy + Default>(&self, queue: usize, packets: &Packets<H>) -> Option<PacketId> {
        self.queues[queue].iter(packets).next()
    }

    fn join<H: Copy + Default>(&mut self, id: PacketId, queue: usize, packets: &mut Packets<H>) {
        self.queues[queue].push_back(id, packets);
    }

    fn next<H: Copy + Default>(&mut self, _: Gates, _: &Packets<H>) -> Option<usize> {
        match self.queues.map(|queue| queue.is_empty()) {
            [true, true] => {
                self.credit = self.initial_credit;
                None
            }
            [false, is_classic_empty] if is_classic_empty || self.credit <= 0 => Some(L4S),
            _ => Some(CLASSIC),
        }
    }

    fn pop<H: Copy + Default>(&mut self, queue: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.queues[queue].pop_front(env.packets)
    }

    // Only what is sent while the other queue waits counts, and nothing that is dropped.
    fn sent(&mut self, queue: usize, size_bytes: u16) {
        let size = i64::from(size_bytes);
        if !self.queues[L4S + CLASSIC - queue].is_empty() {
            let of_classic = -size * (100 - self.classic_share);
            self.credit += if queue == L4S { size * self.classic_share } else { of_classic };
        }
    }

    fn is_settled(&self) -> bool {
        self.credit == self.initial_credit
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(self.queues.iter().flat_map(|queue| queue.iter(packets)))
    }
}
