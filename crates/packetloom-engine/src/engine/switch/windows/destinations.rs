//! A switch's windows, one for each destination, and the VOQs in which waits what is beyond them.

use super::WindowUse;
use crate::narrow::{exact, narrow};
use crate::random::mix;
use std::collections::VecDeque;

/// What a switch knows of a host to which it sends.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// What may be sent there before some comes back.
    window_bytes: u64,
    /// The whole window.
    whole_bytes: u64,
    /// What waits in a VOQ, and in which.
    aside_bytes: u64,
    voq: Option<u32>,
    /// The links of the hosts that were told to send nothing more.
    pub(super) told: Vec<u32>,
}

/// A packet in a VOQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) dst: u32,
    /// The port that it leaves by.
    pub(super) port: u32,
    bytes: u16,
}

/// A VOQ: what waits, and for how many destinations.
#[derive(Clone, Debug, Default)]
struct Voq {
    waiting: VecDeque<Waiting>,
    dsts: u32,
}

/// The hosts to which a switch has sent, and its VOQs.
#[derive(Clone, Debug)]
pub(super) struct Destinations {
    hosts: Vec<Option<Box<Destination>>>,
    /// Downwards, and upwards: where the two share none they do not wait for each other in a circle (§4.2).
    voqs: [Vec<Voq>; 2],
    /// How many there may be of each.
    most_voqs: usize,
}

impl Destinations {
    /// Of so many hosts.
    pub(super) fn new(hosts: u32, voqs: Option<u32>) -> Destinations {
        Destinations {
            hosts: vec![None; hosts as usize],
            voqs: [Vec::new(), Vec::new()],
            most_voqs: voqs.map_or(usize::MAX, |voqs| voqs as usize),
        }
    }

    /// A destination to which something was sent.
    pub(super) fn get_mut(&mut self, dst: u32) -> Option<&mut Destination> {
        self.hosts[dst as usize].as_deref_mut()
    }

    /// What waits in VOQs for a destination.
    #[inline]
    pub(super) fn aside_bytes(&self, dst: u32) -> u64 {
        self.hosts[dst as usize].as_ref().map_or(0, |host| host.aside_bytes)
    }

    /// What is missing of each window, and what waits.
    pub(super) fn all(&self) -> impl Iterator<Item = WindowUse> {
        let hosts = (0..).zip(&self.hosts).filter_map(|(dst, host)| Some((dst, host.as_deref()?)));
        hosts.map(|(dst, host)| WindowUse {
            dst,
            missing_bytes: host.whole_bytes - host.window_bytes,
            aside_bytes: host.aside_bytes,
        })
    }

    /// A packet comes for a destination that leaves by a port, with the window there, downwards or not. Returns the VOQ
    /// that it has to wait in; `None`: it goes on.
    pub(super) fn admit(
        &mut self,
        (dst, port, bytes): (u32, u32, u16),
        whole_bytes: u64,
        is_upwards: bool,
    ) -> Option<u32> {
        let new = || Destination {
            window_bytes: whole_bytes,
            whole_bytes,
            aside_bytes: 0,
            voq: None,
            told: Vec::new(),
        };
        let host = self.hosts[dst as usize].get_or_insert_with(|| Box::new(new()));
        if host.voq.is_none() && host.window_bytes >= u64::from(bytes) {
            host.window_bytes -= u64::from(bytes);
            return None;
        }
        let number = match host.voq {
            Some(number) => number,
            None => {
                let number = allot(&mut self.voqs[usize::from(is_upwards)], self.most_voqs, dst) * 2
                    + u32::from(is_upwards);
                host.voq = Some(number);
                number
            }
        };
        host.aside_bytes += u64::from(bytes);
        self.voq_mut(number).waiting.push_back(Waiting { dst, port, bytes });
        Some(number)
    }

    fn voq_mut(&mut self, number: u32) -> &mut Voq {
        &mut self.voqs[number as usize % 2][number as usize / 2]
    }

    /// So much of a window comes back.
    pub(super) fn restore(&mut self, dst: u32, bytes: u64) {
        if let Some(host) = self.get_mut(dst) {
            host.window_bytes += bytes;
            debug_assert!(host.window_bytes <= host.whole_bytes, "no more comes back than was sent");
        }
    }

    /// The VOQ of a destination, if it has one.
    pub(super) fn voq(&self, dst: u32) -> Option<u32> {
        self.hosts[dst as usize].as_ref()?.voq
    }

