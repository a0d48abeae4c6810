//! Which algorithms are acceptable in a certificate and its signatures.
//!
//! - MD5 and RIPEMD-160: never, except in revocations of user ids: to believe one too many does no harm.
//! - SHA-1: only in signatures of a key over itself that claim to be older than [`SHA1_END_SECONDS`], as in GnuPG. Keys
//!   of that age are still in use, and forging such a signature needs a second preimage. SHA-1 is never accepted in
//!   signatures over messages. Revocations with SHA-1 of any age are accepted: to believe one too many does no harm.
//! - Unknown critical content: never accepted, as the standard demands, in revocations too, since it is not understood
//!   what they say.
//! - Two creation times in one signature: never accepted, since readers differ in which of them counts.
//! - RSA below [`MODULUS_BITS_MIN`] bits: no signature over a message counts (RFC 9580, 12.4). For DSA the bound is
//!   [`MODULUS_BITS_READ_MIN`] bits, since many archived messages were signed with short DSA keys.
//! - RSA, DSA and ElGamal below [`MODULUS_BITS_MIN`] bits: nothing new is encrypted to such keys or signed with them
//!   unless asked.
//! - All of this holds for the primary key as well as for the subkey that is used. Whoever breaks the primary key can
//!   bind other subkeys. Below [`MODULUS_BITS_READ_MIN`] bits a primary key binds nothing at all.
//! - ECDH that derives keys with another hash than SHA-2 or another cipher than AES: messages are opened, but none is
//!   encrypted to it.

use crate::key::derivation;
use crate::{HashAlgorithm, SymmetricKeyAlgorithm};
use pgp::packet::{Signature, SignatureType, SubpacketData, SubpacketType};
use pgp::ser::Serialize;
use pgp::types::PublicParams;

/// SHA-1 counts in self-signatures made before 19 January 2019, here in seconds since 1970.
pub const SHA1_END_SECONDS: u32 = 1_547_856_000;
/// Shortest modulus of RSA, DSA and ElGamal for anything new, in bits.
pub const MODULUS_BITS_MIN: usize = 2048;
/// Shortest modulus that is accepted at all, in bits.
pub const MODULUS_BITS_READ_MIN: usize = 1024;

/// Exceptions from the ordinary rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether keys below [`MODULUS_BITS_MIN`] bits may be encrypted to and signed with.
    pub weak_keys: bool,
}

/// The critical content of a signature that is unknown here, for people. Every notation is unknown (RFC 9580, 5.2.3.7
/// and 5.2.3.24).
pub(crate) fn critical_unknown(signature: &Signature) -> Option<String> {
    let config = signature.config()?;
    let unknown = config.hashed_subpackets().find(|subpacket| {
        subpacket.is_critical
            && matches!(
                subpacket.typ(),
                SubpacketType::Other(_) | SubpacketType::Experimental(_) | SubpacketType::Notation
            )
    })?;
    Some(match &unknown.data {
        SubpacketData::Notation(notation) => {
            format!("notation {}", String::from_utf8_lossy(&notation.name).escape_debug())
        }
        _ => format!("subpacket {:?}", unknown.typ()),
    })
}

/// Whether a signature names two different creation times.
pub(crate) fn has_two_times(signature: &Signature) -> bool {
    let times = signature.config().into_iter().flat_map(|config| config.hashed_subpackets()).filter_map(
        |it| match it.data {
            SubpacketData::SignatureCreationTime(time) => Some(time),
            _ => None,
        },
    );
    let mut times = times.peekable();
    times.peek().copied().is_some_and(|first| times.any(|time| time != first))
}

