//! Decrypts the session key of a message: first with private keys that need no prompt, then with others, then with
//! passphrases.

use super::unlocking::Had;
use super::{ASKED_MAX, Keys};
use crate::failure::{Failure, PgpFailure};
use keyring::store::hexadecimal;
use openpgp::body::grammar::Protected;
use openpgp::private_key::Locking;
use openpgp::session_key::{self, SessionKeyPacket};
use openpgp::{Fingerprint, Passphrase, PrivateKey, PrivateKeyError};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::KeyDetails;
use pipeline::{Candidates, NotOpened, SessionKeys};
use std::sync::atomic::{AtomicBool, Ordering};

/// The search for the session key of one message.
pub struct Opening<'a> {
    keys: &'a Keys<'a>,
    was_guess: AtomicBool,
}

impl<'a> Opening<'a> {
    /// A search among these keys.
    pub fn new(keys: &'a Keys<'a>) -> Self {
        Self { keys, was_guess: AtomicBool::new(false) }
    }

    /// Whether a passphrase gave a session key that is not yet known to be right.
    pub fn was_guess(&self) -> bool {
        self.was_guess.load(Ordering::Relaxed)
    }
}

impl SessionKeys for Opening<'_> {
    fn open(&self, packets: &[SessionKeyPacket], body: &Protected) -> Result<Candidates, NotOpened> {
        let outcome = match self.keys.open_all(packets, body) {
            Ok(outcome) => outcome,
            Err(failure) => {
                Err(NotOpened { why: failure.to_string(), is_passphrase: false, is_locked: false })
            }
        };
        let was_guess = outcome.as_ref().is_ok_and(Candidates::are_guesses);
        self.was_guess.store(was_guess, Ordering::Relaxed);
        outcome
    }
}

/// The packets of a message, and the progress of the search.
struct Search<'a> {
    packets: &'a [SessionKeyPacket],
    public: Vec<&'a PublicKeyEncryptedSessionKey>,
    body: &'a Protected,
    found: Candidates,
    /// Reason why the last key did not open the message.
    why: Option<String>,
}

/// A private key, and the primary key of its certificate.
struct Own {
    fingerprint: Fingerprint,
    certificate: Fingerprint,
}

