//! Random_Number_Generate (CSNBRNG): 8 random bytes, as they are or with parity.

use crate::call::{Call, Reply, Verdict};
use crate::parity;
use wire::code;
use wire::verb::RandomForm;
use wire::verb::random_number_generate::{Answer, Request};

/// Fills `out` with random bytes, with the parity of this form.
pub(super) fn fill(form: RandomForm, call: &Call<'_, '_>, out: &mut [u8]) {
    call.random(out);
    match form {
        RandomForm::Random => {}
        RandomForm::Odd => parity::make_odd(out),
        RandomForm::Even => parity::make_even(out),
    }
}

/// Answers with the 8 random bytes.
pub(crate) async fn random_number_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let given = u64::from_be_bytes(*request.form);
    let form = RandomForm::ALL.iter().find(|(word, _)| *word == given).map(|(_, form)| *form);
    let mut number = [0; 8];
    fill(form.ok_or(code::KEYWORD)?, &call, &mut number);
    reply.write(Answer { random_number: Some(&number) })?;
    Ok(code::OK)
}
