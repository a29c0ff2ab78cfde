//! SimAI's workloads (aliyun/SimAI, `astra-sim-alibabacloud/astra-sim/workload/Workload.cc`, 2026-08), which AICB
//! generates.
//!
//! The first line has a policy and keys with values, the second the number of layers; then a line per layer has
//! twelve columns: name, dependency (-1), and for each of forward, input gradient and weight gradient the time of
//! the computation in nanoseconds, the collective operation and its bytes; last the time of the update. Under
//! `HYBRID_CUSTOMIZED` a thirteenth has the layer's own policy.
//!
//! A pass goes forward over the layers and back. What waits for what is that of the policy:
//! - `HYBRID_TRANSFORMER` and `HYBRID_TRANSFORMER_FWD_IN_BCKWD`: forward and input-gradient operations are waited
//!   for; weight-gradient operations go on beside until the same layer's next forward computation. The second computes
//!   layers again on its way back: from a checkpoint to the layer before one that initiates it.
//! - `DATA`: the weight gradient of a layer before its input gradient, and that of the first layer is left out.
//! - `MODEL`: input-gradient operations go on beside the weight-gradient computation; the first layer has none.
//! - `HYBRID_DLRM`: as `DATA`, and the first layer's all-to-all forward goes on beside until the last of the bottom
//!   layers (`DLRM_LAST_BOTTOM_LAYER:`) has computed; that of its input gradient begins after the gradient of the layer
//!   above those, and the pass ends with it. `HYBRID_DLRM_ENHANCED` does not wait for the latter. All-to-alls of other
//!   layers forward are waited for by nothing. Where the last bottom layer has one, too, SimAI does not wait for the
//!   first layer's; here it does.
//! - `HYBRID_DATA_MODEL`, `HYBRID_MODEL_DATA`, `HYBRID_CUSTOMIZED`: forward operations are waited for. Input-gradient
//!   operations go on beside the weight-gradient computation, after which the layer before waits for them; the first
//!   layer has none. Weight-gradient operations go on beside until the same layer's next forward computation. The
//!   three differ in their groups only. A layer of `HYBRID_CUSTOMIZED` is `DATA`, `MODEL` or one of the other two; it
//!   keeps this order, but a `DATA` layer has no operations forward and of its input gradient, and a `MODEL` layer
//!   none of its weight gradient.
//! - `DISTRIBUTED_INFERENCE`: forward only. Each operation is waited for, and a pass begins as the one before it ends.
//!   What the file says of gradients is not executed.
//! - `MICRO`: the weight-gradient operation of the only layer, once for each pass, all at the same time, and nothing
//!   else.
//!
//! Each operation is followed by the time of the update (`Layer.cc`). Those of 0 bytes are left out. SimAI raises
//! the forward operations of the second policy to 4096 bytes; this is not done here.
//!
//! Groups: a suffix `_EP` or `_DP_EP` names one; without it forward and input gradient mean TP, weight gradient DP.
//! Ranks stand as in Megatron-LM's order `tp-cp-ep-dp-pp` (`megatron/core/parallel_state.py`): TP fastest, then EP
//! within DP, then PP. In DATA, MODEL, DLRM, DISTRIBUTED_INFERENCE and MICRO every group is that of all ranks.
//!
//! Packages: the three policies with `DATA` and `MODEL` in turn come from ASTRA-sim 1.0, where the first dimension of
//! the network is a package. `HYBRID_DATA_MODEL` shares tensors within a package and repeats data over packages:
//! forward and input-gradient operations are among the ranks of a package, those of the weight gradient among the
//! ranks at the same place of each. `HYBRID_MODEL_DATA` has it the other way round. The file does not say how large a
//! package is, so `ranks_per_package` does. ASTRA-sim executes an operation over several dimensions one dimension
//! after the other; here it is one among all ranks of its group. SimAI has these policies too, but its network is one
//! dimension whatever its topology. So it leaves out the weight-gradient operations of the first and all others of the
//! second without a word, and this is not done here. Both take a layer's unknown policy for one without dimensions,
//! and read past the end of their list; here it is refused.
//!
//! Pipeline stages are a simplification. SimAI's own packet simulation has none (`Sys.cc` sets PP to 1; only its
//! analytical mode adds their time), and the file has one stage's layers for all micro-batches without marks between
//! them. Here each stage executes all layers of the file, in ga·vpp slices of equally many. Before a slice forward a
//! stage receives `pp_comm` bytes from the stage before it, and after it sends as many to the next; back in reverse.
//! So the bubble is that of (pp-1)/(ga·vpp). Messages from the last stage to the first between the chunks of an
//! interleaved schedule are left out.
//!
//! Streams: computation 0, operations that are waited for 1, those that go on beside 2, messages between stages 3.

mod build;
mod header;
mod layer;

pub use header::{Header, Policy};
pub use layer::{Group, Layer, Operation, Phase};

use super::FileError;
use super::fields::{last_line, lines};
use crate::job::Program;

/// How a workload is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many ranks there are. Where the first line says it by `all_gpus:`, others have the same work with other data.
    pub ranks: Option<u32>,
    /// Where the policy has packages, how many ranks are in one, which the file does not say.
    pub ranks_per_package: Option<u32>,
    /// How often the layers are gone over.
    pub passes: u32,
    /// The most operations that all ranks may have: each takes some 60 bytes.
    pub most_operations: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { ranks: None, ranks_per_package: None, passes: 1, most_operations: 1 << 26 }
    }
}

/// Reads the file's text.
///
/// # Errors
/// What is wrong, with the line.
pub fn read(text: &str, options: &Options) -> Result<Program, FileError> {
    let mut lines = lines(text);
    let first = lines.next().ok_or_else(|| FileError::new(1, "no policy; begin with one and its keys"))?;
    let header = Header::read(&first, options)?;
    let second = lines.next();
    let second =
        second.ok_or_else(|| FileError::new(last_line(text), "no number of layers in the second line"))?;
    second.expect("layers")?;
    let count: u64 = second.count(0, "the number of layers")?;
    let layers = lines.enumerate().map(|(nth, line)| Layer::read(&line, nth, &header));
    let layers: Vec<Layer> = layers.collect::<Result<_, _>>()?;
    if layers.len() as u64 != count {
        let message = format!("{} layers where the second line says {count}", layers.len());
        return Err(FileError::new(second.number, message));
    }
    if layers.is_empty() {
        return Err(second.error("no layers; write one a line"));
    }
    if header.policy == Policy::Micro && layers.len() > 1 {
        return Err(second.error(format!("{count} layers; MICRO is of one")));
    }
    header.check_layers(&first, layers.len())?;
    let program = build::program(&header, &layers, options).map_err(|message| first.error(message))?;
    program.check().map_err(|problem| FileError::whole(problem.to_string()))?;
    Ok(program)
}

#[cfg(test)]
mod tests;
