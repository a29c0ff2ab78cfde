//! D2TCP (Vamanan, Hasan and Vijaykumar, SIGCOMM 2012): DCTCP whose flows give way by how near their deadlines are.

use super::marked_share::{self, MarkedShare, ONE};
use super::windowed::{Acked, Congestion, Defaults, Reacts, Window, Windowed, check, core, default_of};
use crate::flow::Flow;
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Values, param};
use crate::units::Time;

/// D2TCP.
pub type D2tcp = Windowed<D2tcpControl>;

/// D2TCP's sender.
#[derive(Clone, Copy, Debug)]
pub struct D2tcpControl {
    marks: MarkedShare,
    mss_bytes: u64,
    deadline: Time,
    packets: u32,
    least: f64,
    greatest: f64,
}

impl Congestion for D2tcpControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "d2tcp",
        doc: "D2TCP: DCTCP whose window shrinks by α^d: d is above 1 for flows whose deadline is near, so they give way less; needs a queue that marks.",
        source: "D2TCP, SIGCOMM 2012, §3.1, §3.2",
        params: &[
            &core(Defaults { reacts: Reacts::Marks, ..default_of() }),
            marked_share::PARAMS,
            &[
                param! {
                    "least_imminence" = "0.5": Kind::Number(0.0, 1.0),
                    "The deadline imminence factor d is no smaller than this.", "D2TCP §3.2: d ≥ 0.5"
                },
                param! {
                    "greatest_imminence" = "2": Kind::Number(1.0, 100.0),
                    "The deadline imminence factor d is no greater than this.", "D2TCP §3.2: d ≤ 2.0"
                },
            ],
        ],
        check: check_d2tcp,
    };
    const ECN: bool = true;

    fn new(values: &Values) -> D2tcpControl {
        D2tcpControl {
            marks: MarkedShare::new(values),
            mss_bytes: values.bytes("mss"),
            deadline: Time::NEVER,
            packets: 0,
            least: values.number("least_imminence"),
            greatest: values.number("greatest_imminence"),
        }
    }

    fn serve(&mut self, flow: &Flow) {
        self.deadline = flow.deadline;
        self.packets = u32::try_from(flow.size_bytes.div_ceil(self.mss_bytes)).unwrap_or(u32::MAX);
    }

    fn resumed(&mut self, flow: &Flow, _: &mut Window) {
        self.marks.resumed();
        self.serve(flow);
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        let mut marks = self.marks;
        // D2TCP §3.1: W = W × (1 − p/2) with p = α^d.
        marks.acknowledged_under(acked, window, |alpha, window| {
            let share = alpha as f64 / ONE as f64;
            saturated::<u64>(libm::pow(share, self.imminence(&acked, window)) * ONE as f64)
        });
        self.marks = marks;
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, _: &mut Window) {
        self.marks.count(acked);
    }
}

impl D2tcpControl {
    /// d = Tc / D: the time that the rest of the flow takes at a window that swings between W/2 and W, over the time
    /// left (D2TCP §3.2). Without a deadline it is 1; a deadline that has passed leaves the flow at 1 too, since
    /// giving way less can't save it (§3.2: such flows turn to DCTCP).
    fn imminence(&self, acked: &Acked, window: &Window) -> f64 {
        let left = self.deadline.since(acked.now);
        if self.deadline == Time::NEVER || left == Time::ZERO || acked.rtt == Time::ZERO {
            return 1.0;
        }
        let rounds = f64::from(self.packets.saturating_sub(acked.una)) / (0.75 * f64::from(window.packets()));
        let needed = rounds * acked.rtt.as_ps() as f64;
        (needed / left.as_ps() as f64).clamp(self.least, self.greatest)
    }
}

fn check_d2tcp(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    if !values.flag("rto_estimation") {
        let message = "d2tcp compares the time left with round-trip times, which it only knows with rto_estimation = true";
        return Err(Complaint::new("rto_estimation", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(packets: u32, deadline: Time) -> D2tcpControl {
        let number = |value| crate::spec::Value::Number(value);
        let entries = [("g", number(0.0625)), ("initial_alpha", number(0.25))];
        let values = Values {
            kind: "d2tcp".to_owned(),
            entries: entries.map(|(key, value)| (key.to_owned(), value)).into(),
        };
        let marks = MarkedShare::new(&values);
        D2tcpControl { marks, mss_bytes: 1_460, deadline, packets, least: 0.5, greatest: 2.0 }
    }

    #[test]
    fn imminence_is_the_time_needed_over_the_time_left_between_its_bounds() {
        let acked = |una| Acked {
            packets: 1,
            advanced: true,
            echo: true,
            una,
            next: una + 10,
            now: Time::from_us(100),
            rtt: Time::from_us(100),
            ..Acked::default()
        };
        let window = Window::of_packets(20);
        let d = |packets, deadline_us, una| {
            control(packets, Time::from_us(deadline_us)).imminence(&acked(una), &window)
        };
        // 120 packets are left: 8 rounds of 15 packets, 800 us.
        assert_eq!(d(150, 1_100, 30), 0.8);
        assert_eq!(d(150, 740, 30), 1.25);
        assert_eq!(d(150, 100_000, 30), 0.5);
        assert_eq!(d(150, 200, 30), 2.0);
        // The deadline has passed, or there is none.
        assert_eq!(d(150, 100, 30), 1.0);
        assert_eq!(control(150, Time::NEVER).imminence(&acked(30), &window), 1.0);
    }
}
