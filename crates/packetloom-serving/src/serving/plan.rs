//! A serving workload as it is simulated: its requests, its pools and their times.

use super::requests::{self, Draws, Request};
use super::trace;
use crate::flow::{Flow, HostId};
use crate::formats;
use crate::narrow::exact;
use crate::spec::{Complaint, Values};
use crate::units::Time;

/// Requests, and who serves them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In order of arrival.
    pub requests: Vec<Request>,
    /// What messages have in common: their source and class. They are numbered from its number.
    pub like: Flow,
    pub(super) prefill: Pool,
    pub(super) decode: Pool,
    pub(super) prefill_times: PrefillTimes,
    pub(super) decode_times: DecodeTimes,
    /// The tokens whose keys and values a decode instance has room for.
    pub(super) capacity: u64,
    /// What keys and values of a token take, over all ranks.
    pub(super) token_bytes: u64,
    /// Whether the prefill instance gives out the first token.
    pub(super) prefill_answers: bool,
    /// All-reduces of an iteration that are messages.
    pub(super) all_reduces: u64,
    /// What a token has between layers.
    pub(super) hidden_bytes: u64,
}

/// Instances that are alike, each on its own hosts.
#[derive(Clone, Debug)]
pub struct Pool {
    pub tensor: u32,
    /// The host of each rank, instance by instance.
    pub hosts: Vec<HostId>,
    /// The most tokens of a batch of prompts, or answers that are generated together.
    pub batch: u64,
}

impl Pool {
    pub fn instances(&self) -> u32 {
        exact::<u32>(self.hosts.len()) / self.tensor
    }

    pub fn hosts_of(&self, instance: u32) -> &[HostId] {
        let tensor = self.tensor as usize;
        &self.hosts[instance as usize * tensor..][..tensor]
    }
}

/// What a batch of prompts takes.
#[derive(Clone, Copy, Debug)]
pub struct PrefillTimes {
    pub base: Time,
    pub per_token: Time,
    pub per_token_squared: Time,
}

/// What a token of all answers takes.
#[derive(Clone, Copy, Debug)]
pub struct DecodeTimes {
    pub base: Time,
    pub per_answer: Time,
    pub per_cached_token: Time,
}

/// A sum of so many times each of some times, no later than can be.
fn sum(terms: [(Time, u128); 3]) -> Time {
    let all: u128 = terms.iter().map(|(time, count)| u128::from(time.as_ps()).saturating_mul(*count)).sum();
    Time(u64::try_from(all).unwrap_or(u64::MAX).min(Time::LATEST.as_ps()))
}

impl PrefillTimes {
    pub fn of(&self, prompts: impl Iterator<Item = u64> + Clone) -> Time {
        let tokens = prompts.clone().map(u128::from).sum();
        let squared = prompts.map(|tokens| u128::from(tokens).pow(2)).sum();
        sum([(self.base, 1), (self.per_token, tokens), (self.per_token_squared, squared)])
    }
}

impl DecodeTimes {
    pub fn of(&self, answers: u64, cached: u64) -> Time {
        sum([
            (self.base, 1),
            (self.per_answer, u128::from(answers)),
            (self.per_cached_token, u128::from(cached)),
        ])
    }
}

/// How many ranks all instances have.
pub fn ranks(values: &Values) -> u64 {
    let of = |key: &str| {
        let pool = values.component(key);
        pool.count("instances").saturating_mul(pool.count("tensor"))
    };
    of("prefill").saturating_add(of("decode"))
}

/// The plan of a source whose ranks have these hosts, and what it is in words.
///
/// # Errors
/// What can't be, by its key.
pub fn plan(
    values: &Values,
    mut hosts: Vec<HostId>,
    like: Flow,
    draws: Draws,
) -> Result<(Plan, String), Complaint> {
    let [model, prefill, decode] = ["model", "prefill", "decode"].map(|key| values.component(key));
    let answering = hosts.split_off(exact::<usize>(prefill.count("instances") * prefill.count("tensor")));
    let token_bytes = 2
        * model.count("layers")
        * model.count("kv_heads")
        * model.count("head_size")
        * model.bytes("value_size");
    let pool = |values: &Values, hosts, batch| Pool {
        tensor: exact::<u32>(values.count("tensor")),
        hosts,
        batch: values.count(batch),
    };
    let sends_all_reduces = values.text("all_reduce") == "messages";
    let plan = Plan {
        requests: requests(values, like.start, draws)?,
        like,
        prefill: pool(&prefill, hosts, "batch_tokens"),
        decode: pool(&decode, answering, "batch"),
        prefill_times: PrefillTimes {
            base: prefill.time("base"),
            per_token: prefill.time("per_token"),
            per_token_squared: prefill.time("per_token_squared"),
        },
        decode_times: DecodeTimes {
            base: decode.time("base"),
            per_answer: decode.time("per_answer"),
            per_cached_token: decode.time("per_cached_token"),
        },
        capacity: decode.bytes("memory").saturating_mul(decode.count("tensor")) / token_bytes,
        token_bytes,
        prefill_answers: values.text("first_token") == "prefill",
        all_reduces: if sends_all_reduces { 2 * model.count("layers") } else { 0 },
        hidden_bytes: model.count("hidden") * model.bytes("value_size"),
    };
    plan.check()?;
    let what = plan.describe();
    Ok((plan, what))
}

