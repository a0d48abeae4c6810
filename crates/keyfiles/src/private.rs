//! RSA and elliptic-curve private keys read from PEM files (RFC 5958, RFC 8017, RFC 5915, RFC 8410), as external tokens
//! of clear keys.

use crate::public;
use engine::{EcPrivateKey, Ed25519Key};
use pkcs1::RsaPrivateKey;
use pkcs1::der::asn1::{ObjectIdentifier, OctetStringRef, UintRef};
use pkcs1::der::{Decode, SecretDocument};
use pkcs8::PrivateKeyInfo;
use token::pka::ecc::{self, EccAttributes, EccCurve};
use token::pka::{Attributes, ClearKey, CrtComponents, Form, Usage, clear_token};
use zeroize::Zeroizing;

/// The end of a PEM block's name that marks the block as a private key.
pub(crate) const PRIVATE: &str = "PRIVATE KEY";

/// What a private key may be used for: decides the usage flags of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateUse {
    /// RSA and curves: signing.
    Sign,
    /// TLS: signing and, with RSA, opening premaster secrets.
    Tls,
    /// RSA: signing digests, and deciphering data.
    KeyManagement,
    /// RSA: importing keys.
    Transport,
    /// Curves except Ed25519: agreeing on keys.
    Agree,
}

/// A clear private key, read from a PEM file.
pub struct PrivateKey {
    /// The external token; wiped when dropped.
    pub token: Zeroizing<Vec<u8>>,
    /// Whether the key is of an elliptic curve, not RSA.
    pub is_curve: bool,
    /// Kind and size of the key, for people.
    pub named: String,
}

impl PrivateKey {
    /// The first private key of a PEM file. Other blocks, such as certificates and curve parameters, are skipped.
    ///
    /// # Errors
    /// A text for people: what is wrong, and for an encrypted key how to decrypt it.
    pub fn from_pem(text: &str, use_of: PrivateUse) -> Result<Self, String> {
        let (name, document) = document(text)?;
        token_of(&name, &document, use_of)
    }
}

/// Name and DER content of the first PEM block that holds a private key; blocks before it are skipped.
pub(crate) fn document(text: &str) -> Result<(String, SecretDocument), String> {
    const BEGIN: &str = "-----BEGIN ";
    let mut rest = text;
    let mut met = Vec::new();
    while let Some(at) = rest.find(BEGIN) {
        rest = &rest[at..];
        let name = rest[BEGIN.len()..].split("-----").next().unwrap_or_default();
        let end = format!("-----END {name}-----");
        let Some(length) = rest.find(&end).map(|at| at + end.len()) else {
            return Err(format!("not PEM: {name} has no end"));
        };
        if name.ends_with(PRIVATE) {
            if name.starts_with("ENCRYPTED") || rest[..length].contains("ENCRYPTED") {
                return Err(
                    "the private key is encrypted: `openssl pkey -in FILE` decrypts it onto its output"
                        .to_owned(),
                );
            }
            let (name, document) =
                SecretDocument::from_pem(&rest[..length]).map_err(|error| format!("not PEM: {error}"))?;
            return Ok((name.to_owned(), document));
        }
        met.push(name.to_owned());
        rest = &rest[length..];
    }
    match met.first() {
        None => Err("no PEM: expected a private key, as `openssl genpkey` writes it".to_owned()),
        Some(name) => Err(format!("no private key in it, but {name}")),
    }
}

fn token_of(name: &str, document: &SecretDocument, use_of: PrivateUse) -> Result<PrivateKey, String> {
    let der = document.as_bytes();
    match name {
        "RSA PRIVATE KEY" => of_rsa(der, use_of),
        "EC PRIVATE KEY" => of_curve(None, der, use_of),
        PRIVATE => {
            let info =
                PrivateKeyInfo::from_der(der).map_err(|error| format!("not a PrivateKeyInfo: {error}"))?;
            match info.algorithm.oid {
                pkcs1::ALGORITHM_OID => of_rsa(info.private_key, use_of),
                public::ED25519 => of_ed25519(info.private_key, use_of),
                public::EC_PUBLIC_KEY => {
                    let oid = info.algorithm.parameters_oid().map_err(|_| BY_NUMBERS)?;
                    of_curve(Some(oid), info.private_key, use_of)
                }
                other => Err(format!("a key of another algorithm than RSA and elliptic curves ({other})")),
            }
        }
        other => Err(format!("a private key of a kind that is not served ({other})")),
    }
}

