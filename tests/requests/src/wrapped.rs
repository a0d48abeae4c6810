//! Keys of tokens of variable length, wrapped and unwrapped by OpenSSL.

use openssl::aes::{AesKey, unwrap_key, wrap_key};
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sha::sha256;
use openssl::sign::Signer;
use token::VariableToken;
use token::des::Origin;
use token::variable::{Attributes, PayloadVersion, Wrapper};

/// The head of `wrap/variable.rs`, by another library: the key of a token under this AES master key.
pub fn unwrapped(master: &[u8], token: &[u8]) -> Option<Vec<u8>> {
    let label = b"cryptand internal variable-length token";
    let input = [&1u32.to_be_bytes()[..], label, &[0], &256u32.to_be_bytes()].concat();
    let key = PKey::hmac(master).unwrap();
    let key = Signer::new(MessageDigest::sha256(), &key).unwrap().sign_oneshot_to_vec(&input).unwrap();
    plain(&key, token, 0)
}

/// The key of a payload that was wrapped under this key with a hash of the token from `hashed` on.
pub fn plain(key: &[u8], token: &[u8], hashed: usize) -> Option<Vec<u8>> {
    let payload_at = 30 + usize::from(u16::from_be_bytes([token[32], token[33]]));
    let payload = &token[payload_at..];
    [16usize, 24, 32].into_iter().find_map(|bytes| {
        let padding_bits = 8 * payload.len().checked_sub(44 + bytes)?;
        let initial = [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, padding_bits as u8, 32];
        let mut out = vec![0; payload.len() - 8];
        unwrap_key(&AesKey::new_decrypt(key).unwrap(), Some(initial), &mut out, payload).ok()?;
        let hash = openssl::sha::sha256(&token[hashed..payload_at]);
        let is_whole =
            out[..4] == [0; 4] && out[4..36] == hash && out[36 + bytes..].iter().all(|byte| *byte == 0);
        is_whole.then(|| out[36..36 + bytes].to_vec())
    })
}

/// The pattern of a transport key.
pub fn pattern(kek: &[u8]) -> [u8; 16] {
    let mut pattern = [0; 16];
    pattern[..8].copy_from_slice(&sha256(&[&[1], kek].concat())[..8]);
    pattern
}

/// An external token of a key, wrapped by OpenSSL.
pub fn made(kek: &[u8], attributes: &Attributes, payload: PayloadVersion, key: &[u8]) -> Vec<u8> {
    let skeleton = VariableToken::skeleton(Origin::External, payload, attributes.clone()).unwrap();
    let length = match payload {
        PayloadVersion::Variable => (44 + key.len()).next_multiple_of(8),
        PayloadVersion::Fixed => 80,
    };
    let under = Wrapper::Key(pattern(kek));
    let head = skeleton.with_payload(under, vec![0; length]).unwrap().head();
    let padding = length - 44 - key.len();
    let initial = [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 8 * padding as u8, 32];
    let rest = [&[0; 4][..], &sha256(&head[30..]), key, &vec![0; padding]].concat();
    let mut out = vec![0; length];
    wrap_key(&AesKey::new_encrypt(kek).unwrap(), Some(initial), &mut out, &rest).unwrap();
    skeleton.with_payload(under, out).unwrap().to_bytes().to_vec()
}
