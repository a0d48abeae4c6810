//! Labels of the records that a verb's new tokens go to.
//!
//! ```text
//! label where a token is to be made -> the record's token, or the null token, goes to the card
//!   card answers with new tokens    -> the daemon writes them under their labels, both or neither
//!   the daemon says that it is done -> the answer, with the labels where the tokens were
//! ```
//!
//! The daemon writes with the caller's rights, and before the answer the record is durable. Where it cannot be
//! written, the verb has made a key that nobody holds: its codes are those of the write. A daemon that goes away over
//! the write leaves an error that says whether it may have been done ([`FacilityError::ran`]); two records are never
//! half written.

use crate::connection::{ANSWER_WAIT, Connection, Patience, Repeat};
use crate::control::{refusals, unexpected};
use crate::error::FacilityError;
use crate::reply::Reply;
use wire::bounds::{LABEL_BYTES, TOKEN_BYTES_MAX};
use wire::code;
use wire::control::{ClientReply, ClientRequest, Refusal};
use wire::frame::{Argument, Arguments};
use wire::verb::key_records_write::{
    KEY_LABEL_1, KEY_LABEL_2, KEY_TOKEN_1, KEY_TOKEN_1_LENGTH, KEY_TOKEN_2, KEY_TOKEN_2_LENGTH, RULE_ARRAY,
    RULE_ARRAY_COUNT,
};
use wire::verb::{Kind, Length, Parameter, Verb};
use wire::{Codes, KeyReference};

/// Tokens that one verb makes, at the most.
const TARGETS_MAX: usize = 2;
/// Length of a field that no length stands before.
const FIELD_BYTES: usize = 64;
/// In place of the token of a record without a key.
const NULL_TOKEN: [u8; FIELD_BYTES] = [0; FIELD_BYTES];
/// In place of a second label where one record is written.
const NO_LABEL: [u8; LABEL_BYTES] = [b' '; LABEL_BYTES];

/// A label, and the position of the key identifier that it was given for.
#[derive(Clone, Copy)]
struct Target {
    position: usize,
    label: [u8; LABEL_BYTES],
}

/// The records that the tokens of one call go to.
#[derive(Default)]
pub(crate) struct Targets([Option<Target>; TARGETS_MAX]);

impl Targets {
    /// Whether a verb writes a token that it made to this parameter.
    pub fn takes(parameter: &Parameter) -> bool {
        parameter.name.starts_with("generated_key_identifier") || parameter.name == "target_key_identifier"
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Notes the label in a key identifier.
    ///
    /// # Errors
    /// 8/21 for a label that another key of the call goes to, or for more of them than a verb makes.
    pub fn add(&mut self, position: usize, label: &[u8; LABEL_BYTES]) -> Result<(), Codes> {
        if self.0.iter().flatten().any(|target| target.label == *label) {
            return Err(code::INVALID_PARAMETER);
        }
        let place = self.0.iter_mut().find(|target| target.is_none()).ok_or(code::INVALID_PARAMETER)?;
        *place = Some(Target { position, label: *label });
        Ok(())
    }

    /// Puts what is in the record where its label was, and makes room for the token that comes back.
    pub fn make_room(arguments: &mut Arguments<'_>, position: usize, key: Option<KeyReference>) {
        let kind = arguments.verb().entry().parameters[position].kind;
        if let Kind::Key { length: Length::By(by), .. } = kind {
            arguments.set(by, Argument::Integer(TOKEN_BYTES_MAX as i64));
        }
        let is_fixed = matches!(kind, Kind::Key { length: Length::Fixed(_), .. });
        let empty = Argument::Bytes(if is_fixed { &NULL_TOKEN } else { &[] });
        arguments.set(position, key.map_or(empty, Argument::Reference));
    }

    /// Has the daemon write the tokens of an answer, and puts the labels in their place.
    pub fn write(self, connection: &Connection, domain: u16, reply: &mut Reply) -> Result<(), FacilityError> {
        let verb = reply.verb();
        if self.is_empty() || !reply.codes().is_complete() {
            return Ok(());
        }
        let payload = {
            let made = reply.arguments();
            let token =
                |target: &Target| Some((*target, made.bytes(target.position))).filter(|it| !it.1.is_empty());
            let mut tokens = self.0.iter().flatten().filter_map(token);
            let Some(first) = tokens.next() else { return Ok(()) };
            request(&first, tokens.next().as_ref())
        };
        let operation = "write what a verb made under its label";
        let request = ClientRequest::Call { domain, verb: Verb::KeyRecordsWrite as u16, payload };
        let answer = connection.ask(operation, &request, Repeat::Never, Patience::Reconnect, ANSWER_WAIT)?.0;
        match answer {
            ClientReply::Called { codes, .. } if codes.is_complete() => {
                let labels = self.0.iter().flatten().map(|target| (target.position, &target.label));
                reply.put_labels(labels);
            }
            ClientReply::Called { codes, .. } => reply.fill(verb, codes, &[]),
            ClientReply::Refused(Refusal::Denied) => reply.fill(verb, code::ACCESS_DENIED, &[]),
            ClientReply::Refused(Refusal::Storage { .. }) => reply.fill(verb, code::KEY_STORE, &[]),
            answer => return Err(refusals(operation, answer).err().unwrap_or_else(|| unexpected(operation))),
        }
        Ok(())
    }
}

/// The payload of key-records-write for one token or two.
fn request(first: &(Target, &[u8]), second: Option<&(Target, &[u8])>) -> Vec<u8> {
    let mut arguments = Arguments::new(Verb::KeyRecordsWrite);
    arguments.set_integer(RULE_ARRAY_COUNT, 1).set_bytes(RULE_ARRAY, b"REPLACE ");
    arguments.set_bytes(KEY_LABEL_1, &first.0.label).set_bytes(KEY_LABEL_2, &NO_LABEL);
    arguments.set_integer(KEY_TOKEN_1_LENGTH, first.1.len() as i64).set_bytes(KEY_TOKEN_1, first.1);
    if let Some((target, token)) = second {
        arguments.set_bytes(KEY_LABEL_2, &target.label);
        arguments.set_integer(KEY_TOKEN_2_LENGTH, token.len() as i64).set_bytes(KEY_TOKEN_2, token);
    }
    let mut payload = Vec::new();
    // Every argument is of the table's kind.
    arguments.write_request(&mut payload).unwrap_or_default();
    payload
}
