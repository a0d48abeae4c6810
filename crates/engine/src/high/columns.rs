//! Checks the arguments of column calls, once for all requests, and runs the right kernel.

use crate::algorithm::{CipherAlgorithm, CipherDirection, HashAlgorithm, MacAlgorithm, Mode};
use crate::error::{ColumnError, KeyError};
use crate::high::hmac::HmacKey;
use crate::high::mac;
use crate::low::cpu::Cpu;
use crate::mid::columns::{Column, ColumnMut, blocks, same_lanes};
use crate::mid::des::columns::{self as des, Keys};
use crate::mid::hash::columns::hmac_pass;
use crate::mid::{aes, cipher};

/// MACs of texts of one length: one block of the algorithm per text, in a row.
pub(crate) fn macs(
    cpu: Cpu,
    algorithm: MacAlgorithm,
    keys: Keys<'_>,
    texts: Column<'_>,
    macs: &mut [u8],
) -> Result<(), ColumnError> {
    let key_bytes = key_bytes(&keys);
    if key_bytes != algorithm.key_bytes() {
        return Err(ColumnError::Key(KeyError::MacKeyLength { algorithm, bytes: key_bytes }));
    }
    same_lanes(texts.lanes(), lanes(&keys))?;
    if algorithm.block_bytes() == 8 {
        des::macs(cpu, algorithm, keys, texts, blocks(macs, texts.lanes())?);
        return Ok(());
    }
    match keys {
        Keys::Raw(keys) => mac::aes_columns(cpu, keys, texts, blocks(macs, texts.lanes())?),
        Keys::Kept { .. } => {
            return Err(ColumnError::NotDes);
        }
    }
    Ok(())
}

/// HMACs of texts of one length: one digest per text, in a row.
pub(crate) fn hmacs(
    cpu: Cpu,
    algorithm: HashAlgorithm,
    keys: Column<'_>,
    texts: Column<'_>,
    macs: &mut [u8],
) -> Result<(), ColumnError> {
    same_lanes(texts.lanes(), keys.lanes())?;
    let (bytes, digest_bytes) = (macs.len(), algorithm.digest_bytes());
    let needed = keys.lanes().saturating_mul(digest_bytes);
    if bytes != needed {
        return Err(ColumnError::Output { bytes, needed });
    }
    let mut first = 0;
    while first < keys.lanes() {
        let macs = &mut macs[first * digest_bytes..];
        first += match hmac_pass(cpu, algorithm, keys, texts, first, macs) {
            Some(lanes) => lanes,
            None => {
                let key = HmacKey::new(algorithm, keys.lane(first));
                macs[..digest_bytes].copy_from_slice(&key.mac(&[texts.lane(first)])[..digest_bytes]);
                1
            }
        };
    }
    Ok(())
}

/// Enciphers or deciphers texts of one length in place, in ECB or CBC.
pub(crate) fn cipher(
    cpu: Cpu,
    algorithm: CipherAlgorithm,
    (mode, direction): (Mode, CipherDirection),
    keys: Keys<'_>,
    chains: &mut [u8],
    texts: &mut ColumnMut<'_>,
) -> Result<(), ColumnError> {
    if key_bytes(&keys) != algorithm.key_bytes() {
        return Err(ColumnError::Key(KeyError::CipherKeyLength { algorithm, bytes: key_bytes(&keys) }));
    }
    if mode == Mode::Ctr {
        return Err(ColumnError::Mode(mode));
    }
    let (block_bytes, bytes) = (algorithm.block_bytes(), texts.bytes());
    if bytes % block_bytes != 0 {
        return Err(ColumnError::TextLength { bytes, block_bytes });
    }
    same_lanes(texts.lanes(), lanes(&keys))?;
    // ECB has no chaining values: callers may pass none.
    let chained = if mode == Mode::Cbc { texts.lanes() } else { 0 };
    let chains = if mode == Mode::Cbc { chains } else { &mut [] };
    if block_bytes == 8 {
        des::cipher(cpu, algorithm, mode, direction, keys, blocks(chains, chained)?, texts);
        return Ok(());
    }
    let Keys::Raw(keys) = keys else { return Err(ColumnError::NotDes) };
    let chains: &mut [[u8; 16]] = blocks(chains, chained)?;
    if mode == Mode::Cbc && direction == CipherDirection::Encipher {
        aes::columns::cbc_encipher(cpu, keys, chains, texts);
        return Ok(());
    }
    let mut chains = chains.iter_mut();
    for (lane, text) in texts.pieces().enumerate() {
        let chain = chains.next().map_or(&mut [][..], |chain| &mut chain[..]);
        // No text fails, since its length was checked above.
        let done = cipher::with_raw_key(cpu, algorithm, mode, direction, keys.lane(lane), chain, text);
        debug_assert!(done.is_ok());
    }
    Ok(())
}

fn key_bytes(keys: &Keys<'_>) -> usize {
    match keys {
        Keys::Raw(keys) => keys.bytes(),
        Keys::Kept { algorithm, .. } => algorithm.key_bytes(),
    }
}

fn lanes(keys: &Keys<'_>) -> usize {
    match keys {
        Keys::Raw(keys) => keys.lanes(),
        Keys::Kept { table, .. } => table.lanes(),
    }
}
