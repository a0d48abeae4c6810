//! EMV_Transaction (CSNBEAC): whether a card's request cryptogram (ARQC) is right, and the issuer's response to it
//! (ARPC).
//!
//! | keyword | key of the cryptogram | padding of its text | key of the response |
//! |---|---|---|---|
//! | VISA (cryptogram version 10) | the card's | zeros | the same |
//! | MC (M/CHIP 2.1) | of the session: counter and unpredictable number | a bit | the card's, of the issuer's key for responses where there is one |
//! | EMV | of the session: TDESEMV2 (the default), TDESEMV4, EMVCSK | a bit | the same |
//!
//! PADZEROS, PADBIT and PADNONE fill the text otherwise: with zeros up to whole blocks, with a bit and zeros, or not at
//! all, for a text that is whole blocks as it comes (8/25).
//!
//! VERARQC and VERGEN answer 4/1 for a wrong cryptogram, VERGEN without a response; both take the same steps as for a
//! right one. METHOD-1, the default: the response is of the cryptogram and the response code; METHOD-2: of the
//! cryptogram, the status update of the card, which stands in place of the code, and up to eight bytes of the issuer's
//! in `reserved1`. It has four bytes, with zeros behind them.
//!
//! GENARPC makes a response to any data: the card's key enciphers blocks of the caller's choice, among them the two
//! that form a session key. Only roles that name GENARPC have it. VERGEN enciphers right cryptograms alone, and refuses
//! a text of one block (8/25), which no card signs: the response to a cryptogram is the right cryptogram of such a
//! text, so that each response would lead to the next.
//!
//! The keywords EMVCSK, OPTION-A (the default), OPTION-B, METHOD-1, METHOD-2, PADZEROS, PADBIT and PADNONE are this
//! system's.

use crate::call::{Call, Reply, Verdict};
use crate::chip::{card, issuer};
use crate::ground::Refusal;
use crate::pass::Derive;
use crate::pass::emv::{Diversify, Response, ResponseOf, Session, Transaction};
use engine::SecretBytes;
use payments::emv::cryptogram::{METHOD_2_BYTES, method_1, method_2};
use payments::emv::session_key::{self, Tree};
use payments::emv::{Padding, padded, verifies};
use token::derivation::Derived;
use wire::verb::emv_transaction::{Answer, Request};
use wire::verb::{EmvAction, EmvPadding, EmvResponse, EmvScheme, EmvSession};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Longest text of a cryptogram in bytes.
const TEXT_BYTES_MAX: usize = 1024;
const BLOCK_BYTES: usize = 8;

