//! RSA and elliptic-curve public keys as tokens, as PEM and as SubjectPublicKeyInfo (RFC 5280, RFC 5480, RFC 5639, RFC
//! 8410).

use engine::{Curve, EcPublicKey};
use pkcs1::RsaPublicKey;
use pkcs1::der::asn1::{AnyRef, BitStringRef, ObjectIdentifier, UintRef};
use pkcs1::der::pem::LineEnding;
use pkcs1::der::{Decode, Encode, EncodePem, SecretDocument};
use spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use token::pka::ecc::{self, EccCurve, EccToken, is_ecc};
use token::pka::{PkaToken, public_token};

/// A public key of RSA or of an elliptic curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// An RSA key.
    Rsa {
        /// Modulus, big-endian.
        modulus: Vec<u8>,
        /// Public exponent, big-endian.
        exponent: Vec<u8>,
    },
    /// A key of an elliptic curve: its uncompressed point (SEC 1, 2.3.3), or the 32 bytes of RFC 8032 for Ed25519.
    Curve(EccCurve, Vec<u8>),
}

impl PublicKey {
    /// The public key in a token, which may be public, clear or internal.
    ///
    /// # Errors
    /// A text that says what is wrong with the token.
    pub fn of_token(token: &[u8]) -> Result<Self, String> {
        if is_ecc(token) {
            let read = EccToken::parse(token).map_err(|error| error.to_string())?;
            return Ok(Self::Curve(read.curve(), read.point().to_vec()));
        }
        let read =
            PkaToken::parse(token, &(engine::sha1, engine::sha256)).map_err(|error| error.to_string())?;
        Ok(Self::Rsa { modulus: read.modulus().to_vec(), exponent: read.exponent().to_vec() })
    }

    /// The key as a public key token.
    ///
    /// # Errors
    /// A text that says why the key fits no token.
    pub fn to_token(&self) -> Result<Vec<u8>, String> {
        let token = match self {
            Self::Rsa { modulus, exponent } => public_token(modulus, exponent),
            Self::Curve(curve, point) => ecc::public_token(*curve, point),
        };
        token.map_err(|error| error.to_string())
    }

    /// Kind and size of the key, for people: the bits of an RSA key, or the curve's name.
    pub fn named(&self) -> String {
        match self {
            Self::Rsa { modulus, .. } => format!("RSA of {} bits", 8 * modulus.len()),
            Self::Curve(curve, _) => curve.name().to_owned(),
        }
    }

    /// The content of the key's bit string: RSAPublicKey in DER (PKCS #1), or a curve's point.
    ///
    /// # Errors
    /// DER refuses one of the RSA numbers.
    pub fn to_bits(&self) -> Result<Vec<u8>, pkcs1::der::Error> {
        match self {
            Self::Rsa { modulus, exponent } => {
                let modulus = UintRef::new(modulus)?;
                RsaPublicKey { modulus, public_exponent: UintRef::new(exponent)? }.to_der()
            }
            Self::Curve(_, point) => Ok(point.clone()),
        }
    }

    /// SubjectPublicKeyInfo in PEM, under the label `PUBLIC KEY`.
    ///
    /// # Errors
    /// DER refuses one of the RSA numbers.
    pub fn to_pem(&self) -> Result<String, pkcs1::der::Error> {
        self.with_info(|info| info.to_pem(LineEnding::LF))
    }

    /// SubjectPublicKeyInfo in DER, as certificates hold it.
    ///
    /// # Errors
    /// DER refuses one of the RSA numbers.
    pub fn to_der(&self) -> Result<Vec<u8>, pkcs1::der::Error> {
        self.with_info(|info| info.to_der())
    }

