//! The check value on the paper sheet of a part. It is computed here from the part alone, so that whoever types the
//! part sees at once if it is another than the sheet's.

use super::super::check::{Values, typed_check_value};
use crate::failure::Failure;
use crate::prompt::to_hexadecimal;
use engine::{CipherAlgorithm, CipherDirection, Engine, Mode, Options, sha256};
use zeroize::Zeroizing;

/// Algorithm of a key that is entered in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Des,
    Aes,
    Hmac,
}

/// The check value that a part must have; none if none was given.
pub struct Sheet(Option<Vec<u8>>);

/// Reads the check value of a part.
pub fn sheet(check_value: Option<&str>) -> Result<Sheet, Failure> {
    check_value.map(typed_check_value).transpose().map(Sheet)
}

impl Sheet {
    /// Refuses a part whose check value differs from the sheet's, and a check value of an HMAC part.
    pub fn has(&self, algorithm: Algorithm, part: &[u8]) -> Result<(), Failure> {
        let Some(expected) = &self.0 else { return Ok(()) };
        if algorithm == Algorithm::Hmac {
            return Err(Failure::Usage("--check-value: a part of an HMAC key has none".to_owned()));
        }
        let found = enc_zero(algorithm, part)?;
        if found.starts_with(expected) {
            return Ok(());
        }
        let (found, expected) = (to_hexadecimal(&found[..expected.len()]), to_hexadecimal(expected));
        Err(Failure::Usage(format!(
            "another part than that of the sheet: its check value is {found}, not {expected}; nothing was recorded"
        )))
    }

    /// Refuses a check value given with `complete`, which takes no part.
    pub fn is_of_no_part(&self) -> Result<(), Failure> {
        match self.0 {
            None => Ok(()),
            Some(_) => Err(Failure::Usage("--check-value: `complete` takes no part".to_owned())),
        }
    }
}

/// A part's check value or pattern, as text with its name.
pub fn value(algorithm: Algorithm, part: &[u8]) -> Result<String, Failure> {
    Ok(match algorithm {
        Algorithm::Hmac => format!("pattern {}", to_hexadecimal(&hmac_pattern(part))),
        Algorithm::Des | Algorithm::Aes => {
            format!("check value {}", to_hexadecimal(&enc_zero(algorithm, part)?[..3]))
        }
    })
}

/// Whether these are the values of an all-zero key, of any length.
pub fn is_zero(algorithm: Algorithm, values: &Values) -> bool {
    match algorithm {
        // The halves of an all-zero DES key are equal, which a card refuses.
        Algorithm::Des => false,
        Algorithm::Aes => [16, 24, 32].iter().any(|bytes| {
            values.check.is_some() && enc_zero(algorithm, &vec![0; *bytes]).ok() == values.check
        }),
        Algorithm::Hmac => values
            .pattern
            .as_ref()
            .is_some_and(|pattern| (10..=256).any(|bytes| hmac_pattern(&vec![0; bytes])[..] == pattern[..])),
    }
}

/// The first bytes of a block of zeros, enciphered.
fn enc_zero(algorithm: Algorithm, part: &[u8]) -> Result<[u8; 4], Failure> {
    let cipher = match (algorithm, part.len()) {
        (Algorithm::Des, 8) => CipherAlgorithm::Des,
        (Algorithm::Des, 24) => CipherAlgorithm::Tdes3,
        (Algorithm::Des, _) => CipherAlgorithm::Tdes2,
        (_, 16) => CipherAlgorithm::Aes128,
        (_, 24) => CipherAlgorithm::Aes192,
        (_, _) => CipherAlgorithm::Aes256,
    };
    // This engine protects nothing: a part of a single-length key has a check value like others.
    let engine =
        Engine::new(Options { weak_algorithms: true, ..Options::default() }).map_err(Failure::Engine)?;
    let mut block = [0; 16];
    let block = &mut block[..cipher.block_bytes()];
    engine
        .cipher(cipher, Mode::Ecb, CipherDirection::Encipher, part, &mut [], block)
        .map_err(|_| Failure::Unexpected("check value"))?;
    Ok(block.first_chunk().copied().unwrap_or_default())
}

/// SHA2VP1 (Linux on Z CCA): algorithm and type as tokens of variable length have them, bits, and key.
fn hmac_pattern(part: &[u8]) -> [u8; 16] {
    let mut text = Zeroizing::new(vec![0x03, 0x00, 0x02]);
    text.reserve_exact(2 + part.len());
    text.extend_from_slice(&(8 * part.len() as u16).to_be_bytes());
    text.extend_from_slice(part);
    sha256(&text).first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::symm::{Cipher, encrypt};

    #[test]
    fn check_values_are_those_of_another_library() {
        let part: Vec<u8> = (1..=32).collect();
        let first = |cipher, length: usize, block: usize| {
            encrypt(cipher, &part[..length], None, &vec![0; block]).unwrap()[..4].to_vec()
        };
        for (algorithm, length, expected) in [
            (Algorithm::Aes, 16, first(Cipher::aes_128_ecb(), 16, 16)),
            (Algorithm::Aes, 24, first(Cipher::aes_192_ecb(), 24, 16)),
            (Algorithm::Aes, 32, first(Cipher::aes_256_ecb(), 32, 16)),
        ] {
            assert_eq!(enc_zero(algorithm, &part[..length]).unwrap(), expected[..], "{length}");
        }
        let long = [&part[..16], &part[..8]].concat();
        let expected = encrypt(Cipher::des_ede3_ecb(), &long, None, &[0; 8]).unwrap();
        assert_eq!(enc_zero(Algorithm::Des, &part[..16]).unwrap(), expected[..4]);
        // FIPS 46-3 of a key of zeros.
        assert_eq!(enc_zero(Algorithm::Des, &[0; 8]).unwrap(), [0x8C, 0xA6, 0x4D, 0xE9]);
    }

    #[test]
    fn a_part_of_another_sheet_is_refused() {
        let other = sheet(Some("8CA64D")).unwrap();
        other.has(Algorithm::Des, &[0; 16]).unwrap();
        let error = other.has(Algorithm::Des, &[0x42; 16]).unwrap_err().to_string();
        assert!(error.contains("not 8CA64D"), "{error}");
        assert!(other.is_of_no_part().is_err() && other.has(Algorithm::Hmac, &[1; 32]).is_err());
        assert!(
            sheet(Some("8CA6")).is_err() && sheet(Some("8CA64DE9C1")).is_err() && sheet(Some("x")).is_err()
        );
        sheet(None).unwrap().has(Algorithm::Aes, &[0; 16]).unwrap();
    }
}
