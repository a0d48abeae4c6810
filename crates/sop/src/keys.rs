//! The subcommands `generate-key`, `update-key`, `change-key-password`, `revoke-key`, `extract-cert` and `merge-certs`.

use crate::Tool;
use crate::failure::{of_certificate, of_private_key, told};
use crate::holders::{normalized, unlocked, variants};
use crate::objects::{Certs, Keys};
use openpgp::certificate::{Certificate, Unusable};
use openpgp::generate::{self, CertificateAlgorithms, GenerateError, NewKey, Reason};
use openpgp::private_key::PrivateCertificate;
use openpgp::{Passphrase, PrivateKeyError, Timestamp};
use sop::errors::Error;
use sop::ops;
use sop::{Password, Result};

/// The present time: new keys and signatures bear it, and old ones are judged at it.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The profiles of `generate-key`, the default one first.
const PROFILES: [(&str, &str, CertificateAlgorithms, bool); 5] = [
    (
        "rfc4880",
        "version 4, Ed25519 and X25519 in their legacy forms: read by every program",
        CertificateAlgorithms::Curve25519,
        false,
    ),
    (
        "rfc9580",
        "version 6, Ed25519 and X25519, announces SEIPD version 2",
        CertificateAlgorithms::Curve25519,
        true,
    ),
    (
        "rfc9980",
        "version 6, ML-DSA-65 with Ed25519 and ML-KEM-768 with X25519; experimental: not constant time",
        CertificateAlgorithms::MlDsa65MlKem768,
        true,
    ),
    ("rfc4880-rsa", "version 4, RSA-3072", CertificateAlgorithms::Rsa { bits: 3072 }, false),
    ("rfc9580-nistp", "version 6, P-256", CertificateAlgorithms::P256, true),
];

/// The draft's aliases for profiles, by purpose, and its word for the default profile.
const ALIASES: [(&str, &str); 4] = [
    ("default", "rfc4880"),
    ("compatibility", "rfc4880"),
    ("performance", "rfc9580"),
    ("security", "rfc9580"),
];

/// Name and description of a profile, as `list-profiles` shows them; the description ends with the profile's aliases.
pub(crate) fn described(name: &str, meaning: &str, aliases: &[(&str, &str)]) -> (String, String) {
    let own: Vec<_> = aliases.iter().filter(|(_, of)| *of == name).map(|(alias, _)| *alias).collect();
    let own = if own.is_empty() { String::new() } else { format!(" (aliases: {})", own.join(", ")) };
    (name.to_owned(), format!("{meaning}{own}"))
}

/// The error for an unknown profile; the message names the command that lists the profiles.
pub(crate) fn unsupported(subcommand: &str, profile: &str) -> Error {
    let list = format!("`cryptand-sop list-profiles {subcommand}` lists them");
    told(format!("{subcommand} has no profile {}; {list}", profile.escape_debug()), Error::UnsupportedProfile)
}

/// The subcommand `generate-key`.
pub struct Generate<'s> {
    tool: &'s Tool,
    what: NewKey,
    passphrase: Option<Passphrase>,
}

impl<'s> Generate<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        let (_, _, kind, is_v6) = PROFILES[0];
        let what = NewKey {
            kind,
            is_v6,
            user_ids: Vec::new(),
            created: now(),
            expires: None,
            announces_seipd_v2: is_v6,
            is_signing_only: false,
        };
        Self { tool, what, passphrase: None }
    }
}

impl<'s> ops::GenerateKey<'s, Tool, Keys<'s>> for Generate<'s> {
    fn list_profiles(&self) -> Vec<(String, String)> {
        PROFILES.map(|(name, meaning, ..)| described(name, meaning, &ALIASES)).to_vec()
    }

