//! PIN_Change_Unblock (CSNBPCU): the data of a command that gives a chip card a new PIN.
//!
//! | keyword | block | enciphered |
//! |---|---|---|
//! | VISAPCU1 | the new PIN, XORed with part of the card's key for cryptograms | with its length in front, a bit and zeros behind, each block by itself: 16 bytes |
//! | VISAPCU2 | that, XORed with the PIN that was there before | the same |
//! | ISO2-EMV | the new PIN, in a block of ISO-2 | with a bit and zeros behind, chained behind zeros: 16 bytes |
//! | ISO2-MC | the same | alone: 8 bytes |
//!
//! The card's keys are derived from the first 16 bytes of the data, as Diversified_Key_Generate does: the key of
//! cryptograms under the authentication key (DKYGENKY with DMAC), the session key under the other key (DMPIN) with the
//! rest of the data: counter and vector, or with EMVCSK the eight bytes of the request cryptogram. A block of ISO-2 is
//! of the PIN alone, so the authentication key is then left out (8/21).
//! The PINs come in blocks under IPINENC keys, or where the role permits it OPINENC keys, with the usage REFORMAT; the
//! profile of the output is the keyword, NONE and blanks. EMVCSK, ISO2-EMV and ISO2-MC are this system's.

use super::diversified_key_generate::session;
use crate::call::{Call, Reply, Verdict};
use crate::chip::issuer;
use crate::ground::{Algorithm, Refusal};
use crate::key::opening::Opening;
use crate::pass::emv::{Diversify, Session};
use crate::pass::{Cipher, Derive, KeyRule};
use crate::pin::form::Form;
use crate::pin::{self, rules};
use crate::wipe::Text;
use engine::{CipherAlgorithm, CipherDirection, Mode};
use payments::Mask;
use payments::emv::script::{self, iso2_pin_block, visa_pin_block};
use token::derivation::Derived;
use token::usage::{PinBlockIn, PinBlockOut, Use};
use wire::point::Point;
use wire::verb::pin_change_unblock::{Answer, Request};
use wire::verb::{Diversification, PinChange, PinChangeSession};
use wire::{Codes, code};

/// How a block is laid out for the card, and enciphered.
fn script_method(method: PinChange) -> Result<script::Method, Codes> {
    match method {
        PinChange::Visa | PinChange::VisaOfCurrent => Ok(script::Method::Visa),
        PinChange::Iso2 => Ok(script::Method::Emv),
        PinChange::Iso2MasterCard => Ok(script::Method::MasterCard),
        PinChange::AmexOfCurrent | PinChange::Amex | PinChange::Emv => Err(code::KEYWORD),
    }
}

