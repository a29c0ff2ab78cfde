use super::super::{Filter, Pauses, Shares};
use super::*;
use crate::random::{Purpose, Stream};

const PACKET: u16 = 1_000;
const LINK: Rate = Rate::from_gbps(100);

/// A buffer of this size with links of these rates, all with the same headroom; beside what is set here all is as the
/// simulator of that name has it.
fn memory(mmu: &str, buffer_bytes: u64, headroom: u64, rates: &[Rate], set: &dyn Fn(&mut Pfc)) -> Memory {
    let sharing = if mmu == "conweave-ns3" { Sharing::Pools } else { Sharing::Thresholds };
    let shares = Shares {
        sharing,
        filter: None,
        buffer_bytes,
        reserve_bytes: None,
        headroom_bytes: None,
        unsafe_headroom: false,
        alpha: None,
        alpha_by_rate: None,
        pause_above_bytes: None,
        egress_alpha: None,
        limits_all: false,
        resume_offset_bytes: None,
    };
    let pauses = Pauses { lossless: 1 << 3, frame_bytes: 64, lasts: None, run_out: false, watchdog: None };
    let mut pfc = Pfc::new(shares, pauses);
    set(&mut pfc);
    let links: Vec<_> = rates.iter().map(|&rate| (rate, headroom)).collect();
    Memory::build(&pfc, &links, LINK)
}

/// What is left out is as it is.
fn as_it_is(_: &mut Pfc) {}

/// Fills one link's class with packets until it is paused; returns what it has then beyond its reserve.
fn paused_at(memory: &mut Memory, link: u32, reserve: u64) -> u64 {
    loop {
        let (has_room, signals) = memory.arrive((link, 0), 3, PACKET, 0);
        assert!(has_room);
        if signals.pause != 0 {
            assert_eq!(signals, Signals { pause: 1 << 3, resume: 0 });
            return memory.charged(link, 3) - reserve;
        }
    }
}

// x = (B - x) / 8, so x = B / 9; with 1/2: B / 3.
#[test]
fn a_link_alone_is_paused_at_a_ninth_of_what_is_shared_and_one_four_times_as_fast_at_a_third() {
    let shared = 9_000_000;
    let buffer = shared + 2 * (4_096 + 100_000);
    let rates = [LINK, Rate::from_gbps(400)];
    for (link, share) in [(0, 9), (1, 3)] {
        let mut memory = memory("hpcc-ns3", buffer, 100_000, &rates, &as_it_is);
        let at = paused_at(&mut memory, link, 4_096);
        let expected = shared / share;
        assert!((expected..expected + u64::from(PACKET)).contains(&at), "{at} B instead of {expected} B");
    }
}

#[test]
fn with_a_threshold_in_bytes_each_link_is_paused_at_it_however_much_is_free() {
    let above = |bytes| move |pfc: &mut Pfc| pfc.shares.pause_above_bytes = Some(bytes);
    for mmu in ["hpcc-ns3", "conweave-ns3"] {
        let mut memory = memory(mmu, 9_000_000, 100_000, &[LINK; 4], &above(60_000));
        for link in 0..4 {
            let at = paused_at(&mut memory, link, if mmu == "hpcc-ns3" { 4_096 } else { 2_096 });
            assert!((60_000..=61_000).contains(&at), "{mmu} {link}: {at}");
        }
        // Resumed when 3072 B less than that wait, or a byte.
        let mut left = 1;
        while memory.leave((0, 0), 3, PACKET) == Signals::default() {
            left += 1;
        }
        assert_eq!(left, if mmu == "hpcc-ns3" { 4 } else { 1 }, "{mmu}");
    }
    // The shared part has 40 KB for all: the second link is paused when the first has left it nothing.
    let mut memory = memory("hpcc-ns3", 40_000 + 2 * (50_000 + 4_096), 50_000, &[LINK; 2], &above(30_000));
    let of_links = [0, 1].map(|link| paused_at(&mut memory, link, 4_096));
    assert!((30_000..=31_000).contains(&of_links[0]) && of_links[1] < 12_000, "{of_links:?}");
    // All that is under way then goes into the headroom.
    (0..49).for_each(|_| assert!(memory.arrive((1, 0), 3, PACKET, 0).0));
}

