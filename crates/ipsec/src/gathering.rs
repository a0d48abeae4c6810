//! Pieces of packets, kept until all have come: only the first has the ports by which policies decide about all of them
//! (RFC 4301, 7).
//!
//! ```text
//! piece ──► kept with those of its packet ──► all there: the packet as it was before it was cut
//!               │ one contradicts another: what came and what comes is dropped
//!               └ no place, or too late: dropped
//! ```
//!
//! Bounds have names: [`GATHERED_MAX`], [`GATHERED_BYTES_MAX`], [`PIECES_MAX`], [`GATHERING_TIME`]. If there is no
//! place, the source that has most of the scarce resource, packets or bytes, loses its oldest packet; of two sources
//! with equal amounts, the one whose packet is older. So a flood takes its own places. Dropped pieces are counted, and
//! no packet is ever passed on in part.

use crate::address::Family;
use crate::checksum;
use crate::inner::{Inner, Piece};
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Upper bound of the packets of which pieces are kept.
pub const GATHERED_MAX: usize = 256;
/// Upper bound of the bytes of pieces that are kept, with the overhead of keeping each piece.
pub const GATHERED_BYTES_MAX: usize = 2 << 20;
/// Upper bound of the pieces of one packet.
pub const PIECES_MAX: usize = 128;
/// How long the pieces of a packet may take to come.
pub const GATHERING_TIME: Duration = Duration::from_secs(5);
/// Bytes that it takes to keep a piece, besides its own.
const KEEPING_BYTES: usize = 64;
/// Lower bound of the bytes of a first piece behind all headers of IP: with fewer it may lack what policies look at
/// (RFC 1858, RFC 7112).
const FIRST_BYTES_MIN: usize = 8;

/// A packet that was cut, and whose pieces have all come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gathered {
    /// The packet as it was before it was cut.
    pub packet: Vec<u8>,
    /// The packet's pieces as they came, in the order of their offsets.
    pub pieces: Vec<Vec<u8>>,
}

/// The result of adding a piece.
#[derive(Debug, Default)]
pub(crate) struct Added {
    /// The whole packet, if this piece was the last one to come.
    pub(crate) whole: Option<Gathered>,
    /// Number of pieces that were dropped because others did not come, or for want of a place.
    pub(crate) incomplete: u64,
    /// Number of pieces that were dropped because they contradict each other.
    pub(crate) malformed: u64,
}

/// The fields that pieces of one packet have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    /// 0 with IPv6, whose pieces may state different protocols.
    protocol: u8,
    id: u32,
}

#[derive(Debug)]
struct Kept {
    offset: usize,
    payload: usize,
    packet: Vec<u8>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.packet.len() - self.payload
    }

    fn end(&self) -> usize {
        self.offset + self.bytes()
    }
}

/// The pieces of one packet that have come.
#[derive(Debug)]
struct Partial {
    since: Time,
    /// The pieces in the order of their offsets; `None` if one contradicted another: then all pieces that come are
    /// dropped (RFC 5722, 4).
    pieces: Option<Vec<Kept>>,
    /// Offset at which the last piece ends, once that piece has come.
    end: Option<usize>,
    /// Bytes that it takes to keep the pieces.
    bytes: usize,
}

impl Partial {
    fn new(since: Time) -> Partial {
        Partial { since, pieces: Some(Vec::new()), end: None, bytes: 0 }
    }

    fn count(&self) -> u64 {
        self.pieces.as_ref().map_or(0, |pieces| pieces.len() as u64)
    }

    /// Whether no piece is missing.
    fn is_whole(&self) -> bool {
        let Some(pieces) = &self.pieces else { return false };
        let mut next = 0;
        let follows = |kept: &Kept| kept.offset == std::mem::replace(&mut next, kept.end());
        pieces.iter().all(follows) && self.end == Some(next)
    }
}

fn weight(packet: &[u8]) -> usize {
    packet.len() + KEEPING_BYTES
}

/// The resource of which no more is left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    Packets,
    Bytes,
}

