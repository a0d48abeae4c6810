//! Format_Preserving_Algorithms_Decipher (CSNBFFXD): see [`super::format_preserving`].
//!
//! The key has DECRYPT. 8/25 for a text so short that fewer than a million such texts exist, or of more than 512
//! characters; 8/21 for an invalid alphabet or tweak, and for characters outside the alphabet.

use super::format_preserving::{self, Characters, Format};
use crate::call::{Call, Reply, Verdict};
use payments::ff1::Direction;
use token::variable::{CipherMode, VariableUse};
use wire::verb::format_preserving_decipher::{Answer, Request};

/// Answers with the plaintext.
pub(crate) async fn format_preserving_decipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let characters = Characters::of(request.method, request.alphabets)?;
    let format = Format::read(characters, request.alphabet, request.tweak, request.tweak_alphabet)?;
    let text = format.text(request.ciphertext, Direction::Decipher)?;
    request.plaintext.holds(request.ciphertext.len())?;
    let found = call.key(request.key_identifier)?.variable()?;
    let key = found.for_variable_use(VariableUse::Decipher(CipherMode::Ff1))?.await?;
    let renewal = key.renew(call, request.key_identifier)?;
    let digits = format_preserving::run(call, &key, text).await?;
    let text = format.alphabet.text(&digits);
    let token = renewal.token().await?;
    reply.write(Answer { key_identifier: token.as_deref(), plaintext: Some(&text) })?;
    Ok(key.age.codes())
}
