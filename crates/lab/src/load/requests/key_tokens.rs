//! Key tokens that requests of several families need, as verbs of a coprocessor make them.

use super::{Maker, TOKEN_BYTES, word, words};
use crate::load::LabError;
use wire::bounds::PKA_TOKEN_BYTES_MAX;
use wire::verb::{
    self, Key, KeyAlgorithm, PkaTokenKind, PkaUsage, Room, TokenContent, TokenLength, TokenOrigin,
};

impl Maker<'_> {
    /// The internal token of a clear symmetric key.
    pub fn data_key(&mut self, clear: &[u8], aes: bool, job: usize) -> Result<Vec<u8>, LabError> {
        use verb::clear_key_import_multiple::*;
        let name = (format!("{}{}", if aes { "aes" } else { "des" }, clear.len()), job);
        if let Some(token) = self.tokens.tokens.get(&name) {
            return Ok(token.clone());
        }
        let algorithm = Some(if aes { KeyAlgorithm::Aes } else { KeyAlgorithm::Des });
        let token = self.ask(&Ask { algorithm, clear_key: clear, ..Ask::new() })?;
        let token = token.got().target_key_identifier.to_vec();
        self.tokens.tokens.insert(name, token.clone());
        Ok(token)
    }

    /// The skeleton of a DES key of this type, length and usage.
    pub(super) fn key_skeleton(
        &self,
        key_type: &str,
        length: Option<TokenLength>,
        usage: &[&str],
    ) -> Result<Vec<u8>, LabError> {
        use verb::key_token_build::*;
        let built = self.ask(&Ask {
            algorithm: Some(verb::TokenAlgorithm::Des),
            content: Some(TokenContent::None),
            length,
            key_type: Some(&word(key_type)),
            usage: &words(usage),
            ..Ask::new(TokenOrigin::Internal)
        })?;
        Ok(built.got().key_token.to_vec())
    }

    /// Builds a token of a key-values structure; a key in it stays clear.
    pub(super) fn build_pka(
        &mut self,
        structure: &[u8],
        kind: PkaTokenKind,
        usage: Option<PkaUsage>,
    ) -> Result<Vec<u8>, LabError> {
        use verb::pka_key_token_build::*;
        let built = self.ask(&Ask {
            usage,
            key_values_structure: structure,
            token: PKA_TOKEN_BYTES_MAX,
            ..Ask::new(kind)
        })?;
        Ok(built.got().token.to_vec())
    }

    /// The internal token of a clear private key.
    pub(super) fn import_pka(&mut self, clear: &[u8]) -> Result<Vec<u8>, LabError> {
        use verb::pka_key_import::*;
        let imported = self.ask(&Ask {
            source_key_token: clear.into(),
            importer_key_identifier: Key::Bytes(&[0; TOKEN_BYTES]),
            target_key_identifier: Room::of(PKA_TOKEN_BYTES_MAX),
            ..Ask::new()
        })?;
        Ok(imported.got().target_key_identifier.to_vec())
    }
}