#[test]
fn a_paused_link_is_resumed_when_it_is_an_offset_below_its_threshold() {
    let mut memory = memory("hpcc-ns3", 2_000_000, 50_000, &[LINK; 4], &as_it_is);
    let at = paused_at(&mut memory, 0, 4_096);
    let mut left = 0;
    while memory.leave((0, 0), 3, PACKET) == Signals::default() {
        left += 1;
    }
    // Each packet that leaves raises the threshold by an eighth of itself.
    let shared = 2_000_000 - 4 * (50_000 + 4_096);
    let now = at - (left + 1) * u64::from(PACKET);
    assert!(now + 3_072 <= (shared - now) / 8, "{now} B are too much");
    let before = now + u64::from(PACKET);
    assert!(before + 3_072 > (shared - before) / 8, "{before} B were little enough");
    assert_eq!(memory.paused(0), 0);
}

#[test]
fn pauses_that_run_out_are_repeated_with_each_packet_above_the_threshold() {
    for (run_out, expected) in [(false, 0), (true, 1 << 3)] {
        let set = |pfc: &mut Pfc| pfc.pauses.run_out = run_out;
        let mut memory = memory("conweave-ns3", 9_000_000, 100_000, &[LINK; 4], &set);
        paused_at(&mut memory, 0, 2_096);
        let again = [0, 0].map(|_| memory.arrive((0, 0), 3, PACKET, 0).1.pause);
        assert_eq!((again, memory.paused(0)), ([expected; 2], 1 << 3));
    }
}

#[test]
fn a_limit_at_egress_of_all_drops_what_is_lossless_and_reckons_with_the_headroom() {
    let most = |limits_all| {
        let set = |pfc: &mut Pfc| pfc.shares.limits_all = limits_all;
        let mut memory = memory("conweave-ns3", 1_000_000, 100_000, &[LINK; 2], &set);
        let mut waiting = 0;
        while waiting < 900_000 && memory.arrive((0, 0), 3, PACKET, waiting).0 {
            waiting += u64::from(PACKET);
        }
        (waiting, memory.lossless_drops())
    };
    // 2 links have 8 x 1048 B each: half of the rest is in the queue as half is free.
    let half = (1_000_000 - 2 * 8 * 1_048) / 2;
    let (limited, drops) = most(true);
    assert!((half..=half + u64::from(PACKET)).contains(&limited) && drops == 1, "{limited}, {drops}");
    // Otherwise it fills the pool and its headroom.
    assert!(most(false).0 > 800_000, "{:?}", most(false));
}

#[test]
fn what_comes_after_the_pause_goes_into_the_headroom_and_is_dropped_beyond_it() {
    let mut memory = memory("hpcc-ns3", 2_000_000, 5_000, &[LINK; 2], &as_it_is);
    paused_at(&mut memory, 0, 4_096);
    let mut taken = 0;
    while memory.arrive((0, 0), 3, PACKET, 0).0 {
        taken += 1;
    }
    let (used, limit) = memory.headroom(0, 3);
    assert_eq!((used, limit), (5_000, 5_000));
    // That which caused the pause may have been beyond the threshold itself.
    assert!((4..=5).contains(&taken), "{taken} packets");
    // What leaves comes out of the headroom first.
    memory.leave((0, 0), 3, PACKET);
    assert_eq!(memory.headroom(0, 3).0, 4_000);
}

