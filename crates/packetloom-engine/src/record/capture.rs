//! What went over chosen links, as a pcapng file that Wireshark reads.
//!
//! Headers are written whole, payloads are not: packets count as cut off by the capture. TCP's sequence numbers are
//! in bytes, as if the flow had a connection that was opened with 0. Packets of transports that are not TCP are UDP
//! datagrams. <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>

use crate::flow::{FlowId, HostId};
use crate::narrow::exact;
use crate::packet::{Format, Kind};
use crate::units::{Rate, Time};

/// A packet's TCP header, with packets of its flow in place of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Part of the flow, or a probe that carries none of it.
    Data {
        /// The packet's number.
        seq: u32,
    },
    /// An acknowledgement.
    Ack {
        /// Every packet before this one arrived.
        next: u32,
        /// Runs of packets beyond that: the first, and how many.
        blocks: Vec<(u32, u32)>,
        /// RFC 3168's ECE.
        echo: bool,
    },
    /// A SYN, perhaps with the flow's first packet.
    Syn,
    /// A SYN-ACK.
    SynAck {
        /// Every packet before this one arrived.
        next: u32,
    },
    /// Not TCP's.
    Datagram,
}

/// A packet at the moment when its transmission begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The moment.
    pub at: Time,
    /// The flow.
    pub flow: FlowId,
    /// The host that sent it.
    pub src: HostId,
    /// The host it is for.
    pub dst: HostId,
    /// Size on the wire.
    pub size_bytes: u16,
    /// Data, ACK and so on.
    pub kind: Kind,
    /// The traffic class: the DSCP.
    pub class: u8,
    /// RFC 3168's two bits.
    pub ecn: u8,
    /// Its header.
    pub segment: Segment,
}

/// What went over a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The link's ends, for people.
    pub name: String,
    /// The link's rate.
    pub rate: Rate,
    /// In order of time.
    pub packets: Vec<Captured>,
}

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const TCP_BYTES: usize = 20;
const SYN_FLAG: u8 = 0x02;
const ACK_FLAG: u8 = 0x10;
const PUSH_FLAG: u8 = 0x08;
const ECE_FLAG: u8 = 0x40;

/// The file of some captures; `size_of` says how many bytes a flow has.
pub fn pcapng(captures: &[Capture], format: Format, size_of: impl Fn(FlowId) -> u64) -> Vec<u8> {
    let mut file = Vec::new();
    // Section header: byte order, version 1.0, length unknown.
    block(&mut file, 0x0a0d_0d0a, |body| {
        body.extend(0x1a2b_3c4d_u32.to_le_bytes());
        body.extend([1, 0, 0, 0]);
        body.extend(u64::MAX.to_le_bytes());
    });
    for capture in captures {
        block(&mut file, 1, |body| interface(body, capture));
    }
    let packets = captures.iter().enumerate();
    let packets =
        packets.flat_map(|(link, capture)| capture.packets.iter().map(move |packet| (link, packet)));
    let mut packets: Vec<(usize, &Captured)> = packets.collect();
    packets.sort_by_key(|(link, packet)| (packet.at, *link));
    for (link, packet) in packets {
        block(&mut file, 6, |body| enhanced_packet(body, exact::<u32>(link), packet, format, &size_of));
    }
    file
}

