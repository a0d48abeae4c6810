//! Packets that are longer than the path's MTU: cut before they are sealed, or reported to their sender.

use crate::address::{Endpoint, Family};
use crate::checksum;
use crate::inner::{self, Inner};
use crate::outer::{self, Outer};
use crate::reason::Reason;
use std::net::IpAddr;

/// Bytes of a packet that a message about it quotes: of IPv4 the header and eight bytes (RFC 792); [`QUOTED_V6`], as
/// much as fits in the MTU that every link has (RFC 4443, 3.2).
const QUOTED_V4: usize = 28;
const QUOTED_V6: usize = 1280 - 48;

/// Cuts a packet of IPv4 that may be cut into pieces of at most `mtu` bytes (RFC 791, 3.2), each with its own header.
/// Options with the copied flag go to all pieces.
///
/// # Errors
/// [`Reason::Inner`] if the bytes are no packet, [`Reason::Fragment`] if the packet may not be cut, or if `mtu` leaves
/// no eight bytes for a piece.
pub fn fragment_ipv4(packet: &[u8], mtu: usize) -> Result<Vec<Vec<u8>>, Reason> {
    let inner = Inner::read(packet)?;
    let header = &packet[..inner.payload];
    let room = mtu.saturating_sub(header.len()) / 8 * 8;
    if inner.flow.family() != Family::V4 || inner.dont_fragment || room == 0 {
        return Err(Reason::Fragment);
    }
    let field = u16::from_be_bytes([packet[6], packet[7]]);
    // If the packet is itself a piece, its offset counts on, and its flag for more goes to the last new piece.
    let (mut offset, more) = (field & 0x1fff, field & 0x2000);
    let copied = options_of_pieces(header);
    let payload = &packet[inner.payload..inner.bytes];
    if 8 * usize::from(offset) + payload.len() > usize::from(u16::MAX) {
        return Err(Reason::Inner);
    }
    let mut pieces = Vec::with_capacity(payload.len().div_ceil(room));
    let mut rest = payload;
    loop {
        let (piece, next) = rest.split_at(rest.len().min(room));
        let mut made = if pieces.is_empty() { header.to_vec() } else { copied.clone() };
        made[0] = 0x40 | (made.len() / 4) as u8;
        let bytes = (made.len() + piece.len()) as u16;
        made[2..4].copy_from_slice(&bytes.to_be_bytes());
        let more = if next.is_empty() { more } else { 0x2000 };
        made[6..8].copy_from_slice(&(more | offset).to_be_bytes());
        made[10..12].fill(0);
        let sum = checksum::fold(checksum::sum(0, &made));
        made[10..12].copy_from_slice(&sum.to_be_bytes());
        made.extend_from_slice(piece);
        pieces.push(made);
        if next.is_empty() {
            return Ok(pieces);
        }
        offset += (piece.len() / 8) as u16;
        rest = next;
    }
}

/// Cuts a packet of ESP, headers of IP included, into pieces of at most `mtu` bytes, as its sender may. Pieces of IPv4
/// have the low bits of `id`, or 1 if these are 0, whether routers may cut the packet or not. Pieces of IPv6 have a
/// fragment header with `id` (RFC 8200, 4.5), behind the headers that routers look at. No two packets to one peer
/// within a minute may have the same `id`.
///
/// # Errors
/// [`Reason::Inner`] if the bytes are no packet, [`Reason::Fragment`] if the packet is a piece, or if `mtu` leaves no
/// eight bytes for a piece.
pub fn fragment_outside(packet: &mut [u8], mtu: usize, id: u32) -> Result<Vec<Vec<u8>>, Reason> {
    let inner = Inner::read(packet)?;
    if inner.is_fragment {
        return Err(Reason::Fragment);
    }
    if inner.flow.family() == Family::V4 {
        // A raw socket replaces 0 by another number in each piece.
        let id = (id as u16).max(1);
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet[6] &= !0x40;
        return fragment_ipv4(packet, mtu);
    }
    let packet = &packet[..inner.bytes];
    let before = inner::before_esp(packet, &inner);
    let room = mtu.saturating_sub(before + FRAGMENT_HEADER_BYTES) / 8 * 8;
    if room == 0 {
        return Err(Reason::Fragment);
    }
    let place = inner::number_at(&packet[..before]);
    let (rest, next) = (&packet[before..], packet[place]);
    let count = rest.len().div_ceil(room);
    let piece = |(number, part): (usize, &[u8])| {
        let mut made = packet[..before].to_vec();
        made[place] = inner::FRAGMENT;
        let bytes = (before - 40 + FRAGMENT_HEADER_BYTES + part.len()) as u16;
        made[4..6].copy_from_slice(&bytes.to_be_bytes());
        let field = (number * room) as u16 | u16::from(number + 1 < count);
        made.extend_from_slice(&[next, 0]);
        made.extend_from_slice(&field.to_be_bytes());
        made.extend_from_slice(&id.to_be_bytes());
        made.extend_from_slice(part);
        made
    };
    Ok(rest.chunks(room).enumerate().map(piece).collect())
}

