//! Key blocks opened and sealed: their keys derived, their payloads enciphered or deciphered, their MACs made, each of
//! the three in one call of the engine for all blocks of a pass that are alike.

use super::{Kernel, Pass, Queue, Work};
use engine::{
    CipherAlgorithm, CipherDirection, Column, ColumnError, ColumnMut, Engine, MacAlgorithm, Mode, SecretBytes,
};
use payments::Mask;
use payments::key_block::{Derivation, Purpose, Version, verifies};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// What is to be done with a key block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyBlockTask {
    /// Enciphers the clear payload, and makes the MAC.
    Seal,
    /// Deciphers the payload, and checks the MAC.
    Open,
}

/// A key block to be opened or sealed.
pub(crate) struct KeyBlock {
    pub(crate) task: KeyBlockTask,
    pub(crate) version: Version,
    /// The protection key, of a length that the version takes.
    pub(crate) key: SecretBytes,
    /// The header with its optional blocks.
    pub(crate) header: Vec<u8>,
    /// The payload, in whole blocks of the cipher.
    pub(crate) payload: Zeroizing<Vec<u8>>,
    /// The MAC to be checked; for a MAC to be made, any bytes of the length of the version's MAC.
    pub(crate) mac: Vec<u8>,
}

/// The result for a key block.
pub(crate) struct KeyBlockDone {
    /// The payload, deciphered or enciphered.
    pub(crate) payload: Zeroizing<Vec<u8>>,
    /// The MAC that was made, of the version's length.
    pub(crate) mac: Vec<u8>,
    /// Whether the given MAC equals the one that was made; without meaning for a block that is sealed.
    pub(crate) is_right: Mask,
}

/// The finished block, or the codes of its refusal.
pub(crate) type Answer = Result<KeyBlockDone, Codes>;

impl<'a> Work<'a> for KeyBlock {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.key_block
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let engine = kernel.engine;
        for (answer, work) in answers.iter_mut().zip(&*asked) {
            *answer = work.is_wrong().then_some(Err(code::SELF_CHECK));
        }
        let mut lanes: Vec<Lane<'_>> = asked
            .iter_mut()
            .zip(&*answers)
            .enumerate()
            .filter(|(_, (_, answer))| answer.is_none())
            .map(|(at, (work, _))| Lane {
                at,
                work,
                keys: Zeroizing::new([[0; KEY_BYTES_MAX]; 2]),
                made: [0; 16],
            })
            .collect();
        let done = run(engine, &mut lanes);
        for lane in lanes {
            let length = lane.work.version.mac_bytes();
            answers[lane.at] = Some(done.map_err(|_| code::SELF_CHECK).map(|()| KeyBlockDone {
                is_right: verifies(lane.work.version, &lane.made, &lane.work.mac),
                mac: lane.made[..length].to_vec(),
                payload: std::mem::take(&mut lane.work.payload),
            }));
        }
    }
}

impl KeyBlock {
    /// Whether any length is not one of the version, a fault of the verb: verbs check lengths before.
    fn is_wrong(&self) -> bool {
        let block = self.version.cipher_bytes();
        !self.version.takes_key_of(self.key.len())
            || self.payload.is_empty()
            || !self.payload.len().is_multiple_of(block)
            || self.header.len() < block
            || !self.header.len().is_multiple_of(block)
            || self.mac.len() != self.version.mac_bytes()
    }

    /// Whether the MAC is computed of the payload as it was given, and not of the processed one.
    fn is_of_given(&self) -> bool {
        (self.task == KeyBlockTask::Seal) == self.version.authenticates_clear()
    }

    fn cipher(&self) -> CipherAlgorithm {
        match (self.version, self.key.len()) {
            (Version::D, 16) => CipherAlgorithm::Aes128,
            (Version::D, 24) => CipherAlgorithm::Aes192,
            (Version::D, _) => CipherAlgorithm::Aes256,
            (_, 16) => CipherAlgorithm::Tdes2,
            _ => CipherAlgorithm::Tdes3,
        }
    }

    fn cmac(&self) -> MacAlgorithm {
        match self.cipher() {
            CipherAlgorithm::Aes128 => MacAlgorithm::CmacAes128,
            CipherAlgorithm::Aes192 => MacAlgorithm::CmacAes192,
            CipherAlgorithm::Aes256 => MacAlgorithm::CmacAes256,
            CipherAlgorithm::Tdes2 => MacAlgorithm::CmacTdes2,
            _ => MacAlgorithm::CmacTdes3,
        }
    }
}

/// One block, as far as it has got.
struct Lane<'w> {
    /// Index of its answer.
    at: usize,
    work: &'w mut KeyBlock,
    /// The key that enciphers, then the key that authenticates.
    keys: Zeroizing<[[u8; KEY_BYTES_MAX]; 2]>,
    made: [u8; 16],
}

impl Lane<'_> {
    fn key(&self, purpose: Purpose) -> &[u8] {
        &self.keys[purpose as usize][..self.work.key.len()]
    }
}

const KEY_BYTES_MAX: usize = 32;
const PURPOSES: [Purpose; 2] = [Purpose::Encipher, Purpose::Authenticate];

fn run(engine: &Engine, lanes: &mut [Lane<'_>]) -> Result<(), ColumnError> {
    derive(engine, lanes)?;
    authenticate(engine, lanes, true)?;
    cipher(engine, lanes)?;
    authenticate(engine, lanes, false)
}

/// Lists of lanes with equal properties, of which a pass has few.
fn alike<K: PartialEq>(lanes: &[Lane<'_>], of: impl Fn(&Lane<'_>) -> Option<K>) -> Vec<(K, Vec<usize>)> {
    let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
    for (index, lane) in lanes.iter().enumerate() {
        let Some(kind) = of(lane) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, members)) => members.push(index),
            None => groups.push((kind, vec![index])),
        }
    }
    groups
}