/// Answers with the enciphered data.
pub(crate) async fn pin_change_unblock(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let method = script_method(request.method)?;
    check_output(&request, method)?;
    let is_visa = method == script::Method::Visa;
    if !is_visa && !request.authentication_master_key.is_empty() {
        return Err(code::INVALID_PARAMETER.into());
    }
    let data = request.key_generation_data;
    let session = match request.session {
        PinChangeSession::Counter => session(Diversification::Counter, data)?,
        PinChangeSession::TreeTwo => session(Diversification::TreeTwo, data)?,
        PinChangeSession::TreeFour => session(Diversification::TreeFour, data)?,
        PinChangeSession::Common => {
            let cryptogram = data.get(16..).and_then(|rest| rest.try_into().ok());
            Session::Common(cryptogram.ok_or(code::TEXT_LENGTH)?)
        }
        PinChangeSession::Aes => return Err(code::KEYWORD.into()),
    };
    let blocks = *data.first_chunk().ok_or(code::TEXT_LENGTH)?;
    let new = Form::read(&call, request.new_ref_pin_profile, request.new_ref_pan_data, None)?;
    let current = Current::of(&call, &request)?;
    let fields = [
        request.authentication_master_key,
        request.issuer_master_key,
        request.new_ref_pin_key,
        request.current_ref_pin_key,
    ];
    let authentication = if is_visa { Some(issuer::open(call, fields[0], Derived::Mac)?) } else { None };
    let encipherment = issuer::open(call, fields[1], Derived::PinMessages)?;
    let new_opening = open_pin(call, fields[2])?;
    let current_opening = if current.is_some() { Some(open_pin(call, fields[3])?) } else { None };
    let authentication = match authentication {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    let (encipherment, new_key) = (encipherment.await, new_opening.await);
    let current_key = match current_opening {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    let (encipherment, new_key) = (encipherment?, new_key?);
    let renewed = (
        authentication.as_ref().map(|key| key.renew(call, fields[0])).transpose()?,
        encipherment.renew(call, fields[1])?,
        new_key.renew(call, fields[2])?,
        current_key.as_ref().map(|key| key.renew(call, fields[3])).transpose()?,
    );
    let key_of = |issuer, session| Derive::Diversify(Box::new(Diversify { issuer, blocks, session }));
    let card = match &authentication {
        Some(key) => Some(call.ask(key_of(issuer::checked(&call, &key.secret)?, Session::Card))),
        None => None,
    };
    let message = call.ask(key_of(issuer::checked(&call, &encipherment.secret)?, session));
    let clear =
        pin::cipher(call, &new_key.secret, CipherDirection::Decipher, request.new_ref_pin_block).await?;
    let (new_pin, mut is_right) = new.pin(&clear);
    let mut current_pin = None;
    if let (Some(current), Some(key)) = (&current, &current_key) {
        let clear = pin::cipher(call, &key.secret, CipherDirection::Decipher, current.block).await?;
        let (found, is_block) = current.form.pin(&clear);
        is_right = is_right.and(is_block);
        current_pin = Some(found);
    }
    let card = match card {
        Some(card) => Some(card.await.key()?),
        None => None,
    };
    let message = message.await.key()?;
    // No card takes a shorter or longer PIN.
    is_right = is_right.and(new_pin.has_at_least(4)).and(at_most_twelve(&new_pin));
    let block = match &card {
        Some(card) => {
            let left = card.first_chunk().ok_or(code::SELF_CHECK)?;
            visa_pin_block(left, &new_pin, current_pin.as_ref())
        }
        None => iso2_pin_block(&new_pin),
    };
    let clear = method.clear(&block[..]).ok_or(code::SELF_CHECK)?;
    let asked = Cipher {
        algorithm: CipherAlgorithm::Tdes2,
        rule: KeyRule::Chosen,
        mode: if method.is_chained() { Mode::Cbc } else { Mode::Ecb },
        direction: CipherDirection::Encipher,
        key: message,
        chain: [0; 16],
        data: Text::from(&clear[..]),
    };
    let done = call.ask(asked).await?;
    let authentication_token = match renewed.0 {
        Some(renewed) => renewed.token().await?,
        None => None,
    };
    let tokens = (renewed.1.token().await?, renewed.2.token().await?);
    let current_token = match renewed.3 {
        Some(renewed) => renewed.token().await?,
        None => None,
    };
    if !is_right.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    let others = [authentication.map(|key| key.age), current_key.map(|key| key.age)];
    let age = others.into_iter().flatten().fold(encipherment.age.max(new_key.age), Ord::max);
    reply.write(Answer {
        authentication_master_key: authentication_token.as_deref(),
        issuer_master_key: tokens.0.as_deref(),
        new_ref_pin_key: tokens.1.as_deref(),
        current_ref_pin_key: current_token.as_deref(),
        output_pin_message: Some(&done.data),
    })?;
    Ok(age.codes())
}

/// Refuses an output profile other than the keyword, NONE and blanks, and an output field that is too short.
///
/// # Errors
/// 8/106, 8/107, 8/108, 8/72.
fn check_output(request: &Request<'_>, method: script::Method) -> Result<(), Refusal> {
    let profile = request.output_pin_profile.as_chunks::<8>().0;
    if profile[0] != request.method.keyword().word.to_be_bytes() {
        return Err(code::PIN_FORMAT.into());
    }
    if profile[1] != *b"NONE    " {
        return Err(code::FORMAT_CONTROL.into());
    }
    if profile[2] != [b' '; 8] {
        return Err(code::PAD_DIGIT.into());
    }
    let is_alone = method == script::Method::MasterCard;
    Ok(request.output_pin_message.holds(if is_alone { pin::BLOCK_BYTES } else { 2 * pin::BLOCK_BYTES })?)
}

/// The block of the current PIN, with its format.
struct Current<'a> {
    form: Form,
    block: &'a [u8; pin::BLOCK_BYTES],
}

impl<'a> Current<'a> {
    /// The current PIN of a request; `None` with other keywords than VISAPCU2, which ignore its fields.
    ///
    /// # Errors
    /// As [`Form::read`]; 8/21 for a missing field.
    fn of(call: &Call<'_, '_>, request: &Request<'a>) -> Result<Option<Self>, Refusal> {
        if request.method != PinChange::VisaOfCurrent {
            return Ok(None);
        }
        let profile = request.current_ref_pin_profile.ok_or(code::INVALID_PARAMETER)?;
        let form = Form::read(call, profile, request.current_ref_pan_data, None)?;
        let block = request.current_ref_pin_block.ok_or(code::INVALID_PARAMETER)?;
        Ok(Some(Self { form, block }))
    }
}

/// Starts opening the key of a PIN block.
///
/// # Errors
/// 8/39 for another key, 8/90 for a type that the role does not permit.
fn open_pin<'p, 'a>(call: Call<'p, 'a>, field: &'a [u8]) -> Result<Opening<'p, 'a>, Refusal> {
    let found = call.key(field)?.of(Algorithm::Des)?;
    let vector = found.des().ok_or(code::TOKEN_INVALID)?.control_vector();
    let (inbound, outbound) =
        (Use::PinBlockIn(PinBlockIn::Reformat), Use::PinBlockOut(PinBlockOut::Reformat));
    if vector.may(outbound) {
        call.permit(Point::PinChangeOutbound)?;
        return found.for_use(outbound);
    }
    if vector.may(inbound) {
        call.permit(Point::PinChangeInbound)?;
    }
    found.for_use(inbound)
}

fn at_most_twelve(pin: &payments::Pin) -> Mask {
    (4..=12).fold(Mask::NO, |fits, length| fits.or(pin.has_length(length)))
}