pub(crate) const BY_NUMBERS: &str = "a curve that is given by its numbers, and not by name";

/// Reads an RSAPrivateKey (RFC 8017, A.1.2); a key of more than two primes is an error.
pub(crate) fn rsa(der: &[u8]) -> Result<RsaPrivateKey<'_>, String> {
    let key = RsaPrivateKey::from_der(der).map_err(|error| format!("not an RSA private key: {error}"))?;
    if key.other_prime_infos.is_some() {
        return Err("an RSA key of more than two primes".to_owned());
    }
    Ok(key)
}

fn of_rsa(der: &[u8], use_of: PrivateUse) -> Result<PrivateKey, String> {
    let key = rsa(der)?;
    let numbers = [key.prime1, key.prime2, key.exponent1, key.exponent2, key.coefficient];
    let [p, q, dp, dq, u] = numbers.each_ref().map(UintRef::as_bytes);
    let clear = ClearKey::Crt {
        n: key.modulus.as_bytes(),
        e: key.public_exponent.as_bytes(),
        components: CrtComponents { p, q, dp, dq, u },
    };
    let usage = match use_of {
        PrivateUse::Sign => Usage::SignatureOnly,
        PrivateUse::KeyManagement => Usage::KeyManagement,
        PrivateUse::Transport => Usage::KeyManagementOnly,
        PrivateUse::Tls => Usage::TlsOnly,
        PrivateUse::Agree => return Err("--use agree is for keys of elliptic curves".to_owned()),
    };
    let attributes = Attributes { usage, ..Attributes::default() };
    let hashes = (engine::sha1, engine::sha256);
    let token = clear_token(Form::CrtAes, &clear, &attributes, &hashes).map_err(|error| error.to_string())?;
    let bits = 8 * key.modulus.as_bytes().len();
    Ok(PrivateKey { token, is_curve: false, named: format!("RSA of {bits} bits") })
}

/// Reads an ECPrivateKey (RFC 5915): its curve, and the key. `oid` is the curve that the surrounding PrivateKeyInfo
/// names, if any.
pub(crate) fn curve(oid: Option<ObjectIdentifier>, der: &[u8]) -> Result<(EccCurve, EcPrivateKey), String> {
    let key = sec1::EcPrivateKey::from_der(der)
        .map_err(|error| format!("not an elliptic-curve private key: {error}"))?;
    let inner = key.parameters.and_then(|parameters| parameters.named_curve());
    if oid.is_some() && inner.is_some() && oid != inner {
        return Err("two curves for one key".to_owned());
    }
    let oid = oid.or(inner).ok_or("a private key that does not name its curve")?;
    let curve = EccCurve::ALL.into_iter().find(|curve| public::oid_of(*curve) == oid);
    let curve = curve.ok_or(format!("a curve that is not served ({oid})"))?;
    let invalid = || format!("no private key of {}", curve.name());
    let of_engine = public::engine_curve(curve).ok_or_else(invalid)?;
    let mut value = Zeroizing::new(vec![0; curve.bytes()]);
    let start = curve.bytes().checked_sub(key.private_key.len()).ok_or_else(invalid)?;
    value[start..].copy_from_slice(key.private_key);
    let private = EcPrivateKey::from_bytes(of_engine, &value).map_err(|_| invalid())?;
    let point = private.public_bytes();
    if key.public_key.is_some_and(|stated| stated.first() == Some(&4) && stated != point) {
        return Err("the public key beside the private one is another's".to_owned());
    }
    Ok((curve, private))
}

fn of_curve(oid: Option<ObjectIdentifier>, der: &[u8], use_of: PrivateUse) -> Result<PrivateKey, String> {
    let (curve, private) = curve(oid, der)?;
    clear_curve(curve, &private.to_bytes(), &private.public_bytes(), use_of)
}

/// Reads a CurvePrivateKey (RFC 8410, section 7), an octet string of 32 bytes.
fn of_ed25519(der: &[u8], use_of: PrivateUse) -> Result<PrivateKey, String> {
    let seed = OctetStringRef::from_der(der).map_err(|error| format!("not a CurvePrivateKey: {error}"))?;
    let seed: &[u8; 32] =
        seed.as_bytes().try_into().map_err(|_| "an Ed25519 private key has 32 bytes".to_owned())?;
    let point = Ed25519Key::from_seed(seed).public();
    clear_curve(EccCurve::Ed25519, seed, &point, use_of)
}

