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
mod tests {
    use super::super::tests::random_jobs;
    use super::*;
    use crate::control::{MaxMin, Routes};
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    /// Bits per second of a link that moves a bit in a picosecond.
    const UNIT: u64 = 1_000_000_000_000;

    fn transfer(id: FlowId, bits: f64, links: &[u32]) -> Transfer {
        Transfer { id, bits, links: links.iter().map(|&link| (link, 1.0)).collect() }
    }

    /// When flows end that start at these times.
    fn ends(links: usize, flows: &[(u64, Transfer)]) -> Vec<(FlowId, u64)> {
        let mut sharing = Sharing::new(std::iter::repeat_n(UNIT, links));
        let mut all = Vec::new();
        for (start, transfer) in flows {
            sharing.run_until(Time(*start), |id, at| all.push((id, at.as_ps())));
            sharing.arrive(Time(*start), transfer);
        }
        sharing.run_until(Time::NEVER, |id, at| all.push((id, at.as_ps())));
        all
    }

    #[test]
    fn two_flows_on_one_link_have_half_of_it_each() {
        // Together until 60, when 0 has had its 30; 1 has 20 left then and the link to itself.
        let flows = [(0, transfer(0, 30.0, &[0])), (0, transfer(1, 50.0, &[0]))];
        assert_eq!(ends(1, &flows), [(0, 60), (1, 80)]);
        // Alone until 10; 20 left each is shared until 50.
        let flows = [(0, transfer(0, 30.0, &[0])), (10, transfer(1, 20.0, &[0]))];
        assert_eq!(ends(1, &flows), [(0, 50), (1, 50)]);
    }

    #[test]
    fn a_parking_lot_is_shared_link_by_link() {
        // 0 crosses three links, of which each has another flow; the last has two. 0 has a third there, as they have,
        // and the others have what it leaves.
        let flows = [
            transfer(0, 1.0, &[0, 1, 2]),
            transfer(1, 1.0, &[0]),
            transfer(2, 1.0, &[1]),
            transfer(3, 1.0, &[2]),
        ];
        let mut sharing = Sharing::new([UNIT, 2 * UNIT, UNIT].into_iter());
        for flow in flows.iter().chain([&transfer(4, 1.0, &[2])]) {
            sharing.arrive(Time::ZERO, flow);
        }
        let third = 1.0 / 3.0;
        let expected = [(0, third), (1, 2.0 * third), (2, 5.0 * third), (3, third), (4, third)];
        for ((id, rate), (other, expected)) in sharing.rates().into_iter().zip(expected) {
            assert!(id == other && (rate - expected).abs() < 1e-12, "flow {id}: {rate}, not {expected}");
        }
    }

    #[test]
    fn what_a_flow_leaves_goes_to_those_that_it_held_back() {
        // 1 shares link 0 with 0, and link 1 with 2. Once 0 has gone at 20, 1 has no more than before: 2 has the
        // other half of link 1. Then 2 goes, and 1 has both links.
        let flows =
            [(0, transfer(0, 10.0, &[0])), (0, transfer(1, 100.0, &[0, 1])), (0, transfer(2, 30.0, &[1]))];
        assert_eq!(ends(2, &flows), [(0, 20), (2, 60), (1, 130)]);
    }

    #[test]
    fn a_split_flow_takes_a_share_of_each_path() {
        // Half by link 0, half by link 1, which has another flow: at link 1, r/2 + r = 1.
        let split = Transfer { id: 0, bits: 10.0, links: vec![(0, 0.5), (1, 0.5)] };
        let mut sharing = Sharing::new([UNIT; 2].into_iter());
        sharing.arrive(Time::ZERO, &split);
        assert_eq!(sharing.rates()[&0], 2.0);
        sharing.arrive(Time::ZERO, &transfer(1, 10.0, &[1]));
        assert!(sharing.rates().into_values().all(|rate| (rate - 2.0 / 3.0).abs() < 1e-12));
    }

