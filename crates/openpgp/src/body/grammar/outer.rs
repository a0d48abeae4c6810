//! Reads the packets around a protected body.

use super::SessionKeyPacket;
use super::packets::{Count, Kept, Limits, Part, is_passed_over, next_part};
use super::{Inner, PACKET_BYTES_MAX};
use crate::body::{BodyError, chunked, seipd1};
use crate::form::{Form, Protection};
use crate::packet::Splitter;
use crate::{PlainSessionKey, SymmetricKeyAlgorithm};
use pgp::packet::{PublicKeyEncryptedSessionKey, SymKeyEncryptedSessionKey};
use pgp::types::Tag;
use std::ops::Range;

/// Reads a message from its beginning.
///
/// ```text
///           session keys       header of the body        bytes       end
/// Before ──────────────▶ Before ───────────▶ Protected ──▶ Body ──▶ After
///    │ packet of a message that is not encrypted
///    └──▶ [`Outer::into_inner`]
/// ```
#[derive(Clone, Debug)]
pub struct Outer {
    splitter: Splitter,
    count: Count,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Before the body, between packets.
    Before,
    /// Inside of a packet before the body that is buffered.
    Kept(Kept),
    /// Inside of a packet that is skipped.
    PassedOver {
        is_after: bool,
    },
    /// Inside of the protected packet, before its header is complete.
    Header {
        tag: Tag,
        octets: Vec<u8>,
    },
    Body,
    After,
    NotEncrypted(Tag),
}

/// One step: the event that a slice begins with.
#[derive(Debug)]
pub struct OuterStep {
    /// Number of bytes of the slice that are used up.
    pub consumed: usize,
    /// The event that the consumed bytes make up.
    pub event: OuterEvent,
}

/// The event that a slice begins with.
#[derive(Debug)]
pub enum OuterEvent {
    /// A packet with the session key for one recipient or passphrase.
    SessionKey(SessionKeyPacket),
    /// A session-key packet of an unknown kind, or a malformed one: skipped, as it may be for other recipients.
    UnknownSessionKey,
    /// The body begins, with this protection.
    Protected(Protected),
    /// These bytes of the slice belong to the body: for SEIPDv1 from the enciphered prefix on, else from the first
    /// chunk on.
    Body(Range<usize>),
    /// The body has ended.
    BodyEnd,
    /// The message is not encrypted; go on with [`Outer::into_inner`].
    NotEncrypted(Tag),
    /// No event yet: the whole slice is consumed.
    More,
}

/// The protection that a body's header states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protected {
    /// A modification detection code; the cipher comes with the session key.
    SeipdV1,
    /// Chunks: SEIPDv2, or GnuPG's packet 20.
    Chunked(chunked::Header),
}

impl Protected {
    /// Whether a session key belongs to this kind of body (RFC 9580, 10.3.2.1). SEIPDv1 takes those of version 3 and 4
    /// packets, and SEIPDv2 those of version 6. GnuPG's packet 20 takes those of versions 3, 4 and 5.
    pub fn takes(&self, key: &PlainSessionKey) -> bool {
        match self {
            Self::SeipdV1 => matches!(key, PlainSessionKey::V3_4 { .. }),
            Self::Chunked(header) => match header.form().protection {
                Protection::GnupgAead { .. } => !matches!(key, PlainSessionKey::V6 { .. }),
                _ => matches!(key, PlainSessionKey::V6 { .. }),
            },
        }
    }

    /// Whether a session-key packet may precede this kind of body. Readers skip the others (RFC
    /// 9580, 10.3.2.1), so that the key of one form is never used with another.
    pub fn goes_with(&self, packet: &SessionKeyPacket) -> bool {
        use SessionKeyPacket::{Passphrase, Public};
        let protection = match self {
            Self::SeipdV1 => Protection::SeipdV1,
            Self::Chunked(header) => header.form().protection,
        };
        match (protection, packet) {
            (Protection::SeipdV2 { .. }, Public(packet)) => {
                matches!(packet, PublicKeyEncryptedSessionKey::V6 { .. })
            }
            (Protection::SeipdV2 { .. }, Passphrase(packet)) => {
                matches!(packet, SymKeyEncryptedSessionKey::V6 { .. })
            }
            (_, Public(packet)) => matches!(packet, PublicKeyEncryptedSessionKey::V3 { .. }),
            (Protection::SeipdV1, Passphrase(packet)) => {
                matches!(packet, SymKeyEncryptedSessionKey::V4 { .. })
            }
            (Protection::GnupgAead { .. }, Passphrase(packet)) => {
                matches!(packet, SymKeyEncryptedSessionKey::V4 { .. } | SymKeyEncryptedSessionKey::V5 { .. })
            }
        }
    }

    /// Cipher and session key of this body. A session key that names its cipher is accepted for any body with the same
    /// cipher, whatever packet the key came from: see [`Protected::takes`].
    ///
    /// # Errors
    /// [`BodyError`] if no cipher is named, if the body has another cipher, or if the key does not have the cipher's
    /// length.
    pub fn key<'a>(&self, key: &'a PlainSessionKey) -> Result<(SymmetricKeyAlgorithm, &'a [u8]), BodyError> {
        let (named, bytes): (_, &[u8]) = match key {
            PlainSessionKey::V3_4 { sym_alg, key } => (Some(*sym_alg), key.as_ref()),
            PlainSessionKey::V5 { key } | PlainSessionKey::V6 { key } => (None, key.as_ref()),
        };
        let cipher = match (self, named) {
            (Self::SeipdV1, Some(named)) => named,
            (Self::SeipdV1, None) => return Err(BodyError::KeyVersion),
            (Self::Chunked(header), named) => {
                let cipher = header.form().cipher;
                if named.is_some_and(|named| named != cipher) {
                    return Err(BodyError::KeyVersion);
                }
                cipher
            }
        };
        if cipher.block_size() == 0 {
            return Err(BodyError::Cipher(cipher));
        }
        if bytes.len() != cipher.key_size() {
            return Err(BodyError::KeyLength { bytes: bytes.len(), expected: cipher.key_size() });
        }
        Ok((cipher, bytes))
    }

    /// The body's form, with the cipher from the session key if the body does not name one.
    pub fn form(&self, cipher: SymmetricKeyAlgorithm) -> Form {
        match self {
            Self::SeipdV1 => Form { cipher, protection: Protection::SeipdV1 },
            Self::Chunked(header) => header.form(),
        }
    }
}

