//! Inference in two pools: prompts are processed by one, which sends the keys and values that it computed to the
//! other, where answers are generated (Zhong et al., "DistServe", OSDI 2024; Patel et al., "Splitwise", ISCA 2024).

use super::job::settings;
use crate::job::{Dependency, MOST_BYTES, Operation, Program, Rank, Work};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

/// What a scenario can write as `arrivals`.
pub const COMPONENT: Component = Component {
    section: "arrivals",
    kind: "kv-cache",
    doc: "Key-value caches go from the ranks that process prompts, which come first, to those that generate answers. Each prefill rank computes one prompt after the other, and sends what it computed while it computes the next. Its prompts go to the decode ranks in turn; the first prompt of the n-th prefill rank goes to the n-th decode rank.",
    source: "DistServe, OSDI 2024; draft-calabria-bmwg-ai-fabric-inference-bench",
    params: &[
        &[
            param! { required "prefill": Kind::Count(1), "How many ranks process prompts.", "packetloom" },
            param! { required "decode": Kind::Count(1), "How many ranks generate answers.", "packetloom" },
            param! { "requests" = "1": Kind::Count(1), "Prompts of each prefill rank.", "packetloom" },
            param! {
                required "size": Kind::Bytes,
                "Bytes of a prompt's keys and values: 2 · layers · tokens · heads · head size · bytes per value.",
                "packetloom"
            },
            param! {
                "messages" = "1": Kind::Count(1),
                "The number of concurrent messages in which they are sent.", "the draft's queue pairs"
            },
            param! { "prefill_time" = "0us": Kind::Time, "Computing time of a prompt.", "packetloom" },
            param! {
                "decode_time" = "0us": Kind::Time,
                "Computing time of an answer's first token, once the keys and values have arrived.",
                "packetloom"
            },
        ],
        settings::PLACEMENT_PARAMS,
    ],
    check,
};

/// More operations than that take more memory than a machine has.
const MOST_OPERATIONS: u64 = 1 << 26;

fn check(values: &Values) -> Result<(), Complaint> {
    let factors = ["prefill", "requests", "messages"].map(|key| values.count(key));
    let operations = factors.into_iter().try_fold(4_u64, u64::checked_mul);
    if operations.is_none_or(|operations| operations > MOST_OPERATIONS) {
        let message = format!("this makes more than {MOST_OPERATIONS} operations; write fewer");
        return Err(Complaint::new("requests", message));
    }
    if values.bytes("size") < values.count("messages") {
        return Err(Complaint::new("messages", "a message has 1 B at least; write fewer"));
    }
    if values.bytes("size") > MOST_BYTES {
        return Err(Complaint::new("size", format!("write {MOST_BYTES} B at most")));
    }
    settings::check_without_parts(values, "keys and values go in messages, and no collective operation")?;
    settings::check(values)
}

const COMPUTE: u16 = 0;

/// The program, and what it is in words; there are hosts for its ranks.
pub fn program(values: &Values) -> (Program, String) {
    let [prefill, decode, requests, messages] =
        ["prefill", "decode", "requests", "messages"].map(|key| exact::<u32>(values.count(key)));
    let size = values.bytes("size");
    let mut program =
        Program { ranks: vec![Rank::default(); (prefill + decode) as usize], ..Program::default() };
    let [prompt, send, receive, token] =
        ["prefill", "send keys and values", "receive keys and values", "first token"]
            .map(|name| program.name(name));
    let computes = |key| Work::Compute { duration: values.time(key) };
    for request in 0..requests {
        for from in 0..prefill {
            let to = prefill + (from + request) % decode;
            let work = computes("prefill_time");
            let operation = Operation { work, stream: Some(COMPUTE), name: prompt };
            let computed = program.ranks[from as usize].add(operation, []);
            let mut came = Vec::new();
            for message in 0..messages {
                let parts = u64::from(messages);
                let bytes = size * u64::from(message + 1) / parts - size * u64::from(message) / parts;
                let tag = request * messages + message;
                let work = Work::Send { peer: to, bytes, tag };
                let operation = Operation { work, stream: None, name: send };
                program.ranks[from as usize].add(operation, [Dependency::on_end(computed)]);
                let work = Work::Receive { peer: Some(from), bytes, tag: Some(tag) };
                let operation = Operation { work, stream: None, name: receive };
                came.push(Dependency::on_end(program.ranks[to as usize].add(operation, [])));
            }
            let operation = Operation { work: computes("decode_time"), stream: Some(COMPUTE), name: token };
            program.ranks[to as usize].add(operation, came);
        }
    }
    let what = format!("key-value caches of {requests} prompts each from {prefill} ranks to {decode}");
    (program, what)
}
