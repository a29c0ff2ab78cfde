//! Max-min fair sharing of all links that flows cross, one arrival or end at a time.
//!
//! Each link has a level: what a flow gets there that gets no less elsewhere; none, if all of its flows get less
//! elsewhere. A flow's rate is the lowest level of its links. An arrival or an end changes the levels of the flow's
//! links; where a level changes, so may those of the other links of its flows; where none changes any more, every
//! flow has a bottleneck, a link that is full and gives nobody more, and so the rates are max-min fair (Bertsekas and
//! Gallager, Data Networks, §6.5.2; that links which adjust their levels one by one end there: Charny, Clark, Jain,
//! ICC 1995). So what an event costs depends on how far it is felt, not on how many flows there are.
//!
//! A flow may be split among paths: then it takes a share of its rate of each link.

mod ends;
mod lowest;
mod watch;

pub use watch::{Ended, Notes, Step};

use crate::flow::FlowId;
use crate::narrow::{narrow, saturated};
use crate::units::Time;
use ends::Ends;
use lowest::Lowest;
use std::collections::VecDeque;
use watch::Watch;

/// A level that changes by less than this, as a fraction, is left as it is.
const TOLERANCE: f64 = 1e-9;

/// After so many changes of levels for each link, filling all links anew takes less.
const MOST_ROUNDS: usize = 4;

/// A flow, and what it crosses.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Which flow.
    pub id: FlowId,
    /// What it has to move, in bits.
    pub bits: f64,
    /// The links that it crosses, each with the share of its rate that it takes there.
    pub links: Vec<(u32, f64)>,
}

/// A flow under way.
#[derive(Clone, Debug)]
struct Active {
    id: FlowId,
    links: Vec<Crossing>,
    /// What is left at `since`, in bits.
    left: f64,
    /// In bits per ps.
    rate: f64,
    since: Time,
    /// Which of its links has given it this rate.
    bottleneck: usize,
    /// When it ends at this rate.
    end: Time,
    /// When it is looked at for that next: then, or before, where its rate has become lower since.
    looked_at: Time,
    lowest: Lowest,
    is_touched: bool,
}

/// A flow's place at a link.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    link: u32,
    /// Its place among the link's flows.
    place: u32,
    /// The share of the flow's rate that goes by the link.
    share: f64,
    /// For how long this link was the flow's bottleneck.
    held: Time,
}

/// A link's flow: its slot, which of its links this is, and its share of the flow.
#[derive(Clone, Copy, Debug)]
struct Member {
    slot: u32,
    nth: u16,
    /// Whether it is watched, and crosses a link without which it is asked for.
    is_watched: bool,
    share: f64,
}

#[derive(Clone, Debug)]
struct LinkState {
    /// In bits per ps.
    capacity: f64,
    members: Vec<Member>,
    /// How many of them are watched.
    watched: u32,
    is_due: bool,
    /// How much more its flows may want until it has a level, where it has none.
    slack: f64,
}

/// Links, and the flows that share them.
#[derive(Clone, Debug)]
pub struct Sharing {
    links: Vec<LinkState>,
    levels: Vec<f64>,
    flows: Vec<Active>,
    free: Vec<u32>,
    ends: Ends,
    now: Time,
    /// Links whose levels are to be worked out, in the order in which that came up.
    due: VecDeque<u32>,
    touched: Vec<u32>,
    /// What each flow of a link gets elsewhere, and its share here.
    elsewhere: Vec<(f64, f64)>,
    /// What is noted of some flows, if that was asked for.
    watch: Option<Box<Watch>>,
}

impl Sharing {
    /// Links of these rates in bits per second, without flows.
    pub fn new(rates: impl Iterator<Item = u64>) -> Sharing {
        let link = |bps: u64| {
            let capacity = bps as f64 / 1e12;
            LinkState { capacity, members: Vec::new(), watched: 0, is_due: false, slack: capacity }
        };
        let links: Vec<LinkState> = rates.map(link).collect();
        Sharing {
            levels: vec![f64::INFINITY; links.len()],
            links,
            flows: Vec::new(),
            free: Vec::new(),
            ends: Ends::default(),
            now: Time::ZERO,
            due: VecDeque::new(),
            touched: Vec::new(),
            elsewhere: Vec::new(),
            watch: None,
        }
    }

