//! RSA public keys as tokens and as PEM.

use super::complete;
use crate::commands::print;
use crate::failure::Failure;
use crate::prompt;
use facility::Facility;
use pkcs1::RsaPublicKey;
use pkcs1::der::asn1::{AnyRef, BitStringRef, UintRef};
use pkcs1::der::pem::LineEnding;
use pkcs1::der::{Decode, Encode, EncodePem, SecretDocument};
use spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use std::io::Read;
use std::path::Path;
use token::pka::{PkaToken, public_token};
use wire::Label;
use wire::bounds::PKA_TOKEN_BYTES_MAX;
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{Verb, pka_public_key_extract as pkx};

/// Longest PEM file that is read, in bytes: a key of 4,096 bits takes about 1 KiB.
const PEM_BYTES_MAX: u64 = 64 << 10;

/// Prints the public key of a record.
pub fn show(facility: &Facility, label: &Label, domain: u16, pem: bool) -> Result<(), Failure> {
    let field = label.to_field();
    let mut arguments = Arguments::new(Verb::PkaPublicKeyExtract);
    arguments
        .set_integer(pkx::SOURCE_KEY_IDENTIFIER_LENGTH, field.len() as i64)
        .set_bytes(pkx::SOURCE_KEY_IDENTIFIER, &field)
        .set_integer(pkx::TARGET_KEY_TOKEN_LENGTH, PKA_TOKEN_BYTES_MAX as i64);
    let reply = facility.call(domain, &arguments)?;
    complete("pka-public-key-extract", reply.codes())?;
    let token = reply.arguments().bytes(pkx::TARGET_KEY_TOKEN);
    if !pem {
        return print(&(prompt::to_hexadecimal(token) + "\n"));
    }
    let unfit =
        |cause: String| Failure::Usage(format!("{label}: its public key cannot be written as PEM: {cause}"));
    let read =
        PkaToken::parse(token, &(engine::sha1, engine::sha256)).map_err(|error| unfit(error.to_string()))?;
    print(&to_pem(read.modulus(), read.exponent()).map_err(|error| unfit(error.to_string()))?)
}

/// Records a public key under a label.
pub fn import(facility: &Facility, label: &Label, path: &Path) -> Result<(), Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(PEM_BYTES_MAX).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(PEM_BYTES_MAX).read_to_string(&mut text))
    };
    read.map_err(Failure::io(format!("read {}", path.display())))?;
    let unfit = |cause: String| Failure::Usage(format!("{}: {cause}", path.display()));
    let (modulus, exponent) = from_pem(&text).map_err(unfit)?;
    let token = public_token(&modulus, &exponent).map_err(|error| unfit(error.to_string()))?;
    facility.record_create(Store::Pka, label, &token)?;
    eprintln!("{label}: recorded, a public key of {} bits", 8 * modulus.len());
    Ok(())
}

fn to_pem(modulus: &[u8], exponent: &[u8]) -> Result<String, pkcs1::der::Error> {
    let key = RsaPublicKey { modulus: UintRef::new(modulus)?, public_exponent: UintRef::new(exponent)? }
        .to_der()?;
    let info = SubjectPublicKeyInfoRef {
        algorithm: AlgorithmIdentifierRef { oid: pkcs1::ALGORITHM_OID, parameters: Some(AnyRef::NULL) },
        subject_public_key: BitStringRef::from_bytes(&key)?,
    };
    info.to_pem(LineEnding::LF)
}

/// Modulus and exponent of a key in either form.
fn from_pem(text: &str) -> Result<(Vec<u8>, Vec<u8>), String> {
    let (name, document) = SecretDocument::from_pem(text).map_err(|error| format!("not PEM: {error}"))?;
    let key_of = |der: &[u8]| {
        let key = RsaPublicKey::from_der(der).map_err(|error| format!("not an RSA public key: {error}"))?;
        Ok((key.modulus.as_bytes().to_vec(), key.public_exponent.as_bytes().to_vec()))
    };
    match name {
        "RSA PUBLIC KEY" => key_of(document.as_bytes()),
        "PUBLIC KEY" => {
            let info = SubjectPublicKeyInfoRef::from_der(document.as_bytes())
                .map_err(|error| format!("not a SubjectPublicKeyInfo: {error}"))?;
            if info.algorithm.oid != pkcs1::ALGORITHM_OID {
                return Err(format!("a key of another algorithm than RSA ({})", info.algorithm.oid));
            }
            key_of(info.subject_public_key.as_bytes().ok_or("not an RSA public key: its bits are no bytes")?)
        }
        other if other.contains("PRIVATE") => {
            Err(format!("a private key ({other}): give the public one, `openssl rsa -pubout` writes it"))
        }
        other => Err(format!("PEM of something else ({other}): expected PUBLIC KEY or RSA PUBLIC KEY")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_read_back_and_other_pem_is_refused_by_name() {
        let key = openssl::rsa::Rsa::generate(2048).unwrap();
        let (modulus, exponent) = (key.n().to_vec(), key.e().to_vec());
        let text = to_pem(&modulus, &exponent).unwrap();
        assert_eq!(text.as_bytes(), key.public_key_to_pem().unwrap());
        assert_eq!(from_pem(&text), Ok((modulus.clone(), exponent.clone())));
        let pkcs1 = String::from_utf8(key.public_key_to_pem_pkcs1().unwrap()).unwrap();
        assert_eq!(from_pem(&pkcs1), Ok((modulus, exponent)));

        let private = String::from_utf8(key.private_key_to_pem().unwrap()).unwrap();
        assert!(from_pem(&private).unwrap_err().contains("private key"));
        let group = openssl::ec::EcGroup::from_curve_name(openssl::nid::Nid::X9_62_PRIME256V1).unwrap();
        let curve = openssl::ec::EcKey::generate(&group).unwrap().public_key_to_pem().unwrap();
        assert!(from_pem(std::str::from_utf8(&curve).unwrap()).unwrap_err().contains("another algorithm"));
        assert!(from_pem("-----BEGIN").unwrap_err().contains("not PEM"));
        assert!(from_pem(&text.replace("MIIB", "MIIC")).is_err());
    }
}