    fn with_info<T>(
        &self,
        write: impl FnOnce(&SubjectPublicKeyInfoRef<'_>) -> Result<T, pkcs1::der::Error>,
    ) -> Result<T, pkcs1::der::Error> {
        let bits = self.to_bits()?;
        let oid;
        let algorithm = match self {
            Self::Rsa { .. } => {
                AlgorithmIdentifierRef { oid: pkcs1::ALGORITHM_OID, parameters: Some(AnyRef::NULL) }
            }
            Self::Curve(EccCurve::Ed25519, _) => AlgorithmIdentifierRef { oid: ED25519, parameters: None },
            Self::Curve(curve, _) => {
                oid = oid_of(*curve);
                AlgorithmIdentifierRef { oid: EC_PUBLIC_KEY, parameters: Some((&oid).into()) }
            }
        };
        write(&SubjectPublicKeyInfoRef { algorithm, subject_public_key: BitStringRef::from_bytes(&bits)? })
    }

    /// The key in a PEM file with the label `PUBLIC KEY` or `RSA PUBLIC KEY`.
    ///
    /// # Errors
    /// A text that says what is wrong, and for a private key how to get the public one.
    pub fn from_pem(text: &str) -> Result<Self, String> {
        let (name, document) = SecretDocument::from_pem(text).map_err(|error| format!("not PEM: {error}"))?;
        match name {
            "RSA PUBLIC KEY" => Self::of_rsa(document.as_bytes()),
            "PUBLIC KEY" => {
                let info = SubjectPublicKeyInfoRef::from_der(document.as_bytes())
                    .map_err(|error| format!("not a SubjectPublicKeyInfo: {error}"))?;
                let key =
                    info.subject_public_key.as_bytes().ok_or("not a public key: its bits are no bytes")?;
                match info.algorithm.oid {
                    pkcs1::ALGORITHM_OID => Self::of_rsa(key),
                    ED25519 => Self::of_curve(EccCurve::Ed25519, key),
                    EC_PUBLIC_KEY => {
                        let oid = info.algorithm.parameters_oid();
                        let oid = oid.map_err(|_| "a curve that is given by its numbers, and not by name")?;
                        let curve = EccCurve::ALL.into_iter().find(|curve| oid_of(*curve) == oid);
                        Self::of_curve(curve.ok_or(format!("a curve that is not served ({oid})"))?, key)
                    }
                    other => {
                        Err(format!("a key of another algorithm than RSA and elliptic curves ({other})"))
                    }
                }
            }
            other if other.contains("PRIVATE") => {
                Err(format!("a private key ({other}): give the public one, `openssl pkey -pubout` writes it"))
            }
            other => Err(format!("PEM of something else ({other}): expected PUBLIC KEY or RSA PUBLIC KEY")),
        }
    }

    fn of_rsa(der: &[u8]) -> Result<Self, String> {
        let key = RsaPublicKey::from_der(der).map_err(|error| format!("not an RSA public key: {error}"))?;
        let [modulus, exponent] = [key.modulus, key.public_exponent].map(|number| number.as_bytes().to_vec());
        Ok(Self::Rsa { modulus, exponent })
    }

    /// A key from its point. Refuses a point that is not on the curve, since no signature would verify under it; and a
    /// compressed one.
    fn of_curve(curve: EccCurve, point: &[u8]) -> Result<Self, String> {
        if matches!(point.first(), Some(0x02 | 0x03)) && curve != EccCurve::Ed25519 {
            return Err(
                "a compressed point: `openssl ec -pubin -conv_form uncompressed` writes it whole".to_owned()
            );
        }
        let is_valid = match engine_curve(curve) {
            Some(engine_curve) => EcPublicKey::from_bytes(engine_curve, point).is_ok(),
            None => point.try_into().is_ok_and(engine::is_ed25519_public),
        };
        if is_valid {
            Ok(Self::Curve(curve, point.to_vec()))
        } else {
            Err(format!("no public key of {}", curve.name()))
        }
    }
}

/// The algorithm identifier of elliptic-curve keys (RFC 5480).
pub(crate) const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
/// The algorithm identifier of Ed25519 keys (RFC 8410).
pub(crate) const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// The object identifier of a curve, as public and private keys name it.
pub(crate) fn oid_of(curve: EccCurve) -> ObjectIdentifier {
    match curve {
        EccCurve::P224 => ObjectIdentifier::new_unwrap("1.3.132.0.33"),
        EccCurve::P256 => ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7"),
        EccCurve::P384 => ObjectIdentifier::new_unwrap("1.3.132.0.34"),
        EccCurve::P521 => ObjectIdentifier::new_unwrap("1.3.132.0.35"),
        EccCurve::Secp256k1 => ObjectIdentifier::new_unwrap("1.3.132.0.10"),
        EccCurve::BrainpoolP256r1 => ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.7"),
        EccCurve::BrainpoolP384r1 => ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.11"),
        EccCurve::Ed25519 => ED25519,
    }
}

/// The engine's value for a curve; `None` for a curve whose points are not checked through it.
pub(crate) fn engine_curve(curve: EccCurve) -> Option<Curve> {
    Some(match curve {
        EccCurve::P224 => Curve::P224,
        EccCurve::P256 => Curve::P256,
        EccCurve::P384 => Curve::P384,
        EccCurve::P521 => Curve::P521,
        EccCurve::Secp256k1 => Curve::Secp256k1,
        EccCurve::BrainpoolP256r1 => Curve::BrainpoolP256r1,
        EccCurve::BrainpoolP384r1 => Curve::BrainpoolP384r1,
        EccCurve::Ed25519 => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::ec::{EcGroup, EcKey, PointConversionForm};
    use openssl::nid::Nid;

    #[test]
    fn pem_of_rsa_is_read_back_and_other_pem_is_refused_by_name() {
        let key = openssl::rsa::Rsa::generate(2048).unwrap();
        let public = PublicKey::Rsa { modulus: key.n().to_vec(), exponent: key.e().to_vec() };
        let text = public.to_pem().unwrap();
        assert_eq!(text.as_bytes(), key.public_key_to_pem().unwrap());
        let pkcs1 = String::from_utf8(key.public_key_to_pem_pkcs1().unwrap()).unwrap();
        for text in [&text, &pkcs1] {
            assert_eq!(PublicKey::from_pem(text).as_ref(), Ok(&public));
        }
        assert_eq!(PublicKey::of_token(&public.to_token().unwrap()).as_ref(), Ok(&public));

        let private = String::from_utf8(key.private_key_to_pem().unwrap()).unwrap();
        assert!(PublicKey::from_pem(&private).unwrap_err().contains("private key"));
        let dsa = openssl::dsa::Dsa::generate(1024).unwrap().public_key_to_pem().unwrap();
        let error = PublicKey::from_pem(std::str::from_utf8(&dsa).unwrap()).unwrap_err();
        assert!(error.contains("another algorithm"), "{error}");
        assert!(PublicKey::from_pem("-----BEGIN").unwrap_err().contains("not PEM"));
        assert!(PublicKey::from_pem(&text.replace("MIIB", "MIIC")).is_err());
    }

    #[test]
    fn pem_of_every_curve_is_that_of_another_library() {
        for (curve, nid) in [
            (EccCurve::P224, Nid::SECP224R1),
            (EccCurve::P256, Nid::X9_62_PRIME256V1),
            (EccCurve::P384, Nid::SECP384R1),
            (EccCurve::P521, Nid::SECP521R1),
            (EccCurve::Secp256k1, Nid::SECP256K1),
            (EccCurve::BrainpoolP256r1, Nid::BRAINPOOL_P256R1),
            (EccCurve::BrainpoolP384r1, Nid::BRAINPOOL_P384R1),
        ] {
            let group = EcGroup::from_curve_name(nid).unwrap();
            let key = EcKey::generate(&group).unwrap();
            let mut context = openssl::bn::BigNumContext::new().unwrap();
            let point =
                key.public_key().to_bytes(&group, PointConversionForm::UNCOMPRESSED, &mut context).unwrap();
            let public = PublicKey::Curve(curve, point.clone());
            let text = String::from_utf8(key.public_key_to_pem().unwrap()).unwrap();
            assert_eq!(public.to_pem().unwrap(), text);
            assert_eq!(PublicKey::from_pem(&text).as_ref(), Ok(&public));
            assert_eq!(PublicKey::of_token(&public.to_token().unwrap()).as_ref(), Ok(&public));
            let mut off = point;
            *off.last_mut().unwrap() ^= 1;
            let text = PublicKey::Curve(curve, off).to_pem().unwrap();
            assert_eq!(PublicKey::from_pem(&text), Err(format!("no public key of {}", curve.name())));
        }
        let key = openssl::pkey::PKey::generate_ed25519().unwrap();
        let public = PublicKey::Curve(EccCurve::Ed25519, key.raw_public_key().unwrap());
        let text = String::from_utf8(key.public_key_to_pem().unwrap()).unwrap();
        assert_eq!(public.to_pem().unwrap(), text);
        assert_eq!(PublicKey::from_pem(&text), Ok(public));

        let mut group = EcGroup::from_curve_name(Nid::X9_62_PRIME192V1).unwrap();
        let text = EcKey::generate(&group).unwrap().public_key_to_pem().unwrap();
        assert!(PublicKey::from_pem(std::str::from_utf8(&text).unwrap()).unwrap_err().contains("not served"));
        group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        group.set_asn1_flag(openssl::ec::Asn1Flag::EXPLICIT_CURVE);
        let text = EcKey::generate(&group).unwrap().public_key_to_pem().unwrap();
        assert!(
            PublicKey::from_pem(std::str::from_utf8(&text).unwrap()).unwrap_err().contains("by its numbers")
        );
    }
}
