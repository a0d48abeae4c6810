//! What a certificate allows at a time: self-signatures, revocations, expirations (RFC 9580, 5.2.3 and 10.1).
//!
//! The rules, where the standards leave a choice:
//! - Of several self-signatures over one component, the newest one counts that was made by then and has not expired.
//!   Among those made in the same second, the last one in the order of the certificate counts, since changes are added
//!   at the end.
//! - Properties of the certificate are looked for in the signature over the primary user id first, then in the direct
//!   key signature. In certificates of version 6 the order is reversed.
//! - A revocation counts for all time if the key was compromised, or if the reason is missing or unknown here. If the
//!   key was superseded or retired, its revocation counts from the time when it was made. No later signature takes a
//!   key's revocation back.
//! - Keys without key flags, as before 2005, have all uses of their algorithm.
//! - A subkey signs only if it has itself signed that it belongs to the primary key. That signature is judged at the
//!   same time as the one that contains it. A subkey without key flags does not sign if a direct key signature has
//!   flags without signing.
//! - A signature with unknown critical content does not count: see [`policy`].
//! - Revocations by others (designated revokers) are not looked for.

mod certified;
#[cfg(test)]
mod tests;

use super::policy::{self, Policy};
use super::{Announced, Certificate, EncryptionKey, KeyPacket, Unusable};
use crate::key::{Verifying, unserved_curve};
use crate::signed::Subject;
use crate::{Fingerprint, Timestamp};
use pgp::composed::SignedPublicSubKey;
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::packet::{KeyFlags, PublicKey, RevocationCode, Signature, SignatureType, SubpacketData};
use pgp::types::{KeyDetails, KeyVersion, SignedUser};
use std::cmp::Reverse;

/// A certificate that is valid at a time, and its permitted uses at that time.
#[derive(Clone, Debug)]
pub struct Valid<'a> {
    certificate: &'a Certificate,
    policy: Policy,
    /// Signatures in which properties are looked for, in this order.
    bindings: Vec<&'a Signature>,
    users: Vec<&'a SignedUser>,
    keys: Vec<Judged<'a>>,
}

/// A key of the certificate, with the verdict on it.
#[derive(Clone, Debug)]
struct Judged<'a> {
    key: KeyPacket,
    /// The key's uses, and the signature that binds a subkey; or why the key is unusable.
    result: Result<(Uses, Option<&'a Signature>), Unusable>,
}

/// At most this many signatures by a subkey are looked at in one binding.
const BACK_SIGNATURES_MAX: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    sign: bool,
    encrypt: bool,
}