/// Whether a self-signature is acceptable, by its hash, its creation time and its critical content.
///
/// # Errors
/// A text that says why it is not.
pub(crate) fn counts(signature: &Signature) -> Result<(), String> {
    if let Some(unknown) = critical_unknown(signature) {
        return Err(format!(
            "its owner's signature rests on something critical that is not known here: {unknown}"
        ));
    }
    if has_two_times(signature) {
        return Err("its owner's signature names two times at which it was made".to_owned());
    }
    let (Some(hash), Some(made)) = (signature.hash_alg(), signature.created()) else {
        return Err("a signature without hash or time".to_owned());
    };
    let is_revocation = matches!(
        signature.typ(),
        Some(SignatureType::KeyRevocation | SignatureType::SubkeyRevocation | SignatureType::CertRevocation)
    );
    match hash {
        HashAlgorithm::Md5 | HashAlgorithm::Ripemd160 => {
            Err(format!("its owner's signature uses {hash}"))
        }
        HashAlgorithm::Sha1 if !is_revocation && made.as_secs() >= SHA1_END_SECONDS => {
            Err("its owner's signature of 2019 or later uses SHA-1; he can renew it by changing the expiration time"
                .to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a hash is acceptable in a signature over a message.
///
/// # Errors
/// A text that says why it is not.
pub(crate) fn hash_for_messages(hash: HashAlgorithm) -> Result<(), String> {
    match hash {
        HashAlgorithm::Sha224
        | HashAlgorithm::Sha256
        | HashAlgorithm::Sha384
        | HashAlgorithm::Sha512
        | HashAlgorithm::Sha3_256
        | HashAlgorithm::Sha3_512 => Ok(()),
        HashAlgorithm::Md5 | HashAlgorithm::Sha1 | HashAlgorithm::Ripemd160 => {
            Err(format!("{hash} does not protect signatures any more"))
        }
        other => Err(format!("the hash {other:?} is not served")),
    }
}

/// Whether a key may be used for something new.
///
/// # Errors
/// A text that says why it may not.
pub(crate) fn key_for_new(params: &PublicParams, policy: Policy) -> Result<(), String> {
    let bits_min = if policy.weak_keys { MODULUS_BITS_READ_MIN } else { MODULUS_BITS_MIN };
    derives_well(params)?;
    key_of(params, bits_min)
}

/// Whether signatures of a key over messages can count.
///
/// # Errors
/// A text that says why they cannot.
pub(crate) fn key_for_old(params: &PublicParams) -> Result<(), String> {
    let bits_min =
        if matches!(params, PublicParams::RSA(_)) { MODULUS_BITS_MIN } else { MODULUS_BITS_READ_MIN };
    key_of(params, bits_min)
}

/// Whether signatures of a primary key can bind anything.
///
/// # Errors
/// A text that says why they cannot.
pub(crate) fn key_for_bindings(params: &PublicParams) -> Result<(), String> {
    key_of(params, MODULUS_BITS_READ_MIN)
}

/// Checks the hash, and the cipher of the key wrap, that ECDH derives its key with (RFC 9580, 11.5.1).
///
/// # Errors
/// A text that names an unacceptable hash or cipher.
fn derives_well(params: &PublicParams) -> Result<(), String> {
    let PublicParams::ECDH(params) = params else { return Ok(()) };
    let Some((hash, alg_sym)) = derivation(params) else { return Ok(()) };
    let is_aes = matches!(
        alg_sym,
        SymmetricKeyAlgorithm::AES128 | SymmetricKeyAlgorithm::AES192 | SymmetricKeyAlgorithm::AES256
    );
    let is_sha2 = matches!(hash, HashAlgorithm::Sha256 | HashAlgorithm::Sha384 | HashAlgorithm::Sha512);
    if is_aes && is_sha2 { Ok(()) } else { Err(format!("it derives keys with {hash} and {alg_sym:?}")) }
}

fn key_of(params: &PublicParams, bits_min: usize) -> Result<(), String> {
    match modulus_bits(params) {
        Some(bits) if bits < bits_min => Err(format!("its modulus has {bits} bits, fewer than {bits_min}")),
        _ => Ok(()),
    }
}

/// Length of the modulus in bits, which is the first field of RSA, DSA and ElGamal keys; `None` for other algorithms.
pub(crate) fn modulus_bits(params: &PublicParams) -> Option<usize> {
    let has_modulus =
        matches!(params, PublicParams::RSA(_) | PublicParams::DSA(_) | PublicParams::Elgamal(_));
    let fields = has_modulus.then(|| params.to_bytes().ok())??;
    let bits = fields.first_chunk::<2>()?;
    Some(usize::from(u16::from_be_bytes(*bits)))
}

#[cfg(test)]
mod tests {
    use crate::certificate::{Certificate, Unusable};
    use crate::generate::{NewKey, generate};
    use crate::signature::over_keys::{config, sign};
    use crate::signed::{key_part, user_part};
    use crate::{HashAlgorithm, PrivateKey, Timestamp};
    use pgp::packet::{Notation, Signature, SignatureType, Subpacket, SubpacketData};
    use std::sync::Arc;

    fn made() -> Timestamp {
        Timestamp::from_secs(1_700_000_000)
    }
    fn later() -> Timestamp {
        Timestamp::from_secs(1_700_000_100)
    }

    fn signed(
        key: &dyn PrivateKey,
        typ: SignatureType,
        parts: &[Vec<u8>],
        more: Option<Subpacket>,
    ) -> Signature {
        let mut config = config(key, typ, HashAlgorithm::Sha512).unwrap();
        let made = SubpacketData::SignatureCreationTime(later());
        let issuer = SubpacketData::IssuerFingerprint(key.public().fingerprint());
        let usual = [made, issuer].map(|data| Subpacket::regular(data).unwrap());
        config.hashed_subpackets.extend(usual.into_iter().chain(more));
        sign(config, parts, key).unwrap()
    }

    /// Unusual content of a signature, and whether the signature is acceptable with it.
    fn subpackets() -> Vec<(Option<Subpacket>, bool)> {
        let other = || SubpacketData::Other(99, vec![1, 2].into());
        let experimental = || SubpacketData::Experimental(105, vec![3].into());
        let notation = || {
            SubpacketData::Notation(Notation {
                readable: true,
                name: "rule@example.org".into(),
                value: "strict".into(),
            })
        };
        let mut all = vec![(None, true)];
        for data in [other, experimental] {
            all.push((Some(Subpacket::regular(data()).unwrap()), true));
            all.push((Some(Subpacket::critical(data()).unwrap()), false));
        }
        all.push((Some(Subpacket::regular(notation()).unwrap()), true));
        all.push((Some(Subpacket::critical(notation()).unwrap()), false));
        let policy = SubpacketData::PolicyURI("https://example.org".to_owned());
        all.push((Some(Subpacket::critical(policy).unwrap()), true));
        all
    }

    fn new(is_v6: bool) -> (Certificate, Arc<dyn PrivateKey>) {
        let what = NewKey { is_v6, ..NewKey::new("A <a@example.org>", made()) };
        let private = generate(&what, None).unwrap();
        (private.certificate().clone(), private.unlock(None).unwrap().remove(0))
    }

    #[test]
    fn bindings_with_something_critical_and_unknown_do_not_count() {
        for is_v6 in [false, true] {
            let (certificate, key) = new(is_v6);
            for (more, counts) in subpackets() {
                let mut changed = certificate.clone();
                let inner = changed.inner_mut();
                let primary = key_part(&inner.primary_key);
                let subkey = &mut inner.public_subkeys[0];
                let parts = [primary.clone(), key_part(&subkey.key)];
                subkey.signatures =
                    vec![signed(key.as_ref(), SignatureType::SubkeyBinding, &parts, more.clone())];
                let is_encrypted_to = changed.check(later()).unwrap().encryption_keys();
                assert_eq!(is_encrypted_to.is_ok(), counts, "{more:?}");

                let inner = changed.inner_mut();
                inner.details.direct_signatures.clear();
                let user = &mut inner.details.users[0];
                let parts = [primary, user_part(user.id.id())];
                user.signatures =
                    vec![signed(key.as_ref(), SignatureType::CertPositive, &parts, more.clone())];
                match changed.check(later()) {
                    Ok(_) => assert!(counts, "{more:?}"),
                    Err(Unusable::Weak { why, .. }) => {
                        assert!(!counts && why.contains("critical"), "{more:?}: {why}");
                    }
                    // Unknown subpackets make the signature itself invalid.
                    Err(Unusable::Unbound { .. }) => assert!(!counts, "{more:?}"),
                    Err(other) => panic!("{more:?}: {other}"),
                }
            }
        }
    }

    #[test]
    fn signatures_that_name_two_times_do_not_count() {
        let (certificate, key) = new(false);
        let parts = |certificate: &Certificate| {
            [key_part(&certificate.inner().primary_key), key_part(&certificate.inner().public_subkeys[0].key)]
        };
        // The creation time that the signature names anyway, and other times.
        for (time, counts) in [(later(), true), (made(), false), (Timestamp::from_secs(u32::MAX), false)] {
            let more = Subpacket::regular(SubpacketData::SignatureCreationTime(time)).unwrap();
            let mut changed = certificate.clone();
            let parts = parts(&changed);
            let binding = signed(key.as_ref(), SignatureType::SubkeyBinding, &parts, Some(more));
            changed.inner_mut().public_subkeys[0].signatures = vec![binding];
            assert_eq!(changed.check(later()).unwrap().encryption_keys().is_ok(), counts, "{time:?}");
        }
    }

    #[test]
    fn revocations_with_something_critical_and_unknown_do_not_count() {
        let (certificate, key) = new(false);
        for (more, counts) in subpackets() {
            let primary = key_part(&certificate.inner().primary_key);
            let mut changed = certificate.clone();
            let revocation = signed(
                key.as_ref(),
                SignatureType::KeyRevocation,
                std::slice::from_ref(&primary),
                more.clone(),
            );
            changed.inner_mut().details.revocation_signatures.push(revocation);
            let outcome = changed.check(later());
            assert_eq!(matches!(outcome, Err(Unusable::Revoked { .. })), counts, "{more:?}");

            let mut changed = certificate.clone();
            let subkey = &mut changed.inner_mut().public_subkeys[0];
            let parts = [primary.clone(), key_part(&subkey.key)];
            let revocation = signed(key.as_ref(), SignatureType::SubkeyRevocation, &parts, more.clone());
            subkey.signatures.push(revocation);
            assert_eq!(changed.check(later()).unwrap().encryption_keys().is_err(), counts, "{more:?}");

            let mut changed = certificate.clone();
            let user = &mut changed.inner_mut().details.users[0];
            let parts = [primary, user_part(user.id.id())];
            let revocation = signed(key.as_ref(), SignatureType::CertRevocation, &parts, more.clone());
            user.signatures.push(revocation);
            assert_eq!(changed.check(later()).is_err(), counts, "{more:?}");
        }
    }
}
