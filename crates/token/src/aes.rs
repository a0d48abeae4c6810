//! Fixed-length AES tokens of 64 bytes, version X'04': DATA keys, wrapped or clear.
//!
//! Source: Linux on Z CCA, "AES internal fixed-length key token".
//!
//! ```text
//!  0 X'01'  4 X'04'  6 flags  7 check value (clear key), wrapping method (wrapped)  8 master-key pattern
//! 16 key: clear and left-justified, or 32 enciphered bytes  48 control vector, zero, or the rest of the ciphertext
//! 56 length of the key in bits  58 length of the enciphered key  60 token-validation value
//! ```

use crate::holds::{DescribeError, Holds, Under};
use crate::pattern::PATTERN_BYTES;
use crate::{TOKEN_BYTES, TokenError, tvv, unconfirmed};
use wire::control::{Register, TokenForm};
use zeroize::Zeroize;

/// Length of the enciphered key in every wrapped token, in bytes.
pub const WRAPPED_BYTES: usize = 32;
/// Length of the ciphertext behind the key field of a checked token, in bytes.
pub const CHECK_BYTES: usize = 8;
/// Length of all bytes of a token except its key field and its validation value.
pub const REST_BYTES: usize = TOKEN_BYTES - WRAPPED_BYTES - 4;

/// The fields of an AES token.
#[derive(Clone, PartialEq, Eq)]
pub struct AesToken {
    key_bytes: usize,
    vector_flag: bool,
    key: AesKey,
}

/// The key in an AES token, and how it is held.
#[derive(Clone, PartialEq, Eq)]
pub enum AesKey {
    /// No key: a skeleton.
    Absent,
    /// A clear key of the token's length, then zeros.
    Clear([u8; 32]),
    /// A wrapped key.
    Wrapped {
        /// Pattern of the master key.
        pattern: [u8; PATTERN_BYTES],
        /// Form in which the key is wrapped.
        form: TokenForm,
        /// The enciphered, zero-padded key.
        key: [u8; WRAPPED_BYTES],
        /// The rest of the ciphertext of a checked token, which stands in place of the control
        /// vector.
        check: Option<[u8; CHECK_BYTES]>,
    },
}

impl Drop for AesKey {
    fn drop(&mut self) {
        if let Self::Clear(key) = self {
            key.zeroize();
        }
    }
}

impl std::fmt::Debug for AesToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.key {
            AesKey::Absent => "absent",
            AesKey::Clear(_) => "clear",
            AesKey::Wrapped { .. } => "wrapped",
        };
        f.debug_struct("AesToken").field("key_bytes", &self.key_bytes).field("key", &state).finish()
    }
}

impl AesToken {
    /// A token without a key; `key_bytes` is 0 if the length is open, else 16, 24 or 32.
    ///
    /// # Errors
    /// [`TokenError::KeyLength`] for any other length.
    pub fn skeleton(key_bytes: usize) -> Result<Self, TokenError> {
        if key_bytes != 0 {
            check_length(key_bytes)?;
        }
        Ok(Self { key_bytes, vector_flag: false, key: AesKey::Absent })
    }

    /// A token that holds this clear key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`TokenError::KeyLength`] for a key of any other length.
    pub fn clear(key: &[u8]) -> Result<Self, TokenError> {
        check_length(key.len())?;
        let mut padded = [0; 32];
        padded[..key.len()].copy_from_slice(key);
        let token = Self { key_bytes: key.len(), vector_flag: false, key: AesKey::Clear(padded) };
        padded.zeroize();
        Ok(token)
    }

    /// A token that holds this wrapped key, whose clear length is 16, 24 or 32 bytes, in this form.
    ///
    /// # Errors
    /// [`TokenError::KeyLength`] for any other length.
    pub fn wrapped(
        key_bytes: usize,
        pattern: [u8; PATTERN_BYTES],
        form: TokenForm,
        key: [u8; WRAPPED_BYTES],
    ) -> Result<Self, TokenError> {
        check_length(key_bytes)?;
        Ok(Self { key_bytes, vector_flag: true, key: AesKey::Wrapped { pattern, form, key, check: None } })
    }

    /// A token that holds this wrapped key, whose clear length is 16, 24 or 32 bytes, in the
    /// checked form.
    ///
    /// # Errors
    /// [`TokenError::KeyLength`] for any other length.
    pub fn checked(
        key_bytes: usize,
        pattern: [u8; PATTERN_BYTES],
        key: [u8; WRAPPED_BYTES],
        check: [u8; CHECK_BYTES],
    ) -> Result<Self, TokenError> {
        check_length(key_bytes)?;
        let key = AesKey::Wrapped { pattern, form: TokenForm::Authenticated, key, check: Some(check) };
        Ok(Self { key_bytes, vector_flag: true, key })
    }