/// A source's amount of that resource, and its oldest packet that may be dropped.
#[derive(Clone, Copy, Default)]
struct Share {
    amount: usize,
    oldest: Option<(Time, Key)>,
}

impl Share {
    /// The order of shares; a source without a packet that may be dropped is the lowest.
    fn order(&self) -> Option<(usize, Reverse<Time>)> {
        self.oldest.map(|(since, _)| (self.amount, Reverse(since)))
    }
}

/// Packets whose pieces have not all come.
#[derive(Debug, Default)]
pub struct Gathering {
    partial: BTreeMap<Key, Partial>,
    bytes: usize,
}

impl Gathering {
    /// Number of packets that are not whole yet, among them those of which all pieces are dropped.
    pub fn len(&self) -> usize {
        self.partial.len()
    }

    /// Whether there are no such packets.
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// Bytes of the pieces that are kept, as [`GATHERED_BYTES_MAX`] counts them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a piece, which was read as `inner`; `bytes` is all of it.
    pub(crate) fn add(&mut self, now: Time, bytes: &[u8], inner: &Inner) -> Added {
        let mut added = Added::default();
        self.drop_old(now, &mut added);
        let Some(piece) = Piece::read(bytes, inner) else {
            added.malformed += 1;
            return added;
        };
        let flow = &inner.flow;
        let key = Key {
            source: flow.source(),
            destination: flow.destination(),
            protocol: if flow.family() == Family::V4 { flow.protocol } else { 0 },
            id: piece.id,
        };
        let packet = &bytes[..inner.bytes];
        if !self.partial.contains_key(&key) && self.partial.len() >= GATHERED_MAX {
            self.make_place(Full::Packets, key, &mut added);
        }
        let partial = self.partial.entry(key).or_insert_with(|| Partial::new(now));
        match fits(partial, &piece, inner, packet) {
            Fits::Again => added.malformed += 1,
            Fits::No => {
                added.malformed += 1 + partial.count();
                self.bytes -= std::mem::take(&mut partial.bytes);
                partial.pieces = None;
            }
            Fits::At(place) => {
                if let Some(pieces) = &mut partial.pieces {
                    let kept = Kept { offset: piece.offset, payload: piece.payload, packet: packet.to_vec() };
                    pieces.insert(place, kept);
                }
                if !piece.more {
                    partial.end = Some(piece.offset + packet.len() - piece.payload);
                }
                partial.bytes += weight(packet);
                self.bytes += weight(packet);
                if partial.is_whole() {
                    self.finish(key, &mut added);
                }
                while self.bytes > GATHERED_BYTES_MAX && self.make_place(Full::Bytes, key, &mut added) {}
            }
        }
        added
    }

    fn finish(&mut self, key: Key, added: &mut Added) {
        let Some(partial) = self.partial.remove(&key) else { return };
        self.bytes -= partial.bytes;
        let pieces = partial.pieces.unwrap_or_default();
        match put_together(&pieces) {
            Some(packet) => {
                let pieces = pieces.into_iter().map(|kept| kept.packet).collect();
                added.whole = Some(Gathered { packet, pieces });
            }
            None => added.malformed += pieces.len() as u64,
        }
    }

    fn drop_old(&mut self, now: Time, added: &mut Added) {
        let bytes = &mut self.bytes;
        self.partial.retain(|_, partial| {
            let is_young = now.since(partial.since) < GATHERING_TIME;
            if !is_young {
                added.incomplete += partial.count();
                *bytes -= partial.bytes;
            }
            is_young
        });
    }

