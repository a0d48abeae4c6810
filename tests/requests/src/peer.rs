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

/// The exclusive-or of two texts.
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

/// ISO 9797-1 algorithm 3; of a key of three parts the last one enciphers at the end.
pub fn retail_mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mac = cbc_mac(&key[..8], data);
    let last = if key.len() == 24 { &key[16..] } else { &key[..8] };
    des(last, true, &des(&key[8..16], false, &mac))
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

/// The enhanced wrapping of a DES key: CBC in each of the three operations, all parts of each under a key derived from
/// the wrapping one xor the halves of the control vector.
pub fn wrap_enhanced(wrapping: &[u8], halves: [[u8; 8]; 3], key: &[u8]) -> Vec<u8> {
    let mut message = key.to_vec();
    mask_first(&mut message);
    let keys = enhanced_keys(wrapping);
    for (operation, encipher) in [(0, true), (1, false), (2, true)] {
        message = chained(&keys[operation], halves, encipher, &message);
    }
    message
}

/// The reverse of [`wrap_enhanced`].
pub fn unwrap_enhanced(wrapping: &[u8], halves: [[u8; 8]; 3], wrapped: &[u8]) -> Vec<u8> {
    let mut message = wrapped.to_vec();
    let keys = enhanced_keys(wrapping);
    for (operation, encipher) in [(2, false), (1, true), (0, false)] {
        message = chained(&keys[operation], halves, encipher, &message);
    }
    mask_first(&mut message);
    message
}

fn mask_first(message: &mut [u8]) {
    if message.len() > 8 {
        let hash = openssl::sha::sha1(&message[8..]);
        (0..8).for_each(|at| message[at] ^= hash[at]);
    }
}

fn enhanced_keys(wrapping: &[u8]) -> [Vec<u8>; 3] {
    let derived = derived(wrapping, b"ENHANCEDWRAP2010");
    let last = if wrapping.len() == 16 { &derived[..8] } else { &derived[16..24] };
    [derived[..8].to_vec(), derived[8..16].to_vec(), last.to_vec()]
}

/// Single DES in CBC, each part under the key xor its half.
fn chained(key: &[u8], halves: [[u8; 8]; 3], encipher: bool, message: &[u8]) -> Vec<u8> {
    let (mut chain, mut out) = (vec![0; 8], Vec::new());
    for (part, half) in message.chunks(8).zip(halves) {
        let variant = xor(key, &half);
        if encipher {
            chain = des(&variant, true, &xor(part, &chain));
            out.extend_from_slice(&chain);
        } else {
            out.extend_from_slice(&xor(&des(&variant, false, part), &chain));
            chain = part.to_vec();
        }
    }
    out
}

/// The DES key of a token, control vector and length taken from its bytes.
pub fn unwrap_token(master: &[u8], token: &[u8]) -> Vec<u8> {
    let (left, right) = (&token[32..40], &token[40..48]);
    let form = left[5] >> 5;
    let zero = left.iter().all(|byte| *byte == 0);
    let double = form != 0 && !zero || token[59] != 0;
    let triple = (form == 0b011 || form == 0b111) && !zero || token[59] == 0x20;
    let parts = 1 + usize::from(double) + usize::from(triple);
    let field = [&token[16..32], &token[48..56]].concat();
    if matches!(token[7], 0xE0 | 0xC0) {
        let (rest, message) = des_message(token);
        let key = derived(master, b"cryptand internal DES token");
        let opened = hctr2(&key, false, &rest, &message);
        assert!(opened[8 * parts..].iter().all(|byte| *byte == 0), "no key of this length");
        return opened[..8 * parts].to_vec();
    }
    let halves = [left, right, left];
    if token[7] == 0x20 {
        let halves = halves.map(|half| half.try_into().unwrap());
        return unwrap_enhanced(master, halves, &field[..8 * parts]);
    }
    (0..parts)
        .flat_map(|part| {
            let variant: Vec<u8> = master.chunks(8).flat_map(|third| xor(third, halves[part])).collect();
            des(&variant, false, &field[8 * part..8 * part + 8])
        })
        .collect()
}

/// What the key of an authenticated DES token is bound to, and its ciphertext.
pub fn des_message(token: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let field = [&token[16..32], &token[48..56]].concat();
    if token[7] == 0xE0 {
        return ([&token[..16], &token[32..48], &token[56..60]].concat(), field);
    }
    let rest =
        [&token[..1], &[0; 3], &token[4..5], &[0], &token[6..16], &token[32..48], &[0; 3], &token[59..60]];
    (rest.concat(), [&field, &token[1..4], &token[5..6], &token[56..59]].concat())
}

/// The same of an AES token.
pub fn aes_message(token: &[u8]) -> (Vec<u8>, Vec<u8>) {
    if token[7] == 0xE0 {
        return ([&token[..16], &token[48..60]].concat(), token[16..48].to_vec());
    }
    ([&token[..16], &[0; 8], &token[56..60]].concat(), token[16..56].to_vec())
}

