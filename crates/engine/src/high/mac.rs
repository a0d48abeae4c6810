//! MACs from block ciphers: X9.9, X9.19 and CMAC, whole or in segments, many independent requests in one
//! call.
//!
//! - X9.9 (also FIPS 113, and ISO 9797-1 algorithm 1 with padding method 1): CBC under one DES key, the
//!   last block padded with zeros; the MAC is the last chaining value.
//! - X9.19 optional procedure (ISO 9797-1 algorithm 3, padding method 1): as X9.9 under the left key, then
//!   the last chaining value deciphered under the right key and enciphered under the left.
//! - CMAC (SP 800-38B): CBC with the last block XORed with one of two subkeys.

use std::fmt;

use crate::algorithm::{CipherAlgorithm, CipherDirection, MacAlgorithm};
use crate::error::{KeyError, MacError};
use crate::low::cpu::Cpu;
use crate::low::wipe_bytes;
use crate::mid::cipher::CipherKey;

/// A prepared MAC key; zero when dropped.
pub struct MacKey {
    algorithm: MacAlgorithm,
    key: CipherKey,
    last: LastStep,
}

enum LastStep {
    /// X9.9: none.
    None,
    /// X9.19: decipher under this, then encipher under the first key.
    Retail(CipherKey),
    /// CMAC: the subkeys for a whole and for a partial last block.
    Subkeys(Box<[[u8; 16]; 2]>),
}

impl MacKey {
    /// Prepares a key of any algorithm, weak ones too: the callers decide. An error only for a wrong length.
    pub(crate) fn new(algorithm: MacAlgorithm, key: &[u8]) -> Result<MacKey, KeyError> {
        if key.len() != algorithm.key_bytes() {
            return Err(KeyError::MacKeyLength { algorithm, bytes: key.len() });
        }
        let (first, last) = match algorithm {
            MacAlgorithm::X99 => (CipherKey::new(CipherAlgorithm::Des, key)?, LastStep::None),
            MacAlgorithm::X919 => (
                CipherKey::new(CipherAlgorithm::Des, &key[..8])?,
                LastStep::Retail(CipherKey::new(CipherAlgorithm::Des, &key[8..])?),
            ),
            MacAlgorithm::CmacTdes2 => cmac(CipherAlgorithm::Tdes2, key)?,
            MacAlgorithm::CmacTdes3 => cmac(CipherAlgorithm::Tdes3, key)?,
            MacAlgorithm::CmacAes128 => cmac(CipherAlgorithm::Aes128, key)?,
            MacAlgorithm::CmacAes192 => cmac(CipherAlgorithm::Aes192, key)?,
            MacAlgorithm::CmacAes256 => cmac(CipherAlgorithm::Aes256, key)?,
        };
        Ok(MacKey { algorithm, key: first, last })
    }

    /// The algorithm it was prepared for.
    pub fn algorithm(&self) -> MacAlgorithm {
        self.algorithm
    }

    fn segment(&self, chain: &mut [u8; 16], text: &[u8], last: bool) -> Result<[u8; 16], MacError> {
        let block_bytes = self.algorithm.block_bytes();
        if !last {
            if !text.len().is_multiple_of(block_bytes) {
                return Err(MacError::SegmentLength { bytes: text.len(), block_bytes });
            }
            self.key.cbc_mac(chain, text);
            return Ok([0; 16]);
        }
        if let LastStep::Subkeys(subkeys) = &self.last {
            return self.last_of_cmac(subkeys, chain, text);
        }
        let (whole, rest) = text.split_at(text.len() - text.len() % block_bytes);
        self.key.cbc_mac(chain, whole);
        if !rest.is_empty() {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            self.key.cbc_mac(chain, &padded);
            wipe_bytes(&mut padded);
        }
        if let LastStep::Retail(second) = &self.last {
            second.block(CipherDirection::Decipher, chain);
            self.key.block(CipherDirection::Encipher, chain);
        }
        Ok(*chain)
    }

