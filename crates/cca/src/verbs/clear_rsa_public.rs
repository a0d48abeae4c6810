//! ClearRsaPublic: the raw RSA public operation under any token, on any card.

use crate::call::{Call, Reply, Verdict};
use crate::key::field::KeyField;
use crate::pass::Asymmetric;
use crate::pka::right_justified;
use wire::code;
use wire::verb::clear_rsa_public::{Answer, Request};

/// `data^e mod n`, as long as the modulus. The data must be below the modulus.
pub(crate) async fn clear_rsa_public(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let key = KeyField::new(call, request.key).public().await?;
    request.result.holds(key.bytes())?;
    let block = right_justified(request.data, &key.modulus, code::TEXT_LENGTH)?;
    let result = call.ask(Asymmetric::Public { key, block }).await?;
    reply.write(Answer { result: Some(&result) })?;
    Ok(code::OK)
}