/// A block: its kind, length, body padded to four bytes, and length again.
fn block(file: &mut Vec<u8>, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let start = file.len();
    file.extend(kind.to_le_bytes());
    file.extend([0; 4]);
    write(file);
    file.resize(file.len().next_multiple_of(4), 0);
    let length = exact::<u32>(file.len() - start + 4);
    file[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    file.extend(length.to_le_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend(exact::<u16>(value.len()).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Ethernet, packets of any length; its name, speed, and stamps in nanoseconds.
fn interface(body: &mut Vec<u8>, capture: &Capture) {
    body.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    option(body, 2, capture.name.as_bytes());
    option(body, 8, &capture.rate.as_bps().to_le_bytes());
    option(body, 9, &[9]);
    option(body, 0, &[]);
}

fn enhanced_packet(
    body: &mut Vec<u8>,
    link: u32,
    packet: &Captured,
    format: Format,
    size_of: &impl Fn(FlowId) -> u64,
) {
    let (headers, payload_bytes) = frame(packet, format, size_of(packet.flow));
    let ns = packet.at.as_ps() / 1_000;
    for word in [
        link,
        (ns >> 32) as u32,
        (ns & 0xffff_ffff) as u32,
        exact::<u32>(headers.len()),
        exact::<u32>(headers.len()) + u32::from(payload_bytes),
    ] {
        body.extend(word.to_le_bytes());
    }
    body.extend(headers);
}

/// The headers of a packet, and how much payload follows them.
fn frame(packet: &Captured, format: Format, flow_bytes: u64) -> (Vec<u8>, u16) {
    let in_bytes = |packets: u32| (u64::from(packets) * format.mss_bytes).min(flow_bytes);
    let (protocol, transport, payload) = match &packet.segment {
        Segment::Datagram => {
            let payload = usize::from(packet.size_bytes).saturating_sub(IP_BYTES + UDP_BYTES);
            (17, udp(packet, exact::<u16>(payload)), exact::<u16>(payload))
        }
        Segment::Data { seq } => {
            let begin = in_bytes(*seq);
            let payload = if packet.kind == Kind::Data { in_bytes(seq + 1) - begin } else { 0 };
            let flags = if begin + payload == flow_bytes { ACK_FLAG | PUSH_FLAG } else { ACK_FLAG };
            (6, tcp(packet, place(begin), 1, flags, &[]), exact::<u16>(payload))
        }
        Segment::Syn => {
            let payload = if packet.kind == Kind::Data { in_bytes(1) } else { 0 };
            (6, tcp(packet, 0, 0, SYN_FLAG, &[]), exact::<u16>(payload))
        }
        Segment::SynAck { next } => (6, tcp(packet, 0, place(in_bytes(*next)), SYN_FLAG | ACK_FLAG, &[]), 0),
        Segment::Ack { next, blocks, echo } => {
            let blocks: Vec<(u32, u32)> = blocks
                .iter()
                .map(|&(first, packets)| (place(in_bytes(first)), place(in_bytes(first + packets))))
                .collect();
            let flags = if *echo { ACK_FLAG | ECE_FLAG } else { ACK_FLAG };
            (6, tcp(packet, 1, place(in_bytes(*next)), flags, &blocks), 0)
        }
    };
    let mut headers = Vec::with_capacity(ETHERNET_BYTES + IP_BYTES + transport.len());
    for host in [packet.dst, packet.src] {
        headers.extend([2, 0]);
        headers.extend(host.to_be_bytes());
    }
    headers.extend([8, 0]);
    headers.extend(ip(packet, protocol, exact::<u16>(transport.len()) + payload));
    headers.extend(transport);
    (headers, payload)
}

/// 10.0.0.1 and on.
fn address(host: HostId) -> [u8; 4] {
    ((10 << 24) + host + 1).to_be_bytes()
}

fn ip(packet: &Captured, protocol: u8, content_bytes: u16) -> Vec<u8> {
    let length = exact::<u16>(IP_BYTES) + content_bytes;
    let mut header = vec![0x45, packet.class << 2 | packet.ecn];
    header.extend(length.to_be_bytes());
    // No identification; don't fragment; 64 hops; the checksum comes below.
    header.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    header.extend(address(packet.src));
    header.extend(address(packet.dst));
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !exact::<u16>((folded & 0xffff) + (folded >> 16));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// Where what comes after so many bytes is in TCP's sequence: its numbers begin with the SYN's, and wrap (RFC 9293 §3.4).
fn place(bytes: u64) -> u32 {
    ((bytes + 1) & 0xffff_ffff) as u32
}

/// The sender's and the receiver's port: together they identify a flow.
fn ports(packet: &Captured) -> [u16; 2] {
    let of_sender = 10_000 + (packet.flow % 50_000) as u16;
    let of_receiver = 5_001 + (packet.flow / 50_000 % 4_999) as u16;
    let is_answer =
        matches!(packet.segment, Segment::Ack { .. } | Segment::SynAck { .. }) || packet.kind == Kind::Ack;
    if is_answer { [of_receiver, of_sender] } else { [of_sender, of_receiver] }
}

fn udp(packet: &Captured, payload_bytes: u16) -> Vec<u8> {
    let words = [ports(packet)[0], ports(packet)[1], exact::<u16>(UDP_BYTES) + payload_bytes, 0];
    words.into_iter().flat_map(u16::to_be_bytes).collect()
}

fn tcp(packet: &Captured, seq: u32, ack: u32, flags: u8, blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut header: Vec<u8> = ports(packet).into_iter().flat_map(u16::to_be_bytes).collect();
    header.extend(seq.to_be_bytes());
    header.extend(ack.to_be_bytes());
    // The window has its largest value; no checksum, no urgent data.
    header.extend([0, flags, 0xff, 0xff, 0, 0, 0, 0]);
    if !blocks.is_empty() {
        header.extend([1, 1, 5, 2 + 8 * exact::<u8>(blocks.len())]);
        for (begin, end) in blocks {
            header.extend(begin.to_be_bytes());
            header.extend(end.to_be_bytes());
        }
    }
    debug_assert!(header.len() >= TCP_BYTES && header.len().is_multiple_of(4));
    header[12] = (exact::<u8>(header.len()) / 4) << 4;
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(segment: Segment, size_bytes: u16) -> Captured {
        let kind = if matches!(segment, Segment::Ack { .. }) { Kind::Ack } else { Kind::Data };
        Captured {
            at: Time(1_234_567_891_234_567),
            flow: 7,
            src: 0,
            dst: 258,
            size_bytes,
            kind,
            class: 3,
            ecn: 2,
            segment,
        }
    }

    const FORMAT: Format = Format { mss_bytes: 1_460, header_bytes: 40 };

    #[test]
    fn a_data_packet_has_the_bytes_that_it_should() {
        let (headers, payload) = frame(&captured(Segment::Data { seq: 2 }, 1_500), FORMAT, 1_000_000);
        assert_eq!((headers.len(), payload), (54, 1_460));
        assert_eq!(headers[..14], [2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 0, 8, 0]);
        // Version and length of the header, class 3 and ECT(0), 1500 bytes, don't fragment, TCP, a checksum computed
        // by hand.
        assert_eq!(headers[14..26], [0x45, 0x0e, 5, 0xdc, 0, 0, 0x40, 0, 64, 6, 0x20, 0x0b]);
        assert_eq!(headers[26..34], [10, 0, 0, 1, 10, 0, 1, 3]);
        assert_eq!(headers[34..46], [0x27, 0x17, 0x13, 0x89, 0, 0, 0x0b, 0x69, 0, 0, 0, 1]);
        assert_eq!(headers[46..48], [0x50, ACK_FLAG]);
        let (last, payload) = frame(&captured(Segment::Data { seq: 2 }, 1_500), FORMAT, 3_000);
        assert_eq!((last[47], payload), (ACK_FLAG | PUSH_FLAG, 80));
    }

    #[test]
    fn sequence_numbers_wrap_beyond_4_gib() {
        let (headers, payload) =
            frame(&captured(Segment::Data { seq: 3_000_000 }, 1_500), FORMAT, 10_000_000_000);
        // 3 000 000 packets of 1460 B, and the SYN's 1, less 2^32.
        let seq = u32::from_be_bytes(headers[38..42].try_into().expect("four bytes"));
        assert_eq!((seq, payload), (85_032_705, 1_460));
    }

    #[test]
    fn an_acknowledgement_says_what_arrived_in_bytes() {
        let segment = Segment::Ack { next: 2, blocks: vec![(4, 3)], echo: true };
        let (headers, payload) = frame(&captured(segment, 40), FORMAT, 9_000);
        assert_eq!((headers.len(), payload), (66, 0));
        // From the receiver's port, 2921; ECE; a block from 5841 to the flow's end at 9000.
        assert_eq!(headers[34..48], [0x13, 0x89, 0x27, 0x17, 0, 0, 0, 1, 0, 0, 0x0b, 0x69, 0x80, 0x50]);
        assert_eq!(headers[54..], [1, 1, 5, 10, 0, 0, 0x16, 0xd1, 0, 0, 0x23, 0x29]);
    }

    #[test]
    fn blocks_have_their_length_at_both_ends() {
        let capture =
            Capture { name: "host0 to edge0".to_owned(), rate: Rate::from_gbps(10), packets: Vec::new() };
        let packets = vec![captured(Segment::Datagram, 64), captured(Segment::Datagram, 20)];
        let file = pcapng(&[Capture { packets, ..capture }], FORMAT, |_| 0);
        let (mut at, mut kinds) = (0, Vec::new());
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
        while at < file.len() {
            let length = word(at + 4) as usize;
            assert_eq!((word(at + length - 4) as usize, length % 4), (length, 0));
            kinds.push(word(at));
            at += length;
        }
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 6, 6]);
        // The stamp in ns, then as much as there is of 14 + 20 + 8 bytes, and of 14 + 64.
        let packet = file.len() - 2 * (32 + 44);
        let stamp = 1_234_567_891_234_u64;
        assert_eq!([word(packet + 12), word(packet + 16)], [(stamp >> 32) as u32, stamp as u32]);
        assert_eq!([word(packet + 20), word(packet + 24)], [42, 78]);
    }
}
