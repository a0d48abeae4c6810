//! Random_Number_Generate (CSNBRNG): 8 random bytes, as they are or with parity.

use wire::verb::random_number_generate::{FORM, RANDOM_NUMBER};
use wire::{Codes, code};

use crate::call::{Call, Reply, Verdict};
use crate::parity;
use crate::rules::{Word, word};

/// What the low bits of the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Random,
    Odd,
    Even,
}

impl Form {
    /// Fills with random bytes of this form.
    pub(super) fn fill(self, call: &Call<'_, '_>, out: &mut [u8]) {
        call.random(out);
        match self {
            Self::Random => {}
            Self::Odd => parity::make_odd(out),
            Self::Even => parity::make_even(out),
        }
    }
}

pub(super) const FORMS: &[(Word, Form)] =
    &[(word("RANDOM"), Form::Random), (word("ODD"), Form::Odd), (word("EVEN"), Form::Even)];

/// Answers with the number.
pub(crate) async fn random_number_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let form = form(&call)?;
    let mut number = [0; 8];
    form.fill(&call, &mut number);
    reply.bytes(RANDOM_NUMBER, &number);
    Ok(code::OK)
}

fn form(call: &Call<'_, '_>) -> Result<Form, Codes> {
    let given = u64::from_be_bytes(call.array(FORM)?);
    FORMS.iter().find(|(word, _)| *word == given).map(|(_, form)| *form).ok_or(code::KEYWORD)
}
