//! The order that libstdc++'s `std::sort` leaves, by which the authors' simulator ranks requests and grants. It is not
//! stable: of more than 16 equal elements the first one ends in the middle, and the others in reverse. So with many equal
//! flows other hosts are matched than by arrival.
//!
//! It is introsort (Musser, "Introspective Sorting and Selection Algorithms", 1997) with these choices: the pivot is the
//! median of the second, the middle and the last element, partitions stop at equal ones, and what is left in pieces of 16
//! at most is sorted by insertion, which is stable. Where pieces do not get smaller it would go over to heap sort; no
//! offers of a round are known to come to that, and here they are then sorted by insertion.

/// Pieces of so many, or fewer, are left to insertion.
const SMALL: usize = 16;

/// Orders elements by a key as that sort does.
pub fn sort<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    let halvings = items.len().checked_ilog2().unwrap_or(0);
    divide(items, &key, 2 * halvings);
    items.sort_by_key(key);
}

/// Divides until pieces are small.
fn divide<T, K: Ord>(mut items: &mut [T], key: &impl Fn(&T) -> K, mut most: u32) {
    while items.len() > SMALL && most > 0 {
        most -= 1;
        let median = median(items, key);
        items.swap(0, median);
        let cut = partition(items, key);
        let (low, high) = items.split_at_mut(cut);
        divide(high, key, most);
        items = low;
    }
}

/// Where the median of three is; of equal ones the choice is that of libstdc++.
fn median<T, K: Ord>(items: &[T], key: &impl Fn(&T) -> K) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let is_less = |one: usize, other: usize| key(&items[one]) < key(&items[other]);
    match (is_less(a, b), is_less(b, c), is_less(a, c)) {
        (true, true, _) => b,
        (true, false, true) => c,
        (true, false, false) => a,
        (false, _, true) => a,
        (false, true, false) => c,
        (false, false, false) => b,
    }
}

/// Brings what is no larger than the first element before what is no smaller, and returns where that begins.
fn partition<T, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) -> usize {
    let (mut from, mut until) = (1, items.len());
    loop {
        while key(&items[from]) < key(&items[0]) {
            from += 1;
        }
        until -= 1;
        while key(&items[0]) < key(&items[until]) {
            until -= 1;
        }
        if from >= until {
            return from;
        }
        items.swap(from, until);
        from += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of elements with such keys, by where each was.
    fn order(keys: &[u32]) -> Vec<usize> {
        let mut items: Vec<(u32, usize)> = keys.iter().copied().zip(0..).collect();
        sort(&mut items, |&(key, _)| key);
        items.into_iter().map(|(_, place)| place).collect()
    }

    /// Keys without a pattern, the same as those of the program that gave the orders below.
    fn keys(state: &mut u32, count: u32, below: u32) -> Vec<u32> {
        let mut next = || {
            *state = (*state * 75 + 74) % 65_537;
            *state % below
        };
        (0..count).map(|_| next()).collect()
    }

    // The orders are those of g++ 12.2.
    #[test]
    fn up_to_sixteen_equals_keep_their_order_and_more_do_not() {
        assert_eq!(order(&[7; 16]), (0..16).collect::<Vec<_>>());
        assert_eq!(order(&[7; 17]), [8, 16, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1]);
        let grants = order(&[7; 25]);
        assert_eq!((grants[0], grants[1], grants[13], grants[24]), (12, 24, 0, 1));
        assert!(order(&[]).is_empty());
    }

    #[test]
    fn keys_of_which_some_are_equal_end_as_there() {
        let mut state = 1;
        let first = order(&keys(&mut state, 60, 5));
        assert_eq!(first[..12], [58, 2, 56, 55, 32, 41, 43, 23, 22, 19, 16, 37]);
        let mut hash = 0_u32;
        for count in 1..400 {
            for place in order(&keys(&mut state, count, 1 + count / 4)) {
                hash = hash.wrapping_mul(31).wrapping_add(u32::try_from(place).unwrap());
            }
        }
        assert_eq!(hash, 1_046_536_632);
    }
}