    /// Whether the key is in authenticated form, but nothing in the token detects a change: the
    /// unchecked method, and a key that fills its field.
    pub fn is_unchecked(&self) -> bool {
        self.is_of_unchecked_method() && self.key_bytes == WRAPPED_BYTES
    }

    /// Whether the key is wrapped by the unchecked method of this system.
    pub fn is_of_unchecked_method(&self) -> bool {
        matches!(self.key, AesKey::Wrapped { form: TokenForm::Authenticated, check: None, .. })
    }

    /// All bytes of a wrapped token except its key field and its validation value, in the order of
    /// the token, with zeros in place of the control vector. An authenticated key is bound to these
    /// bytes. For a clear token they are not complete.
    pub fn rest(&self) -> [u8; REST_BYTES] {
        let mut rest = [0; REST_BYTES];
        let bytes = self.head();
        rest[..16].copy_from_slice(&bytes[..16]);
        rest[16..].copy_from_slice(&bytes[48..60]);
        rest
    }

    /// Length of the clear key in bytes; 0 in a skeleton whose length is open.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// The key in the token.
    pub fn key(&self) -> &AesKey {
        &self.key
    }

    /// Reads a token.
    ///
    /// # Errors
    /// [`TokenError`]; the validation value is checked right after kind and version.
    pub fn parse(field: &[u8]) -> Result<Self, TokenError> {
        let bytes: &[u8; TOKEN_BYTES] =
            field.try_into().map_err(|_| TokenError::Length { given: field.len(), needed: TOKEN_BYTES })?;
        if bytes[0] != INTERNAL {
            return Err(TokenError::Kind(bytes[0]));
        }
        if !tvv::is_valid(bytes) {
            return Err(TokenError::InternalTvv);
        }
        if bytes[4] != VERSION {
            return Err(TokenError::Version(bytes[4]));
        }
        zero(bytes, 1..4)?;
        zero(bytes, 5..6)?;
        let flags = bytes[6];
        if flags & FLAG_WRAPPED == 0 || bytes[7] != unconfirmed::CHECKED_METHOD {
            zero(bytes, 48..56)?;
        }
        let key_bits = usize::from(u16::from_be_bytes([bytes[56], bytes[57]]));
        let wrapped_bytes = usize::from(u16::from_be_bytes([bytes[58], bytes[59]]));
        if !key_bits.is_multiple_of(8) {
            return Err(TokenError::KeyLength(key_bits / 8));
        }
        let key_bytes = key_bits / 8;
        let vector_flag = flags & FLAG_VECTOR != 0;
        let key = match flags & !FLAG_VECTOR {
            FLAG_WRAPPED => parse_wrapped(bytes, key_bytes, wrapped_bytes)?,
            unconfirmed::AES_CLEAR_FLAGS => parse_clear(bytes, key_bytes, wrapped_bytes)?,
            _ => return Err(TokenError::Flags(flags)),
        };
        Ok(Self { key_bytes, vector_flag, key })
    }

    /// Writes the token, with its validation value. The result holds the key of a clear token.
    pub fn to_bytes(&self) -> [u8; TOKEN_BYTES] {
        let mut bytes = self.head();
        match &self.key {
            AesKey::Absent => {}
            AesKey::Clear(key) => bytes[16..48].copy_from_slice(key),
            AesKey::Wrapped { key, check, .. } => {
                bytes[16..48].copy_from_slice(key);
                bytes[48..56].copy_from_slice(&check.unwrap_or_default());
            }
        }
        tvv::seal(&mut bytes);
        bytes
    }

    /// The token with an empty key field.
    fn head(&self) -> [u8; TOKEN_BYTES] {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[0] = INTERNAL;
        bytes[4] = VERSION;
        bytes[6] = if self.vector_flag { FLAG_VECTOR } else { 0 };
        bytes[56..58].copy_from_slice(&((self.key_bytes * 8) as u16).to_be_bytes());
        match &self.key {
            AesKey::Absent => bytes[6] |= unconfirmed::AES_CLEAR_FLAGS,
            AesKey::Clear(key) => {
                bytes[6] |= unconfirmed::AES_CLEAR_FLAGS;
                bytes[7] = check_value(key);
            }
            AesKey::Wrapped { pattern, form, check, .. } => {
                bytes[6] |= FLAG_WRAPPED;
                bytes[7] = match (form, check) {
                    (TokenForm::Compatible, _) => 0,
                    (TokenForm::Authenticated, None) => unconfirmed::UNCHECKED_METHOD,
                    (TokenForm::Authenticated, Some(_)) => unconfirmed::CHECKED_METHOD,
                };
                bytes[8..16].copy_from_slice(pattern);
                bytes[58..60].copy_from_slice(&(WRAPPED_BYTES as u16).to_be_bytes());
            }
        }
        bytes
    }
}

