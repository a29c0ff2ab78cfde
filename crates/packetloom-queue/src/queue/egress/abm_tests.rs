use super::*;

fn thresholds(rule: &str, alphas: [f64; 2], ports: usize) -> Abm {
    let (saturation_bytes, interval) = (28_000, Time::from_us(80));
    let is_measured = rule == "abm";
    let settings = Settings { alphas: alphas.to_vec(), saturation_bytes, interval, is_measured };
    Abm::build(&ByQueues { settings, queues: 2 }, vec![Rate::from_gbps(10); ports])
}

/// Sends packets of 1500 B at so many Gb/s into a queue of a port, from and until these times.
#[derive(Clone, Copy)]
struct Source {
    port: usize,
    class: usize,
    us: [u64; 2],
    gbps: u64,
}

const fn always(port: usize, class: usize) -> Source {
    Source { port, class, us: [0, 1_000_000], gbps: 20 }
}

struct Run {
    /// The mean of each queue, by port and class.
    mean_bytes: Vec<[f64; 2]>,
    /// What each source sent, and what of it was dropped.
    sent_dropped: Vec<[u64; 2]>,
}

const PACKET: u64 = 1_500;
const BUFFER: u64 = 1_000_000;

/// As the authors' queue disc was measured, alone: a buffer of 1 MB; each port sends a packet each 1.2 us, of its two
/// queues in turn; queues are sampled every 500 ns from one time to the other.
fn run(rule: &str, alphas: [f64; 2], us: [u64; 2], sources: &[Source]) -> Run {
    let ports = sources.iter().map(|source| source.port).max().expect("sources") + 1;
    let mut abm = thresholds(rule, alphas, ports);
    let mut queues = vec![[0_u64; 2]; ports];
    let mut sent = vec![[0_u64; 2]; ports];
    let mut turn = vec![0_usize; ports];
    let mut sums = vec![[0_u64; 2]; ports];
    let (mut samples, mut sent_dropped) = (0_u64, vec![[0_u64; 2]; sources.len()]);
    // All times are multiples of 20 ns.
    for now_ns in (0..us[1] * 1_000).step_by(20) {
        let now = Time::from_ns(now_ns);
        for port in (0..ports).filter(|_| now_ns.is_multiple_of(1_200)) {
            let next = [turn[port], 1 - turn[port]].into_iter().find(|class| queues[port][*class] > 0);
            if let Some(class) = next {
                queues[port][class] -= PACKET;
                sent[port][class] += PACKET;
                turn[port] = 1 - class;
            }
        }
        let tell_of = |port: usize, tell: &mut Tell<'_>| {
            [0, 1].into_iter().for_each(|class| tell(class, queues[port][class], sent[port][class]));
        };
        while let Some((_, port)) = abm.due(now) {
            abm.measure(port, now, tell_of);
        }
        for (source, count) in sources.iter().zip(&mut sent_dropped) {
            let [from, until] = source.us.map(|us| us * 1_000);
            if !(from..until).contains(&now_ns) || !(now_ns - from).is_multiple_of(12_000 / source.gbps) {
                continue;
            }
            if abm.is_new(source.port) {
                abm.begin(source.port, now, |port, tell| {
                    [0, 1].into_iter().for_each(|class| tell(class, queues[port][class], sent[port][class]));
                });
            }
            let free = BUFFER - queues.iter().flatten().sum::<u64>();
            let queue = &mut queues[source.port][source.class];
            let most = abm.threshold(source.port as u32, source.class, free);
            let fits = (*queue + PACKET) as f64 <= most && PACKET <= free;
            *queue += if fits { PACKET } else { 0 };
            *count = [count[0] + 1, count[1] + u64::from(!fits)];
        }
        if now_ns >= us[0] * 1_000 && now_ns.is_multiple_of(500) {
            samples += 1;
            for (sums, queues) in sums.iter_mut().zip(&queues) {
                *sums = [sums[0] + queues[0], sums[1] + queues[1]];
            }
        }
    }
    let mean_bytes = sums.iter().map(|sum| sum.map(|bytes| bytes as f64 / samples as f64)).collect();
    Run { mean_bytes, sent_dropped }
}

fn loaded(queues: &[(usize, usize)]) -> Vec<Source> {
    queues.iter().map(|&(port, class)| always(port, class)).collect()
}

