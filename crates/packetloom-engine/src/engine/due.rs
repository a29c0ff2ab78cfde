//! What is due in a window, node by node.

use super::arrival::Arrival;

/// How many arrivals [`Due::coming`] returns at once.
const BATCH: usize = 32;

/// Where fewer packets arrive in a window, or at fewer nodes, what belongs to them stays in the processor's nearer
/// caches.
const MANY: u32 = 2048;
const MANY_NODES: usize = 512;

/// What is due in a window.
#[derive(Clone, Debug, Default)]
pub struct Due {
    /// The nodes, ascending; of each, where what arrives there begins in `arrivals`.
    pub(super) nodes: Vec<(u32, u32)>,
    /// What arrives, node by node; beyond the last node's there is no more than waste of earlier windows.
    pub(super) arrivals: Vec<Arrival>,
    /// How many of them there are.
    pub(super) count: u32,
    /// How many of them [`Due::coming`] has returned for the last time.
    soon: usize,
    /// Whether it returns any.
    is_crowded: bool,
}

impl Due {
    /// How many nodes have something to do.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Nothing is due.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.count = 0;
        self.soon = 0;
        self.is_crowded = false;
    }

    /// All is there that arrives in the window, in a network of so many nodes.
    pub(super) fn complete(&mut self, nodes: usize) {
        self.is_crowded = self.count >= MANY && nodes >= MANY_NODES;
    }

    /// Whether no node has.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The arrivals to prepare for: those that come soon, those after them, and those that come still later. Each
    /// arrival is returned three times, the last time before its node has its turn. `None` if all arrivals at the
    /// nth node were returned, or if so few arrive in this window that preparation does not pay.
    #[inline]
    pub fn coming(&mut self, nth: usize) -> Option<[&[Arrival]; 3]> {
        if !self.is_crowded || self.soon >= self.end_of(nth) {
            return None;
        }
        let count = self.count as usize;
        let ends = [0, 1, 2, 3].map(|batches| (self.soon + batches * BATCH).min(count));
        self.soon = ends[1];
        Some([0, 1, 2].map(|batch| &self.arrivals[ends[batch]..ends[batch + 1]]))
    }

    /// What arrives at the nodes before the nth needs no preparation any more.
    pub(super) fn pass(&mut self, nth: usize) {
        self.soon = self.nodes.get(nth).map_or(self.count, |node| node.1) as usize;
    }

    /// Whether so much arrives in the window that it pays to prepare for it.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    /// The nodes from the nth on, and where what arrives at each begins.
    #[inline]
    pub(super) fn nodes_from(&self, nth: usize) -> &[(u32, u32)] {
        &self.nodes[nth..]
    }

    #[inline]
    fn end_of(&self, nth: usize) -> usize {
        self.nodes.get(nth + 1).map_or(self.count, |next| next.1) as usize
    }

    /// The nth node, and what arrives there, nearly in order.
    #[inline]
    pub fn node(&mut self, nth: usize) -> (u32, &mut [Arrival]) {
        let (node, first) = self.nodes[nth];
        let end = self.end_of(nth);
        (node, &mut self.arrivals[first as usize..end])
    }
}
