//! What a key-identifier field holds, by its first byte.

use crate::TOKEN_BYTES;

/// The content of a key-identifier field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identifier {
    /// A null token: X'00'.
    Null,
    /// An internal fixed-length DES token: X'01', version X'00' or X'01'.
    DesInternal,
    /// An external fixed-length DES token: X'02', version X'00' or X'01'.
    DesExternal,
    /// An internal fixed-length AES token: X'01', version X'04'.
    AesInternal,
    /// A variable-length symmetric token: X'01' or X'02', version X'05'.
    Variable,
    /// A PKA token: X'1E' or X'1F'.
    Pka,
    /// A label: X'20' to X'FE'.
    Label,
    /// None of these.
    Unknown,
}

impl Identifier {
    /// Classifies a field. Only the first byte and, for symmetric tokens, the version at offset 4
    /// are looked at; an empty field is a null token.
    pub fn of(field: &[u8]) -> Self {
        let version = field.get(4).copied().unwrap_or(0);
        match (field.first().copied().unwrap_or(0), version) {
            (0x00, _) => Self::Null,
            (0x01 | 0x02, 0x05) => Self::Variable,
            (0x01, 0x04) => Self::AesInternal,
            (0x01, _) => Self::DesInternal,
            (0x02, _) => Self::DesExternal,
            (0x1E | 0x1F, _) => Self::Pka,
            (0x20..=0xFE, _) => Self::Label,
            _ => Self::Unknown,
        }
    }
}

/// A null token of the fixed length.
pub const NULL_TOKEN: [u8; TOKEN_BYTES] = [0; TOKEN_BYTES];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_decides() {
        let mut field = NULL_TOKEN;
        assert_eq!(Identifier::of(&[]), Identifier::Null);
        assert_eq!(Identifier::of(&field), Identifier::Null);
        for byte in 0..=255u8 {
            field[0] = byte;
            let label = matches!(Identifier::of(&field), Identifier::Label);
            assert_eq!(label, wire::Label::is_label_field(&field), "{byte:02X}");
        }
        for (byte, version, kind) in [
            (1, 0, Identifier::DesInternal),
            (1, 1, Identifier::DesInternal),
            (1, 4, Identifier::AesInternal),
            (1, 5, Identifier::Variable),
            (2, 0, Identifier::DesExternal),
            (2, 5, Identifier::Variable),
            (0x1E, 0, Identifier::Pka),
            (0x1F, 0, Identifier::Pka),
            (3, 0, Identifier::Unknown),
            (0xFF, 0, Identifier::Unknown),
        ] {
            field[0] = byte;
            field[4] = version;
            assert_eq!(Identifier::of(&field), kind);
        }
    }
}
