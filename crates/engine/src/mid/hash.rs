//! Hash functions: whole texts in batches, and running states that can be interrupted and exported as bytes.

pub(crate) mod columns;
mod keccak;
pub(crate) mod lanes;

use crate::algorithm::HashAlgorithm;
use crate::error::HashError;
use crate::low::aws_lc::hash::{HashContext, Sha3Bytes, compress_alone};
use crate::low::cpu::Cpu;
use crate::low::sha::constants::{SHA1_START, SHA224_START, SHA256_START, SHA384_START, SHA512_START};
use crate::low::sha::{Kernel, Sha512Lanes, ShaFamily, ShaLanes, Word};
use crate::low::wipe_bytes;
use keccak::Keccak;
use lanes::{LaneJob, LaneJobs, Start};
use std::fmt;

/// Length of an exported hash state in bytes, except for SHA-3.
pub const HASH_STATE_BYTES: usize = 128;
/// Length of an exported state of SHA-3 in bytes.
pub const SHA3_STATE_BYTES: usize = 256;

/// A running hash; copies continue independently; wiped when dropped.
#[derive(Clone)]
pub struct HashState {
    algorithm: HashAlgorithm,
    context: Context,
}

#[derive(Clone)]
enum Context {
    Library(HashContext),
    /// SHA-3 that can be interrupted, since the library does not export its state.
    Keccak(Keccak),
}

impl HashState {
    pub(crate) fn new(algorithm: HashAlgorithm) -> HashState {
        let context = match algorithm {
            HashAlgorithm::Md5 => HashContext::md5(),
            HashAlgorithm::Sha1 => HashContext::sha1(),
            HashAlgorithm::Ripemd160 => HashContext::ripemd160(),
            HashAlgorithm::Sha224 => HashContext::sha224(),
            HashAlgorithm::Sha256 => HashContext::sha256(),
            HashAlgorithm::Sha384 => HashContext::sha384(),
            HashAlgorithm::Sha512 => HashContext::sha512(),
            HashAlgorithm::Sha3_224 => HashContext::sha3(Sha3Bytes::B28),
            HashAlgorithm::Sha3_256 => HashContext::sha3(Sha3Bytes::B32),
            HashAlgorithm::Sha3_384 => HashContext::sha3(Sha3Bytes::B48),
            HashAlgorithm::Sha3_512 => HashContext::sha3(Sha3Bytes::B64),
        };
        HashState { algorithm, context: Context::Library(context) }
    }

    /// A state that can be exported, for any hash. For SHA-3 it does not use the library, and is slower.
    pub(crate) fn in_segments(algorithm: HashAlgorithm) -> HashState {
        if algorithm.state_bytes().is_some() {
            return HashState::new(algorithm);
        }
        let keccak = Keccak::new(algorithm.block_bytes(), algorithm.digest_bytes());
        HashState { algorithm, context: Context::Keccak(keccak) }
    }

    /// The hash function that this state computes.
    pub fn algorithm(&self) -> HashAlgorithm {
        self.algorithm
    }

    /// Adds text to the hash.
    pub fn update(&mut self, text: &[u8]) {
        match &mut self.context {
            Context::Library(context) => context.update(text),
            Context::Keccak(keccak) => keccak.update(text),
        }
    }

    /// The digest: the bytes of the digest length, then zeros.
    pub fn finish(mut self) -> [u8; 64] {
        self.finish_in_place()
    }

    /// As [`HashState::finish`], but without a move, which would leave a copy of the state. The state must not be used
    /// afterwards.
    pub(crate) fn finish_in_place(&mut self) -> [u8; 64] {
        match &mut self.context {
            Context::Library(context) => context.finish(),
            Context::Keccak(keccak) => keccak.finish(),
        }
    }

    /// Exports the state, so that another call can continue: the state words big-endian, zeros up to byte 112, and the
    /// length of the text so far in bytes, as 16 bytes big-endian.
    ///
    /// Possible for MD5, RIPEMD-160, SHA-1 and SHA-2, only after whole blocks of text (a partial block of SHA-512 would
    /// not fit). The state of SHA-3 (200 bytes) does not fit: see [`HashState::export_sha3`]. The exported bytes are
    /// secret unless the text is public.
    pub fn export(&self) -> Result<[u8; HASH_STATE_BYTES], HashError> {
        let not_exportable = HashError::NotExportable(self.algorithm);
        let Context::Library(context) = &self.context else { return Err(not_exportable) };
        if self.algorithm.state_bytes().is_none() {
            return Err(not_exportable);
        }
        let (words, text_bytes) =
            context.chaining().ok_or(HashError::NotOnBlock { block_bytes: self.algorithm.block_bytes() })?;
        let mut state = [0; HASH_STATE_BYTES];
        state[..words.len()].copy_from_slice(&words);
        state[HASH_STATE_BYTES - 8..].copy_from_slice(&text_bytes.to_be_bytes());
        Ok(state)
    }