/// Length of the header of fragments (RFC 8200, 4.5), in bytes.
const FRAGMENT_HEADER_BYTES: usize = 8;

/// The header of later pieces, with the options whose first bit says that they are copied, filled up to whole words.
fn options_of_pieces(header: &[u8]) -> Vec<u8> {
    let mut copied = header[..20].to_vec();
    let mut options = &header[20..];
    while let [kind, rest @ ..] = options {
        let bytes = match (kind, rest) {
            // End of options, and no operation.
            (0, _) => break,
            (1, _) => {
                options = rest;
                continue;
            }
            (_, [bytes, ..]) => usize::from(*bytes),
            _ => break,
        };
        if bytes < 2 || bytes > options.len() {
            break;
        }
        if kind & 0x80 != 0 {
            copied.extend_from_slice(&options[..bytes]);
        }
        options = &options[bytes..];
    }
    let bytes = copied.len().next_multiple_of(4);
    copied.resize(bytes, 0);
    copied
}

/// The message that tells a packet's sender the MTU: fragmentation needed (RFC 792, RFC 1191), or packet too big (RFC
/// 4443, 3.2). It comes from `from`, an address of this machine's inside. `None` for packets that are not answered:
/// pieces but the first, and messages of ICMP that are errors themselves (RFC 1122, 3.2.2; RFC 4443, 2.4). Also `None`
/// if the sender's address is unspecified or multicast, or if `from` is of the other family.
pub fn too_big(packet: &[u8], mtu: usize, from: IpAddr) -> Option<Vec<u8>> {
    let inner = Inner::read(packet).ok()?;
    let (flow, family) = (inner.flow, inner.flow.family());
    let is_error = match (flow.protocol, flow.source_port) {
        // Echo, router, timestamp and mask messages are not errors.
        (1, kind) => !matches!(kind, 0 | 8 | 9 | 10 | 13 | 14 | 17 | 18),
        (58, kind) => kind < 128,
        _ => false,
    };
    let is_later_piece = family == Family::V4 && u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
    let is_unspecified = flow.source().is_unspecified() || flow.source().is_multicast();
    if is_error || is_later_piece || is_unspecified || Family::of(from) != family {
        return None;
    }
    let quoted = match family {
        Family::V4 => &packet[..inner.bytes.min(inner.payload - 20 + QUOTED_V4)],
        Family::V6 => &packet[..inner.bytes.min(QUOTED_V6)],
    };
    let (kind, code, protocol) = match family {
        Family::V4 => (3, 4, 1),
        Family::V6 => (2, 0, 58),
    };
    let header_bytes = family.header_bytes();
    let mut message = vec![0; header_bytes + 8];
    message.extend_from_slice(quoted);
    let (header, icmp) = message.split_at_mut(header_bytes);
    icmp[0] = kind;
    icmp[1] = code;
    // IPv4 has a field of 16 bits for the MTU, behind 16 unused bits.
    let told = match family {
        Family::V4 => u32::from(u16::try_from(mtu).unwrap_or(u16::MAX)),
        Family::V6 => u32::try_from(mtu).unwrap_or(u32::MAX),
    };
    icmp[4..8].copy_from_slice(&told.to_be_bytes());
    let begun = match family {
        Family::V4 => 0,
        Family::V6 => checksum::pseudo_header(from, flow.source(), protocol, icmp.len()),
    };
    let sum = checksum::fold(checksum::sum(begun, icmp));
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let counted = icmp.len() + if family == Family::V4 { header_bytes } else { 0 };
    let outer = Outer {
        source: Endpoint::new(from, 0),
        destination: Endpoint::new(flow.source(), 0),
        in_udp: false,
        is_whole: false,
        traffic_class: 0,
        hop_limit: outer::HOP_LIMIT,
        dont_fragment: false,
        flow_label: 0,
    };
    outer::write_ip(header, &outer, protocol, counted as u16);
    Some(message)
}
