//! Prohibit_Export_Extended (CSNBPEXX): the control vector of an external DES token loses the bit that permits export,
//! so that a system that imports the key may not export it.
//!
//! The key-encrypting key is an EXPORTER key with the usage EXPORT, or an IMPORTER key with the usage IMPORT.

use super::key_import::source;
use super::prohibit_export::EXPORT_BIT;
use crate::call::{Call, Reply, Verdict};
use crate::key::exchange::{AskedType, side_of};
use crate::key::field::KeyField;
use token::control_vector::bit;
use token::usage::Wrapping;
use wire::code;
use wire::verb::prohibit_export_extended::{Answer, Request};

/// Refuses a part of a key, and one without a control vector, with 8/39.
pub(crate) async fn prohibit_export_extended(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let token = source(request.source_key_token, AskedType::Token)?;
    let vector = token.control_vector();
    if vector.is_zero() || vector.is_key_part() {
        return Err(code::KEY_USAGE.into());
    }
    let field = request.kek_key_identifier;
    let side = side_of(call, field)?;
    let kek = call.key_encrypting_key(field, side, Wrapping::Keys).await?;
    let renewal = kek.renew(call, field)?;
    let key = KeyField::of_token(call, token).under(&kek)?.await?;
    let vector = vector.with_bits(bit(EXPORT_BIT), false).map_err(|_| code::KEY_USAGE)?;
    let made = kek.wrap(&call, token.with_vector(vector)?, key.secret)?.await?;
    let renewed = renewal.token().await?;
    reply.write(Answer { source_key_token: Some(&made), kek_key_identifier: renewed.as_deref() })?;
    Ok(kek.age.codes())
}
