//! Symmetric_Algorithm_Decipher (CSNBSAD): see [`super::aes_cipher`].

use engine::CipherDirection;
use wire::verb::symmetric_algorithm_decipher::{Answer, Request};

use super::aes_cipher;
use crate::call::{Call, Reply, Verdict};

/// Answers with the text, its length, and chaining data.
pub(crate) async fn symmetric_algorithm_decipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let request = aes_cipher::Request {
        direction: CipherDirection::Decipher,
        method: request.method,
        key_rule: request.key_rule,
        part: request.part,
        key_identifier: request.key_identifier,
        key_parms: request.key_parms,
        block_size: request.block_size,
        initialization_vector: request.initialization_vector,
        chain_data: request.chain_data,
        text: request.cipher_text,
        output: request.clear_text,
        optional_data: request.optional_data,
    };
    let done = request.run(call).await?;
    reply.write(Answer {
        key_identifier: done.token.as_deref(),
        key_parms: done.tag(),
        chain_data: done.chain_data(),
        clear_text: Some(&done.text),
    })?;
    Ok(done.age.codes())
}
