//! OpenSSL's answers, and constructions that it lacks, built of its single blocks.

use engine::{CipherAlgorithm, CipherDirection, HashAlgorithm, MacAlgorithm, Mode};
use openssl::bn::{BigNum, BigNumContext};
use openssl::cipher_ctx::CipherCtx;
use openssl::hash::MessageDigest;
use openssl::symm::{Cipher, Crypter};

/// Triple DES for every kind of DES: OpenSSL's default provider has no single DES, and three equal keys are
/// one.
pub fn three_parts(algorithm: CipherAlgorithm, key: &[u8]) -> Vec<u8> {
    match algorithm {
        CipherAlgorithm::Des => key.repeat(3),
        CipherAlgorithm::Tdes2 => [key, &key[..8]].concat(),
        _ => key.to_vec(),
    }
}

pub fn run(cipher: Cipher, encipher: bool, key: &[u8], iv: Option<&[u8]>, text: &[u8]) -> Vec<u8> {
    let mode = if encipher { openssl::symm::Mode::Encrypt } else { openssl::symm::Mode::Decrypt };
    let mut crypter = Crypter::new(cipher, mode, key, iv).expect("OpenSSL takes the key");
    crypter.pad(false);
    let mut out = vec![0; text.len() + cipher.block_size()];
    let bytes = crypter.update(text, &mut out).expect("whole blocks");
    let bytes = bytes + crypter.finalize(&mut out[bytes..]).expect("whole blocks");
    out.truncate(bytes);
    out
}

pub fn ecb(algorithm: CipherAlgorithm) -> Cipher {
    match algorithm {
        CipherAlgorithm::Aes128 => Cipher::aes_128_ecb(),
        CipherAlgorithm::Aes192 => Cipher::aes_192_ecb(),
        CipherAlgorithm::Aes256 => Cipher::aes_256_ecb(),
        _ => Cipher::des_ede3_ecb(),
    }
}

fn cbc(algorithm: CipherAlgorithm) -> Cipher {
    match algorithm {
        CipherAlgorithm::Aes128 => Cipher::aes_128_cbc(),
        CipherAlgorithm::Aes192 => Cipher::aes_192_cbc(),
        CipherAlgorithm::Aes256 => Cipher::aes_256_cbc(),
        _ => Cipher::des_ede3_cbc(),
    }
}

/// The text and the chaining value that come out.
pub fn theirs(
    algorithm: CipherAlgorithm,
    mode: Mode,
    direction: CipherDirection,
    key: &[u8],
    chain: &[u8],
    text: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let encipher = direction == CipherDirection::Encipher;
    let key = three_parts(algorithm, key);
    let block = algorithm.block_bytes();
    match mode {
        Mode::Ecb => (run(ecb(algorithm), encipher, &key, None, text), chain.to_vec()),
        Mode::Cbc => {
            let out = run(cbc(algorithm), encipher, &key, Some(chain), text);
            let cipher_text = if encipher { &out[..] } else { text };
            let last = cipher_text.len().checked_sub(block).map_or(chain, |at| &cipher_text[at..]).to_vec();
            (out, last)
        }
        Mode::Ctr => {
            let counters: Vec<Vec<u8>> =
                (0..=text.len().div_ceil(block)).map(|at| counter(chain, at as u128)).collect();
            let (last, counters) = counters.split_last().expect("one more than blocks");
            let stream = run(ecb(algorithm), true, &key, None, &counters.concat());
            (text.iter().zip(stream).map(|(byte, key_byte)| byte ^ key_byte).collect(), last.clone())
        }
    }
}

pub fn counter(chain: &[u8], add: u128) -> Vec<u8> {
    let mut wide = [0; 16];
    wide[16 - chain.len()..].copy_from_slice(chain);
    u128::from_be_bytes(wide).wrapping_add(add).to_be_bytes()[16 - chain.len()..].to_vec()
}

pub fn their_mac(algorithm: MacAlgorithm, key: &[u8], text: &[u8]) -> Vec<u8> {
    let block = algorithm.block_bytes();
    let cipher = match algorithm {
        MacAlgorithm::X99 | MacAlgorithm::X919 => CipherAlgorithm::Des,
        MacAlgorithm::CmacTdes2 => CipherAlgorithm::Tdes2,
        MacAlgorithm::CmacTdes3 => CipherAlgorithm::Tdes3,
        MacAlgorithm::CmacAes128 => CipherAlgorithm::Aes128,
        MacAlgorithm::CmacAes192 => CipherAlgorithm::Aes192,
        MacAlgorithm::CmacAes256 => CipherAlgorithm::Aes256,
    };
    let (encipher, decipher) = (CipherDirection::Encipher, CipherDirection::Decipher);
    if matches!(algorithm, MacAlgorithm::X99 | MacAlgorithm::X919) {
        let padded = [text, &vec![0; text.len().next_multiple_of(block) - text.len()]].concat();
        let (_, last) = theirs(cipher, Mode::Cbc, encipher, &key[..8], &[0; 8], &padded);
        if algorithm == MacAlgorithm::X99 {
            return last;
        }
        let (back, _) = theirs(cipher, Mode::Ecb, decipher, &key[8..], &[0; 8], &last);
        return theirs(cipher, Mode::Ecb, encipher, &key[..8], &[0; 8], &back).0;
    }
    // SP 800-38B, 6.1 and 6.2, with the subkeys as numbers.
    let (zero, _) = theirs(cipher, Mode::Ecb, encipher, key, &vec![0; block], &vec![0; block]);
    let (first, second) = {
        let first = doubled(&zero);
        let second = doubled(&first);
        (first, second)
    };
    let whole = !text.is_empty() && text.len().is_multiple_of(block);
    let mut padded = text.to_vec();
    if !whole {
        padded.push(0x80);
        padded.resize(padded.len().next_multiple_of(block), 0);
    }
    let at = padded.len() - block;
    for (byte, key_byte) in padded[at..].iter_mut().zip(if whole { first } else { second }) {
        *byte ^= key_byte;
    }
    theirs(cipher, Mode::Cbc, encipher, key, &vec![0; block], &padded).1
}

