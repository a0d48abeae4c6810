//! Check values (KCV) of symmetric keys: a few bytes that two people compare, on the telephone or with a sheet.
//!
//! | key | method | bytes that cards tell |
//! |---|---|---|
//! | AES | CMAC of a block of zeros (ANSI X9.24-1; method 01 of the block KC of X9.143): what partners mean | 5 |
//! | AES | ENC-ZERO, beside it: a block of zeros enciphered, as older sheets have it | 4 |
//! | DES, TDES | ENC-ZERO (method 00) | 4 |
//!
//! Partners agree on no check value of HMAC keys.

use crate::failure::Failure;
use crate::prompt::{hexadecimal, to_hexadecimal};
use std::fmt;

/// Shortest and longest check value that is compared, in bytes.
const GIVEN_BYTES: std::ops::RangeInclusive<usize> = 2..=8;
/// Bytes of a check value that are customary: PCI has no more of a TDES key told.
const SHOWN_BYTES: usize = 3;
/// Bytes of a CMAC that are shown (X9.24-1 has five, and some partners compare them).
const CMAC_SHOWN_BYTES: usize = 5;

/// A check value that a partner or a sheet gives.
pub struct GivenCheckValue(Vec<u8>);

impl GivenCheckValue {
    /// Reads a check value of `--check-value`, in hexadecimal. Fails for other text, and for fewer than 2 or more than
    /// 8 bytes.
    pub fn typed(text: &str) -> Result<Self, Failure> {
        let wrong = |cause: String| Failure::Usage(format!("--check-value: {cause}"));
        let value = hexadecimal(text).map_err(|error| wrong(error.to_string()))?;
        let (least, most, given) = (GIVEN_BYTES.start(), GIVEN_BYTES.end(), value.len());
        if !GIVEN_BYTES.contains(&given) {
            return Err(wrong(format!("{least} to {most} bytes are expected, and {given} are given")));
        }
        Ok(Self(value.to_vec()))
    }
}

impl fmt::Display for GivenCheckValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hexadecimal(&self.0))
    }
}

/// The customary bytes of a check value, in hexadecimal.
pub fn customary_bytes(value: &[u8]) -> String {
    to_hexadecimal(&value[..value.len().min(SHOWN_BYTES)])
}

/// How a check value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckMethod {
    /// The CMAC of a block of zeros.
    Cmac,
    /// A block of zeros, enciphered.
    EncZero,
}

impl CheckMethod {
    /// The name that people and programs read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cmac => "CMAC",
            Self::EncZero => "ENC-ZERO",
        }
    }

    const fn shown_bytes(self) -> usize {
        match self {
            Self::Cmac => CMAC_SHOWN_BYTES,
            Self::EncZero => SHOWN_BYTES,
        }
    }
}

/// The check values of one key by each method that applies to it, as long as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckValues {
    /// Of AES keys only.
    pub cmac: Option<Vec<u8>>,
    pub enc_zero: Option<Vec<u8>>,
    /// Whether partners mean the CMAC where they say check value.
    pub is_aes: bool,
}

/// Which check value a given one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckMatch {
    pub method: CheckMethod,
    /// Bytes that are the same.
    pub compared: usize,
    /// Bytes that were given: more than those compared where cards tell fewer.
    pub given: usize,
}

impl fmt::Display for CheckMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes", self.method.name(), self.compared)?;
        if self.compared < self.given {
            write!(f, " of {}: cards tell no more", self.given)?;
        }
        Ok(())
    }
}

impl CheckValues {
    /// The known values, what partners mean first.
    fn all(&self) -> impl Iterator<Item = (CheckMethod, &[u8])> {
        let cmac = self.cmac.as_deref().map(|value| (CheckMethod::Cmac, value));
        let enc_zero = self.enc_zero.as_deref().map(|value| (CheckMethod::EncZero, value));
        cmac.into_iter().chain(enc_zero)
    }

