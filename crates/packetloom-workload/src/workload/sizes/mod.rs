//! How large flows are.

mod components;
mod pareto;

pub use components::COMPONENTS;
pub use pareto::Pareto;

use super::cdf::{Cdf, Interpolation, LARGEST_BYTES, Rounding};
use super::library;
use crate::narrow::saturated;
use crate::random::Stream;
use crate::spec::{Complaint, Value, Values};

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
    /// Pareto, rounded to the nearest byte.
    Pareto(Pareto),
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

    /// The same, but of a distribution without an end no draw is beyond these bytes. Of a tail that heavy no run sees
    /// the rest.
    #[must_use]
    pub fn ending_at(self, bytes: u64) -> Sizes {
        match self {
            Sizes::Pareto(pareto) if pareto.maximum.is_infinite() => {
                Sizes::Pareto(Pareto { most_bytes: pareto.most_bytes.min(bytes), ..pareto })
            }
            other => other,
        }
    }

    /// The largest size that may be drawn.
    pub fn largest(&self) -> u64 {
        match *self {
            // What a draw of 1 - 2^-53 maps to, the largest below 1.
            Sizes::Exponential(mean) => whole(mean * 53.0 * std::f64::consts::LN_2),
            Sizes::Pareto(ref pareto) => {
                saturated::<u64>(pareto.maximum).min(pareto.most_bytes).max(saturated::<u64>(pareto.minimum))
            }
            _ => self.at(1.0 - f64::EPSILON / 2.0),
        }
    }

    /// Draws a size in bytes; at least 1.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        match self {
            Sizes::Constant(size) => *size,
            Sizes::Exponential(mean) => whole(mean * stream.exponential()),
            _ => self.at(stream.unit()),
        }
    }

    /// The size that a draw of `u` from [0, 1) maps to.
    pub fn at(&self, u: f64) -> u64 {
        match self {
            Sizes::Cdf(cdf) => cdf.size_at(u),
            Sizes::Constant(size) => *size,
            Sizes::Uniform { minimum, maximum } => {
                let count = (maximum - minimum + 1) as f64;
                (minimum + saturated::<u64>(u * count)).min(*maximum)
            }
            Sizes::Exponential(mean) => whole(-mean * libm::log1p(-u)),
            Sizes::Pareto(pareto) => whole(pareto.at(u)).min(pareto.most_bytes),
        }
    }

    /// The only sizes there are, each with its probability, if they are few.
    pub fn steps(&self) -> Option<Vec<(u64, f64)>> {
        match self {
            Sizes::Cdf(cdf) => cdf.steps(),
            Sizes::Constant(size) => Some(vec![(*size, 1.0)]),
            _ => None,
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
            Sizes::Pareto(ref pareto) => pareto.mean(),
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
            Sizes::Pareto(ref pareto) => pareto.mean_packets(mss as f64),
        }
    }

    /// The mean bytes on the wire per flow: E[S + header·⌈S/mss⌉].
    pub fn mean_wire_bytes(&self, mss: u64, header: u64) -> f64 {
        self.mean_bytes() + header as f64 * self.mean_packets(mss)
    }

    /// A short description.
    pub fn describe(&self) -> String {
        match self {
            Sizes::Cdf(cdf) => cdf.describe(),
            Sizes::Constant(size) => format!("constant {size} B"),
            Sizes::Uniform { minimum, maximum } => format!("uniform from {minimum} B to {maximum} B"),
            Sizes::Exponential(mean) => format!("exponential, mean {mean} B"),
            Sizes::Pareto(pareto) => pareto.describe(),
        }
    }
}

fn whole(bytes: f64) -> u64 {
    saturated::<u64>(bytes.round()).max(1)
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
    let most_bytes = saturated::<u64>(LARGEST_BYTES);
    Ok(Sizes::Pareto(Pareto { shape, minimum: minimum as f64, maximum, most_bytes }))
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

#[cfg(test)]
mod tests;
