//! rPGP as a program uses it for files: its message builder and its reader, in the caller's thread. Needs neither
//! unsafe code nor an installed library.

use pgp::composed::{
    Deserializable, EncryptionCaps, KeyType, Message, MessageBuilder, SecretKeyParamsBuilder,
    SignedPublicKey, SignedPublicSubKey, SignedSecretKey, SubkeyParamsBuilder,
};
use pgp::crypto::aead::{AeadAlgorithm, ChunkSize};
use pgp::crypto::hash::HashAlgorithm;
use pgp::crypto::sym::SymmetricKeyAlgorithm;
use pgp::ser::Serialize;
use pgp::types::{CompressionAlgorithm, Password};
use rand::thread_rng;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// Version of the library.
pub const VERSION: &str = pgp::VERSION;

/// How the body of a message is enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// CFB with the modification detection code (version 1).
    Cfb,
    /// GCM in chunks (version 2).
    Gcm,
    /// OCB in chunks (version 2).
    Ocb,
}

/// Key length in bits: 128 or 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aes {
    /// AES-128.
    Aes128,
    /// AES-256.
    Aes256,
}

/// The user ID of the key that [`generate`] makes.
pub const USER: &str = "bench@example.org";

/// Generates an unlocked RSA-2048 key of version 4, which every implementation reads, with an encryption subkey. Writes
/// the private key and its certificate.
///
/// # Errors
/// Errors of rPGP, and of writing the files.
pub fn generate(key: &Path, certificate: &Path) -> Result<(), Box<dyn Error>> {
    let kind = || KeyType::Rsa(2048);
    let subkey = SubkeyParamsBuilder::default().key_type(kind()).can_encrypt(EncryptionCaps::All).build()?;
    let made = SecretKeyParamsBuilder::default()
        .key_type(kind())
        .can_certify(true)
        .can_sign(true)
        .primary_user_id(USER.to_owned())
        .preferred_symmetric_algorithms(
            vec![SymmetricKeyAlgorithm::AES256, SymmetricKeyAlgorithm::AES128].into(),
        )
        .preferred_hash_algorithms(vec![HashAlgorithm::Sha256].into())
        .preferred_compression_algorithms(vec![CompressionAlgorithm::ZIP, CompressionAlgorithm::ZLIB].into())
        .subkeys(vec![subkey])
        .build()?
        .generate(thread_rng())?;
    fs::write(key, made.to_bytes()?)?;
    fs::write(certificate, made.to_public_key().to_bytes()?)?;
    Ok(())
}

/// Encrypts a file to the first subkey of a certificate. `compress` means ZIP at rPGP's level, 6.
///
/// # Errors
/// Errors of rPGP, and of the files; a certificate without a subkey.
pub fn encrypt(
    certificate: &Path,
    aes: Aes,
    mode: Mode,
    compress: bool,
    from: &Path,
    to: &Path,
) -> Result<(), Box<dyn Error>> {
    let (certificate, _) = SignedPublicKey::from_reader_single(BufReader::new(File::open(certificate)?))?;
    let subkey: &SignedPublicSubKey =
        certificate.public_subkeys.first().ok_or("the certificate has no subkey")?;
    let cipher = match aes {
        Aes::Aes128 => SymmetricKeyAlgorithm::AES128,
        Aes::Aes256 => SymmetricKeyAlgorithm::AES256,
    };
    let mut builder = MessageBuilder::from_file(from);
    if compress {
        builder.compression(CompressionAlgorithm::ZIP);
    }
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(to)?);
    let aead = match mode {
        Mode::Cfb => {
            let mut builder = builder.seipd_v1(thread_rng(), cipher);
            builder.encrypt_to_key(thread_rng(), &subkey)?;
            builder.to_writer(thread_rng(), &mut out)?;
            return Ok(out.flush()?);
        }
        Mode::Gcm => AeadAlgorithm::Gcm,
        Mode::Ocb => AeadAlgorithm::Ocb,
    };
    let mut builder = builder.seipd_v2(thread_rng(), cipher, aead, ChunkSize::C64KiB);
    builder.encrypt_to_key(thread_rng(), &subkey)?;
    builder.to_writer(thread_rng(), &mut out)?;
    Ok(out.flush()?)
}

/// Decrypts a file with an unlocked private key.
///
/// # Errors
/// Errors of rPGP, and of the files.
pub fn decrypt(key: &Path, from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let (key, _) = SignedSecretKey::from_reader_single(&fs::read(key)?[..])?;
    let mut message = Message::from_file(from)?.decrypt(&Password::empty(), &key)?;
    if message.is_compressed() {
        message = message.decompress()?;
    }
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(to)?);
    std::io::copy(&mut message, &mut out)?;
    Ok(out.flush()?)
}

/// Size of the buffer for writing files, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encrypted_is_decrypted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        generate(&at("key"), &at("certificate")).unwrap();
        let text = b"a line that repeats\n".repeat(20_000);
        fs::write(at("text"), &text).unwrap();
        for (aes, mode, compress) in [
            (Aes::Aes128, Mode::Cfb, false),
            (Aes::Aes256, Mode::Cfb, true),
            (Aes::Aes128, Mode::Gcm, false),
            (Aes::Aes128, Mode::Ocb, true),
        ] {
            encrypt(&at("certificate"), aes, mode, compress, &at("text"), &at("message")).unwrap();
            assert_eq!(fs::metadata(at("message")).unwrap().len() < text.len() as u64, compress);
            decrypt(&at("key"), &at("message"), &at("again")).unwrap();
            assert!(fs::read(at("again")).unwrap() == text, "{mode:?}");
        }
        fs::write(at("message"), b"no message").unwrap();
        assert!(decrypt(&at("key"), &at("message"), &at("again")).is_err());
    }
}
