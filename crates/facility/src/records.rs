//! Verbs that the daemon executes: key records, as requests of the control connection.
//!
//! A label that is not well formed, an unknown keyword or a field that is too small is answered
//! here with the codes that the verb has for it; everything else is the daemon's to decide.

use crate::reply::Reply;
use wire::bounds::{KEYWORD_BYTES, TOKEN_BYTES_MAX};
use wire::code::{self, Codes};
use wire::control::{ClientReply, ClientRequest, Refusal, Store};
use wire::frame::{Argument, Arguments};
use wire::verb::{
    Class, Verb, aes_key_record_create, aes_key_record_delete, aes_key_record_read, aes_key_record_write,
    des_key_record_create, des_key_record_delete, des_key_record_read, des_key_record_write,
    pka_key_record_create, pka_key_record_delete, pka_key_record_read, pka_key_record_write,
};
use wire::{KeyReference, Label};

/// Length of a DES token.
const DES_TOKEN_BYTES: usize = 64;
const TOKEN_ONLY: &[u8; KEYWORD_BYTES] = b"TOKEN-DL";
const WHOLE_RECORD: &[u8; KEYWORD_BYTES] = b"LABEL-DL";

/// The control request of a verb, or the codes that refuse it.
pub(crate) fn request(arguments: &Arguments<'_>) -> Result<ClientRequest, Codes> {
    let verb = arguments.verb();
    Ok(match verb {
        Verb::DesKeyRecordCreate => ClientRequest::RecordCreate {
            store: Store::Des,
            label: label(arguments, des_key_record_create::KEY_LABEL)?,
            token: Vec::new(),
        },
        Verb::DesKeyRecordRead => ClientRequest::RecordRead {
            store: Store::Des,
            label: label(arguments, des_key_record_read::KEY_LABEL)?,
        },
        Verb::DesKeyRecordWrite => ClientRequest::RecordWrite {
            store: Store::Des,
            label: label(arguments, des_key_record_write::KEY_LABEL)?,
            token: exact(arguments.bytes(des_key_record_write::KEY_TOKEN), DES_TOKEN_BYTES as i64)?,
        },
        Verb::DesKeyRecordDelete => ClientRequest::RecordDelete {
            store: Store::Des,
            label: label(arguments, des_key_record_delete::KEY_IDENTIFIER)?,
            token_only: token_only(arguments, des_key_record_delete::RULE_ARRAY_COUNT)?,
        },
        Verb::AesKeyRecordCreate => {
            no_keywords(arguments, aes_key_record_create::RULE_ARRAY_COUNT)?;
            ClientRequest::RecordCreate {
                store: Store::Aes,
                label: label(arguments, aes_key_record_create::KEY_LABEL)?,
                token: token(arguments, aes_key_record_create::KEY_TOKEN_LENGTH)?,
            }
        }
        Verb::AesKeyRecordRead => {
            no_keywords(arguments, aes_key_record_read::RULE_ARRAY_COUNT)?;
            ClientRequest::RecordRead {
                store: Store::Aes,
                label: label(arguments, aes_key_record_read::KEY_LABEL)?,
            }
        }
        Verb::AesKeyRecordWrite => {
            no_keywords(arguments, aes_key_record_write::RULE_ARRAY_COUNT)?;
            ClientRequest::RecordWrite {
                store: Store::Aes,
                label: label(arguments, aes_key_record_write::KEY_LABEL)?,
                token: token(arguments, aes_key_record_write::KEY_TOKEN_LENGTH)?,
            }
        }
        Verb::AesKeyRecordDelete => ClientRequest::RecordDelete {
            store: Store::Aes,
            label: label(arguments, aes_key_record_delete::KEY_LABEL)?,
            token_only: token_only(arguments, aes_key_record_delete::RULE_ARRAY_COUNT)?,
        },
        Verb::PkaKeyRecordCreate => {
            no_keywords(arguments, pka_key_record_create::RULE_ARRAY_COUNT)?;
            ClientRequest::RecordCreate {
                store: Store::Pka,
                label: label(arguments, pka_key_record_create::KEY_LABEL)?,
                token: token(arguments, pka_key_record_create::KEY_TOKEN_LENGTH)?,
            }
        }
        Verb::PkaKeyRecordRead => {
            no_keywords(arguments, pka_key_record_read::RULE_ARRAY_COUNT)?;
            ClientRequest::RecordRead {
                store: Store::Pka,
                label: label(arguments, pka_key_record_read::KEY_LABEL)?,
            }
        }
        Verb::PkaKeyRecordWrite => {
            no_keywords(arguments, pka_key_record_write::RULE_ARRAY_COUNT)?;
            ClientRequest::RecordWrite {
                store: Store::Pka,
                label: label(arguments, pka_key_record_write::KEY_LABEL)?,
                token: token(arguments, pka_key_record_write::KEY_TOKEN_LENGTH)?,
            }
        }
        Verb::PkaKeyRecordDelete => ClientRequest::RecordDelete {
            store: Store::Pka,
            label: label(arguments, pka_key_record_delete::KEY_IDENTIFIER)?,
            token_only: token_only(arguments, pka_key_record_delete::RULE_ARRAY_COUNT)?,
        },
        // Only verbs of the daemon come here.
        _ => return Err(code::INVALID_PARAMETER),
    })
}

