//! AES in CFB (SP 800-38A, 6.3, whole blocks of feedback) over a text in pieces, alone or with SHA-1 of the plaintext.

use crate::algorithm::{CipherDirection, HashAlgorithm};
use crate::low::cfb::{CfbChain, CfbKey};
use crate::low::cpu::Cpu;
use crate::mid::hash::HashState;
use std::fmt;

/// Bytes that are hashed and enciphered in two passes at a time, so that the second finds them in the nearest cache.
const PIECE_BYTES: usize = 4096;

/// Block length of SHA-1 in bytes.
const SHA1_BLOCK_BYTES: usize = 64;

/// A text being enciphered or deciphered in AES-CFB, in pieces of any length; wiped when dropped.
pub struct Cfb {
    key: CfbKey,
    encipher: bool,
    at: CfbChain,
}

impl Cfb {
    /// `None` unless the key is 16, 24 or 32 bytes long.
    pub(crate) fn new(cpu: Cpu, direction: CipherDirection, key: &[u8], iv: &[u8; 16]) -> Option<Cfb> {
        Some(Cfb {
            key: CfbKey::new(cpu, key)?,
            encipher: direction == CipherDirection::Encipher,
            at: CfbChain { chain: *iv, used: 0 },
        })
    }

    /// Enciphers or deciphers the next piece of the text, in place.
    pub fn update(&mut self, data: &mut [u8]) {
        self.key.apply(self.encipher, &mut self.at, data);
    }
}

impl fmt::Debug for Cfb {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Cfb({})", if self.encipher { "encipher" } else { "decipher" })
    }
}

/// A text being enciphered or deciphered in AES-CFB, with SHA-1 of its plaintext, in one pass if that is faster. Wiped
/// when dropped.
///
/// For a "symmetrically encrypted integrity protected data packet, version 1" of OpenPGP (RFC 9580, 5.13.1) the
/// initialisation vector is zero. The random block, its two repeated bytes, the packets and the header of the
/// modification detection code go through [`CfbSha1::update`]. The code itself, which is [`CfbSha1::digest`], goes
/// through [`CfbSha1::update_unhashed`].
pub struct CfbSha1 {
    cfb: Cfb,
    sha1: HashState,
    /// Length of the hashed text so far, in bytes.
    text_bytes: u64,
}

impl CfbSha1 {
    /// `None` unless the key is 16, 24 or 32 bytes long.
    pub(crate) fn new(cpu: Cpu, direction: CipherDirection, key: &[u8], iv: &[u8; 16]) -> Option<CfbSha1> {
        let cfb = Cfb::new(cpu, direction, key, iv)?;
        Some(CfbSha1 { cfb, sha1: HashState::new(HashAlgorithm::Sha1), text_bytes: 0 })
    }

    /// Enciphers or deciphers the next piece of the text in place, and hashes its plaintext.
    pub fn update(&mut self, data: &mut [u8]) {
        let pending = self.text_bytes as usize % SHA1_BLOCK_BYTES;
        let head = data.len().min((SHA1_BLOCK_BYTES - pending) % SHA1_BLOCK_BYTES);
        self.text_bytes = self.text_bytes.wrapping_add(data.len() as u64);
        let (head, rest) = data.split_at_mut(head);
        self.in_two_passes(head);
        let rest = self.in_one_pass(rest);
        self.in_two_passes(rest);
    }

    /// Enciphers or deciphers the next piece of the text in place, without hashing it.
    pub fn update_unhashed(&mut self, data: &mut [u8]) {
        self.cfb.update(data);
    }

    /// SHA-1 of the plaintext hashed so far. More may follow.
    pub fn digest(&self) -> [u8; 20] {
        let mut digest = [0; 20];
        digest.copy_from_slice(&self.sha1.clone().finish()[..20]);
        digest
    }

    /// Processes whole SHA-1 blocks in one pass, if AES blocks have the same boundaries; returns the rest.
    fn in_one_pass<'a>(&mut self, data: &'a mut [u8]) -> &'a mut [u8] {
        if !self.cfb.key.has_sha1(self.cfb.encipher) || self.cfb.at.used != 0 {
            return data;
        }
        let (blocks, _) = data.as_chunks_mut::<16>();
        let (blocks, _) = blocks.as_chunks_mut::<4>();
        let taken_bytes = blocks.as_flattened().as_flattened().len();
        let Cfb { key, encipher, at } = &mut self.cfb;
        let compress = |sums: &mut [u32; 5]| key.apply_sha1(*encipher, &mut at.chain, sums, blocks);
        if self.sha1.take_sha1_blocks(taken_bytes as u64, compress) { &mut data[taken_bytes..] } else { data }
    }

    fn in_two_passes(&mut self, data: &mut [u8]) {
        for piece in data.chunks_mut(PIECE_BYTES) {
            if self.cfb.encipher {
                self.sha1.update(piece);
                self.cfb.update(piece);
            } else {
                self.cfb.update(piece);
                self.sha1.update(piece);
            }
        }
    }
}

impl fmt::Debug for CfbSha1 {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CfbSha1({:?})", self.cfb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A processor with only some of the instructions gives the same results.
    #[test]
    fn every_set_of_instructions_gives_the_same() {
        let all = Cpu::up_to_avx512();
        let cpus = [
            Cpu::PORTABLE,
            Cpu { sha: None, ..all },
            Cpu { aes: None, ..all },
            Cpu { avx512: None, ..all },
            all,
        ];
        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
            for length in [0, 15, 64, 100, 1000, 9000] {
                let answers = cpus.map(|cpu| {
                    let mut text: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
                    let mut state = CfbSha1::new(cpu, direction, &[3; 24], &[1; 16]).unwrap();
                    state.update(&mut text);
                    (text, state.digest())
                });
                assert!(answers.iter().all(|answer| *answer == answers[0]), "{direction:?} {length}");
            }
        }
    }
}
