//! CFB and SHA-1 in one loop, with the AES and the SHA instructions.
//!
//! ```text
//! encipher, a block of SHA-1 (20 groups of four rounds) beside four of AES:
//!   SHA-1  P0..P3 -> |0 1 2 3 4|5 6 7 8 9|10     14|15     19|
//!   AES              | C0      | C1      | C2      | C3      |  each waits for the one before
//! decipher, one block of SHA-1 behind:
//!   SHA-1  P of n -> |0 1 2 3 4|5 6 7 8 9|10     14|15     19|
//!   AES    C of n+1  | four blocks side by side              | -> P of n+1
//! ```
//!
//! 1. When enciphering, both chains wait for their own last result (four to six cycles an instruction) and leave the
//!    units idle. Side by side they take as long as the longer one, AES, alone.
//! 2. The last round adds its key at its end, so the text can be added to that key: `C = AESENCLAST(x, k_last ^ P)`.
//!    The start of the next block is a second last round with `k_last ^ P ^ k_0`, so no XOR delays the next block.
//! 3. When deciphering, the AES blocks are independent, and only SHA-1 is a chain.
//! 4. Two or three rounds of AES stand between two groups of SHA-1, so that the processor need not look far ahead for
//!    either chain.
//!
//! Bound when enciphering: ten, twelve or fourteen rounds of four cycles for sixteen bytes, 0.40 bytes a cycle with
//! AES-128; when deciphering: SHA-1 alone. The first is reached within one per cent, the second within seven. One pass
//! takes 0.56 (AES-128) of the time of CFB and SHA-1 one after the other with the same instructions, and 0.85 when
//! deciphering. Compared with CFB on 512-bit vectors (`low::aes::cfb_vaes`) it takes 1.03, so deciphering does not use
//! it there.

use super::{Block, ROUND_KEYS_MAX};
use crate::low::cpu::{Aes, Sha};
use crate::low::sha::ni::{sha1_four_rounds, sha1_groups};
use crate::low::wipe_bytes;
use std::arch::x86_64::*;

type Vector = __m128i;

/// Expands a key of 16, 24 or 32 bytes (FIPS 197, 5.2). `AESENCLAST` of four equal words substitutes bytes without a
/// table: the row shifts leave such a block unchanged.
#[target_feature(enable = "aes,sse4.1,avx")]
pub(super) fn expand(_token: Aes, key: &[u8], round_keys: &mut [Block; ROUND_KEYS_MAX]) {
    let (words, _) = round_keys.as_flattened_mut().as_chunks_mut::<4>();
    let (key, _) = key.as_chunks::<4>();
    words[..key.len()].copy_from_slice(key);
    let mut constant = 1u8;
    for at in key.len()..4 * (key.len() + 7) {
        let mut word = i32::from_le_bytes(words[at - 1]);
        let place = at % key.len();
        if place == 0 || (key.len() == 8 && place == 4) {
            word = _mm_cvtsi128_si32(_mm_aesenclast_si128(_mm_set1_epi32(word), _mm_setzero_si128()));
        }
        if place == 0 {
            word = word.rotate_right(8) ^ i32::from(constant);
            constant = (constant << 1) ^ if constant & 0x80 == 0 { 0 } else { 0x1b };
        }
        words[at] = (word ^ i32::from_le_bytes(words[at - key.len()])).to_le_bytes();
    }
}

/// Enciphers whole blocks in CFB. `chain` is the last ciphertext block before the text, then the last of its own.
#[target_feature(enable = "aes,sse4.1,avx")]
pub(super) fn encipher<const ROUNDS: usize>(
    _token: Aes,
    round_keys: &[Block; ROUND_KEYS_MAX],
    chain: &mut Block,
    data: &mut [Block],
) {
    let k = round_keys.each_ref().map(|key| get(key));
    let mut x = _mm_xor_si128(get(chain), k[0]);
    for block in data.iter_mut() {
        for key in &k[1..ROUNDS] {
            x = _mm_aesenc_si128(x, *key);
        }
        let last = _mm_xor_si128(k[ROUNDS], get(block));
        put(block, _mm_aesenclast_si128(x, last));
        x = _mm_aesenclast_si128(x, _mm_xor_si128(last, k[0]));
    }
    put(chain, _mm_xor_si128(x, k[0]));
}

/// Deciphers what [`encipher`] enciphered, eight blocks in flight.
#[target_feature(enable = "aes,sse4.1,avx")]
pub(super) fn decipher<const ROUNDS: usize>(
    _token: Aes,
    round_keys: &[Block; ROUND_KEYS_MAX],
    chain: &mut Block,
    data: &mut [Block],
) {
    let k = round_keys.each_ref().map(|key| get(key));
    let (groups, rest) = data.as_chunks_mut::<8>();
    for group in groups {
        decipher_some::<ROUNDS, 8>(&k, chain, group);
    }
    for block in rest {
        decipher_some::<ROUNDS, 1>(&k, chain, std::array::from_mut(block));
    }
}

#[inline]
#[target_feature(enable = "aes,sse4.1,avx")]
fn decipher_some<const ROUNDS: usize, const BLOCKS: usize>(
    k: &[Vector; ROUND_KEYS_MAX],
    chain: &mut Block,
    blocks: &mut [Block; BLOCKS],
) {
    let texts = blocks.each_ref().map(|block| get(block));
    let mut x = [get(chain); BLOCKS];
    x[1..].copy_from_slice(&texts[..BLOCKS - 1]);
    *chain = blocks[BLOCKS - 1];
    x = x.map(|x| _mm_xor_si128(x, k[0]));
    for key in &k[1..ROUNDS] {
        x = x.map(|x| _mm_aesenc_si128(x, *key));
    }
    for ((block, x), text) in blocks.iter_mut().zip(x).zip(texts) {
        put(block, _mm_aesenclast_si128(x, _mm_xor_si128(k[ROUNDS], text)));
    }
}