/// The daemon's answer as the verb's reply; `None` where the answer does not belong to the request.
pub(crate) fn fill(reply: &mut Reply, arguments: &Arguments<'_>, answer: &ClientReply) -> Option<()> {
    let verb = arguments.verb();
    match answer {
        ClientReply::Done => reply.fill(verb, code::OK, &[]),
        ClientReply::Refused(Refusal::Verb(codes)) => reply.fill(verb, *codes, &[]),
        ClientReply::Refused(Refusal::Denied) => reply.fill(verb, code::ACCESS_DENIED, &[]),
        ClientReply::Refused(Refusal::Storage { .. }) => reply.fill(verb, code::KEY_STORE, &[]),
        ClientReply::Token(token) if verb == Verb::DesKeyRecordRead => {
            // A record without a key reads as the null token.
            let mut field = [0; DES_TOKEN_BYTES];
            let length = token.len().min(DES_TOKEN_BYTES);
            field[..length].copy_from_slice(&token[..length]);
            reply.fill(verb, code::OK, &[(des_key_record_read::KEY_TOKEN, Argument::Bytes(&field))]);
        }
        ClientReply::Token(token) => {
            let (length_at, token_at) = match verb {
                Verb::AesKeyRecordRead => {
                    (aes_key_record_read::KEY_TOKEN_LENGTH, aes_key_record_read::KEY_TOKEN)
                }
                Verb::PkaKeyRecordRead => {
                    (pka_key_record_read::KEY_TOKEN_LENGTH, pka_key_record_read::KEY_TOKEN)
                }
                _ => return None,
            };
            let length = i64::try_from(token.len()).ok()?;
            let needed = (length_at, Argument::Integer(length));
            if arguments.integer(length_at) < length {
                reply.fill(verb, code::BUFFER_TOO_SMALL, &[needed]);
            } else {
                reply.fill(verb, code::OK, &[needed, (token_at, Argument::Bytes(token))]);
            }
        }
        _ => return None,
    }
    Some(())
}

/// Whether the request may be sent again after the daemon went away with it.
pub(crate) fn may_repeat(verb: Verb) -> bool {
    verb.entry().class == Class::Pure
}

/// Positions at which a verb writes a token that it made: a label there would ask for a key record
/// to be written, which a card cannot do. [`Facility::call`](crate::Facility::call) says how such
/// a label is answered.
pub(crate) fn makes_token(parameter: &str) -> bool {
    parameter.starts_with("generated_key_identifier") || parameter == "target_key_identifier"
}

/// Where in a request payload a reference written at `at` holds its slot and generation.
pub(crate) fn patch_reference(payload: &mut [u8], at: usize, reference: KeyReference) -> bool {
    let Some(place) = payload.get_mut(at..at + 16) else { return false };
    place[4..8].copy_from_slice(&reference.slot.to_le_bytes());
    place[8..16].copy_from_slice(&reference.generation.to_le_bytes());
    true
}

fn label(arguments: &Arguments<'_>, position: usize) -> Result<Label, Codes> {
    Label::from_field(arguments.bytes(position)).map_err(|_| code::LABEL_FORMAT)
}

fn no_keywords(arguments: &Arguments<'_>, count_at: usize) -> Result<(), Codes> {
    if arguments.integer(count_at) == 0 { Ok(()) } else { Err(code::KEYWORD_COUNT) }
}

fn token_only(arguments: &Arguments<'_>, count_at: usize) -> Result<bool, Codes> {
    if arguments.integer(count_at) != 1 {
        return Err(code::KEYWORD_COUNT);
    }
    match arguments.bytes(count_at + 1).get(..KEYWORD_BYTES) {
        Some(keyword) if keyword == TOKEN_ONLY => Ok(true),
        Some(keyword) if keyword == WHOLE_RECORD => Ok(false),
        _ => Err(code::KEYWORD),
    }
}

/// A token whose length stands in the integer before it.
fn token(arguments: &Arguments<'_>, length_at: usize) -> Result<Vec<u8>, Codes> {
    exact(arguments.bytes(length_at + 1), arguments.integer(length_at))
}