    /// The method of what partners call the check value, and its customary three bytes; none if it is not known.
    pub fn customary(&self) -> Option<(CheckMethod, &[u8])> {
        let method = if self.is_aes { CheckMethod::Cmac } else { CheckMethod::EncZero };
        let found = self.all().find(|(known, _)| *known == method);
        found.map(|(method, value)| (method, &value[..value.len().min(SHOWN_BYTES)]))
    }

    /// The value by one method, in hexadecimal and as long as it is shown; none if it is not known.
    pub fn shown(&self, method: CheckMethod) -> Option<String> {
        let (_, value) = self.all().find(|(known, _)| *known == method)?;
        Some(to_hexadecimal(&value[..value.len().min(method.shown_bytes())]))
    }

    /// Which of the values the given one is, in all bytes that are known of it.
    pub fn is(&self, given: &GivenCheckValue) -> Option<CheckMatch> {
        let GivenCheckValue(given) = given;
        self.all().find_map(|(method, value)| {
            let compared = given.len().min(value.len());
            let is_same = given[..compared] == value[..compared];
            is_same.then_some(CheckMatch { method, compared, given: given.len() })
        })
    }

    /// Whether another key has one of these values in all known bytes.
    pub fn shares_one_with(&self, other: &Self) -> bool {
        self.all().any(|(method, value)| {
            other.all().any(|(of, other)| {
                let known = value.len().min(other.len());
                of == method && value[..known] == other[..known]
            })
        })
    }
}

impl fmt::Display for CheckValues {
    /// In one line: what partners mean, then the others with their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &[u8]| to_hexadecimal(&value[..value.len().min(SHOWN_BYTES)]);
        if !self.is_aes {
            return f.write_str(&self.enc_zero.as_deref().map(short).unwrap_or_default());
        }
        let mut values = self.all().map(|(method, value)| (method.name(), short(value)));
        match values.next() {
            None => return Ok(()),
            Some((name, value)) => write!(f, "{value} ({name}")?,
        }
        for (name, value) in values {
            write!(f, "; {name} {value}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> GivenCheckValue {
        GivenCheckValue::typed(text).unwrap()
    }

    #[test]
    fn a_given_value_is_of_the_method_that_makes_it_at_every_length() {
        let values = CheckValues {
            cmac: Some(vec![0x8B, 0x98, 0x02, 0x11, 0x22]),
            enc_zero: Some(vec![0xB6, 0x31, 0x74, 0x33]),
            is_aes: true,
        };
        assert_eq!(values.to_string(), "8B9802 (CMAC; ENC-ZERO B63174)");
        for (text, method, compared) in [
            ("8B98", CheckMethod::Cmac, 2),
            ("8B 98 02", CheckMethod::Cmac, 3),
            ("8b980211", CheckMethod::Cmac, 4),
            ("8B98021122", CheckMethod::Cmac, 5),
            ("8B98021122334455", CheckMethod::Cmac, 5),
            ("B631", CheckMethod::EncZero, 2),
            ("B63174", CheckMethod::EncZero, 3),
            ("B631743399", CheckMethod::EncZero, 4),
        ] {
            let found = values.is(&given(text)).unwrap();
            assert_eq!((found.method, found.compared), (method, compared), "{text}");
            assert_eq!(found.to_string().contains("no more"), found.given > compared, "{found}");
        }
        for other in ["8B99", "8B9803", "8B98021123", "B63175", "B6317434", "9802"] {
            assert_eq!(values.is(&given(other)), None, "{other}");
        }
        assert_eq!(CheckValues::default().is(&given("8B98")), None);
    }

    #[test]
    fn text_that_is_no_check_value_is_refused() {
        for (text, cause) in [("8B", "2 to 8 bytes"), ("8B9", "two digits"), ("x!", "0-9"), ("", "2 to 8")] {
            let error = GivenCheckValue::typed(text).err().unwrap().to_string();
            assert!(error.contains(cause) && error.contains("--check-value"), "{error}");
        }
        assert!(GivenCheckValue::typed(&"00".repeat(9)).is_err());
        assert_eq!(given(&"ab".repeat(8)).to_string(), "AB".repeat(8));
    }
}
