//! The header and the arguments of a request and of a reply.
//!
//! A slot holds one 64-byte header and an inline payload; a longer payload lies in the bulk block
//! that the header names. A payload is the sequence of a verb's arguments, in the order of the
//! [verb table](crate::verb), in little-endian:
//!
//! ```text
//! request, per parameter   Integer, In or InOut    i64
//!                          Integer, Out            nothing
//!                          bytes, In or InOut      u32 length, the bytes
//!                          bytes, Out              nothing (capacity: the table's length)
//!                          key, In or InOut        u32 length, the bytes; or u32 0xFFFF_FFFF,
//!                                                  u32 slot, u64 generation
//! reply, per parameter     Integer, InOut or Out   i64
//!                          bytes, key, InOut, Out  u32 length, the bytes
//! ```

use crate::bounds::{HEADER_BYTES, PARAMETERS_MAX};
use crate::code::Codes;
use crate::key::KeyReference;
use crate::verb::{Direction, Kind, Verb};

/// Version of both headers.
pub const FRAME_VERSION: u16 = 1;
/// In a header's `bulk` field: the payload is inline.
pub const BULK_NONE: u32 = u32::MAX;
/// In place of a key's length: a reference follows.
const REFERENCE_MARK: u32 = u32::MAX;

/// What is wrong with a frame or its arguments; the writer of the frame is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The header's version is not [`FRAME_VERSION`].
    Version(u16),
    /// No verb has this number.
    Verb(u16),
    /// The payload is longer than where it lies can hold.
    PayloadLength(u32),
    /// The bulk block does not exist.
    Bulk(u32),
    /// The payload ends before the argument at this position.
    Truncated {
        /// Position of the parameter in the verb table.
        position: usize,
    },
    /// Bytes are left after the last argument.
    Excess,
    /// The reply's outcome has no meaning.
    Outcome(u16),
    /// The argument at this position is not of the table's kind.
    Kind {
        /// Position of the parameter in the verb table.
        position: usize,
    },
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version(version) => write!(f, "frame version {version} is not {FRAME_VERSION}"),
            Self::Verb(number) => write!(f, "no verb has number {number:#06x}"),
            Self::PayloadLength(length) => {
                write!(f, "a payload of {length} bytes does not fit where it lies")
            }
            Self::Bulk(block) => write!(f, "bulk block {block} does not exist"),
            Self::Truncated { position } => write!(f, "the payload ends before argument {position}"),
            Self::Excess => f.write_str("bytes are left after the last argument"),
            Self::Outcome(outcome) => write!(f, "outcome {outcome} has no meaning"),
            Self::Kind { position } => {
                write!(f, "argument {position} is not of the kind that the verb table gives")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// First line of a request.
///
/// Layout: 0 version u16, 2 verb u16, 4 payload length u32, 8 sequence u64, 16 bulk block u32,
/// 20 zero, 24 time-stamp counter at queue-in u64, 32 zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Number of the verb; not yet checked against the table.
    pub verb: u16,
    /// Length of the payload in bytes.
    pub payload_bytes: u32,
    /// Chosen by the client; comes back with the reply.
    pub sequence: u64,
    /// Bulk block that holds the payload, or [`BULK_NONE`].
    pub bulk: u32,
    /// Time-stamp counter of the client when it queued the request.
    pub queued_tsc: u64,
}

impl RequestHeader {
    /// The header as its 64 bytes.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..2].copy_from_slice(&FRAME_VERSION.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.verb.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.bulk.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.queued_tsc.to_le_bytes());
        bytes
    }

    /// Reads a header.
    ///
    /// # Errors
    /// [`FrameError::Version`]; the other fields are checked where they are used.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, FrameError> {
        let version = u16::from_le_bytes(field(bytes, 0));
        if version != FRAME_VERSION {
            return Err(FrameError::Version(version));
        }
        Ok(Self {
            verb: u16::from_le_bytes(field(bytes, 2)),
            payload_bytes: u32::from_le_bytes(field(bytes, 4)),
            sequence: u64::from_le_bytes(field(bytes, 8)),
            bulk: u32::from_le_bytes(field(bytes, 16)),
            queued_tsc: u64::from_le_bytes(field(bytes, 24)),
        })
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Outcome {
    /// The verb ran; the codes and the payload are its answer.
    Answered = 0,
    /// The frame broke the rules of the link; nothing ran.
    Malformed = 1,
    /// The grant does not allow it; nothing ran.
    Denied = 2,
    /// The card is quiescing or not ready; nothing ran, another card may serve it.
    NotReady = 3,
    /// The key reference is not, or no longer, valid for this tenant; nothing ran.
    KeyReference = 4,
    /// The card's personality does not serve the verb; nothing ran.
    NotServed = 5,
}

