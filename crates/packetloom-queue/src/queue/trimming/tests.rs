//! A port that trims, without an engine.

use super::*;
use crate::packet::Ecn;
use crate::queue::testing::TestBuffer;
use crate::random::Purpose;
use crate::spec::Value;

fn rules(capacity: u64, headers: u64, by_coin: bool, headers_per_data: u64) -> Rules {
    Rules {
        capacity: Limit::Packets(capacity),
        count_service: false,
        header_capacity: Limit::Packets(headers),
        by_coin,
        trims: true,
        trim_to_bytes: 64,
        return_to_sender: false,
        headers_per_data,
        marking: Marking::Never,
        thresholds: None,
        marks_last_hop: true,
    }
}

fn queue(capacity: u64, headers: u64, by_coin: bool, headers_per_data: u64) -> TestBuffer<()> {
    under(rules(capacity, headers, by_coin, headers_per_data))
}

fn under(rules: Rules) -> TestBuffer<()> {
    TestBuffer::new(Buffer::Trimming(Trimming::under(rules)))
}

fn packet(flow: u32, kind: Kind) -> Packet<()> {
    let size_bytes = if kind == Kind::Data { 9_064 } else { 64 };
    Packet { flow, kind, size_bytes, ..Packet::default() }
}

fn stream() -> Stream {
    Stream::new(1, Purpose::Queue, 0)
}

#[test]
fn data_beyond_the_capacity_is_trimmed_on_arrival_and_overtakes() {
    let mut queue = queue(2, 8, false, NO_END);
    let mut random = stream();
    for flow in 0..3 {
        let counts = queue.put(packet(flow, Kind::Data), 9_064, &mut random);
        assert_eq!(counts, Counts { trims: u64::from(flow == 2), ..Counts::default() });
    }
    assert_eq!(queue.queued(), Occupancy { bytes: 2 * 9_064 + 64, packets: 3 });
    let order: Vec<_> =
        std::iter::from_fn(|| queue.take(&mut random)).map(|p| (p.flow, p.kind, p.size_bytes)).collect();
    assert_eq!(order, [(2, Kind::Trimmed, 64), (0, Kind::Data, 9_064), (1, Kind::Data, 9_064)]);
    assert_eq!(queue.queued(), Occupancy::default());
}

#[test]
fn what_is_in_service_takes_room_if_it_counts_and_is_data() {
    for (counts, serving_bytes, trims) in [(false, 9_064, 0), (true, 9_064, 1), (true, 0, 0)] {
        let mut queue = under(Rules { count_service: counts, ..rules(1, 8, false, NO_END) });
        assert_eq!(queue.put(packet(0, Kind::Data), serving_bytes, &mut stream()).trims, trims);
    }
}

#[test]
fn a_coin_trims_the_arrival_or_the_tail_and_each_half_of_the_time() {
    let mut random = stream();
    let mut tails = 0;
    for _ in 0..10_000 {
        let mut queue = queue(2, 8, true, NO_END);
        for flow in 0..3 {
            queue.put(packet(flow, Kind::Data), 0, &mut random);
        }
        let flows: Vec<u32> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| p.flow).collect();
        match flows[..] {
            [1, 0, 2] => tails += 1,
            ref other => assert_eq!(other, [2, 0, 1]),
        }
    }
    assert!((4_800..5_200).contains(&tails), "{tails} of 10000");
}

#[test]
fn a_tail_that_would_not_make_room_is_spared() {
    let mut queue = under(Rules { capacity: Limit::Bytes(9_500), ..rules(1, 8, true, NO_END) });
    let mut random = stream();
    queue.put(packet(0, Kind::Data), 0, &mut random);
    queue.put(Packet { size_bytes: 400, ..packet(1, Kind::Data) }, 0, &mut random);
    for flow in 2..50 {
        queue.put(packet(flow, Kind::Data), 0, &mut random);
    }
    let data = queue.waiting().into_iter().filter(|packet| packet.kind == Kind::Data);
    assert_eq!(data.map(|packet| packet.flow).collect::<Vec<_>>(), [0, 1]);
}

fn to_host(is_host: bool) -> Site {
    let rate = crate::units::Rate::from_gbps(100);
    let far_links = (!is_host).then_some(4);
    Site {
        is_switch: true,
        rate,
        host_rate: rate,
        framing_bytes: 0,
        hop_rtt: crate::units::Time::ZERO,
        logs_pauses: false,
        far_links,
    }
}

/// How many of so many data packets, all there from the start, are marked as they leave.
fn marked(rules: Rules, packets: u32, is_host: bool) -> Vec<bool> {
    let mut queue = Trimming::under(rules);
    queue.place(to_host(is_host));
    let mut queue = TestBuffer::<()>::new(Buffer::Trimming(queue));
    let mut random = stream();
    for flow in 0..packets {
        queue.put(Packet { ecn: Ecn::Ect0, ..packet(flow, Kind::Data) }, 0, &mut random);
    }
    std::iter::from_fn(|| queue.take(&mut random)).map(|packet| packet.congestion_experienced).collect()
}

#[test]
fn marks_are_made_on_leaving_by_what_waited() {
    let sharp =
        |bytes| Rules { marking: Marking::between(bytes, bytes, 1.0), ..rules(100, 8, false, NO_END) };
    // Five wait, then four and so on: above three packets' bytes, two are marked.
    assert_eq!(marked(sharp(3 * 9_064), 5, false), [true, true, false, false, false]);
    assert_eq!(marked(sharp(9_063), 1, false), [true]);
    assert_eq!(marked(Rules { marks_last_hop: false, ..sharp(0) }, 5, true), [false; 5]);
    assert_eq!(marked(Rules { marks_last_hop: false, ..sharp(0) }, 5, false), [true; 5]);
}

