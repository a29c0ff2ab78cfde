//! What is sent, and what the caller is told of it.

use packetloom::units::Time;

/// A message to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The sending host.
    pub src: u32,
    /// The receiving host; the sending one for a message that crosses no link.
    pub dst: u32,
    /// Its size; zero for one that crosses no link.
    pub bytes: u64,
    /// The caller's, for its matching: it comes back with the events.
    pub tag: u64,
    /// The caller's, such as a collective library's channel: it comes back with the events.
    pub channel: u32,
    /// The traffic class, for queues that know classes.
    pub class: u8,
    /// How long after the present time it starts.
    pub delay: Time,
    /// The caller's: it comes back with the events.
    pub user: u64,
}

/// A message's labels, which are the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// See [`Message::tag`].
    pub tag: u64,
    /// See [`Message::user`].
    pub user: u64,
    /// See [`Message::channel`].
    pub channel: u32,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The sender is done with a message: it knows that all of it has arrived; or, of a transport without
    /// acknowledgements, the last packet has left.
    Sent,
    /// All of a message has arrived.
    Received,
    /// A timer went off.
    Timer,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// When.
    pub at: Time,
    /// The number of the message, or of the timer.
    pub id: u64,
    /// The caller's, as given with it.
    pub user: u64,
    /// The message's; of a timer this and the following are zero.
    pub src: u32,
    /// The message's.
    pub dst: u32,
    /// The message's.
    pub bytes: u64,
    /// The message's.
    pub tag: u64,
    /// The message's.
    pub channel: u32,
}

/// A message that is not over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// Its place among all messages and timers.
    pub(crate) made: u64,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) bytes: u64,
    /// Once more, so that it need not be sought among those of all messages.
    pub(crate) label: Label,
    pub(crate) received: bool,
    pub(crate) sent: bool,
}

/// What comes at a time that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) at: Time,
    pub(crate) made: u64,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Timer {
        number: u64,
        user: u64,
    },
    /// A message that crosses no link starts and ends.
    Local(u32),
}

impl Event {
    pub(crate) fn timer(at: Time, number: u64, user: u64) -> Event {
        let (kind, id) = (EventKind::Timer, number);
        Event { kind, at, id, user, src: 0, dst: 0, bytes: 0, tag: 0, channel: 0 }
    }

    pub(crate) fn of(at: Time, kind: EventKind, id: u32, message: &Pending) -> Event {
        let Pending { src, dst, bytes, label: Label { tag, user, channel }, .. } = *message;
        Event { kind, at, id: u64::from(id), user, src, dst, bytes, tag, channel }
    }
}
