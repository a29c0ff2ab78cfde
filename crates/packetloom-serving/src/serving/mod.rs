//! Requests to a language model that is served by two pools: one processes prompts, the other generates answers, and the
//! keys and values of each prompt go from the one to the other (Zhong et al., "DistServe", OSDI 2024; Patel et al.,
//! "Splitwise", ISCA 2024).
//!
//! A [`Plan`] is what a scenario says, with all requests drawn or read. A [`Cluster`] is the scheduler and the pools: it
//! is told of the time and of messages that arrived, and says what is sent and when it next has something to do. It knows
//! of no network, so that the same cluster can be followed on a network that takes no time ([`without_network()`]).

mod cluster;
mod component;
mod iteration;
mod plan;
mod requests;
#[cfg(test)]
mod tests;
mod tokens;
pub mod trace;
mod without_network;

pub use cluster::{Cluster, Course};
pub use component::{COMPONENTS, PARAMS, check};
pub use plan::{Plan, plan, ranks};
pub use requests::{Draws, Request};
pub use without_network::without_network;

/// The `arrivals` that are requests.
pub const KIND: &str = "serving";
