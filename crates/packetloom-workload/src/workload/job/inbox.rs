//! Messages that have come, and receives that wait for them, matched as in MPI (4.1 §3.5): of a sender's messages with
//! one tag, the first that was sent goes to the receive that was posted first, whichever of them comes first.
//!
//! A message that comes before an earlier one of its sender and tag is taken by the receive that it belongs to; but a
//! receive of any sender or any tag takes only what no such message is missing before. Among messages of several senders
//! or tags it takes the first that came.

use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};

/// The sender and the tag of a message.
pub type Envelope = (u32, u32);
/// What a receive takes: `None` is any.
pub type Wanted = (Option<u32>, Option<u32>);
/// Places of operations that receive, each with its message.
pub type Matches<M> = SmallVec<[(u32, M); 1]>;

/// The messages of one sender and tag.
#[derive(Clone, Debug)]
struct Channel<M> {
    /// Which message, in the order in which they were sent, the next receive takes.
    next: u32,
    /// Receives whose message is yet to come, by its number.
    awaited: BTreeMap<u32, u32>,
    /// Messages that no receive has taken, by number, and when they came.
    come: BTreeMap<u32, (u64, M)>,
    /// Receives that were posted after others which may take the same messages.
    behind: VecDeque<(u64, u32)>,
}

/// The messages of one rank and repetition.
#[derive(Clone, Debug, Default)]
pub struct Inbox<M> {
    count: u64,
    channels: BTreeMap<Envelope, Channel<M>>,
    /// Receives that take several envelopes.
    any: VecDeque<(u64, u32, Wanted)>,
}

impl<M> Default for Channel<M> {
    fn default() -> Channel<M> {
        Channel { next: 0, awaited: BTreeMap::new(), come: BTreeMap::new(), behind: VecDeque::new() }
    }
}

impl<M> Channel<M> {
    /// A receive takes the next message; returns it if it has come.
    fn take_next(&mut self, place: u32) -> Option<M> {
        let nth = self.next;
        self.next += 1;
        let come = self.come.remove(&nth);
        if come.is_none() {
            self.awaited.insert(nth, place);
        }
        come.map(|(_, message)| message)
    }

    /// When the next message came, if it has and no earlier receive waits for it.
    fn next_came(&self) -> Option<u64> {
        self.come.get(&self.next).filter(|_| self.behind.is_empty()).map(|&(at, _)| at)
    }
}

impl<M> Inbox<M> {
    /// A receive is posted, by the operation at a place; returns the message for it, if that has come.
    pub fn post(&mut self, place: u32, wanted: Wanted) -> Option<M> {
        self.count += 1;
        if let (Some(peer), Some(tag)) = wanted {
            let is_behind = self.any.iter().any(|&(.., wanted)| fits(wanted, (peer, tag)));
            let channel = self.channels.entry((peer, tag)).or_default();
            if is_behind {
                channel.behind.push_back((self.count, place));
                return None;
            }
            return channel.take_next(place);
        }
        let fitting = self.channels.iter_mut().filter(|(envelope, _)| fits(wanted, **envelope));
        let come = fitting.filter_map(|(_, channel)| Some((channel.next_came()?, channel)));
        if let Some((_, channel)) = come.min_by_key(|&(came, _)| came) {
            return channel.take_next(place);
        }
        self.any.push_back((self.count, place, wanted));
        None
    }

    /// A message has come, the `nth` that its sender sent with its tag; returns what is received by that.
    pub fn come(&mut self, envelope: Envelope, nth: u32, message: M) -> Matches<M> {
        let mut matches = Matches::new();
        self.count += 1;
        let channel = self.channels.entry(envelope).or_default();
        if let Some(place) = channel.awaited.remove(&nth) {
            matches.push((place, message));
            return matches;
        }
        channel.come.insert(nth, (self.count, message));
        let mut taken = self.offer(envelope, &mut matches);
        // A receive of any that is gone stands before others no more.
        while let Some(wanted) = taken.pop() {
            let fitting = self.channels.iter().filter(|(_, channel)| !channel.behind.is_empty());
            let fitting: Vec<Envelope> =
                fitting.map(|(envelope, _)| *envelope).filter(|&one| fits(wanted, one)).collect();
            for envelope in fitting {
                taken.append(&mut self.offer(envelope, &mut matches));
            }
        }
        matches
    }

