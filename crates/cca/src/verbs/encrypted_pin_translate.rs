//! Encrypted_PIN_Translate (CSNBPTR): a PIN block comes under another key.
//!
//! TRANSLAT: as it is. Both profiles must say the same; the clear block is not looked at. REFORMAT: its PIN goes into a
//! block of the output profile. DUKPT-IP, DUKPT-OP, DUKPT-BH: the key of that side, or of both, is derived for the
//! transaction whose key serial number stands behind the 24 bytes of the profile.

use engine::CipherDirection;
use token::usage::{PinBlockIn, PinBlockOut, Use};
use wire::code;
use wire::verb::encrypted_pin_translate::{Answer, Request};
use wire::verb::{PinDerivations, PinTranslation};

use crate::call::{Call, Reply, Verdict};
use crate::pin::form::Form;
use crate::pin::keys::{self, Working};
use crate::pin::{self, rules};

/// Answers with the block under the other key.
pub(crate) async fn encrypted_pin_translate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (is_in, is_out) = match request.derivations {
        None => (false, false),
        Some(PinDerivations::In) => (true, false),
        Some(PinDerivations::Out) => (false, true),
        Some(PinDerivations::Both) => (true, true),
        Some(_) => return Err(code::KEYWORD.into()),
    };
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
    let serial_in = keys::serial(request.input_pin_profile, is_in)?;
    let serial_out = keys::serial(request.output_pin_profile, is_out)?;
    let (field_in, field_out) =
        (request.input_pin_encrypting_key_identifier, request.output_pin_encrypting_key_identifier);
    let opening_in = keys::open(call, field_in, usage_in, serial_in.as_ref())?;
    let opening_out = keys::open(call, field_out, usage_out, serial_out.as_ref())?;
    let (key_in, key_out) = (opening_in.await, opening_out.await);
    let (key_in, key_out) = (key_in?, key_out?);
    let renewed = (key_in.renew(call, field_in)?, key_out.renew(call, field_out)?);
    let working = (Working::of(call, &key_in, serial_in)?, Working::of(call, &key_out, serial_out)?);
    let (under_in, under_out) = (working.0.key().await?, working.1.key().await?);

    let clear = pin::cipher(call, &under_in, CipherDirection::Decipher, request.pin_block_in).await?;
    let (clear, is_right) = match request.translation {
        PinTranslation::Translate => (clear, payments::Mask::YES),
        PinTranslation::Reformat => {
            let (found, is_block) = from.pin(&clear);
            let (block, fits) = to.block(&call, &found);
            (block, is_block.and(fits))
        }
    };
    let block = pin::cipher(call, &under_out, CipherDirection::Encipher, &clear).await?;
    let (token_in, token_out) = (renewed.0.token().await?, renewed.1.token().await?);
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
