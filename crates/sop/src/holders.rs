//! The keys and certificates that a command line names: keys that decrypt messages, and certificates of possible
//! signers.

use crate::failure::{of_private_key, of_signer, told};
use openpgp::body::grammar::Protected;
use openpgp::certificate::{Certificate, Valid};
use openpgp::private_key::PrivateCertificate;
use openpgp::session_key::{self, SessionKeyPacket, open_passphrase};
use openpgp::signature::{Issuer, Signer};
use openpgp::{Passphrase, PlainSessionKey, PrivateKey, PrivateKeyError, Timestamp};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::KeyDetails;
use pipeline::{Candidates, NotOpened, SessionKeys, Verifiers};
use sop::errors::Error;
use sop::plumbing::PasswordsAreHumanReadable;
use sop::{Password, Result};
use std::sync::Arc;

/// The forms of a passphrase to try for decrypting and unlocking: as given, and as the draft normalises it.
pub(crate) fn variants(password: &Password) -> Vec<Passphrase> {
    password.variants().map(|bytes| Passphrase::new(bytes.to_vec())).collect()
}

/// The passphrase in the form that the draft normalises it to, for locking new data.
pub(crate) fn normalized(password: &Password) -> Passphrase {
    Passphrase::new(password.normalized().to_vec())
}

/// Everything given that may open a message.
#[derive(Default)]
pub struct Openers {
    /// Private keys, some of which may be locked.
    pub keys: Vec<PrivateCertificate>,
    /// Passphrases that may unlock the private keys.
    pub key_passphrases: Vec<Passphrase>,
    /// Passphrases to which the message may be encrypted.
    pub passphrases: Vec<Passphrase>,
    /// Session keys that may be the message's.
    pub session_keys: Vec<PlainSessionKey>,
}

impl Openers {
    /// Tries each private key on each session-key packet that may be for it. Returns whether a key was locked and no
    /// passphrase unlocked it.
    fn try_keys(
        &self,
        packets: &[&PublicKeyEncryptedSessionKey],
        body: &Protected,
        found: &mut Candidates,
    ) -> bool {
        let mut is_locked = false;
        for holder in &self.keys {
            let holder_id = holder.certificate().fingerprint();
            for key in holder.certificate().keys() {
                let packets: Vec<_> =
                    packets.iter().filter(|packet| session_key::matches(packet, &key)).collect();
                if packets.is_empty() {
                    continue;
                }
                let fingerprint = key.fingerprint();
                match unlocked(holder, &fingerprint, &self.key_passphrases) {
                    Ok(key) => {
                        for packet in packets {
                            // A packet that is not for this key may be for another one.
                            let _ = found.try_key(
                                key.as_ref(),
                                packet,
                                body,
                                &fingerprint.to_string(),
                                &holder_id,
                            );
                        }
                    }
                    Err(error) => is_locked |= error == PrivateKeyError::Locked,
                }
            }
        }
        is_locked
    }
}

/// A private key, unlocked by the first passphrase that fits; no passphrase is needed for a key that is not locked.
pub fn unlocked(
    holder: &PrivateCertificate,
    fingerprint: &openpgp::Fingerprint,
    passphrases: &[Passphrase],
) -> std::result::Result<Arc<dyn PrivateKey>, PrivateKeyError> {
    let mut result = holder.unlock_key(fingerprint, None);
    for passphrase in passphrases {
        if !matches!(result, Err(PrivateKeyError::Locked)) {
            break;
        }
        result = holder.unlock_key(fingerprint, Some(passphrase));
    }
    result
}

impl SessionKeys for Openers {
    fn open(
        &self,
        packets: &[SessionKeyPacket],
        body: &Protected,
    ) -> std::result::Result<Candidates, NotOpened> {
        let mut found = Candidates::default();
        self.session_keys.iter().for_each(|key| found.give(key.clone(), "session key"));
        let demands = session_key::check_demands(packets);
        let mut public = Vec::new();
        for packet in packets {
            match packet {
                SessionKeyPacket::Public(packet) => public.push(packet),
                SessionKeyPacket::Passphrase(_) if demands.is_err() => {}
                SessionKeyPacket::Passphrase(packet) => {
                    let opened = self.passphrases.iter().filter_map(|it| open_passphrase(packet, it));
                    opened.for_each(|it| found.opened(it));
                }
            }
        }
        let is_locked = self.try_keys(&public, body, &mut found);
        if found.is_empty() {
            let why = match (demands, is_locked) {
                (Err(demands), _) if !self.passphrases.is_empty() => demands.to_string(),
                (_, true) => {
                    "the private key of the message is locked, and no passphrase given unlocks it".to_owned()
                }
                _ => "no key, passphrase or session key that was given opens the message".to_owned(),
            };
            return Err(NotOpened { why, is_passphrase: is_locked, is_locked });
        }
        Ok(found)
    }
}

/// Certificates of possible signers.
#[derive(Default)]
pub struct Known(pub Vec<Arc<Certificate>>);

impl Verifiers for Known {
    fn certificates(&self, issuer: &Issuer) -> Vec<Arc<Certificate>> {
        let is_meant = |certificate: &&Arc<Certificate>| match issuer {
            Issuer::Fingerprint(fingerprint) => certificate.has_key(fingerprint),
            Issuer::KeyId(id) => certificate.has_key_id(id),
            Issuer::Unnamed => true,
        };
        self.0.iter().filter(is_meant).cloned().collect()
    }
}

/// One signer for each of these keys: its first key that can sign and that can be unlocked.
///
/// # Errors
/// [`Error::KeyCannotSign`] if a certificate has no valid key for signatures, [`Error::KeyIsProtected`] if none can be
/// unlocked. Another failure of a private key gives the draft's error for it.
pub fn signers(
    holders: &[PrivateCertificate],
    passphrases: &[Passphrase],
    now: Timestamp,
) -> Result<Vec<Signer>> {
    holders.iter().map(|holder| signer(holder, passphrases, now)).collect()
}

fn signer(holder: &PrivateCertificate, passphrases: &[Passphrase], now: Timestamp) -> Result<Signer> {
    let valid: Valid<'_> = holder.certificate().check(now).map_err(|error| of_signer(&error))?;
    let mut why = None;
    for key in valid.signing_keys().map_err(|error| of_signer(&error))? {
        match unlocked(holder, &key.fingerprint(), passphrases) {
            Ok(key) => {
                let hash = openpgp::signature::hash_for(key.public(), &valid.announces().hashes);
                return Ok(Signer { key, hash, user_id: None });
            }
            Err(error) => why = Some(error),
        }
    }
    Err(match why {
        Some(error) => of_private_key(&error),
        None => told("the certificate has no key for signatures", Error::KeyCannotSign),
    })
}