impl Certificate {
    /// Checks the certificate at this time.
    ///
    /// # Errors
    /// [`Unusable`] if the primary key is expired, revoked, unbound or not yet valid, or has a weakness.
    pub fn check(&self, at: Timestamp) -> Result<Valid<'_>, Unusable> {
        self.check_with(at, Policy::default())
    }

    /// As [`Certificate::check`], with a policy that may allow more.
    ///
    /// # Errors
    /// As [`Certificate::check`].
    pub fn check_with(&self, at: Timestamp, policy: Policy) -> Result<Valid<'_>, Unusable> {
        let primary = &self.inner().primary_key;
        let fingerprint = || primary.fingerprint();
        if primary.created_at() > at {
            return Err(Unusable::NotYetValid { fingerprint: fingerprint(), created: primary.created_at() });
        }
        policy::key_for_bindings(primary.public_params())
            .map_err(|why| Unusable::Weak { fingerprint: fingerprint(), why })?;
        let details = &self.inner().details;
        let signer = Verifying::new(primary);
        let subject = Subject::key(primary);
        let over_key = |signature: &Signature| signer.holds(signature, &subject);
        if let Some(revocation) = revocation(&details.revocation_signatures, at, over_key) {
            return Err(revoked(fingerprint(), revocation));
        }
        let (bindings, users) = self.self_signatures(&signer, over_key, at)?;
        if let Some(expired) = expiration(primary, &bindings).filter(|expired| *expired <= at) {
            return Err(Unusable::Expired { fingerprint: fingerprint(), expired });
        }
        let own_flags = flags(&bindings);
        let uses = uses(primary.algorithm(), own_flags.as_ref());
        // A subkey without flags may sign if the direct key signature allows it.
        let whole: Vec<_> =
            bindings.iter().copied().filter(|it| it.typ() == Some(SignatureType::Key)).collect();
        let may_sign = flags(&whole).is_none_or(|flags| flags.sign());
        let judged = Judged { key: KeyPacket::Primary(primary.clone()), result: Ok((uses, None)) };
        let subkeys = self.inner().public_subkeys.iter().map(|subkey| Judged {
            key: KeyPacket::Sub(subkey.key.clone()),
            result: check_subkey(primary, &signer, subkey, may_sign, at)
                .map(|(uses, binding)| (uses, Some(binding))),
        });
        let keys = std::iter::once(judged).chain(subkeys).collect();
        Ok(Valid { certificate: self, policy, bindings, users, keys })
    }

    /// The signatures that bind the primary key, in the order in which properties are looked for; and the valid users,
    /// the primary one first.
    #[allow(clippy::type_complexity)]
    fn self_signatures(
        &self,
        signer: &Verifying<'_, PublicKey>,
        over_key: impl Fn(&Signature) -> bool,
        at: Timestamp,
    ) -> Result<(Vec<&Signature>, Vec<&SignedUser>), Unusable> {
        let primary = &self.inner().primary_key;
        let details = &self.inner().details;
        let mut weak = None;
        let direct = newest(
            details.direct_signatures.iter().filter(|signature| signature.typ() == Some(SignatureType::Key)),
            at,
            over_key,
            &mut weak,
        );
        let mut users: Vec<(&SignedUser, &Signature)> = details
            .users
            .iter()
            .filter_map(|user| Some((user, user_binding(primary, signer, user, at, &mut weak)?)))
            .collect();
        users.sort_by_key(|(_, binding)| Reverse((binding.is_primary(), binding.created())));
        let over_user = users.first().map(|(_, binding)| *binding);
        let bindings: Vec<&Signature> = if primary.version() == KeyVersion::V6 {
            direct.into_iter().chain(over_user).collect()
        } else {
            over_user.into_iter().chain(direct).collect()
        };
        if bindings.is_empty() {
            let fingerprint = primary.fingerprint();
            return Err(match (weak, unserved_curve(primary)) {
                // Signatures on an unsupported curve cannot be checked, so whether they are valid is not known.
                (_, Some(algorithm)) => Unusable::Unsupported { fingerprint, algorithm },
                (Some(why), None) => Unusable::Weak { fingerprint, why },
                (None, None) => Unusable::Unbound { fingerprint },
            });
        }
        Ok((bindings, users.into_iter().map(|(user, _)| user).collect()))
    }
}

