//! Encrypted_PIN_Translate2 (CSNBPTR2): a PIN block comes under another key of DES or of AES.
//!
//! TRANSLAT: the block is kept as it is. REFORMAT: its PIN goes into a block of the output profile. Blocks of ISO-4, of
//! 16 bytes, are under PINPROT keys, those of ISO-0, ISO-1, ISO-2, ISO-3 and 3624, of 8 bytes, under IPINENC and
//! OPINENC keys; either side may have a key that is derived for the transaction. ([`crate::pin::derivation`]).
//!
//! | from | to | PINPROT key that comes in | that goes out |
//! |---|---|---|---|
//! | ISO-4 | ISO-4 | DECRYPT, PINXLATE | ENCRYPT, PINXLATE |
//! | ISO-4 | ISO-1 | DECRYPT, REFORMAT, RFMT4TO1 | |
//! | ISO-4 | others | DECRYPT, REFORMAT | |
//! | ISO-1 | ISO-4 | | ENCRYPT, REFORMAT, RFMT1TO4 |
//! | others | ISO-4 | | ENCRYPT, REFORMAT |
//!
//! PAN-CHG: from ISO-4 to ISO-4 the PAN is changed. A CMAC of 16 bytes over the old PAN, then the new one, under an AES
//! MAC key with VERIFY and PTR2AUTH, authorizes the change. It covers their fields in a block of ISO-4 (PANAUTI4), or
//! their digits as characters (PANAUTAS). With PANAUTAS both PANs have the same length, so that no two pairs have the
//! same text. 4/1, and no output, for a wrong CMAC.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::Key;
use crate::pass::Mac;
use crate::pin::derivation::Method;
use crate::pin::rules;
use crate::pin::side::Side;
use engine::{MacAlgorithm, SecretBytes};
use payments::{Format, Mask};
use std::borrow::Cow;
use subtle::ConstantTimeEq;
use token::usage::{PinBlockIn, PinBlockOut};
use token::variable::{PinField, VariableUse};
use wire::point::Point;
use wire::verb::encrypted_pin_translate2::{Answer, Request};
use wire::verb::{PanChangeMessage, PinTranslation};
use wire::{Codes, code};

/// Length of the proof of a change in bytes: all of a CMAC.
const PROOF_BYTES: usize = 16;

/// Answers with the block under the other key.
pub(crate) async fn encrypted_pin_translate2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (method_in, method_out) =
        Method::of_each(request.derivation_in, request.derivation_out, request.derivation_both)?;
    let from =
        Side::read(&call, request.input_pin_profile, request.input_pan_data, request.extraction, method_in)?;
    let to = Side::made(&call, request.output_pin_profile, request.output_pan_data, method_out)?;
    let proof = Proof::of(&request, &from, &to)?;
    let is_reformat = request.translation == PinTranslation::Reformat;
    check(&call, &from, &to, is_reformat, proof.is_some())?;
    let block = from.given(request.input_pin_block)?;
    let size = if to.pan().is_some() { 16 } else { 8 };
    request.output_pin_block.holds(size)?;

    let (field_in, field_out) =
        (request.input_pin_encrypting_key_identifier, request.output_pin_encrypting_key_identifier);
    let (step_in, step_out) = steps(is_reformat);
    let (pin_in, pin_out) = fields(from.format(), to.format());
    let opening_in = from.open_in(call, field_in, step_in, pin_in)?;
    let opening_out = to.open_out(call, field_out, step_out, pin_out)?;
    let proving = match &proof {
        Some(_) => {
            let found = call.key(request.authentication_key_identifier)?.variable()?;
            Some(found.for_variable_use(VariableUse::PanChangeVerify)?)
        }
        None => None,
    };
    let (key_in, key_out) = (opening_in.await, opening_out.await);
    let proving = match proving {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    let (key_in, key_out) = (key_in?, key_out?);
    let renewed = (key_in.renew(call, field_in)?, key_out.renew(call, field_out)?);
    let proving_renewed = match &proving {
        Some(key) => Some(key.renew(call, request.authentication_key_identifier)?),
        None => None,
    };
    let working = (from.derivation.working(call, &key_in)?, to.derivation.working(call, &key_out)?);
    if let (Some(proof), Some(key)) = (&proof, &proving)
        && !proof.holds(call, key).await?
    {
        return Err(code::VERIFICATION_FAILED.into());
    }
    let (under_in, under_out): (SecretBytes, SecretBytes) = (working.0.key().await?, working.1.key().await?);

    let clear = from.decipher(call, &under_in, block).await?;
    let (clear, is_right) = if is_reformat {
        let (found, is_block) = from.pin(&clear);
        let (made, fits) = to.block_of(&call, &found, (&from, &clear))?;
        (made, is_block.and(fits))
    } else {
        (clear, Mask::YES)
    };
    let made = to.encipher(call, &under_out, clear).await?;
    let (token_in, token_out) = (renewed.0.token().await?, renewed.1.token().await?);
    let token_proving = match proving_renewed {
        Some(renewal) => renewal.token().await?,
        None => None,
    };
    if !is_right.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    reply.write(Answer {
        input_pin_encrypting_key_identifier: token_in.as_deref(),
        output_pin_encrypting_key_identifier: token_out.as_deref(),
        authentication_key_identifier: token_proving.as_deref(),
        output_pin_block: Some(made.bytes()),
    })?;
    let age = key_in.age.max(key_out.age);
    Ok(proving.map_or(age, |key| age.max(key.age)).codes())
}

