//! The channels that a receiver has from senders: those of the data phase that runs, and those of the matching that is
//! made, which may be used before their phase begins if they are idle in the one that runs.

use super::choice::Channels;
use crate::flow::HostId;
use crate::units::Time;

/// Level of tokens for channels whose data phase has not begun: the lowest (PimEpoch::handle_all_grants).
const PROMPT_LEVEL: u8 = 7;
/// Level of the first of a data phase's channels; the next ones follow by the channels before them.
const FIRST_LEVEL: u8 = 2;

/// The channels from a sender.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub sender: HostId,
    pub channels: Channels,
    /// What was left of the flow for which they were first taken.
    left: u32,
    /// The level of its tokens.
    pub level: u8,
    /// When its next token is due, or what keeps it from one ends; never, if it waits for something to come.
    pub due_at: Time,
    /// Whether it only waits for that end, so that it need not if something comes.
    pub waits: bool,
}

/// The channels of an epoch.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    pub epoch: u32,
    pub links: Vec<Link>,
    /// How many channels were taken, and how many of them promptly or in the phase before.
    pub taken: Channels,
}

impl Link {
    /// The channels that are in use.
    #[inline]
    pub fn in_use(&self) -> u8 {
        if self.channels.prompt > 0 { self.channels.prompt } else { self.channels.all }
    }

    /// Whether no token is due, unless nothing comes before.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.waits || self.due_at == Time::NEVER
    }
}

impl Matching {
    /// Of an epoch, in which nothing is taken yet. Channels of the phase that runs meanwhile are not free for prompt
    /// use.
    pub fn begin(&mut self, epoch: u32, running: &Matching) {
        let busy = if running.epoch + 1 == epoch { running.taken.all } else { 0 };
        self.epoch = epoch;
        self.links.clear();
        self.taken = Channels { all: 0, prompt: busy };
    }

    /// The channels that are free, of so many.
    pub fn free(&self, channels: u8) -> Channels {
        let free = |taken: u8| channels.saturating_sub(taken);
        Channels { all: free(self.taken.all), prompt: free(self.taken.prompt) }
    }

    pub fn link(&mut self, sender: HostId) -> Option<&mut Link> {
        self.links.iter_mut().find(|link| link.sender == sender)
    }

    /// How many channels there are from a sender.
    pub fn held(&self, sender: HostId) -> u8 {
        self.links.iter().find(|link| link.sender == sender).map_or(0, |link| link.channels.all)
    }

    /// Takes channels from a sender, for a flow of which so much is left. Prompt ones have a token due now.
    pub fn take(&mut self, sender: HostId, left: u32, channels: Channels, now: Time) {
        self.taken.all += channels.all;
        self.taken.prompt += channels.prompt;
        let due_at = if channels.prompt > 0 { now } else { Time::NEVER };
        match self.link(sender) {
            Some(link) => {
                link.channels.all += channels.all;
                link.channels.prompt += channels.prompt;
                if channels.prompt > 0 {
                    (link.due_at, link.waits) = (now, false);
                }
            }
            None => {
                self.links.push(Link { sender, channels, left, level: PROMPT_LEVEL, due_at, waits: false });
            }
        }
    }

    /// A sender takes channels back, which stay taken here (PimEpoch::receive_grantsr).
    pub fn give_back(&mut self, sender: HostId, channels: Channels) {
        let Some(link) = self.link(sender) else { return };
        link.channels.all = link.channels.all.saturating_sub(channels.all);
        link.channels.prompt = link.channels.prompt.saturating_sub(channels.prompt);
        if channels.prompt > 0 && link.channels.prompt == 0 {
            link.due_at = Time::NEVER;
        }
    }

    /// Its data phase begins: every channel has a token due now, and the flows with the least left go first
    /// (PimEpoch::schedule_receiver_iter_evt).
    pub fn run(&mut self, now: Time) {
        self.links.sort_by_key(|link| link.left);
        let mut level = FIRST_LEVEL;
        for link in &mut self.links {
            link.level = level.min(PROMPT_LEVEL - 1);
            level = level.saturating_add(link.channels.all);
            link.channels.prompt = 0;
            (link.due_at, link.waits) = (now, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_of_a_phase_are_ranked_by_the_flow_they_were_taken_for() {
        let (mut forming, running) = (Matching::default(), Matching::default());
        forming.begin(1, &running);
        let (one, two) = (Channels { all: 1, prompt: 0 }, Channels { all: 2, prompt: 1 });
        forming.take(7, 90, two, Time(5));
        forming.take(8, 40, one, Time(5));
        assert_eq!(
            forming.link(7).map(|link| (link.level, link.in_use(), link.due_at)),
            Some((7, 1, Time(5)))
        );
        assert_eq!(forming.link(8).map(|link| link.due_at), Some(Time::NEVER));
        forming.take(8, 30, one, Time(6));
        assert_eq!(forming.free(4), Channels { all: 0, prompt: 3 });
        assert_eq!((forming.held(8), forming.held(9)), (2, 0));
        forming.run(Time(40));
        let links: Vec<_> =
            forming.links.iter().map(|link| (link.sender, link.level, link.in_use())).collect();
        assert_eq!(links, [(8, 2, 2), (7, 4, 2)]);
    }

    #[test]
    fn what_runs_is_not_free_for_prompt_use() {
        let running = Matching { epoch: 3, taken: Channels { all: 3, prompt: 0 }, ..Matching::default() };
        let mut forming = Matching::default();
        forming.begin(4, &running);
        assert_eq!(forming.free(4), Channels { all: 4, prompt: 1 });
        forming.begin(6, &running);
        assert_eq!(forming.free(4), Channels { all: 4, prompt: 4 });
    }

    #[test]
    fn what_a_sender_takes_back_is_no_longer_used() {
        let (mut forming, running) = (Matching::default(), Matching::default());
        forming.begin(1, &running);
        forming.take(7, 90, Channels { all: 2, prompt: 1 }, Time(5));
        forming.give_back(7, Channels { all: 1, prompt: 1 });
        assert_eq!(forming.link(7).map(|link| (link.in_use(), link.due_at)), Some((1, Time::NEVER)));
    }
}
