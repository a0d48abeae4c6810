//! Key tokens, as cards and people's tools read them.

use engine::{Engine, HashAlgorithm, Options};
use std::sync::LazyLock;
use token::pka::{PkaToken, SectionHash};
use token::{AesToken, DesToken, TOKEN_BYTES, tvv};

pub(crate) static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| Engine::new(Options::default()).expect("an engine"));

/// The hashes that RSA tokens carry of their own sections.
pub(crate) struct Hashes;

impl SectionHash for Hashes {
    fn sha1(&self, data: &[u8]) -> [u8; 20] {
        let digest = ENGINE.hash(HashAlgorithm::Sha1, data).expect("SHA-1 is served");
        *digest.first_chunk().expect("20 of 64 bytes")
    }
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        let digest = ENGINE.hash(HashAlgorithm::Sha256, data).expect("SHA-256 is served");
        *digest.first_chunk().expect("32 of 64 bytes")
    }
}

/// DES, AES and PKA tokens; fixed-length ones also with their token-validation value made right, so
/// that the fields behind it are reached.
pub fn key_token(data: &[u8]) {
    fixed(data);
    if let Some(field) = data.first_chunk::<TOKEN_BYTES>() {
        let mut sealed = *field;
        tvv::seal(&mut sealed);
        fixed(&sealed);
    }
    if let Ok(token) = PkaToken::parse(data, &Hashes) {
        assert!(token.modulus_bits() >= 512, "a shorter modulus is refused");
        assert!(data.starts_with(token.bytes()));
    }
}

fn fixed(field: &[u8]) {
    if let Ok(token) = DesToken::parse(field) {
        assert_eq!(token.to_bytes()[..], field[..TOKEN_BYTES], "what is read is written back");
    }
    if let Ok(token) = AesToken::parse(field) {
        assert_eq!(token.to_bytes()[..], field[..TOKEN_BYTES], "what is read is written back");
    }
}
