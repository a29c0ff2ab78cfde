//! What linux-rdma's perftest measures: the rate of messages of one size of which so many are outstanding, or the time
//! of one that is sent back (ib_write_bw, ib_send_bw, ib_write_lat, ib_send_lat).

use super::job::settings;
use crate::job::{Dependency, MOST_BYTES, Operation, Program, Rank, Work};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Needs, Values, param};
use crate::units::Time;

/// What a scenario can write as `arrivals`.
pub const COMPONENT: Component = Component {
    section: "arrivals",
    kind: "perftest",
    doc: "Messages of one size between two ranks, as perftest's ib_write_bw and ib_send_lat send them. The i-th rank \
          sends to the i-th of the other half. How many queue pairs carry them, the transport says \
          (connections = { kind = \"in-order\", queue_pairs = 4 }); what a NIC takes for a message, the topology \
          (send_per_message, receive_per_message, host_delay).",
    source: "linux-rdma/perftest: run_iter_bw, run_iter_lat_send",
    params: &[
        &[
            param! {
                "test" = "bandwidth": Kind::Choice(&["bandwidth", "latency"]),
                "What is measured: the rate with several messages outstanding; or half the time of a message and \
                      another of its size that answers it, one after the other.",
                "perftest: *_bw, *_lat"
            },
            param! { required "size": Kind::Bytes, "Bytes of a message.", "perftest: --size" },
            param! {
                "messages" = "1000": Kind::Count(2),
                "How many messages a rank sends.", "perftest: --iters; 1000, for rates 5000"
            },
            param! {
                "outstanding" = "128": Kind::Count(1),
                "How many messages of a rank are under way at most, those of all queue pairs together: the next is \
                      posted when the sender knows that the first of them has arrived.",
                "perftest: --tx-depth, which is each queue pair's"; acts BANDWIDTH
            },
            param! {
                "bidirectional" = "false": Kind::Flag,
                "Whether both ranks send; perftest's rate is that of both directions together.",
                "perftest: --bidirectional"; acts BANDWIDTH
            },
            param! {
                "pairs" = "1": Kind::Count(1),
                "How many pairs of ranks do this at once.", "packetloom"
            },
        ],
        settings::PLACEMENT_PARAMS,
    ],
    check,
};

const BANDWIDTH: &[Needs] = &[Needs::That(
    |site| site.own.text("test") == "bandwidth",
    "one message at a time is under way in a test of latency",
)];

/// More operations than that take more memory than a machine has.
const MOST_OPERATIONS: u64 = 1 << 26;
/// One thread posts messages and polls for those that came.
const THREAD: u16 = 0;
const PING: u32 = 0;
const PONG: u32 = 1;

fn check(values: &Values) -> Result<(), Complaint> {
    let operations = values.count("pairs").checked_mul(values.count("messages"));
    if operations.and_then(|count| count.checked_mul(8)).is_none_or(|count| count > MOST_OPERATIONS) {
        let message = format!("this makes more than {MOST_OPERATIONS} operations; write fewer");
        return Err(Complaint::new("messages", message));
    }
    if !(1..=MOST_BYTES).contains(&values.bytes("size")) {
        return Err(Complaint::new("size", format!("write a size from 1B to {MOST_BYTES}B")));
    }
    settings::check_without_parts(values, "messages are sent as they are")?;
    settings::check(values)
}

/// How many ranks it has.
pub fn ranks(values: &Values) -> u64 {
    values.count("pairs").saturating_mul(2)
}

