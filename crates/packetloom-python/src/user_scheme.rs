//! Classes that users write in Python (congestion controls, rate controls, queues' rules, choices of paths): the loader
//! that the simulator calls, and what compiled methods may call back.
//!
//! The interpreter takes part only while a scenario is read. The addresses come from `packetloom.schemes.compiler`,
//! which keeps what it compiled for as long as the process lives.
#![allow(unsafe_code)]

use packetloom::narrow::saturated;
use packetloom::spec::Kind;
use packetloom::transport::{python, python_rate};
use packetloom::user_class::{self, Class, ClassParam, Methods, Place, set_loader};
use packetloom::{queue, routing};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

/// A parameter as `packetloom.schemes` describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Parameter {
    name: String,
    kind: String,
    least: f64,
    most: f64,
    default: Option<String>,
    doc: String,
    source: String,
}

/// A compiled class as `packetloom.schemes` describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Compiled {
    base: String,
    doc: String,
    source: String,
    constants: BTreeMap<String, i64>,
    params: Vec<Parameter>,
    initial: Vec<u64>,
    methods: BTreeMap<String, usize>,
}

/// Has the simulator ask `packetloom.schemes.loader` for classes.
pub fn set_scheme_loader() {
    set_loader(Box::new(|place: Place<'_>| {
        Python::attach(|py| {
            let load = || py.import("packetloom.schemes.loader")?.getattr("load");
            let found = load().and_then(|load| load.call1((place.file, place.file_hash, place.class)));
            let compiled = found.and_then(|found| found.extract::<Compiled>());
            compiled.map_err(|error| error.value(py).to_string())?.class()
        })
    }));
}

/// The addresses of what compiled methods may call, by name.
#[pyfunction]
pub fn scheme_symbols(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let addresses = PyDict::new(py);
    let of_transports = python::symbols().into_iter().chain(python_rate::symbols());
    let all = user_class::symbols()
        .into_iter()
        .chain(of_transports)
        .chain(queue::symbols())
        .chain(routing::symbols());
    for (name, address) in all {
        addresses.set_item(name, address)?;
    }
    Ok(addresses)
}

/// The fields of a record: each one's name, and whether it is floating point.
type Fields = Vec<(&'static str, bool)>;

/// The fields of the event and of the tools of each hook, in the order in which they lie in memory, by the first base
/// class that has it and its name.
#[pyfunction]
pub fn scheme_layouts() -> BTreeMap<(&'static str, &'static str), (Fields, Fields)> {
    let all = [python::LAYOUTS, python_rate::LAYOUTS, queue::LAYOUTS, routing::LAYOUTS].concat();
    all.into_iter().map(|one| ((one.base, one.name), (one.event.to_vec(), one.tools.to_vec()))).collect()
}

impl Compiled {
    fn class(self) -> Result<Class, String> {
        let params = self.params.into_iter().map(Parameter::read).collect::<Result<_, _>>()?;
        // SAFETY: the compiler gives every method the signature of its hook, and keeps the code; what it compiles has
        // no other effect than on its arguments.
        let methods = unsafe { Methods::at(self.methods) };
        let Compiled { base, doc, source, constants, initial, .. } = self;
        let class = Class { base, doc, source, constants, params, initial, methods };
        Ok(class)
    }
}

impl Parameter {
    fn read(self) -> Result<ClassParam, String> {
        let kind = match self.kind.as_str() {
            "number" => Kind::Number(self.least, self.most),
            "count" => Kind::Count(saturated::<u64>(self.least)),
            "flag" => Kind::Flag,
            "time" => Kind::Time,
            "size" => Kind::Bytes,
            "rate" => Kind::Rate,
            other => return Err(format!("{other:?} is no kind of parameter")),
        };
        Ok(ClassParam { name: self.name, kind, default: self.default, doc: self.doc, source: self.source })
    }
}
