//! What switches take the rates of links to be, over time.

use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// From when on switches take which links to have other rates than they were built with: none, where they are dead.
pub type KnownRates = Vec<(Time, BTreeMap<usize, Rate>)>;

/// A moment that comes sooner, if it is still to come.
pub fn shifted_earlier(at: Time, now: Time, by: Time) -> Time {
    if at > now && at != Time::NEVER { at.since(by).max(now) } else { at }
}
