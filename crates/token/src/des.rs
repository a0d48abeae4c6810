//! Fixed-length DES tokens of 64 bytes, internal (X'01') and external (X'02').
//!
//! Sources: CCA Basic Services, appendix B; Linux on Z CCA, "DES internal key token" and "DES
//! external key token".
//!
//! ```text
//!  0 kind  4 version  6 flags  7 wrapping  8 master-key pattern (internal)
//! 16 key part A  24 part B  32 control vector left  40 right  48 part C
//! 59 length of a key with zero control vector  60 token-validation value; all else zero
//! ```
//! Served are versions X'00' and X'01', and the original (ECB) and the enhanced wrapping. Internal
//! tokens may also be wrapped by the methods of this system, under which all 24 bytes of the key
//! fields are ciphertext, whatever the length of the key. The ciphertext of the checked method goes
//! on in the reserved bytes 1-3, 5 and 56-58; the unchecked method leaves these zero. A writer
//! returns exactly the bytes that the parser accepted.

use crate::control_vector::{ControlVector, KeyForm};
use crate::holds::{DescribeError, Holds, Under};
use crate::pattern::PATTERN_BYTES;
use crate::{TOKEN_BYTES, TokenError, tvv, unconfirmed};
use wire::control::{Register, TokenForm};

/// The kind of key that wraps the key of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A master key; the first byte is X'01'.
    Internal,
    /// A transport key; the first byte is X'02'.
    External,
}

/// The fields of a DES token. The key is either wrapped or absent, so the fields may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesToken {
    origin: Origin,
    version: u8,
    export_prohibited: bool,
    leaves_in_blocks_alone: bool,
    transport_without_vector: bool,
    form: KeyForm,
    control_vector: ControlVector,
    control_vector_present: bool,
    /// Whether compatible tokens of this key have, or are to have, the enhanced wrapping.
    enhanced: bool,
    wrapped: Option<Wrapped>,
}

/// A wrapped key and the method and master key that wrapped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// Pattern of the master key; zero in an external token.
    pub pattern: [u8; PATTERN_BYTES],
    /// Form in which the key is wrapped; always compatible in an external token.
    pub form: TokenForm,
    /// The wrapped key: 24 bytes in an authenticated token; in a compatible one 8, 16 or 24 bytes,
    /// then zeros.
    pub key: [u8; KEY_FIELD_BYTES],
    /// The rest of the ciphertext of a checked token, in the order of the token's reserved bytes.
    pub check: Option<[u8; CHECK_BYTES]>,
}

/// Length of the key fields together, in bytes.
pub const KEY_FIELD_BYTES: usize = 24;
/// Length of the ciphertext behind the key fields of a checked token, in bytes.
pub const CHECK_BYTES: usize = 7;
/// Offsets of these bytes in the token.
const CHECK_AT: [usize; CHECK_BYTES] = [1, 2, 3, 5, 56, 57, 58];
/// Length of all bytes of a token except its key fields and its validation value.
pub const REST_BYTES: usize = TOKEN_BYTES - KEY_FIELD_BYTES - 4;

impl DesToken {
    /// A token without a key, of this form and control vector.
    ///
    /// # Errors
    /// [`TokenError::Field`] if form and vector contradict each other.
    pub fn skeleton(
        origin: Origin,
        form: KeyForm,
        control_vector: ControlVector,
    ) -> Result<Self, TokenError> {
        if control_vector.form().is_some_and(|own| own != form) {
            return Err(TokenError::Field(FORM_AT));
        }
        let long_zero = control_vector.is_zero() && form != KeyForm::Single;
        Ok(Self {
            origin,
            version: u8::from(long_zero),
            export_prohibited: false,
            leaves_in_blocks_alone: false,
            transport_without_vector: false,
            form,
            control_vector,
            control_vector_present: !control_vector.is_zero(),
            enhanced: control_vector.is_enhanced_only(),
            wrapped: None,
        })
    }

    /// The same token without its key, whose key gets the enhanced or the original wrapping if a
    /// compatible token is made of it. If the control vector asks for the enhanced wrapping, the
    /// key gets that in any case.
    #[must_use]
    pub fn with_enhanced(self, enhanced: bool) -> Self {
        Self { enhanced: enhanced || self.control_vector.is_enhanced_only(), ..self.without_key() }
    }

