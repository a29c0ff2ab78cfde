//! Scenarios and their cases.

use crate::ScenarioError;
use packetloom::simulation::{self, Settling};
use packetloom::units::Time;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// A scenario that was read and checked.
#[pyclass(frozen, module = "packetloom._core")]
pub struct Scenario {
    core: packetloom::scenario::Scenario,
    /// What cases with jobs have to do, and what is said of them, by their identity: a network and a job are built to
    /// check them, which takes seconds where there are thousands of ranks.
    known: BTreeMap<String, (Size, Outlook)>,
}

#[pymethods]
impl Scenario {
    /// Reads a scenario; files that it names are sought beside `origin`.
    #[staticmethod]
    fn read(text: &str, origin: &str, format: &str) -> PyResult<Scenario> {
        let directory = Path::new(origin).parent().unwrap_or(Path::new(""));
        let source = if origin.is_empty() { "scenario" } else { origin };
        let read = match format {
            "json" => packetloom::scenario::Scenario::from_json(text, source, directory),
            _ => packetloom::scenario::Scenario::from_toml(text, source, directory),
        };
        let mut known = BTreeMap::new();
        let checked = read.and_then(|core| {
            simulation::check_each(&core, |case, built| {
                if built.operations() > 0 {
                    let outlook = Outlook::of(&built);
                    known.insert(case.identity(), (Size::of(built), outlook));
                }
            })?;
            Ok(core)
        });
        let core = checked.map_err(|problems| ScenarioError::new_err(problems.to_string()))?;
        Ok(Scenario { core, known })
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.core.warnings.clone()
    }

    /// Statistic, fraction of its mean, how many seeds to start with, and how often runs may be doubled; nothing if all
    /// cases are to run.
    #[getter]
    fn precision(&self) -> Option<(String, f64, usize, u32)> {
        let precision = self.core.precision.clone()?;
        Some((precision.statistic, precision.within, precision.first_seeds, precision.max_extensions))
    }

    /// Below which fraction a difference is called none.
    #[getter]
    fn alike(&self) -> f64 {
        self.core.alike
    }

    fn cases(&self) -> Vec<Case> {
        let of_case = |core: packetloom::scenario::Case| {
            let case = Case::from(core);
            if let Some((size, outlook)) = self.known_of(&case) {
                case.size.get_or_init(|| size);
                case.outlook.get_or_init(|| outlook);
            }
            case
        };
        self.core.cases().map(of_case).collect()
    }
}

impl Scenario {
    fn known_of(&self, case: &Case) -> Option<(Size, Outlook)> {
        if self.known.is_empty() {
            return None;
        }
        self.known.get(case.id()).cloned()
    }
}

/// One simulation to run.
#[pyclass(frozen, module = "packetloom._core")]
pub struct Case {
    pub core: packetloom::scenario::Case,
    /// Campaigns read it again and again, and it is a hash over the whole case.
    id: OnceLock<String>,
    /// A forecast asks for it twice, and the network is built for it.
    size: OnceLock<Size>,
    /// `check` asks for all of it, of some cases.
    outlook: OnceLock<Outlook>,
}

/// What a case has to do, as far as its network and its traffic tell.
#[derive(Clone, Copy)]
pub struct Size {
    pub demand: Option<simulation::Demand>,
    pub ports: usize,
    pub operations: u64,
    /// Seconds until all of it is carried, at least.
    pub least_end_s: Option<f64>,
    /// Processor seconds and bytes of a job without packets.
    pub of_flows: Option<(f64, f64)>,
}

impl Size {
    fn of(built: simulation::Simulation) -> Size {
        let (ports, operations, of_flows) = (built.ports(), built.operations(), built.flow_cost());
        let least_end_s = built.least_end();
        Size { demand: built.demand(), ports, operations, least_end_s, of_flows }
    }
}

