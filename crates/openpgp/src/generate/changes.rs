//! Changes of a certificate by its owner: each is a further signature of the primary key.

use super::bind::{lifetime, over_key, over_subkey, over_user, user};
use super::{GenerateError, asked};
use crate::certificate::policy::critical_unknown;
use crate::certificate::{Certificate, Unusable};
use crate::key::Verifying;
use crate::signed::Subject;
use crate::{Fingerprint, PrivateKey, Timestamp};
use pgp::packet::{RevocationCode, Signature, SignatureType, SubpacketData, UserId};
use pgp::types::{KeyDetails, KeyVersion, PacketHeaderVersion, SignedUser};

/// Why something is revoked (RFC 9580, 5.2.3.31).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No reason is given: readers treat the key as compromised.
    None,
    /// Another key replaces this one; earlier signatures stay good.
    Superseded,
    /// Another person may have the private key: no signature of it counts any more, however old.
    Compromised,
    /// The key is no longer used; earlier signatures stay good.
    Retired,
    /// The user id is no longer valid.
    UserId,
}

impl Reason {
    fn code(self) -> RevocationCode {
        match self {
            Self::None => RevocationCode::NoReason,
            Self::Superseded => RevocationCode::KeySuperseded,
            Self::Compromised => RevocationCode::KeyCompromised,
            Self::Retired => RevocationCode::KeyRetired,
            Self::UserId => RevocationCode::CertUserIdInvalid,
        }
    }

    fn subpacket(self, text: &str) -> Vec<SubpacketData> {
        vec![SubpacketData::RevocationReason(self.code(), text.as_bytes().to_vec().into())]
    }
}

/// Changes the expiration of the primary key, and of every subkey that has one of its own and is not revoked; `None`
/// for no expiration.
///
/// # Errors
/// [`GenerateError::Asked`] if nothing binds the certificate, or if the time is before the creation of its keys;
/// [`GenerateError::Key`] if the key fails to sign.
pub fn expire(
    certificate: &Certificate,
    signer: &dyn PrivateKey,
    expires: Option<Timestamp>,
    now: Timestamp,
) -> Result<Certificate, GenerateError> {
    let mut changed = owned(certificate, signer)?;
    let primary = changed.inner().primary_key.clone();
    let inner = changed.inner_mut();
    let mut is_bound = false;
    let owner = Verifying::new(&primary);
    let holds = |it: &Signature, over: &Subject| critical_unknown(it).is_none() && owner.holds(it, over);
    let direct = last(&inner.details.direct_signatures, |typ| typ == SignatureType::Key);
    if let Some(old) = direct.filter(|old| holds(old, &Subject::key(&primary))) {
        let subpackets = renewed(old, primary.created_at(), expires)?;
        let new = over_key(&primary, SignatureType::Key, subpackets, now, signer)?;
        inner.details.direct_signatures.push(new);
        is_bound = true;
    }
    for user in &mut inner.details.users {
        let over = Subject::user(&primary, user.id.id());
        let newest = newest_of(&user.signatures, |it| holds(it, &over), |_| true);
        let Some(old) = newest.filter(|old| old.typ() != Some(SignatureType::CertRevocation)) else {
            continue;
        };
        // In version 6, key properties in a user id's signature do not count (RFC 9580, 5.2.3.10).
        if primary.version() == KeyVersion::V6 {
            continue;
        }
        let subpackets = renewed(old, primary.created_at(), expires)?;
        let new = over_user(&primary, user.id.id(), SignatureType::CertPositive, subpackets, now, signer)?;
        user.signatures.push(new);
        is_bound = true;
    }
    if !is_bound {
        return Err(asked(Unusable::Unbound { fingerprint: primary.fingerprint() }));
    }
    for subkey in &mut inner.public_subkeys {
        let over = Subject::subkey(&primary, &subkey.key);
        let newest = newest_of(&subkey.signatures, |it| holds(it, &over), |_| true);
        let Some(old) = newest.filter(|old| old.typ() == Some(SignatureType::SubkeyBinding)) else {
            continue;
        };
        if old.key_expiration_time().is_none_or(|lifetime| lifetime.as_secs() == 0) {
            continue;
        }
        let subpackets = renewed(old, subkey.key.created_at(), expires)?;
        let new = over_subkey(&primary, &subkey.key, SignatureType::SubkeyBinding, subpackets, now, signer)?;
        subkey.signatures.push(new);
    }
    Ok(changed)
}