impl Outcome {
    fn from_number(number: u16) -> Result<Self, FrameError> {
        Ok(match number {
            0 => Self::Answered,
            1 => Self::Malformed,
            2 => Self::Denied,
            3 => Self::NotReady,
            4 => Self::KeyReference,
            5 => Self::NotServed,
            other => return Err(FrameError::Outcome(other)),
        })
    }
}

/// First line of a reply.
///
/// Layout: 0 version u16, 2 outcome u16, 4 payload length u32, 8 sequence u64, 16 bulk block u32,
/// 20 batch fill u32, 24 return code i32, 28 reason code i32, 32 start u64, 40 end u64 (time-stamp
/// counter), 48 zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader {
    /// What became of the request.
    pub outcome: Outcome,
    /// Return and reason code of the verb; [`Codes`] of zero where it did not run.
    pub codes: Codes,
    /// Length of the payload in bytes.
    pub payload_bytes: u32,
    /// The sequence of the request.
    pub sequence: u64,
    /// Bulk block that holds the payload, or [`BULK_NONE`].
    pub bulk: u32,
    /// Requests that ran in the same batch.
    pub batch_fill: u32,
    /// Time-stamp counter of the card when the batch began.
    pub start_tsc: u64,
    /// Time-stamp counter of the card when the answer stood.
    pub end_tsc: u64,
}

impl ReplyHeader {
    /// The header as its 64 bytes.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..2].copy_from_slice(&FRAME_VERSION.to_le_bytes());
        bytes[2..4].copy_from_slice(&(self.outcome as u16).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.bulk.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.batch_fill.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.codes.return_code.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.codes.reason_code.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.start_tsc.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.end_tsc.to_le_bytes());
        bytes
    }

    /// Reads a header.
    ///
    /// # Errors
    /// [`FrameError::Version`] or [`FrameError::Outcome`].
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, FrameError> {
        let version = u16::from_le_bytes(field(bytes, 0));
        if version != FRAME_VERSION {
            return Err(FrameError::Version(version));
        }
        Ok(Self {
            outcome: Outcome::from_number(u16::from_le_bytes(field(bytes, 2)))?,
            payload_bytes: u32::from_le_bytes(field(bytes, 4)),
            sequence: u64::from_le_bytes(field(bytes, 8)),
            bulk: u32::from_le_bytes(field(bytes, 16)),
            batch_fill: u32::from_le_bytes(field(bytes, 20)),
            codes: Codes::new(i32::from_le_bytes(field(bytes, 24)), i32::from_le_bytes(field(bytes, 28))),
            start_tsc: u64::from_le_bytes(field(bytes, 32)),
            end_tsc: u64::from_le_bytes(field(bytes, 40)),
        })
    }
}

fn field<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// One argument, borrowed from a payload or from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// Not present in this direction.
    Absent,
    /// An integer parameter.
    Integer(i64),
    /// A byte parameter, or a key identifier given as token bytes.
    Bytes(&'a [u8]),
    /// A key identifier given as a reference to an opened label.
    Reference(KeyReference),
}

/// The arguments of one verb, by position in the verb table.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    verb: Verb,
    items: [Argument<'a>; PARAMETERS_MAX],
}

impl<'a> Arguments<'a> {
    /// No argument given yet.
    pub fn new(verb: Verb) -> Self {
        Self { verb, items: [Argument::Absent; PARAMETERS_MAX] }
    }

    /// The verb that these belong to.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Sets the argument at a position of the verb table.
    ///
    /// # Panics
    /// If the position is not below [`PARAMETERS_MAX`].
    pub fn set(&mut self, position: usize, argument: Argument<'a>) -> &mut Self {
        self.items[position] = argument;
        self
    }

    /// Sets an integer. See [`Arguments::set`].
    pub fn set_integer(&mut self, position: usize, value: i64) -> &mut Self {
        self.set(position, Argument::Integer(value))
    }

    /// Sets bytes. See [`Arguments::set`].
    pub fn set_bytes(&mut self, position: usize, bytes: &'a [u8]) -> &mut Self {
        self.set(position, Argument::Bytes(bytes))
    }