    /// Whether a compatible token made of this token has the enhanced wrapping.
    pub fn is_enhanced(&self) -> bool {
        self.enhanced
    }

    /// The same token with this wrapped key, which must have the length of the form.
    ///
    /// # Errors
    /// [`TokenError::KeyLength`] if the lengths differ.
    pub fn with_key(mut self, pattern: [u8; PATTERN_BYTES], wrapped_key: &[u8]) -> Result<Self, TokenError> {
        if wrapped_key.len() != self.form.key_bytes() {
            return Err(TokenError::KeyLength(wrapped_key.len()));
        }
        let mut key = [0; KEY_FIELD_BYTES];
        key[..wrapped_key.len()].copy_from_slice(wrapped_key);
        let pattern = if self.origin == Origin::External { [0; PATTERN_BYTES] } else { pattern };
        self.wrapped = Some(Wrapped { pattern, form: TokenForm::Compatible, key, check: None });
        Ok(self)
    }

    /// The same internal token with this key in the checked form, which fills the key fields and the reserved bytes.
    ///
    /// # Errors
    /// [`TokenError::Kind`] for an external token.
    pub fn with_checked_key(
        self,
        pattern: [u8; PATTERN_BYTES],
        key: [u8; KEY_FIELD_BYTES],
        check: [u8; CHECK_BYTES],
    ) -> Result<Self, TokenError> {
        let mut token = self.with_authenticated_key(pattern, key)?;
        token.wrapped = token.wrapped.map(|wrapped| Wrapped { check: Some(check), ..wrapped });
        Ok(token)
    }

    /// Whether the key is in authenticated form, but nothing in the token detects a change: the
    /// unchecked method, and a key that fills its fields.
    pub fn is_unchecked(&self) -> bool {
        self.is_of_unchecked_method() && self.form.key_bytes() == KEY_FIELD_BYTES
    }

    /// Whether the key is wrapped by the unchecked method of this system.
    pub fn is_of_unchecked_method(&self) -> bool {
        let is_unchecked =
            |wrapped: &Wrapped| wrapped.form == TokenForm::Authenticated && wrapped.check.is_none();
        self.wrapped.as_ref().is_some_and(is_unchecked)
    }

    /// The same internal token with this key in the unchecked authenticated form, which fills the key fields.
    ///
    /// # Errors
    /// [`TokenError::Kind`] for an external token.
    pub fn with_authenticated_key(
        mut self,
        pattern: [u8; PATTERN_BYTES],
        key: [u8; KEY_FIELD_BYTES],
    ) -> Result<Self, TokenError> {
        if self.origin == Origin::External {
            return Err(TokenError::Kind(EXTERNAL));
        }
        self.enhanced = self.control_vector.is_enhanced_only();
        self.wrapped = Some(Wrapped { pattern, form: TokenForm::Authenticated, key, check: None });
        Ok(self)
    }

    /// All bytes of the token except its key fields and its validation value, in the order of the
    /// token, with zeros in the reserved bytes. An authenticated key is bound to these bytes.
    pub fn rest(&self) -> [u8; REST_BYTES] {
        let mut bytes = self.to_bytes();
        CHECK_AT.iter().for_each(|at| bytes[*at] = 0);
        let mut rest = [0; REST_BYTES];
        rest[..16].copy_from_slice(&bytes[..16]);
        rest[16..32].copy_from_slice(&bytes[32..48]);
        rest[32..].copy_from_slice(&bytes[56..60]);
        rest
    }

    /// A token without a key, of the same form, with this control vector of the same form.
    ///
    /// # Errors
    /// As [`DesToken::skeleton`].
    pub fn with_vector(&self, control_vector: ControlVector) -> Result<Self, TokenError> {
        let skeleton = Self::skeleton(self.origin, self.form, control_vector)?.with_enhanced(self.enhanced);
        let Self { export_prohibited, leaves_in_blocks_alone, .. } = *self;
        Ok(Self { export_prohibited, leaves_in_blocks_alone, ..skeleton })
    }

