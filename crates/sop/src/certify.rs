//! The subcommands `certify-userid` and `validate-userid`.

use crate::Tool;
use crate::failure::{of_private_key, told};
use crate::holders::{unlocked, variants};
use crate::keys::{now, of_generate};
use crate::objects::{Certs, Keys};
use openpgp::certificate::Certificate;
use openpgp::generate::certify_user_id;
use openpgp::private_key::PrivateCertificate;
use openpgp::{Passphrase, PrivateKey, Timestamp};
use sop::errors::Error;
use sop::ops;
use sop::{Password, Result};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The subcommand `certify-userid`.
pub struct Certify<'s> {
    tool: &'s Tool,
    user_ids: Vec<String>,
    passphrases: Vec<Passphrase>,
    keys: Vec<PrivateCertificate>,
    is_self_signature_needed: bool,
}

impl<'s> Certify<'s> {
    pub(crate) fn new(tool: &'s Tool) -> Self {
        Self {
            tool,
            user_ids: Vec::new(),
            passphrases: Vec::new(),
            keys: Vec::new(),
            is_self_signature_needed: true,
        }
    }

    fn signer(&self, holder: &PrivateCertificate) -> Result<Arc<dyn PrivateKey>> {
        let certificate = holder.certificate();
        certificate.check(now()).map_err(|error| told(error, Error::PrimaryKeyBad))?;
        unlocked(holder, &certificate.fingerprint(), &self.passphrases)
            .map_err(|error| of_private_key(&error))
    }
}

type CertifyStep<'s> = Box<dyn ops::CertifyUserID<'s, Tool, Certs<'s>, Keys<'s>> + 's>;

impl<'s> ops::CertifyUserID<'s, Tool, Certs<'s>, Keys<'s>> for Certify<'s> {
    fn userid(mut self: Box<Self>, userid: String) -> CertifyStep<'s> {
        self.user_ids.push(userid);
        self
    }

    fn with_key_password(mut self: Box<Self>, password: Password) -> Result<CertifyStep<'s>> {
        self.passphrases.extend(variants(&password));
        Ok(self)
    }

    fn no_require_self_sig(mut self: Box<Self>) -> CertifyStep<'s> {
        self.is_self_signature_needed = false;
        self
    }

    fn keys(mut self: Box<Self>, keys: &Keys<'s>) -> Result<CertifyStep<'s>> {
        self.keys.extend(keys.content.iter().cloned());
        Ok(self)
    }

    fn certify(self: Box<Self>, certs: &Certs<'s>) -> Result<Certs<'s>> {
        if self.user_ids.is_empty() || self.keys.is_empty() {
            return Err(told("name a user ID and a key", Error::MissingArg));
        }
        let signers = self.keys.iter().map(|holder| self.signer(holder)).collect::<Result<Vec<_>>>()?;
        let mut all = certs.content.clone();
        for certificate in &mut all {
            for user_id in &self.user_ids {
                if self.is_self_signature_needed {
                    let bound = certificate.check(now()).map(|valid| valid.user_ids()).unwrap_or_default();
                    if !bound.contains(user_id) {
                        return Err(no_match(certificate));
                    }
                }
                for signer in &signers {
                    *certificate =
                        certify_user_id(certificate, signer.as_ref(), user_id, now()).map_err(of_generate)?;
                }
            }
        }
        Ok(Certs::new(self.tool, all))
    }
}

/// The subcommand `validate-userid`.
pub struct Validate {
    authorities: Vec<Certificate>,
    targets: Vec<Certificate>,
    at: Timestamp,
}

impl Validate {
    pub(crate) fn new() -> Self {
        Self { authorities: Vec::new(), targets: Vec::new(), at: now() }
    }

    /// Checks that each target has a user id that `fits` accepts and that one of the authorities has certified.
    ///
    /// # Errors
    /// [`Error::MissingArg`] without an authority or a target; [`Error::CertUseridNoMatch`] for a target that is not
    /// valid or has no such user id.
    fn validate(&self, fits: impl Fn(&str) -> bool) -> Result<()> {
        if self.authorities.is_empty() || self.targets.is_empty() {
            return Err(told("name authorities, and certificates that are validated", Error::MissingArg));
        }
        let authorities: Vec<_> =
            self.authorities.iter().filter_map(|authority| authority.check(self.at).ok()).collect();
        for target in &self.targets {
            let valid = target.check(self.at).map_err(|error| told(error, Error::CertUseridNoMatch))?;
            let certified = authorities.iter().flat_map(|authority| valid.certified_by(authority, self.at));
            if !certified.into_iter().any(|user_id| fits(&user_id)) {
                return Err(no_match(target));
            }
        }
        Ok(())
    }
}

type ValidateStep<'s> = Box<dyn ops::ValidateUserID<'s, Tool, Certs<'s>> + 's>;

impl<'s> ops::ValidateUserID<'s, Tool, Certs<'s>> for Validate {
    fn trust_roots(mut self: Box<Self>, certs: &Certs<'s>) -> Result<ValidateStep<'s>> {
        self.authorities.extend(certs.content.iter().cloned());
        Ok(self)
    }

    fn target_certs(mut self: Box<Self>, certs: &Certs<'s>) -> Result<ValidateStep<'s>> {
        self.targets.extend(certs.content.iter().cloned());
        Ok(self)
    }

    fn validate_at(mut self: Box<Self>, at: SystemTime) -> Result<ValidateStep<'s>> {
        let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.at = Timestamp::from_secs(u32::try_from(seconds).unwrap_or(u32::MAX));
        Ok(self)
    }

    fn userid(self: Box<Self>, userid: &str) -> Result<()> {
        self.validate(|user_id| user_id == userid)
    }

    fn email(self: Box<Self>, email: &str) -> Result<()> {
        self.validate(|user_id| address_of(user_id) == email)
    }
}

/// The e-mail address in a user id: the text within angle brackets at its end, or all of it without brackets.
fn address_of(user_id: &str) -> &str {
    let address = user_id.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    address.unwrap_or(user_id)
}

fn no_match(certificate: &Certificate) -> Error {
    let fingerprint = certificate.fingerprint();
    told(format!("{fingerprint:X}: that user ID is not bound to it"), Error::CertUseridNoMatch)
}
