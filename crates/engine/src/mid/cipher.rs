//! Block ciphers in ECB, CBC and CTR (SP 800-38A): one call takes many requests, each with its own key,
//! chaining value and length.

use std::fmt;

use crate::algorithm::{CipherAlgorithm, CipherDirection, Mode};
use crate::error::{CipherError, KeyError};
use crate::low::cpu::Cpu;
use crate::low::ffi_aes::AesSchedule;
use crate::low::ffi_des::{DES_BLOCK_BYTES, DesSchedule, TdesSchedule};
use crate::low::wipe_bytes;

/// A key prepared for every mode and both directions, in one allocation that does not move; zero when
/// dropped.
pub struct CipherKey {
    algorithm: CipherAlgorithm,
    schedule: Schedule,
}

enum Schedule {
    Des(Box<DesSchedule>),
    Tdes(Box<TdesSchedule>),
    Aes(Box<AesPair>),
}

struct AesPair {
    encipher: AesSchedule,
    decipher: AesSchedule,
}

impl CipherKey {
    /// Prepares a key of any algorithm, weak ones too: the callers decide. An error only for a wrong length.
    pub(crate) fn new(algorithm: CipherAlgorithm, key: &[u8]) -> Result<CipherKey, KeyError> {
        let wrong_length = KeyError::CipherKeyLength { algorithm, bytes: key.len() };
        if key.len() != algorithm.key_bytes() {
            return Err(wrong_length);
        }
        let schedule = match algorithm {
            CipherAlgorithm::Des => {
                let mut schedule = Box::new(DesSchedule::empty());
                schedule.set(key.try_into().map_err(|_| wrong_length)?);
                Schedule::Des(schedule)
            }
            CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => {
                let mut schedule = Box::new(TdesSchedule::empty());
                if !schedule.set(key) {
                    return Err(wrong_length);
                }
                Schedule::Tdes(schedule)
            }
            CipherAlgorithm::Aes128 | CipherAlgorithm::Aes192 | CipherAlgorithm::Aes256 => {
                let mut pair =
                    Box::new(AesPair { encipher: AesSchedule::empty(), decipher: AesSchedule::empty() });
                if !pair.encipher.set_encipher(key) || !pair.decipher.set_decipher(key) {
                    return Err(wrong_length);
                }
                Schedule::Aes(pair)
            }
        };
        Ok(CipherKey { algorithm, schedule })
    }

    /// The algorithm it was prepared for.
    pub fn algorithm(&self) -> CipherAlgorithm {
        self.algorithm
    }

    /// Length of a block in bytes.
    pub fn block_bytes(&self) -> usize {
        self.algorithm.block_bytes()
    }

    /// One request: `chain` is used and changed as [`Mode`] says, in its first block length of bytes.
    pub(crate) fn apply(
        &self,
        mode: Mode,
        direction: CipherDirection,
        chain: &mut [u8; 16],
        data: &mut [u8],
    ) -> Result<(), CipherError> {
        check_text(self.algorithm, mode, data.len())?;
        let encipher = direction == CipherDirection::Encipher;
        match &self.schedule {
            Schedule::Des(key) => run_des(&**key, mode, encipher, first_half(chain), data),
            Schedule::Tdes(key) => run_des(&**key, mode, encipher, first_half(chain), data),
            Schedule::Aes(pair) => {
                let key = if encipher || mode == Mode::Ctr { &pair.encipher } else { &pair.decipher };
                run_aes(key, mode, encipher, chain, data);
            }
        }
        Ok(())
    }

    /// CBC over whole blocks of a text that stays as it is; only the chaining value comes out.
    pub(crate) fn cbc_mac(&self, chain: &mut [u8; 16], text: &[u8]) {
        match &self.schedule {
            Schedule::Des(key) => key.cbc_mac(first_half(chain), text),
            Schedule::Tdes(key) => key.cbc_mac(first_half(chain), text),
            Schedule::Aes(pair) => pair.encipher.cbc_mac(chain, text),
        }
    }

    /// One block in place, in the first block length of bytes.
    pub(crate) fn block(&self, direction: CipherDirection, block: &mut [u8; 16]) {
        let encipher = direction == CipherDirection::Encipher;
        match &self.schedule {
            Schedule::Des(key) => key.ecb(encipher, first_half(block)),
            Schedule::Tdes(key) => key.ecb(encipher, first_half(block)),
            Schedule::Aes(pair) if encipher => pair.encipher.ecb(true, block),
            Schedule::Aes(pair) => pair.decipher.ecb(false, block),
        }
    }
}

impl fmt::Debug for CipherKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CipherKey({})", self.algorithm)
    }
}

/// One request of a batch. The data is changed in place.
#[derive(Debug)]
pub struct CipherItem<'a> {
    /// The key.
    pub key: &'a CipherKey,
    /// Chaining value or counter, in and out as [`Mode`] says; the first block length of bytes counts.
    pub chain: [u8; 16],
    /// The text.
    pub data: &'a mut [u8],
    /// How it went; where it is an error, `chain` and `data` are as they were.
    pub result: Result<(), CipherError>,
}