    /// Exports a state of SHA-3 from [`Engine::hash_state_in_segments`](crate::Engine::hash_state_in_segments), after
    /// whole blocks: the 200 state bytes as FIPS 202 orders them, then zeros.
    pub fn export_sha3(&self) -> Result<[u8; SHA3_STATE_BYTES], HashError> {
        let Context::Keccak(keccak) = &self.context else {
            return Err(HashError::NotExportable(self.algorithm));
        };
        let not_on_block = HashError::NotOnBlock { block_bytes: self.algorithm.block_bytes() };
        let mut state = [0; SHA3_STATE_BYTES];
        state[..keccak::STATE_BYTES].copy_from_slice(&keccak.state().ok_or(not_on_block)?);
        Ok(state)
    }

    /// The chaining value of SHA-1, or of SHA-2 with such words, after whole blocks; `None` otherwise.
    pub(crate) fn chaining_words<W: Word>(&self) -> Option<[W; 8]> {
        match &self.context {
            Context::Library(context) => W::chaining(context),
            Context::Keccak(_) => None,
        }
    }

    /// Lets `compress` take `bytes` bytes of whole text blocks into the chaining value of SHA-1. False, without calling
    /// it, inside a block and for other hashes.
    #[must_use]
    pub(crate) fn take_sha1_blocks(&mut self, bytes: u64, compress: impl FnOnce(&mut [u32; 5])) -> bool {
        match &mut self.context {
            Context::Library(context) => context.take_sha1_blocks(bytes, compress),
            Context::Keccak(_) => false,
        }
    }

    pub(crate) fn import(algorithm: HashAlgorithm, state: &[u8]) -> Result<HashState, HashError> {
        let not_a_state = HashError::NotAState(algorithm);
        let Some(words) = algorithm.state_bytes() else {
            let (bytes, rest) = state.split_first_chunk().ok_or(not_a_state)?;
            if state.len() != SHA3_STATE_BYTES || rest.iter().any(|byte| *byte != 0) {
                return Err(not_a_state);
            }
            let keccak = Keccak::of_state(bytes, algorithm.block_bytes(), algorithm.digest_bytes());
            return Ok(HashState { algorithm, context: Context::Keccak(keccak) });
        };
        let (length, rest) =
            state.split_last_chunk::<8>().map(|(rest, length)| (length, rest)).ok_or(not_a_state)?;
        if state.len() != HASH_STATE_BYTES || rest[words..].iter().any(|byte| *byte != 0) {
            return Err(not_a_state);
        }
        let mut hash = HashState::new(algorithm);
        let Context::Library(context) = &mut hash.context else { return Err(not_a_state) };
        if !context.set_chaining(&state[..words], u64::from_be_bytes(*length)) {
            return Err(not_a_state);
        }
        Ok(hash)
    }
}

impl fmt::Debug for HashState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HashState({})", self.algorithm)
    }
}

/// One text of a batch, and its digest.
#[derive(Debug)]
pub struct HashItem<'a> {
    /// The whole text to hash.
    pub data: &'a [u8],
    /// The digest: the bytes of the digest length, then zeros.
    pub digest: [u8; 64],
    /// The result of the request: an error only if the hash is weak and not enabled.
    pub result: Result<(), HashError>,
}

