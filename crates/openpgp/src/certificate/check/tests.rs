//! Subkeys that sign: which signatures they must have made themselves, and when.

use crate::certificate::{Certificate, Unusable};
use crate::generate::{NewKey, generate};
use crate::signature::over_keys::{config, sign};
use crate::signed::key_part;
use crate::{HashAlgorithm, PrivateKey, Timestamp};
use pgp::composed::SignedPublicSubKey;
use pgp::packet::{KeyFlags, PacketHeader, PublicSubkey, Signature, SignatureType, Subpacket, SubpacketData};
use pgp::ser::Serialize;
use pgp::types::{Duration, KeyDetails, Tag};
use std::sync::Arc;

const MADE: u32 = 1_700_000_000;

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(MADE + seconds)
}

/// A certificate, and a key that is to become a subkey of it.
struct Pair {
    certificate: Certificate,
    primary: Arc<dyn PrivateKey>,
    subkey: PublicSubkey,
    own: Arc<dyn PrivateKey>,
}

impl Pair {
    fn new() -> Self {
        let what = NewKey { is_signing_only: true, ..NewKey::new("A <a@example.org>", at(0)) };
        let (private, other) = (generate(&what, None).unwrap(), generate(&what, None).unwrap());
        let body = other.certificate().inner().primary_key.to_bytes().unwrap();
        let header = PacketHeader::new_fixed(Tag::PublicSubkey, u32::try_from(body.len()).unwrap());
        Self {
            certificate: private.certificate().clone(),
            primary: private.unlock(None).unwrap().remove(0),
            subkey: PublicSubkey::try_from_reader(header, &body[..]).unwrap(),
            own: other.unlock(None).unwrap().remove(0),
        }
    }

    fn signed(&self, key: &dyn PrivateKey, typ: SignatureType, hashed: Vec<SubpacketData>) -> Signature {
        let mut config = config(key, typ, HashAlgorithm::Sha512).unwrap();
        for data in hashed {
            config.hashed_subpackets.push(Subpacket::regular(data).unwrap());
        }
        let primary = key_part(&self.certificate.inner().primary_key);
        let parts = match typ {
            SignatureType::Key => vec![primary],
            _ => vec![primary, key_part(&self.subkey)],
        };
        sign(config, &parts, key).unwrap()
    }

    /// The subkey's own signature, made `made` seconds after the keys, valid for `lifetime` seconds.
    fn back(&self, made: u32, lifetime: Option<u32>) -> Signature {
        let mut hashed = vec![SubpacketData::SignatureCreationTime(at(made))];
        let lifetime = lifetime.map(Duration::from_secs).map(SubpacketData::SignatureExpirationTime);
        hashed.extend(lifetime);
        self.signed(self.own.as_ref(), SignatureType::KeyBinding, hashed)
    }

    /// The certificate with the subkey, bound a second after the keys were made.
    fn with(&self, flags: Option<KeyFlags>, back: Vec<Signature>) -> Certificate {
        let mut hashed = vec![SubpacketData::SignatureCreationTime(at(1))];
        hashed.extend(flags.map(SubpacketData::KeyFlags));
        hashed.extend(back.into_iter().map(|back| SubpacketData::EmbeddedSignature(Box::new(back))));
        let binding = self.signed(self.primary.as_ref(), SignatureType::SubkeyBinding, hashed);
        let mut certificate = self.certificate.clone();
        let subkey = SignedPublicSubKey { key: self.subkey.clone(), signatures: vec![binding] };
        certificate.inner_mut().public_subkeys.push(subkey);
        certificate
    }

    fn may_sign(&self, certificate: &Certificate, seconds: u32) -> bool {
        let valid = certificate.check(at(seconds)).unwrap();
        match valid.signed_with(&self.subkey.fingerprint()) {
            Ok(_) => true,
            Err(Unusable::NoSigningKey { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    }
}

fn signs() -> KeyFlags {
    let mut flags = KeyFlags::default();
    flags.set_sign(true);
    flags
}

#[test]
fn a_subkey_signs_while_it_says_that_it_belongs_to_the_primary_key() {
    let pair = Pair::new();
    let certificate = |back| pair.with(Some(signs()), back);
    assert!(pair.may_sign(&certificate(vec![pair.back(1, None)]), 100));
    assert!(!pair.may_sign(&certificate(vec![]), 100));
    // A signature from the future does not count, nor one that has expired.
    let late = certificate(vec![pair.back(200, None)]);
    assert!(!pair.may_sign(&late, 100) && pair.may_sign(&late, 200));
    let short = certificate(vec![pair.back(1, Some(50))]);
    assert!(pair.may_sign(&short, 50) && !pair.may_sign(&short, 51));
}

#[test]
fn of_several_back_signatures_one_that_holds_is_enough() {
    let pair = Pair::new();
    let (right, other) = (pair.back(1, None), Pair::new().back(1, None));
    let expired = pair.back(1, Some(1));
    for back in [vec![other.clone(), right.clone()], vec![expired.clone(), other.clone(), right]] {
        assert!(pair.may_sign(&pair.with(Some(signs()), back), 100));
    }
    assert!(!pair.may_sign(&pair.with(Some(signs()), vec![other, expired]), 100));
}

#[test]
fn a_subkey_without_flags_signs_where_the_key_as_a_whole_does() {
    let pair = Pair::new();
    let certificate = pair.with(None, vec![pair.back(1, None)]);
    assert!(pair.may_sign(&certificate, 100), "nothing speaks against it");
    for (flag, may_sign) in [(true, true), (false, false)] {
        let mut flags = KeyFlags::default();
        flags.set_certify(true);
        flags.set_sign(flag);
        let hashed = vec![SubpacketData::SignatureCreationTime(at(1)), SubpacketData::KeyFlags(flags)];
        let direct = pair.signed(pair.primary.as_ref(), SignatureType::Key, hashed);
        let mut certificate = certificate.clone();
        certificate.inner_mut().details.direct_signatures.push(direct);
        assert_eq!(pair.may_sign(&certificate, 100), may_sign);
    }
}
