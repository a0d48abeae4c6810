//! Requests that import key blocks. Each job has protection keys and a block of its own; a block is measured only after
//! its key was found to be the exported one.

use super::{Expected, Maker, Request, TOKEN_BYTES, VARIABLE_TOKEN_ROOM};
use crate::load::{LabError, keys};
use wire::verb::{
    self, AesAlgorithm, AesKeyRule, AesMethod, AesPosition, KeyBlockMethod, KeyBlockMode, KeyBlockPlace,
    KeyBlockUsage, KeyPart, KeyPartsLeast, Room, TokenLength, VariableAlgorithm, VariableKeyPart,
    VariableKeyType, tr31_key_import,
};

/// Length of the buffer for a block, in bytes.
const BLOCK_ROOM: usize = 1_000;

impl Maker<'_> {
    /// A CIPHER key of double length under TDES keys.
    pub(super) fn tr31_import_b(&mut self, job: usize) -> Result<Request, LabError> {
        let (clear, value) = (keys::payment_key(job, 0), keys::payment_key(job, 1));
        let double = Some(TokenLength::Double);
        let source = self.entered("CIPHER", double, &[], &clear)?;
        let exporter = self.entered("EXPORTER", double, &[], &value)?;
        let importer = self.entered("IMPORTER", double, &[], &value)?;
        let block = self.block(&source, &exporter, KeyBlockMethod::B)?;
        let enciphered = |token: &[u8]| -> Result<Vec<u8>, LabError> {
            use verb::encipher::*;
            let enciphered = self.ask(&Ask {
                key_identifier: token.into(),
                plaintext: b"8 bytes.",
                initialization_vector: Some(&[0; 8]),
                chaining_vector: Some(&[0; 18]),
                ..Ask::new()
            })?;
            Ok(enciphered.got().ciphertext.to_vec())
        };
        let request = self.import(&block, &importer, &source, enciphered)?;
        Ok(request.beside(&[&value, &block], clear))
    }

    /// A CIPHER key of AES-128 under AES-256 keys.
    pub(super) fn tr31_import_d(&mut self, job: usize) -> Result<Request, LabError> {
        let (clear, value) = (keys::test_bytes(0x7431, job, 16), keys::test_bytes(0x7432, job, 32));
        let source = self.entered_variable(VariableKeyType::Cipher, &[], &clear)?;
        let exporter = self.entered_variable(VariableKeyType::Exporter, &["WR-TR31"], &value)?;
        let importer = self.entered_variable(VariableKeyType::Importer, &["WR-TR31"], &value)?;
        let block = self.block(&source, &exporter, KeyBlockMethod::D)?;
        let enciphered = |token: &[u8]| -> Result<Vec<u8>, LabError> {
            use verb::symmetric_algorithm_encipher::*;
            let enciphered = self.ask(&Ask {
                method: Some(AesMethod::Cbc),
                key_rule: Some(AesKeyRule::Identifier),
                part: Some(AesPosition::Only),
                key_identifier: token.into(),
                block_size: 16,
                initialization_vector: &[0; 16],
                clear_text: b"sixteen bytes...",
                cipher_text: 16,
                ..Ask::new(AesAlgorithm::Aes)
            })?;
            Ok(enciphered.got().cipher_text.to_vec())
        };
        let request = self.import(&block, &importer, &source, enciphered)?;
        Ok(request.beside(&[&value, &block], clear))
    }

    /// A request that imports the key of a block under the master key. Fails where that key does not encipher as the
    /// exported one does: a block that imports another key is not measured.
    fn import(
        &self,
        block: &[u8],
        importer: &[u8],
        source: &[u8],
        enciphered: impl Fn(&[u8]) -> Result<Vec<u8>, LabError>,
    ) -> Result<Request, LabError> {
        let ask = tr31_key_import::Ask {
            tr31_key_block: block.into(),
            unwrap_kek_identifier: importer.into(),
            output_key_identifier: Room::of(VARIABLE_TOKEN_ROOM.max(TOKEN_BYTES)),
            ..tr31_key_import::Ask::new(KeyBlockPlace::Internal)
        };
        let made = self.ask(&ask)?.got().output_key_identifier.to_vec();
        if enciphered(source)? != enciphered(&made)? {
            return Err(LabError::facility("bring a key of a key block in")("another key came in"));
        }
        Ok(Request::new(&ask, Expected::Bytes(tr31_key_import::OUTPUT_KEY_IDENTIFIER, made)))
    }

    /// A block with an exported key that enciphers and deciphers.
    fn block(&self, source: &[u8], exporter: &[u8], method: KeyBlockMethod) -> Result<Vec<u8>, LabError> {
        use verb::tr31_key_export::*;
        let exported = self.ask(&Ask {
            usage: Some(KeyBlockUsage::D0),
            mode: Some(KeyBlockMode::Both),
            key_version_number: b"00",
            source_key_identifier: source.into(),
            wrap_kek_identifier: exporter.into(),
            tr31_key_block: BLOCK_ROOM,
            ..Ask::new(method)
        })?;
        Ok(exported.got().tr31_key_block.to_vec())
    }

    /// A DES key of this type, length, usage and value, entered in parts.
    pub(super) fn entered(
        &self,
        key_type: &str,
        length: Option<TokenLength>,
        usage: &[&str],
        value: &[u8],
    ) -> Result<Vec<u8>, LabError> {
        use verb::key_part_import::*;
        let mut token = self.key_skeleton(key_type, length, usage)?;
        for (step, part) in [(KeyPart::First, value), (KeyPart::Last, &vec![0; value.len()])] {
            let key_identifier = (&token).into();
            let entered = self.ask(&Ask { key_part: part, key_identifier, ..Ask::new(step) })?;
            token = entered.got().key_identifier.to_vec();
        }
        Ok(token)
    }

    /// An AES key of this type, usage and value, entered in parts.
    pub(super) fn entered_variable(
        &self,
        key_type: VariableKeyType,
        usage: &[&str],
        value: &[u8],
    ) -> Result<Vec<u8>, LabError> {
        use verb::key_part_import2::*;
        let mut token = self.variable_skeleton(key_type, usage)?;
        let first = (VariableKeyPart::First, Some(KeyPartsLeast::One), value);
        for (step, least, part) in [first, (VariableKeyPart::Complete, None, &[])] {
            let entered = self.ask(&Ask {
                least,
                clear_key_part: part,
                key_identifier: Room { given: &token, bytes: VARIABLE_TOKEN_ROOM },
                ..Ask::new(VariableAlgorithm::Aes, step)
            })?;
            token = entered.got().key_identifier.to_vec();
        }
        Ok(token)
    }
}