    /// Receives take messages of a channel, in the order in which they were posted, as far as that can be known; returns
    /// what those that take any had wanted.
    fn offer(&mut self, envelope: Envelope, matches: &mut Matches<M>) -> Vec<Wanted> {
        let mut taken = Vec::new();
        let Some(channel) = self.channels.get_mut(&envelope) else { return taken };
        loop {
            let any = self.any.iter().position(|&(.., wanted)| fits(wanted, envelope));
            let any = any.map(|at| (self.any[at].0, at));
            let behind = channel.behind.front().copied();
            match (any, behind) {
                (Some((posted, at)), behind) if behind.is_none_or(|(later, _)| posted < later) => {
                    // Of another sender or tag one may come first.
                    if !channel.come.contains_key(&channel.next) {
                        return taken;
                    }
                    let Some((_, place, wanted)) = self.any.remove(at) else { return taken };
                    matches.extend(channel.take_next(place).map(|message| (place, message)));
                    taken.push(wanted);
                }
                (_, Some((_, place))) => {
                    channel.behind.pop_front();
                    matches.extend(channel.take_next(place).map(|message| (place, message)));
                }
                _ => return taken,
            }
        }
    }
}

fn fits((peer, tag): Wanted, envelope: Envelope) -> bool {
    peer.is_none_or(|peer| peer == envelope.0) && tag.is_none_or(|tag| tag == envelope.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn come(inbox: &mut Inbox<char>, envelope: Envelope, nth: u32, message: char) -> Vec<(u32, char)> {
        inbox.come(envelope, nth, message).into_vec()
    }

    #[test]
    fn messages_and_receives_meet_in_order() {
        let mut inbox = Inbox::default();
        assert_eq!(come(&mut inbox, (1, 7), 0, 'a'), []);
        assert_eq!(come(&mut inbox, (2, 7), 0, 'b'), []);
        assert_eq!(come(&mut inbox, (1, 7), 1, 'c'), []);
        assert_eq!(inbox.post(0, (Some(1), Some(7))), Some('a'));
        // Of those that fit any sender, the first that came.
        assert_eq!(inbox.post(1, (None, Some(7))), Some('b'));
        assert_eq!(inbox.post(2, (None, None)), Some('c'));
        assert_eq!(inbox.post(3, (None, None)), None);
        assert_eq!(inbox.post(4, (Some(1), Some(8))), None);
        // The receive that was posted first gets it, though the other names it.
        assert_eq!(come(&mut inbox, (1, 8), 0, 'd'), [(3, 'd')]);
        assert_eq!(come(&mut inbox, (1, 8), 1, 'e'), [(4, 'e')]);
        assert_eq!(inbox.post(5, (Some(1), None)), None);
        assert_eq!(come(&mut inbox, (2, 8), 0, 'f'), []);
        assert_eq!(come(&mut inbox, (1, 9), 0, 'g'), [(5, 'g')]);
    }

    #[test]
    fn a_message_that_overtakes_another_is_not_taken_for_it() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.post(0, (Some(1), Some(7))), None);
        assert_eq!(come(&mut inbox, (1, 7), 1, 'b'), []);
        assert_eq!(inbox.post(1, (Some(1), Some(7))), Some('b'));
        // Nor by a receive of any; and one that was posted behind that waits, too.
        assert_eq!(come(&mut inbox, (1, 7), 3, 'd'), []);
        assert_eq!(inbox.post(2, (None, Some(7))), None);
        assert_eq!(inbox.post(3, (Some(1), Some(7))), None);
        assert_eq!(inbox.post(4, (Some(2), Some(7))), None);
        assert_eq!(come(&mut inbox, (1, 7), 0, 'a'), [(0, 'a')]);
        assert_eq!(come(&mut inbox, (1, 7), 2, 'c'), [(2, 'c'), (3, 'd')]);
        assert_eq!(come(&mut inbox, (2, 7), 0, 'e'), [(4, 'e')]);
    }

    #[test]
    fn receives_behind_one_of_any_take_theirs_once_it_is_gone() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.post(0, (None, None)), None);
        assert_eq!(inbox.post(1, (Some(1), Some(7))), None);
        assert_eq!(inbox.post(2, (Some(2), Some(7))), None);
        assert_eq!(come(&mut inbox, (2, 7), 1, 'b'), []);
        assert_eq!(come(&mut inbox, (3, 7), 0, 'c'), [(0, 'c')]);
        // Now the first of rank 2 is that of place 2, and the second nobody's yet.
        assert_eq!(come(&mut inbox, (2, 7), 0, 'a'), [(2, 'a')]);
        assert_eq!(inbox.post(3, (None, Some(7))), Some('b'));
        assert_eq!(come(&mut inbox, (1, 7), 0, 'd'), [(1, 'd')]);
    }
}
