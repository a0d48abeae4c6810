//! The session keys of a message: by private keys that ask nobody first, then by others, then by passphrases.

use super::{ASKED_MAX, Keys};
use crate::failure::Failure;
use crate::messages::failure::PgpFailure;
use keyring::store::hexadecimal;
use openpgp::private_key::Locking;
use openpgp::session_key::{self, SessionKeyPacket};
use openpgp::{Fingerprint, Passphrase, PrivateKeyError};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::KeyDetails;
use pipeline::{Candidate, NotOpened, SessionKeys};
use std::sync::atomic::{AtomicBool, Ordering};

/// Most packets before a body that are tried with passphrases: each one costs a derivation.
const PASSPHRASE_PACKETS_MAX: usize = 32;

/// The keys, for one message.
pub struct Opening<'a> {
    keys: &'a Keys<'a>,
    was_guess: AtomicBool,
}

impl<'a> Opening<'a> {
    /// Of these keys.
    pub fn new(keys: &'a Keys<'a>) -> Self {
        Self { keys, was_guess: AtomicBool::new(false) }
    }

    /// Whether a passphrase gave what nothing has shown to be right yet.
    pub fn was_guess(&self) -> bool {
        self.was_guess.load(Ordering::Relaxed)
    }
}

impl SessionKeys for Opening<'_> {
    fn open(&self, packets: &[SessionKeyPacket]) -> Result<Vec<Candidate>, NotOpened> {
        let outcome = match self.keys.open_all(packets) {
            Ok(outcome) => outcome,
            Err(failure) => Err(NotOpened { why: failure.to_string(), is_passphrase: false }),
        };
        let are_guesses = |found: &Vec<Candidate>| found.iter().all(|candidate| candidate.is_guess);
        self.was_guess.store(outcome.as_ref().is_ok_and(are_guesses), Ordering::Relaxed);
        outcome
    }
}

