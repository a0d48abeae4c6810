//! DES_Key_Record_Create, AES_Key_Record_Create, PKA_Key_Record_Create: a new record, of DES without a key.

use super::{Answer, Call};
use crate::store::{Job, KeyStore, Record, StoreError};
use wire::frame::Arguments;
use wire::verb::{
    Verb, aes_key_record_create as aes, des_key_record_create as des, pka_key_record_create as pka,
};
use wire::{Codes, Label, code};

#[derive(Debug)]
struct Create(Record);

/// Reads a call.
///
/// # Errors
/// 8/35 where there are keywords, 8/32 for the label, 8/21 where a field is not as long as its length says.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let verb = arguments.verb();
    let store = super::store_of(verb);
    let (rules, label, token) = match verb {
        Verb::DesKeyRecordCreate => (None, des::KEY_LABEL, None),
        Verb::AesKeyRecordCreate => {
            (Some(aes::RULE_ARRAY_COUNT), aes::KEY_LABEL, Some(aes::KEY_TOKEN_LENGTH))
        }
        _ => (Some(pka::RULE_ARRAY_COUNT), pka::KEY_LABEL, Some(pka::KEY_TOKEN_LENGTH)),
    };
    rules.map_or(Ok(()), |at| super::no_keywords(arguments, at))?;
    let label = super::label(arguments, label)?;
    let token = token.map_or(Ok(Vec::new()), |at| super::token(arguments, at))?;
    Ok(Box::new(Create(Record { store, label, token })))
}

impl Call for Create {
    fn labels(&self) -> Vec<&Label> {
        vec![&self.0.label]
    }

    fn run(&self, store: &dyn KeyStore, now_unix_s: u64) -> Result<Answer, StoreError> {
        store.run(&Job::Create { record: self.0.clone(), now_unix_s })?;
        Ok(Answer::bare(code::OK))
    }
}
