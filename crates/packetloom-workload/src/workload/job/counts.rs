//! Counts of messages by stage.

use crate::narrow::exact;
use smallvec::SmallVec;

/// How many messages each stage has, of stages near each other. It allocates nothing while those that have any are
/// few, so a rank with nothing else to do finds them beside its lane.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The stage of the first count.
    first: u32,
    /// Of this stage and those that follow; neither the first nor the last count is zero.
    counts: SmallVec<[u32; 4]>,
}

impl Counts {
    /// How many messages a stage has.
    pub fn of(&self, stage: u32) -> u32 {
        let place = stage.checked_sub(self.first);
        place.and_then(|place| self.counts.get(place as usize)).copied().unwrap_or(0)
    }

    /// Gives a stage so many.
    pub fn set(&mut self, stage: u32, count: u32) {
        if count > 0 {
            self.reach(stage);
            self.counts[(stage - self.first) as usize] = count;
        } else if self.of(stage) > 0 {
            self.counts[(stage - self.first) as usize] = 0;
            self.trim();
        }
    }

    /// Has it have a count for a stage.
    fn reach(&mut self, stage: u32) {
        if self.counts.is_empty() {
            self.first = stage;
        }
        if stage < self.first {
            self.counts.insert_many(0, (stage..self.first).map(|_| 0));
            self.first = stage;
        }
        let reaches = (stage - self.first) as usize + 1;
        if reaches > self.counts.len() {
            self.counts.resize(reaches, 0);
        }
    }

    fn trim(&mut self) {
        while self.counts.last() == Some(&0) {
            self.counts.pop();
        }
        let zeros = self.counts.iter().take_while(|&&count| count == 0).count();
        if zeros > 0 {
            self.counts.drain(..zeros);
            self.first += exact::<u32>(zeros);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    #[test]
    fn behaves_as_a_map_and_keeps_only_the_stages_between_those_that_have_messages() {
        let mut stream = Stream::new(1, Purpose::Transport, 0);
        let (mut counts, mut model) = (Counts::default(), BTreeMap::new());
        for step in 0..20_000_u32 {
            let stage = step / 100 + stream.below(12);
            let count = stream.below(3);
            counts.set(stage, count);
            model.insert(stage, count);
            model.retain(|_, count| *count > 0);
            for stage in stage.saturating_sub(3)..stage + 3 {
                assert_eq!(counts.of(stage), model.get(&stage).copied().unwrap_or(0));
            }
            let ends = model.first_key_value().zip(model.last_key_value());
            let spans = ends.map_or(0, |((first, _), (last, _))| (last - first + 1) as usize);
            assert_eq!(counts.counts.len(), spans);
        }
    }
}
