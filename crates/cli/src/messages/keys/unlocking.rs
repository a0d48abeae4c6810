//! Unlocks private keys, each once per command: with passphrases given as options, typed before, or typed on demand.

use super::{ASKED_MAX, Holder, Keys};
use crate::failure::{Failure, PgpFailure};
use crate::messages::{agent_socket, cards};
use agent::{Agent, AgentError};
use keyring::FindError;
use keyring::store::{first_user_id, hexadecimal};
use openpgp::private_key::{Locking, PrivateCertificate};
use openpgp::{Fingerprint, Passphrase, PrivateKey, PrivateKeyError};
use pgp::types::KeyDetails;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

/// State of unlocking: unlocked keys, typed passphrases, and keys that were given up.
#[derive(Default)]
pub(super) struct Unlocked {
    pub(super) keys: HashMap<Fingerprint, Arc<dyn PrivateKey>>,
    /// Keys that nobody could unlock: there is no further prompt for them.
    given_up: Vec<Fingerprint>,
    typed_for_keys: Vec<Passphrase>,
    /// For each key, how many of the known passphrases failed on it.
    refused: HashMap<Fingerprint, usize>,
    pub(super) typed_for_messages: Vec<Passphrase>,
    /// Number of prompts for a message's passphrase.
    pub(super) asked_count: usize,
    /// Whether a prompt was answered.
    pub(super) was_typed: bool,
}

/// The running agent; none if it cannot be asked. A failure is printed as a warning, since a passphrase does as well.
fn holder() -> Option<Holder> {
    let asked = || -> Result<Option<Holder>, AgentError> {
        let Some(socket) = agent_socket() else { return Ok(None) };
        let Some(agent) = Agent::connect(&socket)? else { return Ok(None) };
        let fingerprints = agent.held()?.into_iter().map(|row| row.fingerprint).collect();
        Ok(Some(Holder { agent: Arc::new(agent), fingerprints }))
    };
    asked().unwrap_or_else(|error| {
        eprintln!("cryptand: warning: {error}");
        None
    })
}

/// A private key's state before any prompt.
pub(super) enum Had {
    /// The usable private key.
    Key(Arc<dyn PrivateKey>),
    /// The private key is locked; a passphrase is missing.
    Locked,
    /// The private key is not here.
    Nothing,
}

