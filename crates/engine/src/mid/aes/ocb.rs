//! AES in OCB (RFC 7253; in OpenPGP RFC 9580, 5.13.2): many independent requests in one call.
//!
//! Names are those of RFC 7253, section 4. The kernels compute whole blocks (`low::aes::ocb`). Here are the nonce, the
//! incomplete block, and the tag.

use crate::algorithm::CipherDirection;
use crate::error::{CipherError, KeyError};
use crate::low::aes::Block;
use crate::low::aes::ocb::{OcbKernel, OcbSums, OcbTable, xor};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::Cpu;
use crate::low::{wipe_block, wipe_bytes};
use crate::mid::aes::aead::AeadItem;
use std::fmt;

/// One request to OCB. The nonce has 1 to 15 bytes; 15 are recommended.
pub type OcbItem<'a> = AeadItem<'a, OcbKey>;

/// The longest nonce in bytes.
const NONCE_BYTES_MAX: usize = 15;

/// An AES key prepared for OCB, in one allocation that does not move; wiped when dropped.
pub struct OcbKey {
    context: Box<Context>,
    key_bytes: usize,
}

struct Context {
    encipher: AesSchedule,
    decipher: AesSchedule,
    table: OcbTable,
}

impl OcbKey {
    pub(crate) fn new(key: &[u8]) -> Result<OcbKey, KeyError> {
        let mut context = Box::new(Context {
            encipher: AesSchedule::empty(),
            decipher: AesSchedule::empty(),
            table: OcbTable::empty(),
        });
        if !context.encipher.set_encipher(key) || !context.decipher.set_decipher(key) {
            return Err(KeyError::OcbKeyLength { bytes: key.len() });
        }
        let Context { encipher, table, .. } = &mut *context;
        table.fill(encipher);
        Ok(OcbKey { context, key_bytes: key.len() })
    }

    /// Length of the key in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }
}

impl fmt::Debug for OcbKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OcbKey(AES-{})", 8 * self.key_bytes)
    }
}

/// Runs every request; each gets its own result.
pub(crate) fn batch(cpu: Cpu, direction: CipherDirection, items: &mut [OcbItem<'_>]) {
    let kernel = OcbKernel::choose(cpu);
    for item in items {
        item.result = run(kernel, direction, item);
    }
}

fn run(kernel: OcbKernel, direction: CipherDirection, item: &mut OcbItem<'_>) -> Result<(), CipherError> {
    if !(1..=NONCE_BYTES_MAX).contains(&item.nonce.len()) {
        return Err(CipherError::OcbNonceLength { bytes: item.nonce.len() });
    }
    item.check_tag_length()?;
    let context = &*item.key.context;
    let mut offset = first_offset(context, item.nonce, item.tag_bytes);
    let is_authentic = match direction {
        CipherDirection::Encipher => {
            let mut sums = kernel.encipher(&context.encipher, &context.table, &offset, item.data);
            let (_, rest) = item.data.as_chunks_mut::<16>();
            last_block(context, &mut sums, rest, true);
            let tag = finish(kernel, context, &mut sums, item.aad);
            item.put_tag(&tag);
            true
        }
        CipherDirection::Decipher => {
            let mut sums = kernel.decipher(&context.decipher, &context.table, &offset, item.data);
            let (_, rest) = item.data.as_chunks_mut::<16>();
            last_block(context, &mut sums, rest, false);
            let mut tag = finish(kernel, context, &mut sums, item.aad);
            let fits = item.has_tag(&tag);
            wipe_block(&mut tag);
            fits
        }
    };
    wipe_block(&mut offset);
    if !is_authentic {
        wipe_bytes(item.data);
        return Err(CipherError::Authentication);
    }
    Ok(())
}

/// Offset_0 for a nonce (section 4.2, "Nonce-dependent and per-encryption variables").
fn first_offset(context: &Context, nonce: &[u8], tag_bytes: usize) -> Block {
    let mut block = [0; 16];
    block[0] = (((8 * tag_bytes) % 128) << 1) as u8;
    let (before, place) = block.split_at_mut(16 - nonce.len());
    place.copy_from_slice(nonce);
    if let Some(byte) = before.last_mut() {
        *byte |= 1;
    }
    let bottom = u32::from(block[15] & 63);
    block[15] &= !63;
    context.encipher.ecb(true, &mut block);
    let top = u128::from_be_bytes(block);
    wipe_block(&mut block);
    // Stretch is `top` and 64 more bits; the offset is its 128 bits from `bottom` on. Nonces are public.
    let more = ((top >> 64) ^ (top >> 56)) as u64;
    (top << bottom | u128::from(more) << bottom >> 64).to_be_bytes()
}

/// Enciphers or deciphers the incomplete last block, if there is one.
fn last_block(context: &Context, sums: &mut OcbSums, rest: &mut [u8], encipher: bool) {
    if rest.is_empty() {
        return;
    }
    sums.offset = xor(&sums.offset, context.table.star());
    let mut pad = sums.offset;
    context.encipher.ecb(true, &mut pad);
    let mut padded = [0; 16];
    padded[rest.len()] = 0x80;
    if encipher {
        padded[..rest.len()].copy_from_slice(rest);
    }
    for (byte, pad) in rest.iter_mut().zip(&pad) {
        *byte ^= pad;
    }
    if !encipher {
        padded[..rest.len()].copy_from_slice(rest);
    }
    sums.sum = xor(&sums.sum, &padded);
    wipe_block(&mut padded);
    wipe_block(&mut pad);
}

/// The whole tag of 16 bytes.
fn finish(kernel: OcbKernel, context: &Context, sums: &mut OcbSums, aad: &[u8]) -> Block {
    let mut tag = xor(&xor(&sums.sum, &sums.offset), context.table.dollar());
    sums.wipe();
    context.encipher.ecb(true, &mut tag);
    if aad.is_empty() {
        return tag;
    }
    let mut hash = kernel.hash(&context.encipher, &context.table, aad);
    let (_, rest) = aad.as_chunks::<16>();
    if !rest.is_empty() {
        let mut block = [0; 16];
        block[..rest.len()].copy_from_slice(rest);
        block[rest.len()] = 0x80;
        block = xor(&block, &xor(&hash.offset, context.table.star()));
        context.encipher.ecb(true, &mut block);
        hash.sum = xor(&hash.sum, &block);
        wipe_block(&mut block);
    }
    tag = xor(&tag, &hash.sum);
    hash.wipe();
    tag
}
