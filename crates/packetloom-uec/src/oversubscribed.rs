//! What share of its link a receiver pulls for where the fabric above it is oversubscribed, measured by marks and
//! by packets trimmed before their last link (htsim_uec's control for oversubscribed networks).

/// How the share moves.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The least share: below what the fabric has for each host.
    pub least: f64,
    /// What it grows by, doubled from period to period while nothing is marked.
    pub increase: f64,
    /// What it shrinks by, of the marks above the target.
    pub decrease: f64,
    /// The share of marks that is aimed at.
    pub target: f64,
    /// The weight of a period's marks.
    pub gain: f64,
}

/// What arrived in a period, and the share.
#[derive(Clone, Debug)]
pub struct Oversubscribed {
    settings: Settings,
    share: f64,
    marks: f64,
    /// Periods in a row without a decrease.
    increases: u32,
    whole: u32,
    marked: u32,
    trimmed_before: u32,
    trimmed: u32,
}

impl Oversubscribed {
    /// Of a receiver that fills its link.
    pub fn new(settings: Settings) -> Oversubscribed {
        Oversubscribed {
            settings,
            share: 1.0,
            marks: 0.0,
            increases: 0,
            whole: 0,
            marked: 0,
            trimmed_before: 0,
            trimmed: 0,
        }
    }

    /// A data packet arrived whole.
    pub fn arrived(&mut self, marked: bool) {
        self.whole += 1;
        self.marked += u32::from(marked);
    }

    /// A header arrived of one that was trimmed.
    pub fn trimmed(&mut self, last_hop: bool) {
        self.trimmed += 1;
        self.trimmed_before += u32::from(!last_hop);
    }

    /// A period is over; returns the share of the link to be filled.
    pub fn end_period(&mut self) -> f64 {
        let Settings { least, increase, decrease, target, gain } = self.settings;
        let fraction = if self.whole > 0 { f64::from(self.marked) / f64::from(self.whole) } else { 0.0 };
        let mut decreases = self.trimmed_before > 0;
        if decreases {
            self.share -= f64::from(self.trimmed_before) / f64::from(self.whole + self.trimmed);
        }
        self.marks = self.marks * (1.0 - gain) + gain * fraction;
        if self.marks > target && decrease > 0.0 {
            self.share *= 1.0 - (self.marks - target) * decrease;
            decreases = true;
        }
        if decreases {
            self.increases = 0;
        } else {
            let doublings = if self.marked == 0 { self.increases.min(30) } else { 0 };
            self.share += increase * f64::from(1_u32 << doublings);
            self.increases += 1;
        }
        self.share = self.share.clamp(least, 1.0);
        (self.whole, self.marked, self.trimmed_before, self.trimmed) = (0, 0, 0, 0);
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control() -> Oversubscribed {
        Oversubscribed::new(Settings { least: 0.225, increase: 0.01, decrease: 0.5, target: 0.3, gain: 0.5 })
    }

    fn period(control: &mut Oversubscribed, whole: u32, marked: u32, before: u32, last: u32) -> f64 {
        (0..whole).for_each(|packet| control.arrived(packet < marked));
        (0..before).for_each(|_| control.trimmed(false));
        (0..last).for_each(|_| control.trimmed(true));
        control.end_period()
    }

    #[test]
    fn trims_in_the_fabric_take_their_share_and_those_on_the_last_link_none() {
        let mut control = control();
        assert_eq!(period(&mut control, 60, 0, 20, 20), 0.8);
        assert_eq!(period(&mut control, 60, 0, 0, 40), 0.81);
        assert_eq!(period(&mut control, 1, 0, 99, 0), 0.225);
    }

    #[test]
    fn it_grows_faster_and_faster_until_something_is_marked() {
        let mut control = control();
        period(&mut control, 50, 0, 50, 0);
        let shares: Vec<f64> = (0..4).map(|_| period(&mut control, 100, 0, 0, 0)).collect();
        let expected = [0.51, 0.53, 0.57, 0.65];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-9));
        // Half of 0.4 is below the target of 0.3, so it grows, but slowly; then 0.3 + 0.2 above it.
        assert!((period(&mut control, 100, 40, 0, 0) - 0.66).abs() < 1e-9);
        assert!((period(&mut control, 100, 80, 0, 0) - 0.66 * (1.0 - 0.2 * 0.5)).abs() < 1e-9);
    }
}