    /// The same internal token without its key, whose key may be exported only in key blocks with
    /// exportability E, as keys that came in with exportability E.
    ///
    /// # Errors
    /// [`TokenError::Kind`] for an external token.
    pub fn with_blocks_alone(self) -> Result<Self, TokenError> {
        if self.origin == Origin::External {
            return Err(TokenError::Kind(EXTERNAL));
        }
        Ok(Self { leaves_in_blocks_alone: true, ..self.without_key() })
    }

    /// Whether the key may be exported only in key blocks with exportability E.
    pub fn leaves_in_blocks_alone(&self) -> bool {
        self.leaves_in_blocks_alone
    }

    /// Whether the key may be wrapped only in authenticated form: if its control vector says so, or
    /// if it may be exported only in key blocks, which no control vector says.
    pub fn needs_authentication(&self) -> bool {
        self.leaves_in_blocks_alone || self.control_vector.needs_authentication()
    }

    /// A token without a key and otherwise the same, for a key that is to be wrapped under a key of
    /// the other kind. The enhanced wrapping is kept.
    ///
    /// # Errors
    /// As [`DesToken::skeleton`].
    pub fn moved_to(&self, origin: Origin) -> Result<Self, TokenError> {
        let skeleton = Self::skeleton(origin, self.form, self.control_vector)?.with_enhanced(self.enhanced);
        let leaves_in_blocks_alone = self.leaves_in_blocks_alone && origin == Origin::Internal;
        Ok(Self { export_prohibited: self.export_prohibited, leaves_in_blocks_alone, ..skeleton })
    }