fn exact(bytes: &[u8], length: i64) -> Result<Vec<u8>, Codes> {
    let length = usize::try_from(length).ok().filter(|length| *length <= TOKEN_BYTES_MAX);
    let bytes = length.and_then(|length| bytes.get(..length)).ok_or(code::INVALID_PARAMETER)?;
    Ok(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::verb::{Kind, Place, TABLE};

    fn named<'a>(verb: Verb, label: &'a [u8; 64], rules: &'a [u8], token: &'a [u8]) -> Arguments<'a> {
        let mut arguments = Arguments::new(verb);
        for (position, parameter) in verb.entry().parameters.iter().enumerate() {
            match (parameter.name, parameter.kind) {
                ("key_label" | "key_identifier", _) => arguments.set_bytes(position, label),
                ("rule_array_count", _) => arguments.set_integer(position, (rules.len() / 8) as i64),
                ("key_token_length", _) => arguments.set_integer(position, token.len() as i64),
                ("key_token", _) => arguments.set_bytes(position, token),
                (_, Kind::Keywords(_)) => arguments.set_bytes(position, rules),
                _ => &mut arguments,
            };
        }
        arguments
    }

    #[test]
    fn every_verb_of_the_daemon_has_a_request() {
        let field = Label::new("A.B").unwrap().to_field();
        let token = [1; 64];
        for entry in TABLE.iter().filter(|entry| entry.place == Place::Daemon) {
            let deletes = entry.name.ends_with("delete");
            let rules: &[u8] = if deletes { b"LABEL-DL" } else { b"" };
            let request = request(&named(entry.verb, &field, rules, &token)).unwrap();
            let expected = match &entry.name[8..] {
                "record-create" | "ecord-create" => matches!(request, ClientRequest::RecordCreate { .. }),
                "record-read" | "ecord-read" => matches!(request, ClientRequest::RecordRead { .. }),
                "record-write" | "ecord-write" => matches!(request, ClientRequest::RecordWrite { .. }),
                _ => matches!(request, ClientRequest::RecordDelete { token_only: false, .. }),
            };
            assert!(expected, "{}: {request:?}", entry.name);
            let bad = request_codes(&named(
                entry.verb,
                b"1bad label______________________________________________________",
                rules,
                &token,
            ));
            assert_eq!(bad, code::LABEL_FORMAT, "{}", entry.name);
        }
    }

    fn request_codes(arguments: &Arguments<'_>) -> Codes {
        request(arguments).unwrap_err()
    }

    #[test]
    fn keywords_and_lengths_are_checked() {
        let field = Label::new("A.B").unwrap().to_field();
        let delete = |rules| request(&named(Verb::DesKeyRecordDelete, &field, rules, &[]));
        assert!(matches!(delete(b"TOKEN-DL"), Ok(ClientRequest::RecordDelete { token_only: true, .. })));
        assert_eq!(delete(b"").unwrap_err(), code::KEYWORD_COUNT);
        assert_eq!(delete(b"WHATEVER").unwrap_err(), code::KEYWORD);
        let write = named(Verb::AesKeyRecordWrite, &field, b"TOKEN-DL", &[1; 64]);
        assert_eq!(request_codes(&write), code::KEYWORD_COUNT);
        let mut long = named(Verb::AesKeyRecordWrite, &field, b"", &[1; 64]);
        for length in [65, -1, TOKEN_BYTES_MAX as i64 + 1] {
            long.set_integer(aes_key_record_write::KEY_TOKEN_LENGTH, length);
            assert_eq!(request_codes(&long), code::INVALID_PARAMETER);
        }
        let short = named(Verb::DesKeyRecordWrite, &field, b"", &[1; 63]);
        assert_eq!(request_codes(&short), code::INVALID_PARAMETER);
    }

    #[test]
    fn answers_become_replies() {
        let field = Label::new("A.B").unwrap().to_field();
        let mut read = named(Verb::PkaKeyRecordRead, &field, b"", &[]);
        let mut reply = Reply::new();
        let answer = ClientReply::Token(vec![3; 200]);
        read.set_integer(pka_key_record_read::KEY_TOKEN_LENGTH, 199);
        fill(&mut reply, &read, &answer).unwrap();
        assert_eq!(reply.codes(), code::BUFFER_TOO_SMALL);
        assert_eq!(reply.arguments().integer(pka_key_record_read::KEY_TOKEN_LENGTH), 200);
        read.set_integer(pka_key_record_read::KEY_TOKEN_LENGTH, 200);
        fill(&mut reply, &read, &answer).unwrap();
        assert_eq!(reply.arguments().bytes(pka_key_record_read::KEY_TOKEN), [3; 200]);

        let des = named(Verb::DesKeyRecordRead, &field, b"", &[]);
        fill(&mut reply, &des, &ClientReply::Token(Vec::new())).unwrap();
        assert_eq!(reply.arguments().bytes(des_key_record_read::KEY_TOKEN), [0; 64]);
        let refused = ClientReply::Refused(Refusal::Verb(code::LABEL_EXISTS));
        fill(&mut reply, &des, &refused).unwrap();
        assert_eq!(reply.codes(), code::LABEL_EXISTS);
        assert!(fill(&mut reply, &des, &ClientReply::Cards(Vec::new())).is_none());
    }
}
