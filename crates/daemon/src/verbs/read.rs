//! DES_Key_Record_Read, AES_Key_Record_Read, PKA_Key_Record_Read: the token of a record.

use super::{Answer, Call, DES_TOKEN_BYTES};
use crate::store::{Done, Job, KeyStore, StoreError};
use wire::frame::{Argument, Arguments};
use wire::verb::{Verb, aes_key_record_read as aes, des_key_record_read as des, pka_key_record_read as pka};
use wire::{Codes, Label, code};

#[derive(Debug)]
struct Read {
    verb: Verb,
    label: Label,
    /// Positions of length and token, and the length that the caller has room for; none for a DES token.
    room: Option<(usize, usize, i64)>,
}

/// Reads a call.
///
/// # Errors
/// 8/35 where there are keywords, 8/32 for the label, 8/21 where that is not a field of a label.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let verb = arguments.verb();
    let (rules, label, token) = match verb {
        Verb::DesKeyRecordRead => (None, des::KEY_LABEL, None),
        Verb::AesKeyRecordRead => {
            (Some(aes::RULE_ARRAY_COUNT), aes::KEY_LABEL, Some((aes::KEY_TOKEN_LENGTH, aes::KEY_TOKEN)))
        }
        _ => (Some(pka::RULE_ARRAY_COUNT), pka::KEY_LABEL, Some((pka::KEY_TOKEN_LENGTH, pka::KEY_TOKEN))),
    };
    rules.map_or(Ok(()), |at| super::no_keywords(arguments, at))?;
    let label = super::label(arguments, label)?;
    let room = token.map(|(length, token)| (length, token, arguments.integer(length)));
    Ok(Box::new(Read { verb, label, room }))
}

impl Call for Read {
    fn labels(&self) -> Vec<&Label> {
        vec![&self.label]
    }

    fn run(&self, store: &dyn KeyStore, _now_unix_s: u64) -> Result<Answer, StoreError> {
        let Done::Found(record) = store.run(&Job::Find { label: self.label.clone() })? else {
            return Err(StoreError::NotFound);
        };
        if record.store != super::store_of(self.verb) {
            return Err(StoreError::NotFound);
        }
        let token = &record.token;
        let Some((length_at, token_at, room)) = self.room else {
            // A record without a key reads as the null token.
            let mut field = [0; DES_TOKEN_BYTES];
            let length = token.len().min(DES_TOKEN_BYTES);
            field[..length].copy_from_slice(&token[..length]);
            return Ok(Answer::with(code::OK, self.verb, &[(des::KEY_TOKEN, Argument::Bytes(&field))]));
        };
        let length = i64::try_from(token.len()).unwrap_or(i64::MAX);
        let needed = (length_at, Argument::Integer(length));
        Ok(if room < length {
            Answer::with(code::BUFFER_TOO_SMALL, self.verb, &[needed])
        } else {
            Answer::with(code::OK, self.verb, &[needed, (token_at, Argument::Bytes(token))])
        })
    }
}
