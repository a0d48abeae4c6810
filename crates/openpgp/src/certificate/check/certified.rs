//! Finds user ids that others have certified (RFC 9580, 5.2.1.4 to 5.2.1.7 and 5.2.1.13).

use super::{Valid, flags, newest};
use crate::certificate::policy;
use crate::key::Verifying;
use crate::signed::Subject;
use crate::{KeyId, Timestamp};
use pgp::packet::{PublicKey, Signature, SignatureType};
use pgp::types::{KeyDetails, SignedUser};

impl Valid<'_> {
    /// The certificate's user ids that an authority has certified and not revoked later; all of its valid user ids if
    /// it is the authority itself. `at` is the time at which both were checked.
    pub fn certified_by(&self, authority: &Valid<'_>, at: Timestamp) -> Vec<String> {
        let target = &self.certificate.inner().primary_key;
        let signer = &authority.certificate.inner().primary_key;
        if target.fingerprint() == signer.fingerprint() {
            return self.user_ids();
        }
        let may_certify = flags(&authority.bindings).is_none_or(|flags| flags.certify());
        if !may_certify || policy::key_for_old(signer.public_params()).is_err() {
            return Vec::new();
        }
        let certified = self.users.iter().filter(|user| is_certified(target, signer, user, at));
        certified.map(|user| String::from_utf8_lossy(user.id.id()).into_owned()).collect()
    }
}

fn is_certified(target: &PublicKey, signer: &PublicKey, user: &SignedUser, at: Timestamp) -> bool {
    let (fingerprint, id): (_, KeyId) = (signer.fingerprint(), signer.legacy_key_id());
    let own = user.signatures.iter().filter(|signature| {
        signature.issuer_fingerprint().contains(&&fingerprint) || signature.issuer_key_id().contains(&&id)
    });
    let (signer, subject) = (Verifying::new(signer), Subject::user(target, user.id.id()));
    let holds = |signature: &Signature| signer.holds(signature, &subject);
    let is_revocation = |signature: &Signature| signature.typ() == Some(SignatureType::CertRevocation);
    let certifies = |signature: &&Signature| signature.is_certification() && !is_revocation(signature);
    let Some(last) = newest(own.clone().filter(certifies), at, holds, &mut None) else { return false };
    !own.filter(|signature| is_revocation(signature)).any(|revocation| {
        revocation.created() >= last.created()
            && revocation.created() <= Some(at)
            && policy::counts(revocation).is_ok()
            && holds(revocation)
    })
}
