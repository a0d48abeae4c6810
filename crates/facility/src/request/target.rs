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

use crate::control::records::NO_LABEL;
use crate::control::{refusals, unexpected};
use crate::error::FacilityError;
use crate::labels::NOT_YET;
use crate::reply::Reply;
use wire::bounds::{LABEL_BYTES, TOKEN_BYTES_MAX};
use wire::code;
use wire::control::{ClientReply, ClientRequest, Refusal};
use wire::frame::{Argument, Arguments};
use wire::verb::{Entry, Filled, Kind, Length, RecordWriting, Role, TypedAsk, Verb, key_records_write};
use wire::{Codes, KeyReference, Label};

/// Upper bound of tokens that one verb makes.
const TARGETS_MAX: usize = 2;
/// Length in bytes of a key field without a length parameter.
const FIELD_BYTES: usize = 64;
/// The null token: stands in place of the token of a record without a key.
const NULL_TOKEN: [u8; FIELD_BYTES] = [0; FIELD_BYTES];

/// Name of the write in error messages.
pub(crate) const WRITE_TARGETS: &str = "write what a verb made under its label";

/// Content of a record that a new token goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The daemon has not told the record's content yet.
    NotYet,
    /// The record holds no key.
    Nothing,
    /// The key of this reference.
    Key(KeyReference),
}

impl Held {
    /// Puts the record's content where the label was, and makes room for the token that comes back.
    pub fn put(self, arguments: &mut Arguments<'_>, position: usize) {
        let kind = arguments.verb().entry().parameters[position].kind;
        if let Kind::Key { length: Length::By(by), .. } = kind {
            arguments.set(by, Argument::Integer(TOKEN_BYTES_MAX as i64));
        }
        let is_fixed = matches!(kind, Kind::Key { length: Length::Fixed(_), .. });
        arguments.set(
            position,
            match self {
                Self::NotYet => Argument::Reference(NOT_YET.reference),
                Self::Nothing => Argument::Bytes(if is_fixed { &NULL_TOKEN } else { &[] }),
                Self::Key(reference) => Argument::Reference(reference),
            },
        );
    }
}

/// A record that a new token goes to, and the position of the key identifier that its label was given for.
struct Target {
    position: usize,
    label: Label,
    held: Held,
}

/// The records that the tokens of one call go to.
#[derive(Default)]
pub(crate) struct Targets(Vec<Target>);

impl Targets {
    /// Positions of the parameters in which a verb returns a token that it made.
    pub fn positions(entry: &Entry) -> impl Iterator<Item = usize> {
        let parameters = entry.parameters.iter().enumerate();
        let made =
            parameters.filter(|(_, parameter)| matches!(parameter.kind, Kind::Key { role: Role::Makes, .. }));
        made.map(|(position, _)| position)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes the label in a key identifier.
    ///
    /// # Errors
    /// 8/21 for a label under which another key of the call is to be written, or for more labels than keys the verb
    /// makes.
    pub fn add(&mut self, position: usize, label: &Label) -> Result<(), Codes> {
        if self.0.len() == TARGETS_MAX || self.0.iter().any(|target| target.label == *label) {
            return Err(code::INVALID_PARAMETER);
        }
        self.0.push(Target { position, label: label.clone(), held: Held::NotYet });
        Ok(())
    }

    /// Notes what the record at a position holds.
    pub fn holds(&mut self, position: usize, held: Held) {
        for target in self.0.iter_mut().filter(|target| target.position == position) {
            target.held = held;
        }
    }

    /// All labels, with their positions.
    pub fn labels(&self) -> Vec<(usize, Label)> {
        self.0.iter().map(|target| (target.position, target.label.clone())).collect()
    }

    /// Labels that the daemon is still to be asked about.
    pub fn unopened(&self) -> impl Iterator<Item = &Label> {
        self.0.iter().filter(|target| target.held == Held::NotYet).map(|target| &target.label)
    }

    /// Marks all labels to be asked about again.
    pub fn close(&mut self) {
        self.0.iter_mut().for_each(|target| target.held = Held::NotYet);
    }

    /// The request to the daemon that writes the tokens of an answer; none if there is nothing to write.
    pub fn write(&self, domain: u16, reply: &Reply) -> Option<ClientRequest> {
        if self.is_empty() || !reply.codes().has_output() {
            return None;
        }
        let made = reply.arguments();
        let tokens = self.0.iter();
        let tokens = tokens.map(|target| (target.label.to_field(), made.bytes(target.position)));
        let mut tokens = tokens.filter(|(_, token)| !token.is_empty());
        let payload = payload(tokens.next()?, tokens.next());
        Some(ClientRequest::Call { domain, card: None, verb: Verb::KeyRecordsWrite as u16, payload })
    }

    /// Takes the daemon's answer to the write, and replaces the tokens by the labels.
    ///
    /// # Errors
    /// A refusal of the daemon that has no codes of a verb.
    pub fn written(&self, answer: ClientReply, reply: &mut Reply) -> Result<(), FacilityError> {
        let verb = reply.verb();
        match answer {
            ClientReply::Called { codes, .. } if codes.has_output() => {
                let labels = self.0.iter().map(|target| (target.position, target.label.to_field()));
                reply.put_labels(&labels.collect::<Vec<_>>());
            }
            ClientReply::Called { codes, .. } => reply.fill(verb, codes, &[]),
            ClientReply::Refused(Refusal::Denied) => reply.fill(verb, code::ACCESS_DENIED, &[]),
            ClientReply::Refused(Refusal::Storage { .. }) => reply.fill(verb, code::KEY_STORE, &[]),
            answer => {
                let refused = refusals(WRITE_TARGETS, answer).err();
                return Err(refused.unwrap_or_else(|| unexpected(WRITE_TARGETS)));
            }
        }
        Ok(())
    }
}

type Labelled<'a> = ([u8; LABEL_BYTES], &'a [u8]);

/// The payload of key-records-write for one token or two.
fn payload(first: Labelled<'_>, second: Option<Labelled<'_>>) -> Vec<u8> {
    let second = second.unwrap_or((NO_LABEL, &[]));
    let ask = key_records_write::Ask {
        key_label_1: &first.0,
        key_token_1: first.1,
        key_label_2: &second.0,
        key_token_2: second.1,
        ..key_records_write::Ask::new(RecordWriting::Replace)
    };
    let mut payload = Vec::new();
    // Every argument is of the table's kind.
    ask.arguments(&mut Filled::default()).write_request(&mut payload).unwrap_or_default();
    payload
}
