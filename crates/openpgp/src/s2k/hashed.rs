//! Derives keys from passphrases by a hash: simple, salted, iterated (RFC 9580, 3.7.1.1 to 3.7.1.3).

use crate::compute::{engine, engine_hash};
use crate::{HashAlgorithm, Passphrase};
use engine::HashState;
use pgp::types::StringToKey;
use zeroize::Zeroizing;

/// Derives the key with the engine's hashes; `None` if the specifier is not for hashing, or the engine does not support
/// its hash.
pub(super) fn key(
    s2k: &StringToKey,
    passphrase: &Passphrase,
    key_bytes: usize,
) -> Option<Zeroizing<Vec<u8>>> {
    let (hash, salt, text_bytes) = match s2k {
        StringToKey::Simple { hash_alg } => (*hash_alg, &[][..], 0),
        StringToKey::Salted { hash_alg, salt } => (*hash_alg, &salt[..], 0),
        StringToKey::IteratedAndSalted { hash_alg, salt, count } => {
            (*hash_alg, &salt[..], text_bytes(*count))
        }
        _ => return None,
    };
    let text = Text::new(salt, passphrase.bytes(), text_bytes);
    let mut key = Zeroizing::new(vec![0; key_bytes]);
    for (index, part) in key.chunks_mut(hash.digest_size()?).enumerate() {
        let mut state = state(hash)?;
        // If a key is longer than a digest, each further part has one more zero octet before its text.
        (0..index).for_each(|_| state.update(&[0]));
        text.hash(&mut state);
        let digest = Zeroizing::new(state.finish());
        part.copy_from_slice(&digest[..part.len()]);
    }
    Some(key)
}

fn state(hash: HashAlgorithm) -> Option<HashState> {
    engine().hash_state(engine_hash(hash)?).ok()
}

/// The number of bytes of text that a coded count asks for (3.7.1.3).
fn text_bytes(count: u8) -> usize {
    (16 + usize::from(count & 15)) << (count / 16 + 6)
}

/// Salt and passphrase, repeated to a given length.
struct Text {
    /// Salt and passphrase as often as they fit into [`REPEATED_BYTES`], at least once.
    repeated: Zeroizing<Vec<u8>>,
    bytes: usize,
}

impl Text {
    /// A text of `bytes` bytes, but at least salt and passphrase once.
    fn new(salt: &[u8], passphrase: &[u8], bytes: usize) -> Self {
        let once = salt.len() + passphrase.len();
        let bytes = bytes.max(once);
        let times = REPEATED_BYTES.min(bytes).checked_div(once).unwrap_or(0).max(1);
        // Memory for all of it: growing would leave copies of the passphrase behind.
        let mut repeated = Zeroizing::new(Vec::with_capacity(times * once));
        for _ in 0..times {
            repeated.extend_from_slice(salt);
            repeated.extend_from_slice(passphrase);
        }
        Self { repeated, bytes }
    }

    fn hash(&self, state: &mut HashState) {
        let mut left = self.bytes;
        while left > 0 {
            let piece = &self.repeated[..left.min(self.repeated.len())];
            state.update(piece);
            left -= piece.len();
        }
    }
}

/// Bytes of text that are hashed by one call. The cost of a call does not matter then, and the bytes stay in the
/// nearest cache.
const REPEATED_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HASHES: [HashAlgorithm; 7] = [
        HashAlgorithm::Sha1,
        HashAlgorithm::Sha224,
        HashAlgorithm::Sha256,
        HashAlgorithm::Sha384,
        HashAlgorithm::Sha512,
        HashAlgorithm::Sha3_256,
        HashAlgorithm::Sha3_512,
    ];

    fn assert_same(s2k: &StringToKey, passphrase: &[u8], key_bytes: usize) {
        let expected = s2k.derive_key(passphrase, key_bytes).unwrap();
        let key = key(s2k, &Passphrase::new(passphrase.to_vec()), key_bytes).unwrap();
        assert_eq!(&key[..], expected.as_ref(), "{s2k:?} {} {key_bytes}", passphrase.len());
    }

    proptest! {
        #[test]
        fn keys_are_those_of_rpgp(
            hash in proptest::sample::select(&HASHES[..]),
            salt: [u8; 8],
            count in 0u8..=96,
            // Passphrases may be longer than the smallest count's text; keys have few parts or many, with three lengths
            // of hashes.
            passphrase in proptest::collection::vec(any::<u8>(), 0..1200),
            key_bytes in 0usize..=130,
        ) {
            assert_same(&StringToKey::Simple { hash_alg: hash }, &passphrase, key_bytes);
            assert_same(&StringToKey::Salted { hash_alg: hash, salt }, &passphrase, key_bytes);
            assert_same(&StringToKey::IteratedAndSalted { hash_alg: hash, salt, count }, &passphrase, key_bytes);
        }
    }

    #[test]
    fn texts_around_what_one_call_takes_are_whole() {
        let salt = [9; 8];
        for count in [0, 95, 96, 97, 160] {
            let s2k = StringToKey::IteratedAndSalted { hash_alg: HashAlgorithm::Sha1, salt, count };
            for once in [8, 9, REPEATED_BYTES / 2, REPEATED_BYTES - 1, REPEATED_BYTES, REPEATED_BYTES + 1] {
                assert_same(&s2k, &vec![b'x'; once - salt.len()], 32);
            }
        }
    }

    #[test]
    fn a_key_of_two_digests_by_gnupgs_usual_count() {
        let salt = *b"saltsalt";
        assert_same(
            &StringToKey::IteratedAndSalted { hash_alg: HashAlgorithm::Sha1, salt, count: 255 },
            b"correct horse battery staple",
            32,
        );
    }

    #[test]
    fn other_specifiers_are_others_to_serve() {
        let argon2 = StringToKey::Argon2 { salt: [0; 16], t: 1, p: 1, m_enc: 3 };
        let md5 = StringToKey::Simple { hash_alg: HashAlgorithm::Md5 };
        let unknown = StringToKey::Simple { hash_alg: HashAlgorithm::Other(99) };
        for s2k in [argon2, md5, unknown] {
            assert!(key(&s2k, &Passphrase::new(b"x".to_vec()), 16).is_none(), "{s2k:?}");
        }
    }
}
