//! Symmetric_Algorithm_Encipher (CSNBSAE): see [`super::aes_cipher`].

use super::aes_cipher::{self, End};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use engine::CipherDirection;
use std::future::Future;
use wire::verb::TypedAnswer;
use wire::verb::symmetric_algorithm_encipher::{Answer, Request};

/// Answers with the text, its length, and chaining data or tag.
pub(crate) fn symmetric_algorithm_encipher<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    aes_cipher::run(call, reply, read, END)
}

fn read<'f>(call: &Call<'f, 'f>) -> Result<aes_cipher::Request<'f>, Refusal> {
    let request: Request<'_> = call.read()?;
    Ok(aes_cipher::Request {
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
    })
}

const END: End = End {
    head_bytes: || Answer::default().head_bytes(),
    write: |done, buffer| {
        buffer.write(Answer {
            key_identifier: done.key_identifier,
            key_parms: done.tag,
            chain_data: done.chain_data,
            cipher_text: Some(done.text),
        })
    },
};