/// The authenticated token that says what this one says, with this key, by the method whose wide block ends with the
/// key field.
pub fn unchecked(master: &[u8], token: &[u8], key: &[u8]) -> Vec<u8> {
    let mut token = token.to_vec();
    token[7] = 0xE0;
    let is_aes = token[4] == 4;
    if is_aes {
        token[48..56].fill(0);
    } else {
        [1, 2, 3, 5, 56, 57, 58].iter().for_each(|at| token[*at] = 0);
    }
    let (rest, field) = if is_aes { aes_message(&token) } else { des_message(&token) };
    let label: &[u8] = if is_aes { b"cryptand internal AES token" } else { b"cryptand internal DES token" };
    let mut padded = key.to_vec();
    padded.resize(field.len(), 0);
    let wrapped = hctr2(&derived(master, label), true, &rest, &padded);
    if is_aes {
        token[16..48].copy_from_slice(&wrapped);
    } else {
        token[16..32].copy_from_slice(&wrapped[..16]);
        token[48..56].copy_from_slice(&wrapped[16..]);
    }
    token::tvv::seal((&mut token[..]).try_into().unwrap());
    token
}

/// The padded AES key of a token.
pub fn unwrap_aes_token(master: &[u8], token: &[u8]) -> Vec<u8> {
    if matches!(token[7], 0xE0 | 0xC0) {
        let (rest, message) = aes_message(token);
        let opened = hctr2(&derived(master, b"cryptand internal AES token"), false, &rest, &message);
        return opened[..32].to_vec();
    }
    aes_cbc(master, &[0; 16], false, &token[16..48])
}

/// SP 800-108 in counter mode with HMAC-SHA-256: 256 bits for a label.
pub fn derived(master: &[u8], label: &[u8]) -> Vec<u8> {
    let input = [&[0, 0, 0, 1], label, &[0, 0, 0, 1, 0]].concat();
    let key = openssl::pkey::PKey::hmac(master).unwrap();
    let mut signer = openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).unwrap();
    signer.sign_oneshot_to_vec(&input).unwrap()
}

/// HCTR2 with AES-256 by its paper, from single blocks up and bit by bit.
pub fn hctr2(key: &[u8], encipher: bool, tweak: &[u8], message: &[u8]) -> Vec<u8> {
    let block = |encipher: bool, block: u128| {
        let out = aes_ecb(key, encipher, &block.to_le_bytes());
        u128::from_le_bytes(out.try_into().unwrap())
    };
    let read = |bytes: &[u8]| {
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(block)
    };
    let (hash_key, mask) = (block(true, 0), block(true, 1));
    let hash = |text: &[u8]| {
        let whole = text.len().is_multiple_of(16);
        let mut marked = text.to_vec();
        if !whole {
            marked.push(1);
        }
        let mut sum = polyval_dot(16 * tweak.len() as u128 + if whole { 2 } else { 3 }, hash_key);
        for part in tweak.chunks(16).chain(marked.chunks(16)) {
            sum = polyval_dot(sum ^ read(part), hash_key);
        }
        sum
    };
    let (first, rest) = message.split_at(16);
    let inner = read(first) ^ hash(rest);
    let outer = block(encipher, inner);
    let start = inner ^ outer ^ mask;
    let rest: Vec<u8> = rest
        .chunks(16)
        .zip(1..)
        .flat_map(|(part, index)| xor(part, &block(true, start ^ index).to_le_bytes()))
        .collect();
    [&(outer ^ hash(&rest)).to_le_bytes()[..], &rest].concat()
}

/// `a * b * x^-128` modulo x^128 + x^127 + x^126 + x^121 + 1 (RFC 8452, section 3).
fn polyval_dot(a: u128, b: u128) -> u128 {
    let mut out = 0;
    for bit in 0..128 {
        if a >> bit & 1 == 1 {
            out ^= b;
        }
        let low = out & 1;
        out >>= 1;
        if low == 1 {
            out ^= 1 << 127 | 1 << 126 | 1 << 125 | 1 << 120;
        }
    }
    out
}

/// CMAC of a text of whole blocks, or of one that ends within a block, under an AES key (SP 800-38B).
pub fn cmac_aes(key: &[u8], text: &[u8]) -> Vec<u8> {
    let doubled = |value: &[u8]| {
        let number = u128::from_be_bytes(value.try_into().unwrap());
        let reduction = if number >> 127 == 1 { 0x87 } else { 0 };
        (number << 1 ^ reduction).to_be_bytes().to_vec()
    };
    let whole = doubled(&aes_ecb(key, true, &[0; 16]));
    let mut padded = text.to_vec();
    let is_whole = !text.is_empty() && text.len().is_multiple_of(16);
    if !is_whole {
        padded.push(0x80);
        padded.resize(padded.len().next_multiple_of(16), 0);
    }
    let subkey = if is_whole { whole } else { doubled(&whole) };
    let last = padded.len() - 16;
    let end = xor(&padded[last..], &subkey);
    padded[last..].copy_from_slice(&end);
    padded.chunks(16).fold(vec![0; 16], |chain, block| aes_ecb(key, true, &xor(&chain, block)))
}
