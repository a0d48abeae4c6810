//! key-records-write: a record made with its key, or one or two given other keys, both or neither.
//!
//! What a verb made on a card for the labels in its key identifiers comes this way.

use super::{Answer, Call};
use crate::store::admission::store_of;
use crate::store::{Job, KeyStore, Record, StoreError};
use wire::bounds::LABEL_BYTES;
use wire::frame::Arguments;
use wire::verb::key_records_write::{
    KEY_LABEL_1, KEY_LABEL_2, KEY_TOKEN_1_LENGTH, KEY_TOKEN_2_LENGTH, RULE_ARRAY_COUNT,
};
use wire::{Codes, Label, code};

#[derive(Debug)]
struct RecordsWrite {
    creates: bool,
    records: Vec<Record>,
}

/// Reads a call.
///
/// # Errors
/// 8/35 where there is not one keyword, 8/33 where it is none of the verb's, 8/34 for two records to be made or one
/// label twice, 8/32 for a label, 8/47 for a token that no store holds, 8/21 where a field is not as long as its
/// length says.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let creates = match super::keyword(arguments, RULE_ARRAY_COUNT)? {
        b"CREATE  " => true,
        b"REPLACE " => false,
        _ => return Err(code::KEYWORD),
    };
    let mut records = vec![record(arguments, KEY_LABEL_1, KEY_TOKEN_1_LENGTH)?];
    if arguments.bytes(KEY_LABEL_2) != [b' '; LABEL_BYTES] {
        let second = record(arguments, KEY_LABEL_2, KEY_TOKEN_2_LENGTH)?;
        if creates || second.label == records[0].label {
            return Err(code::KEYWORD_COMBINATION);
        }
        records.push(second);
    } else if !super::token(arguments, KEY_TOKEN_2_LENGTH)?.is_empty() {
        return Err(code::LABEL_FORMAT);
    }
    Ok(Box::new(RecordsWrite { creates, records }))
}

fn record(arguments: &Arguments<'_>, label_at: usize, length_at: usize) -> Result<Record, Codes> {
    let label = super::label(arguments, label_at)?;
    let token = super::token(arguments, length_at)?;
    let store = store_of(&token).ok_or(code::TOKEN_INVALID)?;
    Ok(Record { store, label, token })
}

impl Call for RecordsWrite {
    fn labels(&self) -> Vec<&Label> {
        self.records.iter().map(|record| &record.label).collect()
    }

    fn run(&self, store: &dyn KeyStore, now_unix_s: u64) -> Result<Answer, StoreError> {
        let job = match &self.records[..] {
            [record] if self.creates => Job::Create { record: record.clone(), now_unix_s },
            records => Job::Write { records: records.to_vec(), now_unix_s },
        };
        store.run(&job)?;
        Ok(Answer::bare(code::OK))
    }
}
