//! Random_Number_Generate_Long (CSNBRNGL): up to 8192 random bytes, as they are or with parity.

use super::random_number_generate::fill;
use crate::call::{Call, Reply, Verdict};
use wire::bounds::RANDOM_BYTES_MAX;
use wire::code;
use wire::verb::random_number_generate_long::{Answer, Request};

/// Answers with as many bytes as the length asks for, 1 to [`RANDOM_BYTES_MAX`].
pub(crate) async fn random_number_generate_long(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let length = request.random_number.capacity();
    if length == 0 || length > RANDOM_BYTES_MAX {
        return Err(code::INVALID_PARAMETER.into());
    }
    let mut number = vec![0; length];
    fill(request.form, &call, &mut number);
    reply.write(Answer { random_number: Some(&number) })?;
    Ok(code::OK)
}
