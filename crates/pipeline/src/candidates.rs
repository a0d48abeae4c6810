//! Candidate session keys of a message, in the order in which they are tried.

use openpgp::body::grammar::Protected;
use openpgp::session_key::{self, Opened, Unsealed};
use openpgp::{Fingerprint, PlainSessionKey, PrivateKey, PrivateKeyError};
use pgp::packet::PublicKeyEncryptedSessionKey;

/// A session key that may be the message's.
#[derive(Clone)]
pub struct Candidate {
    /// The session key.
    pub session_key: PlainSessionKey,
    /// How it was found, for people: a fingerprint, `"passphrase"`, `"session key"`.
    pub by: String,
    /// Whether it came out of a passphrase without a check of its own: then the first octets of an SEIPDv1 body may
    /// be looked at to choose among several.
    pub is_guess: bool,
    /// Whether its packet proved to be whole, by key wrap or AEAD, or it was given: likewise.
    pub is_proven: bool,
    /// Primary key of the certificate whose private key gave it.
    pub certificate: Option<Fingerprint>,
}

/// Session keys as they are found.
///
/// Of all packets that RSA and ElGamal keys were tried on one candidate is left: the first that opened, else a random
/// session key. What is tried afterwards, and which error comes of it, does not tell which of the two it is.
#[derive(Clone, Default)]
pub struct Candidates {
    /// Given, or proven by key wrap or AEAD.
    proven: Vec<Candidate>,
    silent: Option<Silent>,
    guesses: Vec<Candidate>,
}

/// What RSA and ElGamal keys gave.
#[derive(Clone)]
struct Silent {
    candidate: Candidate,
    is_substitute: bool,
    /// Whether a packet named its key.
    is_named: bool,
}

impl Candidates {
    /// Adds a session key that was given.
    pub fn give(&mut self, session_key: PlainSessionKey, by: &str) {
        let by = by.to_owned();
        self.proven.push(Candidate { session_key, by, is_guess: false, is_proven: true, certificate: None });
    }

    /// Tries a private key on a packet that may be for it; `by` names it, `certificate` is the primary key of its
    /// certificate.
    ///
    /// # Errors
    /// [`PrivateKeyError::NotOpened`] where the packet is not for it, and may say so; what keeps the key from being
    /// used at all.
    pub fn try_key(
        &mut self,
        key: &dyn PrivateKey,
        packet: &PublicKeyEncryptedSessionKey,
        body: &Protected,
        by: &str,
        certificate: &Fingerprint,
    ) -> Result<(), PrivateKeyError> {
        let Unsealed { session_key, is_proven, is_substitute } = session_key::open(key, packet, body)?;
        let certificate = Some(certificate.clone());
        let candidate = Candidate { session_key, by: by.to_owned(), is_guess: false, is_proven, certificate };
        if is_proven {
            self.proven.push(candidate);
            return Ok(());
        }
        let is_named = names_a_key(packet) || self.silent.as_ref().is_some_and(|known| known.is_named);
        match &mut self.silent {
            Some(known) if is_substitute || !known.is_substitute => known.is_named = is_named,
            silent => *silent = Some(Silent { candidate, is_substitute, is_named }),
        }
        Ok(())
    }

    /// Adds what a passphrase opened.
    pub fn opened(&mut self, opened: Opened) {
        let candidate = Candidate {
            session_key: opened.session_key,
            by: "passphrase".to_owned(),
            is_guess: opened.is_guess,
            is_proven: !opened.is_guess,
            certificate: None,
        };
        if opened.is_guess { &mut self.guesses } else { &mut self.proven }.push(candidate);
    }

    /// Whether one is the message's for certain.
    pub fn is_proven(&self) -> bool {
        !self.proven.is_empty()
    }

    /// Whether there is nothing to ask a person for: a candidate that is one whatever became of it, or that opened.
    /// Where a packet names no key, this tells whether one opened it: so it must decide about questions alone.
    pub fn is_settled(&self) -> bool {
        let is_settled = |silent: &Silent| silent.is_named || !silent.is_substitute;
        self.is_proven() || !self.guesses.is_empty() || self.silent.as_ref().is_some_and(is_settled)
    }

    /// Whether all of them came out of passphrases, without a check.
    pub fn are_guesses(&self) -> bool {
        self.proven.is_empty() && self.silent.is_none() && !self.guesses.is_empty()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.proven.is_empty() && self.silent.is_none() && self.guesses.is_empty()
    }

    /// In the order that they are tried in: a random session key last.
    pub fn in_order(self) -> Vec<Candidate> {
        let (first, last) = match self.silent {
            Some(Silent { candidate, is_substitute: true, .. }) => (None, Some(candidate)),
            silent => (silent.map(|silent| silent.candidate), None),
        };
        self.proven.into_iter().chain(first).chain(self.guesses).chain(last).collect()
    }
}

fn names_a_key(packet: &PublicKeyEncryptedSessionKey) -> bool {
    match packet {
        PublicKeyEncryptedSessionKey::V3 { id, .. } => !id.is_wildcard(),
        PublicKeyEncryptedSessionKey::V6 { fingerprint, .. } => fingerprint.is_some(),
        PublicKeyEncryptedSessionKey::Other { .. } => false,
    }
}
