//! The keys that an agent holds, each until its time is over; and the answers to requests about them. Pure: each call
//! is given the time.

use crate::message::{HeldKey, KEYS_MAX, Refusal, Reply, Request, SECONDS_MAX};
use openpgp::private_key::ClearKey;
use openpgp::session_key::bytes;
use openpgp::{HashAlgorithm, PlainSessionKey, PrivateKey, PrivateKeyError};
use pgp::packet::{PacketHeader, PublicKeyEncryptedSessionKey};
use pgp::types::{SignatureBytes, Tag};
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// The keys that an agent holds.
#[derive(Default)]
pub struct Held {
    keys: Vec<Entry>,
}

struct Entry {
    fingerprint: Vec<u8>,
    key: Arc<dyn PrivateKey>,
    /// When the key is forgotten, on the clock of the requests.
    until: Duration,
}

impl Held {
    /// Whether no key is held.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// When the next key is to be forgotten; `None` if none is held.
    pub fn next_end(&self) -> Option<Duration> {
        self.keys.iter().map(|entry| entry.until).min()
    }

    /// Forgets the keys whose time is over at `now`.
    pub fn expire(&mut self, now: Duration) {
        self.keys.retain(|entry| entry.until > now);
    }

    /// The answer to a request at `now`; keys whose time is over are forgotten first.
    pub fn answer(&mut self, request: &Request, now: Duration) -> Reply {
        self.expire(now);
        let outcome = match request {
            Request::Hello { .. } => Err(Refusal::NoHello),
            Request::Add { is_primary, body, seconds } => self.add(*is_primary, body, *seconds, now),
            Request::Open { fingerprint, packet } => self.find(fingerprint).and_then(|key| open(key, packet)),
            Request::Sign { fingerprint, hash, digest } => {
                self.find(fingerprint).and_then(|key| sign(key, *hash, digest))
            }
            Request::List => Ok(Reply::Held(self.rows(now))),
            Request::Forget { fingerprints } => Ok(self.forget(fingerprints)),
        };
        outcome.unwrap_or_else(Reply::Refused)
    }

    fn add(
        &mut self,
        is_primary: bool,
        body: &Zeroizing<Vec<u8>>,
        seconds: u32,
        now: Duration,
    ) -> Result<Reply, Refusal> {
        if !(1..=SECONDS_MAX).contains(&seconds) {
            return Err(Refusal::Seconds);
        }
        let key = ClearKey { is_primary, body: body.clone() }.open().map_err(refusal)?;
        let fingerprint = key.public().fingerprint().as_bytes().to_vec();
        let until = now + Duration::from_secs(seconds.into());
        match self.keys.iter().position(|entry| entry.fingerprint == fingerprint) {
            Some(held) => self.keys[held].until = until,
            None if self.keys.len() == KEYS_MAX => return Err(Refusal::Full),
            None => self.keys.push(Entry { fingerprint, key, until }),
        }
        Ok(Reply::Done { count: 1 })
    }

    fn find(&self, fingerprint: &[u8]) -> Result<&dyn PrivateKey, Refusal> {
        let entry = self.keys.iter().find(|entry| entry.fingerprint == fingerprint);
        entry.map(|entry| entry.key.as_ref()).ok_or(Refusal::NotHeld)
    }

    fn rows(&self, now: Duration) -> Vec<HeldKey> {
        let row = |entry: &Entry| {
            let left = entry.until.saturating_sub(now);
            // Rounded up: a key that is held has time left.
            let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            HeldKey {
                fingerprint: entry.fingerprint.clone(),
                seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
            }
        };
        self.keys.iter().map(row).collect()
    }

    fn forget(&mut self, fingerprints: &[Vec<u8>]) -> Reply {
        let before = self.keys.len();
        self.keys.retain(|entry| !fingerprints.is_empty() && !fingerprints.contains(&entry.fingerprint));
        Reply::Done { count: u32::try_from(before - self.keys.len()).unwrap_or(u32::MAX) }
    }
}

fn open(key: &dyn PrivateKey, packet: &[u8]) -> Result<Reply, Refusal> {
    let header = PacketHeader::new_fixed(
        Tag::PublicKeyEncryptedSessionKey,
        u32::try_from(packet.len()).unwrap_or(u32::MAX),
    );
    let packet = PublicKeyEncryptedSessionKey::try_from_reader(header, packet)
        .map_err(|error| Refusal::Malformed(error.to_string()))?;
    let opened = key.open(&packet).map_err(refusal)?;
    let cipher = match &opened {
        PlainSessionKey::V3_4 { sym_alg, .. } => Some(u8::from(*sym_alg)),
        PlainSessionKey::V5 { .. } | PlainSessionKey::V6 { .. } => None,
    };
    Ok(Reply::SessionKey { cipher, key: Zeroizing::new(bytes(&opened).to_vec()) })
}

fn sign(key: &dyn PrivateKey, hash: u8, digest: &[u8]) -> Result<Reply, Refusal> {
    let hash = HashAlgorithm::from(hash);
    // Some algorithms would sign octets of any length, so the length is checked here.
    if hash.digest_size() != Some(digest.len()) {
        return Err(Refusal::Malformed(format!("{} bytes are no digest of {hash:?}", digest.len())));
    }
    let signature = key.sign(hash, digest).map_err(refusal)?;
    Ok(match signature {
        SignatureBytes::Mpis(numbers) => Reply::Signature {
            is_native: false,
            parts: numbers.iter().map(|number| number.as_ref().to_vec()).collect(),
        },
        SignatureBytes::Native(octets) => Reply::Signature { is_native: true, parts: vec![octets.to_vec()] },
    })
}

fn refusal(error: PrivateKeyError) -> Refusal {
    match error {
        PrivateKeyError::NotOpened => Refusal::NotOpened,
        PrivateKeyError::Unsupported { algorithm, .. } => Refusal::Unsupported(algorithm),
        error => Refusal::Malformed(error.to_string()),
    }
}