/// Revokes the whole certificate.
///
/// # Errors
/// [`GenerateError::Asked`] if `signer` is not the primary key; [`GenerateError::Key`] if it fails to sign.
pub fn revoke(
    certificate: &Certificate,
    signer: &dyn PrivateKey,
    reason: Reason,
    text: &str,
    now: Timestamp,
) -> Result<Certificate, GenerateError> {
    let mut changed = owned(certificate, signer)?;
    let primary = &changed.inner().primary_key;
    let new = over_key(primary, SignatureType::KeyRevocation, reason.subpacket(text), now, signer)?;
    changed.inner_mut().details.revocation_signatures.push(new);
    Ok(changed)
}

/// Revokes a subkey.
///
/// # Errors
/// As [`revoke`]; [`GenerateError::Asked`] also if there is no such subkey.
pub fn revoke_subkey(
    certificate: &Certificate,
    signer: &dyn PrivateKey,
    fingerprint: &Fingerprint,
    reason: Reason,
    text: &str,
    now: Timestamp,
) -> Result<Certificate, GenerateError> {
    let mut changed = owned(certificate, signer)?;
    let primary = changed.inner().primary_key.clone();
    let mut subkeys = changed.inner_mut().public_subkeys.iter_mut();
    let subkey = subkeys
        .find(|subkey| subkey.key.fingerprint() == *fingerprint)
        .ok_or_else(|| asked(format!("there is no subkey {fingerprint:X} in it")))?;
    let typ = SignatureType::SubkeyRevocation;
    let new = over_subkey(&primary, &subkey.key, typ, reason.subpacket(text), now, signer)?;
    subkey.signatures.push(new);
    Ok(changed)
}

/// Revokes a user id.
///
/// # Errors
/// As [`revoke`]; [`GenerateError::Asked`] also if there is no such user id.
pub fn revoke_user_id(
    certificate: &Certificate,
    signer: &dyn PrivateKey,
    id: &str,
    text: &str,
    now: Timestamp,
) -> Result<Certificate, GenerateError> {
    let mut changed = owned(certificate, signer)?;
    let primary = changed.inner().primary_key.clone();
    let mut users = changed.inner_mut().details.users.iter_mut();
    let user = users
        .find(|user| user.id.id() == id.as_bytes())
        .ok_or_else(|| asked(format!("there is no user id {id:?} in it")))?;
    let subpackets = Reason::UserId.subpacket(text);
    let typ = SignatureType::CertRevocation;
    let new = over_user(&primary, id.as_bytes(), typ, subpackets, now, signer)?;
    user.signatures.push(new);
    Ok(changed)
}

/// Adds a user id, with the properties that the primary user id's signature states.
///
/// # Errors
/// As [`revoke`]; [`GenerateError::Asked`] also if nothing binds the certificate, or it has that user id already.
pub fn add_user_id(
    certificate: &Certificate,
    signer: &dyn PrivateKey,
    id: &str,
    now: Timestamp,
) -> Result<Certificate, GenerateError> {
    let mut changed = owned(certificate, signer)?;
    if changed.user_ids().iter().any(|known| known == id) {
        return Err(asked(format!("the user id {id:?} is in it already")));
    }
    let primary = changed.inner().primary_key.clone();
    let subpackets = match primary.version() {
        KeyVersion::V6 => Vec::new(),
        _ => {
            let valid = changed.check(now).map_err(asked)?;
            let old = *valid.bindings().first().ok_or_else(|| asked("nothing binds it"))?;
            let mut subpackets = kept(old);
            subpackets.retain(|data| !matches!(data, SubpacketData::IsPrimary(_)));
            subpackets
        }
    };
    let user = user(&primary, id, subpackets, now, signer)?;
    changed.inner_mut().details.users.push(user);
    Ok(changed)
}

