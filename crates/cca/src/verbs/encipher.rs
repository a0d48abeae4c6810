//! Encipher (CSNBENC): a text under a DES key, in one of the methods of [`super::des_cipher`].

use super::des_cipher::{
    self, BLOCK_BYTES, Chained, NO_CHAINING, chaining_vector, short_block, whole_blocks, work,
};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::Key;
use crate::wipe::Text;
use engine::{CipherDirection, Mode};
use token::usage::Use;
use wire::code;
use wire::verb::encipher::{Answer, Request};
use wire::verb::{DesMethod, TypedAnswer};

/// Answers with the ciphertext, its length and the chaining vector for the next call.
pub(crate) async fn encipher(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    // The request is taken apart, so that fields that no pass needs are dropped before the first pass.
    let Request {
        method,
        chaining,
        key_identifier,
        initialization_vector,
        chaining_vector: vector,
        plaintext,
        pad_character,
        ..
    } = call.read()?;
    let text = Chained::new(method, chaining, initialization_vector, vector, plaintext)?;
    match method {
        DesMethod::Cbc => whole_blocks(plaintext)?,
        DesMethod::Cusp | DesMethod::Ips if plaintext.is_empty() => return Err(code::TEXT_LENGTH.into()),
        _ => {}
    }
    if !(0..=255).contains(&pad_character) {
        return Err(code::INVALID_PARAMETER.into());
    }
    let key = des_cipher::key(call, key_identifier, text.method, Use::Encipher)?.await?;
    let renewal = key.renew(call, key_identifier)?;
    // A renewed token precedes the text in the answer, and its length is not known yet: the text may have to move.
    let head = Answer { chaining_vector: Some(NO_CHAINING), ..Answer::default() }.head_bytes();
    let (whole, short) = text.split();
    let (ciphertext, chain) = match text.method {
        DesMethod::Cbc => blocks(call, &key, &text, reply.lend(head, text.text, 0)).await?,
        DesMethod::X923 => {
            let data = padded(reply.lend(head, text.text, BLOCK_BYTES));
            blocks(call, &key, &text, data).await?
        }
        DesMethod::Cusp | DesMethod::Ips => {
            any_length(call, &key, &text, reply.lend(head, whole, short.len())).await?
        }
    };
    let (token, chain) = (renewal.token().await?, chaining_vector(&chain));
    reply.write_text(ciphertext, |ciphertext, buffer| {
        buffer.write(Answer {
            key_identifier: token.as_deref(),
            chaining_vector: Some(&chain),
            ciphertext: Some(ciphertext),
        })
    })?;
    Ok(key.age.codes())
}

async fn blocks(
    call: Call<'_, '_>,
    key: &Key,
    text: &Chained<'_>,
    data: Text,
) -> Result<(Text, [u8; 16]), Refusal> {
    let done = call.ask(work(key, Mode::Cbc, CipherDirection::Encipher, &text.chain, data)).await?;
    Ok((done.data, done.chain))
}

/// Enciphers a text of any length by CUSP or IPS. `whole` is the text up to its last whole block.
pub(super) async fn any_length(
    call: Call<'_, '_>,
    key: &Key,
    text: &Chained<'_>,
    whole: Text,
) -> Result<(Text, [u8; 16]), Refusal> {
    let (_, short) = text.split();
    let (mut ciphertext, mut chain) = (whole, [0; 16]);
    chain[..BLOCK_BYTES].copy_from_slice(&text.chain);
    if !ciphertext.is_empty() {
        (ciphertext, chain) = blocks(call, key, text, ciphertext).await?;
    }
    if text.method == DesMethod::Cusp || !short.is_empty() {
        let last = Text::from(&chain[..BLOCK_BYTES]);
        let again =
            call.ask(work(key, Mode::Ecb, CipherDirection::Encipher, &[0; BLOCK_BYTES], last)).await?;
        ciphertext.extend_from_slice(&short_block(short, &again.data));
        chain[..BLOCK_BYTES].copy_from_slice(&again.data);
    }
    if text.method == DesMethod::Ips {
        chain[..BLOCK_BYTES].copy_from_slice(&text.ips_chain(&ciphertext));
    }
    Ok((ciphertext, chain))
}

/// ANSI X9.23 as CCA writes it: zeros, and the count of added bytes in the last one.
pub(super) fn padded(mut text: Text) -> Text {
    let (bytes, added) = (text.len(), BLOCK_BYTES - text.len() % BLOCK_BYTES);
    text.pad(bytes + added - 1, 0);
    text.pad(bytes + added, added as u8);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_ends_in_its_count() {
        for length in 0..20 {
            let data = padded(Text::from(vec![9; length].as_slice()));
            let added = data.len() - length;
            assert!((1..=8).contains(&added) && data.len().is_multiple_of(8));
            assert_eq!(usize::from(data[data.len() - 1]), added);
            assert!(data[length..data.len() - 1].iter().all(|byte| *byte == 0));
        }
    }
}
