//! The classes that the far end of a link has paused (IEEE 802.1Qbb), as the port before the link knows them.

use super::{CLASSES, class_in};
use crate::link_message::{LinkMessage, PauseOrigin};
use crate::queue::Site;
use crate::units::{Rate, Time};

/// What was paused of a class at the end of a link that sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseRecord {
    /// How often it was paused; what only prolongs a pause does not count.
    pub pauses: u64,
    /// For how long.
    pub paused: Time,
    /// Since when it is, if it is, and where that began.
    since: Option<(Time, PauseOrigin)>,
    /// Each pause that is over, if pauses are recorded; else the last ones, for `PauseRecord::cut`.
    pub each: Vec<Pause>,
}

/// So many are kept where pauses are not recorded: more than begin after the last flow ended.
const LAST: usize = 32;

/// A pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// From when on.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Where it began.
    pub origin: PauseOrigin,
}

impl PauseRecord {
    fn begin(&mut self, now: Time, origin: PauseOrigin) {
        if self.since.is_none() {
            self.since = Some((now, origin));
            self.pauses += 1;
        }
    }

    fn end(&mut self, now: Time, logs: bool) {
        if let Some((from, origin)) = self.since.take() {
            self.paused += now.since(from);
            if !logs && self.each.len() == 2 * LAST {
                self.each.drain(..LAST);
            }
            self.each.push(Pause { from, until: now, origin });
        }
    }

    /// What was paused until `end`; what is paused then is taken to end there. Packets may move, and pause each
    /// other, after the last flow ended.
    fn cut(mut self, end: Time, logs: bool) -> PauseRecord {
        // Once paused, and not before, so that there is one to take off.
        self.end(end, logs);
        while let Some(last) = self.each.last_mut().filter(|last| last.until >= end) {
            self.paused = self.paused - last.until.since(end.max(last.from));
            last.until = end;
            if last.from < end {
                break;
            }
            self.pauses -= 1;
            self.each.pop();
        }
        if !logs {
            self.each = Vec::new();
        }
        self
    }
}

/// Which classes of a port are paused, and since when.
#[derive(Clone, Debug)]
pub struct PausedClasses {
    /// The classes that are paused, and those that the watchdog has given up until they are resumed: a bit for each.
    paused: u8,
    given_up: u8,
    details: Box<Details>,
}

/// What is only looked at where something is paused.
#[derive(Clone, Debug)]
struct Details {
    /// Until when each class is paused.
    until: [Time; CLASSES],
    /// Where each class's pause began.
    origins: [PauseOrigin; CLASSES],
    records: [PauseRecord; CLASSES],
    is_logged: bool,
    rate: Rate,
}

impl Default for PausedClasses {
    fn default() -> PausedClasses {
        let details = Details {
            until: [Time::ZERO; CLASSES],
            origins: Default::default(),
            records: Default::default(),
            is_logged: false,
            rate: Rate(1),
        };
        PausedClasses { paused: 0, given_up: 0, details: Box::new(details) }
    }
}

impl PausedClasses {
    /// Sets the port's position in the network.
    pub fn place(&mut self, site: &Site) {
        self.details.rate = site.rate;
        self.details.is_logged = site.logs_pauses;
    }

    /// The classes that are paused, a bit for each.
    #[inline]
    pub fn bits(&self) -> u8 {
        self.paused
    }

    /// Whether a class is paused.
    #[inline]
    pub fn has(&self, class: u8) -> bool {
        self.paused >> class_in(class) & 1 == 1
    }

    /// Since when a class is paused, if it is.
    pub fn since(&self, class: u8) -> Option<Time> {
        self.details.records[class_in(class)].since.map(|(since, _)| since)
    }

    /// Where the pause of a class began, if it is paused.
    #[inline]
    pub fn origin(&self, class: u8) -> Option<PauseOrigin> {
        self.has(class).then(|| self.details.origins[class_in(class)])
    }

    /// The watchdog gives a class up: nothing more is to be put into the queue until it is resumed.
    pub fn give_up(&mut self, class: u8) {
        self.given_up |= 1 << class_in(class);
    }

    /// Whether the watchdog has given a class up.
    #[inline]
    pub fn is_given_up(&self, class: u8) -> bool {
        self.given_up >> class_in(class) & 1 == 1
    }

    /// What was paused of each class until `end`; what is paused then is taken to end there.
    pub fn records(&self, end: Time) -> [PauseRecord; CLASSES] {
        self.details.records.clone().map(|record| record.cut(end, self.details.is_logged))
    }

    /// The far end says something, or a pause may be over.
    pub fn receive(&mut self, now: Time, message: LinkMessage) {
        match message {
            LinkMessage::Pause { class, quanta: 0, .. } => self.resume(now, class_in(class)),
            LinkMessage::Pause { class, origin, .. } => {
                let until = message.pause_lasts(self.details.rate).map_or(Time::NEVER, |lasts| now + lasts);
                self.pause(now, class_in(class), until, origin);
            }
            LinkMessage::PauseOver { class } if self.details.until[class_in(class)] <= now => {
                self.resume(now, class_in(class));
            }
            _ => {}
        }
    }

    fn pause(&mut self, now: Time, class: usize, until: Time, origin: PauseOrigin) {
        // What only prolongs a pause began where that did.
        if self.paused >> class & 1 == 0 {
            self.details.origins[class] = origin;
        }
        self.paused |= 1 << class;
        self.details.until[class] = until;
        self.details.records[class].begin(now, origin);
    }

    fn resume(&mut self, now: Time, class: usize) {
        self.paused &= !(1 << class);
        self.given_up &= !(1 << class);
        self.details.records[class].end(now, self.details.is_logged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_end_with_the_last_flow_and_those_that_begin_later_are_none() {
        let ns = Time::from_ns;
        for logs in [true, false] {
            let mut record = PauseRecord::default();
            for nth in 0..100 {
                record.begin(ns(100 * nth), PauseOrigin::default());
                record.end(ns(100 * nth + 60), logs);
            }
            record.begin(ns(10_000), PauseOrigin::default());
            // At this moment so many are over, or have begun, and that long is paused in all.
            for (end, pauses, paused) in [
                (20_000, 101, 16_000),
                (10_020, 101, 6_020),
                (10_000, 100, 6_000),
                (9_960, 100, 6_000),
                (9_930, 100, 5_970),
                (9_900, 99, 5_940),
                (9_870, 99, 5_940),
                (9_810, 99, 5_890),
            ] {
                let cut = record.clone().cut(ns(end), logs);
                assert_eq!((cut.pauses, cut.paused), (pauses, ns(paused)), "until {end} ns");
                assert_eq!(cut.each.len(), if logs { pauses as usize } else { 0 });
                assert!(cut.each.iter().all(|pause| pause.from < pause.until && pause.until <= ns(end)));
            }
        }
    }
}
