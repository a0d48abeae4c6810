//! Format_Preserving_Algorithms_Translate (CSNBFFXT): see [`super::format_preserving`]. A text is translated from one
//! key and tweak to others; it is in the clear only inside the card.
//!
//! The key that comes in has DECRYPT or C-XLATE, the one that goes out ENCRYPT or C-XLATE: both are for translations
//! alone, or neither (8/39). If the alphabets differ, the text keeps its characters, and a refusal of one reveals
//! something of the text. So keys for translations alone are refused then (8/39), and the role must permit deciphering.
//! A shorter key goes out with a point of its own. 8/25 and 8/21 as for the other verbs; 8/21 also if the text has
//! characters outside the other alphabet.

use super::format_preserving::{self, Characters, Format};
use crate::call::{Call, Reply, Verdict};
use payments::ff1::Direction;
use token::variable::{CipherMode, VariableUse};
use wire::code;
use wire::point::Point;
use wire::verb::format_preserving_translate::{Answer, Request};
use wire::verb::{FormatAlphabetsIn, FormatAlphabetsOut, FormatMethodIn, FormatMethodOut};

/// Answers with the text under the other key.
pub(crate) async fn format_preserving_translate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if (request.method_in, request.method_out) != (FormatMethodIn::Ff1, FormatMethodOut::Ff1) {
        return Err(code::KEYWORD.into());
    }
    let from = match request.alphabets_in {
        FormatAlphabetsIn::Digits => Characters::Digits,
        FormatAlphabetsIn::Own => Characters::Own,
    };
    let to = match request.alphabets_out {
        FormatAlphabetsOut::Digits => Characters::Digits,
        FormatAlphabetsOut::Own => Characters::Own,
    };
    let from = Format::read(from, request.input_alphabet, request.input_tweak, request.input_tweak_alphabet)?;
    let to = Format::read(to, request.output_alphabet, request.output_tweak, request.output_tweak_alphabet)?;
    let given = request.ciphertext.given()?;
    let text = from.text(given, Direction::Decipher)?;
    to.check(given.len())?;
    let (field_in, field_out) = (request.input_key_identifier, request.output_key_identifier);
    let (found_in, found_out) = (call.key(field_in)?.variable()?, call.key(field_out)?.variable()?);
    let only_translates = found_in.only_translates();
    if only_translates != found_out.only_translates() {
        return Err(code::KEY_USAGE.into());
    }
    if !from.is_of_same_characters(&to) {
        if only_translates {
            return Err(code::KEY_USAGE.into());
        }
        call.permit(Point::FormatPreservingDecipher)?;
    }
    let opening_in = found_in.for_variable_use(VariableUse::TranslateFrom(CipherMode::Ff1))?;
    let opening_out = found_out.for_variable_use(VariableUse::TranslateTo(CipherMode::Ff1))?;
    let (key_in, key_out) = (opening_in.await, opening_out.await);
    let (key_in, key_out) = (key_in?, key_out?);
    if key_out.secret.len() < key_in.secret.len() {
        call.permit(Point::FormatWeaker)?;
    }
    let renewed = (key_in.renew(call, field_in)?, key_out.renew(call, field_out)?);
    let digits = format_preserving::run(call, &key_in, text).await?;
    let (text, is_known) = to.from(&from, &digits)?;
    let digits = format_preserving::run(call, &key_out, text).await?;
    let text = to.alphabet.text(&digits);
    let (token_in, token_out) = (renewed.0.token().await?, renewed.1.token().await?);
    if !is_known.holds() {
        return Err(code::INVALID_PARAMETER.into());
    }
    reply.write(Answer {
        input_key_identifier: token_in.as_deref(),
        output_key_identifier: token_out.as_deref(),
        ciphertext: Some(&text),
    })?;
    Ok(key_in.age.max(key_out.age).codes())
}
