//! Congestion controls that were compiled from a user's Python class, and how they are found.
//!
//! Whoever has a Python interpreter gives a [`Loader`]. It is called once for a class of a file with a certain
//! content; what it returns stays until the process ends.

use super::calls::{AckView, FlowView, LossView, Method};
use crate::spec::{Component, Fallback, Kind, Param, Values};
use crate::windowed::{check, core, default_of};
use std::collections::BTreeMap;
use std::sync::{OnceLock, PoisonError, RwLock};

/// Where a class is written.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a str,
    /// A hash of its content; empty: whatever it holds.
    pub file_hash: &'a str,
    /// The class.
    pub class: &'a str,
}

/// What a class declares, and its methods; by default it declares and defines nothing.
#[derive(Debug, Default)]
pub struct Class {
    /// What it is, in a sentence.
    pub doc: String,
    /// Where that comes from.
    pub source: String,
    /// Whether its data packets may be marked.
    pub ecn: bool,
    /// The parameters, which are a flow's first fields.
    pub params: Vec<ClassParam>,
    /// What a flow's other fields begin with, bit by bit.
    pub initial: Vec<u64>,
    /// When a flow starts.
    pub start: Option<Method<FlowView>>,
    /// When an acknowledgement comes.
    pub acknowledged: Option<Method<AckView>>,
    /// When a loss is found.
    pub lost: Option<Method<LossView>>,
    /// When the retransmission timer expires.
    pub timed_out: Option<Method<LossView>>,
}

/// A parameter that a class declares.
#[derive(Debug)]
pub struct ClassParam {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Its default as a scenario would have it; nothing if it must be given.
    pub default: Option<String>,
    /// What it does.
    pub doc: String,
    /// Where the default comes from.
    pub source: String,
}

/// A class that is ready to run.
#[derive(Debug)]
pub struct Code {
    /// How it describes itself, the window's core and the parameters "file" and "class" included.
    pub component: Component,
    /// What it declares.
    pub class: Class,
}

/// Compiles a class; an error is a message to the user.
pub type Loader = Box<dyn Fn(Place<'_>) -> Result<Class, String> + Send + Sync>;

static LOADER: OnceLock<Loader> = OnceLock::new();
static LOADED: RwLock<BTreeMap<String, &'static Code>> = RwLock::new(BTreeMap::new());

/// Gives the loader; a second one changes nothing.
pub fn set_loader(loader: Loader) {
    let _ = LOADER.set(loader);
}

/// The code of a class, compiled if it is not yet.
///
/// # Errors
/// Why there is none, for the user.
pub fn load(place: Place<'_>) -> Result<&'static Code, String> {
    if let Some(code) = find(place) {
        return Ok(code);
    }
    let loader = LOADER.get().ok_or("there is no Python interpreter here to compile a class")?;
    let code: &'static Code = Box::leak(Box::new(Code::of(loader(place)?)));
    let mut loaded = LOADED.write().unwrap_or_else(PoisonError::into_inner);
    Ok(loaded.entry(key(place)).or_insert(code))
}

fn find(place: Place<'_>) -> Option<&'static Code> {
    let loaded = LOADED.read().unwrap_or_else(PoisonError::into_inner);
    loaded.get(&key(place)).copied()
}

fn key(place: Place<'_>) -> String {
    format!("{} {}", place.file_hash, place.class)
}

/// The place that a transport's values name.
pub(super) fn with_place<T>(values: &Values, use_it: impl FnOnce(Place<'_>) -> T) -> T {
    let (file, file_hash, class) = (values.text("file"), values.text("file_hash"), values.text("class"));
    use_it(Place { file: &file, file_hash: &file_hash, class: &class })
}

/// "file" and "class", which every such transport has.
pub(super) const PLACE: &[Param] = &[
    Param {
        name: "file",
        kind: Kind::Text,
        default: Fallback::Required,
        doc: "The Python file that has the class, relative to the scenario's folder.",
        source: "packetloom",
    },
    Param {
        name: "class",
        kind: Kind::Text,
        default: Fallback::Required,
        doc: "The class, a packetloom.schemes.CongestionControl. Its own parameters stand beside these.",
        source: "packetloom",
    },
];

impl Code {
    fn of(class: Class) -> Code {
        let own: Vec<Param> = class.params.iter().map(ClassParam::leaked).collect();
        let core: &'static [Param] = Box::leak(Box::new(core(default_of())));
        let params: [&'static [Param]; 3] = [core, PLACE, Box::leak(own.into_boxed_slice())];
        let component = Component {
            section: "transport",
            kind: super::KIND,
            doc: leaked(&class.doc),
            source: leaked(&class.source),
            params: Box::leak(Box::new(params)),
            check,
        };
        Code { component, class }
    }
}

impl ClassParam {
    fn leaked(&self) -> Param {
        Param {
            name: leaked(&self.name),
            kind: self.kind,
            default: self.default.as_deref().map_or(Fallback::Required, |text| Fallback::Value(leaked(text))),
            doc: leaked(&self.doc),
            source: leaked(&self.source),
        }
    }
}

/// Descriptions of components live as long as the process, those of a user's classes too.
fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