#[test]
fn a_class_that_is_not_lossless_is_dropped_at_its_threshold_and_never_paused() {
    let mut memory = memory("hpcc-ns3", 2_000_000, 5_000, &[LINK; 2], &as_it_is);
    let shared = 2_000_000 - 2 * (5_000 + 4_096);
    while let (true, signals) = memory.arrive((0, 0), 1, PACKET, 0) {
        assert_eq!(signals, Signals::default());
    }
    let charged = memory.charged(0, 1) - 4_096;
    assert!((shared / 9 - 1_000..=shared / 9).contains(&charged), "{charged} B");
    assert_eq!(memory.headroom(0, 1).0, 0);
}

#[test]
fn pools_pause_at_a_sixteenth_of_what_is_free() {
    let shared = 1_700_000;
    let buffer = shared + 2 * (8 * 1_048 + 30_000);
    let mut memory = memory("conweave-ns3", buffer, 30_000, &[LINK; 2], &as_it_is);
    let at = paused_at(&mut memory, 0, 0);
    // y - 2096 > (shared - y) / 16.
    let expected = (shared + 16 * 2_096) / 17;
    assert!((expected..=expected + u64::from(PACKET)).contains(&at), "{at} B instead of {expected} B");
    let mut left = 0;
    while memory.leave((0, 0), 3, PACKET) == Signals::default() {
        left += 1;
    }
    assert_eq!(left, 0, "16 bytes less are enough");
}

#[test]
fn egress_limits_what_is_not_lossless() {
    let half = |pfc: &mut Pfc| pfc.shares.egress_alpha = Some(0.5);
    let mut memory = memory("hpcc-ns3", 1_018_192, 5_000, &[LINK; 2], &half);
    assert!(memory.arrive((0, 0), 1, PACKET, 498_000).0);
    assert!(!memory.arrive((0, 0), 1, PACKET, 499_500).0);
    assert!(memory.arrive((0, 0), 3, PACKET, 499_500).0, "lossless classes are paused instead");
}

#[test]
fn what_was_charged_is_what_is_inside_and_all_of_it_is_discharged() {
    for mmu in ["hpcc-ns3", "conweave-ns3", "reverie"] {
        let set = |pfc: &mut Pfc| {
            if mmu == "reverie" {
                of_reverie(0.9)(pfc)
            }
        };
        let mut memory = memory(mmu, 400_000, 20_000, &[LINK; 4], &set);
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut inside: Vec<(u32, u8, u16)> = Vec::new();
        for step in 0..40_000_u32 {
            let filling = step / 2_000 % 2 == 0;
            if stream.below(3) < if filling { 2 } else { 1 } {
                let packet = (stream.below(4), 1 + stream.below(3) as u8, 60 + stream.below(1_400) as u16);
                if memory.arrive((packet.0, 0), packet.1, packet.2, 0).0 {
                    inside.push(packet);
                }
            } else if !inside.is_empty() {
                let (link, class, size) = inside.swap_remove(stream.below(inside.len() as u32) as usize);
                memory.leave((link, 0), class, size);
            }
            let of = |link, class| {
                let of_it = inside.iter().filter(|packet| (packet.0, usize::from(packet.1)) == (link, class));
                of_it.map(|packet| u64::from(packet.2)).sum::<u64>()
            };
            if step % 500 == 0 {
                for (link, class) in (0..4).flat_map(|link| (1..4).map(move |class| (link, class))) {
                    assert_eq!(
                        memory.charged(link, class),
                        of(link, class),
                        "{mmu}, link {link}, class {class}"
                    );
                }
            }
        }
        for (link, class, size) in inside.drain(..) {
            memory.leave((link, 0), class, size);
        }
        assert_eq!(memory.used, 0, "{mmu}");
        assert!((0..4).all(|link| memory.paused(link) == 0), "{mmu}: paused with an empty buffer");
    }
}

