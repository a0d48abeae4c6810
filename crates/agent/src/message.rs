//! Messages between a client and the agent: one request, one reply, over a sequenced-packet socket, in the encoding of
//! the control sockets (`wire::control`). A message is at most `wire::bounds::CONTROL_BYTES_MAX` bytes long.

use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// Version of these messages. Client and agent of different versions refuse each other.
pub const VERSION: u16 = 1;

/// Longest time for which a key is held, in seconds: a day.
pub const SECONDS_MAX: u32 = 24 * 60 * 60;

/// At most this many keys are held at once.
pub const KEYS_MAX: usize = 64;

/// A client's request.
#[derive(Serialize, Deserialize)]
pub enum Request {
    /// The first message of a connection. Answered by [`Reply::Ready`].
    Hello {
        /// [`VERSION`] of the client.
        version: u16,
    },
    /// Hold a key, or give a key that is already held this time from now on. Answered by [`Reply::Done`].
    Add {
        /// Whether the key is a primary key.
        is_primary: bool,
        /// Body of the key's secret-key packet, not locked (RFC 9580, 5.5.3).
        body: Zeroizing<Vec<u8>>,
        /// Time to hold the key, in seconds, 1 to [`SECONDS_MAX`].
        seconds: u32,
    },
    /// Open a session key. Answered by [`Reply::SessionKey`].
    Open {
        /// Fingerprint of the private key.
        fingerprint: Vec<u8>,
        /// The body of the session key packet (RFC 9580, 5.1).
        packet: Vec<u8>,
    },
    /// Sign a digest. Answered by [`Reply::Signature`].
    Sign {
        /// Fingerprint of the private key.
        fingerprint: Vec<u8>,
        /// OpenPGP's number of the hash algorithm (RFC 9580, 9.5).
        hash: u8,
        /// The digest, as long as that algorithm's digests.
        digest: Vec<u8>,
    },
    /// List the keys that are held. Answered by [`Reply::Held`].
    List,
    /// Forget these keys, or all keys if none is named. Answered by [`Reply::Done`].
    Forget {
        /// Fingerprints of the keys.
        fingerprints: Vec<Vec<u8>>,
    },
}

/// The agent's answer.
#[derive(Serialize, Deserialize)]
pub enum Reply {
    /// The agent serves this client.
    Ready {
        /// [`VERSION`] of the agent.
        version: u16,
        /// Process id of the agent.
        pid: u32,
        /// Names of the protections of the sandbox, and of the memory of secrets, that the agent lacks on this machine.
        lacks: Vec<String>,
    },
    /// The request was carried out.
    Done {
        /// How many keys it was carried out for.
        count: u32,
    },
    /// The opened session key.
    SessionKey {
        /// OpenPGP's number of the cipher (RFC 9580, 9.3), if the packet is of version 3.
        cipher: Option<u8>,
        /// Bytes of the session key.
        key: Zeroizing<Vec<u8>>,
    },
    /// The signature over the digest.
    Signature {
        /// Whether the signature is one octet string rather than numbers (RFC 9580, 5.2.3).
        is_native: bool,
        /// The signature's numbers, or the one octet string.
        parts: Vec<Vec<u8>>,
    },
    /// The keys that are held.
    Held(Vec<HeldKey>),
    /// The request was refused.
    Refused(Refusal),
}

/// A key that is held, as [`Request::List`] shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldKey {
    /// Fingerprint of the key.
    pub fingerprint: Vec<u8>,
    /// Seconds until the key is forgotten, rounded up.
    pub seconds: u32,
}

/// Why the agent refused a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The agent has this version, another than the client's.
    Version(u16),
    /// [`Request::Hello`] was not the first message.
    NoHello,
    /// The key is not held, or no longer held.
    NotHeld,
    /// [`KEYS_MAX`] keys are held already.
    Full,
    /// The time to hold the key is 0, or longer than [`SECONDS_MAX`].
    Seconds,
    /// The packet of the key or of the session key, the hash algorithm, or the digest's length makes no sense.
    Malformed(String),
    /// The session key is not one for this key; the refusal does not say what is wrong with it.
    NotOpened,
    /// The key's algorithm is not served for this request.
    Unsupported(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                out,
                "it speaks version {version} of its protocol and this program {VERSION}: end it (`pkill cryptand-agent`), or wait until \
                 the time of its keys is over"
            ),
            Self::NoHello => out.write_str("the connection did not begin with a greeting"),
            Self::NotHeld => out.write_str("the key is not held any more"),
            Self::Full => write!(out, "it holds {} keys already", KEYS_MAX),
            Self::Seconds => write!(out, "a key is held for 1 to {SECONDS_MAX} seconds"),
            Self::Malformed(cause) => write!(out, "malformed: {cause}"),
            Self::NotOpened => out.write_str("the session key was not opened"),
            Self::Unsupported(algorithm) => {
                write!(out, "keys of the algorithm {algorithm} are not served for this")
            }
        }
    }
}
