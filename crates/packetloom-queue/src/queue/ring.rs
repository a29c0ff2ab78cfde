//! A ring buffer that takes fewer instructions than the standard library's: its capacity is a power of two, and it
//! starts over whenever it is empty, so a short queue keeps to the same few entries in the cache.

use crate::narrow::narrow;

/// A queue of small things.
#[derive(Clone, Debug, Default)]
pub struct Ring<T> {
    /// As many places as a power of two, or none.
    places: Box<[T]>,
    first: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    /// Adds one at the end.
    #[inline]
    pub fn push_back(&mut self, thing: T) {
        if self.len as usize == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.places[place] = thing;
        self.len += 1;
    }

    /// The first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.places[self.first as usize]) }
    }

    /// Takes the first out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let thing = *self.front()?;
        self.first = narrow::<u32>(self.place(1));
        self.shorten();
        Some(thing)
    }

    /// All, from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|nth| &self.places[self.place(nth)])
    }

    /// The first of which something holds, to be changed.
    #[inline]
    pub fn find_mut(&mut self, holds: impl Fn(&T) -> bool) -> Option<&mut T> {
        let nth = self.iter().position(holds)?;
        let place = self.place(narrow::<u32>(nth));
        Some(&mut self.places[place])
    }

    #[inline]
    fn shorten(&mut self) {
        self.len -= 1;
        if self.len == 0 {
            self.first = 0;
        }
    }

    /// Where the nth is, or will be; there must be places.
    #[inline]
    fn place(&self, nth: u32) -> usize {
        (self.first + nth) as usize & (self.places.len() - 1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut places = std::mem::take(&mut self.places).into_vec();
        places.rotate_left(self.first as usize);
        self.first = 0;
        places.resize((places.len() * 2).max(4), T::default());
        self.places = places.into_boxed_slice();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::VecDeque;

    #[test]
    fn behaves_as_the_standard_librarys() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let (mut ring, mut model) = (Ring::default(), VecDeque::new());
        for step in 0..100_000_u32 {
            // Now it grows, now it shrinks.
            match stream.below(if step / 500 % 2 == 0 { 5 } else { 2 }) {
                0 => assert_eq!(ring.pop_front(), model.pop_front()),
                1 => {
                    let wanted = step % 7;
                    let found = ring.find_mut(|thing| thing % 7 == wanted).map(|thing| {
                        *thing ^= 1;
                        *thing
                    });
                    let expected = model.iter_mut().find(|thing| **thing % 7 == wanted).map(|thing| {
                        *thing ^= 1;
                        *thing
                    });
                    assert_eq!(found, expected);
                }
                _ => {
                    ring.push_back(step);
                    model.push_back(step);
                }
            }
            assert_eq!(ring.front(), model.front());
            assert_eq!(ring.iter().count(), model.len());
        }
        assert!(ring.iter().eq(&model));
    }
}
