//! Bounds on the parts of a certificate that are kept: packets, and signatures by the owner and by others.
//!
//! Anybody can add signatures to anybody's certificate, and key servers once spread certificates with a hundred
//! thousand of them. Nothing here depends on third-party signatures, so those beyond a bound are dropped. GnuPG drops
//! them too if there are too many (`self-sigs-only`). Each signature that claims to be the owner's costs a
//! verification, so a certificate with more than a bounded number of them is refused.

use super::CertificateError;
use crate::{Fingerprint, KeyId};
use pgp::composed::SignedPublicKey;
use pgp::packet::{PublicKey, Signature};
use pgp::ser::Serialize;
use pgp::types::KeyDetails;
use std::collections::HashSet;

/// At most this many packets in one certificate, not counting dropped signatures by others.
pub const PACKETS_MAX: usize = 65_536;
/// At most this many signatures on a certificate that claim to be by its own primary key. A signature that names no
/// issuer is counted here.
pub const OWN_SIGNATURES_MAX: usize = 2048;
/// At most this many signatures by others are kept on a certificate: the first ones.
pub const OTHERS_SIGNATURES_MAX: usize = 1024;

/// Counts the packets and signatures of a certificate.
#[derive(Clone, Debug)]
pub(super) struct Count {
    id: KeyId,
    fingerprint: Fingerprint,
    packets: usize,
    own: usize,
    others: usize,
}

impl Count {
    /// The count for a certificate that has only its primary key yet.
    pub(super) fn new(primary: &PublicKey) -> Self {
        let (id, fingerprint) = (primary.legacy_key_id(), primary.fingerprint());
        Self { id, fingerprint, packets: 1, own: 0, others: 0 }
    }

    /// Counts a packet that is not a signature.
    ///
    /// # Errors
    /// [`CertificateError::TooManyPackets`].
    pub(super) fn packet(&mut self) -> Result<(), CertificateError> {
        self.packets += 1;
        if self.packets > PACKETS_MAX { Err(CertificateError::TooManyPackets) } else { Ok(()) }
    }

    /// Counts a signature; false if it is to be dropped.
    ///
    /// # Errors
    /// [`CertificateError::TooManySignatures`], [`CertificateError::TooManyPackets`].
    pub(super) fn signature(&mut self, signature: &Signature) -> Result<bool, CertificateError> {
        if self.is_own(signature) {
            self.own += 1;
            if self.own > OWN_SIGNATURES_MAX {
                return Err(CertificateError::TooManySignatures);
            }
        } else if self.others == OTHERS_SIGNATURES_MAX {
            return Ok(false);
        } else {
            self.others += 1;
        }
        self.packet().map(|()| true)
    }

    /// Whether a signature claims to be by the primary key, or names no issuer.
    fn is_own(&self, signature: &Signature) -> bool {
        let (ids, fingerprints) = (signature.issuer_key_id(), signature.issuer_fingerprint());
        ids.is_empty() && fingerprints.is_empty()
            || ids.iter().any(|id| **id == self.id)
            || fingerprints.iter().any(|fingerprint| **fingerprint == self.fingerprint)
    }
}

/// The part of a certificate that a signature belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SignedComponent {
    Revocation,
    Direct,
    User(usize),
    Attribute(usize),
    Subkey(usize),
}

/// Merges signatures into a certificate, each only once.
pub(super) struct Merging {
    count: Count,
    known: HashSet<(SignedComponent, Vec<u8>)>,
}

impl Merging {
    /// A merge into this certificate, whose own packets and signatures are counted first.
    pub(super) fn into(certificate: &SignedPublicKey) -> Result<Self, CertificateError> {
        let count = Count::new(&certificate.primary_key);
        let mut merging = Self { count, known: HashSet::new() };
        let details = &certificate.details;
        merging.all(SignedComponent::Revocation, &details.revocation_signatures)?;
        merging.all(SignedComponent::Direct, &details.direct_signatures)?;
        for (at, user) in details.users.iter().enumerate() {
            merging.packet()?;
            merging.all(SignedComponent::User(at), &user.signatures)?;
        }
        for (at, attribute) in details.user_attributes.iter().enumerate() {
            merging.packet()?;
            merging.all(SignedComponent::Attribute(at), &attribute.signatures)?;
        }
        for (at, subkey) in certificate.public_subkeys.iter().enumerate() {
            merging.packet()?;
            merging.all(SignedComponent::Subkey(at), &subkey.signatures)?;
        }
        Ok(merging)
    }

    fn all(&mut self, component: SignedComponent, signatures: &[Signature]) -> Result<(), CertificateError> {
        for signature in signatures {
            self.count.signature(signature)?;
            self.known.insert((component, signature.to_bytes().unwrap_or_default()));
        }
        Ok(())
    }

    /// Counts a packet that is not a signature.
    pub(super) fn packet(&mut self) -> Result<(), CertificateError> {
        self.count.packet()
    }

