//! How long packets are: the distributions of To sync or not to sync §III-C.

use crate::narrow::{narrow, saturated};
use crate::random::{Purpose, Stream};
use crate::spec::{self, Component, Kind, Registered, Values, anything, param};

/// A full packet at the IP layer.
pub const FULL_BYTES: u16 = 1500;
/// A packet that carries nothing: IPv4 and TCP headers.
const BARE_BYTES: u16 = 40;

/// Length and cumulative share; lengths between two points are drawn evenly. Ours, drawn so that what the paper
/// takes from Roy et al., "Inside the social network's (datacenter) network" (SIGCOMM 2015), holds: the median is
/// 150 B and 15 % are 1500 B. The mean is 413 B.
const FACEBOOK_WEB: &[(u16, f64)] = &[
    (40, 0.05),
    (64, 0.20),
    (100, 0.35),
    (150, 0.50),
    (200, 0.62),
    (300, 0.70),
    (500, 0.76),
    (1000, 0.82),
    (1499, 0.85),
    (1500, 1.00),
];

type Build = fn(&Values) -> Lengths;

const fn plain(
    kind: &'static str,
    doc: &'static str,
    source: &'static str,
    factory: Build,
) -> Registered<Build> {
    Registered {
        component: Component { section: "lengths", kind, doc, source, params: &[], check: anything },
        factory,
    }
}

const BIMODAL: Registered<Build> = plain(
    "bimodal",
    "Packets of 40 B or 1500 B, drawn one by one.",
    "SYN and ASY §III-C: Hadoop",
    |values| Lengths::Bimodal(values.number("short")),
);

const LENGTHS: &[Registered<Build>] = &[
    plain(
        "full",
        "Every packet has 1500 B, except a flow's last.",
        "SYN and ASY §III-C: bulk data transfers",
        |_| Lengths::Full,
    ),
    Registered {
        component: Component {
            params: &[&[param! {
                "short" = "0.4": Kind::Number(0.0, 1.0),
                "The share of packets of 40 B.", "SYN and ASY §III-C"
            }]],
            ..BIMODAL.component
        },
        ..BIMODAL
    },
    plain(
        "facebook-web",
        "A Facebook web server's packets: median 150 B, 15 % of 1500 B.",
        "packetloom: a curve with the median and the share of full packets of Roy et al., SIGCOMM 2015; SYN and ASY §III-C",
        |_| Lengths::FacebookWeb,
    ),
    plain("alternating", "1500 B and 40 B in turn.", "SYN and ASY §III-F: an adversarial pattern", |_| {
        Lengths::Alternating
    }),
];

/// What a scenario can write as `lengths`.
pub const COMPONENTS: &[Component] = &spec::components::<_, { LENGTHS.len() }>(LENGTHS);

/// A distribution of packet lengths.
#[derive(Clone, Copy, Debug)]
pub enum Lengths {
    /// All of 1500 B.
    Full,
    /// 40 B with this probability, else 1500 B.
    Bimodal(f64),
    /// Facebook's.
    FacebookWeb,
    /// 1500 B and 40 B in turn.
    Alternating,
}

impl Lengths {
    /// From a component that was read.
    pub fn build(values: &Values) -> Lengths {
        spec::factory(LENGTHS, &values.kind)(values)
    }

    /// Cuts the flow `flow` of so many bytes into packets, appended to `packets`; the last has what is left.
    pub fn cut(self, flow: u32, size_bytes: u64, seed: u64, packets: &mut Vec<u16>) {
        let mut stream = Stream::new(seed, Purpose::PacketLengths, flow.into());
        let mut left = size_bytes;
        let mut full_next = true;
        while left > 0 {
            let length = match self {
                Lengths::Full => FULL_BYTES,
                Lengths::Bimodal(short) if stream.unit() < short => BARE_BYTES,
                Lengths::Bimodal(_) => FULL_BYTES,
                Lengths::FacebookWeb => facebook_web(stream.unit()),
                Lengths::Alternating if full_next => FULL_BYTES,
                Lengths::Alternating => BARE_BYTES,
            };
            full_next = !full_next;
            let length = left.min(length.into());
            packets.push(narrow::<u16>(length));
            left -= length;
        }
    }
}

fn facebook_web(share: f64) -> u16 {
    let upper = FACEBOOK_WEB.partition_point(|point| point.1 <= share).min(FACEBOOK_WEB.len() - 1);
    let (length, end) = FACEBOOK_WEB[upper];
    if upper == 0 {
        return length;
    }
    let (before, start) = FACEBOOK_WEB[upper - 1];
    before + saturated::<u16>((f64::from(length - before) * (share - start) / (end - start)).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_median(lengths: Lengths) -> (f64, u16) {
        let mut packets = Vec::new();
        lengths.cut(1, 200_000_000, 1, &mut packets);
        assert_eq!(packets.iter().map(|&bytes| u64::from(bytes)).sum::<u64>(), 200_000_000);
        let mean = 2e8 / packets.len() as f64;
        packets.sort_unstable();
        (mean, packets[packets.len() / 2])
    }

    #[test]
    fn lengths_are_distributed_as_stated_and_add_up_to_the_flow() {
        assert_eq!(mean_and_median(Lengths::Full).1, 1500);
        let (bimodal, _) = mean_and_median(Lengths::Bimodal(0.4));
        assert!((bimodal - 916.0).abs() < 5.0, "{bimodal}");
        let (alternating, _) = mean_and_median(Lengths::Alternating);
        assert!((alternating - 770.0).abs() < 1.0, "{alternating}");
        let (web, median) = mean_and_median(Lengths::FacebookWeb);
        assert!((web - 413.0).abs() < 6.0, "{web}");
        assert!((148..=152).contains(&median), "{median}");
    }
}
