//! The parallel parts of OCB (RFC 7253): whole blocks of text and of associated data.
//!
//! Block `i` (from 1) is enciphered between two additions of Offset_i = Offset_{i-1} XOR L_{ntz(i)}; ntz is the number
//! of trailing zeros (section 4.2). Offsets look serial but are not. After a multiple of 2^k, the next 2^k - 1 offsets
//! always differ from that multiple's offset by the same XORs of L_0 .. L_{k-1}, in the order of a Gray code. So with
//! 2^k blocks in flight
//!
//! ```text
//! Offset_{m+j} = Offset_m XOR relative[j]                          0 < j < 2^k, 2^k divides m
//! Offset_{m+j} = Offset_m XOR relative[j-1] XOR L_{ntz(m+j)}       j = 2^k
//! ```
//!
//! and `relative` is computed once per key. One offset gives all offsets of a pass, with one XOR each.
//!
//! 1. First round key and offset are added to the text in one instruction. Last round key and offset are added
//!    beforehand, and serve as the last round's key. The mode then costs four XORs a vector in addition to the AES
//!    instructions, on other ports.
//! 2. The sum of the plaintext is kept separately in each place of a vector, and folded at the end.
//! 3. A pass that is not full uses as many vectors as it needs, with masked loads and stores; bytes after the text are
//!    not added to the sum.
//!
//! Limit: two AES instructions on 512 bits a cycle, 55 GB/s with AES-128 at 4.3 GHz. 64 KiB reach 48 GB/s, in both
//! directions; with eight blocks of 128 bits 12 GB/s of 13.8. The portable form on the library's ECB reaches half that,
//! with two passes over the text for the offsets.

use super::Block;
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::{Aes, Avx512, Cpu};
use crate::low::{wipe, wipe_block};

/// Blocks in flight of the widest kernel.
pub(super) const WIDE_BLOCKS: usize = 32;

/// The values that depend on the key alone (RFC 7253, 4.1); zero when dropped.
pub(crate) struct OcbTable {
    /// Offsets relative to the offset of a multiple of the number of blocks in flight; see above. The first entry is
    /// for the first block.
    pub(super) relative: [Block; WIDE_BLOCKS],
    /// L_0, L_1 and so on, one for each number of trailing zeros of a 64-bit number.
    l: [Block; 64],
    star: Block,
    dollar: Block,
}

impl OcbTable {
    /// A table of zeros, to be filled in place.
    pub(crate) const fn empty() -> OcbTable {
        OcbTable { relative: [[0; 16]; WIDE_BLOCKS], l: [[0; 16]; 64], star: [0; 16], dollar: [0; 16] }
    }

    /// Fills the table from a schedule for enciphering.
    pub(crate) fn fill(&mut self, schedule: &AesSchedule) {
        self.star = [0; 16];
        schedule.ecb(true, &mut self.star);
        self.dollar = double(&self.star);
        let mut value = double(&self.dollar);
        for l in &mut self.l {
            *l = value;
            value = double(&value);
        }
        wipe_block(&mut value);
        let mut offset = [0; 16];
        for (at, relative) in self.relative.iter_mut().enumerate() {
            // The last entry lacks its own L, which depends on the pass.
            if at + 1 < WIDE_BLOCKS {
                offset = xor(&offset, &self.l[(at + 1).trailing_zeros() as usize]);
            }
            *relative = offset;
        }
        wipe_block(&mut offset);
    }

    /// L_* of RFC 7253, added to the offset for a last partial block.
    pub(crate) fn star(&self) -> &Block {
        &self.star
    }

    /// L_$ of RFC 7253, added to the checksum for the tag.
    pub(crate) fn dollar(&self) -> &Block {
        &self.dollar
    }

    /// L_{ntz(i)} of RFC 7253, added to the offset for block number `i` (from 1).
    #[inline]
    pub(super) fn l(&self, i: u64) -> &Block {
        &self.l[(i | 1 << 63).trailing_zeros() as usize & 63]
    }
}

