//! What the network is asked to carry.
pub mod cdf;
pub mod library;
