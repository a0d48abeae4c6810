//! Key tokens in files: as bytes, in hexadecimal or in base64, as people and programs pass them on. They may hold clear
//! keys.

use crate::failure::Failure;
use crate::prompt;
use std::io::{Read, stdin};
use std::path::Path;
use wire::Label;
use wire::bounds::TOKEN_BYTES_MAX;
use zeroize::Zeroizing;

/// Longest file that is read, in bytes: a token in hexadecimal, in lines.
const FILE_BYTES_MAX: usize = 3 * TOKEN_BYTES_MAX;

/// The file's name in messages.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// The token in a file, or on standard input (`-`).
///
/// # Errors
/// [`Failure`] for a file that cannot be read, is empty, or is longer than any token.
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // Space for the whole file, so that growing the buffer leaves no copy of a clear key.
    let mut given = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX + 2));
    let limit = FILE_BYTES_MAX as u64 + 1;
    let read = if path == Path::new("-") {
        stdin().lock().take(limit).read_to_end(&mut given)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut given))
    };
    read.map_err(Failure::io(format!("read {}", shown(path))))?;
    if given.is_empty() {
        return Err(Failure::Damaged(format!("{}: empty, and no token", shown(path))));
    }
    let is_too_long = given.len() > FILE_BYTES_MAX;
    let token = if is_too_long { given } else { decoded(given) };
    if is_too_long || token.len() > TOKEN_BYTES_MAX {
        return Err(Failure::Damaged(format!("{}: too long for a key token", shown(path))));
    }
    Ok(token)
}

/// The token in `given`: decoded if it is text, else unchanged. A token begins with a byte that no text begins with. A
/// key block of TR-31 and a label are text themselves.
fn decoded(given: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    let text = given
        .trim_ascii()
        .strip_prefix(b"\"")
        .map_or(given.trim_ascii(), |text| text.strip_suffix(b"\"").unwrap_or(text));
    if token::tr31::begins(text) {
        return Zeroizing::new(text.to_vec());
    }
    let is_label = given.len() == wire::bounds::LABEL_BYTES && Label::is_label_field(&given);
    let is_token = |bytes: &[u8]| matches!(bytes.first(), Some(0x00..=0x02 | 0x1E | 0x1F));
    if let Some(bytes) = of_hexadecimal(text)
        && (!is_label || is_token(&bytes))
    {
        return bytes;
    }
    if let Some(bytes) = of_base64(text)
        && is_token(&bytes)
    {
        return bytes;
    }
    given
}

/// A token in hexadecimal digits, with or without `hex:`, as `cryptand verb` and `cryptand key public-key` print it.
fn of_hexadecimal(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digits = text.strip_prefix(b"hex:").unwrap_or(text);
    if digits.is_empty() { None } else { prompt::hexadecimal(std::str::from_utf8(digits).ok()?).ok() }
}

/// A token in base64 (RFC 4648), in lines of any length, with its padding.
fn of_base64(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let letters = || text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let count = letters().count();
    let padding = letters().rev().take_while(|byte| **byte == b'=').count();
    if !count.is_multiple_of(4) || count == 0 || padding > 2 {
        return None;
    }
    let (mut held, mut bits) = (0u32, 0);
    for letter in letters().take(count - padding) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(value)) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    // The unused low bits of the last letter must be zero.
    (held & ((1 << bits) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &[u8]) -> Vec<u8> {
        decoded(Zeroizing::new(text.to_vec())).to_vec()
    }

    #[test]
    fn a_token_is_read_however_it_is_written() {
        let token: Vec<u8> = [0x01].into_iter().chain((0..=62).map(|byte| byte * 4)).collect();
        let hex = prompt::to_hexadecimal(&token);
        let base64 = openssl::base64::encode_block(&token);
        assert_eq!(of(&token), token);
        for text in [&hex, &hex.to_lowercase(), &format!("hex:{hex}\n"), &format!("\"hex:{hex}\"\n"), &base64]
        {
            assert_eq!(of(text.as_bytes()), token, "{text}");
            let (first, rest) = text.split_at(text.len() - 20);
            assert_eq!(of(format!("{first}\n{rest}\n").as_bytes()), token, "{text}");
        }
        for length in 1..20 {
            let bytes: Vec<u8> = token[..length].to_vec();
            assert_eq!(of(openssl::base64::encode_block(&bytes).as_bytes()), bytes);
        }
        let label = Label::new("DEADBEEF").unwrap().to_field();
        assert_eq!(of(&label), label);
        let block = format!("D0112D0AB00E0000{}", "AB".repeat(48));
        assert_eq!(of(format!("{block}\n").as_bytes()), block.as_bytes());
        for other in ["AQ=", "AQ==x", "A===", "AR==", "hex:012", "hello"] {
            assert_eq!(of(other.as_bytes()), other.as_bytes());
        }
    }
}