fn requests(values: &Values, start: Time, draws: Draws) -> Result<Vec<Request>, Complaint> {
    let count = values.optional_count("requests");
    let Some(file) = values.has("file").then(|| values.text("file")) else {
        return Ok(requests::drawn(values, count.unwrap_or(0), start, draws));
    };
    let listed = formats::read(&file, trace::read)?;
    Ok(requests::sped_up(listed, count.unwrap_or(u64::MAX), start, values.number("speed")))
}

impl Plan {
    /// Every request must have room by itself, and come while there is time.
    fn check(&self) -> Result<(), Complaint> {
        for (request, number) in self.requests.iter().zip(0_u64..) {
            let needed = request.prompt + request.answer;
            if self.moves(request) && needed > self.capacity {
                let message = format!(
                    "request {number} has {needed} tokens, and a decode instance has room for {}; write more memory, or \
                     shorter requests",
                    self.capacity
                );
                return Err(Complaint::new("decode.memory", message));
            }
            if request.arrival >= Time::LATEST {
                let message = format!("request {number} comes after {}; write a higher one", Time::LATEST);
                return Err(Complaint::new("rate_per_second", message));
            }
        }
        Ok(())
    }

    /// Whether a request's keys and values go to a decode instance.
    pub(super) fn moves(&self, request: &Request) -> bool {
        !(self.prefill_answers && request.answer == 1)
    }

    /// Whether all-reduces are messages, so that what is sent depends on who is served together.
    pub fn exchanges(&self) -> bool {
        self.all_reduces > 0 && self.prefill.tensor.max(self.decode.tensor) > 1
    }

    /// The bytes of a request's keys and values.
    pub fn cache_bytes(&self, request: &Request) -> u64 {
        request.prompt.saturating_mul(self.token_bytes)
    }

    /// The messages of so many bytes from the ranks of a prefill instance to those of a decode instance: from which rank
    /// to which, and how large. Each rank has an equal part of the heads, in order, and sends to each that needs some of
    /// it.
    pub(super) fn stripes(&self, bytes: u64) -> impl Iterator<Item = (u32, u32, u64)> + use<> {
        let (from, to) = (self.prefill.tensor, self.decode.tensor);
        let bound = move |rank: u32, ranks: u32| {
            exact::<u64>(u128::from(bytes) * u128::from(rank) / u128::from(ranks))
        };
        let pairs = (0..from).flat_map(move |sender| (0..to).map(move |receiver| (sender, receiver)));
        pairs.filter_map(move |(sender, receiver)| {
            let begin = bound(sender, from).max(bound(receiver, to));
            let end = bound(sender + 1, from).min(bound(receiver + 1, to));
            (begin < end).then(|| (sender, receiver, end - begin))
        })
    }

    /// The sizes of the messages that carry keys and values, request by request.
    pub fn transfers(&self) -> impl Iterator<Item = u64> + '_ {
        let moved = self.requests.iter().filter(|request| self.moves(request));
        moved.flat_map(|request| self.stripes(self.cache_bytes(request)).map(|(.., bytes)| bytes))
    }

    /// The largest message that an all-reduce may have, if they are messages.
    pub fn largest_all_reduce(&self) -> Option<u64> {
        let longest = self.requests.iter().map(|request| request.prompt).max().unwrap_or(0);
        let of = |pool: &Pool, tokens: u64| {
            let bytes = tokens.saturating_mul(self.hidden_bytes).div_ceil(u64::from(pool.tensor));
            (pool.tensor > 1).then_some(bytes)
        };
        let prompts = of(&self.prefill, self.prefill.batch.max(longest));
        let both = prompts.into_iter().chain(of(&self.decode, self.decode.batch));
        both.max().filter(|_| self.all_reduces > 0)
    }

    /// The hosts between which keys and values may go: those of the prefill pool, and those of the decode pool.
    pub fn pools(&self) -> [&[HostId]; 2] {
        [&self.prefill.hosts, &self.decode.hosts]
    }

    /// The part of the time from the first request to the last for which the prefill pool would be busy.
    fn offered(&self) -> Option<f64> {
        let [first, .., last] = &self.requests[..] else { return None };
        let span = last.arrival.since(first.arrival).as_secs_f64() * f64::from(self.prefill.instances());
        let each = self.requests.iter().map(|one| self.prefill_times.of(std::iter::once(one.prompt)));
        let busy: f64 = each.map(Time::as_secs_f64).sum();
        (span > 0.0).then(|| busy / span)
    }

    fn describe(&self) -> String {
        let pool = |pool: &Pool| format!("{} of {} ranks", pool.instances(), pool.tensor);
        let offered = self.offered().map_or_else(String::new, |part| {
            format!(" (busy for {:.0} % of the time if each prompt is a batch)", part * 100.0)
        });
        format!(
            "{} requests; {} that process prompts{offered}, {} that generate answers; {} B a token, room for {} tokens",
            self.requests.len(),
            pool(&self.prefill),
            pool(&self.decode),
            self.token_bytes,
            self.capacity
        )
    }
}
