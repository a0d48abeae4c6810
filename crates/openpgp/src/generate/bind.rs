//! Makes the signatures that bind keys and user ids to a certificate.

use super::{GenerateError, NewKey, asked};
use crate::certificate::{Certificate, KeyPacket};
use crate::signature::over_keys::{config, sign};
use crate::signed::{key_part, user_part};
use crate::{
    AeadAlgorithm, CompressionAlgorithm, HashAlgorithm, PrivateKey, SymmetricKeyAlgorithm, Timestamp,
};
use pgp::composed::{SignedKeyDetails, SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{
    Features, KeyFlags, PublicKey, PublicSubkey, Signature, SignatureType, Subpacket, SubpacketData, UserId,
};
use pgp::types::{Duration, KeyDetails, KeyVersion, PacketHeaderVersion, SignedUser};

/// Private keys of a certificate that is to be made, wherever they are.
#[derive(Clone, Copy)]
pub struct KeysOf<'a> {
    /// The key that certifies and signs; it also decrypts session keys if there is no other key for that.
    pub primary: &'a dyn PrivateKey,
    /// The subkey that opens session keys.
    pub encryption: Option<&'a dyn PrivateKey>,
}

/// A certificate for keys that are elsewhere: `primary` and `encryption` are the public halves of primary key and
/// subkey, and `keys` signs for them.
///
/// # Errors
/// [`GenerateError::Asked`] if `primary` is not a primary key, or the expiration is before the creation;
/// [`GenerateError::Key`] if a key fails to sign.
pub fn certify(
    what: &NewKey,
    primary: &KeyPacket,
    encryption: Option<&KeyPacket>,
    keys: &KeysOf<'_>,
) -> Result<Certificate, GenerateError> {
    bind(what, primary, encryption, keys)
}

pub(super) fn bind(
    what: &NewKey,
    primary: &KeyPacket,
    encryption: Option<&KeyPacket>,
    keys: &KeysOf<'_>,
) -> Result<Certificate, GenerateError> {
    let KeyPacket::Primary(primary) = primary else {
        return Err(asked("the first key is not a primary key"));
    };
    let properties = properties(what, encryption.is_none() && !what.is_signing_only)?;
    let signer = keys.primary;
    let mut details = SignedKeyDetails {
        revocation_signatures: Vec::new(),
        direct_signatures: Vec::new(),
        users: Vec::new(),
        user_attributes: Vec::new(),
    };
    let is_v6 = primary.version() == KeyVersion::V6;
    if is_v6 || what.user_ids.is_empty() {
        let direct = over_key(primary, SignatureType::Key, properties.clone(), what.created, signer)?;
        details.direct_signatures.push(direct);
    }
    for (index, id) in what.user_ids.iter().enumerate() {
        let mut subpackets = if is_v6 { Vec::new() } else { properties.clone() };
        if index == 0 {
            subpackets.push(SubpacketData::IsPrimary(true));
        }
        details.users.push(user(primary, id, subpackets, what.created, signer)?);
    }
    let mut inner = SignedPublicKey { primary_key: primary.clone(), details, public_subkeys: Vec::new() };
    if let Some(KeyPacket::Sub(subkey)) = encryption {
        let mut flags = KeyFlags::default();
        flags.set_encrypt_comms(true);
        flags.set_encrypt_storage(true);
        let flags = vec![SubpacketData::KeyFlags(flags)];
        let binding =
            over_subkey(primary, subkey, SignatureType::SubkeyBinding, flags, what.created, signer)?;
        inner.public_subkeys.push(SignedPublicSubKey { key: subkey.clone(), signatures: vec![binding] });
    }
    Ok(Certificate::new(inner))
}