/// Refuses what the role does not permit, and formats and PANs that do not go together.
///
/// # Errors
/// 8/90; 8/106 if TRANSLAT would change the format of the block.
fn check(
    call: &Call<'_, '_>,
    from: &Side,
    to: &Side,
    is_reformat: bool,
    is_proved: bool,
) -> Result<(), Codes> {
    let is_of_aes = from.is_of_aes() || to.is_of_aes();
    call.permit(match (is_reformat, is_of_aes) {
        (false, false) => Point::PinTranslate,
        (false, true) => Point::PinTranslate2,
        (true, false) => Point::PinReformat,
        (true, true) => Point::PinReformat2,
    })?;
    let is_same_pan = from.is_of_same_pan(to);
    if is_reformat {
        return rules::check_formats(call, (from.format(), to.format()), is_same_pan || is_proved);
    }
    if from.format() != to.format() {
        return Err(code::PIN_FORMAT);
    }
    // Another PAN would change the block, although the PIN is not checked.
    if from.format() == Format::Iso4 && !is_same_pan {
        return Err(code::ACCESS_DENIED);
    }
    Ok(())
}

fn steps(is_reformat: bool) -> (PinBlockIn, PinBlockOut) {
    if is_reformat {
        (PinBlockIn::Reformat, PinBlockOut::Reformat)
    } else {
        (PinBlockIn::Translate, PinBlockOut::Translate)
    }
}

/// The uses that the input and the output PINPROT key must permit.
fn fields(from: Format, to: Format) -> (PinField, PinField) {
    match (from, to) {
        (Format::Iso4, Format::Iso4) => {
            (PinField::In(PinBlockIn::Translate), PinField::Out(PinBlockOut::Translate))
        }
        (_, Format::Iso1) => (PinField::InToIso1, PinField::Out(PinBlockOut::Reformat)),
        (Format::Iso1, _) => (PinField::In(PinBlockIn::Reformat), PinField::OutOfIso1),
        _ => (PinField::In(PinBlockIn::Reformat), PinField::Out(PinBlockOut::Reformat)),
    }
}

/// The CMAC that authorizes a change of PAN, and the text that it covers.
struct Proof<'a> {
    message: Vec<u8>,
    mac: &'a [u8; PROOF_BYTES],
}

impl<'a> Proof<'a> {
    /// The proof in a request; `None` without PAN-CHG.
    ///
    /// # Errors
    /// 8/106 for other blocks than those of ISO-4, 8/21 for a CMAC of another length, 8/110 for PANs of different
    /// lengths as characters.
    fn of(request: &Request<'a>, from: &Side, to: &Side) -> Result<Option<Self>, Refusal> {
        if request.change.is_none() {
            return Ok(None);
        }
        let (Some(own), Some(other)) = (from.pan(), to.pan()) else {
            return Err(code::PIN_FORMAT.into());
        };
        let message = match request.message {
            Some(PanChangeMessage::Fields) => [&own.field()[..], other.field()].concat(),
            Some(PanChangeMessage::Characters) if own.length() == other.length() => {
                [request.input_pan_data, request.output_pan_data].concat()
            }
            Some(PanChangeMessage::Characters) => return Err(code::PAN.into()),
            None => return Err(code::KEYWORD_COMBINATION.into()),
        };
        let mac = request.authentication_data.try_into().map_err(|_| code::INVALID_PARAMETER)?;
        Ok(Some(Self { message, mac }))
    }

    async fn holds(&self, call: Call<'_, 'a>, key: &Key) -> Result<bool, Refusal> {
        let algorithm = match key.secret.len() {
            16 => MacAlgorithm::CmacAes128,
            24 => MacAlgorithm::CmacAes192,
            _ => MacAlgorithm::CmacAes256,
        };
        let (key, text) = (key.secret.clone(), Cow::Owned(self.message.clone()));
        let made = call.ask(Mac { algorithm, key, chain: [0; 16], text, last: true }).await?;
        Ok(bool::from(made.mac.ct_eq(self.mac)))
    }
}