/// Certifies a user id of another person's certificate (5.2.1.4): the signer, a primary key, states that the user id
/// belongs to the certificate. A user id that the certificate does not have is added.
///
/// # Errors
/// [`GenerateError::Key`] if the signer fails to sign; [`GenerateError::Asked`] for a user id that cannot be written.
pub fn certify_user_id(
    certificate: &Certificate,
    signer: &dyn PrivateKey,
    id: &str,
    now: Timestamp,
) -> Result<Certificate, GenerateError> {
    let mut changed = certificate.clone();
    let primary = changed.inner().primary_key.clone();
    let new = over_user(&primary, id.as_bytes(), SignatureType::CertGeneric, Vec::new(), now, signer)?;
    let users = &mut changed.inner_mut().details.users;
    match users.iter_mut().find(|user| user.id.id() == id.as_bytes()) {
        Some(user) => user.signatures.push(new),
        None => {
            let id = UserId::from_str(PacketHeaderVersion::New, id).map_err(asked)?;
            users.push(SignedUser { id, signatures: vec![new] });
        }
    }
    Ok(changed)
}

/// A copy of the certificate to change.
///
/// # Errors
/// [`GenerateError::Asked`] if the signer is not its primary key.
fn owned(certificate: &Certificate, signer: &dyn PrivateKey) -> Result<Certificate, GenerateError> {
    if signer.public().fingerprint() != certificate.fingerprint() {
        return Err(asked(format!(
            "the key {:X} is not the primary key of the certificate {:X}",
            signer.public().fingerprint(),
            certificate.fingerprint()
        )));
    }
    Ok(certificate.clone())
}

fn last(signatures: &[Signature], wanted: impl Fn(SignatureType) -> bool) -> Option<&Signature> {
    newest_of(signatures, |_| true, wanted)
}

fn newest_of(
    signatures: &[Signature],
    holds: impl Fn(&Signature) -> bool,
    wanted: impl Fn(SignatureType) -> bool,
) -> Option<&Signature> {
    signatures
        .iter()
        .filter(|signature| signature.typ().is_some_and(&wanted) && holds(signature))
        .max_by_key(|signature| signature.created())
}

/// The subpackets of a signature, with another expiration of the key.
fn renewed(
    old: &Signature,
    created: Timestamp,
    expires: Option<Timestamp>,
) -> Result<Vec<SubpacketData>, GenerateError> {
    let mut subpackets = kept(old);
    subpackets.retain(|data| !matches!(data, SubpacketData::KeyExpirationTime(_)));
    if let Some(expires) = expires {
        subpackets.push(SubpacketData::KeyExpirationTime(lifetime(created, expires)?));
    }
    Ok(subpackets)
}

/// The subpackets of a signature, without those about the signature itself.
fn kept(old: &Signature) -> Vec<SubpacketData> {
    let own = |data: &SubpacketData| {
        matches!(
            data,
            SubpacketData::SignatureCreationTime(_)
                | SubpacketData::SignatureExpirationTime(_)
                | SubpacketData::IssuerKeyId(_)
                | SubpacketData::IssuerFingerprint(_)
        )
    };
    let Some(config) = old.config() else { return Vec::new() };
    let hashed = config.hashed_subpackets().map(|subpacket| subpacket.data.clone());
    let is_embedded = |data: &SubpacketData| matches!(data, SubpacketData::EmbeddedSignature(_));
    // A subkey's own signature over the primary key is still valid, even from the unhashed part.
    let embedded = config.unhashed_subpackets().map(|subpacket| subpacket.data.clone()).filter(is_embedded);
    hashed.filter(|data| !own(data)).chain(embedded).collect()
}
