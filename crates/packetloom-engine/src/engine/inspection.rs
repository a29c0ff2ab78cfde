//! What the audit (`audit/` in the crate `packetloom`) reads between two windows: every packet put onto a link since
//! the last inspection, where every other packet is, and which events are overdue.
//!
//! Nothing here runs unless it is called. The links gather the packets by their own means (`link_table.rs`), so a
//! simulation without an audit has none of this.

use super::PortAgent;
use super::link_table::{LinkTable, Put};
use super::partition::FarEnd;
use super::port::{Port, PortCounters};
use super::shard::Shard;
use super::switch::WindowState;
use super::view::View;
use crate::fault::LinkFault;
use crate::flow::{FlowId, HostId};
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::queue::{Buffer, CLASSES, Holds, Memory, PausedClasses, charged_class, class_of};
use crate::units::Time;
use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::ops::Range;

/// A packet that was put onto a link.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The link, by its place in the topology.
    pub link: u32,
    /// When its transmission began.
    pub start: Time,
    /// How much longer than usual it takes, because the link is slow.
    pub delay: Time,
    /// When it reaches the far end, or would.
    pub arrival: Time,
    /// Whether it is lost on the way.
    pub is_lost: bool,
    /// On a host's links: a hash over what does not change on its way, where there is such a thing.
    pub identity: Option<u64>,
    /// What it is.
    pub packet: Held,
}

/// A packet, wherever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its flow.
    pub flow: FlowId,
    /// The sender.
    pub src: HostId,
    /// The receiver.
    pub dst: HostId,
    /// Its size on the wire.
    pub size_bytes: u16,
    /// Its path, or subflow.
    pub path: u16,
    /// In a switch that notes it: the link that it came by, as a number at the switch.
    pub ingress: u32,
    /// What it carries.
    pub kind: Kind,
    /// Of a credit message: the class and the bytes that a buffer can take again.
    pub credit: Option<(usize, u64)>,
    /// Of a window that comes back: its destination, and how much, or up to where.
    pub window: Option<(u32, u64)>,
    /// The class of the buffer that it takes behind credits.
    pub credit_class: usize,
    /// The class of a shared buffer that it is charged to, if it is.
    pub charged_class: Option<u8>,
}

impl Held {
    fn of<H>(packet: &Packet<H>, ingress: u32) -> Held {
        Held {
            flow: packet.flow,
            src: packet.src,
            dst: packet.dst,
            size_bytes: packet.size_bytes,
            path: packet.path,
            ingress,
            kind: packet.kind,
            credit: match LinkMessage::of(packet) {
                Some(LinkMessage::Credit { class, bytes }) => Some((class.into(), bytes.into())),
                _ => None,
            },
            window: match LinkMessage::of(packet) {
                Some(LinkMessage::Window { dst, bytes }) => Some((dst, bytes.into())),
                _ => None,
            },
            credit_class: class_of(packet),
            charged_class: charged_class(packet),
        }
    }
}

/// A link and the port before it.
#[derive(Clone, Debug, Default)]
pub struct LinkState {
    /// What the port has counted.
    pub counters: PortCounters,
    /// The most bytes that have waited.
    pub most_queued_bytes: u64,
    /// What waits in a buffer that chooses.
    pub queued: Vec<Held>,
    /// When the link is free, if what waits may be sent then.
    pub sends_at: Option<Time>,
    /// What is on the link, or waits for it in a FIFO: when it arrives, and its flow.
    pub on_link: Vec<(Time, Held)>,
    /// Of each class, the bytes sent for which no credit has come back; empty where there are no credits.
    pub credit_used: Vec<u64>,
    /// The classes that the far end has paused, a bit for each.
    pub paused: u8,
}

/// The shared buffer of a switch, or of the NIC of a slow host.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    /// The node.
    pub node: u32,
    /// The links of a switch's ports, in the topology.
    pub links_out: Range<usize>,
    /// What waits in a host.
    pub held: Vec<Held>,
    /// What each link's classes are charged with.
    pub charges: Vec<LinkCharge>,
    /// How large it is.
    pub size_bytes: u64,
    /// Packets of lossless classes that did not fit.
    pub lossless_drops: u64,
}

