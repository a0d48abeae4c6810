//! Describes well-formed keys of an unsupported kind, for errors.

use pgp::crypto::ecc_curve::{ECCCurve, ecc_curve_from_oid};
use pgp::crypto::public_key::PublicKeyAlgorithm;

/// Length of the fields before those of the algorithm in a key packet, in bytes: version, time, algorithm.
const START_BYTES: usize = 6;
/// Length of the octet count that version 6 has before the algorithm's fields, in bytes.
const LENGTH_BYTES: usize = 4;
/// Longest RSA modulus that is read, in bits; engine and cards compute with half of that.
const RSA_BITS_READ_MAX: u16 = 8192;

/// The kind of key in a packet that was not read; `None` if the packet is malformed, or of a supported kind.
pub(super) fn kind(body: &[u8]) -> Option<String> {
    let (start, fields) = body.split_at_checked(START_BYTES)?;
    let (version, algorithm) = (start[0], start[START_BYTES - 1]);
    let fields = match version {
        4 => fields,
        6 => fields.get(LENGTH_BYTES..)?,
        // The version of GnuPG 2.3 and later (draft-koch-librepgp).
        5 => return Some("a key of version 5 (LibrePGP)".to_owned()),
        // Earlier versions have another layout, and RSA alone.
        0..=3 => return None,
        later => return Some(format!("a key of version {later}")),
    };
    match PublicKeyAlgorithm::from(algorithm) {
        PublicKeyAlgorithm::RSA | PublicKeyAlgorithm::RSAEncrypt | PublicKeyAlgorithm::RSASign => {
            let bits = u16::from_be_bytes(*fields.first_chunk()?);
            let is_whole = fields.len() > 2 + usize::from(bits).div_ceil(8);
            (bits > RSA_BITS_READ_MAX && is_whole).then(|| format!("RSA of {bits} bits"))
        }
        algorithm @ (PublicKeyAlgorithm::ECDSA
        | PublicKeyAlgorithm::ECDH
        | PublicKeyAlgorithm::EdDSALegacy) => {
            let (name_bytes, rest) = fields.split_first()?;
            let curve = ecc_curve_from_oid(rest.get(..usize::from(*name_bytes))?)?;
            let is_read = matches!(
                curve,
                ECCCurve::P256
                    | ECCCurve::P384
                    | ECCCurve::P521
                    | ECCCurve::Curve25519Legacy
                    | ECCCurve::Ed25519Legacy
            );
            let name = match &curve {
                ECCCurve::Unknown(identifier) => identifier.to_string(),
                known => known.name().to_owned(),
            };
            (!is_read).then(|| format!("{algorithm:?} on the curve {name} in a key of version {version}"))
        }
        PublicKeyAlgorithm::Unknown(number) => Some(format!("a key of the algorithm {number}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::certificate::{Certificate, CertificateError};
    use crate::private_key::PrivateCertificate;

    fn number(bits: u16) -> Vec<u8> {
        let mut octets = vec![0xff; usize::from(bits).div_ceil(8)];
        octets[0] = 0xff >> ((8 - bits % 8) % 8);
        [&bits.to_be_bytes()[..], &octets].concat()
    }

    fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
        let bytes = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&[0xc0 | tag, 0xff][..], &bytes, body].concat()
    }

    /// The public half of a key with these fields.
    fn body(version: u8, algorithm: u8, fields: &[u8]) -> Vec<u8> {
        let mut body = vec![version, 0x60, 0, 0, 0, algorithm];
        if version > 4 {
            body.extend(u32::try_from(fields.len()).unwrap().to_be_bytes());
        }
        body.extend(fields);
        body
    }

    fn failures(public: &[u8], secret: &[u8]) -> [String; 2] {
        let failed = |error: CertificateError| error.to_string();
        let private = [public, &[0], secret].concat();
        [
            Certificate::parse_all(&packet(6, public)).map_err(failed).unwrap_err(),
            PrivateCertificate::parse_all(&packet(5, &private)).map_err(failed).unwrap_err(),
        ]
    }

    #[test]
    fn keys_of_kinds_that_are_not_read_are_called_what_they_are() {
        let rsa = |bits: u16| [number(bits), number(17)].concat();
        let brainpool = [&[9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 7][..], &number(515)].concat();
        for (version, algorithm, fields, what) in [
            (4, 1, rsa(16_384), "RSA of 16384 bits"),
            (4, 1, rsa(8200), "RSA of 8200 bits"),
            (4, 1, rsa(32_768), "RSA of 32768 bits"),
            (6, 1, rsa(16_384), "RSA of 16384 bits"),
            (5, 22, rsa(2048), "a key of version 5 (LibrePGP)"),
            (7, 27, rsa(2048), "a key of version 7"),
            (6, 19, brainpool, "ECDSA on the curve brainpoolP256r1 in a key of version 6"),
        ] {
            for failure in failures(&body(version, algorithm, &fields), &number(255)) {
                assert_eq!(failure, format!("the key is of a kind that is not served: {what}"));
            }
        }
    }

    #[test]
    fn what_does_not_hold_together_is_malformed() {
        for public in [
            body(4, 1, &number(16_384)[..100]),
            body(4, 1, &[number(2048), vec![0, 200, 1]].concat()),
            body(6, 19, &[9, 0x2b]),
            vec![4, 0x60, 0],
        ] {
            for failure in failures(&public, &[]) {
                assert!(failure.starts_with("malformed OpenPGP key: "), "{failure}");
            }
        }
    }
}
