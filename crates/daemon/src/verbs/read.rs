//! DES_Key_Record_Read, AES_Key_Record_Read, PKA_Key_Record_Read: the token of a record.

use super::{Answer, Call, DES_TOKEN_BYTES};
use crate::store::{Done, Job, KeyStore, StoreError};
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{Verb, aes_key_record_read as aes, des_key_record_read as des, pka_key_record_read as pka};
use wire::{Codes, Label};

#[derive(Debug)]
struct Read {
    store: Store,
    label: Label,
    /// Length of the caller's buffer in bytes; 0 for DES, whose tokens always fit.
    room: usize,
}

/// Reads a call that reads a record.
///
/// # Errors
/// 8/35 if there are keywords, 8/32 for the label, 8/21 if its field is not as long as a label's.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let (store, label, room) = match arguments.verb() {
        Verb::DesKeyRecordRead => {
            let request: des::Request<'_> = super::request(arguments)?;
            (Store::Des, request.key_label, 0)
        }
        Verb::AesKeyRecordRead => {
            let request: aes::Request<'_> = super::request(arguments)?;
            (Store::Aes, request.key_label, request.key_token.capacity())
        }
        _ => {
            let request: pka::Request<'_> = super::request(arguments)?;
            (Store::Pka, request.key_label, request.key_token.capacity())
        }
    };
    Ok(Box::new(Read { store, label: super::label(label)?, room }))
}

impl Call for Read {
    fn labels(&self) -> Vec<&Label> {
        vec![&self.label]
    }

    fn run(&self, store: &dyn KeyStore, _now_unix_s: u64) -> Result<Answer, StoreError> {
        let Done::Found(record) = store.run(&Job::Find { label: self.label.clone() })? else {
            return Err(StoreError::NotFound);
        };
        if record.store != self.store {
            return Err(StoreError::NotFound);
        }
        let token = Some(&record.token[..]);
        Ok(match self.store {
            Store::Des => {
                // A record without a key reads as the null token.
                let mut field = [0; DES_TOKEN_BYTES];
                let length = record.token.len().min(DES_TOKEN_BYTES);
                field[..length].copy_from_slice(&record.token[..length]);
                Answer::of(&des::Answer { key_token: Some(&field) }, None)
            }
            Store::Aes => {
                Answer::of(&aes::Answer { key_token: token }, Some((aes::KEY_TOKEN_LENGTH, self.room)))
            }
            Store::Pka => {
                Answer::of(&pka::Answer { key_token: token }, Some((pka::KEY_TOKEN_LENGTH, self.room)))
            }
        })
    }
}