/// To one packet, where a source keeps its queue at the threshold: figures of inet-tub/ns3-datacenter 6ddb4a4.
#[test]
fn queues_are_as_long_as_the_authors_are() {
    let two = [8_000, 10_000];
    let mixed = loaded(&[(0, 0), (1, 0), (2, 1), (3, 1)]);
    for (rule, sources, expected) in [
        ("dynamic-thresholds", loaded(&[(0, 0)]), vec![[499_500.0, 0.0]]),
        ("dynamic-thresholds", loaded(&[(0, 0), (1, 0)]), vec![[333_000.0, 0.0], [332_875.0, 0.0]]),
        (
            "dynamic-thresholds",
            mixed,
            vec![[250_500.0, 0.0], [248_875.0, 0.0], [0.0, 126_000.0], [0.0, 124_500.0]],
        ),
        ("abm", loaded(&[(0, 0), (1, 0)]), vec![[249_525.0, 0.0], [248_830.0, 0.0]]),
    ] {
        let found = run(rule, [1.0, 0.5], two, &sources).mean_bytes;
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() <= PACKET as f64, "{rule}: {found} for {expected}");
        }
    }
}

/// alpha B / (1 + alpha) for all queues of a class together, however many they are; and each class its own.
#[test]
fn a_class_takes_no_more_by_filling_more_ports() {
    for many in [1_usize, 2, 6] {
        let sources: Vec<Source> =
            (0..many).map(|port| always(port, 0)).chain([always(6, 1), always(7, 1)]).collect();
        let mean = run("abm", [1.0, 0.5], [3_000, 4_000], &sources).mean_bytes;
        // Q_p = alpha_p (B - Q): 400 and 200 kB.
        let of = |class: usize| mean.iter().map(|port| port[class]).sum::<f64>();
        let allowance = 8.0 * PACKET as f64;
        assert!((of(0) - 400_000.0).abs() <= allowance, "{many}: {}", of(0));
        assert!((of(1) - 200_000.0).abs() <= allowance, "{many}: {}", of(1));
    }
}

/// Two classes at a port, which take turns: a queue that is served half as fast holds half as much, or as much as if it
/// were alone where it was served a little less than that; so thresholds jump from one interval to the next, and the
/// reference says that only means compare.
#[test]
fn thresholds_follow_the_rate_at_which_a_queue_is_served() {
    let two = [8_000, 10_000];
    for (alphas, sources, expected) in [
        ([1.0, 0.5], loaded(&[(0, 0), (0, 1)]), vec![[404_005.0, 188_756.0]]),
        (
            [1.0, 1.0],
            loaded(&[(0, 0), (0, 1), (1, 0), (2, 0), (3, 0)]),
            vec![[76_295.0, 328_544.0], [84_543.0, 0.0], [84_511.0, 0.0], [84_360.0, 0.0]],
        ),
    ] {
        let found = run("abm", alphas, two, &sources).mean_bytes;
        let sum = |of: &[[f64; 2]]| of.iter().flatten().sum::<f64>();
        assert!((sum(&found) / sum(&expected) - 1.0).abs() < 0.01, "{found:?}");
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() <= 0.05 * expected, "{found} for {expected}");
        }
    }
}

/// 1.25 MB in 100 us to an idle port, while four others are loaded: 150 packets of 833 find room under ABM, 193 under
/// dynamic thresholds.
#[test]
fn a_burst_finds_as_much_room_as_in_the_authors() {
    let burst = Source { port: 4, class: 0, us: [5_000, 5_100], gbps: 100 };
    let sources: Vec<Source> = (0..4).map(|port| always(port, 0)).chain([burst]).collect();
    for (rule, admitted, mean_bytes) in [("abm", 150, 29_728.0), ("dynamic-thresholds", 193, 51_708.0)] {
        let found = run(rule, [1.0, 0.5], [5_000, 5_500], &sources);
        let [sent, dropped] = found.sent_dropped[4];
        assert!((sent - dropped).abs_diff(admitted) <= 1, "{rule}: {}", sent - dropped);
        assert!((found.mean_bytes[4][0] / mean_bytes - 1.0).abs() < 0.02, "{:?}", found.mean_bytes);
    }
}

#[test]
fn a_quiet_time_of_any_length_takes_no_time() {
    let mut abm = thresholds("abm", [1.0, 1.0], 3);
    let idle = |_: usize, tell: &mut Tell<'_>| [0, 1].into_iter().for_each(|class| tell(class, 0, 0));
    abm.begin(1, Time::from_us(5), idle);
    let late = Time(u64::MAX / 4);
    let mut measured = 0;
    while let Some((_, port)) = abm.due(late) {
        abm.measure(port, late, idle);
        measured += 1;
    }
    assert!(measured <= 2 && abm.ports[1].next > late && abm.ports[1].next <= late + Time::from_us(80));
    assert_eq!(abm.threshold(1, 0, 1_000), 1_000.0);
}
