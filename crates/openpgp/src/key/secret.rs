//! A private key as in its packet (RFC 9580, 5.5.3): public half, lock, and the private fields behind it.
//!
//! The private fields are kept as they were read, locked or not, so that a key that is only passed on is written
//! unchanged. They are parsed when the key is unlocked.

use super::PrivateKeyError;
use super::lock::{Lock, Locking};
use super::packet::KeyPacket;
use crate::Passphrase;
use pgp::packet::{PacketHeader, PublicKey, PublicSubkey};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, Tag};
use std::fmt;
use zeroize::Zeroizing;

/// A private key packet; wiped when dropped.
#[derive(Clone)]
pub(crate) struct SecretPacket {
    public: KeyPacket,
    lock: Lock,
    /// Data after the lock: private fields and checksum, enciphered if there is a lock.
    data: Zeroizing<Vec<u8>>,
}

impl SecretPacket {
    /// Parses the body of a packet.
    pub(crate) fn parse(is_primary: bool, body: &[u8]) -> Result<Self, String> {
        let mut rest = body;
        let text = |error: pgp::errors::Error| error.to_string();
        let public_tag = if is_primary { Tag::PublicKey } else { Tag::PublicSubkey };
        // The header needs the length of the public half, which is known only after reading it.
        let header = PacketHeader::new_fixed(public_tag, 0);
        let length = |rest: &[u8]| u32::try_from(body.len() - rest.len()).unwrap_or(u32::MAX);
        let public = if is_primary {
            PublicKey::try_from_reader(header, &mut rest).map_err(text)?;
            let header = PacketHeader::new_fixed(public_tag, length(rest));
            KeyPacket::Primary(PublicKey::try_from_reader(header, body).map_err(text)?)
        } else {
            PublicSubkey::try_from_reader(header, &mut rest).map_err(text)?;
            let header = PacketHeader::new_fixed(public_tag, length(rest));
            KeyPacket::Sub(PublicSubkey::try_from_reader(header, body).map_err(text)?)
        };
        if !matches!(public.version(), KeyVersion::V4 | KeyVersion::V6) {
            return Err(format!("private keys of version {:?} are not read", public.version()));
        }
        let lock = Lock::parse(public.version(), &mut rest)?;
        Ok(Self { public, lock, data: Zeroizing::new(rest.to_vec()) })
    }

    /// A key without a lock; `fields` are the algorithm's private fields.
    pub(crate) fn unlocked(public: KeyPacket, fields: &[u8]) -> Self {
        let mut data = Zeroizing::new(Vec::with_capacity(fields.len() + 2));
        data.extend_from_slice(fields);
        if public.version() != KeyVersion::V6 {
            data.extend_from_slice(&super::lock::checksum(fields));
        }
        Self { public, lock: Lock::None, data }
    }

    pub(crate) fn public(&self) -> &KeyPacket {
        &self.public
    }

    pub(crate) fn locking(&self) -> Locking {
        self.lock.locking()
    }

    /// The algorithm's private fields, unlocked.
    pub(crate) fn fields(
        &self,
        passphrase: Option<&Passphrase>,
    ) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError> {
        self.lock.open(&self.public, &self.data, passphrase)
    }

    /// The same key under a new passphrase, or without a lock if there is none. A key that is elsewhere is left as it
    /// is.
    pub(crate) fn relocked(
        &self,
        old: Option<&Passphrase>,
        new: Option<&Passphrase>,
    ) -> Result<Self, PrivateKeyError> {
        if let Locking::Elsewhere { .. } = self.locking() {
            return Ok(self.clone());
        }
        let fields = self.fields(old)?;
        let Some(new) = new else { return Ok(Self::unlocked(self.public.clone(), &fields)) };
        let (lock, data) = Lock::close(&self.public, &fields, new)?;
        Ok(Self { public: self.public.clone(), lock, data: Zeroizing::new(data) })
    }

    /// The packet's body.
    pub(crate) fn body(&self) -> Zeroizing<Vec<u8>> {
        let lock = self.lock.to_bytes(self.public.version());
        let public = self.public.to_bytes().unwrap_or_default();
        // One allocation: growing would leave unwiped copies behind.
        let mut body = Zeroizing::new(Vec::with_capacity(public.len() + lock.len() + self.data.len()));
        body.extend_from_slice(&public);
        body.extend_from_slice(&lock);
        body.extend_from_slice(&self.data);
        body
    }

    /// Appends the whole packet, with its header.
    pub(crate) fn write(&self, out: &mut Zeroizing<Vec<u8>>) {
        let tag = if self.public.is_primary() { Tag::SecretKey } else { Tag::SecretSubkey };
        let body = self.body();
        let header = PacketHeader::new_fixed(tag, u32::try_from(body.len()).unwrap_or(u32::MAX));
        let header = header.to_bytes().unwrap_or_default();
        // One allocation, as in `body`.
        let mut all = Zeroizing::new(Vec::with_capacity(out.len() + header.len() + body.len()));
        all.extend_from_slice(out);
        all.extend_from_slice(&header);
        all.extend_from_slice(&body);
        *out = all;
    }
}

impl fmt::Debug for SecretPacket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecretPacket({:X}, {:?})", self.public.fingerprint(), self.locking())
    }
}