impl Drop for OcbTable {
    fn drop(&mut self) {
        // SAFETY: blocks are plain bytes.
        unsafe { wipe(self) }
    }
}

/// The results of one run over text or associated data.
#[derive(Clone, Copy, Default)]
pub(crate) struct OcbSums {
    /// The offset of the last block.
    pub(crate) offset: Block,
    /// The XOR of the plaintext blocks; for associated data, of the enciphered blocks.
    pub(crate) sum: Block,
}

impl OcbSums {
    /// Wipes offset and sum.
    pub(crate) fn wipe(&mut self) {
        wipe_block(&mut self.offset);
        wipe_block(&mut self.sum);
    }
}

/// The kernel for a processor.
#[derive(Clone, Copy)]
pub(crate) enum OcbKernel {
    /// 32 blocks in flight.
    Vaes(Avx512),
    /// Eight blocks in flight.
    Ni(Aes),
    /// The library's ECB, with as many blocks in flight as the library has.
    Portable,
}

impl OcbKernel {
    /// The best kernel for this processor.
    #[inline]
    pub(crate) fn choose(cpu: Cpu) -> OcbKernel {
        match cpu {
            Cpu { avx512: Some(token), .. } => OcbKernel::Vaes(token),
            Cpu { aes: Some(token), .. } => OcbKernel::Ni(token),
            _ => OcbKernel::Portable,
        }
    }

    /// Enciphers the whole blocks of a text in place, counted from its first block. Bytes after the last whole block
    /// are unchanged.
    pub(crate) fn encipher(
        self,
        key: &AesSchedule,
        table: &OcbTable,
        offset: &Block,
        data: &mut [u8],
    ) -> OcbSums {
        match (self, key.round_keys()) {
            (OcbKernel::Vaes(token), Some(keys)) => {
                super::ocb_vaes::encipher(token, keys, table, offset, data)
            }
            (OcbKernel::Ni(token), Some(keys)) => super::ocb_ni::encipher(token, keys, table, offset, data),
            _ => super::ocb_portable::encipher(key, table, offset, data),
        }
    }

    /// As [`OcbKernel::encipher`], but deciphers, with a schedule for deciphering.
    pub(crate) fn decipher(
        self,
        key: &AesSchedule,
        table: &OcbTable,
        offset: &Block,
        data: &mut [u8],
    ) -> OcbSums {
        match (self, key.round_keys()) {
            (OcbKernel::Vaes(token), Some(keys)) => {
                super::ocb_vaes::decipher(token, keys, table, offset, data)
            }
            (OcbKernel::Ni(token), Some(keys)) => super::ocb_ni::decipher(token, keys, table, offset, data),
            _ => super::ocb_portable::decipher(key, table, offset, data),
        }
    }

    /// The sum over the whole blocks of associated data, with a schedule for enciphering.
    pub(crate) fn hash(self, key: &AesSchedule, table: &OcbTable, data: &[u8]) -> OcbSums {
        match (self, key.round_keys()) {
            (OcbKernel::Vaes(token), Some(keys)) => super::ocb_vaes::hash(token, keys, table, data),
            (OcbKernel::Ni(token), Some(keys)) => super::ocb_ni::hash(token, keys, table, data),
            _ => super::ocb_portable::hash(key, table, data),
        }
    }
}

/// Doubles in GF(2^128), without a branch on the value.
pub(crate) fn double(block: &Block) -> Block {
    let value = u128::from_be_bytes(*block);
    let carry = 0u128.wrapping_sub(value >> 127) & 0x87;
    (value << 1 ^ carry).to_be_bytes()
}

/// The XOR of two blocks.
#[inline]
pub(crate) fn xor(a: &Block, b: &Block) -> Block {
    (u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b)).to_ne_bytes()
}
