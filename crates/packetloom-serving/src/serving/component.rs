//! What a scenario can write of requests and of those who serve them.

use super::KIND;
use super::tokens;
use crate::spec::{Complaint, Component, Kind, Needs, Param, Values, param};

/// The components of requests: lengths, the model, and the pools.
pub const COMPONENTS: &[Component] = &[tokens::FIXED, tokens::LOGNORMAL, tokens::CDF, MODEL, PREFILL, DECODE];

/// More requests than that would take more memory than a machine has.
pub const MOST_REQUESTS: u64 = 1 << 24;
/// More tokens than any model takes.
pub const MOST_TOKENS: u64 = 1 << 30;
/// More hosts than any network has.
const MOST_RANKS: u64 = 1 << 20;

const TRACE: &[Needs] = &[Needs::Set("file")];
const MESSAGES: &[Needs] = &[Needs::That(
    |site| {
        let exchanged = |values: &Values| {
            let part =
                |key: &str| values.part("arrivals").filter(|arrivals| arrivals.kind == KIND)?.part(key);
            let is_wide = |key| part(key).is_some_and(|pool| pool.count("tensor") > 1);
            let arrivals = values.part("arrivals");
            let are_sent =
                arrivals.is_some_and(|one| one.kind == KIND && one.text("all_reduce") == "messages");
            are_sent && (is_wide("prefill") || is_wide("decode"))
        };
        site.scene.workloads.iter().any(|workload| exchanged(workload))
    },
    "it sizes the messages of all-reduces, which are sent with all_reduce = \"messages\" and tensor above 1",
)];

const SEVERAL_RANKS: &[Needs] = &[Needs::That(
    |site| {
        ["prefill", "decode"]
            .iter()
            .any(|key| site.own.part(key).is_some_and(|pool| pool.count("tensor") > 1))
    },
    "instances of one rank have no all-reduces",
)];

/// What requests have.
pub const PARAMS: &[Param] = &[
    param! {
        "requests": Kind::Count(1),
        "How many requests come. Of a trace: how many are taken, from the first on; all if left out.",
        "packetloom"
    },
    param! {
        "rate_per_second": Kind::Number(1e-3, 1e9),
        "Requests per second, which come at random, independently of one another. Needed without a trace.",
        "DistServe §6.1: Poisson arrivals"
    },
    param! {
        "file": Kind::Text,
        "A trace: a CSV file with the columns TIMESTAMP (a date and time, or seconds), ContextTokens and \
                  GeneratedTokens. The first request comes at once.",
        "Azure LLM inference traces 2023 and 2024"
    },
    param! {
        "speed" = "1": Kind::Number(1e-6, 1e6),
        "The factor by which requests come faster than in the trace.", "packetloom"; acts TRACE
    },
    param! {
        "prompt": Kind::Component("tokens"),
        "How long prompts are. Needed without a trace.", "packetloom"
    },
    param! {
        "answer": Kind::Component("tokens"),
        "How long answers are. Needed without a trace.", "packetloom"
    },
    param! {
        required "model": Kind::Component("model"),
        "The model's shape: how large keys and values are.", "packetloom"
    },
    param! {
        required "prefill": Kind::Component("prefill"),
        "The pool that processes prompts.", "packetloom"
    },
    param! { required "decode": Kind::Component("decode"), "The pool that generates answers.", "packetloom" },
    param! {
        "first_token" = "decode": Kind::Choice(&["decode", "prefill"]),
        "Which instance gives out the first token: decode, once it has the keys and values; or prefill, as soon as the prompt is processed. An answer of one token then needs no transfer.",
        "decode: draft-calabria-bmwg-ai-fabric-inference-bench; prefill: Splitwise §4"
    },
    param! {
        "all_reduce" = "in-times": Kind::Choice(&["in-times", "messages"]),
        "How the two all-reduces of each layer among an instance's ranks are modelled. Either the times that are given include them, or they are sent as messages from each rank to each other: a reduce-scatter and an all-gather.",
        "Shoeybi et al., Megatron-LM, 2019, §3: two all-reduces a layer"; acts SEVERAL_RANKS
    },
];

/// What must hold of requests beyond the kinds of their values.
///
/// # Errors
/// What does not, by its key.
pub fn check(values: &Values) -> Result<(), Complaint> {
    let has = |key: &str| values.has(key);
    if has("file") {
        for key in ["rate_per_second", "prompt", "answer"] {
            if has(key) {
                return Err(Complaint::new(key, "the trace says that; leave this or the file out"));
            }
        }
    } else {
        for (key, example) in [
            ("rate_per_second", "rate_per_second = 10"),
            ("requests", "requests = 1000"),
            ("prompt", "prompt = { kind = \"fixed\", tokens = 1024 }"),
            ("answer", "answer = { kind = \"fixed\", tokens = 128 }"),
        ] {
            if !has(key) {
                return Err(Complaint::new(key, format!("is missing; write {example}, or a trace's file")));
            }
        }
    }
    if values.optional_count("requests").is_some_and(|count| count > MOST_REQUESTS) {
        return Err(Complaint::new("requests", format!("write {MOST_REQUESTS} at most")));
    }
    Ok(())
}

