//! Candidate session keys of a message, in the order in which they are tried.

use openpgp::body::grammar::Protected;
use openpgp::session_key::{self, Opened, Unsealed};
use openpgp::{Fingerprint, PlainSessionKey, PrivateKey, PrivateKeyError};
use pgp::packet::PublicKeyEncryptedSessionKey;

/// A session key that may be the message's.
#[derive(Clone)]
pub struct Candidate {
    /// The session key to try on the body.
    pub session_key: PlainSessionKey,
    /// How the key was found, for people: a fingerprint, `"passphrase"`, `"session key"`.
    pub by: String,
    /// Whether a passphrase gave the key without a check of its own. Then the first octets of an SEIPDv1 body may be
    /// looked at to choose among several keys.
    pub is_guess: bool,
    /// Whether the key's packet proved to be whole, by key wrap or AEAD, or the key was given. Then too the first
    /// octets of an SEIPDv1 body may be looked at.
    pub is_proven: bool,
    /// Primary key of the certificate whose private key gave the session key.
    pub certificate: Option<Fingerprint>,
}

/// Collects candidate session keys.
///
/// RSA and ElGamal keys together give at most one candidate: the first session key that one of them opened, else a
/// random one. The later steps, and the error that comes of them, do not tell which of the two it is.
#[derive(Clone, Default)]
pub struct Candidates {
    /// Keys that were given, or proven by key wrap or AEAD.
    proven: Vec<Candidate>,
    silent: Option<Silent>,
    guesses: Vec<Candidate>,
}

/// The candidate from RSA and ElGamal keys.
#[derive(Clone)]
struct Silent {
    candidate: Candidate,
    is_substitute: bool,
    /// Whether a packet that was tried names its key.
    is_named: bool,
}

impl Candidates {
    /// Adds a session key that was given; `by` is its name for people.
    pub fn give(&mut self, session_key: PlainSessionKey, by: &str) {
        let by = by.to_owned();
        self.proven.push(Candidate { session_key, by, is_guess: false, is_proven: true, certificate: None });
    }

    /// Tries a private key on a packet that may be for it. `by` is the private key's name for people, and `certificate`
    /// the primary key of its certificate.
    ///
    /// # Errors
    /// [`PrivateKeyError::NotOpened`] if the packet is not for this key, and the algorithm may reveal that; other
    /// errors if the key cannot be used at all.
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

    /// Adds a session key that a passphrase opened.
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

    /// Whether a session key was given, or proven by its packet.
    pub fn is_proven(&self) -> bool {
        !self.proven.is_empty()
    }

    /// Whether a person need not be asked for a further key: there is a candidate whose packet names its key, or that
    /// was opened. For a packet that names no key, this tells whether a key opened it, so it must decide about
    /// questions only.
    pub fn is_settled(&self) -> bool {
        let is_settled = |silent: &Silent| silent.is_named || !silent.is_substitute;
        self.is_proven() || !self.guesses.is_empty() || self.silent.as_ref().is_some_and(is_settled)
    }

    /// Whether all candidates came from passphrases, without a check.
    pub fn are_guesses(&self) -> bool {
        self.proven.is_empty() && self.silent.is_none() && !self.guesses.is_empty()
    }

    /// Whether there are no candidates.
    pub fn is_empty(&self) -> bool {
        self.proven.is_empty() && self.silent.is_none() && self.guesses.is_empty()
    }

    /// The candidates in the order in which they are tried; a random session key comes last.
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
