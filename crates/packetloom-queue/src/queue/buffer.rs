//! The queues that hold packets, as one type, and the list of all that a scenario can name.

use super::bfc::Bfc;
use super::classes::Classes;
use super::credit_limiter::CreditLimiter;
use super::daq::Daq;
use super::egress::Egress;
use super::egress::by_credit::ByCredit;
use super::fair::Fair;
use super::floodgate::Gated;
use super::held_fifo::HeldFifo;
use super::pfabric::PFabric;
use super::python::Ruled;
use super::shared_buffer::SharedPort;
use super::specification::{Making, Specification};
use super::trimming::Trimming;
use super::weighted_fair::WeightedFair;
use super::{
    Admission, Booked, Departure, Env, Holds, Joined, Occupancy, Opening, PausedClasses, Site, admission,
    bfc, classes, credit_limiter, daq, egress, fair, floodgate, pfabric, python, shared_buffer, trimming,
    weighted_fair,
};
use crate::link_message::LinkMessage;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::spec::{self, Component, Registered, Values};
use crate::units::Time;

/// A line has a discipline that holds packets, and the kinds that a scenario can name which are built of it.
macro_rules! queues {
    ($($name:ident($type:ty) = [$($queue:path),*],)*) => {
        pub(super) const QUEUES: &[Registered<Making>] = &[$($($queue,)*)*];

        /// A discipline that holds its packets and chooses the next when the link is free; see [`Holds`].
        ///
        /// Its tag is a byte of its own: one that hides in a field costs more to read than what it saves.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Buffer {
            $($name($type)),*
        }

        /// Has a buffer's discipline do something, whichever it is.
        macro_rules! each {
            ($buffer:expr, $discipline:ident => $act:expr) => {
                match $buffer {
                    $(Buffer::$name($discipline) => $act),*
                }
            };
        }
    };
}

queues! {
    HeldFifo(HeldFifo) = [admission::DROP_TAIL, admission::ECN, admission::RED],
    PFabric(PFabric) = [pfabric::QUEUE],
    Classes(Box<Classes>) = [classes::QUEUE],
    Trimming(Trimming) = [trimming::QUEUE],
    Fair(Fair) = [fair::QUEUE],
    Daq(Box<Daq>) = [daq::QUEUE],
    Shared(Box<SharedPort>) = [shared_buffer::QUEUE],
    Python(Box<Ruled>) = [python::QUEUE],
    WeightedFair(Box<WeightedFair>) = [weighted_fair::QUEUE],
    ByCredit(Box<ByCredit>) = [egress::by_credit::QUEUE],
    Egress(Box<Egress>) = [egress::QUEUE],
    CreditLimiter(Box<CreditLimiter>) = [credit_limiter::QUEUE],
    Bfc(Box<Bfc>) = [bfc::QUEUE],
    Gated(Box<Gated>) = [floodgate::QUEUE],
}

