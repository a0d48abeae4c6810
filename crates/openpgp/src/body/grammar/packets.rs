//! Parts that both readers share: bounds, and packets that are buffered until they are complete.

use crate::body::BodyError;
use crate::packet::{Event, Splitter};
use pgp::packet::PacketHeader;
use pgp::types::Tag;
use std::ops::Range;

/// Longest packet that is read, in bytes, except packets that hold data. The longest signatures are those of SLH-DSA,
/// 30 kB.
pub const PACKET_BYTES_MAX: usize = 64 << 10;

/// Bounds on the work that a message may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most this many compressed packets within one another.
    pub nesting_max: u32,
    /// At most this many packets; those around the body and those inside of it are counted separately.
    pub packets_max: u32,
}

/// Counts packets up to the bound.
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

/// A packet that is buffered until it is complete.
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

    /// The packet in the form that rPGP's parsers take: header and body.
    pub(super) fn parts(&self) -> (PacketHeader, &[u8]) {
        let bytes = u32::try_from(self.body.len()).expect("no longer than what is kept");
        (PacketHeader::new_fixed(self.tag, bytes), &self.body)
    }
}

/// A part of the stream; body bytes are given by their place in the slice.
pub(super) enum Part {
    Header(Tag),
    Body(Range<usize>),
    End,
    /// The whole slice is used up.
    More,
}

/// The next part of a stream, from `consumed` on. With `is_by_octet`, body bytes come one by one, since only some of
/// them may be wanted.
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

/// Whether every reader skips packets of this type: marker, padding, and types that a later version or a private use
/// may define (RFC 9580, 4.3).
pub(super) fn is_passed_over(tag: Tag) -> bool {
    matches!(tag, Tag::Marker | Tag::Padding | Tag::UnassignedNonCritical(_) | Tag::Experimental(_))
}
