//! Decrypting session keys without revealing failures: implicit rejection.
//!
//! RSA and ElGamal carry a session key in a block of PKCS#1 v1.5. An attacker who learns for many modified packets
//! whether their blocks were well formed learns the content of another packet (RFC 9580, 13.5). So if such a packet
//! does not decrypt, or gives a key that does not fit the body, a random session key replaces it. TLS does the same
//! (RFC 5246, 7.4.7.1). Then the body does not authenticate, and that is the only error.
//!
//! The other algorithms do not need this. Key wrap and AEAD detect a modified packet before any of its content is used,
//! and passphrases have no padding. So these may fail with errors of their own.

use super::generate;
use crate::body::grammar::Protected;
use crate::{Form, PlainSessionKey, PrivateKey, PrivateKeyError, Protection, SymmetricKeyAlgorithm};
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::packet::PublicKeyEncryptedSessionKey;

/// The session key from a packet and a private key.
#[derive(Clone, Debug)]
pub struct Unsealed {
    /// The session key of the packet, or a random one in its place.
    pub session_key: PlainSessionKey,
    /// Whether the packet proved to be made for the key, by its key wrap or AEAD.
    pub is_proven: bool,
    /// Whether the session key is a random one. Use this for the order of tries, and for whether a person is asked for
    /// more keys. Never let it decide about an error, or about work that shows from outside.
    pub is_substitute: bool,
}

/// Whether packets of an algorithm must not reveal why they fail: RSA and ElGamal.
pub fn fails_silently(algorithm: PublicKeyAlgorithm) -> bool {
    matches!(
        algorithm,
        PublicKeyAlgorithm::RSA
            | PublicKeyAlgorithm::RSAEncrypt
            | PublicKeyAlgorithm::RSASign
            | PublicKeyAlgorithm::Elgamal
            | PublicKeyAlgorithm::ElgamalEncrypt
    )
}

/// Opens the session key of a body. With RSA and ElGamal, every packet gives a session key; see the module's text.
///
/// # Errors
/// [`PrivateKeyError::NotOpened`] with other algorithms; other errors if the key cannot be used at all.
pub fn open(
    key: &dyn PrivateKey,
    packet: &PublicKeyEncryptedSessionKey,
    body: &Protected,
) -> Result<Unsealed, PrivateKeyError> {
    let is_silent = fails_silently(key.public().algorithm());
    // Made whether it is needed or not, so that the work is the same.
    let substitute = is_silent.then(|| substitute(body));
    let fits = |session_key: &PlainSessionKey| body.takes(session_key) && body.key(session_key).is_ok();
    match (key.open(packet), substitute) {
        (Ok(session_key), None) => Ok(Unsealed { session_key, is_proven: true, is_substitute: false }),
        (Ok(session_key), Some(_)) if fits(&session_key) => {
            Ok(Unsealed { session_key, is_proven: false, is_substitute: false })
        }
        (Ok(_) | Err(PrivateKeyError::NotOpened), Some(session_key)) => {
            Ok(Unsealed { session_key, is_proven: false, is_substitute: true })
        }
        (Err(error), _) => Err(error),
    }
}

