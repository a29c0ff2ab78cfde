//! What packets show of a transport on pieces of a network: how many times as long messages take as the estimate has
//! them take there.

use super::super::bare::without_traffic;
use super::super::{Monitor, Setting, Simulation, fidelity};
use super::pace::{Across, Noted, Pace, Place};
use super::pieces::{self, Piece};
use super::{Rung, Ways};
use crate::flow::{Flow, FlowId};
use crate::narrow::saturated;
use crate::scenario::Case;
use crate::spec::{Complaint, Value};
use crate::units::Time;
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How full links are is told apart up to each of these.
const USES: [f64; 4] = [0.6, 0.82, 0.95, f64::INFINITY];
/// A message that takes no more times what it takes alone has its bottleneck for itself: nearer to 1 than to 2.
pub(super) const ALONE: f64 = std::f64::consts::SQRT_2;
/// Circumstances that so many messages met at least are told apart from others.
const FEWEST: usize = 16;
/// Of so many messages of jobs the sizes are looked at.
const MOST_SIZES: usize = 1 << 12;

/// Under which circumstances messages are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    /// In the network of a server.
    InServer,
    /// Below one switch, alone on its bottleneck.
    Below,
    /// Across the fabric, alone on its bottleneck, and the fabric so full.
    Alone(usize),
    /// With others at a host's link, as many as in these incasts.
    AtHost(usize),
    /// The same of a link between switches.
    InFabric(usize),
}

/// Whether some circumstances are meant.
type IsMeant = fn(&Met) -> bool;

/// See the module.
#[derive(Debug, Default)]
pub(in crate::simulation) struct Measured {
    sizes: Vec<u64>,
    /// By size: in ascending order, none below 1.
    ratios: Vec<BTreeMap<Met, Vec<f64>>>,
    hosts: usize,
    runs: usize,
}

/// What was measured in this process, by what it is of.
static KNOWN: Mutex<BTreeMap<String, Arc<Measured>>> = Mutex::new(BTreeMap::new());