impl<'a> HashItem<'a> {
    /// A request not yet run: the digest is zeros.
    pub fn new(data: &'a [u8]) -> HashItem<'a> {
        HashItem { data, digest: [0; 64], result: Ok(()) }
    }
}

/// The digest of one text, given in parts.
pub(crate) fn digest(algorithm: HashAlgorithm, parts: &[&[u8]]) -> [u8; 64] {
    let mut state = HashState::new(algorithm);
    for part in parts {
        state.update(part);
    }
    state.finish_in_place()
}

/// Runs every request; SHA-1 and SHA-2 in lanes if there are enough requests.
pub(crate) fn batch(cpu: Cpu, algorithm: HashAlgorithm, items: &mut [HashItem<'_>]) {
    if let Some((kernel, start)) = lane_kernel(cpu, algorithm, items.len()) {
        return lanes::run(cpu, kernel, &mut Queue { algorithm, start, items, next: 0 });
    }
    if let Some((kernel, start)) = wide_kernel(cpu, algorithm, items.len()) {
        return lanes::run(cpu, kernel, &mut Queue { algorithm, start, items, next: 0 });
    }
    for item in items {
        item.digest = digest(algorithm, &[item.data]);
        item.result = Ok(());
    }
}

/// SHA-1 (FIPS 180-4) of a text, for formats that require it.
pub fn sha1(data: &[u8]) -> [u8; 20] {
    first(HashAlgorithm::Sha1, data)
}

/// SHA-256 (FIPS 180-4) of a text.
pub fn sha256(data: &[u8]) -> [u8; 32] {
    one_block(data).unwrap_or_else(|| first(HashAlgorithm::Sha256, data))
}

/// SHA-256 of a text that fits one block with its padding, else `None`. A general state would cost as much again as the
/// compression.
fn one_block(data: &[u8]) -> Option<[u8; 32]> {
    const BLOCK_BYTES: usize = 64;
    const LENGTH_AT: usize = BLOCK_BYTES - 8;
    if data.len() >= LENGTH_AT {
        return None;
    }
    let mut block = [0; BLOCK_BYTES];
    block[..data.len()].copy_from_slice(data);
    block[data.len()] = 0x80;
    block[LENGTH_AT..].copy_from_slice(&(8 * data.len() as u64).to_be_bytes());
    let mut words = SHA256_START;
    compress_alone(ShaFamily::Sha256, &mut words, std::slice::from_ref(&block));
    wipe_bytes(&mut block);
    Some(std::array::from_fn(|at| words[at / 4].to_be_bytes()[at % 4]))
}

fn first<const N: usize>(algorithm: HashAlgorithm, data: &[u8]) -> [u8; N] {
    let digest = digest(algorithm, &[data]);
    std::array::from_fn(|at| digest[at])
}

/// The greatest number of texts that are hashed side by side.
pub(crate) fn lanes(cpu: Cpu, algorithm: HashAlgorithm) -> usize {
    let narrow = lane_kernel(cpu, algorithm, usize::MAX).map(|(kernel, _)| kernel.lanes());
    narrow.or_else(|| wide_kernel(cpu, algorithm, usize::MAX).map(|(kernel, _)| kernel.lanes())).unwrap_or(1)
}

/// The kernel for this many texts, and its initial chaining value; `None` if there is none.
fn lane_kernel(cpu: Cpu, algorithm: HashAlgorithm, texts: usize) -> Option<(ShaLanes, &'static [u32; 8])> {
    let (family, start) = match algorithm {
        HashAlgorithm::Sha1 => (ShaFamily::Sha1, &SHA1_START),
        HashAlgorithm::Sha224 => (ShaFamily::Sha256, &SHA224_START),
        HashAlgorithm::Sha256 => (ShaFamily::Sha256, &SHA256_START),
        _ => return None,
    };
    Some((ShaLanes::of(cpu, family, texts)?, start))
}

/// As [`lane_kernel`], for words of 64 bits.
fn wide_kernel(cpu: Cpu, algorithm: HashAlgorithm, texts: usize) -> Option<(Sha512Lanes, &'static [u64; 8])> {
    let start = match algorithm {
        HashAlgorithm::Sha384 => &SHA384_START,
        HashAlgorithm::Sha512 => &SHA512_START,
        _ => return None,
    };
    Some((Sha512Lanes::of(cpu, texts)?, start))
}

/// The requests of one call, in their order.
struct Queue<'q, 'a, W: 'static> {
    algorithm: HashAlgorithm,
    start: &'static [W; 8],
    items: &'q mut [HashItem<'a>],
    next: usize,
}

impl<'a, W> LaneJobs<'a, W> for Queue<'_, 'a, W> {
    fn next(&mut self) -> Option<LaneJob<'a, W>> {
        let index = self.next;
        let text = self.items.get(index)?.data;
        self.next += 1;
        let digest_bytes = self.algorithm.digest_bytes();
        Some(LaneJob { index, start: Start::Standard(self.start), text, digest_bytes })
    }

    fn digest(&mut self, index: usize) -> &mut [u8; 64] {
        let item = &mut self.items[index];
        item.result = Ok(());
        &mut item.digest
    }
}