impl Outer {
    /// A reader at the beginning of a message.
    pub fn new(limits: Limits) -> Self {
        Self { splitter: Splitter::new(), count: Count::new(limits), state: State::Before }
    }

    /// Takes the next event from the beginning of `input`, which continues the stream. Call it again with the rest of
    /// the slice, until [`OuterEvent::More`].
    ///
    /// # Errors
    /// [`BodyError`] if the stream is not a message, or demands more than the limits. It must not be read further then.
    pub fn step(&mut self, input: &[u8]) -> Result<OuterStep, BodyError> {
        let mut consumed = 0;
        loop {
            if let State::NotEncrypted(tag) = self.state {
                return Ok(OuterStep { consumed, event: OuterEvent::NotEncrypted(tag) });
            }
            let is_by_octet = matches!(self.state, State::Header { .. });
            let part = next_part(&mut self.splitter, input, &mut consumed, is_by_octet)?;
            let event = match part {
                Part::More => Some(OuterEvent::More),
                Part::Header(tag) => {
                    self.begin(tag)?;
                    None
                }
                Part::Body(range) => self.body(input, range)?,
                Part::End => self.end()?,
            };
            if let Some(event) = event {
                return Ok(OuterStep { consumed, event });
            }
        }
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// [`BodyError`] if the message is incomplete.
    pub fn finish(&mut self) -> Result<(), BodyError> {
        self.splitter.finish()?;
        match self.state {
            State::After => Ok(()),
            _ => Err(BodyError::Incomplete),
        }
    }

    /// The reader for the rest of a message that is not encrypted.
    ///
    /// # Errors
    /// [`BodyError::Incomplete`] unless [`OuterEvent::NotEncrypted`] came.
    pub fn into_inner(self) -> Result<Inner, BodyError> {
        match self.state {
            State::NotEncrypted(tag) => Inner::within_packet(self.splitter, self.count.limits, tag),
            _ => Err(BodyError::Incomplete),
        }
    }

    fn begin(&mut self, tag: Tag) -> Result<(), BodyError> {
        self.count.another()?;
        let is_after = matches!(self.state, State::After);
        self.state = match tag {
            _ if is_passed_over(tag) => State::PassedOver { is_after },
            _ if is_after => return Err(BodyError::Unexpected { tag }),
            Tag::PublicKeyEncryptedSessionKey | Tag::SymKeyEncryptedSessionKey => {
                State::Kept(Kept::new(tag, SESSION_KEY_BYTES_MAX))
            }
            Tag::SymEncryptedProtectedData | Tag::GnupgAeadData => {
                State::Header { tag, octets: Vec::with_capacity(chunked::HEADER_BYTES_MAX) }
            }
            Tag::SymEncryptedData => return Err(BodyError::NotProtected),
            Tag::OnePassSignature | Tag::Signature | Tag::LiteralData | Tag::CompressedData => {
                State::NotEncrypted(tag)
            }
            tag => return Err(BodyError::Unexpected { tag }),
        };
        Ok(())
    }

    fn body(&mut self, input: &[u8], range: Range<usize>) -> Result<Option<OuterEvent>, BodyError> {
        match &mut self.state {
            State::Kept(kept) => kept.take(&input[range])?,
            State::Body => return Ok(Some(OuterEvent::Body(range))),
            State::Header { tag, octets } => {
                octets.extend_from_slice(&input[range]);
                if let Some(protected) = protected(*tag, octets)? {
                    self.state = State::Body;
                    return Ok(Some(OuterEvent::Protected(protected)));
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<OuterEvent>, BodyError> {
        let (next, event) = match &self.state {
            State::Kept(kept) => {
                let event = session_key(kept).map_or(OuterEvent::UnknownSessionKey, OuterEvent::SessionKey);
                (State::Before, Some(event))
            }
            State::Header { tag, .. } => return Err(BodyError::Short { tag: *tag }),
            State::Body => (State::After, Some(OuterEvent::BodyEnd)),
            State::PassedOver { is_after: true } | State::After => (State::After, None),
            _ => (State::Before, None),
        };
        self.state = next;
        Ok(event)
    }
}

fn protected(tag: Tag, octets: &[u8]) -> Result<Option<Protected>, BodyError> {
    if tag == Tag::SymEncryptedProtectedData && octets == [seipd1::VERSION] {
        return Ok(Some(Protected::SeipdV1));
    }
    Ok(chunked::Header::parse(tag, octets)?.map(|(header, _)| Protected::Chunked(header)))
}

fn session_key(kept: &Kept) -> Option<SessionKeyPacket> {
    let (header, body) = kept.parts();
    SessionKeyPacket::parse(header, body)
}

/// Longest session key packet in bytes, which bounds memory even with many of them before a body. The longest in use
/// are those of ML-KEM-1024, under 2 kB.
const SESSION_KEY_BYTES_MAX: usize = PACKET_BYTES_MAX / 4;
