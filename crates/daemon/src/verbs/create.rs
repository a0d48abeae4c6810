//! DES_Key_Record_Create, AES_Key_Record_Create, PKA_Key_Record_Create: a new record; that of DES has no key yet.

use super::{Answer, Call};
use crate::store::{Job, KeyStore, Record, StoreError};
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{
    Verb, aes_key_record_create as aes, des_key_record_create as des, pka_key_record_create as pka,
};
use wire::{Codes, Label, code};

#[derive(Debug)]
struct Create(Record);

/// Reads a call that creates a record.
///
/// # Errors
/// 8/35 if there are keywords, 8/32 for the label, 8/21 if a field is not as long as its length says.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let (store, label, token) = match arguments.verb() {
        Verb::DesKeyRecordCreate => {
            let request: des::Request<'_> = super::request(arguments)?;
            (Store::Des, request.key_label, &[][..])
        }
        Verb::AesKeyRecordCreate => {
            let request: aes::Request<'_> = super::request(arguments)?;
            (Store::Aes, request.key_label, request.key_token)
        }
        _ => {
            let request: pka::Request<'_> = super::request(arguments)?;
            (Store::Pka, request.key_label, request.key_token)
        }
    };
    Ok(Box::new(Create(Record { store, label: super::label(label)?, token: super::token(token)? })))
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