impl<'a> Valid<'a> {
    /// The certificate that was checked.
    pub fn certificate(&self) -> &'a Certificate {
        self.certificate
    }

    /// User ids that are bound and not revoked, the primary one first; characters that are not UTF-8 are replaced.
    pub fn user_ids(&self) -> Vec<String> {
        self.users.iter().map(|user| String::from_utf8_lossy(user.id.id()).into_owned()).collect()
    }

    /// Signatures that hold the certificate's properties, in the order in which they are looked for.
    pub(crate) fn bindings(&self) -> &[&'a Signature] {
        &self.bindings
    }

    /// When the certificate expires; `None` if it does not.
    pub fn expiration(&self) -> Option<Timestamp> {
        expiration(&self.certificate.inner().primary_key, &self.bindings)
    }

    /// All valid keys that messages may be encrypted to.
    ///
    /// # Errors
    /// Why none of the certificate's encryption keys can be used; [`Unusable::NoEncryptionKey`] if it has none.
    pub fn encryption_keys(&self) -> Result<Vec<EncryptionKey>, Unusable> {
        let keys = self.keys_for(
            |uses| uses.encrypt,
            can_encrypt,
            |fingerprint| Unusable::NoEncryptionKey { fingerprint },
        )?;
        let certificate = self.certificate.fingerprint();
        Ok(keys
            .into_iter()
            .map(|key| EncryptionKey { certificate: certificate.clone(), key, is_hidden: false })
            .collect())
    }

    /// All valid keys that may sign new messages.
    ///
    /// # Errors
    /// Why none of the certificate's signing keys can be used; [`Unusable::NoSigningKey`] if it has none.
    pub fn signing_keys(&self) -> Result<Vec<KeyPacket>, Unusable> {
        self.keys_for(|uses| uses.sign, can_sign, |fingerprint| Unusable::NoSigningKey { fingerprint })
    }

    /// The certificate's key with this fingerprint, if it was allowed to sign messages.
    ///
    /// # Errors
    /// [`Unusable`]: why the key was not allowed to sign messages.
    pub fn signed_with(&self, fingerprint: &Fingerprint) -> Result<&KeyPacket, Unusable> {
        let none = || Unusable::NoSigningKey { fingerprint: fingerprint.clone() };
        let judged =
            self.keys.iter().find(|judged| judged.key.fingerprint() == *fingerprint).ok_or_else(none)?;
        let (uses, _) = judged.result.as_ref().map_err(Clone::clone)?;
        for key in [&self.keys[0].key, &judged.key] {
            policy::key_for_old(key.public_params())
                .map_err(|why| Unusable::Weak { fingerprint: key.fingerprint(), why })?;
        }
        if uses.sign { Ok(&judged.key) } else { Err(none()) }
    }

    /// The features that the certificate announces.
    pub fn announces(&self) -> Announced {
        Announced::of(&self.bindings)
    }

    fn keys_for(
        &self,
        wanted: impl Fn(&Uses) -> bool,
        served: impl Fn(&PublicKeyAlgorithm) -> bool,
        none: impl Fn(Fingerprint) -> Unusable,
    ) -> Result<Vec<KeyPacket>, Unusable> {
        let mut keys = Vec::new();
        let mut why = None;
        // The newest subkey's reason is reported, since older subkeys expired long ago.
        for Judged { key, result } in &self.keys {
            match result {
                Ok((uses, _)) if wanted(uses) => match self.for_new(key, &served) {
                    Ok(()) => keys.push(key.clone()),
                    Err(unusable) => why = Some(unusable),
                },
                Ok(_) => {}
                Err(unusable) if served(&key.algorithm()) => why = Some(unusable.clone()),
                Err(_) => {}
            }
        }
        if keys.is_empty() {
            return Err(why.unwrap_or_else(|| none(self.certificate.fingerprint())));
        }
        Ok(keys)
    }

    fn for_new(&self, key: &KeyPacket, served: impl Fn(&PublicKeyAlgorithm) -> bool) -> Result<(), Unusable> {
        let fingerprint = key.fingerprint();
        if !served(&key.algorithm()) {
            return Err(Unusable::Unsupported { fingerprint, algorithm: format!("{:?}", key.algorithm()) });
        }
        if let Some(algorithm) = unserved_curve(key) {
            return Err(Unusable::Unsupported { fingerprint, algorithm });
        }
        let primary = &self.keys[0].key;
        policy::key_for_new(primary.public_params(), self.policy)
            .map_err(|why| Unusable::Weak { fingerprint: primary.fingerprint(), why })?;
        policy::key_for_new(key.public_params(), self.policy)
            .map_err(|why| Unusable::Weak { fingerprint, why })
    }
}