impl Keys<'_> {
    /// Own keys that packets may be for, with whether using one asks nobody: those first.
    fn own_keys(&self, packets: &[&PublicKeyEncryptedSessionKey]) -> Result<Vec<Fingerprint>, Failure> {
        let fits = |key: &dyn KeyDetails| packets.iter().any(|packet| session_key::matches(packet, key));
        let mut found = Vec::new();
        for certificate in self.store.certificates()? {
            for key in certificate.keys() {
                let fingerprint = key.fingerprint();
                if self.cards.contains_key(&hexadecimal(&fingerprint)) && fits(&key) {
                    found.push((false, fingerprint));
                }
            }
        }
        for private in self.store.privates()? {
            let keys = private.certificate().keys();
            for (fingerprint, locking) in private.locking() {
                let key = keys.iter().find(|key| key.fingerprint() == fingerprint);
                if !matches!(locking, Locking::Elsewhere { .. }) && key.is_some_and(|key| fits(key)) {
                    found.push((locking == Locking::Passphrase, fingerprint));
                }
            }
        }
        let unlocked = self.unlocked();
        found.sort_by_key(|(is_locked, key)| *is_locked && !unlocked.keys.contains_key(key));
        Ok(found.into_iter().map(|(_, fingerprint)| fingerprint).collect())
    }

    /// By private keys. The last reason why one did not open it, where none did.
    fn open_by_keys(
        &self,
        packets: &[&PublicKeyEncryptedSessionKey],
        why: &mut Option<String>,
    ) -> Result<Option<Candidate>, Failure> {
        for fingerprint in self.own_keys(packets)? {
            let name = format!("{fingerprint:X}");
            let key = match self.private_key(&name, &fingerprint) {
                Ok(Some(key)) => key,
                Ok(None) => continue,
                Err(failure @ Failure::OpenPgp(PgpFailure::Interrupted)) => return Err(failure),
                Err(failure) => {
                    *why = Some(failure.to_string());
                    continue;
                }
            };
            for packet in packets.iter().filter(|packet| session_key::matches(packet, key.public())) {
                match key.open(packet) {
                    Ok(session_key) => {
                        let by = format!("key {fingerprint:X}");
                        return Ok(Some(Candidate { session_key, by, is_guess: false }));
                    }
                    // Of a packet that names nobody it says nothing that it is not for this key.
                    Err(PrivateKeyError::NotOpened) => {}
                    Err(error) => *why = Some(format!("{fingerprint:X}: {error}")),
                }
            }
        }
        Ok(None)
    }

    /// By passphrases: all that fit, since some packets do not show whether they do.
    fn open_by_passphrases(packets: &[SessionKeyPacket], passphrases: &[Passphrase]) -> Vec<Candidate> {
        let packets = packets.iter().filter_map(|packet| match packet {
            SessionKeyPacket::Passphrase(packet) => Some(packet),
            SessionKeyPacket::Public(_) => None,
        });
        let mut candidates = Vec::new();
        for packet in packets.take(PASSPHRASE_PACKETS_MAX) {
            for passphrase in passphrases {
                candidates.extend(session_key::open_passphrase(packet, passphrase).map(|opened| Candidate {
                    session_key: opened.session_key,
                    by: "passphrase".to_owned(),
                    is_guess: opened.is_guess,
                }));
            }
        }
        candidates.sort_by_key(|candidate| candidate.is_guess);
        candidates
    }

    fn ask_message_passphrase(&self, packets: &[SessionKeyPacket]) -> Result<Vec<Candidate>, Failure> {
        let mut unlocked = self.unlocked();
        while unlocked.asked_count < ASKED_MAX {
            let question = if unlocked.asked_count == 0 {
                "Passphrase of the message: "
            } else {
                "That is not it. Once more: "
            };
            unlocked.asked_count += 1;
            let Some(passphrase) = self.asker.ask(question)? else { break };
            let candidates = Self::open_by_passphrases(packets, std::slice::from_ref(&passphrase));
            if !candidates.is_empty() {
                unlocked.typed_for_messages.push(passphrase);
                return Ok(candidates);
            }
        }
        Ok(Vec::new())
    }

    /// Whether another try at a message may go better: what was typed did not show that it is wrong, and there are
    /// tries left.
    pub fn may_type_again(&self) -> bool {
        let mut unlocked = self.unlocked();
        let was_typed = unlocked.typed_for_messages.pop().is_some();
        was_typed && unlocked.asked_count < ASKED_MAX
    }

    /// What was typed for a message was right: the next message may be asked for anew.
    pub fn was_opened(&self) {
        self.unlocked().asked_count = 0;
    }

    fn open_all(&self, packets: &[SessionKeyPacket]) -> Result<Result<Vec<Candidate>, NotOpened>, Failure> {
        let public: Vec<_> = packets
            .iter()
            .filter_map(|packet| match packet {
                SessionKeyPacket::Public(packet) => Some(packet),
                SessionKeyPacket::Passphrase(_) => None,
            })
            .collect();
        let mut why = None;
        if let Some(candidate) = self.open_by_keys(&public, &mut why)? {
            return Ok(Ok(vec![candidate]));
        }
        let is_passphrase = public.len() < packets.len();
        if is_passphrase {
            let mut known = self.message_passphrases.clone();
            known.extend(self.unlocked().typed_for_messages.iter().cloned());
            let mut candidates = Self::open_by_passphrases(packets, &known);
            if candidates.is_empty() {
                candidates = self.ask_message_passphrase(packets)?;
            }
            if !candidates.is_empty() {
                return Ok(Ok(candidates));
            }
        }
        let why = why.unwrap_or_else(|| self.nobody(&public, is_passphrase));
        Ok(Err(NotOpened { why, is_passphrase }))
    }

    fn nobody(&self, public: &[&PublicKeyEncryptedSessionKey], is_passphrase: bool) -> String {
        let names: Vec<_> = public.iter().map(|packet| recipient(packet)).collect();
        let keys = "its private key is not in the key store (`cryptand pgp key list --private` shows those there are)";
        match (names.is_empty(), is_passphrase) {
            (true, _) if self.message_passphrases.is_empty() => "no passphrase was given or typed".to_owned(),
            (true, _) => "the passphrase does not open it".to_owned(),
            (false, false) => format!("it is encrypted to {}: {keys}", names.join(", ")),
            (false, true) => {
                format!(
                    "it is encrypted to {}, and under a passphrase: neither is to be had: {keys}",
                    names.join(", ")
                )
            }
        }
    }
}

/// The key that a packet names.
fn recipient(packet: &PublicKeyEncryptedSessionKey) -> String {
    match packet {
        PublicKeyEncryptedSessionKey::V3 { id, .. } if id.is_wildcard() => "an unnamed key".to_owned(),
        PublicKeyEncryptedSessionKey::V3 { id, .. } => id.to_string().to_uppercase(),
        PublicKeyEncryptedSessionKey::V6 { fingerprint: Some(fingerprint), .. } => format!("{fingerprint:X}"),
        PublicKeyEncryptedSessionKey::V6 { fingerprint: None, .. } => "an unnamed key".to_owned(),
        PublicKeyEncryptedSessionKey::Other { .. } => "a key of an unknown kind".to_owned(),
    }
}
