//! Block ciphers in ECB, CBC and CTR (SP 800-38A): one call takes many requests, each with its own key,
//! chaining value and length.

use super::aes::streams::{self, Stream};
use super::des::{self, DesKey, Group};
use crate::algorithm::{CipherAlgorithm, CipherDirection, Mode};
use crate::error::{CipherError, KeyError};
use crate::low::aes::{self, Rounds};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::Cpu;
use std::fmt;

/// A key for every mode and both directions; wiped when dropped.
///
/// A DES key is kept in the value itself as bytes. Making one costs a few nanoseconds, and moving it may leave an
/// unwiped copy at the old place. An AES key is kept as schedules, in one allocation that does not move.
pub struct CipherKey {
    algorithm: CipherAlgorithm,
    key: Key,
}

enum Key {
    Des(DesKey),
    Aes(Box<AesPair>),
}

struct AesPair {
    encipher: AesSchedule,
    decipher: AesSchedule,
}

impl CipherKey {
    /// Prepares a key of any algorithm, weak ones included: the callers check that. Fails only for a wrong length.
    #[inline]
    pub(crate) fn new(algorithm: CipherAlgorithm, key: &[u8]) -> Result<CipherKey, KeyError> {
        let wrong_length = KeyError::CipherKeyLength { algorithm, bytes: key.len() };
        if key.len() != algorithm.key_bytes() {
            return Err(wrong_length);
        }
        let key = match Group::of(algorithm) {
            Some(_) => Key::Des(DesKey::new(key).ok_or(wrong_length)?),
            None => Key::Aes(AesPair::new(key).ok_or(wrong_length)?),
        };
        Ok(CipherKey { algorithm, key })
    }

    /// The algorithm for which the key was prepared.
    pub fn algorithm(&self) -> CipherAlgorithm {
        self.algorithm
    }

    /// Length of a block in bytes.
    pub fn block_bytes(&self) -> usize {
        self.algorithm.block_bytes()
    }

    /// The schedule of an AES key for this direction; `None` for DES.
    #[inline]
    pub(crate) fn aes_schedule(&self, encipher: bool) -> Option<&AesSchedule> {
        match &self.key {
            Key::Aes(pair) if encipher => Some(&pair.encipher),
            Key::Aes(pair) => Some(&pair.decipher),
            Key::Des(_) => None,
        }
    }

    /// The DES key of a request that belongs to a DES group.
    #[inline]
    pub(crate) fn des_key(&self) -> &DesKey {
        match &self.key {
            Key::Des(key) => key,
            Key::Aes(_) => unreachable!("sorted by algorithm"),
        }
    }
}

impl AesPair {
    /// Prepares a key; `None` unless it has 16, 24 or 32 bytes.
    fn new(key: &[u8]) -> Option<Box<AesPair>> {
        let mut pair = Box::new(AesPair { encipher: AesSchedule::empty(), decipher: AesSchedule::empty() });
        (pair.encipher.set_encipher(key) && pair.decipher.set_decipher(key)).then_some(pair)
    }
}

impl fmt::Debug for CipherKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CipherKey({})", self.algorithm)
    }
}

/// One text of a batch to encipher or decipher. The data is changed in place.
#[derive(Debug)]
pub struct CipherItem<'a> {
    /// The key of this request; the keys of a batch may differ.
    pub key: &'a CipherKey,
    /// Chaining value or counter, used and updated as [`Mode`] says. Only the first bytes, one block, count.
    pub chain: [u8; 16],
    /// The text to encipher or decipher, of a length that the mode takes.
    pub data: &'a mut [u8],
    /// The result of the request; after an error, `chain` and `data` are unchanged.
    pub result: Result<(), CipherError>,
}

impl<'a> CipherItem<'a> {
    /// A request not yet run. A `chain` shorter than 16 bytes is padded with zeros, a longer one is cut.
    #[inline]
    pub fn new(key: &'a CipherKey, chain: &[u8], data: &'a mut [u8]) -> CipherItem<'a> {
        let mut block = [0; 16];
        let used = chain.len().min(block.len());
        block[..used].copy_from_slice(&chain[..used]);
        CipherItem { key, chain: block, data, result: Ok(()) }
    }
}

