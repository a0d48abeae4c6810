//! Requests under keys of P-256: signatures and key agreement.

use super::{Expected, Maker, Request, TOKEN_BYTES, VARIABLE_TOKEN_ROOM};
use crate::load::LabError;
use crate::load::native::{self, EcdsaJob};
use crate::load::operation::Operation;
use std::sync::Arc;
use wire::bounds::PKA_TOKEN_BYTES_MAX;
use wire::verb::{
    self, AgreementHash, EccVersion, Key, KeyAgreement, PkaOutput, PkaTokenKind, PkaUsage, Room,
    SignatureFormat,
};

/// Bits of the prime of P-256, as key-values structures name the curve.
const P256_BITS: usize = 256;
/// Key-derivation data of a private key (section X'23'): the algorithm AES, the type CIPHER, 128 bits.
const DERIVES_AES_CIPHER_128: [u8; 4] = [2, 4, 0, 128];

impl Maker<'_> {
    /// A signature of a digest under a key of P-256, and that key imported `count` times: each token is another one.
    /// The request has the first of them.
    pub fn ecdsa(&mut self, job: usize, count: usize) -> Result<(Request, Vec<Vec<u8>>), LabError> {
        use verb::digital_signature_generate::*;
        let job = EcdsaJob::new(job).map_err(native::refused(Operation::EcdsaP256Sign))?;
        let (value, point) = (job.private.to_bytes(), job.private.public_bytes());
        let structure = p256_structure(&[&value, &point]);
        let clear = self.build_pka(&structure, PkaTokenKind::EccPair, Some(PkaUsage::Signature))?;
        let tokens = (0..count.max(1)).map(|_| self.import_pka(&clear)).collect::<Result<Vec<_>, _>>()?;
        let ask = Ask {
            format: Some(SignatureFormat::Ecdsa),
            pka_private_key_id: (&tokens[0]).into(),
            hash: &job.digest,
            signature_field: 2 * value.len(),
            ..Ask::new()
        };
        let expected = Expected::Signed(SIGNATURE_FIELD, Arc::new(job.public), job.digest.clone());
        Ok((self::Request::new(&ask, expected), tokens))
    }

    /// An AES-128 key that two keys of P-256 agree on; the other party must get the same key.
    pub(super) fn ecdh(&mut self) -> Result<Request, LabError> {
        use verb::ec_diffie_hellman::OUTPUT_KEY_IDENTIFIER;
        let (ours, theirs) = (self.deriving_key()?, self.deriving_key()?);
        let (our_part, their_part) = (self.public_part(&ours)?, self.public_part(&theirs)?);
        let theirs = self.ask(&agreement(&theirs, &our_part))?;
        let expected = theirs.got().output_key_identifier.to_vec();
        let expected = Expected::Bytes(OUTPUT_KEY_IDENTIFIER, expected);
        Ok(self::Request::new(&agreement(&ours, &their_part), expected))
    }

    /// A new private key of P-256 from which AES CIPHER keys of 128 bits are derived.
    fn deriving_key(&self) -> Result<Vec<u8>, LabError> {
        use verb::{pka_key_generate as generate, pka_key_token_build as build};
        let skeleton = self.ask(&build::Ask {
            usage: Some(PkaUsage::KeyManagementOnly),
            version: Some(EccVersion::One),
            key_values_structure: &p256_structure(&[&[], &[]]),
            key_derivation_data: &DERIVES_AES_CIPHER_128,
            token: PKA_TOKEN_BYTES_MAX,
            ..build::Ask::new(PkaTokenKind::EccPair)
        })?;
        let generated = self.ask(&generate::Ask {
            output: Some(PkaOutput::Master),
            skeleton_key_token: skeleton.got().token.into(),
            transport_key_identifier: Key::Bytes(&[0; TOKEN_BYTES]),
            generated_key_identifier: Room::of(PKA_TOKEN_BYTES_MAX),
            ..generate::Ask::new()
        })?;
        Ok(generated.got().generated_key_identifier.to_vec())
    }

    /// The public key of a private key's token.
    fn public_part(&self, token: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::pka_public_key_extract::*;
        let extracted = self.ask(&Ask {
            source_key_identifier: token.into(),
            target_key_token: PKA_TOKEN_BYTES_MAX,
            ..Ask::new()
        })?;
        Ok(extracted.got().target_key_token.to_vec())
    }
}

/// A request for the AES-128 key that these keys agree on, by ANSI X9.63 with SHA-256.
fn agreement<'a>(private: &'a [u8], public: &'a [u8]) -> verb::ec_diffie_hellman::Ask<'a> {
    use verb::ec_diffie_hellman::*;
    Ask {
        hash: Some(AgreementHash::Sha256),
        private_key_identifier: private.into(),
        public_key_identifier: public.into(),
        key_bit_length: 128,
        output_key_identifier: Room::of(VARIABLE_TOKEN_ROOM),
        ..Ask::new(KeyAgreement::Derive2)
    }
}

/// The key-values structure of PKA_Key_Token_Build for a key of P-256: two bytes for the curve, its bits, the lengths
/// of the numbers, then the numbers.
fn p256_structure(numbers: &[&[u8]]) -> Vec<u8> {
    let mut structure = vec![0, 0];
    for number in [P256_BITS].into_iter().chain(numbers.iter().map(|number| number.len())) {
        structure.extend_from_slice(&(number as u16).to_be_bytes());
    }
    structure.extend(numbers.concat());
    structure
}
