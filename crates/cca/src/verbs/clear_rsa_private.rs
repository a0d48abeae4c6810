//! ClearRsaPrivate: the raw RSA private operation under a clear token, CRT or ME, on any card.

use crate::call::{Call, Reply, Verdict};
use crate::key::field::KeyField;
use crate::pass::Asymmetric;
use crate::pka::right_justified;
use wire::code;
use wire::verb::clear_rsa_private::{Answer, Request};

/// `data^d mod n`, as long as the modulus. The data must be below the modulus. The usage in the token is ignored: the
/// key is the caller's own, in the clear.
pub(crate) async fn clear_rsa_private(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let key = KeyField::new(call, request.key).private().await?;
    if key.age.is_some() {
        return Err(code::TOKEN_INVALID.into());
    }
    request.result.holds(key.bytes())?;
    let block = right_justified(request.data, &key.modulus, code::TEXT_LENGTH)?;
    let result = call.ask(Asymmetric::Private { key, block }).await?;
    reply.write(Answer { result: Some(&result) })?;
    Ok(code::OK)
}
