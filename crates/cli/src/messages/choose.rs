//! Chooses how a message is protected: by the options, else the strongest form that every recipient's key announces.

use crate::args::openpgp::{CipherName, CompressName, Encrypt, ModeName};
use crate::failure::Failure;
use openpgp::certificate::{Announced, is_announced, strongest_form};
use openpgp::form::CHUNK_BITS_WRITTEN;
use openpgp::{AeadAlgorithm, CompressionAlgorithm, Fingerprint, Form, Protection, SymmetricKeyAlgorithm};
use pipeline::Compression;

/// Default level of compression, as in gpg and zlib.
const LEVEL_DEFAULT: u8 = 6;

/// The form that the options ask for. `recipients` are the announcements of the certificates, empty if only passphrases
/// open the message.
pub fn form(typed: &Encrypt, recipients: &[Announced]) -> Result<Form, Failure> {
    let best = if recipients.is_empty() {
        Form { cipher: SymmetricKeyAlgorithm::AES256, protection: Protection::SeipdV1 }
    } else {
        strongest_form(recipients)
    };
    let cipher = typed.cipher.map_or(best.cipher, SymmetricKeyAlgorithm::from);
    let is_tdes = cipher == SymmetricKeyAlgorithm::TripleDES;
    let aead = match typed.mode {
        None => None,
        Some(ModeName::Cfb) if typed.gnupg_aead => {
            return Err(Failure::Usage("--gnupg-aead goes with --mode ocb or eax".to_owned()));
        }
        Some(ModeName::Cfb) => return Ok(Form { cipher, protection: Protection::SeipdV1 }),
        Some(ModeName::Gcm) if typed.gnupg_aead => {
            return Err(Failure::Usage(
                "GnuPG's AEAD packet has no GCM: --gnupg-aead goes with ocb or eax".to_owned(),
            ));
        }
        Some(ModeName::Ocb) => Some(AeadAlgorithm::Ocb),
        Some(ModeName::Gcm) => Some(AeadAlgorithm::Gcm),
        Some(ModeName::Eax) => Some(AeadAlgorithm::Eax),
    };
    let aead = aead.or(typed.gnupg_aead.then_some(AeadAlgorithm::Ocb));
    let protection = match aead {
        Some(_) if is_tdes && typed.cipher.is_some() => {
            return Err(Failure::Usage("TDES goes with --mode cfb alone".to_owned()));
        }
        Some(aead) if typed.gnupg_aead => Protection::GnupgAead { aead, chunk_bits: CHUNK_BITS_WRITTEN },
        Some(aead) => Protection::SeipdV2 { aead, chunk_bits: CHUNK_BITS_WRITTEN },
        None if is_tdes => Protection::SeipdV1,
        None => best.protection,
    };
    // A recipient that announces only TDES gets AES with AEAD if AEAD was asked for.
    let cipher = if is_tdes && aead.is_some() { SymmetricKeyAlgorithm::AES128 } else { cipher };
    Ok(Form { cipher, protection })
}

/// Warnings about recipients that do not announce the form.
pub fn warnings(form: Form, recipients: &[(Fingerprint, Announced)]) -> Vec<String> {
    let deaf = recipients.iter().filter(|(_, announced)| !is_announced(form, announced));
    deaf.map(|(fingerprint, _)| {
        format!(
            "the key {fingerprint:X} does not announce {form}: its owner may be unable to read the message"
        )
    })
    .collect()
}

/// Compression as typed; a level alone means ZIP.
pub fn compression(name: Option<CompressName>, level: Option<u8>) -> Compression {
    let algorithm = match (name, level) {
        (Some(CompressName::Zip), _) | (None, Some(_)) => CompressionAlgorithm::ZIP,
        (Some(CompressName::Zlib), _) => CompressionAlgorithm::ZLIB,
        (Some(CompressName::None) | None, _) => CompressionAlgorithm::Uncompressed,
    };
    Compression { algorithm, level: level.unwrap_or(LEVEL_DEFAULT) }
}

impl From<CipherName> for SymmetricKeyAlgorithm {
    fn from(name: CipherName) -> Self {
        match name {
            CipherName::Aes128 => Self::AES128,
            CipherName::Aes192 => Self::AES192,
            CipherName::Aes256 => Self::AES256,
            CipherName::Tdes => Self::TripleDES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn chosen(words: &[&str], recipients: &[Announced]) -> Result<String, Failure> {
        let words = ["cryptand", "encrypt"].iter().chain(words);
        let Command::Encrypt(typed) = Arguments::try_parse_from(words).unwrap().command else {
            unreachable!("`encrypt` was typed")
        };
        form(&typed, recipients).map(|form| form.to_string())
    }

    #[test]
    fn what_is_typed_counts_and_the_rest_is_the_strongest() {
        let old = Announced { seipd_v1: true, ..Announced::default() };
        assert_eq!(chosen(&[], &[]).unwrap(), "SEIPDv1, AES-256 CFB");
        assert_eq!(chosen(&["--cipher", "tdes"], &[]).unwrap(), "SEIPDv1, TDES CFB");
        assert_eq!(chosen(&["--mode", "ocb"], &[]).unwrap(), "SEIPDv2, AES-256 OCB");
        assert_eq!(chosen(&["--mode", "gcm", "--cipher", "aes128"], &[]).unwrap(), "SEIPDv2, AES-128 GCM");
        assert_eq!(chosen(&["--mode", "eax", "--gnupg-aead"], &[]).unwrap(), "GnuPG AEAD, AES-256 EAX");
        assert_eq!(chosen(&["--gnupg-aead"], &[]).unwrap(), "GnuPG AEAD, AES-256 OCB");
        assert_eq!(
            chosen(&["--mode", "cfb", "--cipher", "aes192"], std::slice::from_ref(&old)).unwrap(),
            "SEIPDv1, AES-192 CFB"
        );
        assert!(chosen(&["--mode", "ocb", "--cipher", "tdes"], &[]).is_err());
        assert!(chosen(&["--mode", "gcm", "--gnupg-aead"], &[]).is_err());
        assert!(chosen(&["--mode", "cfb", "--gnupg-aead"], &[]).is_err());
    }

    #[test]
    fn a_level_alone_compresses() {
        let level = Some(1);
        assert_eq!(compression(None, None).algorithm, CompressionAlgorithm::Uncompressed);
        assert_eq!(compression(None, level), Compression { algorithm: CompressionAlgorithm::ZIP, level: 1 });
        assert_eq!(
            compression(Some(CompressName::None), level).algorithm,
            CompressionAlgorithm::Uncompressed
        );
        assert_eq!(compression(Some(CompressName::Zlib), None).level, LEVEL_DEFAULT);
    }
}