    fn last_of_cmac(
        &self,
        subkeys: &[[u8; 16]; 2],
        chain: &mut [u8; 16],
        text: &[u8],
    ) -> Result<[u8; 16], MacError> {
        let block_bytes = self.algorithm.block_bytes();
        if text.is_empty() && *chain != [0; 16] {
            return Err(MacError::LastSegmentEmpty);
        }
        let before = text.len().saturating_sub(1) / block_bytes * block_bytes;
        let (whole, rest) = text.split_at(before);
        self.key.cbc_mac(chain, whole);
        let mut block = [0; 16];
        block[..rest.len()].copy_from_slice(rest);
        let subkey = if rest.len() == block_bytes {
            &subkeys[0]
        } else {
            block[rest.len()] = 0x80;
            &subkeys[1]
        };
        for (byte, key_byte) in block.iter_mut().zip(subkey) {
            *byte ^= key_byte;
        }
        self.key.cbc_mac(chain, &block[..block_bytes]);
        wipe_bytes(&mut block);
        Ok(*chain)
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "MacKey({})", self.algorithm)
    }
}

impl Drop for MacKey {
    fn drop(&mut self) {
        if let LastStep::Subkeys(subkeys) = &mut self.last {
            subkeys.iter_mut().for_each(|subkey| wipe_bytes(subkey));
        }
    }
}

/// One request of a batch: a whole text, or one segment of it.
#[derive(Debug)]
pub struct MacItem<'a> {
    /// The key.
    pub key: &'a MacKey,
    /// Chaining value: zeros before the first segment; out: what the next segment needs. The first block
    /// length of bytes counts.
    pub chain: [u8; 16],
    /// The text of this segment. Segments but the last are whole blocks; the last block of a CMAC must come
    /// in the last segment.
    pub data: &'a [u8],
    /// Whether the text ends here. An empty last segment adds no block to X9.9 and X9.19.
    pub last: bool,
    /// The MAC in its block length of bytes, zeros after it; zeros unless `last`.
    pub mac: [u8; 16],
    /// How it went; where it is an error, `chain` is as it was.
    pub result: Result<(), MacError>,
}

impl<'a> MacItem<'a> {
    /// A request over a whole text, not yet run.
    pub fn new(key: &'a MacKey, data: &'a [u8]) -> MacItem<'a> {
        MacItem { key, chain: [0; 16], data, last: true, mac: [0; 16], result: Ok(()) }
    }
}

/// Runs every request; each result is its own.
pub(crate) fn batch(_cpu: Cpu, items: &mut [MacItem<'_>]) {
    for item in items {
        match item.key.segment(&mut item.chain, item.data, item.last) {
            Ok(mac) => {
                item.mac = [0; 16];
                let bytes = item.key.algorithm.block_bytes();
                item.mac[..bytes].copy_from_slice(&mac[..bytes]);
                item.result = Ok(());
            }
            Err(error) => item.result = Err(error),
        }
    }
}

fn cmac(algorithm: CipherAlgorithm, key: &[u8]) -> Result<(CipherKey, LastStep), KeyError> {
    let key = CipherKey::new(algorithm, key)?;
    let block_bytes = algorithm.block_bytes();
    let mut subkeys = Box::new([[0; 16]; 2]);
    // SP 800-38B, 6.1: L = E(0), K1 = 2 L, K2 = 2 K1 in the field of the block.
    key.block(CipherDirection::Encipher, &mut subkeys[0]);
    double(&mut subkeys[0][..block_bytes]);
    subkeys[1] = subkeys[0];
    double(&mut subkeys[1][..block_bytes]);
    Ok((key, LastStep::Subkeys(subkeys)))
}

/// Doubles in GF(2^64) or GF(2^128), without a branch on the value.
fn double(value: &mut [u8]) {
    let polynomial = if value.len() == 8 { 0x1b } else { 0x87 };
    let carry_out = value[0] >> 7;
    let mut carry = 0;
    for byte in value.iter_mut().rev() {
        let next = *byte >> 7;
        *byte = (*byte << 1) | carry;
        carry = next;
    }
    if let Some(last) = value.last_mut() {
        *last ^= polynomial & 0u8.wrapping_sub(carry_out);
    }
}
