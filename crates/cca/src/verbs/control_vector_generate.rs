//! Control_Vector_Generate (CSNBCVG): the control vector of a key type, as its usage keywords change it.
//!
//! Keywords are those of Key_Token_Build for length and usage; the default length is that of the key type.

use super::key_token_build::{form, vector_of_type};
use crate::call::{Call, Reply, Verdict};
use wire::code;
use wire::verb::control_vector_generate::{Answer, Request};

pub(crate) async fn control_vector_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let form = request.length.map(form).transpose()?;
    let vector = vector_of_type(request.key_type, form, request.usage)?;
    reply.write(Answer { control_vector: Some(&vector.to_bytes()) })?;
    Ok(code::OK)
}
