//! Verification patterns: public values by which two parties see that they hold the same key.

use engine::{
    CipherAlgorithm, CipherDirection, Engine, MDC_BYTES, MdcAlgorithm, MdcItem, Mode, sha1, sha256,
};
use token::pattern::{CONSTANT, MASTER_KEY_PREFIX, PATTERN_BYTES};
use wire::control::{MasterKeyPattern, Register};
use zeroize::Zeroize;

/// The verification pattern of a master key, of the length of its register.
///
/// AES and APKA: first 8 bytes of SHA-256 of X'01' and the key. SYM: the same with SHA-1, or, where the third part
/// equals the first, the pattern of a double-length key. ASYM: the 16 bytes of MDC-4 of the key. A key of another
/// length has a pattern too, but no register takes it.
pub fn master_key_pattern(engine: &Engine, register: Register, key: &[u8]) -> MasterKeyPattern {
    let field = if register == Register::Asym { mdc_4(engine, key) } else { both(engine, register, key) };
    MasterKeyPattern::new(register, field)
}

/// What CSNBKYT shows of a master key: the first 16 bytes of the hash of its register, or the pattern of a
/// double-length key and zeros.
pub(crate) fn both(engine: &Engine, register: Register, key: &[u8]) -> [u8; 2 * PATTERN_BYTES] {
    let mut out = [0; 2 * PATTERN_BYTES];
    if register == Register::Sym && key.len() == 24 && key[..8] == key[16..] {
        out[..PATTERN_BYTES].copy_from_slice(&double_length(engine, &key[..16]));
        return out;
    }
    let mut input = Vec::with_capacity(1 + key.len());
    input.push(MASTER_KEY_PREFIX);
    input.extend_from_slice(key);
    match register {
        Register::Aes | Register::Apka => out.copy_from_slice(&sha256(&input)[..2 * PATTERN_BYTES]),
        Register::Sym | Register::Asym => out.copy_from_slice(&sha1(&input)[..2 * PATTERN_BYTES]),
    }
    input.zeroize();
    out
}

/// MDC-4 of whole blocks of eight bytes, which a key of the ASYM register is.
fn mdc_4(engine: &Engine, key: &[u8]) -> [u8; MDC_BYTES] {
    let mut items = [MdcItem::new(MdcAlgorithm::Mdc4, key)];
    engine.mdc_batch(&mut items);
    items[0].state
}

/// The pattern of a DES master key of two parts: `IR = MK1 xor e_C(MK1); MK2 xor e_IR(MK2)`.
fn double_length(engine: &Engine, key: &[u8]) -> [u8; 8] {
    let mut intermediate = mix(engine, &CONSTANT, &key[..8]);
    let out = mix(engine, &intermediate, &key[8..16]);
    intermediate.zeroize();
    out
}

/// `value xor e_key(value)`.
fn mix(engine: &Engine, key: &[u8; 8], value: &[u8]) -> [u8; 8] {
    let mut block = [0; 8];
    block.copy_from_slice(value);
    encipher_block(engine, key, &mut block);
    for (byte, other) in block.iter_mut().zip(value) {
        *byte ^= other;
    }
    block
}

/// Single DES on one block, as a step of a pattern.
fn encipher_block(engine: &Engine, key: &[u8; 8], block: &mut [u8; 8]) {
    // Eight bytes are a DES key and a DES block: neither call can refuse.
    let Ok(prepared) = engine.cipher_key_internal(CipherAlgorithm::Des, key) else { return };
    let mut items = [engine::CipherItem { key: &prepared, chain: [0; 16], data: block, result: Ok(()) }];
    engine.cipher_batch(Mode::Ecb, CipherDirection::Encipher, &mut items);
}

/// The pattern of Key_Test for a DES key of 8 or 16 bytes and a random number:
/// `KK = KL xor e_C(KL); e_KK(KR xor RN) xor KR xor RN`, KR = 0 for a single-length key.
///
/// A longer key has no such pattern: its first two parts would be taken.
pub(crate) fn key_test(engine: &Engine, key: &[u8], random: &[u8; 8]) -> [u8; 8] {
    let mut intermediate = mix(engine, &CONSTANT, &key[..8]);
    let mut value = *random;
    for (byte, right) in value.iter_mut().zip(key.get(8..16).unwrap_or(&[0; 8])) {
        *byte ^= right;
    }
    let out = mix(engine, &intermediate, &value);
    intermediate.zeroize();
    value.zeroize();
    out
}

/// The pattern of an HMAC key, SHA2VP1: the first 16 bytes of SHA-256 of the algorithm and the type of the key as
/// tokens of variable length have them (X'03', X'0002'), its bits (2 bytes, the high one first), and the key.
///
/// Linux on Z CCA, "SHAVP1 algorithm".
pub(crate) fn hmac_key(key: &[u8]) -> [u8; 16] {
    let mut input = Vec::with_capacity(5 + key.len());
    input.extend_from_slice(&[0x03, 0x00, 0x02]);
    input.extend_from_slice(&((8 * key.len()) as u16).to_be_bytes());
    input.extend_from_slice(key);
    let digest = sha256(&input);
    input.zeroize();
    let mut out = [0; 16];
    out.copy_from_slice(&digest[..16]);
    out
}
