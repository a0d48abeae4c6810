//! DES_Key_Record_Write, AES_Key_Record_Write, PKA_Key_Record_Write: another token for a record that is there.

use super::{Answer, Call, DES_TOKEN_BYTES};
use crate::store::{Job, KeyStore, Record, StoreError};
use wire::frame::Arguments;
use wire::verb::{
    Verb, aes_key_record_write as aes, des_key_record_write as des, pka_key_record_write as pka,
};
use wire::{Codes, Label, code};

#[derive(Debug)]
struct Write(Record);

/// Reads a call.
///
/// # Errors
/// 8/35 where there are keywords, 8/32 for the label, 8/21 where a field is not as long as its length says.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let verb = arguments.verb();
    let (label, token) = match verb {
        Verb::DesKeyRecordWrite => {
            let token = super::exact(arguments, des::KEY_TOKEN, DES_TOKEN_BYTES)?;
            (super::label(arguments, des::KEY_LABEL)?, token.to_vec())
        }
        Verb::AesKeyRecordWrite => {
            super::no_keywords(arguments, aes::RULE_ARRAY_COUNT)?;
            (super::label(arguments, aes::KEY_LABEL)?, super::token(arguments, aes::KEY_TOKEN_LENGTH)?)
        }
        _ => {
            super::no_keywords(arguments, pka::RULE_ARRAY_COUNT)?;
            (super::label(arguments, pka::KEY_LABEL)?, super::token(arguments, pka::KEY_TOKEN_LENGTH)?)
        }
    };
    Ok(Box::new(Write(Record { store: super::store_of(verb), label, token })))
}

impl Call for Write {
    fn labels(&self) -> Vec<&Label> {
        vec![&self.0.label]
    }

    fn run(&self, store: &dyn KeyStore, now_unix_s: u64) -> Result<Answer, StoreError> {
        store.run(&Job::Write { records: vec![self.0.clone()], now_unix_s })?;
        Ok(Answer::bare(code::OK))
    }
}
