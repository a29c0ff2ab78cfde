//! A choice of paths that a user writes as a Python class ([`crate::user_class`]). The one place of routing with
//! `unsafe` code: what the class's methods are given, and what they call back.
#![allow(unsafe_code)]

use super::{ENTROPIES, Feedback, Fits, Select, Selector, Way, check};
use crate::flow::FlowId;
use crate::narrow::{exact, narrow};
use crate::random::Stream;
use crate::routing::{Fate, Judged};
use crate::spec::{Component, Registered, Values};
use crate::units::Time;
use crate::user_class::{Code, Hook, Method, PLACE, Role, SchemeError, named, raised, signed};

const BASE: &str = "PathChoice";

const COMPONENT: Component = Component {
    section: "routing",
    kind: "python",
    doc: "A choice of paths of your own: a Python class, compiled when the scenario is read, that says which entropy a flow's next packet takes. Beside these it has the parameters that the class declares.",
    source: "docs/your-own-scheme.md",
    params: &[&[ENTROPIES], PLACE],
    check,
};

/// What a class is.
pub static ROLE: Role = Role { base: BASE, component: COMPONENT };

pub(super) const WAY: Registered<Way> = Registered {
    component: COMPONENT,
    factory: Way {
        build: |values| Selector::Python(Chosen::of(values)),
        judged: |values| judged(code(values)),
        settable: &[],
    },
};

fn code(values: &Values) -> &'static Code {
    named(&ROLE, values).expect("it was loaded with the scenario")
}

/// What a transport has to report to a class: nothing, if it does not define the method.
fn judged(code: &Code) -> Judged {
    match code.method::<Judges>() {
        None => Judged::Nothing,
        Some(_) if code.constant("keeps") != 0 => Judged::Flows,
        Some(_) => Judged::Packets,
    }
}

packetloom_base::records! {
    /// A packet that is sent, as a method sees it.
    struct Outgoing {
        /// How many packets the flow sent before it.
        number: i64,
        now_ps: i64,
    }
}

packetloom_base::records! {
    /// What became of a packet, as a method sees it.
    struct FateView {
        path: i64,
        lost: i64,
        marked: i64,
        trimmed: i64,
        sent_ps: i64,
        now_ps: i64,
    }
}

packetloom_base::records! {
    /// What a method can use.
    struct PathTools {
        /// How many entropies there are.
        count: i64,
        result: i64,
        random: *mut Stream,
    }
}

impl PathTools {
    /// What the method returned, if there is such a path.
    fn chosen(&self) -> Result<u16, SchemeError> {
        let outside = SchemeError::Outside { what: "path", number: self.result, count: self.count };
        if (0..self.count).contains(&self.result) { Ok(narrow::<u16>(self.result)) } else { Err(outside) }
    }
}

packetloom_base::hooks! {
    &[BASE] =>
    Chooses = "choose"(Outgoing, PathTools);
    Judges = "judged"(FateView, PathTools);
}

/// What methods can call, by the names under which compiled code refers to it.
pub fn symbols() -> [(&'static str, usize); 2] {
    [
        ("packetloom_paths_random", random_below as *const () as usize),
        ("packetloom_paths_bits", random_bits as *const () as usize),
    ]
}

/// A number from 0 to below `count`.
unsafe extern "C" fn random_below(tools: *mut PathTools, count: i64) -> i64 {
    let count = narrow::<u32>(count.clamp(1, u32::MAX.into()));
    // SAFETY: compiled code passes on the pointer that it was called with, whose stream outlives the call.
    unsafe { (*(*tools).random).below(count) }.into()
}

/// 64 bits.
unsafe extern "C" fn random_bits(tools: *mut PathTools) -> i64 {
    // SAFETY: as above.
    unsafe { (*(*tools).random).bits().cast_signed() }
}

/// A flow's state, and what works on it.
#[derive(Clone, Debug)]
pub struct Chosen {
    class: &'static str,
    flow: FlowId,
    choose: Option<Method<Chooses>>,
    judges: Option<Method<Judges>>,
    /// The class's parameters, then its fields.
    state: Box<[u64]>,
    keeps: bool,
    mask: u16,
    sent: i64,
    last: u16,
    /// Chosen for a packet that waits for the link that this one begins with.
    waiting: Option<u16>,
}

impl Chosen {
    fn of(values: &Values) -> Chosen {
        let code = code(values);
        Chosen {
            class: code.name,
            flow: 0,
            choose: code.method(),
            judges: code.method(),
            state: code.state(values),
            keeps: code.constant("keeps") != 0,
            mask: exact::<u16>(values.count("entropies") - 1),
            sent: 0,
            last: 0,
            waiting: None,
        }
    }

    fn tools(&self, random: &mut Stream) -> PathTools {
        PathTools { count: i64::from(self.mask) + 1, result: 0, random }
    }
}

impl Select for Chosen {
    fn start(&mut self, flow: FlowId, _: &mut Stream) {
        self.flow = flow;
    }

    fn next(&mut self, now: Time, random: &mut Stream) -> u16 {
        if let Some(choose) = self.choose {
            let mut tools = self.tools(random);
            let packet = Outgoing { number: self.sent, now_ps: signed(now.as_ps()) };
            let done = choose.call(&mut self.state, &packet, &mut tools);
            let done = done.map_err(SchemeError::from).and_then(|()| tools.chosen());
            self.last = done.unwrap_or_else(|error| {
                raised::note((now, self.flow), (self.class, Chooses::NAME), error);
                0
            });
        }
        self.sent += 1;
        self.last
    }

    /// A class is asked once for each packet, which then waits for its link.
    fn next_among(&mut self, now: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        let chosen = match self.waiting {
            Some(waiting) => waiting,
            None => self.next(now, random),
        };
        self.waiting = (!fits(chosen)).then_some(chosen);
        self.waiting.is_none().then_some(chosen)
    }

    fn update(&mut self, now: Time, feedback: &Feedback, random: &mut Stream) {
        if let Some(judges) = self.judges {
            let mut tools = self.tools(random);
            let fate = FateView {
                path: feedback.path.into(),
                lost: (feedback.fate == Fate::Lost).into(),
                marked: (feedback.fate == Fate::Marked).into(),
                trimmed: (feedback.fate == Fate::Trimmed).into(),
                sent_ps: signed(feedback.sent_at.as_ps()),
                now_ps: signed(now.as_ps()),
            };
            let done = judges.call(&mut self.state, &fate, &mut tools);
            let noted = |error| raised::note((now, self.flow), (self.class, Judges::NAME), error);
            done.map_err(SchemeError::from).unwrap_or_else(noted);
        }
    }

    fn kept(&self) -> Option<u16> {
        self.keeps.then_some(self.last)
    }
}