fn parse_wrapped(
    bytes: &[u8; TOKEN_BYTES],
    key_bytes: usize,
    wrapped_bytes: usize,
) -> Result<AesKey, TokenError> {
    check_length(key_bytes)?;
    if wrapped_bytes != WRAPPED_BYTES {
        return Err(TokenError::Field(58));
    }
    let form = match bytes[7] {
        0 => TokenForm::Compatible,
        unconfirmed::CHECKED_METHOD | unconfirmed::UNCHECKED_METHOD => TokenForm::Authenticated,
        other if other & 0x1F == 0 => return Err(TokenError::Wrapping(other >> 5)),
        _ => return Err(TokenError::Field(7)),
    };
    let (mut pattern, mut key) = ([0; PATTERN_BYTES], [0; WRAPPED_BYTES]);
    pattern.copy_from_slice(&bytes[8..16]);
    key.copy_from_slice(&bytes[16..48]);
    let check = bytes[48..56].first_chunk().copied().filter(|_| bytes[7] == unconfirmed::CHECKED_METHOD);
    Ok(AesKey::Wrapped { pattern, form, key, check })
}

/// Reads a token without a key under a master key: a clear key, or none if the whole key field is
/// zero.
fn parse_clear(
    bytes: &[u8; TOKEN_BYTES],
    key_bytes: usize,
    wrapped_bytes: usize,
) -> Result<AesKey, TokenError> {
    if wrapped_bytes != 0 {
        return Err(TokenError::Field(58));
    }
    zero(bytes, 8..16)?;
    let mut key = [0; 32];
    key.copy_from_slice(&bytes[16..48]);
    if key == [0; 32] {
        zero(bytes, 7..8)?;
        if key_bytes != 0 {
            check_length(key_bytes)?;
        }
        return Ok(AesKey::Absent);
    }
    check_length(key_bytes)?;
    let clear = AesKey::Clear(key);
    key.zeroize();
    zero(bytes, 16 + key_bytes..48)?;
    if check_value(&bytes[16..48]) != bytes[7] {
        return Err(TokenError::CheckValue);
    }
    Ok(clear)
}

/// The kind of key in a token of these bytes, whose kind and version were checked.
pub(crate) fn holds(bytes: &[u8; TOKEN_BYTES]) -> Result<Holds, DescribeError> {
    if !tvv::is_valid(bytes) {
        return Err(DescribeError::ValidationValue);
    }
    Ok(if bytes[6] & FLAG_WRAPPED != 0 {
        let pattern = bytes[8..].first_chunk().copied();
        Holds::Wrapped(Under::Master { register: Register::Aes, pattern })
    } else if bytes[16..48].iter().fold(0, |all, byte| all | byte) == 0 {
        Holds::Nothing
    } else {
        Holds::Clear
    })
}

fn check_length(key_bytes: usize) -> Result<(), TokenError> {
    if matches!(key_bytes, 16 | 24 | 32) { Ok(()) } else { Err(TokenError::KeyLength(key_bytes)) }
}

fn check_value(key: &[u8]) -> u8 {
    key.iter().fold(0, |sum, byte| sum ^ byte)
}

fn zero(bytes: &[u8; TOKEN_BYTES], range: std::ops::Range<usize>) -> Result<(), TokenError> {
    match bytes[range.clone()].iter().position(|byte| *byte != 0) {
        Some(offset) => Err(TokenError::Field(range.start + offset)),
        None => Ok(()),
    }
}