    /// Drops the oldest packet of the source that has most, but never `spared`, of which a piece just came; returns
    /// whether a packet was dropped.
    fn make_place(&mut self, full: Full, spared: Key, added: &mut Added) -> bool {
        let (mut most, mut share, mut source) = (Share::default(), Share::default(), None);
        // Packets of one source are neighbours.
        for (key, partial) in &self.partial {
            if source.replace(key.source) != Some(key.source) {
                share = Share::default();
            }
            let amount = if full == Full::Packets { 1 } else { partial.bytes };
            share.amount += amount;
            let is_older = share.oldest.is_none_or(|(since, _)| partial.since < since);
            if amount > 0 && *key != spared && is_older {
                share.oldest = Some((partial.since, *key));
            }
            if share.order() > most.order() {
                most = share;
            }
        }
        let Some(partial) = most.oldest.and_then(|(_, key)| self.partial.remove(&key)) else { return false };
        added.incomplete += partial.count();
        self.bytes -= partial.bytes;
        true
    }
}

/// How a piece fits the pieces that have come.
enum Fits {
    /// The piece belongs at this place among the others.
    At(usize),
    /// The same piece has come already, and is dropped.
    Again,
    /// The piece contradicts the others, or itself.
    No,
}

fn fits(partial: &Partial, piece: &Piece, inner: &Inner, packet: &[u8]) -> Fits {
    let Some(pieces) = &partial.pieces else { return Fits::No };
    let bytes = packet.len() - piece.payload;
    let end = piece.offset + bytes;
    let is_cut_well = !piece.more || (bytes > 0 && bytes.is_multiple_of(8));
    // A packet of IPv4 has 65,535 bytes at most; with IPv6 that bounds the part behind the first header.
    let before = if inner.flow.family() == Family::V4 { piece.payload } else { piece.header - 40 };
    let is_in_bounds = before + end <= usize::from(u16::MAX);
    let has_ports = piece.offset > 0 || inner.bytes - inner.payload >= FIRST_BYTES_MIN;
    if !is_cut_well || !is_in_bounds || !has_ports || bytes == 0 {
        return Fits::No;
    }
    let place = pieces.partition_point(|kept| kept.offset < piece.offset);
    if let Some(kept) = pieces.get(place)
        && kept.offset == piece.offset
        && kept.packet[kept.payload..] == packet[piece.payload..]
        && (piece.more || partial.end == Some(end))
    {
        return Fits::Again;
    }
    let is_behind = place == 0 || pieces[place - 1].end() <= piece.offset;
    let is_before = pieces.get(place).is_none_or(|kept| end <= kept.offset);
    let last = pieces.last().map_or(0, Kept::end);
    let is_within = match (piece.more, partial.end) {
        (true, Some(limit)) => end < limit || (end == limit && place < pieces.len()),
        (true, None) => true,
        // The last piece stands behind all that came, and there is only one.
        (false, None) => last <= piece.offset,
        (false, Some(_)) => false,
    };
    if is_behind && is_before && is_within && pieces.len() < PIECES_MAX { Fits::At(place) } else { Fits::No }
}

/// Puts all pieces of a packet together; `None` if the packet is longer than IP allows, or is a piece itself.
fn put_together(pieces: &[Kept]) -> Option<Vec<u8>> {
    let first = pieces.first()?;
    let read = Inner::read(&first.packet).ok()?;
    let piece = Piece::read(&first.packet, &read)?;
    let is_v4 = read.flow.family() == Family::V4;
    let header_bytes = if is_v4 { piece.payload } else { piece.header };
    let mut whole = first.packet[..header_bytes].to_vec();
    for kept in pieces {
        whole.extend_from_slice(&kept.packet[kept.payload..]);
    }
    if is_v4 {
        let bytes = u16::try_from(whole.len()).ok()?;
        let header = &mut whole[..header_bytes];
        header[2..4].copy_from_slice(&bytes.to_be_bytes());
        header[6] &= 0x40;
        header[7] = 0;
        header[10..12].fill(0);
        let checksum = checksum::fold(checksum::sum(0, header));
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        let bytes = u16::try_from(whole.len() - 40).ok()?;
        whole[4..6].copy_from_slice(&bytes.to_be_bytes());
        whole[piece.named_at] = first.packet[piece.header];
    }
    Inner::read(&whole).is_ok_and(|inner| !inner.is_fragment && inner.bytes == whole.len()).then_some(whole)
}
