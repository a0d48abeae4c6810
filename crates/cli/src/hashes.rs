//! The hashes that RSA tokens carry of their own sections, from the engine.

use engine::{Engine, HashAlgorithm};
use token::pka::SectionHash;

/// Hashes of an engine. Both algorithms are always served; a digest of zeros would match no token.
pub struct Hashes<'a>(pub &'a Engine);

impl Hashes<'_> {
    fn digest<const N: usize>(&self, algorithm: HashAlgorithm, data: &[u8]) -> [u8; N] {
        let mut digest = [0; N];
        if let Ok(found) = self.0.hash(algorithm, data) {
            digest.copy_from_slice(&found[..N]);
        }
        digest
    }
}

impl SectionHash for Hashes<'_> {
    fn sha1(&self, data: &[u8]) -> [u8; 20] {
        self.digest(HashAlgorithm::Sha1, data)
    }
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        self.digest(HashAlgorithm::Sha256, data)
    }
}
