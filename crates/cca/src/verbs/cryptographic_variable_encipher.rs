//! Cryptographic_Variable_Encipher (CSNBCVE): a text under a CVARENC key, in CBC.
//!
//! Such a key enciphers the mask arrays of Control_Vector_Translate, and does nothing else; no other key does this
//! (8/39).

use super::des_cipher::{whole_blocks, work};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::wipe::Text;
use engine::{CipherDirection, Mode};
use token::usage::Use;
use wire::verb::cryptographic_variable_encipher::{Answer, Request};

/// Answers with the ciphertext, which is as long as the text.
pub(crate) async fn cryptographic_variable_encipher(
    call: Call<'_, '_>,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let request: Request<'_> = call.read()?;
    whole_blocks(request.plain_text)?;
    let found = call.key(request.cvarenc_key_id)?.of(Algorithm::Des)?;
    let key = found.for_use(Use::EncipherVariable)?.await?;
    let renewal = key.renew(call, request.cvarenc_key_id)?;
    let text = Text::from(request.plain_text);
    let done = call.ask(work(&key, Mode::Cbc, CipherDirection::Encipher, request.init_vector, text)).await?;
    let token = renewal.token().await?;
    reply.write(Answer { cvarenc_key_id: token.as_deref(), cipher_text: Some(&done.data) })?;
    Ok(key.age.codes())
}