/// Fills the lanes with the two keys of their blocks.
fn derive(engine: &Engine, lanes: &mut [Lane<'_>]) -> Result<(), ColumnError> {
    for lane in lanes.iter_mut() {
        for purpose in PURPOSES {
            if let Some(variant) = lane.work.version.variant(purpose) {
                let key = &mut lane.keys[purpose as usize];
                key.iter_mut().zip(&lane.work.key[..]).for_each(|(byte, given)| *byte = given ^ variant);
            }
        }
    }
    let is_derived = |lane: &Lane<'_>| lane.work.version.authenticates_clear().then(|| lane.work.cmac());
    for (algorithm, members) in alike(lanes, is_derived) {
        let block = algorithm.block_bytes();
        let mut messages = Vec::new();
        for purpose in PURPOSES {
            let first = &lanes[members[0]].work;
            let derivation = Derivation::new(first.version, purpose, first.key.len());
            messages.extend(derivation.into_iter().flat_map(Derivation::messages).flatten());
        }
        // Each lane has the same number of messages: those of both purposes.
        let each = messages.len() / MESSAGE_BYTES;
        let texts = messages.repeat(members.len());
        let keys: Vec<&[u8]> =
            members.iter().flat_map(|lane| std::iter::repeat_n(&lanes[*lane].work.key[..], each)).collect();
        let mut macs = Zeroizing::new(vec![0; keys.len() * block]);
        let texts = Column::contiguous(&texts, MESSAGE_BYTES, keys.len())?;
        engine.mac_columns(algorithm, Column::scattered(&keys)?, texts, &mut macs)?;
        for (lane, macs) in members.iter().zip(macs.chunks(each * block)) {
            let lane = &mut lanes[*lane];
            let bytes = lane.work.key.len();
            for (key, macs) in lane.keys.iter_mut().zip(macs.chunks(each * block / 2)) {
                key[..bytes].copy_from_slice(&macs[..bytes]);
            }
        }
    }
    Ok(())
}

/// Length in bytes of a message from which a key is derived.
const MESSAGE_BYTES: usize = 8;

/// Makes the MACs: of payloads as given if `is_of_given`, else of processed payloads.
fn authenticate(engine: &Engine, lanes: &mut [Lane<'_>], is_of_given: bool) -> Result<(), ColumnError> {
    let kind = |lane: &Lane<'_>| {
        let work = &lane.work;
        let bytes = work.header.len() + work.payload.len();
        (work.is_of_given() == is_of_given)
            .then(|| (work.version.authenticates_clear(), work.cipher(), bytes))
    };
    for ((is_cmac, cipher, bytes), members) in alike(lanes, kind) {
        let count = members.len();
        let mut texts = Zeroizing::new(Vec::with_capacity(count * bytes));
        for lane in &members {
            texts.extend_from_slice(&lanes[*lane].work.header);
            texts.extend_from_slice(&lanes[*lane].work.payload);
        }
        let keys: Vec<&[u8]> = members.iter().map(|lane| lanes[*lane].key(Purpose::Authenticate)).collect();
        let keys = Column::scattered(&keys)?;
        let block = cipher.block_bytes();
        let mut macs = vec![0; count * block];
        if is_cmac {
            let algorithm = lanes[members[0]].work.cmac();
            engine.mac_columns(algorithm, keys, Column::contiguous(&texts, bytes, count)?, &mut macs)?;
        } else {
            // The last block of CBC is the MAC.
            let mut texts = ColumnMut::contiguous(&mut texts, bytes, count)?;
            let how = (Mode::Cbc, CipherDirection::Encipher);
            engine.cipher_columns(cipher, how.0, how.1, keys, &mut macs, &mut texts)?;
        }
        for (lane, mac) in members.iter().zip(macs.chunks(block)) {
            lanes[*lane].made[..block].copy_from_slice(mac);
        }
    }
    Ok(())
}

/// Enciphers or deciphers the payloads in place.
fn cipher(engine: &Engine, lanes: &mut [Lane<'_>]) -> Result<(), ColumnError> {
    let kind = |lane: &Lane<'_>| Some((lane.work.task, lane.work.cipher(), lane.work.payload.len()));
    for ((task, cipher, bytes), members) in alike(lanes, kind) {
        let (count, block) = (members.len(), cipher.block_bytes());
        let mut texts = Zeroizing::new(Vec::with_capacity(count * bytes));
        let mut vectors = Vec::with_capacity(count * block);
        for lane in &members {
            let work = &lanes[*lane].work;
            let mac = if task == KeyBlockTask::Seal { &lanes[*lane].made } else { &work.mac[..] };
            vectors.extend_from_slice(&work.version.vector(&work.header, mac)[..block]);
            texts.extend_from_slice(&work.payload);
        }
        let keys: Vec<&[u8]> = members.iter().map(|lane| lanes[*lane].key(Purpose::Encipher)).collect();
        let direction = match task {
            KeyBlockTask::Seal => CipherDirection::Encipher,
            KeyBlockTask::Open => CipherDirection::Decipher,
        };
        let mut column = ColumnMut::contiguous(&mut texts, bytes, count)?;
        let keys = Column::scattered(&keys)?;
        engine.cipher_columns(cipher, Mode::Cbc, direction, keys, &mut vectors, &mut column)?;
        for (lane, text) in members.iter().zip(texts.chunks(bytes)) {
            lanes[*lane].work.payload.copy_from_slice(text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