#[test]
fn what_passes_would_have_come_and_gone_without_a_trace() {
    for (mmu, expected) in [("hpcc-ns3", true), ("conweave-ns3", false)] {
        let mut memory = memory(mmu, 400_000, 20_000, &[LINK; 4], &as_it_is);
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut inside: Vec<(u32, u8, u16)> = Vec::new();
        let (mut passed, mut not) = (0, 0);
        for step in 0..40_000_u32 {
            let packet = (stream.below(4), 1 + stream.below(3) as u8, 60 + stream.below(1_400) as u16);
            if memory.passes(packet.0, packet.1, packet.2) {
                let mut with_it = memory.clone();
                assert_eq!(with_it.arrive((packet.0, 0), packet.1, packet.2, 0), (true, Signals::default()));
                assert_eq!(with_it.leave((packet.0, 0), packet.1, packet.2), Signals::default());
                assert_eq!(format!("{with_it:?}"), format!("{memory:?}"));
                passed += 1;
            } else {
                not += 1;
            }
            if stream.below(3) < if step / 2_000 % 2 == 0 { 2 } else { 1 } {
                if memory.arrive((packet.0, 0), packet.1, packet.2, 0).0 {
                    inside.push(packet);
                }
            } else if !inside.is_empty() {
                let (link, class, size) = inside.swap_remove(stream.below(inside.len() as u32) as usize);
                memory.leave((link, 0), class, size);
            }
        }
        assert_eq!(passed > 1_000, expected, "{mmu}: {passed} passed, {not} did not");
        assert!(not > 1_000, "{mmu}: {passed} passed, {not} did not");
    }
}

/// What arrives and leaves while no link can be paused: in any order it comes to the same, and nothing is signalled.
#[test]
fn while_it_stays_quiet_nothing_is_signalled_whatever_leaves_first() {
    let mut random = Stream::new(5, Purpose::Queue, 0);
    let mut quiet_rounds = 0;
    for pause_above_bytes in [None, Some(400_000)] {
        let set = |pfc: &mut Pfc| pfc.shares.pause_above_bytes = pause_above_bytes;
        let new = || memory("hpcc-ns3", 9_000_000, 100_000, &[LINK; 4], &set);
        let (mut exact, mut lazy) = (new(), new());
        let mut inside: Vec<(u32, u16)> = Vec::new();
        for round in 0..4_000 {
            let arriving: Vec<(u32, u16)> = (0..random.below(12))
                .map(|_| (random.below(4), 1_000 + (random.below(8_000) as u16)))
                .collect();
            let bytes = arriving.iter().map(|&(_, size)| u64::from(size)).sum();
            let is_quiet = lazy.stays_quiet(bytes, 1 << 3);
            quiet_rounds += u32::from(is_quiet);
            // The buffer fills, then empties, so that it is quiet at times.
            let most = if round / 200 % 2 == 0 { 8 } else { 24 };
            let leaving: Vec<_> = (0..random.below(most).min(inside.len() as u32))
                .map(|_| inside.swap_remove(random.below(inside.len() as u32) as usize))
                .collect();
            let mut taken = Vec::new();
            for (link, size) in arriving {
                let (has_room, signals) = exact.arrive((link, 0), 3, size, 0);
                if is_quiet {
                    assert_eq!((has_room, signals), (true, Signals::default()));
                } else {
                    assert_eq!(lazy.arrive((link, 0), 3, size, 0), (has_room, signals));
                }
                taken.extend(has_room.then_some((link, size)));
            }
            for &(link, size) in &leaving {
                let signals = exact.leave((link, 0), 3, size);
                assert!(!is_quiet || signals == Signals::default());
                if is_quiet {
                    lazy.leave_quietly(link, 3, size);
                } else {
                    assert_eq!(lazy.leave((link, 0), 3, size), signals);
                }
            }
            if is_quiet {
                taken.iter().for_each(|&(link, size)| lazy.arrive_quietly(link, 3, size));
            }
            inside.extend(taken);
            assert_eq!(format!("{lazy:?}"), format!("{exact:?}"), "round {round}");
        }
    }
    assert!((1_000..7_000).contains(&quiet_rounds), "{quiet_rounds} of 8,000 rounds are quiet");
}

