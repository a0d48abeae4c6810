//! Verbs of DES key records, as a client sends them.

use wire::control::{ClientReply, ClientRequest};
use wire::frame::{Argument, Arguments};
use wire::verb::{
    Verb, des_key_record_create, des_key_record_delete, des_key_record_read, des_key_record_write,
    key_records_write,
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
    let (mut arguments, mut payload) = (Arguments::new(Verb::DesKeyRecordRead), Vec::new());
    arguments.set(des_key_record_read::KEY_TOKEN, Argument::Bytes(&field)).write_reply(&mut payload).unwrap();
    ClientReply::Called { codes: code::OK, payload }
}

/// A call with these arguments.
pub fn of(arguments: &Arguments<'_>) -> ClientRequest {
    let mut payload = Vec::new();
    arguments.write_request(&mut payload).unwrap();
    ClientRequest::Call { domain: 0, card: None, verb: arguments.verb() as u16, payload }
}

fn field(label: &str) -> [u8; 64] {
    Label::new(label).unwrap().to_field()
}

/// Creates a record, with this token or without one.
pub fn create(label: &str, token: &[u8]) -> ClientRequest {
    let field = field(label);
    if token.is_empty() {
        let mut arguments = Arguments::new(Verb::DesKeyRecordCreate);
        return of(arguments.set_bytes(des_key_record_create::KEY_LABEL, &field));
    }
    put(b"CREATE  ", &[(label, token)])
}

/// Writes one record or two, made or there already.
pub fn put(keyword: &[u8; 8], records: &[(&str, &[u8])]) -> ClientRequest {
    use key_records_write::*;
    let blank = [b' '; 64];
    let fields: Vec<_> = records.iter().map(|(label, _)| field(label)).collect();
    let mut arguments = Arguments::new(Verb::KeyRecordsWrite);
    arguments.set_integer(RULE_ARRAY_COUNT, 1).set_bytes(RULE_ARRAY, keyword).set_bytes(KEY_LABEL_2, &blank);
    let places = [(KEY_LABEL_1, KEY_TOKEN_1_LENGTH), (KEY_LABEL_2, KEY_TOKEN_2_LENGTH)];
    for ((label_at, length_at), (field, (_, token))) in places.into_iter().zip(fields.iter().zip(records)) {
        arguments.set_bytes(label_at, field);
        arguments.set_integer(length_at, token.len() as i64).set_bytes(length_at + 1, token);
    }
    of(&arguments)
}

pub fn read(label: &str) -> ClientRequest {
    let field = field(label);
    of(Arguments::new(Verb::DesKeyRecordRead).set_bytes(des_key_record_read::KEY_LABEL, &field))
}

pub fn write(label: &str, token: &[u8]) -> ClientRequest {
    use des_key_record_write::*;
    let field = field(label);
    of(Arguments::new(Verb::DesKeyRecordWrite).set_bytes(KEY_TOKEN, token).set_bytes(KEY_LABEL, &field))
}

pub fn delete(label: &str, token_only: bool) -> ClientRequest {
    use des_key_record_delete::*;
    let (field, keyword) = (field(label), if token_only { b"TOKEN-DL" } else { b"LABEL-DL" });
    let mut arguments = Arguments::new(Verb::DesKeyRecordDelete);
    arguments.set_integer(RULE_ARRAY_COUNT, 1).set_bytes(RULE_ARRAY, keyword);
    of(arguments.set_bytes(KEY_IDENTIFIER, &field))
}
