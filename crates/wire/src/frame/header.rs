//! The first line of a request and of a reply.

use super::FrameError;
use crate::bounds::HEADER_BYTES;
use crate::code::Codes;

/// Version of both headers.
pub const FRAME_VERSION: u16 = 1;
/// In a header's `bulk` field: the payload is inline.
pub const BULK_NONE: u32 = u32::MAX;

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

/// How a request ended.
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
    /// The card's secret memory has no room for it; nothing ran.
    Full = 6,
    /// The queue's tenant is in quarantine, because its requests ended cards; nothing ran.
    Quarantined = 7,
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
            6 => Self::Full,
            7 => Self::Quarantined,
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
    /// How the request ended.
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
    /// Time-stamp counter of the card when the answer was complete.
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

#[cfg(test)]
mod tests {
    use super::*;

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