fn check_subkey<'a>(
    primary: &PublicKey,
    signer: &Verifying<'_, PublicKey>,
    subkey: &'a SignedPublicSubKey,
    may_sign: bool,
    at: Timestamp,
) -> Result<(Uses, &'a Signature), Unusable> {
    let key = &subkey.key;
    let fingerprint = || key.fingerprint();
    if key.created_at() > at {
        return Err(Unusable::NotYetValid { fingerprint: fingerprint(), created: key.created_at() });
    }
    let subject = Subject::subkey(primary, key);
    let holds = |signature: &Signature| signer.holds(signature, &subject);
    let of_type = |typ| subkey.signatures.iter().filter(move |signature| signature.typ() == Some(typ));
    let mut weak = None;
    let binding = newest(of_type(SignatureType::SubkeyBinding), at, holds, &mut weak);
    if let Some(revocation) = revocation(of_type(SignatureType::SubkeyRevocation), at, holds) {
        return Err(revoked(fingerprint(), revocation));
    }
    let binding = binding.ok_or_else(|| match weak {
        Some(why) => Unusable::Weak { fingerprint: fingerprint(), why },
        None => Unusable::Unbound { fingerprint: fingerprint() },
    })?;
    if let Some(expired) = expiration(key, &[binding]).filter(|expired| *expired <= at) {
        return Err(Unusable::Expired { fingerprint: fingerprint(), expired });
    }
    let own_flags = flags(&[binding]);
    let mut uses = uses(key.algorithm(), own_flags.as_ref());
    uses.sign &= own_flags.is_some() || may_sign;
    uses.sign = uses.sign && back_signatures(binding).any(|back| binds_back(back, primary, subkey, at));
    Ok((uses, binding))
}

/// The signatures by the subkey within a binding signature, at most [`BACK_SIGNATURES_MAX`]. They may be in its
/// unhashed part too, since they are verified by themselves.
fn back_signatures(binding: &Signature) -> impl Iterator<Item = &Signature> {
    let subpackets = binding
        .config()
        .into_iter()
        .flat_map(|config| config.hashed_subpackets().chain(config.unhashed_subpackets()));
    let embedded = subpackets.filter_map(|subpacket| match &subpacket.data {
        SubpacketData::EmbeddedSignature(signature) => Some(&**signature),
        _ => None,
    });
    embedded.take(BACK_SIGNATURES_MAX)
}

/// Whether this signature, in force at that time, is the subkey's valid statement that it belongs to the primary key.
fn binds_back(back: &Signature, primary: &PublicKey, subkey: &SignedPublicSubKey, at: Timestamp) -> bool {
    let is_in_force = back.created().is_some_and(|made| made <= at && !is_expired(back, made, at));
    is_in_force
        && policy::counts(back).is_ok()
        && Verifying::new(&subkey.key).holds(back, &Subject::primary_of(primary, &subkey.key))
}

fn user_binding<'a>(
    primary: &PublicKey,
    signer: &Verifying<'_, PublicKey>,
    user: &'a SignedUser,
    at: Timestamp,
    weak: &mut Option<String>,
) -> Option<&'a Signature> {
    let subject = Subject::user(primary, user.id.id());
    let holds = |signature: &Signature| signer.holds(signature, &subject);
    let is_revocation = |signature: &&Signature| signature.typ() == Some(SignatureType::CertRevocation);
    let binding = newest(
        user.signatures.iter().filter(|signature| signature.is_certification() && !is_revocation(signature)),
        at,
        holds,
        weak,
    )?;
    // A user id may be used again: a binding that is newer than the revocation outdoes it.
    let revoked = user.signatures.iter().filter(is_revocation).any(|signature| {
        signature.created() >= binding.created()
            && signature.created() <= Some(at)
            && policy::critical_unknown(signature).is_none()
            && holds(signature)
    });
    (!revoked).then_some(binding)
}

/// The newest signature that was made by the time `at`, has not expired, is acceptable, and is valid. `weak` gets the
/// reason if a valid signature is not acceptable.
fn newest<'a>(
    signatures: impl Iterator<Item = &'a Signature>,
    at: Timestamp,
    holds: impl Fn(&Signature) -> bool,
    weak: &mut Option<String>,
) -> Option<&'a Signature> {
    let mut made: Vec<(Timestamp, &Signature)> = signatures
        .filter_map(|signature| Some((signature.created()?, signature)))
        .filter(|(created, signature)| *created <= at && !is_expired(signature, *created, at))
        .collect();
    // The stable sort keeps the order of signatures made in the same second.
    made.sort_by_key(|(created, _)| *created);
    for (_, signature) in made.into_iter().rev() {
        let counts = policy::counts(signature);
        // An unacceptable signature is worth a report only if it is valid.
        if counts.is_ok() || weak.is_none() {
            if !holds(signature) {
                continue;
            }
            match counts {
                Ok(()) => return Some(signature),
                Err(why) => *weak = Some(why),
            }
        }
    }
    None
}

