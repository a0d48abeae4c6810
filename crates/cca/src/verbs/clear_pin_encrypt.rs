//! Clear_PIN_Encrypt (CSNBCPE): enciphers a block with a clear PIN, or with RANDOM a PIN of the same length that the
//! card chooses.
//!
//! RANDOM: the clear PIN is zeros, one for each digit of the random PIN.

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::pin::{self, data, form::Form};
use engine::CipherDirection;
use payments::Pin;
use token::usage::{PinBlockOut, Use};
use wire::code;
use wire::verb::PinSource;
use wire::verb::clear_pin_encrypt::{Answer, Request};
use zeroize::Zeroizing;

/// Answers with the block.
pub(crate) async fn clear_pin_encrypt(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let form = Form::made(&call, request.pin_profile, request.pan_data, request.sequence_number)?;
    let clear = clear_pin(&call, request.clear_pin)?;
    let (least, most) = form.layout.format.digits();
    if !(least..=most).contains(&clear.length()) {
        return Err(code::PIN_LENGTH.into());
    }
    let pin = match request.source {
        PinSource::Given => clear,
        PinSource::Random => random(&call, clear.length()),
    };
    let field = request.pin_encrypting_key_identifier;
    let found = call.key(field)?.of(Algorithm::Des)?;
    let key = found.for_use(Use::PinBlockOut(PinBlockOut::Encrypt))?.await?;
    let renewal = key.renew(call, field)?;
    let (block, _) = form.block(&call, &pin);
    let out = pin::cipher(call, &key.secret, CipherDirection::Encipher, &block).await?;
    let token = renewal.token().await?;
    reply
        .write(Answer { pin_encrypting_key_identifier: token.as_deref(), encrypted_pin_block: Some(&out) })?;
    Ok(key.age.codes())
}

/// The PIN in these characters: its digits, then blanks.
fn clear_pin(call: &Call<'_, '_>, characters: &[u8; 16]) -> Result<Pin, Refusal> {
    let length = characters.iter().take_while(|character| **character != b' ').count();
    let length = data::pin_length(call, length as i64).map_err(|_| code::CLEAR_PIN)?;
    let (digits, blanks) = characters.split_at(usize::from(length));
    if blanks.iter().any(|blank| *blank != b' ') {
        return Err(code::CLEAR_PIN.into());
    }
    let digits = Zeroizing::new(payments::digits(digits).map_err(|_| code::CLEAR_PIN)?);
    Ok(Pin::new(&digits, length))
}

/// A PIN of uniformly random digits: each is a random byte modulo 10, and bytes from 250 on are drawn again.
fn random(call: &Call<'_, '_>, length: u8) -> Pin {
    let mut digits = Zeroizing::new([0u8; 16]);
    for digit in digits.iter_mut() {
        let mut drawn = Zeroizing::new([u8::MAX]);
        while drawn[0] >= 250 {
            call.random(&mut drawn[..]);
        }
        *digit = drawn[0] % 10;
    }
    Pin::new(&digits, length)
}
