//! Classes that users write in Python: congestion controls, queues' rules and the like.
//!
//! A class is compiled when the scenario is read (by `packetloom.schemes`, through numba), and its methods are called
//! by their addresses: no interpreter takes part in a run. Whoever has a Python interpreter gives a [`Loader`]. It is
//! called once for a class of a file with a certain content; what it returns stays until the process ends.
//!
//! What a class can be is a [`Role`]; its methods are [`Hook`]s, which the module that calls them declares.

mod calls;
mod errors;
pub mod raised;

pub use calls::{Exception, Hook, Layout, Method, Methods, Record, symbols};
pub use errors::{ControlError, LabelError, RateError, SchemeError, WindowError};

use crate::spec::{ALWAYS, Component, Fallback, Kind, Param, Value, Values, param};
use std::collections::BTreeMap;
use std::sync::{OnceLock, PoisonError, RwLock};

/// What a class can be.
#[derive(Debug)]
pub struct Role {
    /// The class of `packetloom.schemes` that it derives from.
    pub base: &'static str,
    /// The component that its parameters complete; it has [`PLACE`].
    pub component: Component,
}

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
    /// The class of `packetloom.schemes` that it derives from.
    pub base: String,
    /// What it is, in a sentence.
    pub doc: String,
    /// Where that comes from.
    pub source: String,
    /// What it declares for all scenarios, such as whether its packets may be marked.
    pub constants: BTreeMap<String, i64>,
    /// The parameters, which are the first fields of its state.
    pub params: Vec<ClassParam>,
    /// What its other fields begin with, bit by bit.
    pub initial: Vec<u64>,
    /// The methods that it defines.
    pub methods: Methods,
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
    /// Its role's component, completed by its own parameters.
    pub component: Component,
    /// The class's name.
    pub name: &'static str,
    base: &'static str,
    class: Class,
}

/// Compiles a class; an error is a message to the user.
pub type Loader = Box<dyn Fn(Place<'_>) -> Result<Class, String> + Send + Sync>;

static LOADER: OnceLock<Loader> = OnceLock::new();
static LOADED: RwLock<BTreeMap<String, &'static Code>> = RwLock::new(BTreeMap::new());

/// Gives the loader; a second one changes nothing.
pub fn set_loader(loader: Loader) {
    let _ = LOADER.set(loader);
}

/// The code of a class that can be one of some roles, compiled if it is not yet.
///
/// # Errors
/// Why there is none, for the user.
pub fn load(roles: &[&Role], place: Place<'_>) -> Result<&'static Code, String> {
    let code = loaded(roles, place)?;
    if roles.iter().any(|role| role.base == code.base) {
        return Ok(code);
    }
    Err(of_another_role(roles, place, code.base))
}

fn of_another_role(roles: &[&Role], place: Place<'_>, base: &str) -> String {
    let bases: Vec<&str> = roles.iter().map(|role| role.base).collect();
    format!("{} is a {base}; write a class derived from {}", place.class, bases.join(" or "))
}

fn loaded(roles: &[&Role], place: Place<'_>) -> Result<&'static Code, String> {
    let key = format!("{} {}", place.file_hash, place.class);
    let find = |loaded: &BTreeMap<String, &'static Code>| loaded.get(&key).copied();
    if let Some(code) = find(&LOADED.read().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(code);
    }
    let loader = LOADER.get().ok_or("there is no Python interpreter here to compile a class")?;
    let class = loader(place)?;
    let role = roles.iter().find(|role| role.base == class.base);
    let role = role.ok_or_else(|| of_another_role(roles, place, &class.base))?;
    if let Some(name) = taken(role, &class) {
        let message = format!(
            "{}: its parameter {name} is one that every {:?} has; give it another name",
            place.class, role.component.kind
        );
        return Err(message);
    }
    let code: &'static Code = Box::leak(Box::new(Code::of(role, place.class, class)));
    let mut loaded = LOADED.write().unwrap_or_else(PoisonError::into_inner);
    Ok(loaded.entry(key).or_insert(code))
}

/// A parameter of a class that is called as one of its role's component, or as what is kept beside that.
fn taken<'a>(role: &Role, class: &'a Class) -> Option<&'a str> {
    let is_taken = |name: &&str| {
        let of_role = role.component.params().any(|param| param.name == *name);
        of_role || ["kind", "file_hash"].contains(name)
    };
    class.params.iter().map(|param| param.name.as_str()).find(is_taken)
}

/// The code of the class that a component's values name.
///
/// # Errors
/// Why there is none, for the user.
pub fn named(role: &Role, values: &Values) -> Result<&'static Code, String> {
    let (file, file_hash, class) = (values.text("file"), values.text("file_hash"), values.text("class"));
    load(&[role], Place { file: &file, file_hash: &file_hash, class: &class })
}

/// "file" and "class", which every component has that a class completes.
pub const PLACE: &[Param] = &[
    param! {
        required "file": Kind::Text,
        "The Python file that has the class, relative to the scenario's folder.", "packetloom"
    },
    param! {
        required "class": Kind::Text,
        "The class, derived from one of packetloom.schemes. Its own parameters stand beside these.",
        "packetloom"
    },
];

impl Code {
    fn of(role: &Role, name: &str, class: Class) -> Code {
        let own: Vec<Param> = class.params.iter().map(ClassParam::leaked).collect();
        let all = role.component.params.iter().copied().chain([&*own.leak()]);
        let component = Component {
            doc: leaked(&class.doc),
            source: leaked(&class.source),
            params: all.collect::<Vec<_>>().leak(),
            ..role.component
        };
        Code { component, name: leaked(name), base: role.base, class }
    }

    /// What the class declares for all scenarios under a name; 0 if nothing.
    pub fn constant(&self, name: &str) -> i64 {
        self.class.constants.get(name).copied().unwrap_or(0)
    }

    /// A new state: the parameters' values, then the fields.
    pub fn state(&self, values: &Values) -> Box<[u64]> {
        let params = self.class.params.iter().map(|param| bits(values.get(&param.name)));
        params.chain(self.class.initial.iter().copied()).collect()
    }

    /// A method, if the class defines it.
    pub fn method<H: Hook>(&self) -> Option<Method<H>> {
        assert!(H::BASES.contains(&self.base), "{} is a hook of another role", H::NAME);
        self.class.methods.get()
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
            acts: ALWAYS,
        }
    }
}

/// Descriptions of components live as long as the process, those of a user's classes too.
fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// A count as a method finds it.
pub fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A parameter's value as a method finds it: floating point for a number, else a whole number in its unit.
fn bits(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.to_bits(),
        Value::Time(time) => time.as_ps(),
        Value::Rate(rate) => rate.as_bps(),
        Value::Bytes(count) | Value::Packets(count) | Value::Count(count) => *count,
        Value::Flag(flag) => (*flag).into(),
        other => panic!("{other:?} is no parameter of a class"),
    }
}
