//! What a sender keeps for RACK and PRR, if it has either.

use super::config::Config;
use super::prr::Prr;
use super::rack::Rack;
use crate::units::Time;

/// Beside the sender, because most have neither.
#[derive(Clone, Debug)]
pub struct Repair {
    pub rack: Option<Rack>,
    /// In loss recovery, and while a window is reduced because of marks.
    pub prr: Option<Prr>,
    /// It ends as all packets before this one are acknowledged.
    pub reduces_until: u32,
}

impl Repair {
    pub fn new(config: &Config) -> Option<Box<Repair>> {
        let rack = config.rack.then(Rack::new);
        (config.rack || config.prr).then(|| Box::new(Repair { rack, prr: None, reduces_until: 0 }))
    }

    /// A packet is sent.
    pub fn sent(&mut self, seq: u32, now: Time) {
        if let Some(rack) = &mut self.rack {
            rack.sent(seq, now);
        }
        if let Some(prr) = &mut self.prr {
            prr.sent();
        }
    }
}
