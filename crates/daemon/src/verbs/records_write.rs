//! key-records-write: creates a record with its key, or gives one or two records other keys, both or neither.
//!
//! Keys that a verb made on a card for the labels in its key identifiers are stored by this verb.

use super::{Answer, Call};
use crate::store::{Job, KeyStore, Record, StoreError};
use wire::bounds::LABEL_BYTES;
use wire::frame::Arguments;
use wire::verb::RecordWriting;
use wire::verb::key_records_write::Request;
use wire::{Codes, Label, code};

#[derive(Debug)]
struct RecordsWrite {
    creates: bool,
    records: Vec<Record>,
}

/// Reads a call that writes records.
///
/// # Errors
/// 8/35 unless there is exactly one keyword, 8/33 if it is not one of the verb's, 8/34 for two records to be made or
/// one label twice, 8/32 for a label, 8/47 for a token that no store holds, 8/21 if a field is not as long as its
/// length says.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Call>, Codes> {
    let request: Request<'_> = super::request(arguments)?;
    let creates = request.writing == RecordWriting::Create;
    let mut records = vec![record(request.key_label_1, request.key_token_1)?];
    if *request.key_label_2 != [b' '; LABEL_BYTES] {
        let second = record(request.key_label_2, request.key_token_2)?;
        if creates || second.label == records[0].label {
            return Err(code::KEYWORD_COMBINATION);
        }
        records.push(second);
    } else if !request.key_token_2.is_empty() {
        return Err(code::LABEL_FORMAT);
    }
    Ok(Box::new(RecordsWrite { creates, records }))
}

fn record(label: &[u8; LABEL_BYTES], token: &[u8]) -> Result<Record, Codes> {
    let (label, token) = (super::label(label)?, super::token(token)?);
    let store = token::Format::of(&token).store().ok_or(code::TOKEN_INVALID)?;
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
