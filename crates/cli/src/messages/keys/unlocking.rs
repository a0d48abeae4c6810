//! Unlocks private keys, each once per command: with passphrases given as options, typed before, or typed on demand.

use super::{ASKED_MAX, Holder, Keys};
use crate::failure::{Failure, PgpFailure};
use crate::messages::{agent_place, cards};
use agent::{Agent, AgentError};
use keyring::FindError;
use keyring::store::{first_user_id, hexadecimal};
use openpgp::private_key::{Locking, PrivateCertificate};
use openpgp::{Fingerprint, Passphrase, PrivateKey, PrivateKeyError};
use pgp::types::KeyDetails;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

/// What was unlocked, typed, and given up.
#[derive(Default)]
pub(super) struct Unlocked {
    pub(super) keys: HashMap<Fingerprint, Arc<dyn PrivateKey>>,
    /// Keys that nobody could unlock: nobody is asked again.
    given_up: Vec<Fingerprint>,
    typed_for_keys: Vec<Passphrase>,
    /// How many of the passphrases that are known do not unlock a key.
    refused: HashMap<Fingerprint, usize>,
    pub(super) typed_for_messages: Vec<Passphrase>,
    /// How often a message's passphrase was asked for.
    pub(super) asked_count: usize,
    /// Whether somebody answered.
    pub(super) was_typed: bool,
}

/// The agent that runs. Where it cannot be asked, a passphrase does: that is said, and fails nothing.
fn holder() -> Option<Holder> {
    let asked = || -> Result<Option<Holder>, AgentError> {
        let Some(place) = agent_place() else { return Ok(None) };
        let Some(agent) = Agent::connect(&place)? else { return Ok(None) };
        let fingerprints = agent.held()?.into_iter().map(|row| row.fingerprint).collect();
        Ok(Some(Holder { agent: Arc::new(agent), fingerprints }))
    };
    asked().unwrap_or_else(|error| {
        eprintln!("cryptand: warning: {error}");
        None
    })
}

/// What there is of a private key before anybody is asked.
pub(super) enum Had {
    /// The key.
    Key(Arc<dyn PrivateKey>),
    /// A passphrase is missing.
    Locked,
    /// It is not here.
    Nothing,
}

impl Keys<'_> {
    /// The private half of a key, primary or sub: from a card, or from a file, unlocked with what was given or is
    /// typed. None where it is neither here nor there.
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

    /// As [`Keys::private_key`], and asks nobody.
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

    /// By the user's agent, where it holds the key. Cards that compute with clear keys are not given those of the
    /// agent.
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

    /// With what was given, and what was typed before; none where nothing fits.
    fn unlock(
        &self,
        unlocked: &mut Unlocked,
        private: &PrivateCertificate,
        fingerprint: &Fingerprint,
    ) -> Result<Option<Arc<dyn PrivateKey>>, PrivateKeyError> {
        let Unlocked { refused, typed_for_keys, .. } = unlocked;
        let refused = refused.entry(fingerprint.clone()).or_default();
        // What is typed comes last, so that those which were tried stay in front.
        let known = self.key_passphrases.iter().chain(&self.message_passphrases).chain(typed_for_keys.iter());
        for passphrase in known.skip(*refused) {
            match self.unlock_key(private, fingerprint, Some(passphrase)) {
                Err(PrivateKeyError::Locked) => *refused += 1,
                outcome => return outcome.map(Some),
            }
        }
        Ok(None)
    }

    /// With what is typed now; none where nothing fits.
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

    /// One key, computed with by cards where that was asked for.
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

    /// The passphrase that opens all private keys of a certificate; none where none is needed.
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
