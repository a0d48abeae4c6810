//! The verbs that the daemon executes: key records, and queries.
//!
//! They come as [`ClientRequest::Call`](wire::control::ClientRequest::Call), with the payload that the verb table gives
//! for a request, and are answered with the payload that it gives for a reply, as on a card. The event loop reads a
//! call ([`read`]) and checks the rights to its verb and its labels; the storage thread runs it.
//!
//! | verbs | module |
//! |---|---|
//! | DES_, AES_, PKA_Key_Record_Create | [`create`] |
//! | DES_, AES_, PKA_Key_Record_Read | [`mod@read`] |
//! | DES_, AES_, PKA_Key_Record_Write | [`write`](mod@write) |
//! | DES_, AES_, PKA_Key_Record_Delete | [`delete`] |
//! | key-records-write, a verb that CCA does not have | [`records_write`] |
//! | Cryptographic_Facility_Query | [`facility_query`] |
//! | Access_Control_Maintenance | [`access_control_maintenance`] |
//!
//! The event loop answers a query at once ([`query`]), from what the daemon knows.

pub mod access_control_maintenance;
pub mod create;
pub mod delete;
pub mod facility_query;
pub mod read;
pub mod records_write;
pub mod write;

use crate::rights::Role;
use crate::store::{KeyStore, StoreError};
use wire::bounds::{LABEL_BYTES, TOKEN_BYTES_MAX};
use wire::control::{Refusal, RegisterRow};
use wire::frame::Arguments;
use wire::verb::{Entry, Executor, Fault, TypedAnswer, TypedRequest, Verb, too_small, write_no_outputs};
use wire::{Codes, Label, code};

/// A call that was read, and is ready to run.
pub trait Call: std::fmt::Debug + Send {
    /// Labels of the records that the call reads or changes.
    fn labels(&self) -> Vec<&Label>;

    /// Runs the call on the key store, at this time in seconds since 1970.
    ///
    /// # Errors
    /// Those of the jobs that the call gives the store.
    fn run(&self, store: &dyn KeyStore, now_unix_s: u64) -> Result<Answer, StoreError>;
}

/// The answer of a verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Return and reason code.
    pub codes: Codes,
    /// The payload of the reply; empty for an answer of codes alone.
    pub payload: Vec<u8>,
}

impl Answer {
    /// An answer of codes alone.
    pub fn bare(codes: Codes) -> Self {
        Self { codes, payload: Vec::new() }
    }

    /// The answer with the outputs of a verb. `room` is the position of a length, and the number of bytes that the
    /// caller has room for by it. If that is too little, the answer is 8/72 and the length that is needed.
    fn of<A: TypedAnswer>(outputs: &A, room: Option<(usize, usize)>) -> Self {
        let (mut arguments, mut payload) = (Arguments::new(A::VERB), Vec::new());
        if let Some((length, bytes)) = room {
            arguments.set_integer(length, bytes as i64);
        }
        let fault = match outputs.write(&arguments, &mut payload) {
            Ok(()) => return Self { codes: code::OK, payload },
            Err(fault) => fault,
        };
        let (needed, codes) = match fault {
            Fault::TooSmall { position, needed } => (Some((position, needed)), too_small(A::VERB, position)),
            Fault::Refused { .. } | Fault::Reference { .. } => (None, refused(fault)),
        };
        write_no_outputs(&arguments, needed, &mut payload);
        Self { codes, payload }
    }
}

/// The facts that queries are answered from, as far as the caller may know them.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The domain of the call, which the caller may use.
    pub domain: u16,
    /// Number of domains of the home.
    pub domains: u16,
    /// The domains that the caller may use.
    pub usable: &'a [u16],
    /// The master-key registers of all domains, as the keeper showed them last.
    pub registers: &'a [RegisterRow],
    /// Number of coprocessors that the caller may use.
    pub adapters: usize,
    /// The serial number of the card that is asked about; blank if there is none.
    pub serial: [u8; 8],
    /// The caller's role.
    pub role: &'a Role,
}

/// Whether a verb of the daemon only asks for what the daemon knows: [`query`] answers it.
pub fn is_query(verb: Verb) -> bool {
    matches!(verb, Verb::CryptographicFacilityQuery | Verb::AccessControlMaintenance)
}

/// Answers a query from these facts.
///
/// # Errors
/// As [`read`].
pub fn query(entry: &'static Entry, payload: &[u8], facts: &Facts<'_>) -> Result<Answer, Refusal> {
    let arguments = arguments(entry, payload)?;
    let answer = match entry.verb {
        Verb::CryptographicFacilityQuery => facility_query::answer(&arguments, facts),
        Verb::AccessControlMaintenance => access_control_maintenance::answer(&arguments, facts),
        _ => return Err(Refusal::Invalid(format!("{} is no query", entry.name))),
    };
    answer.map_err(Refusal::Verb)
}

/// The role's name as CCA's programs are told it, in eight characters. A caller that is not logged on has a default
/// role, which these programs look for by the beginning of its name.
fn role_id(name: &str) -> [u8; 8] {
    let mut id = *b"DFLT    ";
    id[4..].iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from.to_ascii_uppercase());
    id
}

/// The arguments in the payload of a call.
fn arguments<'a>(entry: &Entry, payload: &'a [u8]) -> Result<Arguments<'a>, Refusal> {
    Arguments::read_request(entry.verb, payload)
        .map_err(|cause| Refusal::Invalid(format!("the payload of {}: {cause}", entry.name)))
}

/// The row of a verb of the daemon.
///
/// # Errors
/// [`Refusal::Invalid`] if the number is no verb's, or that of a card's verb.
pub fn entry(number: u16) -> Result<&'static Entry, Refusal> {
    let verb = Verb::from_number(number)
        .ok_or_else(|| Refusal::Invalid(format!("no verb has number {number:#06x}")))?;
    let entry = verb.entry();
    if entry.executor != Executor::Daemon {
        return Err(Refusal::Invalid(format!("{} is not a verb of the daemon", entry.name)));
    }
    Ok(entry)
}

/// Reads the payload of a call.
///
/// # Errors
/// [`Refusal::Invalid`] if the payload is not of the verb's form, [`Refusal::Verb`] with the verb's codes for arguments
/// that it does not take.
pub fn read(entry: &'static Entry, payload: &[u8]) -> Result<Box<dyn Call>, Refusal> {
    let arguments = arguments(entry, payload)?;
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

/// Length of a DES token in bytes.
const DES_TOKEN_BYTES: usize = 64;

/// The typed request in the arguments, or the codes for their fault.
fn request<'a, R: TypedRequest<'a>>(arguments: &Arguments<'a>) -> Result<R, Codes> {
    R::read(arguments).map_err(refused)
}

/// The codes of a fault. These verbs take no key that could be a reference.
fn refused(fault: Fault) -> Codes {
    fault.codes().unwrap_or(code::INVALID_PARAMETER)
}

fn label(field: &[u8; LABEL_BYTES]) -> Result<Label, Codes> {
    Label::from_field(field).map_err(|_| code::LABEL_FORMAT)
}

fn token(field: &[u8]) -> Result<Vec<u8>, Codes> {
    if field.len() <= TOKEN_BYTES_MAX { Ok(field.to_vec()) } else { Err(code::INVALID_PARAMETER) }
}

#[cfg(test)]
mod tests;
