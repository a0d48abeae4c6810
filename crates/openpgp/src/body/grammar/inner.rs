//! Reads the contents of a body, or a message that is not encrypted.

use super::packets::{Count, Kept, Limits, Part, is_passed_over, next_part};
use super::{DataMode, PACKET_BYTES_MAX};
use crate::body::BodyError;
use crate::packet::{Event, Splitter};
use crate::{CompressionAlgorithm, Timestamp};
use pgp::packet::{OnePassSignature, Signature};
use pgp::types::Tag;
use std::ops::Range;

/// Longest header of a literal packet's body in bytes.
pub const LITERAL_HEADER_BYTES_MAX: usize = 2 + 255 + 4;

/// Header of a literal packet's body (RFC 9580, 5.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteralHeader {
    /// Whether the packet holds bytes or text.
    pub mode: DataMode,
    /// File name, at most 255 bytes. The sender chose it; never use it as a path as it is.
    pub name: Vec<u8>,
    /// Modification time; 0 for none.
    pub modified: Timestamp,
}

/// Reads the packets inside of a body.
#[derive(Clone, Debug)]
pub struct Inner {
    splitter: Splitter,
    count: Count,
    depth: u32,
    /// Number of one-pass signatures whose signatures have not come yet.
    one_passes: u32,
    is_after_data: bool,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Between,
    Kept(Kept),
    PassedOver,
    LiteralHeader(Vec<u8>),
    Literal,
    CompressedHeader,
    Compressed,
}

/// One step: the event that a slice begins with.
#[derive(Debug)]
pub struct InnerStep {
    /// Number of bytes of the slice that are used up.
    pub consumed: usize,
    /// The event that the consumed bytes make up.
    pub event: InnerEvent,
}

/// The event that a slice begins with.
#[derive(Debug)]
pub enum InnerEvent {
    /// A one-pass signature packet: it announces a signature after the data, and names the hash to compute for that
    /// signature.
    OnePass(Box<OnePassSignature>),
    /// A one-pass signature packet of an unknown kind, or a malformed one.
    UnknownOnePass,
    /// A signature: of the old form if it precedes the data. A signature after the data belongs to the last one-pass
    /// signature that has none yet.
    Signature(Box<Signature>),
    /// A signature of an unknown kind, or a malformed one.
    UnknownSignature,
    /// A literal packet begins.
    Literal(LiteralHeader),
    /// These bytes of the slice are text.
    Text(Range<usize>),
    /// The text in the literal packet has ended.
    TextEnd,
    /// A compressed packet begins; a reader made by [`Inner::nested`] reads its contents.
    Compressed(CompressionAlgorithm),
    /// These bytes of the slice are compressed data.
    Data(Range<usize>),
    /// The compressed data of the packet have ended.
    DataEnd,
    /// No event yet: the whole slice is consumed.
    More,
}

impl Inner {
    /// A reader at the beginning of a body's contents.
    pub fn new(limits: Limits) -> Self {
        Self {
            splitter: Splitter::new(),
            count: Count::new(limits),
            depth: 0,
            one_passes: 0,
            is_after_data: false,
            state: State::Between,
        }
    }

    /// A reader inside of a packet whose header has been read.
    pub(super) fn within_packet(splitter: Splitter, limits: Limits, tag: Tag) -> Result<Self, BodyError> {
        let mut inner = Self { splitter, ..Self::new(limits) };
        inner.begin(tag)?;
        Ok(inner)
    }

    /// A reader for the contents of the compressed packet that has begun. Its packets are counted together with those
    /// of this reader so far.
    ///
    /// # Errors
    /// [`BodyError::TooDeep`] beyond the limit.
    pub fn nested(&self) -> Result<Self, BodyError> {
        let nesting_max = self.count.limits.nesting_max;
        if self.depth >= nesting_max {
            return Err(BodyError::TooDeep { nesting_max });
        }
        Ok(Self { count: self.count, depth: self.depth + 1, ..Self::new(self.count.limits) })
    }

