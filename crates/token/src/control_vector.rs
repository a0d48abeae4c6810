//! Control vectors: 8 bytes for each half of a DES key that encode its type and its allowed uses.
//!
//! Bits are numbered from 0, the most significant, as in the CCA Basic Services manual, appendix C.
//! The vector enters the wrapping of the key, so it cannot be changed without losing the key.
//!
//! ```text
//! 0-3   PIN method, or who may use a MAC key      30, 38  0 and 1: anti-variant
//! 8-11  main type      12-14  subtype             40-42   key form
//! 17    export allowed                            44      key part
//! 18-22 usage, by type                            56      only under the enhanced wrapping
//! 7, 15, ... 63  parity: every byte even
//! ```

/// The control vector of a key: left half, and the right half of a key of more than 8 bytes.
///
/// A control vector of zeros belongs to a DATA key of the compatible kind, whose length is
/// elsewhere in the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ControlVector {
    left: u64,
    right: u64,
}

/// The rule that a control vector breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlVectorError {
    /// The byte at this index (0-15) has odd parity.
    Parity(usize),
    /// Bit 30 is not 0 or bit 38 is not 1.
    AntiVariant,
    /// The key-form bits have no meaning, or none here.
    KeyForm(u8),
    /// The right half does not match the left half.
    Halves,
}

impl std::fmt::Display for ControlVectorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Parity(byte) => write!(f, "byte {byte} of the control vector has odd parity"),
            Self::AntiVariant => f.write_str("bits 30 and 38 of the control vector are not 0 and 1"),
            Self::KeyForm(bits) => write!(f, "key form {bits:03b} of the control vector has no meaning here"),
            Self::Halves => f.write_str("the halves of the control vector do not go together"),
        }
    }
}

impl std::error::Error for ControlVectorError {}

/// Length and form of a DES key, from bits 40-42 of the left half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// Single length: 8 bytes.
    Single,
    /// Double length: 16 bytes.
    Double,
    /// Double length, 16 bytes, with halves that are guaranteed to differ.
    DoubleUnique,
    /// Triple length: 24 bytes.
    Triple,
    /// Triple length, 24 bytes, with parts that are guaranteed to differ.
    TripleUnique,
}

impl KeyForm {
    /// Length of the key in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Single => 8,
            Self::Double | Self::DoubleUnique => 16,
            Self::Triple | Self::TripleUnique => 24,
        }
    }

    /// Whether the parts of the key are guaranteed to differ.
    pub const fn is_unique(self) -> bool {
        matches!(self, Self::DoubleUnique | Self::TripleUnique)
    }

    const fn left_bits(self) -> u8 {
        match self {
            Self::Single => 0b000,
            Self::Double => 0b010,
            Self::DoubleUnique => 0b110,
            Self::Triple => 0b011,
            Self::TripleUnique => 0b111,
        }
    }

    const fn of_left_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0b000 => Self::Single,
            0b010 => Self::Double,
            0b110 => Self::DoubleUnique,
            0b011 => Self::Triple,
            0b111 => Self::TripleUnique,
            _ => return None,
        })
    }
}

impl ControlVector {
    /// The vector of a compatible DATA key: all zero.
    pub const ZERO: Self = Self { left: 0, right: 0 };

    /// Completes a left half: the right half follows from its key form.
    ///
    /// # Errors
    /// [`ControlVectorError`] says which rule the left half breaks.
    pub fn of_left(left: u64) -> Result<Self, ControlVectorError> {
        check_half(left, 0)?;
        if left == 0 {
            return Ok(Self::ZERO);
        }
        let form = form_of(left)?;
        Ok(Self { left, right: right_of(left, form) })
    }

