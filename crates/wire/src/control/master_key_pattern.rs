//! Verification patterns of master keys: public values by which officers and programs tell keys apart.

use crate::registers::Register;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Length of the longest pattern in bytes.
const BYTES_MAX: usize = 16;
/// Length in bytes of a key's name: of an 8-byte pattern in tokens, and of the key in counts of
/// records.
const NAME_BYTES: usize = 8;

/// The verification pattern of a master key: 16 bytes for the ASYM register (MDC-4), 8 bytes for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MasterKeyPattern {
    /// The pattern; zeros follow one of 8 bytes.
    field: [u8; BYTES_MAX],
    is_long: bool,
}

impl MasterKeyPattern {
    /// The pattern of a key of this register, from the beginning of `field`: 16 bytes for ASYM,
    /// else 8.
    pub fn new(register: Register, mut field: [u8; BYTES_MAX]) -> Self {
        let is_long = register == Register::Asym;
        if !is_long {
            field[NAME_BYTES..].fill(0);
        }
        Self { field, is_long }
    }

    /// The pattern: 8 or 16 bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.is_long { &self.field } else { &self.field[..NAME_BYTES] }
    }

    /// The first 8 bytes of the pattern, which name the key.
    pub fn name(&self) -> [u8; NAME_BYTES] {
        let [a, b, c, d, e, f, g, h, ..] = self.field;
        [a, b, c, d, e, f, g, h]
    }

    /// The pattern in a field of 16 bytes, with zeros after one of 8.
    pub const fn field(&self) -> &[u8; BYTES_MAX] {
        &self.field
    }
}

impl Serialize for MasterKeyPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.bytes().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MasterKeyPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        let is_long = bytes.len() == BYTES_MAX;
        if !is_long && bytes.len() != NAME_BYTES {
            return Err(D::Error::invalid_length(bytes.len(), &"a pattern of 8 or 16 bytes"));
        }
        let mut field = [0; BYTES_MAX];
        field[..bytes.len()].copy_from_slice(&bytes);
        Ok(Self { field, is_long })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_the_length_of_its_register_in_messages_too() {
        for register in Register::ALL {
            let pattern = MasterKeyPattern::new(register, [7; 16]);
            let bytes = if register == Register::Asym { 16 } else { 8 };
            assert_eq!((pattern.bytes(), pattern.name()), (&[7; 16][..bytes], [7; 8]));
            assert!(pattern.field()[bytes..].iter().all(|byte| *byte == 0));
            let message = postcard::to_allocvec(&pattern).unwrap();
            assert_eq!(postcard::from_bytes::<MasterKeyPattern>(&message).unwrap(), pattern);
        }
        for bytes in [0, 1, 7, 9, 15, 17, 1 << 20] {
            let message = postcard::to_allocvec(&vec![0_u8; bytes]).unwrap();
            assert!(postcard::from_bytes::<MasterKeyPattern>(&message).is_err(), "{bytes}");
        }
    }
}