    /// Takes the next event from the beginning of `input`, which continues the stream. Call it again with the rest of
    /// the slice, until [`InnerEvent::More`].
    ///
    /// # Errors
    /// [`BodyError`] if the stream is not a message, or demands more than the limits. It must not be read further then.
    pub fn step(&mut self, input: &[u8]) -> Result<InnerStep, BodyError> {
        let mut consumed = 0;
        loop {
            let is_by_octet = matches!(self.state, State::LiteralHeader(_) | State::CompressedHeader);
            let part = next_part(&mut self.splitter, input, &mut consumed, is_by_octet)?;
            let event = match part {
                Part::More => Some(InnerEvent::More),
                Part::Header(tag) => {
                    self.begin(tag)?;
                    None
                }
                Part::Body(range) => self.body(input, range)?,
                Part::End => self.end()?,
            };
            if let Some(event) = event {
                return Ok(InnerStep { consumed, event });
            }
        }
    }

    /// Ends the stream; to be called until it returns `None`.
    ///
    /// # Errors
    /// [`BodyError`] if the message is incomplete.
    pub fn finish(&mut self) -> Result<Option<InnerEvent>, BodyError> {
        if let Some(Event::End) = self.splitter.finish()?
            && let Some(event) = self.end()?
        {
            return Ok(Some(event));
        }
        if !self.is_after_data || self.one_passes > 0 {
            return Err(BodyError::Incomplete);
        }
        Ok(None)
    }

    fn begin(&mut self, tag: Tag) -> Result<(), BodyError> {
        self.count.another()?;
        self.state = match (tag, self.is_after_data) {
            (tag, _) if is_passed_over(tag) => State::PassedOver,
            (Tag::OnePassSignature, false) => {
                self.one_passes += 1;
                State::Kept(Kept::new(tag, PACKET_BYTES_MAX))
            }
            (Tag::Signature, false) => State::Kept(Kept::new(tag, PACKET_BYTES_MAX)),
            (Tag::Signature, true) if self.one_passes > 0 => {
                self.one_passes -= 1;
                State::Kept(Kept::new(tag, PACKET_BYTES_MAX))
            }
            (Tag::LiteralData, false) => State::LiteralHeader(Vec::new()),
            (Tag::CompressedData, false) => State::CompressedHeader,
            (tag, _) => return Err(BodyError::Unexpected { tag }),
        };
        Ok(())
    }

    fn body(&mut self, input: &[u8], range: Range<usize>) -> Result<Option<InnerEvent>, BodyError> {
        match &mut self.state {
            State::Kept(kept) => kept.take(&input[range])?,
            State::Literal => return Ok(Some(InnerEvent::Text(range))),
            State::Compressed => return Ok(Some(InnerEvent::Data(range))),
            State::LiteralHeader(octets) => {
                octets.extend_from_slice(&input[range]);
                if let Some(header) = literal(octets) {
                    self.state = State::Literal;
                    return Ok(Some(InnerEvent::Literal(header)));
                }
            }
            State::CompressedHeader => {
                let algorithm = CompressionAlgorithm::from(input[range.start]);
                self.state = State::Compressed;
                return Ok(Some(InnerEvent::Compressed(algorithm)));
            }
            State::Between | State::PassedOver => {}
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<InnerEvent>, BodyError> {
        let event = match &self.state {
            State::Kept(kept) => Some(signature(kept)),
            State::LiteralHeader(_) => return Err(BodyError::Short { tag: Tag::LiteralData }),
            State::CompressedHeader => return Err(BodyError::Short { tag: Tag::CompressedData }),
            State::Literal => Some(InnerEvent::TextEnd),
            State::Compressed => Some(InnerEvent::DataEnd),
            State::Between | State::PassedOver => None,
        };
        self.is_after_data |= matches!(self.state, State::Literal | State::Compressed);
        self.state = State::Between;
        Ok(event)
    }
}

fn literal(octets: &[u8]) -> Option<LiteralHeader> {
    let [mode, name_bytes, rest @ ..] = octets else { return None };
    let (name, time) = rest.split_at_checked((*name_bytes).into())?;
    let time = u32::from_be_bytes(*time.first_chunk()?);
    Some(LiteralHeader {
        mode: DataMode::from(*mode),
        name: name.to_vec(),
        modified: Timestamp::from_secs(time),
    })
}

fn signature(kept: &Kept) -> InnerEvent {
    let (header, body) = kept.parts();
    match kept.tag {
        Tag::OnePassSignature => OnePassSignature::try_from_reader(header, body)
            .map_or(InnerEvent::UnknownOnePass, |one_pass| InnerEvent::OnePass(Box::new(one_pass))),
        _ => Signature::try_from_reader(header, body)
            .map_or(InnerEvent::UnknownSignature, |signature| InnerEvent::Signature(Box::new(signature))),
    }
}
