//! What of a buffer is enough for lossless links, and how long a PAUSE may hold.

use super::{STAR, WIRE_BYTES, incast, is_lossless, pauses, scenario};
use crate::common::{cases, run, write_file};
use packetloom::packet::Kind;
use packetloom::simulation::{Monitor, Simulation};
use packetloom::spec::Complaint;
use packetloom::units::Time;

fn complaint(topology: &str, queue: &str) -> Complaint {
    let case = cases(&scenario(topology, &incast(8, "1MB", 3), queue)).remove(0);
    Simulation::new(case).map(|_| ()).expect_err("it can't be simulated")
}

/// 24 senders fill the pool; then eight more begin, of which nothing was there: they are paused only beyond what each
/// is guaranteed, and by then all of that is headroom.
#[test]
fn who_begins_as_the_pool_is_full_has_headroom_for_what_it_may_have_before_it_is_paused() {
    let late = |nth: u64| if nth > 24 { 30_000 + 7 * (nth - 25) } else { 0 };
    let flows: String = (1..=32).map(|nth| format!("{nth},0,400000,{}\n", late(nth))).collect();
    write_file("late-senders.csv", &format!("src,dst,size_bytes,start_ns\n{flows}"));
    let workload = "[[workload]]\nclass = 3\narrivals = { kind = \"list\", file = \"late-senders.csv\" }\n";
    let rack = STAR.replace("17", "33");
    let toml = scenario(&rack, workload, r#", mmu = "conweave-ns3", buffer = "2000KB""#);
    let outcome = run(&toml.replace("line-rate", "roce"));
    is_lossless(&outcome);
    assert!(outcome.pauses().next().is_some());
    // 2 us at 100 Gb/s, three packets, a frame of 64 B and two packets of 1048 B.
    let short = complaint(&rack, r#", mmu = "conweave-ns3", headroom = "28208B""#);
    let needed = 25_000 + 3 * WIRE_BYTES + 64 + 2 * 1_048;
    assert_eq!(short.key, "scheme.queue.headroom");
    assert!(short.message.contains(&format!("write {needed}B or more")), "{}", short.message);
}

#[test]
fn a_pause_holds_until_it_is_repeated_and_no_longer_than_a_pause_can_say() {
    let slow = STAR.replace("100Gbps", "10Gbps");
    // Half of it is a packet's 838.4 ns and the link's microsecond.
    let short = complaint(&slow, r#", pause_time = "2001ns""#);
    assert_eq!(short.key, "scheme.queue.pause_time");
    assert!(short.message.contains("write 3.677us or more"), "{}", short.message);
    let toml = scenario(&slow, &incast(8, "100KB", 3), r#", buffer = "1MB", pause_time = "3677ns""#);
    let simulation = Simulation::new(cases(&toml).remove(0)).expect("it can be simulated");
    let outcome = simulation.with_audit(true).run(&Monitor::default()).expect("it runs");
    assert_eq!(outcome.violation, None);
    is_lossless(&outcome);
    // 65535 quanta of 512 bit times are 335.5392 us.
    let long = complaint(STAR, r#", pause_time = "336us""#);
    assert_eq!(long.key, "scheme.queue.pause_time");
    assert!(long.message.contains("write 335.539us at most"), "{}", long.message);
    let longest = scenario(STAR, &incast(8, "1MB", 3), r#", pause_time = "335.539us""#);
    assert!(Simulation::new(cases(&longest).remove(0)).is_ok());
    // A link that is longer than any pause.
    let far = STAR.replace("1us", "1ms");
    let refused = complaint(&far, r#", buffer = "4GB", pause_time = "100us""#);
    assert!(refused.message.contains("leave it out"), "{}", refused.message);
}

/// 20 us are 3907 quanta, 20.00384 us, and the longest frame takes 0.73888 us of them.
#[test]
fn a_pause_is_repeated_by_its_own_reminder_only() {
    let toml = scenario(STAR, &incast(8, "1MB", 3), r#", buffer = "2MiB", pause_time = "20us""#)
        .replace("pauses = true", "pauses = true\ncapture = [\"switch0 to host\"]");
    let outcome = run(&toml);
    is_lossless(&outcome);
    let again_after = Time(20_003_840 - 738_880);
    let mut all = 0;
    for host in (1..17).map(|host| format!("host{host}")) {
        let name = format!("switch0 to {host}");
        let capture = outcome.captures.iter().find(|capture| capture.name == name).expect("it is captured");
        let frames = capture.packets.iter().filter(|one| one.kind == Kind::Link).count() as u64;
        let paused = &pauses(&outcome, &host, "switch0")[3].each;
        // A frame may wait for a packet, of 84 ns.
        let lasted = |from: Time, until: Time| until.since(from).as_ps() + 200_000;
        let again: u64 = paused.iter().map(|one| lasted(one.from, one.until) / again_after.as_ps()).sum();
        let once = 2 * paused.len() as u64;
        assert!(frames <= once + again, "{host}: {frames} frames for {once} and {again} repeated");
        all += frames;
    }
    assert!(all > 50, "{all} frames show nothing");
}
