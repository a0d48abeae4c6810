//! Clear_PIN_Generate (CSNBPGN): a clear PIN, or the offset or PVV of one that the caller gives.
//!
//! | keyword | result |
//! |---|---|
//! | IBM-PIN | PIN of PIN_length digits |
//! | IBM-PINO | offset of PIN_check_length digits to a PIN of PIN_length digits |
//! | GBP-PIN, INBK-PIN | PIN of four digits |
//! | GBP-PINO | offset of four digits to a PIN of four |
//! | VISA-PVV | PVV of four digits |

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::pin::data::{self, Data};
use crate::pin::{self, Block};
use engine::CipherDirection;
use payments::ibm3624::{Intermediate, POOL_DIGITS};
use payments::{Pin, interbank, visa};
use token::usage::{PinMethod as KeyMethod, PinStep, Use};
use wire::code;
use wire::verb::PinMethod;
use wire::verb::clear_pin_generate::{Answer, Request};

/// Answers with the digits, and blanks behind them.
pub(crate) async fn clear_pin_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let given = Data::new(request.data_array);
    // The block to encipher, the method that the key must permit, and the conversion of the ciphertext to the result.
    let (block, method) = match request.method {
        PinMethod::Ibm => (given.validation()?, KeyMethod::Ibm),
        PinMethod::IbmOffset => (given.validation()?, KeyMethod::IbmOffset),
        PinMethod::Pool => (given.validation()?, KeyMethod::Pool),
        PinMethod::PoolOffset => (given.validation()?, KeyMethod::PoolOffset),
        PinMethod::Visa => {
            let card = given.visa()?;
            (visa::block(&card.pan, card.key_index, &given.visa_pin()?), KeyMethod::Visa)
        }
        PinMethod::Interbank => (given.interbank()?, KeyMethod::Interbank),
        PinMethod::Dutch => return Err(code::KEYWORD.into()),
    };
    let block = Block::new(block);
    let length = match request.method {
        PinMethod::Ibm | PinMethod::IbmOffset => data::pin_length(&call, request.pin_length)?,
        _ => POOL_DIGITS,
    };
    let (customer_pin, checked) = match request.method {
        PinMethod::IbmOffset => {
            (Some(given.customer_pin(length)?), data::check_length(&call, request.pin_check_length, length)?)
        }
        PinMethod::PoolOffset => (Some(given.customer_pin(length)?), POOL_DIGITS),
        _ => (None, 0),
    };
    let table = match request.method {
        PinMethod::Visa | PinMethod::Interbank => None,
        _ => Some(given.table(&call)?),
    };
    let found = call.key(request.pin_generating_key_identifier)?.of(Algorithm::Des)?;
    let key = found.for_use(Use::Pin(PinStep::Clear, method))?.await?;
    let renewal = key.renew(call, request.pin_generating_key_identifier)?;
    let enciphered = pin::cipher(call, &key.secret, CipherDirection::Encipher, &block).await?;

    let intermediate = table.map(|table| Intermediate::new(&table, &enciphered));
    let digits = |pin: &Pin, length: u8| data::characters(&pin.digits()[..usize::from(length)]);
    let result = match (request.method, intermediate, customer_pin) {
        (PinMethod::Ibm, Some(intermediate), _) => digits(&intermediate.pin(length), length),
        (PinMethod::IbmOffset, Some(intermediate), Some(customer_pin)) => {
            data::characters(&intermediate.offset(&customer_pin, checked)[..usize::from(checked)])
        }
        (PinMethod::Pool, Some(intermediate), _) => digits(&intermediate.pool_pin(&[0; 4]), POOL_DIGITS),
        (PinMethod::PoolOffset, Some(intermediate), Some(customer_pin)) => {
            data::characters(&intermediate.pool_offset(&customer_pin))
        }
        (PinMethod::Visa, ..) => data::characters(&visa::pvv(&enciphered)),
        (PinMethod::Interbank, ..) => digits(&interbank::pin(&enciphered), interbank::PIN_DIGITS),
        _ => return Err(code::SELF_CHECK.into()),
    };
    let token = renewal.token().await?;
    reply
        .write(Answer { pin_generating_key_identifier: token.as_deref(), returned_result: Some(&result) })?;
    Ok(key.age.codes())
}