    /// The same token without its key.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.wrapped = None;
        self
    }

    /// Whether the token is internal or external.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Length and form of the key.
    pub fn form(&self) -> KeyForm {
        self.form
    }

    /// Control vector of the key.
    pub fn control_vector(&self) -> ControlVector {
        self.control_vector
    }

    /// Whether the flags forbid every export.
    pub fn export_prohibited(&self) -> bool {
        self.export_prohibited
    }

    /// Whether keys are wrapped under this key without their control vectors (NOCV).
    pub fn transports_without_vector(&self) -> bool {
        self.transport_without_vector
    }

    /// The wrapped key; `None` in a skeleton.
    pub fn wrapped(&self) -> Option<&Wrapped> {
        self.wrapped.as_ref()
    }

    /// Reads a token.
    ///
    /// # Errors
    /// [`TokenError`]; the validation value is checked right after kind and version.
    pub fn parse(field: &[u8]) -> Result<Self, TokenError> {
        let bytes: &[u8; TOKEN_BYTES] =
            field.try_into().map_err(|_| TokenError::Length { given: field.len(), needed: TOKEN_BYTES })?;
        let origin = match bytes[0] {
            INTERNAL => Origin::Internal,
            EXTERNAL => Origin::External,
            other => return Err(TokenError::Kind(other)),
        };
        if !tvv::is_valid(bytes) {
            return Err(if origin == Origin::Internal {
                TokenError::InternalTvv
            } else {
                TokenError::ExternalTvv
            });
        }
        let version = bytes[4];
        if version > VERSION_ZERO_VECTOR {
            return Err(TokenError::Version(version));
        }
        let is_checked = bytes[7] == unconfirmed::CHECKED_METHOD && origin == Origin::Internal;
        if let Some(offset) = CHECK_AT.into_iter().find(|at| !is_checked && bytes[*at] != 0) {
            return Err(TokenError::Field(offset));
        }
        let wrapping = match bytes[7] {
            0 | ENHANCED_METHOD => TokenForm::Compatible,
            unconfirmed::CHECKED_METHOD | unconfirmed::UNCHECKED_METHOD if origin == Origin::Internal => {
                TokenForm::Authenticated
            }
            other if other & 0x1F == 0 => return Err(TokenError::Wrapping(other >> 5)),
            _ => return Err(TokenError::Field(7)),
        };

        let flags = bytes[6];
        let own = if origin == Origin::Internal { unconfirmed::FLAG_BLOCKS_ALONE } else { 0 };
        if flags & !(FLAG_KEY | FLAG_VECTOR | FLAG_NOCV | FLAG_NO_EXPORT | own) != 0 {
            return Err(TokenError::Flags(flags));
        }
        let control_vector = ControlVector::from_bytes(part(bytes, 32), part(bytes, 40))?;
        let control_vector_present = flags & FLAG_VECTOR != 0;
        if !control_vector.is_zero() && !control_vector_present {
            return Err(TokenError::Flags(flags));
        }
        if flags & FLAG_NOCV != 0 && !control_vector.is_transport() {
            return Err(TokenError::Flags(flags));
        }
        let form = form_of(bytes, version, origin, control_vector)?;
        let enhanced = bytes[7] == ENHANCED_METHOD || control_vector.is_enhanced_only();
        if bytes[7] == 0 && control_vector.is_enhanced_only() {
            return Err(TokenError::EnhancedOnly);
        }

        let mut key = [0; KEY_FIELD_BYTES];
        key[..16].copy_from_slice(&bytes[16..32]);
        key[16..].copy_from_slice(&bytes[48..56]);
        let pattern: [u8; 8] = part(bytes, 8);
        let wrapped = if flags & FLAG_KEY != 0 {
            if wrapping == TokenForm::Compatible && key[form.key_bytes()..].iter().any(|byte| *byte != 0) {
                return Err(TokenError::Field(if form == KeyForm::Single { 24 } else { 48 }));
            }
            let check = is_checked.then(|| CHECK_AT.map(|at| bytes[at]));
            Some(Wrapped { pattern, form: wrapping, key, check })
        } else {
            if wrapping == TokenForm::Authenticated {
                return Err(TokenError::Field(7));
            }
            zero(bytes, 16..32)?;
            zero(bytes, 48..56)?;
            None
        };
        if (wrapped.is_none() || origin == Origin::External) && pattern != [0; 8] {
            return Err(TokenError::Field(8));
        }
        Ok(Self {
            origin,
            version,
            export_prohibited: flags & FLAG_NO_EXPORT != 0,
            leaves_in_blocks_alone: flags & unconfirmed::FLAG_BLOCKS_ALONE != 0,
            transport_without_vector: flags & FLAG_NOCV != 0,
            form,
            control_vector,
            control_vector_present,
            enhanced,
            wrapped,
        })
    }

    /// Writes the token, with its validation value.
    pub fn to_bytes(&self) -> [u8; TOKEN_BYTES] {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[0] = if self.origin == Origin::Internal { INTERNAL } else { EXTERNAL };
        bytes[4] = self.version;
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        bytes[6] = flag(self.wrapped.is_some(), FLAG_KEY)
            | flag(self.control_vector_present, FLAG_VECTOR)
            | flag(self.transport_without_vector, FLAG_NOCV)
            | flag(self.export_prohibited, FLAG_NO_EXPORT)
            | flag(self.leaves_in_blocks_alone, unconfirmed::FLAG_BLOCKS_ALONE);
        if self.enhanced {
            bytes[7] = ENHANCED_METHOD;
        }
        if let Some(wrapped) = &self.wrapped {
            match (wrapped.form, wrapped.check) {
                (TokenForm::Compatible, _) => {}
                (TokenForm::Authenticated, None) => bytes[7] = unconfirmed::UNCHECKED_METHOD,
                (TokenForm::Authenticated, Some(check)) => {
                    bytes[7] = unconfirmed::CHECKED_METHOD;
                    CHECK_AT.iter().zip(check).for_each(|(at, byte)| bytes[*at] = byte);
                }
            }
            bytes[8..16].copy_from_slice(&wrapped.pattern);
            bytes[16..32].copy_from_slice(&wrapped.key[..16]);
            bytes[48..56].copy_from_slice(&wrapped.key[16..]);
        }
        bytes[32..48].copy_from_slice(&self.control_vector.to_bytes());
        if self.version == VERSION_ZERO_VECTOR {
            bytes[LENGTH_AT] = match self.form {
                KeyForm::Single => 0x00,
                KeyForm::Double | KeyForm::DoubleUnique => 0x10,
                KeyForm::Triple | KeyForm::TripleUnique => 0x20,
            };
        }
        tvv::seal(&mut bytes);
        bytes
    }
}