impl Keys<'_> {
    /// Own keys that packets may be for, each with the primary key of its certificate.
    fn own_keys(&self, packets: &[&PublicKeyEncryptedSessionKey]) -> Result<Vec<Own>, Failure> {
        let fits = |key: &dyn KeyDetails| packets.iter().any(|packet| session_key::matches(packet, key));
        let mut found = Vec::new();
        for certificate in self.store.certificates()? {
            for key in certificate.keys() {
                let fingerprint = key.fingerprint();
                if self.cards.contains_key(&hexadecimal(&fingerprint)) && fits(&key) {
                    found.push(Own { fingerprint, certificate: certificate.fingerprint() });
                }
            }
        }
        for private in self.store.privates()? {
            let keys = private.certificate().keys();
            for (fingerprint, locking) in private.locking() {
                let key = keys.iter().find(|key| key.fingerprint() == fingerprint);
                if !matches!(locking, Locking::Elsewhere { .. }) && key.is_some_and(|key| fits(key)) {
                    found.push(Own { fingerprint, certificate: private.certificate().fingerprint() });
                }
            }
        }
        Ok(found)
    }

    /// Tries private keys, first all that need no prompt. Every RSA key is tried, whatever the result of the one
    /// before.
    fn open_by_keys(&self, search: &mut Search<'_>) -> Result<(), Failure> {
        let mut locked = Vec::new();
        for own in self.own_keys(&search.public)? {
            match self.private_key_unasked(&format!("{:X}", own.fingerprint), &own.fingerprint) {
                Ok(Had::Key(key)) => Self::open_by_key(search, &own, key.as_ref()),
                Ok(Had::Locked) => locked.push(own),
                Ok(Had::Nothing) => {}
                Err(failure) => search.why = Some(failure.to_string()),
            }
        }
        for own in locked {
            if search.found.is_settled() {
                break;
            }
            match self.private_key(&format!("{:X}", own.fingerprint), &own.fingerprint) {
                Ok(Some(key)) => Self::open_by_key(search, &own, key.as_ref()),
                Ok(None) => {}
                Err(failure @ Failure::OpenPgp(PgpFailure::Interrupted)) => return Err(failure),
                Err(failure) => search.why = Some(failure.to_string()),
            }
        }
        Ok(())
    }

    fn open_by_key(search: &mut Search<'_>, own: &Own, key: &dyn PrivateKey) {
        let Own { fingerprint, certificate } = own;
        let by = format!("key {fingerprint:X}");
        for packet in search.public.iter().filter(|packet| session_key::matches(packet, key.public())) {
            match search.found.try_key(key, packet, search.body, &by, certificate) {
                Ok(()) => {}
                // A packet without a recipient need not be for this key: its failure is no reason to report.
                Err(PrivateKeyError::NotOpened) if is_unnamed(packet) => {}
                Err(error) => search.why = Some(format!("{fingerprint:X}: {error}")),
            }
        }
    }

    /// Tries passphrases and keeps all that fit, since some packets do not show whether one does.
    fn open_by_passphrases(search: &mut Search<'_>, passphrases: &[Passphrase]) {
        let packets = search.packets.iter().filter_map(|packet| match packet {
            SessionKeyPacket::Passphrase(packet) => Some(packet),
            SessionKeyPacket::Public(_) => None,
        });
        for packet in packets {
            for passphrase in passphrases {
                if let Some(opened) = session_key::open_passphrase(packet, passphrase) {
                    search.found.opened(opened);
                }
            }
        }
    }

    fn ask_message_passphrase(&self, search: &mut Search<'_>) -> Result<(), Failure> {
        let mut unlocked = self.unlocked();
        while unlocked.asked_count < ASKED_MAX && !search.found.is_settled() {
            let question = if unlocked.asked_count == 0 {
                "Passphrase of the message: "
            } else {
                "That is not it. Once more: "
            };
            unlocked.asked_count += 1;
            let Some(passphrase) = self.asker.ask(question)? else { break };
            unlocked.was_typed = true;
            Self::open_by_passphrases(search, std::slice::from_ref(&passphrase));
            if search.found.is_settled() {
                unlocked.typed_for_messages.push(passphrase);
            }
        }
        Ok(())
    }

    /// Whether a further prompt for a message may help: the last passphrase did not prove wrong, and prompts are left.
    pub fn may_type_again(&self) -> bool {
        let mut unlocked = self.unlocked();
        let was_typed = unlocked.typed_for_messages.pop().is_some();
        was_typed && unlocked.asked_count < ASKED_MAX
    }

    /// Notes that a passphrase for a message was right: for the next message the prompts are counted anew.
    pub fn was_opened(&self) {
        self.unlocked().asked_count = 0;
    }

    fn open_all(
        &self,
        packets: &[SessionKeyPacket],
        body: &Protected,
    ) -> Result<Result<Candidates, NotOpened>, Failure> {
        let public = packets.iter().filter_map(|packet| match packet {
            SessionKeyPacket::Public(packet) => Some(packet),
            SessionKeyPacket::Passphrase(_) => None,
        });
        let public: Vec<_> = public.collect();
        let is_passphrase = public.len() < packets.len();
        let mut search = Search { packets, public, body, found: Candidates::default(), why: None };
        self.open_by_keys(&mut search)?;
        // Passphrases at hand are tried whatever the RSA keys gave: otherwise the time would tell.
        let demands = session_key::check_demands(packets);
        if let Err(demands) = demands {
            search.why = Some(demands.to_string());
        } else if is_passphrase && !search.found.is_proven() {
            let mut known = self.message_passphrases.clone();
            known.extend(self.unlocked().typed_for_messages.iter().cloned());
            Self::open_by_passphrases(&mut search, &known);
            self.ask_message_passphrase(&mut search)?;
        }
        let Search { public, found, why, .. } = search;
        if !found.is_empty() {
            return Ok(Ok(found));
        }
        let unserved = unserved(packets).filter(|_| public.is_empty());
        let is_passphrase = is_passphrase && unserved.is_none();
        let why = why.or(unserved).unwrap_or_else(|| self.nobody(&public, is_passphrase));
        Ok(Err(NotOpened { why, is_passphrase: is_passphrase && demands.is_ok(), is_locked: false }))
    }

    fn nobody(&self, public: &[&PublicKeyEncryptedSessionKey], is_passphrase: bool) -> String {
        let names: Vec<_> = public.iter().map(|packet| recipient(packet)).collect();
        let keys =
            "its private key is not in the key store (`cryptand pgp list --private` shows those there are)";
        match (names.is_empty(), is_passphrase) {
            (true, _) if self.message_passphrases.is_empty() && !self.unlocked().was_typed => {
                "no passphrase was given or typed".to_owned()
            }
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

/// Why no passphrase at all opens a message: none of its passphrase packets is of a kind that is served.
fn unserved(packets: &[SessionKeyPacket]) -> Option<String> {
    let mut causes = packets.iter().filter_map(|packet| match packet {
        SessionKeyPacket::Passphrase(packet) => Some(session_key::unserved(packet)),
        SessionKeyPacket::Public(_) => None,
    });
    let first = causes.next()??;
    causes.all(|cause| cause.is_some()).then(|| format!("{first} is not served"))
}

fn is_unnamed(packet: &PublicKeyEncryptedSessionKey) -> bool {
    match packet {
        PublicKeyEncryptedSessionKey::V3 { id, .. } => id.is_wildcard(),
        PublicKeyEncryptedSessionKey::V6 { fingerprint, .. } => fingerprint.is_none(),
        PublicKeyEncryptedSessionKey::Other { .. } => false,
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