impl Measured {
    /// Of a case; nothing where it does not ask for it.
    ///
    /// # Errors
    /// If a piece can't be simulated.
    pub(in crate::simulation) fn of(
        setting: &Setting,
        workload: &Workload,
        monitor: &Monitor,
    ) -> Result<Option<Arc<Measured>>, Complaint> {
        let Some(case) = piece_case(&setting.case) else { return Ok(None) };
        let (pieces, sizes) = plan(setting, workload);
        let key = format!("{} {sizes:?}", case.identity());
        // Others that want the same wait for it.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(measured) = known.get(&key) {
            return Ok(Some(Arc::clone(measured)));
        }
        let mut measured =
            Measured { ratios: vec![BTreeMap::new(); sizes.len()], sizes, ..Measured::default() };
        for nth in 0..measured.sizes.len() {
            for piece in &pieces {
                measured.measure(&case, nth, piece, monitor)?;
            }
            measured.ratios[nth].values_mut().for_each(|ratios| without_unfairness(ratios));
        }
        measured.hosts = pieces.iter().map(|piece| piece.pairs.len()).max().unwrap_or(0);
        let measured = Arc::new(measured);
        if monitor.is_wanted() {
            known.insert(key, Arc::clone(&measured));
        }
        Ok(Some(measured))
    }

    /// Runs a piece, and the same apart.
    fn measure(
        &mut self,
        case: &Case,
        nth: usize,
        piece: &Piece,
        monitor: &Monitor,
    ) -> Result<(), Complaint> {
        let size = self.sizes[nth];
        let took = self.compare(case, nth, pieces::together(&piece.pairs, size), monitor)?;
        if piece.is_apart {
            self.compare(case, nth, pieces::apart(&piece.pairs, size, &took), monitor)?;
        }
        Ok(())
    }

    /// Runs messages by packets and as an estimate; returns what each takes by the latter.
    fn compare(
        &mut self,
        case: &Case,
        nth: usize,
        flows: Vec<Flow>,
        monitor: &Monitor,
    ) -> Result<BTreeMap<FlowId, Time>, Complaint> {
        if !monitor.is_wanted() || flows.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (noted, took) = both(case, flows, monitor)?;
        for one in &noted {
            let Some(took) = took.get(&one.flow) else { continue };
            let ratio = took.as_ps() as f64 / one.took.as_ps().max(1) as f64;
            self.ratios[nth].entry(Met::by(one)).or_default().push(ratio);
        }
        self.runs += 1;
        Ok(noted.iter().map(|one| (one.flow, one.took)).collect())
    }

    /// How many times as long a message takes that has its bottleneck for itself, with the fabric so full, if it crosses
    /// it; `draw`: where it is in the distribution, from 0 to 1.
    pub(super) fn alone(&self, size_bytes: u64, across: Across, draw: f64) -> f64 {
        self.ratio(size_bytes, Met::alone(across), draw)
    }

    /// The same of a message that shared its bottleneck, so that its bits took so many times as long.
    pub(super) fn shared(&self, size_bytes: u64, place: Place, shared_by: f64, draw: f64) -> f64 {
        match Met::shared(place, shared_by) {
            // It has been slowed as if it were alone.
            Met::InServer => 1.0,
            met => self.ratio(size_bytes, met, draw),
        }
    }

    fn ratio(&self, size_bytes: u64, met: Met, draw: f64) -> f64 {
        self.between(size_bytes, |nth| self.nearest(nth, met).map_or(1.0, |ratios| quantile(ratios, draw)))
    }

    /// Between the sizes measured, by the logarithm.
    fn between(&self, size_bytes: u64, of_size: impl Fn(usize) -> f64) -> f64 {
        let above = self.sizes.partition_point(|size| *size < size_bytes);
        match (above.checked_sub(1), self.sizes.get(above)) {
            (None, None) => 1.0,
            (None, Some(_)) => of_size(0),
            (Some(below), None) => of_size(below),
            (Some(below), Some(&size)) => {
                let [least, most, at] =
                    [self.sizes[below], size, size_bytes].map(|bytes| libm::log(bytes as f64));
                let part = (at - least) / (most - least);
                of_size(below) * (1.0 - part) + of_size(above) * part
            }
        }
    }

    /// What was measured of messages of a size that met this; or, where too few did, what is nearest to it.
    fn nearest(&self, nth: usize, met: Met) -> Option<&[f64]> {
        let is_known = |(_, ratios): &(&Met, &Vec<f64>)| ratios.len() >= FEWEST;
        let distance = |(one, _): &(&Met, &Vec<f64>)| one.from(met);
        let known = self.ratios[nth].iter().filter(is_known).filter(|one| distance(one).is_some());
        known.min_by_key(distance).map(|(_, ratios)| ratios.as_slice())
    }

    /// What results have to say of it.
    pub(in crate::simulation) fn told(&self) -> String {
        let range = |is_meant: IsMeant| {
            let known =
                self.ratios.iter().flatten().filter(|(met, ratios)| is_meant(met) && ratios.len() >= FEWEST);
            let means = known.map(|(_, ratios)| mean(ratios));
            means.fold(None, |range: Option<(f64, f64)>, mean| {
                let (least, most) = range.unwrap_or((mean, mean));
                Some((least.min(mean), most.max(mean)))
            })
        };
        let kinds: [(&str, IsMeant); 5] = [
            ("in servers", |met| *met == Met::InServer),
            ("alone below a switch", |met| *met == Met::Below),
            ("alone across the fabric", |met| matches!(met, Met::Alone(_))),
            ("at shared links of hosts", |met| matches!(met, Met::AtHost(_))),
            ("at shared links of the fabric", |met| matches!(met, Met::InFabric(_))),
        ];
        let texts = kinds.iter().filter_map(|(name, is_meant)| {
            let (least, most) = range(*is_meant)?;
            Some(format!("{least:.2} to {most:.2} times {name}"))
        });
        format!(
            "calibrated by {} short runs of packets among {} hosts: messages take, in the mean by size and by how full \
             links are, {}",
            self.runs,
            self.hosts,
            texts.collect::<Vec<String>>().join(", ")
        )
    }
}

