//! Encrypted_PIN_Verify (CSNBPVR): whether the PIN in a block is the one that a method gives.
//!
//! | keyword | the PIN is right where |
//! |---|---|
//! | IBM-PIN | its rightmost digits, as many as are checked, are those of IBM 3624 |
//! | IBM-PINO | its rightmost digits are those of IBM 3624 with the offset |
//! | GBP-PIN, GBP-PINO | it is the PIN of the German banking pool, with the offset |
//! | VISA-PVV | it has the PVV; VISAPVV4: and four digits |
//! | INBK-PIN | it is the Interbank PIN |
//!
//! 4/19: the PIN is wrong. 8/90: too many failures, or the role does not permit the format of the block.

use crate::call::{Call, Reply, Verdict};
use crate::counting::{self, Purpose};
use crate::ground::{Algorithm, Refusal};
use crate::pin::data::{self, Data, VisaData};
use crate::pin::derivation::{Derivation, Method};
use crate::pin::form::Form;
use crate::pin::{self, rules};
use engine::CipherDirection;
use payments::ibm3624::Intermediate;
use payments::{Decimalisation, Mask, Pin, interbank, visa};
use token::usage::{PinBlockIn, PinMethod, PinStep, Use};
use wire::code;
use wire::verb::PinVerifyMethod;
use wire::verb::encrypted_pin_verify::{Answer, Request};

/// Answers whether the PIN is right.
pub(crate) async fn encrypted_pin_verify(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let method_in = Method::of_one(request.derivation)?;
    let form = Form::read(&call, request.input_pin_profile, request.pan_data, request.extraction)?;
    rules::check_verified(&call, form.layout.format)?;
    let reference = Reference::of(&call, &request)?;
    let derivation = Derivation::read(request.input_pin_profile, method_in, false)?;
    let (block_field, pin_field) =
        (request.input_pin_encrypting_key_identifier, request.pin_verifying_key_identifier);
    let block_opening = derivation.open(call, block_field, Use::PinBlockIn(PinBlockIn::Verify))?;
    let usage = Use::Pin(PinStep::Verify, method(request.method));
    let pin_opening = call.key(pin_field)?.of(Algorithm::Des)?.for_use(usage)?;
    let (block_key, pin_key) = (block_opening.await, pin_opening.await);
    let (block_key, pin_key) = (block_key?, pin_key?);
    let at_work = counting::begin(call.verifier(), Purpose::Pin, &pin_key.secret, &reference.subject())?;
    let renewed = (derivation.renew(call, &block_key, block_field)?, pin_key.renew(call, pin_field)?);
    let under = derivation.working(call, &block_key)?.key().await?;

    let direction = CipherDirection::Decipher;
    let clear = pin::cipher(call, &under, direction, request.encrypted_pin_block).await?;
    let at_work = at_work.of_block(&form.bound(&clear))?;
    let (found, is_block) = form.pin(&clear);
    let asked = reference.block(&found);
    let enciphered = pin::cipher(call, &pin_key.secret, CipherDirection::Encipher, &asked).await?;
    let is_right = reference.verifies(&found, &enciphered);
    at_work.judged(is_right.and(is_block));
    let (block_token, pin_token) = (Derivation::token(renewed.0).await?, renewed.1.token().await?);
    if !is_block.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    reply.write(Answer {
        input_pin_encrypting_key_identifier: block_token.as_deref(),
        pin_verifying_key_identifier: pin_token.as_deref(),
    })?;
    Ok(if is_right.holds() { block_key.age.max(pin_key.age).codes() } else { code::PIN_NOT_VERIFIED })
}

/// The data that a PIN is verified by, for each method.
enum Reference {
    Ibm { table: Decimalisation, validation: [u8; 8], offset: [u8; 16], checked: u8 },
    Pool { table: Decimalisation, validation: [u8; 8], offset: [u8; 4] },
    Visa { data: VisaData, pvv: [u8; visa::PVV_DIGITS], is_of_four: bool },
    Interbank { block: [u8; 8] },
}

impl Reference {
    fn of(call: &Call<'_, '_>, request: &Request<'_>) -> Result<Self, Refusal> {
        let given = Data::new(request.data_array);
        Ok(match request.method {
            PinVerifyMethod::Ibm | PinVerifyMethod::IbmOffset => {
                let (table, validation) = (given.table(call)?, given.validation()?);
                let checked = data::check_length(call, request.pin_check_length, Pin::DIGITS_MAX as u8)?;
                let has_offset = request.method == PinVerifyMethod::IbmOffset;
                let offset = if has_offset { given.offset(checked)? } else { [0; 16] };
                Self::Ibm { table, validation, offset, checked }
            }
            PinVerifyMethod::Pool | PinVerifyMethod::PoolOffset => {
                let (table, validation) = (given.table(call)?, given.validation()?);
                let has_offset = request.method == PinVerifyMethod::PoolOffset;
                let mut offset = [0; 4];
                if has_offset {
                    offset.copy_from_slice(&given.offset(4)?[..4]);
                }
                Self::Pool { table, validation, offset }
            }
            PinVerifyMethod::Visa | PinVerifyMethod::VisaFour => {
                given.no_visa_pin()?;
                let is_of_four = request.method == PinVerifyMethod::VisaFour;
                Self::Visa { data: given.visa()?, pvv: given.pvv()?, is_of_four }
            }
            PinVerifyMethod::Interbank => Self::Interbank { block: given.interbank()? },
            PinVerifyMethod::Dutch => return Err(code::KEYWORD.into()),
        })
    }

    /// The subject whose failures are counted: validation data, PAN or Interbank block.
    fn subject(&self) -> counting::Subject {
        match self {
            Self::Ibm { validation, .. } | Self::Pool { validation, .. } => {
                counting::of_validation(validation)
            }
            Self::Visa { data, .. } => counting::of_pan(&data.pan),
            Self::Interbank { block } => counting::of_interbank(block),
        }
    }

    /// The block that the PIN key enciphers for this method.
    fn block(&self, found: &Pin) -> pin::Block {
        pin::Block::new(match self {
            Self::Ibm { validation, .. } | Self::Pool { validation, .. } => *validation,
            Self::Visa { data, .. } => visa::block(&data.pan, data.key_index, found),
            Self::Interbank { block } => *block,
        })
    }

    fn verifies(&self, found: &Pin, enciphered: &pin::Block) -> Mask {
        match self {
            Self::Ibm { table, offset, checked, .. } => {
                Intermediate::new(table, enciphered).verifies(found, offset, *checked)
            }
            Self::Pool { table, offset, .. } => {
                Intermediate::new(table, enciphered).pool_pin(offset).is(found)
            }
            Self::Visa { pvv, is_of_four, .. } => {
                let is_long = if *is_of_four { found.has_length(4) } else { found.has_at_least(4) };
                visa::verifies(enciphered, pvv).and(is_long)
            }
            Self::Interbank { .. } => interbank::pin(enciphered).is(found),
        }
    }
}

fn method(keyword: PinVerifyMethod) -> PinMethod {
    match keyword {
        PinVerifyMethod::Ibm | PinVerifyMethod::Dutch => PinMethod::Ibm,
        PinVerifyMethod::IbmOffset => PinMethod::IbmOffset,
        PinVerifyMethod::Pool => PinMethod::Pool,
        PinVerifyMethod::PoolOffset => PinMethod::PoolOffset,
        PinVerifyMethod::Visa | PinVerifyMethod::VisaFour => PinMethod::Visa,
        PinVerifyMethod::Interbank => PinMethod::Interbank,
    }
}
