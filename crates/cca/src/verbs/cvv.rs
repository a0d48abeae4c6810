//! What CVV_Generate and CVV_Verify share: the keys, the data, and the value.
//!
//! The value is the digits of an X9.19 MAC over PAN, expiration date and service code. Its key is one key of double
//! length (CVVKEY-A, or a MAC key for any purpose), or a pair of single length, CVVKEY-A and CVVKEY-B: the field of key
//! B is ignored if key A has double length.

use crate::call::Call;
use crate::counting::{self, AtWork, Purpose};
use crate::ground::{Algorithm, Refusal};
use crate::pass::{Mac, Token};
use engine::{MacAlgorithm, SecretBytes};
use payments::cvv;
use std::borrow::Cow;
use token::control_vector::KeyForm;
use token::usage::{CardValueHalf, Use};
use wire::verb::{CvvDigits, CvvPan};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// The card data of a request, from which the value is computed.
pub(super) struct Card<'a> {
    pub(super) pan: &'a [u8],
    pub(super) pan_digits: CvvPan,
    pub(super) expiration_date: &'a [u8; 4],
    pub(super) service_code: &'a [u8; 3],
}

/// The MAC of the card data, and the renewed tokens of the keys.
pub(super) struct Computed<'p> {
    /// The counter of wrong values, to be asked for the verdict; `None` if no value is compared.
    pub(super) at_work: Option<AtWork<'p>>,
    pub(super) mac: Zeroizing<[u8; 8]>,
    pub(super) key_a: Option<Token>,
    pub(super) key_b: Option<Token>,
    pub(super) codes: Codes,
}

/// Number of digits that a keyword asks for, from 1 on.
pub(super) fn count(digits: CvvDigits) -> usize {
    digits as usize + 1
}

impl Card<'_> {
    /// The leading characters of the PAN, as many as the keyword for its length says.
    fn digits(&self) -> &[u8] {
        &self.pan[..self.pan.len().min(13 + self.pan_digits as usize)]
    }

    /// The two blocks that the MAC is computed over.
    ///
    /// # Errors
    /// 8/110, 8/42, 8/40 for a PAN, an expiration date or a service code that is not digits.
    fn text(&self) -> Result<[u8; 16], Refusal> {
        let count = 13 + self.pan_digits as usize;
        let pan = self.pan.get(..count).ok_or(code::PAN)?;
        let pan: [u8; 19] = payments::digits(pan).map_err(|_| code::PAN)?;
        let expiration_date = payments::digits(self.expiration_date).map_err(|_| code::EXPIRATION_DATE)?;
        let service_code = payments::digits(self.service_code).map_err(|_| code::SERVICE_CODE)?;
        Ok(cvv::data(&pan[..count], &expiration_date, &service_code).ok_or(code::PAN)?)
    }
}

/// The MAC whose digits are the value of a card, under the keys in these fields.
///
/// # Errors
/// If a value is compared, also as [`counting::begin`].
pub(super) async fn compute<'p, 'a>(
    call: Call<'p, 'a>,
    card: Card<'_>,
    fields: (&'a [u8], &'a [u8]),
    usage: fn(CardValueHalf) -> Use,
) -> Result<Computed<'p>, Refusal> {
    let text = card.text()?;
    let is_compared = matches!(usage(CardValueHalf::A), Use::CardValueVerify(_));
    let found = call.key(fields.0)?.of(Algorithm::Des)?;
    let is_pair = found.des().is_some_and(|token| token.form() == KeyForm::Single);
    let opening_a = found.for_use(usage(CardValueHalf::A))?;
    let opening_b = match is_pair {
        true => Some(call.key(fields.1)?.of(Algorithm::Des)?.for_use(usage(CardValueHalf::B))?),
        false => None,
    };
    let key_a = opening_a.await;
    let key_b = match opening_b {
        Some(opening) => Some(opening.await?),
        None => None,
    };
    let key_a = key_a?;
    let renewal_a = key_a.renew(call, fields.0)?;
    let renewal_b = key_b.as_ref().map(|key| key.renew(call, fields.1)).transpose()?;
    let mut key = Zeroizing::new(Vec::with_capacity(MacAlgorithm::X919.key_bytes()));
    key.extend_from_slice(&key_a.secret);
    key.extend_from_slice(key_b.as_ref().map_or(&[][..], |key| &key.secret));
    if key.len() != MacAlgorithm::X919.key_bytes() {
        return Err(code::KEY_USAGE.into());
    }
    let key = SecretBytes::from_slice(&key);
    let subject = counting::of_card(card.digits());
    let at_work = match is_compared {
        true => {
            let begun = counting::begin(call.verifier(), Purpose::CardValue, &key, &subject)?;
            Some(begun.of_block(&counting::of_text(&text))?)
        }
        false => None,
    };
    let asked = Mac {
        algorithm: MacAlgorithm::X919,
        key,
        chain: [0; 16],
        text: Cow::Owned(text.to_vec()),
        last: true,
    };
    let done = call.ask(asked).await?;
    let mut mac = Zeroizing::new([0; 8]);
    mac.copy_from_slice(&done.mac[..8]);
    let key_a_token = renewal_a.token().await?;
    let key_b_token = match renewal_b {
        Some(renewal) => renewal.token().await?,
        None => None,
    };
    let age = key_b.as_ref().map_or(key_a.age, |key| key.age.max(key_a.age));
    Ok(Computed { at_work, mac, key_a: key_a_token, key_b: key_b_token, codes: age.codes() })
}
