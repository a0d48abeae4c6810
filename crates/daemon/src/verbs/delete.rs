//! DES_Key_Record_Delete, AES_Key_Record_Delete, PKA_Key_Record_Delete: a record goes, or its token.

use super::{Answer, Call};
use crate::store::{Job, KeyStore, StoreError};
use wire::frame::Arguments;
use wire::verb::{
    Verb, aes_key_record_delete as aes, des_key_record_delete as des, pka_key_record_delete as pka,
};
use wire::{Codes, Label, code};

#[derive(Debug)]
struct Delete {
    verb: Verb,
    label: Label,
    token_only: bool,
}

/// Reads a call.
///
/// # Errors
/// 8/35 where there is not one keyword, 8/33 where it is none of the verb's, 8/32 for the label, 8/21 where a field
/// is not as long as it must be.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let verb = arguments.verb();
    let (rules, label) = match verb {
        Verb::DesKeyRecordDelete => (des::RULE_ARRAY_COUNT, des::KEY_IDENTIFIER),
        Verb::AesKeyRecordDelete => (aes::RULE_ARRAY_COUNT, aes::KEY_LABEL),
        _ => (pka::RULE_ARRAY_COUNT, pka::KEY_IDENTIFIER),
    };
    let token_only = match super::keyword(arguments, rules)? {
        b"TOKEN-DL" => true,
        b"LABEL-DL" => false,
        _ => return Err(code::KEYWORD),
    };
    Ok(Box::new(Delete { verb, label: super::label(arguments, label)?, token_only }))
}

impl Call for Delete {
    fn labels(&self) -> Vec<&Label> {
        vec![&self.label]
    }

    fn run(&self, store: &dyn KeyStore, now_unix_s: u64) -> Result<Answer, StoreError> {
        store.run(&Job::Delete {
            store: super::store_of(self.verb),
            label: self.label.clone(),
            token_only: self.token_only,
            now_unix_s,
        })?;
        Ok(Answer::bare(code::OK))
    }
}