    fn profile(
        mut self: Box<Self>,
        profile: &str,
    ) -> Result<Box<dyn ops::GenerateKey<'s, Tool, Keys<'s>> + 's>> {
        let profile = ALIASES.iter().find(|(alias, _)| *alias == profile).map_or(profile, |(_, name)| name);
        let found = PROFILES.iter().find(|(name, ..)| *name == profile);
        let (_, _, kind, is_v6) = *found.ok_or_else(|| unsupported("generate-key", profile))?;
        self.what.kind = kind;
        self.what.is_v6 = is_v6;
        self.what.announces_seipd_v2 = is_v6;
        Ok(self)
    }

    fn signing_only(mut self: Box<Self>) -> Box<dyn ops::GenerateKey<'s, Tool, Keys<'s>> + 's> {
        self.what.is_signing_only = true;
        self
    }

    fn with_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::GenerateKey<'s, Tool, Keys<'s>> + 's>> {
        self.passphrase = Some(normalized(&password));
        Ok(self)
    }

    fn userid(mut self: Box<Self>, userid: &str) -> Box<dyn ops::GenerateKey<'s, Tool, Keys<'s>> + 's> {
        self.what.user_ids.push(userid.to_owned());
        self
    }

    fn generate(self: Box<Self>) -> Result<Keys<'s>> {
        let key = generate::generate(&self.what, self.passphrase.as_ref()).map_err(of_generate)?;
        Ok(Keys::new(self.tool, vec![key]))
    }
}

pub(crate) fn of_generate(error: GenerateError) -> Error {
    match error {
        GenerateError::Key(error) => of_private_key(&error),
        error => told(error, Error::BadData),
    }
}

/// The subcommand `revoke-key`.
pub struct Revoke<'s> {
    tool: &'s Tool,
    passphrases: Vec<Passphrase>,
}

impl<'s> Revoke<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, passphrases: Vec::new() }
    }

    fn revoke(&self, key: &PrivateCertificate) -> Result<Certificate> {
        let certificate = key.certificate();
        let primary = unlocked(key, &certificate.fingerprint(), &self.passphrases);
        let primary = primary.map_err(|error| of_private_key(&error))?;
        generate::revoke(certificate, &*primary, Reason::None, "", now()).map_err(of_generate)
    }
}

impl<'s> ops::RevokeKey<'s, Tool, Certs<'s>, Keys<'s>> for Revoke<'s> {
    fn with_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::RevokeKey<'s, Tool, Certs<'s>, Keys<'s>> + 's>> {
        self.passphrases.extend(variants(&password));
        Ok(self)
    }

    fn keys(self: Box<Self>, keys: &Keys<'s>) -> Result<Certs<'s>> {
        let all = keys.content.iter().map(|key| self.revoke(key)).collect::<Result<_>>()?;
        Ok(Certs::new(self.tool, all))
    }
}

/// The subcommand `change-key-password`.
pub struct ChangePassword<'s> {
    tool: &'s Tool,
    old: Vec<Passphrase>,
    new: Option<Passphrase>,
}

impl<'s> ChangePassword<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, old: Vec::new(), new: None }
    }

    fn change(&self, key: &PrivateCertificate) -> Result<PrivateCertificate> {
        let old = std::iter::once(None).chain(self.old.iter().map(Some));
        let mut error = PrivateKeyError::Locked;
        for passphrase in old {
            match key.with_passphrase(passphrase, self.new.as_ref()) {
                Ok(key) => return Ok(key),
                Err(found) => error = found,
            }
        }
        Err(of_private_key(&error))
    }
}

impl<'s> ops::ChangeKeyPassword<'s, Tool, Keys<'s>> for ChangePassword<'s> {
    fn new_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::ChangeKeyPassword<'s, Tool, Keys<'s>> + 's>> {
        self.new = Some(normalized(&password));
        Ok(self)
    }

    fn old_key_password(
        mut self: Box<Self>,
        password: Password,
    ) -> Result<Box<dyn ops::ChangeKeyPassword<'s, Tool, Keys<'s>> + 's>> {
        self.old.extend(variants(&password));
        Ok(self)
    }

    fn keys(self: Box<Self>, keys: &Keys<'s>) -> Result<Keys<'s>> {
        let all = keys.content.iter().map(|key| self.change(key)).collect::<Result<_>>()?;
        Ok(Keys::new(self.tool, all))
    }
}

/// The subcommand `extract-cert`.
pub struct Extract<'s> {
    tool: &'s Tool,
}

impl<'s> Extract<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool }
    }
}

impl<'s> ops::ExtractCert<'s, Tool, Certs<'s>, Keys<'s>> for Extract<'s> {
    fn keys(self: Box<Self>, keys: &Keys<'s>) -> Result<Certs<'s>> {
        let all = keys.content.iter().map(|key| key.certificate().clone()).collect();
        Ok(Certs::new(self.tool, all))
    }
}

