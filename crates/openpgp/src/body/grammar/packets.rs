//! What both readers share: bounds, and packets that are kept until they are whole.

use crate::body::BodyError;
use crate::packet::{Event, Splitter};
use pgp::packet::PacketHeader;
use pgp::types::Tag;
use std::ops::Range;

/// Longest packet, other than those that hold data, that is read, in bytes. The longest signatures are those of
/// SLH-DSA, 30 kB.
pub const PACKET_BYTES_MAX: usize = 64 << 10;

/// Bounds on what a message may demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Compressed packets within one another.
    pub nesting_max: u32,
    /// Packets in all, counted outside of and inside of the body apart.
    pub packets_max: u32,
}

/// How many packets there were, against how many there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    packets: u32,
    pub(super) limits: Limits,
}

impl Count {
    pub(super) fn new(limits: Limits) -> Self {
        Self { packets: 0, limits }
    }

    pub(super) fn another(&mut self) -> Result<(), BodyError> {
        let packets_max = self.limits.packets_max;
        if self.packets >= packets_max {
            return Err(BodyError::TooManyPackets { packets_max });
        }
        self.packets += 1;
        Ok(())
    }
}

/// A packet that is kept until it is whole.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) tag: Tag,
    pub(super) body: Vec<u8>,
    bytes_max: usize,
}

impl Kept {
    pub(super) fn new(tag: Tag, bytes_max: usize) -> Self {
        Self { tag, body: Vec::new(), bytes_max }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        if bytes.len() > self.bytes_max - self.body.len() {
            return Err(BodyError::TooLong { tag: self.tag, bytes_max: self.bytes_max });
        }
        self.body.extend_from_slice(bytes);
        Ok(())
    }

    /// As rPGP's parsers take it.
    pub(super) fn parts(&self) -> (PacketHeader, &[u8]) {
        let bytes = u32::try_from(self.body.len()).expect("no longer than what is kept");
        (PacketHeader::new_fixed(self.tag, bytes), &self.body)
    }
}

/// What a part of the stream is, with the place of body bytes in the slice.
pub(super) enum Part {
    Header(Tag),
    Body(Range<usize>),
    End,
    /// All of the slice is taken.
    More,
}

/// The next part of a stream, from `consumed` on; body bytes one by one where only some of them may be wanted.
pub(super) fn next_part(
    splitter: &mut Splitter,
    input: &[u8],
    consumed: &mut usize,
    is_by_octet: bool,
) -> Result<Part, BodyError> {
    loop {
        let from = *consumed;
        let rest = &input[from..];
        let window = if is_by_octet { &rest[..rest.len().min(1)] } else { rest };
        let step = splitter.step(window)?;
        *consumed += step.consumed;
        return Ok(match step.event {
            Event::Header(header) => Part::Header(header.tag),
            Event::Body => Part::Body(from..*consumed),
            Event::End => Part::End,
            Event::Framing => continue,
            Event::More if *consumed < input.len() => continue,
            Event::More => Part::More,
        });
    }
}

/// Packets that every reader passes over: marker, padding, and those that a version to come or a private use may
/// bring (RFC 9580, 4.3).
pub(super) fn is_passed_over(tag: Tag) -> bool {
    matches!(tag, Tag::Marker | Tag::Padding | Tag::UnassignedNonCritical(_) | Tag::Experimental(_))
}
