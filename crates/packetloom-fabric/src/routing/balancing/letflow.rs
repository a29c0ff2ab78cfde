//! LetFlow (NSDI 2017): each flowlet takes a way drawn at random; what is congested ends flowlets sooner, so that
//! load moves away from it by itself.

use super::super::{Chooser, Routing, ns3, plain_ecmp};
use super::{Actions, Balancer, Flowlets, Look, Pass, Passing, Tag, Ways, flowlets};
use crate::random::Stream;
use crate::spec::{Component, Kind, Param, Registered, Values, param};

/// The gap between flowlets.
pub(super) const GAP: Param = param! {
    "flowlet_gap" = "100us": Kind::Time,
    "A silence longer than this ends a flowlet.",
    "LetFlow §5 and ConWeave's ns-3 simulator: 100 us; CONGA §3.2: 500 us"
};

/// The routing.
pub const ROUTING: Registered<Routing> = Registered {
    component: Component {
        section: "routing",
        kind: "letflow",
        doc: "LetFlow: at every switch each flowlet takes a next hop drawn at random.",
        source: "LetFlow, NSDI 2017, §4",
        params: &[
            &[
                GAP,
                flowlets::KEY,
                param! {
                    "first" = "ecmp": Kind::Choice(&["ecmp", "random"]),
                    "Which next hop a flow's first flowlet takes: the one of per-flow ECMP, so that a flow without gaps is as under ECMP; or one drawn at random.",
                    "packetloom; LetFlow §4 and ConWeave's ns-3 simulator: random"
                },
            ],
            ns3::PARAMS,
        ],
        check: flowlets::check,
    },
    factory: Routing {
        balancer: Some(|values, home| {
            Box::new(LetFlow {
                flowlets: Flowlets::of(values, &home),
                is_hashed_first: values.text("first") == "ecmp",
                random: home.random,
            })
        }),
        settable: &["flowlet_gap"],
        ..Routing::by_switches(Chooser::Balancer, plain_ecmp)
    },
};

struct LetFlow {
    /// The port of each.
    flowlets: Flowlets<u32>,
    is_hashed_first: bool,
    random: Stream,
}

impl Balancer for LetFlow {
    fn set(&mut self, values: &Values) {
        self.flowlets.set_gap(values.time("flowlet_gap"));
    }

    fn pass(
        &mut self,
        packet: &Passing,
        _: &mut Tag,
        ways: Ways<'_>,
        _: &mut dyn Look,
        _: &mut Actions,
    ) -> Pass {
        if ways.is_only() {
            return Pass::By(ways.port(0));
        }
        let port = match self.flowlets.way(packet) {
            Ok(port) if ways.contain(port) => return Pass::By(port),
            Err(None) if self.is_hashed_first => packet.ecmp,
            _ => ways.port(self.random.below(ways.count())),
        };
        self.flowlets.set(packet, port);
        Pass::By(port)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Queues, passing};
    use super::*;
    use crate::random::Purpose;
    use crate::units::Time;

    /// The ports that packets of a flow take, so many microseconds apart.
    fn ports(gap_us: u64, apart_us: u64, packets: u64) -> Vec<u32> {
        let random = Stream::new(1, Purpose::Paths, 0);
        let mut letflow =
            LetFlow { flowlets: Flowlets::new(Time::from_us(gap_us)), is_hashed_first: true, random };
        let mut port = |nth| {
            let packet = Passing { now: Time::from_us(nth * apart_us), ecmp: 5, ..passing(1) };
            let ways = Ways::Range(4, 4);
            match letflow.pass(&packet, &mut Tag::default(), ways, &mut Queues(&[]), &mut Actions::default())
            {
                Pass::By(port) => port,
                other => panic!("{other:?}"),
            }
        };
        (0..packets).map(&mut port).collect()
    }

    #[test]
    fn a_flow_without_gaps_keeps_to_the_way_of_ecmp() {
        assert_eq!(ports(100, 100, 50), [5; 50]);
    }

    #[test]
    fn without_any_gap_each_packet_takes_a_random_way() {
        let ports = ports(0, 1, 4_000);
        let counts = [4, 5, 6, 7].map(|port| ports.iter().filter(|&&other| other == port).count());
        // Five standard deviations of 1000 are 137.
        assert!(counts.iter().all(|&count| count.abs_diff(1_000) < 137), "{counts:?}");
    }
}