    /// Adds the signatures of `theirs` that this part of the certificate does not have yet to `mine`.
    pub(super) fn add(
        &mut self,
        component: SignedComponent,
        mine: &mut Vec<Signature>,
        theirs: &[Signature],
    ) -> Result<(), CertificateError> {
        for signature in theirs {
            let is_new = self.known.insert((component, signature.to_bytes().unwrap_or_default()));
            if is_new && self.count.signature(signature)? {
                mine.push(signature.clone());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Certificate;
    use crate::certificate::parse::next_packet;
    use crate::generate::{NewKey, generate};
    use crate::private_key::PrivateCertificate;
    use crate::signature::over_keys::{config, sign};
    use crate::signed::{key_part, user_part};
    use crate::{HashAlgorithm, Timestamp};
    use pgp::packet::{PacketTrait, SignatureType, Subpacket, SubpacketData};

    fn made() -> Timestamp {
        Timestamp::from_secs(1_700_000_000)
    }
    const FLOOD: usize = 100_000;

    fn key(name: &str) -> PrivateCertificate {
        generate(&NewKey::new(name, made()), None).unwrap()
    }

    /// A certification of the certificate's first user id by this key, as a packet.
    fn certification(by: &PrivateCertificate, over: &Certificate) -> Vec<u8> {
        let signer = by.unlock(None).unwrap().remove(0);
        let mut config = config(signer.as_ref(), SignatureType::CertGeneric, HashAlgorithm::Sha256).unwrap();
        for data in [
            SubpacketData::SignatureCreationTime(Timestamp::from_secs(made().as_secs() + 1)),
            SubpacketData::IssuerFingerprint(signer.public().fingerprint()),
        ] {
            config.hashed_subpackets.push(Subpacket::regular(data).unwrap());
        }
        let inner = over.inner();
        let parts = [key_part(&inner.primary_key), user_part(inner.details.users[0].id.id())];
        let signature = sign(config, &parts, signer.as_ref()).unwrap();
        let mut packet = Vec::new();
        signature.to_writer_with_header(&mut packet).unwrap();
        packet
    }

    /// The certificate with `count` copies of a packet after its first user id, each with other last octets.
    fn flooded(certificate: &Certificate, packet: &[u8], count: usize) -> Vec<u8> {
        let bytes = certificate.to_bytes();
        let mut rest = &bytes[..];
        for _ in 0..3 {
            next_packet(&mut rest).unwrap().unwrap();
        }
        let at = bytes.len() - rest.len();
        let mut flood = bytes[..at].to_vec();
        for number in 0..count {
            let end = packet.len() - 3;
            flood.extend_from_slice(&packet[..end]);
            flood.extend_from_slice(&u32::try_from(number).unwrap().to_be_bytes()[1..]);
        }
        flood.extend_from_slice(&bytes[at..]);
        flood
    }

    fn one(bytes: &[u8]) -> Result<Certificate, CertificateError> {
        Certificate::parse_all(bytes).map(|mut all| all.remove(0))
    }

    #[test]
    fn of_a_flood_by_others_the_first_are_kept() {
        let (own, other) = (key("A <a@example.org>"), key("B <b@example.org>"));
        let own = own.certificate();
        let packet = certification(&other, own);
        let read = one(&flooded(own, &packet, FLOOD)).unwrap();
        assert_eq!(read.to_bytes(), flooded(own, &packet, OTHERS_SIGNATURES_MAX));
        assert_eq!(read.check(made()).unwrap().user_ids(), ["A <a@example.org>"]);
        assert!(read.check(made()).unwrap().encryption_keys().is_ok());

        let mut merged = own.clone();
        merged.merge(&read).unwrap();
        assert_eq!(merged, read);
        // Signatures that are there stay. New ones find no room, except the owner's.
        let third = key("C <c@example.org>");
        let new = one(&flooded(own, &certification(&third, own), 10)).unwrap();
        merged.merge(&new).unwrap();
        assert_eq!(merged, read);
        let mut few = new.clone();
        few.merge(&read).unwrap();
        let signatures = &few.inner().details.users[0].signatures;
        assert_eq!(signatures.len(), 1 + OTHERS_SIGNATURES_MAX);
        assert_eq!(signatures[..11], new.inner().details.users[0].signatures[..]);
    }

    #[test]
    fn what_says_that_it_is_the_owners_is_refused_beyond_the_bound() {
        let private = key("A <a@example.org>");
        let own = private.certificate();
        let packet = certification(&private, own);
        // The bindings of the user id and of the subkey are there already.
        let most = OWN_SIGNATURES_MAX - 2;
        let full = one(&flooded(own, &packet, most)).unwrap();
        assert!(full.check(made()).is_ok());
        let failed = one(&flooded(own, &packet, most + 1));
        assert_eq!(failed, Err(CertificateError::TooManySignatures));
        let mut another = packet;
        let at = another.len() - 4;
        another[at] ^= 1;
        let another = one(&flooded(own, &another, 1)).unwrap();
        let mut merged = full.clone();
        assert_eq!(merged.merge(&another), Err(CertificateError::TooManySignatures));
        assert_eq!(merged, full);
    }

    #[test]
    fn what_is_merged_is_there_once() {
        let private = key("A <a@example.org>");
        let own = private.certificate();
        let packet = certification(&private, own);
        let (few, many) = (one(&flooded(own, &packet, 3)).unwrap(), one(&flooded(own, &packet, 5)).unwrap());
        for (mut one, other) in [(few.clone(), &many), (many.clone(), &few), (own.clone(), &many)] {
            for _ in 0..2 {
                one.merge(other).unwrap();
                assert_eq!(one, many);
            }
        }
    }

    #[test]
    fn packets_are_bounded_in_all() {
        let own = key("A <a@example.org>");
        let own = own.certificate();
        let id = [0xcd, 1, b'x'];
        let bytes = |count: usize| [own.to_bytes(), id.repeat(count)].concat();
        // The primary key, user id, subkey and two signatures are there already.
        assert_eq!(one(&bytes(PACKETS_MAX - 4)), Err(CertificateError::TooManyPackets));
        let full = one(&bytes(PACKETS_MAX - 5)).unwrap();
        let mut other = own.clone();
        other.merge(&full).unwrap();
        assert_eq!(other.user_ids(), ["A <a@example.org>", "x"]);
    }
}