const MODEL: Component = Component {
    section: "model",
    kind: "model",
    doc: "A transformer's shape. A token's keys and values take 2 · layers · kv_heads · head_size · value_size.",
    source: "Pope et al., MLSys 2023, §3.3",
    params: &[&[
        param! { required "layers": Kind::Count(1), "Transformer layers.", "packetloom" },
        param! {
            required "kv_heads": Kind::Count(1),
            "Heads with keys and values of their own: fewer than all heads with grouped-query attention.",
            "Ainslie et al., GQA, EMNLP 2023"
        },
        param! { required "head_size": Kind::Count(1), "Values of a head for each token.", "packetloom" },
        param! {
            "value_size" = "2B": Kind::Bytes,
            "Bytes of a value: 2 in FP16 and BF16.", "IEEE 754 binary16"
        },
        param! {
            "hidden" = "8192": Kind::Count(1),
            "Values that a token has between layers, which all-reduces add up.", "Llama 2 70B"; acts MESSAGES
        },
    ]],
    check: check_model,
};

fn check_model(values: &Values) -> Result<(), Complaint> {
    let heads = ["layers", "kv_heads", "head_size"].map(|key| values.count(key));
    let factors = heads.into_iter().chain([values.bytes("value_size"), 2]);
    let bytes = factors.fold(1_u64, u64::saturating_mul);
    if bytes == 0 {
        return Err(Complaint::new("value_size", "a value has 1 B at least"));
    }
    if bytes > 1 << 32 || values.count("hidden") > 1 << 32 {
        return Err(Complaint::new("layers", "a token's keys and values have more than 4 GB; write less"));
    }
    Ok(())
}

const INSTANCES: Param = param! {
    required "instances": Kind::Count(1),
    "How many instances of the model there are.", "packetloom"
};
const TENSOR: Param = param! {
    "tensor" = "1": Kind::Count(1),
    "The ranks of an instance, each with a host: tensor parallelism. Each has its part of every layer's heads.",
    "Shoeybi et al., Megatron-LM, 2019"
};

const PREFILL: Component = Component {
    section: "prefill",
    kind: "prefill",
    doc: "Instances that process prompts. A request goes to the one with the fewest tokens to process, which takes its \
          prompts in order. A batch of n prompts takes base + per_token · Σ tokens + per_token_squared · Σ tokens².",
    source: "DistServe, appendix A; Splitwise §4.2: join the shortest queue",
    params: &[&[
        INSTANCES,
        TENSOR,
        param! {
            "batch_tokens" = "2048": Kind::Count(1),
            "A batch has no more tokens than this, but for a longer prompt, which is a batch by itself.",
            "vLLM: max_num_batched_tokens"
        },
        param! { "base" = "0us": Kind::Time, "Time of a batch, independent of its tokens.", "packetloom" },
        param! { required "per_token": Kind::Time, "Time for each token of a batch.", "packetloom" },
        param! {
            "per_token_squared" = "0us": Kind::Time,
            "Time for each pair of a prompt's tokens: attention.", "packetloom"
        },
    ]],
    check: check_pool,
};

const DECODE: Component = Component {
    section: "decode",
    kind: "decode",
    doc: "Instances that generate answers. A request waits, in order of prompts' ends, until the instance with the most \
          room for keys and values has enough for its prompt and answer. All answers of a batch get a token together, and \
          new ones join after any token. That takes base + per_answer · answers + per_cached_token · Σ tokens in their caches.",
    source: "DistServe, appendix A; Yu et al., Orca, OSDI 2022: iteration-level scheduling",
    params: &[&[
        INSTANCES,
        TENSOR,
        param! {
            "batch" = "256": Kind::Count(1),
            "How many answers are generated together, at most.", "vLLM: max_num_seqs"
        },
        param! { required "memory": Kind::Bytes, "Memory of each rank for keys and values.", "packetloom" },
        param! {
            required "base": Kind::Time,
            "Time of a token of all answers, independent of their number: reading the model.", "packetloom"
        },
        param! { "per_answer" = "0us": Kind::Time, "Time for each answer.", "packetloom" },
        param! {
            "per_cached_token" = "0us": Kind::Time,
            "Time for each token whose keys and values are read.", "packetloom"
        },
    ]],
    check: check_pool,
};

fn check_pool(values: &Values) -> Result<(), Complaint> {
    let ranks = values.count("instances").saturating_mul(values.count("tensor"));
    if ranks > MOST_RANKS {
        return Err(Complaint::new("instances", format!("{ranks} ranks; write {MOST_RANKS} at most")));
    }
    if values.has("memory") && values.bytes("memory") == 0 {
        return Err(Complaint::new("memory", "0 has room for no answer; write more"));
    }
    Ok(())
}