    /// Reads both halves of a token or a parameter.
    ///
    /// # Errors
    /// [`ControlVectorError`] says which rule the halves break.
    pub fn from_bytes(left: [u8; 8], right: [u8; 8]) -> Result<Self, ControlVectorError> {
        let given = Self { left: u64::from_be_bytes(left), right: u64::from_be_bytes(right) };
        let vector = Self::of_left(given.left)?;
        if vector == given {
            return Ok(given);
        }
        check_half(given.right, 8)?;
        Err(ControlVectorError::Halves)
    }

    /// The left half of the vector.
    pub const fn left(self) -> u64 {
        self.left
    }

    /// The right half; zero for a single-length key.
    pub const fn right(self) -> u64 {
        self.right
    }

    /// Both halves, as they stand in a token.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.left.to_be_bytes());
        bytes[8..].copy_from_slice(&self.right.to_be_bytes());
        bytes
    }

    /// The half that wraps the part of a key at this index (0-2).
    pub const fn half_for_part(self, part: usize) -> u64 {
        if part == 1 { self.right } else { self.left }
    }

    /// Whether the vector is all zero: a compatible DATA key.
    pub const fn is_zero(self) -> bool {
        self.left == 0
    }

    /// The key form; `None` for a vector of zeros, which does not encode it.
    pub fn form(self) -> Option<KeyForm> {
        if self.is_zero() { None } else { form_of(self.left).ok() }
    }

    /// The same type and usage with another key form. A vector of zeros stays zero.
    #[must_use]
    pub fn with_form(self, form: KeyForm) -> Self {
        if self.is_zero() {
            return self;
        }
        let left =
            even_parity((self.left & !(0b111 << FORM_SHIFT)) | (u64::from(form.left_bits()) << FORM_SHIFT));
        Self { left, right: right_of(left, form) }
    }

    /// The same vector with these bits of its left half set or cleared; parity and right half are
    /// adapted.
    ///
    /// # Errors
    /// [`ControlVectorError`] if the result breaks a rule.
    pub fn with_bits(self, bits: u64, set: bool) -> Result<Self, ControlVectorError> {
        let left = if set { self.left | bits } else { self.left & !bits };
        Self::of_left(even_parity(left))
    }

    /// Main type (bits 8-11) and subtype (bits 12-14).
    pub const fn type_bits(self) -> (u8, u8) {
        ((self.left >> 52) as u8 & 0xF, (self.left >> 49) as u8 & 0x7)
    }

    /// Bits 0-3: PIN method, or who may use a MAC key.
    pub const fn method_bits(self) -> u8 {
        (self.left >> 60) as u8
    }

    /// One bit of the left half.
    pub const fn bit(self, index: u32) -> bool {
        self.left & bit(index) != 0
    }

    /// Whether the key is only a part of a key, which may not be used.
    pub const fn is_key_part(self) -> bool {
        self.bit(44)
    }

    /// Whether the key must not have the original wrapping: with ENH-ONLY, and a key of triple
    /// length that is no DATA key. The halves of a triple-length vector are equal, so that parts of
    /// keys that were wrapped one by one could change places or be repeated.
    pub const fn is_enhanced_only(self) -> bool {
        self.bit(56) || (self.is_triple() && !self.is_plain_data())
    }

    /// Whether the key form is that of a key of triple length.
    pub const fn is_triple(self) -> bool {
        (self.left >> FORM_SHIFT) & 0b011 == 0b011
    }
}

/// Bit `index` of a half, counted from the most significant.
pub const fn bit(index: u32) -> u64 {
    1 << (63 - index)
}

/// The half with its parity bits set so that every byte has even parity.
pub const fn even_parity(half: u64) -> u64 {
    let mut folded = half;
    folded ^= folded >> 4;
    folded ^= folded >> 2;
    folded ^= folded >> 1;
    half ^ (folded & 0x0101_0101_0101_0101)
}

