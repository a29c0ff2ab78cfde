//! How large flows are.

use super::cdf::{Cdf, Interpolation, LARGEST_BYTES, Rounding};
use super::library;
use crate::random::Stream;
use crate::spec::Fallback::{Absent, Required, Value as Default};
use crate::spec::{Complaint, Component, Kind, Param, Value, Values};

const POINT: Kind = Kind::List(&Kind::Number(0.0, LARGEST_BYTES));

/// What a scenario can write as `sizes`.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "sizes",
        kind: "cdf",
        doc: "Sizes from an empirical distribution: one that packetloom carries, or points of your own.",
        source: "workloads/README.md",
        params: &[
            Param {
                name: "name",
                kind: Kind::Text,
                default: Absent,
                doc: "A distribution that packetloom carries: \"web-search\", \"data-mining\" or a file of workloads/.",
                source: "packetloom",
            },
            Param {
                name: "points",
                kind: Kind::List(&POINT),
                default: Absent,
                doc: "Your own, instead of a name: pairs [bytes, cumulative probability], the last one ending in 1.",
                source: "packetloom",
            },
            Param {
                name: "interpolation",
                kind: Kind::Choice(&["linear", "step"]),
                default: Absent,
                doc: "What is drawn between points: any size evenly, or the upper point's. \
                      Left out: what the file says, for points linear.",
                source: "packetloom",
            },
            Param {
                name: "rounding",
                kind: Kind::Choice(&["none", "up-to-packets", "to-packets"]),
                default: Absent,
                doc: "Whether a drawn size becomes whole packets, up or to the nearest. \
                      Left out: what the file says, for points none.",
                source: "packetloom",
            },
            Param {
                name: "packet",
                kind: Kind::Bytes,
                default: Default("1460B"),
                doc: "What a packet carries, where `rounding` is to packets.",
                source: "pFabric's ns-2 code",
            },
        ],
        check,
    },
    Component {
        section: "sizes",
        kind: "constant",
        doc: "Every flow has the same size.",
        source: "packetloom",
        params: &[Param {
            name: "size",
            kind: Kind::Bytes,
            default: Required,
            doc: "The size of every flow.",
            source: "packetloom",
        }],
        check,
    },
    Component {
        section: "sizes",
        kind: "uniform",
        doc: "Any whole number of bytes between two sizes, both included, evenly.",
        source: "packetloom",
        params: &[
            Param {
                name: "minimum",
                kind: Kind::Bytes,
                default: Required,
                doc: "The smallest size.",
                source: "packetloom",
            },
            Param {
                name: "maximum",
                kind: Kind::Bytes,
                default: Required,
                doc: "The largest size.",
                source: "packetloom",
            },
        ],
        check,
    },
    Component {
        section: "sizes",
        kind: "exponential",
        doc: "Exponentially distributed sizes, rounded to the nearest byte, at least one.",
        source: "packetloom",
        params: &[Param {
            name: "mean",
            kind: Kind::Bytes,
            default: Required,
            doc: "The mean size.",
            source: "packetloom",
        }],
        check,
    },
    Component {
        section: "sizes",
        kind: "pareto",
        doc: "Pareto distributed sizes, rounded to the nearest byte; with a maximum, the distribution cut off there.",
        source: "packetloom",
        params: &[
            Param {
                name: "shape",
                kind: Kind::Number(0.05, 100.0),
                default: Required,
                doc: "The tail index: the smaller, the heavier the tail. At 1 or below the mean is infinite \
                      unless a maximum is given.",
                source: "packetloom",
            },
            Param {
                name: "minimum",
                kind: Kind::Bytes,
                default: Required,
                doc: "The smallest size.",
                source: "packetloom",
            },
            Param {
                name: "maximum",
                kind: Kind::Bytes,
                default: Absent,
                doc: "The largest size.",
                source: "packetloom",
            },
        ],
        check,
    },
];

fn check(values: &Values) -> Result<(), Complaint> {
    Sizes::build(values).map(drop)
}