    /// Takes out of a VOQ the packet that is first, if its window allows it.
    pub(super) fn release(&mut self, number: u32) -> Option<Waiting> {
        let first = *self.voq_mut(number).waiting.front()?;
        let host = self.hosts[first.dst as usize].as_deref_mut().expect("it has a VOQ");
        host.window_bytes = host.window_bytes.checked_sub(first.bytes.into())?;
        host.aside_bytes -= u64::from(first.bytes);
        let is_last = host.aside_bytes == 0;
        if is_last {
            host.voq = None;
        }
        let voq = self.voq_mut(number);
        voq.waiting.pop_front();
        voq.dsts -= u32::from(is_last);
        Some(first)
    }
}

/// A VOQ for a destination that has none: an empty one, or, if there is none, the one that it hashes to.
fn allot(voqs: &mut Vec<Voq>, most: usize, dst: u32) -> u32 {
    let empty = voqs.iter().position(|voq| voq.dsts == 0);
    let place = empty.unwrap_or_else(|| {
        if voqs.len() < most {
            voqs.push(Voq::default());
            return voqs.len() - 1;
        }
        narrow::<usize>(mix(dst.into()) % most as u64)
    });
    voqs[place].dsts += 1;
    exact::<u32>(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(to: &mut Destinations, dst: u32) -> Option<u32> {
        to.admit((dst, 0, 1_000), 2_500, true)
    }

    #[test]
    fn what_is_beyond_the_window_waits_and_goes_in_order_as_window_comes_back() {
        let mut to = Destinations::new(4, None);
        let went: Vec<bool> = (0..4).map(|_| admit(&mut to, 1).is_none()).collect();
        assert_eq!(went, [true, true, false, false]);
        assert_eq!(to.aside_bytes(1), 2_000);
        let voq = to.voq(1).expect("two packets wait");
        assert_eq!(to.release(voq), None, "500 B are left");
        to.restore(1, 1_000);
        assert_eq!(to.release(voq), Some(Waiting { dst: 1, port: 0, bytes: 1_000 }));
        // What comes behind waits, too, though its window has room: 500 B, and 1000 B.
        to.restore(1, 1_000);
        assert!(admit(&mut to, 1).is_some());
        assert!(to.release(voq).is_some() && to.release(voq).is_none());
        let missing = WindowUse { dst: 1, missing_bytes: 2_000, aside_bytes: 1_000 };
        assert_eq!(to.all().collect::<Vec<_>>(), [missing]);
    }

    #[test]
    fn a_destination_has_a_voq_of_its_own_while_there_are_any_and_gives_it_back() {
        let mut to = Destinations::new(8, Some(2));
        for dst in 0..3 {
            (0..3).for_each(|_| {
                admit(&mut to, dst);
            });
        }
        let [one, other, third] = [0, 1, 2].map(|dst| to.voq(dst).expect("it waits"));
        assert_ne!(one, other);
        assert!([one, other].contains(&third), "there are two");
        let alone = if third == one { 1 } else { 0 };
        let freed = to.voq(alone).expect("it waits");
        to.restore(alone, 2_000);
        assert!(to.release(freed).is_some());
        assert_eq!(to.voq(alone), None);
        (0..3).for_each(|_| {
            admit(&mut to, 5);
        });
        assert_eq!(to.voq(5), Some(freed));
    }

    #[test]
    fn in_a_shared_voq_the_first_packet_holds_up_the_others() {
        let mut to = Destinations::new(4, Some(1));
        for dst in [1, 2] {
            (0..3).for_each(|_| {
                admit(&mut to, dst);
            });
        }
        let voq = to.voq(2).expect("it waits");
        to.restore(2, 1_000);
        assert_eq!(to.release(voq), None, "a packet for 1 is first");
        to.restore(1, 1_000);
        let went: Vec<u32> = std::iter::from_fn(|| to.release(voq)).map(|it| it.dst).collect();
        assert_eq!(went, [1, 2]);
    }

    #[test]
    fn upwards_and_downwards_share_no_voq() {
        let mut to = Destinations::new(4, Some(1));
        (0..3).for_each(|_| {
            to.admit((1, 0, 1_000), 2_500, true);
            to.admit((2, 1, 1_000), 2_500, false);
        });
        assert_ne!(to.voq(1), to.voq(2));
    }
}
