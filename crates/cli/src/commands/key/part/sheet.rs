//! The check value on the paper sheet of a part. It is computed here from the part alone, so that whoever types the
//! part sees at once if it is another than the sheet's.

use super::super::check::Values;
use super::super::check_value::{CheckMatch, CheckValues, GivenCheckValue};
use crate::failure::Failure;
use crate::prompt::to_hexadecimal;
use engine::{CipherAlgorithm, CipherDirection, Column, Engine, MacAlgorithm, Mode, Options, sha256};
use zeroize::Zeroizing;

/// Algorithm of a key that is entered in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Des,
    Aes,
    Hmac,
}

/// The check value that a part must have; none if none was given.
pub struct Sheet(Option<GivenCheckValue>);

/// Reads the check value of a part.
pub fn sheet(check_value: Option<&str>) -> Result<Sheet, Failure> {
    check_value.map(GivenCheckValue::typed).transpose().map(Sheet)
}

impl Sheet {
    /// Which check value of the part the sheet has; none if no sheet was given. Refuses a part whose check values
    /// differ from the sheet's, and a check value of an HMAC part.
    pub fn has(&self, algorithm: Algorithm, part: &[u8]) -> Result<Option<CheckMatch>, Failure> {
        let Some(expected) = &self.0 else { return Ok(None) };
        if algorithm == Algorithm::Hmac {
            return Err(Failure::Usage("--check-value: a part of an HMAC key has none".to_owned()));
        }
        let found = check_values(algorithm, part)?;
        match found.is(expected) {
            Some(found) => Ok(Some(found)),
            None => Err(Failure::Usage(format!(
                "another part than that of the sheet: its check value is {found}, not {expected}; nothing was recorded"
            ))),
        }
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
    let (name, value) = named_value(algorithm, part)?;
    Ok(format!("{name} {value}"))
}

/// As [`value`], the name apart.
pub fn named_value(algorithm: Algorithm, part: &[u8]) -> Result<(&'static str, String), Failure> {
    Ok(match algorithm {
        Algorithm::Hmac => ("pattern", to_hexadecimal(&hmac_pattern(part))),
        Algorithm::Des | Algorithm::Aes => ("check value", check_values(algorithm, part)?.to_string()),
    })
}

/// The check value of a part that partners mean; none of an HMAC part.
pub fn customary(algorithm: Algorithm, part: &[u8]) -> Result<Option<String>, Failure> {
    if algorithm == Algorithm::Hmac {
        return Ok(None);
    }
    Ok(check_values(algorithm, part)?.customary().map(|(_, value)| to_hexadecimal(value)))
}

/// Whether these are the values of an all-zero key, of any length.
pub fn is_zero(algorithm: Algorithm, values: &Values) -> bool {
    match algorithm {
        // The halves of an all-zero DES key are equal, which a card refuses.
        Algorithm::Des => false,
        Algorithm::Aes => [16, 24, 32].iter().any(|bytes| {
            check_values(algorithm, &vec![0; *bytes]).is_ok_and(|zero| zero.shares_one_with(&values.check))
        }),
        Algorithm::Hmac => values
            .pattern
            .as_ref()
            .is_some_and(|pattern| (10..=256).any(|bytes| hmac_pattern(&vec![0; bytes])[..] == pattern[..])),
    }
}

/// The check values of a DES or AES part, a whole block each.
fn check_values(algorithm: Algorithm, part: &[u8]) -> Result<CheckValues, Failure> {
    let (cipher, mac) = match (algorithm, part.len()) {
        (Algorithm::Des, 8) => (CipherAlgorithm::Des, None),
        (Algorithm::Des, 24) => (CipherAlgorithm::Tdes3, None),
        (Algorithm::Des, _) => (CipherAlgorithm::Tdes2, None),
        (_, 16) => (CipherAlgorithm::Aes128, Some(MacAlgorithm::CmacAes128)),
        (_, 24) => (CipherAlgorithm::Aes192, Some(MacAlgorithm::CmacAes192)),
        (_, _) => (CipherAlgorithm::Aes256, Some(MacAlgorithm::CmacAes256)),
    };
    // This engine protects nothing: a part of a single-length key has a check value like others.
    let engine =
        Engine::new(Options { weak_algorithms: true, ..Options::default() }).map_err(Failure::Engine)?;
    let unexpected = || Failure::Unexpected("check value");
    let zeros = vec![0; cipher.block_bytes()];
    let mut enc_zero = zeros.clone();
    engine
        .cipher(cipher, Mode::Ecb, CipherDirection::Encipher, part, &mut [], &mut enc_zero)
        .map_err(|_| unexpected())?;
    let cmac = match mac {
        None => None,
        Some(algorithm) => {
            let mut cmac = zeros.clone();
            let column = |bytes| Column::contiguous(bytes, bytes.len(), 1).map_err(|_| unexpected());
            engine
                .mac_columns(algorithm, column(part)?, column(&zeros)?, &mut cmac)
                .map_err(|_| unexpected())?;
            Some(cmac)
        }
    };
    Ok(CheckValues { cmac, enc_zero: Some(enc_zero), is_aes: mac.is_some() })
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
    use super::super::super::check_value::CheckMethod;
    use super::*;
    use openssl::symm::{Cipher, encrypt};

    /// As `openssl mac -cipher AES-256-CBC -macopt hexkey:.. CMAC` of a block of zeros.
    fn cmac(cipher: &openssl::cipher::CipherRef, key: &[u8]) -> Vec<u8> {
        let mut context = openssl::pkey_ctx::PkeyCtx::new_id(openssl::pkey::Id::CMAC).unwrap();
        context.keygen_init().unwrap();
        context.set_keygen_cipher(cipher).unwrap();
        context.set_keygen_mac_key(key).unwrap();
        let key = context.keygen().unwrap();
        openssl::sign::Signer::new_without_digest(&key).unwrap().sign_oneshot_to_vec(&[0; 16]).unwrap()
    }

    #[test]
    fn check_values_are_those_of_another_library() {
        use openssl::cipher::Cipher as Of;
        let part: Vec<u8> = (1..=32).collect();
        for (length, ecb, cbc) in [
            (16, Cipher::aes_128_ecb(), Of::aes_128_cbc()),
            (24, Cipher::aes_192_ecb(), Of::aes_192_cbc()),
            (32, Cipher::aes_256_ecb(), Of::aes_256_cbc()),
        ] {
            let part = &part[..length];
            let found = check_values(Algorithm::Aes, part).unwrap();
            assert_eq!(
                found.enc_zero.unwrap(),
                encrypt(ecb, part, None, &[0; 16]).unwrap()[..16],
                "{length}"
            );
            assert_eq!(found.cmac.unwrap(), cmac(cbc, part), "{length}");
        }
        let long = [&part[..16], &part[..8]].concat();
        let expected = encrypt(Cipher::des_ede3_ecb(), &long, None, &[0; 8]).unwrap();
        let found = check_values(Algorithm::Des, &part[..16]).unwrap();
        assert_eq!((&found.enc_zero.unwrap()[..], found.cmac), (&expected[..8], None));
        // FIPS 46-3 of a key of zeros.
        assert_eq!(check_values(Algorithm::Des, &[0; 8]).unwrap().enc_zero.unwrap()[..3], [0x8C, 0xA6, 0x4D]);
    }

    #[test]
    fn a_part_has_the_check_value_of_its_sheet_by_either_method() {
        let part =
            crate::prompt::hexadecimal("0123456789ABCDEFFEDCBA98765432100123456789ABCDEFFEDCBA9876543210")
                .unwrap();
        let found = check_values(Algorithm::Aes, &part).unwrap();
        assert_eq!(found.to_string(), "8B9802 (CMAC; ENC-ZERO B63174)");
        for (method, value) in [(CheckMethod::Cmac, found.cmac), (CheckMethod::EncZero, found.enc_zero)] {
            let value = value.unwrap();
            for length in 2..=8 {
                let given = sheet(Some(&to_hexadecimal(&value[..length]))).unwrap();
                let is = given.has(Algorithm::Aes, &part).unwrap().unwrap();
                assert_eq!((is.method, is.compared), (method, length));
                let mut other = value[..length].to_vec();
                other[length - 1] ^= 1;
                let given = sheet(Some(&to_hexadecimal(&other))).unwrap();
                assert!(given.has(Algorithm::Aes, &part).is_err(), "{method:?} {length}");
            }
        }
    }

    #[test]
    fn a_part_of_another_sheet_is_refused() {
        let other = sheet(Some("8CA64D")).unwrap();
        assert_eq!(other.has(Algorithm::Des, &[0; 16]).unwrap().unwrap().method, CheckMethod::EncZero);
        let error = other.has(Algorithm::Des, &[0x42; 16]).unwrap_err().to_string();
        assert!(error.contains("not 8CA64D"), "{error}");
        assert!(other.is_of_no_part().is_err() && other.has(Algorithm::Hmac, &[1; 32]).is_err());
        assert!(sheet(Some("8C")).is_err() && sheet(Some("x")).is_err());
        assert_eq!(sheet(None).unwrap().has(Algorithm::Aes, &[0; 16]).unwrap(), None);
    }

    #[test]
    fn a_key_of_zeros_is_known_by_either_value() {
        let of = |check| Values { check, random: None, pattern: None };
        for bytes in [16, 24, 32] {
            let whole = check_values(Algorithm::Aes, &vec![0; bytes]).unwrap();
            let cut = |value: &Option<Vec<u8>>| value.as_ref().map(|value| value[..4].to_vec());
            let cmac = CheckValues { cmac: cut(&whole.cmac), ..CheckValues::default() };
            let enc_zero = CheckValues { enc_zero: cut(&whole.enc_zero), ..CheckValues::default() };
            assert!(is_zero(Algorithm::Aes, &of(cmac)) && is_zero(Algorithm::Aes, &of(enc_zero)), "{bytes}");
        }
        let other = check_values(Algorithm::Aes, &[1; 32]).unwrap();
        assert!(
            !is_zero(Algorithm::Aes, &of(other)) && !is_zero(Algorithm::Aes, &of(CheckValues::default()))
        );
    }
}
