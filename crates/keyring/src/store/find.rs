//! Finds the certificate that a name means.

use super::{Keyring, first_user_id, hexadecimal, read_certificate};
use crate::error::{FindError, KeyringError};
use crate::who::{self, Who};
use openpgp::Timestamp;
use openpgp::certificate::Certificate;
use pgp::types::KeyDetails;
use std::sync::Arc;

/// At most this many user IDs of one certificate are compared.
const USER_IDS_MAX: usize = 1000;

impl Keyring {
    /// Certificates that a name may mean, whether they may be used or not. The name of a file
    /// matches no certificate.
    ///
    /// # Errors
    /// As [`Keyring::certificates`].
    pub fn candidates(&self, who: &Who) -> Result<Vec<Arc<Certificate>>, KeyringError> {
        if let Who::Fingerprint(digits) = who {
            // The common case in scripts reads one file. A certificate in a file that is named
            // after another key is ignored.
            let found =
                read_certificate(&self.folder.join("certs").join(format!("{digits}.pgp"))).ok().flatten();
            if let Some(found) = found.filter(|found| hexadecimal(&found.fingerprint()) == *digits) {
                return Ok(vec![Arc::new(found)]);
            }
        }
        let fits = |certificate: &Certificate| match who {
            Who::File(_) | Who::ShortKeyId | Who::Vague => false,
            Who::Fingerprint(digits) => {
                certificate.keys().iter().any(|key| hexadecimal(&key.fingerprint()) == *digits)
            }
            Who::KeyId(digits) => certificate
                .keys()
                .iter()
                .any(|key| key.legacy_key_id().to_string().eq_ignore_ascii_case(digits)),
            Who::Address(_) | Who::Part(_) => names(who, &certificate.user_ids()),
        };
        Ok(self.certificates()?.iter().filter(|certificate| fits(certificate)).cloned().collect())
    }

    /// The certificate that a name means at a time. Of several matches, the only one that is valid
    /// then, and whose owner has signed the user id. A single match is returned whatever its state,
    /// for the caller to report it, unless it is valid but its owner has not signed the user id.
    ///
    /// # Errors
    /// [`FindError`] inside, if no certificate or more than one matches.
    pub fn find(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<Result<Arc<Certificate>, FindError>, KeyringError> {
        let who = Who::parse(text);
        let mut candidates = self.candidates(&who)?;
        let is_meant = |certificate: &Arc<Certificate>| match (certificate.check(now), &who) {
            (Ok(valid), Who::Address(_) | Who::Part(_)) => names(&who, &valid.user_ids()),
            (outcome, _) => outcome.is_ok(),
        };
        let is_one_valid_without_the_name = match candidates.as_slice() {
            [one] => one.check(now).is_ok() && !is_meant(one),
            _ => false,
        };
        if candidates.is_empty() || is_one_valid_without_the_name {
            return Ok(Err(FindError::nobody(text)));
        }
        if candidates.len() > 1 {
            let meant: Vec<_> =
                candidates.iter().filter(|certificate| is_meant(certificate)).cloned().collect();
            if meant.len() != 1 {
                let shown = if meant.is_empty() { &candidates } else { &meant };
                let candidates = shown.iter().map(describe).collect();
                return Ok(Err(FindError::Ambiguous { who: text.to_owned(), candidates }));
            }
            candidates = meant;
        }
        Ok(Ok(candidates.swap_remove(0)))
    }
}

fn describe(certificate: &Arc<Certificate>) -> (String, String) {
    (format!("{:X}", certificate.fingerprint()), first_user_id(certificate))
}

fn names(who: &Who, user_ids: &[String]) -> bool {
    user_ids.iter().take(USER_IDS_MAX).any(|user_id| match who {
        Who::Address(address) => who::address(user_id).as_ref() == Some(address),
        Who::Part(part) => user_id.to_lowercase().contains(part),
        _ => false,
    })
}
