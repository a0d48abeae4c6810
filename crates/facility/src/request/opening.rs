//! Opening of labels for requests: which fields are labels, the question to the daemon, and what its answer means.

use super::Surroundings;
use super::target::Held;
use crate::control::connection::{ANSWER_WAIT, Patience, Repeat};
use crate::control::{Opened, refusals, unexpected};
use crate::error::FacilityError;
use crate::labels::NOT_YET;
use wire::bounds::LABEL_BYTES;
use wire::code::{self, Codes};
use wire::control::{ClientReply, ClientRequest, Refusal};
use wire::{KeyReference, Label};

/// Name of the question for a label in error messages.
pub(crate) const OPEN_LABEL: &str = "open a key label";

/// Why a label was not opened.
pub(crate) enum Unopened {
    /// The verb's codes for it.
    Codes(Codes),
    Failed(FacilityError),
}

impl Unopened {
    /// A copy for another request with the same label.
    pub fn again(&self) -> Self {
        match self {
            Self::Codes(codes) => Self::Codes(*codes),
            Self::Failed(error) => Self::Failed(error.again()),
        }
    }
}

/// Asks the daemon to open a label, and waits for its answer.
pub(super) fn open(around: &Surroundings<'_>, label: &Label) -> Result<Opened, Unopened> {
    let operation = OPEN_LABEL;
    let request = ClientRequest::OpenLabel { label: label.clone() };
    let answer = around.connection.ask(operation, &request, Repeat::Safe, Patience::Reconnect, ANSWER_WAIT);
    opened(operation, answer.map_err(Unopened::Failed)?.0)
}

/// The reference of a key's label, from the daemon.
pub(super) fn opened_key(around: &Surroundings<'_>, label: &Label) -> Result<KeyReference, Unopened> {
    Ok(open(around, label)?.reference)
}

/// Content of a target's record, from the daemon's answer.
pub(super) fn held(opened: Result<Opened, Unopened>) -> Result<Held, Unopened> {
    match opened {
        Ok(opened) if opened == NOT_YET => Ok(Held::NotYet),
        Ok(opened) => Ok(Held::Key(opened.reference)),
        Err(Unopened::Codes(code::TOKEN_INVALID)) => Ok(Held::Nothing),
        Err(unopened) => Err(unopened),
    }
}

/// The opened label in a daemon's answer, or why the label was not opened.
pub(crate) fn opened(operation: &'static str, answer: ClientReply) -> Result<Opened, Unopened> {
    match answer {
        ClientReply::Opened { reference, store, token_bytes } => Ok(Opened { reference, store, token_bytes }),
        ClientReply::Refused(Refusal::Verb(codes)) => Err(Unopened::Codes(codes)),
        ClientReply::Refused(Refusal::Denied) => Err(Unopened::Codes(code::ACCESS_DENIED)),
        answer => {
            Err(Unopened::Failed(refusals(operation, answer).err().unwrap_or_else(|| unexpected(operation))))
        }
    }
}

/// The field of a label; none for a token, and none for a field that is blank, which is a verb's
/// way of leaving a key out.
pub(super) fn label_field(field: &[u8]) -> Option<&[u8; LABEL_BYTES]> {
    let field: &[u8; LABEL_BYTES] = field.try_into().ok()?;
    (token::Format::of(field) == token::Format::Label && field.iter().any(|byte| *byte != b' '))
        .then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_or_short_field_is_no_label() {
        let label = Label::new("A.B").unwrap().to_field();
        assert_eq!(label_field(&label), Some(&label));
        assert_eq!(label_field(&[b' '; 64]), None);
        assert_eq!(label_field(&[1; 64]), None);
        assert_eq!(label_field(b"A.B"), None);
    }
}