/// The distribution of flow sizes. Each draw takes one number from its stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Empirical.
    Cdf(Cdf),
    /// Always the same.
    Constant(u64),
    /// Whole numbers between two, both included.
    Uniform {
        /// The smallest.
        minimum: u64,
        /// The largest.
        maximum: u64,
    },
    /// Exponential with this mean, before rounding.
    Exponential(f64),
    /// Pareto.
    Pareto {
        /// The tail index.
        shape: f64,
        /// The smallest size.
        minimum: f64,
        /// The largest; infinity for none.
        maximum: f64,
    },
}

impl Sizes {
    /// From a `sizes` component that was read.
    ///
    /// # Errors
    /// Where a parameter contradicts another or names an unknown distribution.
    pub fn build(values: &Values) -> Result<Sizes, Complaint> {
        match values.kind.as_str() {
            "cdf" => build_cdf(values).map(Sizes::Cdf),
            "constant" => Ok(Sizes::Constant(positive(values, "size")?)),
            "uniform" => {
                let (minimum, maximum) = (positive(values, "minimum")?, positive(values, "maximum")?);
                not_above(minimum, maximum)?;
                Ok(Sizes::Uniform { minimum, maximum })
            }
            "exponential" => Ok(Sizes::Exponential(positive(values, "mean")? as f64)),
            "pareto" => build_pareto(values),
            other => panic!("no sizes are called {other}"),
        }
    }

    /// Draws a size in bytes; at least 1.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        let whole = |bytes: f64| (bytes.round() as u64).max(1);
        match self {
            Sizes::Cdf(cdf) => cdf.sample(stream),
            Sizes::Constant(size) => *size,
            Sizes::Uniform { minimum, maximum } => {
                let count = (maximum - minimum + 1) as f64;
                (minimum + (stream.unit() * count) as u64).min(*maximum)
            }
            Sizes::Exponential(mean) => whole(mean * stream.exponential()),
            Sizes::Pareto { shape, minimum, maximum } => {
                // The inverse of the distribution; what lies beyond the maximum has the probability `cut`.
                let cut = libm::pow(minimum / maximum, *shape);
                let survival = 1.0 - stream.unit() * (1.0 - cut);
                whole(minimum * libm::pow(survival, -1.0 / shape)).min(LARGEST_BYTES as u64)
            }
        }
    }

    /// The mean size in bytes, rounding included (for Pareto, before its rounding to whole bytes).
    pub fn mean_bytes(&self) -> f64 {
        match *self {
            Sizes::Cdf(ref cdf) => cdf.mean_bytes(),
            Sizes::Constant(size) => size as f64,
            Sizes::Uniform { minimum, maximum } => (minimum + maximum) as f64 / 2.0,
            // The sum over y of P(S > y), where S > y from 1 on means a draw of y + 1/2 or more.
            Sizes::Exponential(mean) => 1.0 + libm::exp(-1.5 / mean) / -libm::expm1(-1.0 / mean),
            Sizes::Pareto { shape, minimum, maximum } => {
                minimum + integral_of_survival(shape, minimum, minimum, maximum)
            }
        }
    }

    /// The mean number of packets a flow takes when each carries `mss` bytes: E⌈S/mss⌉ = Σ_j P(S > j·mss).
    pub fn mean_packets(&self, mss: u64) -> f64 {
        match *self {
            Sizes::Cdf(ref cdf) => cdf.mean_packets(mss),
            Sizes::Constant(size) => size.div_ceil(mss) as f64,
            Sizes::Uniform { minimum, maximum } => {
                // Whole packets of all sizes up to `size`, added up.
                let total = |size: u64| {
                    let (full, rest) = (u128::from(size / mss), u128::from(size % mss));
                    full * (full + 1) / 2 * u128::from(mss) + rest * (full + 1)
                };
                (total(maximum) - total(minimum - 1)) as f64 / (maximum - minimum + 1) as f64
            }
            Sizes::Exponential(mean) => {
                let per_packet = mss as f64 / mean;
                1.0 + libm::exp(-per_packet - 0.5 / mean) / -libm::expm1(-per_packet)
            }
            Sizes::Pareto { shape, minimum, maximum } => pareto_packets(shape, minimum, maximum, mss as f64),
        }
    }

    /// The mean bytes on the wire per flow: E[S + header·⌈S/mss⌉].
    pub fn mean_wire_bytes(&self, mss: u64, header: u64) -> f64 {
        self.mean_bytes() + header as f64 * self.mean_packets(mss)
    }

    /// What it is, in a few words.
    pub fn describe(&self) -> String {
        match self {
            Sizes::Cdf(cdf) => cdf.describe(),
            Sizes::Constant(size) => format!("constant {size} B"),
            Sizes::Uniform { minimum, maximum } => format!("uniform from {minimum} B to {maximum} B"),
            Sizes::Exponential(mean) => format!("exponential, mean {mean} B"),
            Sizes::Pareto { shape, minimum, maximum } if maximum.is_infinite() => {
                format!("Pareto, shape {shape}, from {minimum} B")
            }
            Sizes::Pareto { shape, minimum, maximum } => {
                format!("Pareto, shape {shape}, from {minimum} B to {maximum} B")
            }
        }
    }
}

