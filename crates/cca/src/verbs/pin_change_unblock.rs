//! PIN_Change_Unblock (CSNBPCU): the data of a command that gives a chip card a new PIN, as Visa's cards take them.
//!
//! | keyword | block |
//! |---|---|
//! | VISAPCU1 | the new PIN, XORed with part of the card's key for cryptograms |
//! | VISAPCU2 | that, XORed with the PIN that was there before |
//!
//! The card's keys are derived from the first 16 bytes of the data, as Diversified_Key_Generate does: the key of
//! cryptograms under the authentication key (DKYGENKY with DMAC), the session key under the other key (DMPIN) with the
//! rest of the data. The block with its length in front and padding behind it is enciphered block by block: 16 bytes.
//! The PINs come in blocks under IPINENC keys, or where the role permits it OPINENC keys, with the usage REFORMAT; the
//! profile of the output is the keyword, NONE and blanks.

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
use payments::emv::script::{self, visa_pin_block};
use token::derivation::Derived;
use token::usage::{PinBlockIn, PinBlockOut, Use};
use wire::code;
use wire::point::Point;
use wire::verb::pin_change_unblock::{Answer, Request};
use wire::verb::{Diversification, PinChange, PinChangeSession};

/// Length of the enciphered output in bytes.
const MESSAGE_BYTES: usize = 16;

/// Answers with the enciphered data.
pub(crate) async fn pin_change_unblock(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    check_output(&request)?;
    let data = request.key_generation_data;
    let process = match request.session {
        PinChangeSession::Counter => Diversification::Counter,
        PinChangeSession::TreeTwo => Diversification::TreeTwo,
        PinChangeSession::TreeFour => Diversification::TreeFour,
        PinChangeSession::Aes => return Err(code::KEYWORD.into()),
    };
    let session = session(process, data)?;
    let blocks = *data.first_chunk().ok_or(code::TEXT_LENGTH)?;
    let new = Form::read(&call, request.new_ref_pin_profile, request.new_ref_pan_data, None)?;
    let current = Current::of(&call, &request)?;
    let fields = [
        request.authentication_master_key,
        request.issuer_master_key,
        request.new_ref_pin_key,
        request.current_ref_pin_key,
    ];
    let authentication = issuer::open(call, fields[0], Derived::Mac)?;
    let encipherment = issuer::open(call, fields[1], Derived::PinMessages)?;
    let new_opening = open_pin(call, fields[2])?;
    let current_opening = if current.is_some() { Some(open_pin(call, fields[3])?) } else { None };
    let (authentication, encipherment, new_key) =
        (authentication.await, encipherment.await, new_opening.await);
    let current_key = match current_opening {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    let (authentication, encipherment, new_key) = (authentication?, encipherment?, new_key?);
    let renewed = (
        authentication.renew(call, fields[0])?,
        encipherment.renew(call, fields[1])?,
        new_key.renew(call, fields[2])?,
        current_key.as_ref().map(|key| key.renew(call, fields[3])).transpose()?,
    );
    let key_of = |issuer, session| Derive::Diversify(Box::new(Diversify { issuer, blocks, session }));
    let card = call.ask(key_of(issuer::checked(&call, &authentication.secret)?, Session::Card));
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
    let (card, message) = (card.await.key()?, message.await.key()?);
    let left = card.first_chunk().ok_or(code::SELF_CHECK)?;
    // No card takes a shorter or longer PIN.
    is_right = is_right.and(new_pin.has_at_least(4)).and(at_most_twelve(&new_pin));
    let block = visa_pin_block(left, &new_pin, current_pin.as_ref());
    let clear = script::Method::Visa.clear(&block[..]).ok_or(code::SELF_CHECK)?;
    let asked = Cipher {
        algorithm: CipherAlgorithm::Tdes2,
        rule: KeyRule::Chosen,
        mode: Mode::Ecb,
        direction: CipherDirection::Encipher,
        key: message,
        chain: [0; 16],
        data: Text::from(&clear[..]),
    };
    let done = call.ask(asked).await?;
    let tokens = (renewed.0.token().await?, renewed.1.token().await?, renewed.2.token().await?);
    let current_token = match renewed.3 {
        Some(renewed) => renewed.token().await?,
        None => None,
    };
    if !is_right.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    let ages = [Some(authentication.age), Some(encipherment.age), Some(new_key.age)];
    let age = ages.into_iter().chain([current_key.map(|key| key.age)]).flatten().max();
    reply.write(Answer {
        authentication_master_key: tokens.0.as_deref(),
        issuer_master_key: tokens.1.as_deref(),
        new_ref_pin_key: tokens.2.as_deref(),
        current_ref_pin_key: current_token.as_deref(),
        output_pin_message: Some(&done.data),
    })?;
    Ok(age.map_or(code::OK, |age| age.codes()))
}

/// Refuses an output profile other than the keyword, NONE and blanks, and an output field that is too short.
///
/// # Errors
/// 8/106, 8/107, 8/108, 8/72.
fn check_output(request: &Request<'_>) -> Result<(), Refusal> {
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
    Ok(request.output_pin_message.holds(MESSAGE_BYTES)?)
}

/// The block of the current PIN, with its format.
struct Current<'a> {
    form: Form,
    block: &'a [u8; pin::BLOCK_BYTES],
}

impl<'a> Current<'a> {
    /// The current PIN of a request; `None` with VISAPCU1, which ignores its fields.
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