/// Enciphers whole SHA-1 blocks in CFB, and hashes their plaintext into `sums`.
#[target_feature(enable = "aes,sha,ssse3,sse4.1,avx")]
pub(super) fn encipher_sha1<const ROUNDS: usize>(
    _tokens: (Aes, Sha),
    round_keys: &[Block; ROUND_KEYS_MAX],
    chain: &mut Block,
    sums: &mut [u32; 5],
    data: &mut [[Block; 4]],
) {
    let k = round_keys.each_ref().map(|key| get(key));
    let mut s = get_sums(sums);
    let mut x = _mm_xor_si128(get(chain), k[0]);
    for blocks in data.iter_mut() {
        let mut w = message(blocks.each_ref().map(|block| get(block)));
        let [mut abcd, mut e] = s;
        // Four rounds of SHA-1, and a fifth of an AES block.
        macro_rules! group {
            ($g:literal, $f:literal) => {
                sha1_four_rounds!(abcd, e, w, $g, $f);
                for round in $g % 5 * ROUNDS / 5..($g % 5 + 1) * ROUNDS / 5 {
                    if round > 0 {
                        x = _mm_aesenc_si128(x, k[round]);
                    }
                }
                if $g % 5 == 4 {
                    let last = _mm_xor_si128(k[ROUNDS], get(&blocks[$g / 5]));
                    put(&mut blocks[$g / 5], _mm_aesenclast_si128(x, last));
                    x = _mm_aesenclast_si128(x, _mm_xor_si128(last, k[0]));
                }
            };
        }
        sha1_groups!(group);
        s = [_mm_add_epi32(s[0], abcd), _mm_sha1nexte_epu32(e, s[1])];
    }
    put(chain, _mm_xor_si128(x, k[0]));
    put_sums(sums, s);
}

/// Deciphers what [`encipher_sha1`] enciphered, and hashes the plaintext into `sums`.
#[target_feature(enable = "aes,sha,ssse3,sse4.1,avx")]
pub(super) fn decipher_sha1<const ROUNDS: usize>(
    _tokens: (Aes, Sha),
    round_keys: &[Block; ROUND_KEYS_MAX],
    chain: &mut Block,
    sums: &mut [u32; 5],
    data: &mut [[Block; 4]],
) {
    let k = round_keys.each_ref().map(|key| get(key));
    let mut s = get_sums(sums);
    let Some((first, _)) = data.split_first_mut() else { return };
    decipher_some::<ROUNDS, 4>(&k, chain, first);
    // At the end of the text, the key stream of the next block is computed into these.
    let mut none = [[0; 16]; 4];
    for at in 0..data.len() {
        let (plain, ahead) = data.split_at_mut(at + 1);
        let mut w = message(plain[at].each_ref().map(|block| get(block)));
        let is_last = ahead.is_empty();
        let next = ahead.first_mut().unwrap_or(&mut none);
        let texts = next.each_ref().map(|block| get(block));
        let mut x = [get(chain), texts[0], texts[1], texts[2]].map(|text| _mm_xor_si128(text, k[0]));
        if !is_last {
            *chain = next[3];
        }
        let [mut abcd, mut e] = s;
        // Four rounds of SHA-1, and one of AES.
        macro_rules! group {
            ($g:literal, $f:literal) => {
                sha1_four_rounds!(abcd, e, w, $g, $f);
                if $g > 0 && $g < ROUNDS {
                    x = x.map(|x| _mm_aesenc_si128(x, k[$g % ROUNDS]));
                }
            };
        }
        sha1_groups!(group);
        s = [_mm_add_epi32(s[0], abcd), _mm_sha1nexte_epu32(e, s[1])];
        for ((block, x), text) in next.iter_mut().zip(x).zip(texts) {
            put(block, _mm_aesenclast_si128(x, _mm_xor_si128(k[ROUNDS], text)));
        }
    }
    wipe_bytes(none.as_flattened_mut());
    put_sums(sums, s);
}

/// Loads sixteen words of a message, four a vector, the first in the highest place.
#[inline]
#[target_feature(enable = "ssse3")]
fn message(text: [Vector; 4]) -> [Vector; 4] {
    let reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    text.map(|text| _mm_shuffle_epi8(text, reverse))
}

/// Loads words a to d as one vector, and e as another, the first in the highest place.
#[inline]
#[target_feature(enable = "sse4.1")]
fn get_sums(sums: &[u32; 5]) -> [Vector; 2] {
    let [a, b, c, d, e] = sums.map(u32::cast_signed);
    [_mm_set_epi32(a, b, c, d), _mm_set_epi32(e, 0, 0, 0)]
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn put_sums(sums: &mut [u32; 5], [abcd, e]: [Vector; 2]) {
    *sums = [
        _mm_extract_epi32::<3>(abcd),
        _mm_extract_epi32::<2>(abcd),
        _mm_extract_epi32::<1>(abcd),
        _mm_extract_epi32::<0>(abcd),
        _mm_extract_epi32::<3>(e),
    ]
    .map(i32::cast_unsigned);
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn get(block: &Block) -> Vector {
    // SAFETY: a block is exactly one vector long.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn put(block: &mut Block, vector: Vector) {
    // SAFETY: a block is exactly one vector long.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), vector) }
}
