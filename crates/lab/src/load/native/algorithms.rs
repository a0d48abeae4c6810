//! The engine's names of what a workload names.

use crate::load::operation::{Cipher, Direction, Hash, Mac, Mode};
use engine::{CipherAlgorithm, CipherDirection, HashAlgorithm, MacAlgorithm};

pub(in crate::load) const fn algorithm(cipher: Cipher) -> CipherAlgorithm {
    match cipher {
        Cipher::Des => CipherAlgorithm::Des,
        Cipher::Tdes => CipherAlgorithm::Tdes3,
        Cipher::Aes128 => CipherAlgorithm::Aes128,
        Cipher::Aes192 => CipherAlgorithm::Aes192,
        Cipher::Aes256 => CipherAlgorithm::Aes256,
    }
}

pub(in crate::load) const fn engine_mode(mode: Mode) -> engine::Mode {
    match mode {
        Mode::Ecb => engine::Mode::Ecb,
        Mode::Cbc => engine::Mode::Cbc,
        Mode::Ctr | Mode::Gcm => engine::Mode::Ctr,
    }
}

pub(in crate::load) const fn engine_direction(direction: Direction) -> CipherDirection {
    match direction {
        Direction::Encipher => CipherDirection::Encipher,
        Direction::Decipher => CipherDirection::Decipher,
    }
}

pub(in crate::load) const fn hash_algorithm(hash: Hash) -> HashAlgorithm {
    match hash {
        Hash::Sha1 => HashAlgorithm::Sha1,
        Hash::Sha224 => HashAlgorithm::Sha224,
        Hash::Sha256 => HashAlgorithm::Sha256,
        Hash::Sha384 => HashAlgorithm::Sha384,
        Hash::Sha512 => HashAlgorithm::Sha512,
        Hash::Sha3_224 => HashAlgorithm::Sha3_224,
        Hash::Sha3_256 => HashAlgorithm::Sha3_256,
        Hash::Sha3_384 => HashAlgorithm::Sha3_384,
        Hash::Sha3_512 => HashAlgorithm::Sha3_512,
    }
}

pub(in crate::load) const fn mac_algorithm(mac: Mac) -> MacAlgorithm {
    match mac {
        Mac::Des => MacAlgorithm::X99,
        Mac::Tdes => MacAlgorithm::X919,
        Mac::Aes128Cmac => MacAlgorithm::CmacAes128,
    }
}
