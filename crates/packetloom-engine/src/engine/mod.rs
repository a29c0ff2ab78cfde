//! The engine: clock, windows, and the nodes' turns.
//!
//! Nodes share nothing, and nothing gets from one to another sooner than the shortest link lets it. So time is
//! processed in windows no longer than that (see `calendar.rs`); in each, every node with something to do gets one
//! turn, in which it merges what arrives over its links, in order of time and then link, with its own timers. No
//! global order of events exists, and none is needed: what a node sees does not depend on when other nodes have
//! their turns, nor on how long a window is.

mod agenda;
mod agent;
mod any_engine;
mod arrival;
mod assembly;
mod calendar;
mod clock;
mod deadlock;
mod driven;
mod due;
mod endpoint;
mod flow_samples;
mod host;
mod inspection;
mod lane;
mod leader;
mod link_table;
mod log;
mod nic;
mod partition;
mod plan;
mod port;
mod sending;
mod shard;
mod sharded;
mod switch;
mod thread_pool;
mod transmitter;
mod transports;
mod view;
mod worker;

pub use agenda::Timer;
pub use agent::{Leaving, Moment, PathNeeds, PortAgent, PortInfo};
pub use any_engine::{AfterWindow, AnyEngine, PortRecords, Tally};
pub use arrival::Arrival;
pub use assembly::at_switches;
pub use calendar::Calendar;
pub use clock::Clock;
pub use deadlock::PauseCycle;
pub use driven::Step;
pub use due::Due;
pub use endpoint::{Context, FlowStatus, Transport};
pub use flow_samples::{FlowSamples, FlowWatch};
pub use inspection::{BalancedSwitch, Held, Inspection, LinkCharge, LinkState, Passage, SharedBuffer};
pub use log::{Event, Log, Report};
pub use plan::Plan;
pub use port::{Discipline, Port, PortCounters};
pub use sending::Sending;
pub use sharded::Engine;
pub use switch::{WindowState, WindowUse};
pub use thread_pool::WindowCosts;
pub use worker::{Meeting, meeting};
