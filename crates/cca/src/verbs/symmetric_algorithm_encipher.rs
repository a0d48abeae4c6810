//! Symmetric_Algorithm_Encipher (CSNBSAE): see [`super::aes_cipher`].

use engine::CipherDirection;
use wire::verb::symmetric_algorithm_encipher::{Answer, Request};

use super::aes_cipher;
use crate::call::{Call, Reply, Verdict};

/// Answers with the text, its length, and chaining data or tag.
pub(crate) async fn symmetric_algorithm_encipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let request = aes_cipher::Request {
        direction: CipherDirection::Encipher,
        method: request.method,
        key_rule: request.key_rule,
        part: request.part,
        key_identifier: request.key_identifier,
        key_parms: request.key_parms,
        block_size: request.block_size,
        initialization_vector: request.initialization_vector,
        chain_data: request.chain_data,
        text: request.clear_text,
        output: request.cipher_text,
        optional_data: request.optional_data,
    };
    let done = request.run(call).await?;
    reply.write(Answer {
        key_identifier: done.token.as_deref(),
        key_parms: done.tag(),
        chain_data: done.chain_data(),
        cipher_text: Some(&done.text),
    })?;
    Ok(done.age.codes())
}
