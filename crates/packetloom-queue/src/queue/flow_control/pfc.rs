//! Priority flow control (IEEE 802.1Qbb) at a port of parts: a queue of its scheduler waits while a class is paused whose
//! packets it holds.

use super::{CLASSES, Gates, PausedClasses, class_in};
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::queue::Departure;
use crate::queue::list::List;
use crate::queue::shared_buffer::{FRAMES, LOSSLESS};
use crate::spec::{Complaint, Component, Param, Values};
use crate::units::Time;

pub(in crate::queue) const COMPONENT: Component = Component {
    section: "flow_control",
    kind: "pfc",
    doc: "Priority flow control: a switch pauses lossless classes of links that use too much of its buffer (buffer = \"ingress\"). A queue of the scheduler waits while it holds packets of a paused class; the other queues share the link. Class 0 is never paused, and what is not data takes no buffer in it.",
    source: "IEEE 802.1Qbb",
    params: &[
        &[Param {
            doc: "The classes that are paused instead of dropped; packets of the others that do not fit are dropped.",
            ..LOSSLESS
        }],
        FRAMES,
    ],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    if values.list("lossless").is_empty() {
        let message = "is empty, so nothing is ever paused; write a class such as [3], or flow_control = \"none\" and \
                       another buffer";
        return Err(Complaint::new("lossless", message));
    }
    Ok(())
}

/// What a port knows of pauses, and what it has to say of them.
#[derive(Clone, Debug)]
pub struct Pfc {
    /// What the far end of the link has paused.
    pub paused: PausedClasses,
    /// PAUSE and RESUME frames: they go before all else, and wait for nothing but the frame in service.
    pub frames: List,
    /// What was sent last, if it was charged to the link that it came by.
    pub last: Option<Departure>,
    gates: Gates,
    /// How many queues the scheduler has; all further classes wait in the last one.
    queues: usize,
}

impl Pfc {
    /// That of a port whose scheduler has so many queues, if its flow control is this.
    pub fn build(values: &Values, queues: usize) -> Option<Box<Pfc>> {
        (values.kind == COMPONENT.kind).then(|| {
            Box::new(Pfc {
                paused: PausedClasses::default(),
                frames: List::default(),
                last: None,
                gates: Gates::OPEN,
                queues,
            })
        })
    }

    /// How many queues the scheduler has.
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// Which queues of the scheduler may send.
    #[inline]
    pub fn gates(&self) -> Gates {
        self.gates
    }

    /// The queue of the scheduler where packets of a class wait.
    #[inline]
    pub fn queue_of(&self, class: u8) -> usize {
        class_in(class).min(self.queues - 1)
    }

    /// Whether packets of a class may be sent.
    #[inline]
    pub fn lets_go(&self, class: u8) -> bool {
        self.gates.is_open(self.queue_of(class))
    }

    /// The far end says something, or a pause may be over.
    pub fn receive(&mut self, now: Time, message: LinkMessage) {
        self.paused.receive(now, message);
        let paused = self.paused.bits();
        let closed = (0..narrow::<u8>(CLASSES)).filter(|class| paused >> class & 1 == 1);
        self.gates = Gates::closing(closed.fold(0, |closed, class| closed | 1 << self.queue_of(class)));
    }
}
