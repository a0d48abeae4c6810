//! Requests of key blocks: each job has protection keys and a block of its own, which is measured only after its key was found to be
//! the one that left.

use super::{Expected, Maker, Request, TOKEN_BYTES, VARIABLE_TOKEN_ROOM};
use crate::load::LabError;
use wire::verb::{self, Verb};

/// Room for a block.
const BLOCK_ROOM: usize = 1_000;

impl Maker<'_> {
    /// A CIPHER key of double length under TDES keys.
    pub(super) fn tr31_import_b(&mut self) -> Result<Request, LabError> {
        let skeleton = self.key_skeleton("CIPHER", &["INTERNAL", "DES", "NO-KEY", "DOUBLE"])?;
        let source =
            self.call(&super::generate_from(skeleton), verb::key_generate::GENERATED_KEY_IDENTIFIER_1)?;
        let value = self.random_key()?;
        let exporter = self.entered("EXPORTER", &value)?;
        let importer = self.entered("IMPORTER", &value)?;
        let block = self.block(&source, &exporter, "VARDRV-B")?;
        let request = import(block, importer);
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
    pub(super) fn tr31_import_d(&mut self) -> Result<Request, LabError> {
        use verb::key_generate2::*;
        let generated = super::generate2("OP", "CIPHER", Expected::Done).integer(CLEAR_KEY_BIT_LENGTH, 128);
        let source = self.call(&generated, GENERATED_KEY_IDENTIFIER_1)?;
        let value = [self.random_key()?, self.random_key()?].concat();
        let exporter = self.entered_variable("EXPORTER", &value)?;
        let importer = self.entered_variable("IMPORTER", &value)?;
        let block = self.block(&source, &exporter, "VARDRV-D")?;
        let request = import(block, importer);
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

    /// Refuses to measure what brings another key in.
    fn is_same(&self, one: &Request, other: &Request, output: usize) -> Result<(), LabError> {
        if self.call(one, output)? == self.call(other, output)? {
            return Ok(());
        }
        Err(LabError::facility("bring a key of a key block in")("another key came in"))
    }

    /// A block with a key that enciphers and deciphers.
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

    fn random_key(&self) -> Result<Vec<u8>, LabError> {
        use verb::random_number_generate_long::*;
        let request = super::Request::new(Verb::RandomNumberGenerateLong, Expected::Done)
            .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["RANDOM"])
            .integer(RANDOM_NUMBER_LENGTH, 16);
        self.call(&request, RANDOM_NUMBER)
    }

    /// A transport key of DES of this value, in parts.
    fn entered(&self, key_type: &str, value: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::key_part_import::*;
        let mut token = self.key_skeleton(key_type, &["INTERNAL", "DES", "NO-KEY", "DOUBLE"])?;
        for (step, part) in [("FIRST", value), ("LAST", &[0; 16])] {
            let request = super::Request::new(Verb::KeyPartImport, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &[step])
                .bytes(KEY_PART, part)
                .bytes(KEY_IDENTIFIER, token);
            token = self.call(&request, KEY_IDENTIFIER)?;
        }
        Ok(token)
    }

    /// A transport key of AES of this value that protects key blocks, in parts.
    fn entered_variable(&self, key_type: &str, value: &[u8]) -> Result<Vec<u8>, LabError> {
        let mut token = {
            use verb::key_token_build2::*;
            let request = super::Request::new(Verb::KeyTokenBuild2, Expected::Done)
                .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["INTERNAL", "AES", key_type, "WR-TR31"])
                .integer(TARGET_KEY_TOKEN_LENGTH, VARIABLE_TOKEN_ROOM);
            self.call(&request, TARGET_KEY_TOKEN)?
        };
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

/// The key of a block, under the master key.
fn import(block: Vec<u8>, importer: Vec<u8>) -> Request {
    use verb::tr31_key_import::*;
    super::Request::new(Verb::Tr31KeyImport, Expected::Done)
        .rules(RULE_ARRAY_COUNT, RULE_ARRAY, &["INTERNAL"])
        .counted(TR31_KEY_BLOCK_LENGTH, TR31_KEY_BLOCK, block)
        .counted(UNWRAP_KEK_IDENTIFIER_LENGTH, UNWRAP_KEK_IDENTIFIER, importer)
        .integer(OUTPUT_KEY_IDENTIFIER_LENGTH, VARIABLE_TOKEN_ROOM.max(TOKEN_BYTES))
}