/// The subpackets that state the certificate's properties.
fn properties(what: &NewKey, encrypts: bool) -> Result<Vec<SubpacketData>, GenerateError> {
    use SymmetricKeyAlgorithm::{AES128, AES192, AES256};
    let mut flags = KeyFlags::default();
    flags.set_certify(true);
    flags.set_sign(true);
    flags.set_encrypt_comms(encrypts);
    flags.set_encrypt_storage(encrypts);
    let mut features = Features::new();
    features.set_seipd_v1(true);
    features.set_seipd_v2(what.announces_seipd_v2);
    let mut properties = vec![
        SubpacketData::KeyFlags(flags),
        SubpacketData::PreferredSymmetricAlgorithms([AES256, AES192, AES128][..].into()),
        SubpacketData::PreferredHashAlgorithms(
            [HashAlgorithm::Sha512, HashAlgorithm::Sha384, HashAlgorithm::Sha256][..].into(),
        ),
        SubpacketData::PreferredCompressionAlgorithms(
            [CompressionAlgorithm::ZIP, CompressionAlgorithm::ZLIB, CompressionAlgorithm::BZip2][..].into(),
        ),
        SubpacketData::Features(features),
    ];
    if what.announces_seipd_v2 {
        let modes = [AeadAlgorithm::Gcm, AeadAlgorithm::Ocb, AeadAlgorithm::Eax];
        let pairs: Vec<_> =
            [AES256, AES128].iter().flat_map(|cipher| modes.map(|mode| (*cipher, mode))).collect();
        properties.push(SubpacketData::PreferredAeadAlgorithms(pairs.into()));
    }
    if let Some(expires) = what.expires {
        properties.push(SubpacketData::KeyExpirationTime(lifetime(what.created, expires)?));
    }
    Ok(properties)
}

/// A key's lifetime, from its creation to its expiration.
pub(super) fn lifetime(created: Timestamp, expires: Timestamp) -> Result<Duration, GenerateError> {
    let seconds = expires.as_secs().checked_sub(created.as_secs()).filter(|seconds| *seconds != 0);
    seconds.map(Duration::from_secs).ok_or_else(|| asked("a key cannot expire before it was made"))
}

/// A user id with its binding signature.
pub(super) fn user(
    primary: &PublicKey,
    id: &str,
    subpackets: Vec<SubpacketData>,
    now: Timestamp,
    signer: &dyn PrivateKey,
) -> Result<SignedUser, GenerateError> {
    let binding = over_user(primary, id.as_bytes(), SignatureType::CertPositive, subpackets, now, signer)?;
    let id = UserId::from_str(PacketHeaderVersion::New, id).map_err(asked)?;
    Ok(SignedUser { id, signatures: vec![binding] })
}

/// A signature over the primary key alone.
pub(super) fn over_key(
    primary: &PublicKey,
    typ: SignatureType,
    subpackets: Vec<SubpacketData>,
    now: Timestamp,
    signer: &dyn PrivateKey,
) -> Result<Signature, GenerateError> {
    made(typ, subpackets, now, signer, &[key_part(primary)])
}

/// A signature over the primary key and a user id.
pub(super) fn over_user(
    primary: &PublicKey,
    id: &[u8],
    typ: SignatureType,
    subpackets: Vec<SubpacketData>,
    now: Timestamp,
    signer: &dyn PrivateKey,
) -> Result<Signature, GenerateError> {
    made(typ, subpackets, now, signer, &[key_part(primary), user_part(id)])
}

/// A signature over the primary key and a subkey.
pub(super) fn over_subkey(
    primary: &PublicKey,
    subkey: &PublicSubkey,
    typ: SignatureType,
    subpackets: Vec<SubpacketData>,
    now: Timestamp,
    signer: &dyn PrivateKey,
) -> Result<Signature, GenerateError> {
    made(typ, subpackets, now, signer, &[key_part(primary), key_part(subkey)])
}

fn made(
    typ: SignatureType,
    subpackets: Vec<SubpacketData>,
    now: Timestamp,
    signer: &dyn PrivateKey,
    parts: &[Vec<u8>],
) -> Result<Signature, GenerateError> {
    let public = signer.public();
    let hash = crate::signature::hash_for(public, &[HashAlgorithm::Sha512]);
    let mut config = config(signer, typ, hash).ok_or_else(|| asked("its hash is not served"))?;
    let first =
        [SubpacketData::SignatureCreationTime(now), SubpacketData::IssuerFingerprint(public.fingerprint())];
    for data in first.into_iter().chain(subpackets) {
        config.hashed_subpackets.push(Subpacket::regular(data).map_err(asked)?);
    }
    if public.version() != KeyVersion::V6 {
        let id = SubpacketData::IssuerKeyId(public.legacy_key_id());
        config.unhashed_subpackets.push(Subpacket::regular(id).map_err(asked)?);
    }
    Ok(sign(config, parts, signer)?)
}