/// What network and traffic come to, as a person is told of them before a run.
#[derive(Clone)]
struct Outlook {
    of_network: Vec<String>,
    of_traffic: Vec<String>,
    of_scheme: Vec<String>,
    round_trips: Option<simulation::RoundTrips>,
    doubts: Vec<String>,
    flows_to_be_steady: Option<(f64, f64, f64)>,
    is_overloaded: bool,
}

impl Outlook {
    fn of(built: &simulation::Simulation) -> Outlook {
        let settling = built.settling();
        let of_sources = built.facts().iter().map(ToString::to_string);
        let doubts = built.doubts().into_iter();
        Outlook {
            of_network: built.network_facts(),
            of_traffic: of_sources
                .chain(built.library_facts())
                .chain(settling.iter().flat_map(Settling::facts))
                .collect(),
            of_scheme: built.scheme_facts(),
            round_trips: built.round_trips(),
            doubts: doubts.map(|doubt| format!("{}: {}", doubt.key, doubt.message)).collect(),
            flows_to_be_steady: settling.as_ref().and_then(|settling| {
                settling.needed_flows().map(|(least, with_room)| (least, with_room, settling.slowest_s()))
            }),
            is_overloaded: settling.is_some_and(|settling| settling.is_overloaded()),
        }
    }
}

impl From<packetloom::scenario::Case> for Case {
    fn from(core: packetloom::scenario::Case) -> Case {
        Case { core, id: OnceLock::new(), size: OnceLock::new(), outlook: OnceLock::new() }
    }
}

impl Case {
    fn built(&self) -> PyResult<simulation::Simulation> {
        simulation::Simulation::new(self.core.clone()).map_err(|complaint| complaint_error(&complaint))
    }

    /// What it has to do; its network is built once for it.
    pub fn size(&self) -> PyResult<Size> {
        if let Some(size) = self.size.get() {
            return Ok(*size);
        }
        Ok(self.keep_size(self.built()?))
    }

    fn keep_size(&self, built: simulation::Simulation) -> Size {
        *self.size.get_or_init(|| Size::of(built))
    }

    /// What is said of it, and what it has to do by the same building of its network.
    fn outlook(&self) -> PyResult<&Outlook> {
        if let Some(outlook) = self.outlook.get() {
            return Ok(outlook);
        }
        let built = self.built()?;
        let outlook = self.outlook.get_or_init(|| Outlook::of(&built));
        self.keep_size(built);
        Ok(outlook)
    }
}

#[pymethods]
impl Case {
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Case> {
        let json: Json =
            serde_json::from_str(text).map_err(|error| ScenarioError::new_err(error.to_string()))?;
        packetloom::scenario::Case::from_json(&json).map(Case::from).map_err(ScenarioError::new_err)
    }

    #[getter]
    fn id(&self) -> &str {
        self.id.get_or_init(|| self.core.identity())
    }

    #[getter]
    fn json(&self) -> String {
        self.core.to_json().to_string()
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = PyDict::new(py);
        for (name, value) in self.core.parameters() {
            match value {
                Json::Null => parameters.set_item(name, py.None())?,
                Json::Bool(flag) => parameters.set_item(name, flag)?,
                Json::Number(number) => match number.as_u64() {
                    Some(whole) => parameters.set_item(name, whole)?,
                    None => parameters.set_item(name, number.as_f64())?,
                },
                Json::String(text) => parameters.set_item(name, text)?,
                other => parameters.set_item(name, other.to_string())?,
            }
        }
        Ok(parameters)
    }

    /// The case with flows starting for so many times as long; nothing where that is no longer, or another thing.
    fn longer(&self, times: u64) -> Option<Case> {
        self.core.longer(times).map(Case::from)
    }

    /// Whether links are offered what they carry, or more: then no run is steady, however long.
    fn is_overloaded(&self) -> PyResult<bool> {
        Ok(self.outlook()?.is_overloaded)
    }

