//! The verbs that the daemon executes: key records.
//!
//! They come as [`ClientRequest::Call`](wire::control::ClientRequest::Call), with the payload that the verb table
//! gives for a request, and are answered with the payload that it gives for a reply, as on a card. The event loop
//! reads a call ([`read`]) and asks who may do it, of its verb and of its labels; the storage thread runs it.
//!
//! | verbs | module |
//! |---|---|
//! | DES_, AES_, PKA_Key_Record_Create | [`create`] |
//! | DES_, AES_, PKA_Key_Record_Read | [`mod@read`] |
//! | DES_, AES_, PKA_Key_Record_Write | [`write`](mod@write) |
//! | DES_, AES_, PKA_Key_Record_Delete | [`delete`] |
//! | key-records-write, of our own | [`records_write`] |

pub mod create;
pub mod delete;
pub mod read;
pub mod records_write;
pub mod write;

use crate::store::{KeyStore, StoreError};
use wire::bounds::{KEYWORD_BYTES, TOKEN_BYTES_MAX};
use wire::control::{Refusal, Store};
use wire::frame::{Argument, Arguments};
use wire::verb::{Entry, Place, Verb};
use wire::{Codes, Label, code};

/// A call that was read, and that nothing was done for yet.
pub trait Call: std::fmt::Debug + Send {
    /// Labels of the records that it reads or changes.
    fn labels(&self) -> Vec<&Label>;

    /// Does it.
    ///
    /// # Errors
    /// As of the jobs that it gives the store.
    fn run(&self, store: &dyn KeyStore, now_unix_s: u64) -> Result<Answer, StoreError>;
}

/// What a verb answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Return and reason code.
    pub codes: Codes,
    /// The payload of the reply; empty where the verb has nothing to say.
    pub payload: Vec<u8>,
}

impl Answer {
    /// Codes alone.
    pub fn bare(codes: Codes) -> Self {
        Self { codes, payload: Vec::new() }
    }

    fn with(codes: Codes, verb: Verb, outputs: &[(usize, Argument<'_>)]) -> Self {
        let (mut arguments, mut payload) = (Arguments::new(verb), Vec::new());
        for (position, argument) in outputs {
            arguments.set(*position, *argument);
        }
        // Outputs stand at the table's positions; a mismatch would leave them out.
        if arguments.write_reply(&mut payload).is_err() {
            payload.clear();
        }
        Self { codes, payload }
    }
}

/// The row of a verb of the daemon.
///
/// # Errors
/// [`Refusal::Invalid`] for a number that is no verb's, or a card's.
pub fn entry(number: u16) -> Result<&'static Entry, Refusal> {
    let verb = Verb::from_number(number)
        .ok_or_else(|| Refusal::Invalid(format!("no verb has number {number:#06x}")))?;
    let entry = verb.entry();
    if entry.place != Place::Daemon {
        return Err(Refusal::Invalid(format!("{} is not a verb of the daemon", entry.name)));
    }
    Ok(entry)
}

/// Reads the payload of a call.
///
/// # Errors
/// [`Refusal::Invalid`] where the payload is not of the verb's form, [`Refusal::Verb`] with the verb's codes for
/// arguments that it does not take.
pub fn read(entry: &'static Entry, payload: &[u8]) -> Result<Box<dyn Call>, Refusal> {
    let arguments = Arguments::read_request(entry.verb, payload)
        .map_err(|cause| Refusal::Invalid(format!("the payload of {}: {cause}", entry.name)))?;
    let call: Result<Box<dyn Call>, Codes> = match entry.verb {
        Verb::DesKeyRecordCreate | Verb::AesKeyRecordCreate | Verb::PkaKeyRecordCreate => {
            create::read(&arguments)
        }
        Verb::DesKeyRecordRead | Verb::AesKeyRecordRead | Verb::PkaKeyRecordRead => read::read(&arguments),
        Verb::DesKeyRecordWrite | Verb::AesKeyRecordWrite | Verb::PkaKeyRecordWrite => {
            write::read(&arguments)
        }
        Verb::DesKeyRecordDelete | Verb::AesKeyRecordDelete | Verb::PkaKeyRecordDelete => {
            delete::read(&arguments)
        }
        Verb::KeyRecordsWrite => records_write::read(&arguments),
        _ => return Err(Refusal::Invalid(format!("{} is not served", entry.name))),
    };
    call.map_err(Refusal::Verb)
}

/// Length of a DES token.
const DES_TOKEN_BYTES: usize = 64;

fn label(arguments: &Arguments<'_>, position: usize) -> Result<Label, Codes> {
    Label::from_field(exact(arguments, position, wire::bounds::LABEL_BYTES)?).map_err(|_| code::LABEL_FORMAT)
}

fn no_keywords(arguments: &Arguments<'_>, count_at: usize) -> Result<(), Codes> {
    if arguments.integer(count_at) == 0 { Ok(()) } else { Err(code::KEYWORD_COUNT) }
}

/// The one keyword of a rule array.
fn keyword<'a>(arguments: &Arguments<'a>, count_at: usize) -> Result<&'a [u8; KEYWORD_BYTES], Codes> {
    if arguments.integer(count_at) != 1 {
        return Err(code::KEYWORD_COUNT);
    }
    arguments.bytes(count_at + 1).try_into().map_err(|_| code::INVALID_PARAMETER)
}

/// A token whose length stands in the integer before it.
fn token(arguments: &Arguments<'_>, length_at: usize) -> Result<Vec<u8>, Codes> {
    let length = usize::try_from(arguments.integer(length_at)).map_err(|_| code::INVALID_PARAMETER)?;
    if length > TOKEN_BYTES_MAX {
        return Err(code::INVALID_PARAMETER);
    }
    Ok(exact(arguments, length_at + 1, length)?.to_vec())
}

/// Bytes of this length and no other.
fn exact<'a>(arguments: &Arguments<'a>, position: usize, length: usize) -> Result<&'a [u8], Codes> {
    let bytes = arguments.bytes(position);
    if bytes.len() == length { Ok(bytes) } else { Err(code::INVALID_PARAMETER) }
}

/// The store that a verb of key records is of.
fn store_of(verb: Verb) -> Store {
    match verb.entry().entry_point.as_bytes() {
        [b'C', b'S', b'N', b'D', ..] => Store::Pka,
        [b'C', b'S', b'N', b'B', b'A', ..] => Store::Aes,
        _ => Store::Des,
    }
}

#[cfg(test)]
mod tests;