fn clear_curve(
    curve: EccCurve,
    value: &[u8],
    point: &[u8],
    use_of: PrivateUse,
) -> Result<PrivateKey, String> {
    let usage = match use_of {
        // In TLS an elliptic-curve key only signs.
        PrivateUse::Sign | PrivateUse::Tls => Usage::SignatureOnly,
        PrivateUse::Agree if curve != EccCurve::Ed25519 => Usage::KeyManagementOnly,
        _ => return Err(format!("a key of {} signs, or agrees on keys but for Ed25519", curve.name())),
    };
    let common = Attributes { usage, ..Attributes::default() };
    let attributes = EccAttributes { common, ..EccAttributes::default() };
    let token = ecc::clear_token(curve, value, point, &attributes).map_err(|error| error.to_string())?;
    Ok(PrivateKey { token, is_curve: true, named: curve.name().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::pkey::PKey;
    use token::pka::PkaToken;
    use token::pka::ecc::EccToken;

    fn clear(pem: &[u8], use_of: PrivateUse) -> Result<PrivateKey, String> {
        PrivateKey::from_pem(std::str::from_utf8(pem).unwrap(), use_of)
    }

    #[test]
    fn keys_of_openssl_are_read_in_every_form_that_it_writes() {
        let rsa = openssl::rsa::Rsa::generate(2048).unwrap();
        let pkcs8 = PKey::from_rsa(rsa.clone()).unwrap().private_key_to_pem_pkcs8().unwrap();
        let chain = [b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &pkcs8[..]].concat();
        for pem in [&rsa.private_key_to_pem().unwrap(), &pkcs8, &chain] {
            let made = clear(pem, PrivateUse::Tls).unwrap_or_else(|error| panic!("{error}"));
            let view = PkaToken::parse(&made.token, &(engine::sha1, engine::sha256)).unwrap();
            assert_eq!(view.modulus(), rsa.n().to_vec());
            assert_eq!(view.private().unwrap().usage, Usage::TlsOnly);
            assert!(!made.is_curve && made.named == "RSA of 2048 bits");
        }
        for (nid, curve) in [(Nid::X9_62_PRIME256V1, EccCurve::P256), (Nid::SECP384R1, EccCurve::P384)] {
            let key = EcKey::generate(&EcGroup::from_curve_name(nid).unwrap()).unwrap();
            let pkcs8 = PKey::from_ec_key(key.clone()).unwrap().private_key_to_pem_pkcs8().unwrap();
            for pem in [&key.private_key_to_pem().unwrap(), &pkcs8] {
                let made = clear(pem, PrivateUse::Sign).unwrap_or_else(|error| panic!("{error}"));
                let view = EccToken::parse(&made.token).unwrap();
                assert!(made.is_curve && view.curve() == curve);
            }
        }
        let pem = PKey::generate_ed25519().unwrap().private_key_to_pem_pkcs8().unwrap();
        assert_eq!(clear(&pem, PrivateUse::Sign).unwrap_or_else(|error| panic!("{error}")).named, "Ed25519");
    }

    #[test]
    fn what_is_no_private_key_is_refused_by_name() {
        let rsa = openssl::rsa::Rsa::generate(1024).unwrap();
        let pem = rsa.private_key_to_pem().unwrap();
        let error = |pem: &[u8], use_of| clear(pem, use_of).err().unwrap();
        assert!(error(&rsa.public_key_to_pem().unwrap(), PrivateUse::Sign).contains("PUBLIC KEY"));
        assert!(error(b"no key", PrivateUse::Sign).contains("no PEM"));
        assert!(error(&pem[..200], PrivateUse::Sign).contains("has no end"));
        assert!(error(&pem, PrivateUse::Agree).contains("elliptic curves"));
        let cipher = openssl::symm::Cipher::aes_128_cbc();
        let old = rsa.private_key_to_pem_passphrase(cipher, b"word").unwrap();
        let new = PKey::from_rsa(rsa).unwrap().private_key_to_pem_pkcs8_passphrase(cipher, b"word").unwrap();
        for pem in [old, new] {
            assert!(error(&pem, PrivateUse::Sign).contains("openssl pkey -in"));
        }
        let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME192V1).unwrap();
        let pem = EcKey::generate(&curve).unwrap().private_key_to_pem().unwrap();
        assert!(error(&pem, PrivateUse::Sign).contains("not served"));
        let dsa = openssl::dsa::Dsa::generate(1024).unwrap();
        let pem = PKey::from_dsa(dsa).unwrap().private_key_to_pem_pkcs8().unwrap();
        assert!(error(&pem, PrivateUse::Sign).contains("another algorithm"));
    }
}