/// Runs every request; each gets its own result.
pub(crate) fn batch(cpu: Cpu, mode: Mode, direction: CipherDirection, items: &mut [CipherItem<'_>]) {
    let (mut has_des, mut has_aes) = (false, false);
    for item in items.iter_mut() {
        item.result = check_text(item.key.algorithm, mode, item.data.len());
        match item.key.key {
            Key::Des(_) => has_des = true,
            Key::Aes(_) => has_aes = true,
        }
    }
    if has_aes {
        batch_of_aes(cpu, mode, direction, items);
    }
    if has_des {
        des::batch(cpu, mode, direction, items);
    }
}

/// Runs the AES requests of a batch that have no error.
fn batch_of_aes(cpu: Cpu, mode: Mode, direction: CipherDirection, items: &mut [CipherItem<'_>]) {
    let encipher = direction == CipherDirection::Encipher;
    let items = if encipher && mode == Mode::Cbc { cbc_streams(cpu, items) } else { items };
    for item in items {
        if let (Key::Aes(pair), Ok(())) = (&item.key.key, item.result) {
            let schedule = if encipher || mode == Mode::Ctr { &pair.encipher } else { &pair.decipher };
            run_aes(cpu, schedule, mode, encipher, &mut item.chain, item.data);
        }
    }
}

/// Runs CBC enciphering, which is serial within a text, in lanes, texts of one key length together. Returns the
/// requests that are still to be done one by one, if lanes do not serve them.
fn cbc_streams<'r, 'a>(cpu: Cpu, items: &'r mut [CipherItem<'a>]) -> &'r mut [CipherItem<'a>] {
    let bytes = items.iter().map(|item| item.data.len()).fold(0, usize::saturating_add);
    let Some(kernel) = streams::choose(cpu, items.len(), bytes) else { return items };
    for rounds in Rounds::ALL {
        let streams = items.iter_mut().filter_map(|item| {
            let Key::Aes(pair) = &item.key.key else { return None };
            let keys = pair.encipher.round_keys()?;
            (keys.rounds() == rounds && item.result.is_ok() && !item.data.is_empty()).then_some(Stream {
                keys,
                chain: &mut item.chain,
                text: &mut *item.data,
                last: None,
            })
        });
        streams::run(kernel, rounds, streams);
    }
    &mut []
}

/// Runs one request with a raw key, whose schedule is on the stack and is wiped.
#[inline]
pub(crate) fn with_raw_key(
    cpu: Cpu,
    algorithm: CipherAlgorithm,
    mode: Mode,
    direction: CipherDirection,
    key: &[u8],
    chain: &mut [u8],
    data: &mut [u8],
) -> Result<(), CipherError> {
    check_text(algorithm, mode, data.len())?;
    let wrong_length = KeyError::CipherKeyLength { algorithm, bytes: key.len() };
    if key.len() != algorithm.key_bytes() {
        return Err(wrong_length.into());
    }
    // ECB uses no chaining value: callers may pass none.
    let mut unused = [0; 16];
    let chain = if mode == Mode::Ecb { &mut unused[..algorithm.block_bytes()] } else { chain };
    let wrong_chain = CipherError::ChainLength { bytes: chain.len(), block_bytes: algorithm.block_bytes() };
    if chain.len() != algorithm.block_bytes() {
        return Err(wrong_chain);
    }
    if Group::of(algorithm).is_some() {
        let key = CipherKey::new(algorithm, key)?;
        let mut item = [CipherItem::new(&key, chain, data)];
        des::batch(cpu, mode, direction, &mut item);
        chain.copy_from_slice(&item[0].chain[..chain.len()]);
        return Ok(());
    }
    let chain = chain.try_into().map_err(|_| wrong_chain)?;
    let encipher = direction == CipherDirection::Encipher;
    let mut schedule = AesSchedule::empty();
    let made =
        if encipher || mode == Mode::Ctr { schedule.set_encipher(key) } else { schedule.set_decipher(key) };
    if !made {
        return Err(wrong_length.into());
    }
    run_aes(cpu, &schedule, mode, encipher, chain, data);
    Ok(())
}

#[inline]
fn check_text(algorithm: CipherAlgorithm, mode: Mode, bytes: usize) -> Result<(), CipherError> {
    let block_bytes = algorithm.block_bytes();
    // Block lengths are powers of two, so this needs no division.
    if mode != Mode::Ctr && bytes & (block_bytes - 1) != 0 {
        return Err(CipherError::TextLength { mode, bytes, block_bytes });
    }
    Ok(())
}

#[inline]
fn run_aes(cpu: Cpu, key: &AesSchedule, mode: Mode, encipher: bool, chain: &mut [u8; 16], data: &mut [u8]) {
    match mode {
        Mode::Ecb => aes::ecb(cpu, key, encipher, data),
        Mode::Cbc => aes::cbc(cpu, key, encipher, chain, data),
        Mode::Ctr => aes::ctr(cpu, key, chain, data),
    }
}
