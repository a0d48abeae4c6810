//! Verbs of DES key records, as a client sends them.

use wire::control::{ClientReply, ClientRequest};
use wire::verb::{
    Filled, RecordDeletion, RecordWriting, TypedAnswer, TypedAsk, des_key_record_create,
    des_key_record_delete, des_key_record_read, des_key_record_write, key_records_write,
};
use wire::{Codes, Label, code};

/// The answer of a verb that did what was asked.
pub const DONE: ClientReply = ClientReply::Called { codes: code::OK, payload: Vec::new() };

/// The answer of a verb that was refused.
pub fn refused(codes: Codes) -> ClientReply {
    ClientReply::Called { codes, payload: Vec::new() }
}

/// The answer of a verb that read this token; empty for a record without a key.
pub fn token(token: &[u8]) -> ClientReply {
    let mut field = [0; 64];
    field[..token.len()].copy_from_slice(token);
    let (mut filled, mut payload) = (Filled::default(), Vec::new());
    let ask = des_key_record_read::Ask::new();
    let answer = des_key_record_read::Answer { key_token: Some(&field) };
    answer.write(&ask.arguments(&mut filled), &mut payload).unwrap();
    ClientReply::Called { codes: code::OK, payload }
}

/// A call of this verb.
pub fn of<A: TypedAsk>(ask: &A) -> ClientRequest {
    let mut payload = Vec::new();
    ask.arguments(&mut Filled::default()).write_request(&mut payload).unwrap();
    ClientRequest::Call { domain: 0, card: None, verb: A::VERB as u16, payload }
}

fn field(label: &str) -> [u8; 64] {
    Label::new(label).unwrap().to_field()
}

/// Creates a record, with this token or without one.
pub fn create(label: &str, token: &[u8]) -> ClientRequest {
    use des_key_record_create::*;
    match token {
        [] => of(&Ask { key_label: &field(label), ..Ask::new() }),
        token => put(RecordWriting::Create, &[(label, token)]),
    }
}

/// Writes one record or two, made or there already.
pub fn put(writing: RecordWriting, records: &[(&str, &[u8])]) -> ClientRequest {
    use key_records_write::*;
    let ((label, key_token_1), second) = (records[0], records.get(1));
    of(&Ask {
        key_label_1: &field(label),
        key_token_1,
        key_label_2: &second.map_or([b' '; 64], |(label, _)| field(label)),
        key_token_2: second.map_or(&[][..], |(_, token)| *token),
        ..Ask::new(writing)
    })
}

pub fn read(label: &str) -> ClientRequest {
    use des_key_record_read::*;
    of(&Ask { key_label: &field(label), ..Ask::new() })
}

pub fn write(label: &str, token: &[u8]) -> ClientRequest {
    use des_key_record_write::*;
    of(&Ask { key_token: token.try_into().unwrap(), key_label: &field(label), ..Ask::new() })
}

pub fn delete(label: &str, token_only: bool) -> ClientRequest {
    use des_key_record_delete::*;
    let deletion = if token_only { RecordDeletion::Token } else { RecordDeletion::Record };
    of(&Ask { key_identifier: &field(label), ..Ask::new(deletion) })
}