const INTERNAL: u8 = 0x01;
const VERSION: u8 = 0x04;
const FLAG_WRAPPED: u8 = 0x80;
const FLAG_VECTOR: u8 = 0x40;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_lie_where_the_manual_says() {
        let bytes = AesToken::wrapped(24, [7; 8], TokenForm::Compatible, [0x5A; 32]).unwrap().to_bytes();
        assert_eq!(bytes[..8], [1, 0, 0, 0, 4, 0, 0xC0, 0]);
        assert_eq!(bytes[8..16], [7; 8]);
        assert_eq!(bytes[16..48], [0x5A; 32]);
        assert_eq!(bytes[48..60], [0, 0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 32]);
        let other = AesToken::wrapped(24, [7; 8], TokenForm::Authenticated, [0x5A; 32]).unwrap().to_bytes();
        assert_eq!((&other[..7], other[7], &other[8..60]), (&bytes[..7], 0xE0, &bytes[8..60]));
        let checked = AesToken::checked(24, [7; 8], [0x5A; 32], [0xC3; 8]).unwrap();
        let shown = checked.to_bytes();
        assert_eq!((&shown[..7], shown[7], &shown[8..48]), (&bytes[..7], 0xC0, &bytes[8..48]));
        assert_eq!((&shown[48..56], &shown[56..60]), (&[0xC3; 8][..], &bytes[56..60]));
        assert_eq!(checked.rest()[16..24], [0; 8]);
        let bytes = AesToken::clear(&[1; 16]).unwrap().to_bytes();
        assert_eq!((bytes[6], bytes[7], bytes[57], bytes[59]), (0x20, 0, 128, 0));
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let wrapped = |form| AesToken::wrapped(16, [7; 8], form, [0x5A; 32]).unwrap();
        let forms = [TokenForm::Authenticated, TokenForm::Compatible].map(wrapped);
        let checked = AesToken::checked(16, [7; 8], [0x5A; 32], [0xC3; 8]).unwrap();
        for token in forms.into_iter().chain([checked, AesToken::clear(&[9; 32]).unwrap()]) {
            let bytes = token.to_bytes();
            for index in 0..TOKEN_BYTES {
                for change in 1..=255u8 {
                    let mut changed = bytes;
                    changed[index] ^= change;
                    assert!(AesToken::parse(&changed).is_err(), "byte {index} xor {change:02X}");
                    if index < 60 {
                        tvv::seal(&mut changed);
                        if let Ok(parsed) = AesToken::parse(&changed) {
                            assert_ne!(parsed, token, "byte {index} xor {change:02X}");
                            assert_eq!(parsed.to_bytes(), changed);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn each_fault_is_named() {
        let check = |index: usize, value: u8, error: TokenError| {
            let mut bytes = AesToken::clear(&[3; 16]).unwrap().to_bytes();
            bytes[index] = value;
            tvv::seal(&mut bytes);
            assert_eq!(AesToken::parse(&bytes).unwrap_err(), error);
        };
        check(0, 2, TokenError::Kind(2));
        check(4, 5, TokenError::Version(5));
        check(6, 0xA0, TokenError::Flags(0xA0));
        check(7, 1, TokenError::CheckValue);
        check(8, 1, TokenError::Field(8));
        check(32, 1, TokenError::Field(32));
        check(48, 1, TokenError::Field(48));
        check(57, 64, TokenError::KeyLength(8));
        check(59, 32, TokenError::Field(58));
        let mut wrapped = AesToken::wrapped(16, [7; 8], TokenForm::Compatible, [3; 32]).unwrap().to_bytes();
        for (method, error) in [(0x20, TokenError::Wrapping(1)), (0xE1, TokenError::Field(7))] {
            wrapped[7] = method;
            tvv::seal(&mut wrapped);
            assert_eq!(AesToken::parse(&wrapped).unwrap_err(), error);
        }
        assert_eq!(AesToken::clear(&[0; 15]).unwrap_err(), TokenError::KeyLength(15));
    }

    #[test]
    fn a_clear_key_is_not_shown() {
        let shown = format!("{:?}", AesToken::clear(&[0xAB; 16]).unwrap());
        assert!(!shown.contains("171") && !shown.to_lowercase().contains("ab, ab"));
    }

    proptest! {
        #[test]
        fn built_tokens_read_back(key: [u8; 32], pattern: [u8; 8], length in 0usize..3, own: bool) {
            let length = [16, 24, 32][length];
            let form = if own { TokenForm::Authenticated } else { TokenForm::Compatible };
            let wrapped = AesToken::wrapped(length, pattern, form, key).unwrap();
            let (bytes, rest) = (wrapped.to_bytes(), wrapped.rest());
            prop_assert_eq!(&rest[..], &[&bytes[..16], &bytes[48..60]].concat()[..]);
            prop_assert!(AesToken::parse(&wrapped.to_bytes()).unwrap() == wrapped);
            let checked = AesToken::checked(length, pattern, key, pattern).unwrap();
            prop_assert!(AesToken::parse(&checked.to_bytes()).unwrap() == checked);
            prop_assert!(!checked.is_of_unchecked_method() && wrapped.is_of_unchecked_method() == own);
            prop_assert_eq!(wrapped.is_unchecked(), own && length == 32);
            let skeleton = AesToken::skeleton(length).unwrap();
            prop_assert!(AesToken::parse(&skeleton.to_bytes()).unwrap() == skeleton);
            if key[..length] != [0; 32][..length] {
                let clear = AesToken::clear(&key[..length]).unwrap();
                prop_assert!(AesToken::parse(&clear.to_bytes()).unwrap() == clear);
            }
        }
    }
}
