//! ASCII armor (RFC 9580, 6): packets as base64 between two lines that name their kind.
//!
//! | need | item |
//! |---|---|
//! | is this armor, packets, or a cleartext message | [`look`] |
//! | write | [`Armorer`] |
//! | read | [`Dearmorer`] |

mod checksum;
mod read;
mod write;

pub use read::Dearmorer;
pub use write::Armorer;

/// The kind of a block of armor (RFC 9580, 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmorKind {
    /// A message: signed, encrypted or compressed.
    Message,
    /// Certificates, which have no private keys.
    PublicKey,
    /// Certificates with private keys.
    PrivateKey,
    /// Detached signatures.
    Signature,
    /// A cleartext message: text, not base64, follows (see [`crate::packet::cleartext`]).
    SignedMessage,
}

impl ArmorKind {
    /// All kinds of blocks.
    pub const ALL: [Self; 5] =
        [Self::Message, Self::PublicKey, Self::PrivateKey, Self::Signature, Self::SignedMessage];

    /// The kind's name in the lines around a block.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message => "MESSAGE",
            Self::PublicKey => "PUBLIC KEY BLOCK",
            Self::PrivateKey => "PRIVATE KEY BLOCK",
            Self::Signature => "SIGNATURE",
            Self::SignedMessage => "SIGNED MESSAGE",
        }
    }

    /// The kind that a block's first line names, given without its line end.
    fn of_first_line(line: &[u8]) -> Option<Self> {
        let name = line.strip_prefix(BEGIN)?.strip_suffix(DASHES)?;
        Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

/// The apparent kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Packets without armor.
    Packets,
    /// Armor of this kind, perhaps after other text.
    Armor(ArmorKind),
    /// Neither packets nor armor.
    Unknown,
}

/// The apparent kind of an input that begins with these bytes. Pass as many bytes as are available: armor is recognised
/// if its first line is among them.
pub fn look(begin: &[u8]) -> Look {
    let is_marked = begin.starts_with(UTF8_MARK);
    if begin.first().is_some_and(|octet| octet & 0x80 != 0) && !is_marked {
        return Look::Packets;
    }
    let begin = if is_marked { &begin[UTF8_MARK.len()..] } else { begin };
    begin
        .split(|byte| *byte == b'\n')
        .find_map(|line| ArmorKind::of_first_line(without_space(line)))
        .map_or(Look::Unknown, Look::Armor)
}

/// A line without CR, blanks and tabs at its end, which mail programs add and drop.
pub(super) fn without_space(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t' | b'\r'] = line {
        line = rest;
    }
    line
}

/// A full line of base64: number of bytes, and number of characters.
const LINE_BYTES: usize = 48;
const LINE_CHARS: usize = 64;
const BEGIN: &[u8] = b"-----BEGIN PGP ";
const END: &[u8] = b"-----END PGP ";
const DASHES: &[u8] = b"-----";
/// UTF-8 byte order mark, with which some editors begin a text.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks() {
        assert_eq!(look(b"\x85\x01"), Look::Packets);
        assert_eq!(look(b"-----BEGIN PGP MESSAGE-----\n"), Look::Armor(ArmorKind::Message));
        assert_eq!(look(b"\xef\xbb\xbf-----BEGIN PGP SIGNATURE-----\r\n"), Look::Armor(ArmorKind::Signature));
        assert_eq!(
            look(b"dear reader\n-----BEGIN PGP SIGNED MESSAGE-----"),
            Look::Armor(ArmorKind::SignedMessage)
        );
        assert_eq!(look(b"-----BEGIN PGP NONSENSE-----\n"), Look::Unknown);
        assert_eq!(look(b""), Look::Unknown);
    }
}
