//! Requests over a text: ciphers, message authentication codes and hashes.

use super::{Expected, Maker, Request, zeros};
use crate::load::native::{self, CipherJob, GcmJob, MacJob, TextJob};
use crate::load::operation::{Cipher, Direction, Hash, Mac, Mode, is_aes};
use crate::load::{LabError, Workload};
use wire::verb::{
    self, AesAlgorithm, AesKeyRule, AesMethod, AesPosition, DesChaining, DesMethod, HashMethod, MacFormat,
    MacMethod, Room, Segment,
};

impl Maker<'_> {
    /// A text that is enciphered, or deciphered.
    pub(super) fn cipher(
        &mut self,
        workload: &Workload,
        (cipher, mode, direction): (Cipher, Mode, Direction),
        job: usize,
    ) -> Result<Request, LabError> {
        let refused = native::refused(workload.operation);
        if mode == Mode::Gcm {
            let made = GcmJob::new(self.engine, cipher, direction, job, workload.bytes).map_err(refused)?;
            let key = self.data_key(&made.key, true, job)?;
            return Ok(gcm(made, &key, direction));
        }
        let made =
            CipherJob::new(self.engine, (cipher, mode, direction), job, workload.bytes).map_err(refused)?;
        let key = self.data_key(&made.key, is_aes(cipher), job)?;
        Ok(if is_aes(cipher) { aes(made, &key, mode, direction) } else { des(made, &key, direction) })
    }

    /// The message authentication code of a text.
    pub(super) fn mac(&mut self, workload: &Workload, mac: Mac, job: usize) -> Result<Request, LabError> {
        let refused = native::refused(workload.operation);
        let made = MacJob::new(self.engine, mac, job, workload.bytes).map_err(refused)?;
        let key = self.data_key(&made.key, false, job)?;
        Ok(mac_generate(made, &key, mac))
    }

    /// The hash of a text.
    pub(super) fn hash(&self, workload: &Workload, hash: Hash, job: usize) -> Result<Request, LabError> {
        let refused = native::refused(workload.operation);
        Ok(one_way_hash(TextJob::hash(self.engine, hash, job, workload.bytes).map_err(refused)?, hash))
    }
}

fn des(job: CipherJob, key: &[u8], direction: Direction) -> Request {
    use verb::{decipher as from, encipher as to};
    let (method, chaining) = (Some(DesMethod::Cbc), Some(DesChaining::Initial));
    let (key_identifier, initialization_vector) = (key.into(), job.iv.as_slice().try_into().ok());
    let chaining_vector = Some(&[0; 18]);
    match direction {
        Direction::Encipher => {
            let ask = to::Ask {
                method,
                chaining,
                key_identifier,
                plaintext: &job.input,
                initialization_vector,
                chaining_vector,
                ..to::Ask::new()
            };
            self::Request::new(&ask, Expected::Bytes(to::CIPHERTEXT, job.expected))
        }
        Direction::Decipher => {
            let ask = from::Ask {
                method,
                chaining,
                key_identifier,
                ciphertext: &job.input,
                initialization_vector,
                chaining_vector,
                ..from::Ask::new()
            };
            self::Request::new(&ask, Expected::Bytes(from::PLAINTEXT, job.expected))
        }
    }
}

fn aes(job: CipherJob, key: &[u8], mode: Mode, direction: Direction) -> Request {
    let (method, iv) =
        if mode == Mode::Ecb { (AesMethod::Ecb, &[][..]) } else { (AesMethod::Cbc, &job.iv[..]) };
    let ask = symmetric(method, key, iv, &job.input);
    in_direction(&ask, direction, job.expected)
}

fn gcm(job: GcmJob, key: &[u8], direction: Direction) -> Request {
    let tag = if direction == Direction::Encipher { [0; 16] } else { job.tag };
    let ask = verb::symmetric_algorithm_encipher::Ask {
        key_parms: Room::from(&tag[..]),
        optional_data: &job.aad,
        ..symmetric(AesMethod::Gcm, key, &job.nonce, &job.input)
    };
    in_direction(&ask, direction, job.expected)
}

/// A request that enciphers a text whole, under a key in a token.
fn symmetric<'a>(
    method: AesMethod,
    key: &'a [u8],
    iv: &'a [u8],
    text: &'a [u8],
) -> verb::symmetric_algorithm_encipher::Ask<'a> {
    use verb::symmetric_algorithm_encipher::*;
    Ask {
        method: Some(method),
        key_rule: Some(AesKeyRule::Identifier),
        part: Some(AesPosition::Only),
        key_identifier: key.into(),
        block_size: 16,
        initialization_vector: iv,
        chain_data: zeros::<32>(),
        clear_text: text,
        cipher_text: text.len(),
        ..Ask::new(AesAlgorithm::Aes)
    }
}

/// The request in this direction: its text is enciphered, or deciphered.
fn in_direction(
    ask: &verb::symmetric_algorithm_encipher::Ask<'_>,
    direction: Direction,
    expected: Vec<u8>,
) -> Request {
    use verb::{symmetric_algorithm_decipher as from, symmetric_algorithm_encipher as to};
    if direction == Direction::Encipher {
        return self::Request::new(ask, Expected::Bytes(to::CIPHER_TEXT, expected));
    }
    let ask = from::Ask {
        method: ask.method,
        key_rule: ask.key_rule,
        part: ask.part,
        key_identifier: ask.key_identifier,
        key_parms: ask.key_parms,
        block_size: ask.block_size,
        initialization_vector: ask.initialization_vector,
        chain_data: ask.chain_data,
        cipher_text: ask.clear_text,
        clear_text: ask.cipher_text,
        optional_data: ask.optional_data,
        ..from::Ask::new(ask.algorithm)
    };
    self::Request::new(&ask, Expected::Bytes(from::CLEAR_TEXT, expected))
}

fn mac_generate(job: MacJob, key: &[u8], mac: Mac) -> Request {
    use verb::mac_generate::*;
    let ask = Ask {
        method: Some(if mac == Mac::X99 { MacMethod::X99 } else { MacMethod::X919 }),
        segment: Some(Segment::Only),
        format: Some(MacFormat::Bytes8),
        key_identifier: key.into(),
        text: &job.data,
        chaining_vector: Some(&[0; 18]),
        ..Ask::new()
    };
    self::Request::new(&ask, Expected::Bytes(MAC, job.expected))
}

fn one_way_hash(job: TextJob, hash: Hash) -> Request {
    use verb::one_way_hash::*;
    let method = match hash {
        Hash::Md5 => HashMethod::Md5,
        Hash::Sha1 => HashMethod::Sha1,
        Hash::Ripemd160 => HashMethod::Ripemd160,
        Hash::Sha224 => HashMethod::Sha224,
        Hash::Sha256 => HashMethod::Sha256,
        Hash::Sha384 => HashMethod::Sha384,
        Hash::Sha512 => HashMethod::Sha512,
        Hash::Sha3_224 => HashMethod::Sha3_224,
        Hash::Sha3_256 => HashMethod::Sha3_256,
        Hash::Sha3_384 => HashMethod::Sha3_384,
        Hash::Sha3_512 => HashMethod::Sha3_512,
    };
    let digest = vec![0; hash.digest_bytes()];
    let ask = Ask {
        segment: Some(Segment::Only),
        text: &job.data,
        chaining_vector: zeros::<{ engine::HASH_STATE_BYTES }>(),
        hash: Room::from(&digest[..]),
        ..Ask::new(method)
    };
    self::Request::new(&ask, Expected::Bytes(HASH, job.expected))
}