fn of_reverie(gamma: f64) -> impl Fn(&mut Pfc) {
    move |pfc| {
        let filter = Some(Filter { gamma, alpha: 1.0, saturation_bytes: 20_480 });
        let (reserve_bytes, resume_offset_bytes) = (Some(0), Some(2_496));
        let sharing = Sharing::Filters;
        pfc.shares = Shares { sharing, filter, reserve_bytes, resume_offset_bytes, ..pfc.shares };
    }
}

/// A pool of 100 packets for three links, each of which has a headroom of 5.
fn reverie(gamma: f64) -> Memory {
    memory("reverie", 115_000, 5_000, &[LINK; 3], &of_reverie(gamma))
}

/// Dynamic thresholds would stop the first queue at half of the pool. A filter with gamma = 1/2 is soon at what is left,
/// of which a packet fewer may be there than is free: 49 of 100.
#[test]
fn with_filters_a_burst_takes_what_is_free_and_a_queue_that_stays_its_share() {
    let mut memory = reverie(0.5);
    let arrive =
        |memory: &mut Memory, out| memory.arrive((0, out), 1, PACKET, 0) == (true, Signals::default());
    assert!((0..100).all(|_| arrive(&mut memory, 1)) && !arrive(&mut memory, 1));
    let mut left = 0;
    while !arrive(&mut memory, 1) {
        memory.leave((0, 1), 1, PACKET);
        left += 1;
        if left == 1 {
            assert!(!arrive(&mut memory, 1), "its filter says 49500 B");
            assert!(arrive(&mut memory, 2), "that of another port says nothing yet");
            memory.leave((0, 2), 1, PACKET);
        }
    }
    assert_eq!((left, memory.lossless_drops()), (51, 0));
}

/// The pool is full before the filter moves. What is left and free, and the offset: 48 + 2.496 is no more than 52.
#[test]
fn with_filters_a_link_that_fills_the_pool_goes_into_its_headroom_until_its_filter_is_low() {
    let mut memory = reverie(0.5);
    let [pause, none] = [1 << 3, 0].map(|pause| Signals { pause, resume: 0 });
    assert!((0..100).all(|_| memory.arrive((0, 1), 3, PACKET, 0) == (true, none)));
    assert_eq!(memory.arrive((0, 1), 3, PACKET, 0), (true, pause));
    assert!((0..4).all(|_| memory.arrive((0, 2), 3, PACKET, 0) == (true, none)));
    assert_eq!((memory.headroom(0, 3), memory.charged(0, 3)), ((5_000, 5_000), 105_000));
    assert_eq!(memory.arrive((0, 1), 3, PACKET, 0), (false, none));
    assert_eq!(memory.lossless_drops(), 1);
    let mut left = 1;
    while memory.leave((0, 1), 3, PACKET) == none {
        left += 1;
    }
    assert_eq!((left, memory.paused(0)), (5 + 52, 0));
}

/// Without smoothing 59 packets of a link are more than the 40 that are free, those of a new link are none.
#[test]
fn with_filters_a_link_is_paused_by_its_filter_and_no_other_with_it() {
    let mut memory = reverie(0.0);
    (0..60).for_each(|_| _ = memory.arrive((0, 1), 3, PACKET, 0));
    memory.leave((0, 1), 3, PACKET);
    assert_eq!(memory.arrive((1, 1), 3, PACKET, 0), (true, Signals::default()));
    memory.leave((1, 1), 3, PACKET);
    assert_eq!(memory.arrive((0, 1), 3, PACKET, 0), (true, Signals { pause: 1 << 3, resume: 0 }));
    assert_eq!((memory.headroom(0, 3).0, memory.used), (1_000, 59_000));
}