    #[test]
    fn a_link_that_is_added_holds_a_flow_back_and_leaves_the_rest_to_others() {
        let mut sharing = Sharing::new([UNIT].into_iter());
        let own = sharing.add_link(1.0);
        sharing.arrive(Time::ZERO, &transfer(0, 10.0, &[0, own]));
        sharing.arrive(Time::ZERO, &transfer(1, 30.0, &[0]));
        assert_eq!(sharing.rates()[&0], 0.5);
        sharing.set_capacity(own, 0.25);
        assert_eq!((sharing.rates()[&0], sharing.rates()[&1]), (0.25, 0.75));
        assert_eq!(sharing.use_of(0), 1.0);
        let mut ended = Vec::new();
        sharing.run_until_held(Time::NEVER, |id, at, held_by| ended.push((id, at, held_by)));
        assert_eq!(ended, [(0, Time(40), own), (1, Time(40), 0)]);
    }

    /// Flows over up to four of a few links, with rates by the controllers' algorithm, which fills all links anew.
    #[test]
    fn rates_are_those_of_progressive_filling_after_every_event() {
        let mut random = Stream::new(3, Purpose::Pattern, 0);
        for round in 0..40 {
            let links = 3 + random.below(12);
            let rates: Vec<u64> = (0..links).map(|_| UNIT * u64::from(1 + random.below(4))).collect();
            let mut sharing = Sharing::new(rates.iter().copied());
            let mut under_way: BTreeMap<FlowId, Vec<u32>> = BTreeMap::new();
            for job in random_jobs(round, 150, 8, 4.0) {
                sharing.run_until(job.start, |id, _| drop(under_way.remove(&id)));
                let mut path: Vec<u32> = (0..=random.below(4)).map(|_| random.below(links)).collect();
                path.sort_unstable();
                path.dedup();
                sharing.arrive(job.start, &transfer(job.id, job.work.as_ps() as f64, &path));
                under_way.insert(job.id, path);
                let found = sharing.rates();
                let first: Vec<u32> = std::iter::once(0)
                    .chain(under_way.values().scan(0, |sum, path| {
                        *sum += path.len() as u32;
                        Some(*sum)
                    }))
                    .collect();
                let routes = Routes::new(first, under_way.values().flatten().copied().collect(), links);
                let capacities: Vec<f64> = rates.iter().map(|&bps| bps as f64 / 1e12).collect();
                let flows = under_way.len();
                let mut expected = vec![0.0; flows];
                let (ones, none) = (vec![1.0; flows], vec![f64::INFINITY; flows]);
                MaxMin::default().allocate(&routes, &capacities, &ones, &none, &mut expected);
                for ((id, rate), expected) in found.iter().zip(&expected) {
                    assert!(
                        (rate - expected).abs() < 1e-6,
                        "flow {id} at {}: {rate}, not {expected}",
                        job.start
                    );
                }
                let mut anew = sharing.clone();
                anew.fill();
                for (id, rate) in anew.rates() {
                    assert!((rate - found[&id]).abs() < 1e-6, "flow {id}: {rate}, not {}", found[&id]);
                }
            }
        }
    }

    #[test]
    fn between_hosts_it_is_the_model_of_edge_links() {
        let jobs = random_jobs(5, 2_000, 12, 3.0);
        let mut expected = Vec::new();
        super::super::max_min::run(&[1.0; 12], jobs.iter().copied(), |id, at| {
            expected.push((id, at.as_ps()))
        });
        let flow = |job: &super::super::Job| {
            let links = [job.src, 12 + job.dst];
            (job.start.as_ps(), transfer(job.id, job.work.as_ps() as f64, &links))
        };
        let mut found = ends(24, &jobs.iter().map(flow).collect::<Vec<_>>());
        expected.sort_unstable();
        found.sort_unstable();
        // Either one rounds each end to a whole picosecond, and what starts or ends later is moved by that.
        let pairs = || found.iter().zip(&expected);
        assert!(found.len() == expected.len() && pairs().all(|(a, b)| a.0 == b.0 && a.1.abs_diff(b.1) <= 60));
        let same = pairs().filter(|(a, b)| a == b).count();
        assert!(same > 1_000, "{same} of 2000");
    }
}