impl Met {
    fn alone(across: Across) -> Met {
        match across {
            Across::Server => Met::InServer,
            Across::Switch => Met::Below,
            Across::Fabric(used) => Met::Alone(use_class(used)),
        }
    }

    fn shared(place: Place, by: f64) -> Met {
        match place {
            Place::Server => Met::InServer,
            Place::Host => Met::AtHost(share_class(by)),
            Place::Fabric => Met::InFabric(share_class(by)),
        }
    }

    fn by(one: &Noted) -> Met {
        if one.shared_by < ALONE { Met::alone(one.across) } else { Met::shared(one.place, one.shared_by) }
    }

    /// How far these circumstances are from others of their kind.
    fn from(self, other: Met) -> Option<usize> {
        match (self, other) {
            (Met::Below, Met::Below) | (Met::InServer, Met::InServer) => Some(0),
            (Met::Alone(one), Met::Alone(other))
            | (Met::AtHost(one), Met::AtHost(other))
            | (Met::InFabric(one), Met::InFabric(other)) => Some(one.abs_diff(other)),
            _ => None,
        }
    }
}

/// What is run first of a case, in words; nothing where it does not ask for it.
pub(in crate::simulation) fn announced(setting: &Setting, workload: &Workload) -> Option<String> {
    piece_case(&setting.case)?;
    let (pieces, sizes) = plan(setting, workload);
    let messages: usize = pieces.iter().map(Piece::messages).sum();
    let runs: usize = pieces.iter().map(|piece| 1 + usize::from(piece.is_apart)).sum::<usize>();
    let bytes: u64 = sizes.iter().map(|size| size * messages as u64).sum();
    let kib: Vec<String> = sizes.iter().map(|size| (size / 1024).to_string()).collect();
    Some(format!(
        "calibrate: {} short runs of packets first (shifts, a permutation, incasts; messages of {} KiB, {} MB in all), once \
         for cases that differ only by seed or by traffic of such sizes",
        runs * sizes.len(),
        kib.join(", "),
        bytes / 1_000_000
    ))
}

/// Who sends to whom in each piece, and how much.
fn plan(setting: &Setting, workload: &Workload) -> (Vec<Piece>, Vec<u64>) {
    let sizes: Vec<u64> =
        workload.jobs().iter().flat_map(|job| job.plan.sizes(MOST_SIZES)).filter(|size| *size > 1).collect();
    let (least, most) =
        (sizes.iter().min().copied().unwrap_or(0), sizes.iter().max().copied().unwrap_or(u64::MAX));
    (pieces::pieces(&setting.topology), pieces::sizes(&setting.topology, least, most))
}

/// The case that pieces are run of, if one asks for it: without traffic, faults, and all that is recorded.
fn piece_case(case: &Case) -> Option<Case> {
    let Some(Value::Component(rung)) = case.run.entries.get("fidelity") else { return None };
    if !fidelity::calibrates(rung) {
        return None;
    }
    let mut case = without_traffic(case);
    if let Some(Value::Component(rung)) = case.run.entries.get_mut("fidelity") {
        rung.entries.remove("calibrate");
    }
    Some(case)
}

/// Runs messages as an estimate and by packets; returns what the one notes of them, and what each takes by the other.
fn both(
    case: &Case,
    flows: Vec<Flow>,
    monitor: &Monitor,
) -> Result<(Vec<Noted>, BTreeMap<FlowId, Time>), Complaint> {
    let given = flows.clone();
    let mut estimate = Simulation::with(case.clone(), |_, _| Ok(Workload::of_flows(given)))?;
    let noted = noted(&mut estimate, monitor);
    let mut packets = case.clone();
    packets.run.entries.remove("fidelity");
    let packets = Simulation::with(packets, |_, _| Ok(Workload::of_flows(flows)))?;
    let rows = packets.run_together(&monitor.under())?.flows;
    Ok((noted, rows.iter().filter_map(|row| Some((row.flow.id, row.fct()?))).collect()))
}

