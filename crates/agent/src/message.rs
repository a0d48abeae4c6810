//! What a client and the agent say to each other: one request, one reply, over a sequenced-packet socket, in the
//! encoding of the control sockets (`wire::control`). A message is at most `wire::bounds::CONTROL_BYTES_MAX` bytes
//! long.

use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// Version of these messages. Client and agent of different versions refuse each other.
pub const VERSION: u16 = 1;

/// Longest time that a key is held, in seconds: a day.
pub const SECONDS_MAX: u32 = 24 * 60 * 60;

/// Most keys that are held at once.
pub const KEYS_MAX: usize = 64;

/// What a client asks.
#[derive(Serialize, Deserialize)]
pub enum Request {
    /// The first message of a connection. Answered by [`Reply::Ready`].
    Hello {
        /// [`VERSION`] of the client.
        version: u16,
    },
    /// Hold a key; where it is held already, from now on for this time. Answered by [`Reply::Done`].
    Add {
        /// Whether it is a primary key.
        is_primary: bool,
        /// The body of its packet, not locked (RFC 9580, 5.5.3).
        body: Zeroizing<Vec<u8>>,
        /// For how long, 1 to [`SECONDS_MAX`].
        seconds: u32,
    },
    /// Open a session key. Answered by [`Reply::SessionKey`].
    Open {
        /// Of the key.
        fingerprint: Vec<u8>,
        /// The body of the session key packet (RFC 9580, 5.1).
        packet: Vec<u8>,
    },
    /// Sign a digest. Answered by [`Reply::Signature`].
    Sign {
        /// Of the key.
        fingerprint: Vec<u8>,
        /// OpenPGP's number of the hash algorithm (RFC 9580, 9.5).
        hash: u8,
        /// As long as that algorithm's digests.
        digest: Vec<u8>,
    },
    /// Which keys are held. Answered by [`Reply::Held`].
    List,
    /// Forget these keys; all of them where none is named. Answered by [`Reply::Done`].
    Forget {
        /// Of the keys.
        fingerprints: Vec<Vec<u8>>,
    },
}

/// What the agent answers.
#[derive(Serialize, Deserialize)]
pub enum Reply {
    /// It serves this client.
    Ready {
        /// [`VERSION`] of the agent.
        version: u16,
        /// Its process.
        pid: u32,
        /// What its sandbox lacks on this machine, by name.
        lacks: Vec<String>,
    },
    /// It was done.
    Done {
        /// To how many keys.
        count: u32,
    },
    /// A session key.
    SessionKey {
        /// OpenPGP's number of the cipher (RFC 9580, 9.3), where the packet is of version 3.
        cipher: Option<u8>,
        /// The key.
        key: Zeroizing<Vec<u8>>,
    },
    /// A signature.
    Signature {
        /// Whether it is one string of octets rather than numbers (RFC 9580, 5.2.3).
        is_native: bool,
        /// Its numbers, or the one string.
        parts: Vec<Vec<u8>>,
    },
    /// The keys that are held.
    Held(Vec<Row>),
    /// It was not done.
    Refused(Refusal),
}

/// A key that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its fingerprint.
    pub fingerprint: Vec<u8>,
    /// For how many seconds more.
    pub seconds: u32,
}

/// Why the agent did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The agent is of this other version.
    Version(u16),
    /// [`Request::Hello`] was not the first message.
    NoHello,
    /// The key is not held, or is not held any more.
    NotHeld,
    /// As many keys are held as can be.
    Full,
    /// The key is to be held for no time, or for longer than [`SECONDS_MAX`].
    Seconds,
    /// The packet of the key, of the session key or the hash algorithm makes no sense.
    Malformed(String),
    /// The session key is not one for this key; opaque, whatever is wrong with it.
    NotOpened,
    /// The algorithm of the key is not served for this.
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
