//! Requests that import key blocks. Each job has protection keys and a block of its own; a block is measured only after
//! its key was found to be the exported one.

use super::{Expected, Maker, Request, TOKEN_BYTES, VARIABLE_TOKEN_ROOM};
use crate::load::{LabError, keys};
use wire::verb::{self, Verb};

/// Length of the buffer for a block, in bytes.
const BLOCK_ROOM: usize = 1_000;

impl Maker<'_> {
    /// A CIPHER key of double length under TDES keys.
    pub(super) fn tr31_import_b(&mut self, job: usize) -> Result<Request, LabError> {
        let (clear, value) = (keys::payment_key(job, 0), keys::payment_key(job, 1));
        let source = self.entered("CIPHER", &["DOUBLE"], &clear)?;
        let exporter = self.entered("EXPORTER", &["DOUBLE"], &value)?;
        let importer = self.entered("IMPORTER", &["DOUBLE"], &value)?;
        let block = self.block(&source, &exporter, "VARDRV-B")?;
        let request = import(block.clone(), importer).beside(&[&value, &block], clear);
        let made = self.call(&request, verb::tr31_key_import::OUTPUT_KEY_IDENTIFIER)?;
        let enciphers = |token: &[u8]| {
            use verb::encipher::*;
            super::Request::new(Verb::Encipher, Expected::Done)
                .bytes(KEY_IDENTIFIER, token)
                .counted(TEXT_LENGTH, PLAINTEXT, *b"8 bytes.")
                .bytes(INITIALIZATION_VECTOR, [0; 8])
                .integer(PAD_CHARACTER, 0)
                .bytes(CHAINING_VECTOR, [0; 18])
        };
        self.is_same(&enciphers(&source), &enciphers(&made), verb::encipher::CIPHERTEXT)?;
        Ok(Request {
            expected: Expected::Bytes(verb::tr31_key_import::OUTPUT_KEY_IDENTIFIER, made),
            ..request
        })
    }

    /// A CIPHER key of AES-128 under AES-256 keys.
    pub(super) fn tr31_import_d(&mut self, job: usize) -> Result<Request, LabError> {
        let (clear, value) = (keys::test_bytes(0x7431, job, 16), keys::test_bytes(0x7432, job, 32));
        let source = self.entered_variable(&["CIPHER"], &clear)?;
        let exporter = self.entered_variable(&["EXPORTER", "WR-TR31"], &value)?;
        let importer = self.entered_variable(&["IMPORTER", "WR-TR31"], &value)?;
        let block = self.block(&source, &exporter, "VARDRV-D")?;
        let request = import(block.clone(), importer).beside(&[&value, &block], clear);
        let made = self.call(&request, verb::tr31_key_import::OUTPUT_KEY_IDENTIFIER)?;
        let enciphers = |token: &[u8]| {
            use verb::symmetric_algorithm_encipher::*;
            super::Request::new(Verb::SymmetricAlgorithmEncipher, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["AES", "KEYIDENT", "CBC", "ONLY"])
                .counted(KEY_LENGTH, KEY_IDENTIFIER, token)
                .integer(BLOCK_SIZE, 16)
                .counted(INITIALIZATION_VECTOR_LENGTH, INITIALIZATION_VECTOR, [0; 16])
                .counted(CLEAR_TEXT_LENGTH, CLEAR_TEXT, *b"sixteen bytes...")
                .integer(CIPHER_TEXT_LENGTH, 16)
        };
        let output = verb::symmetric_algorithm_encipher::CIPHER_TEXT;
        self.is_same(&enciphers(&source), &enciphers(&made), output)?;
        let output = verb::tr31_key_import::OUTPUT_KEY_IDENTIFIER;
        Ok(super::Request { expected: Expected::Bytes(output, made), ..request })
    }

    /// Fails if two requests do not give the same key: a block that imports another key is not measured.
    fn is_same(&self, one: &Request, other: &Request, output: usize) -> Result<(), LabError> {
        if self.call(one, output)? == self.call(other, output)? {
            return Ok(());
        }
        Err(LabError::facility("bring a key of a key block in")("another key came in"))
    }

    /// A block with an exported key that enciphers and deciphers.
    fn block(&self, source: &[u8], exporter: &[u8], method: &str) -> Result<Vec<u8>, LabError> {
        use verb::tr31_key_export::*;
        let request = super::Request::new(Verb::Tr31KeyExport, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[method, "ENC", "ENCDEC"])
            .bytes(KEY_VERSION_NUMBER, *b"00")
            .integer(KEY_FIELD_LENGTH, 0)
            .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, source)
            .counted(WRAP_KEK_IDENTIFIER_LENGTH, WRAP_KEK_IDENTIFIER, exporter)
            .integer(TR31_KEY_BLOCK_LENGTH, BLOCK_ROOM);
        self.call(&request, TR31_KEY_BLOCK)
    }

    /// A DES key of this type, value and keywords, entered in parts.
    pub(super) fn entered(&self, key_type: &str, words: &[&str], value: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::key_part_import::*;
        let words = [&["INTERNAL", "DES", "NO-KEY"], words].concat();
        let mut token = self.key_skeleton(key_type, &words)?;
        for (step, part) in [("FIRST", value), ("LAST", &[0; 16])] {
            let request = super::Request::new(Verb::KeyPartImport, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[step])
                .bytes(KEY_PART, part)
                .bytes(KEY_IDENTIFIER, token);
            token = self.call(&request, KEY_IDENTIFIER)?;
        }
        Ok(token)
    }

    /// An AES key of this type, value and keywords, entered in parts.
    pub(super) fn entered_variable(&self, words: &[&str], value: &[u8]) -> Result<Vec<u8>, LabError> {
        let mut token = self.variable_skeleton(words)?;
        for (words, part) in [(&["AES", "FIRST", "MIN1PART"][..], value), (&["AES", "COMPLETE"], &[])] {
            use verb::key_part_import2::*;
            let request = super::Request::new(Verb::KeyPartImport2, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, words)
                .integer(CLEAR_KEY_PART_LENGTH, 8 * part.len())
                .bytes(CLEAR_KEY_PART, part)
                .integer(KEY_IDENTIFIER_LENGTH, VARIABLE_TOKEN_ROOM)
                .bytes(KEY_IDENTIFIER, token);
            token = self.call(&request, KEY_IDENTIFIER)?;
        }
        Ok(token)
    }
}

/// A request that imports the key of a block under the master key.
fn import(block: Vec<u8>, importer: Vec<u8>) -> Request {
    use verb::tr31_key_import::*;
    super::Request::new(Verb::Tr31KeyImport, Expected::Done)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["INTERNAL"])
        .counted(TR31_KEY_BLOCK_LENGTH, TR31_KEY_BLOCK, block)
        .counted(UNWRAP_KEK_IDENTIFIER_LENGTH, UNWRAP_KEK_IDENTIFIER, importer)
        .integer(OUTPUT_KEY_IDENTIFIER_LENGTH, VARIABLE_TOKEN_ROOM.max(TOKEN_BYTES))
}
