//! Which paths to a destination are outliers by how much is trimmed on them (NDP, SIGCOMM 2017, §3.2.3).

use crate::spec::{Kind, Needs, Param, Values, param};
use std::collections::BTreeMap;

/// What can be set.
pub const PARAMS: &[Param] = &[
    param! {
        "penalties" = "false": Kind::Flag,
        "Whether a path on which packets are trimmed or lost far more often than on the others is left out for a while. It needs the transport ndp, which reports the fate of its packets to it.",
        "NDP §3.2.3: outliers are temporarily removed; optional here"
    },
    param! {
        "penalty_after" = "10": Kind::Count(1),
        "With penalties: answers about packets on a path before it is judged.",
        "packetloom; csg-htsim waits for 100"; acts &[Needs::Is("penalties", &["true"])]
    },
    param! {
        "penalty_above" = "1.25": Kind::Number(1.0, 1000.0),
        "With penalties: a path is an outlier if its ratio of NACKs to ACKs is above 0.3 and this many times that of all paths.",
        "csg-htsim: 0.3 and 1.25"; acts &[Needs::Is("penalties", &["true"])]
    },
    param! {
        "penalty_rounds" = "100": Kind::Count(1),
        "With penalties: for this many rounds over the other paths it is left out; then it is tried and judged again.",
        "packetloom"; acts &[Needs::Is("penalties", &["true"])]
    },
];

/// Below this ratio of NACKs to ACKs no path is an outlier (csg-htsim).
const LEAST_RATIO: f64 = 0.3;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Whole,
    /// It arrived, and was marked.
    Marked,
    /// Its header alone arrived.
    Trimmed,
    /// Not even that.
    Lost,
}

impl Fate {
    /// For how many NACKs it counts (csg-htsim: three for a header that came back).
    fn nacks(self) -> u64 {
        match self {
            Fate::Whole | Fate::Marked => 0,
            Fate::Trimmed => 1,
            Fate::Lost => 3,
        }
    }
}

/// When a path is an outlier, and the penalty.
#[derive(Clone, Copy, Debug)]
pub struct Penalties {
    after: u64,
    above: f64,
    rounds: u64,
}

impl Penalties {
    /// The penalties that a routing specifies, if it does.
    pub fn of(routing: &Values) -> Option<Penalties> {
        (routing.kind == "permutation" && routing.flag("penalties")).then(|| Penalties {
            after: routing.count("penalty_after"),
            above: routing.number("penalty_above"),
            rounds: routing.count("penalty_rounds"),
        })
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    acks: u64,
    nacks: u64,
    /// Rounds for which the path is still left out.
    left_out: u64,
}

/// The paths to one destination.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    penalties: Penalties,
    scores: BTreeMap<u16, Score>,
}

impl Scoreboard {
    /// Nothing is known of the paths.
    pub fn new(paths: &[u16], penalties: Penalties) -> Scoreboard {
        let scores = paths.iter().map(|&path| (path, Score::default())).collect();
        Scoreboard { penalties, scores }
    }

    /// Counts what became of a packet. What is long past counts for less and less.
    pub fn note(&mut self, path: u16, fate: Fate) {
        let Some(score) = self.scores.get_mut(&path) else { return };
        score.acks += u64::from(fate.nacks() == 0);
        score.nacks += fate.nacks();
        if score.acks + score.nacks > 4 * self.penalties.after {
            score.acks /= 2;
            score.nacks /= 2;
        }
    }

    /// Whether a path is left out of this round.
    pub fn leaves_out(&self, path: u16) -> bool {
        self.scores.get(&path).is_some_and(|score| score.left_out > 0)
    }

    /// Counts penalties down, and penalises the outliers; at least half of all paths remain.
    pub fn start_round(&mut self) {
        let (mut acks, mut nacks, mut left_out) = (0, 0, 0);
        for score in self.scores.values_mut() {
            score.left_out = score.left_out.saturating_sub(1);
            left_out += usize::from(score.left_out > 0);
            acks += score.acks;
            nacks += score.nacks;
        }
        let bar = LEAST_RATIO.max(self.penalties.above * nacks as f64 / acks as f64);
        let most = self.scores.len() / 2;
        for score in self.scores.values_mut() {
            let is_known = score.acks + score.nacks >= self.penalties.after;
            if is_known && left_out < most && score.nacks as f64 > bar * score.acks as f64 {
                *score = Score { left_out: self.penalties.rounds, ..Score::default() };
                left_out += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PENALTIES: Penalties = Penalties { after: 20, above: 1.25, rounds: 3 };

    /// Paths with so many ACKs and NACKs each; which of them the next round leaves out.
    fn left_out(of_paths: &[(u32, u32)]) -> Vec<u16> {
        let paths: Vec<u16> = (0..of_paths.len() as u16).collect();
        let mut scoreboard = Scoreboard::new(&paths, PENALTIES);
        for (&path, &(acks, nacks)) in paths.iter().zip(of_paths) {
            (0..acks).for_each(|_| scoreboard.note(path, Fate::Whole));
            (0..nacks).for_each(|_| scoreboard.note(path, Fate::Trimmed));
        }
        scoreboard.start_round();
        paths.into_iter().filter(|&path| scoreboard.leaves_out(path)).collect()
    }

    #[test]
    fn a_path_that_stands_out_is_left_out() {
        assert_eq!(left_out(&[(40, 2), (20, 20), (40, 2), (40, 2)]), [1]);
        assert_eq!(left_out(&[(0, 25), (40, 0)]), [0]);
        // Too little is known of it; all are the same; too few are trimmed to matter; no more than half.
        assert_eq!(left_out(&[(40, 2), (9, 10), (40, 2)]), [0; 0]);
        assert_eq!(left_out(&[(20, 20); 4]), [0; 0]);
        assert_eq!(left_out(&[(40, 0), (32, 8), (40, 0)]), [0; 0]);
        assert_eq!(left_out(&[(20, 40), (20, 40), (20, 40), (40, 0), (40, 0), (40, 0), (40, 0)]), [0, 1, 2]);
        assert_eq!(left_out(&[(1, 40), (1, 40), (40, 0)]), [0]);
    }

    #[test]
    fn a_penalty_ends_and_the_path_is_judged_anew() {
        let mut scoreboard = Scoreboard::new(&[0, 1], PENALTIES);
        (0..20).for_each(|_| scoreboard.note(0, Fate::Whole));
        (0..7).for_each(|_| scoreboard.note(1, Fate::Lost));
        let rounds: Vec<bool> = (0..6)
            .map(|_| {
                scoreboard.start_round();
                scoreboard.leaves_out(1)
            })
            .collect();
        assert_eq!(rounds, [true, true, true, false, false, false]);
    }
}
