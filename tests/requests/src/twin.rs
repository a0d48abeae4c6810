//! Key blocks by OpenSSL's block ciphers alone, from the standard's text: a second implementation.

use crate::peer;

fn block(version: char, key: &[u8], data: &[u8]) -> Vec<u8> {
    if version == 'D' { peer::aes_ecb(key, true, data) } else { peer::des(key, true, data) }
}

fn block_bytes(version: char) -> usize {
    if version == 'D' { 16 } else { 8 }
}

fn doubled(value: &[u8]) -> Vec<u8> {
    let constant = if value.len() == 16 { 0x87 } else { 0x1B };
    let mut out: Vec<u8> =
        (0..value.len()).map(|at| value[at] << 1 | value.get(at + 1).map_or(0, |next| next >> 7)).collect();
    if value[0] >> 7 == 1 {
        *out.last_mut().unwrap() ^= constant;
    }
    out
}

/// CMAC (SP 800-38B) with TDES or AES.
fn cmac(version: char, key: &[u8], text: &[u8]) -> Vec<u8> {
    let bytes = block_bytes(version);
    let mut tweak = doubled(&block(version, key, &vec![0; bytes]));
    let mut padded = text.to_vec();
    if padded.is_empty() || !padded.len().is_multiple_of(bytes) {
        tweak = doubled(&tweak);
        padded.push(0x80);
        padded.resize(padded.len().next_multiple_of(bytes), 0);
    }
    let last = padded.len() - bytes;
    for (byte, tweak) in padded[last..].iter_mut().zip(&tweak) {
        *byte ^= tweak;
    }
    padded.chunks(bytes).fold(vec![0; bytes], |chain, one| block(version, key, &peer::xor(&chain, one)))
}

/// The keys that encipher and authenticate.
fn keys(version: char, key: &[u8]) -> [Vec<u8>; 2] {
    if matches!(version, 'A' | 'C') {
        return [0x45, 0x4D].map(|variant| key.iter().map(|byte| byte ^ variant).collect());
    }
    [0u8, 1].map(|purpose| {
        let algorithm = match (version, key.len()) {
            ('D', 16) => 2,
            ('D', 24) => 3,
            ('D', _) => 4,
            (_, 16) => 0,
            _ => 1,
        };
        let bits = (8 * key.len() as u16).to_be_bytes();
        let all = (1..=key.len().div_ceil(block_bytes(version)) as u8)
            .flat_map(|number| cmac(version, key, &[number, 0, purpose, 0, 0, algorithm, bits[0], bits[1]]));
        all.take(key.len()).collect()
    })
}

fn cbc(version: char, key: &[u8], vector: &[u8], data: &[u8]) -> Vec<u8> {
    let bytes = block_bytes(version);
    let mut chain = vector[..bytes].to_vec();
    let mut out = Vec::new();
    for one in data.chunks(bytes) {
        chain = block(version, key, &peer::xor(&chain, one));
        out.extend_from_slice(&chain);
    }
    out
}

/// A block: `header` is the sixteen characters and optional blocks, of whatever length it says; `payload` begins with
/// the length of the key.
pub fn seal_payload(protection: &[u8], header: &str, payload: &[u8]) -> String {
    let version = header.chars().next().unwrap();
    let mac_bytes = match version {
        'A' | 'C' => 4,
        'B' => 8,
        _ => 16,
    };
    let length = header.len() + 2 * (payload.len() + mac_bytes);
    let header = format!("{version}{length:04}{}", &header[5..]);
    let [encipher, authenticate] = keys(version, protection);
    let with = |payload: &[u8]| [header.as_bytes(), payload].concat();
    let (enciphered, mac) = if matches!(version, 'A' | 'C') {
        let enciphered = cbc(version, &encipher, header.as_bytes(), payload);
        let mac = cbc(version, &authenticate, &[0; 8], &with(&enciphered));
        (enciphered, mac[mac.len() - 8..][..4].to_vec())
    } else {
        let mac = cmac(version, &authenticate, &with(payload));
        (cbc(version, &encipher, &mac, payload), mac)
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    format!("{header}{}{}", hex(&enciphered), hex(&mac))
}

/// The same of a key, filled up with a byte of 5A to so many bytes of payload, or to whole blocks.
pub fn seal(protection: &[u8], header: &str, key: &[u8]) -> String {
    let mut payload = (8 * key.len() as u16).to_be_bytes().to_vec();
    payload.extend_from_slice(key);
    payload.resize(payload.len().next_multiple_of(block_bytes(header.chars().next().unwrap())), 0x5A);
    seal_payload(protection, header, &payload)
}

/// The clear payload of a block of B or D, whose MAC must be right.
pub fn opened(protection: &[u8], text: &str) -> Vec<u8> {
    let version = text.chars().next().unwrap();
    let bytes = block_bytes(version);
    let header_bytes = header_bytes(text);
    let hexadecimal = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let (enciphered, mac) = text[header_bytes..].split_at(text.len() - header_bytes - 2 * bytes);
    let (enciphered, mac) = (hexadecimal(enciphered), hexadecimal(mac));
    let [encipher, authenticate] = keys(version, protection);
    let mut chain = mac.clone();
    let mut payload = Vec::new();
    for one in enciphered.chunks(bytes) {
        let clear = if version == 'D' {
            peer::aes_ecb(&encipher, false, one)
        } else {
            peer::des(&encipher, false, one)
        };
        payload.extend(peer::xor(&chain, &clear));
        chain = one.to_vec();
    }
    assert_eq!(cmac(version, &authenticate, &[&text.as_bytes()[..header_bytes], &payload].concat()), mac);
    payload
}

/// Where the optional blocks end, whose lengths have two digits.
fn header_bytes(text: &str) -> usize {
    let count: usize = text[12..14].parse().unwrap();
    (0..count).fold(16, |at, _| at + usize::from_str_radix(&text[at + 2..at + 4], 16).unwrap())
}

/// A block with another header over the same enciphered payload, and the MAC that is right for it; of A and C alone.
pub fn with_header(protection: &[u8], text: &str, edit: impl Fn(String) -> String) -> String {
    let version = text.chars().next().unwrap();
    let header = edit(text[..16].to_string());
    let enciphered: Vec<u8> = (16..text.len() - 8)
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect();
    let [_, authenticate] = keys(version, protection);
    let mac = cbc(version, &authenticate, &[0; 8], &[header.as_bytes(), &enciphered].concat());
    let mac: String = mac[mac.len() - 8..][..4].iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{header}{}{mac}", &text[16..text.len() - 8])
}