/// The subcommand `update-key`: merges updates, and renews the self-signatures of the key. A key that expires within a
/// year is extended by its original validity. Whatever the options, it adds no subkey and announces no further feature.
pub struct Update<'s> {
    tool: &'s Tool,
    passphrases: Vec<Passphrase>,
    updates: Vec<Certificate>,
}

/// A key that expires within this time, in seconds, is extended: a year.
const UPDATED_SECONDS_MIN: u32 = 365 * 86_400;

impl<'s> Update<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, passphrases: Vec::new(), updates: Vec::new() }
    }

    fn update(&self, key: &PrivateCertificate) -> Result<PrivateCertificate> {
        let mut updated = key.clone();
        let fingerprint = key.certificate().fingerprint();
        for update in self.updates.iter().filter(|update| update.fingerprint() == fingerprint) {
            updated.update(update).map_err(|error| of_certificate(&error))?;
        }
        let certificate = updated.certificate();
        let (now, created) = (now(), certificate.created());
        let expires = match certificate.check(now) {
            Ok(valid) => valid.expiration(),
            Err(Unusable::Expired { expired, .. }) => Some(expired),
            Err(Unusable::Weak { .. }) => None,
            Err(unusable) => return Err(told(unusable, Error::PrimaryKeyBad)),
        };
        let lifetime = |expires: Timestamp| expires.as_secs().saturating_sub(created.as_secs());
        let expires = expires.map(|expires| {
            let is_soon = expires.as_secs() < now.as_secs().saturating_add(UPDATED_SECONDS_MIN);
            let again = now.as_secs().saturating_add(lifetime(expires));
            if is_soon { Timestamp::from_secs(again) } else { expires }
        });
        let primary =
            unlocked(key, &fingerprint, &self.passphrases).map_err(|error| of_private_key(&error))?;
        let renewed = generate::expire(certificate, &*primary, expires, now).map_err(of_generate)?;
        updated.update(&renewed).map_err(|error| of_certificate(&error))?;
        Ok(updated)
    }
}

type UpdateStep<'s> = Box<dyn ops::UpdateKey<'s, Tool, Certs<'s>, Keys<'s>> + 's>;

impl<'s> ops::UpdateKey<'s, Tool, Certs<'s>, Keys<'s>> for Update<'s> {
    fn signing_only(self: Box<Self>) -> UpdateStep<'s> {
        self
    }

    fn no_added_capabilities(self: Box<Self>) -> UpdateStep<'s> {
        self
    }

    fn with_key_password(mut self: Box<Self>, password: Password) -> Result<UpdateStep<'s>> {
        self.passphrases.extend(variants(&password));
        Ok(self)
    }

    fn merge_updates(mut self: Box<Self>, updates: &Certs<'s>) -> Result<UpdateStep<'s>> {
        self.updates.extend(updates.content.iter().cloned());
        Ok(self)
    }

    fn update(self: Box<Self>, keys: &Keys<'s>) -> Result<Keys<'s>> {
        let all = keys.content.iter().map(|key| Self::update(&self, key)).collect::<Result<_>>()?;
        Ok(Keys::new(self.tool, all))
    }
}

/// The subcommand `merge-certs`.
pub struct Merge<'s> {
    tool: &'s Tool,
    updates: Vec<Certificate>,
}

impl<'s> Merge<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self { tool, updates: Vec::new() }
    }
}

impl<'s> ops::MergeCerts<'s, Tool, Certs<'s>> for Merge<'s> {
    fn merge_updates(
        mut self: Box<Self>,
        updates: &Certs<'s>,
    ) -> Result<Box<dyn ops::MergeCerts<'s, Tool, Certs<'s>> + 's>> {
        self.updates.extend(updates.content.iter().cloned());
        Ok(self)
    }

    fn merge(self: Box<Self>, certs: &Certs<'s>) -> Result<Certs<'s>> {
        let mut all = certs.content.clone();
        for certificate in &mut all {
            // Updates for certificates that are not in the input are ignored (draft, merge-certs).
            let fingerprint = certificate.fingerprint();
            for update in self.updates.iter().filter(|update| update.fingerprint() == fingerprint) {
                certificate.merge(update).map_err(|error| of_certificate(&error))?;
            }
        }
        Ok(Certs::new(self.tool, all))
    }
}
