//! The header of a connection: the lengths that the client will send and wants back.
//!
//! ```text
//! 0   4  magic, "CrTr"
//! 4   1  version, 1
//! 5   1  workload
//! 6   2  zero
//! 8   4  bytes of a request
//! 12  4  bytes of a response
//! 16  8  seed: where in the pattern the contents begin; of datagrams, the number of the run
//! ```
//! Integers are big endian. In *crr* the header is the beginning of the request, which so keeps its length on the wire;
//! in the other workloads the header goes before.

use options::ipsec::Workload;
use std::fmt;

const MAGIC: [u8; 4] = *b"CrTr";
const VERSION: u8 = 1;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 24;
/// Longest request or response, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 26;
/// Longest datagram, in bytes: what UDP over IPv4 carries.
pub const DATAGRAM_BYTES_MAX: u32 = 65_507;
/// Bytes of a datagram before the pattern: number of the run, number of the datagram.
pub const DATAGRAM_HEAD_BYTES: usize = 16;

const WORKLOADS: [Workload; 6] =
    [Workload::Rr, Workload::Crr, Workload::Stream, Workload::Download, Workload::Udp, Workload::Ping];

/// The header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The workload.
    pub workload: Workload,
    /// Bytes of a request, or of a datagram; 0 for a workload without.
    pub request: u32,
    /// Bytes of a response; 0 for a workload without.
    pub response: u32,
    /// Where the contents begin in the pattern; of datagrams, the number of the run.
    pub seed: u64,
}

/// Why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The magic is missing: the peer speaks another protocol.
    Magic,
    /// A version other than 1, a workload that is not known, or bytes that should be zero.
    Version,
    /// The length of a request or response is out of this workload's bounds.
    Sizes,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "what connected does not speak this protocol",
            Self::Version => "version or workload is not known",
            Self::Sizes => "a request or response has a length that this workload does not have",
        })
    }
}

impl std::error::Error for HeaderError {}

impl Header {
    /// Checks that the lengths are within the workload's bounds.
    ///
    /// # Errors
    /// [`HeaderError::Sizes`].
    pub fn checked(self) -> Result<Self, HeaderError> {
        let message = 1..=MESSAGE_BYTES_MAX;
        let ok = match self.workload {
            Workload::Rr | Workload::Ping => {
                message.contains(&self.request) && message.contains(&self.response)
            }
            Workload::Crr => {
                (HEADER_BYTES as u32..=MESSAGE_BYTES_MAX).contains(&self.request)
                    && message.contains(&self.response)
            }
            Workload::Stream | Workload::Download => self.request == 0 && self.response == 0,
            Workload::Udp => {
                (DATAGRAM_HEAD_BYTES as u32..=DATAGRAM_BYTES_MAX).contains(&self.request)
                    && self.response == 0
            }
        };
        if ok { Ok(self) } else { Err(HeaderError::Sizes) }
    }

    /// The header as bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = number(self.workload);
        bytes[8..12].copy_from_slice(&self.request.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.response.to_be_bytes());
        bytes[16..].copy_from_slice(&self.seed.to_be_bytes());
        bytes
    }

    /// Reads a header, and checks its lengths.
    ///
    /// # Errors
    /// [`HeaderError`].
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Self, HeaderError> {
        let [m0, m1, m2, m3, version, workload, z0, z1, q0, q1, q2, q3, p0, p1, p2, p3, seed @ ..] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(HeaderError::Magic);
        }
        let workload = WORKLOADS.into_iter().find(|known| number(*known) == workload);
        let (VERSION, Some(workload), 0, 0) = (version, workload, z0, z1) else {
            return Err(HeaderError::Version);
        };
        Self {
            workload,
            request: u32::from_be_bytes([q0, q1, q2, q3]),
            response: u32::from_be_bytes([p0, p1, p2, p3]),
            seed: u64::from_be_bytes(seed),
        }
        .checked()
    }
}

const fn number(workload: Workload) -> u8 {
    match workload {
        Workload::Rr => 1,
        Workload::Crr => 2,
        Workload::Stream => 3,
        Workload::Download => 4,
        Workload::Udp => 5,
        Workload::Ping => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(workload: Workload, request: u32, response: u32) -> Header {
        Header { workload, request, response, seed: 0x0123_4567_89ab_cdef }
    }

    #[test]
    fn headers_read_as_they_were_written() {
        for good in [
            header(Workload::Rr, 1, 1),
            header(Workload::Rr, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX),
            header(Workload::Ping, 200, 200),
            header(Workload::Crr, 24, 1),
            header(Workload::Stream, 0, 0),
            header(Workload::Download, 0, 0),
            header(Workload::Udp, 16, 0),
            header(Workload::Udp, 65_507, 0),
        ] {
            assert_eq!(Header::read(&good.bytes()), Ok(good));
        }
    }

    #[test]
    fn lengths_have_bounds() {
        for wrong in [
            header(Workload::Rr, 0, 1),
            header(Workload::Rr, 1, 0),
            header(Workload::Rr, MESSAGE_BYTES_MAX + 1, 1),
            header(Workload::Ping, 1, u32::MAX),
            header(Workload::Crr, 23, 1),
            header(Workload::Stream, 1, 0),
            header(Workload::Download, 0, 1),
            header(Workload::Udp, 15, 0),
            header(Workload::Udp, 65_508, 0),
            header(Workload::Udp, 64, 1),
        ] {
            assert_eq!(Header::read(&wrong.bytes()), Err(HeaderError::Sizes), "{wrong:?}");
        }
        let mut bytes = header(Workload::Rr, 1, 1).bytes();
        bytes[4] = 2;
        assert_eq!(Header::read(&bytes), Err(HeaderError::Version));
        bytes[4] = 1;
        bytes[5] = 7;
        assert_eq!(Header::read(&bytes), Err(HeaderError::Version));
        bytes[0] = b'G';
        assert_eq!(Header::read(&bytes), Err(HeaderError::Magic));
    }

    proptest! {
        #[test]
        fn whatever_reads_writes_the_same(bytes in any::<[u8; HEADER_BYTES]>(), workload in 0u8..8) {
            let mut bytes = bytes;
            bytes[..8].copy_from_slice(&[MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3], VERSION, workload, 0, 0]);
            if let Ok(header) = Header::read(&bytes) {
                prop_assert_eq!(header.bytes(), bytes);
            }
        }
    }
}