impl<'a> CipherItem<'a> {
    /// A request not yet run. `chain` shorter than 16 bytes is followed by zeros, longer is cut.
    pub fn new(key: &'a CipherKey, chain: &[u8], data: &'a mut [u8]) -> CipherItem<'a> {
        let mut block = [0; 16];
        let used = chain.len().min(block.len());
        block[..used].copy_from_slice(&chain[..used]);
        CipherItem { key, chain: block, data, result: Ok(()) }
    }
}

/// Runs every request; each result is its own.
pub(crate) fn batch(_cpu: Cpu, mode: Mode, direction: CipherDirection, items: &mut [CipherItem<'_>]) {
    for item in items {
        item.result = item.key.apply(mode, direction, &mut item.chain, item.data);
    }
}

/// One request that brings its key: the schedule it needs is made on the stack and wiped.
#[inline]
pub(crate) fn with_raw_key(
    _cpu: Cpu,
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
    let encipher = direction == CipherDirection::Encipher;
    match algorithm {
        CipherAlgorithm::Des => {
            let chain = chain.try_into().map_err(|_| wrong_chain)?;
            let mut schedule = DesSchedule::empty();
            schedule.set(key.try_into().map_err(|_| wrong_length)?);
            run_des(&schedule, mode, encipher, chain, data);
        }
        CipherAlgorithm::Tdes2 | CipherAlgorithm::Tdes3 => {
            let chain = chain.try_into().map_err(|_| wrong_chain)?;
            let mut schedule = TdesSchedule::empty();
            if !schedule.set(key) {
                return Err(wrong_length.into());
            }
            run_des(&schedule, mode, encipher, chain, data);
        }
        CipherAlgorithm::Aes128 | CipherAlgorithm::Aes192 | CipherAlgorithm::Aes256 => {
            let chain = chain.try_into().map_err(|_| wrong_chain)?;
            let mut schedule = AesSchedule::empty();
            let made = if encipher || mode == Mode::Ctr {
                schedule.set_encipher(key)
            } else {
                schedule.set_decipher(key)
            };
            if !made {
                return Err(wrong_length.into());
            }
            run_aes(&schedule, mode, encipher, chain, data);
        }
    }
    Ok(())
}

#[inline]
fn check_text(algorithm: CipherAlgorithm, mode: Mode, bytes: usize) -> Result<(), CipherError> {
    let block_bytes = algorithm.block_bytes();
    if mode != Mode::Ctr && !bytes.is_multiple_of(block_bytes) {
        return Err(CipherError::TextLength { mode, bytes, block_bytes });
    }
    Ok(())
}

#[inline]
fn run_aes(key: &AesSchedule, mode: Mode, encipher: bool, chain: &mut [u8; 16], data: &mut [u8]) {
    match mode {
        Mode::Ecb => key.ecb(encipher, data),
        Mode::Cbc => key.cbc(encipher, chain, data),
        Mode::Ctr => key.ctr(chain, data),
    }
}

trait DesLike {
    fn ecb(&self, encipher: bool, data: &mut [u8]);
    fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]);
}

impl DesLike for DesSchedule {
    fn ecb(&self, encipher: bool, data: &mut [u8]) {
        DesSchedule::ecb(self, encipher, data);
    }
    fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
        DesSchedule::cbc(self, encipher, chain, data);
    }
}

impl DesLike for TdesSchedule {
    fn ecb(&self, encipher: bool, data: &mut [u8]) {
        TdesSchedule::ecb(self, encipher, data);
    }
    fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
        TdesSchedule::cbc(self, encipher, chain, data);
    }
}

fn run_des(key: &impl DesLike, mode: Mode, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
    match mode {
        Mode::Ecb => key.ecb(encipher, data),
        Mode::Cbc => key.cbc(encipher, chain, data),
        Mode::Ctr => des_ctr(key, chain, data),
    }
}

/// The library has no DES in CTR: blocks of counters are enciphered in ECB and XORed over the text.
fn des_ctr(key: &impl DesLike, chain: &mut [u8; 8], data: &mut [u8]) {
    let mut keystream = [0; 16 * DES_BLOCK_BYTES];
    let mut counter = u64::from_be_bytes(*chain);
    for part in data.chunks_mut(keystream.len()) {
        let blocks = part.len().div_ceil(DES_BLOCK_BYTES);
        let keystream = &mut keystream[..blocks * DES_BLOCK_BYTES];
        for block in keystream.chunks_exact_mut(DES_BLOCK_BYTES) {
            block.copy_from_slice(&counter.to_be_bytes());
            counter = counter.wrapping_add(1);
        }
        key.ecb(true, keystream);
        for (byte, key_byte) in part.iter_mut().zip(&*keystream) {
            *byte ^= key_byte;
        }
    }
    *chain = counter.to_be_bytes();
    wipe_bytes(&mut keystream);
}

fn first_half(chain: &mut [u8; 16]) -> &mut [u8; 8] {
    let (first, _) = chain.split_first_chunk_mut().expect("8 <= 16");
    first
}