/// The kind of key in a token of these bytes. Tokens of version X'03', with a pattern of two bytes,
/// may be stored, though no verb serves them.
pub(crate) fn holds(bytes: &[u8; TOKEN_BYTES]) -> Result<Holds, DescribeError> {
    let version = bytes[4];
    let internal = bytes[0] == INTERNAL;
    if version > VERSION_ZERO_VECTOR && !(internal && version == VERSION_SHORT_PATTERN) {
        return Err(DescribeError::Form);
    }
    if !tvv::is_valid(bytes) {
        return Err(DescribeError::ValidationValue);
    }
    let key = bytes[16..32].iter().chain(&bytes[48..56]);
    Ok(match (bytes[6] & FLAG_KEY != 0, internal) {
        (true, true) => {
            let pattern = (version != VERSION_SHORT_PATTERN).then(|| part(bytes, 8));
            Holds::Wrapped(Under::Master { register: Register::Sym, pattern })
        }
        (true, false) => Holds::Wrapped(Under::Key),
        (false, _) if key.fold(0, |all, byte| all | byte) == 0 => Holds::Nothing,
        (false, _) => Holds::Clear,
    })
}

/// The key form from the control vector. If the vector is zero, the form comes from byte 59
/// (version X'01') or from the key parts that are there (external tokens of version X'00').
fn form_of(
    bytes: &[u8; TOKEN_BYTES],
    version: u8,
    origin: Origin,
    control_vector: ControlVector,
) -> Result<KeyForm, TokenError> {
    if let Some(form) = control_vector.form() {
        zero(bytes, LENGTH_AT..LENGTH_AT + 1)?;
        return if version == VERSION { Ok(form) } else { Err(TokenError::Version(version)) };
    }
    match (version, bytes[LENGTH_AT]) {
        (VERSION_ZERO_VECTOR, 0x00) => Ok(KeyForm::Single),
        (VERSION_ZERO_VECTOR, 0x10) => Ok(KeyForm::Double),
        (VERSION_ZERO_VECTOR, 0x20) => Ok(KeyForm::Triple),
        (VERSION, 0x00) => Ok(match origin {
            Origin::External if bytes[48..56] != [0; 8] => KeyForm::Triple,
            Origin::External if bytes[24..32] != [0; 8] => KeyForm::Double,
            _ => KeyForm::Single,
        }),
        _ => Err(TokenError::Field(LENGTH_AT)),
    }
}

fn zero(bytes: &[u8; TOKEN_BYTES], range: std::ops::Range<usize>) -> Result<(), TokenError> {
    match bytes[range.clone()].iter().position(|byte| *byte != 0) {
        Some(offset) => Err(TokenError::Field(range.start + offset)),
        None => Ok(()),
    }
}

fn part(bytes: &[u8; TOKEN_BYTES], at: usize) -> [u8; 8] {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    out
}

