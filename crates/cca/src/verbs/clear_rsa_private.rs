//! ClearRsaPrivate: the raw RSA private operation under a clear token, CRT or ME, on any card.

use wire::code;
use wire::verb::clear_rsa_private::{DATA, DATA_LENGTH, KEY, KEY_LENGTH, RESULT, RESULT_LENGTH};

use crate::call::{Call, Reply, Verdict};
use crate::key::field::KeyField;
use crate::pass::Asymmetric;
use crate::pka::right_justified;

/// `data^d mod n`, in as many bytes as the modulus has. The data must be below the modulus. The usage in
/// the token is not looked at: the key is the caller's own, in the clear.
pub(crate) async fn clear_rsa_private(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let field = call.counted(KEY_LENGTH, KEY)?;
    let data = call.counted(DATA_LENGTH, DATA)?;
    let key = KeyField::new(call, field).private().await?;
    if key.age.is_some() {
        return Err(code::TOKEN_INVALID.into());
    }
    call.capacity(RESULT_LENGTH, key.bytes())?;
    let block = right_justified(data, &key.modulus, code::TEXT_LENGTH)?;
    let result = call.ask(Asymmetric::Private { key, block }).await?;
    reply.counted(RESULT_LENGTH, RESULT, &result);
    Ok(code::OK)
}