/// Answers whether the cryptogram is right, and with the response.
pub(crate) async fn emv_transaction(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let verifies_it = request.action != EmvAction::Respond;
    let responds = request.action != EmvAction::Verify;
    let blocks = card::blocks(request.pan, request.pan_seq_number, request.sequence, request.card_key)?;
    let session = session(&request)?;
    let text = request.cryptogram_info;
    if text.len() > TEXT_BYTES_MAX || text.is_empty() == verifies_it {
        return Err(code::TEXT_LENGTH.into());
    }
    let message = if verifies_it { Some(message(&request)?) } else { None };
    if responds && message.as_ref().is_some_and(|message| message.len() == BLOCK_BYTES) {
        return Err(code::TEXT_LENGTH.into());
    }
    let response = if responds { Some(response(&request)?) } else { None };
    if !matches!(response, Some(ResponseOf::Message(_))) && !request.reserved1.is_empty() {
        return Err(code::RESERVED_LENGTH.into());
    }
    let (field, other) = (request.issuer_master_key_identifier, request.issuer_arpc_master_key_identifier);
    let is_other = !other.is_empty();
    if is_other && !(request.scheme == EmvScheme::MasterCard && responds) {
        return Err(code::INVALID_PARAMETER.into());
    }
    let opening = issuer::open(call, field, Derived::Mac)?;
    let opening_other = if is_other { Some(issuer::open(call, other, Derived::Mac)?) } else { None };
    let key = opening.await;
    let key_other = match opening_other {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    let key = key?;
    let renewed = key.renew(call, field)?;
    let renewed_other = key_other.as_ref().map(|key| key.renew(call, other)).transpose()?;
    let of = |secret: &SecretBytes, session| -> Result<Diversify, Refusal> {
        Ok(Diversify { issuer: issuer::checked(&call, secret)?, blocks, session })
    };
    let response = match response {
        None => None,
        Some(response) => {
            let of_card = request.scheme == EmvScheme::MasterCard;
            let secret = key_other.as_ref().map_or(&key.secret, |key| &key.secret);
            let key = if of_card { Some(of(secret, Session::Card)?) } else { None };
            Some(Response { key, of: response })
        }
    };
    let key_of_session = of(&key.secret, session)?;
    let asked = Transaction { key: key_of_session, message, response };
    let mut made = call.ask(Derive::Transaction(Box::new(asked))).await.cryptograms()?;
    if request.response == Some(EmvResponse::Two) {
        made.response[METHOD_2_BYTES..].fill(0);
    }
    let token = renewed.token().await?;
    let token_other = match renewed_other {
        Some(renewed) => renewed.token().await?,
        None => None,
    };
    let is_right = !verifies_it || verifies(&made.request, request.arqc).holds();
    let age = key_other.as_ref().map_or(key.age, |other| other.age.max(key.age));
    reply.write(Answer {
        issuer_master_key_identifier: token.as_deref(),
        issuer_arpc_master_key_identifier: token_other.as_deref(),
        arpc: (is_right && responds).then_some(&*made.response),
    })?;
    Ok(if is_right { age.codes() } else { code::VERIFICATION_FAILED })
}

/// The text of the cryptogram in whole blocks.
///
/// # Errors
/// 8/25 for a text that is to be taken as it comes and is not whole blocks.
fn message(request: &Request<'_>) -> Result<Zeroizing<Vec<u8>>, Codes> {
    let text = request.cryptogram_info;
    let padding = match (request.padding, request.scheme) {
        (Some(EmvPadding::None), _) if text.len().is_multiple_of(BLOCK_BYTES) => {
            return Ok(Zeroizing::new(text.to_vec()));
        }
        (Some(EmvPadding::None), _) => return Err(code::TEXT_LENGTH),
        (Some(EmvPadding::Zeros), _) | (None, EmvScheme::Visa) => Padding::Zeros,
        (Some(EmvPadding::Bit), _) | (None, EmvScheme::MasterCard | EmvScheme::Emv) => Padding::Bit,
    };
    Ok(padded(text, padding))
}

/// The derivation of the cryptogram's key from the card's key.
///
/// # Errors
/// 8/21 for an unpredictable number that is missing.
fn session(request: &Request<'_>) -> Result<Session, Refusal> {
    let (counter, vector) = (*request.atc, [0; 16]);
    Ok(match (request.scheme, request.session) {
        (EmvScheme::Visa, _) => Session::Card,
        (EmvScheme::MasterCard, _) => {
            let number = request.unpredictable_number.ok_or(code::INVALID_PARAMETER)?;
            Session::Common(session_key::mastercard(counter, *number))
        }
        (EmvScheme::Emv, None | Some(EmvSession::TreeTwo)) => {
            Session::Tree { tree: Tree::Two, vector, counter }
        }
        (EmvScheme::Emv, Some(EmvSession::TreeFour)) => Session::Tree { tree: Tree::Four, vector, counter },
        (EmvScheme::Emv, Some(EmvSession::Common)) => Session::Common(session_key::application(counter)),
    })
}

/// The data that the response is computed from.
///
/// # Errors
/// 8/21 for a response code or a status update of another length, 8/715 for more than eight bytes of the issuer's.
fn response(request: &Request<'_>) -> Result<ResponseOf, Refusal> {
    match request.response {
        None | Some(EmvResponse::One) => {
            let code = request.arc.first_chunk().ok_or(code::INVALID_PARAMETER)?;
            Ok(ResponseOf::Block(method_1(request.arqc, *code)))
        }
        Some(EmvResponse::Two) => {
            let update = request.arc.first_chunk().ok_or(code::INVALID_PARAMETER)?;
            let message = method_2(request.arqc, *update, request.reserved1);
            Ok(ResponseOf::Message(message.ok_or(code::RESERVED_LENGTH)?))
        }
    }
}