    /// The argument at a position; [`Argument::Absent`] beyond the last.
    pub fn at(&self, position: usize) -> Argument<'a> {
        self.items.get(position).copied().unwrap_or(Argument::Absent)
    }

    /// The integer at a position; 0 where there is none.
    pub fn integer(&self, position: usize) -> i64 {
        match self.at(position) {
            Argument::Integer(value) => value,
            _ => 0,
        }
    }

    /// The bytes at a position; empty where there are none.
    pub fn bytes(&self, position: usize) -> &'a [u8] {
        match self.at(position) {
            Argument::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// Appends the request payload.
    ///
    /// # Errors
    /// [`FrameError::Kind`] where an argument does not match the table: an absent integer is sent
    /// as 0 and absent bytes as empty, but bytes for an integer are refused.
    pub fn write_request(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        self.write(out, |direction| direction != Direction::Out)
    }

    /// Appends the reply payload.
    ///
    /// # Errors
    /// As [`Arguments::write_request`]; a reference in a reply is refused.
    pub fn write_reply(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        self.write(out, |direction| direction != Direction::In)
    }

    fn write(&self, out: &mut Vec<u8>, travels: impl Fn(Direction) -> bool) -> Result<(), FrameError> {
        for (position, parameter) in self.verb.entry().parameters.iter().enumerate() {
            if !travels(parameter.direction) {
                continue;
            }
            match (parameter.kind, self.items[position]) {
                (Kind::Integer, Argument::Integer(value)) => out.extend_from_slice(&value.to_le_bytes()),
                (Kind::Integer, Argument::Absent) => out.extend_from_slice(&0i64.to_le_bytes()),
                (Kind::Bytes(_) | Kind::Key(_) | Kind::Keywords(_), Argument::Bytes(bytes)) => {
                    let length = u32::try_from(bytes.len()).map_err(|_| FrameError::Kind { position })?;
                    if length == REFERENCE_MARK {
                        return Err(FrameError::Kind { position });
                    }
                    out.extend_from_slice(&length.to_le_bytes());
                    out.extend_from_slice(bytes);
                }
                (Kind::Bytes(_) | Kind::Key(_) | Kind::Keywords(_), Argument::Absent) => {
                    out.extend_from_slice(&0u32.to_le_bytes());
                }
                (Kind::Key(_), Argument::Reference(reference)) => {
                    out.extend_from_slice(&REFERENCE_MARK.to_le_bytes());
                    out.extend_from_slice(&reference.slot.to_le_bytes());
                    out.extend_from_slice(&reference.generation.to_le_bytes());
                }
                _ => return Err(FrameError::Kind { position }),
            }
        }
        Ok(())
    }

    /// Reads the payload of a request.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] or [`FrameError::Excess`].
    pub fn read_request(verb: Verb, payload: &'a [u8]) -> Result<Self, FrameError> {
        Self::read(verb, payload, true, |direction| direction != Direction::Out)
    }

    /// Reads the payload of a reply.
    ///
    /// # Errors
    /// As [`Arguments::read_request`].
    pub fn read_reply(verb: Verb, payload: &'a [u8]) -> Result<Self, FrameError> {
        Self::read(verb, payload, false, |direction| direction != Direction::In)
    }

    fn read(
        verb: Verb,
        mut payload: &'a [u8],
        references: bool,
        travels: impl Fn(Direction) -> bool,
    ) -> Result<Self, FrameError> {
        let mut arguments = Self::new(verb);
        for (position, parameter) in verb.entry().parameters.iter().enumerate() {
            if !travels(parameter.direction) {
                continue;
            }
            let truncated = FrameError::Truncated { position };
            arguments.items[position] = if parameter.kind == Kind::Integer {
                Argument::Integer(i64::from_le_bytes(take(&mut payload).ok_or(truncated)?))
            } else {
                let length = u32::from_le_bytes(take(&mut payload).ok_or(truncated)?);
                if length == REFERENCE_MARK && references && matches!(parameter.kind, Kind::Key(_)) {
                    let slot = u32::from_le_bytes(take(&mut payload).ok_or(truncated)?);
                    let generation = u64::from_le_bytes(take(&mut payload).ok_or(truncated)?);
                    Argument::Reference(KeyReference { slot, generation })
                } else {
                    let (bytes, rest) = payload.split_at_checked(length as usize).ok_or(truncated)?;
                    payload = rest;
                    Argument::Bytes(bytes)
                }
            };
        }
        if payload.is_empty() { Ok(arguments) } else { Err(FrameError::Excess) }
    }
}