fn is_expired(signature: &Signature, created: Timestamp, at: Timestamp) -> bool {
    signature
        .signature_expiration_time()
        .is_some_and(|lifetime| lifetime.as_secs() != 0 && after(created, lifetime.as_secs()) <= at)
}

/// The first revocation that counts at a time; `None` if there is none.
fn revocation<'a>(
    signatures: impl IntoIterator<Item = &'a Signature>,
    at: Timestamp,
    holds: impl Fn(&Signature) -> bool,
) -> Option<&'a Signature> {
    signatures.into_iter().find(|signature| {
        let is_soft = matches!(
            signature.revocation_reason_code(),
            Some(RevocationCode::KeySuperseded | RevocationCode::KeyRetired)
        );
        let is_in_force = !is_soft || signature.created().is_some_and(|created| created <= at);
        is_in_force && policy::counts(signature).is_ok() && holds(signature)
    })
}

fn revoked(fingerprint: Fingerprint, revocation: &Signature) -> Unusable {
    let code = match revocation.revocation_reason_code() {
        None | Some(RevocationCode::NoReason) => "no reason given",
        Some(RevocationCode::KeySuperseded) => "superseded by another key",
        Some(RevocationCode::KeyCompromised) => "compromised",
        Some(RevocationCode::KeyRetired) => "retired",
        Some(RevocationCode::CertUserIdInvalid) => "user id no longer valid",
        Some(_) => "for a reason unknown here",
    };
    let text = revocation.revocation_reason_string().map(|text| String::from_utf8_lossy(text).into_owned());
    let reason = match text.filter(|text| !text.is_empty()) {
        Some(text) => format!("{code} ({})", printable(&text)),
        None => code.to_owned(),
    };
    Unusable::Revoked { fingerprint, revoked: revocation.created(), reason }
}

/// A text of unknown origin, made fit for a terminal: without control characters, and at most 200 characters long.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(200).collect()
}

/// When a key expires, by the first of these signatures that has an expiration; `None` for never.
fn expiration(key: &impl KeyDetails, bindings: &[&Signature]) -> Option<Timestamp> {
    if let Some(days) = key.legacy_v3_expiration_days().filter(|days| *days != 0) {
        return Some(after(key.created_at(), u32::from(days) * 86_400));
    }
    let lifetime = bindings.iter().find_map(|signature| signature.key_expiration_time())?;
    (lifetime.as_secs() != 0).then(|| after(key.created_at(), lifetime.as_secs()))
}

fn after(start: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_secs(start.as_secs().saturating_add(seconds))
}

/// The key flags in the first of these signatures that has some.
fn flags(bindings: &[&Signature]) -> Option<KeyFlags> {
    bindings.iter().find_map(|signature| {
        signature.config()?.hashed_subpackets().find_map(|subpacket| match &subpacket.data {
            SubpacketData::KeyFlags(flags) => Some(flags.clone()),
            _ => None,
        })
    })
}

fn uses(algorithm: PublicKeyAlgorithm, flags: Option<&KeyFlags>) -> Uses {
    match flags {
        Some(flags) => Uses { sign: flags.sign(), encrypt: flags.encrypt_comms() || flags.encrypt_storage() },
        None => Uses { sign: can_sign(&algorithm), encrypt: can_encrypt(&algorithm) },
    }
}

/// ElGamal signatures are obsolete (RFC 9580, 9.1).
fn can_sign(algorithm: &PublicKeyAlgorithm) -> bool {
    algorithm.can_sign() && *algorithm != PublicKeyAlgorithm::Elgamal
}

fn can_encrypt(algorithm: &PublicKeyAlgorithm) -> bool {
    algorithm.can_encrypt()
}
