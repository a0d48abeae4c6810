//! Framing for readers: splits a stream, given in slices of any size, into headers and bodies.

use crate::packet::header::{HEADER_BYTES_MAX, read_header, read_length};
use crate::packet::{Header, Length, PacketError};
use pgp::types::Tag;

/// Splits a stream into packets. Bodies are not copied; at most one header is buffered.
///
/// ```text
///          header read          all pieces taken
/// Between ────────────▶ Body ──────────────────▶ Ending ──▶ Between
///                        ▲ │ piece taken
///          length read   │ ▼
///                       Length
/// ```
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    state: State,
    octets: [u8; HEADER_BYTES_MAX],
    octet_count: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Where a packet may begin.
    #[default]
    Between,
    /// Inside of a piece.
    Body { left: u64, is_last: bool },
    /// Before the length of the next piece.
    Length,
    /// Inside of a packet that ends with the stream.
    ToEnd,
    /// After the last byte of a packet.
    Ending,
}

/// One step: the event that a slice begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitStep {
    /// Number of bytes of the slice that are used up.
    pub consumed: usize,
    /// The event that the consumed bytes make up.
    pub event: Event,
}

/// The event that a slice begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet begins.
    Header(Header),
    /// The consumed bytes, at least one, belong to the packet's body.
    Body,
    /// The packet has ended.
    End,
    /// The consumed bytes are a length within the packet.
    Framing,
    /// No event yet: the whole slice is consumed; feed the bytes that follow.
    More,
}

impl Splitter {
    /// A splitter at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event from the beginning of `input`, which continues the stream. Call it again with the rest of
    /// the slice, until [`Event::More`].
    ///
    /// # Errors
    /// [`PacketError`] if no packet begins here, or a packet has a kind of length that it must not have. The stream
    /// must not be read further then.
    pub fn step(&mut self, input: &[u8]) -> Result<SplitStep, PacketError> {
        match self.state {
            State::Between => self.header(input),
            State::Length => self.length(input),
            State::Ending => {
                self.state = State::Between;
                Ok(SplitStep { consumed: 0, event: Event::End })
            }
            _ if input.is_empty() => Ok(SplitStep { consumed: 0, event: Event::More }),
            State::ToEnd => Ok(SplitStep { consumed: input.len(), event: Event::Body }),
            State::Body { left, is_last } => {
                let consumed = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
                self.body(left - consumed as u64, is_last);
                Ok(SplitStep { consumed, event: Event::Body })
            }
        }
    }

    /// The last event at the end of the stream: the end of a packet, or `None`.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] if the stream ends inside of a packet.
    pub fn finish(&mut self) -> Result<Option<Event>, PacketError> {
        match self.state {
            State::Between if self.octet_count == 0 => Ok(None),
            State::ToEnd | State::Ending => {
                self.state = State::Between;
                Ok(Some(Event::End))
            }
            _ => Err(PacketError::Truncated),
        }
    }

    /// Number of body bytes before the next length; `None` outside of a piece.
    pub fn piece_left(&self) -> Option<u64> {
        match self.state {
            State::Body { left, .. } => Some(left),
            _ => None,
        }
    }

    fn header(&mut self, input: &[u8]) -> Result<SplitStep, PacketError> {
        let (consumed, header) = self.gather(input, read_header)?;
        let Some(header) = header else { return Ok(SplitStep { consumed, event: Event::More }) };
        match header.length {
            Length::Definite(bytes) => self.body(bytes, true),
            _ if !may_have_any_length(header.tag) => {
                return Err(PacketError::LengthNotAllowed { tag: header.tag });
            }
            Length::Partial(bits) => self.body(1 << bits, false),
            Length::Indeterminate => self.state = State::ToEnd,
        }
        Ok(SplitStep { consumed, event: Event::Header(header) })
    }

    fn length(&mut self, input: &[u8]) -> Result<SplitStep, PacketError> {
        let (consumed, length) = self.gather(input, |octets| Ok(read_length(octets)))?;
        let (bytes, is_last) = match length {
            None | Some(Length::Indeterminate) => return Ok(SplitStep { consumed, event: Event::More }),
            Some(Length::Definite(bytes)) => (bytes, true),
            Some(Length::Partial(bits)) => (1 << bits, false),
        };
        self.body(bytes, is_last);
        Ok(SplitStep { consumed, event: Event::Framing })
    }

    fn body(&mut self, left: u64, is_last: bool) {
        self.state = match (left, is_last) {
            (0, true) => State::Ending,
            (0, false) => State::Length,
            _ => State::Body { left, is_last },
        };
    }

    /// Gathers octets until `read` accepts them; returns how many were consumed, and what was read.
    fn gather<T>(
        &mut self,
        input: &[u8],
        read: impl Fn(&[u8]) -> Result<Option<T>, PacketError>,
    ) -> Result<(usize, Option<T>), PacketError> {
        for (at, octet) in input.iter().enumerate() {
            self.octets[self.octet_count] = *octet;
            self.octet_count += 1;
            let found = read(&self.octets[..self.octet_count]).inspect_err(|_| self.octet_count = 0)?;
            if found.is_some() {
                self.octet_count = 0;
                return Ok((at + 1, found));
            }
        }
        Ok((input.len(), None))
    }
}

/// Whether packets of this type may have partial or indeterminate lengths: only those that hold a message may (RFC
/// 9580, 4.2.1.4).
fn may_have_any_length(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::LiteralData
            | Tag::CompressedData
            | Tag::SymEncryptedData
            | Tag::SymEncryptedProtectedData
            | Tag::GnupgAeadData
    )
}
