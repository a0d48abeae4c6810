//! The certificate chain of a key record: certificates (RFC 5280) in DER, one behind the other, the key's own first.
//!
//! Only the form is checked here: certificates and nothing else, so that no private key enters a
//! key store among them. Whether clients accept the certificates is not checked here.

use crate::bounds::{CHAIN_BYTES_MAX, CHAIN_CERTIFICATES_MAX};
use std::fmt;

/// Why bytes are refused as a certificate chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// No certificate.
    Empty,
    /// More bytes than [`CHAIN_BYTES_MAX`].
    TooLong(usize),
    /// More certificates than [`CHAIN_CERTIFICATES_MAX`].
    TooMany,
    /// An element that does not have the form of a certificate: its number in the chain, from 1.
    Form(usize),
}

impl fmt::Display for ChainError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("a chain without a certificate"),
            Self::TooLong(bytes) => {
                write!(out, "a chain of {bytes} bytes in DER; a key store takes {CHAIN_BYTES_MAX}")
            }
            Self::TooMany => {
                write!(out, "more than {CHAIN_CERTIFICATES_MAX} certificates in a chain")
            }
            Self::Form(number) => write!(out, "number {number} of a chain has not the form of a certificate"),
        }
    }
}

impl std::error::Error for ChainError {}

/// The certificates of a chain, each with its DER header.
///
/// # Errors
/// [`ChainError`] for no certificate, too many bytes or certificates, or an element of another
/// form.
pub fn certificates(chain: &[u8]) -> Result<Vec<&[u8]>, ChainError> {
    if chain.len() > CHAIN_BYTES_MAX {
        return Err(ChainError::TooLong(chain.len()));
    }
    let (mut found, mut rest) = (Vec::new(), chain);
    while !rest.is_empty() {
        let wrong = ChainError::Form(found.len() + 1);
        if found.len() == CHAIN_CERTIFICATES_MAX {
            return Err(ChainError::TooMany);
        }
        let one = element(rest, SEQUENCE).ok_or(wrong)?;
        // Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE, signatureValue BIT STRING }
        let signed = element(one.content, SEQUENCE).ok_or(wrong)?;
        let algorithm = element(signed.rest, SEQUENCE).ok_or(wrong)?;
        let signature = element(algorithm.rest, BIT_STRING).ok_or(wrong)?;
        if !signature.rest.is_empty() {
            return Err(wrong);
        }
        found.push(&rest[..rest.len() - one.rest.len()]);
        rest = one.rest;
    }
    if found.is_empty() { Err(ChainError::Empty) } else { Ok(found) }
}

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

/// One element of DER, and the bytes that follow it.
struct Element<'a> {
    content: &'a [u8],
    rest: &'a [u8],
}

/// The element of this tag at the beginning of `bytes`. None for another tag, a cut element, or a
/// length that is above 65,535 or not in its shortest form (X.690, section 10.1).
fn element(bytes: &[u8], tag: u8) -> Option<Element<'_>> {
    let [first, short, behind @ ..] = bytes else { return None };
    if *first != tag {
        return None;
    }
    let (length, behind) = match *short {
        length @ ..=0x7F => (usize::from(length), behind),
        form @ (0x81 | 0x82) => {
            let (long, behind) = behind.split_at_checked(usize::from(form & 3))?;
            let length = long.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            let least = if form == 0x81 { 0x80 } else { 0x100 };
            (Some(length).filter(|length| *length >= least)?, behind)
        }
        _ => return None,
    };
    let (content, rest) = behind.split_at_checked(length)?;
    Some(Element { content, rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let header = match length {
            ..0x80 => vec![tag, length as u8],
            0x80..0x100 => vec![tag, 0x81, length as u8],
            _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
        };
        [header, content.to_vec()].concat()
    }

    fn certificate(bytes: usize) -> Vec<u8> {
        let parts = [der(SEQUENCE, &vec![5; bytes]), der(SEQUENCE, &[6, 1, 1]), der(BIT_STRING, &[0, 9, 9])];
        der(SEQUENCE, &parts.concat())
    }

    #[test]
    fn certificates_of_all_lengths_are_told_apart() {
        let each: Vec<Vec<u8>> = [0, 1, 100, 127, 128, 255, 256, 300, 9000].map(certificate).to_vec();
        assert_eq!(certificates(&each.concat()).unwrap(), each.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let good = certificate(300);
        assert_eq!(certificates(&[]), Err(ChainError::Empty));
        assert_eq!(certificates(b"garbage"), Err(ChainError::Form(1)));
        assert_eq!(certificates(b"-----BEGIN CERTIFICATE-----"), Err(ChainError::Form(1)));
        assert_eq!(
            certificates(&vec![0x30; CHAIN_BYTES_MAX + 1]),
            Err(ChainError::TooLong(CHAIN_BYTES_MAX + 1))
        );
        assert_eq!(certificates(&good.repeat(CHAIN_CERTIFICATES_MAX + 1)), Err(ChainError::TooMany));
        certificates(&good.repeat(CHAIN_CERTIFICATES_MAX)).unwrap();
        for cut in 1..good.len() {
            assert_eq!(certificates(&good[..cut]), Err(ChainError::Form(1)));
            assert_eq!(certificates(&[&good, &good[..cut]].concat()), Err(ChainError::Form(2)));
        }
        // PrivateKeyInfo and RSAPrivateKey begin with an integer, EncryptedPrivateKeyInfo ends with an octet string.
        let algorithm = der(SEQUENCE, &[6, 1, 1]);
        for key in [
            [der(2, &[0]), algorithm.clone(), der(4, &[7; 40])].concat(),
            [algorithm.clone(), der(4, &[7; 40])].concat(),
            [algorithm.clone(), algorithm.clone(), der(4, &[7; 40])].concat(),
            [algorithm.clone(), algorithm.clone(), der(BIT_STRING, &[0]), der(4, &[7; 40])].concat(),
        ] {
            assert_eq!(certificates(&der(SEQUENCE, &key)), Err(ChainError::Form(1)));
        }
        // Lengths in a longer form than they need.
        let short = certificate(1);
        let longer = [&[SEQUENCE, 0x81, short[1]][..], &short[2..]].concat();
        assert_eq!(certificates(&longer), Err(ChainError::Form(1)));
    }

    proptest! {
        #[test]
        fn whatever_is_taken_is_all_there(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(found) = certificates(&bytes) {
                prop_assert_eq!(found.concat(), bytes);
            }
        }
    }
}
