//! Files with detached signatures, and finding the signature of a file or the file of a signature: `release.tar.gz` and
//! `release.tar.gz.sig`.

use super::keys;
use super::names;
use crate::failure::Failure;
use openpgp::packet::armor::{ArmorKind, Look, look};
use openpgp::packet::{Event, Splitter, Tag};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest file of detached signatures, in bytes.
const SIGNATURES_BYTES_MAX: u64 = 1 << 20;
/// Endings of the signatures of a file, in the order that they are looked for.
const ENDINGS: [&str; 2] = ["sig", "asc"];
/// Begin of ASCII armor.
const ARMOR: &[u8] = b"-----BEGIN PGP ";

/// Kind of a file, judged by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Signatures alone.
    Signatures,
    /// A message in ASCII armor.
    Message,
    /// Possibly a message: the bytes begin as a message's packet does, or quote armor.
    Perhaps,
    /// No OpenPGP data.
    Other,
}

/// Whether a file can be read and holds signatures alone.
pub fn holds_signatures(path: &Path) -> bool {
    content(path) == Content::Signatures
}

/// The signatures in a file that was named as their file.
pub fn signatures(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = keys::read(path)?.to_vec();
    if bytes.len() as u64 > SIGNATURES_BYTES_MAX {
        return Err(Failure::Damaged(format!("{}: too long for a file of signatures", path.display())));
    }
    Ok(bytes)
}

/// The text of signatures: their name without its ending, if there is such a file.
pub fn text_of(signatures: &Path) -> Option<PathBuf> {
    names::without_ending(signatures).ok().filter(|text| text.is_file())
}

/// The signatures of a text: its name with `.sig` or `.asc`, if there is such a file.
pub fn signatures_of(text: &Path) -> Option<PathBuf> {
    let beside = ENDINGS.map(|ending| names::with_ending(text, ending));
    beside.into_iter().find(|path| holds_signatures(path))
}

/// The kind of a file; [`Content::Perhaps`] for a file that can be read only once.
pub fn content(path: &Path) -> Content {
    // Only a plain file is read twice: a pipe's bytes would be gone.
    if !path.is_file() {
        return Content::Perhaps;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SIGNATURES_BYTES_MAX + 1).read_to_end(&mut head));
    read.map_or(Content::Perhaps, |_| content_of(&head))
}

fn content_of(head: &[u8]) -> Content {
    let is_short = head.len() as u64 <= SIGNATURES_BYTES_MAX;
    match look(head) {
        Look::Armor(ArmorKind::Signature) if is_short => Content::Signatures,
        Look::Armor(_) if head.trim_ascii_start().starts_with(ARMOR) => Content::Message,
        Look::Armor(_) => Content::Perhaps,
        Look::Packets => match content_of_packets(head) {
            Content::Signatures if !is_short => Content::Perhaps,
            content => content,
        },
        Look::Unknown => Content::Other,
    }
}

/// The kind of binary packets: signatures to the end, or the first packet of a message. Other kinds of files may begin
/// with such an octet too (PNG), but fail at the signature's version.
fn content_of_packets(mut bytes: &[u8]) -> Content {
    let mut splitter = Splitter::new();
    let mut is_version_next = false;
    while let Ok(step) = splitter.step(bytes) {
        match step.event {
            Event::Header(header) => match header.tag {
                Tag::Signature => is_version_next = true,
                Tag::OnePassSignature | Tag::CompressedData | Tag::LiteralData | Tag::Marker => {
                    return Content::Perhaps;
                }
                // Encrypted data: the command that reads it reports that.
                Tag::PublicKeyEncryptedSessionKey
                | Tag::SymKeyEncryptedSessionKey
                | Tag::SymEncryptedData
                | Tag::SymEncryptedProtectedData
                | Tag::GnupgAeadData => return Content::Perhaps,
                _ => return Content::Other,
            },
            Event::Body if is_version_next => {
                if !matches!(bytes.first(), Some(3..=6)) {
                    return Content::Other;
                }
                is_version_next = false;
            }
            Event::More => return Content::Signatures,
            Event::Body | Event::End | Event::Framing => {}
        }
        bytes = &bytes[step.consumed..];
    }
    Content::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        let signature = [&[0xC2, 3][..], &[4, 0, 1]].concat();
        let two = [&[0x88, 3][..], &[4, 0, 1], &signature].concat();
        let before_a_text = [&signature[..], &[0xCB, 1, b'b']].concat();
        let of_another_version = [0xC2, 3, 9, 0, 1];
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        for (bytes, content) in [
            (&signature[..], Content::Signatures),
            (&two, Content::Signatures),
            (b"-----BEGIN PGP SIGNATURE-----\n\n", Content::Signatures),
            (&before_a_text, Content::Perhaps),
            (&[0xC4, 0x0D, 3], Content::Perhaps),
            (&[0x85, 1, 0x0C, 3], Content::Perhaps),
            (b"\n-----BEGIN PGP MESSAGE-----\n", Content::Message),
            (b"-----BEGIN PGP SIGNED MESSAGE-----\n", Content::Message),
            (&of_another_version, Content::Other),
            (png, Content::Other),
            (b"\x1f\x8b\x08gzip", Content::Other),
            (b"\xfd7zXZ\0", Content::Other),
            (b"as in\n-----BEGIN PGP MESSAGE-----\nor so", Content::Perhaps),
            (b"", Content::Other),
        ] {
            assert_eq!(content_of(bytes), content, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn signatures_are_no_longer_than_so_much() {
        let block = [&[0xC2, 0xFF, 0, 1, 0, 0, 4][..], &[0; 65535]].concat();
        assert_eq!(content_of(&block), Content::Signatures);
        assert_eq!(content_of(&block.repeat(17)), Content::Perhaps);
    }
}