    /// Adds a link of this many bits per ps; returns its number.
    pub fn add_link(&mut self, capacity: f64) -> u32 {
        self.links.push(LinkState {
            capacity,
            members: Vec::new(),
            watched: 0,
            is_due: false,
            slack: capacity,
        });
        self.levels.push(f64::INFINITY);
        narrow(self.links.len() - 1)
    }

    /// From now on a link has so many bits per ps.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        let state = &mut self.links[link as usize];
        if state.members.is_empty() {
            self.levels[link as usize] = f64::INFINITY;
            state.slack = capacity;
        }
        state.capacity = capacity;
        self.make_due(link);
    }

    /// A link's bits per ps.
    pub fn capacity(&self, link: u32) -> f64 {
        self.links[link as usize].capacity
    }

    /// The part of a link that its flows use, as of when time last went on.
    pub fn use_of(&self, link: u32) -> f64 {
        let LinkState { capacity, slack, .. } = self.links[link as usize];
        let is_full = self.levels[link as usize].is_finite();
        if is_full { 1.0 } else { (1.0 - slack / capacity).clamp(0.0, 1.0) }
    }

    /// A flow arrives at `start`.
    ///
    /// # Panics
    /// If it crosses no link, or is to start before what has already been.
    pub fn arrive(&mut self, start: Time, transfer: &Transfer) {
        self.arrive_on(start, transfer.id, transfer.bits, &transfer.links);
    }

    /// The same of a flow that has so many bits to move by these links.
    ///
    /// # Panics
    /// As [`Sharing::arrive`].
    pub fn arrive_on(&mut self, start: Time, id: FlowId, bits: f64, crossed: &[(u32, f64)]) {
        assert!(start >= self.now, "flows must be given in order of start");
        assert!(!crossed.is_empty(), "a flow crosses a link at least");
        // What arrives together is shared out together.
        if start > self.now {
            self.settle();
            self.now = start;
        }
        let slot = self.free.pop().unwrap_or(narrow::<u32>(self.flows.len()));
        let is_watched = self.watch.as_ref().is_some_and(|watch| watch.concerns(id, crossed));
        let mut links = Vec::with_capacity(crossed.len());
        for (&(link, share), nth) in crossed.iter().zip(0..) {
            let LinkState { members, watched, .. } = &mut self.links[link as usize];
            *watched += u32::from(is_watched);
            links.push(Crossing { link, place: narrow::<u32>(members.len()), share, held: Time::ZERO });
            members.push(Member { slot, nth, is_watched, share });
        }
        let lowest = Lowest::of(&links, &self.levels);
        for &(link, share) in crossed {
            self.want(link, lowest.without(link) * share);
        }
        let active = Active {
            id,
            lowest,
            links,
            left: bits,
            rate: 0.0,
            since: start,
            bottleneck: 0,
            end: Time::NEVER,
            looked_at: Time::NEVER,
            is_touched: false,
        };
        match self.flows.get_mut(slot as usize) {
            Some(place) => *place = active,
            None => self.flows.push(active),
        }
        self.touch(slot);
    }

    /// No flow ends before this; none, if no flow is under way.
    pub fn next_end(&mut self) -> Option<Time> {
        self.settle();
        self.ends.first().map(|(at, ..)| at)
    }

    /// Goes on until `until`, and reports each flow that ends before it or then, in order of time, then of number.
    /// Ends are rounded to the nearest picosecond.
    pub fn run_until(&mut self, until: Time, mut finished: impl FnMut(FlowId, Time)) {
        self.run_until_held(until, |id, at, _| finished(id, at));
    }

    /// The same, and which link held each flow back the longest.
    pub fn run_until_held(&mut self, until: Time, mut finished: impl FnMut(FlowId, Time, u32)) {
        self.settle();
        while let Some((at, id, slot)) = self.ends.first() {
            if at > until {
                return;
            }
            if at > self.now && !self.due.is_empty() {
                // What ended together is shared out together, before time goes on.
                self.settle();
                continue;
            }
            self.ends.pop();
            let flow = &mut self.flows[slot as usize];
            if (flow.id, flow.looked_at) != (id, at) {
                continue;
            }
            if flow.end > at {
                flow.looked_at = flow.end;
                self.ends.add(flow.end, id, slot);
                continue;
            }
            self.now = at;
            let held_by = self.leave(slot);
            finished(id, at, held_by);
        }
    }

    /// The level of each link, which is infinite where none of its flows is held back by it.
    pub fn settled(&mut self) -> &[f64] {
        self.settle();
        &self.levels
    }

    /// How many flows a link holds back, as of when time last went on.
    pub fn held_at(&self, link: u32) -> usize {
        let holds = |member: &&Member| {
            let flow = &self.flows[member.slot as usize];
            flow.bottleneck == usize::from(member.nth)
        };
        self.links[link as usize].members.iter().filter(holds).count()
    }

    /// The rate of each flow under way in bits per ps, by number.
    #[cfg(test)]
    fn rates(&mut self) -> std::collections::BTreeMap<FlowId, f64> {
        self.settle();
        let under_way = |flow: &&Active| !flow.links.is_empty();
        self.flows.iter().filter(under_way).map(|flow| (flow.id, flow.rate)).collect()
    }

    /// A flow goes; returns the link that held it back the longest.
    fn leave(&mut self, slot: u32) -> u32 {
        let flow = &mut self.flows[slot as usize];
        flow.looked_at = Time::NEVER;
        flow.note_bottleneck(self.now);
        let (id, lowest, crossings) = (flow.id, flow.lowest, std::mem::take(&mut flow.links));
        let held_by =
            crossings.iter().max_by_key(|crossing| crossing.held).map_or(u32::MAX, |crossing| crossing.link);
        if let Some(watch) = &mut self.watch {
            watch.left(id, self.now, &crossings);
        }
        for Crossing { link, place, share, .. } in crossings {
            let LinkState { members, watched, .. } = &mut self.links[link as usize];
            *watched -= u32::from(members.swap_remove(place as usize).is_watched);
            if let Some(&Member { slot: moved, nth, .. }) = members.get(place as usize) {
                self.flows[moved as usize].links[usize::from(nth)].place = place;
            }
            self.want(link, -lowest.without(link) * share);
        }
        self.free.push(slot);
        held_by
    }

    /// A flow wants so much more of a link, or less. A link without a level stays so as long as there is room.
    fn want(&mut self, link: u32, more: f64) {
        let state = &mut self.links[link as usize];
        if state.is_due {
            return;
        }
        if self.levels[link as usize] == f64::INFINITY {
            state.slack -= more;
            if state.slack >= 0.0 {
                if let Some(watch) = &mut self.watch {
                    watch.look_at(link);
                }
                return;
            }
        }
        self.make_due(link);
    }

    fn make_due(&mut self, link: u32) {
        let state = &mut self.links[link as usize];
        if !state.is_due {
            state.is_due = true;
            self.due.push_back(link);
        }
    }

    fn touch(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        if !flow.is_touched {
            flow.is_touched = true;
            self.touched.push(slot);
        }
    }

    /// Works out levels until none changes, then the rates of the flows concerned.
    fn settle(&mut self) {
        let mut left = MOST_ROUNDS * self.links.len();
        while let Some(link) = self.due.pop_front() {
            self.links[link as usize].is_due = false;
            if let Some(watch) = &mut self.watch {
                watch.look_at(link);
            }
            let (old, new) = (self.levels[link as usize], self.level_of(link));
            let is_same = old == new || (old.is_finite() && (new - old).abs() <= TOLERANCE * old);
            if is_same {
                continue;
            }
            self.levels[link as usize] = new;
            self.pass_on(link, old, new);
            left -= 1;
            if left == 0 {
                self.fill();
                break;
            }
        }
        while let Some(slot) = self.touched.pop() {
            self.flows[slot as usize].is_touched = false;
            self.foresee(slot);
        }
        self.note_what_is_left();
    }

    /// The level of a link, given those of the others.
    fn level_of(&mut self, link: u32) -> f64 {
        let Sharing { links, flows, elsewhere, .. } = self;
        let LinkState { capacity, members, slack, .. } = &mut links[link as usize];
        elsewhere.clear();
        let mut wanted = 0.0;
        for member in members {
            let most = flows[member.slot as usize].lowest.without(link);
            wanted += most * member.share;
            elsewhere.push((most, member.share));
        }
        *slack = *capacity * (1.0 + TOLERANCE) - wanted;
        if *slack >= 0.0 { f64::INFINITY } else { water(*capacity, elsewhere) }
    }

    /// Marks what a changed level concerns: the link's flows, and those of their other links where it may matter.
    fn pass_on(&mut self, link: u32, old: f64, new: f64) {
        for place in 0..self.links[link as usize].members.len() {
            let Member { slot, nth, .. } = self.links[link as usize].members[place];
            self.touch(slot);
            let flow = &mut self.flows[slot as usize];
            let before = flow.lowest;
            flow.lowest.change((link, nth.into()), old, new, (&flow.links, &self.levels));
            let after = flow.lowest;
            if old.min(new) >= before.without(link) {
                continue;
            }
            for nth in 0..flow.links.len() {
                let Crossing { link: other, share, .. } = self.flows[slot as usize].links[nth];
                if other != link {
                    self.want(other, (after.without(other) - before.without(other)) * share);
                }
            }
        }
    }

    /// Sets a flow's rate by the levels of its links, and foresees its end.
    fn foresee(&mut self, slot: u32) {
        let Sharing { flows, ends, now, .. } = self;
        let flow = &mut flows[slot as usize];
        let Lowest { level: rate, nth, .. } = flow.lowest;
        if flow.links.is_empty() || rate == flow.rate {
            return;
        }
        flow.left -= flow.rate * now.since(flow.since).as_ps() as f64;
        flow.note_bottleneck(*now);
        (flow.rate, flow.since, flow.bottleneck) = (rate, *now, nth as usize);
        let span = Time(saturated::<u64>((flow.left.max(0.0) / rate).round()));
        flow.end = now.saturating_add(span);
        if flow.end < flow.looked_at {
            flow.looked_at = flow.end;
            ends.add(flow.end, flow.id, slot);
        }
    }

    /// All levels anew, from the lowest up (progressive filling), whatever they were.
    fn fill(&mut self) {
        self.due.clear();
        if let Some(watch) = &mut self.watch {
            (0..narrow::<u32>(self.links.len())).for_each(|link| watch.look_at(link));
        }
        let mut frozen = vec![false; self.flows.len()];
        let mut left: Vec<f64> = self.links.iter().map(|link| link.capacity).collect();
        let mut open: Vec<f64> = vec![0.0; left.len()];
        self.levels.fill(f64::INFINITY);
        for (link, open) in self.links.iter_mut().zip(&mut open) {
            (link.is_due, link.slack) = (false, f64::NEG_INFINITY);
            *open = link.members.iter().map(|member| member.share).sum();
        }
        loop {
            let levels = (0..left.len()).filter(|&link| open[link] > TOLERANCE);
            let levels = levels.map(|link| (left[link].max(0.0) / open[link], link));
            let Some((level, link)) = levels.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            self.levels[link] = level;
            for place in 0..self.links[link].members.len() {
                let slot = self.links[link].members[place].slot;
                if std::mem::replace(&mut frozen[slot as usize], true) {
                    continue;
                }
                for crossing in &self.flows[slot as usize].links {
                    left[crossing.link as usize] -= level * crossing.share;
                    open[crossing.link as usize] -= crossing.share;
                }
            }
            open[link] = 0.0;
        }
        for slot in 0..narrow::<u32>(self.flows.len()) {
            let flow = &mut self.flows[slot as usize];
            flow.lowest = Lowest::of(&flow.links, &self.levels);
            self.touch(slot);
        }
    }
}

impl Active {
    /// Adds the time for which the flow has had this rate to its bottleneck's.
    fn note_bottleneck(&mut self, now: Time) {
        if let Some(crossing) = self.links.get_mut(self.bottleneck) {
            crossing.held += now.since(self.since);
        }
    }
}

/// The level up to which flows are to be filled that want no more than so much each, so that they take `capacity`
/// together; they want more.
fn water(capacity: f64, wants: &mut Vec<(f64, f64)>) -> f64 {
    let mut left = capacity;
    loop {
        let shares: f64 = wants.iter().map(|(_, share)| share).sum();
        let level = left / shares;
        let before = wants.len();
        wants.retain(|&(most, share)| {
            let stays = most > level;
            left -= if stays { 0.0 } else { most * share };
            stays
        });
        if wants.is_empty() || wants.len() == before {
            return level;
        }
    }
}

#[cfg(test)]
mod tests;