fn check_half(half: u64, first_byte: usize) -> Result<(), ControlVectorError> {
    let odd = half ^ even_parity(half);
    if odd != 0 {
        return Err(ControlVectorError::Parity(first_byte + odd.leading_zeros() as usize / 8));
    }
    if half == 0 {
        return Ok(());
    }
    if half & bit(30) != 0 || half & bit(38) == 0 {
        return Err(ControlVectorError::AntiVariant);
    }
    Ok(())
}

fn form_of(left: u64) -> Result<KeyForm, ControlVectorError> {
    let bits = (left >> FORM_SHIFT) as u8 & 0b111;
    KeyForm::of_left_bits(bits).ok_or(ControlVectorError::KeyForm(bits))
}

/// The right half of a double-length key has form 001 (101 if the halves differ) in place of 010
/// (110); the two changed bits keep the parity.
fn right_of(left: u64, form: KeyForm) -> u64 {
    match form {
        KeyForm::Single => 0,
        KeyForm::Double | KeyForm::DoubleUnique => left ^ (0b011 << FORM_SHIFT),
        KeyForm::Triple | KeyForm::TripleUnique => left,
    }
}

/// Shift that brings bits 40-42 to the low bits.
const FORM_SHIFT: u32 = 21;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_right_half_follows_from_the_left() {
        let vector = ControlVector::of_left(0x0021_5F00_0341_0000).unwrap();
        assert_eq!(vector.right(), 0x0021_5F00_0321_0000);
        assert_eq!(vector.form(), Some(KeyForm::Double));
        let unique = ControlVector::of_left(0x000C_5000_03C0_0000).unwrap();
        assert_eq!(unique.right(), 0x000C_5000_03A0_0000);
        assert_eq!(unique.form(), Some(KeyForm::DoubleUnique));
        assert_eq!(vector.with_form(KeyForm::Single).to_bytes()[8..], [0; 8]);
        assert_eq!(vector.with_form(KeyForm::Single).left(), 0x0021_5F00_0300_0000);
        assert_eq!(vector.with_form(KeyForm::Triple).right(), 0x0021_5F00_0360_0000);
    }

    #[test]
    fn each_rule_refuses() {
        let refuse = |left: u64, error| assert_eq!(ControlVector::of_left(left).unwrap_err(), error);
        refuse(0x0021_5F00_0341_0001, ControlVectorError::Parity(7));
        refuse(0x0121_5F00_0341_0000, ControlVectorError::Parity(0));
        refuse(0x0021_5F03_0341_0000, ControlVectorError::AntiVariant);
        refuse(0x0021_5F00_0041_0000, ControlVectorError::AntiVariant);
        refuse(0x0021_5F00_0321_0000, ControlVectorError::KeyForm(0b001));
        assert!(ControlVector::of_left(0x0021_5F00_0341_0081).unwrap().is_enhanced_only());
        let left = 0x0021_5F00_0341_0000u64.to_be_bytes();
        assert_eq!(ControlVector::from_bytes(left, left).unwrap_err(), ControlVectorError::Halves);
        assert_eq!(ControlVector::from_bytes(left, [0; 8]).unwrap_err(), ControlVectorError::Halves);
        assert_eq!(ControlVector::from_bytes([0; 8], left).unwrap_err(), ControlVectorError::Halves);
        assert_eq!(ControlVector::from_bytes(left, [1; 8]).unwrap_err(), ControlVectorError::Parity(8));
    }

    proptest! {
        #[test]
        fn accepted_vectors_keep_every_rule(left: u64) {
            let left = (even_parity(left) & !bit(30)) | bit(38);
            let left = even_parity(left);
            if let Ok(vector) = ControlVector::of_left(left) {
                let bytes = vector.to_bytes();
                prop_assert!(bytes.iter().all(|byte| byte.count_ones() % 2 == 0));
                let (first, second) = (bytes[..8].try_into().unwrap(), bytes[8..].try_into().unwrap());
                prop_assert_eq!(ControlVector::from_bytes(first, second).unwrap(), vector);
            }
        }
    }
}
