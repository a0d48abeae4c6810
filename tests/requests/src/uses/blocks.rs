//! The requests of the verbs of key blocks, of which all but the key that is tried is right.

use super::ways::Others;
use crate::key_block::{combine, export, import};
use crate::peer;
use crate::support::{Request, aes_key, sym_key};
use crate::twin;
use crate::wrapped::unwrapped;
use token::VariableToken;
use token::variable::VariableKey;
use wire::point::PointSet;
use wire::verb::{
    Verb, cvv_key_combine, tr31_key_export, tr31_key_import, tr31_key_token_parse, tr31_optional_data_read,
};

impl Others {
    /// Requests that use this key in this place, as [`Others::ways`] has them.
    pub(super) fn ways_of_blocks(&self, verb: Verb, position: usize, key: &[u8]) -> Vec<Request> {
        match verb {
            Verb::Tr31KeyExport if position == tr31_key_export::WRAP_KEK_IDENTIFIER => vec![
                export(&self.data, key, &["VARDRV-B", "ENC", "ENCDEC"]),
                export(&self.data, key, &["VARDRV-D", "ENC", "ENCDEC"]),
            ],
            Verb::Tr31KeyExport if position == tr31_key_export::SOURCE_KEY_IDENTIFIER => vec![
                export(key, &self.aes_protecting[0], &["VARDRV-D", "ATTR-CV"]),
                export(key, &self.aes_protecting[0], &["VARDRV-D", "PINENC", "ENC-ONLY"]),
                export(key, &self.aes_protecting[0], &["VARDRV-D", "ENC", "ENCDEC"]),
            ],
            // There is none but for external source tokens, which are not taken.
            Verb::Tr31KeyExport => vec![export(&self.data, &self.exporter, &["VARDRV-B", "ENC", "ENCDEC"])],
            Verb::Tr31KeyImport if position == tr31_key_import::UNWRAP_KEK_IDENTIFIER => {
                let wraps = |token: &VariableToken| matches!(token.key(), VariableKey::Wrapped { .. });
                let aes = VariableToken::parse(key).ok().filter(wraps);
                let text = match aes.and_then(|_| unwrapped(&aes_key(false), key)) {
                    Some(kek) if matches!(kek.len(), 16 | 24 | 32) => {
                        twin::seal(&kek, "D0000D0TB00E0000", &DATA)
                    }
                    _ => twin::seal(&value_of(key), "B0000D0TB00E0000", &DATA),
                };
                vec![import(&text, key, &["INTERNAL"])]
            }
            Verb::Tr31KeyImport => {
                let request = import(&recorded(), &self.importer, &["INTERNAL"]);
                vec![match position {
                    tr31_key_import::TR31_KEY_BLOCK => {
                        request.counted(tr31_key_import::TR31_KEY_BLOCK_LENGTH, position, key)
                    }
                    _ => request,
                }]
            }
            Verb::Tr31KeyTokenParse => vec![
                Request::new(verb)
                    .counted(tr31_key_token_parse::TR31_KEY_LENGTH, position, key)
                    .integer(tr31_key_token_parse::RULE_ARRAY_COUNT, 1),
            ],
            Verb::Tr31OptionalDataRead => vec![Request::new(verb).rules(&["INFO"]).counted(
                tr31_optional_data_read::TR31_KEY_LENGTH,
                position,
                key,
            )],
            Verb::CvvKeyCombine => {
                let (one, other) = (&self.pins.cvv_a, &self.other_cvv_b);
                vec![
                    match position {
                        cvv_key_combine::KEY_AIDENTIFIER => combine(key, other, &[]),
                        cvv_key_combine::KEY_BIDENTIFIER => combine(one, key, &[]),
                        _ => combine(one, other, &[]),
                    }
                    .points(&PointSet::EVERYTHING),
                ]
            }
            _ => Vec::new(),
        }
    }
}

/// A block that comes in under the importer of [`Others`].
pub(super) fn recorded() -> String {
    twin::seal(&super::ways::TRANSPORT, "B0000D0TB00E0000", &DATA)
}

/// The key of a block.
const DATA: [u8; 16] = *b"WX\x01\x02\x04\x07\x08\x0Bfg\x0D\x0E\x10\x13\x15\x16";

/// The value of a key of 16 or 24 bytes in a DES token, another where it is none.
fn value_of(token: &[u8]) -> Vec<u8> {
    let value = match token::DesToken::parse(token) {
        Ok(parsed) if parsed.wrapped().is_some() && parsed.origin() == token::des::Origin::Internal => {
            peer::unwrap_token(&sym_key(false), token)
        }
        _ => Vec::new(),
    };
    if matches!(value.len(), 16 | 24) { value } else { super::ways::TRANSPORT.to_vec() }
}
