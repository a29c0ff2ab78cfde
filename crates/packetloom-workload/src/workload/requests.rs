//! Sources of traffic that are requests to a language model: the hosts of its ranks, and the random streams of requests.

use super::entity;
use super::job::settings::{self, HOST_PARAMS, Site};
use crate::flow::Flow;
use crate::narrow::exact;
use crate::random::{Purpose, Stream};
use crate::serving::{self, Draws, Plan};
use crate::spec::{Complaint, Component, Values};

/// What a scenario can write as `arrivals`.
pub const COMPONENTS: &[Component] = &[Component {
    section: "arrivals",
    kind: serving::KIND,
    doc: "Requests to a language model: a pool of instances processes prompts in batches, sends the keys and values of \
          each to a pool of instances that generate answers, a token at a time. Hosts are the ranks of the first \
          prefill instance, then of the next, and after them those of the decode instances. Beside it may be flows that \
          start by the clock.",
    source: "DistServe, OSDI 2024; Splitwise, ISCA 2024",
    params: &[serving::PARAMS, HOST_PARAMS],
    check,
}];

fn check(values: &Values) -> Result<(), Complaint> {
    if values.optional_list("placement").is_some() && values.text("order") != "by-number" {
        return Err(Complaint::new("placement", "says which host has which rank; leave order out"));
    }
    serving::check(values)
}

/// The plan of a source, and what it is in words.
///
/// # Errors
/// What can't be, by its key.
pub fn plan(values: &Values, site: &Site<'_>, like: Flow, seed: u64) -> Result<(Plan, String), Complaint> {
    let ranks = serving::ranks(values);
    settings::check_ranks("decode.instances", ranks, site.hosts.len() as u64)?;
    let own = entity::source(like.source);
    let mut places = Stream::new(seed, Purpose::Pattern, own);
    let hosts = settings::place(values, exact::<u32>(ranks), site, &mut places)?;
    // A stream each, so that another rate, or another distribution of the one, changes nothing of the others.
    let draws = Draws {
        arrivals: Stream::new(seed, Purpose::Arrivals, own),
        prompts: Stream::new(seed, Purpose::Sizes, own),
        answers: Stream::new(seed, Purpose::Sizes, entity::answers(like.source)),
    };
    serving::plan(values, hosts, like, draws)
}
