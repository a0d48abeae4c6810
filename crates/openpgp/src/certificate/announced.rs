//! The features that a certificate announces as readable by its owner, and the strongest form that all recipients can
//! read.

use crate::form::CHUNK_BITS_WRITTEN;
use crate::{AeadAlgorithm, CompressionAlgorithm, Form, HashAlgorithm, Protection, SymmetricKeyAlgorithm};
use pgp::packet::{Signature, SubpacketData};

/// Bit of the features subpacket: SEIPD version 1 (RFC 9580, 5.2.3.32).
const FEATURE_SEIPD_V1: u8 = 0x01;
/// Bit of the features subpacket: GnuPG's AEAD packet (draft-koch-librepgp, 5.2.3.32).
const FEATURE_GNUPG_AEAD: u8 = 0x02;
/// Bit of the features subpacket: SEIPD version 2.
const FEATURE_SEIPD_V2: u8 = 0x08;

/// Ciphers that bodies are enciphered with, strongest first.
const CIPHERS: [SymmetricKeyAlgorithm; 4] = [
    SymmetricKeyAlgorithm::AES256,
    SymmetricKeyAlgorithm::AES192,
    SymmetricKeyAlgorithm::AES128,
    SymmetricKeyAlgorithm::TripleDES,
];
/// Modes, fastest first: they are equally strong.
const MODES: [AeadAlgorithm; 3] = [AeadAlgorithm::Gcm, AeadAlgorithm::Ocb, AeadAlgorithm::Eax];

/// The features that a certificate announces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// Ciphers for SEIPD version 1, preferred first; empty if the certificate names none.
    pub ciphers: Vec<SymmetricKeyAlgorithm>,
    /// Hashes for signatures, preferred first.
    pub hashes: Vec<HashAlgorithm>,
    /// Compression algorithms, preferred first.
    pub compressions: Vec<CompressionAlgorithm>,
    /// Whether SEIPD version 1 is announced. Every program since 2003 reads it; earlier ones announced nothing.
    pub seipd_v1: bool,
    /// Whether SEIPD version 2 is announced.
    pub seipd_v2: bool,
    /// Pairs of cipher and mode for SEIPD version 2, preferred first. Every program with version 2 reads AES-128 with
    /// OCB.
    pub aeads: Vec<(SymmetricKeyAlgorithm, AeadAlgorithm)>,
    /// Whether GnuPG's AEAD packet is announced.
    pub gnupg_aead: bool,
}

impl Announced {
    /// The features in the signatures that bind a certificate, given in the order in which properties are looked for.
    pub(crate) fn of(bindings: &[&Signature]) -> Self {
        let mut announced = Self::default();
        let mut features = None;
        let subpackets =
            || bindings.iter().filter_map(|it| it.config()).flat_map(|config| config.hashed_subpackets());
        for subpacket in subpackets() {
            match &subpacket.data {
                SubpacketData::PreferredSymmetricAlgorithms(list) => fill(&mut announced.ciphers, list),
                SubpacketData::PreferredHashAlgorithms(list) => fill(&mut announced.hashes, list),
                SubpacketData::PreferredCompressionAlgorithms(list) => {
                    fill(&mut announced.compressions, list);
                }
                SubpacketData::PreferredAeadAlgorithms(list) => fill(&mut announced.aeads, list),
                SubpacketData::Features(found) if features.is_none() => {
                    features = Some(Vec::from(found).first().copied().unwrap_or(0));
                }
                _ => {}
            }
        }
        let has = |bit| features.is_some_and(|features| features & bit != 0);
        announced.seipd_v1 = has(FEATURE_SEIPD_V1);
        announced.seipd_v2 = has(FEATURE_SEIPD_V2);
        announced.gnupg_aead = has(FEATURE_GNUPG_AEAD);
        announced
    }

    fn reads_cipher(&self, cipher: SymmetricKeyAlgorithm) -> bool {
        // Without a list, AES-128 is safe to assume today (RFC 9580, 9.3); TDES is implicitly in every list.
        self.ciphers.contains(&cipher)
            || (self.ciphers.is_empty() && cipher == SymmetricKeyAlgorithm::AES128)
            || cipher == SymmetricKeyAlgorithm::TripleDES
    }

    fn reads_aead(&self, pair: (SymmetricKeyAlgorithm, AeadAlgorithm)) -> bool {
        self.seipd_v2
            && (self.aeads.contains(&pair) || pair == (SymmetricKeyAlgorithm::AES128, AeadAlgorithm::Ocb))
    }
}

