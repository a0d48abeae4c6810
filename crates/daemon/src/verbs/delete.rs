//! DES_Key_Record_Delete, AES_Key_Record_Delete, PKA_Key_Record_Delete: deletes a record, or only its token.

use super::{Answer, Call};
use crate::store::{Job, KeyStore, StoreError};
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{
    RecordDeletion, Verb, aes_key_record_delete as aes, des_key_record_delete as des,
    pka_key_record_delete as pka,
};
use wire::{Codes, Label, code};

#[derive(Debug)]
struct Delete {
    store: Store,
    label: Label,
    token_only: bool,
}

/// Reads a call that deletes a record or its token.
///
/// # Errors
/// 8/35 unless there is exactly one keyword, 8/33 if it is not one of the verb's, 8/32 for the label, 8/21 if a field
/// is not as long as it must be.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let (store, label, deletion) = match arguments.verb() {
        Verb::DesKeyRecordDelete => {
            let request: des::Request<'_> = super::request(arguments)?;
            (Store::Des, request.key_identifier, request.deletion)
        }
        Verb::AesKeyRecordDelete => {
            let request: aes::Request<'_> = super::request(arguments)?;
            (Store::Aes, request.key_label, request.deletion)
        }
        _ => {
            let request: pka::Request<'_> = super::request(arguments)?;
            (Store::Pka, request.key_identifier, request.deletion)
        }
    };
    let token_only = deletion == RecordDeletion::Token;
    Ok(Box::new(Delete { store, label: super::label(label)?, token_only }))
}

impl Call for Delete {
    fn labels(&self) -> Vec<&Label> {
        vec![&self.label]
    }

    fn run(&self, store: &dyn KeyStore, now_unix_s: u64) -> Result<Answer, StoreError> {
        store.run(&Job::Delete {
            store: self.store,
            label: self.label.clone(),
            token_only: self.token_only,
            now_unix_s,
        })?;
        Ok(Answer::bare(code::OK))
    }
}
