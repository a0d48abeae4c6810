//! The same values by OpenSSL, from single block operations up.

use openssl::symm::{Cipher, Crypter, Mode};

/// DES, or triple DES of two or three keys, on whole blocks in ECB.
pub fn des(key: &[u8], encipher: bool, data: &[u8]) -> Vec<u8> {
    let whole: Vec<u8> = match key.len() {
        8 => [key, key, key].concat(),
        16 => [key, &key[..8]].concat(),
        _ => key.to_vec(),
    };
    run(Cipher::des_ede3_ecb(), &whole, None, encipher, data)
}

/// AES on whole blocks in CBC.
pub fn aes_cbc(key: &[u8], iv: &[u8], encipher: bool, data: &[u8]) -> Vec<u8> {
    let cipher = match key.len() {
        16 => Cipher::aes_128_cbc(),
        24 => Cipher::aes_192_cbc(),
        _ => Cipher::aes_256_cbc(),
    };
    run(cipher, key, Some(iv), encipher, data)
}

/// AES on whole blocks in ECB.
pub fn aes_ecb(key: &[u8], encipher: bool, data: &[u8]) -> Vec<u8> {
    let cipher = match key.len() {
        16 => Cipher::aes_128_ecb(),
        24 => Cipher::aes_192_ecb(),
        _ => Cipher::aes_256_ecb(),
    };
    run(cipher, key, None, encipher, data)
}

fn run(cipher: Cipher, key: &[u8], iv: Option<&[u8]>, encipher: bool, data: &[u8]) -> Vec<u8> {
    let mode = if encipher { Mode::Encrypt } else { Mode::Decrypt };
    let mut crypter = Crypter::new(cipher, mode, key, iv).unwrap();
    crypter.pad(false);
    let mut out = vec![0; data.len() + 32];
    let mut length = crypter.update(data, &mut out).unwrap();
    length += crypter.finalize(&mut out[length..]).unwrap();
    out.truncate(length);
    out
}

pub fn xor(one: &[u8], two: &[u8]) -> Vec<u8> {
    one.iter().zip(two).map(|(one, two)| one ^ two).collect()
}

/// CBC from single DES or TDES blocks; gives every ciphertext block.
pub fn des_cbc(key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    let mut chain = iv.to_vec();
    let mut out = Vec::new();
    for block in data.chunks(8) {
        chain = des(key, true, &xor(&chain, block));
        out.extend_from_slice(&chain);
    }
    out
}

/// CBC-MAC of a text of whole blocks.
pub fn cbc_mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let out = des_cbc(key, &[0; 8], data);
    out[out.len() - 8..].to_vec()
}

/// The text padded with zeros to whole blocks.
pub fn zero_padded(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    text.resize(text.len().next_multiple_of(8), 0);
    text
}

/// The text padded with X'80' and zeros to whole blocks.
pub fn emv_padded(text: &[u8]) -> Vec<u8> {
    zero_padded(&[text, &[0x80]].concat())
}

/// ISO 9797-1 algorithm 3.
pub fn retail_mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mac = cbc_mac(&key[..8], data);
    des(&key[..8], true, &des(&key[8..], false, &mac))
}

/// The original wrapping of a DES key: each part under the master key xor its control-vector half.
pub fn wrap_des(master: &[u8], halves: [[u8; 8]; 3], key: &[u8]) -> Vec<u8> {
    key.chunks(8)
        .zip(halves)
        .flat_map(|(part, half)| {
            let variant: Vec<u8> = master.chunks(8).flat_map(|third| xor(third, &half)).collect();
            des(&variant, true, part)
        })
        .collect()
}

/// The inverse of [`wrap_des`], control vector and length taken from the token's bytes.
pub fn unwrap_token(master: &[u8], token: &[u8]) -> Vec<u8> {
    let (left, right) = (&token[32..40], &token[40..48]);
    let open = |half: &[u8], part: &[u8]| {
        let variant: Vec<u8> = master.chunks(8).flat_map(|third| xor(third, half)).collect();
        des(&variant, false, part)
    };
    let form = left[5] >> 5;
    let zero = left.iter().all(|byte| *byte == 0);
    let double = form != 0 && !zero || token[59] != 0;
    let triple = (form == 0b011 || form == 0b111) && !zero || token[59] == 0x20;
    let mut key = open(left, &token[16..24]);
    if double {
        key.extend(open(right, &token[24..32]));
    }
    if triple {
        key.extend(open(left, &token[48..56]));
    }
    key
}