fn take<const N: usize>(payload: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, rest) = payload.split_first_chunk::<N>()?;
    *payload = rest;
    Some(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::encipher;
    use proptest::prelude::*;

    /// Arguments of every verb, filled from a byte string.
    fn filled(verb: Verb, material: &[u8], reply: bool) -> Arguments<'_> {
        let mut arguments = Arguments::new(verb);
        for (position, parameter) in verb.entry().parameters.iter().enumerate() {
            let skipped = if reply { Direction::In } else { Direction::Out };
            if parameter.direction == skipped {
                continue;
            }
            let byte = material.get(position).copied().unwrap_or(7);
            let argument = match parameter.kind {
                Kind::Integer => Argument::Integer(i64::from(byte) - 100),
                Kind::Key(_) if !reply && byte % 2 == 0 => Argument::Reference(KeyReference {
                    slot: u32::from(byte),
                    generation: u64::from(byte) + 1,
                }),
                _ => Argument::Bytes(&material[..material.len().min(byte as usize)]),
            };
            arguments.set(position, argument);
        }
        arguments
    }

    proptest! {
        #[test]
        fn written_arguments_read_back(material in proptest::collection::vec(any::<u8>(), 0..300)) {
            for entry in crate::verb::TABLE {
                let verb = entry.verb;
                let request = filled(verb, &material, false);
                let mut payload = Vec::new();
                request.write_request(&mut payload).unwrap();
                let back = Arguments::read_request(verb, &payload).unwrap();
                prop_assert_eq!(back.items, request.items);

                let reply = filled(verb, &material, true);
                payload.clear();
                reply.write_reply(&mut payload).unwrap();
                prop_assert_eq!(Arguments::read_reply(verb, &payload).unwrap().items, reply.items);
            }
        }

        #[test]
        fn any_payload_is_read_or_refused(payload in proptest::collection::vec(any::<u8>(), 0..400)) {
            for entry in crate::verb::TABLE {
                if let Ok(arguments) = Arguments::read_request(entry.verb, &payload) {
                    let mut again = Vec::new();
                    arguments.write_request(&mut again).unwrap();
                    prop_assert_eq!(&again, &payload);
                }
            }
        }
    }

    #[test]
    fn every_cut_and_every_excess_is_refused() {
        for entry in crate::verb::TABLE {
            let mut payload = Vec::new();
            filled(entry.verb, &[9; 64], false).write_request(&mut payload).unwrap();
            for length in 0..payload.len() {
                let error = Arguments::read_request(entry.verb, &payload[..length]).unwrap_err();
                assert!(matches!(error, FrameError::Truncated { .. }), "{} cut to {length}", entry.name);
            }
            payload.push(0);
            assert_eq!(Arguments::read_request(entry.verb, &payload).unwrap_err(), FrameError::Excess);
        }
    }

    #[test]
    fn an_argument_of_another_kind_is_refused() {
        let mut arguments = Arguments::new(Verb::Encipher);
        arguments.set_integer(encipher::PLAINTEXT, 1);
        let error = arguments.write_request(&mut Vec::new()).unwrap_err();
        assert_eq!(error, FrameError::Kind { position: encipher::PLAINTEXT });
    }

    #[test]
    fn headers_read_back_and_refuse_another_version() {
        let request = RequestHeader { verb: 3, payload_bytes: 5, sequence: 7, bulk: 1, queued_tsc: 11 };
        let mut bytes = request.to_bytes();
        assert_eq!(RequestHeader::from_bytes(&bytes).unwrap(), request);
        bytes[0] = 9;
        assert_eq!(RequestHeader::from_bytes(&bytes).unwrap_err(), FrameError::Version(9));

        let reply = ReplyHeader {
            outcome: Outcome::KeyReference,
            codes: Codes::new(8, -3),
            payload_bytes: 5,
            sequence: 7,
            bulk: BULK_NONE,
            batch_fill: 8,
            start_tsc: 1,
            end_tsc: 2,
        };
        let mut bytes = reply.to_bytes();
        assert_eq!(ReplyHeader::from_bytes(&bytes).unwrap(), reply);
        bytes[2] = 77;
        assert_eq!(ReplyHeader::from_bytes(&bytes).unwrap_err(), FrameError::Outcome(77));
    }
}