fn positive(values: &Values, key: &str) -> Result<u64, Complaint> {
    match values.bytes(key) {
        0 => Err(Complaint::new(key, "0 bytes; a flow has at least one: write \"1B\" or more")),
        bytes if bytes as f64 > LARGEST_BYTES => {
            Err(Complaint::new(key, "no flow is larger than 2^53 bytes (9 PB)"))
        }
        bytes => Ok(bytes),
    }
}

fn not_above(minimum: u64, maximum: u64) -> Result<(), Complaint> {
    if minimum > maximum {
        let message = format!("{maximum} B is below the minimum, {minimum} B; swap them");
        return Err(Complaint::new("maximum", message));
    }
    Ok(())
}

fn build_pareto(values: &Values) -> Result<Sizes, Complaint> {
    let (shape, minimum) = (values.number("shape"), positive(values, "minimum")?);
    let maximum = match values.optional_bytes("maximum") {
        Some(maximum) if maximum <= minimum => {
            let message = format!("{maximum} B is not above the minimum, {minimum} B");
            return Err(Complaint::new("maximum", message));
        }
        Some(_) => positive(values, "maximum")? as f64,
        None if shape <= 1.0 => {
            let message = "at 1 or below the mean is infinite; write a larger shape or give a maximum";
            return Err(Complaint::new("shape", message));
        }
        None => f64::INFINITY,
    };
    Ok(Sizes::Pareto { shape, minimum: minimum as f64, maximum })
}

fn build_cdf(values: &Values) -> Result<Cdf, Complaint> {
    let mut cdf = match (values.optional_text("name"), values.optional_list("points")) {
        (Some(name), None) => named(&name)?,
        (None, Some(points)) => from_points(&points)?,
        (Some(_), Some(_)) => {
            return Err(Complaint::new("points", "a name is given too; write one of the two"));
        }
        (None, None) => {
            return Err(Complaint::new("name", "write a name or `points`; `web-search` is a name"));
        }
    };
    let packet = values.bytes("packet");
    if packet == 0 {
        return Err(Complaint::new("packet", "0 bytes; a packet carries at least one: write \"1460B\""));
    }
    match values.optional_text("interpolation").as_deref() {
        Some("linear") => cdf.interpolation = Interpolation::Linear,
        Some("step") => cdf.interpolation = Interpolation::Step,
        _ => {}
    }
    match values.optional_text("rounding").as_deref() {
        Some("none") => cdf.rounding = Rounding::None,
        Some("up-to-packets") => cdf.rounding = Rounding::UpToPackets(packet),
        Some("to-packets") => cdf.rounding = Rounding::ToPackets(packet),
        _ => {}
    }
    Ok(cdf)
}

fn named(name: &str) -> Result<Cdf, Complaint> {
    let Some(text) = library::find(name) else {
        let known: Vec<&str> = library::names().collect();
        let message = format!("no distribution is called `{name}`; there are {}", known.join(", "));
        return Err(Complaint::new("name", message));
    };
    Cdf::read(text)
        .map_err(|error| Complaint::new("name", format!("{name}:{}: {}", error.line, error.message)))
}

