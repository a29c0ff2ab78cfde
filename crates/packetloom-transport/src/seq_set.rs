//! A set of sequence numbers above a rising floor: what arrived out of order, what was acknowledged selectively.

use crate::narrow::narrow;
use smallvec::SmallVec;

const BITS: u32 = 64;

/// So many words lie in the set itself: windows up to a hundred packets need no other memory.
const NEAR_WORDS: usize = 2;

/// A sliding bitmap. It costs nothing while it is empty.
#[derive(Clone, Debug, Default)]
pub struct SeqSet {
    /// The number of the first word.
    first_word: u32,
    count: u32,
    words: SmallVec<[u64; NEAR_WORDS]>,
}

impl SeqSet {
    /// How many numbers are in it.
    #[inline]
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a number is in it.
    #[inline]
    pub fn contains(&self, seq: u32) -> bool {
        self.word(seq / BITS) >> (seq % BITS) & 1 == 1
    }

    /// The 64 numbers from `seq` on, the first in the lowest bit.
    #[inline]
    pub fn bits_from(&self, seq: u32) -> u64 {
        let (word, bit) = (seq / BITS, seq % BITS);
        let above = if bit == 0 { 0 } else { self.word(word + 1) << (BITS - bit) };
        self.word(word) >> bit | above
    }

    /// Adds a number; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, seq: u32) -> bool {
        let mut is_new = false;
        self.insert_range(seq, seq + 1, |_| is_new = true);
        is_new
    }

    /// Adds `from..to`, telling of each number that is new. None may be below the floor.
    pub fn insert_range(&mut self, from: u32, to: u32, mut added: impl FnMut(u32)) {
        if self.words.is_empty() {
            self.first_word = from / BITS;
        }
        while from < self.first_word * BITS {
            self.words.insert(0, 0);
            self.first_word -= 1;
        }
        let mut seq = from;
        while seq < to {
            let word = seq / BITS;
            let word_end = (word + 1) * BITS;
            let place = (word - self.first_word) as usize;
            if place >= self.words.len() {
                self.words.resize(place + 1, 0);
            }
            let mask = ones(seq % BITS, to.min(word_end) - word * BITS);
            let mut new = mask & !self.words[place];
            self.words[place] |= mask;
            self.count += new.count_ones();
            while new != 0 {
                added(word * BITS + new.trailing_zeros());
                new &= new - 1;
            }
            seq = word_end;
        }
    }

    /// Forgets every number below `floor`, which then counts as absent.
    #[inline]
    pub fn drop_below(&mut self, floor: u32) {
        let passed = (floor / BITS).saturating_sub(self.first_word).min(narrow::<u32>(self.words.len()));
        if passed > 0 {
            self.count -= self.words.drain(..passed as usize).map(u64::count_ones).sum::<u32>();
            self.first_word += passed;
        }
        if let Some(word) = self.words.first_mut()
            && floor > self.first_word * BITS
        {
            let below = *word & ones(0, floor - self.first_word * BITS);
            self.count -= below.count_ones();
            *word &= !below;
        }
        if self.count == 0 {
            self.words.clear();
        }
    }

    /// The first number from `seq` on that is not in it.
    #[inline]
    pub fn first_absent(&self, seq: u32) -> u32 {
        let mut word = seq / BITS;
        let mut gaps = !self.word(word) & ones(seq % BITS, BITS);
        while gaps == 0 {
            word += 1;
            gaps = !self.word(word);
        }
        word * BITS + gaps.trailing_zeros()
    }

    /// The first number from `seq` on that is in it.
    pub fn first_present(&self, seq: u32) -> Option<u32> {
        let from = (seq / BITS).max(self.first_word);
        let words = self.words.iter().skip((from - self.first_word) as usize).zip(from..);
        let in_word = |(&word, place): (&u64, u32)| {
            let left = if place == seq / BITS { word & ones(seq % BITS, BITS) } else { word };
            (left != 0).then(|| place * BITS + left.trailing_zeros())
        };
        words.filter_map(in_word).next()
    }

    /// Takes the first number out, and all below it; 0 if there is none.
    pub fn take_first(&mut self) -> u32 {
        let first = self.first_present(0).unwrap_or(0);
        self.drop_below(first + 1);
        first
    }

    /// The first number of the run without gaps that `seq` is in.
    pub fn run_start(&self, seq: u32) -> u32 {
        let mut start = seq;
        loop {
            let word = self.word(start / BITS);
            let below = start % BITS;
            let gaps = !word & ones(0, below + 1);
            if gaps != 0 {
                return start / BITS * BITS + (BITS - gaps.leading_zeros());
            }
            if start / BITS == self.first_word {
                return start / BITS * BITS;
            }
            start = start / BITS * BITS - 1;
        }
    }

    /// The `nth` largest number, counting from 1.
    pub fn nth_largest(&self, nth: u32) -> Option<u32> {
        let mut left = nth;
        for (place, &word) in self.words.iter().enumerate().rev() {
            let ones_here = word.count_ones();
            if left <= ones_here {
                let mut word = word;
                for _ in 1..left {
                    word &= !(1 << (BITS - 1 - word.leading_zeros()));
                }
                return Some(
                    (self.first_word + narrow::<u32>(place)) * BITS + BITS - 1 - word.leading_zeros(),
                );
            }
            left -= ones_here;
        }
        None
    }

    /// How many numbers of `from..to` are in it.
    pub fn count_in(&self, from: u32, to: u32) -> u32 {
        let mut count = 0;
        let mut seq = from;
        while seq < to {
            let word = seq / BITS;
            let mask = ones(seq % BITS, to.min((word + 1) * BITS) - word * BITS);
            count += (self.word(word) & mask).count_ones();
            seq = (word + 1) * BITS;
        }
        count
    }

    #[inline]
    fn word(&self, word: u32) -> u64 {
        let place = word.wrapping_sub(self.first_word) as usize;
        self.words.get(place).copied().unwrap_or(0)
    }
}

