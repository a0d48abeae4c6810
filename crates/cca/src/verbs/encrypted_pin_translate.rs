//! Encrypted_PIN_Translate (CSNBPTR): a PIN block comes under another key.
//!
//! TRANSLAT: the block is kept as it is. Both profiles must be the same; the clear block is not checked. REFORMAT: its
//! PIN goes into a block of the output profile. DUKPT-IP, DUKPT-OP, DUKPT-BH: the key of that side, or of both, is
//! derived for the transaction whose key serial number stands behind the 24 bytes of the profile. ADUKPTIP, ADUKPTOP,
//! ADUKPTBH: the key is derived by AES, with the derivation data in the profile, from a base key that is named by its
//! label, since its token is longer than the caller's field.

use crate::call::{Call, Reply, Verdict};
use crate::pin::derivation::{Derivation, Method};
use crate::pin::form::Form;
use crate::pin::{self, rules};
use engine::CipherDirection;
use token::usage::{PinBlockIn, PinBlockOut, Use};
use wire::code;
use wire::verb::PinTranslation;
use wire::verb::encrypted_pin_translate::{Answer, Request};

/// Answers with the block under the other key.
pub(crate) async fn encrypted_pin_translate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (method_in, method_out) = Method::of(request.derivations)?;
    let from = Form::read(&call, request.input_pin_profile, request.pan_data_in, request.extraction)?;
    let to = Form::made(&call, request.output_pin_profile, request.pan_data_out, request.sequence_number)?;
    let (usage_in, usage_out) = match request.translation {
        PinTranslation::Translate => {
            if from.layout.format != to.layout.format {
                return Err(code::PIN_FORMAT.into());
            }
            (Use::PinBlockIn(PinBlockIn::Translate), Use::PinBlockOut(PinBlockOut::Translate))
        }
        PinTranslation::Reformat => {
            rules::check_reformat(&call, &from, &to)?;
            (Use::PinBlockIn(PinBlockIn::Reformat), Use::PinBlockOut(PinBlockOut::Reformat))
        }
    };
    let derivation_in = Derivation::read(request.input_pin_profile, method_in, false)?;
    let derivation_out = Derivation::read(request.output_pin_profile, method_out, false)?;
    let (field_in, field_out) =
        (request.input_pin_encrypting_key_identifier, request.output_pin_encrypting_key_identifier);
    let opening_in = derivation_in.open(call, field_in, usage_in)?;
    let opening_out = derivation_out.open(call, field_out, usage_out)?;
    let (key_in, key_out) = (opening_in.await, opening_out.await);
    let (key_in, key_out) = (key_in?, key_out?);
    let renewed =
        (derivation_in.renew(call, &key_in, field_in)?, derivation_out.renew(call, &key_out, field_out)?);
    let working = (derivation_in.working(call, &key_in)?, derivation_out.working(call, &key_out)?);
    let (under_in, under_out) = (working.0.key().await?, working.1.key().await?);

    let clear = pin::cipher(call, &under_in, CipherDirection::Decipher, request.pin_block_in).await?;
    let (clear, is_right) = match request.translation {
        PinTranslation::Translate => (clear, payments::Mask::YES),
        PinTranslation::Reformat => {
            let (found, is_block) = from.pin(&clear);
            let (block, fits) = to.block_of(&call, &found, Some((&from, &clear)), &from.bound(&clear))?;
            (block, is_block.and(fits))
        }
    };
    let block = pin::cipher(call, &under_out, CipherDirection::Encipher, &clear).await?;
    let token_in = Derivation::token(renewed.0).await?;
    let token_out = Derivation::token(renewed.1).await?;
    if !is_right.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    reply.write(Answer {
        input_pin_encrypting_key_identifier: token_in.as_deref(),
        output_pin_encrypting_key_identifier: token_out.as_deref(),
        pin_block_out: Some(&block),
    })?;
    Ok(key_in.age.max(key_out.age).codes())
}
