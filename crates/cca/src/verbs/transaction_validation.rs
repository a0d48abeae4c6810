//! Transaction_Validation (CSNBTRV): card security codes of American Express, made or verified. 4/1: a code is wrong.
//! 8/90: too many wrong codes for this card.
//!
//! | | digits |
//! |---|---|
//! | transaction_info | expiration date (YYMM), the PAN of 15 digits; with CSC-V2 the service code behind them |
//! | validation_values | CSC-3, CSC-4, CSC-5: three, four, five; CSC-345: twelve, the code of five first, then four, then three |
//!
//! The key is a MAC key of double length for card security codes (AMEX-CSC), or for any purpose. A card of another
//! prefix than 34 and 37 has no such codes (8/110). The codes of three and four digits and the prefix 34, which no
//! value of another system confirms, need points of their own. With CSC-345 all codes are compared, even after a wrong
//! one.

use crate::call::{Call, Reply, Verdict};
use crate::counting::{self, Purpose};
use crate::ground::{Algorithm, Refusal};
use crate::pin::{self, Block};
use engine::{CipherDirection, SecretBytes};
use payments::security_code::{self, Code, Prefix};
use token::usage::Use;
use wire::code;
use wire::point::Point;
use wire::verb::transaction_validation::{Answer, Request};
use wire::verb::{SecurityCodeAction, SecurityCodeVersion, SecurityCodes};
use zeroize::Zeroizing;

/// Answers with the codes, or whether those of the request are right.
pub(crate) async fn transaction_validation(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let wanted = match request.codes {
        SecurityCodes::Three => Code::Three,
        SecurityCodes::Four => Code::Four,
        SecurityCodes::Five => Code::Five,
        SecurityCodes::All => Code::All,
    };
    let card = Card::read(request.transaction_info, request.version)?;
    if !(card.prefix.is_confirmed() && wanted.is_confirmed()) {
        call.permit(Point::SecurityCodeUnconfirmed)?;
    }
    let field = request.validation_values;
    let given = match request.action {
        SecurityCodeAction::Generate => {
            field.holds(wanted.digits())?;
            None
        }
        SecurityCodeAction::Verify => {
            let given = field.given()?;
            if given.len() != wanted.digits() {
                return Err(code::CVV.into());
            }
            let digits = payments::digits::<{ security_code::DIGITS }>(given).map_err(|_| code::CVV)?;
            Some(Zeroizing::new(digits))
        }
    };
    let usage = match request.action {
        SecurityCodeAction::Generate => Use::SecurityCodeGenerate,
        SecurityCodeAction::Verify => Use::SecurityCodeVerify,
    };
    let found = call.key(request.transaction_key)?.of(Algorithm::Des)?;
    let key = found.for_use(usage)?.await?;
    let at_work = match given {
        None => None,
        Some(_) => {
            let subject = counting::of_card(&card.pan);
            Some(counting::begin(call.verifier(), Purpose::CardValue, &key.secret, &subject)?)
        }
    };
    let result = card.enciphered(call, &key.secret).await?;
    match given {
        None => {
            let all = Zeroizing::new(security_code::digits(&result));
            let mut values = Zeroizing::new([0; security_code::DIGITS]);
            let values = &mut values[..wanted.digits()];
            for (place, digit) in values.iter_mut().zip(wanted.of(&all)) {
                *place = b'0' | digit;
            }
            reply.write(Answer { validation_values: Some(values) })?;
            Ok(key.age.codes())
        }
        Some(given) => {
            let is_right = security_code::verifies(&result, wanted, &given[..wanted.digits()]);
            if let Some(at_work) = at_work {
                at_work.judged(is_right);
            }
            reply.write(Answer::default())?;
            Ok(if is_right.holds() { key.age.codes() } else { code::VERIFICATION_FAILED })
        }
    }
}

/// The card data of a request, from which the codes are computed.
struct Card {
    prefix: Prefix,
    pan: [u8; security_code::PAN_DIGITS],
    expiration_date: [u8; 4],
    /// The service code, with CSC-V2 only.
    service_code: Option<[u8; 3]>,
}

impl Card {
    /// # Errors
    /// 8/21 for another length; 8/42, 8/110, 8/40 for an expiration date, a PAN or a service code that is not digits,
    /// 8/110 for a PAN of other cards.
    fn read(info: &[u8], version: SecurityCodeVersion) -> Result<Self, Refusal> {
        let (expiration_date, rest) = info.split_first_chunk::<4>().ok_or(code::INVALID_PARAMETER)?;
        let (pan, rest) = rest.split_first_chunk::<15>().ok_or(code::INVALID_PARAMETER)?;
        let service_code = match (version, rest) {
            (SecurityCodeVersion::One, []) => None,
            (SecurityCodeVersion::Two, [_, _, _]) => Some(rest),
            _ => return Err(code::INVALID_PARAMETER.into()),
        };
        let expiration_date = payments::digits(expiration_date).map_err(|_| code::EXPIRATION_DATE)?;
        let pan = payments::digits(pan).map_err(|_| code::PAN)?;
        let prefix = Prefix::of(&pan).ok_or(code::PAN)?;
        let service_code = service_code.map(payments::digits).transpose().map_err(|_| code::SERVICE_CODE)?;
        Ok(Self { prefix, pan, expiration_date, service_code })
    }

    /// The enciphered block that the codes are taken from.
    ///
    /// # Errors
    /// 8/39 for a key that is not of double length.
    async fn enciphered(&self, call: Call<'_, '_>, key: &SecretBytes) -> Result<Block, Refusal> {
        let first = security_code::block(self.prefix, &self.pan, &self.expiration_date);
        let mut block = pin::cipher(call, key, CipherDirection::Encipher, &first).await?;
        if let Some(service_code) = &self.service_code {
            let second = security_code::service_block(service_code);
            block.iter_mut().zip(second).for_each(|(byte, other)| *byte ^= other);
            block = pin::cipher(call, key, CipherDirection::Encipher, &block).await?;
        }
        Ok(block)
    }
}
