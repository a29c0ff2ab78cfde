//! What a link carried over time.

use crate::narrow::narrow;
use crate::units::Time;

/// Bytes put onto one link, interval by interval: of all packets, and of data by traffic class.
#[derive(Clone, Debug)]
pub struct SentRecorder {
    interval: Time,
    all: Vec<u64>,
    /// Of data packets alone, a line for each class.
    data_by_class: Vec<Vec<u64>>,
}

impl SentRecorder {
    /// Nothing was sent yet.
    pub fn new(interval: Time) -> SentRecorder {
        SentRecorder { interval, all: Vec::new(), data_by_class: Vec::new() }
    }

    /// A packet starts; `class` if it is data.
    pub fn note(&mut self, start: Time, size_bytes: u16, class: Option<u8>) {
        let nth = narrow::<usize>(start.as_ps() / self.interval.as_ps());
        add(&mut self.all, nth, size_bytes);
        if let Some(class) = class.map(usize::from) {
            if class >= self.data_by_class.len() {
                self.data_by_class.resize(class + 1, Vec::new());
            }
            add(&mut self.data_by_class[class], nth, size_bytes);
        }
    }

    /// Bytes of all packets that started in the `nth` interval.
    pub fn bytes(&self, nth: usize) -> u64 {
        at(&self.all, nth)
    }

    /// Bytes of a class's data packets that started in the `nth` interval.
    pub fn data_bytes(&self, class: usize, nth: usize) -> u64 {
        self.data_by_class.get(class).map_or(0, |line| at(line, nth))
    }

    /// How many classes were seen: up to the last.
    pub fn classes(&self) -> usize {
        self.data_by_class.len()
    }
}

fn add(line: &mut Vec<u64>, nth: usize, size_bytes: u16) {
    if nth >= line.len() {
        line.resize(nth + 1, 0);
    }
    line[nth] += u64::from(size_bytes);
}

fn at(line: &[u64], nth: usize) -> u64 {
    line.get(nth).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_where_their_packet_starts() {
        let mut sent = SentRecorder::new(Time(100));
        for (start, size, class) in
            [(0, 40, None), (99, 1_500, Some(2)), (100, 1_000, Some(0)), (310, 7, Some(2))]
        {
            sent.note(Time(start), size, class);
        }
        assert_eq!([0, 1, 2, 3, 4].map(|nth| sent.bytes(nth)), [1_540, 1_000, 0, 7, 0]);
        assert_eq!([0, 1, 2].map(|class| sent.data_bytes(class, 0)), [0, 0, 1_500]);
        assert_eq!((sent.data_bytes(0, 1), sent.data_bytes(2, 3), sent.classes()), (1_000, 7, 3));
    }
}