/// Ones from bit `from` to below bit `to`.
#[inline]
fn ones(from: u32, to: u32) -> u64 {
    let below_to = if to >= BITS { u64::MAX } else { (1 << to) - 1 };
    below_to & (u64::MAX << from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packetloom_base::random::{Purpose, Stream};
    use std::collections::BTreeSet;

    #[test]
    fn behaves_as_a_set_above_its_floor() {
        let mut stream = Stream::new(1, Purpose::Transport, 0);
        let mut set = SeqSet::default();
        let mut model = BTreeSet::new();
        let mut floor = 0;
        for _ in 0..20_000 {
            let from = floor + stream.below(200);
            let to = from + 1 + stream.below(80);
            let mut added = Vec::new();
            if stream.below(3) == 0 {
                set.insert_range(from, to, |seq| added.push(seq));
                let expected: Vec<u32> = (from..to).filter(|&seq| model.insert(seq)).collect();
                assert_eq!(added, expected);
            }
            let probe = floor + stream.below(400);
            let first_absent = (probe..).find(|seq| !model.contains(seq));
            assert_eq!(set.contains(probe), model.contains(&probe));
            let bits =
                (0..64).filter(|bit| model.contains(&(probe + bit))).fold(0, |bits, bit| bits | 1 << bit);
            assert_eq!(set.bits_from(probe), bits);
            assert_eq!(Some(set.first_absent(probe)), first_absent);
            assert_eq!(set.first_present(probe), model.range(probe..).next().copied());
            assert_eq!(set.count_in(floor, probe), model.range(floor..probe).count() as u32);
            assert_eq!(set.nth_largest(3), model.iter().rev().nth(2).copied());
            if model.contains(&probe) {
                let start = (0..=probe).rev().find(|&seq| seq == 0 || !model.contains(&(seq - 1)));
                assert_eq!(Some(set.run_start(probe)), start);
            }
            if stream.below(4) == 0 {
                floor += stream.below(60);
                set.drop_below(floor);
                model = model.split_off(&floor);
            }
            assert_eq!(set.len() as usize, model.len());
        }
        for first in model {
            assert_eq!(set.take_first(), first);
        }
        assert!(set.is_empty());
    }
}
