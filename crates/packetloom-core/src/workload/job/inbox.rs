//! Messages that came and receives that wait, matched as in MPI (MPI 4.1 §3.5): a message goes to the first receive
//! posted that fits it, a receive gets the first message come that fits it.

use std::collections::{BTreeMap, VecDeque};

/// Who sent a message, and its tag.
type Envelope = (u32, u32);

/// What a receive takes: `None` is any.
pub type Wanted = (Option<u32>, Option<u32>);

/// The messages of one rank and repetition.
#[derive(Clone, Debug, Default)]
pub struct Inbox<M> {
    next: u64,
    /// Receives that take one envelope only.
    exact: BTreeMap<Envelope, VecDeque<(u64, u32)>>,
    /// Receives that take several.
    any: VecDeque<(u64, u32, Wanted)>,
    come: BTreeMap<Envelope, VecDeque<(u64, M)>>,
}

impl<M> Inbox<M> {
    /// A receive is posted, by the operation at a place; returns the message for it, if that has come.
    pub fn post(&mut self, place: u32, wanted: Wanted) -> Option<M> {
        let found = match wanted {
            (Some(peer), Some(tag)) => Some((peer, tag)).filter(|envelope| self.come.contains_key(envelope)),
            _ => self.first_come(wanted),
        };
        if let Some(envelope) = found {
            return take_first(&mut self.come, envelope).map(|(_, message)| message);
        }
        self.next += 1;
        match wanted {
            (Some(peer), Some(tag)) => {
                self.exact.entry((peer, tag)).or_default().push_back((self.next, place));
            }
            _ => self.any.push_back((self.next, place, wanted)),
        }
        None
    }

    fn first_come(&self, wanted: Wanted) -> Option<Envelope> {
        let fitting = self.come.iter().filter(|(envelope, _)| fits(wanted, **envelope));
        let first = fitting.min_by_key(|(_, messages)| messages.front().map_or(u64::MAX, |(nth, _)| *nth));
        first.map(|(envelope, _)| *envelope)
    }

    /// A message has come; returns the place of the operation that receives it, and the message.
    pub fn come(&mut self, envelope: Envelope, message: M) -> Option<(u32, M)> {
        let exact = self.exact.get(&envelope).and_then(|places| places.front()).map(|&(nth, _)| nth);
        let any = self.any.iter().position(|&(_, _, wanted)| fits(wanted, envelope));
        let is_any = any.filter(|&at| exact.is_none_or(|nth| self.any[at].0 < nth));
        if let Some(at) = is_any {
            return self.any.remove(at).map(|(_, place, _)| (place, message));
        }
        if let Some((_, place)) = take_first(&mut self.exact, envelope) {
            return Some((place, message));
        }
        self.next += 1;
        self.come.entry(envelope).or_default().push_back((self.next, message));
        None
    }
}

fn fits((peer, tag): Wanted, envelope: Envelope) -> bool {
    peer.is_none_or(|peer| peer == envelope.0) && tag.is_none_or(|tag| tag == envelope.1)
}

fn take_first<T>(all: &mut BTreeMap<Envelope, VecDeque<T>>, envelope: Envelope) -> Option<T> {
    let waiting = all.get_mut(&envelope)?;
    let first = waiting.pop_front();
    if waiting.is_empty() {
        all.remove(&envelope);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_receives_meet_in_order() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.come((1, 7), 'a'), None);
        assert_eq!(inbox.come((2, 7), 'b'), None);
        assert_eq!(inbox.come((1, 7), 'c'), None);
        assert_eq!(inbox.post(0, (Some(1), Some(7))), Some('a'));
        // Of those that fit any sender, the first that came.
        assert_eq!(inbox.post(1, (None, Some(7))), Some('b'));
        assert_eq!(inbox.post(2, (None, None)), Some('c'));
        assert_eq!(inbox.post(3, (None, None)), None);
        assert_eq!(inbox.post(4, (Some(1), Some(8))), None);
        // The receive that was posted first gets it, though the other names it.
        assert_eq!(inbox.come((1, 8), 'd'), Some((3, 'd')));
        assert_eq!(inbox.come((1, 8), 'e'), Some((4, 'e')));
        assert_eq!(inbox.post(5, (Some(1), None)), None);
        assert_eq!(inbox.come((2, 8), 'f'), None);
        assert_eq!(inbox.come((1, 9), 'g'), Some((5, 'g')));
    }
}