/// A random session key that fits a body. SEIPDv1 leaves the cipher open; for it the key is for AES-256.
fn substitute(body: &Protected) -> PlainSessionKey {
    let form = match body {
        Protected::SeipdV1 => Form { cipher: SymmetricKeyAlgorithm::AES256, protection: Protection::SeipdV1 },
        Protected::Chunked(header) => header.form(),
    };
    generate(form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HashAlgorithm;
    use crate::certificate::KeyPacket;
    use crate::generate::{CertificateAlgorithms, NewKey, generate as generate_key};
    use crate::session_key::bytes;
    use crate::{AeadAlgorithm, Timestamp};
    use pgp::types::{KeyDetails, PkeskBytes, SignatureBytes};
    use std::collections::HashSet;

    /// A private key that answers each packet with the test's result.
    struct Says(KeyPacket, Result<PlainSessionKey, PrivateKeyError>);

    impl PrivateKey for Says {
        fn public(&self) -> &dyn KeyDetails {
            &self.0
        }

        fn open(&self, _: &PublicKeyEncryptedSessionKey) -> Result<PlainSessionKey, PrivateKeyError> {
            self.1.clone()
        }

        fn sign(&self, _: HashAlgorithm, _: &[u8]) -> Result<SignatureBytes, PrivateKeyError> {
            unreachable!("it opens")
        }
    }

    fn key(kind: CertificateAlgorithms) -> KeyPacket {
        let what = NewKey { kind, ..NewKey::new("A", Timestamp::from_secs(1_700_000_000)) };
        generate_key(&what, None).unwrap().certificate().keys().remove(1)
    }

    fn packet() -> PublicKeyEncryptedSessionKey {
        let bytes = [3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1];
        let header = pgp::packet::PacketHeader::new_fixed(
            pgp::types::Tag::PublicKeyEncryptedSessionKey,
            u32::try_from(bytes.len()).unwrap(),
        );
        let packet = PublicKeyEncryptedSessionKey::try_from_reader(header, &bytes[..]).unwrap();
        assert!(matches!(packet.values(), Ok(PkeskBytes::Rsa { .. })));
        packet
    }

    fn seipd2() -> Protected {
        let octets = [&[2, 7, 3, 6][..], &[0; 32]].concat();
        let tag = pgp::types::Tag::SymEncryptedProtectedData;
        let (header, _) = crate::body::chunked::Header::parse(tag, &octets).unwrap().unwrap();
        let expected = Protection::SeipdV2 { aead: AeadAlgorithm::Gcm, chunk_bits: 6 };
        assert_eq!(header.form(), Form { cipher: SymmetricKeyAlgorithm::AES128, protection: expected });
        Protected::Chunked(header)
    }

    #[test]
    fn what_rsa_does_not_open_becomes_a_random_key_of_the_body() {
        let public = key(CertificateAlgorithms::Rsa { bits: 2048 });
        let v3 = |sym_alg, bytes: usize| PlainSessionKey::V3_4 { sym_alg, key: vec![1; bytes].into() };
        let v6 = |bytes: usize| PlainSessionKey::V6 { key: vec![1; bytes].into() };
        use SymmetricKeyAlgorithm::{AES128, AES256, Plaintext};
        for (body, right, wrong) in [
            (Protected::SeipdV1, v3(AES128, 16), vec![v6(16), v3(AES128, 15), v3(Plaintext, 0)]),
            (seipd2(), v6(16), vec![v6(32), v3(AES128, 16), v3(AES256, 32)]),
        ] {
            let made = |said| open(&Says(public.clone(), said), &packet(), &body).unwrap();
            let opened = made(Ok(right.clone()));
            assert!(opened.session_key == right && !opened.is_substitute);
            let mut seen = HashSet::new();
            let failed = wrong.into_iter().map(Ok).chain([Err(PrivateKeyError::NotOpened)]);
            for said in failed {
                let opened = made(said);
                assert!(opened.is_substitute && !opened.is_proven);
                assert!(body.key(&opened.session_key).is_ok() && body.takes(&opened.session_key));
                assert!(seen.insert(bytes(&opened.session_key).to_vec()), "each one is new");
            }
            let failed = open(&Says(public.clone(), Err(PrivateKeyError::Locked)), &packet(), &body);
            assert_eq!(failed.unwrap_err(), PrivateKeyError::Locked);
        }
    }

    #[test]
    fn key_wrap_fails_in_plain_words() {
        let public = key(CertificateAlgorithms::Curve25519);
        let failed = open(&Says(public, Err(PrivateKeyError::NotOpened)), &packet(), &seipd2());
        assert_eq!(failed.unwrap_err(), PrivateKeyError::NotOpened);
    }
}