const INTERNAL: u8 = 0x01;
const EXTERNAL: u8 = 0x02;
const VERSION: u8 = 0x00;
const VERSION_ZERO_VECTOR: u8 = 0x01;
const VERSION_SHORT_PATTERN: u8 = 0x03;
const FLAG_KEY: u8 = 0x80;
const FLAG_VECTOR: u8 = 0x40;
const FLAG_NOCV: u8 = 0x20;
const FLAG_NO_EXPORT: u8 = 0x01;
/// Method 1 in bits 0-2 of byte 7; method 0 is the original wrapping.
const ENHANCED_METHOD: u8 = 0b001 << 5;
const FORM_AT: usize = 37;
const LENGTH_AT: usize = 59;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_type::KeyType;
    use proptest::prelude::*;

    fn mac_token() -> DesToken {
        let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
        let skeleton = DesToken::skeleton(Origin::Internal, KeyForm::Double, vector).unwrap();
        skeleton.with_key([7; 8], &[0x5A; 16]).unwrap()
    }

    #[test]
    fn fields_lie_where_the_manual_says() {
        let bytes = mac_token().to_bytes();
        assert_eq!(bytes[..8], [1, 0, 0, 0, 0, 0, 0xC0, 0]);
        assert_eq!(bytes[8..16], [7; 8]);
        assert_eq!(bytes[16..32], [0x5A; 16]);
        assert_eq!(bytes[32..40], 0x0005_4D00_0341_0000u64.to_be_bytes());
        assert_eq!(bytes[40..48], 0x0005_4D00_0321_0000u64.to_be_bytes());
        assert_eq!(bytes[48..60], [0; 12]);
        let zero = DesToken::skeleton(Origin::Internal, KeyForm::Triple, ControlVector::ZERO).unwrap();
        let bytes = zero.with_key([7; 8], &[1; 24]).unwrap().to_bytes();
        assert_eq!((bytes[4], bytes[6], bytes[59]), (1, 0x80, 0x20));
        assert_eq!(bytes[48..56], [1; 8]);
    }

    fn authenticated_token() -> DesToken {
        mac_token().with_authenticated_key([7; 8], [0x5A; 24]).unwrap()
    }

    fn checked_token() -> DesToken {
        mac_token().with_checked_key([7; 8], [0x5A; 24], [0xC3; 7]).unwrap()
    }

    #[test]
    fn a_checked_key_fills_the_reserved_bytes_too() {
        let (bytes, other) = (authenticated_token().to_bytes(), checked_token().to_bytes());
        assert_eq!((other[7], &other[8..56]), (0xC0, &bytes[8..56]));
        assert_eq!(
            (&other[..7], &other[56..60]),
            (&[1, 0xC3, 0xC3, 0xC3, 0, 0xC3, 0xC0][..], &[0xC3, 0xC3, 0xC3, 0][..])
        );
        let mut rest = authenticated_token().rest();
        rest[7] = 0xC0;
        assert_eq!(checked_token().rest(), rest);
        let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
        let external = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
        assert_eq!(external.with_checked_key([0; 8], [1; 24], [1; 7]), Err(TokenError::Kind(2)));
        let triple = DesToken::skeleton(Origin::Internal, KeyForm::Triple, ControlVector::ZERO).unwrap();
        let is_unchecked = |token: DesToken| [token.is_of_unchecked_method(), token.is_unchecked()];
        assert_eq!(is_unchecked(triple), [false; 2]);
        assert_eq!(is_unchecked(triple.with_key([7; 8], &[1; 24]).unwrap()), [false; 2]);
        assert_eq!(is_unchecked(triple.with_authenticated_key([7; 8], [1; 24]).unwrap()), [true; 2]);
        assert_eq!(is_unchecked(triple.with_checked_key([7; 8], [1; 24], [1; 7]).unwrap()), [false; 2]);
        assert_eq!(is_unchecked(authenticated_token()), [true, false]);
    }

    #[test]
    fn an_authenticated_key_fills_its_fields() {
        let (bytes, other) = (mac_token().to_bytes(), authenticated_token().to_bytes());
        assert_eq!((&other[..7], other[7], &other[8..48]), (&bytes[..7], 0xE0, &bytes[8..48]));
        assert_eq!((&other[48..56], &other[56..60]), (&[0x5A; 8][..], &[0; 4][..]));
        let rest = authenticated_token().rest();
        assert_eq!(rest[..], [&other[..16], &other[32..48], &other[56..60]].concat());
        let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
        let external = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
        assert_eq!(external.with_authenticated_key([0; 8], [1; 24]), Err(TokenError::Kind(2)));
        let mut bytes = external.with_key([0; 8], &[1; 16]).unwrap().to_bytes();
        bytes[7] = 0xE0;
        tvv::seal(&mut bytes);
        assert_eq!(DesToken::parse(&bytes), Err(TokenError::Wrapping(7)));
    }

    #[test]
    fn every_changed_byte_is_refused() {
        for bytes in [mac_token(), authenticated_token(), checked_token()].map(|token| token.to_bytes()) {
            for index in 0..TOKEN_BYTES {
                for change in 1..=255u8 {
                    let mut changed = bytes;
                    changed[index] ^= change;
                    assert!(DesToken::parse(&changed).is_err(), "byte {index} xor {change:02X}");
                }
            }
        }
    }

    /// Whoever changes a byte can also correct the validation value: then another rule refuses the
    /// token, or a field shows the change.
    #[test]
    fn every_changed_byte_with_a_mended_value_is_refused_or_shows() {
        for (token, free) in [
            (mac_token(), std::slice::from_ref(&(8..32))),
            (authenticated_token(), &[8..32, 48..56]),
            (checked_token(), &[1..4, 5..6, 8..32, 48..59]),
        ] {
            let bytes = token.to_bytes();
            for index in 0..60 {
                for change in 1..=255u8 {
                    let mut changed = bytes;
                    changed[index] ^= change;
                    tvv::seal(&mut changed);
                    match DesToken::parse(&changed) {
                        Err(_) => assert!(!free.iter().any(|range| range.contains(&index)), "byte {index}"),
                        Ok(parsed) => {
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
            let mut bytes = mac_token().to_bytes();
            bytes[index] = value;
            tvv::seal(&mut bytes);
            assert_eq!(DesToken::parse(&bytes).unwrap_err(), error);
        };
        check(0, 3, TokenError::Kind(3));
        check(4, 3, TokenError::Version(3));
        check(5, 1, TokenError::Field(5));
        check(6, 0x80, TokenError::Flags(0x80));
        check(6, 0xD0, TokenError::Flags(0xD0));
        check(6, 0xE0, TokenError::Flags(0xE0));
        check(7, 0x40, TokenError::Wrapping(2));
        check(7, 0x60, TokenError::Wrapping(3));
        check(7, 0x21, TokenError::Field(7));
        check(7, 0x01, TokenError::Field(7));
        check(48, 1, TokenError::Field(48));
        check(59, 0x10, TokenError::Field(59));
        check(6, 0x40, TokenError::Field(16));
        assert_eq!(DesToken::parse(&[1; 63]).unwrap_err(), TokenError::Length { given: 63, needed: 64 });
        let mut bytes = mac_token().to_bytes();
        bytes[63] ^= 1;
        assert_eq!(DesToken::parse(&bytes).unwrap_err().codes(), wire::code::INTERNAL_TVV);
        bytes[0] = 2;
        assert_eq!(DesToken::parse(&bytes).unwrap_err().codes(), wire::code::EXTERNAL_TVV);
    }

    proptest! {
        #[test]
        fn built_tokens_read_back(
            key in proptest::collection::vec(any::<u8>(), 24),
            pattern: [u8; 8],
            kind in 0..KeyType::ALL.len(),
            form in 0usize..3,
            zero_vector: bool,
            external: bool,
        ) {
            let form = [KeyForm::Single, KeyForm::Double, KeyForm::Triple][form];
            let vector = if zero_vector { Some(ControlVector::ZERO) } else { KeyType::ALL[kind].default_vector(form) };
            let Some(vector) = vector else { return Ok(()) };
            let form = vector.form().unwrap_or(form);
            let origin = if external { Origin::External } else { Origin::Internal };
            let skeleton = DesToken::skeleton(origin, form, vector).unwrap();
            prop_assert_eq!(DesToken::parse(&skeleton.to_bytes()).unwrap(), skeleton);
            let token = skeleton.with_key(pattern, &key[..form.key_bytes()]).unwrap();
            prop_assert_eq!(DesToken::parse(&token.to_bytes()).unwrap(), token);
            prop_assert_eq!(token.without_key(), skeleton);
            if !external {
                let key: [u8; KEY_FIELD_BYTES] = key.try_into().unwrap();
                let token = skeleton.with_authenticated_key(pattern, key).unwrap();
                prop_assert_eq!(DesToken::parse(&token.to_bytes()).unwrap(), token);
                prop_assert_eq!(token.without_key(), skeleton);
                let check = [key[0], key[5], 0, key[7], key[9], 0xFF, key[1]];
                let token = skeleton.with_checked_key(pattern, key, check).unwrap();
                prop_assert_eq!(DesToken::parse(&token.to_bytes()).unwrap(), token);
                prop_assert_eq!(token.without_key(), skeleton);
            }
        }

        #[test]
        fn whatever_is_accepted_is_written_back(mut bytes in proptest::array::uniform32(any::<u8>()), flags in 0u8..=255) {
            let mut token = [0; TOKEN_BYTES];
            token[0] = 1 + (bytes[0] & 1);
            token[4] = bytes[1] & 1;
            token[6] = flags & 0xE1;
            token[7] = [0, 0xE0, 0xC0][usize::from(bytes[3]) % 3];
            if token[7] == 0xC0 {
                (token[1], token[5], token[58]) = (bytes[4], bytes[5], bytes[6]);
            }
            bytes[2] &= 0x30;
            token[59] = bytes[2];
            token[8..32].copy_from_slice(&bytes[8..]);
            tvv::seal(&mut token);
            if let Ok(parsed) = DesToken::parse(&token) {
                prop_assert_eq!(parsed.to_bytes(), token);
            }
        }
    }
}
