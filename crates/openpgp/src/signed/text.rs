//! The hash of signed data: over bytes, or over text with normalised line ends (RFC 9580, 5.2.1 and 5.2.4).

use crate::HashAlgorithm;
use crate::compute::{engine, engine_hash};
use engine::HashState;
use pgp::packet::Signature;
use pgp::ser::Serialize;

/// The parameters of a hash over a message; signatures with the same parameters share a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) hash: HashAlgorithm,
    pub(crate) is_text: bool,
    /// The salt of a version 6 signature; empty for other versions.
    pub(crate) salt: Vec<u8>,
}

/// A hash over the data so far.
#[derive(Clone, Debug)]
pub(crate) struct TextHash {
    pub(crate) spec: Spec,
    state: HashState,
    /// Whether the last octet so far was CR: an LF after it completes the line end.
    after_cr: bool,
}

impl TextHash {
    /// `None` if the hash is not supported.
    pub(crate) fn new(spec: Spec) -> Option<Self> {
        let mut state = engine().hash_state(engine_hash(spec.hash)?).ok()?;
        state.update(&spec.salt);
        Some(Self { spec, state, after_cr: false })
    }

    /// A hash over bytes, without a salt.
    pub(super) fn plain(hash: HashAlgorithm) -> Option<Self> {
        Self::new(Spec { hash, is_text: false, salt: Vec::new() })
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        if !self.spec.is_text {
            self.state.update(piece);
            return;
        }
        let mut rest = piece;
        while let Some(at) = rest.iter().position(|octet| *octet == b'\n') {
            let is_whole = if at == 0 { self.after_cr } else { rest[at - 1] == b'\r' };
            if is_whole {
                self.state.update(&rest[..=at]);
            } else {
                self.state.update(&rest[..at]);
                self.state.update(b"\r\n");
            }
            rest = &rest[at + 1..];
            self.after_cr = false;
        }
        self.state.update(rest);
        if let Some(last) = rest.last() {
            self.after_cr = *last == b'\r';
        }
    }

    /// The digest of the data so far, followed by a signature's trailer; more data may be added afterwards for other
    /// signatures.
    pub(crate) fn digest(&self, end: &[u8]) -> Option<Vec<u8>> {
        let mut state = self.state.clone();
        state.update(end);
        Some(state.finish()[..engine_hash(self.spec.hash)?.digest_bytes()].to_vec())
    }
}

/// The digest of the parts, one after the other; `None` if the hash is not supported.
pub(super) fn digest_of(hash: HashAlgorithm, parts: &[&[u8]]) -> Option<Vec<u8>> {
    let mut begun = TextHash::plain(hash)?;
    let (last, before) = parts.split_last()?;
    before.iter().for_each(|part| begun.update(part));
    begun.digest(last)
}

/// The trailer that ends the hashed text of a signature: its own hashed part and, from version 4 on, the length of that
/// (RFC 9580, 5.2.4). `None` for unsupported versions.
pub(crate) fn trailer(signature: &Signature) -> Option<Vec<u8>> {
    let body = signature.to_bytes().ok()?;
    let (version, hashed_bytes) = match *body.first()? {
        2 | 3 => return body.get(2..7).map(<[u8]>::to_vec),
        4 => (4, 6 + usize::from(u16::from_be_bytes(*body.get(4..)?.first_chunk()?))),
        6 => (6, 8 + u32::from_be_bytes(*body.get(4..)?.first_chunk()?) as usize),
        _ => return None,
    };
    let mut end = body.get(..hashed_bytes)?.to_vec();
    end.extend_from_slice(&[version, 0xff]);
    end.extend_from_slice(&u32::try_from(hashed_bytes).ok()?.to_be_bytes());
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(is_text: bool, pieces: &[&[u8]]) -> Vec<u8> {
        let spec = Spec { hash: HashAlgorithm::Sha256, is_text, salt: Vec::new() };
        let mut hash = TextHash::new(spec).unwrap();
        pieces.iter().for_each(|piece| hash.update(piece));
        hash.digest(b"").unwrap()
    }

    #[test]
    fn line_ends_are_normalised_wherever_pieces_end() {
        let text = b"\na\r\nb\n\n\rc\r\r\n\r\nd\n";
        let normal = hashed(false, &[b"\r\na\r\nb\r\n\r\n\rc\r\r\n\r\nd\r\n"]);
        assert_ne!(hashed(false, &[text]), normal);
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(hashed(true, &pieces), normal, "{first} {second}");
            }
        }
    }
}