#[test]
fn thresholds_by_rate_are_four_times_as_high_at_a_link_four_times_as_fast() {
    let marked_first = |by_rate: bool, rate: u64| {
        let entries = [
            ("ecn_min", Value::Bytes(20_000)),
            ("ecn_max", Value::Bytes(20_000)),
            ("ecn_by_rate", Value::Flag(by_rate)),
        ];
        let entries = entries.map(|(name, value)| (name.to_owned(), value)).into();
        let thresholds = Thresholds::of(&Values { kind: "ndp".to_owned(), entries });
        let site = Site { rate: crate::units::Rate::from_gbps(rate), ..to_host(false) };
        let mut queue = Trimming::under(Rules {
            marking: Marking::between(20_000, 20_000, 1.0),
            thresholds: thresholds.filter(|_| by_rate),
            ..rules(100, 8, false, NO_END)
        });
        queue.place(site);
        let mut queue = TestBuffer::<()>::new(Buffer::Trimming(queue));
        let mut random = stream();
        for flow in 0..20 {
            queue.put(Packet { ecn: Ecn::Ect0, ..packet(flow, Kind::Data) }, 0, &mut random);
        }
        let left = std::iter::from_fn(|| queue.take(&mut random));
        left.take_while(|packet| packet.congestion_experienced).count()
    };
    // 20 wait, 9064 B each: 20 KB are two of them, 80 KB are eight.
    let marked = [(false, 100), (false, 400), (true, 100), (true, 400)].map(|(by, at)| marked_first(by, at));
    assert_eq!(marked, [18, 18, 18, 12]);
}

#[test]
fn between_the_thresholds_marks_rise_from_none_to_all() {
    let marking = Marking::between(0, 1_000 * 9_064, 1.0);
    let marked = marked(Rules { marking, ..rules(1_000, 8, false, NO_END) }, 1_000, false);
    // The sum of q / 1000 over q = 1..1000 is 500.5; five standard deviations are 65.
    let count = marked.iter().filter(|&&marked| marked).count();
    assert!((435..566).contains(&count), "{count}");
    let [first, last] = [&marked[..100], &marked[900..]].map(|part| part.iter().filter(|&&m| m).count());
    assert!(first > 85 && last < 15, "{first}, {last}");
}

#[test]
fn without_trimming_what_does_not_fit_is_dropped() {
    let mut queue = under(Rules { trims: false, ..rules(2, 8, true, NO_END) });
    let mut random = stream();
    let drops: u64 = (0..20).map(|flow| queue.put(packet(flow, Kind::Data), 9_064, &mut random).drops).sum();
    let left: Vec<_> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| (p.flow, p.kind)).collect();
    assert_eq!((drops, left.len(), left[0]), (18, 2, (0, Kind::Data)));
}

#[test]
fn a_header_says_whether_it_was_trimmed_on_the_last_hop() {
    for is_host in [false, true] {
        let mut queue = Trimming::under(rules(0, 8, false, NO_END));
        queue.place(to_host(is_host));
        let mut queue = TestBuffer::<()>::new(Buffer::Trimming(queue));
        let mut random = stream();
        queue.put(Packet { ecn: Ecn::Ect0, ..packet(1, Kind::Data) }, 9_064, &mut random);
        assert_eq!(queue.take(&mut random).map(|header| header.was_trimmed_last()), Some(is_host));
    }
}

#[test]
fn headers_beyond_their_capacity_are_dropped() {
    let mut queue = queue(0, 2, true, NO_END);
    let mut random = stream();
    let all = [Kind::Data, Kind::Ack, Kind::Data, Kind::Control]
        .map(|kind| queue.put(packet(0, kind), 0, &mut random));
    assert_eq!(all.map(|counts| (counts.trims, counts.drops)), [(1, 0), (0, 0), (1, 1), (0, 1)]);
}

#[test]
fn a_data_packets_header_beyond_the_capacity_turns_round_once() {
    let mut queue = under(Rules { return_to_sender: true, ..rules(0, 1, true, NO_END) });
    let mut random = stream();
    let sent = Packet { src: 3, dst: 5, ..packet(7, Kind::Data) };
    assert_eq!(queue.put(sent, 0, &mut random), Counts { trims: 1, ..Counts::default() });
    assert_eq!(queue.put(sent, 0, &mut random), Counts { trims: 1, returns: 1, ..Counts::default() });
    let back = queue.take_returned().expect("a header on its way back");
    assert_eq!((back.kind, back.src, back.dst, back.size_bytes), (Kind::Returned, 5, 3, 64));
    assert!(queue.take_returned().is_none());
    for dropped in [back, packet(7, Kind::Ack)] {
        assert_eq!(queue.put(dropped, 0, &mut random), Counts { drops: 1, ..Counts::default() });
    }
}

#[test]
fn weighted_service_sends_so_many_headers_for_each_data_packet() {
    let mut queue = queue(8, 100, false, 10);
    let mut random = stream();
    for flow in 0..40 {
        queue.put(packet(flow, Kind::Ack), 0, &mut random);
    }
    for flow in 0..3 {
        queue.put(packet(flow, Kind::Data), 0, &mut random);
    }
    let kinds: Vec<Kind> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| p.kind).collect();
    let places: Vec<usize> = (0..43).filter(|&place| kinds[place] == Kind::Data).collect();
    assert_eq!(places, [10, 21, 32]);
}
