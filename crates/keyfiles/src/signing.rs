//! Private keys from PEM files that sign in this process.

use crate::private::{BY_NUMBERS, PRIVATE, curve, document, rsa};
use crate::public;
use engine::{EcPrivateKey, RsaCrt, RsaPrivateKey};
use pkcs1::der::Decode;
use pkcs1::der::asn1::UintRef;
use pkcs8::PrivateKeyInfo;

/// A private key that the engine computes with.
#[derive(Debug)]
pub enum SigningKey {
    /// An RSA key.
    Rsa(RsaPrivateKey),
    /// A key of an elliptic curve that ECDSA uses.
    Curve(EcPrivateKey),
}

impl SigningKey {
    /// The first private key of a PEM file. Other blocks, such as certificates and curve parameters, are skipped.
    ///
    /// # Errors
    /// A text for people that says what is wrong; Ed25519 keys are not served.
    pub fn from_pem(text: &str) -> Result<Self, String> {
        let (name, document) = document(text)?;
        let der = document.as_bytes();
        match name.as_str() {
            "RSA PRIVATE KEY" => of_rsa(der),
            "EC PRIVATE KEY" => Ok(Self::Curve(curve(None, der)?.1)),
            PRIVATE => {
                let info = PrivateKeyInfo::from_der(der)
                    .map_err(|error| format!("not a PrivateKeyInfo: {error}"))?;
                match info.algorithm.oid {
                    pkcs1::ALGORITHM_OID => of_rsa(info.private_key),
                    public::EC_PUBLIC_KEY => {
                        let oid = info.algorithm.parameters_oid().map_err(|_| BY_NUMBERS)?;
                        Ok(Self::Curve(curve(Some(oid), info.private_key)?.1))
                    }
                    other => Err(format!("a key of another algorithm than RSA and ECDSA ({other})")),
                }
            }
            other => Err(format!("a private key of a kind that is not served ({other})")),
        }
    }
}

fn of_rsa(der: &[u8]) -> Result<SigningKey, String> {
    let key = rsa(der)?;
    let numbers = [key.prime1, key.prime2, key.exponent1, key.exponent2, key.coefficient];
    let [p, q, dp, dq, qinv] = numbers.each_ref().map(UintRef::as_bytes);
    let (n, e) = (key.modulus.as_bytes(), key.public_exponent.as_bytes());
    let made = RsaPrivateKey::from_crt(&RsaCrt { n, e, p, q, dp, dq, qinv });
    made.map(SigningKey::Rsa).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::pkey::PKey;

    fn read(pem: &[u8]) -> Result<SigningKey, String> {
        SigningKey::from_pem(std::str::from_utf8(pem).unwrap())
    }

    #[test]
    fn keys_of_openssl_are_read_in_every_form_that_it_writes() {
        let rsa = openssl::rsa::Rsa::generate(2048).unwrap();
        let pkcs8 = PKey::from_rsa(rsa.clone()).unwrap().private_key_to_pem_pkcs8().unwrap();
        for pem in [&rsa.private_key_to_pem().unwrap(), &pkcs8] {
            let SigningKey::Rsa(key) = read(pem).unwrap() else { panic!("an RSA key") };
            assert_eq!(key.n(), rsa.n().to_vec());
        }
        let key = EcKey::generate(&EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap()).unwrap();
        let pkcs8 = PKey::from_ec_key(key.clone()).unwrap().private_key_to_pem_pkcs8().unwrap();
        for pem in [&key.private_key_to_pem().unwrap(), &pkcs8] {
            let SigningKey::Curve(read) = read(pem).unwrap() else { panic!("a key of a curve") };
            assert_eq!(read.to_bytes()[..], key.private_key().to_vec_padded(32).unwrap()[..]);
        }
        let edwards = PKey::generate_ed25519().unwrap().private_key_to_pem_pkcs8().unwrap();
        assert!(read(&edwards).unwrap_err().contains("RSA and ECDSA"));
        assert!(read(b"nothing").unwrap_err().contains("no PEM"));
        let wrong = String::from_utf8(pkcs8).unwrap().replace("PRIVATE KEY", "OTHER PRIVATE KEY");
        assert!(read(wrong.as_bytes()).is_err());
    }
}
