//! Signatures with the key of the client's certificate: all connections that wait for one are served together, in the
//! lanes of the engine.

use engine::{
    EcdsaSignItem, Engine, EngineError, HashAlgorithm, Options, RsaPrivateItem, pkcs1_v15_sign_pad,
    pss_encode,
};
use keyfiles::{SigningKey, ecdsa_sig_value};
use tls::{Hash, KeyOperation, KeyRequest, Scheme};
use zeroize::Zeroizing;

/// The private key of the client, and the engine that signs with it.
pub(crate) struct Signer {
    engine: Engine,
    key: SigningKey,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}

/// A signature; None if the key cannot make it.
pub(crate) type Signed = Option<Zeroizing<Vec<u8>>>;

impl Signer {
    pub(crate) fn new(key: SigningKey) -> Result<Self, EngineError> {
        // Test keys may be short.
        let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() })?;
        Ok(Self { engine, key })
    }

    /// Signs all requests; each signature is at the index of its request.
    pub(crate) fn sign(&self, requests: &[KeyRequest]) -> Vec<Signed> {
        match &self.key {
            SigningKey::Rsa(key) => {
                let (bytes, bits) = (key.modulus_bytes(), key.bits());
                let blocks: Vec<Option<Vec<u8>>> =
                    requests.iter().map(|request| block(&request.work, bytes, bits)).collect();
                let mut outputs: Vec<Vec<u8>> = blocks.iter().map(|_| vec![0; bytes]).collect();
                let with_blocks = blocks.iter().zip(&mut outputs);
                let mut items: Vec<RsaPrivateItem<'_>> = with_blocks
                    .filter_map(|(block, output)| Some(RsaPrivateItem::new(key, block.as_deref()?, output)))
                    .collect();
                self.engine.rsa_private_batch(&mut items);
                let mut good = items.iter().map(|item| item.result.is_ok()).collect::<Vec<_>>().into_iter();
                let made = blocks.iter().map(|block| block.is_some() && good.next() == Some(true));
                made.collect::<Vec<_>>()
                    .into_iter()
                    .zip(outputs)
                    .map(|(is_made, output)| is_made.then(|| Zeroizing::new(output)))
                    .collect()
            }
            SigningKey::Curve(key) => {
                let digests: Vec<Option<&[u8]>> =
                    requests.iter().map(|request| digest(&request.work)).collect();
                let mut items: Vec<EcdsaSignItem<'_>> =
                    digests.iter().flatten().map(|digest| EcdsaSignItem::new(key, digest)).collect();
                self.engine.ecdsa_sign_batch(&mut items);
                let mut made = items.iter();
                let signed = |item: &EcdsaSignItem<'_>| {
                    item.result
                        .is_ok()
                        .then(|| ecdsa_sig_value(item.signature()).map(Zeroizing::new))
                        .flatten()
                };
                digests.iter().map(|digest| digest.and_then(|_| made.next()).and_then(signed)).collect()
            }
        }
    }
}

/// The digest that ECDSA is to sign; None for work of another kind.
fn digest(work: &KeyOperation) -> Option<&[u8]> {
    match work {
        KeyOperation::Sign { scheme: Scheme::Ecdsa, digest, .. } => Some(digest),
        _ => None,
    }
}

/// The padded block that RSA is to sign; None for other work, or if the key is too short for it.
fn block(work: &KeyOperation, modulus_bytes: usize, modulus_bits: usize) -> Option<Vec<u8>> {
    let KeyOperation::Sign { scheme, hash, digest } = work else { return None };
    let hash = match hash {
        Hash::Sha1 => HashAlgorithm::Sha1,
        Hash::Sha224 => HashAlgorithm::Sha224,
        Hash::Sha256 => HashAlgorithm::Sha256,
        Hash::Sha384 => HashAlgorithm::Sha384,
        Hash::Sha512 => HashAlgorithm::Sha512,
    };
    match scheme {
        Scheme::RsaPkcs1 => pkcs1_v15_sign_pad(hash, digest, modulus_bytes).ok(),
        Scheme::RsaPss => pss_encode(hash, digest, digest.len(), modulus_bits).ok(),
        Scheme::Ecdsa => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::pkey::{PKey, Private};
    use openssl::pkey_ctx::PkeyCtx;
    use openssl::rsa::Padding;
    use openssl::sign::RsaPssSaltlen;

    fn signer(key: &PKey<Private>) -> Signer {
        let pem = String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
        Signer::new(SigningKey::from_pem(&pem).unwrap()).unwrap()
    }

    fn request(scheme: Scheme, number: u8) -> KeyRequest {
        KeyRequest {
            key: 0,
            work: KeyOperation::Sign { scheme, hash: Hash::Sha256, digest: vec![number; 32] },
        }
    }

    /// Whether OpenSSL takes a signature over the digest of this number.
    fn is_good(key: &PKey<Private>, scheme: Scheme, number: u8, signature: &[u8]) -> bool {
        let mut context = PkeyCtx::new(key).unwrap();
        context.verify_init().unwrap();
        match scheme {
            Scheme::RsaPkcs1 => context.set_rsa_padding(Padding::PKCS1).unwrap(),
            Scheme::RsaPss => {
                context.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
                context.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
            }
            Scheme::Ecdsa => {}
        }
        context.set_signature_md(openssl::md::Md::sha256()).unwrap();
        context.verify(&[number; 32], signature).unwrap_or(false)
    }

    #[test]
    fn signatures_of_many_connections_are_each_its_own() {
        let rsa = PKey::from_rsa(openssl::rsa::Rsa::generate(2048).unwrap()).unwrap();
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let curve = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let cases: [(&PKey<Private>, &[Scheme]); 2] =
            [(&rsa, &[Scheme::RsaPkcs1, Scheme::RsaPss]), (&curve, &[Scheme::Ecdsa])];
        for (key, schemes) in cases {
            let signer = signer(key);
            for count in [1, 2, 11] {
                let scheme = |number: u8| schemes[usize::from(number) % schemes.len()];
                let requests: Vec<_> = (0..count).map(|number| request(scheme(number), number)).collect();
                for (number, signed) in (0..).zip(signer.sign(&requests)) {
                    assert!(is_good(key, scheme(number), number, &signed.unwrap()));
                }
            }
        }
    }

    #[test]
    fn what_a_key_does_not_make_leaves_the_others_theirs() {
        let rsa = PKey::from_rsa(openssl::rsa::Rsa::generate(2048).unwrap()).unwrap();
        let premaster = KeyRequest { key: 0, work: KeyOperation::Premaster { ciphertext: vec![1; 256] } };
        let requests =
            [request(Scheme::RsaPss, 1), request(Scheme::Ecdsa, 2), premaster, request(Scheme::RsaPkcs1, 3)];
        let signed = signer(&rsa).sign(&requests);
        assert!(signed[1].is_none() && signed[2].is_none());
        assert!(is_good(&rsa, Scheme::RsaPss, 1, signed[0].as_ref().unwrap()));
        assert!(is_good(&rsa, Scheme::RsaPkcs1, 3, signed[3].as_ref().unwrap()));
        assert!(signer(&rsa).sign(&[]).is_empty());
    }
}