/// What a link's class has in a shared buffer.
#[derive(Clone, Copy, Debug)]
pub struct LinkCharge {
    /// The link, as a number at the switch.
    pub link: u32,
    /// The class.
    pub class: u8,
    /// All of it.
    pub bytes: u64,
    /// What of the headroom it uses, and how much there is.
    pub headroom: (u64, u64),
}

/// A switch with a balancer.
#[derive(Clone, Debug, Default)]
pub struct BalancedSwitch {
    /// The switch.
    pub node: u32,
    /// Its ports' links, in the topology.
    pub links_out: Range<usize>,
    /// The packets that the balancer holds.
    pub held: Vec<Held>,
    /// How many more notices were made here than ended here.
    pub notices: i64,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// The time up to which everything has happened.
    pub now: Time,
    /// Whether nothing is left in the calendar.
    pub is_idle: bool,
    /// What was put onto links since the last inspection: of each link in order.
    pub passages: Vec<Passage>,
    /// Every link, in the topology's order.
    pub links: Vec<LinkState>,
    /// The earliest timer or start of a flow of each host that has any left.
    pub due: Vec<(HostId, Time)>,
    /// Every shared buffer.
    pub shared_buffers: Vec<SharedBuffer>,
    /// Every switch with a balancer.
    pub balanced: Vec<BalancedSwitch>,
    /// Of each switch that collects credit for its links, the first of its links out, and what each link into it is
    /// owed, class by class.
    pub owed_credit: BTreeMap<usize, Vec<[u32; CLASSES]>>,
    /// Of each switch with windows, the first of its links out, and what they are.
    pub windows: BTreeMap<usize, WindowState>,
}