fn from_points(points: &[Value]) -> Result<Cdf, Complaint> {
    let pair = |(index, point): (usize, &Value)| match point {
        Value::List(pair) => match pair.as_slice() {
            [Value::Number(bytes), Value::Number(cumulative)] => Ok((*bytes, *cumulative)),
            _ => {
                let message = format!("point {} is not a pair; write [bytes, probability]", index + 1);
                Err(Complaint::new("points", message))
            }
        },
        other => panic!("points hold {other:?}"),
    };
    let points = points.iter().enumerate().map(pair).collect::<Result<Vec<_>, _>>()?;
    Cdf::from_points(points, Interpolation::Linear, Rounding::None)
        .map_err(|error| Complaint::new("points", format!("point {}: {}", error.line, error.message)))
}

/// ∫ P(X > x) dx of a Pareto distribution, from `from` (at or above its minimum) to its maximum.
fn integral_of_survival(shape: f64, minimum: f64, from: f64, maximum: f64) -> f64 {
    let cut = libm::pow(minimum / maximum, shape);
    // ∫ (minimum/x)^shape dx
    let power = if shape == 1.0 {
        minimum * libm::log(maximum / from)
    } else {
        let to = if maximum.is_infinite() { 0.0 } else { libm::pow(minimum / maximum, shape) * maximum };
        (libm::pow(minimum / from, shape) * from - to) / (shape - 1.0)
    };
    if maximum.is_infinite() { power } else { (power - cut * (maximum - from)) / (1.0 - cut) }
}