    /// What the network comes to, what each source of traffic does, and what is not in the scenario but follows for the
    /// case's scheme.
    #[getter]
    fn facts(&self) -> PyResult<(Vec<String>, Vec<String>, Vec<String>)> {
        let Outlook { of_network, of_traffic, of_scheme, .. } = self.outlook()?;
        Ok((of_network.clone(), of_traffic.clone(), of_scheme.clone()))
    }

    /// How long packets take to their answer on an empty network: of a header alone and of a full packet the bytes, the
    /// shortest and the longest nanoseconds; and the bytes of an answer. Nothing where no packet is answered, or hosts are
    /// too many.
    #[getter]
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn round_trips(&self) -> PyResult<Option<([(u64, f64, f64); 2], u16)>> {
        let told = |(bytes, least, most): (u64, Time, Time)| (bytes, least.as_ns_f64(), most.as_ns_f64());
        let found = self.outlook()?.round_trips;
        Ok(found.map(|found| (found.of_packets.map(told), found.answer_bytes)))
    }

    /// Flows, and data packets times links, of what the case has the network carry; nothing where that depends on how
    /// long flows take.
    fn demand(&self, py: Python<'_>) -> PyResult<Option<(f64, f64)>> {
        py.detach(|| Ok(self.size()?.demand.map(|demand| (demand.flows, demand.packet_hops))))
    }

    /// Flows, processor seconds, bytes of memory and operations of a case whose jobs have no packets, foreseen from their
    /// operations and messages; nothing of any other.
    fn flow_cost(&self, py: Python<'_>) -> PyResult<Option<(f64, f64, f64, u64)>> {
        py.detach(|| {
            let Size { demand, operations, of_flows, .. } = self.size()?;
            Ok(of_flows
                .map(|(cpu_s, bytes)| (demand.map_or(0.0, |demand| demand.flows), cpu_s, bytes, operations)))
        })
    }

    /// How many flows it takes to be steady, at least and with room for slow schemes, and the seconds that their slowest
    /// flows may take; nothing where no number does, or where no flow arrives by the clock.
    fn flows_to_be_steady(&self) -> PyResult<Option<(f64, f64, f64)>> {
        Ok(self.outlook()?.flows_to_be_steady)
    }

    /// From one half of the network to the other: the round-trip time in nanoseconds, the bytes that a path holds in it,
    /// and those of a full packet; of a scheme with packets.
    fn path_across(&self) -> Option<(f64, u64, u64)> {
        let path = simulation::path_across(&self.core)?;
        Some((path.rtt.as_ns_f64(), path.holds_bytes, path.packet_bytes))
    }

    /// That a flow is slow that has the network for itself, if one is.
    #[getter]
    fn slow_alone(&self, py: Python<'_>) -> Option<String> {
        let doubt = py.detach(|| simulation::slow_alone(&self.core))?;
        Some(format!("{}: {}", doubt.key, doubt.message))
    }

    /// What was probably not meant, as only the network and the traffic show together.
    #[getter]
    fn doubts(&self) -> PyResult<Vec<String>> {
        Ok(self.outlook()?.doubts.clone())
    }
}

/// In what the schemes of these cases differ beside themselves: of each such thing what it is, each scheme with what it
/// has, what to write so that all are alike, and whether it belongs to none of them.
#[pyfunction]
pub fn unequal(cases: Vec<PyRef<'_, Case>>) -> Vec<Unequal> {
    let cases: Vec<packetloom::scenario::Case> = cases.iter().map(|case| case.core.clone()).collect();
    let found = simulation::unequal(&cases).into_iter();
    found.map(|one| (one.what, one.values, one.remedy, one.is_foreign)).collect()
}

type Unequal = (&'static str, Vec<(String, String)>, Vec<String>, bool);

/// A complaint that came up only as the case was built.
pub fn complaint_error(complaint: &packetloom::spec::Complaint) -> PyErr {
    ScenarioError::new_err(format!("{}: {}", complaint.key, complaint.message))
}
