//! By when flows should be complete.

use crate::narrow::saturated;
use crate::random::Stream;
use crate::spec::{Complaint, Component, Kind, Param, Values, anything, param};
use crate::units::Time;

const FLOOR: Param = param! {
    "floor" = "0us": Kind::Time,
    "The shortest deadline: smaller draws are raised to it.", "packetloom"
};

/// What a scenario can write as `deadlines`.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "deadlines",
        kind: "none",
        doc: "Flows have no deadline.",
        source: "packetloom",
        params: &[],
        check: anything,
    },
    Component {
        section: "deadlines",
        kind: "fixed",
        doc: "Every flow has the same time from its start.",
        source: "packetloom",
        params: &[&[
            param! { required "after": Kind::Time, "From a flow's start to its deadline.", "packetloom" },
        ]],
        check: |values| check_above_zero(values, "after"),
    },
    Component {
        section: "deadlines",
        kind: "uniform",
        doc: "A time from the flow's start, drawn uniformly between two.",
        source: "packetloom",
        params: &[&[
            param! { required "minimum": Kind::Time, "The shortest time.", "packetloom" },
            param! { required "maximum": Kind::Time, "The longest time.", "packetloom" },
            FLOOR,
        ]],
        check: check_uniform,
    },
    Component {
        section: "deadlines",
        kind: "exponential",
        doc: "An exponentially distributed time from the flow's start.",
        source: "packetloom",
        params: &[&[
            param! { required "mean": Kind::Time, "The mean time, before the floor.", "packetloom" },
            FLOOR,
        ]],
        check: |values| check_above_zero(values, "mean"),
    },
];

/// Nothing is there as it starts.
fn check_above_zero(values: &Values, key: &str) -> Result<(), Complaint> {
    match values.time(key) {
        Time::ZERO => {
            Err(Complaint::new(key, "a deadline at the flow's start can't be met; write a time above zero"))
        }
        _ => Ok(()),
    }
}

fn check_uniform(values: &Values) -> Result<(), Complaint> {
    let (minimum, maximum) = (values.time("minimum"), values.time("maximum"));
    if minimum > maximum {
        let message = format!("{maximum} is below the minimum, {minimum}; swap them");
        return Err(Complaint::new("maximum", message));
    }
    check_above_zero(values, "maximum")
}

/// How long flows have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deadlines {
    /// As long as it takes.
    None,
    /// Always the same span.
    Fixed(Time),
    /// Evenly between two spans.
    Uniform {
        /// The shortest.
        minimum: Time,
        /// The longest.
        maximum: Time,
        /// Smaller draws become this.
        floor: Time,
    },
    /// Exponentially distributed spans.
    Exponential {
        /// Their mean, before the floor.
        mean: Time,
        /// Smaller draws become this.
        floor: Time,
    },
}

impl Deadlines {
    /// From a `deadlines` component that was read.
    pub fn build(values: &Values) -> Deadlines {
        match values.kind.as_str() {
            "none" => Deadlines::None,
            "fixed" => Deadlines::Fixed(values.time("after")),
            "uniform" => Deadlines::Uniform {
                minimum: values.time("minimum"),
                maximum: values.time("maximum"),
                floor: values.time("floor"),
            },
            "exponential" => {
                Deadlines::Exponential { mean: values.time("mean"), floor: values.time("floor") }
            }
            other => panic!("no deadlines are called {other}"),
        }
    }

    /// The deadline of a flow that starts at `start`, as a point in time; [`Time::NEVER`] for none.
    pub fn draw(&self, start: Time, stream: &mut Stream) -> Time {
        let span = match *self {
            Deadlines::None => return Time::NEVER,
            Deadlines::Fixed(span) => span,
            Deadlines::Uniform { minimum, maximum, floor } => {
                let width = (maximum - minimum).as_ps() as f64;
                floor.max(minimum + Time(saturated::<u64>((stream.unit() * width).round())))
            }
            Deadlines::Exponential { mean, floor } => {
                floor.max(Time(saturated::<u64>((stream.exponential() * mean.as_ps() as f64).round())))
            }
        };
        start.saturating_add(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const START: Time = Time::from_us(100);

    fn mean_span_us(deadlines: Deadlines) -> f64 {
        let mut stream = Stream::new(3, Purpose::Deadlines, 0);
        let n = 100_000;
        let spans = (0..n).map(|_| deadlines.draw(START, &mut stream).since(START).as_ns_f64() / 1e3);
        spans.sum::<f64>() / f64::from(n)
    }

    #[test]
    fn deadlines_are_points_in_time_after_the_start() {
        let mut stream = Stream::new(3, Purpose::Deadlines, 0);
        assert_eq!(Deadlines::None.draw(START, &mut stream), Time::NEVER);
        assert_eq!(Deadlines::Fixed(Time::from_us(7)).draw(START, &mut stream), Time::from_us(107));
    }

    #[test]
    fn draws_have_their_mean_and_keep_to_the_floor() {
        let (minimum, maximum) = (Time::from_us(10), Time::from_us(30));
        let uniform = mean_span_us(Deadlines::Uniform { minimum, maximum, floor: Time::ZERO });
        assert!((uniform - 20.0).abs() < 0.1, "{uniform}");
        let mean = Time::from_us(50);
        let exponential = mean_span_us(Deadlines::Exponential { mean, floor: Time::ZERO });
        assert!((exponential / 50.0 - 1.0).abs() < 0.015, "{exponential}");
        // E max(X, floor) = floor + mean·exp(−floor/mean).
        let floored = mean_span_us(Deadlines::Exponential { mean, floor: Time::from_us(50) });
        assert!((floored / (50.0 + 50.0 * (-1_f64).exp()) - 1.0).abs() < 0.015, "{floored}");
    }
}
