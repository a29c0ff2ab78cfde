//! Max-min shares, worked out by hand and beside another model.

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
                assert!((rate - expected).abs() < 1e-6, "flow {id} at {}: {rate}, not {expected}", job.start);
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
    super::super::max_min::run(&[1.0; 12], jobs.iter().copied(), |id, at| expected.push((id, at.as_ps())));
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
