//! Parts of a ClientHello that the library does not give (RFC 8446, 4.1.2).

use crate::certificate::PublicKey;

/// Numbers of extensions (RFC 8446, 4.2), and of version 1.3.
pub(crate) const ALPN: u16 = 16;
const SIGNATURE_ALGORITHMS: u16 = 13;
const SUPPORTED_VERSIONS: u16 = 43;
const TLS13: u16 = 0x0304;

/// The scheme with which an ECDSA key signs in TLS 1.3, where the scheme fixes the curve (RFC 8446, 4.2.3); `None` for
/// other keys.
pub(crate) fn ecdsa_scheme(key: &PublicKey) -> Option<u16> {
    let PublicKey::Ec { point, .. } = key else { return None };
    match point.len() {
        65 => Some(0x0403),
        97 => Some(0x0503),
        133 => Some(0x0603),
        _ => None,
    }
}

/// Whether a client offers TLS 1.3 and accepts signatures of this scheme. `hello` is the message without its header of
/// four bytes.
pub(crate) fn takes_in_tls13(hello: &[u8], scheme: u16) -> bool {
    let has = |list: Option<&[u8]>, wanted: u16| {
        list.is_some_and(|list| list.chunks_exact(2).any(|number| number == wanted.to_be_bytes()))
    };
    let versions = extension(hello, SUPPORTED_VERSIONS).and_then(|content| Fields(content).counted_by_one());
    let schemes = extension(hello, SIGNATURE_ALGORITHMS).and_then(|content| Fields(content).counted_by_two());
    has(versions, TLS13) && has(schemes, scheme)
}

/// The content of an extension; `None` if the message does not have it, or is malformed before it.
pub(crate) fn extension(hello: &[u8], wanted: u16) -> Option<&[u8]> {
    // Version and random come first; then session ID, suites, and compression methods.
    let mut fields = Fields(hello);
    fields.take(2 + 32)?;
    fields.counted_by_one()?;
    fields.counted_by_two()?;
    fields.counted_by_one()?;
    let mut extensions = Fields(fields.counted_by_two()?);
    while !extensions.0.is_empty() {
        let number = extensions.number()?;
        let content = extensions.counted_by_two()?;
        if number == wanted {
            return Some(content);
        }
    }
    None
}

/// The rest of a message.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(crate) fn counted_by_one(&mut self) -> Option<&'a [u8]> {
        let count = self.take(1)?[0];
        self.take(count.into())
    }

    pub(crate) fn counted_by_two(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(count.into())
    }
}

#[cfg(test)]
pub(crate) fn hello_with(extensions: &[u8]) -> Vec<u8> {
    let mut hello = vec![3; 34];
    hello.extend_from_slice(&[1, 9, 0, 2, 0x13, 1, 1, 0]);
    hello.extend_from_slice(&(extensions.len() as u16).to_be_bytes());
    hello.extend_from_slice(extensions);
    hello
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_scheme_must_both_be_offered() {
        let versions = |list: &[u8]| [&[0, 43, 0, list.len() as u8 + 1, list.len() as u8], list].concat();
        let schemes = |list: &[u8]| [&[0, 13, 0, list.len() as u8 + 2, 0, list.len() as u8], list].concat();
        let takes = |parts: [Vec<u8>; 2]| takes_in_tls13(&hello_with(&parts.concat()), 0x0403);
        assert!(takes([versions(&[3, 4, 3, 3]), schemes(&[8, 4, 4, 3])]));
        assert!(takes([schemes(&[4, 3]), versions(&[3, 3, 3, 4])]));
        assert!(!takes([versions(&[3, 3]), schemes(&[4, 3])]));
        assert!(!takes([versions(&[3, 4]), schemes(&[5, 3, 8, 4])]));
        // Halves of two adjacent numbers do not make a number.
        assert!(!takes([versions(&[3, 4]), schemes(&[8, 4, 3, 3])]));
        assert!(!takes([versions(&[3, 4]), Vec::new()]));
        let whole = hello_with(&[versions(&[3, 4]), schemes(&[4, 3])].concat());
        for end in 0..whole.len() {
            assert!(!takes_in_tls13(&whole[..end], 0x0403), "{end}");
        }
    }

    #[test]
    fn a_curve_has_its_own_scheme() {
        let of = |bytes| ecdsa_scheme(&PublicKey::Ec { curve: Vec::new(), point: vec![4; bytes] });
        assert_eq!([65, 97, 133, 64].map(of), [Some(0x0403), Some(0x0503), Some(0x0603), None]);
        let rsa = PublicKey::Rsa { modulus: vec![1; 256], exponent: vec![3] };
        assert_eq!(ecdsa_scheme(&rsa), None);
    }
}