impl Keys<'_> {
    /// The private half of a primary key or subkey: from a card, or from a file, unlocked with given or typed
    /// passphrases. None if there is no private half on a card or in a file.
    pub fn private_key(
        &self,
        who: &str,
        fingerprint: &Fingerprint,
    ) -> Result<Option<Arc<dyn PrivateKey>>, Failure> {
        // Held while a person types, so that nobody is asked twice at once.
        let mut unlocked = self.unlocked();
        match self.had(&mut unlocked, who, fingerprint)? {
            Had::Key(key) => return Ok(Some(key)),
            Had::Nothing => return Ok(None),
            Had::Locked => {}
        }
        let failed = |cause| PgpFailure::PrivateKey { who: who.to_owned(), cause };
        let locked = || failed(PrivateKeyError::Locked).into();
        if unlocked.given_up.contains(fingerprint) {
            return Err(locked());
        }
        let Some((private, _)) = self.private_of(fingerprint)? else { return Ok(None) };
        match self.ask_for(&mut unlocked, private, fingerprint)?.map_err(failed)? {
            Some(key) => {
                unlocked.keys.insert(fingerprint.clone(), Arc::clone(&key));
                Ok(Some(key))
            }
            None => {
                unlocked.given_up.push(fingerprint.clone());
                Err(locked())
            }
        }
    }

    /// The private key as [`Keys::private_key`] finds it, but without a prompt.
    pub(super) fn private_key_unasked(&self, who: &str, fingerprint: &Fingerprint) -> Result<Had, Failure> {
        self.had(&mut self.unlocked(), who, fingerprint)
    }

    fn had(&self, unlocked: &mut Unlocked, who: &str, fingerprint: &Fingerprint) -> Result<Had, Failure> {
        if let Some(key) = unlocked.keys.get(fingerprint) {
            return Ok(Had::Key(Arc::clone(key)));
        }
        let key = match self.cards.get(&hexadecimal(fingerprint)) {
            Some(place) => cards::open(who, place, self.public_key(fingerprint)?)?,
            None => {
                let Some((private, locking)) = self.private_of(fingerprint)? else { return Ok(Had::Nothing) };
                let opened = match locking {
                    Locking::Open => self.unlock_key(private, fingerprint, None).map(Some),
                    Locking::Passphrase => match self.held(private, fingerprint) {
                        Some(key) => Ok(Some(key)),
                        None => self.unlock(unlocked, private, fingerprint),
                    },
                    Locking::Elsewhere { .. } => return Ok(Had::Nothing),
                };
                let failed = |cause| PgpFailure::PrivateKey { who: who.to_owned(), cause };
                match opened.map_err(failed)? {
                    Some(key) => key,
                    None => return Ok(Had::Locked),
                }
            }
        };
        unlocked.keys.insert(fingerprint.clone(), Arc::clone(&key));
        Ok(Had::Key(key))
    }

    /// The key as the user's agent holds it; none if it does not. Cards that compute with clear keys do not get the
    /// agent's keys.
    fn held(&self, private: &PrivateCertificate, fingerprint: &Fingerprint) -> Option<Arc<dyn PrivateKey>> {
        if self.accelerators.is_some() {
            return None;
        }
        let holder = self.agent.get_or_init(holder).as_ref()?;
        if !holder.fingerprints.iter().any(|held| held == fingerprint.as_bytes()) {
            return None;
        }
        let public =
            private.certificate().keys().into_iter().find(|key| key.fingerprint() == *fingerprint)?;
        Some(Arc::new(holder.agent.key(public)))
    }

    /// Unlocks with the passphrases given or typed before; none if none fits.
    fn unlock(
        &self,
        unlocked: &mut Unlocked,
        private: &PrivateCertificate,
        fingerprint: &Fingerprint,
    ) -> Result<Option<Arc<dyn PrivateKey>>, PrivateKeyError> {
        let Unlocked { refused, typed_for_keys, .. } = unlocked;
        let refused = refused.entry(fingerprint.clone()).or_default();
        // Typed passphrases come last, so that those already tried stay in front.
        let known = self.key_passphrases.iter().chain(&self.message_passphrases).chain(typed_for_keys.iter());
        for passphrase in known.skip(*refused) {
            match self.unlock_key(private, fingerprint, Some(passphrase)) {
                Err(PrivateKeyError::Locked) => *refused += 1,
                outcome => return outcome.map(Some),
            }
        }
        Ok(None)
    }

    /// Unlocks with passphrases typed now; none if none fits.
    #[allow(clippy::type_complexity)] // two ways to fail: the terminal's, which ends the command, and the key's
    fn ask_for(
        &self,
        unlocked: &mut Unlocked,
        private: &PrivateCertificate,
        fingerprint: &Fingerprint,
    ) -> Result<Result<Option<Arc<dyn PrivateKey>>, PrivateKeyError>, Failure> {
        let name = first_user_id(private.certificate());
        let mut question = format!("Passphrase of the key {fingerprint:X}\n  {name}: ");
        for _ in 0..ASKED_MAX {
            let Some(passphrase) = self.asker.ask(&question)? else { return Ok(Ok(None)) };
            match self.unlock_key(private, fingerprint, Some(&passphrase)) {
                Err(PrivateKeyError::Locked) => question = "That is not it. Once more: ".to_owned(),
                outcome => {
                    unlocked.typed_for_keys.push(passphrase);
                    return Ok(outcome.map(Some));
                }
            }
        }
        Ok(Ok(None))
    }

    /// Unlocks one key; cards compute with it if that was asked for.
    fn unlock_key(
        &self,
        private: &PrivateCertificate,
        fingerprint: &Fingerprint,
        passphrase: Option<&Passphrase>,
    ) -> Result<Arc<dyn PrivateKey>, PrivateKeyError> {
        let key = private.unlock_key(fingerprint, passphrase)?;
        if self.accelerators.is_none() {
            return Ok(key);
        }
        let keys = private.unlock_on(passphrase, self.accelerators.as_ref().map(|provider| provider as _))?;
        Ok(keys.into_iter().find(|key| key.public().fingerprint() == *fingerprint).unwrap_or(key))
    }

    /// The passphrase that opens all private keys of a certificate; none if they are not locked.
    pub fn passphrase_of(
        &self,
        who: &str,
        private: &PrivateCertificate,
    ) -> Result<Option<Passphrase>, Failure> {
        if !private.is_locked() {
            return Ok(None);
        }
        let fits = |passphrase: &Passphrase| private.unlock(Some(passphrase)).is_ok();
        if let Some(passphrase) = self.key_passphrases.iter().find(|passphrase| fits(passphrase)) {
            return Ok(Some(passphrase.clone()));
        }
        let fingerprint = private.certificate().fingerprint();
        let name = first_user_id(private.certificate());
        let mut question = format!("Passphrase of the key {fingerprint:X}\n  {name}: ");
        for _ in 0..ASKED_MAX {
            let Some(passphrase) = self.asker.ask(&question)? else { break };
            if fits(&passphrase) {
                return Ok(Some(passphrase));
            }
            question = "That is not it. Once more: ".to_owned();
        }
        Err(PgpFailure::PrivateKey { who: who.to_owned(), cause: PrivateKeyError::Locked }.into())
    }

    fn private_of(
        &self,
        fingerprint: &Fingerprint,
    ) -> Result<Option<(&PrivateCertificate, Locking)>, Failure> {
        for private in self.store.privates()? {
            let locking = private.locking().into_iter().find(|(key, _)| key == fingerprint);
            match locking {
                None | Some((_, Locking::Elsewhere { .. })) => {}
                Some((_, locking)) => return Ok(Some((private, locking))),
            }
        }
        Ok(None)
    }

    fn public_key(&self, fingerprint: &Fingerprint) -> Result<openpgp::certificate::KeyPacket, Failure> {
        let keys = self.store.certificates()?.iter().flat_map(|certificate| certificate.keys());
        let key = keys.into_iter().find(|key| key.fingerprint() == *fingerprint);
        let who = format!("{fingerprint:X}");
        key.ok_or_else(|| PgpFailure::Find(FindError::Missing { who }).into())
    }

    pub(super) fn unlocked(&self) -> MutexGuard<'_, Unlocked> {
        self.unlocked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
