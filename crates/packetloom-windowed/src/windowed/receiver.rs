//! The receiving side: puts packets in order and acknowledges them.

use super::config::Config;
use super::header::{BLOCKS, Block, Header, ack_packet};
use super::{DELAYED_ACK, purpose_of};
use crate::engine::Context;
use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::reassembly::Reassembly;
use crate::units::Time;

/// When an acknowledgement may wait.
pub struct Delay {
    /// It is due with every so many packets...
    pub packets: u32,
    /// ...or after this time.
    pub time: Time,
}

/// A flow at its receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    flow: FlowId,
    sender: HostId,
    class: u8,
    subflow: u8,
    /// The path of the last packet that came.
    path: u16,
    /// Every packet of the flow before this one arrived, on whatever subflow.
    data_ack: u32,
    arrived: Reassembly,
    /// A packet of each run that was reported lately, the latest first (RFC 2018 §4).
    recent: [u32; BLOCKS],
    /// The last packet's mark: RFC 8257 §3.2's DCTCP.CE.
    marked: bool,
    /// With accurate ECN: marked packets that came, and how many of them no acknowledgement has told of.
    marks_untold: u8,
    marks: u32,
    /// Packets in order that were not acknowledged yet, and the oldest one's timestamp.
    unacknowledged: u32,
    oldest_sent_at: Time,
    delay_ends: Time,
}

impl Receiver {
    /// For the flow, or subflow, whose `first` packet came; its acknowledgements are of this class.
    pub fn new(first: &Packet<Header>, class: u8) -> Receiver {
        Receiver {
            flow: first.flow,
            sender: first.src,
            class,
            subflow: first.header.subflow,
            path: first.path,
            data_ack: 0,
            arrived: Reassembly::default(),
            recent: [0; BLOCKS],
            marked: false,
            marks_untold: 0,
            marks: 0,
            unacknowledged: 0,
            oldest_sent_at: Time::ZERO,
            delay_ends: Time::NEVER,
        }
    }

    /// Every packet of the flow, or subflow, before this one arrived.
    pub fn next(&self) -> u32 {
        self.arrived.next()
    }

    /// The number of packets, if all are there.
    pub(super) fn whole(&self) -> Option<u32> {
        self.arrived.whole()
    }

    /// From now on acknowledgements carry that every packet of the flow before this one arrived, on whatever
    /// subflow.
    pub fn set_data_ack(&mut self, data_ack: u32) {
        self.data_ack = data_ack;
    }

    /// A data packet arrived.
    pub fn data(&mut self, packet: &Packet<Header>, config: &Config, context: &mut Context<'_, Header>) {
        let Header { seq, sent_at, last, .. } = packet.header;
        let marked = packet.congestion_experienced;
        self.path = packet.path;
        let mut is_news = false;
        if config.counts_marks {
            is_news = self.count_mark(marked);
        } else if marked != self.marked {
            // RFC 8257 §3.2: what waits is acknowledged with the old state first.
            self.acknowledge_waiting(config, context);
        }
        self.marked = marked;
        let in_order = self.arrived.add(seq, last);
        if !in_order && seq >= self.arrived.next() {
            self.note_recent(seq);
        }
        let delay = Delay::from(config);
        let may_wait = in_order && !is_news && self.whole().is_none();
        if may_wait && self.unacknowledged + 1 < delay.packets {
            self.wait(sent_at, delay.time, context);
        } else {
            let sent_at = if self.unacknowledged > 0 { self.oldest_sent_at } else { sent_at };
            self.acknowledge(seq, sent_at, config, context);
        }
    }

    /// Counts a packet's mark; whether it is acknowledged at once, as the first after one without a mark, and as the
    /// second since an acknowledgement, are (draft-ietf-tcpm-accurate-ecn §3.2.2.5.1).
    fn count_mark(&mut self, marked: bool) -> bool {
        self.marks = self.marks.wrapping_add(marked.into());
        self.marks_untold = self.marks_untold.saturating_add(marked.into());
        marked && (!self.marked || self.marks_untold >= 2)
    }

    /// Its run is now the one that was reported last.
    fn note_recent(&mut self, seq: u32) {
        let run = self.arrived.above().run_start(seq)..self.arrived.above().first_absent(seq);
        let before = self.recent.iter().position(|seq| run.contains(seq)).unwrap_or(BLOCKS - 1);
        self.recent[..=before].rotate_right(1);
        self.recent[0] = seq;
    }

    fn wait(&mut self, sent_at: Time, delay: Time, context: &mut Context<'_, Header>) {
        if self.unacknowledged == 0 {
            self.oldest_sent_at = sent_at;
            self.delay_ends = context.now + delay;
            context.set_timer(self.delay_ends, self.flow, purpose_of(DELAYED_ACK, self.subflow));
        }
        self.unacknowledged += 1;
    }

    /// The delay timer went off; it counts only if what it was set for still waits.
    pub fn delay_over(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if self.delay_ends == context.now {
            self.acknowledge_waiting(config, context);
        }
    }

    /// Acknowledges what waits, if anything does.
    pub fn acknowledge_waiting(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if self.unacknowledged > 0 {
            self.acknowledge(self.arrived.next(), self.oldest_sent_at, config, context);
        }
    }

    /// Sends what is known, the run around `seq` first.
    pub fn acknowledge(
        &mut self,
        seq: u32,
        sent_at: Time,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        self.unacknowledged = 0;
        self.marks_untold = 0;
        let blocks =
            if self.arrived.above().is_empty() { <[Block; BLOCKS]>::default() } else { self.blocks(seq) };
        let header = Header {
            sent_at,
            seq: if config.counts_marks { self.marks } else { self.data_ack },
            ack: self.arrived.next(),
            blocks,
            last: false,
            echo: self.marked,
            subflow: self.subflow,
            ..Header::default()
        };
        context.answer(ack_packet(self.flow, (self.sender, self.path), self.class, header, config));
    }

    /// The run that `seq` is in, then the runs reported before it (RFC 2018 §4).
    fn blocks(&mut self, seq: u32) -> [Block; BLOCKS] {
        let mut blocks = [Block::default(); BLOCKS];
        let mut filled = 0;
        for seq in [seq].into_iter().chain(self.recent) {
            if filled == BLOCKS || seq < self.arrived.next() || !self.arrived.above().contains(seq) {
                continue;
            }
            let start = self.arrived.above().run_start(seq);
            let end = self.arrived.above().first_absent(seq);
            let (offset, length) = (start - self.arrived.next(), end - start);
            let Ok(offset) = u16::try_from(offset) else { continue };
            let block = Block { offset, length: narrow::<u16>(length.min(u32::from(u16::MAX))) };
            if !blocks[..filled].contains(&block) {
                blocks[filled] = block;
                filled += 1;
            }
        }
        blocks
    }
}