impl Holds for Buffer {
    #[inline(always)]
    fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        opening: Option<Opening>,
        env: &mut Env<'_, H>,
    ) -> Joined {
        each!(self, queue => queue.put(id, opening, &mut env.lent()))
    }

    #[inline(always)]
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        each!(self, queue => queue.take(&mut env.lent()))
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let all: Box<dyn Iterator<Item = PacketId> + 'a> =
            each!(self, queue => Box::new(queue.packets(packets)));
        all
    }

    #[inline]
    fn queued(&self) -> Occupancy {
        each!(self, queue => queue.queued())
    }

    #[inline]
    fn queued_before(&self, dst: u32) -> Occupancy {
        each!(self, queue => queue.queued_before(dst))
    }

    #[inline]
    fn unbooked(&self) -> Occupancy {
        each!(self, queue => queue.unbooked())
    }

    #[inline]
    fn booked(&self) -> Booked {
        each!(self, queue => queue.booked())
    }

    #[inline]
    fn is_ready(&self) -> bool {
        each!(self, queue => queue.is_ready())
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        each!(self, queue => queue.prefetch(packets))
    }

    #[inline(always)]
    fn prefetch_state(&self) {
        each!(self, queue => queue.prefetch_state())
    }

    fn classes(&self, visit: impl FnMut(usize, u64, Option<u64>)) {
        each!(self, queue => queue.classes(visit))
    }

    fn queues(&self, tell: &mut dyn FnMut(usize, u64, u64)) {
        each!(self, queue => queue.queues(tell))
    }

    fn queue_of<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> (usize, Occupancy) {
        each!(self, queue => queue.queue_of(id, packets))
    }

    fn holds_back(&self) -> bool {
        each!(self, queue => queue.holds_back())
    }

    #[inline]
    fn is_timed(&self) -> bool {
        each!(self, queue => queue.is_timed())
    }

    #[inline]
    fn is_idle(&self) -> bool {
        each!(self, queue => queue.is_idle())
    }

    #[inline]
    fn lets_through(&mut self, kind: Kind, size_bytes: u16, now: Time) -> bool {
        each!(self, queue => queue.lets_through(kind, size_bytes, now))
    }

    fn await_time<H: Copy + Default>(&mut self, packets: &Packets<H>) -> Time {
        each!(self, queue => queue.await_time(packets))
    }

    fn place(&mut self, site: Site) {
        each!(self, queue => queue.place(site))
    }

    fn evict<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> bool {
        each!(self, queue => queue.evict(env))
    }

    fn evicts(&self) -> bool {
        each!(self, queue => queue.evicts())
    }

    #[inline]
    fn paused(&self) -> Option<&PausedClasses> {
        each!(self, queue => queue.paused())
    }

    #[inline]
    fn keeps_back(&self, class: u8) -> bool {
        each!(self, queue => queue.keeps_back(class))
    }

    #[inline]
    fn lets_pass(&self, class: Option<u8>, was_just_taken: bool) -> bool {
        each!(self, queue => queue.lets_pass(class, was_just_taken))
    }

    #[inline]
    fn lets_pass_unseen(&self, class: Option<u8>, was_just_taken: bool) -> bool {
        each!(self, queue => queue.lets_pass_unseen(class, was_just_taken))
    }

    fn waits_for_credit(&self) -> bool {
        each!(self, queue => queue.waits_for_credit())
    }

    fn credit_used(&self) -> Vec<u64> {
        each!(self, queue => queue.credit_used())
    }

    #[inline]
    fn sees_passing(&self) -> bool {
        each!(self, queue => queue.sees_passing())
    }

    #[inline]
    fn pass<H: Copy + Default>(&mut self, id: PacketId, env: &mut Env<'_, H>) {
        each!(self, queue => queue.pass(id, &mut env.lent()))
    }

    #[inline]
    fn class_bytes(&self, class: u8) -> u64 {
        each!(self, queue => queue.class_bytes(class))
    }

    fn give_up<H: Copy + Default>(&mut self, class: u8, env: &mut Env<'_, H>) -> Vec<PacketId> {
        each!(self, queue => queue.give_up(class, env))
    }

    fn joins_first(&self) -> bool {
        each!(self, queue => queue.joins_first())
    }

    fn receive_message(&mut self, now: Time, message: LinkMessage) {
        each!(self, queue => queue.receive_message(now, message))
    }

    fn borrow(&mut self, bytes: u32) {
        each!(self, queue => queue.borrow(bytes))
    }

    fn give_back(&mut self) -> Option<(LinkMessage, u16)> {
        each!(self, queue => queue.give_back())
    }

    #[inline]
    fn departure(&self) -> Option<Departure> {
        each!(self, queue => queue.departure())
    }
}

/// The parameters of a kind of queue that may be set while a case runs: those of its marking.
pub fn settable(kind: &str) -> &'static [&'static str] {
    let made = QUEUES.iter().find(|made| made.component.kind == kind);
    made.map_or(&[], |made| made.factory.settable)
}

/// Every component of the section "queue".
pub const COMPONENTS: &[Component] = &spec::components::<_, { QUEUES.len() }>(QUEUES);

impl Buffer {
    /// Marks from now on as another queue of the same kind does, of those whose marking may be set (see [`settable`]).
    pub fn mark_by(&mut self, other: &Buffer) {
        if let (Buffer::Shared(port), Buffer::Shared(other)) = (self, other) {
            port.mark_by(other);
        }
    }

    /// Admits and marks by another rule from now on, of one that goes by such a rule.
    pub fn admit_by(&mut self, admission: Admission) {
        if let Buffer::HeldFifo(fifo) = self {
            fifo.admit_by(admission);
        }
    }

    /// First in, first out, by a rule.
    pub fn held(admission: Admission) -> Buffer {
        Buffer::HeldFifo(HeldFifo::new(admission))
    }

    /// The buffer that a scenario's queue specifies.
    pub fn build(values: &Values) -> Buffer {
        Specification::of(values).buffer()
    }
}