/// Copies `found` into `list`, unless `list` has content from an earlier signature.
fn fill<T: Copy>(list: &mut Vec<T>, found: &[T]) {
    if list.is_empty() {
        list.extend_from_slice(found);
    }
}

/// The strongest form that every recipient announces; SEIPD version 1 with AES-256 if there are no recipients, as for
/// a passphrase alone.
///
/// GnuPG's AEAD packet is never chosen: it is written only when asked for.
pub fn strongest_form(recipients: &[Announced]) -> Form {
    let everybody = |reads: &dyn Fn(&Announced) -> bool| recipients.iter().all(reads);
    if !recipients.is_empty() && everybody(&|recipient| recipient.seipd_v2) {
        for cipher in CIPHERS {
            for aead in MODES {
                if everybody(&|recipient| recipient.reads_aead((cipher, aead))) {
                    let protection = Protection::SeipdV2 { aead, chunk_bits: CHUNK_BITS_WRITTEN };
                    return Form { cipher, protection };
                }
            }
        }
    }
    let cipher = CIPHERS
        .into_iter()
        .find(|cipher| everybody(&|recipient| recipient.reads_cipher(*cipher)))
        .unwrap_or(SymmetricKeyAlgorithm::AES128);
    Form { cipher, protection: Protection::SeipdV1 }
}

/// Whether a certificate announces that its owner's programs can read a form.
pub fn is_announced(form: Form, announced: &Announced) -> bool {
    match form.protection {
        Protection::SeipdV1 => announced.reads_cipher(form.cipher),
        Protection::SeipdV2 { aead, .. } => announced.reads_aead((form.cipher, aead)),
        Protection::GnupgAead { aead, .. } => {
            announced.gnupg_aead && aead == AeadAlgorithm::Ocb && announced.reads_cipher(form.cipher)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SymmetricKeyAlgorithm::{AES128, AES256, TripleDES};

    fn v1(ciphers: &[SymmetricKeyAlgorithm]) -> Announced {
        Announced { ciphers: ciphers.to_vec(), seipd_v1: true, ..Announced::default() }
    }

    fn v2(aeads: &[(SymmetricKeyAlgorithm, AeadAlgorithm)]) -> Announced {
        Announced { seipd_v2: true, aeads: aeads.to_vec(), ..v1(&[AES256, AES128]) }
    }

    #[test]
    fn the_form_is_the_strongest_that_all_read() {
        let seipd_v2 = |cipher, aead| Form {
            cipher,
            protection: Protection::SeipdV2 { aead, chunk_bits: CHUNK_BITS_WRITTEN },
        };
        let seipd_v1 = |cipher| Form { cipher, protection: Protection::SeipdV1 };
        let ocb = AeadAlgorithm::Ocb;
        for (recipients, form) in [
            (vec![], seipd_v1(AES256)),
            (vec![v1(&[])], seipd_v1(AES128)),
            (vec![v1(&[AES128, AES256])], seipd_v1(AES256)),
            (vec![v1(&[AES256, AES128]), v1(&[AES128])], seipd_v1(AES128)),
            (vec![v1(&[AES256]), v1(&[SymmetricKeyAlgorithm::CAST5])], seipd_v1(TripleDES)),
            (vec![v2(&[])], seipd_v2(AES128, ocb)),
            (vec![v2(&[(AES256, ocb)])], seipd_v2(AES256, ocb)),
            (vec![v2(&[(AES256, ocb), (AES256, AeadAlgorithm::Gcm)])], seipd_v2(AES256, AeadAlgorithm::Gcm)),
            (vec![v2(&[(AES256, ocb)]), v2(&[(AES256, AeadAlgorithm::Gcm)])], seipd_v2(AES128, ocb)),
            (vec![v2(&[(AES256, ocb)]), v1(&[AES256])], seipd_v1(AES256)),
        ] {
            assert_eq!(strongest_form(&recipients), form, "{recipients:?}");
            assert!(recipients.iter().all(|recipient| is_announced(form, recipient)), "{recipients:?}");
        }
    }

    #[test]
    fn gnupgs_packet_is_announced_by_its_bit_alone() {
        let form = Form {
            cipher: AES256,
            protection: Protection::GnupgAead { aead: AeadAlgorithm::Ocb, chunk_bits: CHUNK_BITS_WRITTEN },
        };
        assert!(!is_announced(form, &v2(&[(AES256, AeadAlgorithm::Ocb)])));
        assert!(is_announced(form, &Announced { gnupg_aead: true, ..v1(&[AES256]) }));
    }
}