/// What the estimate has of each message.
fn noted(simulation: &mut Simulation, monitor: &Monitor) -> Vec<Noted> {
    let Simulation { setting, workload, .. } = simulation;
    let under = monitor.under();
    let mut rung = Rung::new(setting, workload, &under);
    let ways = Ways::of(setting);
    rung.pace = Pace::noting(&setting.topology, |link| ways.stands(link));
    rung.run();
    rung.pace.into_noted()
}

fn use_class(use_of_fabric: f64) -> usize {
    USES.iter().position(|most| use_of_fabric <= *most).unwrap_or(USES.len() - 1)
}

/// The incast of the nearest number, by the logarithm.
fn share_class(shared_by: f64) -> usize {
    let distance =
        |fan_in: &u32| saturated::<u64>((libm::log(f64::from(*fan_in)) - libm::log(shared_by)).abs() * 1e6);
    let nearest = (0..pieces::FAN_INS.len()).min_by_key(|&class| distance(&pieces::FAN_INS[class]));
    nearest.unwrap_or(0)
}

fn mean(ratios: &[f64]) -> f64 {
    ratios.iter().sum::<f64>() / ratios.len().max(1) as f64
}

/// Of values in ascending order, with what is between them.
fn quantile(values: &[f64], draw: f64) -> f64 {
    let at = draw * (values.len() - 1) as f64;
    let below = saturated::<usize>(at.floor()).min(values.len() - 1);
    let above = (below + 1).min(values.len() - 1);
    values[below] + (values[above] - values[below]) * (at - below as f64)
}

/// Sorts ratios, and leaves what a message takes longer that no other one takes less: where messages gain as much as others
/// lose, a transport is unfair, but fills its links. So the mean stays, if it is above 1.
fn without_unfairness(ratios: &mut [f64]) {
    let lost: f64 = ratios.iter().map(|ratio| (ratio - 1.0).max(0.0)).sum();
    let gained: f64 = ratios.iter().map(|ratio| (1.0 - ratio).max(0.0)).sum();
    let part = if lost > gained { (lost - gained) / lost } else { 0.0 };
    ratios.iter_mut().for_each(|ratio| *ratio = 1.0 + (*ratio - 1.0).max(0.0) * part);
    ratios.sort_unstable_by(f64::total_cmp);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_message_loses_to_another_is_no_loss() {
        let mut fair = vec![0.8, 1.2, 1.0];
        without_unfairness(&mut fair);
        assert_eq!(fair, [1.0, 1.0, 1.0]);
        // The mean of 1.25 stays.
        let mut slow = vec![2.0, 0.5];
        without_unfairness(&mut slow);
        assert_eq!(slow, [1.0, 1.5]);
    }

    #[test]
    fn ratios_are_taken_between_sizes_and_from_the_nearest_circumstances() {
        let many = |ratio: f64| vec![ratio; FEWEST];
        let ratios = vec![
            BTreeMap::from([(Met::Alone(0), many(1.0)), (Met::Alone(3), many(1.4)), (Met::Below, vec![9.0])]),
            BTreeMap::from([(Met::Alone(0), many(2.0)), (Met::AtHost(1), many(3.0))]),
        ];
        let measured = Measured { sizes: vec![1 << 10, 1 << 14], ratios, ..Measured::default() };
        let alone = |size, across| measured.alone(size, across, 0.5);
        assert_eq!(alone(1 << 8, Across::Fabric(0.5)), 1.0);
        assert_eq!(alone(1 << 20, Across::Fabric(0.5)), 2.0);
        // Half-way by the logarithm; nothing else was measured of the larger size.
        assert!((alone(1 << 12, Across::Fabric(0.99)) - 1.7).abs() < 1e-9);
        // One message is too few.
        assert_eq!(alone(1 << 10, Across::Switch), 1.0);
        assert_eq!(measured.shared(1 << 14, Place::Host, 30.0, 0.1), 3.0);
        assert_eq!(measured.shared(1 << 14, Place::Fabric, 2.0, 0.1), 1.0);
    }
}