/// The program, and what it is in words; there are hosts for its ranks. What messages cost its ranks is in it.
pub fn program(values: &Values) -> (Program, String) {
    let pairs = exact::<u32>(values.count("pairs"));
    let mut program = Program { sends_block: true, ..Program::default() };
    let bytes = values.bytes("size");
    let cost = |key| values.time(key).saturating_add(values.time("byte_cost").times(bytes - 1));
    let mut side = Side {
        bytes,
        costs: ["send_cost", "receive_cost"].map(cost),
        names: ["post", "message", "arrival", "poll"].map(|name| program.name(name)),
    };
    let messages = exact::<u32>(values.count("messages"));
    let is_latency = values.text("test") == "latency";
    program.ranks = vec![Rank::default(); 2 * pairs as usize];
    let (clients, servers) = program.ranks.split_at_mut(pairs as usize);
    for (pair, (client, server)) in (0..pairs).zip(clients.iter_mut().zip(servers)) {
        let (here, there) = (pair, pairs + pair);
        if is_latency {
            side.play(messages, (client, here), (server, there));
            continue;
        }
        let outstanding = exact::<u32>(values.count("outstanding").min(u64::from(messages)));
        side.stream(messages, outstanding, (client, here), (server, there));
        if values.flag("bidirectional") {
            side.stream(messages, outstanding, (server, there), (client, here));
        }
    }
    (program, told(values, pairs))
}

fn told(values: &Values, pairs: u32) -> String {
    let (messages, bytes) = (values.count("messages"), values.bytes("size"));
    let how = match (values.text("test").as_str(), values.flag("bidirectional")) {
        ("latency", _) => "each sent back, one at a time".to_owned(),
        (_, is_both) => {
            let both = if is_both { " in both directions" } else { "" };
            format!("{} outstanding{both}", values.count("outstanding").min(messages))
        }
    };
    let among =
        if pairs == 1 { "a pair of ranks".to_owned() } else { format!("each of {pairs} pairs of ranks") };
    format!("perftest: {messages} messages of {bytes} B between {among}, {how}")
}

/// What ranks do to send and to receive.
struct Side {
    bytes: u64,
    /// What a rank's thread takes to post a message, and to poll for one.
    costs: [Time; 2],
    names: [u32; 4],
}

impl Side {
    /// Sends a message after other operations; returns the operation.
    fn send(&mut self, rank: &mut Rank, (peer, tag): (u32, u32), after: Option<u32>) -> u32 {
        let after = self.work_for(rank, 0, after);
        let [_, message, ..] = self.names;
        let work = Work::Send { peer, bytes: self.bytes, tag };
        rank.add(Operation { work, stream: None, name: message }, after.map(Dependency::on_end))
    }

    /// Receives a message; returns the operation after which the rank has it.
    fn receive(&mut self, rank: &mut Rank, (peer, tag): (u32, u32)) -> u32 {
        let [_, _, arrival, _] = self.names;
        let work = Work::Receive { peer: Some(peer), bytes: self.bytes, tag: Some(tag) };
        let came = rank.add(Operation { work, stream: None, name: arrival }, []);
        self.work_for(rank, 1, Some(came)).unwrap_or(came)
    }

    /// The thread posts or polls; returns what has to be awaited.
    fn work_for(&self, rank: &mut Rank, side: usize, after: Option<u32>) -> Option<u32> {
        let duration = self.costs[side];
        if duration == Time::ZERO {
            return after;
        }
        let name = self.names[3 * side];
        let work = Work::Compute { duration };
        Some(rank.add(Operation { work, stream: Some(THREAD), name }, after.map(Dependency::on_end)))
    }

    /// Messages from one to another.
    fn stream(
        &mut self,
        messages: u32,
        outstanding: u32,
        (from, sender): (&mut Rank, u32),
        (to, receiver): (&mut Rank, u32),
    ) {
        let mut sent = Vec::with_capacity(messages as usize);
        for nth in 0..messages {
            let after = nth.checked_sub(outstanding).map(|first| sent[first as usize]);
            sent.push(self.send(from, (receiver, PING), after));
            self.receive(to, (sender, PING));
        }
    }

    /// Messages that are sent back.
    fn play(&mut self, messages: u32, (from, client): (&mut Rank, u32), (to, server): (&mut Rank, u32)) {
        let mut last = None;
        for _ in 0..messages {
            self.send(from, (server, PING), last);
            let came = self.receive(to, (client, PING));
            self.send(to, (client, PONG), Some(came));
            last = Some(self.receive(from, (server, PONG)));
        }
    }
}