/// E⌈S/mss⌉ of a Pareto distribution: the first million terms one by one, the rest by the trapezoid rule's
/// integral (Euler-Maclaurin), whose error there is far below any sampling error.
fn pareto_packets(shape: f64, minimum: f64, maximum: f64, mss: f64) -> f64 {
    const TERMS: u32 = 1_000_000;
    let cut = libm::pow(minimum / maximum, shape);
    let survival = |bytes: f64| match bytes {
        bytes if bytes <= minimum => 1.0,
        bytes if bytes >= maximum => 0.0,
        bytes => (libm::pow(minimum / bytes, shape) - cut) / (1.0 - cut),
    };
    let mut sum = 1.0;
    for j in 1..TERMS {
        // S > j·mss means a draw of j·mss + 1/2 or more.
        let term = survival(f64::from(j) * mss + 0.5);
        if term == 0.0 {
            return sum;
        }
        sum += term;
    }
    let from = f64::from(TERMS) * mss + 0.5;
    if from >= maximum {
        return sum;
    }
    if from <= minimum {
        // A flow has more than a million packets at least: its bytes count them well enough.
        let mean = minimum + integral_of_survival(shape, minimum, minimum, maximum);
        return mean / mss + 0.5;
    }
    sum + survival(from) / 2.0 + integral_of_survival(shape, minimum, from, maximum) / mss
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use crate::workload::testing::values;

    const DRAWS: u32 = 400_000;

    fn bytes(size: u64) -> Value {
        Value::Bytes(size)
    }

    /// The means of (bytes, packets of `mss`) of many draws.
    fn drawn_means(sizes: &Sizes, mss: u64) -> (f64, f64) {
        let mut stream = Stream::new(11, Purpose::Sizes, 0);
        let (mut bytes, mut packets) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let size = sizes.sample(&mut stream);
            assert!(size >= 1);
            bytes += size as f64;
            packets += size.div_ceil(mss) as f64;
        }
        (bytes / f64::from(DRAWS), packets / f64::from(DRAWS))
    }

    fn assert_means_match(sizes: &Sizes, mss: u64, tolerance: f64) {
        let (bytes, packets) = drawn_means(sizes, mss);
        assert!(
            (bytes / sizes.mean_bytes() - 1.0).abs() < tolerance,
            "{sizes:?}: {bytes} {}",
            sizes.mean_bytes()
        );
        let exact = sizes.mean_packets(mss);
        assert!((packets / exact - 1.0).abs() < tolerance, "{sizes:?}: {packets} {exact}");
    }

    #[test]
    fn exact_means_agree_with_draws() {
        assert_means_match(&Sizes::Constant(2921), 1460, 1e-9);
        assert_means_match(&Sizes::Uniform { minimum: 1, maximum: 7 }, 3, 0.005);
        assert_means_match(&Sizes::Uniform { minimum: 1000, maximum: 5000 }, 1460, 0.005);
        assert_means_match(&Sizes::Exponential(2.0), 3, 0.01);
        assert_means_match(&Sizes::Exponential(46_000.0), 1460, 0.01);
        assert_means_match(
            &Sizes::Pareto { shape: 3.0, minimum: 1000.0, maximum: f64::INFINITY },
            1460,
            0.01,
        );
        assert_means_match(&Sizes::Pareto { shape: 1.0, minimum: 1000.0, maximum: 1e6 }, 1460, 0.015);
        assert_means_match(&Sizes::Pareto { shape: 0.5, minimum: 2000.0, maximum: 1e5 }, 1000, 0.01);
    }

    #[test]
    fn means_computed_by_hand() {
        let uniform = Sizes::Uniform { minimum: 1, maximum: 4 };
        assert_eq!((uniform.mean_bytes(), uniform.mean_packets(2)), (2.5, 1.5));
        assert_eq!(Sizes::Constant(1461).mean_wire_bytes(1460, 40), 1541.0);
        let pareto = Sizes::Pareto { shape: 2.0, minimum: 100.0, maximum: f64::INFINITY };
        assert_eq!(pareto.mean_bytes(), 200.0);
    }

    #[test]
    fn the_tail_of_a_pareto_sum_joins_on() {
        // With packets of one byte the count is the size, and half of the mean lies beyond the summed terms.
        let pareto = Sizes::Pareto { shape: 1.1, minimum: 1000.0, maximum: f64::INFINITY };
        assert!(
            (pareto.mean_packets(1) / pareto.mean_bytes() - 1.0).abs() < 1e-4,
            "{}",
            pareto.mean_packets(1)
        );
        let large = Sizes::Pareto { shape: 1.1, minimum: 4e6, maximum: f64::INFINITY };
        assert!((large.mean_packets(1) / large.mean_bytes() - 1.0).abs() < 1e-6, "{}", large.mean_packets(1));
    }

    #[test]
    fn a_distribution_is_named_or_given_by_points() {
        let Ok(Sizes::Cdf(named)) =
            Sizes::build(&values("sizes", "cdf", [("name", Value::Text("web-search".into()))]))
        else {
            panic!("web-search is a name")
        };
        assert_eq!(named.rounding, Rounding::UpToPackets(1460));
        let pair = |bytes, share| Value::List(vec![Value::Number(bytes), Value::Number(share)]);
        let points = Value::List(vec![pair(100.0, 0.5), pair(300.0, 1.0)]);
        let given =
            values("sizes", "cdf", [("points", points), ("interpolation", Value::Text("step".into()))]);
        assert_eq!(Sizes::build(&given).unwrap().mean_bytes(), 200.0);
    }

    #[test]
    fn contradictions_are_named() {
        let text = |word: &str| Value::Text(word.to_owned());
        let falling = Value::List(vec![Value::List(vec![Value::Number(5.0), Value::Number(0.5)])]);
        for (values, key, part) in [
            (values("sizes", "cdf", []), "name", "write a name or `points`"),
            (
                values("sizes", "cdf", [("name", text("web_search"))]),
                "name",
                "there are data-mining, web-search",
            ),
            (
                values("sizes", "cdf", [("points", falling)]),
                "points",
                "point 1: the cumulative probability ends at 0.5",
            ),
            (values("sizes", "cdf", [("points", Value::List(vec![]))]), "points", "no points"),
            (values("sizes", "constant", [("size", bytes(0))]), "size", "at least one"),
            (values("sizes", "uniform", [("minimum", bytes(9)), ("maximum", bytes(8))]), "maximum", "swap"),
            (
                values("sizes", "pareto", [("shape", Value::Number(1.0)), ("minimum", bytes(9))]),
                "shape",
                "mean is infinite",
            ),
        ] {
            let complaint = Sizes::build(&values).unwrap_err();
            assert_eq!(complaint.key, key);
            assert!(complaint.message.contains(part), "{}", complaint.message);
        }
    }
}