/// See [`super::AnyEngine::inspect`]: all but what the hosts know. `puts` is what each shard put onto links.
pub(super) fn inspect<H: Copy + Default + Debug, A: PortAgent<H>>(
    views: &[View<'_, H, A>],
    far_ends: &[FarEnd],
    puts: Vec<Vec<Put<H>>>,
    identify: bool,
) -> Inspection {
    let identify = identify && !(A::ACTIVE || A::SEES_DEPARTURES);
    let mut links = blank(far_ends.len());
    let mut faults = vec![None; far_ends.len()];
    let mut at_hosts = vec![false; far_ends.len()];
    let on_links: Vec<_> = views.iter().map(|view| view.link_table.on_links()).collect();
    for view in views {
        for (place, (port, link)) in view.ports().enumerate() {
            let FarEnd { shard: far, node, link: number } = far_ends[link as usize];
            at_hosts[link as usize] = place < view.host_ports || node < views[far as usize].hosts;
            let on_link = on_links[far as usize].to((node, number)).iter();
            let on_link = on_link.map(|&id| views[far as usize].link_table.packets.get(id));
            let on_link = on_link.map(|packet| (packet.time, Held::of(packet, 0))).collect();
            links[link as usize] = LinkState { on_link, ..state_of(port, view.link_table) };
            faults[link as usize] = view.link_table.fault(port.end());
        }
    }
    let passages = puts.iter().flatten().map(|put| {
        let link = put.link as usize;
        passage(put, faults[link], identify && at_hosts[link])
    });
    Inspection {
        passages: passages.collect(),
        links,
        shared_buffers: views.iter().flat_map(shared_buffers).collect(),
        balanced: views.iter().flat_map(balanced).collect(),
        owed_credit: views.iter().flat_map(owed_credit).collect(),
        windows: views.iter().flat_map(windows).collect(),
        ..Inspection::default()
    }
}

fn blank(links: usize) -> Vec<LinkState> {
    vec![LinkState::default(); links]
}

impl Inspection {
    /// What waits in the switch whose ports have these links.
    pub fn waiting(&self, links_out: Range<usize>) -> impl Iterator<Item = &Held> {
        let queued = self.links[links_out.clone()].iter().flat_map(|port| &port.queued);
        let is_it = move |switch: &&BalancedSwitch| switch.links_out == links_out;
        queued.chain(self.balanced.iter().filter(is_it).flat_map(|switch| &switch.held))
    }
}

fn balanced<H: Copy + Default, A>(view: &View<'_, H, A>) -> impl Iterator<Item = BalancedSwitch> {
    view.switches.iter().filter_map(|switch| {
        let balance = switch.balancing()?;
        let packets = &view.link_table.packets;
        let held = |id| Held::of(packets.get(id), packets.ingress(id));
        let held = balance.held().into_iter().map(held).collect();
        let links_out = view.links_out(switch.ports());
        Some(BalancedSwitch { node: balance.node(), links_out, held, notices: balance.notices() })
    })
}

fn owed_credit<H, A>(view: &View<'_, H, A>) -> impl Iterator<Item = (usize, Vec<[u32; CLASSES]>)> {
    view.switches.iter().filter_map(|switch| {
        let owed = switch.owed_credit()?.owed().copied().collect();
        Some((view.links_out(switch.ports()).start, owed))
    })
}

fn windows<H, A>(view: &View<'_, H, A>) -> impl Iterator<Item = (usize, WindowState)> {
    view.switches
        .iter()
        .filter_map(|switch| Some((view.links_out(switch.ports()).start, switch.windows()?.state())))
}

fn shared_buffers<H, A>(view: &View<'_, H, A>) -> impl Iterator<Item = SharedBuffer> {
    view.switches.iter().filter_map(move |switch| {
        let pauses = switch.pauses()?;
        let links_out = view.links_out(switch.ports());
        Some(SharedBuffer { links_out, ..shared_buffer(pauses.node(), &pauses.memory) })
    })
}

/// The buffers of slow hosts.
pub(super) fn intakes<H: Copy + Default, A: PortAgent<H>>(
    shard: &Shard<'_, H, A>,
) -> impl Iterator<Item = SharedBuffer> {
    (shard.first_host..).zip(&shard.hosts).filter_map(move |(id, host)| {
        let (intake, packets) = (host.intake()?, &shard.link_table.packets);
        let held = |id| Held::of(packets.get(id), packets.ingress(id));
        Some(SharedBuffer {
            held: intake.waiting().map(held).collect(),
            ..shared_buffer(id, intake.memory())
        })
    })
}

fn shared_buffer(node: u32, memory: &Memory) -> SharedBuffer {
    let charges = memory.links().flat_map(|link| (0..narrow::<u8>(CLASSES)).map(move |class| (link, class)));
    let charge = |(link, class)| LinkCharge {
        link,
        class,
        bytes: memory.charged(link, class.into()),
        headroom: memory.headroom(link, class.into()),
    };
    SharedBuffer {
        node,
        links_out: 0..0,
        held: Vec::new(),
        charges: charges.map(charge).collect(),
        size_bytes: memory.size_bytes(),
        lossless_drops: memory.lossless_drops(),
    }
}

fn passage<H: Debug>(put: &Put<H>, fault: Option<&LinkFault>, identify: bool) -> Passage {
    let needs_identity = identify && put.packet.kind == Kind::Data;
    Passage {
        link: put.link,
        start: put.start,
        delay: put.delay,
        arrival: put.packet.time + put.delay,
        is_lost: fault
            .is_some_and(|fault| fault.losses().binary_search_by_key(&put.start, |loss| loss.0).is_ok()),
        identity: needs_identity.then(|| identity(&put.packet.header)),
        packet: Held::of(&put.packet, 0),
    }
}

/// A hash of a packet's header.
fn identity(header: &impl Debug) -> u64 {
    struct Hasher(u64);
    impl Write for Hasher {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for part in text.as_bytes().chunks(8) {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                let mixed = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                self.0 = mixed.rotate_left(29);
            }
            Ok(())
        }
    }
    let mut hasher = Hasher(0xcbf2_9ce4_8422_2325);
    write!(hasher, "{header:?}").expect("a hash takes every text");
    hasher.0
}

fn state_of<H: Copy + Default, A: PortAgent<H>>(port: &Port<H, A>, link_table: &LinkTable<H>) -> LinkState {
    let buffer = port.buffer();
    LinkState {
        counters: port.counted(),
        most_queued_bytes: port.most_queued_bytes(),
        queued: buffer.map_or(Vec::new(), |buffer| {
            let held = |id| Held::of(link_table.packets.get(id), link_table.packets.ingress(id));
            buffer.packets(&link_table.packets).map(held).collect()
        }),
        sends_at: port.is_waiting().then(|| port.free_at()),
        on_link: Vec::new(),
        credit_used: buffer.map_or_else(Vec::new, Buffer::credit_used),
        paused: port.paused().map_or(0, PausedClasses::bits),
    }
}
