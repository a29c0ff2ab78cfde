//! The sender's own window: what may be in flight.

use super::nscc::{Nscc, Rules};
use crate::units::Time;
use std::sync::Arc;

/// What moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Delays and marks.
    Nscc,
    /// Marks alone.
    Dctcp,
    /// Nothing.
    Constant,
}

/// A flow's window. It measures the network whether or not it moves by that, because others use the measurements.
#[derive(Clone, Debug)]
pub struct Window {
    rule: Rule,
    nscc: Nscc,
    /// The window, where that is not NSCC's.
    cwnd: i64,
    mtu: i64,
    /// Whether anything was acknowledged.
    is_answered: bool,
}

/// What an acknowledgement tells the window.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// When.
    pub now: Time,
    /// Bytes that arrived and were not acknowledged before.
    pub bytes: i64,
    /// The delay in queues of the packet that is answered.
    pub delay: Time,
    /// It was marked.
    pub marked: bool,
    /// Bytes still in flight.
    pub in_flight: i64,
}

impl Window {
    /// A flow's, of so many bytes, or of the most that there may be.
    pub fn new(rule: Rule, rules: Arc<Rules>, cwnd: Option<i64>) -> Window {
        let mtu = rules.mtu_bytes();
        let nscc = Nscc::new(rules, cwnd);
        Window { rule, cwnd: nscc.cwnd(), mtu, nscc, is_answered: false }
    }

    /// Its bytes.
    #[inline]
    pub fn cwnd(&self) -> i64 {
        if self.rule == Rule::Nscc { self.nscc.cwnd() } else { self.cwnd }
    }

    /// The round-trip time: the shortest, and the smoothed delay in queues. None before anything was acknowledged.
    pub fn rtt(&self) -> Option<Time> {
        self.is_answered.then(|| self.nscc.base_rtt() + self.nscc.average_delay())
    }

    /// What it has learnt of the network.
    pub fn nscc(&self) -> &Nscc {
        &self.nscc
    }

    /// The round trip of one packet took so long; returns its delay in queues.
    pub fn measured(&mut self, rtt: Time, marked: bool, may_be_base: bool) -> Time {
        if may_be_base {
            self.nscc.learn_base(rtt);
        }
        if rtt < self.nscc.base_rtt() {
            return self.nscc.average_delay();
        }
        let delay = rtt - self.nscc.base_rtt();
        self.nscc.learn_delay(delay, marked);
        delay
    }

    /// The header of a trimmed packet took so long to be answered.
    pub fn learn_base(&mut self, rtt: Time) {
        self.nscc.learn_base(rtt);
    }

    /// An acknowledgement.
    pub fn acknowledged(&mut self, news: &News) {
        let &News { now, bytes, delay, marked, in_flight } = news;
        self.nscc.count(bytes);
        self.is_answered = true;
        match self.rule {
            Rule::Nscc => self.nscc.acknowledged(now, bytes, delay, marked, in_flight),
            Rule::Dctcp if marked => self.cwnd = (self.cwnd - bytes / 3).max(self.mtu),
            // htsim's grows without end.
            Rule::Dctcp => self.cwnd = (self.cwnd + bytes * self.mtu / self.cwnd).min(self.nscc.largest()),
            Rule::Constant => {}
        }
    }

    /// A packet of so many bytes was trimmed; `spares`: that is for the receiver's credit to see to.
    pub fn trimmed(&mut self, now: Time, bytes: i64, spares: bool, in_flight: i64) {
        match self.rule {
            Rule::Nscc => self.nscc.trimmed(now, bytes, spares, in_flight),
            Rule::Dctcp => self.cwnd = (self.cwnd - bytes).max(self.mtu),
            Rule::Constant => {}
        }
    }

    /// A packet of so many bytes timed out.
    pub fn lost(&mut self, bytes: i64) {
        match self.rule {
            Rule::Nscc => self.nscc.lost(bytes),
            Rule::Dctcp => self.cwnd = (self.cwnd - bytes).max(self.mtu),
            Rule::Constant => {}
        }
    }
}
