//! What DCQCN's two machines share: their constants, and arithmetic with rates.

use crate::narrow::saturated;
use crate::spec::Values;
use crate::units::{Rate, Time};
use packetloom_transport::FixedRate;

/// Whose machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The paper's.
    Paper,
    /// That of HPCC's and ConWeave's simulators.
    Mellanox,
}

impl Variant {
    /// The one that a scenario names.
    pub fn of(values: &Values) -> Variant {
        values.meaning("variant", &[("paper", Variant::Paper), ("mellanox", Variant::Mellanox)])
    }
}

/// The constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// Whose machine.
    pub variant: Variant,
    /// g.
    pub gain: f64,
    /// K, or how often alpha is updated.
    pub alpha_interval: Time,
    /// How often a rate may be cut.
    pub decrease_interval: Time,
    /// T.
    pub increase_interval: Time,
    /// B.
    pub byte_counter: u64,
    /// F.
    pub fast_recovery: u32,
    /// R_AI.
    pub additive_increase: Rate,
    /// R_HAI.
    pub hyper_increase: Rate,
    /// The least rate.
    pub min_rate: Rate,
    /// Whether a cut always takes the rate as the target.
    pub clamp_target_rate: bool,
    /// What is left at the first CNP.
    pub rate_on_first_cnp: f64,
}

impl Constants {
    /// As the paper has them (§3.1, §5).
    pub const PAPER: Constants = Constants {
        variant: Variant::Paper,
        gain: 1.0 / 256.0,
        alpha_interval: Time::from_us(55),
        decrease_interval: Time::NEVER,
        increase_interval: Time::from_us(55),
        byte_counter: 10_000_000,
        fast_recovery: 5,
        additive_increase: Rate(40_000_000),
        hyper_increase: Rate(400_000_000),
        min_rate: Rate(40_000_000),
        clamp_target_rate: true,
        rate_on_first_cnp: 1.0,
    };

    /// As HPCC's run.py sets them at 100 Gb/s.
    pub const MELLANOX: Constants = Constants {
        variant: Variant::Mellanox,
        gain: 1.0 / 256.0,
        alpha_interval: Time::from_us(1),
        decrease_interval: Time::from_us(4),
        increase_interval: Time::from_us(300),
        byte_counter: u64::MAX,
        fast_recovery: 1,
        additive_increase: Rate(20_000_000),
        hyper_increase: Rate(200_000_000),
        min_rate: Rate::from_gbps(1),
        clamp_target_rate: false,
        rate_on_first_cnp: 1.0,
    };

    /// The rates that a step of increase adds, where a scenario leaves them out. The paper's are its testbed's, of 40 Gb/s
    /// (§5); HPCC's run.py has 5 and 50 Mb/s for each 25 Gb/s, and so others at each rate.
    pub fn fixed_rates(values: &Values) -> Vec<FixedRate> {
        let (own, line_rate) = match Variant::of(values) {
            Variant::Paper => (Constants::PAPER, Rate::from_gbps(40)),
            Variant::Mellanox => (Constants::MELLANOX, Rate::from_gbps(100)),
        };
        let rates = [("additive_increase", own.additive_increase), ("hyper_increase", own.hyper_increase)];
        let left_out = rates.into_iter().filter(|(key, _)| values.optional_rate(key).is_none());
        left_out.map(|(key, value)| FixedRate { key, value, line_rate }).collect()
    }

    /// Those of a scenario.
    pub fn of(values: &Values) -> Constants {
        let variant = Variant::of(values);
        let own = if variant == Variant::Paper { Constants::PAPER } else { Constants::MELLANOX };
        let time = |key, default| values.optional_time(key).unwrap_or(default);
        let rate = |key, default| values.optional_rate(key).unwrap_or(default);
        Constants {
            variant,
            gain: values.optional_number("gain").unwrap_or(own.gain),
            alpha_interval: time("alpha_interval", own.alpha_interval),
            decrease_interval: time("decrease_interval", own.decrease_interval),
            increase_interval: time("increase_interval", own.increase_interval),
            byte_counter: values.optional_bytes("byte_counter").unwrap_or(own.byte_counter),
            fast_recovery: values
                .optional_count("fast_recovery")
                .map_or(own.fast_recovery, |steps| u32::try_from(steps).unwrap_or(u32::MAX)),
            additive_increase: rate("additive_increase", own.additive_increase),
            hyper_increase: rate("hyper_increase", own.hyper_increase),
            min_rate: rate("min_rate", own.min_rate),
            clamp_target_rate: values.optional_flag("clamp_target_rate").unwrap_or(own.clamp_target_rate),
            rate_on_first_cnp: values.optional_number("rate_on_first_cnp").unwrap_or(own.rate_on_first_cnp),
        }
    }
}

/// A share of a rate, cut off to whole bits per second.
pub fn share(rate: Rate, of_it: f64) -> Rate {
    Rate(saturated::<u64>(rate.as_bps() as f64 * of_it))
}

/// Halfway between two rates, as ns-3 adds their halves.
pub fn halfway(rate: Rate, target: Rate) -> Rate {
    Rate((rate.as_bps() / 2 + target.as_bps() / 2).max(1))
}

/// The last of the moments `first`, `first + interval`, ... that is not after `now`, with how many come up to it;
/// the first must not be after `now` either.
pub fn ticks(first: Time, interval: Time, now: Time) -> u64 {
    now.since(first).as_ps() / interval.as_ps() + 1
}