fn doubled(value: &[u8]) -> Vec<u8> {
    let bits = 8 * value.len();
    let mut wide = [0; 16];
    wide[16 - value.len()..].copy_from_slice(value);
    let number = u128::from_be_bytes(wide);
    let polynomial = if bits == 64 { 0x1b } else { 0x87 };
    let out = number << 1 ^ if number >> (bits - 1) & 1 == 1 { polynomial } else { 0 };
    out.to_be_bytes()[16 - value.len()..].to_vec()
}

pub fn digest(hash: HashAlgorithm) -> MessageDigest {
    match hash {
        HashAlgorithm::Md5 => MessageDigest::md5(),
        HashAlgorithm::Sha1 => MessageDigest::sha1(),
        HashAlgorithm::Ripemd160 => MessageDigest::ripemd160(),
        HashAlgorithm::Sha224 => MessageDigest::sha224(),
        HashAlgorithm::Sha256 => MessageDigest::sha256(),
        HashAlgorithm::Sha384 => MessageDigest::sha384(),
        HashAlgorithm::Sha512 => MessageDigest::sha512(),
        HashAlgorithm::Sha3_224 => MessageDigest::sha3_224(),
        HashAlgorithm::Sha3_256 => MessageDigest::sha3_256(),
        HashAlgorithm::Sha3_384 => MessageDigest::sha3_384(),
        HashAlgorithm::Sha3_512 => MessageDigest::sha3_512(),
    }
}

pub fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| BigNum::from_slice(bytes).expect("a number");
    let mut out = BigNum::new().expect("a number");
    let mut context = BigNumContext::new().expect("a context");
    out.mod_exp(&number(base), &number(exponent), &number(modulus), &mut context).expect("an odd modulus");
    out.to_vec_padded(modulus.len() as i32).expect("it is below the modulus")
}

/// OCB (RFC 7253): the ciphertext, then the tag.
pub fn ocb(key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8], tag_bytes: usize) -> Vec<u8> {
    let cipher = match key.len() {
        16 => openssl::cipher::Cipher::aes_128_ocb(),
        24 => openssl::cipher::Cipher::aes_192_ocb(),
        _ => openssl::cipher::Cipher::aes_256_ocb(),
    };
    let mut context = CipherCtx::new().expect("a context");
    let mut out = Vec::new();
    let mut tag = vec![0; tag_bytes];
    let mut run = || {
        context.encrypt_init(Some(cipher), None, None)?;
        context.set_iv_length(nonce.len())?;
        context.set_tag_length(tag_bytes)?;
        context.encrypt_init(None, Some(key), Some(nonce))?;
        if !aad.is_empty() {
            context.cipher_update(aad, None)?;
        }
        if !text.is_empty() {
            context.cipher_update_vec(text, &mut out)?;
        }
        context.cipher_final_vec(&mut out)?;
        context.tag(&mut tag)
    };
    run().expect("OpenSSL enciphers");
    [out, tag].concat()
}

/// EAX (Bellare, Rogaway and Wagner 2004, figure 3) from CMAC and CTR: the ciphertext, then the whole tag.
pub fn eax(key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8]) -> Vec<u8> {
    let (mac, cipher) = match key.len() {
        16 => (MacAlgorithm::CmacAes128, CipherAlgorithm::Aes128),
        24 => (MacAlgorithm::CmacAes192, CipherAlgorithm::Aes192),
        _ => (MacAlgorithm::CmacAes256, CipherAlgorithm::Aes256),
    };
    let omac = |number: u8, text: &[u8]| their_mac(mac, key, &[&[0; 15], &[number][..], text].concat());
    let (start, header) = (omac(0, nonce), omac(1, aad));
    let (mut out, _) = theirs(cipher, Mode::Ctr, CipherDirection::Encipher, key, &start, text);
    let body = omac(2, &out);
    out.extend(start.iter().zip(header).zip(body).map(|((start, header), body)| start ^ header ^ body));
    out
}

/// AES-CFB with segments of a whole block.
pub fn cfb(encipher: bool, key: &[u8], iv: &[u8], text: &[u8]) -> Vec<u8> {
    let cipher = match key.len() {
        16 => Cipher::aes_128_cfb128(),
        24 => Cipher::aes_192_cfb128(),
        _ => Cipher::aes_256_cfb128(),
    };
    run(cipher, encipher, key, Some(iv), text)
}
